//! Native tables as leaves of a plan.
//!
//! The conditions of WHERE that a scan can use go with it: they leave out partitions, chunks and
//! vectors, and rows before they are decoded. The plan filters again, so a scan may give too many
//! rows but never too few.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use pelorus_chunk::Predicate;
use pelorus_error::{Error, Result};
use pelorus_functions::{TimeZone, assign};
use pelorus_store::{ScanCursor, ScanRequest, ScanUnit, Snapshot};
use pelorus_types::{Column, WireType};
use sqlparser::ast;

use super::condition;
use super::leaf::takes_all;
use super::query::{Binder, column_expr};
use super::scope::Scope;
use super::typed::Typed;
use crate::context::{AsOf, NativeTable, OwnWrites};
use crate::federate::scan::Entry;
use crate::udf::into_datafusion;

/// About how many rows a batch has.
const BATCH_ROWS: usize = 8192;

impl Binder<'_> {
    /// A native table: only the columns that the block names, only rows that may pass the
    /// conditions on this table alone.
    pub(crate) fn native_leaf(
        &self,
        table: NativeTable,
        (schema, alias): (&str, &str),
        select: &ast::Select,
        filtered: bool,
    ) -> Result<(LogicalPlan, Scope)> {
        let positions = self.native_columns(&table, alias, select)?;
        let predicates = match (&select.selection, filtered) {
            (Some(selection), true) => {
                let only_table = select.from.len() == 1 && select.from[0].joins.is_empty();
                condition::of_table(self.context, selection, &table, alias, only_table)
            }
            _ => Vec::new(),
        };
        let columns: Vec<&Column> = positions.iter().map(|&at| &table.columns[at]).collect();
        let names: Vec<String> = columns.iter().map(|_| self.fresh("c")).collect();
        let fields: Vec<Field> =
            columns.iter().zip(&names).map(|(it, name)| it.field().with_name(name)).collect();
        let arrow = Arc::new(Schema::new(fields));
        let scan = Scan::new(&table, &positions, &predicates, &arrow)?;
        self.journal.note(Entry {
            link: "pelorus".to_owned(),
            what: "scan",
            how: format!("{} of {} partitions", scan.partitions, table.table.partitions().len()),
            ranges: scan.units,
            sql: describe(&table, &columns, &predicates),
            report: None,
        });
        let streams = self.context.options.streams.clamp(1, scan.units.max(1));
        let scan = Arc::new(scan);
        let streams = (0..streams)
            .map(|_| Arc::new(NativeStream(Arc::clone(&scan))) as Arc<dyn PartitionStream>)
            .collect();
        let plan = self.leaf(arrow, streams)?;
        let typed = columns
            .iter()
            .zip(&names)
            .map(|(column, name)| {
                let mut column = Column::clone(column);
                alias.clone_into(&mut column.table);
                Typed::column(column_expr(name), &column)
            })
            .collect();
        let mut scope = Scope::default();
        scope.push_relation(schema, alias, typed);
        Ok((plan, scope))
    }

    /// The columns that a block reads.
    fn native_columns(
        &self,
        table: &NativeTable,
        alias: &str,
        select: &ast::Select,
    ) -> Result<Vec<usize>> {
        let all = takes_all(select, alias);
        let mut positions = Vec::new();
        for (at, column) in table.columns.iter().enumerate() {
            let named = self.mentioned.column(alias, &column.name);
            let hidden = table.invisible.get(at).copied().unwrap_or(false);
            if all && hidden && named {
                return Err(Error::unsupported("an invisible column beside *"));
            }
            if named || all && !hidden {
                positions.push(at);
            }
        }
        if positions.is_empty() {
            // Something must be read to count the rows; the key is never NULL and cheap.
            positions.extend(table.table.schema().key.first());
        }
        Ok(positions)
    }

    /// The moment of `FOR SYSTEM_TIME AS OF`.
    pub(crate) fn as_of(&self, version: &ast::TableVersion) -> Result<AsOf> {
        match version {
            ast::TableVersion::VersionAsOf(expr) => {
                let number = condition::integer(expr, self.context.mode);
                number
                    .and_then(|number| u64::try_from(number).ok())
                    .map(AsOf::Version)
                    .ok_or_else(|| Error::unsupported(version))
            }
            ast::TableVersion::ForSystemTimeAsOf(expr) => condition::moment(self.context, expr)
                .map(AsOf::Timestamp)
                .ok_or_else(|| Error::unsupported(version)),
            other => Err(Error::unsupported(other)),
        }
    }
}

/// A scan for people.
fn describe(table: &NativeTable, columns: &[&Column], predicates: &[(usize, Predicate)]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let mut text = format!(
        "{}.{} at version {}: {}",
        table.database,
        table.name,
        table.table.version(),
        names.join(", ")
    );
    if !predicates.is_empty() {
        let mut tested: Vec<&str> =
            predicates.iter().map(|(at, _)| table.columns[*at].name.as_str()).collect();
        tested.dedup();
        text.push_str("; tested while scanning: ");
        text.push_str(&tested.join(", "));
    }
    text
}

/// A scan that several streams share: each takes the next unit when it is done with one.
struct Scan {
    queue: Mutex<VecDeque<Work>>,
    schema: SchemaRef,
    /// Positions of TIMESTAMP columns among those of the scan.
    timestamps: Vec<usize>,
    time_zone: TimeZone,
    /// The version stays readable.
    _pin: Arc<Snapshot>,
    units: usize,
    partitions: usize,
}

enum Work {
    Unit(Box<ScanUnit>),
    Rows(Vec<ArrayRef>),
}

impl Scan {
    fn new(
        table: &NativeTable,
        positions: &[usize],
        predicates: &[(usize, Predicate)],
        schema: &SchemaRef,
    ) -> Result<Self> {
        let request = ScanRequest {
            columns: positions.to_vec(),
            predicates: predicates.to_vec(),
            schema: Arc::clone(schema),
            hidden: table.own.as_ref().map(|own| Arc::clone(&own.hidden)),
            batch_rows: BATCH_ROWS,
        };
        let mut partitions = 0;
        let picked = std::cell::RefCell::new(&mut partitions);
        let units = table.table.scan(request, |partition| {
            let pruner = table.pruner.as_ref();
            let may = pruner.is_none_or(|it| it.may_contain(partition.key(), predicates));
            **picked.borrow_mut() += usize::from(may);
            may
        })?;
        let mut queue: VecDeque<Work> =
            units.into_iter().map(|unit| Work::Unit(Box::new(unit))).collect();
        if let Some(OwnWrites { rows, .. }) = &table.own {
            let pick = |batch: &Vec<ArrayRef>| {
                Work::Rows(positions.iter().map(|&at| Arc::clone(&batch[at])).collect())
            };
            queue.extend(rows.iter().map(pick));
        }
        let is_timestamp =
            |at: &usize| table.columns[positions[*at]].ty.wire == WireType::Timestamp;
        Ok(Self {
            units: queue.len(),
            queue: Mutex::new(queue),
            schema: Arc::clone(schema),
            timestamps: (0..positions.len()).filter(is_timestamp).collect(),
            time_zone: table.time_zone,
            _pin: Arc::clone(&table.pin),
            partitions,
        })
    }

    fn take(&self) -> Option<Work> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Rows as the session sees them.
    fn shown(&self, mut columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        for &at in &self.timestamps {
            columns[at] = assign::timestamps_from_utc(&columns[at], self.time_zone)?;
        }
        let options = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| Error::internal("rows of a native table").caused_by(error))
    }

    /// The next batch of a stream that is in the middle of `cursor`.
    fn next(&self, cursor: &mut Option<ScanCursor>) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(open) = cursor {
                if let Some(batch) = open.next_batch()? {
                    if self.timestamps.is_empty() {
                        return Ok(Some(batch));
                    }
                    return self.shown(batch.columns().to_vec(), batch.num_rows()).map(Some);
                }
                *cursor = None;
            }
            match self.take() {
                None => return Ok(None),
                Some(Work::Unit(unit)) => *cursor = Some(unit.open()?),
                Some(Work::Rows(columns)) => {
                    let rows = columns.first().map_or(0, |column| column.len());
                    if rows > 0 {
                        return self.shown(columns, rows).map(Some);
                    }
                }
            }
        }
    }
}

/// One stream of a scan.
struct NativeStream(Arc<Scan>);

impl std::fmt::Debug for NativeStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("scan of a native table")
    }
}

impl PartitionStream for NativeStream {
    fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let scan = Arc::clone(&self.0);
        let rows = futures::stream::unfold((scan, None), |(scan, mut cursor)| async move {
            let batch = scan.next(&mut cursor).transpose()?;
            Some((batch.map_err(into_datafusion), (scan, cursor)))
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.0.schema), rows))
    }
}

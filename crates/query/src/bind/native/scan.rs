//! The scan of a native table as DataFusion sees it: a table that reads only the columns that are
//! left when the plan is optimised.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::DataFusionError;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use pelorus_chunk::{Predicate, coded, units};
use pelorus_error::{Error, Result};
use pelorus_functions::{TimeZone, assign};
use pelorus_store::{ScanCursor, ScanRequest, ScanUnit, Snapshot, ValueTest};
use pelorus_types::WireType;

use super::dynamic::{Dynamic, is_whole};
use super::estimate::Estimate;
use super::exec::NativeExec;
use super::groups::{Numberer, TextGroups};
use crate::context::NativeTable;

/// About how many rows a batch has.
const BATCH_ROWS: usize = 8192;

/// The rows of a table at one version that may fulfil some conditions.
#[derive(Debug)]
pub(super) struct NativeScan {
    /// One field for each column (`Int64` for decimals that are read as unscaled numbers) and,
    /// where there are groups, the number of the group.
    schema: SchemaRef,
    /// The columns by their positions in the table.
    positions: Vec<usize>,
    /// Which of the columns are TIMESTAMPs.
    timestamps: Vec<bool>,
    /// Which of them are given as they are stored.
    stored: Vec<bool>,
    time_zone: TimeZone,
    groups: Option<Grouped>,
    units: Vec<ScanUnit>,
    /// Rows that the transaction wrote: batches of all columns.
    own: Vec<Vec<ArrayRef>>,
    /// The version stays readable.
    pin: Arc<Snapshot>,
    /// What is expected of it.
    estimate: Estimate,
    /// How many streams share the work.
    pub(super) streams: usize,
    /// Partitions that may hold such rows.
    pub(super) partitions: usize,
}

/// Columns that are only grouped by.
#[derive(Clone, Debug)]
pub(super) struct Grouped {
    pub(super) groups: Arc<TextGroups>,
    /// Their positions in the table.
    pub(super) positions: Vec<usize>,
}

impl NativeScan {
    pub(super) fn new(
        table: &NativeTable,
        positions: &[usize],
        (predicates, tests): (&[(usize, Predicate)], Vec<(usize, Arc<dyn ValueTest>)>),
        schema: &SchemaRef,
    ) -> Result<Self> {
        let on_texts = tests.clone();
        let request = ScanRequest {
            columns: positions.to_vec(),
            predicates: predicates.to_vec(),
            tests,
            schema: Arc::clone(schema),
            hidden: table.own.as_ref().map(|own| Arc::clone(&own.hidden)),
            batch_rows: BATCH_ROWS,
        };
        let partitions = Cell::new(0);
        let units = table.table.scan(request, |partition| {
            let pruner = table.pruner.as_ref();
            let may = pruner.is_none_or(|it| it.may_contain(partition.key(), predicates));
            partitions.set(partitions.get() + usize::from(may));
            may
        })?;
        let own = table.own.as_ref().map(|own| own.rows.clone()).unwrap_or_default();
        let own_rows = own.iter().filter_map(|rows| Some(rows.first()?.len())).sum();
        let rows = units.iter().map(ScanUnit::rows_at_most).sum();
        let is_timestamp = |&at: &usize| table.columns[at].ty.wire == WireType::Timestamp;
        let is_stored = |(at, field): (&usize, &Arc<Field>)| {
            !is_timestamp(at) && table.columns[*at].ty.arrow() == *field.data_type()
        };
        Ok(Self {
            schema: Arc::clone(schema),
            positions: positions.to_vec(),
            timestamps: positions.iter().map(is_timestamp).collect(),
            stored: positions.iter().zip(schema.fields()).map(is_stored).collect(),
            time_zone: table.time_zone,
            groups: None,
            units,
            own,
            pin: Arc::clone(&table.pin),
            estimate: Estimate::of(table, (predicates, &on_texts), (rows, own_rows))?,
            streams: 1,
            partitions: partitions.get(),
        })
    }

    /// The pieces of work.
    pub(super) fn units(&self) -> usize {
        self.units.len() + self.own.len()
    }

    /// Whether a column has few values wherever it is stored.
    pub(super) fn has_few_values(&self, position: usize) -> Result<bool> {
        for unit in &self.units {
            if !unit.has_few_values(position)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds the number of a row's group as the last column.
    pub(super) fn group(&mut self, name: &str, grouped: Grouped) {
        let mut fields = self.schema.fields().to_vec();
        fields.push(Arc::new(Field::new(name, DataType::UInt32, false)));
        self.schema = Arc::new(Schema::new(fields));
        self.groups = Some(grouped);
    }

    /// What reads some of the columns, the number of the group being one more.
    fn reading(&self, wanted: &[usize], schema: SchemaRef) -> Reading {
        let plain = || wanted.iter().filter(|&&at| at < self.positions.len());
        let grouped = self.groups.clone().filter(|_| plain().count() < wanted.len());
        let mut positions: Vec<usize> = plain().map(|&at| self.positions[at]).collect();
        let mut fields: Vec<_> = plain().map(|&at| Arc::clone(&self.schema.fields()[at])).collect();
        if let Some(grouped) = &grouped {
            let ty = DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8));
            positions.extend(&grouped.positions);
            fields.extend(
                grouped.positions.iter().map(|_| Arc::new(Field::new("g", ty.clone(), true))),
            );
        }
        let units = ScanUnit::reading(&self.units, &positions, &Arc::new(Schema::new(fields)));
        let mut queue: VecDeque<Work> =
            units.into_iter().map(|unit| Work::Unit(Box::new(unit))).collect();
        queue.extend(self.own.iter().map(|rows| {
            let columns = positions.iter().map(|&at| Arc::clone(&rows[at])).collect();
            Work::Rows(columns, rows.first().map_or(0, |column| column.len()))
        }));
        Reading {
            queue: Mutex::new(queue),
            schema,
            columns: plain().count(),
            number_at: wanted.iter().position(|&at| at >= self.positions.len()),
            timestamps: plain()
                .enumerate()
                .filter(|(_, at)| self.timestamps[**at])
                .map(|(place, _)| place)
                .collect(),
            time_zone: self.time_zone,
            groups: grouped.map(|grouped| grouped.groups),
            _pin: Arc::clone(&self.pin),
        }
    }
}

#[async_trait]
impl TableProvider for NativeScan {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> std::result::Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let wanted: Vec<usize> = match projection {
            Some(projection) => projection.clone(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let reading = self.reading(&wanted, Arc::new(self.schema.project(&wanted)?));
        // The number of a group has no column in the table.
        let known = |&at: &usize| {
            let column = self.positions.get(at).and_then(|&at| self.estimate.columns.get(at));
            column.cloned().unwrap_or_default()
        };
        let columns = wanted.iter().map(known).collect();
        let estimate = Estimate { rows: self.estimate.rows, columns };
        let whole = |&at: &usize| {
            let field = self.schema.field(at);
            let is_stored = self.stored.get(at).copied().unwrap_or(false);
            (is_stored && is_whole(field.data_type())).then(|| field.clone())
        };
        let whole = wanted.iter().map(whole).collect();
        Ok(Arc::new(NativeExec::new(reading, estimate, whole, self.streams)))
    }
}

/// Some columns of a scan, which several streams read: each takes the next piece of work when it
/// is done with one.
#[derive(Debug)]
pub(super) struct Reading {
    queue: Mutex<VecDeque<Work>>,
    pub(super) schema: SchemaRef,
    /// Columns that are given as they are; those of the groups stand behind them.
    columns: usize,
    /// The place of the group's number in the schema.
    number_at: Option<usize>,
    /// Places of TIMESTAMP columns.
    timestamps: Vec<usize>,
    time_zone: TimeZone,
    groups: Option<Arc<TextGroups>>,
    _pin: Arc<Snapshot>,
}

#[derive(Clone, Debug)]
enum Work {
    Unit(Box<ScanUnit>),
    /// Columns of so many rows.
    Rows(Vec<ArrayRef>, usize),
}

/// Where a stream is.
#[derive(Debug, Default)]
pub(super) struct Place {
    cursor: Option<ScanCursor>,
    numberer: Option<Numberer>,
}

impl Reading {
    fn take(&self) -> Option<Work> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// The same, beginning with what may hold the first rows in the order of a column: a LIMIT then
    /// soon lets no others in.
    pub(super) fn beginning_with(&self, at: usize, descending: bool) -> Result<Self> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let place = self.place(at);
        let mut keyed = Vec::with_capacity(queue.len());
        for work in queue {
            let ends = match &work {
                Work::Unit(unit) => unit.ends(place)?,
                Work::Rows(..) => None,
            };
            // What is in memory comes first.
            keyed.push((ends.map(|(least, most)| if descending { !most } else { least }), work));
        }
        keyed.sort_by_key(|(first, _)| *first);
        Ok(Self {
            queue: Mutex::new(keyed.into_iter().map(|(_, work)| work).collect()),
            schema: Arc::clone(&self.schema),
            timestamps: self.timestamps.clone(),
            groups: self.groups.clone(),
            _pin: Arc::clone(&self._pin),
            ..*self
        })
    }

    /// The place in the request of a place in the schema, which has the number of the group too.
    fn place(&self, at: usize) -> usize {
        at - usize::from(self.number_at.is_some_and(|number| number < at))
    }

    /// A whole column in the form in which scans give it.
    fn given(&self, at: usize, column: ArrayRef) -> Result<ArrayRef> {
        if at >= self.columns {
            return coded(&column);
        }
        // The number of the group has its place in the schema, but comes last.
        let place = at + usize::from(self.number_at.is_some_and(|number| number <= at));
        match (self.schema.field(place).data_type(), column.data_type()) {
            (DataType::Int64, DataType::Decimal128(..)) => units(&column),
            _ => Ok(column),
        }
    }

    /// Rows as the session sees them.
    fn shown(
        &self,
        place: &mut Place,
        mut columns: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<RecordBatch> {
        let of_groups = columns.split_off(self.columns);
        for &at in &self.timestamps {
            columns[at] = assign::timestamps_from_utc(&columns[at], self.time_zone)?;
        }
        if let (Some(groups), Some(at)) = (&self.groups, self.number_at) {
            let numberer = place.numberer.get_or_insert_with(|| Numberer::new(Arc::clone(groups)));
            columns.insert(at, Arc::new(numberer.number(&of_groups)?));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| Error::internal("rows of a native table").caused_by(error))
    }

    /// Opens a unit if it may have rows by what became known since the query began.
    fn open(&self, unit: ScanUnit, dynamic: &Dynamic) -> Result<Option<ScanCursor>> {
        let known = dynamic.now()?;
        if known.nothing {
            return Ok(None);
        }
        if known.predicates.is_empty() && known.tests.is_empty() {
            return unit.open().map(Some);
        }
        let predicates = known.predicates.into_iter();
        let predicates = predicates.map(|(at, it)| (self.place(at), it)).collect();
        let tests = known.tests.into_iter().map(|(at, it)| (self.place(at), it)).collect();
        unit.narrowed(predicates, tests)?.map(ScanUnit::open).transpose()
    }

    /// The next batch of a stream.
    pub(super) fn next(&self, place: &mut Place, dynamic: &Dynamic) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(open) = &mut place.cursor {
                if let Some(batch) = open.next_batch()? {
                    let rows = batch.num_rows();
                    return self.shown(place, batch.columns().to_vec(), rows).map(Some);
                }
                place.cursor = None;
            }
            match self.take() {
                None => return Ok(None),
                Some(Work::Unit(unit)) => place.cursor = self.open(*unit, dynamic)?,
                Some(Work::Rows(columns, rows)) if rows > 0 => {
                    let columns = columns.into_iter().enumerate();
                    let columns = columns.map(|(at, column)| self.given(at, column));
                    return self.shown(place, columns.collect::<Result<_>>()?, rows).map(Some);
                }
                Some(Work::Rows(..)) => {}
            }
        }
    }
}

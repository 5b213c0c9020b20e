//! The table provider of a native table: DataFusion's view of its scan, which reads only the
//! columns that remain after optimisation.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::DataFusionError;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use pelorus_chunk::Predicate;
use pelorus_error::Result;
use pelorus_functions::TimeZone;
use pelorus_store::{ScanRequest, ScanUnit, Snapshot, ValueTest};
use pelorus_types::WireType;

use super::dictionary_groups::TextGroups;
use super::dictionary_predicate;
use super::dynamic_filters::is_whole;
use super::estimate::Estimate;
use super::exec::NativeExec;
use super::scan_streams::{Reading, Work};
use crate::binder::scan_predicate::StoredColumns;
use crate::context::NativeTable;
use crate::datafusion_adapter::udf::into_datafusion;

/// About how many rows a batch has.
const BATCH_ROWS: usize = 8192;

/// The rows of a table at one version that may fulfil some conditions.
#[derive(Clone, Debug)]
pub(crate) struct NativeScan {
    table: Arc<NativeTable>,
    conditions: Conditions,
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
    /// The columns that chunks are sorted by.
    key: Vec<usize>,
    groups: Option<Grouped>,
    units: Vec<ScanUnit>,
    /// Rows that the transaction wrote: batches of all columns.
    own: Vec<Vec<ArrayRef>>,
    /// The version stays readable.
    pin: Arc<Snapshot>,
    /// The estimate of the result.
    estimate: Estimate,
    /// How many streams share the work.
    pub(crate) streams: usize,
    /// Partitions that may hold such rows.
    pub(crate) partitions: usize,
    /// There are conditions.
    pub(crate) is_tested: bool,
}

/// The conditions of WHERE that a scan can use, by the positions of columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    /// Conditions on stored values.
    pub(crate) predicates: Vec<(usize, Predicate)>,
    /// Conditions on texts.
    pub(crate) tests: Vec<(usize, Arc<dyn ValueTest>)>,
    /// Comparisons under the columns' collations that follow from the tests of texts, for pruning.
    pub(crate) texts: Vec<(usize, Predicate)>,
}

impl Conditions {
    /// Adds a condition if the scan can test it; says whether it does so exactly. `None`: it cannot.
    pub(crate) fn take(&mut self, of: StoredColumns<'_>, condition: &Expr) -> Option<bool> {
        if let Some(tested) = of.tested(condition) {
            let on_column = tested.predicates.into_iter().map(|it| (tested.column, it));
            self.predicates.extend(on_column);
            return Some(tested.exact);
        }
        let tested = dictionary_predicate::tested(of, condition)?;
        let on_column = tested.implied.into_iter().map(|it| (tested.column, it));
        self.texts.extend(on_column);
        self.tests.push((tested.column, tested.test));
        Some(true)
    }
}

/// Columns that are only grouped by.
#[derive(Clone, Debug)]
pub(crate) struct Grouped {
    pub(crate) groups: Arc<TextGroups>,
    /// Their positions in the table.
    pub(crate) positions: Vec<usize>,
}

impl NativeScan {
    pub(crate) fn new(
        table: Arc<NativeTable>,
        positions: &[usize],
        conditions: Conditions,
        schema: &SchemaRef,
    ) -> Result<Self> {
        let Conditions { predicates, tests, texts } = &conditions;
        let is_tested = !predicates.is_empty() || !tests.is_empty();
        let request = ScanRequest {
            columns: positions.to_vec(),
            predicates: predicates.clone(),
            tests: tests.clone(),
            schema: Arc::clone(schema),
            hidden: table.own.as_ref().map(|own| Arc::clone(&own.hidden)),
            batch_rows: BATCH_ROWS,
        };
        let partitions = Cell::new(0);
        let all = [predicates.as_slice(), texts].concat();
        let units = table.table.scan_within(request, texts, |partition| {
            let pruner = table.pruner.as_ref();
            let may = pruner.is_none_or(|it| it.may_contain(partition.key(), &all));
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
        let estimate = Estimate::of(&table, (predicates, tests), (rows, own_rows))?;
        Ok(Self {
            schema: Arc::clone(schema),
            positions: positions.to_vec(),
            timestamps: positions.iter().map(is_timestamp).collect(),
            stored: positions.iter().zip(schema.fields()).map(is_stored).collect(),
            time_zone: table.time_zone,
            // Under segments the key sorts but within one.
            key: match &table.table.schema() {
                schema if schema.segment.is_empty() => schema.key.clone(),
                _ => Vec::new(),
            },
            groups: None,
            units,
            own,
            pin: Arc::clone(&table.pin),
            estimate,
            streams: 1,
            partitions: partitions.get(),
            is_tested,
            conditions,
            table,
        })
    }

    /// The same scan, which tests some conditions of the plan as well.
    ///
    /// # Errors
    /// Errors of reading the descriptions of chunks.
    fn narrowed(&self, filters: &[Expr]) -> Result<Self> {
        let mut conditions = self.conditions.clone();
        for filter in filters {
            self.with_columns(|of| conditions.take(of, filter));
        }
        let plain = self.schema.fields().iter().take(self.positions.len()).cloned();
        let schema = Arc::new(Schema::new(plain.collect::<Vec<_>>()));
        let scan = Self::new(Arc::clone(&self.table), &self.positions, conditions, &schema)?;
        let streams = self.streams.clamp(1, scan.units().max(1));
        let (schema, groups) = (Arc::clone(&self.schema), self.groups.clone());
        Ok(Self { schema, groups, streams, ..scan })
    }

    /// Gives the columns as conditions of the plan name them.
    fn with_columns<R>(&self, use_them: impl FnOnce(StoredColumns<'_>) -> R) -> R {
        let position = |expr: &Expr| match expr {
            Expr::Column(column) => {
                let (at, _) = self.schema.column_with_name(&column.name)?;
                self.positions.get(at).copied().filter(|_| self.is_whole_value(at))
            }
            _ => None,
        };
        use_them(StoredColumns {
            columns: &self.table.columns,
            position: &position,
            zone: self.time_zone,
        })
    }

    /// Whether a column of the scan has the values of the table's, and not their unscaled numbers.
    fn is_whole_value(&self, at: usize) -> bool {
        self.timestamps.get(at) == Some(&true) || self.stored.get(at) == Some(&true)
    }

    /// The columns that conditions are tested on, for people.
    pub(crate) fn tested_columns(&self) -> String {
        let on_values = self.conditions.predicates.iter().map(|(at, _)| *at);
        let places = on_values.chain(self.conditions.tests.iter().map(|(at, _)| *at));
        let mut names: Vec<&str> = places.map(|at| self.table.columns[at].name.as_str()).collect();
        names.dedup();
        names.join(", ")
    }

    /// The pieces of work.
    pub(crate) fn units(&self) -> usize {
        self.units.len() + self.own.len()
    }

    /// An estimate of the distinct values of a column, if they are few in all parts. The values of
    /// rows in memory are not counted: these rows must be few themselves, or fewer than those of
    /// chunks, whose values they probably share.
    pub(crate) fn few_values(&self, position: usize) -> Result<Option<u64>> {
        const FEW_ROWS: usize = 8 << 10;
        let own = self.own.iter().filter_map(|rows| Some(rows.first()?.len()));
        let (mut in_memory, mut in_chunks, mut most) = (own.sum::<usize>(), 0, 0);
        for unit in &self.units {
            let Some(of_unit) = unit.few_values(position)? else { return Ok(None) };
            most = of_unit.max(most);
            // Rows in memory are in no order.
            let rows = if unit.is_sorted() { &mut in_chunks } else { &mut in_memory };
            *rows += unit.rows_at_most();
        }
        Ok((in_memory <= FEW_ROWS.max(in_chunks)).then_some(most))
    }

    /// Whether chunks know between which ends the values of a column lie, by its name in the scan.
    pub(crate) fn has_ends(&self, name: &str) -> bool {
        self.schema.column_with_name(name).is_some_and(|(at, _)| self.whole(at).is_some())
    }

    /// The same scan without the parts that cannot hold a value of a column beyond one that is
    /// known to be there, the least or greatest of a part of which every row is given; `None` where
    /// there is no such part.
    ///
    /// # Errors
    /// Errors of reading the descriptions of chunks.
    pub(crate) fn of_end(&self, name: &str, is_least: bool) -> Result<Option<Self>> {
        let Some((place, _)) = self.schema.column_with_name(name) else { return Ok(None) };
        if place >= self.positions.len() {
            return Ok(None);
        }
        // Ends that come first are smaller; the complement turns the order of the others round.
        let end = |unit: &ScanUnit| {
            Ok(unit.ends(place)?.map(|(least, most)| if is_least { least } else { !most }))
        };
        let ends = self.units.iter().map(end).collect::<Result<Vec<_>>>()?;
        let units = || self.units.iter().zip(&ends);
        let known = |(unit, end): (&ScanUnit, &Option<i128>)| Some(((*end)?, unit.is_whole()));
        let whole = units().filter_map(known).filter(|(_, is_whole)| *is_whole);
        let Some(first) = whole.map(|(end, _)| end).min() else { return Ok(None) };
        let mut is_found = false;
        let mut beyond = |unit: &ScanUnit, end: Option<i128>| match end {
            Some(end) if end == first && !is_found && unit.is_whole() => {
                is_found = true;
                true
            }
            Some(end) => end < first,
            // Its rows are in memory, or all NULL.
            None => true,
        };
        let units: Vec<ScanUnit> = units()
            .filter(|(unit, end)| beyond(unit, **end))
            .map(|(unit, _)| unit.clone())
            .collect();
        let rows = units.iter().map(ScanUnit::rows_at_most).sum::<usize>();
        let estimate = Estimate { rows, is_exact: false, columns: self.estimate.columns.clone() };
        let streams = self.streams.clamp(1, units.len() + self.own.len());
        Ok(Some(Self { units, estimate, streams, ..self.clone() }))
    }

    /// The field of a column that is given as it is stored, as a whole number.
    fn whole(&self, at: usize) -> Option<Field> {
        let field = self.schema.field(at);
        let is_stored = self.stored.get(at).copied().unwrap_or(false);
        (is_stored && is_whole(field.data_type())).then(|| field.clone())
    }

    /// Adds the number of a row's group as the last column.
    pub(crate) fn group(&mut self, name: &str, grouped: Grouped) {
        let mut fields = self.schema.fields().to_vec();
        fields.push(Arc::new(Field::new(name, DataType::UInt32, false)));
        self.schema = Arc::new(Schema::new(fields));
        self.groups = Some(grouped);
    }

    /// A scan of some of the columns, the number of the group being one more.
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
        let units = units.into_iter().map(|unit| Work::Unit(Box::new(unit)));
        let own = self.own.iter().map(|rows| {
            let columns = positions.iter().map(|&at| Arc::clone(&rows[at])).collect();
            Work::Rows(columns, rows.first().map_or(0, |column| column.len()))
        });
        let queue: VecDeque<(usize, Work)> = units.chain(own).enumerate().collect();
        let key = self.key.iter().map_while(|key| {
            wanted.iter().position(|&at| {
                self.positions.get(at) == Some(key) && self.stored.get(at) == Some(&true)
            })
        });
        let key: Vec<usize> = key.collect();
        Reading {
            queue: Mutex::new(queue),
            schema,
            is_whole_key: !key.is_empty() && key.len() == self.key.len(),
            key,
            columns: plain().count(),
            number_at: wanted.iter().position(|&at| at >= self.positions.len()),
            timestamps: plain()
                .enumerate()
                .filter(|(_, at)| self.timestamps[**at])
                .map(|(place, _)| place)
                .collect(),
            time_zone: self.time_zone,
            groups: grouped.map(|grouped| grouped.groups),
            pin: Arc::clone(&self.pin),
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
        filters: &[Expr],
        _: Option<usize>,
    ) -> std::result::Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        if !filters.is_empty() {
            let narrowed = self.narrowed(filters).map_err(into_datafusion)?;
            return narrowed.exec(projection);
        }
        self.exec(projection)
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> std::result::Result<Vec<TableProviderFilterPushDown>, DataFusionError> {
        let tested = |filter: &&Expr| {
            match self.with_columns(|of| Conditions::default().take(of, filter)) {
                // Rows that the transaction wrote come as they are.
                Some(true) if self.table.own.is_none() => TableProviderFilterPushDown::Exact,
                Some(_) => TableProviderFilterPushDown::Inexact,
                None => TableProviderFilterPushDown::Unsupported,
            }
        };
        Ok(filters.iter().map(tested).collect())
    }
}

impl NativeScan {
    /// The operator that reads some of the columns.
    fn exec(
        &self,
        projection: Option<&Vec<usize>>,
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
        let estimate = Estimate { columns, ..self.estimate };
        let whole = wanted.iter().map(|&at| self.whole(at)).collect();
        Ok(Arc::new(NativeExec::new(
            reading,
            &self.tested_columns(),
            estimate,
            whole,
            self.streams,
        )))
    }
}

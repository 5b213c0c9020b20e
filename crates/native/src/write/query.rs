//! Runs the queries that DML statements need: over their tables, and over rows in memory.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array, UInt64Array};
use arrow::datatypes::{Schema, UInt64Type};
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::rows::Format;
use pelorus_mysql_wire::rows::RowDecoder;
use pelorus_query::{Block, Catalog, Database, InfoSchema, QueryContext, RowForm};
use pelorus_result::scalar::{Typed, value_at};
use pelorus_store::bytes_of;
use pelorus_types::{Column, ColumnType};

use super::{Statement, check_bytes};

/// Most expressions without a table that one query takes.
const EXPRESSIONS_MAX: usize = 256;
/// The database of rows in memory; no client can name it.
const MEMORY: &str = "\u{1}rows";
/// The column that numbers the rows in memory.
const NUMBER: &str = "\u{1}number";

/// Problems of expressions that end a statement in strict mode.
const STRICT: [Code; 11] = [
    Code::CutGroupConcat,
    Code::OutOfRange,
    Code::DataTruncated,
    Code::TruncatedWrongValue,
    Code::ResultTooLong,
    Code::DivisionByZero,
    Code::WrongValueForColumn,
    Code::WrongValueForType,
    Code::DatetimeOverflow,
    Code::InvalidLogarithm,
    Code::ArgumentOutOfRange,
];

/// The rows of a query as they come.
pub(super) struct Answer {
    /// The columns.
    pub(super) columns: Vec<Column>,
    /// The rows.
    pub(super) rows: std::pin::Pin<Box<dyn Stream<Item = Result<RecordBatch>> + Send>>,
}

impl Statement<'_> {
    /// Begins a query; [`Self::told`] returns its warnings.
    ///
    /// # Errors
    /// Errors of the query.
    pub(super) async fn ask(&self, context: &QueryContext, sql: &str) -> Result<Answer> {
        let result = pelorus_query::run(context, sql, RowForm::Text).await?;
        for (code, message) in result.warnings {
            self.diagnostics.warn(code, message);
        }
        let columns = result.columns.clone();
        let described = result.columns;
        let eval = Arc::clone(&context.eval);
        let decoded = move |bytes: Bytes| {
            let mut decoder = RowDecoder::new(described.clone(), Format::Text)?;
            for payload in pelorus_mysql_wire::rows::payloads(&bytes) {
                decoder.push(payload)?;
            }
            decoder.finish()
        };
        let rows = result.rows.filter_map(move |block| {
            futures::future::ready(match block {
                Ok(Block::Batch(batch)) => Some(Ok(batch)),
                Ok(Block::Encoded(bytes)) => Some(decoded(bytes)),
                Ok(Block::Warned(_, conditions)) => {
                    let warnings = conditions.into_iter().filter(|it| it.level != "Note");
                    warnings.for_each(|it| eval.warn(it.code, it.message));
                    None
                }
                Err(error) => Some(Err(error)),
            })
        });
        Ok(Answer { columns, rows: Box::pin(rows) })
    }

    /// The warnings of queries that are over: in strict mode most are errors.
    pub(super) fn told(&self, context: &QueryContext) -> Result<()> {
        for (code, message) in context.eval.take_warnings() {
            let strict = STRICT.iter().find(|known| known.errno() == code);
            if let Some(code) = strict.filter(|_| self.policy.strict && !self.policy.ignore) {
                return Err(Error::new(*code, message));
            }
            self.diagnostics.warn(code, message);
        }
        Ok(())
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// Errors of the query, and more bytes than one commit takes (1235), as soon as there are so
    /// many.
    pub(super) async fn all(
        &self,
        context: &QueryContext,
        sql: &str,
    ) -> Result<(Vec<Column>, Vec<RecordBatch>)> {
        let mut answer = self.ask(context, sql).await?;
        let (mut batches, mut bytes) = (Vec::new(), 0);
        let mut held = self.context.memory.empty();
        while let Some(batch) = answer.rows.next().await {
            self.stop.check()?;
            let batch = batch?;
            if batch.num_rows() > 0 {
                bytes += bytes_of(batch.columns());
                check_bytes(bytes)?;
                held.try_resize(bytes).map_err(Error::out_of_memory)?;
                batches.push(batch);
            }
        }
        drop(answer.rows);
        self.told(context)?;
        Ok((answer.columns, batches))
    }

    /// The values of expressions that need no row.
    ///
    /// # Errors
    /// Errors of the evaluation.
    pub(super) async fn values(&self, expressions: &[String]) -> Result<Vec<Typed>> {
        let mut values = Vec::with_capacity(expressions.len());
        for some in expressions.chunks(EXPRESSIONS_MAX) {
            let sql = format!("SELECT {}", some.join(", "));
            let (columns, batches) = self.all(&self.context, &sql).await?;
            if columns.len() != some.len() {
                return Err(Error::internal("a value has more than one column"));
            }
            let first = batches.first();
            for (at, column) in columns.iter().enumerate() {
                let value = match first {
                    Some(batch) => value_at(batch.column(at), &column.ty, 0)?,
                    None => pelorus_functions::Value::Null,
                };
                values.push((value, column.ty));
            }
        }
        Ok(values)
    }

    /// The values of expressions for each of some rows in memory, which have a table's name.
    /// Subqueries read other tables as usual.
    ///
    /// # Errors
    /// Errors of the evaluation.
    pub(super) async fn over_rows(
        &self,
        table: &str,
        columns: &[Column],
        arrays: &[ArrayRef],
        expressions: &[String],
    ) -> Result<Vec<(ArrayRef, ColumnType)>> {
        let count = arrays.first().map_or(0, |array| array.len());
        let mut described = columns.to_vec();
        let number = ColumnType::bigint_unsigned().not_null();
        described.push(Column::computed(NUMBER, number));
        let mut held = arrays.to_vec();
        held.push(Arc::new(UInt64Array::from_iter_values(0..count as u64)));
        let fields: Vec<_> = described.iter().map(Column::field).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), held)
            .map_err(|error| Error::internal("rows in memory do not fit").caused_by(error))?;
        let schema = Arc::new(InMemory { columns: described, batch });
        let catalog = Arc::new(WithRows { others: Arc::clone(&self.context.catalog), schema });
        let context = QueryContext { catalog, ..self.context.clone() };
        let name = pelorus_sql::literal::name;
        let sql = format!(
            "SELECT {}, {} FROM {}.{} AS {}",
            name(NUMBER),
            expressions.join(", "),
            name(MEMORY),
            name("rows"),
            name(table),
        );
        let (columns, batches) = self.all(&context, &sql).await?;
        in_order(&columns, &batches, count)
    }
}

/// The columns after the number, in the order of the numbers.
fn in_order(
    columns: &[Column],
    batches: &[RecordBatch],
    count: usize,
) -> Result<Vec<(ArrayRef, ColumnType)>> {
    let broken = |what| Error::internal(format!("values over rows in memory: {what}"));
    let concat = |at: usize| -> Result<ArrayRef> {
        let parts: Vec<&dyn Array> =
            batches.iter().map(|batch| batch.column(at).as_ref()).collect();
        arrow::compute::concat(&parts).map_err(|_| broken("arrays differ"))
    };
    if batches.is_empty() {
        let empty =
            |column: &Column| (arrow::array::new_empty_array(&column.ty.arrow()), column.ty);
        return Ok(columns.iter().skip(1).map(empty).collect());
    }
    let numbers = concat(0)?;
    let numbers = numbers.as_primitive_opt::<UInt64Type>().ok_or_else(|| broken("no numbers"))?;
    let mut order = vec![0_u32; count];
    if numbers.len() != count {
        return Err(broken("rows are missing"));
    }
    for (at, number) in numbers.values().iter().enumerate() {
        let place = usize::try_from(*number).ok().and_then(|number| order.get_mut(number));
        *place.ok_or_else(|| broken("a number is not there"))? = u32::try_from(at).unwrap_or(0);
    }
    let order = UInt32Array::from(order);
    (1..columns.len())
        .map(|at| {
            let array = arrow::compute::take(&concat(at)?, &order, None)
                .map_err(|_| broken("rows cannot be ordered"))?;
            Ok((array, columns[at].ty))
        })
        .collect()
}

/// A session's databases and one of rows in memory.
struct WithRows {
    others: Arc<dyn Catalog>,
    schema: Arc<InMemory>,
}

impl Catalog for WithRows {
    fn database(&self, name: &str) -> Option<Database> {
        if name == MEMORY {
            return Some(Database::Info(self.schema.clone()));
        }
        self.others.database(name)
    }
}

/// One table of rows in memory.
struct InMemory {
    columns: Vec<Column>,
    batch: RecordBatch,
}

#[async_trait]
impl InfoSchema for InMemory {
    fn table(&self, _: &str) -> Option<Vec<Column>> {
        Some(self.columns.clone())
    }

    async fn rows(&self, _: &str, _: &[(String, String)]) -> Result<RecordBatch> {
        Ok(self.batch.clone())
    }
}

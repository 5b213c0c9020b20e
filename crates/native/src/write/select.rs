//! `INSERT ... SELECT`: converts the rows of a query to the columns of a table.

use arrow::record_batch::RecordBatch;
use futures::StreamExt;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::{ColumnBuilder, NullRule, Policy, assign_array};
use pelorus_store::bytes_of;
use pelorus_types::Column;

use super::default::{Default, defaults};
use super::values_fast_path::NewRows;
use super::warnings::Warnings;
use super::{Statement, check_bytes};
use crate::constraints::not_assignable;
use crate::definition::NativeDef;

impl Statement<'_> {
    /// The rows of a query as new rows, whose columns `given` it fills in order.
    ///
    /// # Errors
    /// Another number of columns (1136), a value that does not fit, more rows than one commit takes
    /// (1235).
    pub(super) async fn query_rows(
        &self,
        def: &NativeDef,
        given: Vec<usize>,
        sql: &str,
    ) -> Result<Vec<NewRows>> {
        let mut context = self.context.clone();
        // Of rows with one key the last stays.
        context.options.in_order = true;
        let mut answer = self.ask(&context, sql).await?;
        if answer.columns.len() != given.len() {
            return Err(Error::new(
                Code::WrongValueCount,
                "Column count doesn't match value count at row 1",
            ));
        }
        if let Some(column) = given.iter().find(|at| def.is_generated(**at)) {
            return Err(not_assignable(def, *column));
        }
        let defaults = defaults(def, &self.policy, self.context.mode);
        let mut batches = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        let mut held = self.context.memory.empty();
        while let Some(batch) = answer.rows.next().await {
            self.stop.check()?;
            let batch = batch?;
            if batch.num_rows() == 0 {
                continue;
            }
            let policy = Policy { nulls: NullRule::Replace, first_row: rows + 1, ..self.policy };
            let new = new_rows(def, &defaults, policy, &given, &answer.columns, &batch)?;
            rows += batch.num_rows() as u64;
            bytes += bytes_of(&new.columns);
            check_bytes(bytes)?;
            held.try_resize(bytes).map_err(Error::out_of_memory)?;
            batches.push(new);
        }
        drop(answer.rows);
        self.told(&self.context)?;
        Ok(batches)
    }
}

fn new_rows(
    def: &NativeDef,
    defaults: &[Default],
    policy: Policy,
    given: &[usize],
    columns: &[Column],
    batch: &RecordBatch,
) -> Result<NewRows> {
    let rows = batch.num_rows();
    let mut warnings = Warnings::default();
    let mut computed = Vec::new();
    let mut made = Vec::with_capacity(def.columns.len());
    for (at, target) in def.targets.iter().enumerate() {
        let assigned = match given.iter().position(|&it| it == at) {
            Some(place) => assign_array(target, &policy, batch.column(place), &columns[place].ty)?,
            None => {
                let mut builder = ColumnBuilder::with_room(target, policy, rows)?;
                let value = match &defaults[at] {
                    Default::None => None,
                    Default::Value(value) => Some(value),
                    Default::Computed(_) => {
                        computed
                            .push((at, (0..rows).filter_map(|it| it.try_into().ok()).collect()));
                        Some(&def.implicit[at])
                    }
                };
                for _ in 0..rows {
                    builder.append_default(value, &def.implicit[at])?;
                }
                builder.finish()
            }
        };
        warnings.add(assigned.warnings, assigned.warning_count);
        made.push(assigned.array);
    }
    Ok(NewRows { columns: made, warnings, computed })
}

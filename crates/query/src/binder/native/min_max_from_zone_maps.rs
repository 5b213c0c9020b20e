//! `MIN` and `MAX` without GROUP BY over a native table, answered from zone maps.
//!
//! A zone map gives the smallest and the largest value of a chunk. If all rows of a chunk count,
//! both are stored values, and only chunks that may hold a more extreme value are read. Otherwise
//! a top-1 reads the chunk with the most promising bound first, and then only the chunks that may
//! hold a more extreme value.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SortExpr, TableScan};
use pelorus_error::Result;

use super::table_provider::NativeScan;
use crate::datafusion_adapter::udf::from_datafusion;

/// The plan of aggregates without groups over a native table, if all are the least or greatest
/// values of its columns; each is computed separately.
///
/// # Errors
/// Those of DataFusion, and errors of reading the descriptions of chunks.
pub(crate) fn of_scan(input: &LogicalPlan, aggregates: &[Expr]) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::TableScan(scan) = input else { return Ok(None) };
    let provider = source_as_provider(&scan.source).map_err(from_datafusion)?;
    let Some(native) = provider.downcast_ref::<NativeScan>() else { return Ok(None) };
    // A scan for each of several values would test its conditions as often.
    if native.units() < 2 || (aggregates.len() > 1 && native.is_tested) {
        return Ok(None);
    }
    let mut plan: Option<LogicalPlanBuilder> = None;
    for aggregate in aggregates {
        let Some((column, is_least)) = end_of(aggregate, native) else { return Ok(None) };
        let near = match native.of_end(&column.name, is_least)? {
            Some(near) => LogicalPlanBuilder::from(LogicalPlan::TableScan(TableScan {
                source: provider_as_source(Arc::new(near)),
                ..scan.clone()
            })),
            // NULLs come last, being neither.
            None => LogicalPlanBuilder::from(input.clone())
                .sort([SortExpr::new(Expr::Column(column.clone()), is_least, false)])
                .and_then(|it| it.limit(0, Some(1)))
                .map_err(from_datafusion)?,
        };
        let one = near
            .aggregate(Vec::<Expr>::new(), [aggregate.clone()])
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)?;
        plan = Some(match plan {
            None => LogicalPlanBuilder::from(one),
            Some(others) => others.cross_join(one).map_err(from_datafusion)?,
        });
    }
    plan.map(|plan| plan.build().map_err(from_datafusion)).transpose()
}

/// The column of which an aggregate gives the least value, or else the greatest.
fn end_of<'a>(aggregate: &'a Expr, scan: &NativeScan) -> Option<(&'a Column, bool)> {
    let Expr::Alias(named) = aggregate else { return None };
    let Expr::AggregateFunction(function) = named.expr.as_ref() else { return None };
    let is_least = match function.func.name() {
        "min" => true,
        "max" => false,
        _ => return None,
    };
    let [Expr::Column(column)] = function.params.args.as_slice() else { return None };
    let is_plain = function.params.filter.is_none() && scan.has_ends(&column.name);
    is_plain.then_some((column, is_least))
}

//! `MIN` and `MAX` of a whole scan. The descriptions of chunks tell between which ends their values
//! lie: a top-1 reads the chunk with the most promising end first, and then only those that may
//! hold something beyond what it found.

use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SortExpr};
use pelorus_error::Result;

use super::scan::NativeScan;
use crate::udf::from_datafusion;

/// The plan of aggregates without groups over a native table, if all are the least or greatest
/// values of its columns; each is computed from one row.
///
/// # Errors
/// Those of DataFusion.
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
        let Some(term) = end_of(aggregate, native) else { return Ok(None) };
        let one = LogicalPlanBuilder::from(input.clone())
            .sort([term])
            .and_then(|it| it.limit(0, Some(1)))
            .and_then(|it| it.aggregate(Vec::<Expr>::new(), [aggregate.clone()]))
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)?;
        plan = Some(match plan {
            None => LogicalPlanBuilder::from(one),
            Some(others) => others.cross_join(one).map_err(from_datafusion)?,
        });
    }
    plan.map(|plan| plan.build().map_err(from_datafusion)).transpose()
}

/// The order in which the value of an aggregate comes first. NULLs come last, being neither.
fn end_of(aggregate: &Expr, scan: &NativeScan) -> Option<SortExpr> {
    let Expr::Alias(named) = aggregate else { return None };
    let Expr::AggregateFunction(function) = named.expr.as_ref() else { return None };
    let is_least = match function.func.name() {
        "min" => true,
        "max" => false,
        _ => return None,
    };
    let [Expr::Column(column)] = function.params.args.as_slice() else { return None };
    let is_plain = function.params.filter.is_none() && scan.has_ends(&column.name);
    is_plain.then(|| SortExpr::new(Expr::Column(column.clone()), is_least, false))
}

//! Perfect-hash aggregation: groups by small integers in an array with a place for each combination
//! of values, instead of the hash table of a partial aggregation.
//!
//! Dashboards group by days of the week, years, states, or texts that a scan has numbered: a few
//! values close together. If the keys of a batch span more places than the array has, the groups so
//! far are emitted, and DataFusion's own operator aggregates the rest: the attempt costs nothing.

mod exec;
mod table;

use std::sync::Arc;

use datafusion::common::DataFusionError;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode, PhysicalExpr};

use self::exec::PerfectHashAggregateExec;
use self::table::is_small_number;

/// Puts the perfect-hash table before partial aggregations by integers.
#[derive(Debug)]
pub(crate) struct PerfectHashAggregate;

impl PhysicalOptimizerRule for PerfectHashAggregate {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        plan.transform_up(|plan| {
            Ok(match plan.downcast_ref::<AggregateExec>().filter(|it| is_suited(it)) {
                Some(aggregate) => {
                    Transformed::yes(Arc::new(PerfectHashAggregateExec::new(aggregate.clone())))
                }
                None => Transformed::no(plan),
            })
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "PerfectHashAggregate"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn is_suited(aggregate: &AggregateExec) -> bool {
    /// Most keys: with more of them combinations are many.
    const KEYS: usize = 3;
    let groups = aggregate.group_expr();
    let schema = aggregate.input_schema();
    let is_small =
        |key: &Arc<dyn PhysicalExpr>| key.data_type(&schema).is_ok_and(|ty| is_small_number(&ty));
    let keys = groups.input_exprs();
    *aggregate.mode() == AggregateMode::Partial
        && *aggregate.input_order_mode() == InputOrderMode::Linear
        && groups.is_single()
        && (1..=KEYS).contains(&keys.len())
        && keys.iter().all(is_small)
        && aggregate.limit_options().is_none()
        && aggregate.dynamic_expressions_produced().is_empty()
        && aggregate
            .aggr_expr()
            .iter()
            .all(|it| it.order_bys().is_empty() && it.groups_accumulator_supported())
}

//! `GROUP BY ... WITH ROLLUP`: grouping sets of all keys, of all but the last, and so on to no key.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::GroupingSet;
use datafusion::logical_expr::logical_plan::Aggregate;
use datafusion::logical_expr::{
    BinaryExpr, Expr, LogicalPlan, LogicalPlanBuilder, Operator, SortExpr, cast, lit, when,
};
use pelorus_error::{Code, Error, Result};
use pelorus_expression::syntax::plain_arguments;
use pelorus_types::ColumnType;
use sqlparser::ast;

use super::expression::{Computed, canonical};
use super::function_call::{collect, name_of};
use super::scope::Scope;
use super::typed_expression::TypedExpr;
use crate::datafusion_adapter::plan_nodes::column_expr;
use crate::datafusion_adapter::udf::from_datafusion;

/// A value if the key is present, otherwise NULL: super-aggregate groups have no key.
pub(crate) fn unless_null(key: Expr, value: Expr) -> Result<Expr> {
    when(key.is_null(), lit(ScalarValue::Null)).otherwise(value).map_err(from_datafusion)
}

/// Most keys that are rolled up: each is one more set of groups.
const MAX_ROLLED: usize = 64;

/// The groups in MySQL's order: after each run of groups the one that unites them. The groups have
/// names. `counted` is an aggregate that counts rows: groups of none are left out.
pub(crate) fn rolled_up(
    plan: LogicalPlan,
    groups: Vec<Expr>,
    aggregates: Vec<Expr>,
    counted: Option<&str>,
) -> Result<LogicalPlan> {
    if groups.len() > MAX_ROLLED {
        return Err(Error::unsupported(format_args!(
            "WITH ROLLUP of more than {MAX_ROLLED} groups"
        )));
    }
    let mut order = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let name = group.schema_name().to_string();
        order.push(SortExpr::new(united(at, groups.len()), true, true));
        order.push(SortExpr::new(column_expr(&name), true, true));
    }
    let rollup = Expr::GroupingSet(GroupingSet::Rollup(groups));
    LogicalPlanBuilder::from(plan)
        .aggregate([rollup], aggregates)
        .and_then(|plan| match counted {
            Some(name) => plan.filter(column_expr(name).gt(lit(0_i64))),
            None => Ok(plan),
        })
        .and_then(|plan| plan.sort(order))
        .and_then(LogicalPlanBuilder::build)
        .map_err(from_datafusion)
}

/// Most arguments of `GROUPING` in MySQL: each is a bit.
const MAX_ARGUMENTS: usize = 64;

/// Adds the calls of `GROUPING` above the groups. `keys` are the texts of the keys.
pub(crate) fn add_calls(
    over: &[&ast::Expr],
    keys: &[String],
    scope: &Scope,
    computed: &mut Computed,
) -> Result<()> {
    let mut calls = Vec::new();
    for expr in over {
        collect(expr, |call| name_of(call) == "GROUPING", &mut calls);
    }
    for call in calls {
        let mut bits = lit(0_i64);
        let args = plain_arguments(&call)?;
        if args.len() > MAX_ARGUMENTS {
            let text = format!(
                "Too many arguments for function GROUPING: {}; maximum allowed is {MAX_ARGUMENTS}.",
                args.len()
            );
            return Err(Error::new(Code::TooManyArguments, text));
        }
        for arg in args {
            let text = canonical(arg, scope);
            let at = keys.iter().position(|key| *key == text).ok_or_else(|| {
                let text = format!("Argument '{arg}' of GROUPING function is not in GROUP BY");
                Error::new(Code::WrongArguments, text)
            })?;
            let shifted = binary(bits, Operator::BitwiseShiftLeft, lit(1_i64));
            bits = binary(shifted, Operator::BitwiseOr, united(at, keys.len()));
        }
        let value = TypedExpr::computed(bits, ColumnType::bigint().not_null());
        computed.insert(canonical(&ast::Expr::Function(call), scope), value);
    }
    Ok(())
}

/// 1 for groups over all values of a key, by its place among all, else 0.
fn united(at: usize, keys: usize) -> Expr {
    let id = cast(column_expr(Aggregate::INTERNAL_GROUPING_ID), DataType::Int64);
    // The first key has the highest bit.
    let shift = i64::try_from(keys - 1 - at).unwrap_or_default();
    binary(binary(id, Operator::BitwiseShiftRight, lit(shift)), Operator::BitwiseAnd, lit(1_i64))
}

fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

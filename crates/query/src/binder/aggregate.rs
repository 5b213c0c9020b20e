//! Binds GROUP BY and aggregate functions.

use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::logical_expr::{Expr, LogicalPlan, lit};
use pelorus_error::{Error, Result};
use pelorus_functions::aggregate::{self, AggregateCall};
use pelorus_functions::{Arg, EvalContext, Formula};
use sqlparser::ast::{self, VisitMut, VisitorMut};

use super::expression::{Computed, ExprBinder, canonical};
use super::function_call::{call_of, collect, is_aggregate};
use super::named_columns::{all_columns, own_columns};
use super::native::dictionary_groups::{Part, part_of};
use super::native::min_max_from_zone_maps;
use super::scope::{Scope, path_of};
use super::statement::Binder;
use super::typed_expression::TypedExpr;
use super::{mariadb_rules, rollup};
use crate::datafusion_adapter::plan_nodes::column_expr;
use crate::datafusion_adapter::udf::Units;
use crate::datafusion_adapter::{plan_nodes, udf};

/// The grouping of a block, and the expressions above the groups.
pub(crate) struct Grouping<'a> {
    /// The keys, aliases and ordinals resolved.
    pub(crate) keys: &'a [ast::Expr],
    /// The expressions in which aggregates are looked for.
    pub(crate) over: Vec<&'a ast::Expr>,
    /// The columns that `*` brought into the select list, by their places.
    pub(crate) starred: Vec<usize>,
    /// The expressions by which windows are partitioned and ordered.
    pub(crate) windows: Vec<ast::Expr>,
    /// Which columns of FROM the keys determine; nothing where any may be named.
    pub(crate) determined: &'a [bool],
    /// WITH ROLLUP.
    pub(crate) rollup: bool,
    /// A MariaDB may write the groups to a table before their last use, and rounds averages there.
    pub(crate) written: bool,
}

impl Grouping<'_> {
    /// The columns above the groups, by their places, except those within keys. `texts` are those
    /// of the keys.
    fn columns(&self, scope: &Scope, texts: &[String]) -> Vec<usize> {
        let mut found = self.starred.clone();
        for expr in self.over.iter().copied().chain(&self.windows) {
            let mut copy = expr.clone();
            // The visitor never breaks off.
            let _: ControlFlow<()> = copy.visit(&mut WithoutKeys { scope, texts });
            found.extend(own_columns(&copy, scope));
            let is_determined = |at: &usize| self.determined.get(*at).copied().unwrap_or(true);
            found.extend(all_columns(&copy, scope).into_iter().filter(is_determined));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Takes keys out of an expression.
struct WithoutKeys<'a> {
    scope: &'a Scope,
    texts: &'a [String],
}

impl VisitorMut for WithoutKeys<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        // Columns that are keys are found as such.
        let is_name = path_of(expr).is_some() || matches!(expr, ast::Expr::Value(_));
        if !is_name && self.texts.contains(&canonical(expr, self.scope)) {
            *expr = ast::Expr::value(ast::Value::Null);
        }
        ControlFlow::Continue(())
    }
}

impl Binder<'_> {
    /// Adds grouping to a plan; the result maps keys and aggregates to columns of the new plan.
    pub(crate) fn aggregate(
        &self,
        plan: LogicalPlan,
        binder: &ExprBinder<'_>,
        grouping: &Grouping<'_>,
    ) -> Result<(LogicalPlan, Computed)> {
        let context = &self.context.eval;
        let mut computed = Computed::new();
        let (mut groups, mut aggregates) = (Vec::new(), Vec::new());
        let mut keys: Vec<(String, TypedExpr)> = Vec::new();
        for key in grouping.keys {
            let text = canonical(key, binder.scope);
            if !keys.iter().any(|(it, _)| *it == text) {
                let value = binder.value(key)?;
                // Depending on the plan, a MariaDB tells quotients apart that look the same.
                mariadb_rules::check_digits(&value)?;
                keys.push((text, value));
            }
        }
        let dependent = {
            let texts: Vec<String> = keys.iter().map(|(text, _)| text.clone()).collect();
            grouping.columns(binder.scope, &texts)
        };
        // The text of a number is that of any row with an equal one. It is a row of the group where
        // nothing else tells groups apart.
        let is_key = |column: &Expr| keys.iter().any(|(_, key)| key.expr == *column);
        let numbers = binder.scope.groups.as_ref().filter(|it| {
            it.columns.iter().all(is_key)
                && keys.iter().all(|(_, key)| it.columns.contains(&key.expr))
        });
        if grouping.rollup && keys.len() != grouping.keys.len() {
            return Err(Error::unsupported("WITH ROLLUP over one expression twice"));
        }
        let texts: Vec<String> = keys.iter().map(|(text, _)| text.clone()).collect();
        let number = numbers.map(|numbers| {
            let name = self.fresh("g");
            groups.push(numbers.number.clone().alias(&name));
            (numbers, column_expr(&name))
        });
        for (text, value) in keys {
            if let Some((numbers, number)) = &number
                && let Some(at) = numbers.columns.iter().position(|it| *it == value.expr)
            {
                let part = |part| part_of(&numbers.groups, at, part, number.clone());
                let shown = if numbers.is_filtered {
                    let pick = self.fresh("v");
                    aggregates.push(any_value(&value, context)?.alias(&pick));
                    column_expr(&pick)
                } else {
                    part(Part::Text)
                };
                computed.insert(text, value.at(shown, Some(part(Part::Key))));
                continue;
            }
            // The order of groups is that of their keys.
            let group = match grouping.rollup {
                true => value.order_key(context)?,
                false => value.sort_key(context),
            };
            let name = self.fresh("g");
            groups.push(group.clone().alias(&name));
            let mut bound = if group == value.expr {
                value.at(column_expr(&name), None)
            } else {
                let pick = self.fresh("v");
                aggregates.push(any_value(&value, context)?.alias(&pick));
                let picked = match grouping.rollup {
                    true => rollup::unless_null(column_expr(&name), column_expr(&pick))?,
                    false => column_expr(&pick),
                };
                value.at(picked, Some(column_expr(&name)))
            };
            if grouping.rollup {
                bound.set_nullable();
                bound = bound.into_value();
            }
            computed.insert(text, bound);
        }
        for place in dependent {
            let column = binder.scope.path(place);
            let text = canonical(&column, binder.scope);
            if let Entry::Vacant(place) = computed.entry(text) {
                if grouping.rollup {
                    return Err(Error::unsupported(format_args!(
                        "{column}, which WITH ROLLUP is not over"
                    )));
                }
                let mut value = binder.value(&column)?;
                if groups.is_empty() {
                    // There may be no row.
                    value.set_nullable();
                }
                let pick = self.fresh("v");
                aggregates.push(any_value(&value, context)?.alias(&pick));
                place.insert(value.at(column_expr(&pick), None));
            }
        }
        let mut functions = Vec::new();
        for expr in &grouping.over {
            collect(expr, is_aggregate, &mut functions);
        }
        for function in functions {
            let text = canonical(&ast::Expr::Function(function.clone()), binder.scope);
            if computed.contains_key(&text) {
                continue;
            }
            let name = self.fresh("a");
            let (expr, value) = self.aggregate_call(&function, column_expr(&name), binder)?;
            aggregates.push(expr.alias(&name));
            let rounded = grouping.written && value.is_quotient();
            computed.insert(text, if rounded { value.settled(context) } else { value });
        }
        if groups.is_empty()
            && let Some(plan) = min_max_from_zone_maps::of_scan(&plan, &aggregates)?
        {
            return Ok((plan, computed));
        }
        if grouping.rollup {
            rollup::add_calls(&grouping.over, &texts, binder.scope, &mut computed)?;
            // Over no rows a MySQL has the group of all of them, a MariaDB none.
            let counted = binder.is_mariadb().then(|| self.fresh("n"));
            if let Some(name) = &counted {
                aggregates.push(bind("COUNT", false, Vec::new(), context)?.0.alias(name));
            }
            let plan = rollup::rolled_up(plan, groups, aggregates, counted.as_deref())?;
            return Ok((plan, computed));
        }
        let plan = plan_nodes::aggregate(plan, groups, aggregates)?;
        Ok((plan, computed))
    }

    /// An aggregate, and its value in a column of the plan above.
    fn aggregate_call(
        &self,
        function: &ast::Function,
        column: Expr,
        binder: &ExprBinder<'_>,
    ) -> Result<(Expr, TypedExpr)> {
        let call = call_of(function)?;
        let mut args = call.args.iter().map(|arg| binder.value(arg)).collect::<Result<Vec<_>>>()?;
        if binder.is_mariadb() {
            let increment = self.context.eval.div_precision_increment;
            mariadb_rules::check_aggregate(&call.name, &args, increment)?;
        }
        if call.name == "GROUP_CONCAT" {
            args = self.concatenated(&call, args, binder)?;
        }
        if !call.distinct
            && let [arg] = args.as_slice()
            && let Some((expr, done)) =
                in_one_go(&call.name, arg, &binder.scope.units, &self.context.eval)
        {
            return Ok((expr, binder.marked(&call.name, TypedExpr::of_aggregate(column, &done))));
        }
        let (expr, bound) = bind(&call.name, call.distinct, args.clone(), &self.context.eval)?;
        let value = TypedExpr::of_aggregate(column, &bound).extreme_of(&call.name, &args);
        Ok((expr, binder.marked(&call.name, value)))
    }
}

/// An aggregate over bound arguments. `COUNT(*)` has none.
pub(crate) fn bind(
    name: &str,
    distinct: bool,
    args: Vec<TypedExpr>,
    context: &Arc<EvalContext>,
) -> Result<(Expr, Arc<AggregateCall>)> {
    // Values that differ in digits that they do not show are the same.
    let args: Vec<TypedExpr> = match distinct {
        true => args.into_iter().map(|arg| arg.settled(context)).collect(),
        false => args,
    };
    let args = match name {
        "SUM" | "AVG" | "STD" | "STDDEV" | "STDDEV_POP" | "STDDEV_SAMP" | "VAR_POP"
        | "VAR_SAMP" | "VARIANCE" => {
            let number = |arg: TypedExpr| match arg.arg().hides_number() || arg.arg().mixes {
                true => Ok(arg.number(true, context)?.unwrap_or(arg)),
                false => Ok(arg),
            };
            args.into_iter().map(number).collect::<Result<_>>()?
        }
        _ => args,
    };
    let described: Vec<Arg> = args.iter().map(TypedExpr::arg).collect();
    let call = Arc::new(aggregate::resolve(name, distinct, &described, context)?);
    let mut exprs: Vec<Expr> = args.into_iter().map(|arg| arg.expr).collect();
    if exprs.is_empty() {
        // DataFusion counts rows by the length of an argument.
        exprs.push(lit(1_i64));
    }
    Ok((udf::aggregate(Arc::clone(&call), exprs), call))
}

/// A sum or average that computes its argument itself, where that is a formula over columns.
fn in_one_go(
    name: &str,
    arg: &TypedExpr,
    units: &[Units],
    context: &Arc<EvalContext>,
) -> Option<(Expr, Arc<AggregateCall>)> {
    let mut columns = Vec::new();
    let formula = udf::formula(&arg.expr, units, &mut columns)?;
    if columns.is_empty() || matches!(formula, Formula::Column(_) | Formula::Constant(_)) {
        return None;
    }
    let call = Arc::new(aggregate::resolve_formula(name, &arg.arg(), formula, context)?);
    Some((udf::aggregate(Arc::clone(&call), columns), call))
}

/// Any value of a group.
pub(crate) fn any_value(value: &TypedExpr, context: &Arc<EvalContext>) -> Result<Expr> {
    Ok(bind("ANY_VALUE", false, vec![value.clone()], context)?.0)
}

#[cfg(test)]
mod tests {
    use pelorus_sql::ast_analysis::AGGREGATES;

    use super::*;

    #[test]
    fn every_aggregate_of_the_grammar_is_known_to_the_functions() {
        let context = Arc::new(EvalContext::default());
        for name in AGGREGATES {
            let error = aggregate::resolve(name, false, &[], &context).err();
            let number = error.map(|error| error.errno());
            // `COUNT()` is `COUNT(*)`; others want arguments, or are not there yet.
            assert!(matches!(number, None | Some(1064 | 1582 | 1235)), "{name}: {number:?}");
        }
    }
}

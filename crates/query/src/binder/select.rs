//! Binds one SELECT block: FROM, WHERE, grouping, the select list, DISTINCT, ORDER BY and LIMIT.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SortExpr};
use pelorus_error::{Code, Error, Result};
use pelorus_sql::ast_analysis::{self, has_window};
use pelorus_types::Column;
use sqlparser::ast;

use super::aggregate::Grouping;
use super::block::{Block, has_keys, is_distinct, is_rollup};
use super::bound_query::{BoundColumn, BoundQuery};
use super::clause_names::{self, Names, Term};
use super::expression::{Computed, ExprBinder, Subqueries, canonical, check_conditions};
use super::facts::Facts;
use super::function_call::is_extreme_of_computed;
use super::grouped::window_terms;
use super::named_columns::check_names;
use super::order_limit::BlockOrder;
use super::order_limit::{ordered, sort_term};
use super::outer_aggregates::above_groups;
use super::scope::Scope;
use super::select_list::{Item, items};
use super::statement::{BindScope, Binder};
use super::typed_expression::{Constants, TypedExpr};
use super::{function_call, functional_dependency, mariadb_rules, propagated, window};
use crate::context::Flavour;
use crate::datafusion_adapter::plan_nodes;
use crate::datafusion_adapter::plan_nodes::column_expr;
use crate::datafusion_adapter::udf::from_datafusion;

impl Binder<'_> {
    /// Binds one block with its ORDER BY and LIMIT.
    pub(crate) async fn select(
        &self,
        select: &ast::Select,
        order: BlockOrder<'_>,
        reach: &BindScope,
    ) -> Result<BoundQuery> {
        refuse_extras(select)?;
        let (plan, mut scope) = self.from(select, reach).await?;
        scope.outer = reach.outer.clone();
        let lifted = self.lifted(select, order, reach, &scope).await?;
        let (select, order, calls) = match &lifted {
            Some(lifted) => {
                let order = BlockOrder { by: &lifted.order, ..order };
                (&lifted.select, order, lifted.calls.clone())
            }
            None => (select, order, Vec::new()),
        };
        let items = items(select, &scope, self.parsed.names(select))?;
        for expr in items.iter().filter_map(|item| item.expr.as_ref()) {
            check_names(expr, &scope, "field list")?;
        }
        if let Some(condition) = &select.selection {
            check_names(condition, &scope, "where clause")?;
        }
        if self.answer.get() != Some(&Flavour::MariaDb) {
            propagated::check(select, &scope)?;
        }
        let names = Names::new(&scope, &items, &self.context.eval);
        let clauses = names.clauses(select, order.by)?;
        let subqueries = Subqueries::new();
        let distinct = is_distinct(select)?;
        let determined = Vec::new();
        let mut block =
            Block { select, order, items, subqueries, distinct, clauses, calls, determined };
        let grouped = self.settle_groups(&scope, &mut block)?;
        let outer = Arc::new(scope.clone());
        let early = block.early(grouped);
        block.subqueries = self.subqueries(early, reach, outer).await?;
        if let Some(condition) = &select.selection
            && !scope.tested.is_empty()
            && self.answer.get() == Some(&Flavour::MariaDb)
        {
            // What the scan tests may mean something else there, too.
            self.clause(&scope, &block.subqueries, "where clause").predicate(condition)?;
        }
        let plan = match untested(select, &scope)? {
            Some(condition) => {
                let binder = self.clause(&scope, &block.subqueries, "where clause");
                let plan = filter(plan, binder.predicate(&condition)?)?;
                if let Some(groups) = &mut scope.groups {
                    groups.is_filtered = true;
                }
                plan
            }
            None => plan,
        };
        if !grouped {
            return self.finish(plan, &scope, &block, Computed::new());
        }
        let (plan, computed) = self.groups(plan, &scope, &block)?;
        let seen = Arc::new(above_groups(&scope, &computed, &block.calls));
        let late = self.subqueries(block.late(), reach, seen).await?;
        block.subqueries.extend(late);
        self.finish(plan, &scope, &block, computed)
    }

    /// Makes groups of the rows.
    fn groups(
        &self,
        plan: LogicalPlan,
        scope: &Scope,
        block: &Block<'_>,
    ) -> Result<(LogicalPlan, Computed)> {
        let binder = self.clause(scope, &block.subqueries, "group statement");
        let keys = block.clauses.key_expressions();
        let grouping = Grouping {
            keys: &keys,
            over: block.expressions(),
            starred: block.starred(),
            windows: window_terms(block),
            determined: &block.determined,
            rollup: is_rollup(block.select)?,
            written: block.distinct || !block.is_ordered_by(&keys, scope),
        };
        self.aggregate(plan, &binder, &grouping)
    }

    /// Binds everything after grouping. `computed` are the results of the groups, if there are any.
    fn finish(
        &self,
        plan: LogicalPlan,
        scope: &Scope,
        block: &Block<'_>,
        mut computed: Computed,
    ) -> Result<BoundQuery> {
        let grouped = block.is_grouped();
        let before = computed.clone();
        let binder = self.above(scope, block, &before, grouped);
        let mut plan = self.having(plan, &binder, block)?;
        let windows = block.windows();
        if !windows.is_empty() {
            let named = &block.select.named_window;
            plan = self.windows(plan, &binder, &windows, named, &mut computed)?;
        }
        let binder = self.above(scope, block, &computed, grouped);
        let values = block
            .items
            .iter()
            .map(|item| match (&item.expr, &item.column) {
                (Some(expr), _) => binder.value(expr),
                (None, Some(column)) if !grouped => Ok(column.clone()),
                (None, _) => binder.value(&item.expression(scope)?),
            })
            .collect::<Result<Vec<_>>>()?;
        let facts = match self.context.options.only_full_group_by {
            true => self.outputs(scope, block, &values)?,
            false => Facts::default(),
        };
        Ok(BoundQuery { facts, ..self.project(plan, &binder, block, values)? })
    }

    /// Decides whether a block is grouped, and checks the expressions above the groups.
    fn settle_groups(&self, scope: &Scope, block: &mut Block<'_>) -> Result<bool> {
        window::check_names(&block.select.named_window)?;
        let mut calls = Vec::new();
        for expr in block.expressions() {
            function_call::collect(expr, function_call::is_aggregate, &mut calls);
        }
        calls.into_iter().try_for_each(|call| function_call::refuse(&ast::Expr::Function(call)))?;
        let is_explicit = !block.clauses.keys.is_empty();
        if !block.is_grouped() {
            let terms = block.clauses.order.iter();
            let aggregates = terms.map(|term| match term {
                Term::Value(expr) => function_call::reduces(expr),
                Term::Item(_) | Term::Nothing => false,
            });
            if let Some(at) = aggregates.into_iter().position(|it| it) {
                let text = format!(
                    "Expression #{} of ORDER BY contains aggregate function and applies to the \
                     result of a non-aggregated query",
                    at + 1
                );
                return Err(Error::new(Code::AggregateOrderNonAggregated, text));
            }
            return Ok(false);
        }
        if self.context.options.only_full_group_by {
            block.determined = self.check_groups(scope, block)?;
        }
        if !is_explicit {
            // One row has no order.
            block.clauses.order.fill(Term::Nothing);
        }
        if is_explicit && !is_rollup(block.select)? {
            // Groups are distinct where the select list tells them apart.
            let mode = self.context.mode;
            let tells_more = |key: &clause_names::Key| {
                key.item.is_none() && !functional_dependency::is_constant(&key.expr, scope, mode)
            };
            block.distinct &= block.clauses.keys.iter().any(tells_more);
        }
        Ok(true)
    }

    /// A binder for expressions above the groups.
    fn above<'b>(
        &'b self,
        scope: &'b Scope,
        block: &'b Block<'_>,
        computed: &'b Computed,
        grouped: bool,
    ) -> ExprBinder<'b> {
        ExprBinder {
            computed,
            only_computed: grouped,
            ..self.clause(scope, &block.subqueries, "field list")
        }
    }

    /// Tests HAVING.
    pub(crate) fn having(
        &self,
        plan: LogicalPlan,
        binder: &ExprBinder<'_>,
        block: &Block<'_>,
    ) -> Result<LogicalPlan> {
        let Some(having) = &block.clauses.having else { return Ok(plan) };
        filter(plan, ExprBinder { clause: "having clause", ..*binder }.predicate(having)?)
    }

    /// The select list, DISTINCT, ORDER BY and LIMIT.
    pub(crate) fn project(
        &self,
        plan: LogicalPlan,
        binder: &ExprBinder<'_>,
        block: &Block<'_>,
        values: Vec<TypedExpr>,
    ) -> Result<BoundQuery> {
        let late = ExprBinder { clause: "order clause", ..*binder };
        let mut exprs = Vec::new();
        let mut columns = Vec::new();
        for (item, value) in block.items.iter().zip(&values) {
            columns.push(self.output_column(item, value, &mut exprs));
        }
        let mut projected =
            if block.order.by.is_empty() { HashMap::new() } else { projected(&exprs) };
        let mut keys = Vec::new();
        for (term, written) in block.clauses.order.iter().zip(block.order.by) {
            if block.distinct {
                break;
            }
            let value = match term {
                Term::Item(at) => values[*at].clone(),
                Term::Value(expr) => late.value(expr)?,
                Term::Nothing => continue,
            };
            let key = value.order_key(&self.context.eval)?;
            let known = projected.entry(key.clone());
            let name = known.or_insert_with(|| {
                let name = self.fresh("s");
                exprs.push(key.alias(&name));
                name
            });
            keys.push(sort_term(column_expr(name), written)?);
        }
        let plan = plan_nodes::project(plan, exprs)?;
        let mut query = BoundQuery { plan, columns, facts: Facts::default() };
        if block.distinct {
            // A MariaDB tells averages apart that look the same.
            values.iter().try_for_each(mariadb_rules::check_digits)?;
            query = self.distinct(query)?;
            keys = self.distinct_keys(&query, &late, block)?;
        }
        query.plan = ordered(query.plan, keys, block.order.limit)?;
        self.store(&mut query, block)?;
        Ok(query)
    }

    /// Gives the columns of a block that MySQL puts into a temporary table, to make groups or to
    /// find equal rows, the types that they have in it. Constants are not put there, and groups
    /// that are rolled up come from elsewhere.
    fn store(&self, query: &mut BoundQuery, block: &Block<'_>) -> Result<()> {
        let has_groups = has_keys(block.select) && !is_rollup(block.select)?;
        if !has_groups && !block.distinct {
            return Ok(());
        }
        for (item, column) in block.items.iter().zip(&mut query.columns) {
            let Some(expr) = &item.expr else { continue };
            if !column.meta.org_name.is_empty() || ast_analysis::all_columns(expr).is_empty() {
                continue;
            }
            if !ast_analysis::has_aggregate(expr) && !has_window(expr) {
                column.in_temporary_table(&self.context.eval);
            } else if is_extreme_of_computed(expr) {
                column.as_extreme(&self.context.eval);
            }
        }
        Ok(())
    }

    /// The sort keys of the rows that DISTINCT leaves.
    fn distinct_keys(
        &self,
        query: &BoundQuery,
        binder: &ExprBinder<'_>,
        block: &Block<'_>,
    ) -> Result<Vec<SortExpr>> {
        let mut selected = Computed::new();
        for (item, column) in block.items.iter().zip(&query.columns) {
            let text = canonical(&item.expression(binder.scope)?, binder.scope);
            selected.entry(text).or_insert_with(|| column.value.clone());
        }
        let late = ExprBinder { computed: &selected, only_computed: true, ..*binder };
        let mut keys = Vec::new();
        for (at, (term, written)) in block.clauses.order.iter().zip(block.order.by).enumerate() {
            let value = match term {
                Term::Item(place) => query.columns[*place].value.clone(),
                Term::Value(expr) => {
                    self.check_selected(&written.expr, binder.scope, block, at)?;
                    late.value(expr)?
                }
                Term::Nothing => continue,
            };
            keys.push(sort_term(value.order_key(&self.context.eval)?, written)?);
        }
        Ok(keys)
    }

    /// Refuses a term of ORDER BY, as it is written and by its place, that needs more than DISTINCT
    /// leaves.
    fn check_selected(
        &self,
        term: &ast::Expr,
        scope: &Scope,
        block: &Block<'_>,
        at: usize,
    ) -> Result<()> {
        let is_selected = |place: usize| block.items.iter().any(|it| it.place == Some(place));
        let missing = block.clauses.ordered_by[at].iter().find(|&&place| !is_selected(place));
        let aggregates = function_call::contains(term);
        if missing.is_none() && !aggregates && !has_window(term) {
            return Ok(());
        }
        let ours = self.answer.get() != Some(&Flavour::MariaDb);
        if !ours || !self.context.options.only_full_group_by || has_window(term) {
            return Err(Error::unsupported(
                "SELECT DISTINCT ordered by an expression that is not selected",
            ));
        }
        let begin = format!("Expression #{} of ORDER BY clause is not in SELECT list,", at + 1);
        let end = "this is incompatible with DISTINCT";
        Err(match missing {
            Some(&place) => {
                let column = scope.columns[place].full_name();
                let text = format!(
                    "{begin} references column '{column}' which is not in SELECT list; {end}"
                );
                Error::new(Code::FieldInOrderNotSelected, text)
            }
            None => {
                let text = format!("{begin} contains aggregate function; {end}");
                Error::new(Code::AggregateInOrderNotSelected, text)
            }
        })
    }

    /// Adds an item to a projection and describes the column that it becomes.
    fn output_column(&self, item: &Item, value: &TypedExpr, exprs: &mut Vec<Expr>) -> BoundColumn {
        let name = self.fresh("c");
        let digits = value.has_more_digits().then(|| {
            let name = self.fresh("d");
            exprs.push(value.expr.clone().alias(&name));
            value.at(column_expr(&name), None)
        });
        let value = value.clone().settled(&self.context.eval);
        exprs.push(value.expr.clone().alias(&name));
        let key = value.key.as_ref().map(|key| {
            let name = self.fresh("k");
            exprs.push(key.clone().alias(&name));
            column_expr(&name)
        });
        let meta = match &value.origin {
            Some(origin) => Column { name: item.name.clone(), ty: value.ty, ..(**origin).clone() },
            None => Column::computed(&item.name, value.ty),
        };
        let output = TypedExpr::column(column_expr(&name), &meta);
        let mut output = output.listed_like(&value).hiding_like(&value);
        output.key = key;
        // The block may be merged into the one around it.
        let output = output.with_quotient(value.is_quotient());
        let mut forms = value.forms(&self.context.eval, |expr| {
            let name = self.fresh("f");
            exprs.push(expr.alias(&name));
            column_expr(&name)
        });
        forms.digits = digits;
        BoundColumn { meta, value: output, forms: Some(forms) }
    }

    /// A binder for a clause that sees the FROM clause and nothing else.
    pub(crate) fn clause<'b>(
        &'b self,
        scope: &'b Scope,
        subqueries: &'b Subqueries,
        clause: &'static str,
    ) -> ExprBinder<'b> {
        static NOTHING: std::sync::LazyLock<Computed> = std::sync::LazyLock::new(Computed::new);
        ExprBinder {
            context: self.context,
            scope,
            computed: &NOTHING,
            only_computed: false,
            subqueries,
            clause,
            answer: self.answer.get().copied(),
            constants: match clause {
                "field list" => Constants::WhenReached,
                _ => Constants::AtOnce,
            },
        }
    }

    /// Binds the subqueries of some expressions, each with whether it is the operand of EXISTS;
    /// they can name the columns of a scope. One that fails with error 1054 inside names something
    /// further outside, which is refused (1235).
    async fn subqueries(
        &self,
        found: Vec<(ast::Query, bool)>,
        reach: &BindScope,
        scope: Arc<Scope>,
    ) -> Result<Subqueries> {
        let mut bound = Subqueries::new();
        let inner = BindScope { outer: Some(scope), ..reach.clone() };
        for (mut query, is_exists) in found {
            let text = query.to_string();
            if is_exists {
                super::subquery::without_star(&mut query);
            }
            bound.insert(text, self.subquery(&query, &inner).await?);
        }
        Ok(bound)
    }

    async fn subquery(&self, query: &ast::Query, inner: &BindScope) -> Result<BoundQuery> {
        let _level = self.enter_subquery()?;
        let error = match self.query(query, inner).await {
            Ok(bound) => return Ok(bound),
            Err(error) => error,
        };
        match error.code() {
            Code::UnknownColumn => Err(Error::unsupported(format_args!(
                "a subquery over native tables or several servers that names a column outside of it \
                 ({}); write it as a join",
                error.message()
            ))),
            // The one server that has all its tables does not know the columns around it.
            Code::Remote(code) if code.errno == Code::UnknownColumn.errno() => {
                self.local(query, inner).await.map_err(|here| match here.code() {
                    Code::UnknownColumn => error,
                    _ => here,
                })
            }
            _ => Err(error),
        }
    }
}

/// The names under which a projection has expressions already, the first of each: one that is there
/// twice only confuses the planner's notion of order.
fn projected(exprs: &[Expr]) -> HashMap<Expr, String> {
    let named = exprs.iter().rev().filter_map(|expr| match expr {
        Expr::Alias(alias) => Some((alias.expr.as_ref().clone(), alias.name.clone())),
        _ => None,
    });
    named.collect()
}

/// The conditions of WHERE that the scans below have not tested.
fn untested(select: &ast::Select, scope: &Scope) -> Result<Option<ast::Expr>> {
    let Some(selection) = select.selection.as_ref() else { return Ok(None) };
    let parts = ast_analysis::conjuncts(selection);
    check_conditions(parts.len())?;
    if scope.tested.is_empty() {
        return Ok(Some(selection.clone()));
    }
    let tested: HashSet<&ast::Expr> = scope.tested.iter().collect();
    let parts = parts.into_iter().filter(|part| !tested.contains(part));
    Ok(ast_analysis::conjunction(parts.cloned()))
}

fn filter(plan: LogicalPlan, condition: Expr) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(plan)
        .filter(condition)
        .and_then(LogicalPlanBuilder::build)
        .map_err(from_datafusion)
}

/// Refuses what only a linked server can do.
fn refuse_extras(select: &ast::Select) -> Result<()> {
    let extra = select.into.is_some()
        || select.top.is_some()
        || select.prewhere.is_some()
        || select.qualify.is_some()
        || !select.connect_by.is_empty()
        || !select.lateral_views.is_empty()
        || !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty()
        || !select.sort_by.is_empty()
        || select.exclude.is_some();
    if extra { Err(Error::unsupported(select)) } else { Ok(()) }
}

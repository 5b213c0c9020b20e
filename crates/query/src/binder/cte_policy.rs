//! Common table expressions that are referenced more than once: inlined or materialised.
//!
//! A common table expression is inlined at each reference, so that conditions are pushed down to
//! its tables. MySQL materialises it once, and every reference reads the same rows. If the
//! expression is non-deterministic (a LIMIT without a total order), it is therefore materialised
//! here as well ([`crate::operators::materialized_cte`]). MariaDB computes it at each reference:
//! over the mirrors of a MariaDB, and where one server can execute the whole query, a second
//! reference is refused.
//!
//! Values that depend on the order of rows, as the last digits of sums of doubles do, also make the
//! rows non-deterministic. Such expressions are materialised if possible, and nothing is refused.

use std::collections::{HashMap, HashSet};
use std::iter;
use std::sync::atomic::Ordering;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use pelorus_error::{Error, Result};
use pelorus_functions::names;
use pelorus_sql::ast_analysis::{self, Node, is_aggregate_name};
use pelorus_types::Column;
use sqlparser::ast::{self, SelectItem, SetExpr, TableFactor, WindowFrameUnits, WindowType};

use super::bound_query::{BoundColumn, BoundQuery};
use super::function_call;
use super::function_call::{makes_groups, name_of};
use super::order_limit::order_of;
use super::scan_predicate::Of;
use super::statement::{Binder, NonDeterminism, ScopedCte};
use crate::context::{Database, Flavour};
use crate::datafusion_adapter::plan_nodes::column_expr;
use crate::datafusion_adapter::udf::from_datafusion;
use crate::operators::materialized_cte;
use crate::placement::resolve;

/// The first reference, whose rows are those of all others if they are a matter of chance.
///
/// # Errors
/// Those of DataFusion.
pub(crate) fn materialize_if_needed(
    scoped: &ScopedCte,
    bound: BoundQuery,
    chance: NonDeterminism,
) -> Result<BoundQuery> {
    if chance == NonDeterminism::Unseen && !adds_floats(&bound.plan)? {
        return Ok(bound);
    }
    let name = &scoped.cte.alias.name.value;
    let plan = materialized_cte::materialize(scoped.id, name, bound.plan.clone());
    let bound = BoundQuery { plan, ..bound };
    Ok(scoped.materialized.get_or_init(|| bound).clone())
}

/// Whether a plan adds floating point numbers of many rows, at any depth: which number a sum is
/// rounded to depends on the order of the summands. The least of some numbers, a chosen number and
/// the share of a rank are not rounded.
fn adds_floats(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        let (schema, computed) = match node {
            LogicalPlan::Aggregate(groups) => (&groups.schema, &groups.aggr_expr),
            LogicalPlan::Window(window) => (&window.schema, &window.window_expr),
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        // They follow the groups, or the columns of the input.
        let mut last = schema.fields().iter().rev().zip(computed.iter().rev());
        found |= last.any(|(field, call)| field.data_type().is_floating() && adds(call));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })
    .map_err(from_datafusion)?;
    Ok(found)
}

/// Whether a call is a sum, an average, or an aggregate computed from them.
fn adds(call: &Expr) -> bool {
    let name = match call {
        Expr::Alias(named) => return adds(&named.expr),
        Expr::AggregateFunction(call) => call.func.name(),
        Expr::WindowFunction(call) => call.fun.name(),
        _ => return true,
    };
    ["sum", "avg", "std", "var"].iter().any(|kind| name.starts_with(kind))
}

impl Binder<'_> {
    /// Counts a reference to a common table expression. What its rows are a matter of; `None` where
    /// they cannot be materialised, or need not.
    ///
    /// # Errors
    /// 1235 for a second one to rows that may be others the second time and cannot be materialised.
    pub(crate) fn count_reference(&self, scoped: &ScopedCte) -> Result<Option<NonDeterminism>> {
        let is_first = scoped.references.fetch_add(1, Ordering::Relaxed) == 0;
        let can_materialize =
            !scoped.is_of_server && self.answer.get().copied() != Some(Flavour::MariaDb);
        if is_first && !can_materialize {
            return Ok(None);
        }
        match *scoped.chance.get_or_init(|| self.chance_of(scoped)) {
            chance if can_materialize => Ok(Some(chance)),
            NonDeterminism::Unseen | NonDeterminism::Values => Ok(None),
            NonDeterminism::Rows(chance) => Err(Error::unsupported(format_args!(
                "several references to '{}' of WITH, whose rows may be others each time: it has \
                 {chance}",
                scoped.cte.alias.name.value
            ))),
        }
    }

    /// The rows that an earlier reference has materialised, if one has, under other names: servers
    /// run no parts whose rows are not read.
    ///
    /// # Errors
    /// Those of DataFusion.
    pub(crate) fn materialized_before(&self, scoped: &ScopedCte) -> Result<Option<BoundQuery>> {
        let Some(BoundQuery { plan, columns, facts }) = scoped.materialized.get() else {
            return Ok(None);
        };
        let fields = plan.schema().fields();
        let names: HashMap<&str, String> =
            fields.iter().map(|field| (field.name().as_str(), self.fresh("w"))).collect();
        let renamed = |expr: &Expr| -> Result<Expr> {
            let rename = |node: Expr| {
                let name = match &node {
                    Expr::Column(column) => names.get(column.name.as_str()),
                    _ => None,
                };
                Ok(name.map_or(Transformed::no(node), |name| Transformed::yes(column_expr(name))))
            };
            Ok(expr.clone().transform(rename).map_err(from_datafusion)?.data)
        };
        let columns = columns.iter().map(|column| -> Result<BoundColumn> {
            let value = column.value.renamed(renamed)?;
            let forms = column.forms.as_ref().map(|it| it.renamed(&renamed)).transpose()?;
            Ok(BoundColumn { meta: column.meta.clone(), value, forms })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let exprs: Vec<Expr> = fields
            .iter()
            .map(|field| column_expr(field.name()).alias(&names[field.name().as_str()]))
            .collect();
        let plan = LogicalPlanBuilder::from(plan.clone())
            .project(exprs)
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)?;
        Ok(Some(BoundQuery { plan, columns, facts: facts.clone() }))
    }

    /// Why the rows of a common table expression are non-deterministic.
    fn chance_of(&self, scoped: &ScopedCte) -> NonDeterminism {
        let query = &scoped.cte.query;
        let mut known: HashSet<String> = scoped.seen.ctes.keys().cloned().collect();
        ast_analysis::walk_query(query, &mut |node| {
            if let Node::Query(ast::Query { with: Some(with), .. }) = node {
                let names = with.cte_tables.iter().map(|cte| cte.alias.name.value.as_str());
                known.extend(names.map(str::to_ascii_lowercase));
            }
        });
        if ast_analysis::dependence(query, self.context.mode).calls(names::is_random) {
            return NonDeterminism::Rows("a function of chance");
        }
        let mut chance = NonDeterminism::Unseen;
        ast_analysis::walk_query(query, &mut |node| {
            if let Node::Query(query) = node
                && !matches!(chance, NonDeterminism::Rows(_))
            {
                chance = match self.chance(query, &known) {
                    NonDeterminism::Unseen => chance,
                    found => found,
                };
            }
        });
        chance
    }

    /// Why the rows of a query are non-deterministic, its subqueries aside.
    fn chance(&self, query: &ast::Query, known: &HashSet<String>) -> NonDeterminism {
        let order = order_of(query).unwrap_or_default();
        let terms: Vec<&ast::Expr> = order.iter().map(|term| &term.expr).collect();
        let is_total = match query.body.as_ref() {
            SetExpr::Select(select) => self.is_total(select, &select.projection, &terms, known),
            _ => false,
        };
        if query.limit_clause.is_some() && !is_total {
            return NonDeterminism::Rows(
                "a LIMIT without an ORDER BY the primary key of its only table",
            );
        }
        let (mut selects, mut chance) = (Vec::new(), NonDeterminism::Unseen);
        add_selects(&query.body, &mut selects);
        for select in selects {
            let items = select.projection.iter().filter_map(|item| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    Some(expr)
                }
                _ => None,
            });
            let exprs: Vec<&ast::Expr> = items.chain(terms.iter().copied()).collect();
            let mut windows = Vec::new();
            for expr in &exprs {
                function_call::collect(expr, |function| function.over.is_some(), &mut windows);
            }
            if !windows.iter().all(|window| self.is_settled(select, window, known)) {
                return NonDeterminism::Rows(
                    "a window function over rows that may change places: those of a window that \
                     is not ordered by the primary key of the only table",
                );
            }
            let mut ordered = Vec::new();
            for expr in exprs.into_iter().chain(&select.having) {
                let is_of_order = |function: &ast::Function| {
                    function.over.is_none() && self.is_of_order(select, function, known)
                };
                function_call::collect(expr, is_of_order, &mut ordered);
            }
            // What several blocks are ordered by are columns of their rows.
            let terms = match query.body.as_ref() {
                SetExpr::Select(_) => &terms[..],
                _ => &[],
            };
            if self.picks(select, terms, known) || !ordered.is_empty() {
                chance = NonDeterminism::Values;
            }
        }
        chance
    }

    /// Whether a block without `ONLY_FULL_GROUP_BY` shows, or is ordered by, a column of any row of
    /// a group: one that is no key of the groups, outside of aggregates. In doubt it does. HAVING
    /// names no other columns than the select list.
    fn picks(&self, select: &ast::Select, order: &[&ast::Expr], known: &HashSet<String>) -> bool {
        if self.context.options.only_full_group_by || !makes_groups(select) {
            return false;
        }
        let ast::GroupByExpr::Expressions(keys, _) = &select.group_by else { return true };
        let factors = select.from.iter().flat_map(|item| {
            iter::once(&item.relation).chain(item.joins.iter().map(|join| &join.relation))
        });
        let tables: Option<Vec<Vec<Column>>> =
            factors.map(|factor| self.own_columns(factor, known)).collect();
        let may_be_column = |name: &ast::Ident| {
            let is_it = |column: &Column| column.name.eq_ignore_ascii_case(&name.value);
            tables.as_ref().is_none_or(|tables| tables.iter().flatten().any(is_it))
        };
        let items = select.projection.iter().map(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
            _ => None,
        });
        let items: Option<Vec<&ast::Expr>> = items.collect();
        let at_place = |digits: &str| {
            let place = digits.parse::<usize>().ok()?.checked_sub(1)?;
            items.as_ref()?.get(place).copied()
        };
        // GROUP BY looks at the columns of FROM first, then at aliases.
        let keys = keys.iter().map(|key| {
            let named = match ast_analysis::unnested(key) {
                ast::Expr::Value(value) => match &value.value {
                    ast::Value::Number(digits, _) => at_place(digits),
                    _ => None,
                },
                ast::Expr::Identifier(name) if !may_be_column(name) => {
                    aliased(&select.projection, name)
                }
                _ => None,
            };
            ast_analysis::unnested(named.unwrap_or(key))
        });
        let keys: Vec<&ast::Expr> = keys.collect();
        if self.is_total(select, &[], &keys, known) {
            // Every group is one row.
            return false;
        }
        let Some(items) = items else { return true };
        let is_only = matches!(&select.from[..], [item] if item.joins.is_empty());
        let has_one_value = |expr: &ast::Expr| match expr {
            ast::Expr::Function(function) if function_call::is_aggregate(function) => true,
            _ => keys.iter().any(|key| is_same(key, expr, is_only)),
        };
        let names_others = |expr: &ast::Expr, is_known: &dyn Fn(&ast::Ident) -> bool| {
            let (mut left_out, mut found) = (0_usize, false);
            ast_analysis::walk_expr(expr, &mut |node| {
                if left_out > 0 {
                    left_out -= 1;
                    return;
                }
                let Node::Expr(expr) = node else { return };
                if has_one_value(expr) {
                    // Its parts are the next nodes.
                    ast_analysis::walk_expr(expr, &mut |_| left_out += 1);
                    left_out -= 1;
                    return;
                }
                found |= match expr {
                    ast::Expr::Identifier(name) => may_be_column(name) && !is_known(name),
                    ast::Expr::CompoundIdentifier(_) | ast::Expr::MatchAgainst { .. } => true,
                    _ => false,
                };
            });
            found
        };
        let nothing = |_: &ast::Ident| false;
        let is_alias = |name: &ast::Ident| aliased(&select.projection, name).is_some();
        items.into_iter().any(|expr| names_others(expr, &nothing))
            || order.iter().any(|expr| names_others(expr, &is_alias))
    }

    /// The columns of a table that is here; `None` of everything else.
    fn own_columns(&self, factor: &TableFactor, known: &HashSet<String>) -> Option<Vec<Column>> {
        let TableFactor::Table { name, args: None, version: None, .. } = factor else {
            return None;
        };
        let name = ast_analysis::table_name(name);
        if name.database.is_none() && known.contains(&name.name.to_ascii_lowercase()) {
            return None;
        }
        match resolve(self.context, name.database.as_deref()).ok()? {
            Database::Native(database) => {
                database.table(&name.name, &[], None).ok()?.map(|table| table.columns)
            }
            Database::Info(schema) => schema.table(&name.name),
            Database::Linked { .. } => None,
        }
    }

    /// Whether the value of an aggregate depends on the order in which the rows of a group come.
    fn is_of_order(
        &self,
        select: &ast::Select,
        function: &ast::Function,
        known: &HashSet<String>,
    ) -> bool {
        match name_of(function).as_str() {
            "ANY_VALUE" | "JSON_ARRAYAGG" | "JSON_OBJECTAGG" => true,
            "GROUP_CONCAT" => !function_call::call_of(function).is_ok_and(|call| {
                let order: Vec<&ast::Expr> = call.order.iter().map(|term| &term.expr).collect();
                self.is_total(select, &[], &order, known)
            }),
            _ => false,
        }
    }

    /// Whether the value of a window function does not depend on which of equal rows comes first.
    fn is_settled(
        &self,
        select: &ast::Select,
        window: &ast::Function,
        known: &HashSet<String>,
    ) -> bool {
        let Some(WindowType::WindowSpec(spec)) = &window.over else { return false };
        if spec.window_name.is_some() {
            return false;
        }
        let terms: Vec<&ast::Expr> = spec.order_by.iter().map(|term| &term.expr).collect();
        let frame = spec.window_frame.as_ref();
        let has_peers = frame.is_none_or(|frame| frame.units == WindowFrameUnits::Range);
        match name_of(window).as_str() {
            "RANK" | "DENSE_RANK" | "PERCENT_RANK" | "CUME_DIST" => true,
            name if is_aggregate_name(name) && has_peers => true,
            // A window knows no aliases.
            _ => self.is_total(select, &[], &terms, known),
        }
    }

    /// Whether no two rows of a block are equal in an order: it has the primary key of the native
    /// table that is its only one. The items are those whose aliases the order knows, `known` the
    /// names of common table expressions.
    fn is_total(
        &self,
        select: &ast::Select,
        items: &[SelectItem],
        order: &[&ast::Expr],
        known: &HashSet<String>,
    ) -> bool {
        let [ast::TableWithJoins { relation, joins }] = select.from.as_slice() else {
            return false;
        };
        let TableFactor::Table { name, alias, args: None, .. } = relation else { return false };
        let name = ast_analysis::table_name(name);
        let is_common = name.database.is_none() && known.contains(&name.name.to_ascii_lowercase());
        if is_common || !joins.is_empty() || order.is_empty() {
            return false;
        }
        let Ok(Database::Native(database)) = resolve(self.context, name.database.as_deref()) else {
            return false;
        };
        let Ok(Some(table)) = database.table(&name.name, &[], None) else { return false };
        let alias = alias.as_ref().map_or(name.name.as_str(), |alias| alias.name.value.as_str());
        let of = Of { table: &table, alias, only_table: true };
        let column = |term: &&ast::Expr| {
            let ast::Expr::Identifier(name) = ast_analysis::unnested(term) else {
                return of.column(term);
            };
            of.column(aliased(items, name).unwrap_or(term))
        };
        let columns: Vec<usize> = order.iter().filter_map(column).collect();
        let key = &table.table.schema().key;
        !key.is_empty() && key.iter().all(|at| columns.contains(at))
    }
}

/// The expression of an alias in a select list.
fn aliased<'q>(items: &'q [SelectItem], name: &ast::Ident) -> Option<&'q ast::Expr> {
    items.iter().find_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias }
            if alias.value.eq_ignore_ascii_case(&name.value) =>
        {
            Some(expr)
        }
        _ => None,
    })
}

/// Whether two expressions are written alike. Of an only table it does not matter whether it is
/// named.
fn is_same(one: &ast::Expr, other: &ast::Expr, is_only: bool) -> bool {
    match (path_of(one), path_of(other)) {
        (Some([table @ .., name]), Some([other_table @ .., other_name])) => {
            let tables = |path: &[ast::Ident]| -> Vec<String> {
                path.iter().map(|part| part.value.clone()).collect()
            };
            name.value.eq_ignore_ascii_case(&other_name.value)
                && (is_only || tables(table) == tables(other_table))
        }
        (None, None) => one == other,
        _ => false,
    }
}

/// The parts of a column's name.
fn path_of(expr: &ast::Expr) -> Option<&[ast::Ident]> {
    match expr {
        ast::Expr::Identifier(name) => Some(std::slice::from_ref(name)),
        ast::Expr::CompoundIdentifier(path) => Some(path),
        _ => None,
    }
}

/// Adds the blocks of a query, those of its subqueries aside.
fn add_selects<'q>(body: &'q SetExpr, selects: &mut Vec<&'q ast::Select>) {
    match body {
        SetExpr::Select(select) => selects.push(select),
        SetExpr::SetOperation { left, right, .. } => {
            add_selects(left, selects);
            add_selects(right, selects);
        }
        _ => {}
    }
}

//! One SELECT block: FROM, WHERE, grouping, the select list, DISTINCT, ORDER BY and LIMIT.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use pelorus_error::{Code, Error, Result};
use pelorus_sql::normalise;
use pelorus_types::Column;
use sqlparser::ast::{self, Distinct, GroupByExpr, GroupByWithModifier, OrderByExpr, SelectItem};

use super::aggregate::{self, Grouping};
use super::expr::{Clash, Computed, ExprBinder, Subqueries, canonical, check_conditions};
use super::mariadb;
use super::query::{
    Binder, BoundColumn, BoundQuery, Limit, Reach, check_columns, column_expr, ordered, ordinal,
    sort_term,
};
use super::scope::{Scope, ScopeColumn};
use super::typed::{Constants, Typed};
use crate::context::Flavour;
use crate::plans;
use crate::udf::from_datafusion;

/// ORDER BY and LIMIT of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ordering<'a> {
    /// The terms.
    pub(crate) by: &'a [OrderByExpr],
    /// How many rows.
    pub(crate) limit: Option<Limit>,
}

/// An item of the select list once `*` is spelt out.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// What the client sees.
    pub(crate) name: String,
    /// The alias given in the text.
    pub(crate) alias: Option<String>,
    /// The expression; `None` for a column that `*` brought.
    pub(crate) expr: Option<ast::Expr>,
    /// The column that `*` brought.
    pub(crate) column: Option<Typed>,
}

impl Binder<'_> {
    /// Binds one block with its ORDER BY and LIMIT.
    pub(crate) async fn select(
        &self,
        select: &ast::Select,
        order: Ordering<'_>,
        reach: &Reach,
    ) -> Result<BoundQuery> {
        refuse_extras(select)?;
        let (plan, mut scope) = self.from(select, reach).await?;
        scope.outer = reach.outer.clone();
        let items = items(select, &scope, self.parsed.names(select))?;
        let subqueries = self.subqueries(select, order.by, reach, &scope).await?;
        if let Some(condition) = &select.selection
            && !scope.tested.is_empty()
            && self.answer.get() == Some(&Flavour::MariaDb)
        {
            // What the scan tests may mean something else there, too.
            self.clause(&scope, &subqueries, "where clause").predicate(condition)?;
        }
        let plan = match untested(select, &scope)? {
            Some(condition) => {
                let binder = self.clause(&scope, &subqueries, "where clause");
                let plan = filter(plan, binder.predicate(&condition)?)?;
                if let Some(groups) = &mut scope.groups {
                    groups.is_filtered = true;
                }
                plan
            }
            None => plan,
        };
        let distinct = is_distinct(select)?;
        self.finish(plan, &scope, &Block { select, order, items, subqueries, distinct })
    }

    /// Everything after WHERE.
    fn finish(&self, plan: LogicalPlan, scope: &Scope, block: &Block<'_>) -> Result<BoundQuery> {
        let group_by = group_terms(block.select, &block.items, scope)?;
        let grouped = !group_by.is_empty() || block.holds(aggregate::contains);
        if group_by.is_empty() && grouped && !block.holds(aggregate::reduces) {
            return Err(Error::unsupported("ANY_VALUE where nothing makes groups of the rows"));
        }
        let (mut plan, mut computed) = if grouped {
            let binder = self.clause(scope, &block.subqueries, "group statement");
            let starred = block.items.iter().filter(|item| item.expr.is_none());
            let starred = starred.map(item_expression).collect::<Result<Vec<_>>>()?;
            let grouping = Grouping {
                keys: &group_by,
                over: block.expressions(),
                starred: &starred,
                select: block.select,
                aliases: block.aliases(),
                rollup: is_rollup(block.select)?,
                written: block.distinct || !block.is_ordered_by(&group_by, scope),
            };
            self.aggregate(plan, &binder, &grouping)?
        } else {
            (plan, Computed::new())
        };
        let windows = block.windows();
        if !windows.is_empty() {
            let (before, named) = (computed.clone(), &block.select.named_window);
            let binder = self.above(scope, block, &before, grouped);
            if block.select.having.is_some() {
                let aliases = self.aliases(block, &binder)?;
                plan = self.having(plan, &binder, block, &aliases)?;
            }
            plan = self.windows(plan, &binder, &windows, named, &mut computed)?;
        }
        let binder = self.above(scope, block, &computed, grouped);
        let values = block
            .items
            .iter()
            .map(|item| match (&item.expr, &item.column) {
                (Some(expr), _) => binder.value(expr),
                (None, Some(column)) if !grouped => Ok(column.clone()),
                (None, Some(column)) => self.grouped_column(column, &binder),
                (None, None) => Err(Error::internal("an item without expression")),
            })
            .collect::<Result<Vec<_>>>()?;
        if windows.is_empty() {
            plan = self.having(plan, &binder, block, &block.named(&values))?;
        }
        self.project(plan, &binder, block, values)
    }

    /// A binder for what stands above grouping.
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

    /// The aliases of a block that are known before its window functions are.
    fn aliases(&self, block: &Block<'_>, binder: &ExprBinder<'_>) -> Result<Vec<(String, Typed)>> {
        let early = block.items.iter().filter_map(|item| {
            let (alias, expr) = (item.alias.clone()?, item.expr.as_ref()?);
            (!normalise::has_window(expr)).then(|| Ok((alias, binder.value(expr)?)))
        });
        early.collect()
    }

    /// Tests HAVING.
    pub(crate) fn having(
        &self,
        plan: LogicalPlan,
        binder: &ExprBinder<'_>,
        block: &Block<'_>,
        aliases: &[(String, Typed)],
    ) -> Result<LogicalPlan> {
        let Some(having) = &block.select.having else { return Ok(plan) };
        if !binder.only_computed {
            check_having(having, binder, block)?;
        }
        let late = ExprBinder { aliases, clause: "having clause", clash: Clash::Alias, ..*binder };
        filter(plan, late.predicate(having)?)
    }

    /// A column that `*` brought into a grouped block.
    fn grouped_column(&self, column: &Typed, binder: &ExprBinder<'_>) -> Result<Typed> {
        let origin = column.origin.as_ref().ok_or_else(|| Error::unsupported("* over groups"))?;
        binder.value(&ast::Expr::CompoundIdentifier(vec![
            ast::Ident::new(&origin.table),
            ast::Ident::new(&origin.name),
        ]))
    }

    /// The select list, DISTINCT, ORDER BY and LIMIT.
    pub(crate) fn project(
        &self,
        plan: LogicalPlan,
        binder: &ExprBinder<'_>,
        block: &Block<'_>,
        values: Vec<Typed>,
    ) -> Result<BoundQuery> {
        if block.distinct {
            // A MariaDB tells averages apart that look the same.
            values.iter().try_for_each(mariadb::check_digits)?;
        }
        let aliases = block.named(&values);
        let late = ExprBinder { aliases: &aliases, clash: Clash::Refuse, ..*binder };
        let late = ExprBinder { clause: "order clause", ..late };
        let terms = block
            .order
            .by
            .iter()
            .map(|term| self.order_value(term, &late, block, &values))
            .collect::<Result<Vec<_>>>()?;
        let mut exprs = Vec::new();
        let mut columns = Vec::new();
        for (item, value) in block.items.iter().zip(&values) {
            columns.push(self.output_column(item, value, &mut exprs));
        }
        let mut projected = if terms.is_empty() { HashMap::new() } else { projected(&exprs) };
        let mut keys = Vec::new();
        for (at, (value, term)) in terms.into_iter().zip(block.order.by).enumerate() {
            let Some(value) = value else { continue };
            let key = value.order_key(&self.context.eval)?;
            if block.distinct {
                let place = values.iter().position(|item| item.expr == value.expr);
                keys.push((place.map_or(Key::Computed(at, key), Key::Selected), term));
            } else {
                let known = projected.entry(key.clone());
                let name = known.or_insert_with(|| {
                    let name = self.fresh("s");
                    exprs.push(key.alias(&name));
                    name
                });
                keys.push((Key::Projected(column_expr(name)), term));
            }
        }
        let plan = plans::project(plan, exprs)?;
        let mut query = BoundQuery { plan, columns };
        if block.distinct {
            query = self.distinct(query)?;
        }
        let keys = keys
            .into_iter()
            .map(|(key, term)| {
                let key = match key {
                    Key::Projected(key) => key,
                    Key::Selected(place) => {
                        query.columns[place].value.order_key(&self.context.eval)?
                    }
                    Key::Computed(at, key) => {
                        let key = self.of_selected(key, &values, &query.columns)?;
                        self.check_selected(&key, &query.plan, binder.scope, at)?;
                        key
                    }
                };
                sort_term(key, term)
            })
            .collect::<Result<Vec<_>>>()?;
        query.plan = ordered(query.plan, keys, block.order.limit)?;
        Ok(query)
    }

    /// An expression of ORDER BY over the rows that DISTINCT leaves: selected values in it become
    /// columns of these rows.
    fn of_selected(&self, key: Expr, values: &[Typed], columns: &[BoundColumn]) -> Result<Expr> {
        let context = &self.context.eval;
        // The columns have the digits that a decimal shows.
        let is_column = |value: &Typed| value.clone().settled(context).expr == value.expr;
        let selected: Vec<_> =
            values.iter().map(|value| is_column(value).then_some(value)).collect();
        let replaced = key.transform_down(|expr| {
            let is_it = |value: &Option<&Typed>| value.is_some_and(|value| value.expr == expr);
            Ok(match selected.iter().position(is_it) {
                Some(at) => {
                    let column = columns[at].value.expr.clone();
                    Transformed::new(column, true, TreeNodeRecursion::Jump)
                }
                None => Transformed::no(expr),
            })
        });
        replaced.data().map_err(from_datafusion)
    }

    /// Refuses a term of ORDER BY, by its place, that needs more than DISTINCT leaves.
    fn check_selected(
        &self,
        key: &Expr,
        plan: &LogicalPlan,
        scope: &Scope,
        at: usize,
    ) -> Result<()> {
        let mut missing = key.column_refs();
        missing.retain(|column| !plan.schema().has_column(column));
        if missing.is_empty() {
            return Ok(());
        }
        let is_missing = |column: &&ScopeColumn| match &column.value.expr {
            Expr::Column(name) => missing.contains(name),
            _ => false,
        };
        let ours = self.answer.get() != Some(&Flavour::MariaDb);
        match scope.columns.iter().find(is_missing) {
            Some(column) if ours && self.context.options.only_full_group_by => {
                let parts = [column.schema.as_str(), &column.table, &column.name];
                let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                let text = format!(
                    "Expression #{} of ORDER BY clause is not in SELECT list, references column \
                     '{}' which is not in SELECT list; this is incompatible with DISTINCT",
                    at + 1,
                    parts.join("."),
                );
                Err(Error::remote(3065, *b"HY000", text))
            }
            _ => Err(Error::unsupported(
                "SELECT DISTINCT ordered by an expression that is not selected",
            )),
        }
    }

    /// The value that a term of ORDER BY means; `None` where it orders nothing.
    fn order_value(
        &self,
        term: &OrderByExpr,
        binder: &ExprBinder<'_>,
        block: &Block<'_>,
        values: &[Typed],
    ) -> Result<Option<Typed>> {
        match normalise::unnested(&term.expr) {
            ast::Expr::Value(value) => {
                Ok(ordinal(&value.value, values.len())?.map(|at| values[at].clone()))
            }
            ast::Expr::Identifier(name) => {
                // A bare name is an alias first, then a column.
                let mut hits = block.items.iter().zip(values).filter(|(item, _)| {
                    item.alias.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(&name.value))
                });
                match (hits.next(), hits.next()) {
                    (Some((_, first)), Some((_, second))) if first.expr != second.expr => {
                        Err(Error::new(
                            Code::AmbiguousColumn,
                            format!("Column '{}' in order clause is ambiguous", name.value),
                        ))
                    }
                    (Some((_, value)), _) => Ok(Some(value.clone())),
                    _ => binder.value(&term.expr).map(Some),
                }
            }
            expr => binder.value(expr).map(Some),
        }
    }

    /// Adds an item to a projection and describes the column that it becomes.
    fn output_column(&self, item: &Item, value: &Typed, exprs: &mut Vec<Expr>) -> BoundColumn {
        let name = self.fresh("c");
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
        let output = Typed::column(column_expr(&name), &meta);
        let mut output = output.listed_like(&value).hiding_like(&value);
        output.key = key;
        // The block may be merged into the one around it.
        let output = output.with_quotient(value.is_quotient());
        BoundColumn { meta, value: output }
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
            aliases: &[],
            clash: Clash::Column,
            subqueries,
            clause,
            answer: self.answer.get().copied(),
            constants: match clause {
                "field list" => Constants::WhenReached,
                _ => Constants::AtOnce,
            },
        }
    }

    /// Binds the subqueries of a block's expressions, which can name its columns. One that fails with
    /// error 1054 inside names something further outside, which is told as unsupported.
    async fn subqueries(
        &self,
        select: &ast::Select,
        order: &[OrderByExpr],
        reach: &Reach,
        scope: &Scope,
    ) -> Result<Subqueries> {
        let mut found = Vec::new();
        for expr in expressions(select, order) {
            super::subquery::collect(expr, &mut found);
        }
        let mut bound = Subqueries::new();
        if found.is_empty() {
            return Ok(bound);
        }
        let inner = Reach { outer: Some(Arc::new(scope.clone())), ..reach.clone() };
        for query in found {
            let text = query.to_string();
            bound.insert(text, self.subquery(&query, &inner).await?);
        }
        Ok(bound)
    }

    async fn subquery(&self, query: &ast::Query, inner: &Reach) -> Result<BoundQuery> {
        let _level = self.into_subquery()?;
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

/// What a term of ORDER BY sorts by.
enum Key {
    /// A column of the projection.
    Projected(Expr),
    /// A selected value, by its place, of the rows that DISTINCT leaves.
    Selected(usize),
    /// What the term in this place computes, over the rows before DISTINCT.
    Computed(usize, Expr),
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

/// A block on its way.
pub(crate) struct Block<'a> {
    /// The block as it was written.
    pub(crate) select: &'a ast::Select,
    /// Its ORDER BY and LIMIT.
    pub(crate) order: Ordering<'a>,
    /// The select list, `*` spelt out.
    pub(crate) items: Vec<Item>,
    /// Bound subqueries.
    pub(crate) subqueries: Subqueries,
    /// Equal rows are still to be merged.
    pub(crate) distinct: bool,
}

impl<'a> Block<'a> {
    /// Aliases that are not the name of the column they stand for.
    fn aliases(&'a self) -> Vec<&'a str> {
        let alias = |item: &'a Item| {
            let alias = item.alias.as_deref()?;
            let same = match &item.expr {
                Some(ast::Expr::Identifier(name)) => name.value.eq_ignore_ascii_case(alias),
                Some(ast::Expr::CompoundIdentifier(path)) => {
                    path.last().is_some_and(|name| name.value.eq_ignore_ascii_case(alias))
                }
                _ => false,
            };
            (!same).then_some(alias)
        };
        self.items.iter().filter_map(alias).collect()
    }

    /// The aliases of the select list with what they stand for.
    pub(crate) fn named(&self, values: &[Typed]) -> Vec<(String, Typed)> {
        let items = self.items.iter().zip(values);
        items.filter_map(|(item, value)| Some((item.alias.clone()?, value.clone()))).collect()
    }

    /// Whether groups of these keys come in the wanted order, and nothing is computed over them.
    fn is_ordered_by(&self, keys: &[ast::Expr], scope: &Scope) -> bool {
        let text = |expr: &ast::Expr| canonical(expr, scope);
        let is_key = |(at, term): (usize, &OrderByExpr)| {
            keys.get(at).is_some_and(|key| text(key) == text(self.meant(&term.expr)))
        };
        self.windows().is_empty() && self.order.by.iter().enumerate().all(is_key)
    }

    /// The item of the select list that a term of ORDER BY names, or the term itself.
    fn meant<'b>(&'b self, term: &'b ast::Expr) -> &'b ast::Expr {
        let item = match normalise::unnested(term) {
            ast::Expr::Value(value) => {
                let at = ordinal(&value.value, self.items.len()).ok().flatten();
                at.and_then(|at| self.items.get(at))
            }
            ast::Expr::Identifier(name) => self.items.iter().find(|item| {
                item.alias.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(&name.value))
            }),
            _ => None,
        };
        item.and_then(|item| item.expr.as_ref()).unwrap_or(term)
    }

    /// The window functions of the select list and of ORDER BY, the only places where they may be.
    fn windows(&self) -> Vec<ast::Function> {
        let items = self.items.iter().filter_map(|item| item.expr.as_ref());
        let mut found = Vec::new();
        for expr in items.chain(self.order.by.iter().map(|term| &term.expr)) {
            aggregate::collect(expr, |function| function.over.is_some(), &mut found);
        }
        found
    }

    /// The expressions that stand above grouping.
    fn expressions(&'a self) -> Vec<&'a ast::Expr> {
        let items = self.items.iter().filter_map(|item| item.expr.as_ref());
        let order = self.order.by.iter().map(|term| &term.expr);
        items.chain(&self.select.having).chain(order).collect()
    }

    /// Whether one of them is such.
    fn holds(&'a self, is_such: fn(&ast::Expr) -> bool) -> bool {
        self.expressions().into_iter().any(is_such)
    }
}

fn expressions<'a>(
    select: &'a ast::Select,
    order: &'a [OrderByExpr],
) -> impl Iterator<Item = &'a ast::Expr> {
    let items = select.projection.iter().filter_map(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    });
    items.chain(&select.selection).chain(&select.having).chain(order.iter().map(|term| &term.expr))
}

/// Spells out the select list. `names` are what MySQL calls items without alias: their text.
pub(crate) fn items(
    select: &ast::Select,
    scope: &Scope,
    names: Option<&[Option<String>]>,
) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for (at, item) in select.projection.iter().enumerate() {
        check_columns(items.len())?;
        match item {
            SelectItem::UnnamedExpr(expr) => items.push(Item {
                name: in_basic_plane(
                    defined_name(expr, scope)
                        .or_else(|| names?.get(at)?.clone())
                        .unwrap_or_else(|| default_name(expr)),
                ),
                alias: None,
                expr: Some(expr.clone()),
                column: None,
            }),
            SelectItem::ExprWithAlias { expr, alias } => items.push(Item {
                name: alias.value.clone(),
                alias: Some(alias.value.clone()),
                expr: Some(expr.clone()),
                column: None,
            }),
            SelectItem::Wildcard(_) => {
                if select.from.is_empty() {
                    return Err(Error::new(Code::NoTablesUsed, "No tables used"));
                }
                items.extend(scope.wildcard(None)?.into_iter().map(starred));
            }
            SelectItem::QualifiedWildcard(
                ast::SelectItemQualifiedWildcardKind::ObjectName(name),
                _,
            ) => {
                let table = name.0.last().and_then(|part| part.as_ident());
                let table = table.map(|ident| ident.value.as_str());
                items.extend(scope.wildcard(table)?.into_iter().map(starred));
            }
            other => return Err(Error::unsupported(other)),
        }
    }
    check_columns(items.len())?;
    Ok(items)
}

fn starred(column: &ScopeColumn) -> Item {
    Item { name: column.name.clone(), alias: None, expr: None, column: Some(column.value.clone()) }
}

/// MySQL keeps names in `utf8mb3`: what lies beyond becomes a question mark.
fn in_basic_plane(name: String) -> String {
    if name.chars().all(|c| c <= '\u{ffff}') {
        return name;
    }
    name.chars().map(|c| if c > '\u{ffff}' { '?' } else { c }).collect()
}

/// Tables of the information schema that are no views in MySQL.
const NO_VIEWS: [&str; 13] = [
    "APPLICABLE_ROLES",
    "COLLATIONS",
    "COLUMN_PRIVILEGES",
    "ENABLED_ROLES",
    "ENGINES",
    "PLUGINS",
    "PROCESSLIST",
    "ROLE_COLUMN_GRANTS",
    "ROLE_ROUTINE_GRANTS",
    "ROLE_TABLE_GRANTS",
    "SCHEMA_PRIVILEGES",
    "TABLE_PRIVILEGES",
    "USER_PRIVILEGES",
];

/// The name of a column of a view, which MySQL shows as the view has it and not as the query does:
/// `SELECT table_name FROM information_schema.tables` gives a column `TABLE_NAME`.
fn defined_name(expr: &ast::Expr, scope: &Scope) -> Option<String> {
    let path: Vec<&str> = match normalise::unnested(expr) {
        ast::Expr::Identifier(name) => vec![name.value.as_str()],
        ast::Expr::CompoundIdentifier(path) => path.iter().map(|it| it.value.as_str()).collect(),
        _ => return None,
    };
    // What is wrong with a name is told where the expression is bound.
    let column = scope.find(&path, "field list").ok()??;
    let origin = column.value.origin.as_ref()?;
    let is_of_view = origin.schema.eq_ignore_ascii_case("information_schema")
        && !NO_VIEWS.contains(&origin.org_table.as_str());
    is_of_view.then(|| column.name.clone())
}

fn default_name(expr: &ast::Expr) -> String {
    match expr {
        ast::Expr::Identifier(name) => name.value.clone(),
        ast::Expr::CompoundIdentifier(path) => {
            path.last().map_or_else(String::new, |name| name.value.clone())
        }
        other => other.to_string(),
    }
}

/// The terms of GROUP BY with ordinals and aliases replaced by what they stand for.
pub(crate) fn group_terms(
    select: &ast::Select,
    items: &[Item],
    scope: &Scope,
) -> Result<Vec<ast::Expr>> {
    let GroupByExpr::Expressions(terms, _) = &select.group_by else {
        return Err(Error::unsupported("GROUP BY ALL"));
    };
    terms
        .iter()
        .map(|term| match normalise::unnested(term) {
            ast::Expr::Value(value) => match ordinal(&value.value, items.len())? {
                Some(at) => grouped_expression(&items[at]),
                None => Ok(term.clone()),
            },
            ast::Expr::Identifier(name) => {
                // GROUP BY looks at the columns of FROM first, then at aliases.
                if scope.find(&[&name.value], "group statement")?.is_some() {
                    return Ok(term.clone());
                }
                let hit = items.iter().find(|item| {
                    item.alias.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(&name.value))
                });
                hit.map_or_else(|| Ok(term.clone()), grouped_expression)
            }
            _ => Ok(term.clone()),
        })
        .collect()
}

/// Whether groups are rolled up.
pub(crate) fn is_rollup(select: &ast::Select) -> Result<bool> {
    match &select.group_by {
        GroupByExpr::Expressions(_, modifiers) => match &modifiers[..] {
            [] => Ok(false),
            [GroupByWithModifier::Rollup] => Ok(true),
            [other, ..] => Err(Error::unsupported(format_args!("GROUP BY ... {other}"))),
        },
        GroupByExpr::All(_) => Ok(false),
    }
}

/// The expression of an item that GROUP BY names.
fn grouped_expression(item: &Item) -> Result<ast::Expr> {
    if item.expr.as_ref().is_some_and(aggregate::contains) {
        return Err(Error::new(Code::WrongGroupField, format!("Can't group on '{}'", item.name)));
    }
    item_expression(item)
}

/// The expression of an item.
pub(crate) fn item_expression(item: &Item) -> Result<ast::Expr> {
    if let Some(expr) = &item.expr {
        return Ok(expr.clone());
    }
    let origin = item.column.as_ref().and_then(|column| column.origin.clone());
    let origin = origin.ok_or_else(|| Error::unsupported("GROUP BY of a column from *"))?;
    Ok(ast::Expr::CompoundIdentifier(vec![
        ast::Ident::with_quote('`', &origin.table),
        ast::Ident::with_quote('`', &origin.name),
    ]))
}

/// Whether DISTINCT is set.
pub(crate) fn is_distinct(select: &ast::Select) -> Result<bool> {
    match &select.distinct {
        None | Some(Distinct::All) => Ok(false),
        Some(Distinct::Distinct) => Ok(true),
        Some(Distinct::On(_)) => Err(Error::unsupported("DISTINCT ON")),
    }
}

/// What is left of WHERE when the scans below have tested their part.
fn untested(select: &ast::Select, scope: &Scope) -> Result<Option<ast::Expr>> {
    let Some(selection) = select.selection.as_ref() else { return Ok(None) };
    let parts = normalise::conjuncts(selection);
    check_conditions(parts.len())?;
    if scope.tested.is_empty() {
        return Ok(Some(selection.clone()));
    }
    let tested: HashSet<&ast::Expr> = scope.tested.iter().collect();
    let parts = parts.into_iter().filter(|part| !tested.contains(part));
    Ok(normalise::conjunction(parts.cloned()))
}

/// Looks whether HAVING names only what is selected where nothing makes groups of the rows: MySQL
/// does not look at FROM there.
fn check_having(having: &ast::Expr, binder: &ExprBinder<'_>, block: &Block<'_>) -> Result<()> {
    let scope = binder.scope;
    let found = |path: &[ast::Ident]| {
        let path: Vec<&str> = path.iter().map(|part| part.value.as_str()).collect();
        // What is wrong with a name is told where the expression is bound.
        scope.find(&path, "having clause").ok().flatten()
    };
    let selected = |item: &Item| match (item.expr.as_ref().map(normalise::unnested), &item.column) {
        (Some(ast::Expr::Identifier(name)), _) => {
            Some(found(std::slice::from_ref(name))?.value.expr.clone())
        }
        (Some(ast::Expr::CompoundIdentifier(path)), _) => Some(found(path)?.value.expr.clone()),
        (None, Some(column)) => Some(column.expr.clone()),
        _ => None,
    };
    let chosen: HashSet<Expr> = block.items.iter().filter_map(selected).collect();
    let aliases =
        block.items.iter().filter_map(|item| Some(item.alias.as_ref()?.to_ascii_lowercase()));
    let aliases: HashSet<String> = aliases.collect();
    for path in normalise::columns(having) {
        let is_alias = match path.as_slice() {
            [name] => aliases.contains(&name.value.to_ascii_lowercase()),
            _ => false,
        };
        let Some(column) = found(&path) else { continue };
        if is_alias || chosen.contains(&column.value.expr) {
            continue;
        }
        if binder.is_mariadb() {
            return Err(Error::unsupported("HAVING of a column that is not selected"));
        }
        let path: Vec<&str> = path.iter().map(|part| part.value.as_str()).collect();
        return Err(Error::new(
            Code::UnknownColumn,
            format!("Unknown column '{}' in 'having clause'", path.join(".")),
        ));
    }
    Ok(())
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

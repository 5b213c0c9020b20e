//! Common table expressions that are referenced more than once.
//!
//! Each reference is carried out by itself, where MySQL keeps the rows of the first. So a second
//! reference must find the same rows: it is refused where they are a matter of chance, as those
//! are which a LIMIT takes of rows in no order.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use pelorus_error::{Error, Result};
use pelorus_sql::normalise::{self, Node, is_aggregate_name};
use sqlparser::ast::{self, SelectItem, SetExpr, TableFactor, WindowFrameUnits, WindowType};

use super::aggregate::{self, name_of};
use super::condition::Of;
use super::query::{Binder, ScopedCte, order_of};
use crate::context::Database;
use crate::federate::place::resolve;

impl Binder<'_> {
    /// Counts a reference to a common table expression.
    ///
    /// # Errors
    /// 1235 for a second one to rows that may be others the second time.
    pub(super) fn count_reference(&self, scoped: &ScopedCte) -> Result<()> {
        if scoped.references.fetch_add(1, Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let query = &scoped.cte.query;
        let mut known: HashSet<String> = scoped.seen.ctes.keys().cloned().collect();
        normalise::walk_query(query, &mut |node| {
            if let Node::Query(ast::Query { with: Some(with), .. }) = node {
                let names = with.cte_tables.iter().map(|cte| cte.alias.name.value.as_str());
                known.extend(names.map(str::to_ascii_lowercase));
            }
        });
        let is_random = !normalise::dependence(query, self.context.mode).random.is_empty();
        let mut chance = is_random.then_some("a function of chance");
        normalise::walk_query(query, &mut |node| {
            if let Node::Query(query) = node {
                chance = chance.or_else(|| self.chance(query, &known));
            }
        });
        match chance {
            None => Ok(()),
            Some(chance) => Err(Error::unsupported(format_args!(
                "several references to '{}' of WITH, whose rows may be others each time: it has \
                 {chance}",
                scoped.cte.alias.name.value
            ))),
        }
    }

    /// What leaves to chance which rows a query has, its subqueries aside.
    fn chance(&self, query: &ast::Query, known: &HashSet<String>) -> Option<&'static str> {
        let order = order_of(query).unwrap_or_default();
        let terms: Vec<&ast::Expr> = order.iter().map(|term| &term.expr).collect();
        let is_total = match query.body.as_ref() {
            SetExpr::Select(select) => self.is_total(select, &select.projection, &terms, known),
            _ => false,
        };
        if query.limit_clause.is_some() && !is_total {
            return Some("a LIMIT without an ORDER BY the primary key of its only table");
        }
        let mut selects = Vec::new();
        add_selects(&query.body, &mut selects);
        for select in selects {
            let items = select.projection.iter().filter_map(|item| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    Some(expr)
                }
                _ => None,
            });
            let mut windows = Vec::new();
            for expr in items.chain(terms.iter().copied()) {
                aggregate::collect(expr, |function| function.over.is_some(), &mut windows);
            }
            if !windows.iter().all(|window| self.is_settled(select, window, known)) {
                return Some(
                    "a window function over rows that may change places: those of a window that \
                     is not ordered by the primary key of the only table",
                );
            }
        }
        None
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
        let name = normalise::table_name(name);
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
            let ast::Expr::Identifier(name) = normalise::unnested(term) else {
                return of.column(term);
            };
            let aliased = items.iter().find_map(|item| match item {
                SelectItem::ExprWithAlias { expr, alias }
                    if alias.value.eq_ignore_ascii_case(&name.value) =>
                {
                    Some(expr)
                }
                _ => None,
            });
            of.column(aliased.unwrap_or(term))
        };
        let columns: Vec<usize> = order.iter().filter_map(column).collect();
        let key = &table.table.schema().key;
        !key.is_empty() && key.iter().all(|at| columns.contains(at))
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

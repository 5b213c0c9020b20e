//! `SELECT ... FOR UPDATE`, `FOR SHARE` and `LOCK IN SHARE MODE` inside of a transaction.
//!
//! Transactions do not wait for row locks: of two transactions that write one row the later one
//! fails (1213). The rows of a locking read are therefore written unchanged. If another transaction
//! writes one of these rows, the commit of this transaction fails, as if it had changed them, so
//! the values that it computes from them are valid. Shared and exclusive locks are not
//! distinguished; this causes more conflicts, never fewer.

use std::collections::HashSet;
use std::fmt::Write as _;

use arrow::array::BooleanArray;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::names;
use pelorus_result::diagnostics::Diagnostics;
use pelorus_sql::ast::{
    Expr, GroupByExpr, LockType, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr,
};
use pelorus_sql::ast_analysis::{self, Node, walk_query};
use pelorus_sql::statement::TableName;
use pelorus_store::Mode;

use super::assign::picked;
use super::change::Change;
use super::delete::{tables_of, without_nulls};
use super::insert::count;
use super::lookup::keys_of;
use super::update::{refuse_version, update_plan};
use super::{Plan, Statement};
use crate::definition::NativeDef;

impl Statement<'_> {
    /// Plans to write the rows that a locking query finds as they are. Rows of subqueries and
    /// derived tables are not locked, as in MySQL.
    ///
    /// # Errors
    /// Errors of the query; 1235 where it is not clear which rows it locks.
    pub async fn lock(mut self, sql: &str) -> Result<Plan> {
        // The query itself will warn.
        self.diagnostics = Diagnostics::default();
        self.policy.ignore = true;
        let parsed = pelorus_sql::parse_versioned_query(sql, self.context.mode)?;
        let query = parsed.query.as_ref();
        let (SetExpr::Select(select), None) = (query.body.as_ref(), &query.with) else {
            return Err(refused());
        };
        if locking_queries(query) != 1 || query.locks.is_empty() {
            return Err(refused());
        }
        if !finds_the_same(query, self.context.mode) {
            return Err(Error::unsupported(
                "FOR UPDATE and FOR SHARE inside of a transaction where the query does not say \
                 which rows it finds: random and window functions in FROM and WHERE, and LIMIT in \
                 subqueries that do not select what they are ordered by; SELECT that first",
            ));
        }
        let mut plan = update_plan();
        let tables = self.locked_tables(query, select)?;
        for (table, alias) in &tables {
            refuse_version(&select.from, alias)?;
            let def = self.table(table)?;
            let from = rows_to_lock(query, select, tables.len(), (&def, alias));
            let wanted: Vec<usize> = (0..def.columns.len()).collect();
            let rows = self.rows_of(&def, alias, &wanted, "", &from).await?;
            let rows = without_nulls(rows, def.key[0])?;
            if count(&rows) == 0 {
                continue;
            }
            let rows = self.stored_rows(&def, &rows)?;
            // A join has rows several times.
            let keys = keys_of(&def, &rows)?;
            let mut seen = HashSet::new();
            let first: BooleanArray = keys.iter().map(|key| Some(seen.insert(key))).collect();
            let mut change = Change::new(def);
            change.locks = true;
            change.puts.push((picked(&rows, &first)?, Mode::Replace));
            plan.changes.push(change);
        }
        Ok(plan)
    }

    /// The tables whose rows are locked, with their aliases: all of `FROM`, or those after `OF`.
    ///
    /// # Errors
    /// A name after `OF` that is no alias of a table (3568), tables that are not native (1235).
    fn locked_tables(&self, query: &Query, select: &Select) -> Result<Vec<(TableName, String)>> {
        let mut tables = Vec::new();
        select.from.iter().for_each(|element| tables_of(element, &mut tables));
        let is_native = |(table, _): &(TableName, String)| {
            let database = table.database.as_deref().or(self.database);
            database.is_some_and(|database| self.catalog.has(database))
        };
        if !tables.iter().all(is_native) {
            return Err(refused());
        }
        let named: Vec<String> = query
            .locks
            .iter()
            .filter_map(|lock| Some(ast_analysis::table_name(lock.of.as_ref()?).name))
            .collect();
        let unknown = named.iter().find(|name| !tables.iter().any(|(_, alias)| alias == *name));
        if let Some(name) = unknown {
            let text = format!("Unresolved table name `{name}` in locking clause.");
            return Err(Error::new(Code::UnresolvedLockTable, text));
        }
        if named.len() == query.locks.len() {
            tables.retain(|(_, alias)| named.contains(alias));
        }
        Ok(tables)
    }
}

/// The part after `FROM` to find the rows of a table that a query locks: those that it shows, or
/// more where they are not clear.
fn rows_to_lock(
    query: &Query,
    select: &Select,
    tables: usize,
    table: (&NativeDef, &str),
) -> String {
    let from: Vec<String> = select.from.iter().map(ToString::to_string).collect();
    let mut text = from.join(", ");
    if let Some(selection) = &select.selection {
        let _ = write!(text, " WHERE {selection}");
    }
    if let (1, Some(order), Some(limit)) = (tables, &query.order_by, &query.limit_clause)
        && is_total(order, select, table)
    {
        let _ = write!(text, " {order} {limit}");
    }
    text
}

/// Whether an order decides which rows of a table come first, so that a LIMIT always has the same
/// ones: it has columns of the table alone, and all those of its key among them.
fn is_total(order: &OrderBy, select: &Select, (def, alias): (&NativeDef, &str)) -> bool {
    let OrderByKind::Expressions(terms) = &order.kind else { return false };
    let is_alias = |name: &str| {
        select.projection.iter().any(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => alias.value.eq_ignore_ascii_case(name),
            _ => false,
        })
    };
    let column = |expr: &Expr| match expr {
        Expr::Identifier(name) if !is_alias(&name.value) => def.position(&name.value),
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [table, name] if table.value == *alias => def.position(&name.value),
            _ => None,
        },
        _ => None,
    };
    let columns: Option<Vec<usize>> = terms.iter().map(|term| column(&term.expr)).collect();
    is_row_by_row(select)
        && columns.is_some_and(|columns| def.key.iter().all(|at| columns.contains(at)))
}

/// Whether a block shows one row for each that it finds.
fn is_row_by_row(select: &Select) -> bool {
    let has_groups = !matches!(&select.group_by, GroupByExpr::Expressions(terms, modifiers)
        if terms.is_empty() && modifiers.is_empty());
    let aggregates = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            ast_analysis::has_aggregate(expr)
        }
        _ => false,
    };
    select.distinct.is_none()
        && select.having.is_none()
        && !has_groups
        && !select.projection.iter().any(aggregates)
}

/// Whether a query finds the same rows each time that it runs at one version and moment: which of
/// their columns it shows, and in which order, does not matter.
fn finds_the_same(query: &Query, mode: pelorus_sql::Mode) -> bool {
    let mut finding = query.clone();
    (finding.order_by, finding.limit_clause) = (None, None);
    if let SetExpr::Select(select) = finding.body.as_mut() {
        select.projection.clear();
        select.having = None;
    }
    let mut is_same = !ast_analysis::dependence(&finding, mode).calls(names::is_random);
    walk_query(&finding, &mut |node| match node {
        Node::Query(query) => is_same &= has_certain_values(query),
        // Rows that are alike for its ORDER BY have any order.
        Node::Expr(Expr::Function(function)) => is_same &= function.over.is_none(),
        _ => {}
    });
    is_same
}

/// Whether a LIMIT, if there is one, leaves no choice of values: the selected expressions are
/// constant, or in ORDER BY.
fn has_certain_values(query: &Query) -> bool {
    if query.limit_clause.is_none() && query.fetch.is_none() {
        return true;
    }
    let ordered: Vec<&Expr> = match query.order_by.as_ref().map(|order| &order.kind) {
        Some(OrderByKind::Expressions(terms)) => terms.iter().map(|term| &term.expr).collect(),
        _ => Vec::new(),
    };
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    select.projection.iter().all(|item| match item {
        SelectItem::UnnamedExpr(expr) => matches!(expr, Expr::Value(_)) || ordered.contains(&expr),
        _ => false,
    })
}

/// How many blocks have a locking clause.
fn locking_queries(query: &Query) -> usize {
    let mut found = 0;
    walk_query(query, &mut |node| {
        if let Node::Query(query) = node {
            found += usize::from(!query.locks.is_empty());
        }
    });
    found
}

/// Whether a query has a `FOR UPDATE`, and not only locks that others may have as well.
pub fn has_for_update(sql: &str, mode: pelorus_sql::Mode) -> bool {
    let Ok(parsed) = pelorus_sql::parse_versioned_query(sql, mode) else { return false };
    let mut found = false;
    walk_query(&parsed.query, &mut |node| {
        if let Node::Query(query) = node {
            found |= query.locks.iter().any(|lock| lock.lock_type == LockType::Update);
        }
    });
    found
}

fn refused() -> Error {
    Error::unsupported(
        "FOR UPDATE and FOR SHARE inside of a transaction with UNION or WITH, in subqueries, or of \
         tables that are not native; SELECT from the tables alone first",
    )
}

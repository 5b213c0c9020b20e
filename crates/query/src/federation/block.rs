//! Which query blocks can be split, and the SQL text of the fragment that their ranges run.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use pelorus_error::{Error, Result};
use pelorus_functions::{EvalContext, names};
use pelorus_link::{Fragment, Link, RemoteTable, ScanRequest};
use pelorus_sql::Mode;
use pelorus_sql::ast_analysis::{self, Dependence, Node};
use pelorus_types::{Column, ColumnType};
use sqlparser::ast::{
    self, BinaryOperator, Ident, JoinConstraint, SelectItem, SetExpr, TableFactor,
};

use super::sql_writer;
use crate::binder::block::is_rollup;
use crate::binder::clause_names::{Clauses, Names};
use crate::binder::function_call::name_of;
use crate::binder::join_kind::{JoinKind, constraint};
use crate::binder::order_limit::BlockOrder;
use crate::binder::order_limit::{limit_of, order_of};
use crate::binder::scope::Scope;
use crate::binder::select_list::{Item, items};
use crate::binder::statement::Binder;
use crate::binder::typed_expression::TypedExpr;
use crate::context::Database;
use crate::placement::{database_name, resolve};

/// Stands for the PARTITION clause of the table that is cut, until ranges are known.
const PARTITION_HOLE: &str = "\u{1}pelorus_partitions";
/// Stands for the condition of a range.
const RANGE_HOLE: &str = "\u{1}pelorus_range";

/// A block that can be split.
pub(crate) struct Block<'a> {
    /// The server.
    pub(crate) link: Link,
    /// The block as it was written.
    pub(crate) select: &'a ast::Select,
    /// Its ORDER BY and LIMIT.
    pub(crate) order: BlockOrder<'a>,
    /// Its columns; their expressions exist on the server only.
    pub(crate) scope: Scope,
    /// Its tables in the order of FROM.
    pub(crate) tables: Vec<BlockTable>,
    /// The table that is cut.
    pub(crate) driving: usize,
    /// The select list, `*` spelt out.
    pub(crate) items: Vec<Item>,
    /// GROUP BY, HAVING and ORDER BY.
    pub(crate) clauses: Clauses,
    /// Every table that the block reads, subqueries included, by the server's names.
    pub(crate) reads: Vec<(String, String)>,
}

/// A table of a block.
pub(crate) struct BlockTable {
    /// The name under which columns are qualified.
    pub(crate) alias: String,
    /// The description of the table.
    pub(crate) table: Arc<RemoteTable>,
    /// Which factor of FROM it is: the item and, within it, 0 or the number of the join.
    place: (usize, usize),
    /// Every row of the result has one row of it: cutting it cuts the result.
    cuttable: bool,
}

impl Binder<'_> {
    /// Checks whether a query can be split. `None` if it must run whole.
    pub(crate) async fn block<'q>(
        &self,
        link: &Link,
        query: &'q ast::Query,
    ) -> Result<Option<Block<'q>>> {
        let SetExpr::Select(select) = query.body.as_ref() else { return Ok(None) };
        let whole = query.with.is_some()
            || !query.locks.is_empty()
            || select.into.is_some()
            || select.from.is_empty()
            || !select.named_window.is_empty()
            || is_rollup(select)?
            || must_run_once(query, self.context.mode);
        if whole {
            return Ok(None);
        }
        let Some(tables) = self.block_tables(link, select).await? else { return Ok(None) };
        // A view may hold whatever must run once, and quotients of which not all digits show. What
        // has no snapshots may change between two ranges.
        if tables.iter().any(|it| it.table.is_view || !it.table.has_snapshots()) {
            return Ok(None);
        }
        let largest = tables.iter().enumerate().filter(|(_, it)| it.cuttable);
        let Some((driving, _)) = largest.max_by_key(|(_, it)| it.table.rows) else {
            return Ok(None);
        };
        let scope = self.block_scope(select, &tables)?;
        if aggregates_outside(query, &scope, &tables) {
            return Ok(None);
        }
        let items = items(select, &scope, self.parsed.names(select))?;
        let order = BlockOrder { by: order_of(query)?, limit: limit_of(query)? };
        // The server warns of names that it finds ambiguous.
        let eval = EvalContext::default();
        let names = Names::new(&scope, &items, &eval);
        let clauses = names.clauses(select, order.by)?;
        let link = link.clone();
        let reads = self.reads(query)?;
        Ok(Some(Block { link, select, order, scope, tables, driving, items, clauses, reads }))
    }

    /// Every table of a query by the server's names, for the moment at which all are read.
    pub(crate) fn reads(&self, query: &ast::Query) -> Result<Vec<(String, String)>> {
        let mut reads = Vec::new();
        for reference in ast_analysis::table_references(query) {
            let local = database_name(self.context, reference.table.database.as_deref())?;
            if let Database::Linked { remote, .. } = resolve(self.context, Some(local))? {
                let read = (remote, reference.table.name);
                if !reads.contains(&read) {
                    reads.push(read);
                }
            }
        }
        Ok(reads)
    }

    async fn block_tables(
        &self,
        link: &Link,
        select: &ast::Select,
    ) -> Result<Option<Vec<BlockTable>>> {
        let mut tables: Vec<BlockTable> = Vec::new();
        for (at, item) in select.from.iter().enumerate() {
            let first = tables.len();
            let factors = std::iter::once((&item.relation, None))
                .chain(item.joins.iter().map(|join| (&join.relation, Some(&join.join_operator))));
            for (step, (factor, operator)) in factors.enumerate() {
                let TableFactor::Table { name, alias, partitions, args: None, .. } = factor else {
                    return Ok(None);
                };
                if !partitions.is_empty() {
                    return Ok(None);
                }
                let Some(kind) = operator.map_or(Some(JoinKind::Inner), JoinKind::of) else {
                    return Ok(None);
                };
                if kind == JoinKind::Right {
                    tables[first..].iter_mut().for_each(|table| table.cuttable = false);
                }
                let Some((table_name, table)) = self.remote_table(link, name).await? else {
                    return Ok(None);
                };
                tables.push(BlockTable {
                    alias: alias.as_ref().map_or(table_name, |alias| alias.name.value.clone()),
                    table,
                    place: (at, step),
                    cuttable: kind != JoinKind::Left,
                });
            }
        }
        Ok(Some(tables))
    }

    /// Looks a table up on its server; `None` if the server must report the error.
    pub(crate) async fn remote_table(
        &self,
        link: &Link,
        name: &ast::ObjectName,
    ) -> Result<Option<(String, Arc<RemoteTable>)>> {
        let parts: Vec<&str> =
            name.0.iter().filter_map(|part| part.as_ident()).map(|it| it.value.as_str()).collect();
        let (database, table) = match parts[..] {
            [table] => (None, table),
            [database, table] => (Some(database), table),
            _ => return Ok(None),
        };
        let local = database_name(self.context, database)?;
        let Database::Linked { .. } = resolve(self.context, Some(local))? else {
            return Ok(None);
        };
        Ok(link.table(local, table).await?.map(|found| (table.to_owned(), found)))
    }

    fn block_scope(&self, select: &ast::Select, tables: &[BlockTable]) -> Result<Scope> {
        let mut scope = Scope::default();
        for table in tables {
            let columns = remote_columns(&table.table);
            let nothing = || Expr::Literal(ScalarValue::Null, None);
            let typed = columns.iter().map(|it| TypedExpr::column(nothing(), it)).collect();
            let names = (table.table.database.as_str(), table.alias.as_str());
            scope.push_remote(names, &table.table, (typed, &columns), select);
        }
        let merged = select.from.iter().flat_map(|item| &item.joins).any(|join| {
            matches!(
                constraint(&join.join_operator),
                Some(JoinConstraint::Using(_) | JoinConstraint::Natural)
            )
        });
        let starred = select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
        if merged && starred {
            return Err(Error::unsupported("* over USING or NATURAL, split"));
        }
        Ok(scope)
    }
}

/// The visible columns of a table as result columns.
pub(crate) fn remote_columns(table: &RemoteTable) -> Vec<Column> {
    table
        .columns
        .iter()
        .filter(|column| !column.invisible)
        .map(|column| Column {
            schema: table.database.clone(),
            table: table.name.clone(),
            org_table: table.name.clone(),
            name: column.name.clone(),
            org_name: column.name.clone(),
            ty: column.ty,
        })
        .collect()
}

impl Block<'_> {
    /// The table that is cut.
    pub(crate) fn driving(&self) -> &BlockTable {
        &self.tables[self.driving]
    }

    /// The block with another select list, grouping, order and limit, as a query for the server.
    /// `extra` is the enclosing context.
    pub(crate) fn inner(
        &self,
        binder: &Binder<'_>,
        projection: Vec<SelectItem>,
        group_by: Vec<ast::Expr>,
        tail: Tail,
    ) -> Result<ast::Query> {
        let mut select = self.select.clone();
        select.projection = projection;
        select.group_by = ast::GroupByExpr::Expressions(group_by, Vec::new());
        select.having = None;
        select.distinct = None;
        let hole = ast::Expr::Identifier(Ident::new(RANGE_HOLE));
        select.selection = Some(match select.selection.take() {
            Some(condition) => ast::Expr::BinaryOp {
                left: Box::new(ast::Expr::Nested(Box::new(condition))),
                op: BinaryOperator::And,
                right: Box::new(ast::Expr::Nested(Box::new(hole))),
            },
            None => hole,
        });
        let (item, step) = self.driving().place;
        let from = &mut select.from[item];
        let factor = match step {
            0 => &mut from.relation,
            step => &mut from.joins[step - 1].relation,
        };
        if let TableFactor::Table { partitions, .. } = factor {
            *partitions = vec![Ident::new(PARTITION_HOLE)];
        }
        if tail.any_row {
            loosen(&mut select);
        }
        let mut query = ast::Query {
            with: None,
            body: Box::new(SetExpr::Select(Box::new(select))),
            order_by: None,
            limit_clause: None,
            fetch: None,
            locks: Vec::new(),
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators: Vec::new(),
        };
        query.order_by = tail.order_by;
        query.limit_clause = tail.limit.map(|rows| ast::LimitClause::LimitOffset {
            limit: Some(ast::Expr::value(ast::Value::Number(rows.to_string(), false))),
            offset: None,
            limit_by: Vec::new(),
        });
        sql_writer::for_server(binder.context, &query)
    }
}

/// The part after a fragment's grouping.
#[derive(Default)]
pub(crate) struct Tail {
    /// ORDER BY.
    pub(crate) order_by: Option<ast::OrderBy>,
    /// LIMIT.
    pub(crate) limit: Option<usize>,
    /// Filters and join conditions do not matter.
    pub(crate) any_row: bool,
}

/// Takes filters and join conditions away, so that the first combination of rows will do.
fn loosen(select: &mut ast::Select) {
    select.selection = Some(ast::Expr::Identifier(Ident::new(RANGE_HOLE)));
    let factors = std::mem::take(&mut select.from).into_iter().flat_map(|item| {
        std::iter::once(item.relation).chain(item.joins.into_iter().map(|join| join.relation))
    });
    select.from =
        factors.map(|relation| ast::TableWithJoins { relation, joins: Vec::new() }).collect();
}

/// Cuts a fragment's text at its holes.
pub(crate) fn holes(text: &str) -> Result<Fragment> {
    let partition = format!(" PARTITION ({PARTITION_HOLE})");
    let cut = text.split_once(&partition).and_then(|(head, rest)| {
        let (middle, tail) = rest.split_once(RANGE_HOLE)?;
        Some([head.to_owned(), middle.to_owned(), tail.to_owned()])
    });
    let parts = cut.ok_or_else(|| Error::internal(format!("a fragment without holes: {text}")))?;
    Ok(Fragment { parts })
}

/// The text of a fragment over all rows, for the server to describe.
pub(crate) fn unbounded(text: &str) -> String {
    text.replace(&format!(" PARTITION ({PARTITION_HOLE})"), "").replace(RANGE_HOLE, "1=1")
}

impl Binder<'_> {
    /// Asks for the ranges and puts the request together.
    pub(crate) async fn request(
        &self,
        block: &Block<'_>,
        text: &str,
        key: Option<&str>,
        columns: &[Column],
    ) -> Result<(ScanRequest, String)> {
        let driving = block.driving();
        let options = &self.context.options;
        // Several ranges a connection even out errors of the estimates; with joins every range may
        // read the other tables again, so there are no more than connections.
        let ranges = if block.tables.len() == 1 { options.streams * 4 } else { options.streams };
        let split = block.link.split(&driving.table, key, ranges).await?;
        let request = ScanRequest {
            settings: self.context.settings.clone(),
            fragment: holes(text)?,
            ranges: split.ranges.clone(),
            qualifier: driving.alias.clone(),
            tables: block.reads.clone(),
            cut: Some((driving.table.database.clone(), driving.table.name.clone())),
            streams: options.streams,
            committed: false,
            buffer_whole_range: true,
            expected: columns.iter().map(|column| column.ty).collect::<Vec<ColumnType>>(),
            memory: self.context.memory.clone(),
        };
        Ok((request, split.how.clone()))
    }
}

/// Whether a subquery aggregates columns of the block around it: the aggregate is the block's own
/// then, as in `SELECT (SELECT SUM(t.a)) FROM t`.
fn aggregates_outside(query: &ast::Query, scope: &Scope, tables: &[BlockTable]) -> bool {
    let is_outside = |path: Vec<Ident>| match &path[..] {
        [column] => scope.columns.iter().any(|it| it.name.eq_ignore_ascii_case(&column.value)),
        [.., table, _] => tables.iter().any(|it| it.alias.eq_ignore_ascii_case(&table.value)),
        [] => false,
    };
    let (mut depth, mut found) = (0_usize, false);
    ast_analysis::walk_query(query, &mut |node| match node {
        Node::Query(_) => depth += 1,
        Node::End => depth -= 1,
        Node::Expr(expr @ ast::Expr::Function(function)) if depth > 1 => {
            found |= ast_analysis::is_aggregate_name(&name_of(function))
                && ast_analysis::all_columns(expr).into_iter().any(is_outside);
        }
        _ => {}
    });
    found
}

/// The construct that keeps a query or expression from running in parts: it assigns variables,
/// draws random numbers, has side effects on the server, or calls unknown functions.
pub(crate) fn runs_once(on: &Dependence) -> bool {
    on.assigns || on.calls(names::is_random) || on.calls(names::has_effects) || calls_stored(on)
}

/// Whether a query or expression calls functions of which nothing is known: stored ones.
pub(crate) fn calls_stored(on: &Dependence) -> bool {
    let unknown =
        |name: &str, _| !names::is_function(name) && !ast_analysis::is_aggregate_name(name);
    !on.stored.is_empty() || on.calls(unknown)
}

/// Whether a query must run as one statement.
fn must_run_once(query: &ast::Query, mode: Mode) -> bool {
    let mut windows = false;
    ast_analysis::walk_query(query, &mut |node| {
        windows |= matches!(node, Node::Expr(ast::Expr::Function(it)) if it.over.is_some());
    });
    windows || runs_once(&ast_analysis::dependence(query, mode))
}

/// Whether a query evaluates the current time, which all servers must then receive.
pub(crate) fn asks_time(query: &ast::Query, mode: Mode) -> bool {
    ast_analysis::dependence(query, mode).calls(names::is_of_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_nobody_knows_here_are_stored_ones() {
        let mode = Mode::default();
        let stored = |sql| crate::calls_stored(sql, mode);
        assert!(stored("SELECT twice(4)"));
        assert!(stored("SELECT 1 + shop.twice(4)"));
        assert!(!stored("SELECT ABS(-4), COUNT(*), NOW()"));
    }
}

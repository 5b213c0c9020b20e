//! The binder of one statement, and what linked servers do for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use datafusion::logical_expr::LogicalPlan;
use futures::future::BoxFuture;
use pelorus_error::Result;
use pelorus_link::{Link, Moment, RemoteTable};
use pelorus_sql::Parsed;
use sqlparser::ast;

use super::bound_query::BoundQuery;
use super::mentioned::Mentioned;
use super::plan_limits::{Extent, Level};
use super::scope::Scope;
use crate::context::{Flavour, QueryContext};
use crate::journal::Journal;

/// What linked servers do for a statement that is bound here.
pub(crate) trait LinkedServers: Sync {
    /// Binds a query all of whose tables are on one server.
    fn query<'b>(
        &'b self,
        binder: &'b Binder<'b>,
        link: Link,
        query: &'b ast::Query,
    ) -> BoxFuture<'b, Result<BoundQuery>>;

    /// A table that is joined here: the columns that its block names, and the rows that pass the
    /// conditions on this table alone.
    fn table<'b>(
        &'b self,
        binder: &'b Binder<'b>,
        link: Link,
        table: Arc<RemoteTable>,
        reference: TableUse<'b>,
    ) -> BoxFuture<'b, Result<(LogicalPlan, Scope)>>;
}

/// A table in a FROM clause.
#[derive(Clone, Copy)]
pub(crate) struct TableUse<'a> {
    /// The name here of its database.
    pub(crate) schema: &'a str,
    /// The name under which its columns are qualified.
    pub(crate) alias: &'a str,
    /// The block.
    pub(crate) select: &'a ast::Select,
    /// Whether the block's WHERE may be applied before joining.
    pub(crate) filtered: bool,
}

/// The names that a query can use in addition to its own tables and columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct BindScope {
    /// Common table expressions, by lower-case name.
    pub(crate) ctes: HashMap<String, Arc<ScopedCte>>,
    /// The columns of the block that contains a subquery.
    pub(crate) outer: Option<Arc<Scope>>,
}

impl BindScope {
    /// The names that a derived table can use: none of the enclosing blocks.
    pub(crate) fn of_derived(&self) -> Self {
        Self { outer: None, ctes: self.ctes.clone() }
    }
}

/// A common table expression, with those that were in reach where it was defined.
#[derive(Debug)]
pub(crate) struct ScopedCte {
    /// The definition.
    pub(crate) cte: ast::Cte,
    /// The names that it can use: neither its own nor later ones.
    pub(crate) seen: BindScope,
    /// How often it was bound: once for each reference.
    pub(crate) references: AtomicUsize,
    /// The number under which its rows are materialised where they must be.
    pub(crate) id: u64,
    /// Whether one server can have the query that defines it, and then keeps the rows itself.
    pub(crate) is_of_server: bool,
    /// Why its rows are non-deterministic, once that was determined.
    pub(crate) chance: OnceLock<NonDeterminism>,
    /// The first reference, once that is bound and if its rows are materialised.
    pub(crate) materialized: OnceLock<BoundQuery>,
}

/// The reason for which the rows of a common table expression are non-deterministic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NonDeterminism {
    /// Nothing that its text tells.
    Unseen,
    /// Values that depend on the order of rows.
    Values,
    /// Which rows there are.
    Rows(&'static str),
}

/// Binds the queries of one statement.
pub(crate) struct Binder<'a> {
    /// The session's side.
    pub(crate) context: &'a QueryContext,
    /// What linked servers do.
    pub(crate) servers: &'a dyn LinkedServers,
    /// The statement, which knows the names of columns without alias.
    pub(crate) parsed: &'a Parsed,
    /// Every column name in the statement: a table need not provide other columns.
    pub(crate) mentioned: Mentioned,
    /// The statements that servers run.
    pub(crate) journal: Journal,
    /// Whose answer the statement must have, once that is known; `None` where it is ours.
    pub(crate) answer: OnceLock<Flavour>,
    /// The one moment at which the statement reads each link, by the link's name.
    pub(crate) moments: Mutex<HashMap<String, Moment>>,
    names: AtomicUsize,
    is_numbered: AtomicBool,
    extent: Extent,
}

impl<'a> Binder<'a> {
    /// A binder for one statement.
    pub(crate) fn new(
        context: &'a QueryContext,
        parsed: &'a Parsed,
        servers: &'a dyn LinkedServers,
    ) -> Self {
        Self {
            context,
            servers,
            parsed,
            mentioned: Mentioned::of(&parsed.query),
            journal: Journal::default(),
            answer: context.copies_of.map_or_else(OnceLock::new, OnceLock::from),
            moments: Mutex::default(),
            names: AtomicUsize::new(0),
            is_numbered: AtomicBool::new(false),
            extent: Extent::default(),
        }
    }

    /// Enters a deeper level of the statement, for as long as the result lives.
    ///
    /// # Errors
    /// 1235 for a plan that would be too deep or too large.
    pub(crate) fn deeper(&self) -> Result<Level<'_>> {
        self.extent.deeper()
    }

    /// Goes into a subquery of an expression, for as long as the result lives.
    ///
    /// # Errors
    /// 1235 where there are too many in each other.
    pub(crate) fn enter_subquery(&self) -> Result<Level<'_>> {
        self.extent.enter_subquery()
    }

    /// Counts a table that is read, or a row of VALUES, which becomes a query.
    ///
    /// # Errors
    /// 1235 where there are too many.
    pub(crate) fn count_table(&self) -> Result<()> {
        self.extent.count()
    }

    /// Notes that a scan numbers groups.
    pub(crate) fn note_numbered(&self) {
        // Ordering: one task binds a statement, and looks at it afterwards.
        self.is_numbered.store(true, Ordering::Relaxed);
    }

    /// Whether a scan numbers groups, and so holds memory that it cannot spill.
    pub(crate) fn is_numbered(&self) -> bool {
        self.is_numbered.load(Ordering::Relaxed)
    }

    /// A name that no other column of the statement's plan has.
    pub(crate) fn fresh(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.names.fetch_add(1, Ordering::Relaxed))
    }
}

//! Federation: the parts of a query that run on linked servers. The binder asks for them through a
//! trait ([`LinkedServers`]), whose implementation is [`Servers`].
//!
//! A query block whose tables all live on one server is sent there as SQL, so that the server
//! itself evaluates filters, joins, functions and collations. It goes **whole**, or it is
//! **split**: its largest table is cut into key ranges, every range runs as a fragment of its own,
//! and the parts are merged here.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`sql_writer`] | writes a tree as SQL text for a server |
//! | [`routing`] | whole or split, from the server's own estimate |
//! | [`remote`] | a query that one server could answer |
//! | [`facts`] | functional dependencies among the outputs of such a query |
//! | [`block`] | which blocks can be split |
//! | [`partial_aggregation`] | fragments and merge of a grouped block |
//! | [`row_fragments`] | fragments and merge of a block that returns rows |
//! | [`scan`] | a fragment as a leaf of a DataFusion plan |
//! | [`table_scan`] | a table that is joined here |
//! | [`passthrough_text`] | the text of a statement that runs unchanged on a server |
//! | [`collations`] | the collations under which the columns of a fragment compare |

pub(crate) mod block;
pub(crate) mod collations;
mod facts;
pub(crate) mod partial_aggregation;
pub(crate) mod passthrough_text;
pub(crate) mod remote;
pub(crate) mod routing;
pub(crate) mod row_fragments;
pub(crate) mod scan;
pub(crate) mod sql_writer;
mod table_scan;

use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use pelorus_error::Result;
use pelorus_link::{Link, RemoteTable};
use sqlparser::ast;

use crate::binder::bound_query::BoundQuery;
use crate::binder::scope::Scope;
use crate::binder::statement::{Binder, LinkedServers, TableUse};

/// The linked servers of a statement.
pub(crate) struct Servers;

impl LinkedServers for Servers {
    fn query<'b>(
        &'b self,
        binder: &'b Binder<'b>,
        link: Link,
        query: &'b ast::Query,
    ) -> BoxFuture<'b, Result<BoundQuery>> {
        async move { binder.remote(&link, query).await }.boxed()
    }

    fn table<'b>(
        &'b self,
        binder: &'b Binder<'b>,
        link: Link,
        table: Arc<RemoteTable>,
        reference: TableUse<'b>,
    ) -> BoxFuture<'b, Result<(LogicalPlan, Scope)>> {
        async move { binder.remote_leaf(&link, &table, reference).await }.boxed()
    }
}

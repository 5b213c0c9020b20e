//! Plans and runs queries: what linked servers do, what happens here, and how the parts meet.
//!
//! Entry points: [`run`], [`describe`], [`explain`].

pub mod context;
mod result;

pub use context::{Catalog, Database, InfoSchema, PlanOptions, QueryContext, Variables};
pub use result::{Block, BlockStream, QueryResult, RowForm};

use pelorus_error::{Error, Result};
use pelorus_types::Column;

/// Runs one query (SELECT, WITH, VALUES, TABLE) and returns its rows as they are made.
pub async fn run(_context: &QueryContext, _sql: &str, _form: RowForm) -> Result<QueryResult> {
    Err(Error::unsupported("queries"))
}

/// Finds the result columns of one query without running it; `?` may stand for values.
pub async fn describe(_context: &QueryContext, _sql: &str) -> Result<Vec<Column>> {
    Err(Error::unsupported("queries"))
}

/// Says how one query would run: a row a step.
pub async fn explain(_context: &QueryContext, _sql: &str) -> Result<QueryResult> {
    Err(Error::unsupported("queries"))
}

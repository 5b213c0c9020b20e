//! The collations of a fragment's columns.
//!
//! The metadata of a result column names the charset of our connection, not the collation under
//! which the text compares. The collation of a plain column is read from the table's description;
//! that of any other expression is requested with `COLLATION()`.

use arrow::array::{Array, AsArray};
use futures::StreamExt;
use pelorus_error::{Error, Result};
use pelorus_link::{Format, Link, Relay, RelayItem, Target};
use pelorus_mysql_wire::rows::RowDecoder;
use pelorus_types::{Collation, Column, collation};
use sqlparser::ast;

use super::block::{Block, Tail};
use crate::binder::function_call;
use crate::binder::statement::Binder;
use crate::context::QueryContext;

impl Binder<'_> {
    /// Gives text columns of a fragment their true collations. `sources` are the expressions after
    /// the columns. `None` if the server cannot answer.
    pub(crate) async fn true_columns(
        &self,
        block: &Block<'_>,
        mut columns: Vec<Column>,
        sources: &[ast::Expr],
    ) -> Result<Option<Vec<Column>>> {
        let mut asked = Vec::new();
        for (at, source) in sources.iter().enumerate() {
            let ty = &columns[at].ty;
            if !ty.is_string() || ty.is_binary_string() {
                continue;
            }
            match block.plain_collation(source) {
                Some(known) => columns[at].ty.collation = known,
                None => asked.push((at, source.clone())),
            }
        }
        if asked.is_empty() {
            return Ok(Some(columns));
        }
        let Some(answers) = self.ask_collations(block, &asked).await? else { return Ok(None) };
        for ((at, _), answer) in asked.iter().zip(answers) {
            columns[*at].ty.collation =
                Collation::by_name(&answer.unwrap_or_default()).unwrap_or(collation::UNKNOWN);
        }
        Ok(Some(columns))
    }

    async fn ask_collations(
        &self,
        block: &Block<'_>,
        asked: &[(usize, ast::Expr)],
    ) -> Result<Option<Vec<Option<String>>>> {
        let projection = asked
            .iter()
            .map(|(_, source)| {
                // The least of texts has the collation of the texts, and needs no look at them.
                let source = extreme_argument(source).unwrap_or(source).clone();
                ast::SelectItem::UnnamedExpr(super::partial_aggregation::invoke(
                    "COLLATION",
                    source,
                ))
            })
            .collect();
        let tail = Tail { limit: Some(1), any_row: true, order_by: None };
        let query = block.inner(self, projection, Vec::new(), tail)?;
        let sql = super::block::unbounded(&query.to_string());
        first_row(self.context, &block.link, &sql).await
    }
}

impl Block<'_> {
    /// The collation of an expression that is nothing but a column, or the least or greatest of it.
    fn plain_collation(&self, expr: &ast::Expr) -> Option<Collation> {
        let path: Vec<&str> = match expr {
            ast::Expr::Identifier(name) => vec![&name.value],
            ast::Expr::CompoundIdentifier(path) => {
                path.iter().map(|part| part.value.as_str()).collect()
            }
            ast::Expr::Nested(inner) => return self.plain_collation(inner),
            other => return self.plain_collation(extreme_argument(other)?),
        };
        let column = self.scope.find(&path, "").ok()??;
        Some(column.value.ty.collation)
    }
}

/// The argument of MIN or MAX.
pub(super) fn extreme_argument(expr: &ast::Expr) -> Option<&ast::Expr> {
    let ast::Expr::Function(function) = expr else { return None };
    let call = function_call::call_of(function).ok()?;
    match (call.name.as_str(), &call.args[..]) {
        ("MIN" | "MAX", [arg]) => Some(arg),
        _ => None,
    }
}

/// The first row of a small query on a link, as texts; `None` when it has none.
async fn first_row(
    context: &QueryContext,
    link: &Link,
    sql: &str,
) -> Result<Option<Vec<Option<String>>>> {
    let relay = link.relay(&context.settings, sql, Format::Text, Target::Primary).await?;
    let Relay::Rows(mut rows) = relay else {
        return Err(Error::internal("a query without rows"));
    };
    let mut decoder = RowDecoder::new(rows.columns.clone(), Format::Text)?;
    while let Some(item) = rows.next().await {
        if let RelayItem::Encoded(block) = item?
            && let Some(payload) = block.get(4..)
        {
            decoder.push(payload)?;
            let batch = decoder.finish()?;
            let texts = batch.columns().iter().map(|array| {
                let array = array.as_string_opt::<i32>()?;
                array.is_valid(0).then(|| array.value(0).to_owned())
            });
            return Ok(Some(texts.collect()));
        }
    }
    Ok(None)
}

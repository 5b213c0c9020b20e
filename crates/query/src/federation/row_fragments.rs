//! A block that returns rows, split: every range filters and computes its rows, and the results are
//! concatenated here, or merged and limited if the block has an ORDER BY.
//!
//! With ORDER BY and LIMIT every range sends its own first rows only.

use pelorus_error::Result;
use pelorus_link::Estimate;
use pelorus_sql::ast_analysis;
use pelorus_types::Column;
use sqlparser::ast::{self, Ident, OrderByExpr, SelectItem};

use super::block::{Block, Tail, unbounded};
use super::partial_aggregation::{Weight, attach_keys, weights, with_weights};
use super::routing;
use crate::binder::bound_query::{BoundColumn, BoundQuery};
use crate::binder::clause_names::Term;
use crate::binder::order_limit::{Limit, ordered, sort_term};
use crate::binder::session_constant::session_constant;
use crate::binder::statement::Binder;
use crate::context::QueryContext;

impl Binder<'_> {
    /// Splits a block without groups. `None` if it must run whole.
    pub(crate) async fn split_rows(
        &self,
        block: &Block<'_>,
        estimate: &Estimate,
    ) -> Result<Option<BoundQuery>> {
        // The first rows that the server finds are the answer: nothing to share.
        if block.order.by.is_empty() && block.order.limit.is_some() {
            return Ok(None);
        }
        if block.select.having.is_some() {
            return Ok(None);
        }
        let items = block.item_expressions()?;
        let terms = block.order_expressions(self.context, &items);
        let named = |prefix: &str, at: usize, expr: &ast::Expr| SelectItem::ExprWithAlias {
            expr: expr.clone(),
            alias: Ident::with_quote('`', format!("pelorus_{prefix}{at}")),
        };
        let projection = items
            .iter()
            .enumerate()
            .map(|(at, item)| named("c", at, item))
            .chain(terms.iter().enumerate().map(|(at, (term, _))| named("o", at, term)))
            .collect();
        let tail = Tail {
            order_by: block.order.limit.and_then(|_| order_by(&terms)),
            limit: block.order.limit.and_then(Limit::reach),
            any_row: false,
        };
        let inner = block.inner(self, projection, Vec::new(), tail)?.to_string();
        let described =
            block.link.describe(&self.context.settings, &unbounded(&inner)).await?.columns.clone();
        let mut sources = items.clone();
        sources.extend(terms.iter().map(|(term, _)| term.clone()));
        let Some(mut columns) = self.true_columns(block, described, &sources).await? else {
            return Ok(None);
        };
        let compared: Vec<bool> = (0..columns.len()).map(|at| at >= items.len()).collect();
        if !self.can_compare(block, &columns, |at| compared[at]).await? {
            return Ok(None);
        }
        let Some(weights) = weights(&columns, &compared) else { return Ok(None) };
        let text = with_weights(&inner, &columns, &weights);
        columns.extend(weights.iter().map(Weight::column));
        let key = routing::covering_key(estimate, &block.driving().alias);
        let (request, how) = self.request(block, &text, key, &columns).await?;
        let (leaf, typed) = self.fragment(&block.link, request, &columns, how)?;
        let mut typed = attach_keys(typed, &weights);
        let order = typed.split_off(items.len());
        let keys = order
            .iter()
            .zip(&terms)
            .map(|(value, (_, term))| sort_term(value.order_key(&self.context.eval)?, term))
            .collect::<Result<Vec<_>>>()?;
        let plan = ordered(leaf, keys, block.order.limit)?;
        let columns = typed
            .into_iter()
            .zip(block.items.iter().zip(&items))
            .map(|(mut value, (item, expr))| {
                value.origin = block.origin_of(expr);
                let meta = match &value.origin {
                    Some(origin) => Column {
                        name: item.alias.clone().unwrap_or_else(|| origin.name.clone()),
                        ty: value.ty,
                        ..(**origin).clone()
                    },
                    None => Column::computed(&item.name, value.ty),
                };
                BoundColumn::of_server(meta, value)
            })
            .collect();
        Ok(Some(BoundQuery::new(plan, columns)))
    }
}

fn order_by(terms: &[(ast::Expr, OrderByExpr)]) -> Option<ast::OrderBy> {
    let terms: Vec<OrderByExpr> = terms
        .iter()
        .map(|(expr, term)| OrderByExpr { expr: expr.clone(), ..term.clone() })
        .collect();
    if terms.is_empty() {
        return None;
    }
    Some(ast::OrderBy { kind: ast::OrderByKind::Expressions(terms), interpolate: None })
}

impl Block<'_> {
    /// The terms of ORDER BY that order something, as expressions over the columns of FROM.
    fn order_expressions(
        &self,
        context: &QueryContext,
        items: &[ast::Expr],
    ) -> Vec<(ast::Expr, OrderByExpr)> {
        let mut terms = Vec::new();
        for (term, written) in self.clauses.order.iter().zip(self.order.by) {
            let expr = match term {
                Term::Item(at) => items[*at].clone(),
                Term::Value(expr) => expr.clone(),
                Term::Nothing => continue,
            };
            // A constant orders nothing; in a fragment a number would be an ordinal.
            let is_constant = matches!(ast_analysis::unnested(&expr), ast::Expr::Value(_))
                || session_constant(context, &expr).is_some();
            if !is_constant {
                terms.push((expr, written.clone()));
            }
        }
        terms
    }
}

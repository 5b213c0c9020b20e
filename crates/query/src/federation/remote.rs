//! A query that one server could answer: split if the estimate favours it, else sent whole as a
//! leaf of the plan.

use std::collections::HashSet;

use pelorus_error::{Class, Error, Result};
use pelorus_link::{Estimate, Fragment, KeyRange, Link, ScanRequest};
use sqlparser::ast::{self, SetExpr, TableFactor};

use super::{routing, sql_writer};
use crate::binder::block::is_distinct;
use crate::binder::bound_query::{BoundColumn, BoundQuery};
use crate::binder::function_call::contains;
use crate::binder::order_limit;
use crate::binder::statement::{BindScope, Binder};
use crate::placement::{Place, place};

impl Binder<'_> {
    /// Binds a part of a statement that one server could answer.
    pub(crate) async fn remote(&self, link: &Link, query: &ast::Query) -> Result<BoundQuery> {
        let text = sql_writer::for_server(self.context, query)?.to_string();
        let estimate = link.explain(&self.context.settings, &text).await?;
        let split = match routing::takes_whole(&estimate, &self.context.options) {
            true => None,
            false => self.split(link, query, &estimate).await?,
        };
        let bound = match split {
            Some(bound) => bound,
            None => self.whole_leaf(link, query, &text).await?,
        };
        Ok(BoundQuery { facts: self.remote_facts(link, query).await, ..bound })
    }

    /// Splits a query over ranges, or takes it apart into queries that can be split. `None` if it
    /// should run whole on the server.
    ///
    /// # Errors
    /// Only if a server cannot be reached or the query is cancelled: in all other cases the
    /// server's own answer or error is the right one.
    pub(crate) async fn split(
        &self,
        link: &Link,
        query: &ast::Query,
        estimate: &Estimate,
    ) -> Result<Option<BoundQuery>> {
        let result = match self.block(link, query).await {
            Ok(Some(block)) => {
                let grouped = !block.clauses.keys.is_empty()
                    || is_distinct(block.select)?
                    || aggregates(query);
                if grouped {
                    self.split_groups(&block, estimate).await
                } else {
                    self.split_rows(&block, estimate).await
                }
            }
            Ok(None) if self.is_composite(link, query).await? => self.split_parts(query).await,
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        match result {
            Ok(bound) => Ok(bound),
            Err(error) if is_final(&error) => Err(error),
            Err(error) => {
                tracing::debug!(reason = error.message(), "a query goes whole");
                Ok(None)
            }
        }
    }

    /// Binds a query here so that its parts can be split; given up when none of them is.
    async fn split_parts(&self, query: &ast::Query) -> Result<Option<BoundQuery>> {
        let before = self.journal.entries().len();
        let bound = self.local(query, &BindScope::default()).await?;
        let split = self.journal.entries()[before..].iter().any(|entry| entry.ranges > 1);
        Ok(split.then_some(bound))
    }

    /// Whether a query has parts of its own that may be worth splitting, and reads no other large
    /// table.
    async fn is_composite(&self, link: &Link, query: &ast::Query) -> Result<bool> {
        let block = match query.body.as_ref() {
            SetExpr::SetOperation { .. } => return Ok(true),
            SetExpr::Select(block) => block,
            _ => return Ok(false),
        };
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        if ctes.into_iter().any(|cte| hides_digits(&cte.query)) {
            return Ok(false);
        }
        let mut derived = false;
        for item in &block.from {
            let factors =
                std::iter::once(&item.relation).chain(item.joins.iter().map(|it| &it.relation));
            for factor in factors {
                match factor {
                    TableFactor::Derived { lateral: false, subquery, .. } => {
                        if hides_digits(subquery) {
                            return Ok(false);
                        }
                        derived = true;
                    }
                    TableFactor::Table { name, .. } if is_cte(query, name) => derived = true,
                    TableFactor::Table { name, .. } => {
                        let small = match self.remote_table(link, name).await? {
                            Some((_, table)) => {
                                table.rows < self.context.options.split_rows_min && !table.is_view
                            }
                            None => false,
                        };
                        if !small {
                            return Ok(false);
                        }
                    }
                    _ => return Ok(false),
                }
            }
        }
        Ok(derived)
    }

    /// A query as one fragment over everything.
    async fn whole_leaf(&self, link: &Link, query: &ast::Query, text: &str) -> Result<BoundQuery> {
        let described = link.describe(&self.context.settings, text).await?;
        let mut columns = described.columns.clone();
        for column in &mut columns {
            if column.ty.is_string() && !column.ty.is_binary_string() {
                column.ty.collation = pelorus_types::collation::UNKNOWN;
            }
        }
        if let Ok(Some(block)) = self.block(link, query).await {
            let items = block.item_expressions()?;
            if items.len() == columns.len()
                && let Some(known) = self.true_columns(&block, columns.clone(), &items).await?
            {
                columns = known;
            }
        }
        let mut names = HashSet::new();
        let distinct = described.columns.iter().all(|it| names.insert(it.name.to_lowercase()));
        let fragment = if distinct {
            Fragment {
                parts: [
                    format!("SELECT * FROM ({text}) AS pelorus_q"),
                    " WHERE ".to_owned(),
                    String::new(),
                ],
            }
        } else {
            // A derived table cannot have two columns of one name.
            Fragment::uncut(text.to_owned())
        };
        let request = ScanRequest {
            settings: self.context.settings.clone(),
            fragment,
            ranges: vec![KeyRange::whole(0)],
            qualifier: "pelorus_q".to_owned(),
            tables: self.reads(query)?,
            cut: None,
            streams: 1,
            committed: false,
            buffer_whole_range: true,
            expected: columns.iter().map(|column| column.ty).collect(),
            memory: self.context.memory.clone(),
        };
        let (plan, typed) = self.fragment(link, request, &columns, "whole".to_owned())?;
        let columns = typed
            .into_iter()
            .zip(columns)
            .map(|(value, meta)| BoundColumn::of_server(meta, value))
            .collect();
        Ok(BoundQuery::new(plan, columns))
    }

    /// The one server that could answer the statement unchanged, if there is one.
    pub(crate) fn only_server(&self) -> Result<Option<Link>> {
        Ok(match place(self.context, &self.parsed.query, &Default::default())? {
            Place::Server(link) => Some(link),
            Place::Nowhere | Place::Here => None,
        })
    }
}

/// Whether an error is final, however the query is planned.
pub(crate) fn is_final(error: &Error) -> bool {
    matches!(error.code().class(), Class::Unavailable | Class::Cancelled)
}

/// Whether a query, as a part of another, has quotients that the server would not round: it merges
/// parts without groups into the query around them, and quotients keep more digits than they show.
fn hides_digits(query: &ast::Query) -> bool {
    let SetExpr::Select(block) = query.body.as_ref() else { return false };
    let kept = block.distinct.is_some()
        || query.limit_clause.is_some()
        || block.having.is_some()
        || !matches!(&block.group_by, ast::GroupByExpr::Expressions(terms, _) if terms.is_empty())
        || aggregates(query);
    !kept && block.projection.iter().any(|item| item.to_string().contains('/'))
}

fn is_cte(query: &ast::Query, name: &ast::ObjectName) -> bool {
    let [ast::ObjectNamePart::Identifier(name)] = &name.0[..] else { return false };
    query.with.as_ref().is_some_and(|with| {
        with.cte_tables.iter().any(|cte| cte.alias.name.value.eq_ignore_ascii_case(&name.value))
    })
}

/// Whether the outer block of a query has aggregates.
fn aggregates(query: &ast::Query) -> bool {
    let SetExpr::Select(block) = query.body.as_ref() else { return false };
    let items = block.projection.iter().filter_map(|item| match item {
        ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => {
            Some(expr)
        }
        _ => None,
    });
    let order = order_limit::order_of(query).unwrap_or_default();
    items.chain(&block.having).chain(order.iter().map(|term| &term.expr)).any(contains)
}

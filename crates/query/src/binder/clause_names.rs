//! Resolves names in GROUP BY, HAVING and ORDER BY: an item of the select list, or a column of
//! FROM.
//!
//! | where the name is | what it means |
//! | --- | --- |
//! | a term of ORDER BY | the item, then the column |
//! | a term of GROUP BY | the column, with a warning if an item has its name too; then the item |
//! | HAVING | the key of that name, with a warning if an item has its name too; then the item; never another column |
//! | within an expression of ORDER BY or GROUP BY, and within an aggregate | the column, then the item |
//!
//! An item is found by its alias, by its default name, and last by the name of the column that an
//! alias hides. Names that mean an item are replaced by its expression, so that binding the clauses
//! looks up columns of FROM only.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::OnceLock;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::EvalContext;
use pelorus_sql::ast_analysis;
use sqlparser::ast::{self, GroupByExpr, OrderByExpr, VisitMut, VisitorMut};

use super::expression::canonical;
use super::function_call;
use super::function_call::name_of;
use super::named_columns::{check_names, own_columns, unit_of, unknown};
use super::order_limit::ordinal;
use super::scope::{Merged, Scope, ScopeColumn, ambiguous, parts, path_of};
use super::select_list::Item;

/// The code of an ambiguous name as a warning.
const AMBIGUOUS: u16 = 1052;
/// In messages.
const GROUP: &str = "group statement";
const HAVING: &str = "having clause";
const ORDER: &str = "order clause";

/// A term of ORDER BY.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a block has few terms")]
pub(crate) enum Term {
    /// An item of the select list, by its place.
    Item(usize),
    /// An expression over the columns of FROM.
    Value(ast::Expr),
    /// A constant, which orders nothing.
    Nothing,
}

/// A key of GROUP BY.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// The expression over the columns of FROM.
    pub(crate) expr: ast::Expr,
    /// The item of the select list that the key is, by its place.
    pub(crate) item: Option<usize>,
}

/// The clauses of a block whose names may mean items of its select list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clauses {
    /// GROUP BY.
    pub(crate) keys: Vec<Key>,
    /// HAVING.
    pub(crate) having: Option<ast::Expr>,
    /// ORDER BY, term by term.
    pub(crate) order: Vec<Term>,
    /// Of each term of ORDER BY the columns of FROM that it names itself, outside of aggregates.
    pub(crate) ordered_by: Vec<Vec<usize>>,
}

impl Clauses {
    /// The keys as expressions.
    pub(crate) fn key_expressions(&self) -> Vec<ast::Expr> {
        self.keys.iter().map(|key| key.expr.clone()).collect()
    }

    /// The terms of ORDER BY that are no items.
    pub(crate) fn order_values(&self) -> impl Iterator<Item = &ast::Expr> {
        self.order.iter().filter_map(|term| match term {
            Term::Value(expr) => Some(expr),
            Term::Item(_) | Term::Nothing => None,
        })
    }
}

/// An item that a name means.
#[derive(Clone, Copy, Debug)]
struct Hit {
    item: usize,
    /// It is a column that has another name as an item.
    is_hidden_by_alias: bool,
}

/// Most terms of ORDER BY, as many as there may be columns: each is looked for among all of them.
const MAX_TERMS: usize = 4096;

/// The possible meanings of names.
pub(crate) struct Names<'a> {
    /// The columns of FROM.
    pub(crate) scope: &'a Scope,
    /// The select list.
    pub(crate) items: &'a [Item],
    /// Where warnings go.
    pub(crate) eval: &'a EvalContext,
    /// The items that are more than names, by their texts; made when one is looked for.
    texts: OnceLock<HashMap<String, usize>>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(scope: &'a Scope, items: &'a [Item], eval: &'a EvalContext) -> Self {
        Self { scope, items, eval, texts: OnceLock::new() }
    }

    /// Settles the names of a block's clauses.
    ///
    /// # Errors
    /// 1052, 1054, 1056, 1111 and 3594 as MySQL has them.
    pub(crate) fn clauses(&self, select: &ast::Select, order: &[OrderByExpr]) -> Result<Clauses> {
        let GroupByExpr::Expressions(terms, _) = &select.group_by else {
            return Err(Error::unsupported("GROUP BY ALL"));
        };
        let keys: Vec<Key> = terms.iter().map(|it| self.key(it)).collect::<Result<_>>()?;
        let having = match &select.having {
            Some(having) => Some(self.settled(having, HAVING, Some(&keys))?),
            None => None,
        };
        if order.len() > MAX_TERMS {
            return Err(Error::unsupported(format_args!(
                "more than {MAX_TERMS} terms in ORDER BY"
            )));
        }
        let mut clauses = Clauses { keys, having, ..Clauses::default() };
        for term in order {
            let (term, columns) = self.term(&term.expr)?;
            clauses.order.push(term);
            clauses.ordered_by.push(columns);
        }
        Ok(clauses)
    }

    /// A term of GROUP BY.
    fn key(&self, term: &ast::Expr) -> Result<Key> {
        let term = ast_analysis::unnested(term);
        if let ast::Expr::Value(value) = term {
            return match ordinal(&value.value, self.items.len(), GROUP)? {
                Some(at) => self.item_key(at),
                None => Ok(Key { expr: term.clone(), item: None }),
            };
        }
        let Some(path) = path_of(term) else {
            if function_call::reduces(term) {
                return Err(invalid_use());
            }
            function_call::refuse(term)?;
            let expr = self.settled(term, GROUP, None)?;
            check_names(&expr, self.scope, GROUP)?;
            let item = self.equal_item(&expr);
            return Ok(Key { expr, item });
        };
        let hit = self.selected(&path, GROUP)?;
        if hit.is_none_or(|hit| hit.is_hidden_by_alias) {
            // Several columns of the name are an error here.
            self.scope.place(&path, GROUP)?;
        }
        let Some(Hit { item, is_hidden_by_alias }) = hit else {
            check_names(term, self.scope, GROUP)?;
            return Ok(Key { expr: term.clone(), item: None });
        };
        let column = self.scope.place(&path, GROUP).ok().flatten();
        let column = column.filter(|_| !self.is_common(&path));
        if column.is_none() || column == self.items[item].place {
            return self.item_key(item);
        }
        self.warn_ambiguous(&path, GROUP);
        let place = self.items[item].place.filter(|_| !is_hidden_by_alias);
        if place.is_some_and(|at| self.merged(&self.scope.columns[at]) == Some(Merged::Column)) {
            // A MySQL says that it means the column, and takes the item.
            return self.item_key(item);
        }
        Ok(Key { expr: term.clone(), item: None })
    }

    /// The meaning of a column in MySQL, which merges its derived table; MariaDB keeps the names.
    fn merged(&self, column: &ScopeColumn) -> Option<Merged> {
        column.merged.filter(|_| !self.eval.of_mariadb)
    }

    /// Whether a MySQL computes a column in a derived table that it merges.
    fn is_merged_expression(&self, column: &ScopeColumn) -> bool {
        self.merged(column) == Some(Merged::Expression)
    }

    /// Whether a bare name means a column that USING or NATURAL makes of two.
    fn is_common(&self, path: &[&str]) -> bool {
        let [name] = *path else { return false };
        let same = |column: &ScopeColumn| column.hidden && column.name.eq_ignore_ascii_case(name);
        self.scope.columns.iter().any(same)
    }

    /// An item of the select list as a key.
    fn item_key(&self, at: usize) -> Result<Key> {
        let item = &self.items[at];
        let is_such =
            |expr: &ast::Expr| function_call::reduces(expr) || ast_analysis::has_window(expr);
        if item.expr.as_ref().is_some_and(is_such) {
            let text = format!("Can't group on '{}'", item.name);
            return Err(Error::new(Code::WrongGroupField, text));
        }
        Ok(Key { expr: item.expression(self.scope)?, item: Some(at) })
    }

    /// A term of ORDER BY, and the columns of FROM that it names itself.
    fn term(&self, term: &ast::Expr) -> Result<(Term, Vec<usize>)> {
        let term = ast_analysis::unnested(term);
        if let ast::Expr::Value(value) = term {
            let at = ordinal(&value.value, self.items.len(), ORDER)?;
            return Ok((at.map_or(Term::Nothing, Term::Item), Vec::new()));
        }
        if let Some(path) = path_of(term)
            && let Some(hit) = self.selected(&path, ORDER)?
        {
            if hit.is_hidden_by_alias {
                self.scope.place(&path, ORDER)?;
            }
            return Ok((Term::Item(hit.item), Vec::new()));
        }
        let columns = own_columns(term, self.scope);
        let expr = self.settled(term, ORDER, None)?;
        match self.equal_item(&expr) {
            Some(at) => Ok((Term::Item(at), Vec::new())),
            None => {
                check_names(&expr, self.scope, ORDER)?;
                Ok((Term::Value(expr), columns))
            }
        }
    }

    /// The item that an expression without aliases is.
    fn equal_item(&self, expr: &ast::Expr) -> Option<usize> {
        let texts = self.texts.get_or_init(|| {
            let mut texts = HashMap::new();
            for (at, item) in self.items.iter().enumerate() {
                // Most items are plain names, which no other expression is.
                let is_more = |it: &&ast::Expr| path_of(ast_analysis::unnested(it)).is_none();
                if let Some(expr) = item.expr.as_ref().filter(is_more) {
                    texts.entry(canonical(expr, self.scope)).or_insert(at);
                }
            }
            texts
        });
        texts.get(&canonical(expr, self.scope)).copied()
    }

    /// The item of the select list that a name means.
    ///
    /// # Errors
    /// 1052 where several columns of the select list have the name. An expression of that name hides
    /// them.
    fn selected(&self, path: &[&str], clause: &str) -> Result<Option<Hit>> {
        let (name, table, schema) = parts(path)?;
        let (mut found, mut hidden, mut is_unclear) = (None, None, false);
        for (at, item) in self.items.iter().enumerate() {
            let same = |other: Option<usize>| {
                other.is_some_and(|other| self.items[other].place == item.place)
            };
            let column = item.place.map(|place| &self.scope.columns[place]);
            // What a merged table computes has the name of its item alone.
            let column = column.filter(|it| table.is_some() || !self.is_merged_expression(it));
            match (column, table) {
                (Some(column), Some(table)) => {
                    if !column.name.eq_ignore_ascii_case(name) || !column.is_of(schema, table) {
                        continue;
                    }
                    if found.is_some() && !same(found) {
                        return Err(ambiguous(path, clause));
                    }
                    found = found.or(Some(at));
                }
                (None, Some(_)) => {}
                (Some(_), None) if item.name.eq_ignore_ascii_case(name) => {
                    if found.is_some() && !same(found) {
                        return Err(ambiguous(path, clause));
                    }
                    found = found.or(Some(at));
                }
                (Some(column), None) if column.name.eq_ignore_ascii_case(name) => {
                    is_unclear |= hidden.is_some() && !same(hidden);
                    hidden = hidden.or(Some(at));
                }
                (None, None) if item.name.eq_ignore_ascii_case(name) => {
                    found = Some(at);
                    break;
                }
                _ => {}
            }
        }
        match (found, hidden) {
            (Some(item), _) => Ok(Some(Hit { item, is_hidden_by_alias: false })),
            (None, Some(_)) if is_unclear => Err(ambiguous(path, clause)),
            (None, Some(item)) => Ok(Some(Hit { item, is_hidden_by_alias: true })),
            (None, None) => Ok(None),
        }
    }

    /// An expression of a clause with the items that its names mean. `keys` are those of the block
    /// where the clause is HAVING.
    fn settled(
        &self,
        expr: &ast::Expr,
        clause: &'static str,
        keys: Option<&[Key]>,
    ) -> Result<ast::Expr> {
        let mut copy = expr.clone();
        let mut visitor = Settle { names: self, clause, keys, queries: 0, aggregates: 0 };
        match copy.visit(&mut visitor) {
            ControlFlow::Continue(()) => Ok(copy),
            ControlFlow::Break(error) => Err(error),
        }
    }

    /// The replacement of a name within an expression; `None` if it stays.
    fn replacement(&self, path: &[&str], at: &Settle<'_>) -> Result<Option<ast::Expr>> {
        if let Some(keys) = at.keys.filter(|_| at.aggregates == 0) {
            return self.in_having(path, keys);
        }
        if self.scope.place(path, at.clause)?.is_some() {
            return Ok(None);
        }
        let Some(hit) = self.selected(path, at.clause)? else {
            let outer = self.scope.outer.as_ref().map(|outer| outer.place(path, at.clause));
            return match outer.transpose()?.flatten() {
                Some(_) => Ok(None),
                None => Err(unknown(path, at.clause)),
            };
        };
        let item = &self.items[hit.item];
        let is_aggregate = item.expr.as_ref().is_some_and(ast_analysis::has_aggregate);
        if at.aggregates > 0 && is_aggregate {
            return Err(invalid_use());
        }
        item.expression(self.scope).map(ast_analysis::nested).map(Some)
    }

    /// The replacement of a name of HAVING outside of aggregates; `None` for a column of the
    /// enclosing block.
    fn in_having(&self, path: &[&str], keys: &[Key]) -> Result<Option<ast::Expr>> {
        let selected = self.selected(path, HAVING)?.map(|hit| hit.item);
        let key = self.key_of(path, keys)?;
        if let (Some(item), Some(key)) = (selected, key)
            && key.item != Some(item)
            && canonical(&self.items[item].expression(self.scope)?, self.scope)
                != canonical(&key.expr, self.scope)
        {
            self.warn_ambiguous(path, HAVING);
            return Ok(Some(ast_analysis::nested(key.expr.clone())));
        }
        if let Some(item) = selected {
            let item = &self.items[item];
            if item.expr.as_ref().is_some_and(ast_analysis::has_window) {
                return Err(Error::new(
                    Code::WindowAliasMisplaced,
                    format!(
                        "You cannot use the alias '{}' of an expression containing a window \
                         function in this context.'",
                        item.name
                    ),
                ));
            }
            return item.expression(self.scope).map(ast_analysis::nested).map(Some);
        }
        if let Some(key) = key {
            return Ok(Some(ast_analysis::nested(key.expr.clone())));
        }
        let is_own = self.scope.place(path, HAVING).ok().flatten().is_some();
        let outer = self.scope.outer.as_ref().map(|outer| outer.place(path, HAVING)).transpose()?;
        match outer.flatten() {
            None => Err(unknown(path, HAVING)),
            // The binder of expressions would take the column of FROM.
            Some(_) if is_own => Err(Error::unsupported(format_args!(
                "'{}' in HAVING of a subquery, a column of its FROM and of the block around it",
                path.join(".")
            ))),
            Some(_) => Ok(None),
        }
    }

    /// The key of GROUP BY that is the column which a name of HAVING means, the name with the most
    /// parts in common first.
    fn key_of<'k>(&self, path: &[&str], keys: &'k [Key]) -> Result<Option<&'k Key>> {
        let (name, table, schema) = parts(path)?;
        let mut best: Option<(usize, &Key)> = None;
        for key in keys {
            let column = path_of(ast_analysis::unnested(&key.expr));
            let column = column.and_then(|path| self.scope.place(&path, GROUP).ok().flatten());
            let column = column.map(|at| &self.scope.columns[at]);
            let degree = match column.filter(|it| !self.is_merged_expression(it)) {
                Some(column) if column.name.eq_ignore_ascii_case(name) => match table {
                    None => 1,
                    Some(table) if column.is_of(schema, table) => path.len(),
                    Some(_) => return Ok(None),
                },
                _ => continue,
            };
            match best {
                Some((other, _)) if other > degree => {}
                Some((other, found)) if other == degree => {
                    if canonical(&found.expr, self.scope) != canonical(&key.expr, self.scope) {
                        return Err(ambiguous(path, HAVING));
                    }
                }
                _ => best = Some((degree, key)),
            }
        }
        Ok(best.map(|(_, key)| key))
    }

    fn warn_ambiguous(&self, path: &[&str], clause: &str) {
        let text = ambiguous(path, clause).message().to_owned();
        self.eval.warn(AMBIGUOUS, text);
    }
}

fn invalid_use() -> Error {
    Error::new(Code::InvalidGroupFunction, "Invalid use of group function")
}

/// Replaces names by their meanings.
struct Settle<'a> {
    names: &'a Names<'a>,
    clause: &'static str,
    keys: Option<&'a [Key]>,
    /// The number of subqueries around the node: their names are their own.
    queries: usize,
    /// The number of aggregates around the node.
    aggregates: usize,
}

/// Marks a word that looks like a name and is none: the unit of `TIMESTAMPDIFF(DAY, a, b)`.
const UNIT: Option<char> = Some('\u{1}');

impl VisitorMut for Settle<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<Error> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<Error> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Error> {
        if let ast::Expr::Function(function) = expr {
            self.aggregates += usize::from(is_counted(function));
            mark_unit(function, UNIT);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Error> {
        match expr {
            ast::Expr::Function(function) => {
                self.aggregates -= usize::from(is_counted(function));
                mark_unit(function, None);
            }
            ast::Expr::Identifier(name) if name.quote_style == UNIT => {}
            _ if self.queries > 0 => {}
            other => {
                let Some(path) = path_of(other) else { return ControlFlow::Continue(()) };
                match self.names.replacement(&path, self) {
                    Ok(Some(meant)) => *other = meant,
                    Ok(None) => {}
                    Err(error) => return ControlFlow::Break(error),
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Whether names within a call are those of an aggregate: `ANY_VALUE` is none to MySQL here.
fn is_counted(function: &ast::Function) -> bool {
    function_call::is_aggregate(function) && name_of(function) != "ANY_VALUE"
}

fn mark_unit(function: &mut ast::Function, quote: Option<char>) {
    if let Some(ast::Expr::Identifier(word)) = unit_of(function) {
        word.quote_style = quote;
    }
}

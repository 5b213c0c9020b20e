//! Writes a syntax tree as SQL text for a linked server: tables are qualified by the server's
//! names, and session-dependent values of this side are replaced by literals.

use std::collections::HashSet;
use std::ops::ControlFlow;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::Value;
use pelorus_sql::{Mode, ast_analysis, literal};
use pelorus_types::{collation, temporal};
use sqlparser::ast::{self, VisitMut, VisitorMut};

use super::passthrough_text::{HELD, check_function};
use crate::binder::function_call::name_of;
use crate::binder::session_constant::{is_variable, session_constant, session_function};
use crate::context::{Database, QueryContext};
use crate::placement::{database_name, resolve};

/// Rewrites a query, all of whose tables are on one server, for that server.
///
/// # Errors
/// 1235 for constructs that the server would evaluate in its own session instead of ours.
pub(crate) fn for_server(context: &QueryContext, query: &ast::Query) -> Result<ast::Query> {
    Ok(rewrite(context, query)?.0)
}

/// Like [`for_server`]; also says whether the text as it was written would mean something else on
/// the server.
pub(crate) fn rewrite(context: &QueryContext, query: &ast::Query) -> Result<(ast::Query, bool)> {
    let real: HashSet<(Option<String>, String)> = ast_analysis::table_references(query)
        .into_iter()
        .map(|reference| (reference.table.database, reference.table.name))
        .collect();
    let mut copy = query.clone();
    let mut rewriter = Rewriter { context, real, ours: false, error: None };
    let _: ControlFlow<()> = copy.visit(&mut rewriter);
    match rewriter.error {
        Some(error) => Err(error),
        None => Ok((copy, rewriter.ours)),
    }
}

/// Writes a condition on one table for its server.
///
/// # Errors
/// 1235 for constructs without a text that has the same meaning on the server.
pub(crate) fn expression(context: &QueryContext, expr: &ast::Expr) -> Result<String> {
    let mut copy = expr.clone();
    let mut rewriter = Rewriter { context, real: HashSet::new(), ours: false, error: None };
    let _: ControlFlow<()> = copy.visit(&mut rewriter);
    rewriter.error.map_or_else(|| Ok(copy.to_string()), Err)
}

struct Rewriter<'a> {
    context: &'a QueryContext,
    real: HashSet<(Option<String>, String)>,
    /// Something of our session, or a database under another name, was replaced.
    ours: bool,
    error: Option<Error>,
}

impl Rewriter<'_> {
    fn try_do(&mut self, result: Result<()>) -> ControlFlow<()> {
        match result {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn relation(&mut self, name: &mut ast::ObjectName) -> Result<()> {
        let parts: Vec<&str> =
            name.0.iter().filter_map(|part| part.as_ident()).map(|it| it.value.as_str()).collect();
        let (database, table) = match parts[..] {
            [table] => (None, table),
            [database, table] => (Some(database), table),
            _ => return Err(Error::unsupported(name)),
        };
        // A name that WITH defines stays as it is.
        if !self.real.contains(&(database.map(str::to_owned), table.to_owned())) {
            return Ok(());
        }
        let local = database_name(self.context, database)?;
        if let Database::Linked { remote, .. } = resolve(self.context, Some(local))? {
            self.ours |= database.is_some_and(|database| database != remote);
            *name = ast::ObjectName::from(vec![
                ast::Ident::with_quote('`', remote),
                ast::Ident::with_quote('`', table),
            ]);
        }
        Ok(())
    }

    fn expr(&mut self, expr: &mut ast::Expr) -> Result<()> {
        match expr {
            ast::Expr::CompoundIdentifier(path) if path.len() == 3 => {
                let local = path[0].value.clone();
                if let Database::Linked { remote, .. } = resolve(self.context, Some(&local))? {
                    self.ours |= local != remote;
                    path[0] = ast::Ident::with_quote('`', remote);
                }
                Ok(())
            }
            ast::Expr::BinaryOp { op: ast::BinaryOperator::Assignment, .. } => {
                Err(Error::unsupported("assigning variables within a query on a linked server"))
            }
            ast::Expr::Identifier(name) if is_variable(name) => self.variable(expr),
            ast::Expr::CompoundIdentifier(path) if path.first().is_some_and(is_variable) => {
                self.variable(expr)
            }
            ast::Expr::Function(function) => {
                let name = name_of(function);
                if HELD.contains(&name.as_str()) {
                    return Err(Error::unsupported(format_args!("{name} on a linked server")));
                }
                check_function(&name, &self.context.settings)?;
                self.stored_function(function)?;
                if let Some(ast::WindowType::WindowSpec(spec)) = &mut function.over {
                    self.terms(&mut spec.partition_by)?;
                }
                if let Some(value) = session_function(self.context, function) {
                    self.ours = true;
                    *expr = value_expr(&value, self.context)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The name of a stored function with its database, as the server knows it.
    fn stored_function(&mut self, function: &mut ast::Function) -> Result<()> {
        let [ast::ObjectNamePart::Identifier(database), ast::ObjectNamePart::Identifier(name)] =
            &mut function.name.0[..]
        else {
            return Ok(());
        };
        match self.context.catalog.database(&database.value) {
            Some(Database::Linked { remote, .. }) => {
                if database.value != remote {
                    self.ours = true;
                    *database = ast::Ident::with_quote('`', remote);
                }
                Ok(())
            }
            // Its functions are for everybody.
            None if database.value.eq_ignore_ascii_case("sys") => Ok(()),
            _ => Err(Error::new(
                Code::NoSuchFunction,
                format!("FUNCTION {}.{} does not exist", database.value, name.value),
            )),
        }
    }

    /// Terms of GROUP BY or PARTITION BY.
    fn terms(&mut self, terms: &mut [ast::Expr]) -> Result<()> {
        terms.iter_mut().try_for_each(|term| self.term(term))
    }

    /// A term that stands where a number would be that of a column, or an error in a window. NULL
    /// is the constant that orders and groups nothing everywhere.
    fn term(&mut self, term: &mut ast::Expr) -> Result<()> {
        let Some(mut constant) = session_constant(self.context, term).cloned() else {
            return Ok(());
        };
        // A variable that does not exist is an error here, too.
        self.expr(&mut constant)?;
        *term = ast::Expr::value(ast::Value::Null);
        Ok(())
    }

    fn group_by(&mut self, group_by: &mut ast::GroupByExpr) -> Result<()> {
        let ast::GroupByExpr::Expressions(terms, modifiers) = group_by else { return Ok(()) };
        // The select list would have to know which rows are sums.
        if !modifiers.is_empty()
            && terms.iter().any(|term| session_constant(self.context, term).is_some())
        {
            return Err(Error::unsupported("variables in GROUP BY WITH ROLLUP on a linked server"));
        }
        self.terms(terms)
    }

    fn named_windows(&mut self, select: &mut ast::Select) -> Result<()> {
        for ast::NamedWindowDefinition(_, window) in &mut select.named_window {
            if let ast::NamedWindowExpr::WindowSpec(spec) = window {
                self.terms(&mut spec.partition_by)?;
            }
        }
        Ok(())
    }

    fn variable(&mut self, expr: &mut ast::Expr) -> Result<()> {
        let text = expr.to_string();
        self.ours = true;
        *expr = match text.strip_prefix("@@") {
            // The server's own variables are not ours: `@@version` is Pelorus's.
            Some(rest) => {
                let (scope, name) = rest.split_once('.').unwrap_or(("", rest));
                let global = scope.eq_ignore_ascii_case("global");
                let (value, _) = self.context.variables.system(name, global)?;
                value_expr(&value, self.context)?
            }
            None => self.user_variable(text.trim_start_matches('@').trim_matches('`'))?,
        };
        Ok(())
    }

    /// The value of a user's variable. A literal would yield to the collation of a column, and the
    /// variable does not where it is of bytes or of another collation than the session's.
    fn user_variable(&self, name: &str) -> Result<ast::Expr> {
        let (value, ty) = self.context.variables.user(name);
        let plain = value_expr(&value, self.context)?;
        let text = match value {
            Value::Bytes(_) => format!("CAST({plain} AS BINARY)"),
            // What the server said of itself: as a variable it is as strong as a column.
            Value::Text(_) if ty.is_string() && ty.collation == collation::UTF8MB3_GENERAL_CI => {
                format!("CONVERT({plain} USING utf8mb3)")
            }
            Value::Text(_) if ty.is_string() && ty.collation != self.context.eval.collation => {
                let (charset, name) = (ty.collation.charset(), ty.collation.name());
                format!("CONVERT({plain} USING {charset}) COLLATE {name}")
            }
            _ => return Ok(plain),
        };
        parsed(&text, self.context.mode)
    }
}

impl VisitorMut for Rewriter<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        let into = match query.body.as_ref() {
            ast::SetExpr::Select(select) => select.into.is_some(),
            _ => false,
        };
        let refused = Err(Error::unsupported("SELECT ... INTO"));
        self.try_do(if into { refused } else { Ok(()) })
    }

    fn pre_visit_select(&mut self, select: &mut ast::Select) -> ControlFlow<()> {
        let result = self.named_windows(select);
        self.try_do(result)
    }

    fn pre_visit_group_by(&mut self, group_by: &mut ast::GroupByExpr) -> ControlFlow<()> {
        let result = self.group_by(group_by);
        self.try_do(result)
    }

    fn pre_visit_order_by_expr(&mut self, term: &mut ast::OrderByExpr) -> ControlFlow<()> {
        let result = self.term(&mut term.expr);
        self.try_do(result)
    }

    fn pre_visit_relation(&mut self, relation: &mut ast::ObjectName) -> ControlFlow<()> {
        let result = self.relation(relation);
        self.try_do(result)
    }

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        let result = self.expr(expr);
        self.try_do(result)
    }
}

/// A value as a literal that a server reads as the same value.
pub(crate) fn value_expr(value: &Value, context: &QueryContext) -> Result<ast::Expr> {
    let mode = context.mode;
    let mut text = String::new();
    match value {
        Value::Null => text.push_str("NULL"),
        Value::Int(number) => text = number.to_string(),
        Value::UInt(number) => text = number.to_string(),
        Value::Decimal(decimal) => text = decimal.to_text(),
        Value::Double(number) => {
            text = literal::double(*number)
                .ok_or_else(|| Error::unsupported("numbers that are not finite"))?;
        }
        Value::Text(string) => text = literal::text(string, mode),
        Value::Bytes(bytes) => text = literal::bytes(bytes),
        Value::Date(packed) => {
            let date = temporal::DateTime::unpack(*packed);
            temporal::write_datetime(&mut text, date, 6);
            text = literal::datetime(&text);
        }
        Value::Time(micros) => {
            temporal::write_time(&mut text, *micros, 6);
            text = literal::time(&text);
        }
    }
    parsed(&text, mode)
}

fn parsed(text: &str, mode: Mode) -> Result<ast::Expr> {
    let parsed = pelorus_sql::parse_expression(text, mode).map_err(|unparsed| unparsed.error)?;
    Ok(ast_analysis::nested(parsed))
}

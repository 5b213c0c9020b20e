//! Analysis of syntax trees: conjuncts, variables, tables, and small rewrites.

use std::collections::HashSet;
use std::hash::Hash;

use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query,
};

use crate::Mode;
use crate::statement::name::TableName;
use crate::statement::set::{Scope, system_variable};

mod tables;
mod walk;

pub use tables::{TableReference, rename_tables, table_references};
pub use walk::{Node, walk_expr, walk_query};

/// Wraps an expression in parentheses unless it cannot fall apart without them.
pub fn nested(expr: Expr) -> Expr {
    match expr {
        Expr::Nested(_)
        | Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Value(_)
        | Expr::Function(_)
        | Expr::Subquery(_)
        | Expr::Tuple(_)
        | Expr::Cast { .. } => expr,
        other => Expr::Nested(Box::new(other)),
    }
}

/// The parts of a conjunction, parentheses and nested `AND` taken apart, in order.
pub fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    let mut out = Vec::new();
    let mut stack = vec![expr];
    while let Some(expr) = stack.pop() {
        match expr {
            Expr::Nested(inner) if is_and(inner) => stack.push(inner),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                stack.push(right);
                stack.push(left);
            }
            other => out.push(other),
        }
    }
    out
}

fn is_and(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_and(inner),
        Expr::BinaryOp { op, .. } => *op == BinaryOperator::And,
        _ => false,
    }
}

/// All parts joined by `AND`, each in parentheses where it needs them; `None` of no parts.
pub fn conjunction(parts: impl IntoIterator<Item = Expr>) -> Option<Expr> {
    let parts: Vec<Expr> = parts.into_iter().map(nested).collect();
    (!parts.is_empty()).then(|| crate::parse::balanced(parts, &BinaryOperator::And))
}

/// The expression without parentheses around it.
pub fn unnested(expr: &Expr) -> &Expr {
    let mut expr = expr;
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// A variable that a name in a tree represents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    /// `@name`: the name without quotes. User variables know no case.
    User(String),
    /// `@@name`, `@@scope.name`.
    System(Option<Scope>, String),
}

/// Reads a name as a variable; `None` for columns.
pub fn variable(name: &Ident, mode: Mode) -> Option<Variable> {
    if name.quote_style.is_some() || !name.value.starts_with('@') {
        return None;
    }
    Some(if name.value.starts_with("@@") {
        let (scope, name) = system_variable(&name.value);
        Variable::System(scope, name)
    } else {
        Variable::User(crate::statement::cursor::variable_name(&name.value, mode))
    })
}

/// The name of a called function in upper case; with its database for a stored one.
pub fn function_name(name: &ObjectName) -> String {
    written_name(name).to_ascii_uppercase()
}

fn written_name(name: &ObjectName) -> String {
    let parts: Vec<String> = name.0.iter().map(part_text).collect();
    parts.join(".")
}

/// The name of a charset or collation, which may be written in quotes of any kind.
pub fn plain_name(name: &ObjectName) -> String {
    name.0.last().map(part_text).unwrap_or_default()
}

pub(crate) fn part_text(part: &ObjectNamePart) -> String {
    match part {
        ObjectNamePart::Identifier(ident) => ident.value.clone(),
        ObjectNamePart::Function(function) => function.to_string(),
    }
}

/// The table that a name in a tree gives.
pub fn table_name(name: &ObjectName) -> TableName {
    let mut parts: Vec<String> = name.0.iter().map(part_text).collect();
    let table = parts.pop().unwrap_or_default();
    TableName { database: parts.pop(), name: table }
}

/// Every column that an expression names outside of its subqueries: one to three parts each.
pub fn columns(expr: &Expr) -> Vec<Vec<Ident>> {
    let mut out = Vec::new();
    outside_subqueries(expr, |expr| columns_of(expr, &mut out));
    out
}

/// Every column that an expression names, also in its subqueries, where names may belong to the
/// tables of the subquery.
pub fn all_columns(expr: &Expr) -> Vec<Vec<Ident>> {
    let mut out = Vec::new();
    walk_expr(expr, &mut |node| {
        if let Node::Expr(expr) = node {
            columns_of(expr, &mut out);
        }
    });
    out
}

/// Shows every expression that is not part of a subquery.
fn outside_subqueries(expr: &Expr, mut see: impl FnMut(&Expr)) {
    let mut depth = 0usize;
    walk_expr(expr, &mut |node| match node {
        Node::Query(_) => depth += 1,
        Node::End => depth = depth.saturating_sub(1),
        Node::Expr(expr) if depth == 0 => see(expr),
        _ => {}
    });
}

/// The columns that an expression names itself.
fn columns_of(expr: &Expr, out: &mut Vec<Vec<Ident>>) {
    match expr {
        Expr::Identifier(name) if !is_variable(name) => out.push(vec![name.clone()]),
        Expr::CompoundIdentifier(parts) => out.push(parts.clone()),
        Expr::MatchAgainst { columns, .. } => {
            for column in columns {
                let parts = column.0.iter().filter_map(|part| match part {
                    ObjectNamePart::Identifier(ident) => Some(ident.clone()),
                    ObjectNamePart::Function(_) => None,
                });
                out.push(parts.collect());
            }
        }
        _ => {}
    }
}

fn is_variable(name: &Ident) -> bool {
    name.quote_style.is_none() && name.value.starts_with('@')
}

/// Aggregate functions, in order. MariaDB's `MEDIAN` is a window function only.
pub const AGGREGATES: [&str; 20] = [
    "ANY_VALUE",
    "AVG",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "COUNT",
    "GROUP_CONCAT",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "MAX",
    "MIN",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "ST_COLLECT",
    "SUM",
    "VARIANCE",
    "VAR_POP",
    "VAR_SAMP",
];

/// Whether a function of this name (in upper case) aggregates rows.
///
/// `ANY_VALUE` is among them for the planner's sake, although MySQL does not count it when it
/// decides whether a query without `GROUP BY` is an aggregating one.
pub fn is_aggregate_name(name: &str) -> bool {
    AGGREGATES.binary_search(&name).is_ok()
}

/// Whether an expression aggregates: a call of an aggregate without `OVER`, outside of subqueries.
pub fn has_aggregate(expr: &Expr) -> bool {
    calls(expr).iter().any(|call| !call.window && is_aggregate_name(&call.name))
}

/// Whether an expression has a window function outside of subqueries.
pub fn has_window(expr: &Expr) -> bool {
    calls(expr).iter().any(|call| call.window)
}

/// Whether the value of an expression is one that a conditional chooses, or GREATEST or LEAST.
pub fn is_conditional(expr: &Expr) -> bool {
    const NAMES: [&str; 6] = ["IF", "IFNULL", "NULLIF", "COALESCE", "GREATEST", "LEAST"];
    match expr {
        Expr::Nested(inner) => is_conditional(inner),
        Expr::Case { .. } => true,
        Expr::Function(call) => {
            let name = call.name.to_string();
            NAMES.iter().any(|it| it.eq_ignore_ascii_case(&name))
        }
        _ => false,
    }
}

/// A function call in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name in upper case.
    pub name: String,
    /// The name as written.
    pub written: String,
    /// Whether it has an `OVER`.
    pub window: bool,
}

/// The functions that an expression calls outside of its subqueries.
pub fn calls(expr: &Expr) -> Vec<Call> {
    let mut out = Vec::new();
    outside_subqueries(expr, |expr| {
        if let Expr::Function(function) = expr {
            let written = written_name(&function.name);
            let name = written.to_ascii_uppercase();
            out.push(Call { name, written, window: function.over.is_some() });
        }
    });
    out
}

/// The inputs other than tables on which the answer of a query depends.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Dependence {
    /// Stored functions that are called with their database.
    pub stored: Vec<String>,
    /// All functions that are called, each with a number of arguments.
    pub functions: Vec<(String, usize)>,
    /// User variables that are read or set, in lower case.
    pub user_variables: Vec<String>,
    /// System variables.
    pub system_variables: Vec<(Option<Scope>, String)>,
    /// `@x := ...` occurs.
    pub assigns: bool,
}

/// Finds the inputs other than its tables on which a query depends, including subqueries.
pub fn dependence(query: &Query, mode: Mode) -> Dependence {
    let mut out = Dependence::default();
    walk_query(query, &mut |node| out.see(&node, mode));
    out.without_repetitions()
}

/// Finds the inputs other than its columns on which an expression depends, including subqueries.
pub fn expression_dependence(expr: &Expr, mode: Mode) -> Dependence {
    let mut out = Dependence::default();
    walk_expr(expr, &mut |node| out.see(&node, mode));
    out.without_repetitions()
}

impl Dependence {
    fn without_repetitions(mut self) -> Self {
        once(&mut self.stored);
        once(&mut self.functions);
        once(&mut self.user_variables);
        once(&mut self.system_variables);
        self
    }

    /// Whether a function is called of which this is true: of its name in upper case and the number
    /// of its arguments.
    pub fn calls(&self, is: impl Fn(&str, usize) -> bool) -> bool {
        self.functions.iter().any(|(name, arguments)| is(name, *arguments))
    }

    fn call(&mut self, name: String, arguments: usize) {
        if name.contains('.') {
            self.stored.push(name.clone());
        }
        self.functions.push((name, arguments));
    }

    fn see(&mut self, node: &Node<'_>, mode: Mode) {
        let Node::Expr(expr) = node else { return };
        match expr {
            Expr::Function(function) => {
                let arguments = match &function.args {
                    FunctionArguments::List(list) => list.args.len(),
                    _ => 0,
                };
                self.call(function_name(&function.name), arguments);
            }
            Expr::Identifier(name) => match variable(name, mode) {
                Some(Variable::User(name)) => {
                    self.user_variables.push(name.to_lowercase());
                }
                Some(Variable::System(scope, name)) => {
                    self.system_variables.push((scope, name.to_ascii_lowercase()));
                }
                None => {}
            },
            Expr::BinaryOp { op: BinaryOperator::Assignment, .. } => self.assigns = true,
            _ => {}
        }
    }
}

/// Keeps the first of equal elements.
fn once<T: Clone + Eq + Hash>(list: &mut Vec<T>) {
    let mut seen = HashSet::new();
    list.retain(|element| seen.insert(element.clone()));
}

#[cfg(test)]
mod tests;

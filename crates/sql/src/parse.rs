//! The parser of queries: recursive descent over MySQL's grammar, which returns a syntax tree.
//!
//! Invariants:
//!
//! - A tree that is returned means what MySQL reads in the text. If the grammars of MySQL and
//!   MariaDB differ (`a LIKE b LIKE c`, `1 IS TRUE IS TRUE`), neither reading is chosen.
//! - Printing the tree and parsing the text again gives the same tree.
//! - The recursion is never deeper than [`MAX_DEPTH`], and no tree is higher, so that code which
//!   walks a tree may recurse. Long chains of `AND` and `OR` become balanced trees.
//!
//! Functions that recurse are not inlined: together in one frame they would take much stack at
//! every level.
//!
//! | module | parses |
//! | --- | --- |
//! | `cursor` | tokens, one after the other |
//! | `query` | `WITH`, set operations, `SELECT` and its clauses |
//! | `table` | the tables and joins of `FROM` |
//! | `expr` | operators |
//! | `primary` | operands |
//! | `function` | calls with a syntax of their own |
//! | `types` | the types of `CAST` |
//! | `words` | reserved words |

use std::fmt;

use pelorus_error::Error;
use sqlparser::ast::{Expr, Query, Select};

use crate::Mode;

pub(crate) mod cursor;
mod expr;
mod function;
mod primary;
mod query;
mod table;
mod types;
pub(crate) mod words;

use cursor::Parser;
pub(crate) use expr::balanced;
pub(crate) use function::call_of;

/// How deep expressions and queries may nest.
pub const MAX_DEPTH: usize = 128;

/// A text that does not parse as a query of MySQL's grammar as far as it is implemented: it may be
/// wrong, or only unsupported. The text as a whole can still be sent to the one server that it
/// concerns. If there is none, the error is returned.
#[derive(Debug)]
pub struct Unparsed {
    /// 1064 with MySQL's text, or 1235 for unsupported constructs.
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
/// [`Mode`]. The printer puts no parentheses: code that builds trees wraps operands, see
/// [`crate::ast_analysis::nested`]. Strings keep the escapes of the source and are read with
/// [`crate::literal::constant`].
///
/// Constructs with the same meaning that have the same tree: `MOD` and `%`, `!=` and `<>`,
/// `CONVERT(x, t)` and `CAST(x AS t)`, `SUBSTRING(x FROM n)` and `SUBSTRING(x, n)`, `POSITION(a IN
/// b)` and `LOCATE(a, b)`, `a SOUNDS LIKE b` and `SOUNDEX(a) = SOUNDEX(b)`, `LOCK IN SHARE MODE`
/// and `FOR SHARE`, `TABLE t` and `SELECT * FROM t`, `FROM DUAL` and nothing.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The tree.
    pub query: Box<Query>,
    /// How many `?` it holds.
    pub placeholders: usize,
    names: Vec<Vec<Option<String>>>,
}

impl Parsed {
    /// A query with the state of its parser, when the text has been read.
    pub(crate) fn new(query: Box<Query>, parser: Parser<'_>) -> Self {
        Self { query, placeholders: parser.placeholders(), names: parser.into_names() }
    }

    /// The names that MySQL gives to the result columns of a `SELECT` of this query, one for each
    /// select item; `None` for `*`. A `SELECT` that was not in the source has none.
    ///
    /// For a column the name is as written, which is also how MySQL shows it.
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
    read_query(Parser::new(sql, mode)?)
}

/// Parses one query with past versions of native tables: `t FOR SYSTEM_TIME AS OF TIMESTAMP x` and
/// `t FOR SYSTEM_TIME AS OF VERSION n`.
///
/// The tree carries them as [`TableVersion::ForSystemTimeAsOf`] (a point in time) and
/// [`TableVersion::VersionAsOf`] (a commit sequence number); code that walks such a tree must check
/// the `version` of every table. [`parse_query`] does not read them, so that texts for linked
/// servers are sent unchanged.
///
/// [`TableVersion::ForSystemTimeAsOf`]: sqlparser::ast::TableVersion::ForSystemTimeAsOf
/// [`TableVersion::VersionAsOf`]: sqlparser::ast::TableVersion::VersionAsOf
///
/// # Errors
/// [`Unparsed`], as for other queries.
pub fn parse_versioned_query(sql: &str, mode: Mode) -> Result<Parsed, Unparsed> {
    let mut parser = Parser::new(sql, mode)?;
    parser.versions = true;
    read_query(parser)
}

fn read_query(mut parser: Parser<'_>) -> Result<Parsed, Unparsed> {
    let query = parser.query_expression()?;
    parser.take_symbol(";");
    parser.expect_end()?;
    Ok(Parsed::new(query, parser))
}

/// Parses one expression, for instance the value of a `SET` or the filter of a `SHOW`.
///
/// # Errors
/// [`Unparsed`], as for queries.
pub fn parse_expression(sql: &str, mode: Mode) -> Result<Expr, Unparsed> {
    let mut parser = Parser::new(sql, mode)?;
    let expr = parser.expr()?;
    parser.expect_end()?;
    Ok(expr)
}

#[cfg(test)]
mod tests;

//! DML on native tables: the syntax of `INSERT`, `REPLACE`, `UPDATE`, `DELETE` and `LOAD DATA`, and
//! the format of the files of `LOAD DATA`.
//!
//! [`parse`] parses one complete statement, except for the rows of `VALUES`: these may be
//! thousands, and are read one by one with [`Rows`], as values and not as trees.
//!
//! | module | what it owns |
//! | --- | --- |
//! | `statement` | the data of the statements |
//! | `insert` | `INSERT`, `REPLACE` |
//! | `rows` | the rows of `VALUES` |
//! | `update` | `UPDATE`, `DELETE` |
//! | `load` | `LOAD DATA` |
//! | [`fields`] | a file's bytes into rows of fields |

pub mod fields;
mod insert;
mod load;
mod rows;
mod statement;
mod update;

use pelorus_error::Result;

pub use rows::{Rows, Value};
pub use statement::{
    Assigned, Assignment, Delete, Duplicates, Insert, InsertPriority, InsertSource, LoadData,
    LoadTarget, Returning, RowAlias, Update,
};

use crate::Mode;
use crate::lexer::syntax_error;
use crate::parse::cursor::Parser;

/// A statement that changes rows.
#[derive(Debug)]
pub enum Change<'a> {
    /// `INSERT` or `REPLACE`
    Insert(Box<Insert<'a>>),
    /// `UPDATE`
    Update(Box<Update>),
    /// `DELETE`
    Delete(Box<Delete>),
    /// `LOAD DATA`
    Load(Box<LoadData>),
}

/// Reads one statement that changes rows. A `;` at the end is allowed.
///
/// # Errors
/// 1064 with MySQL's text for a syntax error; 1235 for unsupported clauses. Errors inside the rows
/// of `VALUES` are reported when these are read.
pub fn parse(sql: &str, mode: Mode) -> Result<Change<'_>> {
    let first = crate::lexer::Lexer::new(sql, mode).next();
    let is = |word: &str| first.is_some_and(|token| token.is_word(sql, word));
    if is("INSERT") || is("REPLACE") {
        return Ok(Change::Insert(Box::new(insert::insert(sql, mode)?)));
    }
    let mut parser = Parser::new(sql, mode)?;
    parser.versions = true;
    let with = match parser.is_word("WITH") {
        true => Some(parser.with()?),
        false => None,
    };
    let change = if parser.take_word("UPDATE") {
        Change::Update(Box::new(parser.update(with)?))
    } else if parser.take_word("DELETE") {
        Change::Delete(Box::new(parser.delete(with)?))
    } else if with.is_none() && parser.take_word("LOAD") {
        Change::Load(Box::new(parser.load()?))
    } else {
        let at = parser.peek().map_or(sql.len(), |token| token.start);
        return Err(syntax_error(sql, at));
    };
    parser.take_symbol(";");
    parser.expect_end()?;
    Ok(change)
}

#[cfg(test)]
mod tests;

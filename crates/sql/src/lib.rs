//! MySQL's language as text: tokens, statement kinds, parsed queries, names of result columns.
//!
//! | module | what it owns |
//! | --- | --- |
//! | [`mode`] | the parts of `sql_mode` that change how text is read |
//! | [`lexer`] | text into tokens with byte positions; splitting, placeholders |
//! | [`bytes`] | statements that hold bytes which are no text |
//! | [`literal`] | values into literals and literals into values |
//! | [`statement`] | what kind of statement a text is, with everything that administrative ones say |
//! | [`parse`] | queries into the tree of the `sqlparser` crate |
//! | [`names`] | what result columns are called when the query does not say |
//! | [`normalise`] | questions about and small changes to a parsed tree |
//! | [`operator`] | the operators, and the functions that they stand for |
//! | [`table`] | the definition of native tables, and definitions as text |
//! | [`stop`] | texts that are given up in the middle |
//! | [`change`] | `INSERT`, `UPDATE`, `DELETE` and `LOAD DATA` on native tables; the files of the last |
//!
//! The trees are those of `sqlparser`, and so is their printing; the parsing is our own. MySQL's
//! grammar differs from what that crate reads in ways that give wrong trees without an error
//! (`BINARY a = b`, `a XOR b AND c`, strings with backslashes), and a wrong tree is a wrong answer.
//! The parser here reads MySQL's grammar and nothing else: what it does not know is
//! [`parse::Unparsed`], and the whole text can still go to the one server that it concerns.
//!
//! Nothing here touches sockets, storage or clocks, and nothing panics whatever the text holds.

pub mod ast_analysis;
pub mod binary_literals;
pub mod column_names;
pub mod ddl;
pub mod dml;
pub mod lexer;
pub mod literal;
pub mod mode;
pub mod operator;
pub mod parse;
pub mod statement;
pub mod stop;

pub use lexer::{Token, TokenKind, bind, next_statement, placeholders, tokens};
pub use mode::Mode;
pub use parse::{Parsed, Unparsed, parse_expression, parse_query, parse_versioned_query};
pub use sqlparser::ast;
pub use statement::{Statement, classify};

//! MySQL's language as text: tokens, statement kinds, parsed queries, names of result columns.
//!
//! | module | owns |
//! | --- | --- |
//! | [`mode`] | the parts of `sql_mode` that change how text is read |
//! | [`lexer`] | text into tokens with byte positions; splitting, placeholders |
//! | [`binary_literals`] | statements with bytes that are not valid text |
//! | [`literal`] | values into literals and literals into values |
//! | [`statement`] | the kind of a statement, and the full content of administrative ones |
//! | [`parse`] | queries into the tree of the `sqlparser` crate |
//! | [`column_names`] | default names of result columns |
//! | [`ast_analysis`] | analysis and small rewrites of a syntax tree |
//! | [`operator`] | the operators, and the functions that they stand for |
//! | [`ddl`] | the definition of native tables, and definitions as text |
//! | [`dml`] | `INSERT`, `UPDATE`, `DELETE` and `LOAD DATA` on native tables; the files of the last |
//! | [`stop`] | cancellation of the lexer and the parser |
//!
//! The trees are those of `sqlparser`, and so is their printing; the parsing is our own. MySQL's
//! grammar differs from that crate's in ways that give wrong trees without an error (`BINARY a =
//! b`, `a XOR b AND c`, strings with backslashes), and a wrong tree is a wrong answer. The parser
//! here reads MySQL's grammar only: text that it does not know is [`parse::Unparsed`], and the
//! whole text can still be sent to the one server that it concerns.
//!
//! Nothing here uses sockets, storage or clocks, and no text causes a panic.

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

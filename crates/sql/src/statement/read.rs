//! The readers of the statements.
use pelorus_error::Result;

use super::{QueryFacts, Statement};
use crate::Mode;

pub(super) fn classify(sql: &str, mode: Mode) -> Result<Statement> {
    let tokens = crate::lexer::checked_tokens(sql, mode)?;
    Ok(match tokens.first() {
        None => Statement::Empty,
        Some(first) if first.is_word(sql, "SELECT") => Statement::Query(QueryFacts::default()),
        Some(first) => Statement::Unknown(first.text(sql).to_ascii_uppercase()),
    })
}

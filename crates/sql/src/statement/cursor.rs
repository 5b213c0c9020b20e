//! Parsing helpers that statements share: names, strings, accounts, the text of expressions.

use super::name::{Account, TableName, UserName};
use crate::lexer::TokenKind;
use crate::literal;
use crate::parse::cursor::{Parser, Result};

impl Parser<'_> {
    /// The text from the token at a position up to the current one.
    pub(super) fn text_since(&self, position: usize) -> String {
        let tokens = self.since(position);
        match (tokens.first(), tokens.last()) {
            (Some(first), Some(last)) => {
                self.sql.get(first.start..last.end).unwrap_or_default().to_owned()
            }
            _ => String::new(),
        }
    }

    /// Passes over an expression, up to a comma, a word of `stops` or the end, and gives its text
    /// without comments: one that is executed may begin or end within it.
    pub(super) fn expression_text(&mut self, stops: &[&str]) -> Result<String> {
        let start = self.position();
        let mut open = 0usize;
        while let Some(token) = self.peek() {
            let text = self.text(token);
            match text {
                "(" if token.kind == TokenKind::Symbol => open += 1,
                ")" if token.kind == TokenKind::Symbol => {
                    let Some(next) = open.checked_sub(1) else { return self.unexpected() };
                    open = next;
                }
                "," | ";" if token.kind == TokenKind::Symbol && open == 0 => break,
                _ if open == 0 && self.is_any_word(stops) => break,
                _ => {}
            }
            self.advance();
        }
        if open > 0 || self.position() == start {
            return self.unexpected();
        }
        Ok(self.plain_since(start))
    }

    /// The words from here to the end in upper case, other tokens as written.
    pub(super) fn rest_words(&mut self) -> Vec<String> {
        let mut out = Vec::new();
        while let Some(token) = self.peek().filter(|token| !token.is_symbol(self.sql, ";")) {
            let text = self.text(token);
            out.push(match token.kind {
                TokenKind::Word => text.to_ascii_uppercase(),
                _ => text.to_owned(),
            });
            self.advance();
        }
        out
    }

    /// A name as a string, quotes taken off.
    pub(crate) fn name_text(&mut self) -> Result<String> {
        let name = self.peek().filter(|_| self.is_name()).and_then(|token| token.name(self.sql));
        let Some(name) = name else { return self.unexpected() };
        self.advance();
        Ok(name)
    }

    /// A string's value.
    pub(crate) fn string_value(&mut self) -> Result<String> {
        let Some(token) = self.take_kind(TokenKind::Text) else { return self.unexpected() };
        Ok(literal::text_of_token(self.text(token), self.mode))
    }

    /// A name or a string.
    pub(crate) fn name_or_string(&mut self) -> Result<String> {
        if self.peek().is_some_and(|token| token.kind == TokenKind::Text) {
            return self.string_value();
        }
        if self.is_word("BINARY") || self.is_word("DEFAULT") {
            return Ok(self.any_word_text());
        }
        self.name_text()
    }

    /// The current token as text, whatever it is.
    pub(super) fn any_word_text(&mut self) -> String {
        let text = self.peek().map(|token| self.text(token)).unwrap_or_default().to_owned();
        self.advance();
        text
    }

    /// `name` or `database.name`.
    pub(crate) fn table_name(&mut self) -> Result<TableName> {
        let first = self.name_text()?;
        if !self.is_symbol(".") {
            return Ok(TableName { database: None, name: first });
        }
        self.advance();
        let name = self.peek().and_then(|token| token.name(self.sql));
        let Some(name) = name else { return self.unexpected() };
        self.advance();
        Ok(TableName { database: Some(first), name })
    }

    /// `'user'@'host'`, `user`, `CURRENT_USER`.
    pub(super) fn user_name(&mut self) -> Result<UserName> {
        if self.take_word("CURRENT_USER") {
            if self.take_symbol("(") {
                self.expect_symbol(")")?;
            }
            return Ok(UserName::Current);
        }
        if self.is_word("USER") && self.is_symbol_at(1, "(") && self.is_symbol_at(2, ")") {
            for _ in 0..3 {
                self.advance();
            }
            return Ok(UserName::Current);
        }
        let user = self.name_or_string()?;
        let host = if let Some(token) = self.take_kind(TokenKind::UserVariable) {
            variable_name(self.text(token), self.mode)
        } else if self.take_symbol("@") {
            self.name_or_string()?
        } else {
            "%".to_owned()
        };
        Ok(UserName::Account(Account { user, host: host.to_ascii_lowercase() }))
    }

    /// `IF EXISTS`
    pub(crate) fn if_exists(&mut self) -> bool {
        self.take_words(&["IF", "EXISTS"])
    }

    /// `IF NOT EXISTS`
    pub(crate) fn if_not_exists(&mut self) -> bool {
        self.take_words(&["IF", "NOT", "EXISTS"])
    }

    /// MariaDB's `WAIT n` and `NOWAIT` after a table, which say how long to wait for its lock.
    pub(crate) fn lock_wait(&mut self) -> Result<()> {
        if !self.take_word("NOWAIT") && self.take_word("WAIT") {
            self.integer()?;
        }
        Ok(())
    }

    /// The end of the statement.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.take_symbol(";");
        self.expect_end()
    }
}

/// The name of a user variable, or the host of an account, from its token.
pub(crate) fn variable_name(token: &str, mode: crate::Mode) -> String {
    let name = token.strip_prefix('@').unwrap_or(token);
    match name.chars().next() {
        Some('`') => crate::lexer::unquote_name(name),
        Some('\'' | '"') => literal::text_of_token(name, mode),
        _ => name.to_owned(),
    }
}

//! Parses `INSERT` and `REPLACE`.
//!
//! A statement may contain megabytes of rows, so it is not tokenised as a whole: the words before
//! `VALUES` are, then [`Rows`] scans the rows to find their end, then the clauses after them.

use pelorus_error::Result as PublicResult;

use super::rows::Rows;
use super::statement::{Insert, InsertPriority, InsertSource, RowAlias};
use crate::Mode;
use crate::lexer::{Lexer, Token};
use crate::parse::Parsed;
use crate::parse::cursor::{Parser, Result};

pub(super) fn insert(sql: &str, mode: Mode) -> PublicResult<Insert<'_>> {
    let (tokens, values) = head(sql, mode);
    let mut parser = Parser::of_tokens(sql, mode, tokens)?;
    parser.versions = true;
    let mut insert = parser.insert_head()?;
    let Some((at, in_comment)) = values else {
        parser.insert_without_rows(&mut insert)?;
        let query = parser.query_expression_if_needed(&insert.source)?;
        parser.insert_tail(&mut insert, query.is_some())?;
        if let Some((text, query)) = query {
            insert.source = InsertSource::Query(text, Box::new(Parsed::new(query, parser)));
        }
        return Ok(insert);
    };
    parser.advance();
    parser.expect_end()?;
    let rows = Rows::new(sql, mode, at, in_comment)?;
    let (end, in_comment) = rows.end();
    let tail: Vec<Token> = Lexer::starting_at(sql, mode, end, in_comment).collect();
    let mut parser = Parser::of_tokens(sql, mode, tail)?;
    parser.versions = true;
    insert.source = InsertSource::Values(rows);
    parser.insert_tail(&mut insert, false)?;
    Ok(insert)
}

/// The tokens up to a `VALUES` that rows follow, and where they begin; all tokens when there is
/// none.
fn head(sql: &str, mode: Mode) -> (Vec<Token>, Option<(usize, bool)>) {
    let mut tokens: Vec<Token> = Vec::new();
    let mut lexer = Lexer::new(sql, mode);
    let mut open = 0usize;
    // Only words of the statement itself come before `VALUES`; of a query the first word ends it.
    let mut searching = true;
    while let Some(token) = lexer.next() {
        tokens.push(token);
        if !searching {
            continue;
        }
        if token.is_symbol(sql, "(") {
            open += 1;
        } else if token.is_symbol(sql, ")") {
            open = open.saturating_sub(1);
        } else if ["SELECT", "SET", "WITH", "TABLE"].iter().any(|word| token.is_word(sql, word)) {
            searching = false;
        } else if open == 0 && (token.is_word(sql, "VALUES") || is_value(sql, &tokens)) {
            let mut ahead = lexer.clone();
            if ahead.next().is_some_and(|next| next.is_symbol(sql, "(")) {
                return (tokens, Some((token.end, lexer.in_comment())));
            }
        }
    }
    (tokens, None)
}

/// Whether the last token is `VALUE` with the meaning of `VALUES`, and not a table of this name.
fn is_value(sql: &str, tokens: &[Token]) -> bool {
    const BEFORE: [&str; 7] =
        ["INSERT", "REPLACE", "INTO", "IGNORE", "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"];
    let [.., before, last] = tokens else { return false };
    last.is_word(sql, "VALUE")
        && !before.is_symbol(sql, ".")
        && !BEFORE.iter().any(|word| before.is_word(sql, word))
}

impl Parser<'_> {
    /// Everything up to the rows.
    fn insert_head<'a>(&mut self) -> Result<Insert<'a>> {
        let replace = self.take_word("REPLACE");
        if !replace {
            self.expect_word("INSERT")?;
        }
        self.skip_hints();
        let priority = match () {
            () if self.take_word("LOW_PRIORITY") => Some(InsertPriority::Low),
            () if self.take_word("DELAYED") => Some(InsertPriority::Delayed),
            () if !replace && self.take_word("HIGH_PRIORITY") => Some(InsertPriority::High),
            () => None,
        };
        let ignore = !replace && self.take_word("IGNORE");
        self.take_word("INTO");
        let table = self.table_name()?;
        let partitions = self.partition_names()?;
        let mut columns = None;
        if self.is_symbol("(") && !self.begins_query(1) && !self.is_symbol_at(1, "(") {
            self.advance();
            let mut names = Vec::new();
            if !self.is_symbol(")") {
                names = self.list(Self::insert_column)?;
            }
            self.expect_symbol(")")?;
            columns = Some(names);
        }
        Ok(Insert {
            replace,
            priority,
            ignore,
            table,
            partitions,
            columns,
            source: InsertSource::Set(Vec::new()),
            row_alias: None,
            on_duplicate: Vec::new(),
            returning: Vec::new(),
        })
    }

    /// A column, whose table and database may be named as well.
    fn insert_column(&mut self) -> Result<String> {
        let mut name = self.name_text()?;
        for _ in 0..2 {
            if self.take_symbol(".") {
                name = self.any_name_text()?;
            }
        }
        Ok(name)
    }

    fn insert_without_rows(&mut self, insert: &mut Insert<'_>) -> Result<()> {
        if insert.columns.is_none() && self.take_word("SET") {
            insert.source = InsertSource::Set(self.list(Self::column_assignment)?);
        }
        Ok(())
    }

    /// The query of an `INSERT` that has neither rows nor `SET`.
    fn query_expression_if_needed(
        &mut self,
        source: &InsertSource<'_>,
    ) -> Result<Option<(String, Box<sqlparser::ast::Query>)>> {
        if !matches!(source, InsertSource::Set(set) if set.is_empty()) {
            return Ok(None);
        }
        if !self.begins_query(0) && !self.is_symbol("(") {
            return self.unexpected();
        }
        let start = self.position();
        let query = self.query_expression()?;
        Ok(Some((self.plain_since(start), query)))
    }

    /// The part after the rows.
    fn insert_tail(&mut self, insert: &mut Insert<'_>, query: bool) -> Result<()> {
        if !insert.replace && !query && self.take_word("AS") {
            let name = self.name_text()?;
            let columns = match self.is_symbol("(") {
                true => self.parenthesised(Self::name_text)?,
                false => Vec::new(),
            };
            insert.row_alias = Some(RowAlias { name, columns });
        }
        if !insert.replace && self.take_words(&["ON", "DUPLICATE", "KEY", "UPDATE"]) {
            insert.on_duplicate = self.list(Self::column_assignment)?;
        }
        insert.returning = self.returning()?;
        self.take_symbol(";");
        self.expect_end()
    }
}

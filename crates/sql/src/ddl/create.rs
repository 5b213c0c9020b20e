//! Parses `CREATE TABLE`.

use super::definition::TableDefinition;
use super::key::Constraint;
use super::statement::Pending;
use crate::parse::cursor::{Parser, Result};

impl Parser<'_> {
    /// The part after `CREATE [TEMPORARY] TABLE`, with the query apart.
    pub(super) fn create_table(&mut self, temporary: bool) -> Result<(TableDefinition, Pending)> {
        let if_not_exists = self.if_not_exists();
        let mut table = TableDefinition::new(self.table_name()?);
        table.temporary = temporary;
        table.if_not_exists = if_not_exists;
        if self.take_word("LIKE") {
            table.like = Some(self.table_name()?);
            return Ok((table, None));
        }
        if self.is_symbol("(") && self.is_word_at(1, "LIKE") {
            self.advance();
            self.advance();
            table.like = Some(self.table_name()?);
            self.expect_symbol(")")?;
            return Ok((table, None));
        }
        if self.is_symbol("(") && !self.begins_query(1) && !self.is_symbol_at(1, "(") {
            self.parenthesised(|parser| parser.table_element(&mut table))?;
        }
        table.options = self.table_options()?;
        self.distribution(&mut table)?;
        let query = self.table_query()?;
        if query.is_none() && table.columns.is_empty() {
            return self.unexpected();
        }
        Ok((table, query))
    }

    fn table_element(&mut self, table: &mut TableDefinition) -> Result<()> {
        if self.begins_constraint() {
            match self.constraint()? {
                Constraint::Key(key) => table.keys.push(key),
                Constraint::ForeignKey(key) => table.foreign_keys.push(key),
                Constraint::Check(check) => table.checks.push(check),
            }
        } else {
            table.columns.push(self.column_definition()?);
        }
        Ok(())
    }

    /// `PARTITION BY` and `SEGMENT BY`, in any order.
    pub(crate) fn distribution(&mut self, table: &mut TableDefinition) -> Result<()> {
        loop {
            if table.partitioning.is_none() && self.take_words(&["PARTITION", "BY"]) {
                table.partitioning = Some(self.partitioning()?);
            } else if table.segment_by.is_empty() && self.take_words(&["SEGMENT", "BY"]) {
                table.segment_by = self.segment_by()?;
            } else {
                return Ok(());
            }
        }
    }

    /// `[IGNORE | REPLACE] [AS] query`
    fn table_query(&mut self) -> Result<Pending> {
        let duplicates = match () {
            () if self.take_word("IGNORE") => Some(false),
            () if self.take_word("REPLACE") => Some(true),
            () => None,
        };
        let named = self.take_word("AS");
        if !self.begins_query(0) && !self.is_symbol("(") {
            return match named || duplicates.is_some() {
                true => self.unexpected(),
                false => Ok(None),
            };
        }
        let start = self.position();
        let query = self.query_expression()?;
        Ok(Some((self.plain_since(start), query, duplicates)))
    }
}

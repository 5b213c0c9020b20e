//! Parses `LOAD DATA`.

use super::fields::FileFormat;
use super::statement::{Duplicates, LoadData, LoadTarget};
use crate::lexer::TokenKind;
use crate::literal;
use crate::parse::cursor::{Parser, Result};
use crate::statement::cursor::variable_name;

impl Parser<'_> {
    /// The part after `LOAD`.
    pub(super) fn load(&mut self) -> Result<LoadData> {
        if self.is_word("XML") {
            return self.unsupported("LOAD XML");
        }
        self.expect_word("DATA")?;
        let priority = self.take_word("LOW_PRIORITY") || self.take_word("CONCURRENT");
        let local = self.take_word("LOCAL");
        self.expect_word("INFILE")?;
        let file = self.string_value()?;
        let duplicates = match () {
            () if self.take_word("REPLACE") => Some(Duplicates::Replace),
            () if self.take_word("IGNORE") => Some(Duplicates::Ignore),
            () => None,
        };
        self.expect_word("INTO")?;
        self.expect_word("TABLE")?;
        let table = self.table_name()?;
        let partitions = self.partition_names()?;
        let charset = match self.take_charset() {
            true => Some(self.charset_text()?),
            false => None,
        };
        let format = self.file_format()?;
        let mut targets = Vec::new();
        if self.take_symbol("(") {
            if !self.is_symbol(")") {
                targets = self.list(Self::load_target)?;
            }
            self.expect_symbol(")")?;
        }
        let assignments = match self.take_word("SET") {
            true => self.list(Self::column_assignment)?,
            false => Vec::new(),
        };
        Ok(LoadData {
            priority,
            local,
            file,
            duplicates,
            table,
            partitions,
            charset,
            format,
            targets,
            assignments,
        })
    }

    fn file_format(&mut self) -> Result<FileFormat> {
        let mut format = FileFormat::default();
        if self.mode.no_backslash_escapes {
            format.escaped = Vec::new();
        }
        if self.take_word("FIELDS") || self.take_word("COLUMNS") {
            let start = self.position();
            loop {
                if self.take_words(&["TERMINATED", "BY"]) {
                    format.terminated = self.bytes_value()?;
                } else if self.take_words(&["OPTIONALLY", "ENCLOSED", "BY"])
                    || self.take_words(&["ENCLOSED", "BY"])
                {
                    format.enclosed = self.bytes_value()?;
                } else if self.take_words(&["ESCAPED", "BY"]) {
                    format.escaped = self.bytes_value()?;
                } else if self.position() == start {
                    return self.unexpected();
                } else {
                    break;
                }
            }
        }
        if self.take_word("LINES") {
            let start = self.position();
            loop {
                if self.take_words(&["TERMINATED", "BY"]) {
                    format.lines_terminated = self.bytes_value()?;
                } else if self.take_words(&["STARTING", "BY"]) {
                    format.lines_starting = self.bytes_value()?;
                } else if self.position() == start {
                    return self.unexpected();
                } else {
                    break;
                }
            }
        }
        if self.take_word("IGNORE") {
            format.ignore_lines = self.integer()?;
            if !self.take_word("LINES") {
                self.expect_word("ROWS")?;
            }
        }
        Ok(format)
    }

    /// A string, `x'..'` or `b'..'` as bytes.
    fn bytes_value(&mut self) -> Result<Vec<u8>> {
        let Some(token) = self.peek() else { return self.unexpected() };
        let text = self.text(token);
        let digits = text.get(2..).unwrap_or_default().trim_end_matches('\'');
        let bytes = match token.kind {
            TokenKind::Text => literal::text_of_token(text, self.mode).into_bytes(),
            TokenKind::Hex => literal::hex_bytes(digits),
            TokenKind::Bits => literal::bit_bytes(digits),
            _ => return self.unexpected(),
        };
        self.advance();
        Ok(bytes)
    }

    /// A column or `@variable`.
    fn load_target(&mut self) -> Result<LoadTarget> {
        if let Some(token) = self.take_kind(TokenKind::UserVariable) {
            return Ok(LoadTarget::Variable(variable_name(self.text(token), self.mode)));
        }
        self.name_text().map(LoadTarget::Column)
    }
}

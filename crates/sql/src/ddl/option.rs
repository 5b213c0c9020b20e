//! Parses options of tables, partitions and databases: `NAME [=] value`.

use super::definition::TableOption;
use crate::lexer::TokenKind;
use crate::parse::cursor::{Parser, Result};
use crate::parse::words;

/// Options that may be written without `=`; all others need it, and have no reserved name.
const WITHOUT_EQUALS: [&str; 37] = [
    "AUTOEXTEND_SIZE",
    "AUTO_INCREMENT",
    "AVG_ROW_LENGTH",
    "CHECKSUM",
    "COMMENT",
    "COMMIT",
    "COMPRESSION",
    "CONNECTION",
    "DELAY_KEY_WRITE",
    "ENCRYPTION",
    "ENGINE",
    "ENGINE_ATTRIBUTE",
    "HISTORY",
    "HISTORY_BYTES",
    "INSERT_METHOD",
    "KEY_BLOCK_SIZE",
    "MAX_ROWS",
    "MIN_ROWS",
    "NODEGROUP",
    "PACK_KEYS",
    "PAGE_CHECKSUM",
    "PAGE_COMPRESSED",
    "PAGE_COMPRESSION_LEVEL",
    "PASSWORD",
    "ROW_FORMAT",
    "SECONDARY_ENGINE",
    "SECONDARY_ENGINE_ATTRIBUTE",
    "SEQUENCE",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "STORAGE",
    "TABLESPACE",
    "TABLE_CHECKSUM",
    "TRANSACTIONAL",
    "TYPE",
    "UNION",
];

impl Parser<'_> {
    /// Options of a table up to the first other token, with or without commas.
    pub(super) fn table_options(&mut self) -> Result<Vec<TableOption>> {
        let mut out = Vec::new();
        while let Some(option) = self.table_option()? {
            out.push(option);
            self.take_symbol(",");
        }
        Ok(out)
    }

    /// One option, when one begins here.
    pub(super) fn table_option(&mut self) -> Result<Option<TableOption>> {
        let start = self.position();
        let default = self.take_word("DEFAULT");
        if self.take_charset() {
            self.take_symbol("=");
            let value = self.charset_text()?;
            return Ok(Some(TableOption { name: "CHARSET".to_owned(), value, quoted: false }));
        }
        if self.take_word("COLLATE") {
            self.take_symbol("=");
            let value = self.charset_text()?;
            return Ok(Some(TableOption { name: "COLLATE".to_owned(), value, quoted: false }));
        }
        // Databases have a DEFAULT ENCRYPTION.
        if default && !self.is_word("ENCRYPTION") {
            self.rewind(start);
            return Ok(None);
        }
        for directory in ["DATA", "INDEX"] {
            if self.take_words(&[directory, "DIRECTORY"]) {
                return self.option_of(format!("{directory} DIRECTORY")).map(Some);
            }
        }
        if self.take_words(&["START", "TRANSACTION"]) {
            let name = "START TRANSACTION".to_owned();
            return Ok(Some(TableOption { name, value: String::new(), quoted: false }));
        }
        let Some(token) = self.peek().filter(|token| token.kind == TokenKind::Word) else {
            self.rewind(start);
            return Ok(None);
        };
        let name = self.text(token).to_ascii_uppercase();
        let other = self.is_symbol_at(1, "=") && !words::is_reserved(&name);
        if !other && !WITHOUT_EQUALS.contains(&name.as_str()) {
            self.rewind(start);
            return Ok(None);
        }
        self.advance();
        self.option_of(name).map(Some)
    }

    /// The value of an option whose name was read.
    pub(super) fn option_of(&mut self, name: String) -> Result<TableOption> {
        self.take_symbol("=");
        if name == "TABLESPACE" || name == "ENGINE" || name == "SECONDARY_ENGINE" {
            let quoted = self.peek().is_some_and(|token| token.kind == TokenKind::Text);
            let value = match self.is_word("NULL") {
                true => self.any_word()?.value,
                false => self.name_or_string()?,
            };
            // An empty name has to be written in quotes.
            return Ok(TableOption { name, quoted: quoted || value.is_empty(), value });
        }
        if name == "UNION" {
            let start = self.position();
            self.expect_symbol("(")?;
            if !self.is_symbol(")") {
                self.list(Self::table_name)?;
            }
            self.expect_symbol(")")?;
            return Ok(TableOption { name, value: self.plain_since(start), quoted: false });
        }
        let Some(token) = self.peek() else { return self.unexpected() };
        match token.kind {
            TokenKind::Text => Ok(TableOption { name, value: self.string_value()?, quoted: true }),
            TokenKind::Word | TokenKind::Integer | TokenKind::Decimal | TokenKind::Hex => {
                self.advance();
                Ok(TableOption { name, value: self.text(token).to_owned(), quoted: false })
            }
            TokenKind::Quoted => {
                let value = self.name_text()?;
                Ok(TableOption { name, quoted: value.is_empty(), value })
            }
            _ => self.unexpected(),
        }
    }
}

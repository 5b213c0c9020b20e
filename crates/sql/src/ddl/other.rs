//! Dispatches DDL statements by their first words, and parses those without a file of their own:
//! databases, indexes, `DROP`, `RENAME`, `TRUNCATE`.

use super::definition::{KeyDefinition, KeyKind, TableOption};
use super::statement::{
    AlterAction, AlterTable, CreateIndex, DatabaseDefinition, DropDatabase, DropIndex, DropTables,
    Pending, RenameTables, TableStatement,
};
use crate::parse::cursor::{Parser, Result};

impl Parser<'_> {
    /// Parses a whole statement; the query of a `CREATE TABLE` is returned separately.
    pub(super) fn table_statement_of(&mut self) -> Result<(TableStatement, Pending)> {
        let statement = if self.take_word("CREATE") {
            if self.is_word("OR") && self.is_word_at(1, "REPLACE") {
                return self.unsupported("CREATE OR REPLACE TABLE");
            }
            let temporary = self.take_word("TEMPORARY");
            if self.take_word("TABLE") {
                let (table, query) = self.create_table(temporary)?;
                return Ok((TableStatement::Create(Box::new(table)), query));
            }
            match temporary {
                true => return self.unexpected(),
                false => self.create_other()?,
            }
        } else if self.take_word("ALTER") {
            self.alter_statement()?
        } else if self.take_word("DROP") {
            self.drop_statement()?
        } else if self.take_word("TRUNCATE") {
            self.take_word("TABLE");
            let table = self.table_name()?;
            self.lock_wait()?;
            TableStatement::Truncate(table)
        } else {
            self.expect_word("RENAME")?;
            if !self.take_word("TABLES") {
                self.expect_word("TABLE")?;
            }
            let if_exists = self.if_exists();
            let pairs = self.list(|parser| {
                let from = parser.table_name()?;
                parser.lock_wait()?;
                parser.expect_word("TO")?;
                Ok((from, parser.table_name()?))
            })?;
            TableStatement::Rename(RenameTables { if_exists, pairs })
        };
        Ok((statement, None))
    }

    fn take_database(&mut self) -> bool {
        self.take_word("DATABASE") || self.take_word("SCHEMA")
    }

    fn create_other(&mut self) -> Result<TableStatement> {
        if self.take_database() {
            let if_not_exists = self.if_not_exists();
            let name = Some(self.name_text()?);
            let options = self.database_options()?;
            let definition = DatabaseDefinition { if_not_exists, name, options };
            return Ok(TableStatement::CreateDatabase(definition));
        }
        let kind = if self.take_word("UNIQUE") {
            KeyKind::Unique
        } else if self.take_word("FULLTEXT") {
            KeyKind::FullText
        } else if self.take_word("SPATIAL") {
            KeyKind::Spatial
        } else {
            KeyKind::Index
        };
        self.expect_word("INDEX")?;
        let if_not_exists = self.if_not_exists();
        let mut key = KeyDefinition::new(kind, Some(self.name_text()?));
        self.key_using(&mut key)?;
        self.expect_word("ON")?;
        let table = self.table_name()?;
        self.key_parts(&mut key)?;
        self.lock_wait()?;
        self.key_options(&mut key)?;
        self.index_behaviour()?;
        Ok(TableStatement::CreateIndex(CreateIndex { if_not_exists, table, key }))
    }

    /// `ALGORITHM = x` and `LOCK = x`, which say how MySQL shall do it.
    fn index_behaviour(&mut self) -> Result<()> {
        while self.is_any_word(&["ALGORITHM", "LOCK"]) {
            self.advance();
            self.take_symbol("=");
            self.any_word()?;
        }
        Ok(())
    }

    fn alter_statement(&mut self) -> Result<TableStatement> {
        if self.take_database() {
            let begins_option = self.is_any_word(&["CHARSET", "ENCRYPTION", "READ", "COMMENT"])
                && !self.is_word_at(1, "CHARACTER");
            let name = match self.is_name() && !begins_option {
                true => Some(self.name_text()?),
                false => None,
            };
            let options = self.database_options()?;
            if options.is_empty() {
                return self.unexpected();
            }
            let definition = DatabaseDefinition { if_not_exists: false, name, options };
            return Ok(TableStatement::AlterDatabase(definition));
        }
        // MariaDB and old MySQL servers take `ALTER IGNORE TABLE`; its meaning is gone.
        self.expect_word("TABLE")?;
        Ok(TableStatement::Alter(self.alter_table()?))
    }

    fn database_options(&mut self) -> Result<Vec<TableOption>> {
        let mut out = Vec::new();
        loop {
            if self.take_words(&["READ", "ONLY"]) {
                out.push(self.option_of("READ ONLY".to_owned())?);
            } else if let Some(option) = self.table_option()? {
                let known = ["CHARSET", "COLLATE", "ENCRYPTION", "COMMENT"];
                if !known.contains(&option.name.as_str()) {
                    return self.unexpected();
                }
                out.push(option);
            } else {
                return Ok(out);
            }
        }
    }

    fn drop_statement(&mut self) -> Result<TableStatement> {
        if self.take_database() {
            let if_exists = self.if_exists();
            let name = self.name_text()?;
            return Ok(TableStatement::DropDatabase(DropDatabase { if_exists, name }));
        }
        if self.take_word("INDEX") {
            let if_exists = self.if_exists();
            let name = match self.take_word("PRIMARY") {
                true => "PRIMARY".to_owned(),
                false => self.name_text()?,
            };
            self.expect_word("ON")?;
            let table = self.table_name()?;
            self.lock_wait()?;
            self.index_behaviour()?;
            return Ok(TableStatement::DropIndex(DropIndex { if_exists, table, name }));
        }
        let temporary = self.take_word("TEMPORARY");
        if !self.take_word("TABLES") {
            self.expect_word("TABLE")?;
        }
        let if_exists = self.if_exists();
        let tables = self.list(Self::table_name)?;
        self.lock_wait()?;
        let cascade = match () {
            () if self.take_word("CASCADE") => Some(true),
            () if self.take_word("RESTRICT") => Some(false),
            () => None,
        };
        Ok(TableStatement::Drop(DropTables { temporary, if_exists, tables, cascade }))
    }
}

impl CreateIndex {
    /// The same as an `ALTER TABLE`, to which MySQL converts it.
    pub fn into_alter(self) -> AlterTable {
        let key = KeyDefinition { if_not_exists: self.if_not_exists, ..self.key };
        let actions = vec![AlterAction::AddKey(Box::new(key))];
        AlterTable { if_exists: false, table: self.table, actions }
    }
}

impl DropIndex {
    /// The same as an `ALTER TABLE`, to which MySQL converts it.
    pub fn into_alter(self) -> AlterTable {
        let action = match self.name.eq_ignore_ascii_case("PRIMARY") {
            true => AlterAction::DropPrimaryKey,
            false => AlterAction::DropKey { if_exists: self.if_exists, name: self.name },
        };
        AlterTable { if_exists: false, table: self.table, actions: vec![action] }
    }
}

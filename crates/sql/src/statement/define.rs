//! Classifies `CREATE`, `ALTER`, `DROP`, `TRUNCATE` and `RENAME`.

use super::data::tables_of;
use super::name::TableName;
use super::read::bare;
use super::{Ddl, DdlAction, Statement};
use crate::lexer::Token;
use crate::parse::cursor::{Parser, Result};

/// The objects that can be created, as written.
const OBJECTS: [&str; 18] = [
    "TABLE",
    "DATABASE",
    "SCHEMA",
    "VIEW",
    "INDEX",
    "PROCEDURE",
    "FUNCTION",
    "TRIGGER",
    "EVENT",
    "SEQUENCE",
    "ROLE",
    "TABLESPACE",
    "LOGFILE",
    "SERVER",
    "USER",
    "RESOURCE",
    "PACKAGE",
    "LIBRARY",
];

impl Parser<'_> {
    /// A change of the schema, of accounts or of servers.
    pub(super) fn definition(&mut self, verb: &str) -> Result<Statement> {
        self.advance();
        match verb {
            "TRUNCATE" => {
                self.take_word("TABLE");
                let names = vec![self.table_name()?];
                return Ok(ddl(DdlAction::Truncate, "TABLE", names));
            }
            "RENAME" => return self.rename(),
            "DROP" if self.is_word("PREPARE") => {
                self.advance();
                let name = self.name_text()?;
                self.finish()?;
                return Ok(Statement::Deallocate(name));
            }
            _ => {}
        }
        let or_replace = self.take_words(&["OR", "REPLACE"]);
        if self.take_word("SERVER") {
            return self.server(verb, or_replace);
        }
        if self.take_word("USER") {
            return self.user(verb, or_replace);
        }
        if verb == "ALTER" && !or_replace && self.take_word("MIRROR") {
            return self.alter_mirror().map(Statement::Mirror);
        }
        let action = match verb {
            "CREATE" => DdlAction::Create,
            "ALTER" => DdlAction::Alter,
            _ => DdlAction::Drop,
        };
        self.schema_change(action)
    }

    fn rename(&mut self) -> Result<Statement> {
        if self.take_word("USER") {
            let pairs = self.list(|parser| {
                let old = parser.user_name()?;
                parser.expect_word("TO")?;
                Ok((old, parser.user_name()?))
            })?;
            self.finish()?;
            return Ok(Statement::RenameUser(pairs));
        }
        if !self.take_word("TABLES") {
            self.expect_word("TABLE")?;
        }
        self.if_exists();
        let mut names = Vec::new();
        self.list(|parser| {
            names.push(parser.table_name()?);
            parser.lock_wait()?;
            parser.expect_word("TO")?;
            names.push(parser.table_name()?);
            Ok(())
        })?;
        self.finish()?;
        Ok(ddl(DdlAction::Rename, "TABLE", names))
    }

    fn schema_change(&mut self, action: DdlAction) -> Result<Statement> {
        let temporary = self.is_word("TEMPORARY");
        let Some((object, ahead)) = self.object() else {
            // `ALTER INSTANCE`, `CREATE SPATIAL REFERENCE SYSTEM` and the like.
            let word = self.peek().map(|token| self.text(token).to_ascii_uppercase());
            return Ok(Statement::Administration(word.unwrap_or_default()));
        };
        for _ in 0..ahead {
            self.advance();
        }
        let if_exists = self.if_exists() || self.if_not_exists();
        let mut names = match object {
            "DATABASE" => vec![bare(self.database_name()?)],
            "RESOURCE" | "LOGFILE" => Vec::new(),
            "ROLE" => Vec::new(),
            // Of `DROP INDEX` and `CREATE INDEX` only the table matters.
            "INDEX" => {
                self.name_text().or_else(|error| match self.take_word("PRIMARY") {
                    true => Ok(String::new()),
                    false => Err(error),
                })?;
                Vec::new()
            }
            _ if action == DdlAction::Drop => self.list(Self::table_name)?,
            _ => vec![self.table_name()?],
        };
        let rest = self.rest_tokens();
        names.extend(self.on_table(object, &rest));
        let mut tables = match object {
            "TABLE" | "VIEW" => tables_of(self.sql, &rest),
            _ => Vec::new(),
        };
        tables.extend(referred(self.sql, &rest));
        if action == DdlAction::Alter {
            tables.extend(renamed(self.sql, &rest));
        }
        tables.retain(|table| !names.contains(table));
        let object = object.to_owned();
        Ok(Statement::Ddl(Ddl { action, object, temporary, if_exists, names, tables }))
    }

    /// The kind of object, and how many tokens lie before its name.
    fn object(&self) -> Option<(&'static str, usize)> {
        for ahead in 0..24 {
            let token = self.peek_at(ahead)?;
            if token.is_symbol(self.sql, "(") {
                return None;
            }
            let found = OBJECTS.iter().find(|object| token.is_word(self.sql, object));
            if let Some(object) = found {
                let object = if *object == "SCHEMA" { "DATABASE" } else { object };
                let more = usize::from(object == "PACKAGE" && self.is_word_at(ahead + 1, "BODY"));
                return Some((object, ahead + 1 + more));
            }
        }
        None
    }

    /// A database; `ALTER DATABASE` may leave it out.
    fn database_name(&mut self) -> Result<String> {
        match self.is_name() && !self.is_any_word(&["CHARSET", "ENCRYPTION"]) {
            true => self.name_text(),
            false => Ok(String::new()),
        }
    }

    fn rest_tokens(&mut self) -> Vec<Token> {
        let start = self.position();
        while self.peek().is_some() {
            self.advance();
        }
        self.since(start).to_vec()
    }

    /// The table of an index or trigger.
    fn on_table(&self, object: &str, rest: &[Token]) -> Vec<TableName> {
        if object != "INDEX" && object != "TRIGGER" {
            return Vec::new();
        }
        let on = rest.iter().position(|token| token.is_word(self.sql, "ON"));
        on.and_then(|on| name_at(self.sql, rest, on + 1)).into_iter().collect()
    }
}

fn ddl(action: DdlAction, object: &str, names: Vec<TableName>) -> Statement {
    Statement::Ddl(Ddl {
        action,
        object: object.to_owned(),
        temporary: false,
        if_exists: false,
        names,
        tables: Vec::new(),
    })
}

/// The name at a token.
fn name_at(sql: &str, tokens: &[Token], at: usize) -> Option<TableName> {
    let first = tokens.get(at)?.name(sql)?;
    let dot = tokens.get(at + 1).is_some_and(|token| token.is_symbol(sql, "."));
    match tokens.get(at + 2).filter(|_| dot).and_then(|token| token.name(sql)) {
        Some(name) => Some(TableName { database: Some(first), name }),
        None => Some(bare(first)),
    }
}

/// The tables after `REFERENCES` and after the `LIKE` of a new table.
fn referred(sql: &str, tokens: &[Token]) -> Vec<TableName> {
    let mut out = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let like =
            token.is_word(sql, "LIKE") && (at == 0 || (at == 1 && tokens[0].is_symbol(sql, "(")));
        if like || token.is_word(sql, "REFERENCES") {
            out.extend(name_at(sql, tokens, at + 1));
        }
    }
    out
}

/// The new name of `ALTER TABLE ... RENAME [TO | AS] name`.
fn renamed(sql: &str, tokens: &[Token]) -> Vec<TableName> {
    let mut out = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let part = |words: &[&str]| {
            tokens.get(at + 1).is_some_and(|next| words.iter().any(|word| next.is_word(sql, word)))
        };
        if token.is_word(sql, "RENAME") && !part(&["COLUMN", "INDEX", "KEY", "CONSTRAINT"]) {
            let skip = usize::from(part(&["TO", "AS"]));
            out.extend(name_at(sql, tokens, at + 1 + skip));
        }
    }
    out.retain(|table| !table.name.is_empty());
    out
}

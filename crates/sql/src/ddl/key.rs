//! Parses keys, foreign keys and CHECK constraints.

use super::definition::{
    CheckDefinition, ForeignKey, KeyDefinition, KeyKind, KeyPart, KeyTarget, Reference,
    ReferenceAction,
};
use crate::parse::cursor::{Parser, Result};

/// A constraint of a table that is separate from the columns.
#[derive(Debug)]
pub(super) enum Constraint {
    Key(KeyDefinition),
    ForeignKey(ForeignKey),
    Check(CheckDefinition),
}

impl KeyDefinition {
    /// A key without parts.
    pub fn new(kind: KeyKind, name: Option<String>) -> Self {
        Self {
            kind,
            name,
            parts: Vec::new(),
            using: None,
            invisible: false,
            if_not_exists: false,
            comment: None,
            parser: None,
            options: Vec::new(),
        }
    }
}

impl Parser<'_> {
    /// Whether a key, foreign key or check begins here, and no column.
    pub(super) fn begins_constraint(&self) -> bool {
        let words = ["PRIMARY", "UNIQUE", "KEY", "INDEX", "FULLTEXT", "SPATIAL", "FOREIGN"];
        self.is_any_word(&words) || self.is_any_word(&["CONSTRAINT", "CHECK"])
    }

    /// `CONSTRAINT [name]`: `None` when it is not there, `Some(None)` without a name.
    pub(super) fn constraint_name(&mut self) -> Result<Option<Option<String>>> {
        if !self.take_word("CONSTRAINT") {
            return Ok(None);
        }
        Ok(Some(if self.is_name() { Some(self.name_text()?) } else { None }))
    }

    /// A key, foreign key or check.
    pub(super) fn constraint(&mut self) -> Result<Constraint> {
        let mut if_not_exists = self.take_words(&["CONSTRAINT", "IF", "NOT", "EXISTS"]);
        let named = match if_not_exists {
            true => Some(Some(self.name_text()?)),
            false => self.constraint_name()?,
        };
        let name = named.clone().flatten();
        if self.take_word("CHECK") {
            let check = self.check_behind(name)?;
            return Ok(Constraint::Check(CheckDefinition { if_not_exists, ..check }));
        }
        if self.take_words(&["FOREIGN", "KEY"]) {
            if_not_exists |= self.if_not_exists();
            let index = if self.is_name() { Some(self.name_text()?) } else { None };
            let columns = self.parenthesised(Self::name_text)?;
            self.expect_word("REFERENCES")?;
            let references = self.reference()?;
            return Ok(Constraint::ForeignKey(ForeignKey {
                name,
                index,
                if_not_exists,
                columns,
                references,
            }));
        }
        let kind = if self.take_word("PRIMARY") {
            self.expect_word("KEY")?;
            KeyKind::Primary
        } else if self.take_word("UNIQUE") {
            self.take_key_word();
            KeyKind::Unique
        } else if named.is_some() {
            return self.unexpected();
        } else if self.take_word("FULLTEXT") {
            self.take_key_word();
            KeyKind::FullText
        } else if self.take_word("SPATIAL") {
            self.take_key_word();
            KeyKind::Spatial
        } else if self.take_key_word() {
            KeyKind::Index
        } else {
            return self.unexpected();
        };
        if_not_exists |= self.if_not_exists();
        let key = self.key_behind(kind, name)?;
        Ok(Constraint::Key(KeyDefinition { if_not_exists, ..key }))
    }

    fn take_key_word(&mut self) -> bool {
        self.take_word("KEY") || self.take_word("INDEX")
    }

    /// `[name] [USING x] (parts) options`
    fn key_behind(&mut self, kind: KeyKind, constraint: Option<String>) -> Result<KeyDefinition> {
        let name = match self.is_name() {
            true => Some(self.name_text()?),
            false => constraint,
        };
        // MySQL takes a name for the primary key and forgets it.
        let name = name.filter(|_| kind != KeyKind::Primary);
        let mut key = KeyDefinition::new(kind, name);
        self.key_using(&mut key)?;
        self.key_parts(&mut key)?;
        self.key_options(&mut key)?;
        Ok(key)
    }

    /// `USING BTREE`
    pub(super) fn key_using(&mut self, key: &mut KeyDefinition) -> Result<bool> {
        if !self.take_word("USING") && !self.take_word("TYPE") {
            return Ok(false);
        }
        if !self.is_any_word(&["BTREE", "HASH", "RTREE"]) {
            return self.unexpected();
        }
        key.using = Some(self.any_word()?.value.to_ascii_uppercase());
        Ok(true)
    }

    /// `(parts)`
    pub(super) fn key_parts(&mut self, key: &mut KeyDefinition) -> Result<()> {
        key.parts = self.parenthesised(Self::key_part)?;
        Ok(())
    }

    /// The part after the parts.
    pub(super) fn key_options(&mut self, key: &mut KeyDefinition) -> Result<()> {
        while self.key_option(key)? {}
        Ok(())
    }

    fn key_option(&mut self, key: &mut KeyDefinition) -> Result<bool> {
        if self.key_using(key)? {
        } else if self.take_word("COMMENT") {
            key.comment = Some(self.string_value()?);
        } else if self.take_word("VISIBLE") || self.take_words(&["NOT", "IGNORED"]) {
            key.invisible = false;
        } else if self.take_word("INVISIBLE") || self.take_word("IGNORED") {
            key.invisible = true;
        } else if self.take_words(&["WITH", "PARSER"]) {
            key.parser = Some(self.name_text()?);
        } else if self.is_any_word(&[
            "KEY_BLOCK_SIZE",
            "ENGINE_ATTRIBUTE",
            "SECONDARY_ENGINE_ATTRIBUTE",
        ]) {
            let name = self.any_word()?.value.to_ascii_uppercase();
            key.options.push(self.option_of(name)?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// `column[(length)] [ASC | DESC]` or `(expr) [ASC | DESC]`
    fn key_part(&mut self) -> Result<KeyPart> {
        let (target, length) = match self.is_symbol("(") {
            true => (KeyTarget::Expression(self.expression_in_parentheses()?), None),
            false => (KeyTarget::Column(self.name_text()?), self.length_in_parentheses()?),
        };
        let descending = self.take_word("DESC");
        if !descending {
            self.take_word("ASC");
        }
        Ok(KeyPart { target, length, descending })
    }

    /// The part after `CHECK`.
    pub(super) fn check_behind(&mut self, name: Option<String>) -> Result<CheckDefinition> {
        let position = self.position();
        let expression = self.expression_in_parentheses()?;
        let enforced = !self.take_words(&["NOT", "ENFORCED"]);
        if enforced {
            self.take_word("ENFORCED");
        }
        Ok(CheckDefinition { name, expression, enforced, position, if_not_exists: false })
    }

    /// The part after `REFERENCES`.
    pub(super) fn reference(&mut self) -> Result<Reference> {
        let table = self.table_name()?;
        let columns = match self.is_symbol("(") {
            true => self.parenthesised(Self::name_text)?,
            false => Vec::new(),
        };
        let matching = match self.take_word("MATCH") {
            true if self.is_any_word(&["FULL", "PARTIAL", "SIMPLE"]) => {
                Some(self.any_word()?.value.to_ascii_uppercase())
            }
            true => return self.unexpected(),
            false => None,
        };
        let (mut on_delete, mut on_update) = (None, None);
        loop {
            // `ON UPDATE CURRENT_TIMESTAMP` belongs to the column.
            if self.is_word("ON") && self.is_word_at(1, "DELETE") && on_delete.is_none() {
                on_delete = Some(self.reference_action()?);
            } else if self.is_word("ON")
                && self.is_word_at(1, "UPDATE")
                && on_update.is_none()
                && ["RESTRICT", "CASCADE", "SET", "NO"].iter().any(|word| self.is_word_at(2, word))
            {
                on_update = Some(self.reference_action()?);
            } else {
                return Ok(Reference { table, columns, matching, on_delete, on_update });
            }
        }
    }

    fn reference_action(&mut self) -> Result<ReferenceAction> {
        self.advance();
        self.advance();
        Ok(if self.take_word("RESTRICT") {
            ReferenceAction::Restrict
        } else if self.take_word("CASCADE") {
            ReferenceAction::Cascade
        } else if self.take_words(&["SET", "NULL"]) {
            ReferenceAction::SetNull
        } else if self.take_words(&["SET", "DEFAULT"]) {
            ReferenceAction::SetDefault
        } else if self.take_words(&["NO", "ACTION"]) {
            ReferenceAction::NoAction
        } else {
            return self.unexpected();
        })
    }
}

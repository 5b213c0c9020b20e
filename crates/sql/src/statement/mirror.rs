//! Statements about mirrors: live copies of linked tables.

use super::{Statement, TableName};
use crate::parse::cursor::{Parser, Result};
use crate::table::TableDefinition;

/// What a statement about mirrors names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MirrorTarget {
    /// Tables, one by one.
    Tables(Vec<TableName>),
    /// All tables of a database, those to come included.
    Database(String),
}

/// A statement about mirrors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MirrorStatement {
    /// `MIRROR [IF NOT EXISTS] {TABLE t [, ...] | DATABASE d} [PARTITION BY ...] [SEGMENT BY ...]`
    Create {
        /// What is mirrored.
        target: MirrorTarget,
        /// `IF NOT EXISTS`: what is mirrored already is no error.
        if_not_exists: bool,
        /// The text of `PARTITION BY` and `SEGMENT BY`, of one table.
        layout: Option<String>,
    },
    /// `UNMIRROR [IF EXISTS] {TABLE t [, ...] | DATABASE d}`
    Drop {
        /// What is mirrored no longer.
        target: MirrorTarget,
        /// `IF EXISTS`: what is not mirrored is no error.
        if_exists: bool,
    },
    /// `ALTER MIRROR {t [, ...] | DATABASE d} {PAUSE | RESUME | RESYNC}`
    Alter {
        /// Which mirrors.
        target: MirrorTarget,
        /// What is done with them.
        action: MirrorAction,
    },
    /// `CHECK MIRROR {t [, ...] | DATABASE d} [REPAIR]`
    Check {
        /// Which mirrors.
        target: MirrorTarget,
        /// Whether rows that differ are put right.
        repair: bool,
    },
}

/// What `ALTER MIRROR` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorAction {
    /// `PAUSE`: the copy stays as it is, and is not read.
    Pause,
    /// `RESUME`: the copy follows again from where it was.
    Resume,
    /// `RESYNC`: the copy is made anew.
    Resync,
}

impl Parser<'_> {
    /// What follows `MIRROR`.
    pub(super) fn mirror(&mut self) -> Result<Statement> {
        self.advance();
        let (target, if_not_exists) = self.mirror_target(true)?;
        let start = self.position();
        let mut layout = TableDefinition::new(TableName { database: None, name: String::new() });
        self.distribution(&mut layout)?;
        let layout = Some(self.text_since(start)).filter(|text| !text.is_empty());
        let is_one = matches!(&target, MirrorTarget::Tables(tables) if tables.len() == 1);
        if layout.is_some() && !is_one {
            return self.unexpected();
        }
        self.finish()?;
        Ok(Statement::Mirror(MirrorStatement::Create { target, if_not_exists, layout }))
    }

    /// What follows `UNMIRROR`.
    pub(super) fn unmirror(&mut self) -> Result<Statement> {
        self.advance();
        let (target, if_exists) = self.mirror_target(false)?;
        self.finish()?;
        Ok(Statement::Mirror(MirrorStatement::Drop { target, if_exists }))
    }

    /// `IF [NOT] EXISTS` may stand before and behind the kind.
    fn mirror_target(&mut self, not: bool) -> Result<(MirrorTarget, bool)> {
        let given = self.condition_of_existence(not);
        if self.take_word("DATABASE") || self.take_word("SCHEMA") {
            let given = given || self.condition_of_existence(not);
            return Ok((MirrorTarget::Database(self.name_text()?), given));
        }
        self.expect_word("TABLE")?;
        let given = given || self.condition_of_existence(not);
        let mut tables = vec![self.table_name()?];
        while self.take_symbol(",") {
            tables.push(self.table_name()?);
        }
        Ok((MirrorTarget::Tables(tables), given))
    }

    fn condition_of_existence(&mut self, not: bool) -> bool {
        if not { self.if_not_exists() } else { self.if_exists() }
    }

    /// The mirrors behind `ALTER MIRROR` and `CHECK MIRROR`; `TABLE` may be said.
    fn existing_mirrors(&mut self) -> Result<MirrorTarget> {
        if self.take_word("DATABASE") || self.take_word("SCHEMA") {
            return Ok(MirrorTarget::Database(self.name_text()?));
        }
        self.take_word("TABLE");
        let mut tables = vec![self.table_name()?];
        while self.take_symbol(",") {
            tables.push(self.table_name()?);
        }
        Ok(MirrorTarget::Tables(tables))
    }

    /// What follows `ALTER MIRROR`.
    pub(super) fn alter_mirror(&mut self) -> Result<Statement> {
        let target = self.existing_mirrors()?;
        let action = match () {
            () if self.take_word("PAUSE") => MirrorAction::Pause,
            () if self.take_word("RESUME") => MirrorAction::Resume,
            () if self.take_word("RESYNC") => MirrorAction::Resync,
            () => return self.unexpected(),
        };
        self.finish()?;
        Ok(Statement::Mirror(MirrorStatement::Alter { target, action }))
    }

    /// What follows `CHECK MIRROR`.
    pub(super) fn check_mirror(&mut self) -> Result<Statement> {
        let target = self.existing_mirrors()?;
        let repair = self.take_word("REPAIR");
        self.finish()?;
        Ok(Statement::Mirror(MirrorStatement::Check { target, repair }))
    }
}

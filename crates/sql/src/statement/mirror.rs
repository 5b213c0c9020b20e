//! Parses statements about mirrors: live copies of linked tables.

use super::name::TableName;
use crate::Mode;
use crate::ddl::TableDefinition;
use crate::literal::name;
use crate::parse::cursor::{Parser, Result};

/// The target of a statement about mirrors.
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
    /// `MIRROR [IF NOT EXISTS] {TABLE t [, ...] | DATABASE d} [COLUMNS (c, ...) | EXCEPT COLUMNS
    /// (c, ...)] [WHERE condition] [PARTITION BY ...] [SEGMENT BY ...]`
    Create {
        /// The mirrored objects.
        target: MirrorTarget,
        /// `IF NOT EXISTS`: existing mirrors are no error.
        if_not_exists: bool,
        /// Which columns and rows, of one table.
        filter: MirrorFilter,
        /// The text of `PARTITION BY` and `SEGMENT BY`, of one table.
        layout: Option<String>,
    },
    /// `UNMIRROR [IF EXISTS] {TABLE t [, ...] | DATABASE d}`
    Drop {
        /// The objects that are no longer mirrored.
        target: MirrorTarget,
        /// `IF EXISTS`: missing mirrors are no error.
        if_exists: bool,
    },
    /// `ALTER MIRROR {t [, ...] | DATABASE d} {PAUSE | RESUME | RESYNC}`
    Alter {
        /// Which mirrors.
        target: MirrorTarget,
        /// The action on them.
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

/// The filter of a mirror: its columns and rows. Its text form is that of the statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirrorFilter {
    /// The columns.
    pub columns: MirrorColumns,
    /// The condition of the rows, as written in the mode of the statement; all without it.
    pub condition: Option<String>,
}

/// Which columns of its table a mirror has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MirrorColumns {
    /// All.
    #[default]
    All,
    /// `COLUMNS (...)`: these, and none that come later.
    Only(Vec<String>),
    /// `EXCEPT COLUMNS (...)`: all but these.
    Except(Vec<String>),
}

impl MirrorColumns {
    /// Whether a column is not to be copied.
    pub fn leave_out(&self, column: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|it| it.eq_ignore_ascii_case(column));
        match self {
            Self::All => false,
            Self::Only(names) => !has(names),
            Self::Except(names) => has(names),
        }
    }

    /// The names that were given.
    pub fn names(&self) -> &[String] {
        match self {
            Self::All => &[],
            Self::Only(names) | Self::Except(names) => names,
        }
    }
}

impl MirrorFilter {
    /// Reads the text of a filter, which may be empty, in the default mode.
    ///
    /// # Errors
    /// 1064.
    pub fn parse(text: &str) -> pelorus_error::Result<Self> {
        let mut parser = Parser::new(text, Mode::default()).map_err(|it| it.error)?;
        let read = |parser: &mut Parser<'_>| {
            let filter = parser.mirror_filter()?;
            parser.expect_end().map(|()| filter)
        };
        read(&mut parser).map_err(|it| it.error)
    }

    /// Whether everything is copied.
    pub fn is_empty(&self) -> bool {
        self.columns == MirrorColumns::All && self.condition.is_none()
    }
}

impl std::fmt::Display for MirrorFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<String> = self.columns.names().iter().map(|it| name(it)).collect();
        match self.columns {
            MirrorColumns::All => {}
            MirrorColumns::Only(_) => write!(f, "COLUMNS ({})", names.join(", "))?,
            MirrorColumns::Except(_) => write!(f, "EXCEPT COLUMNS ({})", names.join(", "))?,
        }
        let Some(condition) = &self.condition else { return Ok(()) };
        let blank = if self.columns == MirrorColumns::All { "" } else { " " };
        write!(f, "{blank}WHERE {condition}")
    }
}

/// The action of `ALTER MIRROR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorAction {
    /// `PAUSE`: the copy stays as it is, and is not read.
    Pause,
    /// `RESUME`: the copy follows again from where it was.
    Resume,
    /// `RESYNC`: the copy is made again.
    Resync,
}

impl Parser<'_> {
    /// Parses the text after `MIRROR`.
    pub(super) fn mirror(&mut self) -> Result<MirrorStatement> {
        self.advance();
        let (target, if_not_exists) = self.mirror_target(true)?;
        let filter = self.mirror_filter()?;
        let start = self.position();
        let mut layout = TableDefinition::new(TableName { database: None, name: String::new() });
        self.distribution(&mut layout)?;
        let layout = Some(self.text_since(start)).filter(|text| !text.is_empty());
        let is_one = matches!(&target, MirrorTarget::Tables(tables) if tables.len() == 1);
        if !filter.is_empty() && !is_one {
            return self.unsupported("COLUMNS and WHERE of more than one mirror; name one table");
        }
        if layout.is_some() && !is_one {
            return self.unsupported(
                "PARTITION BY and SEGMENT BY of more than one mirror; lay out each table by a MIRROR \
                 TABLE of its own",
            );
        }
        self.finish()?;
        Ok(MirrorStatement::Create { target, if_not_exists, filter, layout })
    }

    /// `[COLUMNS (c, ...) | EXCEPT COLUMNS (c, ...)] [WHERE condition]`
    fn mirror_filter(&mut self) -> Result<MirrorFilter> {
        let names = |this: &mut Self| this.parenthesised(Self::name_text);
        let columns = match () {
            () if self.take_word("COLUMNS") => MirrorColumns::Only(names(self)?),
            () if self.take_words(&["EXCEPT", "COLUMNS"]) => MirrorColumns::Except(names(self)?),
            () => MirrorColumns::All,
        };
        let condition = match self.take_word("WHERE") {
            true => {
                let start = self.position();
                self.expr()?;
                Some(self.text_since(start))
            }
            false => None,
        };
        Ok(MirrorFilter { columns, condition })
    }

    /// Parses the text after `UNMIRROR`.
    pub(super) fn unmirror(&mut self) -> Result<MirrorStatement> {
        self.advance();
        let (target, if_exists) = self.mirror_target(false)?;
        self.finish()?;
        Ok(MirrorStatement::Drop { target, if_exists })
    }

    /// `IF [NOT] EXISTS` may stand before and after the kind.
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

    /// The mirrors after `ALTER MIRROR` and `CHECK MIRROR`; `TABLE` may be said.
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

    /// Parses the text after `ALTER MIRROR`.
    pub(super) fn alter_mirror(&mut self) -> Result<MirrorStatement> {
        let target = self.existing_mirrors()?;
        let action = match () {
            () if self.take_word("PAUSE") => MirrorAction::Pause,
            () if self.take_word("RESUME") => MirrorAction::Resume,
            () if self.take_word("RESYNC") => MirrorAction::Resync,
            () => return self.unexpected(),
        };
        self.finish()?;
        Ok(MirrorStatement::Alter { target, action })
    }

    /// Parses the text after `CHECK MIRROR`.
    pub(super) fn check_mirror(&mut self) -> Result<MirrorStatement> {
        let target = self.existing_mirrors()?;
        let repair = self.take_word("REPAIR");
        self.finish()?;
        Ok(MirrorStatement::Check { target, repair })
    }
}

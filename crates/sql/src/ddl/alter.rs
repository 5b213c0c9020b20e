//! Parses `ALTER TABLE`.

use super::definition::ColumnDefinition;
use super::key::Constraint;
use super::statement::{AlterAction, AlterTable, PartitionList, Place};
use crate::parse::cursor::{Parser, Result};

impl Parser<'_> {
    /// The part after `ALTER TABLE`.
    pub(super) fn alter_table(&mut self) -> Result<AlterTable> {
        let if_exists = self.if_exists();
        let table = self.table_name()?;
        self.lock_wait()?;
        let mut actions = Vec::new();
        if self.peek().is_none() || self.is_symbol(";") {
            return Ok(AlterTable { if_exists, table, actions });
        }
        loop {
            let first = actions.is_empty();
            self.alter_action(&mut actions)?;
            if !self.take_symbol(",") {
                // Table options and partitioning need no comma.
                let partition = self.is_word("PARTITION") || self.is_word("SEGMENT");
                let options = matches!(actions.last(), Some(AlterAction::Option(_)));
                let more = self.peek().is_some() && !self.is_symbol(";");
                if !((partition && !first) || (more && (options || partition))) {
                    return Ok(AlterTable { if_exists, table, actions });
                }
            }
        }
    }

    fn alter_action(&mut self, actions: &mut Vec<AlterAction>) -> Result<()> {
        if self.take_word("ADD") {
            return self.alter_add(actions);
        }
        let action = if self.take_word("DROP") {
            self.alter_drop()?
        } else if self.take_word("MODIFY") {
            self.take_word("COLUMN");
            let if_exists = self.if_exists();
            let column = Box::new(self.column_definition()?);
            AlterAction::ModifyColumn { if_exists, column, place: self.place()? }
        } else if self.take_word("CHANGE") {
            self.take_word("COLUMN");
            let if_exists = self.if_exists();
            let from = self.name_text()?;
            let column = Box::new(self.column_definition()?);
            AlterAction::ChangeColumn { if_exists, from, column, place: self.place()? }
        } else if self.take_word("RENAME") {
            self.alter_rename()?
        } else if self.take_word("ALTER") {
            self.alter_alter()?
        } else if let Some(action) = self.alter_partitions()? {
            action
        } else if let Some(action) = self.alter_plain()? {
            action
        } else if let Some(option) = self.table_option()? {
            AlterAction::Option(option)
        } else {
            return self.unexpected();
        };
        actions.push(action);
        Ok(())
    }

    /// Actions that begin with a word of their own.
    fn alter_plain(&mut self) -> Result<Option<AlterAction>> {
        Ok(Some(if self.take_words(&["CONVERT", "TO"]) {
            if !self.take_charset() {
                return self.unexpected();
            }
            let charset = match self.take_word("DEFAULT") {
                true => None,
                false => Some(self.charset_text()?),
            };
            let collation = match self.take_word("COLLATE") {
                true => Some(self.charset_text()?),
                false => None,
            };
            AlterAction::Convert { charset, collation }
        } else if self.take_words(&["ORDER", "BY"]) {
            AlterAction::OrderBy(self.list(Self::order_by_expr)?)
        } else if self.take_words(&["ENABLE", "KEYS"]) {
            AlterAction::EnableKeys(true)
        } else if self.take_words(&["DISABLE", "KEYS"]) {
            AlterAction::EnableKeys(false)
        } else if self.take_word("FORCE") {
            AlterAction::Force
        } else if self.take_word("ALGORITHM") {
            AlterAction::Algorithm(self.word_of(&["DEFAULT", "INSTANT", "INPLACE", "COPY"])?)
        } else if self.take_word("LOCK") {
            AlterAction::Lock(self.word_of(&["DEFAULT", "NONE", "SHARED", "EXCLUSIVE"])?)
        } else if self.take_words(&["WITH", "VALIDATION"]) {
            AlterAction::Validation(true)
        } else if self.take_words(&["WITHOUT", "VALIDATION"]) {
            AlterAction::Validation(false)
        } else if self.take_words(&["IMPORT", "TABLESPACE"]) {
            AlterAction::ImportTablespace(true)
        } else if self.take_words(&["DISCARD", "TABLESPACE"]) {
            AlterAction::ImportTablespace(false)
        } else {
            return Ok(None);
        }))
    }

    /// `[=] word`
    fn word_of(&mut self, words: &[&str]) -> Result<String> {
        self.take_symbol("=");
        if !self.is_any_word(words) {
            return self.unexpected();
        }
        Ok(self.any_word()?.value.to_ascii_uppercase())
    }

    fn alter_add(&mut self, actions: &mut Vec<AlterAction>) -> Result<()> {
        if self.is_word("PARTITION") {
            self.advance();
            self.if_not_exists();
            self.take_word("NO_WRITE_TO_BINLOG");
            actions.push(match self.take_word("PARTITIONS") {
                true => AlterAction::AddPartitionCount(self.integer()?),
                false => {
                    AlterAction::AddPartitions(self.parenthesised(Self::partition_definition)?)
                }
            });
            return Ok(());
        }
        if self.begins_constraint() {
            actions.push(added(self.constraint()?));
            return Ok(());
        }
        self.take_word("COLUMN");
        let if_not_exists = self.if_not_exists();
        if !self.is_symbol("(") {
            let column = Box::new(self.column_definition()?);
            let place = self.place()?;
            actions.push(AlterAction::AddColumn { if_not_exists, column, place });
            return Ok(());
        }
        self.parenthesised(|parser| {
            actions.push(match parser.begins_constraint() {
                true => added(parser.constraint()?),
                false => {
                    let column: Box<ColumnDefinition> = Box::new(parser.column_definition()?);
                    AlterAction::AddColumn { if_not_exists, column, place: None }
                }
            });
            Ok(())
        })?;
        Ok(())
    }

    /// `FIRST` or `AFTER c`
    fn place(&mut self) -> Result<Option<Place>> {
        Ok(if self.take_word("FIRST") {
            Some(Place::First)
        } else if self.take_word("AFTER") {
            Some(Place::After(self.name_text()?))
        } else {
            None
        })
    }

    fn alter_drop(&mut self) -> Result<AlterAction> {
        Ok(if self.take_words(&["PRIMARY", "KEY"]) {
            AlterAction::DropPrimaryKey
        } else if self.take_word("INDEX") || self.take_word("KEY") {
            let if_exists = self.if_exists();
            AlterAction::DropKey { if_exists, name: self.name_text()? }
        } else if self.take_words(&["FOREIGN", "KEY"]) {
            self.if_exists();
            AlterAction::DropForeignKey(self.name_text()?)
        } else if self.take_word("CHECK") {
            AlterAction::DropCheck(self.name_text()?)
        } else if self.take_word("CONSTRAINT") {
            self.if_exists();
            AlterAction::DropConstraint(match self.take_word("PRIMARY") {
                true => "PRIMARY".to_owned(),
                false => self.name_text()?,
            })
        } else if self.take_word("PARTITION") {
            let if_exists = self.if_exists();
            AlterAction::DropPartitions { if_exists, names: self.list(Self::name_text)? }
        } else {
            self.take_word("COLUMN");
            let if_exists = self.if_exists();
            let name = self.name_text()?;
            if !self.take_word("RESTRICT") {
                self.take_word("CASCADE");
            }
            AlterAction::DropColumn { if_exists, name }
        })
    }

    fn alter_rename(&mut self) -> Result<AlterAction> {
        if self.take_word("COLUMN") {
            let from = self.name_text()?;
            self.expect_word("TO")?;
            return Ok(AlterAction::RenameColumn(from, self.name_text()?));
        }
        if self.take_word("INDEX") || self.take_word("KEY") {
            let from = self.name_text()?;
            self.expect_word("TO")?;
            return Ok(AlterAction::RenameKey(from, self.name_text()?));
        }
        if !self.take_word("TO") && !self.take_word("AS") {
            self.take_symbol("=");
        }
        Ok(AlterAction::Rename(self.table_name()?))
    }

    fn alter_alter(&mut self) -> Result<AlterAction> {
        if self.take_word("INDEX") || self.take_word("KEY") {
            let name = self.name_text()?;
            let visible = match () {
                () if self.take_words(&["NOT", "IGNORED"]) => true,
                () if self.take_word("IGNORED") => false,
                () => self.visible()?,
            };
            return Ok(AlterAction::KeyVisible(name, visible));
        }
        if self.take_word("CHECK") || self.take_word("CONSTRAINT") {
            let name = self.name_text()?;
            let enforced = !self.take_word("NOT");
            self.expect_word("ENFORCED")?;
            return Ok(AlterAction::AlterCheck(name, enforced));
        }
        self.take_word("COLUMN");
        let name = self.name_text()?;
        if self.take_words(&["SET", "DEFAULT"]) {
            return Ok(AlterAction::ColumnDefault(name, Some(self.column_default()?)));
        }
        if self.take_words(&["DROP", "DEFAULT"]) {
            return Ok(AlterAction::ColumnDefault(name, None));
        }
        self.expect_word("SET")?;
        Ok(AlterAction::ColumnVisible(name, self.visible()?))
    }

    fn visible(&mut self) -> Result<bool> {
        if self.take_word("VISIBLE") {
            return Ok(true);
        }
        self.expect_word("INVISIBLE")?;
        Ok(false)
    }

    /// Actions on partitions.
    fn alter_partitions(&mut self) -> Result<Option<AlterAction>> {
        if self.take_words(&["PARTITION", "BY"]) {
            return Ok(Some(AlterAction::PartitionBy(Box::new(self.partitioning()?))));
        }
        if self.take_words(&["SEGMENT", "BY"]) {
            return Ok(Some(AlterAction::SegmentBy(self.segment_by()?)));
        }
        if self.take_words(&["REMOVE", "PARTITIONING"]) {
            return Ok(Some(AlterAction::RemovePartitioning));
        }
        if !self.is_word_at(1, "PARTITION") {
            return Ok(None);
        }
        let Some(token) = self.peek() else { return Ok(None) };
        let verb = self.text(token).to_ascii_uppercase();
        self.advance();
        self.advance();
        self.take_word("NO_WRITE_TO_BINLOG");
        Ok(Some(match verb.as_str() {
            "TRUNCATE" => AlterAction::TruncatePartitions(self.partition_list()?),
            "ANALYZE" | "CHECK" | "OPTIMIZE" | "REBUILD" | "REPAIR" => {
                let list = self.partition_list()?;
                while self.is_any_word(&["FOR", "QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED"]) {
                    if self.take_word("FOR") {
                        self.expect_word("UPGRADE")?;
                    } else {
                        self.advance();
                    }
                }
                AlterAction::MaintainPartitions(verb, list)
            }
            "COALESCE" => AlterAction::CoalescePartitions(self.integer()?),
            "REORGANIZE" => {
                let mut names = Vec::new();
                let mut into = Vec::new();
                if self.is_name() {
                    names = self.list(Self::name_text)?;
                    self.expect_word("INTO")?;
                    into = self.parenthesised(Self::partition_definition)?;
                }
                AlterAction::ReorganizePartitions { names, into }
            }
            "EXCHANGE" => {
                let partition = self.name_text()?;
                self.expect_word("WITH")?;
                self.expect_word("TABLE")?;
                let table = self.table_name()?;
                let without = self.take_words(&["WITHOUT", "VALIDATION"]);
                if !without {
                    self.take_words(&["WITH", "VALIDATION"]);
                }
                AlterAction::ExchangePartition { partition, table, validation: !without }
            }
            _ => return self.unexpected(),
        }))
    }

    fn partition_list(&mut self) -> Result<PartitionList> {
        Ok(match self.take_word("ALL") {
            true => PartitionList::All,
            false => PartitionList::Names(self.list(Self::name_text)?),
        })
    }
}

fn added(constraint: Constraint) -> AlterAction {
    match constraint {
        Constraint::Key(key) => AlterAction::AddKey(Box::new(key)),
        Constraint::ForeignKey(key) => AlterAction::AddForeignKey(Box::new(key)),
        Constraint::Check(check) => AlterAction::AddCheck(Box::new(check)),
    }
}

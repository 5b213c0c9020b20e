//! `ALTER TABLE`, as far as no row has to be written anew.
//!
//! The actions make a new definition of the old one, with where each column comes from. The change
//! is carried out when every column that stays holds values that are right under its new type; a
//! column that is added has one value in all rows that are there. Everything else is refused by
//! name (1235).

mod actions;
mod convert;
mod filler;
mod partitions;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::{Value, array_of};
use pelorus_sql::statement::TableName;
use pelorus_sql::table::{AlterAction, AlterTable, TableDefinition};
use pelorus_store::{StoredColumn, TableSchema};
use pelorus_types::temporal::DateTime;

use super::check;
use super::ddl::{Definer, first_number};
use super::definition::{DefaultValue, Derived, NativeDef};
use actions::Draft;

impl Definer {
    /// `ALTER TABLE`.
    pub(super) fn alter(&self, alter: &AlterTable) -> Result<()> {
        self.alter_with(&alter.table, &alter.actions)
    }

    /// Carries out actions on a table.
    pub(super) fn alter_with(&self, table: &TableName, actions: &[AlterAction]) -> Result<()> {
        let def = self.require(table)?;
        if let [action] = actions
            && let Some(done) = self.manage_partitions(&def, action)
        {
            return done;
        }
        if !same_reading(self.mode, def.mode) && actions.iter().any(brings_text) {
            return Err(Error::unsupported(
                "ALTER TABLE with defaults under another sql_mode than the one that the table was \
                 created in",
            ));
        }
        let mut draft = Draft::new(self, &def);
        for action in actions {
            draft.apply(action)?;
        }
        let Draft { definition, origins, renamed, .. } = draft;
        let changed = self.change(&def, definition, &origins);
        changed?;
        match renamed {
            Some(to) => {
                let from =
                    TableName { database: Some(def.database.clone()), name: def.name.clone() };
                self.rename_one(&from, &to)
            }
            None => Ok(()),
        }
    }

    /// Gives a table a new definition whose columns come from those of the old one.
    fn change(
        &self,
        def: &NativeDef,
        mut definition: TableDefinition,
        origins: &[Option<usize>],
    ) -> Result<()> {
        for text in check::check(&definition, def.mode, &super::types::definition_policy())? {
            self.diagnostics.warn(Code::NotSupportedYet.errno(), text);
        }
        let counter = first_number(&definition)?;
        definition.options.retain(|option| option.name != "AUTO_INCREMENT");
        definition.normalise();
        if definition == def.definition && counter.is_none() {
            return Ok(());
        }
        let derived = Derived::of(&def.database, &definition, def.mode)?;
        let schema = self.changed_schema(def, &derived, &definition, origins)?;
        let database = def.database.clone();
        self.redefine(def, &database, definition, schema)?;
        match (counter, &def.auto) {
            (Some(first), Some(auto)) => {
                let next = auto.next.fetch_max(first, std::sync::atomic::Ordering::AcqRel);
                let value = Some(next.max(first).to_le_bytes().to_vec());
                self.catalog.put_value(NativeDef::auto_key(def.id), value)
            }
            _ => Ok(()),
        }
    }

    fn changed_schema(
        &self,
        def: &NativeDef,
        derived: &Derived,
        definition: &TableDefinition,
        origins: &[Option<usize>],
    ) -> Result<TableSchema> {
        let before = def.table.schema();
        let mut next = def.table.next_column_id();
        let fixed = fixed_columns(def, &before);
        let mut columns: Vec<StoredColumn> = Vec::with_capacity(origins.len());
        for (at, origin) in origins.iter().enumerate() {
            let target = &derived.targets[at];
            columns.push(match *origin {
                Some(old) => {
                    let is_fixed = fixed.contains(&old);
                    convert::check(&def.targets[old], target, is_fixed)?;
                    if def.targets[old].ty.is_nullable() && !target.ty.is_nullable() {
                        self.check_no_nulls(def, old)?;
                    }
                    StoredColumn { ty: target.ty, ..before.columns[old].clone() }
                }
                None => {
                    let filler = self.filler(derived, definition, at)?;
                    next += 1;
                    StoredColumn { id: next - 1, ty: target.ty, filler }
                }
            });
        }
        let schema = TableSchema {
            columns,
            key: derived.key.clone(),
            segment: super::partition::segment(definition, &derived.targets, def.mode)?,
            history: super::types::history(definition)?,
        };
        let ids = |schema: &TableSchema| -> Vec<u32> {
            schema.key.iter().map(|&at| schema.columns[at].id).collect()
        };
        if ids(&before) != ids(&schema) {
            return Err(Error::unsupported("ALTER TABLE of the primary key of a native table"));
        }
        Ok(schema)
    }

    /// What rows have in a new column; `None` is NULL.
    fn filler(
        &self,
        derived: &Derived,
        definition: &TableDefinition,
        at: usize,
    ) -> Result<Option<Vec<u8>>> {
        let (target, column) = (&derived.targets[at], &definition.columns[at]);
        if column.auto_increment {
            return Err(Error::unsupported(format_args!(
                "ALTER TABLE ADD COLUMN '{}' AUTO_INCREMENT",
                column.name
            )));
        }
        let value = match &derived.defaults[at] {
            DefaultValue::None => derived.implicit[at].clone(),
            DefaultValue::Constant(value) => value.clone(),
            DefaultValue::CurrentTimestamp(digits) => {
                let is_timestamp = target.ty.wire == pelorus_types::WireType::Timestamp;
                let zone = match is_timestamp {
                    true => 0,
                    false => self.context.time_zone.offset_seconds(),
                };
                Value::Date(moment(self.context.now_micros, zone, *digits))
            }
            DefaultValue::Expression(_) => {
                return Err(Error::unsupported(format_args!(
                    "ALTER TABLE ADD COLUMN '{}' with an expression as default",
                    column.name
                )));
            }
        };
        if value.is_null() {
            return Ok(None);
        }
        filler::encode(&array_of(&value, &target.ty)?).map(Some)
    }
}

/// A moment as a packed DATETIME with so many digits behind the seconds.
fn moment(micros: i64, zone: i64, digits: u32) -> i64 {
    let step = 10_i64.pow(6_u32.saturating_sub(digits));
    let cut = micros - micros.rem_euclid(step);
    let epoch = DateTime::date(1970, 1, 1);
    epoch.plus_micros(cut.saturating_add(zone * 1_000_000)).map_or(0, |it| it.pack())
}

/// Columns whose bytes decide where rows are: those of the primary key, of partitions and segments.
fn fixed_columns(def: &NativeDef, schema: &TableSchema) -> Vec<usize> {
    let mut out = def.key.clone();
    out.extend(def.partitioner.columns());
    out.extend(schema.segment.iter().map(|function| function.column));
    out
}

/// Whether texts mean the same in two modes.
fn same_reading(a: pelorus_sql::Mode, b: pelorus_sql::Mode) -> bool {
    pelorus_sql::Mode { version: 0, ..a } == pelorus_sql::Mode { version: 0, ..b }
}

/// Whether an action has an expression that is kept as text.
fn brings_text(action: &AlterAction) -> bool {
    match action {
        AlterAction::AddColumn { column, .. }
        | AlterAction::ModifyColumn { column, .. }
        | AlterAction::ChangeColumn { column, .. } => column.default.is_some(),
        AlterAction::ColumnDefault(_, default) => default.is_some(),
        AlterAction::AddCheck(_) | AlterAction::AddPartitions(_) => true,
        AlterAction::ReorganizePartitions { .. } | AlterAction::AddKey(_) => true,
        _ => false,
    }
}

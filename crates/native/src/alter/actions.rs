//! Applies the actions of an `ALTER TABLE` to a table definition.

use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::Policy;
use pelorus_sql::ast::Expr;
use pelorus_sql::ddl::{
    AlterAction, Base, CheckDefinition, ColumnDefault, ColumnDefinition, ForeignKey, KeyDefinition,
    KeyKind, KeyTarget, PartitionMethod, Place, TableDefinition, TableOption,
};
use pelorus_sql::statement::TableName;
use pelorus_store::COLUMNS_MAX;

use super::partitions::not_partitioned;
use crate::check::{blob_default, duplicate_column, duplicate_key_name, is_blob, too_many_columns};
use crate::ddl::Definer;
use crate::definition::{NativeDef, table_collation};
use crate::hidden::is_hidden;
use crate::{constraints, partition, types};

/// A definition on its way.
#[derive(Debug)]
pub(super) struct Draft<'d> {
    definer: &'d Definer,
    pub(super) def: &'d NativeDef,
    pub(super) definition: TableDefinition,
    /// Where each column comes from; `None` is new.
    pub(super) origins: Vec<Option<usize>>,
    /// `RENAME TO`
    pub(super) renamed: Option<TableName>,
    /// `PARTITION BY` or `REMOVE PARTITIONING`, for which MySQL copies rows.
    pub(super) repartitions: bool,
    /// Columns that this statement says can be NULL.
    written_null: Vec<String>,
}

impl<'d> Draft<'d> {
    pub(super) fn new(definer: &'d Definer, def: &'d NativeDef) -> Self {
        let definition = def.definition.clone();
        let origins = (0..definition.columns.len()).map(Some).collect();
        let (renamed, repartitions, written_null) = (None, false, Vec::new());
        Self { definer, def, definition, origins, renamed, repartitions, written_null }
    }

    /// Executes one action, in its turn (`order`).
    ///
    /// # Errors
    /// Objects that do not exist, or exist already; 1235 for what native tables do not do.
    pub(super) fn apply(&mut self, action: &AlterAction) -> Result<()> {
        match action {
            AlterAction::AddColumn { if_not_exists, column, place } => {
                self.add_column(column, place.as_ref(), *if_not_exists)
            }
            AlterAction::DropColumn { if_exists, name } => self.drop_column(name, *if_exists),
            AlterAction::ModifyColumn { if_exists: true, column, .. }
                if self.is_missing(&column.name) =>
            {
                Ok(())
            }
            AlterAction::ChangeColumn { if_exists: true, from, .. } if self.is_missing(from) => {
                Ok(())
            }
            AlterAction::ModifyColumn { column, place, .. } => {
                self.change_column(&column.name, column, place.as_ref())
            }
            AlterAction::ChangeColumn { from, column, place, .. } => {
                self.change_column(from, column, place.as_ref())
            }
            // Its name has changed before.
            AlterAction::RenameColumn(..) => Ok(()),
            AlterAction::ColumnDefault(name, default) => self.set_default(name, default.as_ref()),
            AlterAction::ColumnVisible(name, visible) => {
                let at = self.column_that_was(name)?;
                self.definition.columns[at].invisible = !visible;
                Ok(())
            }
            AlterAction::Option(option) => self.option(option),
            AlterAction::Rename(to) => {
                self.renamed = Some(to.clone());
                Ok(())
            }
            AlterAction::Convert { charset, collation } => {
                self.convert(charset.as_deref(), collation.as_deref())
            }
            other => self.key_action(other),
        }
    }

    fn key_action(&mut self, action: &AlterAction) -> Result<()> {
        match action {
            AlterAction::AddKey(key) => self.add_key(key),
            AlterAction::AddForeignKey(key) => {
                self.add_foreign_key(key);
                Ok(())
            }
            AlterAction::AddCheck(check) => {
                self.add_check(check);
                Ok(())
            }
            AlterAction::DropPrimaryKey => self.drop_primary_key(),
            AlterAction::DropKey { if_exists, name } => self.drop_key(name, *if_exists),
            AlterAction::DropForeignKey(name) => self.drop_foreign_key(name),
            AlterAction::DropCheck(name) => self.drop_check(name),
            AlterAction::AlterCheck(name, enforced) => {
                let is = |known: &str| known.eq_ignore_ascii_case(name);
                let mut checks = self.definition.checks.iter_mut();
                let check = checks.find(|check| is(constraints::check_name(check)));
                check.ok_or_else(|| unknown_check(name))?.enforced = *enforced;
                Ok(())
            }
            AlterAction::DropConstraint(name) => self.drop_constraint(name),
            AlterAction::RenameKey(from, to) => self.rename_key(from, to),
            AlterAction::KeyVisible(name, visible) => {
                let at = self.key(name)?;
                self.definition.keys[at].invisible = !visible;
                Ok(())
            }
            AlterAction::PartitionBy(partitioning) => {
                let mut partitioning = partitioning.as_ref().clone();
                partition::settle(&mut partitioning, self.def.mode, &self.definer.context)?;
                self.definition.partitioning = Some(partitioning);
                self.repartitions = true;
                Ok(())
            }
            AlterAction::RemovePartitioning => {
                if self.definition.partitioning.take().is_none() {
                    return Err(not_partitioned());
                }
                self.repartitions = true;
                Ok(())
            }
            AlterAction::SegmentBy(functions) => {
                self.definition.segment_by.clone_from(functions);
                Ok(())
            }
            other => self.without_effect(other),
        }
    }

    /// Actions without effect on columnar rows, and refused ones.
    fn without_effect(&self, action: &AlterAction) -> Result<()> {
        let name = &self.def.name;
        match action {
            AlterAction::Force
            | AlterAction::Algorithm(_)
            | AlterAction::Lock(_)
            | AlterAction::Validation(_) => Ok(()),
            AlterAction::OrderBy(_) => {
                let text = format!(
                    "ORDER BY ignored as there is a user-defined clustered index in the table \
                     '{name}'"
                );
                self.definer.diagnostics.warn(1105, text);
                Ok(())
            }
            AlterAction::EnableKeys(_) => {
                let text = format!("Table storage engine for '{name}' doesn't have this option");
                self.definer.diagnostics.note(1031, text);
                Ok(())
            }
            AlterAction::ImportTablespace(imports) => {
                let word = if *imports { "IMPORT" } else { "DISCARD" };
                Err(Error::unsupported(format_args!(
                    "ALTER TABLE ... {word} TABLESPACE of a native table"
                )))
            }
            other => {
                let words = format!("{other:?}");
                let end = words.find([' ', '(', '{']).unwrap_or(words.len());
                Err(Error::unsupported(format_args!(
                    "ALTER TABLE ... {} of a native table",
                    spaced(&words[..end])
                )))
            }
        }
    }

    /// Whether a column of `IF EXISTS` is not there, of which a note is left.
    fn is_missing(&self, name: &str) -> bool {
        let Err(error) = self.column_that_was(name) else { return false };
        self.note(&error);
        true
    }

    fn note(&self, error: &Error) {
        self.definer.diagnostics.note(error.errno(), error.message());
    }

    /// The position of a column, or error 1054.
    fn column(&self, name: &str) -> Result<usize> {
        let mut columns = self.definition.columns.iter();
        columns
            .position(|it| it.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| self.unknown_column(name))
    }

    fn add_column(
        &mut self,
        column: &ColumnDefinition,
        place: Option<&Place>,
        if_not_exists: bool,
    ) -> Result<()> {
        if self.column(&column.name).is_ok() {
            let error = duplicate_column(&column.name);
            if if_not_exists {
                self.definer.diagnostics.note(error.errno(), error.message());
                return Ok(());
            }
            return Err(error);
        }
        // Columns that go have gone before: there will be no fewer.
        if self.definition.columns.len() >= COLUMNS_MAX {
            return Err(too_many_columns());
        }
        if column.primary && self.has_primary_key() {
            return Err(multiple_primary_keys());
        }
        let column = self.settled(column)?;
        let at = match place {
            None => self.definition.columns.len(),
            Some(Place::First) => 0,
            Some(Place::After(name)) => self.column(name)? + 1,
        };
        self.definition.columns.insert(at, column);
        self.definition.take_references();
        self.origins.insert(at, None);
        Ok(())
    }

    /// A column with its default in universal time. Copies have whatever their sources have.
    fn settled(&mut self, column: &ColumnDefinition) -> Result<ColumnDefinition> {
        let mut column = column.clone();
        if column.nullable == Some(true) {
            self.written_null.push(column.name.clone());
        }
        types::restore_json(&mut column);
        if !is_hidden(&self.def.database) {
            self.check_date(&column)?;
            self.definer.check_members(&column, table_collation(&self.definition)?)?;
        }
        self.definer.settle_default(&mut column, self.def.collation, self.def.mode)?;
        Ok(column)
    }

    /// Completes the TIMESTAMP columns that the statement defines where
    /// `explicit_defaults_for_timestamp` is off.
    ///
    /// # Errors
    /// The zero that is a default where `sql_mode` has none (1067).
    pub(super) fn imply_timestamps(&mut self) -> Result<()> {
        let before = &self.def.definition.columns;
        let columns = self.definition.columns.iter().zip(&self.origins);
        let is_new: Vec<bool> = columns
            .map(|(column, origin)| origin.is_none_or(|old| before[old] != *column))
            .collect();
        types::imply_timestamps(&mut self.definition.columns, |at| is_new[at], self.def.mode);
        let columns = self.definition.columns.iter().zip(is_new);
        columns.filter(|(_, is_new)| *is_new).try_for_each(|(column, _)| self.check_date(column))
    }

    /// Refuses a default that is a date which the session's `sql_mode` does not have. Defaults that
    /// were there before stay.
    fn check_date(&self, column: &ColumnDefinition) -> Result<()> {
        let base = column.data_type.base;
        let is_date = matches!(base, Base::Date | Base::DateTime | Base::Timestamp);
        if !is_date {
            return Ok(());
        }
        let (_, target) = types::column(&self.def.name, column, self.def.collation)?;
        types::constant_under(column, &target, self.def.mode, &self.definer.policy()).map(drop)
    }

    fn drop_column(&mut self, name: &str, if_exists: bool) -> Result<()> {
        let Ok(at) = self.column_that_was(name) else {
            let text = format!("Can't DROP '{name}'; check that column/key exists");
            if if_exists {
                self.definer.diagnostics.note(Code::CannotDropColumnOrKey.errno(), text);
                return Ok(());
            }
            return Err(Error::new(Code::CannotDropColumnOrKey, text));
        };
        self.check_not_placing(name, "DROP COLUMN")?;
        self.check_not_referring(name)?;
        self.check_not_computed_of(name)?;
        self.definition.columns.remove(at);
        self.origins.remove(at);
        // A column leaves the keys that hold it; keys of nothing are gone.
        for key in &mut self.definition.keys {
            key.parts.retain(|part| {
                !matches!(&part.target, KeyTarget::Column(it) if it.eq_ignore_ascii_case(name))
            });
        }
        self.definition.keys.retain(|key| !key.parts.is_empty());
        // So does a CHECK of nothing else.
        self.definition.checks.retain(|check| {
            let names = constraints::names(&check.expression.tree);
            names.is_empty() || !names.iter().all(|it| it.eq_ignore_ascii_case(name))
        });
        Ok(())
    }

    /// Refuses to drop a column of a foreign key.
    fn check_not_referring(&self, name: &str) -> Result<()> {
        let holds =
            |key: &&ForeignKey| key.columns.iter().any(|column| column.eq_ignore_ascii_case(name));
        let Some(key) = self.definition.foreign_keys.iter().find(holds) else { return Ok(()) };
        let constraint = key.name.as_deref().unwrap_or_default();
        let text = format!(
            "Cannot drop column '{name}': needed in a foreign key constraint '{constraint}'"
        );
        Err(Error::new(Code::ForeignKeyNeedsColumn, text))
    }

    /// Refuses to touch the name of a column that a key computes its parts of.
    pub(super) fn check_not_computed_of(&self, name: &str) -> Result<()> {
        let parts = self.definition.keys.iter().flat_map(|key| &key.parts);
        let names = parts.flat_map(|part| match &part.target {
            KeyTarget::Expression(expression) => constraints::names(&expression.tree),
            KeyTarget::Column(_) => Vec::new(),
        });
        if names.into_iter().any(|it| it.eq_ignore_ascii_case(name)) {
            let text = format!(
                "Column '{name}' has a functional index dependency and cannot be dropped or renamed."
            );
            return Err(Error::new(Code::DependsOnFunctionalKey, text));
        }
        Ok(())
    }

    /// Refuses to touch the name of a column that partitions or segments are made of.
    pub(super) fn check_not_placing(&self, name: &str, what: &str) -> Result<()> {
        let Some(at) = self.def.position(name) else { return Ok(()) };
        let schema = self.def.table.schema();
        let is_same = self.definition.partitioning == self.def.definition.partitioning;
        let is_named = self.definition.partitioning.as_ref().is_some_and(
            |it| !matches!(&it.method, PartitionMethod::Key { columns, .. } if columns.is_empty()),
        );
        if is_same && is_named && self.def.partitioner.columns().contains(&at) {
            let text = format!(
                "Column '{name}' has a partitioning function dependency and cannot be dropped or \
                 renamed."
            );
            return Err(Error::new(Code::DependsOnPartitioning, text));
        }
        let is_same = self.definition.segment_by == self.def.definition.segment_by;
        if is_same && schema.segment.iter().any(|function| function.column == at) {
            return Err(Error::unsupported(format_args!(
                "ALTER TABLE ... {what} '{name}', which SEGMENT BY uses"
            )));
        }
        Ok(())
    }

    fn change_column(
        &mut self,
        from: &str,
        column: &ColumnDefinition,
        place: Option<&Place>,
    ) -> Result<()> {
        let at = self.column_that_was(from)?;
        let mut new = self.settled(column)?;
        if new.primary && self.has_primary_key() {
            return Err(multiple_primary_keys());
        }
        if new.nullable.is_none() && self.is_primary(&new.name) {
            new.nullable = Some(false);
        }
        self.definition.columns[at] = new;
        let Some(place) = place else { return Ok(()) };
        let column = self.definition.columns.remove(at);
        let origin = self.origins.remove(at);
        let to = match place {
            Place::First => 0,
            Place::After(name) => self.column(name)? + 1,
        };
        self.definition.columns.insert(to, column);
        self.origins.insert(to, origin);
        Ok(())
    }

    fn has_primary_key(&self) -> bool {
        let mut keys = self.definition.keys.iter();
        keys.any(|key| key.kind == KeyKind::Primary)
            || self.definition.columns.iter().any(|column| column.primary)
    }

    fn drop_primary_key(&mut self) -> Result<()> {
        if !self.has_primary_key() {
            return self.missing("PRIMARY", false);
        }
        self.definition.keys.retain(|key| key.kind != KeyKind::Primary);
        Ok(())
    }

    fn is_primary(&self, name: &str) -> bool {
        let mut keys = self.definition.keys.iter();
        keys.any(|key| key.kind == KeyKind::Primary && key.holds(name))
    }

    fn set_default(&mut self, name: &str, default: Option<&ColumnDefault>) -> Result<()> {
        let at = self.column_that_was(name)?;
        let mut column = self.definition.columns[at].clone();
        if default.is_some() && column.generated.is_some() {
            return Err(constraints::not_of_generated("DEFAULT"));
        }
        if matches!(default, Some(ColumnDefault::Literal(_)))
            && is_blob(column.data_type.base)
            && !is_hidden(&self.def.database)
        {
            // Not even NULL, which they have as a default where nothing is said.
            return Err(blob_default(&column.name));
        }
        let is_dropped = default.is_none() && column.nullable == Some(true);
        column.default = match is_dropped && column.generated.is_none() {
            true => Some(ColumnDefault::Dropped),
            false => default.map(as_literal),
        };
        if matches!(default, Some(ColumnDefault::Expression(_))) {
            // A literal in parentheses is looked at strictly in every mode.
            let (_, target) = types::column(&self.def.name, &column, self.def.collation)?;
            let strict = Policy { strict: true, ..self.definer.policy() };
            types::constant_under(&column, &target, self.def.mode, &strict)?;
        }
        self.definition.columns[at] = self.settled(&column)?;
        Ok(())
    }

    fn option(&mut self, option: &TableOption) -> Result<()> {
        if option.name == "ENGINE" {
            // The engine stays; MySQL rebuilds the table and nothing else.
            return Ok(());
        }
        let was = self.def.collation;
        if matches!(option.name.as_str(), "CHARSET" | "COLLATE") {
            let (charset, name) = match option.name.as_str() {
                "CHARSET" => (Some(option.value.as_str()), None),
                _ => (None, Some(option.value.as_str())),
            };
            let new = types::collation_of(charset, name, was)?;
            return self.use_collation(new, false);
        }
        self.definition.options.retain(|other| other.name != option.name);
        self.definition.options.push(option.clone());
        Ok(())
    }

    fn convert(&mut self, charset: Option<&str>, collation: Option<&str>) -> Result<()> {
        let new = types::collation_of(charset, collation, self.def.collation)?;
        self.use_collation(new, true)?;
        if is_hidden(&self.def.database) {
            return Ok(());
        }
        let mut columns = self.definition.columns.iter();
        columns.try_for_each(|column| self.definer.check_members(column, new))
    }

    /// Gives the table another default collation. Columns that are not converted keep theirs and
    /// say so from now on.
    fn use_collation(&mut self, new: pelorus_types::Collation, convert: bool) -> Result<()> {
        let was = self.def.collation;
        for (column, origin) in self.definition.columns.iter_mut().zip(&self.origins) {
            let data_type = &mut column.data_type;
            if !data_type.base.is_text() {
                continue;
            }
            if convert {
                let old =
                    origin.map(|at| (&self.def.definition.columns[at], &self.def.targets[at]));
                if let Some((before, target)) = old
                    && before.data_type == *data_type
                    && target.ty.collation.bytes_per_char() < new.bytes_per_char()
                {
                    data_type.base = with_room(data_type.base);
                }
                // What a column says itself it goes on to say.
                if data_type.charset.is_some() || data_type.collation.is_some() {
                    data_type.charset = Some(new.charset().to_owned());
                    data_type.collation = Some(new.name());
                }
            } else if data_type.charset.is_none() && data_type.collation.is_none() && new != was {
                data_type.charset = Some(was.charset().to_owned());
                data_type.collation = Some(was.name());
            }
        }
        let option =
            |name: &str, value: String| TableOption { name: name.to_owned(), value, quoted: false };
        let options = &mut self.definition.options;
        options.retain(|option| !matches!(option.name.as_str(), "CHARSET" | "COLLATE"));
        options.push(option("CHARSET", new.charset().to_owned()));
        options.push(option("COLLATE", new.name()));
        Ok(())
    }

    /// The position of a key, or error 1176.
    fn key(&self, name: &str) -> Result<usize> {
        let mut keys = self.definition.keys.iter();
        let same = |key: &KeyDefinition| {
            key.name.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(name))
        };
        keys.position(same).ok_or_else(|| {
            let text = format!("Key '{name}' doesn't exist in table '{}'", self.def.name);
            Error::new(Code::NoSuchKey, text)
        })
    }

    fn add_key(&mut self, key: &KeyDefinition) -> Result<()> {
        if key.kind == KeyKind::Primary {
            if self.has_primary_key() {
                return self.there_already(key.if_not_exists, multiple_primary_keys());
            }
            self.forbid_nulls(key);
        }
        // With IF NOT EXISTS, a key without a name is meant by that of its first column.
        let first = match key.parts.first().map(|part| &part.target) {
            Some(KeyTarget::Column(name)) if key.if_not_exists && key.kind != KeyKind::Primary => {
                Some(name)
            }
            _ => None,
        };
        if let Some(name) = key.name.as_ref().or(first)
            && self.key(name).is_ok()
        {
            return self.there_already(key.if_not_exists, duplicate_key_name(name));
        }
        self.definition.keys.push(key.clone());
        Ok(())
    }

    /// An object to be added exists: an error, or a note under IF NOT EXISTS.
    fn there_already(&self, if_not_exists: bool, error: Error) -> Result<()> {
        if !if_not_exists {
            return Err(error);
        }
        self.note(&error);
        Ok(())
    }

    fn add_foreign_key(&mut self, key: &ForeignKey) {
        let name = key.name.as_ref().or(key.index.as_ref()).filter(|_| key.if_not_exists);
        let mut known = self.definition.foreign_keys.iter().filter_map(|it| it.name.as_ref());
        match name.filter(|name| known.any(|it| it.eq_ignore_ascii_case(name))) {
            Some(name) => self.note(&duplicate_key_name(name)),
            None => self.definition.add_foreign_key(key.clone()),
        }
    }

    fn add_check(&mut self, check: &CheckDefinition) {
        let name = check.name.as_ref().filter(|_| check.if_not_exists);
        let mut known = self.definition.checks.iter().filter_map(|it| it.name.as_ref());
        match name.filter(|name| known.any(|it| it.eq_ignore_ascii_case(name))) {
            Some(name) => {
                let text = format!("Duplicate CHECK constraint name '{name}'");
                self.definer.diagnostics.note(1826, text);
            }
            None => self.definition.checks.push(check.clone()),
        }
    }

    /// Columns that become part of the primary key can be NULL no longer; those of which this statement
    /// says so are refused with the definition (1171).
    fn forbid_nulls(&mut self, key: &KeyDefinition) {
        for column in self.definition.columns.iter_mut().filter(|it| key.holds(&it.name)) {
            let is_null = matches!(&column.default, Some(ColumnDefault::Literal(literal))
                if literal.text.eq_ignore_ascii_case("NULL"));
            if !self.written_null.iter().any(|name| name.eq_ignore_ascii_case(&column.name)) {
                column.nullable = Some(false);
            }
            column.default = column.default.take().filter(|_| !is_null);
        }
    }

    fn drop_key(&mut self, name: &str, if_exists: bool) -> Result<()> {
        if name.eq_ignore_ascii_case("PRIMARY") {
            return self.drop_primary_key();
        }
        match self.key(name) {
            Ok(at) => {
                self.definition.keys.remove(at);
                Ok(())
            }
            Err(_) => self.missing(name, if_exists),
        }
    }

    /// Error 1091, or a note.
    fn missing(&self, name: &str, if_exists: bool) -> Result<()> {
        let text = format!("Can't DROP '{name}'; check that column/key exists");
        if if_exists {
            self.definer.diagnostics.note(Code::CannotDropColumnOrKey.errno(), text);
            return Ok(());
        }
        Err(Error::new(Code::CannotDropColumnOrKey, text))
    }

    fn drop_foreign_key(&mut self, name: &str) -> Result<()> {
        let is = |known: Option<&str>| known.is_some_and(|it| it.eq_ignore_ascii_case(name));
        let before = self.definition.foreign_keys.len();
        self.definition.foreign_keys.retain(|key| !is(key.name.as_deref()));
        let gone = self.definition.foreign_keys.len() < before;
        if gone { Ok(()) } else { self.missing(name, false) }
    }

    fn drop_check(&mut self, name: &str) -> Result<()> {
        let is = |known: Option<&str>| known.is_some_and(|it| it.eq_ignore_ascii_case(name));
        let before = self.definition.checks.len();
        self.definition.checks.retain(|check| !is(check.name.as_deref()));
        if self.definition.checks.len() < before {
            return Ok(());
        }
        Err(unknown_check(name))
    }

    fn drop_constraint(&mut self, name: &str) -> Result<()> {
        if self.drop_foreign_key(name).is_ok() || self.drop_check(name).is_ok() {
            return Ok(());
        }
        if name.eq_ignore_ascii_case("PRIMARY") || self.key(name).is_ok() {
            return self.drop_key(name, false);
        }
        Err(Error::new(Code::NoSuchConstraint, format!("Constraint '{name}' does not exist.")))
    }

    fn rename_key(&mut self, from: &str, to: &str) -> Result<()> {
        let at = self.key(from)?;
        if !from.eq_ignore_ascii_case(to) && self.key(to).is_ok() {
            return Err(duplicate_key_name(to));
        }
        self.definition.keys[at].name = Some(to.to_owned());
        Ok(())
    }
}

/// The TEXT type that holds as many characters of a charset that takes more bytes for them.
fn with_room(base: Base) -> Base {
    match base {
        Base::TinyText => Base::Text,
        Base::Text => Base::MediumText,
        Base::MediumText => Base::LongText,
        other => other,
    }
}

/// A default of `ALTER COLUMN ... SET DEFAULT`: a literal is one in parentheses, too.
fn as_literal(default: &ColumnDefault) -> ColumnDefault {
    match default {
        ColumnDefault::Expression(it) if matches!(*it.tree, Expr::Value(_)) => {
            ColumnDefault::Literal(it.clone())
        }
        other => other.clone(),
    }
}

/// Error 3821.
fn unknown_check(name: &str) -> Error {
    let text = format!("Check constraint '{name}' is not found in the table.");
    Error::new(Code::NoSuchCheck, text)
}

/// Error 1068.
fn multiple_primary_keys() -> Error {
    Error::new(Code::MultiplePrimaryKeys, "Multiple primary key defined")
}

/// `RemovePartitioning` as `REMOVE PARTITIONING`.
fn spaced(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.push(letter.to_ascii_uppercase());
    }
    out
}

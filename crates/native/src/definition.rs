//! One native table: its definition, and everything that statements need of it, derived once.
//!
//! The store keeps a definition as bytes: the database's name, a zero byte, the table's name, a
//! zero byte, the words of `sql_mode` under which the text is to be read, a zero byte, and the
//! `CREATE TABLE` text. Columns of the definition and of the store's schema stand in one order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::Target;
use pelorus_functions::{TimeZone, Value};
use pelorus_sql::Mode;
use pelorus_sql::ddl::{
    Base, ColumnDefault, ColumnDefinition, Expression, KeyDefinition, KeyKind, KeyTarget, Shown,
    TableDefinition, TableStatement, show_create_table,
};
use pelorus_sql::literal::on_one_line;
use pelorus_store::{StoredColumn, Table, TableId, TableSchema};
use pelorus_types::{Collation, Column, Flags, WireType, collation};

use super::default_text::default_text;
use super::partition::Partitioner;
use super::{row_id, types};
use crate::hidden::is_hidden;

/// The engine that native tables name.
pub(crate) const ENGINE: &str = "Pelorus";

/// The database of tables that are being made to take the place of others: no database has this name.
pub(crate) const NOWHERE: &str = "";

/// The default value of a column.
#[derive(Clone, Debug)]
pub enum DefaultValue {
    /// NOT NULL without a default, or a default that was dropped: error 1364, or the implicit one in
    /// a lenient mode.
    None,
    /// A constant in stored form; NULL is one.
    Constant(Value),
    /// The moment of the statement, with so many digits after the seconds.
    CurrentTimestamp(u32),
    /// Computed for each row.
    Expression(Expression),
}

/// The AUTO_INCREMENT column.
#[derive(Clone, Debug)]
pub(crate) struct AutoIncrement {
    /// Its position.
    pub(crate) column: usize,
    /// The next number, shared by all definitions of the table. A statement that takes numbers
    /// persists the new one under [`NativeDef::auto_key`] with its commit.
    pub(crate) next: Arc<AtomicU64>,
}

/// A native table.
#[derive(Debug)]
pub struct NativeDef {
    /// The database.
    pub(crate) database: String,
    /// The name.
    pub(crate) name: String,
    /// How texts in the definition are to be read.
    pub(crate) mode: Mode,
    /// The definition in normal form.
    pub definition: TableDefinition,
    /// The collation of columns that name none.
    pub(crate) collation: Collation,
    /// The columns as clients see them.
    pub columns: Vec<Column>,
    /// The columns as targets of assignments; their types are those of the store.
    pub targets: Vec<Target>,
    /// Defaults by column.
    pub defaults: Vec<DefaultValue>,
    /// The implicit default values by column, in stored form.
    pub implicit: Vec<Value>,
    /// `ON UPDATE CURRENT_TIMESTAMP` by column: the digits after the seconds.
    pub(crate) on_update: Vec<Option<u32>>,
    /// Columns that `*` leaves out.
    pub(crate) invisible: Vec<bool>,
    /// The AUTO_INCREMENT column.
    pub(crate) auto: Option<AutoIncrement>,
    /// Positions of the primary key's columns, in the order of the key.
    pub key: Vec<usize>,
    /// Where rows go.
    pub partitioner: Arc<Partitioner>,
    /// The store's number of the table.
    pub id: TableId,
    /// The table in the store.
    pub(crate) table: Arc<Table>,
    /// Which of the table's generations this describes.
    pub generation: u64,
    /// The store's schema of that generation; the table's own may be newer.
    pub(crate) schema: TableSchema,
}

/// Data derived from a definition before the table exists.
#[derive(Debug)]
pub struct Derived {
    pub(crate) collation: Collation,
    pub(crate) columns: Vec<Column>,
    pub targets: Vec<Target>,
    pub(crate) defaults: Vec<DefaultValue>,
    pub(crate) implicit: Vec<Value>,
    pub(crate) key: Vec<usize>,
    pub(crate) partitioner: Partitioner,
}

impl Derived {
    /// Derives what statements need of a definition in normal form.
    ///
    /// # Errors
    /// MySQL's errors in a type, a default, a key or the partitioning.
    pub fn of(database: &str, definition: &TableDefinition, mode: Mode) -> Result<Self> {
        let collation = table_collation(definition)?;
        let mut columns = Vec::new();
        let mut targets = Vec::new();
        let mut defaults = Vec::new();
        let mut implicit = Vec::new();
        for column in &definition.columns {
            if database != NOWHERE && !is_hidden(database) {
                types::check_own(column)?;
            }
            let (client, mut target) = types::column(&definition.name.name, column, collation)?;
            let flags = key_flags(definition, column);
            target.ty.flags = target.ty.flags.with(flags);
            let default = types::default_value(column, &target, mode)?;
            let mut ty = client;
            ty.flags = ty.flags.with(flags);
            if matches!(default, DefaultValue::None) && !column.auto_increment {
                ty.flags = ty.flags.with(Flags::NO_DEFAULT);
            }
            implicit.push(match &column.default {
                Some(ColumnDefault::Dropped) if column.nullable != Some(false) => Value::Null,
                _ => types::implicit(&target)?,
            });
            columns.push(Column {
                schema: database.to_owned(),
                table: definition.name.name.clone(),
                org_table: definition.name.name.clone(),
                name: column.name.clone(),
                org_name: column.name.clone(),
                ty,
            });
            targets.push(target);
            defaults.push(default);
        }
        let key = primary_key(definition)?;
        let partitioner = Partitioner::of(definition, &targets, &key, mode)?;
        Ok(Self { collation, columns, targets, defaults, implicit, key, partitioner })
    }

    /// The schema of a new table.
    pub(crate) fn schema(&self, definition: &TableDefinition, mode: Mode) -> Result<TableSchema> {
        let column = |(id, target): (usize, &Target)| -> Result<StoredColumn> {
            let id = u32::try_from(id)
                .map_err(|_| Error::new(Code::TooManyColumns, "Too many columns"))?;
            Ok(StoredColumn { id, ty: target.ty, filler: None })
        };
        Ok(TableSchema {
            columns: self.targets.iter().enumerate().map(column).collect::<Result<_>>()?,
            key: self.key.clone(),
            segment: super::partition::segment(definition, &self.targets, mode)?,
            history: types::history(definition)?,
        })
    }
}

impl NativeDef {
    /// Puts a definition and a table of the store together.
    ///
    /// # Errors
    /// A definition that does not fit the store's columns.
    pub(crate) fn new(
        database: &str,
        definition: TableDefinition,
        mode: Mode,
        table: Arc<Table>,
        next: Option<Arc<AtomicU64>>,
    ) -> Result<Self> {
        let derived = Derived::of(database, &definition, mode)?;
        let (stored, generation) = (table.schema(), table.generation());
        let fits = stored.columns.len() == derived.targets.len()
            && stored
                .columns
                .iter()
                .zip(&derived.targets)
                .all(|(column, target)| column.ty.arrow() == target.ty.arrow());
        if !fits {
            let name = &definition.name.name;
            return Err(Error::new(
                Code::FileDamaged,
                format!("the definition of table '{database}.{name}' does not fit its columns"),
            ));
        }
        let auto = definition.columns.iter().position(|column| column.auto_increment);
        let auto = auto.map(|column| AutoIncrement {
            column,
            next: next.unwrap_or_else(|| Arc::new(AtomicU64::new(1))),
        });
        Ok(Self {
            database: database.to_owned(),
            name: definition.name.name.clone(),
            mode,
            collation: derived.collation,
            columns: derived.columns,
            targets: derived.targets,
            defaults: derived.defaults,
            implicit: derived.implicit,
            on_update: definition.columns.iter().map(|column| column.on_update).collect(),
            invisible: definition.columns.iter().map(|column| column.invisible).collect(),
            auto,
            key: derived.key,
            partitioner: Arc::new(derived.partitioner),
            id: table.id(),
            table,
            generation,
            schema: stored,
            definition,
        })
    }

    /// The identity of the table for which the changes of a commit were made.
    pub(crate) fn made_for(&self) -> (TableId, u64) {
        (self.id, self.generation)
    }

    /// The position of a column, in any case.
    pub(crate) fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|it| it.name.eq_ignore_ascii_case(column))
    }

    /// Where the store keeps the next AUTO_INCREMENT number of a table: eight bytes, little-endian.
    pub(crate) fn auto_key(id: TableId) -> Vec<u8> {
        format!("auto/{}", id.0).into_bytes()
    }

    /// Whether the table's first column and its primary key are a row number that was made for it
    /// and that the session does not want to see.
    pub(super) fn hides_row_id(&self, shows_row_id: bool) -> bool {
        !shows_row_id && row_id::is_made(&self.definition)
    }

    /// The keys, but for that of a row number if it is hidden.
    pub(super) fn keys_shown(&self, hides_row_id: bool) -> impl Iterator<Item = &KeyDefinition> {
        let is_shown = move |key: &&KeyDefinition| !hides_row_id || key.kind != KeyKind::Primary;
        self.definition.keys.iter().filter(is_shown)
    }

    /// `SHOW CREATE TABLE` in a time zone, which is that of TIMESTAMPs, without a row number that was
    /// made for the table if it is hidden.
    pub(crate) fn create_text(&self, zone: TimeZone, hides_row_id: bool) -> String {
        let next = self.auto.as_ref().map(|auto| auto.next.load(Ordering::Relaxed));
        let mut definition = self.definition.clone();
        for (at, column) in definition.columns.iter_mut().enumerate() {
            // As MySQL does: the value that is stored, as a string.
            let ty = &self.targets[at].ty;
            if let Some(ColumnDefault::Literal(literal)) = &mut column.default {
                let text = default_text(self, at, zone);
                literal.text = match (&self.defaults[at], text) {
                    (DefaultValue::Constant(Value::Bytes(bytes)), _) => {
                        bytes_literal(bytes, self.mode)
                    }
                    (_, Some(text)) if ty.wire == WireType::Bit => text,
                    (_, Some(text)) => on_one_line(&text, self.mode),
                    (_, None) => continue,
                };
            }
        }
        definition.print_expressions(self.mode);
        let is_default = Collation::default_of(self.collation.charset()) == Some(self.collation);
        for (column, target) in definition.columns.iter_mut().zip(&self.targets) {
            let (data_type, collation) = (&mut column.data_type, target.ty.collation);
            // What the column does not say itself is the table's, which goes without saying where it
            // is the default of its charset.
            let is_said = data_type.charset.is_some() || data_type.collation.is_some();
            let is_tables = collation == self.collation && !is_said;
            if !data_type.base.is_text() || data_type.binary || is_tables && is_default {
                continue;
            }
            if !is_tables {
                data_type.charset = Some(collation.charset().to_owned());
            }
            data_type.collation = Some(collation.name());
        }
        definition.checks.sort_by(|one, other| one.name.cmp(&other.name));
        if hides_row_id {
            definition.columns.remove(0);
            definition.keys.retain(|key| key.kind != KeyKind::Primary);
        }
        let next = next.filter(|next| *next > 1 && !hides_row_id);
        let mut shown = shown(self.collation, self.mode, next);
        // That of utf8mb4 was another one once.
        if is_default && self.collation.charset() != "utf8mb4" {
            shown.collation = None;
        }
        show_create_table(&definition, shown)
    }

    /// A key by its name, in any case.
    pub(crate) fn key_named(&self, name: &str) -> Option<&KeyDefinition> {
        self.definition.keys.iter().find(|key| key_name(key).eq_ignore_ascii_case(name))
    }
}

fn shown(of: Collation, mode: Mode, auto_increment: Option<u64>) -> Shown<'static> {
    let name = of.info().map_or("utf8mb4_0900_ai_ci", |info| info.name);
    let (charset, kept) = (of.charset(), false);
    Shown { engine: ENGINE, auto_increment, charset, collation: Some(name), mode, kept }
}

/// A default of bytes as `SHOW CREATE TABLE` has it: a string where they are text of at most three bytes
/// a character, which is what MySQL's dictionary holds.
fn bytes_literal(bytes: &[u8], mode: Mode) -> String {
    let text = std::str::from_utf8(bytes).ok();
    match text.filter(|text| text.chars().all(|char| char.len_utf8() < 4)) {
        Some(text) => on_one_line(text, mode),
        None => pelorus_sql::literal::hexadecimal(bytes),
    }
}

/// The name that a key has in lists.
pub(crate) fn key_name(key: &KeyDefinition) -> &str {
    match key.kind {
        KeyKind::Primary => "PRIMARY",
        _ => key.name.as_deref().unwrap_or_default(),
    }
}

/// The bytes that the store keeps of a definition.
pub(crate) fn encode(database: &str, definition: &TableDefinition, mode: Mode) -> Result<Vec<u8>> {
    let shown = Shown { kept: true, ..shown(table_collation(definition)?, mode, None) };
    let text = show_create_table(definition, shown);
    let name = &definition.name.name;
    Ok(format!("{database}\0{name}\0{}\0{text}", mode.within("")).into_bytes())
}

/// Decodes the bytes of [`encode`]: the database, the definition in normal form, its mode.
///
/// # Errors
/// Bytes that are no definition (1034).
pub(crate) fn decode(bytes: &[u8]) -> Result<(String, TableDefinition, Mode)> {
    let damaged = |what: &str| {
        Error::new(Code::FileDamaged, format!("the definition of a native table {what}"))
    };
    let text = std::str::from_utf8(bytes).map_err(|_| damaged("is no text"))?;
    let mut fields = text.splitn(4, '\0');
    let mut next = || fields.next().ok_or_else(|| damaged("is cut off"));
    let (database, name, words, sql) = (next()?, next()?, next()?, next()?);
    let mode = Mode::from_sql_mode(words);
    let statement = pelorus_sql::ddl::parse(sql, mode).map_err(|error| {
        damaged(&format!("'{database}.{name}' cannot be read")).caused_by(error)
    })?;
    let TableStatement::Create(mut definition) = statement else {
        return Err(damaged(&format!("'{database}.{name}' is another statement")));
    };
    name.clone_into(&mut definition.name.name);
    definition.name.database = None;
    definition.normalise();
    // Tables of earlier versions keep the mode that they were written in.
    definition.translate(mode, Mode::default());
    Ok((database.to_owned(), *definition, Mode::default()))
}

/// The collation of columns that name none.
///
/// # Errors
/// An unknown charset (1115) or collation (1273), or two that do not fit (1253).
pub fn table_collation(definition: &TableDefinition) -> Result<Collation> {
    types::collation_of(
        definition.option("CHARSET"),
        definition.option("COLLATE"),
        collation::UTF8MB4_0900_AI_CI,
    )
}

/// Positions of the primary key's columns; empty without a primary key.
pub(crate) fn primary_key(definition: &TableDefinition) -> Result<Vec<usize>> {
    let Some(key) = definition.keys.iter().find(|key| key.kind == KeyKind::Primary) else {
        return Ok(Vec::new());
    };
    let position = |name: &str| {
        let mut columns = definition.columns.iter();
        columns.position(|column| column.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            Error::new(
                Code::KeyColumnMissing,
                format!("Key column '{name}' doesn't exist in table"),
            )
        })
    };
    key.parts
        .iter()
        .map(|part| match &part.target {
            KeyTarget::Column(name) => position(name),
            KeyTarget::Expression(_) => Err(Error::unsupported("expressions in a primary key")),
        })
        .collect()
}

/// The flags that keys, NOT NULL and AUTO_INCREMENT give a column.
fn key_flags(definition: &TableDefinition, column: &ColumnDefinition) -> Flags {
    /// Part of any key.
    const PART_OF_KEY: Flags = Flags(16_384);
    let mut flags = Flags(0);
    if column.nullable == Some(false) {
        flags = flags.with(Flags::NOT_NULL);
    }
    if column.auto_increment {
        flags = flags.with(Flags::AUTO_INCREMENT);
    }
    for key in definition.keys.iter().filter(|key| key.holds(&column.name)) {
        flags = flags.with(PART_OF_KEY);
        let is_first = matches!(key.parts.first().map(|part| &part.target),
            Some(KeyTarget::Column(name)) if name.eq_ignore_ascii_case(&column.name));
        flags = match key.kind {
            KeyKind::Primary => flags.with(Flags::PRIMARY_KEY),
            KeyKind::Unique if is_first && key.parts.len() == 1 => flags.with(Flags::UNIQUE_KEY),
            _ if is_first => flags.with(Flags::MULTIPLE_KEY),
            _ => flags,
        };
    }
    let now = matches!(column.default, Some(ColumnDefault::CurrentTimestamp(_)));
    if column.data_type.base == Base::Timestamp && (now || column.on_update.is_some()) {
        /// `ON UPDATE CURRENT_TIMESTAMP`.
        const ON_UPDATE_NOW: Flags = Flags(8192);
        flags = flags.with(Flags::TIMESTAMP);
        if column.on_update.is_some() {
            flags = flags.with(ON_UPDATE_NOW);
        }
    }
    flags
}

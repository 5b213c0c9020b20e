//! Rows of the information schema that describe native databases and tables.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pelorus_error::Error;
use pelorus_functions::TimeZone;
use pelorus_result::result_table::{Cell, ResultTable, add_row};
use pelorus_sql::ddl::{
    Base, ColumnDefault, Expression, ForeignKey, KeyDefinition, KeyKind, KeyPart, KeyTarget,
    PartitionMethod, ReferenceAction,
};
use pelorus_store::Snapshot;
use pelorus_types::Flags;

use super::catalog::{Catalog, DatabaseOptions};
use super::default_text::{default_text, now_text, printed};
use super::definition::{ENGINE, NativeDef, key_name};
use super::{statistics, types};

/// A question for rows of the information schema.
#[derive(Debug)]
pub struct Question<'a> {
    pub catalog: &'a Catalog,
    pub time_zone: TimeZone,
    /// Whether row numbers that were made for tables without a key are shown.
    pub shows_row_id: bool,
    /// `column = text` conditions that every wanted row fulfils.
    pub equals: &'a [(String, String)],
}

/// Tables that have rows about native tables.
const TABLES: [&str; 9] = [
    "COLUMN_STATISTICS",
    "TABLES",
    "COLUMNS",
    "STATISTICS",
    "KEY_COLUMN_USAGE",
    "TABLE_CONSTRAINTS",
    "REFERENTIAL_CONSTRAINTS",
    "CHECK_CONSTRAINTS",
    "PARTITIONS",
];

impl Question<'_> {
    /// Adds the rows of a table of the information schema.
    pub fn fill(&self, table: &str, grid: &mut ResultTable) {
        if table == "SCHEMATA" {
            for (name, options) in self.catalog.databases() {
                add_row(grid, |column| schema_cell(&name, &options, column));
            }
            return;
        }
        if !TABLES.contains(&table) {
            return;
        }
        let snapshot = self.catalog.store().snapshot();
        for (database, _) in self.catalog.databases() {
            if !self.wants(&["TABLE_SCHEMA", "CONSTRAINT_SCHEMA", "SCHEMA_NAME"], &database) {
                continue;
            }
            for def in self.catalog.tables(&database) {
                if self.wants(&["TABLE_NAME"], &def.name) {
                    self.table(table, &def, &snapshot, grid);
                }
            }
            if table == "TABLES" {
                for (name, _, error) in self.catalog.broken_tables(&database) {
                    add_row(grid, |column| broken_cell((&database, &name), &error, column));
                }
            }
        }
    }

    /// Whether the conditions allow a name in one of some columns.
    fn wants(&self, columns: &[&str], name: &str) -> bool {
        self.equals
            .iter()
            .filter(|(column, _)| columns.iter().any(|it| it.eq_ignore_ascii_case(column)))
            .all(|(_, value)| value.eq_ignore_ascii_case(name))
    }

    fn table(
        &self,
        table: &str,
        def: &Arc<NativeDef>,
        snapshot: &Snapshot,
        grid: &mut ResultTable,
    ) {
        let hides = def.hides_row_id(self.shows_row_id);
        match table {
            "TABLES" => {
                let rows = rows(def, snapshot);
                let sizes = Sizes::of(def, rows);
                add_row(grid, |column| table_cell(def, (rows, &sizes), column));
            }
            "COLUMNS" => {
                for at in usize::from(hides)..def.columns.len() {
                    add_row(grid, |column| self.column_cell(def, at, column));
                }
            }
            "STATISTICS" => {
                let rows = rows(def, snapshot);
                for key in def.keys_shown(hides) {
                    for (at, part) in key.parts.iter().enumerate() {
                        let values = statistics::cardinality(self.catalog, def, (key, at, rows));
                        add_row(grid, |column| {
                            statistics_cell(def, (key, at, part), values, column)
                        });
                    }
                }
            }
            "COLUMN_STATISTICS" => statistics::histograms(self.catalog, def, grid),
            "KEY_COLUMN_USAGE" => key_column_usage(def, hides, grid),
            "TABLE_CONSTRAINTS" => table_constraints(def, hides, grid),
            "REFERENTIAL_CONSTRAINTS" => {
                for key in &def.definition.foreign_keys {
                    add_row(grid, |column| referential_cell(def, key, column));
                }
            }
            "CHECK_CONSTRAINTS" => {
                for check in &def.definition.checks {
                    add_row(grid, |column| match column {
                        "CONSTRAINT_CATALOG" => Some("def".into()),
                        "CONSTRAINT_SCHEMA" => Some(def.database.as_str().into()),
                        "CONSTRAINT_NAME" => Some(check.name.as_deref().into()),
                        "CHECK_CLAUSE" => Some(printed(&check.expression, def).into()),
                        "TABLE_NAME" => Some(def.name.as_str().into()),
                        "LEVEL" => Some("Table".into()),
                        _ => None,
                    });
                }
            }
            _ => partitions(def, snapshot, grid),
        }
    }

    fn column_cell(&self, def: &NativeDef, at: usize, name: &str) -> Option<Cell> {
        let column = def.definition.columns.get(at)?;
        let (ty, target) = (&def.columns.get(at)?.ty, def.targets.get(at)?);
        let base = column.data_type.base;
        let is_text = base.is_text();
        Some(match name {
            "TABLE_CATALOG" => "def".into(),
            "TABLE_SCHEMA" => def.database.as_str().into(),
            "TABLE_NAME" => def.name.as_str().into(),
            "COLUMN_NAME" => column.name.as_str().into(),
            "ORDINAL_POSITION" => (at + 1).into(),
            "COLUMN_DEFAULT" => default_text(def, at, self.time_zone).into(),
            "IS_NULLABLE" => if ty.is_nullable() { "YES" } else { "NO" }.into(),
            "DATA_TYPE" => base.name().into(),
            "COLUMN_TYPE" => types::sql_type(&column.data_type).into(),
            "CHARACTER_MAXIMUM_LENGTH" => text_lengths(target, base).map(|it| it.0).into(),
            "CHARACTER_OCTET_LENGTH" => text_lengths(target, base).map(|it| it.1).into(),
            "NUMERIC_PRECISION" => numeric(def, at).map(|it| it.0).into(),
            "NUMERIC_SCALE" => numeric(def, at).and_then(|it| it.1).into(),
            "DATETIME_PRECISION"
                if matches!(base, Base::DateTime | Base::Timestamp | Base::Time) =>
            {
                Cell::UInt(u64::from(ty.decimals))
            }
            "CHARACTER_SET_NAME" if is_text => ty.collation.charset().into(),
            "COLLATION_NAME" if is_text => ty.collation.name().into(),
            "COLUMN_KEY" => key_word(ty.flags).into(),
            "EXTRA" => extra(def, at).into(),
            "GENERATION_EXPRESSION" => {
                let text = column.generated.as_ref().map(|it| printed(&it.expression, def));
                text.unwrap_or_default().into()
            }
            "IS_GENERATED" => if column.generated.is_some() { "ALWAYS" } else { "NEVER" }.into(),
            "PRIVILEGES" => "select,insert,update,references".into(),
            "COLUMN_COMMENT" => column.comment.clone().unwrap_or_default().into(),
            _ => return None,
        })
    }
}

/// How many rows a table has; `None` when that cannot be read.
pub(super) fn rows(def: &NativeDef, snapshot: &Snapshot) -> Option<u64> {
    snapshot.table(def.id).ok().map(|table| table.rows())
}

/// Bytes of a table's file. Rows that are in memory alone count when they have been written into it.
#[derive(Debug)]
pub(super) struct Sizes {
    /// Bytes of the current state.
    pub(super) data: u64,
    /// The rest of the file.
    pub(super) free: u64,
    /// Average bytes of a row.
    pub(super) row: u64,
}

impl Sizes {
    pub(super) fn of(def: &NativeDef, rows: Option<u64>) -> Self {
        let usage = def.table.file_usage();
        let row = usage.live.checked_div(rows.unwrap_or(0)).unwrap_or(0);
        Self { data: usage.live, free: usage.length.saturating_sub(usage.live), row }
    }
}

fn schema_cell(database: &str, options: &DatabaseOptions, name: &str) -> Option<Cell> {
    Some(match name {
        "CATALOG_NAME" => "def".into(),
        "SCHEMA_NAME" => database.into(),
        "DEFAULT_CHARACTER_SET_NAME" => options.collation.charset().into(),
        "DEFAULT_COLLATION_NAME" => options.collation.name().into(),
        "DEFAULT_ENCRYPTION" => "NO".into(),
        _ => return None,
    })
}

/// A table that cannot be used, as MySQL shows it: the comment says why.
fn broken_cell((database, name): (&str, &str), error: &Error, column: &str) -> Option<Cell> {
    Some(match column {
        "TABLE_CATALOG" => "def".into(),
        "TABLE_SCHEMA" => database.into(),
        "TABLE_NAME" => name.into(),
        "TABLE_TYPE" => "BASE TABLE".into(),
        "TABLE_COMMENT" => error.message().into(),
        _ => return None,
    })
}

fn table_cell(def: &NativeDef, (rows, sizes): (Option<u64>, &Sizes), name: &str) -> Option<Cell> {
    Some(match name {
        "TABLE_CATALOG" => "def".into(),
        "TABLE_SCHEMA" => def.database.as_str().into(),
        "TABLE_NAME" => def.name.as_str().into(),
        "TABLE_TYPE" => "BASE TABLE".into(),
        "ENGINE" => ENGINE.into(),
        "VERSION" => Cell::Int(10),
        "ROW_FORMAT" => "Compressed".into(),
        "TABLE_ROWS" => rows.into(),
        "AVG_ROW_LENGTH" => sizes.row.into(),
        "DATA_LENGTH" => sizes.data.into(),
        "MAX_DATA_LENGTH" | "INDEX_LENGTH" => Cell::UInt(0),
        "DATA_FREE" => sizes.free.into(),
        "AUTO_INCREMENT" => auto_increment(def).into(),
        // When a table was made is not kept.
        "CREATE_TIME" => Cell::Null,
        "TABLE_COLLATION" => def.collation.name().into(),
        "CREATE_OPTIONS" => create_options(def).into(),
        "TABLE_COMMENT" => def.definition.option("COMMENT").unwrap_or_default().into(),
        "TEMPORARY" => "N".into(),
        _ => return None,
    })
}

/// The next number of the AUTO_INCREMENT column.
pub(super) fn auto_increment(def: &NativeDef) -> Option<u64> {
    def.auto.as_ref().map(|auto| auto.next.load(Ordering::Relaxed))
}

/// Options that are not shown elsewhere.
pub(super) fn create_options(def: &NativeDef) -> String {
    let shown = ["CHARSET", "COLLATE", "COMMENT", "AUTO_INCREMENT", "ENGINE"];
    let mut words: Vec<String> = def
        .definition
        .options
        .iter()
        .filter(|option| !shown.contains(&option.name.as_str()))
        .map(|option| format!("{}={}", option.name.to_lowercase(), option.value))
        .collect();
    if def.definition.partitioning.is_some() {
        words.push("partitioned".to_owned());
    }
    words.join(" ")
}

/// `PRI`, `UNI`, `MUL` or nothing.
pub(super) fn key_word(flags: Flags) -> &'static str {
    if flags.has(Flags::PRIMARY_KEY) {
        "PRI"
    } else if flags.has(Flags::UNIQUE_KEY) {
        "UNI"
    } else if flags.has(Flags::MULTIPLE_KEY) {
        "MUL"
    } else {
        ""
    }
}

/// The text of `Extra` for a column.
pub(super) fn extra(def: &NativeDef, at: usize) -> String {
    let mut words: Vec<String> = Vec::new();
    let Some(column) = def.definition.columns.get(at) else { return String::new() };
    if column.auto_increment {
        words.push("auto_increment".to_owned());
    }
    if matches!(
        column.default,
        Some(ColumnDefault::CurrentTimestamp(_) | ColumnDefault::Expression(_))
    ) {
        words.push("DEFAULT_GENERATED".to_owned());
    }
    if let Some(generated) = &column.generated {
        words.push(
            if generated.stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" }.to_owned(),
        );
    }
    if let Some(digits) = column.on_update {
        words.push(format!("on update {}", now_text(digits)));
    }
    if column.invisible {
        words.push("INVISIBLE".to_owned());
    }
    words.join(" ")
}

/// Characters and bytes of a text or byte string.
fn text_lengths(target: &pelorus_functions::assignment::Target, base: Base) -> Option<(i64, i64)> {
    let ty = &target.ty;
    let bytes = i64::from(ty.length);
    let width = i64::from(ty.collation.bytes_per_char().max(1));
    match base {
        Base::TinyText | Base::TinyBlob => Some((0xff, 0xff)),
        Base::Text | Base::Blob => Some((0xffff, 0xffff)),
        Base::MediumText | Base::MediumBlob => Some((0xff_ffff, 0xff_ffff)),
        Base::LongText | Base::LongBlob => Some((0xffff_ffff, 0xffff_ffff)),
        Base::Binary | Base::VarBinary => Some((bytes, bytes)),
        base if base.is_text() => Some((bytes / width, bytes)),
        _ => None,
    }
}

/// Digits of a number, and those after the point.
fn numeric(def: &NativeDef, at: usize) -> Option<(u64, Option<u64>)> {
    let data_type = &def.definition.columns.get(at)?.data_type;
    let ty = &def.targets.get(at)?.ty;
    Some(match data_type.base {
        Base::TinyInt => (3, Some(0)),
        Base::SmallInt => (5, Some(0)),
        Base::MediumInt => (7, Some(0)),
        Base::Int => (10, Some(0)),
        Base::BigInt => (if data_type.unsigned { 20 } else { 19 }, Some(0)),
        Base::Decimal => (u64::from(ty.precision()), Some(u64::from(ty.decimals))),
        Base::Float | Base::Double => (u64::from(ty.length), data_type.scale.map(u64::from)),
        Base::Bit => (u64::from(ty.length), None),
        _ => return None,
    })
}

fn statistics_cell(
    def: &NativeDef,
    (key, at, part): (&KeyDefinition, usize, &KeyPart),
    cardinality: Option<i64>,
    name: &str,
) -> Option<Cell> {
    let is_unique = matches!(key.kind, KeyKind::Primary | KeyKind::Unique);
    let column = match &part.target {
        KeyTarget::Column(column) => Some(column.as_str()),
        KeyTarget::Expression(_) => None,
    };
    Some(match name {
        "TABLE_CATALOG" => "def".into(),
        "TABLE_SCHEMA" | "INDEX_SCHEMA" => def.database.as_str().into(),
        "TABLE_NAME" => def.name.as_str().into(),
        "NON_UNIQUE" => Cell::Int(i64::from(!is_unique)),
        "INDEX_NAME" => key_name(key).into(),
        "SEQ_IN_INDEX" => (at + 1).into(),
        "COLUMN_NAME" => column.into(),
        "COLLATION" if key.kind != KeyKind::FullText => {
            if part.descending { "D" } else { "A" }.into()
        }
        "CARDINALITY" => cardinality.into(),
        "SUB_PART" => part.length.map(i64::from).into(),
        "NULLABLE" => if holds_null(def, part) { "YES" } else { "" }.into(),
        "INDEX_TYPE" => index_type(key).into(),
        "INDEX_COMMENT" => key.comment.clone().unwrap_or_default().into(),
        "IS_VISIBLE" => if key.invisible { "NO" } else { "YES" }.into(),
        "IGNORED" => if key.invisible { "YES" } else { "NO" }.into(),
        "EXPRESSION" => match &part.target {
            KeyTarget::Expression(expression) => printed(expression, def).into(),
            KeyTarget::Column(_) => Cell::Null,
        },
        _ => return None,
    })
}

/// Whether a part of a key can be NULL; for MySQL every expression can.
pub(super) fn holds_null(def: &NativeDef, part: &KeyPart) -> bool {
    match &part.target {
        KeyTarget::Column(name) => {
            def.position(name).is_some_and(|at| def.columns[at].ty.is_nullable())
        }
        KeyTarget::Expression(_) => true,
    }
}

/// The index type that MySQL shows for a key in InnoDB: BTREE even if the definition says HASH.
pub(super) fn index_type(key: &KeyDefinition) -> &'static str {
    if key.kind == KeyKind::FullText { "FULLTEXT" } else { "BTREE" }
}

fn key_column_usage(def: &NativeDef, hides_row_id: bool, grid: &mut ResultTable) {
    let common = |name: &str| -> Option<Cell> {
        Some(match name {
            "CONSTRAINT_CATALOG" | "TABLE_CATALOG" => "def".into(),
            "CONSTRAINT_SCHEMA" | "TABLE_SCHEMA" => def.database.as_str().into(),
            "TABLE_NAME" => def.name.as_str().into(),
            _ => return None,
        })
    };
    let unique = |key: &&KeyDefinition| matches!(key.kind, KeyKind::Primary | KeyKind::Unique);
    for key in def.keys_shown(hides_row_id).filter(unique) {
        for (at, part) in key.parts.iter().enumerate() {
            let KeyTarget::Column(column) = &part.target else { continue };
            add_row(grid, |name| match name {
                "CONSTRAINT_NAME" => Some(key_name(key).into()),
                "COLUMN_NAME" => Some(column.as_str().into()),
                "ORDINAL_POSITION" => Some((at + 1).into()),
                other => common(other),
            });
        }
    }
    for key in &def.definition.foreign_keys {
        for (at, column) in key.columns.iter().enumerate() {
            let other = &key.references;
            add_row(grid, |name| match name {
                "CONSTRAINT_NAME" => Some(key.name.as_deref().into()),
                "COLUMN_NAME" => Some(column.as_str().into()),
                "ORDINAL_POSITION" | "POSITION_IN_UNIQUE_CONSTRAINT" => Some((at + 1).into()),
                "REFERENCED_TABLE_SCHEMA" => {
                    Some(other.table.database.as_deref().unwrap_or(&def.database).into())
                }
                "REFERENCED_TABLE_NAME" => Some(other.table.name.as_str().into()),
                "REFERENCED_COLUMN_NAME" => Some(other.columns.get(at).map(String::as_str).into()),
                name => common(name),
            });
        }
    }
}

fn table_constraints(def: &NativeDef, hides_row_id: bool, grid: &mut ResultTable) {
    let mut push = |constraint: &str, kind: &str, enforced: bool| {
        add_row(grid, |name| {
            Some(match name {
                "CONSTRAINT_CATALOG" => "def".into(),
                "CONSTRAINT_SCHEMA" | "TABLE_SCHEMA" => def.database.as_str().into(),
                "CONSTRAINT_NAME" => constraint.into(),
                "TABLE_NAME" => def.name.as_str().into(),
                "CONSTRAINT_TYPE" => kind.into(),
                "ENFORCED" => if enforced { "YES" } else { "NO" }.into(),
                _ => return None,
            })
        });
    };
    for key in def.keys_shown(hides_row_id) {
        match key.kind {
            KeyKind::Primary => push("PRIMARY", "PRIMARY KEY", true),
            KeyKind::Unique => push(key_name(key), "UNIQUE", true),
            _ => {}
        }
    }
    for key in &def.definition.foreign_keys {
        push(key.name.as_deref().unwrap_or_default(), "FOREIGN KEY", false);
    }
    for check in &def.definition.checks {
        push(check.name.as_deref().unwrap_or_default(), "CHECK", check.enforced);
    }
}

fn referential_cell(def: &NativeDef, key: &ForeignKey, name: &str) -> Option<Cell> {
    let other = &key.references;
    let rule = |action: Option<ReferenceAction>| match action {
        Some(ReferenceAction::Cascade) => "CASCADE",
        Some(ReferenceAction::SetNull) => "SET NULL",
        Some(ReferenceAction::Restrict) => "RESTRICT",
        Some(ReferenceAction::SetDefault) => "SET DEFAULT",
        Some(ReferenceAction::NoAction) | None => "NO ACTION",
    };
    Some(match name {
        "CONSTRAINT_CATALOG" | "UNIQUE_CONSTRAINT_CATALOG" => "def".into(),
        "CONSTRAINT_SCHEMA" => def.database.as_str().into(),
        "CONSTRAINT_NAME" => key.name.as_deref().into(),
        "UNIQUE_CONSTRAINT_SCHEMA" => {
            other.table.database.as_deref().unwrap_or(&def.database).into()
        }
        "MATCH_OPTION" => "NONE".into(),
        "UPDATE_RULE" => rule(other.on_update).into(),
        "DELETE_RULE" => rule(other.on_delete).into(),
        "TABLE_NAME" => def.name.as_str().into(),
        "REFERENCED_TABLE_NAME" => other.table.name.as_str().into(),
        _ => return None,
    })
}

/// The method and the expression of a partitioning.
fn method(def: &NativeDef) -> Option<(String, String)> {
    let linear = |linear: bool| if linear { "LINEAR " } else { "" };
    let names = |columns: &[String]| {
        let names: Vec<String> =
            columns.iter().map(|name| pelorus_sql::literal::name(name)).collect();
        names.join(",")
    };
    let texts = |list: &[Expression]| {
        let texts: Vec<&str> = list.iter().map(|it| it.text.as_str()).collect();
        texts.join(", ")
    };
    Some(match &def.definition.partitioning.as_ref()?.method {
        PartitionMethod::Hash { linear: is, expression } => {
            (format!("{}HASH", linear(*is)), expression.text.clone())
        }
        PartitionMethod::Key { linear: is, columns, .. } => {
            (format!("{}KEY", linear(*is)), names(columns))
        }
        PartitionMethod::Range(expression) => ("RANGE".to_owned(), expression.text.clone()),
        PartitionMethod::RangeColumns(columns) => ("RANGE COLUMNS".to_owned(), names(columns)),
        PartitionMethod::List(expression) => ("LIST".to_owned(), expression.text.clone()),
        PartitionMethod::ListColumns(columns) => ("LIST COLUMNS".to_owned(), names(columns)),
        PartitionMethod::Value(list) => ("VALUE".to_owned(), texts(list)),
    })
}

/// One row a partition; of a table without partitioning one without a name.
fn partitions(def: &NativeDef, snapshot: &Snapshot, grid: &mut ResultTable) {
    let method = method(def);
    let whole = if method.is_none() { rows(def, snapshot) } else { None };
    let mut push =
        |at: usize, partition: Option<&str>, description: Option<&str>, comment: &str| {
            add_row(grid, |name| {
                let how = method.as_ref();
                Some(match name {
                    "TABLE_CATALOG" => "def".into(),
                    "TABLE_SCHEMA" => def.database.as_str().into(),
                    "TABLE_NAME" => def.name.as_str().into(),
                    "PARTITION_NAME" => partition.into(),
                    "PARTITION_ORDINAL_POSITION" => partition.map(|_| at + 1).into(),
                    "PARTITION_METHOD" => how.map(|it| it.0.as_str()).into(),
                    "PARTITION_EXPRESSION" => how.map(|it| it.1.as_str()).into(),
                    "PARTITION_DESCRIPTION" => description.into(),
                    "TABLE_ROWS" => whole.into(),
                    "CREATE_TIME" => Cell::Null,
                    "PARTITION_COMMENT" => comment.into(),
                    _ => return None,
                })
            });
        };
    if method.is_none() {
        return push(0, None, None, "");
    }
    for (at, named) in def.partitioner.named().iter().enumerate() {
        push(at, Some(&named.name), named.description.as_deref(), &named.comment);
    }
    if !def.partitioner.named().is_empty() {
        return;
    }
    // Partitions of values come into being with their rows.
    let Ok(table) = snapshot.table(def.id) else { return };
    for (at, partition) in table.partitions().iter().enumerate() {
        let values = def.partitioner.describe(partition.key()).unwrap_or_default();
        push(at, Some(&values), Some(&values), "");
    }
}

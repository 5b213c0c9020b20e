//! Column definitions of the system tables.

use std::sync::LazyLock;

use pelorus_types::{Collation, Column, ColumnType, Flags, WireType, collation};

/// A table of one of our schemas.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) schema: &'static str,
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<ColumnDefinition>,
}

/// A column with its type as `COLUMN_TYPE` writes it.
#[derive(Debug)]
pub(crate) struct ColumnDefinition {
    pub(crate) name: &'static str,
    pub(crate) ty: ColumnType,
    pub(crate) sql_type: String,
}

/// The kinds of columns of our own tables.
#[derive(Clone, Copy)]
enum Kind {
    /// Text of so many characters.
    Text(u32),
    NullableText(u32),
    Int,
    NullableInt,
    NullableDouble,
}
use Kind::{Int, NullableDouble, NullableInt, NullableText, Text};

type OwnTable = (&'static str, &'static str, &'static [(&'static str, Kind)]);

/// Tables that are not of the information schema.
const OWN: &[OwnTable] = &[
    (
        "mysql",
        "servers",
        &[
            ("Server_name", Text(64)),
            ("Host", Text(255)),
            ("Db", Text(1024)),
            ("Username", Text(64)),
            // Always stars: the password itself is never shown.
            ("Password", Text(64)),
            ("Port", Int),
            ("Socket", Text(255)),
            ("Wrapper", Text(64)),
            ("Owner", Text(64)),
        ],
    ),
    (
        "mysql",
        "user",
        &[
            ("Host", Text(255)),
            ("User", Text(32)),
            ("plugin", Text(64)),
            ("authentication_string", NullableText(255)),
            ("account_locked", Text(1)),
            ("ssl_type", Text(9)),
            ("read_only", Text(1)),
            ("password_last_changed", NullableInt),
        ],
    ),
    (
        "pelorus",
        "links",
        &[
            ("name", Text(64)),
            ("state", Text(16)),
            ("host", Text(255)),
            ("databases", Text(65_535)),
            ("replicas", Text(65_535)),
            ("connections_per_server", Int),
            ("tls", Text(16)),
            ("snapshot", NullableText(64)),
            ("lock_held_ms", NullableDouble),
            ("configured", Text(3)),
            ("last_error", NullableText(1024)),
        ],
    ),
    (
        "pelorus",
        "link_servers",
        &[
            ("link", Text(64)),
            ("address", Text(255)),
            ("role", Text(8)),
            ("state", Text(16)),
            ("version", NullableText(64)),
            ("latency_ms", NullableDouble),
            ("connections", Int),
            ("idle", Int),
            ("ranges", Int),
            ("rows_read", Int),
            ("rows_per_second", NullableDouble),
            ("last_error", NullableText(1024)),
        ],
    ),
    (
        "pelorus",
        "mirrors",
        &[
            ("table_schema", Text(64)),
            ("table_name", Text(64)),
            ("link", Text(64)),
            ("state", Text(16)),
            ("progress", Int),
            ("rows_loaded", Int),
            ("changes", Int),
            ("loads", Int),
            ("seconds_behind", NullableDouble),
            ("transactions_behind", NullableInt),
            ("position", NullableText(65_535)),
            ("reason", NullableText(65_535)),
            ("queries", Int),
            ("filter", NullableText(65_535)),
            ("layout", NullableText(65_535)),
        ],
    ),
    (
        "pelorus",
        "column_statistics",
        &[
            ("table_schema", Text(64)),
            ("table_name", Text(64)),
            ("column_name", Text(64)),
            ("table_rows", Int),
            ("sampled_rows", Int),
            ("null_share", NullableDouble),
            ("distinct_values", NullableInt),
            // JSON: pairs of a value and its share of the rows.
            ("most_common_values", NullableText(65_535)),
            ("histogram_buckets", NullableInt),
            ("last_updated", Text(26)),
        ],
    ),
    (
        "pelorus",
        "variables",
        &[
            ("name", Text(64)),
            ("scope", Text(8)),
            ("value", NullableText(65_535)),
            ("default_value", NullableText(65_535)),
            ("effect", Text(32)),
            ("description", Text(255)),
        ],
    ),
];

/// All tables, by schema and name.
pub(crate) static ALL: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    let mut all = information_schema(include_str!("columns.tsv"));
    all.extend(OWN.iter().map(|(schema, name, columns)| Definition {
        schema,
        name,
        columns: columns.iter().map(|(name, kind)| kind.column(name)).collect(),
    }));
    all
});

/// The additional tables and columns of MariaDB.
static MARIADB: LazyLock<Vec<Definition>> =
    LazyLock::new(|| information_schema(include_str!("mariadb_columns.tsv")));

/// The columns of a table as a query sees them, with those of a MariaDB where clients see the version
/// of one; `None` when there is no such table.
pub(crate) fn columns(schema: &str, table: &str, of_mariadb: bool) -> Option<Vec<Column>> {
    let is_wanted = |definition: &&Definition| {
        definition.schema == schema && definition.name.eq_ignore_ascii_case(table)
    };
    let definition = ALL.iter().find(is_wanted)?;
    let more = MARIADB.iter().filter(|_| of_mariadb).find(is_wanted);
    let all = definition.columns.iter().chain(more.iter().flat_map(|more| &more.columns));
    Some(all.map(|column| column.in_table(definition)).collect())
}

impl ColumnDefinition {
    fn in_table(&self, definition: &Definition) -> Column {
        Column {
            schema: definition.schema.to_owned(),
            table: definition.name.to_owned(),
            org_table: definition.name.to_owned(),
            name: self.name.to_owned(),
            org_name: self.name.to_owned(),
            ty: self.ty,
        }
    }
}

impl Kind {
    fn column(self, name: &'static str) -> ColumnDefinition {
        let varchar = |chars| ColumnType::varchar(chars, collation::UTF8MB4_0900_AI_CI);
        let (ty, sql_type) = match self {
            Text(chars) => (varchar(chars).not_null(), format!("varchar({chars})")),
            NullableText(chars) => (varchar(chars), format!("varchar({chars})")),
            Int => (ColumnType::bigint_unsigned().not_null(), "bigint unsigned".to_owned()),
            NullableInt => (ColumnType::bigint_unsigned(), "bigint unsigned".to_owned()),
            NullableDouble => (ColumnType::double(), "double".to_owned()),
        };
        let mut ty = ty;
        if ty.is_string() {
            ty.decimals = 0;
        }
        ColumnDefinition { name, ty, sql_type }
    }
}

fn information_schema(text: &'static str) -> Vec<Definition> {
    let mut all: Vec<Definition> = Vec::new();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_default();
        let (table, name) = (next(), next());
        let mut number =
            || next().parse::<u32>().expect("the table is a constant that a test reads");
        let small = |number: u32| u16::try_from(number).unwrap_or_default();
        let wire = u8::try_from(number()).ok().and_then(WireType::from_byte);
        let length = number();
        let ty = ColumnType {
            wire: wire.expect("the table is a constant that a test reads"),
            length,
            collation: Collation(small(number())),
            flags: Flags(small(number())),
            decimals: u8::try_from(number()).unwrap_or_default(),
        };
        let column = ColumnDefinition { name, ty, sql_type: next().to_owned() };
        match all.last_mut() {
            Some(last) if last.name == table => last.columns.push(column),
            _ => all.push(Definition {
                schema: "information_schema",
                name: table,
                columns: vec![column],
            }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_columns_that_arrow_can_hold() {
        assert!(ALL.len() > 30);
        for definition in ALL.iter().chain(MARIADB.iter()) {
            assert!(!definition.columns.is_empty());
            for column in &definition.columns {
                assert_ne!(
                    column.ty.arrow(),
                    arrow::datatypes::DataType::Null,
                    "{}.{}",
                    definition.name,
                    column.name
                );
            }
        }
        let names = |of_mariadb| -> Vec<String> {
            let columns = columns("information_schema", "schemata", of_mariadb).unwrap();
            columns.into_iter().map(|column| column.name).collect()
        };
        assert_eq!(names(false).len(), 6);
        assert_eq!(names(true)[6..], ["SCHEMA_COMMENT"]);
        assert!(columns("mysql", "schemata", true).is_none());
        for more in MARIADB.iter() {
            let usual = columns(more.schema, more.name, false).unwrap();
            assert!(more.columns.iter().all(|one| usual.iter().all(|it| it.name != one.name)));
        }
    }
}

//! The description of a table on a linked server: columns, keys, partitions and estimates.

pub(crate) mod load;

use pelorus_types::ColumnType;

/// A table's or view's name within its database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    /// The name.
    pub name: String,
    /// Whether it is a view.
    pub is_view: bool,
}

/// A table on a linked server.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteTable {
    /// The database, by the server's name.
    pub database: String,
    /// The table, as the server spells it.
    pub name: String,
    /// Whether it is a view.
    pub is_view: bool,
    /// All columns in their order, invisible ones too.
    pub columns: Vec<RemoteColumn>,
    /// Keys, the primary key first, then unique ones.
    pub keys: Vec<RemoteKey>,
    /// Partitions (of the first level) in their order; empty when it is not partitioned.
    pub partitions: Vec<RemotePartition>,
    /// Rows, as the server estimates them.
    pub rows: u64,
    /// Bytes of data, as the server estimates them.
    pub bytes: u64,
    /// The storage engine; empty for a view.
    pub engine: String,
    /// The default collation.
    pub collation: Option<String>,
    /// The comment.
    pub comment: String,
    /// The AUTO_INCREMENT counter.
    pub auto_increment: Option<u64>,
    /// Whether its server finds tables and aliases in any case (`lower_case_table_names`).
    pub folds_names: bool,
}

impl RemoteTable {
    /// Whether its engine's statements read one moment whatever others write.
    pub fn has_snapshots(&self) -> bool {
        ["InnoDB", "ROCKSDB", "TokuDB"].iter().any(|known| known.eq_ignore_ascii_case(&self.engine))
    }

    /// Finds a column by name, in any case.
    pub fn column(&self, name: &str) -> Option<&RemoteColumn> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// Finds a key by name, in any case.
    pub fn key(&self, name: &str) -> Option<&RemoteKey> {
        self.keys.iter().find(|key| key.name.eq_ignore_ascii_case(name))
    }
}

/// A column of a remote table.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteColumn {
    /// The name.
    pub name: String,
    /// The type with the column's own collation; the length counts bytes of its own charset.
    pub ty: ColumnType,
    /// The type as the server writes it, such as `int(10) unsigned` or `enum('a','b')`.
    pub sql_type: String,
    /// The charset of text.
    pub charset: Option<String>,
    /// The collation of text.
    pub collation: Option<String>,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// The default as the server's information schema writes it.
    pub default: Option<String>,
    /// The value of `EXTRA` in the information schema.
    pub extra: String,
    /// The expression of a generated column.
    pub generated: Option<String>,
    /// The comment.
    pub comment: String,
    /// Whether `SELECT *` leaves it out.
    pub invisible: bool,
}

/// A key of a remote table.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteKey {
    /// The name; `PRIMARY` for the primary key.
    pub name: String,
    /// Whether no two rows have the same values (NULLs aside).
    pub unique: bool,
    /// Its kind: `BTREE`, `HASH`, `FULLTEXT`, `SPATIAL`, `RTREE`.
    pub kind: String,
    /// The columns; a part that is an expression has no column.
    pub parts: Vec<KeyPart>,
    /// The comment.
    pub comment: String,
    /// Whether the optimizer ignores it.
    pub ignored: bool,
}

/// A column within a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPart {
    /// The column; empty when the part is an expression.
    pub column: String,
    /// How many different values the key has up to this part, estimated.
    pub cardinality: Option<u64>,
    /// How many characters are in the key if it does not contain the whole column.
    pub prefix: Option<u32>,
    /// Whether the part can be NULL.
    pub nullable: bool,
    /// Whether it is stored in descending order.
    pub descending: bool,
    /// The expression, when the part is one.
    pub expression: Option<String>,
}

/// A partition of a remote table.
#[derive(Clone, Debug, PartialEq)]
pub struct RemotePartition {
    /// The name.
    pub name: String,
    /// The method, such as `RANGE` or `HASH`.
    pub method: String,
    /// The partitioning expression.
    pub expression: String,
    /// The bound or list of values.
    pub description: Option<String>,
    /// Rows, as the server estimates them.
    pub rows: u64,
    /// Bytes of data, as the server estimates them.
    pub bytes: u64,
}

//! [`TableDefinition`]: the content of a table definition as plain data.

use sqlparser::ast::Expr;

use super::partition::Partitioning;
use crate::parse::Parsed;
use crate::statement::name::TableName;

/// An expression: its tree and its text, comments taken out and blanks made one.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// As written.
    pub text: String,
    /// As read.
    pub tree: Box<Expr>,
}

/// `CREATE TABLE`
#[derive(Clone, Debug)]
pub struct TableDefinition {
    /// `TEMPORARY`
    pub temporary: bool,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// The new table.
    pub name: TableName,
    /// The table after `LIKE`; everything else is empty then.
    pub like: Option<TableName>,
    /// The columns in order.
    pub columns: Vec<ColumnDefinition>,
    /// Keys that were defined separately from the columns, in order.
    pub keys: Vec<KeyDefinition>,
    /// Foreign keys, in order.
    pub foreign_keys: Vec<ForeignKey>,
    /// `CHECK` constraints separate from the columns, in order.
    pub checks: Vec<CheckDefinition>,
    /// Options of the table in order; look them up with [`TableDefinition::option`].
    pub options: Vec<TableOption>,
    /// `PARTITION BY`
    pub partitioning: Option<Partitioning>,
    /// `SEGMENT BY`: the expressions by which rows are sorted inside of a partition.
    pub segment_by: Vec<Expression>,
    /// `[AS] SELECT ...`
    pub query: Option<QuerySource>,
}

impl PartialEq for TableDefinition {
    /// Definitions are equal when they say the same; a query is compared by its tree.
    fn eq(&self, other: &Self) -> bool {
        let query = |definition: &Self| {
            definition.query.as_ref().map(|query| (query.parsed.query.clone(), query.duplicates))
        };
        self.temporary == other.temporary
            && self.if_not_exists == other.if_not_exists
            && self.name == other.name
            && self.like == other.like
            && self.columns == other.columns
            && self.keys == other.keys
            && self.foreign_keys == other.foreign_keys
            && self.checks == other.checks
            && self.options == other.options
            && self.partitioning == other.partitioning
            && self.segment_by == other.segment_by
            && query(self) == query(other)
    }
}

impl TableDefinition {
    /// A table without anything.
    pub fn new(name: TableName) -> Self {
        Self {
            temporary: false,
            if_not_exists: false,
            name,
            like: None,
            columns: Vec::new(),
            keys: Vec::new(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            options: Vec::new(),
            partitioning: None,
            segment_by: Vec::new(),
            query: None,
        }
    }

    /// The value of an option, by its name in upper case (`ENGINE`, `CHARSET`, `HISTORY`); the
    /// last one counts.
    pub fn option(&self, name: &str) -> Option<&str> {
        option_value(&self.options, name)
    }
}

/// The value of the last option of this name.
pub fn option_value<'a>(options: &'a [TableOption], name: &str) -> Option<&'a str> {
    options.iter().rev().find(|option| option.name == name).map(|option| option.value.as_str())
}

/// The query that fills a new table.
#[derive(Clone, Debug)]
pub struct QuerySource {
    /// The query as written.
    pub text: String,
    /// The query as read.
    pub parsed: Parsed,
    /// The handling of rows with a duplicate key: `IGNORE` is `Some(false)`, `REPLACE` is
    /// `Some(true)`.
    pub duplicates: Option<bool>,
}

/// `NAME [=] value`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOption {
    /// In upper case, with one blank between words. `[DEFAULT] CHARACTER SET` and `[DEFAULT]
    /// CHARSET` are `CHARSET`; `DEFAULT COLLATE` is `COLLATE`.
    pub name: String,
    /// A string's value, a number or a word as written, or a list with its parentheses.
    pub value: String,
    /// The value was a string.
    pub quoted: bool,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: TypeName,
    /// `NULL` or `NOT NULL`, when said.
    pub nullable: Option<bool>,
    /// `DEFAULT ...`
    pub default: Option<ColumnDefault>,
    /// `ON UPDATE CURRENT_TIMESTAMP`: the digits after the seconds.
    pub on_update: Option<u32>,
    /// `AUTO_INCREMENT`
    pub auto_increment: bool,
    /// `UNIQUE [KEY]`
    pub unique: bool,
    /// `[PRIMARY] KEY`
    pub primary: bool,
    /// `COMMENT`
    pub comment: Option<String>,
    /// `INVISIBLE`
    pub invisible: bool,
    /// `[GENERATED ALWAYS] AS (...)`
    pub generated: Option<Generated>,
    /// `CHECK (...)` at the column.
    pub checks: Vec<CheckDefinition>,
    /// `REFERENCES ...` at the column, of which MySQL makes a foreign key since version 9.
    pub references: Option<Reference>,
    /// `SRID n`
    pub srid: Option<u32>,
    /// `COLUMN_FORMAT`, `STORAGE`, `ENGINE_ATTRIBUTE` and other words for engines.
    pub options: Vec<TableOption>,
}

/// The value of a column that a statement does not name.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnDefault {
    /// A literal, with its sign; `NULL` is one.
    Literal(Expression),
    /// `(expr)`, without these parentheses.
    Expression(Expression),
    /// `CURRENT_TIMESTAMP`, `NOW()` and their synonyms: the digits after the seconds.
    CurrentTimestamp(u32),
    /// `ALTER ... DROP DEFAULT` of a column that can be NULL: not even NULL. Only texts that are
    /// kept have words for it: `NO DEFAULT`.
    Dropped,
}

impl ColumnDefinition {
    /// Whether it is a TEXT, BLOB or JSON with a literal for a default, which only MariaDB takes.
    pub fn has_large_default(&self) -> bool {
        let is_value = |default: &ColumnDefault| match default {
            ColumnDefault::Literal(literal) => !literal.text.eq_ignore_ascii_case("NULL"),
            _ => false,
        };
        self.data_type.base.has_no_default() && self.default.as_ref().is_some_and(is_value)
    }
}

/// `GENERATED ALWAYS AS (...)`
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The expression, without the parentheses.
    pub expression: Expression,
    /// `STORED`, or MariaDB's `PERSISTENT`.
    pub stored: bool,
}

/// The type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName {
    /// Which type; synonyms are resolved.
    pub base: Base,
    /// `(n)`: the display width of integers, characters, bytes, bits, digits, digits after the
    /// seconds, dimensions. For `TEXT(n)` the characters that the type must hold at least.
    pub length: Option<u32>,
    /// The digits after the point of `(p, s)`.
    pub scale: Option<u32>,
    /// `UNSIGNED`, also by `ZEROFILL`.
    pub unsigned: bool,
    /// `ZEROFILL`
    pub zerofill: bool,
    /// The values of `ENUM` and `SET`.
    pub values: Vec<String>,
    /// `CHARACTER SET`, in lower case.
    pub charset: Option<String>,
    /// `COLLATE`, in lower case.
    pub collation: Option<String>,
    /// `BINARY` after a text type: the `_bin` collation of its charset.
    pub binary: bool,
}

/// The types of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is named as the type is")]
pub enum Base {
    Bit,
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Decimal,
    Float,
    Double,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Char,
    VarChar,
    Binary,
    VarBinary,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    TinyText,
    Text,
    MediumText,
    LongText,
    Enum,
    Set,
    Json,
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
    Vector,
    Uuid,
    Inet4,
    Inet6,
}

/// The kind of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// `PRIMARY KEY`
    Primary,
    /// `UNIQUE`
    Unique,
    /// `KEY` or `INDEX`
    Index,
    /// `FULLTEXT`
    FullText,
    /// `SPATIAL`
    Spatial,
}

/// A key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyDefinition {
    /// Its kind.
    pub kind: KeyKind,
    /// Its name, or that of its constraint; a primary key has none.
    pub name: Option<String>,
    /// Its parts, in order.
    pub parts: Vec<KeyPart>,
    /// `USING`: `BTREE` or `HASH`, in upper case.
    pub using: Option<String>,
    /// `INVISIBLE`, or MariaDB's `IGNORED`.
    pub invisible: bool,
    /// `IF NOT EXISTS` (MariaDB), while it is added.
    pub if_not_exists: bool,
    /// `COMMENT`
    pub comment: Option<String>,
    /// `WITH PARSER`
    pub parser: Option<String>,
    /// `KEY_BLOCK_SIZE` and other options.
    pub options: Vec<TableOption>,
}

/// A part of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPart {
    /// The indexed column or expression.
    pub target: KeyTarget,
    /// How many characters or bytes of the column.
    pub length: Option<u32>,
    /// `DESC`
    pub descending: bool,
}

/// The indexed column or expression of a part of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyTarget {
    /// A column.
    Column(String),
    /// `(expr)`, without these parentheses.
    Expression(Expression),
}

/// `FOREIGN KEY`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The name of the constraint.
    pub name: Option<String>,
    /// The name after `FOREIGN KEY`, which is that of its index.
    pub index: Option<String>,
    /// `IF NOT EXISTS` (MariaDB), while it is added.
    pub if_not_exists: bool,
    /// The columns of this table.
    pub columns: Vec<String>,
    /// The other table.
    pub references: Reference,
}

/// `REFERENCES`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The other table.
    pub table: TableName,
    /// Its columns.
    pub columns: Vec<String>,
    /// `MATCH`: `FULL`, `PARTIAL` or `SIMPLE`.
    pub matching: Option<String>,
    /// `ON DELETE`
    pub on_delete: Option<ReferenceAction>,
    /// `ON UPDATE`
    pub on_update: Option<ReferenceAction>,
}

/// The action on referring rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is named as its words are")]
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

/// `CHECK`
#[derive(Clone, Debug, PartialEq)]
pub struct CheckDefinition {
    /// The name of the constraint.
    pub name: Option<String>,
    /// The condition that must not be false, without the parentheses.
    pub expression: Expression,
    /// Not `NOT ENFORCED`.
    pub enforced: bool,
    /// Its position in the statement, by which checks without a name are numbered; 0 in normal
    /// form.
    pub position: usize,
    /// `IF NOT EXISTS` (MariaDB), while it is added.
    pub if_not_exists: bool,
}

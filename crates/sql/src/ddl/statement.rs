//! The content of DDL statements on databases and tables, as plain data.

use sqlparser::ast::{OrderByExpr, Query};

use super::definition::{
    CheckDefinition, ColumnDefault, ColumnDefinition, ForeignKey, KeyDefinition, QuerySource,
    TableDefinition, TableOption,
};
use super::partition::{PartitionDefinition, Partitioning};
use crate::parse::Parsed;
use crate::parse::cursor::Parser;
use crate::statement::name::TableName;

/// A statement about databases or tables.
#[derive(Clone, Debug, PartialEq)]
pub enum TableStatement {
    /// `CREATE TABLE`
    Create(Box<TableDefinition>),
    /// `ALTER TABLE`
    Alter(AlterTable),
    /// `DROP TABLE`
    Drop(DropTables),
    /// `TRUNCATE TABLE`
    Truncate(TableName),
    /// `RENAME TABLE`
    Rename(RenameTables),
    /// `CREATE INDEX`
    CreateIndex(CreateIndex),
    /// `DROP INDEX`
    DropIndex(DropIndex),
    /// `CREATE DATABASE`
    CreateDatabase(DatabaseDefinition),
    /// `ALTER DATABASE`
    AlterDatabase(DatabaseDefinition),
    /// `DROP DATABASE`
    DropDatabase(DropDatabase),
}

/// The query of a `CREATE TABLE` while its parser still runs: its text, its tree, the handling of
/// duplicates.
pub(super) type Pending = Option<(String, Box<Query>, Option<bool>)>;

impl TableStatement {
    /// Adds the query, once its parser has read everything.
    pub(super) fn with_query(mut self, query: Pending, parser: Parser<'_>) -> Self {
        if let (Self::Create(definition), Some((text, query, duplicates))) = (&mut self, query) {
            let parsed = Parsed::new(query, parser);
            definition.query = Some(QuerySource { text, parsed, duplicates });
        }
        self
    }
}

/// `ALTER TABLE`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// `IF EXISTS` (MariaDB)
    pub if_exists: bool,
    /// The table.
    pub table: TableName,
    /// The actions, in order.
    pub actions: Vec<AlterAction>,
}

/// Where a column goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `FIRST`
    First,
    /// `AFTER column`
    After(String),
}

/// The partitions that an action is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionList {
    /// `ALL`
    All,
    /// By name.
    Names(Vec<String>),
}

/// One action of an `ALTER TABLE`.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterAction {
    /// `ADD [COLUMN] definition [FIRST | AFTER c]`; a list in parentheses gives one for each.
    AddColumn {
        /// `IF NOT EXISTS` (MariaDB)
        if_not_exists: bool,
        /// The column.
        column: Box<ColumnDefinition>,
        /// Where; at the end when not said.
        place: Option<Place>,
    },
    /// `ADD PRIMARY KEY`, `ADD UNIQUE`, `ADD INDEX`, `ADD FULLTEXT`, `ADD SPATIAL`
    AddKey(Box<KeyDefinition>),
    /// `ADD FOREIGN KEY`
    AddForeignKey(Box<ForeignKey>),
    /// `ADD CHECK`
    AddCheck(Box<CheckDefinition>),
    /// `DROP [COLUMN] name`
    DropColumn {
        /// `IF EXISTS` (MariaDB)
        if_exists: bool,
        /// The column.
        name: String,
    },
    /// `DROP PRIMARY KEY`
    DropPrimaryKey,
    /// `DROP INDEX name` or `DROP KEY name`
    DropKey {
        /// `IF EXISTS` (MariaDB)
        if_exists: bool,
        /// The key.
        name: String,
    },
    /// `DROP FOREIGN KEY name`
    DropForeignKey(String),
    /// `DROP CHECK name`
    DropCheck(String),
    /// `DROP CONSTRAINT name`: a check, foreign key or unique key, or `PRIMARY`.
    DropConstraint(String),
    /// `ALTER CHECK name` or `ALTER CONSTRAINT name`, with whether it is enforced.
    AlterCheck(String, bool),
    /// `MODIFY [COLUMN] definition`
    ModifyColumn {
        /// `IF EXISTS` (MariaDB)
        if_exists: bool,
        /// The column as it shall be.
        column: Box<ColumnDefinition>,
        /// Where; where it was when not said.
        place: Option<Place>,
    },
    /// `CHANGE [COLUMN] name definition`
    ChangeColumn {
        /// `IF EXISTS` (MariaDB)
        if_exists: bool,
        /// The column's name so far.
        from: String,
        /// The column as it shall be.
        column: Box<ColumnDefinition>,
        /// Where; where it was when not said.
        place: Option<Place>,
    },
    /// `RENAME COLUMN a TO b`
    RenameColumn(String, String),
    /// `RENAME INDEX a TO b` or `RENAME KEY a TO b`
    RenameKey(String, String),
    /// `RENAME [TO | AS] name`
    Rename(TableName),
    /// `ALTER [COLUMN] c SET DEFAULT ...`, or `DROP DEFAULT`.
    ColumnDefault(String, Option<ColumnDefault>),
    /// `ALTER [COLUMN] c SET VISIBLE | INVISIBLE`, with whether it is visible.
    ColumnVisible(String, bool),
    /// `ALTER INDEX k VISIBLE | INVISIBLE`, with whether it is visible; MariaDB says
    /// `NOT IGNORED | IGNORED`.
    KeyVisible(String, bool),
    /// A table option.
    Option(TableOption),
    /// `CONVERT TO CHARACTER SET charset [COLLATE collation]`; `None` is `DEFAULT`.
    Convert {
        /// The charset.
        charset: Option<String>,
        /// The collation.
        collation: Option<String>,
    },
    /// `ORDER BY`
    OrderBy(Vec<OrderByExpr>),
    /// `ENABLE KEYS` or `DISABLE KEYS`.
    EnableKeys(bool),
    /// `FORCE`
    Force,
    /// `ALGORITHM [=] word`, in upper case.
    Algorithm(String),
    /// `LOCK [=] word`, in upper case.
    Lock(String),
    /// `WITH VALIDATION` or `WITHOUT VALIDATION`.
    Validation(bool),
    /// `DISCARD TABLESPACE` or `IMPORT TABLESPACE`, with whether it is imported.
    ImportTablespace(bool),
    /// `ADD PARTITION (...)`
    AddPartitions(Vec<PartitionDefinition>),
    /// `ADD PARTITION PARTITIONS n`
    AddPartitionCount(u64),
    /// `DROP PARTITION [IF EXISTS] names`
    DropPartitions {
        /// `IF EXISTS`
        if_exists: bool,
        /// The partitions.
        names: Vec<String>,
    },
    /// `TRUNCATE PARTITION`
    TruncatePartitions(PartitionList),
    /// `REORGANIZE PARTITION names INTO (...)`; without both, the table is distributed again.
    ReorganizePartitions {
        /// The old ones.
        names: Vec<String>,
        /// The new ones.
        into: Vec<PartitionDefinition>,
    },
    /// `COALESCE PARTITION n`
    CoalescePartitions(u64),
    /// `EXCHANGE PARTITION p WITH TABLE t [WITH | WITHOUT VALIDATION]`
    ExchangePartition {
        /// The partition.
        partition: String,
        /// The table.
        table: TableName,
        /// Whether the rows are checked.
        validation: bool,
    },
    /// `ANALYZE`, `CHECK`, `OPTIMIZE`, `REBUILD` or `REPAIR PARTITION`: the word and the
    /// partitions.
    MaintainPartitions(String, PartitionList),
    /// `REMOVE PARTITIONING`
    RemovePartitioning,
    /// `PARTITION BY`
    PartitionBy(Box<Partitioning>),
    /// Pelorus's own `SEGMENT BY (expr, ...)`
    SegmentBy(Vec<super::definition::Expression>),
}

/// `DROP TABLE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropTables {
    /// `TEMPORARY`
    pub temporary: bool,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// The tables.
    pub tables: Vec<TableName>,
    /// `CASCADE` is `Some(true)`, `RESTRICT` is `Some(false)`; MySQL does nothing with either.
    pub cascade: Option<bool>,
}

/// `RENAME TABLE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenameTables {
    /// `IF EXISTS` (MariaDB): tables that are not there are passed over.
    pub if_exists: bool,
    /// Pairs of old and new, in order.
    pub pairs: Vec<(TableName, TableName)>,
}

/// `CREATE INDEX`
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// `IF NOT EXISTS` (MariaDB)
    pub if_not_exists: bool,
    /// The table.
    pub table: TableName,
    /// The key.
    pub key: KeyDefinition,
}

/// `DROP INDEX`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropIndex {
    /// `IF EXISTS` (MariaDB)
    pub if_exists: bool,
    /// The table.
    pub table: TableName,
    /// The key; `PRIMARY` is the primary key.
    pub name: String,
}

/// `CREATE DATABASE` or `ALTER DATABASE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseDefinition {
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// The database; `ALTER` may leave it out and means the current one.
    pub name: Option<String>,
    /// `CHARSET`, `COLLATE`, `ENCRYPTION`, `READ ONLY`, `COMMENT`
    pub options: Vec<TableOption>,
}

/// `DROP DATABASE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropDatabase {
    /// `IF EXISTS`
    pub if_exists: bool,
    /// The database.
    pub name: String,
}

//! The context of a query: the catalog, session variables, and the settings that are passed to
//! linked servers.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use pelorus_chunk::Predicate;
use pelorus_env::{Account, StageMemory};
use pelorus_error::Result;
use pelorus_functions::{EvalContext, Members, TimeZone, Value};
use pelorus_link::{Link, SessionSettings};
use pelorus_types::{Column, ColumnType};
use sqlparser::ast;

use crate::datafusion_adapter::memory::Scratch;

/// Everything that one statement sees of its session.
#[derive(Clone)]
pub struct QueryContext {
    /// The current database, by its local name.
    pub database: Option<String>,
    /// Where databases lead.
    pub catalog: Arc<dyn Catalog>,
    /// User variables, system variables and session functions.
    pub variables: Arc<dyn Variables>,
    /// The evaluation context of expressions that run here: time, zone, collation, SQL mode.
    pub eval: Arc<EvalContext>,
    /// The settings that linked servers receive before they run a part of the statement.
    pub settings: SessionSettings,
    /// How the text is read.
    pub mode: pelorus_sql::Mode,
    /// How work is split.
    pub options: PlanOptions,
    /// The kind of server whose tables are read from copies; `None` where none are.
    pub copies_of: Option<Flavour>,
    /// Where sorts, joins and groups spill to.
    pub scratch: Scratch,
    /// The memory account of sorts, joins and groups.
    pub memory: Account,
    /// What counts the memory of the statement's trees: its text as it was read, and its plans.
    pub trees: StageMemory,
}

/// The kind of a linked server, whose answer a query must have where the server could give one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// A MySQL.
    MySql,
    /// A MariaDB.
    MariaDb,
}

/// How work on linked servers is split; session variables set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// Connections per server for one query (`pelorus_streams`).
    pub streams: usize,
    /// Statements for which the server expects to examine fewer rows run whole on the server
    /// (`pelorus_min_split_rows`).
    pub split_rows_min: u64,
    /// Bytes that sorts, joins and groups of one query may hold here before they spill
    /// (`pelorus_query_memory`).
    pub memory_bytes: usize,
    /// Whether `ONLY_FULL_GROUP_BY` is set.
    pub only_full_group_by: bool,
    /// Whether `REAL_AS_FLOAT` is set.
    pub real_as_float: bool,
    /// Whether the rows of one arm of UNION ALL come before those of the next, as where they are
    /// written.
    pub in_order: bool,
    /// The most rows of a query that has no LIMIT of its own (`sql_select_limit`).
    pub select_limit: Option<u64>,
    /// Whether scans may number groups of texts: the map of groups is in memory.
    pub numbers_groups: bool,
    /// Whether the caller handles `FOR UPDATE` and `FOR SHARE`, which are refused otherwise.
    pub ignores_locks: bool,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            streams: 2,
            split_rows_min: 100_000,
            memory_bytes: 256 << 20,
            only_full_group_by: true,
            real_as_float: false,
            in_order: false,
            select_limit: None,
            numbers_groups: true,
            ignores_locks: false,
        }
    }
}

/// Where a database name leads.
#[derive(Clone)]
pub enum Database {
    /// To a database of a linked server.
    Linked {
        /// The link.
        link: Link,
        /// The database's name on the server.
        remote: String,
    },
    /// To tables that show Pelorus's inside.
    Info(Arc<dyn InfoSchema>),
    /// To native tables.
    Native(Arc<dyn NativeDatabase>),
}

/// The native tables of one database, as one session sees them.
pub trait NativeDatabase: Send + Sync + std::fmt::Debug {
    /// A table at the statement's version, or at another moment; `None` when there is none. Of a
    /// table some of whose partitions are named, only the rows of these.
    ///
    /// # Errors
    /// A moment that lies before the table's history (9006), a table without partitions that have
    /// names (1747), a partition that is not there (1735).
    fn table(
        &self,
        name: &str,
        partitions: &[&str],
        at: Option<AsOf>,
    ) -> Result<Option<NativeTable>>;

    /// Checks whether a table has the keys that index hints name; errors name its alias. The
    /// default accepts any key.
    ///
    /// # Errors
    /// A key that is not there (1176).
    fn check_keys(&self, _table: &str, _alias: &str, _keys: &[&str]) -> Result<()> {
        Ok(())
    }
}

/// The moment of `FOR SYSTEM_TIME AS OF`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOf {
    /// Microseconds since 1970-01-01 00:00 UTC.
    Timestamp(i64),
    /// A version.
    Version(u64),
}

/// A native table at one version, as one session sees it.
#[derive(Clone, Debug)]
pub struct NativeTable {
    /// The database.
    pub database: String,
    /// The table.
    pub name: String,
    /// The columns, in the order of the store's; their Arrow types are those of the store.
    pub columns: Vec<Column>,
    /// The members of ENUM and SET columns, by position.
    pub members: Vec<Option<Arc<Members>>>,
    /// Which columns `*` leaves out.
    pub invisible: Vec<bool>,
    /// The rows.
    pub table: Arc<pelorus_store::TableSnapshot>,
    /// Keeps the version readable.
    pub pin: Arc<pelorus_store::Snapshot>,
    /// The uncommitted rows of the session's open transaction.
    pub own: Option<OwnWrites>,
    /// Whether only rows of some partitions count, which FROM names.
    pub is_part: bool,
    /// Which partitions a condition leaves.
    pub pruner: Option<Arc<dyn PartitionPruner>>,
    /// The statistics of `ANALYZE TABLE`; `None` if there are none.
    pub statistics: Option<Arc<pelorus_store::TableStatistics>>,
    /// TIMESTAMPs are stored in UTC and shown in this zone.
    pub time_zone: TimeZone,
    /// The part of the source table that the copy has; `None` for all of it.
    pub part: Option<TablePart>,
}

/// The part of the table that its copy has. A query that needs more fails.
#[derive(Clone, Debug, Default)]
pub struct TablePart {
    /// Which columns are not there, by position; their values here mean nothing.
    pub left_out: Vec<bool>,
    /// Which columns are opaque: they can be shown only.
    pub opaque: Vec<bool>,
    /// The condition of the rows, read in the default mode and in universal time.
    pub condition: Option<ast::Expr>,
}

/// Rows that an open transaction has written itself.
#[derive(Clone, Debug)]
pub struct OwnWrites {
    /// The encoded primary keys of all rows that it has written or deleted.
    pub hidden: Arc<HashSet<Vec<u8>>>,
    /// The rows that it has written: batches of all columns.
    pub rows: Vec<Vec<ArrayRef>>,
}

/// Interprets the keys of partitions, for pruning.
pub trait PartitionPruner: Send + Sync + std::fmt::Debug {
    /// Whether a partition can hold rows that fulfil all conditions on columns, given by position.
    /// Those on texts are meant under the columns' collations.
    fn may_contain(&self, partition_key: &[u8], predicates: &[(usize, Predicate)]) -> bool;
}

/// Finds databases by their local name, with the case rules of the server.
pub trait Catalog: Send + Sync {
    /// Where `name` leads; `None` when there is no such database.
    fn database(&self, name: &str) -> Option<Database>;
}

/// Values that belong to the session.
pub trait Variables: Send + Sync {
    /// `@name`; NULL of text type when it was never set.
    fn user(&self, name: &str) -> (Value, ColumnType);
    /// `@@[scope.]name`, or error 1193. `global` says whether GLOBAL was written.
    fn system(&self, name: &str, global: bool) -> Result<(Value, ColumnType)>;
    /// `DATABASE()`, `USER()`, `CURRENT_USER()`, `CONNECTION_ID()`, `VERSION()`,
    /// `LAST_INSERT_ID()`, `FOUND_ROWS()`, `ROW_COUNT()` and their synonyms, by upper-case name;
    /// `None` for any other function.
    fn session_function(&self, name: &str) -> Option<(Value, ColumnType)>;
}

/// A schema whose tables are made when they are read: `information_schema`, `pelorus`.
#[async_trait]
pub trait InfoSchema: Send + Sync {
    /// The columns of a table; `None` when there is no such table.
    fn table(&self, name: &str) -> Option<Vec<Column>>;
    /// The rows of a table in the columns' Arrow forms. `equals` are `column = text` conditions
    /// that every row of interest meets; they may be used to fetch less.
    async fn rows(&self, table: &str, equals: &[(String, String)]) -> Result<RecordBatch>;
}

impl std::fmt::Debug for QueryContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryContext")
            .field("database", &self.database)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Database::Linked { link, remote } => write!(f, "{remote} on {}", link.name()),
            Database::Info(_) => f.write_str("Pelorus's inside"),
            Database::Native(_) => f.write_str("native tables"),
        }
    }
}

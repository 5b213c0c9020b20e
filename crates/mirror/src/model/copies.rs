//! The interface between mirrors and the tables that hold the copies.
//!
//! The engine implements it: it knows how tables are defined and how rows find their partitions.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, UInt32Array};
use pelorus_binlog::Form;
use pelorus_env::Account;
use pelorus_error::Result;
use pelorus_sql::Mode;
use pelorus_sql::ddl::TableStatement;
use pelorus_sql::statement::MirrorFilter;
use pelorus_store::{Database, Keys, TableId};
use pelorus_types::{Collation, ColumnType};

use crate::model::name::MirrorName;

/// A table's definition as its server shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// `SHOW CREATE TABLE` under an empty `sql_mode`, in UTC.
    pub text: String,
    /// The collations of the text columns by their names, and of the table by an empty name: a
    /// definition names the charset alone if the collation is its server's default.
    pub collations: Vec<(String, String)>,
    /// `PARTITION BY` and `SEGMENT BY` that the user wants instead of the table's own.
    pub layout: Option<String>,
    /// Which columns and rows the user wants.
    pub filter: MirrorFilter,
}

/// The circumstances of a statement of the binlog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// How the text is read.
    pub mode: Mode,
    /// The session's `sql_mode`, as words.
    pub sql_mode: String,
    /// When it ran, in microseconds since 1970.
    pub micros: i64,
    /// Whether it ran on a MariaDB.
    pub is_mariadb: bool,
    /// The session's time zone, if it is known.
    pub time_zone: Option<String>,
    /// The collations of charsets that the session names alone, where they are not those that we
    /// take: charset and collation. `None` is a charset of which it is not known.
    pub collations: Vec<(String, Option<Collation>)>,
}

/// A column of a copy.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyColumn {
    /// The name.
    pub name: String,
    /// The type that values are stored as.
    pub ty: ColumnType,
    /// The values of an ENUM or SET.
    pub members: Vec<String>,
    /// The form of its values in the binlog.
    pub form: Form,
    /// The user does not want it: the copy has a column in its place that is always NULL.
    pub left_out: bool,
    /// Its value in new rows whose image in the binlog leaves it out.
    pub absent: Absent,
}

/// The value of a column in new rows whose image in the binlog leaves it out. Arrays have one row.
#[derive(Clone, Debug, PartialEq)]
pub enum Absent {
    /// Its default.
    Default(ArrayRef),
    /// It has no default: what takes the place of one outside of strict modes.
    Implicit(ArrayRef),
    /// Its default is computed for each row.
    Computed,
    /// All of its values are computed.
    Generated,
}

impl Absent {
    /// The value, if it is one.
    pub fn value(&self) -> Option<&ArrayRef> {
        match self {
            Self::Default(value) | Self::Implicit(value) => Some(value),
            Self::Computed | Self::Generated => None,
        }
    }
}

/// The table that holds a copy, under one definition.
pub trait CopyTable: Send + Sync + std::fmt::Debug {
    /// The store's number of the table.
    fn id(&self) -> TableId;

    /// Which of the table's generations this describes.
    fn generation(&self) -> u64;

    /// The columns, in the source's order.
    fn columns(&self) -> &[CopyColumn];

    /// Positions of the primary key's columns.
    fn key(&self) -> &[usize];

    /// The encoded primary keys of rows. Columns that are not of the key are not looked at.
    ///
    /// # Errors
    /// NULL in a key, a collation whose rules are not known.
    fn keys(&self, rows: usize, columns: &[ArrayRef]) -> Result<Keys>;

    /// The encoded values of some columns, by their positions; equal ones have equal bytes. `arrays`
    /// are those columns, without NULLs.
    ///
    /// # Errors
    /// A collation whose rules are not known.
    fn encoded(&self, columns: &[usize], rows: usize, arrays: &[ArrayRef]) -> Result<Keys>;

    /// A condition of the server that is true of the row with the same primary key as a row here.
    /// Columns are names with a \u{1} in front; nowhere else is there one.
    ///
    /// # Errors
    /// Values that cannot be written exactly in a statement.
    fn condition(&self, columns: &[ArrayRef], row: usize) -> Result<String>;

    /// The rows of each partition: its key and their places. Only columns that partitions depend
    /// on, which are of the primary key, are looked at.
    ///
    /// # Errors
    /// A row that fits no partition (1526).
    fn split(&self, columns: &[ArrayRef]) -> Result<Vec<(Vec<u8>, UInt32Array)>>;

    /// Whether it has some of the rows only.
    fn is_filtered(&self) -> bool;

    /// Which of some rows, given by all columns, the copy is to have; `None` for all.
    ///
    /// # Errors
    /// Errors of the condition.
    fn wanted(&self, rows: usize, columns: &[ArrayRef]) -> Result<Option<BooleanArray>>;

    /// The part of its row condition that servers of any kind evaluate as we do, as SQL; `None` if
    /// there is none.
    fn pushed(&self) -> Option<String>;
}

/// The tables that hold copies.
pub trait Copies: Send + Sync + std::fmt::Debug {
    /// The store.
    fn store(&self) -> &Arc<Database>;

    /// Bytes of memory that the changes of one transaction may take.
    fn transaction_bytes(&self) -> usize;

    /// The memory account of rows that are read from servers.
    fn memory(&self) -> &Account;

    /// The names of all copies, of those that cannot be used, too.
    fn all(&self) -> Vec<MirrorName>;

    /// The copy of a mirror, if there is one.
    fn find(&self, name: &MirrorName) -> Option<Arc<dyn CopyTable>>;

    /// Makes an empty copy, in place of one that there may be.
    ///
    /// # Errors
    /// A definition that cannot be copied, with the reason.
    fn create(&self, name: &MirrorName, definition: &Definition) -> Result<Arc<dyn CopyTable>>;

    /// Drops a copy, if there is one.
    ///
    /// # Errors
    /// I/O errors.
    fn drop_copy(&self, name: &MirrorName) -> Result<()>;

    /// Carries a statement that changes one table's definition or partitions out on its copy. The
    /// statement names the table as the source does; `filter` says which new columns are wanted.
    ///
    /// # Errors
    /// What the copy cannot follow.
    fn change(
        &self,
        name: &MirrorName,
        statement: &TableStatement,
        circumstances: &Circumstances,
        filter: &MirrorFilter,
    ) -> Result<Arc<dyn CopyTable>>;

    /// Removes all rows of a copy.
    ///
    /// # Errors
    /// I/O errors.
    fn empty(&self, name: &MirrorName) -> Result<Arc<dyn CopyTable>>;

    /// Finds out how the values of a copy are distributed, by which joins are planned.
    ///
    /// # Errors
    /// Errors of reading.
    fn analyze(&self, name: &MirrorName) -> Result<()>;

    /// Gives a copy another name.
    ///
    /// # Errors
    /// I/O errors.
    fn rename(&self, from: &MirrorName, to: &MirrorName) -> Result<()>;
}

//! Native tables: databases and tables that Pelorus holds itself.
//!
//! | module | owns |
//! | --- | --- |
//! | `catalog` | the open store, and what databases and tables there are |
//! | `definition` | one table: its definition and everything that is derived from it |
//! | `types` | column types, as clients see them and as values are stored |
//! | `check` | what MySQL refuses in a `CREATE TABLE` |
//! | `options` | options of tables and partitions that are refused |
//! | `partition` | which partition a row belongs to, which partitions a condition leaves |
//! | `expression` | expressions over the columns of one table |
//! | `row_id` | the hidden row number of tables without a primary key |
//! | `ddl`, `alter`, `rename` | statements that define databases and tables |
//! | `refer` | foreign keys, which follow the names of what they refer to |
//! | `durability` | when a commit is acknowledged |
//! | `maintain`, `analyze`, `verify` | `OPTIMIZE`, `ANALYZE`, `CHECK TABLE` |
//! | `statistics` | what `ANALYZE TABLE` found: kept and shown |
//! | `show` | `SHOW` and `DESCRIBE` of native databases |
//! | `info` | rows of the information schema |
//! | `weigher` | the order of texts in keys |
//! | `view` | native tables as a query sees them |
//! | `transaction` | what an open transaction has written |
//! | `write` | statements that change rows |
//!
//! The store keeps a table's `CREATE TABLE` text beside its rows and never looks into it; names,
//! types, defaults and partitions come from parsing that text again at every start.

mod alter;
mod analyze;
pub(crate) mod catalog;
mod check;
mod collation_keys;
mod constraints;
pub(crate) mod ddl;
pub(crate) mod definition;
pub(crate) mod durability;
pub(crate) mod expression;
mod foreign_key_renames;
pub(crate) mod info;
mod maintain;
pub(crate) mod options;
pub(crate) mod partition;
mod rename;
pub(crate) mod row_id;
pub(crate) mod show;
pub(crate) mod statistics;
pub(crate) mod transaction;
pub(crate) mod types;
mod verify;
mod view;
pub(crate) mod write;

pub(crate) use pelorus_env::blocking;

pub(crate) use catalog::Catalog;

pub(crate) use transaction::{NativeReads, NativeTransaction};
pub(crate) use view::NativeView;

//! Native tables: databases and tables that Pelorus stores itself. Sessions, linked servers and mirrors
//! are unknown here.
//!
//! | module | owns |
//! | --- | --- |
//! | `catalog` | the open store, and the map from names to databases and tables |
//! | `definition` | one table: its definition and everything that is derived from it |
//! | `default_text` | defaults as texts for clients |
//! | `types` | column types, as clients see them and as values are stored |
//! | `check` | definitions of tables that MySQL refuses |
//! | `options` | options of tables and partitions that are refused |
//! | `constraints` | generated columns and CHECK constraints |
//! | `partition` | the partition of a row, and partition pruning |
//! | `expression` | expressions over the columns of one table |
//! | `row_id` | the hidden row number of tables without a primary key |
//! | `ddl`, `alter`, `rename` | statements that define databases and tables |
//! | `foreign_key_renames` | foreign keys after a rename of the tables and columns that they name |
//! | `durability` | when a commit is acknowledged |
//! | `maintain`, `analyze`, `verify` | `OPTIMIZE`, `ANALYZE`, `CHECK TABLE` |
//! | `statistics` | the statistics of `ANALYZE TABLE`: storing and showing them |
//! | `show` | `SHOW` and `DESCRIBE` of native databases |
//! | `info` | rows of the information schema |
//! | `collation_keys` | collation keys of texts in primary keys |
//! | `hidden` | databases that no statement can name |
//! | `view` | native tables as a query sees them |
//! | `transaction` | the uncommitted rows of an open transaction |
//! | `write` | statements that change rows |
//!
//! The store keeps a table's `CREATE TABLE` text next to its rows and never interprets it; names,
//! types, defaults and partitions come from parsing that text again at every start.

mod alter;
mod analyze;
pub mod catalog;
mod check;
mod collation_keys;
mod constraints;
pub mod ddl;
mod default_text;
pub mod definition;
pub mod durability;
pub mod expression;
mod foreign_key_renames;
pub mod hidden;
pub mod info;
mod maintain;
pub mod options;
pub mod partition;
mod rename;
pub mod row_id;
pub mod show;
pub mod statistics;
#[cfg(test)]
mod tests;
pub mod transaction;
pub mod types;
mod verify;
mod view;
pub mod write;

pub use catalog::Catalog;

pub use transaction::{NativeReads, NativeTransaction};
pub use view::NativeView;

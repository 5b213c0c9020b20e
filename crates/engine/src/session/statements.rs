//! The handlers of statements, one module for each kind. A handler is a function of a context, which
//! says what it may change of the session ([`super::context`]).
//!
//! | module | statements |
//! | --- | --- |
//! | `query`, `found_rows`, `explain` | queries, `SQL_CALC_FOUND_ROWS`, `EXPLAIN` |
//! | `write` | `INSERT`, `UPDATE` and the like: to `native_dml`, `load` or `linked_tables` |
//! | `native_dml`, `load` | changes of native tables; `LOAD DATA LOCAL` |
//! | `linked_tables` | statements that the primary of a linked server runs |
//! | `ddl` | DDL: to `native_ddl`, or to the primary |
//! | `native_ddl`, `create_like`, `unsupported_objects` | native databases and tables; `CREATE TABLE ... LIKE` of a linked table; views, triggers, events and routines |
//! | `transaction_control`, `locks` | transactions, locks of tables |
//! | `set`, `use_database` | `SET`, `USE` |
//! | `prepare`, `execute` | prepared statements |
//! | `show` | `SHOW`, `DESCRIBE` |
//! | `mirror`, `servers`, `accounts` | mirrors, linked servers, accounts |
//! | `administration` | `KILL`, `FLUSH` |

pub(crate) mod accounts;
pub(crate) mod administration;
pub(crate) mod create_like;
pub(crate) mod ddl;
pub(crate) mod execute;
pub(crate) mod explain;
pub(crate) mod found_rows;
pub(crate) mod linked_tables;
pub(crate) mod load;
pub(crate) mod locks;
pub(crate) mod mirror;
pub(crate) mod native_ddl;
pub(crate) mod native_dml;
pub(crate) mod prepare;
pub(crate) mod query;
pub(crate) mod servers;
pub(crate) mod set;
pub(crate) mod show;
pub(crate) mod transaction_control;
pub(crate) mod unsupported_objects;
pub(crate) mod use_database;
pub(crate) mod write;

use crate::api::{Done, Outcome};

/// An OK without numbers.
pub(crate) fn done() -> Outcome {
    Outcome::Done(Done::default())
}

//! What a statement gives its client: the outcome, its diagnostics, and small results.
//!
//! | module | owns |
//! | --- | --- |
//! | [`outcome`] | counts or a stream of rows |
//! | [`diagnostics`] | warnings and errors of the latest statement |
//! | [`result_table`] | a small result that is built row by row |
//! | [`collect`] | a whole result in memory |
//! | [`scalar`], [`parameter`] | single values |
//! | [`pattern`] | the `LIKE` patterns of `SHOW` |
//! | [`kill`] | `KILL`: handles of sessions, and the stop flag of a statement |

pub mod collect;
pub mod diagnostics;
pub mod kill;
pub mod outcome;
pub mod parameter;
pub mod pattern;
pub mod result_table;
pub mod scalar;

pub use outcome::{Done, Outcome, OutcomeResult, ResultSet, RowFormat, RowStream, Rows};
pub use parameter::Parameter;

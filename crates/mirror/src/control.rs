//! Statements about mirrors, the initial copy, and repairs.

pub(crate) mod eligibility;
pub(crate) mod initial_snapshot;
pub mod mirrors;
pub mod repair;

//! Controls mirrors: statements about mirrors, eligibility, the initial snapshot, and repair.

pub(crate) mod eligibility;
pub(crate) mod initial_snapshot;
pub mod mirrors;
pub mod repair;

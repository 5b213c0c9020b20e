//! Optimizer rules of our own.

pub(crate) mod filter_pushdown;
pub(crate) mod outer_join_constants;

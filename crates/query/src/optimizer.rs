//! Optimizer rules for DataFusion's plans.

pub(crate) mod filter_pushdown;
pub(crate) mod outer_join_constants;

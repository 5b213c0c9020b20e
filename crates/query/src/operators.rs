//! Physical operators for DataFusion's plans.

pub(crate) mod cancellable_join;
pub(crate) mod materialized_cte;
pub(crate) mod ordered_union;
pub(crate) mod pass_through;
pub(crate) mod perfect_hash_aggregate;
pub(crate) mod rebatch;
pub(crate) mod short_circuit;
pub(crate) mod single_use;
pub(crate) mod sliced_projection;
pub(crate) mod window_memory;

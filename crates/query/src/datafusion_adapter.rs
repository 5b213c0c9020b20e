//! What DataFusion sees of us: functions, aggregates, plan nodes, memory.

pub(crate) mod memory;
pub(crate) mod plan_nodes;
pub(crate) mod udf;
pub(crate) mod udwf;

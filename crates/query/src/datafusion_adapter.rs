//! The adapter to DataFusion: functions, aggregates, plan nodes and memory in the form that
//! DataFusion uses.

pub(crate) mod form;
pub(crate) mod memory;
pub(crate) mod plan_nodes;
pub(crate) mod row_key;
pub(crate) mod udf;
pub(crate) mod udwf;

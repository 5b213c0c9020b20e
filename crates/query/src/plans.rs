//! What our own nodes of DataFusion's plans have in common.

use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use pelorus_error::Error;

use crate::udf::{DfResult, into_datafusion};

/// The child of a node that has one; `what` says so in the error about another number of them.
///
/// # Errors
/// An internal error.
pub(crate) fn only_child<T>(children: Vec<T>, what: &str) -> DfResult<T> {
    match <[T; 1]>::try_from(children) {
        Ok([child]) => Ok(child),
        Err(_) => Err(into_datafusion(Error::internal(what))),
    }
}

/// Children are replaced by any others: what the node knows of them is computed anew.
pub(crate) fn recompute() -> ReplaceChildrenOptions {
    ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute)
}

//! Kernels: loops over arrays that several functions share.

pub(crate) mod forms;
pub(crate) mod fused_arithmetic;
pub(crate) mod in_list;
pub(crate) mod join_key;
pub(crate) mod quotient;
pub(crate) mod sort_key;
pub(crate) mod vector;

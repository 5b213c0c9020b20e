//! The function registry: names, binding of calls, fallibility, and error texts.

pub(crate) mod errors;
pub(crate) mod fallibility;
pub mod names;
pub(crate) mod resolve;

//! The function registry: the table of functions, binding of calls, fallibility, and error texts.

pub(crate) mod errors;
pub(crate) mod fallibility;
pub mod names;
pub(crate) mod resolve;
pub(crate) mod table;

//! Which functions there are, what they are called, and how a call of one is bound.

pub(crate) mod errors;
pub(crate) mod fallibility;
pub mod names;
pub(crate) mod resolve;

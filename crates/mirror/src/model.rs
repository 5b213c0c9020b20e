//! What a mirror is: its record, its state, its filter, and the table that holds its copy.

pub(crate) mod charsets;
pub mod copies;
pub(crate) mod filter;
pub(crate) mod mirror;
pub mod record;
pub mod status;

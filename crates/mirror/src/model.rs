//! The data model of mirrors: record, state and filter of a mirror, and the interface to the table
//! that holds its copy.

pub(crate) mod charsets;
pub mod copies;
pub(crate) mod filter;
pub(crate) mod mirror;
pub mod record;
pub mod status;

//! The data model of mirrors: record, state and filter of a mirror, and the interface to the table
//! that holds its copy.

pub(crate) mod charsets;
pub mod copies;
pub(crate) mod filter;
pub mod foreign_key;
pub(crate) mod mirror;
pub mod name;
pub mod record;
pub mod shared;
pub mod status;

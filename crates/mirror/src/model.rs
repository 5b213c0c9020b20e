//! The data model of mirrors: name, record, state, filter and foreign keys of a mirror, the interface
//! to the table that holds its copy, and what all sources share.

pub(crate) mod charsets;
pub mod copies;
pub(crate) mod filter;
pub mod foreign_key;
pub(crate) mod mirror;
pub mod name;
pub mod record;
pub mod shared;
pub mod status;

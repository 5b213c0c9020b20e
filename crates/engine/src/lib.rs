//! The façade: a session takes a statement and returns a result stream.

pub mod api;

//! Runs queries through the crate's front: plain expressions and Pelorus's own tables, without a
//! linked server.

mod here;
mod large;
mod rows;

//! Links against real servers, given by `PELORUS_TEST_MARIADB`, `PELORUS_TEST_MYSQL` and (without
//! GTIDs) `PELORUS_TEST_PLAIN_MYSQL` as `host:port:user:password`. A test of a server
//! that is not given passes without a word but one on standard error.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "tests stop at what they do not expect, and say what they leave out"
)]

mod basics;
mod binlog;
mod broken;
mod replicas;
mod scan;
mod servers;
mod split;
mod types;

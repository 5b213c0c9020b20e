//! Links against real servers, given by `PELORUS_TEST_MARIADB` and `PELORUS_TEST_MYSQL` as
//! `host:port:user:password`. A test of a server that is not given passes without a word but one
//! on standard error.

mod basics;
mod replicas;
mod scan;
mod servers;
mod split;
mod types;

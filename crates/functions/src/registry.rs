//! The function registry: the table of functions, binding of calls, fallibility, MariaDB's differences, and error texts.

pub(crate) mod errors;
pub(crate) mod fallibility;
pub(crate) mod function;
pub mod mariadb;
pub mod names;
pub(crate) mod resolve;
pub(crate) mod table;

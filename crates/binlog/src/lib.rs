//! The binlog of MySQL and MariaDB as values: pure, without any I/O.
//!
//! | module | what it owns |
//! | --- | --- |
//! | [`gtid`] | MySQL's GTID sets |
//! | [`maria`] | MariaDB's GTID positions |
//! | [`position`] | how far a reader has come, whatever the server |

pub mod gtid;
pub mod maria;
pub mod position;

pub use gtid::{Gtid, GtidSet, Source};
pub use maria::{MariaGtid, MariaGtids};
pub use position::{Position, Step};

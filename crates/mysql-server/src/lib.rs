//! The MySQL edge: listens, encrypts, authenticates, reads commands and streams results.
//!
//! | module | owns |
//! | --- | --- |
//! | [`backend`] | the interface to an engine |
//! | [`config`] | the configuration of the edge |
//! | `server` | the accept loop: limits, and the end of all connections |
//! | `channel` | one connection's bytes: packets, timeouts, the switch to TLS |
//! | `strangers` | connections that have not logged in |
//! | `login`, `proof` | the handshake, and the authentication of clients |
//! | `delays` | failed logins, and how long the next one waits |
//! | `keys` | the certificate and the key pair that clients see |
//! | `connection` | the command loop |
//! | `statements` | the state of prepared statements at the edge |
//! | `rows`, `recode`, `results` | result sets on their way to the client |

pub mod backend;
pub mod config;

mod channel;
mod connection;
mod delays;
mod keys;
mod login;
mod proof;
mod recode;
mod results;
mod rows;
mod server;
mod statements;
mod strangers;

pub use config::{EdgeConfig, TlsMode};
#[cfg(unix)]
pub use server::serve_unix;
pub use server::{Edge, listen, serve};

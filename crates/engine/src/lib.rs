//! The façade: a session takes a statement and returns a result stream.
//!
//! | module | owns |
//! | --- | --- |
//! | [`api`] | the plain types that edges see |
//! | [`config`] | the configuration of the engine |
//! | [`engine`] | accounts, links and sessions of one server |
//! | [`session`] | the state of one client, and the execution of its statements |
//! | `processlist` | the list of sessions, and `KILL` |
//! | `accounts` | accounts, host patterns and password hashes |
//! | `servers`, `secret_store` | definitions of linked servers, and their passwords encrypted on disk |
//! | `links` | open links, and the map from databases to links |
//! | `mirror` | the copies of mirrored tables, as the mirrors' stream needs them |
//! | `memory` | the memory limits of the server, its native tables, sessions and statements |
//! | `user_locks`, `global_read_lock` | `GET_LOCK` and similar functions, `FLUSH TABLES WITH READ LOCK` |
//! | `variables` | system variables |
//! | `info` | `information_schema`, `mysql` and `pelorus` |
//! | `status` | counters |
//! | `files`, `hex` | errors and digits of the small files in the data folder |
//! | `zone` | the time zone of the machine |
//!
//! It knows no protocol: edges translate bytes to the calls of [`Session`] and back. Files of the
//! data folder are written in `format` modules only, and through `Env`.

mod accounts;
pub mod api;
pub mod config;
pub mod engine;
mod files;
mod global_read_lock;
mod hex;
mod info;
mod links;
mod memory;
mod mirror;
mod processlist;
mod secret_store;
mod servers;
pub mod session;
mod status;
mod user_locks;
mod variables;
mod zone;

pub use accounts::reset_password;
pub use config::{EngineConfig, LinkSpec, LoginDelay, RootPassword, SecretSources, Settings};
pub use engine::{Engine, LinkReport};
pub use pelorus_result::kill::Handle;
pub use session::Session;

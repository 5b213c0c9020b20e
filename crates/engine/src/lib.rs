//! The façade: a session takes a statement and returns a result stream.
//!
//! | module | owns |
//! | --- | --- |
//! | [`api`] | the plain types that edges see |
//! | [`config`] | what the engine is started with |
//! | [`engine`] | accounts, links and sessions of one server |
//! | [`session`] | one client's state, and what becomes of a statement |
//! | [`handle`], `process` | sessions seen from outside: the list of them, `KILL` |
//! | `accounts` | who may log in, from where |
//! | `servers`, `seal` | definitions of linked servers, and their passwords on disk |
//! | `links` | open links, and which of them shows which database |
//! | `native` | databases and tables that Pelorus holds itself |
//! | `memory` | how much memory native tables may take |
//! | `user_locks`, `global_read_lock` | `GET_LOCK` and its kin, `FLUSH TABLES WITH READ LOCK` |
//! | `variables` | system variables |
//! | `info` | `information_schema`, `mysql` and `pelorus` |
//! | `diagnostics`, `status` | warnings and counters |
//! | `files` | what became of a small file |
//! | `grid`, `collect`, `scalar`, `pattern` | small results and single values |
//!
//! It knows no protocol: edges translate bytes to the calls of [`Session`] and back. Files of the
//! data folder are written in `format` modules only, and through `Env`.

mod accounts;
pub mod api;
mod collect;
pub mod config;
mod diagnostics;
pub mod engine;
mod files;
mod global_read_lock;
pub mod handle;
mod hex;
mod info;
mod links;
mod memory;
mod mirror;
mod native;
mod pattern;
mod processlist;
mod result_table;
mod scalar;
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
pub use handle::Handle;
pub use session::Session;

//! The façade: a session takes a statement and returns a result stream.
//!
//! | module | owns |
//! | --- | --- |
//! | [`api`] | the plain types that edges see |
//! | [`config`] | what the engine is started with |
//! | [`engine`] | accounts, links and sessions of one server |
//! | [`handle`] | telling a session from outside to stop |
//! | [`session`] | one client's state, and what becomes of a statement |

pub mod api;
pub mod config;
pub mod engine;
pub mod handle;
pub mod session;

pub use config::{EngineConfig, LinkSpec, RootPassword, Settings};
pub use engine::Engine;
pub use handle::Handle;
pub use session::Session;

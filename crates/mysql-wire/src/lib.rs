//! The MySQL protocol as bytes: a pure codec for both the server's and the client's side.
//!
//! Nothing here does I/O. [`frame`] cuts a byte stream into payloads and back; the other modules
//! read and write the payloads of one purpose each. Decoders answer any bytes with a value or an
//! error and never panic.

pub mod auth;
pub mod caps;
pub mod charset;
pub mod command;
pub mod frame;
pub mod handshake;
pub mod lenenc;
pub mod prepared;
pub mod response;
pub mod rows;

pub use caps::{Capabilities, ServerStatus};

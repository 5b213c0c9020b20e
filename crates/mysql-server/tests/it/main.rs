//! The edge from outside: a client made of the client's side of the codec, and raw sockets that
//! send what no client should.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod client;
mod hostile;
mod limits;
mod login;
mod prepared;
mod scripted;
mod statements;

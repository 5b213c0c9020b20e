//! The edge from outside: a client made of the client's side of the codec, and raw sockets that
//! send what no client should.

mod client;
mod hostile;
mod limits;
mod login;
mod prepared;
mod scripted;
mod statements;

//! Databases that the store writes, checked by the second decoder.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]

mod damage;
mod harness;
mod hostile;
mod referenced;
mod reseal;
mod sound;
mod stale;
mod text;

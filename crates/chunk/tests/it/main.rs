//! Tests of the chunk format through its public interface.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]
#![allow(clippy::cast_precision_loss, reason = "generated data may be any data")]

mod corruption;
mod data;
mod golden;
mod hostile;
mod reading;
mod selecting;

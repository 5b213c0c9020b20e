//! The store as a whole: against a model, by many threads, across crashes, with a disk that fails
//! or is damaged.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod crash;
mod damage;
mod gate;
mod golden;
mod harness;
mod kills;
mod model;
mod moments;
mod points;
mod reads;
#[path = "../../../fsck/tests/it/referenced.rs"]
mod referenced;
mod replace;
mod retention;
mod rows;
mod rules;
mod soon;
mod texts;
mod threads;

//! The store as a whole: against a model, across crashes, with a disk that fails.

mod crash;
mod harness;
mod model;
mod rules;

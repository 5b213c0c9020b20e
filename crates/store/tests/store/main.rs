//! The store as a whole: against a model, by many threads, across crashes, with a disk that fails
//! or is damaged.

mod crash;
mod damage;
mod gate;
mod harness;
mod model;
mod moments;
mod retention;
mod rules;
mod threads;

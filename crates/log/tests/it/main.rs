//! The log on simulated disks that crash, fail and rot, and on the real one with threads.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "tests stop at what they do not expect"
)]

mod basics;
mod crash;
mod damage;
mod decoder;
mod faults;
mod hooks;
mod hostile;
mod images;
mod random;
mod support;
mod threads;

//! Columns and descriptions of chunks that are damaged under checksums that fit.
//!
//! The body is shared with the tests of `crates/chunk`, which run it on inputs of their own.
#![no_main]
#![allow(dead_code, unreachable_pub, reason = "modules of tests of which a part is used")]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/chunk/tests/it/data.rs"]
mod data;
#[path = "../../crates/chunk/tests/it/hostile.rs"]
mod hostile;

fuzz_target!(|input: &[u8]| {
    let _ = hostile::run(input);
});

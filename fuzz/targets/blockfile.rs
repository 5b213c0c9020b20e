//! Headers, translation tables and blocks whose checksums are right, whatever their fields say.
//!
//! The body is shared with the tests of `crates/blockfile`, which run it on inputs of their own.
#![no_main]
#![allow(dead_code, unreachable_pub, reason = "modules of tests of which a part is used")]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/blockfile/tests/it/hostile.rs"]
mod hostile;

fuzz_target!(|input: &[u8]| {
    let _ = hostile::run(input);
});

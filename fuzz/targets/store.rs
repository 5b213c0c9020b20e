//! Catalogs, manifests, deltas, chunks and records that are damaged under right checksums: both
//! decoders agree.
//!
//! The body is shared with the tests of `crates/fsck`, which run it on inputs of their own.
#![no_main]
#![allow(dead_code, unreachable_pub, reason = "modules of tests of which a part is used")]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/fsck/tests/it/harness.rs"]
mod harness;
#[path = "../../crates/fsck/tests/it/hostile.rs"]
mod hostile;
#[path = "../../crates/fsck/tests/it/reseal.rs"]
mod reseal;

fuzz_target!(|input: &[u8]| {
    let _ = hostile::run(input);
});

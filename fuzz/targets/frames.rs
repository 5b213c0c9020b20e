//! A stream of bytes, cut anywhere: payloads or errors, and never more bytes than allowed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pelorus_mysql_wire::frame::FrameReader;

fuzz_target!(|pieces: (u16, Vec<Vec<u8>>)| {
    let (most, pieces) = pieces;
    let mut reader = FrameReader::new(most.into());
    for piece in pieces {
        reader.feed(&piece);
        for _ in 0..=piece.len() {
            match reader.next_bytes() {
                Ok(Some(payload)) => assert!(payload.len() <= most.into()),
                Ok(None) => break,
                Err(_) => {}
            }
        }
    }
});

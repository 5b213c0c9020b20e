//! Both sides of the handshake. What a client sent reads the same after writing it again.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use pelorus_mysql_wire::Capabilities;
use pelorus_mysql_wire::handshake::{ChangeUser, FirstPacket, Greeting, parse_auth_step};

fuzz_target!(|payload: &[u8]| {
    if let Ok(FirstPacket::Response(response)) = FirstPacket::parse(payload) {
        // Attributes that are left out are written as an empty list, and a long proof without a
        // length of its own kind is cut; both read again.
        let mut out = BytesMut::new();
        response.put(&mut out);
        FirstPacket::parse(&out).expect("what was written reads");
    }
    let _ = Greeting::parse(payload);
    let _ = parse_auth_step(payload, Capabilities(u32::MAX));
    let _ = parse_auth_step(payload, Capabilities(0));
    let _ = ChangeUser::parse(payload, Capabilities(u32::MAX));
});

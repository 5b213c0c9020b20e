//! Answers of a server.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pelorus_mysql_wire::Capabilities;
use pelorus_mysql_wire::prepared::PrepareOk;
use pelorus_mysql_wire::response;

fuzz_target!(|input: (u32, &[u8])| {
    let (capabilities, payload) = input;
    let capabilities = Capabilities(capabilities);
    let _ = response::parse_head(payload, capabilities);
    let _ = response::row_or_end(payload, capabilities);
    let _ = response::parse_ok(payload, capabilities);
    let _ = response::parse_eof(payload);
    let _ = response::parse_err(payload);
    let _ = response::parse_column(payload);
    let _ = PrepareOk::parse(payload);
});

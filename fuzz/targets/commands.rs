//! Commands of a client.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pelorus_mysql_wire::Capabilities;
use pelorus_mysql_wire::charset;
use pelorus_mysql_wire::command::Command;
use pelorus_types::Collation;

fuzz_target!(|input: (u32, u16, &[u8])| {
    let (capabilities, collation, payload) = input;
    if let Ok(Command::Query(text)) = Command::parse(payload, Capabilities(capabilities)) {
        let _ = charset::decode(Collation(collation), text);
    }
});

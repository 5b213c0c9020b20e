//! Parameters of EXECUTE: what reads can be written and reads the same.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use pelorus_mysql_wire::prepared::{ParameterType, parse_parameters, put_execute};

fuzz_target!(|input: (u8, Vec<(u8, bool)>, &[u8])| {
    let (count, types, bytes) = input;
    let mut types: Vec<_> =
        types.into_iter().map(|(kind, unsigned)| ParameterType { kind, unsigned }).collect();
    let Ok(values) = parse_parameters(bytes, count.into(), &mut types, &[]) else { return };
    let mut out = BytesMut::new();
    put_execute(&mut out, 1, 0, &values);
    let mut types = Vec::new();
    let again = parse_parameters(&out[10..], count.into(), &mut types, &[])
        .expect("what was written reads");
    assert_eq!(format!("{again:?}"), format!("{values:?}"));
});

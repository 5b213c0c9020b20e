//! Rows of a server, under column types that are as arbitrary as the rows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pelorus_mysql_wire::rows::{Format, RowDecoder};
use pelorus_types::{Collation, Column, ColumnType, Flags, WireType};

fuzz_target!(|input: (Vec<(u8, u16, u16, u32, u8)>, bool, Vec<Vec<u8>>)| {
    let (types, text, rows) = input;
    let columns: Vec<_> = types
        .into_iter()
        .take(8)
        .filter_map(|(kind, flags, collation, length, decimals)| {
            let wire = WireType::from_byte(kind)?;
            let mut ty = ColumnType::new(wire, Collation(collation), length, decimals);
            ty.flags = Flags(flags);
            Some(Column::computed("c", ty))
        })
        .collect();
    let format = if text { Format::Text } else { Format::Binary };
    let Ok(mut decoder) = RowDecoder::new(columns, format) else { return };
    for row in &rows {
        let before = decoder.len();
        let added = decoder.push(row).is_ok();
        assert_eq!(decoder.len(), before + usize::from(added));
    }
    let _ = decoder.finish();
});

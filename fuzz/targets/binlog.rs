//! Events of a binlog, and the rows in them under types that fit or do not.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use pelorus_binlog::{Decoder, Event, Form, Image, ImageBuilder, Target};
use pelorus_types::{Collation, ColumnType, Flags, WireType};

fuzz_target!(|input: (Vec<(u8, Vec<u8>)>, Vec<(u8, u16, u16, u32, u8)>)| {
    let (events, types) = input;
    let targets: Vec<_> = types
        .into_iter()
        .take(8)
        .enumerate()
        .filter_map(|(source, (kind, flags, collation, length, decimals))| {
            let wire = WireType::from_byte(kind)?;
            let mut ty = ColumnType::new(wire, Collation(collation), length, decimals);
            ty.flags = Flags(flags);
            let form = Form::Plain;
            Some(Target { name: "c".to_owned(), source, ty, charset: None, members: None, form })
        })
        .collect();
    let Ok(mut builder) = ImageBuilder::new(targets) else { return };
    let mut decoder = Decoder::new();
    for (kind, body) in &events {
        let mut bytes = vec![0; 19];
        bytes[4] = *kind;
        let Ok(length) = u32::try_from(19 + body.len()) else { return };
        bytes[9..13].copy_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(body);
        if decoder.push(Bytes::from(bytes)).is_err() {
            break;
        }
        while let Ok(Some(event)) = decoder.next_event() {
            if let Event::Rows(rows) = &event.event {
                for image in [Image::Before, Image::After] {
                    let before = builder.len();
                    let added = builder.append(rows, image).unwrap_or(0);
                    assert_eq!(builder.len(), before + added);
                }
            }
        }
    }
    let _ = builder.finish();
});

//! Rubbish and recorded files with broken bytes: an error or events, never a panic.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::path::PathBuf;

use bytes::Bytes;
use pelorus_binlog::{
    Decoder, Event, Form, Image, ImageBuilder, SourceColumn, SourceType, TableMap, Target,
};
use pelorus_types::collation::{BINARY, UTF8MB4_BIN};
use pelorus_types::{ColumnType, Flags, WireType};
use proptest::prelude::*;

/// A type that holds what a column has.
fn holder(column: &SourceColumn) -> ColumnType {
    use SourceType as S;
    let of = |wire, decimals| ColumnType::new(wire, BINARY, 26, decimals);
    let text = |wire| ColumnType::new(wire, UTF8MB4_BIN, 1000, 0);
    match column.kind {
        S::Int(_) => {
            let mut ty = ColumnType::bigint();
            if column.unsigned == Some(true) {
                ty.flags = ty.flags.with(Flags::UNSIGNED);
            }
            ty
        }
        S::Float => of(WireType::Float, 31),
        S::Double => of(WireType::Double, 31),
        S::Decimal(precision, scale) => ColumnType::decimal(precision, scale),
        S::Bit(_) => of(WireType::Bit, 0),
        S::Year => of(WireType::Year, 0),
        S::Date => of(WireType::Date, 0),
        S::TimeOld => of(WireType::Time, 0),
        S::DateTimeOld => of(WireType::DateTime, 0),
        S::TimestampOld => of(WireType::Timestamp, 0),
        S::Time(_) => of(WireType::Time, 6),
        S::DateTime(_) => of(WireType::DateTime, 6),
        S::Timestamp(_) => of(WireType::Timestamp, 6),
        S::Geometry(_) => of(WireType::Geometry, 0),
        S::Vector(_) => of(WireType::Vector, 0),
        S::Json(_) => text(WireType::Json),
        S::Blob(_) | S::BlobCompressed(_) if column.collation == Some(BINARY) => {
            of(WireType::Blob, 0)
        }
        _ => text(WireType::VarString),
    }
}

fn targets(map: &TableMap) -> Vec<Target> {
    map.columns
        .iter()
        .enumerate()
        .map(|(source, column)| Target {
            name: format!("c{source}"),
            source,
            ty: holder(column),
            charset: None,
            members: None,
            form: Form::Plain,
        })
        .collect()
}

/// Decodes as far as it goes; gives the number of rows.
fn decode(events: impl IntoIterator<Item = Bytes>) -> usize {
    let mut decoder = Decoder::new();
    let mut rows = 0;
    for bytes in events {
        if decoder.push(bytes).is_err() {
            break;
        }
        while let Ok(Some(event)) = decoder.next_event() {
            match &event.event {
                Event::Rows(event) => {
                    let Ok(mut builder) = ImageBuilder::new(targets(&event.table)) else {
                        continue;
                    };
                    for image in [Image::Before, Image::After] {
                        rows += builder.append(event, image).unwrap_or(0);
                    }
                    let before = builder.len();
                    if let Ok(images) = builder.finish() {
                        assert!(images.arrays.iter().all(|array| array.len() == before));
                    }
                }
                Event::Query(query) => drop(query.text()),
                _ => {}
            }
        }
    }
    rows
}

/// The events of a recorded file, without checksums, so that broken bytes come through.
fn unchecked(name: &str) -> Vec<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let file = std::fs::read(path).unwrap();
    let mut rest = &file[4..];
    let mut events = Vec::new();
    while !rest.is_empty() {
        let length = usize::try_from(u32::from_le_bytes(rest[9..13].try_into().unwrap())).unwrap();
        let mut event = rest[..length].to_vec();
        if event[4] == 15 {
            event[length - 5] = 0;
        } else {
            event.truncate(length - 4);
            event[9..13].copy_from_slice(&u32::try_from(length - 4).unwrap().to_le_bytes());
        }
        events.push(event);
        rest = &rest[length..];
    }
    events
}

/// An event with a true header.
fn event(kind: u8, body: &[u8]) -> Bytes {
    let mut bytes = vec![0; 19];
    bytes[4] = kind;
    bytes[9..13].copy_from_slice(&u32::try_from(19 + body.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(body);
    bytes.into()
}

const FILES: [&str; 12] = [
    "mysql_numbers",
    "mysql_times",
    "mysql_strings",
    "mysql_transactions",
    "mysql_compressed",
    "mysql_documents",
    "mysql_partial",
    "mysql_tagged",
    "mariadb_strings",
    "mariadb_transactions",
    "mariadb_compressed",
    "mysql_large",
];

#[test]
fn a_wrong_checksum_is_found() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/mysql_tagged.binlog");
    let file = std::fs::read(path).unwrap();
    let length = usize::try_from(u32::from_le_bytes(file[13..17].try_into().unwrap())).unwrap();
    for broken in [30, 60, length + 1] {
        let mut bytes = file[4..4 + length].to_vec();
        if let Some(byte) = bytes.get_mut(broken) {
            *byte ^= 1;
        }
        let mut decoder = Decoder::new();
        decoder.push(bytes.into()).unwrap();
        let result = decoder.next_event();
        if broken < length {
            assert_eq!(result.unwrap_err().errno(), 1744);
        } else {
            result.unwrap();
        }
    }
}

#[test]
fn what_is_not_read_is_named() {
    let error = |kind: u8| {
        let mut decoder = Decoder::new();
        decoder.push(event(kind, &[0; 8])).unwrap();
        decoder.next_event().unwrap_err().message().to_owned()
    };
    assert!(error(164).contains("START_ENCRYPTION_EVENT"));
    assert!(error(200).contains("200"));
    assert!(error(172).contains("PARTIAL_ROW_DATA_EVENT"));
    // MariaDB decrypts what it sends and marks the event so.
    for kind in [164, 200] {
        let mut ignorable = event(kind, b"").to_vec();
        ignorable[17] = 0x80;
        let mut decoder = Decoder::new();
        decoder.push(ignorable.into()).unwrap();
        let skipped = decoder.next_event().unwrap().unwrap().event;
        assert!(matches!(skipped, Event::Skipped(number) if number == kind));
    }
}

proptest! {
    #[test]
    fn broken_files_give_events_or_errors(
        file in 0..FILES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut events = unchecked(&format!("{}.binlog", FILES[file]));
        for (which, at, byte) in &changes {
            let event = which.get_mut(&mut events);
            if event.len() > 19 && event[4] != 15 {
                let at = 19 + at.index(event.len() - 19);
                event[at] = *byte;
            }
        }
        let rows = decode(events.into_iter().map(Bytes::from));
        prop_assert!(!changes.is_empty() || rows > 0);
    }

    #[test]
    fn any_bytes_give_events_or_errors(
        events in prop::collection::vec((prop_oneof![0_u8..45, 160_u8..173, any::<u8>()], any::<Vec<u8>>()), 1..6),
    ) {
        decode(events.iter().map(|(kind, body)| event(*kind, body)));
    }
}

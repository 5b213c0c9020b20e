//! The bytes of small chunks, checked in: a change here is a change of the format.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, StringArray, UInt64Array};
use arrow::buffer::Buffer;
use pelorus_chunk::{ChunkMeta, Codec, encode};

use crate::data::{identical, open};

/// One column for each codec.
fn columns() -> Vec<ArrayRef> {
    let rows = 48i64;
    let decimal =
        (0..rows).map(|row| (row % 7 != 3).then_some(i128::from(row * row % 31 * 25) + 100_000));
    let decimal = decimal.collect::<Decimal128Array>();
    let words = ["ebb", "flood", "slack"];
    let texts = (0..rows).map(|row| (row != 5).then_some(words[(row * row % 3) as usize]));
    vec![
        Arc::new(Int64Array::from(vec![None; 48])),
        Arc::new(UInt64Array::from(vec![u64::MAX; 48])),
        Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("{row}")))),
        Arc::new(decimal.with_precision_and_scale(38, 2).unwrap()),
        Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row * row * row * 50 - 7))),
        Arc::new(Float64Array::from_iter_values((0..rows).map(|row| (row / 24) as f64 / 3.0))),
        Arc::new(texts.collect::<StringArray>()),
        Arc::new(Float64Array::from_iter_values((0..rows).map(|row| (row * 7 % 48) as f64 / 4.0))),
    ]
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for line in bytes.chunks(32) {
        for byte in line {
            write!(text, "{byte:02x}").unwrap();
        }
        text.push('\n');
    }
    text
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

#[test]
fn the_bytes_are_those_of_version_one() {
    let columns = columns();
    let chunk = encode(&columns).unwrap();
    let codecs: Vec<Codec> = chunk.meta.columns.iter().map(|column| column.codec).collect();
    let expected = [
        Codec::Null,
        Codec::Constant,
        Codec::Plain,
        Codec::Frame,
        Codec::Delta,
        Codec::Runs,
        Codec::Dictionary,
        Codec::Frame,
    ];
    assert_eq!(codecs, expected);
    assert_eq!(hex(&chunk.bytes), include_str!("golden/chunk.hex"), "the chunk");
    assert_eq!(hex(&chunk.meta.to_bytes()), include_str!("golden/meta.hex"), "its description");
}

#[test]
fn version_one_is_still_read() {
    let bytes = Buffer::from_vec(unhex(include_str!("golden/chunk.hex")));
    let meta = ChunkMeta::from_bytes(&unhex(include_str!("golden/meta.hex"))).unwrap();
    for (index, array) in columns().iter().enumerate() {
        let column = meta.column(&bytes, index).unwrap();
        assert!(identical(&column.decode(0..column.rows()).unwrap(), array), "column {index}");
    }
    let again = encode(&columns()).unwrap();
    assert_eq!(open(&again, 3).rows(), 48);
}

/// One column for each way of packing a section.
fn packed_columns() -> Vec<ArrayRef> {
    let rows = 2500i64;
    let random = |row: i64| row.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()) >> 33;
    vec![
        Arc::new(Int64Array::from_iter_values((0..rows).map(|row| random(row) & 511))),
        Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row / 2 * 700 + row / 3))),
        Arc::new(StringArray::from_iter_values(
            (0..rows).map(|row| format!("flood at quay {}", row * 3)),
        )),
    ]
}

/// What the compressor gives may change with its version; what it gave must be read for ever.
#[test]
fn packed_columns_of_version_one_are_still_read() {
    let bytes = Buffer::from_vec(unhex(include_str!("golden/packed.hex")));
    let meta = ChunkMeta::from_bytes(&unhex(include_str!("golden/packed.meta.hex"))).unwrap();
    for (index, array) in packed_columns().iter().enumerate() {
        let at = meta.columns[index].offset as usize;
        assert!(bytes[at + 2] >= 0x80, "column {index} is not packed");
        let column = meta.column(&bytes, index).unwrap();
        assert!(identical(&column.decode(0..column.rows()).unwrap(), array), "column {index}");
    }
    // Numbers are packed in one way only.
    let again = encode(&packed_columns()).unwrap();
    let end = meta.columns[2].offset as usize;
    assert!(again.bytes[..end] == bytes[..end]);
}

#[test]
fn positions_of_vectors_are_those_of_version_one() {
    let rows = 5000i64;
    let integers = (0..rows).map(|row| (row >= 2048).then_some(row * 1_000_003 - 7));
    let floats = (0..rows).map(|row| (row - 2500) as f64 * 0.37);
    let texts = (0..rows).map(|row| format!("buoy-{row:05}"));
    let columns: [ArrayRef; 3] = [
        Arc::new(integers.collect::<Int64Array>()),
        Arc::new(Float64Array::from_iter_values(floats)),
        Arc::new(StringArray::from_iter_values(texts)),
    ];
    let chunk = encode(&columns).unwrap();
    let positions: Vec<_> = chunk.meta.columns.iter().map(|column| &column.vectors[..]).collect();
    // The first vector of integers is NULL throughout.
    let expected: [&[[u16; 2]]; 3] = [
        &[[1, 0], [0, 31234], [31250, 45028]],
        &[[0, 26835], [26848, 53683], [53697, 65535]],
        &[[0, 16384], [16384, 32769], [32769, 33057]],
    ];
    assert_eq!(positions, expected);
}

//! Tests of sub-blocks from the writer, intact and damaged.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, Decimal128Array, Decimal256Array, Float32Array, Float64Array,
    Int64Array, StringArray, UInt64Array,
};
use arrow::datatypes::i256;
use proptest::prelude::*;

use super::*;

/// Numbers that make writers choose one codec or another.
fn numbers(style: u8, rows: usize) -> Vec<Option<i64>> {
    let one = |row: usize| {
        let row = i64::try_from(row).unwrap();
        let random = row.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()) >> 20;
        match style % 7 {
            0 => Some(row * 10),
            1 => (row % 9 != 0).then_some(random),
            2 => Some(row / 500),
            3 => Some(random % 5 * 1_000_003),
            4 => None,
            5 => Some(42),
            _ => (row % 400 > 0).then_some(random % 1000),
        }
    };
    (0..rows).map(one).collect()
}

fn columns(style: u8, rows: usize) -> Vec<ArrayRef> {
    let values = numbers(style, rows);
    let each = || values.iter().copied();
    let decimal = Decimal128Array::from_iter(each().map(|it| it.map(i128::from)));
    let wide = |value: i64| i256::from_i128(i128::from(value) << 70);
    let wide = Decimal256Array::from_iter(each().map(|it| it.map(wide)));
    let half = |value: i64| i32::try_from(value % 1_000_000).unwrap();
    vec![
        Arc::new(Int64Array::from_iter(each())),
        Arc::new(UInt64Array::from_iter(each().map(|it| it.map(i64::unsigned_abs)))),
        Arc::new(Float64Array::from_iter(each().map(|it| it.map(|it| f64::from(half(it)) / 8.0)))),
        Arc::new(Float32Array::from_iter(each().map(|it| it.map(|it| half(it % 4096) as f32)))),
        Arc::new(decimal.with_precision_and_scale(38, 2).unwrap()),
        Arc::new(wide.with_precision_and_scale(76, 2).unwrap()),
        Arc::new(StringArray::from_iter(each().map(|it| it.map(|it| format!("text {it}"))))),
        Arc::new(BinaryArray::from_iter(each().map(|it| it.map(|it| it.to_be_bytes().to_vec())))),
    ]
}

/// The bytes of all sub-blocks, and the description's.
fn encoded(style: u8, rows: usize) -> (Vec<u8>, Vec<u8>) {
    let encoded = pelorus_chunk::encode(&columns(style, rows)).unwrap();
    (encoded.bytes, encoded.meta.to_bytes())
}

#[test]
fn every_codec_is_met_and_decoded() {
    let (mut met, mut packed) = ([false; 7], [false; 7]);
    for style in 0..7 {
        for rows in [1, 5, 2048, 5000] {
            let (bytes, description) = encoded(style, rows);
            let description = Description::parse(&description).unwrap();
            description.check_places(&bytes).unwrap();
            for number in 0..description.columns.len() {
                let decoded = description.decode(number, &bytes).unwrap();
                decoded.zone.unwrap();
                assert_eq!(decoded.column.rows(), rows);
                let at = &description.columns[number];
                let is_packed = bytes[usize::try_from(at.offset).unwrap() + 2] & 0x80 != 0;
                met[usize::from(at.codec)] = true;
                packed[usize::from(at.codec)] |= is_packed;
            }
        }
    }
    assert_eq!(met, [true; 7]);
    // Constants and NULLs are small, and so are runs of few values.
    assert_eq!(packed, [false, false, true, true, true, false, true]);
}

#[test]
fn a_zone_that_hides_a_value_is_noticed() {
    let (bytes, description) = encoded(1, 5000);
    let mut description = Description::parse(&description).unwrap();
    let Zone::Narrow(_, high) = &mut description.columns[0].zone else { panic!("no numbers") };
    *high -= 1;
    let why = description.decode(0, &bytes).unwrap().zone.unwrap_err();
    assert!(why.contains("rows are not found"), "{why}");
}

#[test]
fn positions_that_hide_a_value_are_noticed() {
    let (bytes, description) = encoded(0, 5000);
    let mut description = Description::parse(&description).unwrap();
    for number in [0, 2, 4, 7] {
        description.decode(number, &bytes).unwrap().zone.unwrap();
        let (smallest, largest) = &mut description.columns[number].vectors[1];
        assert!(smallest < largest);
        *largest -= 1;
        let why = description.decode(number, &bytes).unwrap().zone.unwrap_err();
        assert!(why.contains("vector 1"), "{why}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(2000)))]

    /// The checksum is left out, so that damage reaches the decoder.
    #[test]
    fn no_sub_block_makes_the_decoder_panic(
        style: u8,
        rows in prop_oneof![1_usize..300, 2000_usize..5000],
        number in 0_usize..8,
        changes in prop::collection::vec((0_usize..64, any::<u8>()), 1..4),
        far in any::<(u16, u8)>(),
        cut in 0_usize..20,
    ) {
        let (bytes, description) = encoded(style, rows);
        let description = Description::parse(&description).unwrap();
        let at = &description.columns[number];
        let begin = usize::try_from(at.offset).unwrap();
        let end = begin + usize::try_from(at.length).unwrap();
        let mut block = bytes[begin..end].to_vec();
        for (at, byte) in changes {
            let length = block.len();
            block[at % length] = byte;
        }
        let length = block.len();
        block[usize::from(far.0) % length] ^= far.1;
        block.truncate(length - cut.saturating_sub(15));
        let plain = packed::plain(&block);
        if let Ok((column, _)) = plain.and_then(|plain| column::decode(&plain)) {
            // Whatever it is, it can be asked for.
            let zone = zone::check(at, &column);
            prop_assert!(column.rows() <= ROWS_MAX || zone.is_err());
        }
    }

    #[test]
    fn no_description_makes_the_decoder_panic(
        style: u8,
        changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..4),
    ) {
        let (bytes, mut description) = encoded(style, 4100);
        for (at, byte) in changes {
            let length = description.len();
            description[usize::from(at) % length] = byte;
        }
        if let Ok(description) = Description::parse(&description) {
            description.check_places(&bytes).ok();
            for number in 0..description.columns.len() {
                description.decode(number, &bytes).ok();
            }
        }
    }

    #[test]
    fn no_bytes_at_all_make_a_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        Description::parse(&bytes).ok();
        packed::plain(&bytes).and_then(|plain| column::decode(&plain)).ok();
        crate::catalog::Catalog::parse(&bytes).ok();
        crate::manifest::Manifest::parse(&bytes).ok();
        crate::record::Record::parse(&bytes).ok();
    }
}

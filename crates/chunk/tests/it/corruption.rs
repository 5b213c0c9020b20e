//! Damaged bytes: an error or wrong values, but never a panic, an access outside or a huge
//! allocation; with and without a checksum that fits.

use arrow::array::{ArrayRef, BooleanArray};
use arrow::buffer::Buffer;
use pelorus_chunk::{ChunkMeta, Column, Encoded, Op, Predicate, Scalar, Selection, encode};
use pelorus_error::Code;
use proptest::prelude::*;

use crate::data::{Random, SHAPES, column, types};

/// Reads a column in every way; what comes out does not matter.
fn exercise(column: &Column, sample: &ArrayRef, random: &mut Random) {
    let rows = column.rows();
    assert!(rows <= pelorus_chunk::CHUNK_ROWS);
    column.decode(0..rows).ok();
    column.decode(rows / 3..rows / 2).ok();
    column.decode_coded(&Selection::all(rows).pick(rows / 5..rows)).ok();
    let mut integers = Vec::new();
    column.integers(rows / 4..rows, &mut integers).unwrap();
    assert!(column.decoded_bytes(rows) < 1 << 40);
    if rows > 0 {
        let some: Vec<u32> = (0..20).map(|_| random.below(rows as u64) as u32).collect();
        column.take(&some).ok();
        for row in some {
            let _ = (column.value(row as usize), column.is_null(row as usize));
        }
    }
    let scalar = (0..sample.len()).find_map(|row| crate::data::scalar(sample, row));
    for op in [Op::Eq, Op::Ne, Op::Lt, Op::Ge] {
        let Some(scalar) = &scalar else { break };
        let mut selection = Selection::all(rows);
        column.select(&Predicate::Compare(op, scalar.clone()), 0..rows, &mut selection).ok();
        assert!(selection.count() <= rows);
    }
    for constants in [vec![], vec![Scalar::Int(5), Scalar::Int(9)], vec![Scalar::Float(1.5)]] {
        let mut selection = Selection::all(rows);
        column.select(&Predicate::In(constants), 0..rows, &mut selection).ok();
    }
    let keep = |values: &ArrayRef| Ok(BooleanArray::from(vec![true; values.len()]));
    column.select_with(&keep, 0..rows, &mut Selection::all(rows)).ok();
}

/// Changes a few bytes, more often in the header than elsewhere.
fn damage(bytes: &mut [u8], random: &mut Random) {
    for _ in 0..=random.below(3) {
        let end = if random.below(3) == 0 { bytes.len() } else { 64.min(bytes.len()) };
        let at = random.below(end as u64) as usize;
        bytes[at] = match random.below(4) {
            0 => bytes[at] ^ 1 << random.below(8),
            1 => bytes[at].wrapping_add(1),
            2 => random.next() as u8,
            _ => *[0, 1, 2, 4, 8, 0x7F, 0x80, 0xFF].get(random.below(8) as usize).unwrap(),
        };
    }
}

fn fix(chunk: &mut Encoded) {
    let meta = &mut chunk.meta.columns[0];
    meta.checksum = crc32c::crc32c(&chunk.bytes);
    meta.length = chunk.bytes.len() as u64;
}

#[test]
fn any_changed_byte_is_noticed() {
    let array = column(&types()[6], SHAPES[6], 300, 10, 1);
    let chunk = encode(&[array]).unwrap();
    for at in 0..chunk.bytes.len() {
        let mut bytes = chunk.bytes.clone();
        bytes[at] ^= 0x10;
        let error = chunk.meta.column(&Buffer::from_vec(bytes), 0).unwrap_err();
        assert_eq!(error.code(), Code::FileDamaged, "byte {at}");
    }
    let short = Buffer::from_vec(chunk.bytes[..chunk.bytes.len() - 1].to_vec());
    assert_eq!(chunk.meta.column(&short, 0).unwrap_err().code(), Code::FileDamaged);
}

#[test]
fn later_versions_and_cold_codecs_are_named_as_such() {
    let array = column(&types()[0], SHAPES[9], 300, 0, 1);
    let chunk = encode(&[array]).unwrap();
    for (at, value, code) in
        [(0, 2, Code::FileVersion), (2, 0x80, Code::FileVersion), (2, 99, Code::FileDamaged)]
    {
        let mut changed = chunk.clone();
        changed.bytes[at] = value;
        fix(&mut changed);
        let error = changed.meta.column(&Buffer::from_vec(changed.bytes), 0).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn damage_under_a_checksum_that_fits_does_no_harm(
        shape in 0..SHAPES.len(),
        kind in 0..8usize,
        rows in 1..5000usize,
        nulls in prop::sample::select(vec![0u64, 10]),
        seed: u64,
    ) {
        let array = column(&types()[kind], SHAPES[shape], rows, nulls, seed);
        let whole = encode(std::slice::from_ref(&array)).unwrap();
        let random = &mut Random::new(seed);
        for _ in 0..100 {
            let mut chunk = whole.clone();
            damage(&mut chunk.bytes, random);
            match random.below(10) {
                0 => chunk.bytes.truncate(random.below(chunk.bytes.len() as u64) as usize),
                1 => chunk.bytes.extend_from_slice(&[0; 16]),
                _ => {}
            }
            fix(&mut chunk);
            if let Ok(opened) = Column::parse(Buffer::from_vec(chunk.bytes), &chunk.meta.columns[0])
            {
                exercise(&opened, &array, random);
            }
        }
    }

    #[test]
    fn damaged_descriptions_do_no_harm(
        shape in 0..SHAPES.len(),
        kind in 0..8usize,
        seed: u64,
    ) {
        let array = column(&types()[kind], SHAPES[shape], 5000, 10, seed);
        let chunk = encode(std::slice::from_ref(&array)).unwrap();
        let random = &mut Random::new(seed);
        let bytes = chunk.meta.to_bytes();
        for cut in 0..bytes.len() {
            prop_assert!(ChunkMeta::from_bytes(&bytes[..cut]).is_err());
        }
        let buffer = Buffer::from_vec(chunk.bytes);
        for _ in 0..200 {
            let mut bytes = bytes.clone();
            damage(&mut bytes, random);
            let Ok(meta) = ChunkMeta::from_bytes(&bytes) else { continue };
            for (index, column) in meta.columns.iter().enumerate() {
                for scalar in (0..20).filter_map(|row| crate::data::scalar(&array, row)) {
                    pelorus_chunk::may_match(column, Some(1), &Predicate::Compare(Op::Lt, scalar));
                }
                meta.column(&buffer, index).ok();
            }
        }
    }
}

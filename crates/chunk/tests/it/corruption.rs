//! Damaged bytes: an error or wrong values, but never a panic, an access outside or a huge
//! allocation; with and without a checksum that fits.

use arrow::array::ArrayRef;
use arrow::buffer::Buffer;
use pelorus_chunk::{ChunkMeta, Codec, Column, Encoded, Op, Predicate, encode};
use pelorus_error::Code;
use proptest::prelude::*;

use crate::data::{Random, SHAPES, column, types};
use crate::hostile::{self, exercise};

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
fn later_versions_are_named_as_such() {
    let array = column(&types()[0], SHAPES[9], 300, 0, 1);
    let chunk = encode(&[array]).unwrap();
    for (at, value, code) in
        [(0, 2, Code::FileVersion), (2, 0x83, Code::FileDamaged), (2, 99, Code::FileDamaged)]
    {
        let mut changed = chunk.clone();
        changed.bytes[at] = value;
        fix(&mut changed);
        let error = changed.meta.column(&Buffer::from_vec(changed.bytes), 0).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
}

/// Under a checksum that fits: what contradicts itself is damage, not other values.
#[test]
fn a_number_of_nulls_that_does_not_fit_is_damage() {
    for shape in SHAPES {
        let array = column(&types()[0], shape, 300, 10, 1);
        let mut chunk = encode(&[array]).unwrap();
        chunk.bytes[12] ^= 1;
        fix(&mut chunk);
        let error = chunk.meta.column(&Buffer::from_vec(chunk.bytes), 0).unwrap_err();
        assert_eq!(error.code(), Code::FileDamaged, "{error}");
    }
}

/// What is not there is not believed: no memory is taken for it.
#[test]
fn a_packed_column_that_claims_too_much_is_damage() {
    let texts = (0..5000).map(|row| Some(format!("much the same text {}", row % 7 * row)));
    let array: ArrayRef = std::sync::Arc::new(texts.collect::<arrow::array::StringArray>());
    let whole = encode(&[array]).unwrap();
    assert_eq!(whole.bytes[2], 0x80 | 2, "it is packed, and plain otherwise");
    let open = |chunk: Encoded| chunk.meta.column(&Buffer::from_vec(chunk.bytes), 0);
    // The text bytes of the header, every length of the directory, what a frame says of itself.
    let frame = whole.bytes.windows(4).position(|it| it == [0x28, 0xB5, 0x2F, 0xFD]).unwrap();
    for at in (20..24).chain(32..56).chain(frame..frame + 8) {
        let mut changed = whole.clone();
        changed.bytes[at] ^= 0x40;
        fix(&mut changed);
        let error = open(changed).unwrap_err();
        assert_eq!(error.code(), Code::FileDamaged, "byte {at}: {error}");
    }
    for length in 0..64 {
        let mut changed = whole.clone();
        changed.bytes.truncate(length);
        fix(&mut changed);
        assert_eq!(open(changed).unwrap_err().code(), Code::FileDamaged, "{length} bytes");
    }
}

#[test]
fn a_code_beyond_the_dictionary_is_damage() {
    let texts = (0..500).map(|row| Some(format!("text {}", row * 7 % 60)));
    let array: ArrayRef = std::sync::Arc::new(texts.collect::<arrow::array::StringArray>());
    let chunk = encode(&[array]).unwrap();
    let meta = &chunk.meta.columns[0];
    assert_eq!((meta.codec, meta.width, meta.nulls), (Codec::Dictionary, 1, 0));
    for (code, fits) in [(59, true), (60, false), (255, false)] {
        let mut changed = chunk.clone();
        // Without NULLs and bases the codes follow the header.
        changed.bytes[32 + 77] = code;
        fix(&mut changed);
        let opened = changed.meta.column(&Buffer::from_vec(changed.bytes), 0);
        assert_eq!(opened.is_ok(), fits, "code {code}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(150)))]

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

    #[test]
    fn hostile_bytes_do_no_harm(input in prop::collection::vec(any::<u8>(), 6..40)) {
        hostile::run(&input);
    }
}

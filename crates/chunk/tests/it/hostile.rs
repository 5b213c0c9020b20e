//! Bytes that make a damaged column under a checksum that fits: an error or other values, but never
//! a panic, an access outside or a huge allocation. The fuzz target `chunk` and a test run it.

use arrow::array::{ArrayRef, BooleanArray};
use arrow::buffer::Buffer;
use pelorus_chunk::{ChunkMeta, Column, Op, Predicate, Scalar, Selection, encode, may_match};

use crate::data::{Random, SHAPES, column, scalar, types};

/// Encodes a column of the type, shape and length that the first bytes choose, and changes bytes of
/// it, or of its description, as the others say; reads it in every way.
pub(crate) fn run(input: &[u8]) {
    let Some(([kind, shape, rows, more, nulls, seed], changes)) = input.split_first_chunk() else {
        return;
    };
    let rows = usize::from(*rows) * 16 + usize::from(more % 64) + 1;
    let (kind, shape) = (&types()[usize::from(kind % 8)], SHAPES[usize::from(*shape) % 11]);
    let array = column(kind, shape, rows, u64::from(nulls % 3) * 10, u64::from(*seed));
    let whole = encode(std::slice::from_ref(&array)).unwrap();
    let (mut bytes, mut described) = (whole.bytes.clone(), whole.meta.to_bytes());
    for change in changes.as_chunks::<4>().0 {
        let [what, offset, far, byte] = *change;
        let offset = usize::from(offset) | usize::from(far) << 8;
        let target = if what % 4 == 0 { &mut described } else { &mut bytes };
        // The beginning has the most structure.
        let end = if what % 8 < 6 { target.len().min(64) } else { target.len() };
        if let Some(place) = target.get_mut(offset % end.max(1)) {
            *place = byte;
        }
        match what {
            250..252 => bytes.truncate(offset % (bytes.len() + 1)),
            252..254 => bytes.extend_from_slice(&[byte; 16]),
            _ => {}
        }
    }
    let random = &mut Random::new(u64::from(*seed));
    let mut meta = whole.meta.columns[0].clone();
    meta.checksum = crc32c::crc32c(&bytes);
    meta.length = bytes.len() as u64;
    let buffer = Buffer::from_vec(bytes);
    if let Ok(opened) = Column::parse(buffer.clone(), &meta) {
        exercise(&opened, &array, random);
    }
    if let Ok(found) = ChunkMeta::from_bytes(&described) {
        for (at, column) in found.columns.iter().enumerate() {
            for constant in (0..rows.min(20)).filter_map(|row| scalar(&array, row)) {
                may_match(column, Some(1), &Predicate::Compare(Op::Lt, constant));
            }
            found.column(&buffer, at).ok();
        }
    }
}

/// Reads a column in every way; what comes out does not matter.
pub(crate) fn exercise(column: &Column, sample: &ArrayRef, random: &mut Random) {
    let rows = column.rows();
    assert!(rows <= pelorus_chunk::CHUNK_ROWS);
    column.decode(0..rows).ok();
    column.decode(rows / 3..rows / 2).ok();
    column.decode_coded(&Selection::all(rows).pick(rows / 5..rows)).ok();
    column.decode_units(&Selection::all(rows).pick(rows / 4..rows)).ok();
    assert!(column.decoded_bytes(rows) < 1 << 40);
    if rows > 0 {
        let some: Vec<u32> = (0..20).map(|_| random.below(rows as u64) as u32).collect();
        column.take(&some).ok();
        for row in some {
            let _ = (column.value(row as usize), column.is_null(row as usize));
        }
    }
    let constant = (0..sample.len()).find_map(|row| scalar(sample, row));
    for op in [Op::Eq, Op::Ne, Op::Lt, Op::Ge] {
        let Some(constant) = &constant else { break };
        let mut selection = Selection::all(rows);
        column.select(&Predicate::Compare(op, constant.clone()), 0..rows, &mut selection).ok();
        assert!(selection.count() <= rows);
    }
    for constants in [vec![], vec![Scalar::Int(5), Scalar::Int(9)], vec![Scalar::Float(1.5)]] {
        let mut selection = Selection::all(rows);
        column.select(&Predicate::In(constants.into()), 0..rows, &mut selection).ok();
    }
    let keep = |values: &ArrayRef| Ok(BooleanArray::from(vec![true; values.len()]));
    column.select_with(&keep, 0..rows, &mut Selection::all(rows)).ok();
}

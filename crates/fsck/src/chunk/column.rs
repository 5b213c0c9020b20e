//! Decodes the sub-block of a column: header, sections, codecs.

use std::ops::Range;

use crate::bytes::{Cursor, Decoded, long, size};
use crate::chunk::ROWS_MAX;
use crate::values::{Column, Type, Value, Values, Wide, bit, compare};

/// The header of a sub-block.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    ty: Type,
    pub(crate) codec: u8,
    pub(crate) width: u8,
    pub(crate) precision: u8,
    pub(crate) scale: i8,
    exponent: u8,
    shift: u8,
    rows: usize,
    pub(crate) nulls: u32,
    entries: usize,
    text: usize,
    step: u64,
}

/// The sections, as they lie in the sub-block.
#[derive(Debug, Default)]
struct Sections<'a> {
    valid: &'a [u8],
    bases: &'a [u8],
    ends: &'a [u8],
    codes: &'a [u8],
    offsets: &'a [u8],
    values: &'a [u8],
}

const NULL: u8 = 0;
const CONSTANT: u8 = 1;
const PLAIN: u8 = 2;
const FRAME: u8 = 3;
const DELTA: u8 = 4;
const RUNS: u8 = 5;
const DICTIONARY: u8 = 6;

/// Decodes the plain form of a sub-block and checks everything that the format states about it.
pub(crate) fn decode(bytes: &[u8]) -> Decoded<(Column, Head)> {
    let head = parse_head(bytes)?;
    let parts = sections(&head, bytes)?;
    let rows = head.rows;
    if head.codec == NULL {
        return Ok((Column::nulls(head.ty, rows), head));
    }
    let valid = (!parts.valid.is_empty()).then(|| parts.valid.to_vec());
    if valid.as_ref().is_some_and(|bits| (rows..bits.len() * 8).any(|row| bit(bits, row))) {
        return Err("a validity bit beyond the last row is set".into());
    }
    let values = match head.codec {
        FRAME | DELTA => Values::sums(&head, &parts)?,
        _ => {
            let entries = plain(&head, &parts)?;
            if head.codec == DICTIONARY {
                rising(&entries)?;
            }
            entries.pick(&entry_of_rows(&head, &parts)?)
        }
    };
    let column = Column::new(values, valid);
    if head.codec == DELTA {
        never_falls(&column)?;
    }
    Ok((column, head))
}

pub(super) fn parse_head(bytes: &[u8]) -> Decoded<Head> {
    let from = &mut Cursor::new(bytes);
    let version = from.u8()?;
    if version != 1 {
        return Err(format!("it has unknown version {version}"));
    }
    let tag = from.u8()?;
    let ty = Type::from_tag(tag).ok_or_else(|| format!("it has unknown type {tag}"))?;
    let (codec, width, precision) = (from.u8()?, from.u8()?, from.u8()?);
    let scale = from.u8()?.cast_signed();
    let (exponent, shift) = (from.u8()?, from.u8()?);
    let rows = from.count(ROWS_MAX, "rows")?;
    let nulls = from.u32()?;
    let (entries, text) = (size(from.u32()?), size(from.u32()?));
    let step = from.u64()?;
    let head = Head {
        ty,
        codec,
        width,
        precision,
        scale,
        exponent,
        shift,
        rows,
        nulls,
        entries,
        text,
        step,
    };
    check_head(&head)?;
    Ok(head)
}

fn check_head(head: &Head) -> Decoded<()> {
    let &Head { ty, codec, width, rows, entries, .. } = head;
    let most_digits = match ty {
        Type::Decimal => 38,
        Type::Wide => 76,
        _ => 0,
    };
    let decimals = match most_digits {
        0 => head.precision == 0 && head.scale == 0,
        most => (1..=most).contains(&head.precision) && head.scale.unsigned_abs() <= head.precision,
    };
    if !decimals {
        return Err("precision or scale do not fit its type".into());
    }
    let many = (1..=rows).contains(&entries);
    let sums = matches!(codec, FRAME | DELTA);
    let numbers = !ty.is_string();
    let fits = match codec {
        NULL => entries == 0 && width == 0,
        CONSTANT => entries == 1 && width == 0,
        PLAIN => entries == rows && width == 0,
        FRAME if ty.is_float() => numbers && entries == 0 && [1, 2, 4].contains(&width),
        FRAME => numbers && entries == 0 && [1, 2, 4, 8].contains(&width),
        DELTA => numbers && entries == 0 && [1, 2, 4].contains(&width),
        RUNS => many && width == 0,
        DICTIONARY => many && [1, 2, 4].contains(&width),
        other => return Err(format!("it has unknown codec {other}")),
    };
    let nulls = if codec == NULL { size(head.nulls) == rows } else { size(head.nulls) < rows };
    let shift = match codec {
        FRAME => head.shift == 11 || head.shift == 17,
        DELTA => head.shift == 7,
        _ => head.shift == 0,
    };
    let exponent = head.exponent == 0 || sums && ty.is_float() && head.exponent <= 22;
    let step = if sums { head.step >= 1 } else { head.step == 0 };
    let text = ty.is_string() || head.text == 0;
    if fits && nulls && shift && exponent && step && text {
        return Ok(());
    }
    Err("its header has fields that do not fit each other".into())
}

/// Where the sections of the plain form lie; absent ones have no bytes.
pub(super) fn places(head: &Head) -> [Range<usize>; 6] {
    let &Head { ty, codec, rows, entries, .. } = head;
    let sums = matches!(codec, FRAME | DELTA);
    let lengths = [
        if head.nulls > 0 && codec != NULL { 8 * rows.div_ceil(64) } else { 0 },
        if sums { 8 * rows.div_ceil(1 << head.shift) } else { 0 },
        if codec == RUNS { 4 * entries } else { 0 },
        rows * usize::from(head.width),
        if ty.is_string() && entries > 0 { 4 * (entries + 1) } else { 0 },
        if ty.is_string() { head.text } else { entries * ty.width() },
    ];
    let mut end = 32_usize;
    lengths.map(|length| {
        let begin = if length == 0 { end } else { end.next_multiple_of(16) };
        end = begin + length;
        begin..end
    })
}

fn sections<'a>(head: &Head, bytes: &'a [u8]) -> Decoded<Sections<'a>> {
    let mut found: [&[u8]; 6] = [&[]; 6];
    let mut end = 32_usize;
    for (slot, place) in found.iter_mut().zip(places(head)) {
        let gap = bytes.get(end..place.start).ok_or("it ends too early")?;
        if gap.iter().any(|byte| *byte != 0) {
            return Err(format!("the bytes between its sections at {end} are not zeros"));
        }
        end = place.end;
        *slot = bytes.get(place).ok_or("it ends too early")?;
    }
    if end != bytes.len() {
        return Err(format!("it has {} bytes, its sections end at {end}", bytes.len()));
    }
    let [valid, bases, ends, codes, offsets, values] = found;
    Ok(Sections { valid, bases, ends, codes, offsets, values })
}

/// The values of section *values*.
fn plain(head: &Head, parts: &Sections<'_>) -> Decoded<Values> {
    if let Some(values) = Values::plain(head.ty, parts.values) {
        return Ok(values);
    }
    let numbers: Vec<usize> =
        parts.offsets.as_chunks::<4>().0.iter().map(|it| size(u32::from_le_bytes(*it))).collect();
    let whole = numbers.first().is_none_or(|first| *first == 0)
        && numbers.last().copied().unwrap_or(0) == head.text
        && numbers.is_sorted()
        && head.text < 1 << 31;
    if !whole {
        return Err("its offsets are out of order".into());
    }
    let spans: Vec<(usize, usize)> = numbers.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let is_text = head.ty == Type::Text;
    if is_text {
        for &(begin, end) in &spans {
            let text = parts.values.get(begin..end).map(std::str::from_utf8);
            if !matches!(text, Some(Ok(_))) {
                return Err("a text is not UTF-8".into());
            }
        }
    }
    Ok(Values::Strings(spans, parts.values.to_vec(), is_text))
}

/// Which entry each row has.
fn entry_of_rows(head: &Head, parts: &Sections<'_>) -> Decoded<Vec<usize>> {
    let rows = head.rows;
    match head.codec {
        CONSTANT => Ok(vec![0; rows]),
        PLAIN => Ok((0..rows).collect()),
        RUNS => {
            let mut found = Vec::with_capacity(rows);
            for (run, end) in parts.ends.as_chunks::<4>().0.iter().enumerate() {
                let end = size(u32::from_le_bytes(*end));
                if end <= found.len() || end > rows {
                    return Err(format!("run {run} ends at row {end}"));
                }
                found.resize(end, run);
            }
            if found.len() != rows {
                return Err(format!("its runs end at row {}", found.len()));
            }
            Ok(found)
        }
        _ => {
            let found: Vec<usize> = codes(head, parts)
                .map(|code| usize::try_from(code).unwrap_or(usize::MAX))
                .collect();
            match found.iter().find(|code| **code >= head.entries) {
                Some(code) => Err(format!("code {code} of {} entries", head.entries)),
                None => Ok(found),
            }
        }
    }
}

fn codes(head: &Head, parts: &Sections<'_>) -> impl Iterator<Item = u64> {
    let width = usize::from(head.width).max(1);
    parts.codes.chunks(width).map(|code| {
        let mut bytes = [0; 8];
        bytes[..code.len()].copy_from_slice(code);
        u64::from_le_bytes(bytes)
    })
}

impl Values {
    /// The values of codecs *frame* and *delta*.
    fn sums(head: &Head, parts: &Sections<'_>) -> Decoded<Self> {
        let bases: Vec<u64> =
            parts.bases.as_chunks::<8>().0.iter().map(|it| u64::from_le_bytes(*it)).collect();
        let mut sum = 0_u64;
        let mut found = Vec::with_capacity(head.rows);
        for (row, code) in codes(head, parts).enumerate() {
            let base = bases.get(row >> head.shift).copied().unwrap_or(0);
            if head.codec == DELTA {
                let is_first = row % (1 << head.shift) == 0;
                if is_first && code != 0 {
                    return Err(format!("the first code of the group of row {row} is {code}"));
                }
                sum = if is_first { 0 } else { sum.wrapping_add(code) };
            } else {
                sum = code;
            }
            found.push(base.wrapping_add(sum.wrapping_mul(head.step)));
        }
        let signed = || found.iter().map(|it| it.cast_signed());
        let power = 10_f64.powi(i32::from(head.exponent));
        Ok(match head.ty {
            Type::Int => Values::Int(signed().collect()),
            Type::UInt => Values::UInt(found),
            Type::Decimal => Values::Decimal(signed().map(i128::from).collect()),
            Type::Wide => Values::Wide(signed().map(|it| Wide::from(i128::from(it))).collect()),
            Type::Double => Values::Double(signed().map(|it| double(it) / power).collect()),
            Type::Float => Values::Float(signed().map(|it| single(double(it) / power)).collect()),
            Type::Text | Type::Bytes => return Err("strings have no such codec".into()),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "the format asks for the nearest double")]
fn double(value: i64) -> f64 {
    value as f64
}

#[expect(clippy::cast_possible_truncation, reason = "the format asks for the nearest float")]
fn single(value: f64) -> f32 {
    value as f32
}

fn rising(values: &Values) -> Decoded<()> {
    let falls = (1..values.len()).find(|at| compare(values.get(at - 1), values.get(*at)).is_ge());
    match falls {
        Some(at) => Err(format!("entry {at} of its dictionary is not above the one before it")),
        None => Ok(()),
    }
}

fn never_falls(column: &Column) -> Decoded<()> {
    let mut last = Value::Null;
    // Rows that are NULL take a value between their neighbours, so they are compared as well.
    for row in 0..column.rows() {
        let value = column.values.get(row);
        if compare(last, value).is_gt() {
            return Err(format!("its deltas fall at row {row}, of {} rows", long(column.rows())));
        }
        last = value;
    }
    Ok(())
}

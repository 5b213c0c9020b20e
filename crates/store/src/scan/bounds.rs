//! Pruning by conditions on text: which vectors of a chunk can hold matching rows.
//!
//! The rows of a chunk are in the order of their sort keys. The *fences* of a chunk are the keys of
//! each vector's first row and of the last row, as far as conditions reach. They are computed when
//! they are first needed and cached with the chunk, and show which vectors can have keys of a
//! range. That holds under every collation. Texts that compare by their code points have zone maps
//! as well.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use pelorus_chunk::{Op, Predicate, Scalar, VECTOR_ROWS, may_match, vectors_of};
use pelorus_error::Result;
use pelorus_types::ColumnType;

use super::ScanUnit;
use crate::catalog::schema_version::{Layout, Source};
use crate::key::{KeyRanges, Keys};
use crate::partition::chunk::Chunk;

/// The parts of chunks that conditions leave.
#[derive(Debug)]
pub(super) struct Bounds {
    /// The keys, and the positions of the columns that they are made of, in order.
    keys: Option<(KeyRanges, Vec<usize>)>,
    /// The conditions on zone maps, by positions of columns.
    zones: Vec<(usize, Predicate)>,
}

impl Bounds {
    /// The bounds from conditions on columns by position and on texts, under the columns'
    /// collations; `None` if they exclude no more than other conditions do.
    pub(super) fn of(
        layout: &Layout,
        predicates: &[(usize, Predicate)],
        texts: &[(usize, Predicate)],
    ) -> Option<Self> {
        let ty = |column: usize| layout.schema.columns.get(column).map(|it| it.ty);
        // Texts that stand there are compared by their bytes, which keys are not ordered by.
        let is_plain = |column: usize| ty(column).is_some_and(|it| it.arrow() != DataType::Utf8);
        let plain = predicates.iter().filter(|(column, _)| is_plain(*column));
        let conditions: Vec<(usize, Predicate)> = plain.chain(texts).cloned().collect();
        let keys = layout.key_ranges(&conditions);
        let zone = |(column, predicate): &(usize, Predicate)| {
            Some((*column, of_bytes(&ty(*column)?, predicate)?))
        };
        let zones: Vec<(usize, Predicate)> = texts.iter().filter_map(zone).collect();
        (keys.is_some() || !zones.is_empty()).then_some(Self { keys, zones })
    }

    /// Whether a chunk may have rows that meet the conditions, by its metadata in memory.
    pub(super) fn may_hold(&self, unit: &ScanUnit, chunk: &Chunk) -> Result<bool> {
        if !self.zones_allow(unit, chunk, None)? {
            return Ok(false);
        }
        let Some((ranges, columns)) = &self.keys else { return Ok(true) };
        let Some(fences) = fences(unit, chunk, (ranges.depth, columns), false)? else {
            return Ok(true);
        };
        // A range that lies between the ends meets a vector, too.
        let last = fences.len().checked_sub(1);
        Ok(last.is_some_and(|last| ranges.meet(fences.get(0), fences.get(last))))
    }

    /// The vectors of a chunk that may have such rows.
    pub(super) fn vectors(&self, unit: &ScanUnit, chunk: &Chunk) -> Result<Vec<usize>> {
        let mut found = self.key_vectors(unit, chunk)?;
        let mut failed = None;
        found.retain(|&vector| {
            let allowed = self.zones_allow(unit, chunk, Some(vector));
            allowed.unwrap_or_else(|error| {
                failed = Some(error);
                false
            })
        });
        failed.map_or(Ok(found), Err)
    }

    /// Whether the zone maps of a chunk, or of one of its vectors, allow such rows.
    fn zones_allow(&self, unit: &ScanUnit, chunk: &Chunk, vector: Option<usize>) -> Result<bool> {
        for (column, predicate) in &self.zones {
            let sources = unit.part.layout.sources(&unit.layout, &[*column])?;
            if let [Source::Stored(position)] = sources[..]
                && let Some(meta) = chunk.meta()?.columns.get(position)
                && !may_match(meta, vector, predicate)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The vectors in which such keys can be: all, where nothing is known of the keys.
    fn key_vectors(&self, unit: &ScanUnit, chunk: &Chunk) -> Result<Vec<usize>> {
        let all = 0..vectors_of(chunk.rows() as usize);
        let Some((ranges, columns)) = &self.keys else { return Ok(all.collect()) };
        let Some(fences) = fences(unit, chunk, (ranges.depth, columns), true)? else {
            return Ok(all.collect());
        };
        let meets = |&vector: &usize| ranges.meet(fences.get(vector), fences.get(vector + 1));
        Ok(all.filter(meets).collect())
    }
}

/// The first parts of the sort keys of each vector's first row and of the last row of a chunk, from
/// some columns; `None` where the chunk is sorted by something else, or has to be read for it and
/// shall not.
fn fences(
    unit: &ScanUnit,
    chunk: &Chunk,
    (depth, columns): (usize, &[usize]),
    reads: bool,
) -> Result<Option<Arc<Keys>>> {
    if !unit.part.layout.sorts_like(&unit.layout) {
        return Ok(None);
    }
    if let Some(known) = chunk.fences(depth) {
        return Ok(Some(known));
    }
    let sources = unit.part.layout.sources(&unit.layout, columns)?;
    let Some(positions) = sources.iter().map(Source::stored).collect::<Option<Vec<usize>>>() else {
        return Ok(None);
    };
    if !reads && !positions.iter().all(|&position| chunk.has_in_memory(position)) {
        return Ok(None);
    }
    let mut rows: Vec<u32> = (0..chunk.rows()).step_by(VECTOR_ROWS).collect();
    rows.extend(chunk.rows().checked_sub(1));
    let values = positions.iter().map(|&position| chunk.column(position)?.take(&rows));
    let values = values.collect::<Result<Vec<ArrayRef>>>()?;
    let place = |column: usize| columns.iter().position(|&it| it == column).unwrap_or(0);
    let keys = unit.layout.first_sort_keys(depth, rows.len(), |column| &values[place(column)])?;
    // The chunk may have been written with other weights.
    if !keys.iter().is_sorted() {
        return Ok(None);
    }
    let keys = Arc::new(keys);
    chunk.keep_fences(depth, &keys);
    Ok(Some(keys))
}

/// A condition on texts as one on their bytes, which others may fulfil, too; `None` where the
/// column's collation does not compare code points.
fn of_bytes(ty: &ColumnType, predicate: &Predicate) -> Option<Predicate> {
    let charset = ty.collation.charset();
    if !ty.collation.is_binary_order() || !(charset.starts_with("utf8") || charset == "ascii") {
        return None;
    }
    if ty.collation.is_no_pad() {
        return Some(predicate.clone());
    }
    Some(match predicate {
        Predicate::Compare(Op::Eq, text) => Predicate::Between(least(text)?, above(text)?),
        Predicate::Compare(Op::Lt | Op::Le, text) => Predicate::Compare(Op::Lt, above(text)?),
        Predicate::Compare(Op::Gt | Op::Ge, text) => Predicate::Compare(Op::Ge, least(text)?),
        Predicate::Between(low, high) => Predicate::Between(least(low)?, above(high)?),
        _ => return None,
    })
}

/// Bytes below which no text lies that is not below a text when both are filled up with spaces. One
/// that ends early can only be above it where a character below the space follows.
fn least(text: &Scalar) -> Option<Scalar> {
    let Scalar::Bytes(bytes) = text else { return None };
    let end = bytes.iter().position(|&byte| byte < b' ').unwrap_or(bytes.len());
    Some(Scalar::Bytes(bytes[..end].trim_ascii_end().to_vec()))
}

/// Bytes above all texts that are not above a text when both are filled up with spaces: of those
/// that begin with it the others go on with a character above the space.
fn above(text: &Scalar) -> Option<Scalar> {
    let Scalar::Bytes(bytes) = text else { return None };
    let end = bytes.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    Some(Scalar::Bytes([&bytes[..end], b"!"].concat()))
}

#[cfg(test)]
mod tests {
    use pelorus_chunk::Value;
    use pelorus_types::{Collation, collation};
    use proptest::prelude::*;

    use super::*;

    fn scalar(text: &str) -> Scalar {
        Scalar::Bytes(text.as_bytes().to_vec())
    }

    /// A text filled up with spaces, longer than all others of the test.
    fn padded(text: &str) -> String {
        format!("{text:<9}")
    }

    proptest! {
        /// Texts that meet a condition under PAD SPACE also meet the derived condition on bytes.
        #[test]
        fn bytes_leave_no_text_out(
            value in "[ a!\u{1}é]{0,5}", one in "[ a!\u{1}é]{0,5}", two in "[ a!\u{1}é]{0,5}",
            kind in 0..6,
        ) {
            let of = |shown: &dyn Fn(&str) -> String| {
                let (one, two) = (scalar(&shown(&one)), scalar(&shown(&two)));
                match kind {
                    0 => Predicate::Compare(Op::Eq, one),
                    1 => Predicate::Compare(Op::Lt, one),
                    2 => Predicate::Compare(Op::Le, one),
                    3 => Predicate::Compare(Op::Gt, one),
                    4 => Predicate::Compare(Op::Ge, one),
                    _ => Predicate::Between(one, two),
                }
            };
            let ty = ColumnType::varchar(9, collation::UTF8MB4_BIN);
            let on_bytes = of_bytes(&ty, &of(&|text: &str| text.to_owned())).unwrap();
            let value_padded = padded(&value);
            if of(&padded).matches(Value::Bytes(value_padded.as_bytes())) {
                prop_assert!(on_bytes.matches(Value::Bytes(value.as_bytes())), "{on_bytes:?}");
            }
        }
    }

    #[test]
    fn only_code_points_have_zones() {
        let zone = |name: &str| {
            let ty = ColumnType::varchar(9, Collation::by_name(name).unwrap());
            of_bytes(&ty, &Predicate::Compare(Op::Eq, scalar("a ")))
        };
        let between = Predicate::Between(scalar("a"), scalar("a!"));
        assert_eq!(zone("utf8mb4_bin"), Some(between.clone()));
        assert_eq!(zone("ascii_bin"), Some(between));
        assert_eq!(zone("utf8mb4_0900_bin"), Some(Predicate::Compare(Op::Eq, scalar("a "))));
        for name in ["utf8mb4_0900_ai_ci", "latin1_bin", "utf8mb4_general_ci", "utf16_bin"] {
            assert_eq!(zone(name), None, "{name}");
        }
    }
}

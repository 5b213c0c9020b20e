//! Refuses texts that would be in the wrong RANGE COLUMNS partition because of padding.
//!
//! Tuples compare by the bytes of texts, and a text is smaller than every longer text that begins
//! with it. Under a collation with PAD SPACE it is larger than one that continues with a character
//! below the space. Rows with such texts are refused; existing tables keep such rows where they
//! are.

use arrow::array::{Array, ArrayRef, AsArray};
use pelorus_error::{Error, Result};

use super::encode::{self, ABOVE_ALL, Part};
use super::{Kind, Partitioner};

/// Error 1235 for such a row.
pub(super) fn refused() -> Error {
    Error::unsupported("a text in RANGE COLUMNS that is a bound followed by a control character")
}

impl Partitioner {
    /// Refuses rows that are written to another place than MySQL's.
    ///
    /// # Errors
    /// Such a row, or a collation whose rules are not known (1235).
    pub(crate) fn check_padding(&self, columns: &[ArrayRef]) -> Result<()> {
        let rows = columns.first().map_or(0, |column| column.len());
        if self.misplaced(rows, columns)?.is_empty() { Ok(()) } else { Err(refused()) }
    }

    /// The rows with a text that is on another side of a bound when texts are padded.
    ///
    /// # Errors
    /// A collation whose rules are not known (1235).
    pub(super) fn misplaced(&self, rows: usize, columns: &[ArrayRef]) -> Result<Vec<usize>> {
        let Kind::RangeColumns { parts, bounds } = &self.kind else { return Ok(Vec::new()) };
        let padded = || parts.iter().filter(|part| part.is_padded());
        let bounds: Vec<Vec<Option<&[u8]>>> =
            bounds.iter().map(|bound| texts(parts, bound)).collect();
        let in_rows = padded().filter_map(|part| columns.get(part.column)?.as_string_opt::<i32>());
        let may_be = in_rows.map(|texts| texts.value_data()).any(has_low)
            || padded().count() > 0 && bounds.iter().flatten().flatten().any(|text| has_low(text));
        if !may_be {
            return Ok(Vec::new());
        }
        let encoded = encode::encode(parts, rows, &|at| &columns[at])?;
        let mut out = Vec::new();
        for (row, bytes) in encoded.iter().enumerate() {
            let own = texts(parts, bytes);
            let crosses = |bound: &Vec<Option<&[u8]>>| {
                own.iter().zip(bound).any(|pair| match pair {
                    (Some(own), Some(bound)) => is_turned(own, bound),
                    _ => false,
                })
            };
            if bounds.iter().any(crosses) {
                out.push(row);
            }
        }
        Ok(out)
    }
}

/// The texts of a tuple that are padded, without their ends; `None` in place of other values.
fn texts<'a>(parts: &[Part], tuple: &'a [u8]) -> Vec<Option<&'a [u8]>> {
    let mut rest = tuple;
    let mut out = Vec::with_capacity(parts.len());
    for part in parts {
        let field = match rest.first() {
            Some(&ABOVE_ALL) => rest.get(..1),
            _ => encode::first_field(part, rest),
        };
        let Some(field) = field else { break };
        rest = rest.get(field.len()..).unwrap_or_default();
        let text = field.strip_suffix(&[0, 0]).and_then(|text| text.get(1..));
        out.push(text.filter(|_| part.is_padded()));
    }
    out
}

fn has_low(text: &[u8]) -> bool {
    text.iter().any(|byte| *byte < b' ')
}

/// Whether one text begins with the other, and is the smaller one of the two when that is padded.
fn is_turned(a: &[u8], b: &[u8]) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let rest = long.strip_prefix(short).unwrap_or_default();
    rest.iter().find(|byte| **byte != b' ').is_some_and(|byte| *byte < b' ')
}

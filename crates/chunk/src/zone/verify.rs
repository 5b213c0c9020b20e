//! Verifies the zone maps of a column against its values.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef};
use pelorus_error::Result;

use super::{Ends, Zone};
use crate::VECTOR_ROWS;
use crate::kind::Kind;
use crate::meta::ColumnMeta;
use crate::scalar::{Value, value_at};

impl ColumnMeta {
    /// Compares the zone maps with the values, which are all of the column's: NULLs, extremes, and
    /// those of each vector. Returns the first mismatch, `None` if they match.
    ///
    /// # Errors
    /// `Internal` for arrays of a type that chunks do not hold.
    pub fn misfit(&self, values: &ArrayRef) -> Result<Option<String>> {
        let kind = Kind::of(values.data_type())?;
        let nulls = values.null_count();
        if nulls != self.nulls {
            let said = self.nulls;
            return Ok(Some(format!("{nulls} values are NULL where {said} are said to be")));
        }
        let mut nan = false;
        let mut ends: Vec<Ends<'_>> = Vec::new();
        for begin in (0..values.len()).step_by(VECTOR_ROWS) {
            let rows = begin..values.len().min(begin + VECTOR_ROWS);
            ends.push(ends_of(rows.map(|row| value_at(values, kind, row)), &mut nan));
        }
        if Zone::of(&ends, nan) != self.zone {
            let text = "its least and greatest value are not those of its zone map";
            return Ok(Some(text.to_owned()));
        }
        let mut vectors = ends.iter().zip(&self.vectors);
        let beyond = vectors.position(|(ends, place)| !self.zone.covers(ends, *place));
        Ok(beyond.map(|at| format!("values of vector {at} lie outside of its zone map")))
    }
}

impl Zone {
    /// Whether the ends of a vector lie between its positions.
    fn covers(&self, ends: &Ends<'_>, [first, last]: [u16; 2]) -> bool {
        ends.is_none_or(|(low, high)| {
            self.position(low).is_none_or(|at| first <= at)
                && self.position(high).is_none_or(|at| at <= last)
        })
    }
}

/// The smallest and the largest of some values, without NULL and NaN; whether there is a NaN.
fn ends_of<'a>(values: impl Iterator<Item = Value<'a>>, nan: &mut bool) -> Ends<'a> {
    let mut found: Ends<'a> = None;
    for value in values {
        match value {
            Value::Null => continue,
            Value::Float(float) if float.is_nan() => {
                *nan = true;
                continue;
            }
            _ => {}
        }
        let (low, high) = found.unwrap_or((value, value));
        found = Some(match (value.compare_value(low), value.compare_value(high)) {
            (Some(Ordering::Less), _) => (value, high),
            (_, Some(Ordering::Greater)) => (low, value),
            _ => (low, high),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float64Array, Int64Array, StringArray};

    use super::*;
    use crate::encode;

    /// Columns of a few vectors: numbers that rise, with NULLs; floats, one of them no number;
    /// texts; nothing but NULLs.
    fn columns() -> Vec<ArrayRef> {
        let rows = 0..5000_i64;
        let number = |row: i64| (row % 7 != 0).then_some(row * 3);
        let float = |row: i64| if row == 77 { f64::NAN } else { row as f64 / 7.0 - 300.0 };
        let text = |row: i64| format!("{:06}{}", row, "x".repeat(40));
        vec![
            Arc::new(rows.clone().map(number).collect::<Int64Array>()),
            Arc::new(Float64Array::from_iter_values(rows.clone().map(float))),
            Arc::new(StringArray::from_iter_values(rows.clone().map(text))),
            Arc::new(rows.map(|_| None::<i64>).collect::<Int64Array>()),
        ]
    }

    #[test]
    fn zone_maps_hold_for_the_values_that_they_were_made_of_and_for_no_others() {
        let columns = columns();
        let meta = encode(&columns).unwrap().meta;
        for (at, values) in columns.iter().enumerate() {
            assert_eq!(meta.columns[at].misfit(values).unwrap(), None, "column {at}");
        }
        let numbers = &meta.columns[0];
        assert_eq!(numbers.vectors.len(), 3);
        let wrong = |change: &dyn Fn(&mut ColumnMeta)| {
            let mut meta = numbers.clone();
            change(&mut meta);
            meta.misfit(&columns[0]).unwrap().unwrap()
        };
        assert!(wrong(&|it| it.nulls += 1).contains("NULL"));
        let narrow = Zone::Int { min: 3, max: 14_000 };
        assert!(wrong(&|it| it.zone = narrow.clone()).contains("least and greatest"));
        // Ends that no row has are wrong as well: they answer MIN and MAX.
        let wide = Zone::Int { min: 0, max: 20_000 };
        assert!(wrong(&|it| it.zone = wide.clone()).contains("least and greatest"));
        assert!(wrong(&|it| it.vectors[1][0] += 1).contains("vector 1"));
        assert!(wrong(&|it| it.vectors[2][1] -= 1).contains("vector 2"));
        assert!(wrong(&|it| it.vectors[0] = super::super::NOTHING).contains("vector 0"));
    }
}

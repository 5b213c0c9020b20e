//! The members of ENUM and SET columns, whose positions determine the sort order.
//!
//! Arrays hold the texts of such values. MySQL compares and groups them as texts, but sorts columns
//! by the number that is stored: of an ENUM the member's position, of a SET a bit for each member.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use arrow::datatypes::DataType;
use pelorus_error::{Error, Result};
use pelorus_types::{ColumnType, Flags, WireType};

/// The members of one column.
#[derive(Clone, Debug)]
pub struct Members {
    is_set: bool,
    names: Vec<String>,
    places: HashMap<String, u32>,
}

impl PartialEq for Members {
    fn eq(&self, other: &Self) -> bool {
        self.is_set == other.is_set && self.names == other.names
    }
}

impl Eq for Members {}

impl Hash for Members {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.is_set, &self.names).hash(state);
    }
}

/// Whether values of a type are those of an ENUM or SET.
pub fn is_listed(ty: &ColumnType) -> bool {
    crate::types::result_type::is_listed(ty)
}

impl Members {
    /// The members of a column, in the order in which they are declared; `None` of another type.
    pub fn of(ty: &ColumnType, names: &[String]) -> Option<Self> {
        if !is_listed(ty) {
            return None;
        }
        let is_set = ty.wire == WireType::Set || ty.flags.has(Flags::SET);
        let mut places = HashMap::new();
        for (place, name) in (0..).zip(names) {
            places.entry(name.clone()).or_insert(place);
        }
        Some(Self { is_set, names: names.to_vec(), places })
    }

    /// Whether `''` has a place of its own, so that it is not known of a value whether it is that
    /// or none at all.
    pub fn has_empty(&self) -> bool {
        self.places.contains_key("")
    }

    /// The Arrow type of the numbers.
    pub const fn number_type() -> DataType {
        DataType::UInt64
    }

    /// The numbers of values.
    ///
    /// # Errors
    /// A text that is no value of the column, and `''` where it could be a member after others as
    /// well as the error value.
    pub fn numbers(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let number = |row: usize| -> Result<Option<u64>> {
            if values.is_null(row) {
                return Ok(None);
            }
            let text = match values.data_type() {
                DataType::Utf8 => values.as_string::<i32>().value(row),
                DataType::Binary => std::str::from_utf8(values.as_binary::<i32>().value(row))
                    .map_err(|_| not_a_member("bytes"))?,
                other => return Err(Error::internal(format!("an ENUM or SET as {other}"))),
            };
            self.number(text).map(Some)
        };
        let numbers = (0..values.len()).map(number).collect::<Result<UInt64Array>>()?;
        Ok(Arc::new(numbers))
    }

    fn number(&self, text: &str) -> Result<u64> {
        if let Some(place) = self.places.get(text).filter(|_| !self.is_set) {
            // The error value looks the same. As the first member it has its place all the same:
            // before all others.
            if text.is_empty() && *place > 0 {
                return Err(not_a_member(text));
            }
            return Ok(u64::from(*place) + 1);
        }
        if text.is_empty() {
            // The error value of an ENUM, a SET without members.
            return Ok(0);
        }
        if !self.is_set {
            return Err(not_a_member(text));
        }
        text.split(',').try_fold(0, |bits, name| {
            let place = self.places.get(name).ok_or_else(|| not_a_member(name))?;
            Ok(bits | 1_u64.checked_shl(*place).unwrap_or_default())
        })
    }
}

fn not_a_member(text: &str) -> Error {
    Error::unsupported(format_args!(
        "the order of '{text}', whose place in its ENUM or SET is not known"
    ))
}

#[cfg(test)]
mod tests {
    use arrow::array::StringArray;
    use pelorus_types::Collation;

    use super::*;

    fn numbers(flag: Flags, names: &[&str], values: &[Option<&str>]) -> Result<Vec<Option<u64>>> {
        let mut ty = ColumnType::new(WireType::String, Collation(255), 4, 0);
        ty.flags = flag;
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let values: ArrayRef = Arc::new(StringArray::from(values.to_vec()));
        let numbers = Members::of(&ty, &names).unwrap().numbers(&values)?;
        Ok(numbers.as_primitive::<arrow::datatypes::UInt64Type>().iter().collect())
    }

    #[test]
    fn places_of_an_enum_begin_with_one() {
        let values = [Some("l"), None, Some(""), Some("s")];
        let found = numbers(Flags::ENUM, &["s", "m", "l"], &values).unwrap();
        assert_eq!(found, [Some(3), None, Some(0), Some(1)]);
        assert_eq!(numbers(Flags::ENUM, &["", "b"], &[Some("")]).unwrap(), [Some(1)]);
        assert!(numbers(Flags::ENUM, &["b", ""], &[Some("")]).is_err());
        assert!(numbers(Flags::ENUM, &["s"], &[Some("x")]).is_err());
    }

    #[test]
    fn members_of_a_set_are_bits() {
        let found = numbers(Flags::SET, &["p", "q", "r"], &[Some("p,r"), Some(""), Some("q")]);
        assert_eq!(found.unwrap(), [Some(5), Some(0), Some(2)]);
        let names: Vec<String> = (0..64).map(|at| format!("m{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = numbers(Flags::SET, &names, &[Some("m0,m63")]).unwrap();
        assert_eq!(found, [Some(1 << 63 | 1)]);
    }

    #[test]
    fn other_types_have_none() {
        assert!(Members::of(&ColumnType::bigint(), &[]).is_none());
    }
}

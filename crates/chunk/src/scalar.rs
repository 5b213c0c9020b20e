//! Single values and the predicates that scans evaluate: numbers and bytes, without collations.
//!
//! Floats compare as IEEE 754 says: `-0.0 = 0.0`, and a NaN is unequal to everything, itself
//! included. Decimals compare by their unscaled value, so a constant must have the column's scale.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, UInt64Type, i256,
};

use crate::kind::{Kind, narrow};
use crate::list::List;

/// One value of a column, borrowed from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A whole number, or the unscaled value of a decimal, that fits 128 bits.
    Int(i128),
    /// The unscaled value of a decimal that does not fit 128 bits.
    Wide(i256),
    /// A float; single precision widens exactly.
    Float(f64),
    /// Bytes of a text or binary value.
    Bytes(&'a [u8]),
}

/// A constant that columns are compared with; never NULL.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A whole number, or the unscaled value of a decimal at the column's scale.
    Int(i128),
    /// The unscaled value of a decimal of more than 128 bits.
    Wide(i256),
    /// A float, also for columns of single precision.
    Float(f64),
    /// Bytes, compared bytewise.
    Bytes(Vec<u8>),
}

/// A comparison operator, with the column on its left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `=`
    Eq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Op {
    /// Whether a comparison with this outcome satisfies the operator. No outcome (a NaN is
    /// involved) satisfies `<>` alone.
    pub fn holds(self, outcome: Option<Ordering>) -> bool {
        match (self, outcome) {
            (Self::Ne, None) => true,
            (_, None) => false,
            (Self::Eq, Some(order)) => order.is_eq(),
            (Self::Ne, Some(order)) => order.is_ne(),
            (Self::Lt, Some(order)) => order.is_lt(),
            (Self::Le, Some(order)) => order.is_le(),
            (Self::Gt, Some(order)) => order.is_gt(),
            (Self::Ge, Some(order)) => order.is_ge(),
        }
    }
}

/// A test of one column against constants. NULL satisfies [`Predicate::IsNull`] alone.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// `column op constant`
    Compare(Op, Scalar),
    /// `column BETWEEN low AND high`, both ends included.
    Between(Scalar, Scalar),
    /// `column IN (…)`; an empty list holds for no row.
    In(List),
    /// `column IS NULL`
    IsNull,
    /// `column IS NOT NULL`
    IsNotNull,
}

impl Predicate {
    /// Evaluates the predicate for one value, the definition that all fast paths follow.
    pub fn matches(&self, value: Value<'_>) -> bool {
        if value == Value::Null {
            return *self == Self::IsNull;
        }
        match self {
            Self::Compare(op, scalar) => op.holds(value.compare(scalar)),
            Self::Between(low, high) => {
                Op::Ge.holds(value.compare(low)) && Op::Le.holds(value.compare(high))
            }
            Self::In(list) => list.has(value),
            Self::IsNull => false,
            Self::IsNotNull => true,
        }
    }

    /// The constants of the predicate.
    pub fn scalars(&self) -> impl Iterator<Item = &Scalar> {
        let (single, pair, list): (_, _, &[Scalar]) = match self {
            Self::Compare(_, scalar) => (Some(scalar), None, &[]),
            Self::Between(low, high) => (Some(low), Some(high), &[]),
            Self::In(list) => (None, None, list),
            Self::IsNull | Self::IsNotNull => (None, None, &[]),
        };
        single.into_iter().chain(pair).chain(list)
    }
}

impl Value<'_> {
    pub(crate) fn is_nan(&self) -> bool {
        matches!(self, Value::Float(value) if value.is_nan())
    }

    /// An order of all values: of one sort as they compare, NaNs at their end, and sort after sort.
    pub fn order(&self, other: Value<'_>) -> Ordering {
        let sort = |value: &Value<'_>| match value {
            Value::Null => 0,
            Value::Int(_) | Value::Wide(_) => 1,
            Value::Float(_) => 2,
            Value::Bytes(_) => 3,
        };
        let place = |value: &Value<'_>| (sort(value), value.is_nan());
        self.compare_value(other).unwrap_or_else(|| place(self).cmp(&place(&other)))
    }

    /// Compares with a constant; `None` if a NaN is involved or the two are of different sorts
    /// (NULL, integer, float, bytes).
    pub fn compare(&self, scalar: &Scalar) -> Option<Ordering> {
        self.compare_value(scalar.as_value())
    }

    /// Compares two values; `None` as for [`Value::compare`].
    pub fn compare_value(&self, other: Value<'_>) -> Option<Ordering> {
        match (*self, other) {
            (Value::Int(left), Value::Int(right)) => Some(left.cmp(&right)),
            (Value::Float(left), Value::Float(right)) => left.partial_cmp(&right),
            (Value::Bytes(left), Value::Bytes(right)) => Some(left.cmp(right)),
            (Value::Int(left), Value::Wide(right)) => Some(i256::from_i128(left).cmp(&right)),
            (Value::Wide(left), Value::Int(right)) => Some(left.cmp(&i256::from_i128(right))),
            (Value::Wide(left), Value::Wide(right)) => Some(left.cmp(&right)),
            _ => None,
        }
    }

    /// The constant of the same value; `None` for NULL.
    pub fn to_scalar(&self) -> Option<Scalar> {
        Some(match *self {
            Value::Null => return None,
            Value::Int(value) => Scalar::Int(value),
            Value::Wide(value) => Scalar::Wide(value),
            Value::Float(value) => Scalar::Float(value),
            Value::Bytes(value) => Scalar::Bytes(value.to_vec()),
        })
    }
}

impl Scalar {
    /// The constant as a value.
    pub fn as_value(&self) -> Value<'_> {
        match self {
            Self::Int(value) => Value::Int(*value),
            Self::Wide(value) => Value::Wide(*value),
            Self::Float(value) => Value::Float(*value),
            Self::Bytes(value) => Value::Bytes(value),
        }
    }

    /// Whether columns of this kind can be compared with the constant.
    pub(crate) fn fits(&self, kind: Kind) -> bool {
        match self {
            Self::Int(_) | Self::Wide(_) => kind.is_integer(),
            Self::Float(_) => kind.is_float(),
            Self::Bytes(_) => matches!(kind, Kind::Utf8 | Kind::Binary),
        }
    }

    /// An integer as 128 bits, clamped to their range; `None` for floats and bytes. Comparisons
    /// with values of 64 bits come out the same.
    pub(crate) fn clamped(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Wide(value) => Some(narrow(*value).unwrap_or(if *value < i256::ZERO {
                i128::MIN
            } else {
                i128::MAX
            })),
            Self::Float(_) | Self::Bytes(_) => None,
        }
    }
}

/// The value in one row of an Arrow array of the given kind.
///
/// # Panics
/// If the row lies outside, or the array is not of that kind: both are the caller's invariants.
pub(crate) fn value_at(array: &ArrayRef, kind: Kind, row: usize) -> Value<'_> {
    if array.is_null(row) {
        return Value::Null;
    }
    match kind {
        Kind::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row).into()),
        Kind::UInt64 => Value::Int(array.as_primitive::<UInt64Type>().value(row).into()),
        Kind::Float32 => Value::Float(array.as_primitive::<Float32Type>().value(row).into()),
        Kind::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        Kind::Decimal128(..) => Value::Int(array.as_primitive::<Decimal128Type>().value(row)),
        Kind::Decimal256(..) => wide(array.as_primitive::<Decimal256Type>().value(row)),
        Kind::Utf8 => Value::Bytes(array.as_string::<i32>().value(row).as_bytes()),
        Kind::Binary => Value::Bytes(array.as_binary::<i32>().value(row)),
    }
}

/// A decimal of 256 bits in its canonical form.
pub(crate) fn wide(value: i256) -> Value<'static> {
    narrow(value).map_or(Value::Wide(value), Value::Int)
}

//! Join keys: keys of values of different types that are compared by `=`, so that a hash join can
//! be used instead of comparing every pair of rows.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Decimal128Array, Decimal256Array, Float64Array, Int64Array,
};
use arrow::datatypes::{DataType, Int64Type};
use pelorus_error::{Error, Result};
use pelorus_types::{ColumnType, WireType};

use crate::context::EvalContext;
use crate::input::{Input, Slot};
use crate::scalar::compare::{Kind, operator_kind};
use crate::scalar::datetime::read;
use crate::types::result_type::precision;
use crate::value::{Arg, Origin};

/// Most digits of BIGINT UNSIGNED.
const DIGITS_BIGINT: u8 = 20;

/// Most digits of `Decimal128` and `Decimal256`.
const DIGITS_128: u8 = 38;
const DIGITS_256: u8 = 76;

/// Below this, doubles have all digits of whole numbers.
const ALL_DIGITS: f64 = 9_007_199_254_740_992.0;

/// Whether one is a text and the other a whole number of many digits.
fn is_of_texts(text: &Arg, number: &Arg) -> bool {
    text.ty.is_string() && number.ty.wire == WireType::LongLong
}

/// The form in which the values of both sides are equal just where `=` calls them equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EqualityKey {
    /// Whole numbers, one side within BIGINT. What is beyond equals nothing, as NULL does.
    Integer,
    /// Exact numbers with so many digits before and after the point.
    Decimal { whole: u8, scale: u8 },
    /// Doubles.
    Real,
    /// Doubles of texts and of whole numbers. Where such a number has more digits than a double, a MySQL
    /// compares by all of them or not, as its plan has it: that is refused.
    RealOfTexts,
    /// Doubles that were rounded to so many digits after the point, or are near such a number: whole
    /// units of the last one.
    Fixed(u8),
    /// Packed dates.
    Date,
    /// The same; of texts the date alone.
    Day,
    /// Microseconds.
    Time,
}

impl EqualityKey {
    /// The key for a comparison of two values, neither of which is a constant. `None` where they are
    /// compared by something else (texts under a collation), or have too many digits.
    ///
    /// # Errors
    /// Those of binding `left = right`.
    pub fn of(left: &Arg, right: &Arg, ctx: &EvalContext) -> Result<Option<Self>> {
        let sides = [left, right];
        Ok(match operator_kind(left, right, ctx, "=")? {
            Kind::Int => {
                let is_bigint = |arg: &&Arg| arg.ty.arrow() == DataType::Int64;
                sides.iter().any(is_bigint).then_some(Self::Integer)
            }
            Kind::Decimal => {
                let scale = left.scale.max(right.scale);
                let whole = |arg: &&Arg| match arg.ty.is_integer() {
                    true => DIGITS_BIGINT,
                    false => precision(arg).saturating_sub(arg.ty.decimals),
                };
                let whole = sides.iter().map(whole).max().unwrap_or(0);
                (scale <= DIGITS_128 && whole + scale <= DIGITS_256)
                    .then_some(Self::Decimal { whole, scale })
            }
            Kind::Real if is_of_texts(left, right) || is_of_texts(right, left) => {
                Some(Self::RealOfTexts)
            }
            Kind::Real => Some(Self::Real),
            // A FLOAT is near a number of so many digits, as everything else is that is stored.
            Kind::Fixed(digits) => {
                let is_stored = |arg: &&Arg| arg.origin == Origin::Column;
                let is_near = |arg: &&Arg| arg.ty.wire == WireType::Float;
                let has_key = sides.iter().all(is_stored) && !sides.iter().all(is_near);
                has_key.then_some(Self::Fixed(digits))
            }
            Kind::Date => Some(Self::Date),
            Kind::Day => Some(Self::Day),
            Kind::Time => Some(Self::Time),
            Kind::Text(_) | Kind::Bytes => None,
        })
    }

    /// Whether the key of a value of this type can leave a warning.
    pub fn is_fallible(self, ty: &ColumnType) -> bool {
        ty.is_string() || self == Self::RealOfTexts || self == Self::Time && !ty.is_temporal()
    }

    /// The Arrow type of the keys.
    pub fn arrow(self) -> DataType {
        match self {
            Self::Integer | Self::Date | Self::Day | Self::Time => DataType::Int64,
            Self::Real | Self::RealOfTexts | Self::Fixed(_) => DataType::Float64,
            Self::Decimal { whole, scale } if whole + scale < DIGITS_128 => {
                DataType::Decimal128(DIGITS_128, scale.cast_signed())
            }
            Self::Decimal { scale, .. } => DataType::Decimal256(DIGITS_256, scale.cast_signed()),
        }
    }

    /// The keys of values of a type.
    ///
    /// # Errors
    /// Arrays that are not of the type, and numbers with more digits than their type has.
    pub fn keys(self, array: &ArrayRef, ty: &ColumnType, ctx: &EvalContext) -> Result<ArrayRef> {
        let slot = Slot::of_type(*ty);
        let input = Input::new(array, &slot, ctx)?;
        let rows = 0..array.len();
        Ok(match self {
            Self::Integer if ty.is_integer() && array.as_primitive_opt::<Int64Type>().is_some() => {
                Arc::clone(array)
            }
            Self::Integer => Arc::new(
                rows.map(|row| input.int(row).and_then(|it| i64::try_from(it).ok()))
                    .collect::<Int64Array>(),
            ),
            Self::Real => Arc::new(
                rows.map(|row| input.real(row).map(|it| it + 0.0)).collect::<Float64Array>(),
            ),
            Self::RealOfTexts => {
                let key = |row| match input.real(row) {
                    Some(real) if ty.is_integer() && real.abs() >= ALL_DIGITS => {
                        Err(Error::unsupported("a join of texts and whole numbers beyond 2^53"))
                    }
                    real => Ok(real.map(|it| it + 0.0)),
                };
                Arc::new(rows.map(key).collect::<Result<Float64Array>>()?)
            }
            Self::Fixed(digits) => {
                let unit = 10_f64.powi(i32::from(digits));
                let key = |row| input.real(row).map(|it| (it * unit).round() + 0.0);
                Arc::new(rows.map(key).collect::<Float64Array>())
            }
            Self::Decimal { .. } => self.decimals(&input, array.len())?,
            Self::Date => Arc::new(read::dates(&input, array.len())?),
            Self::Day => Arc::new(read::days(&input, array.len())?),
            Self::Time => {
                Arc::new(rows.map(|row| read::time(&input, row)).collect::<Result<Int64Array>>()?)
            }
        })
    }

    fn decimals(self, input: &Input<'_>, rows: usize) -> Result<ArrayRef> {
        let ty = self.arrow();
        let scale = match ty {
            DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
                scale.cast_unsigned()
            }
            _ => 0,
        };
        let too_long = || Error::unsupported("a join by numbers with more digits than their type");
        let units = (0..rows).map(|row| match input.decimal(row) {
            None => Ok(None),
            Some(value) => value.rescale(scale).map(|it| Some(it.units)).ok_or_else(too_long),
        });
        if let DataType::Decimal128(..) = ty {
            let small = units.map(|it| match it? {
                None => Ok(None),
                Some(units) => units.to_i128().map(Some).ok_or_else(too_long),
            });
            let array = small.collect::<Result<Decimal128Array>>()?;
            return Ok(Arc::new(array.with_data_type(ty)));
        }
        Ok(Arc::new(units.collect::<Result<Decimal256Array>>()?.with_data_type(ty)))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float32Array, StringArray, UInt64Array};

    use super::*;
    use crate::decimal::Decimal;

    fn column(ty: ColumnType) -> Arg {
        Arg::column(ty, "c")
    }

    /// The keys of values of both sides, as text.
    fn keys(left: (ColumnType, ArrayRef), right: (ColumnType, ArrayRef)) -> [Vec<String>; 2] {
        let ctx = EvalContext::default();
        let key = EqualityKey::of(&column(left.0), &column(right.0), &ctx).unwrap().unwrap();
        [left, right].map(|(ty, array)| {
            let keys = key.keys(&array, &ty, &ctx).unwrap();
            assert_eq!(keys.data_type(), &key.arrow());
            let text = |row| arrow::util::display::array_value_to_string(&keys, row).unwrap();
            (0..keys.len()).map(text).collect()
        })
    }

    fn decimals(texts: &[&str], (precision, scale): (u8, u8)) -> (ColumnType, ArrayRef) {
        let ty = ColumnType::decimal(precision, scale);
        let units = texts.iter().map(|text| {
            let value = Decimal::parse_plain(text).and_then(|it| it.rescale(scale));
            value.and_then(|it| it.units.to_i128())
        });
        let array = units.collect::<Decimal128Array>().with_data_type(ty.arrow());
        (ty, Arc::new(array))
    }

    #[test]
    fn integers_with_and_without_a_sign() {
        let signed: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), Some(-1), None]));
        let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![7, u64::MAX]));
        let [left, right] =
            keys((ColumnType::bigint(), signed), (ColumnType::bigint_unsigned(), unsigned));
        // The greatest number is not -1, but nothing that the other side can be.
        assert_eq!(
            (left, right),
            (vec!["7".into(), "-1".into(), String::new()], vec!["7".into(), String::new()])
        );
    }

    #[test]
    fn decimals_of_different_digits() {
        let [left, right] =
            keys(decimals(&["1.50", "-2.00"], (10, 2)), decimals(&["1.5000", "-2.0001"], (14, 4)));
        assert_eq!(left, ["1.5000", "-2.0000"]);
        assert_eq!(right, ["1.5000", "-2.0001"]);
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![-2]));
        let [left, right] =
            keys((ColumnType::bigint(), numbers), decimals(&["-2.00", "3.10"], (10, 2)));
        assert_eq!((left, right), (vec!["-2.00".into()], vec!["-2.00".into(), "3.10".into()]));
    }

    #[test]
    fn numbers_and_texts_are_compared_as_doubles() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![12, 0]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["12.0", "-0", "1e1x"]));
        let text = ColumnType::varchar(20, pelorus_types::collation::UTF8MB4_0900_AI_CI);
        let [left, right] = keys((ColumnType::bigint(), numbers), (text, texts));
        assert_eq!(left, ["12.0", "0.0"]);
        assert_eq!(right, ["12.0", "0.0", "10.0"]);
        let ctx = EvalContext::default();
        assert_eq!(EqualityKey::of(&column(text), &column(text), &ctx).unwrap(), None);
        let wide: ArrayRef = Arc::new(Int64Array::from(vec![1 << 53]));
        let key = EqualityKey::of(&column(ColumnType::bigint()), &column(text), &ctx).unwrap();
        assert_eq!(key, Some(EqualityKey::RealOfTexts));
        let keys = key.unwrap().keys(&wide, &ColumnType::bigint(), &ctx);
        assert_eq!(keys.unwrap_err().errno(), 1235);
        // To a MariaDB both are decimals.
        let mut ctx = EvalContext::default();
        ctx.of_mariadb = true;
        let key = EqualityKey::of(&column(ColumnType::bigint()), &column(text), &ctx).unwrap();
        assert!(matches!(key, Some(EqualityKey::Decimal { .. })), "{key:?}");
    }

    #[test]
    fn numbers_of_fixed_digits_meet_at_the_nearest_unit() {
        let single = ColumnType { wire: WireType::Float, decimals: 2, ..ColumnType::double() };
        let double = ColumnType { decimals: 2, ..ColumnType::double() };
        let near: ArrayRef = Arc::new(Float32Array::from(vec![9.99_f32, -0.0, 100_000.01]));
        let exact: ArrayRef = Arc::new(Float64Array::from(vec![9.99, 0.0, 100_000.01, 100_000.0]));
        let [left, right] = keys((single, near), (double, exact));
        assert_eq!(left, ["999.0", "0.0", "10000001.0"]);
        assert_eq!(right, ["999.0", "0.0", "10000001.0", "10000000.0"]);
        let ctx = EvalContext::default();
        let of = |left, right| EqualityKey::of(&left, &right, &ctx).unwrap();
        assert_eq!(of(column(double), column(double)), Some(EqualityKey::Real));
        let finer = ColumnType { decimals: 3, ..single };
        assert_eq!(of(column(single), column(finer)), None, "both are near a number only");
        let computed = Arg { origin: Origin::Expression, ..column(double) };
        assert_eq!(of(computed, column(single)), None, "of any digits");
    }
}

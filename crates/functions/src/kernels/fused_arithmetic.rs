//! Fused arithmetic: exact numbers computed from columns by `+`, `-` and `*`, a batch at a time in
//! 64 bits.
//!
//! An aggregate takes such a formula in place of its argument, so that no intermediate array of 128
//! or 256 bits is built. Every vector of numbers carries bounds, determined for each column of a
//! batch and computed for all others. If the bounds could exceed 64 bits nothing is computed here,
//! and the calls of the formula are evaluated one by one, which report overflows as MySQL does.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Int64Type, UInt64Type};
use pelorus_error::{Error, Result};

use crate::call::Call;

/// An operator that is exact: no digit is rounded away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExactOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
}

/// A tree of exact operators over columns and constants.
#[derive(Clone, Debug)]
pub enum Formula {
    /// The argument at a position: an integer or decimal that is no date or time.
    Column(usize),
    /// The argument at a position: unscaled numbers in 64 bits of a decimal type, which have at most
    /// so many digits.
    Units(usize, DataType, u8),
    /// A number, as an array of one value.
    Constant(ArrayRef),
    /// The operator of a call and its operands.
    Op(ExactOp, Arc<Call>, Box<[Formula; 2]>),
}

/// Numbers that fit 64 bits.
#[derive(Debug)]
pub(crate) struct Narrow<'a> {
    /// The unscaled numbers, one for each row; those of NULLs mean nothing.
    pub(crate) values: Cow<'a, [i64]>,
    pub(crate) bounds: Bounds,
    /// Digits after the point.
    pub(crate) scale: u8,
    pub(crate) nulls: Option<NullBuffer>,
}

/// Between which numbers all of a vector lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    least: i64,
    most: i64,
}

/// One operand on the way: a vector or a constant.
enum Operand<'a> {
    Vector(Narrow<'a>),
    One(i64, u8),
}

impl Formula {
    /// The numbers of a batch; `None` where 64 bits may not do.
    pub(crate) fn narrow<'a>(&'a self, args: &'a [ArrayRef]) -> Option<Narrow<'a>> {
        if let Self::Units(at, ty, digits) = self {
            let units = args.get(*at)?;
            // What a batch comes to must fit, or nothing is gained.
            let bounds = Bounds::of_digits(*digits).filter(|it| it.fit(units.len()));
            if let Some(bounds) = bounds {
                return Narrow::of_units(units, ty, bounds);
            }
        }
        match self.operand(args)? {
            Operand::Vector(narrow) => Some(narrow),
            Operand::One(..) => None,
        }
    }

    /// The numbers as the calls compute them, whatever their width.
    pub(crate) fn careful(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        match self {
            Self::Column(at) => {
                let arg = args.get(*at).ok_or_else(|| Error::internal("a formula's argument"))?;
                Ok(Arc::clone(arg))
            }
            Self::Units(at, ty, _) => {
                let units = args.get(*at).and_then(|arg| arg.as_primitive_opt::<Int64Type>());
                let units = units.ok_or_else(|| Error::internal("a formula's argument"))?;
                let decimals: Decimal128Array = units.unary(i128::from);
                Ok(Arc::new(decimals.with_data_type(ty.clone())))
            }
            Self::Constant(array) => Ok(Arc::clone(array)),
            Self::Op(_, call, operands) => {
                let [left, right] = operands.as_ref();
                call.evaluate(&[left.careful(args, rows)?, right.careful(args, rows)?], rows)
            }
        }
    }

    fn operand<'a>(&'a self, args: &'a [ArrayRef]) -> Option<Operand<'a>> {
        match self {
            Self::Column(at) => narrow(args.get(*at)?).map(Operand::Vector),
            Self::Units(at, ty, _) => {
                let units = args.get(*at)?;
                // Products need closer bounds than those of all digits.
                let bounds = Bounds::of(units.as_primitive_opt::<Int64Type>()?.values());
                Narrow::of_units(units, ty, bounds).map(Operand::Vector)
            }
            Self::Constant(array) => {
                let narrow = narrow(array).filter(|it| it.nulls.is_none())?;
                Some(Operand::One(*narrow.values.first()?, narrow.scale))
            }
            Self::Op(op, call, operands) => {
                let [left, right] = operands.as_ref();
                apply(*op, call.scale(), left.operand(args)?, right.operand(args)?)
            }
        }
    }
}

impl<'a> Narrow<'a> {
    fn of_units(units: &'a ArrayRef, ty: &DataType, bounds: Bounds) -> Option<Self> {
        let DataType::Decimal128(_, scale) = ty else { return None };
        let nulls = units.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        let values = Cow::Borrowed(&units.as_primitive_opt::<Int64Type>()?.values()[..]);
        Some(Self { values, bounds, scale: u8::try_from(*scale).ok()?, nulls })
    }

    /// Other numbers in the place of these.
    fn map(self, bounds: Bounds, scale: u8, new: impl Fn(i64) -> i64) -> Self {
        let values = match self.values {
            Cow::Borrowed(values) => values.iter().map(|value| new(*value)).collect(),
            Cow::Owned(mut values) => {
                values.iter_mut().for_each(|value| *value = new(*value));
                Cow::Owned(values)
            }
        };
        Self { values, bounds, scale, nulls: self.nulls }
    }

    /// Numbers made of these and others, row by row.
    fn zip(
        self,
        other: Self,
        bounds: Bounds,
        scale: u8,
        new: impl Fn(i64, i64) -> i64,
    ) -> Option<Self> {
        if self.values.len() != other.values.len() {
            return None;
        }
        let nulls = NullBuffer::union(self.nulls.as_ref(), other.nulls.as_ref());
        let values = match (self.values, other.values) {
            (Cow::Owned(mut values), others) => {
                values.iter_mut().zip(&*others).for_each(|(a, b)| *a = new(*a, *b));
                Cow::Owned(values)
            }
            (values, Cow::Owned(mut others)) => {
                others.iter_mut().zip(&*values).for_each(|(b, a)| *b = new(*a, *b));
                Cow::Owned(others)
            }
            (values, others) => values.iter().zip(&*others).map(|(a, b)| new(*a, *b)).collect(),
        };
        Some(Self { values, bounds, scale, nulls })
    }
}

impl Bounds {
    /// Close bounds: the bits of all numbers (of what they are less than -1 where negative) together
    /// are found faster than the largest, and are less than twice as much.
    fn of(values: &[i64]) -> Self {
        let (bits, signs) = values.iter().fold((0, 0), |(bits, signs), value| {
            let sign = value >> 63;
            (bits | (value ^ sign), signs | sign)
        });
        Self { least: if signs == 0 { 0 } else { !bits }, most: bits }
    }

    /// Those of all numbers with so many digits.
    fn of_digits(digits: u8) -> Option<Self> {
        let most = 10_i64.checked_pow(digits.into())? - 1;
        Some(Self { least: -most, most })
    }

    /// Whether the sum of so many numbers fits 64 bits.
    pub(crate) fn fit(self, count: usize) -> bool {
        i64::try_from(count).is_ok_and(|count| {
            self.least.checked_mul(count).is_some() && self.most.checked_mul(count).is_some()
        })
    }

    fn add(self, other: Self) -> Option<Self> {
        let least = self.least.checked_add(other.least)?;
        Some(Self { least, most: self.most.checked_add(other.most)? })
    }

    fn sub(self, other: Self) -> Option<Self> {
        let least = self.least.checked_sub(other.most)?;
        Some(Self { least, most: self.most.checked_sub(other.least)? })
    }

    fn mul(self, other: Self) -> Option<Self> {
        let of = |one: i64| [one.checked_mul(other.least), one.checked_mul(other.most)];
        let [a, b] = of(self.least);
        let [c, d] = of(self.most);
        let ends = [a?, b?, c?, d?];
        Some(Self { least: ends.into_iter().min()?, most: ends.into_iter().max()? })
    }

    /// Whether all numbers are of 32 bits and none is negative.
    fn is_half(self) -> bool {
        self.least >= 0 && u32::try_from(self.most).is_ok()
    }
}

/// The numbers of an array, if all fit.
fn narrow(array: &ArrayRef) -> Option<Narrow<'_>> {
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
    let scale = match array.data_type() {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
            u8::try_from(*scale).ok()?
        }
        _ => 0,
    };
    let values: Cow<'_, [i64]> = if let Some(array) = array.as_primitive_opt::<Int64Type>() {
        Cow::Borrowed(array.values())
    } else if let Some(array) = array.as_primitive_opt::<UInt64Type>() {
        let values = array.values();
        let all = values.iter().fold(0, |all, value| all | value);
        i64::try_from(all).ok()?;
        values.iter().map(|value| value.cast_signed()).collect()
    } else if let Some(array) = array.as_primitive_opt::<Decimal128Type>() {
        of_128(array.values())?.into()
    } else {
        let array = array.as_primitive_opt::<Decimal256Type>()?;
        let values: Option<Vec<i128>> = array.values().iter().map(|it| it.to_i128()).collect();
        of_128(&values?)?.into()
    };
    let bounds = Bounds::of(&values);
    Some(Narrow { values, bounds, scale, nulls })
}

#[expect(clippy::cast_possible_truncation, reason = "what is lost is looked at")]
fn of_128(values: &[i128]) -> Option<Vec<i64>> {
    let out: Vec<i64> = values.iter().map(|&value| value as i64).collect();
    let highs = values.iter().map(|&value| (value >> 64) as i64);
    let lost = highs.zip(&out).fold(0, |lost, (high, low)| lost | (high ^ (low >> 63)));
    (lost == 0).then_some(out)
}

fn apply<'a>(op: ExactOp, scale: u8, left: Operand<'a>, right: Operand<'a>) -> Option<Operand<'a>> {
    let (left, right) = match op {
        ExactOp::Mul if left.scale() + right.scale() == scale => (left, right),
        ExactOp::Mul => return None,
        ExactOp::Add | ExactOp::Sub => (left.raised(scale)?, right.raised(scale)?),
    };
    let (one, two) = (left.bounds(), right.bounds());
    // One loop an operator, or the choice would be made for every number.
    match op {
        // Processors multiply several numbers of 32 bits at once.
        ExactOp::Mul if one.is_half() && two.is_half() => {
            combine(left, right, one.mul(two)?, scale, product_of_halves)
        }
        ExactOp::Mul => combine(left, right, one.mul(two)?, scale, i64::wrapping_mul),
        ExactOp::Add => combine(left, right, one.add(two)?, scale, i64::wrapping_add),
        ExactOp::Sub => combine(left, right, one.sub(two)?, scale, i64::wrapping_sub),
    }
}

/// The product of numbers that have 32 bits at most.
fn product_of_halves(a: i64, b: i64) -> i64 {
    const HALF: i64 = 0xffff_ffff;
    (a & HALF).wrapping_mul(b & HALF)
}

fn combine<'a>(
    left: Operand<'a>,
    right: Operand<'a>,
    bounds: Bounds,
    scale: u8,
    new: impl Fn(i64, i64) -> i64,
) -> Option<Operand<'a>> {
    Some(match (left, right) {
        (Operand::One(a, _), Operand::One(b, _)) => Operand::One(new(a, b), scale),
        (Operand::Vector(a), Operand::One(b, _)) => {
            Operand::Vector(a.map(bounds, scale, |a| new(a, b)))
        }
        (Operand::One(a, _), Operand::Vector(b)) => {
            Operand::Vector(b.map(bounds, scale, |b| new(a, b)))
        }
        (Operand::Vector(a), Operand::Vector(b)) => Operand::Vector(a.zip(b, bounds, scale, new)?),
    })
}

impl Operand<'_> {
    fn scale(&self) -> u8 {
        match self {
            Self::Vector(narrow) => narrow.scale,
            Self::One(_, scale) => *scale,
        }
    }

    fn bounds(&self) -> Bounds {
        match self {
            Self::Vector(narrow) => narrow.bounds,
            Self::One(value, _) => Bounds { least: *value, most: *value },
        }
    }

    /// The same numbers with more digits after the point.
    fn raised(self, scale: u8) -> Option<Self> {
        let factor = 10_i64.checked_pow(scale.checked_sub(self.scale())?.into())?;
        let bounds = self.bounds().mul(Bounds { least: factor, most: factor })?;
        Some(match self {
            Self::One(value, _) => Self::One(value * factor, scale),
            Self::Vector(narrow) if factor == 1 => Self::Vector(Narrow { scale, ..narrow }),
            Self::Vector(narrow) => {
                Self::Vector(narrow.map(bounds, scale, |value| value.wrapping_mul(factor)))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Decimal256Array, Int64Array, UInt64Array};
    use arrow::datatypes::i256;
    use pelorus_types::ColumnType;

    use super::*;
    use crate::context::EvalContext;
    use crate::value::Arg;

    fn decimals(values: &[Option<i128>], precision: u8, scale: i8) -> ArrayRef {
        let array = Decimal128Array::from(values.to_vec());
        Arc::new(array.with_data_type(DataType::Decimal128(precision, scale)))
    }

    /// `name(a, b)` of two decimals.
    fn call(name: &str, a: (u8, u8), b: (u8, u8)) -> Arc<Call> {
        let arg = |(precision, scale): (u8, u8)| {
            Arg::column(ColumnType::decimal(precision, scale), String::new())
        };
        let ctx = Arc::new(EvalContext::default());
        Arc::new(
            crate::registry::resolve::resolve(name, &[arg(a), arg(b)], &ctx).expect("an operator"),
        )
    }

    fn of(name: &str, (a, left): ((u8, u8), Formula), (b, right): ((u8, u8), Formula)) -> Formula {
        let call = call(name, a, b);
        let op = call.exact_op().expect("exact");
        Formula::Op(op, call, Box::new([left, right]))
    }

    /// What the calls give, as text.
    fn told(formula: &Formula, args: &[ArrayRef]) -> Vec<Option<i128>> {
        let array = formula.careful(args, args[0].len()).expect("computed");
        let wide = |row: usize| match array.as_primitive_opt::<Decimal128Type>() {
            Some(array) => array.value(row),
            None => array.as_primitive::<Decimal256Type>().value(row).to_i128().expect("128 bits"),
        };
        (0..array.len()).map(|row| array.is_valid(row).then(|| wide(row))).collect()
    }

    fn given(formula: &Formula, args: &[ArrayRef]) -> Option<Vec<Option<i128>>> {
        let narrow = formula.narrow(args)?;
        let valid = |row: usize| narrow.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let Bounds { least, most } = narrow.bounds;
        assert!(narrow.values.iter().all(|value| (least..=most).contains(value)));
        let numbers = narrow.values.iter().enumerate();
        Some(numbers.map(|(row, value)| valid(row).then(|| i128::from(*value))).collect())
    }

    /// `price * (1 - discount) * (1 + tax)`
    fn charge() -> Formula {
        let one = || Formula::Constant(decimals(&[Some(1)], 1, 0));
        let kept = of("-", ((1, 0), one()), ((15, 2), Formula::Column(1)));
        let raised = of("+", ((1, 0), one()), ((15, 2), Formula::Column(2)));
        let reduced = of("*", ((15, 2), Formula::Column(0)), ((16, 2), kept));
        of("*", ((31, 4), reduced), ((16, 2), raised))
    }

    #[test]
    fn the_same_as_the_calls() {
        let args = [
            decimals(&[Some(10_494_950), Some(-7), None, Some(0)], 15, 2),
            decimals(&[Some(10), Some(0), Some(3), Some(-99)], 15, 2),
            decimals(&[Some(8), None, Some(3), Some(1)], 15, 2),
        ];
        let given = given(&charge(), &args).expect("64 bits");
        assert_eq!(given, told(&charge(), &args));
        assert_eq!(given[0], Some(10_494_950 * 90 * 108));
    }

    #[test]
    fn what_may_not_fit_is_left_to_the_calls() {
        let args = |price: i128| {
            [
                decimals(&[Some(price)], 15, 2),
                decimals(&[Some(0)], 15, 2),
                decimals(&[Some(0)], 15, 2),
            ]
        };
        assert!(charge().narrow(&args(999_999_999_999_999)).is_none());
        assert_eq!(told(&charge(), &args(999_999_999_999_999)), [Some(9_999_999_999_999_990_000)]);
        let wide = decimals(&[Some(i128::from(i64::MAX) + 1)], 38, 2);
        assert!(Formula::Column(0).narrow(&[wide]).is_none());
        let least = decimals(&[Some(i128::from(i64::MIN))], 38, 2);
        let args = [Arc::clone(&least)];
        let bounds = Formula::Column(0).narrow(&args).expect("64 bits").bounds;
        assert_eq!((bounds.least, bounds.fit(1), bounds.fit(2)), (i64::MIN, true, false));
        let less = of("-", ((38, 2), Formula::Column(0)), ((38, 2), Formula::Column(0)));
        assert!(less.narrow(&[least]).is_none());
    }

    /// Products of halves and others, at the ends of what both are for.
    #[test]
    fn products_of_all_widths() {
        let product = of(
            "*",
            ((18, 2), Formula::Units(0, DataType::Decimal128(18, 2), 18)),
            ((18, 3), Formula::Units(1, DataType::Decimal128(18, 3), 18)),
        );
        let ends = [0, 1, 2, 1 << 31, (1 << 31) - 1, u32::MAX.into(), -1, -(1 << 31), 1 << 32];
        let mut computed = 0;
        for a in ends {
            for b in ends {
                let column = |value: i64| Arc::new(Int64Array::from(vec![value; 5])) as ArrayRef;
                let args = [column(a), column(b)];
                if let Some(given) = given(&product, &args) {
                    assert_eq!(given, [Some(i128::from(a) * i128::from(b)); 5], "{a} * {b}");
                    computed += 1;
                }
            }
        }
        assert!(computed > 60, "{computed}");
    }

    #[test]
    fn units_are_decimals() {
        let units: ArrayRef = Arc::new(Int64Array::from(vec![Some(150), None, Some(-7)]));
        let ty = DataType::Decimal128(15, 2);
        let twice = of(
            "+",
            ((15, 2), Formula::Units(0, ty.clone(), 15)),
            ((15, 3), Formula::Units(0, DataType::Decimal128(15, 3), 15)),
        );
        let args = [units];
        assert_eq!(given(&twice, &args), Some(vec![Some(1650), None, Some(-77)]));
        let many: [ArrayRef; 1] = [Arc::new(Int64Array::from(vec![100; 8192]))];
        let most = |formula: &Formula| formula.narrow(&many).map(|it| it.bounds.most);
        let alone = Formula::Units(0, DataType::Decimal128(38, 2), 5);
        assert_eq!(most(&alone), Some(99_999), "by its type");
        let wide = Formula::Units(0, DataType::Decimal128(38, 2), 18);
        assert_eq!(most(&wide), Some(100), "by its numbers");
        let both = || ((5, 2), alone.clone());
        let sum = of("+", both(), both());
        assert_eq!(most(&sum), Some(200), "by its numbers");
        assert_eq!(told(&twice, &args), [Some(1650), None, Some(-77)]);
    }

    #[test]
    fn columns_of_all_widths() {
        let signed: ArrayRef = Arc::new(Int64Array::from(vec![Some(-3), None, Some(5)]));
        let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![3, 0, 5]));
        let beyond: ArrayRef = Arc::new(UInt64Array::from(vec![3, u64::MAX]));
        let wide = Decimal256Array::from(vec![Some(i256::from(-7)), None]);
        let wide: ArrayRef = Arc::new(wide.with_data_type(DataType::Decimal256(60, 5)));
        let read = |array: ArrayRef| given(&Formula::Column(0), &[array]);
        assert_eq!(read(signed), Some(vec![Some(-3), None, Some(5)]));
        assert_eq!(read(unsigned), Some(vec![Some(3), Some(0), Some(5)]));
        assert_eq!(read(beyond), None);
        assert_eq!(read(wide), Some(vec![Some(-7), None]));
    }
}

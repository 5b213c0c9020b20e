//! A parsed column of a chunk: whole and single reads, late materialisation, selections.
//!
//! [`Column::parse`] verifies the checksum and everything that later reads rely on: section
//! lengths, codes below the number of values, rising run ends and offsets, valid UTF-8. Damage with
//! a matching checksum can therefore give wrong values, but never an access out of bounds.

mod codes;
mod compact;
mod dictionary;
mod gather;
mod ints;
mod many;
mod mask;
mod parse;
mod plain;
mod ranges;
mod runs;
mod select;
mod text;
mod units;

use std::cmp::Ordering;
use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, UInt32Array, new_null_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow::compute::take;
use arrow::datatypes::{ArrowPrimitiveType, DataType, i256};
use pelorus_error::{Error, Result};

use self::codes::Codes;
pub use self::dictionary::coded;
pub use self::gather::Gather;
use self::ints::Ints;
use self::many::Many;
use self::runs::Runs;
pub use self::units::units;
use crate::Codec;
use crate::format::POWERS;
use crate::kind::Kind;
use crate::scalar::{Scalar, Value, value_at};
use crate::selection::{Picked, Which};

/// One column of one chunk, ready to be read by many threads. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Column {
    kind: Kind,
    codec: Codec,
    rows: usize,
    /// Bytes of the sub-block.
    length: usize,
    /// Absent if no row is NULL, or all are.
    nulls: Option<NullBuffer>,
    /// The bits of `nulls` in whole words.
    validity: Option<Buffer>,
    data: Data,
}

/// The values by codec. Arrays of values have no NULLs, except plain ones.
#[derive(Clone, Debug)]
enum Data {
    Null,
    Constant(ArrayRef),
    Plain(ArrayRef),
    Ints(Ints),
    Runs(Runs),
    Dictionary(Codes, ArrayRef),
}

impl Column {
    /// Rows of the column.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The Arrow type of its values.
    pub fn data_type(&self) -> DataType {
        self.kind.data_type()
    }

    /// How its values are laid out.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Rows that are NULL.
    pub fn null_count(&self) -> usize {
        match self.data {
            Data::Null => self.rows,
            _ => self.nulls.as_ref().map_or(0, NullBuffer::null_count),
        }
    }

    /// Bytes of memory that the column keeps, the encoded bytes included.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.length
    }

    /// Bytes that so many decoded rows need, about.
    pub fn decoded_bytes(&self, rows: usize) -> usize {
        let text = |values: &ArrayRef| plain::text_length(values) / values.len().max(1) + 4;
        let value = match (self.kind.width(), &self.data) {
            (Some(width), _) => width,
            (None, Data::Constant(values) | Data::Plain(values) | Data::Dictionary(_, values)) => {
                text(values)
            }
            (None, Data::Runs(runs)) => text(&runs.values),
            (None, Data::Null | Data::Ints(_)) => 4,
        };
        rows * value + self.nulls.as_ref().map_or(0, |_| rows.div_ceil(8))
    }

    /// Decodes a range of rows. Plain columns share the chunk's memory where it is aligned.
    ///
    /// # Errors
    /// `Internal` for rows outside, or text of more than 2 GiB.
    pub fn decode(&self, rows: Range<usize>) -> Result<ArrayRef> {
        self.check(&rows)?;
        let length = rows.len();
        let nulls = || self.nulls.as_ref().map(|nulls| nulls.slice(rows.start, length));
        match &self.data {
            Data::Null => Ok(new_null_array(&self.data_type(), length)),
            Data::Constant(values) => gather(values, vec![0; length], nulls()),
            Data::Plain(array) => Ok(array.slice(rows.start, length)),
            Data::Ints(ints) => Ok(self.from_ints(IntSource::Range(ints, rows.clone()), nulls())),
            Data::Runs(runs) => {
                let mut codes = Vec::new();
                runs.codes(rows.clone(), &mut codes);
                gather(&runs.values, codes, nulls())
            }
            Data::Dictionary(codes, values) => {
                let mut indices = Vec::new();
                codes.extend(rows.clone(), &mut indices);
                gather(values, indices, nulls())
            }
        }
    }

    /// Decodes picked rows.
    ///
    /// # Errors
    /// As [`Column::decode`].
    pub fn decode_picked(&self, picked: &Picked) -> Result<ArrayRef> {
        let range = &picked.range;
        self.check(range)?;
        match (&picked.which, picked.many()) {
            (_, Some(many)) => self.decode_many(&many),
            (Which::Few(rows), None) => self.take(rows),
            (_, None) => self.decode(range.clone()),
        }
    }

    fn nulls_of_rows(&self, rows: &[u32]) -> Option<NullBuffer> {
        let nulls = self.nulls.as_ref()?;
        let valid = |at: usize| nulls.is_valid(rows[at] as usize);
        Some(NullBuffer::new(BooleanBuffer::collect_bool(rows.len(), valid)))
    }

    /// Whether a row is NULL.
    ///
    /// # Panics
    /// If the row lies outside.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        assert!(row < self.rows, "row {row} of a chunk of {} rows", self.rows);
        match (&self.nulls, &self.data) {
            (Some(nulls), _) => nulls.is_null(row),
            (None, data) => matches!(data, Data::Null),
        }
    }

    /// The value of a row, without decoding others.
    ///
    /// # Panics
    /// If the row lies outside.
    pub fn value(&self, row: usize) -> Value<'_> {
        if self.is_null(row) {
            return Value::Null;
        }
        match &self.data {
            Data::Null => Value::Null,
            Data::Constant(values) => value_at(values, self.kind, 0),
            Data::Plain(array) => value_at(array, self.kind, row),
            Data::Ints(ints) => self.int_value(ints.get(row), ints.exponent),
            Data::Runs(runs) => value_at(&runs.values, self.kind, runs.find(row) as usize),
            Data::Dictionary(codes, values) => value_at(values, self.kind, codes.get(row) as usize),
        }
    }

    /// Compares the value of a row with a constant; `None` for NULL, NaN and other sorts.
    ///
    /// # Panics
    /// If the row lies outside.
    pub fn compare(&self, row: usize, scalar: &Scalar) -> Option<Ordering> {
        self.value(row).compare(scalar)
    }

    /// The value that an integer of a frame or delta stands for.
    fn int_value(&self, integer: i64, exponent: u8) -> Value<'static> {
        match self.kind {
            Kind::UInt64 => Value::Int(integer.cast_unsigned().into()),
            Kind::Float32 => Value::Float(single(integer, exponent).into()),
            Kind::Float64 => Value::Float(double(integer, exponent)),
            _ => Value::Int(integer.into()),
        }
    }

    fn check(&self, rows: &Range<usize>) -> Result<()> {
        if rows.start <= rows.end && rows.end <= self.rows {
            return Ok(());
        }
        Err(Error::internal(format!("rows {rows:?} of a chunk of {} rows", self.rows)))
    }

    #[expect(clippy::wrong_self_convention, reason = "it reads the type of the column")]
    fn from_ints(&self, source: IntSource<'_>, nulls: Option<NullBuffer>) -> ArrayRef {
        use arrow::datatypes::{
            Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, UInt64Type,
        };
        let exponent = source.exponent();
        match self.kind {
            Kind::UInt64 => {
                let values = Buffer::from_vec(source.whole_numbers());
                self.array::<UInt64Type>(ScalarBuffer::from(values), nulls)
            }
            Kind::Float32 => {
                self.array::<Float32Type>(source.collect(|value| single(value, exponent)), nulls)
            }
            Kind::Float64 => {
                self.array::<Float64Type>(source.collect(|value| double(value, exponent)), nulls)
            }
            Kind::Decimal128(..) => self.array::<Decimal128Type>(source.collect(i128::from), nulls),
            Kind::Decimal256(..) => self.array::<Decimal256Type>(source.collect(i256::from), nulls),
            // The header check lets no text into frames.
            _ => self.array::<Int64Type>(source.whole_numbers(), nulls),
        }
    }

    fn array<T: ArrowPrimitiveType>(
        &self,
        values: impl Into<ScalarBuffer<T::Native>>,
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        let array = PrimitiveArray::<T>::new(values.into(), nulls);
        std::sync::Arc::new(array.with_data_type(self.data_type()))
    }
}

/// Which integers of a frame or delta to decode.
enum IntSource<'a> {
    Range(&'a Ints, Range<usize>),
    Rows(&'a Ints, &'a [u32]),
    Many(&'a Ints, &'a Many<'a>),
}

impl IntSource<'_> {
    fn exponent(&self) -> u8 {
        match self {
            Self::Range(ints, _) | Self::Rows(ints, _) | Self::Many(ints, _) => ints.exponent,
        }
    }

    fn whole_numbers(self) -> Vec<i64> {
        match self {
            Self::Many(ints, many) => many.whole_numbers(ints),
            Self::Range(..) | Self::Rows(..) => self.collect(|value| value),
        }
    }

    fn collect<T: Copy>(self, convert: impl Fn(i64) -> T + Copy) -> Vec<T> {
        match self {
            Self::Range(ints, rows) => {
                let mut values = Vec::with_capacity(rows.len());
                ints.extend(rows, &mut values, convert);
                values
            }
            Self::Rows(ints, rows) => {
                let mut values = Vec::with_capacity(rows.len());
                ints.take(rows, &mut values, convert);
                values
            }
            Self::Many(ints, many) => many.integers(ints, convert),
        }
    }
}

/// The double of a frame's integer.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "integers of float frames are below 2^53")]
fn double(integer: i64, exponent: u8) -> f64 {
    integer as f64 / POWERS[usize::from(exponent)]
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "rounding to single precision is meant")]
fn single(integer: i64, exponent: u8) -> f32 {
    double(integer, exponent) as f32
}

/// Picks values by index; NULL where `nulls` says so.
fn gather(values: &ArrayRef, indices: Vec<u32>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    if values.null_count() == 0 {
        if let Some(values) = values.as_string_opt::<i32>() {
            return text::gather(values, &indices, nulls);
        }
        if let Some(values) = values.as_binary_opt::<i32>() {
            return text::gather(values, &indices, nulls);
        }
    }
    take(values, &UInt32Array::new(indices.into(), nulls), None)
        .map_err(|error| Error::internal("decoding rows of a chunk").caused_by(error))
}

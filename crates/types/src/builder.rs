//! [`Builder`]: a column that grows value by value, for rows of the protocol and of the binlog.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanBufferBuilder, NullArray, PrimitiveArray, StringArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int64Type, UInt64Type, i256,
};
use pelorus_error::{Error, Result};

/// Which rows are NULL; costs nothing until the first NULL comes.
#[derive(Debug, Default)]
pub struct Nulls {
    bits: Option<BooleanBufferBuilder>,
    len: usize,
}

impl Nulls {
    /// Adds a row, with whether it has a value.
    #[inline]
    pub fn push(&mut self, valid: bool) {
        if let Some(bits) = &mut self.bits {
            bits.append(valid);
        } else if !valid {
            let mut bits = BooleanBufferBuilder::new(self.len + 1024);
            bits.append_n(self.len, true);
            bits.append(false);
            self.bits = Some(bits);
        }
        self.len += 1;
    }

    fn truncate(&mut self, len: usize) {
        self.len = len;
        if let Some(bits) = &mut self.bits {
            bits.truncate(len);
        }
    }

    fn finish(&mut self) -> Option<NullBuffer> {
        self.len = 0;
        self.bits.take().map(|mut bits| NullBuffer::new(bits.finish()))
    }
}

/// The values so far, in the forms of [`crate::ColumnType::arrow`]; pushed values must be noted in
/// [`Builder::nulls`] too.
#[derive(Debug)]
#[allow(missing_docs, reason = "each is named as what it holds")]
pub enum Values {
    Int(Vec<i64>),
    UInt(Vec<u64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Decimal128(Vec<i128>),
    Decimal256(Vec<i256>),
    Bytes { offsets: Vec<i32>, data: Vec<u8> },
    Null,
}

/// A growing column.
#[derive(Debug)]
pub struct Builder {
    /// The values; NULLs have one too.
    pub values: Values,
    /// Which of them are NULL.
    pub nulls: Nulls,
    arrow: DataType,
}

impl Builder {
    /// A builder for an array of that type.
    ///
    /// # Errors
    /// A type that no column is held as.
    pub fn new(arrow: DataType) -> Result<Self> {
        let values = match &arrow {
            DataType::Int64 => Values::Int(Vec::new()),
            DataType::UInt64 => Values::UInt(Vec::new()),
            DataType::Float32 => Values::Float(Vec::new()),
            DataType::Float64 => Values::Double(Vec::new()),
            DataType::Decimal128(..) => Values::Decimal128(Vec::new()),
            DataType::Decimal256(..) => Values::Decimal256(Vec::new()),
            DataType::Utf8 | DataType::Binary => {
                Values::Bytes { offsets: vec![0], data: Vec::new() }
            }
            DataType::Null => Values::Null,
            other => return Err(Error::internal(format!("no result column is held as {other}"))),
        };
        Ok(Self { values, nulls: Nulls::default(), arrow })
    }

    /// Appends a NULL.
    #[inline]
    pub fn push_null(&mut self) {
        match &mut self.values {
            Values::Int(values) => values.push(0),
            Values::UInt(values) => values.push(0),
            Values::Float(values) => values.push(0.0),
            Values::Double(values) => values.push(0.0),
            Values::Decimal128(values) => values.push(0),
            Values::Decimal256(values) => values.push(i256::ZERO),
            Values::Bytes { offsets, .. } => offsets.push(offsets[offsets.len() - 1]),
            Values::Null => {}
        }
        self.nulls.push(false);
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// As [`Self::push_with`].
    #[inline]
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.push_with(|data| {
            data.extend_from_slice(bytes);
            Ok(())
        })
    }

    /// Appends the bytes that a function appends. [`Self::truncate`] removes the bytes that a
    /// failure leaves.
    ///
    /// # Errors
    /// The function's own, a column of numbers, and more bytes than one array can hold (1235).
    #[inline]
    pub fn push_with(&mut self, append: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let Values::Bytes { offsets, data } = &mut self.values else {
            return Err(Error::internal("bytes for a column of numbers"));
        };
        append(data)?;
        let end = i32::try_from(data.len())
            .map_err(|_| Error::unsupported("more than 2 GiB of text in one array"))?;
        offsets.push(end);
        self.nulls.push(true);
        Ok(())
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        self.nulls.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nulls.len == 0
    }

    /// Bytes that values take.
    pub fn bytes(&self) -> usize {
        match &self.values {
            Values::Int(values) => values.len() * 8,
            Values::UInt(values) => values.len() * 8,
            Values::Float(values) => values.len() * 4,
            Values::Double(values) => values.len() * 8,
            Values::Decimal128(values) => values.len() * 16,
            Values::Decimal256(values) => values.len() * 32,
            Values::Bytes { offsets, data } => offsets.len() * 4 + data.len(),
            Values::Null => 0,
        }
    }

    /// Removes the values of a row that failed half-way.
    pub fn truncate(&mut self, rows: usize) {
        match &mut self.values {
            Values::Int(values) => values.truncate(rows),
            Values::UInt(values) => values.truncate(rows),
            Values::Float(values) => values.truncate(rows),
            Values::Double(values) => values.truncate(rows),
            Values::Decimal128(values) => values.truncate(rows),
            Values::Decimal256(values) => values.truncate(rows),
            Values::Bytes { offsets, data } => {
                offsets.truncate(rows + 1);
                let end = offsets.last().copied().unwrap_or(0);
                data.truncate(usize::try_from(end).unwrap_or(0));
            }
            Values::Null => {}
        }
        self.nulls.truncate(rows);
    }

    /// Takes the array; the builder is empty afterwards and keeps a guess of the size to come.
    ///
    /// # Errors
    /// Text that is not UTF-8 (1235), with the name of the column.
    pub fn finish(&mut self, column: &str) -> Result<ArrayRef> {
        let rows = self.nulls.len;
        let nulls = self.nulls.finish();
        Ok(match &mut self.values {
            Values::Int(values) => primitive::<Int64Type>(values, nulls, &self.arrow),
            Values::UInt(values) => primitive::<UInt64Type>(values, nulls, &self.arrow),
            Values::Float(values) => primitive::<Float32Type>(values, nulls, &self.arrow),
            Values::Double(values) => primitive::<Float64Type>(values, nulls, &self.arrow),
            Values::Decimal128(values) => primitive::<Decimal128Type>(values, nulls, &self.arrow),
            Values::Decimal256(values) => primitive::<Decimal256Type>(values, nulls, &self.arrow),
            Values::Bytes { offsets, data } => {
                let data = Buffer::from(refill(data));
                let first = Vec::with_capacity(offsets.len());
                let ends = OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(offsets, first)));
                offsets.push(0);
                if self.arrow == DataType::Binary {
                    Arc::new(
                        BinaryArray::try_new(ends, data, nulls).map_err(|e| invalid(column, e))?,
                    )
                } else {
                    Arc::new(
                        StringArray::try_new(ends, data, nulls).map_err(|e| invalid(column, e))?,
                    )
                }
            }
            Values::Null => Arc::new(NullArray::new(rows)),
        })
    }
}

/// Takes a vector and leaves an empty one of the same size.
fn refill<T>(values: &mut Vec<T>) -> Vec<T> {
    let next = Vec::with_capacity(values.len());
    std::mem::replace(values, next)
}

fn primitive<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    nulls: Option<NullBuffer>,
    arrow: &DataType,
) -> ArrayRef {
    let values = ScalarBuffer::from(refill(values));
    Arc::new(PrimitiveArray::<T>::new(values, nulls).with_data_type(arrow.clone()))
}

fn invalid(column: &str, error: arrow::error::ArrowError) -> Error {
    Error::unsupported(format_args!("text that is not UTF-8 in column '{column}'")).caused_by(error)
}

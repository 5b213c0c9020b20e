//! Encoded keys: equal keys give equal bytes, and smaller keys give smaller bytes.
//!
//! Numbers are big-endian with the sign bit inverted; floats follow the total order of IEEE 754
//! with both zeros equal. Byte strings end with `00 00` and have `00 FF` for a zero byte, except at
//! the end of the key, where no later column follows. Texts are represented by their weights under
//! the column's collation, so that keys that MySQL calls equal are equal.

mod ranges;
pub(crate) mod row_order;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, UInt64Type,
};
use pelorus_error::{Code, Error, Result};
use pelorus_types::{Collation, ColumnType, collation};

use crate::catalog::key_function::{Function, KeyFunction};
use crate::catalog::schema::TableSchema;

pub(crate) use self::ranges::KeyRanges;

/// Encodes texts as their weights.
pub trait SortKeyEncoder: Send + Sync + std::fmt::Debug {
    /// Appends bytes that are equal for texts that the collation calls equal, and ordered as it
    /// orders them.
    ///
    /// # Errors
    /// A collation whose rules are not known.
    fn weigh(&self, collation: Collation, text: &str, out: &mut Vec<u8>) -> Result<()>;
}

/// Weights of collations that compare bytes; others are refused. For tests and tables without text
/// in their keys.
#[derive(Debug)]
pub struct ByteWeigher;

impl SortKeyEncoder for ByteWeigher {
    fn weigh(&self, _: Collation, text: &str, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// The encoded keys of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    /// How many keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A key by its position.
    pub fn get(&self, at: usize) -> &[u8] {
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[begin..self.ends[at]]
    }

    /// Adds a key.
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// Adds all keys of others.
    pub(crate) fn append(&mut self, others: &Keys) {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(&others.bytes);
        self.ends.extend(others.ends.iter().map(|end| before + end));
    }

    /// All keys in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}

/// Encodes keys of one table.
#[derive(Clone, Debug)]
pub struct KeyEncoder {
    parts: Vec<Part>,
    weigher: Arc<dyn SortKeyEncoder>,
}

#[derive(Clone, Debug)]
struct Part {
    function: Option<KeyFunction>,
    column: usize,
    ty: ColumnType,
}

impl KeyEncoder {
    /// The encoder of the primary key.
    pub fn primary(schema: &TableSchema, weigher: Arc<dyn SortKeyEncoder>) -> Self {
        let part = |&column: &usize| Part { function: None, column, ty: schema.columns[column].ty };
        Self { parts: schema.key.iter().map(part).collect(), weigher }
    }

    /// The encoder of the sort keys of rows: the segment functions, then the primary key.
    pub fn sorting(schema: &TableSchema, weigher: Arc<dyn SortKeyEncoder>) -> Self {
        let mut this = Self::primary(schema, weigher);
        let segment = schema.segment.iter().map(|&function| Part {
            function: Some(function),
            column: function.column,
            ty: schema.columns[function.column].ty,
        });
        this.parts.splice(0..0, segment);
        this
    }

    /// The parts of keys: the column's position, and the function of its value.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, Option<Function>)> {
        self.parts.iter().map(|part| (part.column, part.function.map(|key| key.function)))
    }

    /// Positions of the columns that keys are made of.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().map(|part| part.column)
    }

    /// Encodes the keys of all rows. `column` gives the array of a position.
    ///
    /// # Errors
    /// NULL in a key (1048), a collation that is not known.
    pub fn encode<'a>(&self, rows: usize, column: impl Fn(usize) -> &'a ArrayRef) -> Result<Keys> {
        self.encode_first(self.parts.len(), rows, column)
    }

    /// Encodes the first parts of the keys of all rows: the bytes that the keys begin with.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub(crate) fn encode_first<'a>(
        &self,
        parts: usize,
        rows: usize,
        column: impl Fn(usize) -> &'a ArrayRef,
    ) -> Result<Keys> {
        let mut inputs = Vec::with_capacity(parts);
        let last = self.parts.len().saturating_sub(1);
        for (at, part) in self.parts.iter().enumerate().take(parts) {
            let array = column(part.column);
            let array = match part.function {
                Some(function) => function.function.apply(array)?,
                None => Arc::clone(array),
            };
            if array.null_count() > 0 && part.function.is_none() {
                return Err(Error::new(
                    Code::ColumnCannotBeNull,
                    "a column of the primary key cannot be null",
                ));
            }
            inputs.push((array, part, at == last));
        }
        let width: usize = inputs.iter().map(|(array, ..)| width(array.data_type())).sum();
        let mut keys =
            Keys { bytes: Vec::with_capacity(rows * width), ends: Vec::with_capacity(rows) };
        for row in 0..rows {
            for (array, part, is_last) in &inputs {
                self.append(array, row, part, *is_last, &mut keys.bytes)?;
            }
            keys.ends.push(keys.bytes.len());
        }
        Ok(keys)
    }

    fn append(
        &self,
        array: &ArrayRef,
        row: usize,
        part: &Part,
        is_last: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if part.function.is_some() {
            // Segment functions can meet NULL, which comes first.
            out.push(u8::from(array.is_valid(row)));
            if array.is_null(row) {
                return Ok(());
            }
        }
        match array.data_type() {
            _ if append_number(array, row, out) => {}
            DataType::Binary => string(array.as_binary::<i32>().value(row), is_last, out),
            DataType::Utf8 => {
                let text = array.as_string::<i32>().value(row);
                if part.ty.collation == collation::BINARY {
                    string(text.as_bytes(), is_last, out);
                } else if is_last {
                    self.weigher.weigh(part.ty.collation, text, out)?;
                } else {
                    let mut weight = Vec::new();
                    self.weigher.weigh(part.ty.collation, text, &mut weight)?;
                    string(&weight, false, out);
                }
            }
            other => return Err(Error::internal(format!("a key of {other} is not defined"))),
        }
        Ok(())
    }
}

/// Appends the number of a row in the form of keys; `false` if it is not a number. The bytes are
/// part of the data format.
#[inline]
pub fn append_number(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> bool {
    match array.data_type() {
        DataType::Int64 => out.extend(signed(array.as_primitive::<Int64Type>().value(row))),
        DataType::UInt64 => {
            out.extend(array.as_primitive::<UInt64Type>().value(row).to_be_bytes());
        }
        DataType::Float64 => out.extend(float(array.as_primitive::<Float64Type>().value(row))),
        DataType::Float32 => {
            out.extend(float(f64::from(array.as_primitive::<Float32Type>().value(row))));
        }
        DataType::Decimal128(..) => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            out.extend((value ^ i128::MIN).to_be_bytes());
        }
        DataType::Decimal256(..) => {
            let mut bytes = array.as_primitive::<Decimal256Type>().value(row).to_be_bytes();
            bytes[0] ^= 0x80;
            out.extend(bytes);
        }
        _ => return false,
    }
    true
}

/// About how many bytes a part takes.
fn width(ty: &DataType) -> usize {
    match ty {
        DataType::Decimal128(..) => 16,
        DataType::Decimal256(..) => 32,
        DataType::Utf8 | DataType::Binary => 24,
        _ => 9,
    }
}

fn signed(value: i64) -> [u8; 8] {
    (value ^ i64::MIN).to_be_bytes()
}

fn float(value: f64) -> [u8; 8] {
    // Adding zero makes -0.0 into 0.0.
    let bits = (value + 0.0).to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    ordered.to_be_bytes()
}

fn string(bytes: &[u8], is_last: bool, out: &mut Vec<u8>) {
    if is_last {
        out.extend_from_slice(bytes);
        return;
    }
    for &byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(0xFF);
        }
    }
    out.extend([0, 0]);
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryArray, Decimal128Array, Float64Array, Int64Array, StringArray};
    use pelorus_types::WireType;
    use proptest::prelude::*;

    use super::*;
    use crate::catalog::schema::{History, StoredColumn};

    fn schema(types: &[ColumnType]) -> TableSchema {
        let column = |(id, ty): (usize, &ColumnType)| StoredColumn {
            id: u32::try_from(id).unwrap(),
            ty: *ty,
            filler: None,
        };
        TableSchema {
            columns: types.iter().enumerate().map(column).collect(),
            key: (0..types.len()).collect(),
            segment: Vec::new(),
            history: History::default(),
        }
    }

    fn keys(types: &[ColumnType], arrays: &[ArrayRef]) -> Vec<Vec<u8>> {
        let encoder = KeyEncoder::primary(&schema(types), Arc::new(ByteWeigher));
        let keys = encoder.encode(arrays[0].len(), |at| &arrays[at]).unwrap();
        keys.iter().map(<[u8]>::to_vec).collect()
    }

    proptest! {
        #[test]
        fn keys_are_ordered_like_values(
            rows in prop::collection::vec(
                (prop::collection::vec(0_u8..3, 0..4), any::<i64>(), any::<f64>(), ".{0,3}"),
                2..20,
            )
        ) {
            let types = [
                ColumnType::new(WireType::VarString, collation::BINARY, 16, 0),
                ColumnType::bigint(),
                ColumnType::double(),
                ColumnType::varchar(3, collation::UTF8MB4_0900_AI_CI),
            ];
            let arrays: Vec<ArrayRef> = vec![
                Arc::new(BinaryArray::from_iter_values(rows.iter().map(|row| &row.0))),
                Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1))),
                Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.2))),
                Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.3))),
            ];
            let keys = keys(&types, &arrays);
            for (a, left) in rows.iter().zip(&keys) {
                for (b, right) in rows.iter().zip(&keys) {
                    let floats = (a.2 + 0.0).total_cmp(&(b.2 + 0.0));
                    let expected = a.0.cmp(&b.0).then(a.1.cmp(&b.1)).then(floats).then(a.3.cmp(&b.3));
                    prop_assert_eq!(left.cmp(right), expected);
                }
            }
        }
    }

    #[test]
    fn decimals_and_null() {
        let types = [ColumnType::decimal(10, 2)];
        let values = Decimal128Array::from(vec![-5, 0, 7]).with_precision_and_scale(38, 2).unwrap();
        let encoded = keys(&types, &[Arc::new(values)]);
        assert!(encoded.is_sorted());
        let encoder = KeyEncoder::primary(&schema(&types), Arc::new(ByteWeigher));
        let nothing: ArrayRef = Arc::new(Int64Array::from(vec![None]));
        let error = encoder.encode(1, |_| &nothing).unwrap_err();
        assert_eq!(error.code(), Code::ColumnCannotBeNull);
    }

    #[test]
    fn segments_come_first() {
        let mut schema = schema(&[ColumnType::bigint(), ColumnType::bigint()]);
        schema.segment = vec![KeyFunction { column: 1, function: Function::RoundDown(10) }];
        let encoder = KeyEncoder::sorting(&schema, Arc::new(ByteWeigher));
        let arrays: [ArrayRef; 2] =
            [Arc::new(Int64Array::from(vec![9, 1, 5])), Arc::new(Int64Array::from(vec![3, 25, 7]))];
        let keys = encoder.encode(3, |at| &arrays[at]).unwrap();
        let mut order: Vec<usize> = (0..3).collect();
        order.sort_by(|&a, &b| keys.get(a).cmp(keys.get(b)));
        assert_eq!(order, [2, 0, 1]);
    }
}

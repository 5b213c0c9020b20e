//! Gathers single rows of columns into arrays, for point look-ups.
//!
//! Rows of many chunks, and of other arrays, go into one array, so that a row costs no array of its
//! own. A row of a large table is usually not in the processor's caches: [`Column::touch`]
//! prefetches the memory of several columns at one time.

use std::hint::black_box;
use std::iter::repeat_n;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, NullBufferBuilder, PrimitiveArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    BinaryType, ByteArrayType, DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int64Type, UInt64Type, Utf8Type, i256,
};
use pelorus_error::{Error, Result};

use super::text::Texts;
use super::{Column, Data, double, single};
use crate::kind::{Kind, by_kind};

/// An array in the making.
#[derive(Debug)]
pub struct Gather {
    kind: Kind,
    /// Absent as long as there can be no NULL.
    valid: Option<Box<NullBufferBuilder>>,
    values: Values,
}

/// The values so far; those of NULLs can be anything.
#[derive(Debug)]
enum Values {
    Int64(Vec<i64>),
    UInt64(Vec<u64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Decimal128(Vec<i128>),
    Decimal256(Vec<i256>),
    Texts(Box<Texts>),
}

impl Gather {
    /// An empty array of a type, with room for so many rows.
    ///
    /// # Errors
    /// `Internal` for a type that chunks do not hold.
    pub fn new(ty: &DataType, rows: usize) -> Result<Self> {
        let kind = Kind::of(ty)?;
        let values = match kind {
            Kind::Int64 => Values::Int64(Vec::with_capacity(rows)),
            Kind::UInt64 => Values::UInt64(Vec::with_capacity(rows)),
            Kind::Float32 => Values::Float32(Vec::with_capacity(rows)),
            Kind::Float64 => Values::Float64(Vec::with_capacity(rows)),
            Kind::Decimal128(..) => Values::Decimal128(Vec::with_capacity(rows)),
            Kind::Decimal256(..) => Values::Decimal256(Vec::with_capacity(rows)),
            Kind::Utf8 | Kind::Binary => Values::Texts(Box::new(Texts::with_capacity(rows))),
        };
        Ok(Self { kind, valid: None, values })
    }

    /// Appends rows of a column, in the order given and as often as given.
    ///
    /// # Errors
    /// `Internal` for a column of another type, or rows outside.
    pub fn column(&mut self, column: &Column, rows: &[u32]) -> Result<()> {
        self.check(column.kind, rows, column.rows)?;
        match (&column.nulls, &column.data) {
            (None, Data::Null) => self.valid().append_n_nulls(rows.len()),
            (nulls, _) => self.nulls(nulls.as_ref(), rows),
        }
        let data = &column.data;
        match &mut self.values {
            Values::Int64(out) => numbers::<Int64Type>(data, rows, out, |it, _| it),
            Values::UInt64(out) => {
                numbers::<UInt64Type>(data, rows, out, |it, _| it.cast_unsigned());
            }
            Values::Float32(out) => numbers::<Float32Type>(data, rows, out, single),
            Values::Float64(out) => numbers::<Float64Type>(data, rows, out, double),
            Values::Decimal128(out) => {
                numbers::<Decimal128Type>(data, rows, out, |it, _| it.into());
            }
            Values::Decimal256(out) => {
                numbers::<Decimal256Type>(data, rows, out, |it, _| it.into());
            }
            Values::Texts(out) if self.kind == Kind::Utf8 => texts::<Utf8Type>(data, rows, out),
            Values::Texts(out) => texts::<BinaryType>(data, rows, out),
        }
        Ok(())
    }

    /// Appends rows of an array, in the order given and as often as given.
    ///
    /// # Errors
    /// As [`Gather::column`].
    pub fn array(&mut self, array: &ArrayRef, rows: &[u32]) -> Result<()> {
        self.check(Kind::of(array.data_type())?, rows, array.len())?;
        self.nulls(array.nulls(), rows);
        match &mut self.values {
            Values::Int64(out) => cells::<Int64Type>(array, places(rows), out),
            Values::UInt64(out) => cells::<UInt64Type>(array, places(rows), out),
            Values::Float32(out) => cells::<Float32Type>(array, places(rows), out),
            Values::Float64(out) => cells::<Float64Type>(array, places(rows), out),
            Values::Decimal128(out) => cells::<Decimal128Type>(array, places(rows), out),
            Values::Decimal256(out) => cells::<Decimal256Type>(array, places(rows), out),
            Values::Texts(out) if self.kind == Kind::Utf8 => {
                out.extend(array.as_string::<i32>(), places(rows));
            }
            Values::Texts(out) => out.extend(array.as_binary::<i32>(), places(rows)),
        }
        Ok(())
    }

    /// The array.
    ///
    /// # Errors
    /// `Internal` for more than 2 GiB of text.
    pub fn finish(self) -> Result<ArrayRef> {
        let (kind, nulls) = (self.kind, self.valid.and_then(|mut valid| valid.finish()));
        Ok(match self.values {
            Values::Int64(values) => array::<Int64Type>(values, nulls, kind),
            Values::UInt64(values) => array::<UInt64Type>(values, nulls, kind),
            Values::Float32(values) => array::<Float32Type>(values, nulls, kind),
            Values::Float64(values) => array::<Float64Type>(values, nulls, kind),
            Values::Decimal128(values) => array::<Decimal128Type>(values, nulls, kind),
            Values::Decimal256(values) => array::<Decimal256Type>(values, nulls, kind),
            Values::Texts(texts) if self.kind == Kind::Utf8 => texts.array::<Utf8Type>(nulls)?,
            Values::Texts(texts) => texts.array::<BinaryType>(nulls)?,
        })
    }

    fn check(&self, kind: Kind, rows: &[u32], count: usize) -> Result<()> {
        if kind != self.kind {
            let (is, should) = (kind.data_type(), self.kind.data_type());
            return Err(Error::internal(format!("rows of {is} among those of {should}")));
        }
        match rows.iter().max() {
            Some(&row) if row as usize >= count => {
                Err(Error::internal(format!("row {row} of a chunk of {count} rows")))
            }
            _ => Ok(()),
        }
    }

    fn nulls(&mut self, nulls: Option<&NullBuffer>, rows: &[u32]) {
        match (nulls, &mut self.valid) {
            (None, None) => {}
            (None, Some(valid)) => valid.append_n_non_nulls(rows.len()),
            (Some(nulls), _) => {
                let valid = self.valid();
                places(rows).for_each(|row| valid.append(nulls.is_valid(row)));
            }
        }
    }

    /// Which rows so far are not NULL.
    fn valid(&mut self) -> &mut NullBufferBuilder {
        let rows = match &self.values {
            Values::Int64(values) => values.len(),
            Values::UInt64(values) => values.len(),
            Values::Float32(values) => values.len(),
            Values::Float64(values) => values.len(),
            Values::Decimal128(values) => values.len(),
            Values::Decimal256(values) => values.len(),
            Values::Texts(texts) => texts.len(),
        };
        self.valid.get_or_insert_with(|| {
            let mut valid = NullBufferBuilder::new(rows + 64);
            valid.append_n_non_nulls(rows);
            Box::new(valid)
        })
    }
}

impl Column {
    /// Decodes single rows, in the order given and as often as given.
    ///
    /// # Errors
    /// As [`Column::decode`].
    pub fn take(&self, rows: &[u32]) -> Result<ArrayRef> {
        let mut gather = Gather::new(&self.data_type(), rows.len())?;
        gather.column(self, rows)?;
        gather.finish()
    }

    /// Reads the bytes of a row's value and ignores them, as a prefetch. A caller that does that
    /// for several columns waits for their memory once; reading their values one after the other
    /// waits for each. A row outside is not read.
    #[inline]
    pub fn touch(&self, row: usize) {
        black_box((self.kind, self.rows, self.nulls.is_some()));
        match &self.data {
            Data::Ints(ints) => {
                black_box(ints.bases.get(row >> ints.shift));
                black_box(ints.codes.first_byte(row));
            }
            Data::Dictionary(codes, _) => {
                black_box(codes.first_byte(row));
            }
            Data::Plain(array) if row < array.len() => by_kind!(
                self.kind,
                T => {
                    black_box(array.as_primitive::<T>().value(row));
                },
                utf8 => {
                    black_box(array.as_string::<i32>().value(row).as_bytes().first().copied());
                },
                binary => {
                    black_box(array.as_binary::<i32>().value(row).first().copied());
                },
            ),
            Data::Null | Data::Constant(_) | Data::Runs(_) | Data::Plain(_) => {}
        }
    }
}

#[inline]
fn places(rows: &[u32]) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
    rows.iter().map(|&row| row as usize)
}

/// Appends numbers of a column.
fn numbers<T: ArrowPrimitiveType>(
    data: &Data,
    rows: &[u32],
    out: &mut Vec<T::Native>,
    convert: impl Fn(i64, u8) -> T::Native + Copy,
) {
    match data {
        Data::Null => out.extend(repeat_n(T::Native::default(), rows.len())),
        Data::Constant(values) => cells::<T>(values, repeat_n(0, rows.len()), out),
        Data::Plain(values) => cells::<T>(values, places(rows), out),
        Data::Ints(ints) => ints.take(rows, out, |it| convert(it, ints.exponent)),
        Data::Runs(runs) => {
            cells::<T>(&runs.values, places(rows).map(|row| runs.find(row) as usize), out);
        }
        Data::Dictionary(codes, values) => {
            cells::<T>(values, places(rows).map(|row| codes.get(row) as usize), out);
        }
    }
}

/// Appends numbers of an array.
#[inline]
fn cells<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    places: impl Iterator<Item = usize>,
    out: &mut Vec<T::Native>,
) {
    let values = array.as_primitive::<T>().values();
    out.extend(places.map(|at| values[at]));
}

/// Appends texts of a column.
fn texts<T: ByteArrayType<Offset = i32>>(data: &Data, rows: &[u32], out: &mut Texts) {
    match data {
        // The header check lets no text into frames.
        Data::Null | Data::Ints(_) => out.extend_empty(rows.len()),
        Data::Constant(values) => out.extend(values.as_bytes::<T>(), repeat_n(0, rows.len())),
        Data::Plain(values) => out.extend(values.as_bytes::<T>(), places(rows)),
        Data::Runs(runs) => {
            out.extend(
                runs.values.as_bytes::<T>(),
                places(rows).map(|row| runs.find(row) as usize),
            );
        }
        Data::Dictionary(codes, values) => {
            out.extend(values.as_bytes::<T>(), places(rows).map(|row| codes.get(row) as usize));
        }
    }
}

fn array<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
    kind: Kind,
) -> ArrayRef {
    let array = PrimitiveArray::<T>::new(values.into(), nulls);
    match kind {
        Kind::Decimal128(..) | Kind::Decimal256(..) => {
            Arc::new(array.with_data_type(kind.data_type()))
        }
        _ => Arc::new(array),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]

    use arrow::array::{
        BinaryArray, Decimal128Array, Decimal256Array, Float32Array, Float64Array, Int64Array,
        StringArray, UInt32Array, UInt64Array,
    };
    use arrow::buffer::Buffer;
    use arrow::compute::{concat, take};
    use proptest::prelude::*;

    use super::*;
    use crate::encode;

    /// Arrays of all kinds made of numbers, of which some stand for NULL.
    fn arrays(numbers: &[Option<i64>]) -> Vec<ArrayRef> {
        let texts = || numbers.iter().map(|it| it.map(|it| "x".repeat((it % 40) as usize)));
        let wide = numbers.iter().map(|it| it.map(i128::from));
        let wider = numbers.iter().map(|it| it.map(i256::from));
        vec![
            Arc::new(Int64Array::from_iter(numbers.iter().copied())),
            Arc::new(UInt64Array::from_iter(numbers.iter().map(|it| it.map(i64::cast_unsigned)))),
            Arc::new(Float32Array::from_iter(numbers.iter().map(|it| it.map(|it| it as f32)))),
            Arc::new(Float64Array::from_iter(
                numbers.iter().map(|it| it.map(|it| it as f64 / 8.0)),
            )),
            Arc::new(Decimal128Array::from_iter(wide).with_precision_and_scale(20, 2).unwrap()),
            Arc::new(Decimal256Array::from_iter(wider).with_precision_and_scale(50, 9).unwrap()),
            Arc::new(StringArray::from_iter(texts())),
            Arc::new(BinaryArray::from_iter(texts())),
        ]
    }

    fn opened(array: &ArrayRef) -> Column {
        let chunk = encode(std::slice::from_ref(array)).unwrap();
        chunk.meta.column(&Buffer::from_vec(chunk.bytes), 0).unwrap()
    }

    /// Numbers of which columns take all codecs: equal, few, rising, in runs, any.
    fn numbers() -> impl Strategy<Value = Vec<Option<i64>>> {
        let shape = prop_oneof![
            (Just(1_i64), 0_i64..2),
            (Just(4), Just(0)),
            (Just(1 << 40), Just(0)),
            (Just(2), 1_i64..9),
        ];
        (shape, prop::collection::vec((any::<u32>(), 0_u8..9), 1..300), any::<bool>()).prop_map(
            |((bound, rise), drawn, has_nulls)| {
                let value = |(at, (drawn, fate)): (i64, &(u32, u8))| {
                    let value = i64::from(*drawn) % bound + at / 7 * rise;
                    (*fate > 0 || !has_nulls).then_some(value)
                };
                (0..).zip(&drawn).map(value).collect()
            },
        )
    }

    proptest! {
        #[test]
        fn rows_of_columns_and_arrays_follow_one_another(
            pieces in prop::collection::vec(
                (numbers(), prop::collection::vec(any::<prop::sample::Index>(), 0..20), any::<bool>()),
                1..5,
            ),
        ) {
            let kinds = arrays(&[]).len();
            for kind in 0..kinds {
                let mut gather = Gather::new(arrays(&[])[kind].data_type(), 3).unwrap();
                let mut expected = vec![Arc::clone(&arrays(&[])[kind])];
                for (numbers, places, is_array) in &pieces {
                    let array = &arrays(numbers)[kind];
                    let rows: Vec<u32> =
                        places.iter().map(|it| it.index(numbers.len()) as u32).collect();
                    if *is_array {
                        gather.array(array, &rows).unwrap();
                    } else {
                        let column = opened(array);
                        rows.iter().for_each(|&row| column.touch(row as usize));
                        column.touch(numbers.len());
                        gather.column(&column, &rows).unwrap();
                    }
                    expected.push(take(array, &UInt32Array::from(rows), None).unwrap());
                }
                let expected: Vec<&dyn Array> = expected.iter().map(AsRef::as_ref).collect();
                let (found, expected) = (gather.finish().unwrap(), concat(&expected).unwrap());
                prop_assert_eq!(found.data_type(), expected.data_type());
                prop_assert_eq!(found.as_ref(), expected.as_ref());
            }
        }
    }

    #[test]
    fn other_types_and_rows_outside_are_refused() {
        let arrays = arrays(&[Some(1), None, Some(3)]);
        for (at, array) in arrays.iter().enumerate() {
            let other = &arrays[(at + 1) % arrays.len()];
            let mut gather = Gather::new(array.data_type(), 1).unwrap();
            gather.array(other, &[0]).unwrap_err();
            gather.column(&opened(other), &[0]).unwrap_err();
            gather.array(array, &[3]).unwrap_err();
            gather.column(&opened(array), &[0, 3]).unwrap_err();
            gather.column(&opened(array), &[2, 1]).unwrap();
            let found = gather.finish().unwrap();
            assert_eq!((found.len(), found.null_count()), (2, 1));
        }
        Gather::new(&DataType::Boolean, 1).unwrap_err();
    }
}

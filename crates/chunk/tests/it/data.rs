//! Generated columns: every physical type in every shape that a codec is made for.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Decimal128Array, Decimal256Array, Float32Array,
    Float64Array, Int64Array, StringArray, UInt64Array,
};
use arrow::buffer::Buffer;
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, UInt64Type, i256,
};
use pelorus_chunk::{Column, Encoded, Scalar, encode};

/// A small generator of pseudo-random numbers (xorshift*), so that failures repeat.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Constant,
    /// Rises by small steps.
    Sorted,
    /// Rises by steps of up to 50,000 or up to 20 million.
    SortedWide,
    /// Multiples of 300 above a large number.
    Stepped,
    /// Close together within a vector, far apart between vectors.
    Clustered,
    /// Long runs.
    Runs,
    /// Ten values far apart.
    Few,
    /// A thousand values far apart.
    Hundreds,
    /// Mostly small, seldom huge.
    Skewed,
    Narrow,
    Random,
}

pub(crate) const SHAPES: [Shape; 11] = [
    Shape::Constant,
    Shape::Sorted,
    Shape::SortedWide,
    Shape::Stepped,
    Shape::Clustered,
    Shape::Runs,
    Shape::Few,
    Shape::Hundreds,
    Shape::Skewed,
    Shape::Narrow,
    Shape::Random,
];

/// Numbers of a shape.
pub(crate) fn numbers(shape: Shape, rows: usize, random: &mut Random) -> Vec<i64> {
    let origin = random.next() as i64 >> random.below(60);
    let mut last = origin;
    let most = if random.below(2) == 0 { 50_000 } else { 20_000_000 };
    let far = |choice: u64| (choice + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) as i64;
    (0..rows)
        .map(|row| match shape {
            Shape::Constant => origin,
            Shape::Sorted => {
                last = last.saturating_add(random.below(4) as i64);
                last
            }
            Shape::SortedWide => {
                last = last.saturating_add(random.below(most) as i64);
                last
            }
            Shape::Stepped => (origin >> 8) + 300 * random.below(60_000) as i64,
            Shape::Clustered => {
                ((row / 2048) as i64).wrapping_mul(1 << 40) + random.below(50_000) as i64
            }
            Shape::Runs => {
                if random.below(500) == 0 {
                    last = random.next() as i64;
                }
                last
            }
            Shape::Few => far(random.below(10)),
            Shape::Hundreds => far(random.below(1000)),
            Shape::Skewed if random.below(1000) == 0 => random.next() as i64,
            Shape::Skewed => random.below(20) as i64,
            Shape::Narrow => origin.saturating_add(random.below(200) as i64),
            Shape::Random => random.next() as i64,
        })
        .collect()
}

pub(crate) fn types() -> Vec<DataType> {
    vec![
        DataType::Int64,
        DataType::UInt64,
        DataType::Float32,
        DataType::Float64,
        DataType::Decimal128(38, 2),
        DataType::Decimal256(76, 10),
        DataType::Utf8,
        DataType::Binary,
    ]
}

fn float(number: i64, random: &mut Random, shape: Shape) -> f64 {
    match (shape, random.below(50)) {
        (Shape::Random | Shape::Few, 0) => f64::NAN,
        (Shape::Random | Shape::Few, 1) => -0.0,
        (Shape::Random, 2) => f64::from_bits(random.next()),
        (Shape::Random, 3) => f64::NEG_INFINITY,
        (Shape::Random | Shape::Runs, _) => f64::from_bits(number as u64),
        _ => (number % 1_000_000_000) as f64 / 100.0,
    }
}

fn text(number: i64, random: &mut Random, shape: Shape) -> String {
    match shape {
        Shape::Random if random.below(40) == 0 => "ü".repeat(random.below(60) as usize),
        Shape::Random => format!("{:x}", random.next()),
        Shape::Sorted | Shape::SortedWide => format!("{:020}", i128::from(number) + (1 << 64)),
        Shape::Skewed if number < 3 => String::new(),
        _ => format!("a prefix that is longer than thirty-two bytes {number}"),
    }
}

/// A column of a type and shape; of 100 rows about `nulls` are NULL, in places in long stretches.
pub(crate) fn column(
    kind: &DataType,
    shape: Shape,
    rows: usize,
    nulls: u64,
    seed: u64,
) -> ArrayRef {
    let random = &mut Random::new(seed);
    let numbers = numbers(shape, rows, random);
    let mut stretch = false;
    let valid: Vec<bool> = (0..rows)
        .map(|row| {
            if row % 2048 == 0 {
                stretch = nulls > 0 && random.below(8) == 0;
            }
            !stretch && random.below(100) >= nulls
        })
        .collect();
    let some = numbers.into_iter().zip(valid).map(|(number, valid)| valid.then_some(number));
    match kind {
        DataType::Int64 => Arc::new(some.collect::<Int64Array>()),
        DataType::UInt64 => Arc::new(some.map(|n| n.map(|n| n as u64)).collect::<UInt64Array>()),
        DataType::Float32 => {
            let floats = some.map(|n| n.map(|n| float(n, random, shape) as f32));
            Arc::new(floats.collect::<Float32Array>())
        }
        DataType::Float64 => {
            Arc::new(some.map(|n| n.map(|n| float(n, random, shape))).collect::<Float64Array>())
        }
        DataType::Decimal128(..) => {
            let big = matches!(shape, Shape::Hundreds | Shape::Clustered);
            let factor = if big { 1_000_000_007 } else { 1 };
            let values = some.map(|n| n.map(|n| i128::from(n) * factor));
            let array = values.collect::<Decimal128Array>();
            Arc::new(array.with_data_type(kind.clone()))
        }
        DataType::Decimal256(..) => {
            let big = matches!(shape, Shape::Hundreds | Shape::Random);
            let factor = if big { i256::from_i128(i128::MAX) } else { i256::ONE };
            let values = some.map(|n| n.map(|n| i256::from(n).wrapping_mul(factor)));
            let array = values.collect::<Decimal256Array>();
            Arc::new(array.with_data_type(kind.clone()))
        }
        DataType::Utf8 => {
            Arc::new(some.map(|n| n.map(|n| text(n, random, shape))).collect::<StringArray>())
        }
        DataType::Binary => {
            let bytes = some.map(|n| n.map(|n| text(n, random, shape).into_bytes()));
            Arc::new(bytes.collect::<BinaryArray>())
        }
        other => panic!("{other} is no type of chunks"),
    }
}

/// A value as the test sees it; `Some(None)` does not occur.
pub(crate) fn scalar(array: &ArrayRef, row: usize) -> Option<Scalar> {
    if array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Int64 => Scalar::Int(array.as_primitive::<Int64Type>().value(row).into()),
        DataType::UInt64 => Scalar::Int(array.as_primitive::<UInt64Type>().value(row).into()),
        DataType::Float32 => Scalar::Float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => Scalar::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(..) => Scalar::Int(array.as_primitive::<Decimal128Type>().value(row)),
        DataType::Decimal256(..) => Scalar::Wide(array.as_primitive::<Decimal256Type>().value(row)),
        DataType::Utf8 => Scalar::Bytes(array.as_string::<i32>().value(row).into()),
        DataType::Binary => Scalar::Bytes(array.as_binary::<i32>().value(row).into()),
        other => panic!("{other} is no type of chunks"),
    })
}

/// Whether two arrays are equal bit by bit, NaNs and signs of zeros included.
pub(crate) fn identical(left: &ArrayRef, right: &ArrayRef) -> bool {
    // Arrow compares arrays of floats by their bits here, and NULL slots not at all.
    left.data_type() == right.data_type() && left.to_data() == right.to_data()
}

pub(crate) fn open(chunk: &Encoded, index: usize) -> Column {
    chunk.meta.column(&Buffer::from_vec(chunk.bytes.clone()), index).unwrap()
}

pub(crate) fn encoded(array: &ArrayRef) -> (Encoded, Column) {
    let chunk = encode(std::slice::from_ref(array)).unwrap();
    let column = open(&chunk, 0);
    (chunk, column)
}

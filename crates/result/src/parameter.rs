//! Values of prepared statements' parameters.

/// A value bound to a `?`.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// NULL.
    Null,
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    UInt(u64),
    /// A single-precision number.
    Float(f32),
    /// A double-precision number.
    Double(f64),
    /// A DECIMAL in text.
    Decimal(String),
    /// Text, UTF-8.
    Text(String),
    /// Bytes that are not text.
    Bytes(Vec<u8>),
    /// A date, packed by [`pelorus_types::temporal`].
    Date(i64),
    /// A date with time, packed.
    DateTime(i64),
    /// A time in microseconds.
    Time(i64),
}

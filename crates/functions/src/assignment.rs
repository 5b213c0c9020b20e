//! Assignment: converts values to the type of a column, as INSERT, UPDATE and LOAD DATA store them.
//!
//! A [`Target`] describes the column, a [`Policy`] says how the statement treats values that do not
//! fit. A [`ColumnBuilder`] takes literals one at a time; [`assign_array`] takes an array of
//! another type. Both give an [`Assigned`]: the array in the form of [`ColumnType::arrow`] and the
//! warnings, or a [`Failure`] that names the first bad row.
//!
//! Map: `conversion_error` (errors, warnings, policy), `column` (the builder), `store` (its rule
//! and array), `array` (whole arrays), and the rules of the types: `integer`, `year` (with BIT),
//! `number` (DECIMAL, FLOAT, DOUBLE), `temporal`, `zone` (TIMESTAMP), `text` (with bytes),
//! `enum_set` (ENUM, SET), `json`.
//!
//! Invariants: the rules are MySQL 8's, even where MariaDB differs; no input panics. A TIMESTAMP is
//! stored in universal time, while expressions see the session's time zone, so a caller that reads
//! a stored column calls [`timestamps_from_utc`]. The `ColumnType` has the *declared* wire type
//! (`TinyBlob` for TINYTEXT, `String` for CHAR and BINARY, `Enum` and `Set` or their flags).
//!
//! Not done here: AUTO_INCREMENT (under [`Numbering::Made`] NULL stays NULL in such a column, the
//! engine fills it in), the merging of warnings of several columns by row, and the padding of CHAR
//! values on reading under `PAD_CHAR_TO_FULL_LENGTH`.

mod array;
mod column;
mod conversion_error;
mod enum_set;
mod integer;
mod json;
mod number;
mod store;
mod temporal;
#[cfg(test)]
mod tests;
mod text;
mod year;
mod zone;

use arrow::array::ArrayRef;
use pelorus_error::{Code, Result};
use pelorus_types::temporal::DateTime;
use pelorus_types::{ColumnType, WireType};

pub use array::assign_array;
pub use column::ColumnBuilder;
pub use conversion_error::{Failure, Level, NullRule, Numbering, Policy, Warning};
pub use zone::{
    Stored, shown_twice, timestamp_from_utc, timestamp_to_utc, timestamps_from_utc,
    timestamps_to_utc,
};

use crate::context::EvalContext;
use crate::decimal::Decimal;
use crate::value::{Arg, Value};

/// A column that is assigned to.
#[derive(Clone, Debug)]
pub struct Target {
    /// The table's name, for the messages about JSON.
    pub table: String,
    /// The column's name, for all other messages.
    pub name: String,
    /// The declared type.
    pub ty: ColumnType,
    /// The declared length of a CHAR or VARCHAR in characters, of a BINARY or VARBINARY in bytes;
    /// without it the type's length counts.
    pub length: Option<u32>,
    /// The members of an ENUM or SET, in order.
    pub members: Vec<String>,
}

impl Target {
    /// A column whose length the type says.
    pub fn new(table: impl Into<String>, name: impl Into<String>, ty: ColumnType) -> Self {
        let (table, name) = (table.into(), name.into());
        Self { table, name, ty, length: None, members: Vec::new() }
    }

    /// The same column with the members of its ENUM or SET.
    #[must_use]
    pub fn with_members(mut self, members: Vec<String>) -> Self {
        self.members = members;
        self
    }

    /// The same column with its declared length.
    #[must_use]
    pub fn with_length(mut self, length: u32) -> Self {
        self.length = Some(length);
        self
    }

    /// Characters of a CHAR or VARCHAR, bytes of a BINARY or VARBINARY.
    pub(crate) fn declared_length(&self) -> usize {
        let length = self.length.unwrap_or_else(|| crate::types::result_type::chars(&self.ty));
        usize::try_from(length).unwrap_or(usize::MAX)
    }
}

/// A literal as a statement or a file says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal<'a> {
    /// NULL, or `\N` in a file.
    Null,
    /// A string literal, or a field of a file.
    Text(&'a [u8]),
    /// A number as it is written, sign included: `12`, `-1.50`, `1e3`.
    Number(&'a str),
    /// `x'4142'`, `0x4142`, `b'101'`: bytes, in numeric columns a number.
    Hex(&'a [u8]),
    /// An integer.
    Int(i64),
    /// An integer without sign.
    UInt(u64),
    /// A double.
    Double(f64),
}

/// A value on its way into a column. NULL has been dealt with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Incoming<'a> {
    /// Characters; bytes that are none are found out later.
    Text(&'a [u8]),
    /// Bytes without a charset.
    Bytes(&'a [u8]),
    /// Bytes that are a number where a number is required.
    Hex(&'a [u8]),
    Int(i64),
    UInt(u64),
    Decimal(Decimal),
    Double(f64),
    /// A DATE, DATETIME or TIMESTAMP in the session's zone.
    Date {
        value: DateTime,
        wire: WireType,
        decimals: u8,
    },
    Time {
        micros: i64,
        decimals: u8,
    },
}

/// The assigned values of a column.
#[derive(Clone, Debug)]
pub struct Assigned {
    /// The stored form, one value a row.
    pub array: ArrayRef,
    /// The first warnings by row, at most 1,024.
    pub warnings: Vec<Warning>,
    /// How many warnings there were.
    pub warning_count: u64,
}

/// The implicit default of a column: zero, the empty string, the zero date, the first member of an
/// ENUM. In stored form, for [`ColumnBuilder::append_value`]. Error 1235 for types that cannot be
/// stored.
pub fn default_value(target: &Target) -> Result<Value> {
    let ty = &target.ty;
    Ok(match store::kind(target)? {
        store::Kind::Enum => Value::Text(target.members.first().cloned().unwrap_or_default()),
        store::Kind::Json => Value::Text("null".to_owned()),
        store::Kind::Binary => Value::Bytes(vec![0; text::Binary::of(target).empty_length()]),
        store::Kind::Set | store::Kind::Characters => Value::Text(String::new()),
        store::Kind::Temporal if ty.wire == WireType::Time => Value::Time(0),
        store::Kind::Temporal => Value::Date(0),
        store::Kind::Number if ty.is_decimal() => {
            Value::Decimal(Decimal { units: arrow::datatypes::i256::ZERO, scale: ty.decimals })
        }
        store::Kind::Number if ty.is_float() => Value::Double(0.0),
        store::Kind::Number if ty.arrow() == arrow::datatypes::DataType::UInt64 => Value::UInt(0),
        store::Kind::Number => Value::Int(0),
    })
}

/// The value that a YEAR stores for a constant; `None` if it is out of range or does not begin with
/// a number.
pub(crate) fn year_of(value: &Value, constant: &Arg, ctx: &EvalContext) -> Option<u64> {
    let incoming = match value {
        Value::Null => return None,
        Value::Text(text) => Incoming::Text(text.as_bytes()),
        Value::Bytes(bytes) if constant.is_hex() => Incoming::Hex(bytes),
        Value::Bytes(bytes) => Incoming::Bytes(bytes),
        Value::Int(value) => Incoming::Int(*value),
        Value::UInt(value) => Incoming::UInt(*value),
        Value::Decimal(value) => Incoming::Decimal(*value),
        Value::Double(value) => Incoming::Double(*value),
        Value::Date(packed) => Incoming::Date {
            value: DateTime::unpack(*packed),
            wire: constant.ty.wire,
            decimals: constant.ty.decimals,
        },
        Value::Time(micros) => Incoming::Time { micros: *micros, decimals: constant.ty.decimals },
    };
    let mut report = conversion_error::Reporter::new("", Policy::new(ctx, false));
    let year = year::year(incoming, &mut report).ok()?;
    let (warnings, _) = report.finish();
    let refusals = [Code::OutOfRange.errno(), Code::WrongValueForColumn.errno()];
    (!warnings.iter().any(|it| refusals.contains(&it.code))).then_some(year)
}

/// The value of a DEFAULT literal in its column, in stored form. Fails for every value that would
/// not fit without a warning, in any mode; the engine makes error 1067 of that. A zero date that
/// `sql_mode` forbids fails in strict mode only.
pub fn literal_default(
    target: &Target,
    literal: Literal<'_>,
    policy: &Policy,
) -> Result<Value, Failure> {
    let mut strict = Policy { strict: true, ignore: false, nulls: NullRule::Refuse, ..*policy };
    if !policy.strict {
        strict.sql_mode.no_zero_date = false;
        strict.sql_mode.no_zero_in_date = false;
    }
    let fail = |error| Failure { row: policy.first_row, error };
    let mut builder = ColumnBuilder::with_room(target, strict, 1).map_err(fail)?;
    builder.append(literal)?;
    let assigned = builder.finish();
    crate::output::value_at(&assigned.array, &target.ty, 0).map_err(fail)
}

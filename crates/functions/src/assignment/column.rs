//! [`ColumnBuilder`]: builds one column, value by value.

use pelorus_error::{Code, Error, Result};
use pelorus_types::{Flags, WireType};

use super::conversion_error::{Failure, Numbering, Policy, Reporter};
use super::integer::short_integer;
use super::store::Store;
use super::{Assigned, Incoming, Literal, Target};
use crate::decimal::Decimal;
use crate::parse;
use crate::value::Value;
use crate::zone::TimeZone;

/// Rows that a builder has room for when nothing is said.
pub(crate) const ROOM: usize = 1024;

/// Builds the array of one column from one value a row.
///
/// Every `append` adds a row, or fails and leaves the rows before it as they are.
#[derive(Debug)]
pub struct ColumnBuilder {
    pub(crate) store: Store,
    pub(crate) report: Reporter,
    takes_null: bool,
    /// NULL becomes zero, and nothing is said.
    zero_for_null: bool,
    /// NULL becomes this moment.
    moment_for_null: Option<i64>,
}

impl ColumnBuilder {
    /// A builder without rows. Error 1235 for columns that cannot be stored (GEOMETRY, VECTOR).
    pub fn new(target: &Target, policy: Policy) -> Result<Self> {
        Self::with_room(target, policy, ROOM)
    }

    /// The same, with room for so many rows; more may come. An array keeps the room of its builder,
    /// so that few rows should not ask for much.
    pub fn with_room(target: &Target, policy: Policy, rows: usize) -> Result<Self> {
        let numbering = target.ty.flags.has(Flags::AUTO_INCREMENT).then_some(policy.numbering);
        let takes_null = target.ty.is_nullable() || numbering == Some(Numbering::Made);
        let zero_for_null = numbering == Some(Numbering::Zero);
        let is_now = policy.null_is_now && !takes_null && target.ty.wire == WireType::Timestamp;
        let moment_for_null = is_now.then(|| {
            let unit = 10_i64.pow(6 - u32::from(target.ty.decimals.min(6)));
            let now = policy.now_micros - policy.now_micros.rem_euclid(unit);
            TimeZone::Utc.local(now).pack()
        });
        let report = Reporter::new(&target.name, policy);
        let store = Store::of(target, rows)?;
        Ok(Self { store, report, takes_null, zero_for_null, moment_for_null })
    }

    /// Whether NULL is stored as NULL.
    pub(crate) fn takes_null(&self) -> bool {
        self.takes_null
    }

    #[inline]
    pub(crate) fn put(&mut self, value: Incoming<'_>) -> Result<(), Failure> {
        self.store.put(value, &mut self.report)?;
        self.report.row += 1;
        Ok(())
    }

    /// Appends any literal.
    pub fn append(&mut self, literal: Literal<'_>) -> Result<(), Failure> {
        match literal {
            Literal::Null => self.append_null(),
            Literal::Text(text) => self.append_text(text),
            Literal::Number(text) => self.append_number_text(text),
            Literal::Hex(bytes) => self.append_hex(bytes),
            Literal::Int(value) => self.append_int(value),
            Literal::UInt(value) => self.append_uint(value),
            Literal::Double(value) => self.append_f64(value),
        }
    }

    /// Appends NULL, or the replacement that the policy defines.
    pub fn append_null(&mut self) -> Result<(), Failure> {
        if self.takes_null {
            self.store.put_null();
        } else if let Some(moment) = self.moment_for_null {
            self.store.put_stored(&Value::Date(moment), &mut self.report)?;
        } else {
            if !self.zero_for_null {
                self.report.null()?;
            }
            self.store.put_zero();
        }
        self.report.row += 1;
        Ok(())
    }

    /// Appends the replacement of NULL, without a warning.
    pub(crate) fn append_zero(&mut self) -> Result<(), Failure> {
        self.store.put_zero();
        self.report.row += 1;
        Ok(())
    }

    /// Appends a string of bytes, such as `_binary'...'`: for a column of text they are text of its
    /// charset.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.put(Incoming::Bytes(bytes))
    }

    /// Appends a string literal or a field of a file, in UTF-8 (for a column of bytes: any bytes).
    pub fn append_text(&mut self, text: &[u8]) -> Result<(), Failure> {
        self.put(Incoming::Text(text))
    }

    /// Appends a number as written, sign included: a decimal when it has a point, a double
    /// when it has an exponent. Error 1064 for a text that is no number, 1367 for a double beyond
    /// the range of doubles.
    pub fn append_number_text(&mut self, text: &str) -> Result<(), Failure> {
        let value = match (short_integer(text.as_bytes()), &self.store) {
            (Some(value), _) => Incoming::Int(value),
            // The digits need not become a number of 256 bits first.
            (None, Store::Exact(rule, _)) if rule.short(text.as_bytes()).is_some() => {
                Incoming::Text(text.as_bytes())
            }
            _ => number(text).map_err(|error| self.report.fail(error))?,
        };
        self.put(value)
    }

    /// Appends an integer.
    pub fn append_int(&mut self, value: i64) -> Result<(), Failure> {
        self.put(Incoming::Int(value))
    }

    /// Appends an integer without sign.
    pub fn append_uint(&mut self, value: u64) -> Result<(), Failure> {
        self.put(Incoming::UInt(value))
    }

    /// Appends a double.
    pub fn append_f64(&mut self, value: f64) -> Result<(), Failure> {
        self.put(Incoming::Double(value))
    }

    /// Appends the bytes of `x'..'`, `0x..` or `b'..'`: in numeric columns a number, else bytes.
    pub fn append_hex(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.put(Incoming::Hex(bytes))
    }

    /// Appends a value in stored form, such as [`super::literal_default`] gives. Error 1105 when
    /// it is none of this column.
    pub fn append_value(&mut self, value: &Value) -> Result<(), Failure> {
        if value.is_null() {
            return self.append_null();
        }
        self.store.put_stored(value, &mut self.report)?;
        self.report.row += 1;
        Ok(())
    }

    /// Appends the column's default (in stored form) for a row that does not name the column.
    /// Without a default it is NULL where the column takes it, else error 1364, which a lenient
    /// policy makes a warning with the implicit default `implicit` (see
    /// [`super::default_value`]). That is NULL where a column that takes it must be named.
    pub fn append_default(
        &mut self,
        default: Option<&Value>,
        implicit: &Value,
    ) -> Result<(), Failure> {
        match default {
            Some(value) => self.append_value(value),
            None if self.takes_null && !implicit.is_null() => self.append_null(),
            None => {
                self.report.problem(Code::NoDefaultForColumn)?;
                self.append_value(implicit)
            }
        }
    }

    /// The array and the warnings.
    pub fn finish(self) -> Assigned {
        let (warnings, warning_count) = self.report.finish();
        Assigned { array: self.store.finish(), warnings, warning_count }
    }
}

/// A number that is no short integer.
fn number(text: &str) -> Result<Incoming<'static>> {
    let end = parse::number_end(text.as_bytes(), 0);
    let Some((end, has_exponent)) = end.filter(|(end, _)| *end == text.len()) else {
        return Err(Error::new(Code::Syntax, format!("'{text}' is not a number")));
    };
    debug_assert_eq!(end, text.len());
    if has_exponent {
        let value: f64 = text.parse().unwrap_or(f64::INFINITY);
        if value.is_infinite() {
            let message = format!("Illegal double '{text}' value found during parsing");
            return Err(Error::new(Code::IllegalValueForType, message));
        }
        return Ok(Incoming::Double(value));
    }
    if !text.contains('.') {
        if let Ok(value) = text.parse::<i64>() {
            return Ok(Incoming::Int(value));
        }
        if let Ok(value) = text.parse::<u64>() {
            return Ok(Incoming::UInt(value));
        }
    }
    Ok(Incoming::Decimal(match Decimal::parse_plain(text) {
        Some(value) => value,
        None => parse::decimal_prefix(text.as_bytes()).value,
    }))
}

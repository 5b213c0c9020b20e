//! Input arrays: an argument's array, read row by row with MySQL's implicit conversions.

use std::borrow::Cow;

use arrow::array::{
    Array, ArrayRef, BinaryArray, Decimal128Array, Decimal256Array, Float32Array, Float64Array,
    Int64Array, StringArray, UInt64Array,
};
use arrow::datatypes::{DataType, i256};
use pelorus_error::{Error, Result};
use pelorus_types::number::{write_double, write_double_text, write_float, write_float_text};
use pelorus_types::temporal::{DateTime, write_date, write_datetime, write_time};
use pelorus_types::{ColumnType, Flags, WireType};

use crate::context::EvalContext;
use crate::decimal::Decimal;
use crate::parse;
use crate::scalar::datetime::number::{
    datetime_integer, datetime_number, time_integer, time_number,
};
use crate::value::{Arg, TextForm, Value};

/// The properties of an argument that a call stores.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) ty: ColumnType,
    pub(crate) scale: u8,
    pub(crate) hex: bool,
    text_form: TextForm,
}

impl Slot {
    pub(crate) fn of(arg: &Arg) -> Self {
        Self { ty: arg.ty, scale: arg.scale, hex: arg.is_hex(), text_form: arg.text_form }
    }

    pub(crate) fn of_type(ty: ColumnType) -> Self {
        Self { ty, scale: ty.decimals, hex: ty.is_bits(), text_form: TextForm::Shown }
    }
}

#[derive(Clone, Copy, Debug)]
enum Reader<'a> {
    Null,
    Int(&'a Int64Array),
    UInt(&'a UInt64Array),
    Dec128(&'a Decimal128Array),
    Dec256(&'a Decimal256Array),
    F32(&'a Float32Array),
    F64(&'a Float64Array),
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
}

/// An argument's array with its type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a> {
    pub(crate) array: &'a ArrayRef,
    pub(crate) ty: ColumnType,
    pub(crate) hex: bool,
    scale: u8,
    text_form: TextForm,
    one: bool,
    reader: Reader<'a>,
    ctx: &'a EvalContext,
}

impl<'a> Input<'a> {
    pub(crate) fn new(array: &'a ArrayRef, slot: &Slot, ctx: &'a EvalContext) -> Result<Self> {
        let reader = reader(array).ok_or_else(|| {
            Error::internal(format!("a function was given an array of {}", array.data_type()))
        })?;
        let scale = match array.data_type() {
            DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
                u8::try_from(*scale).unwrap_or(0)
            }
            _ => slot.scale,
        };
        let one = array.len() == 1;
        Ok(Self {
            array,
            ty: slot.ty,
            hex: slot.hex,
            scale,
            text_form: slot.text_form,
            one,
            reader,
            ctx,
        })
    }

    /// Whether one value represents all rows.
    pub(crate) fn is_one(&self) -> bool {
        self.one
    }

    pub(crate) fn ctx(&self) -> &'a EvalContext {
        self.ctx
    }

    fn at(&self, row: usize) -> usize {
        if self.one { 0 } else { row }
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        matches!(self.reader, Reader::Null) || self.array.is_null(self.at(row))
    }

    /// The value without conversion.
    pub(crate) fn value(&self, row: usize) -> Value {
        if self.is_null(row) {
            return Value::Null;
        }
        let row = self.at(row);
        match self.reader {
            Reader::Null => Value::Null,
            Reader::Int(array) if self.ty.is_date() => Value::Date(array.value(row)),
            Reader::Int(array) if self.ty.wire == WireType::Time => Value::Time(array.value(row)),
            Reader::Int(array) => Value::Int(array.value(row)),
            Reader::UInt(array) => Value::UInt(array.value(row)),
            Reader::Dec128(array) => Value::Decimal(Decimal {
                units: i256::from_i128(array.value(row)),
                scale: self.scale,
            }),
            Reader::Dec256(array) => {
                Value::Decimal(Decimal { units: array.value(row), scale: self.scale })
            }
            Reader::F32(array) => Value::Double(f64::from(array.value(row))),
            Reader::F64(array) => Value::Double(array.value(row)),
            Reader::Text(array) => Value::Text(array.value(row).to_owned()),
            Reader::Bytes(array) => Value::Bytes(array.value(row).to_owned()),
        }
    }

    /// As an integer, which lies in the range of BIGINT or BIGINT UNSIGNED.
    pub(crate) fn int(&self, row: usize) -> Option<i128> {
        if self.is_null(row) {
            return None;
        }
        let at = self.at(row);
        Some(match self.reader {
            Reader::Null => return None,
            Reader::Int(array) if self.ty.is_date() => {
                datetime_integer(self.ty.wire, array.value(at), self.ty.decimals)
            }
            Reader::Int(array) if self.ty.wire == WireType::Time => {
                time_integer(array.value(at), self.ty.decimals)
            }
            Reader::Int(array) => i128::from(array.value(at)),
            Reader::UInt(array) => i128::from(array.value(at)),
            Reader::Dec128(_) | Reader::Dec256(_) => {
                let value = self.decimal(row)?;
                let most = i128::from(u64::MAX);
                let whole = value.round_to_integer().to_i128();
                if whole.is_none_or(|whole| whole > most || whole < i128::from(i64::MIN)) {
                    self.warn_truncated("DECIMAL", value.to_text().as_bytes());
                }
                clamp_int(value.round_to_integer().to_i128().unwrap_or(if value.is_negative() {
                    i128::MIN
                } else {
                    i128::MAX
                }))
            }
            Reader::F32(_) | Reader::F64(_) => double_to_int(self.real(row)?),
            Reader::Text(array) => self.text_to_int(array.value(at).as_bytes()),
            Reader::Bytes(array) if self.hex => i128::from(self.bits_of_literal(array.value(at))),
            Reader::Bytes(array) => self.text_to_int(array.value(at)),
        })
    }

    /// As a signed BIGINT, cut to its range.
    pub(crate) fn int64(&self, row: usize) -> Option<i64> {
        let value = self.int(row)?;
        Some(i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX }))
    }

    /// As the 64 bits that MySQL's bit operators see.
    pub(crate) fn bits(&self, row: usize) -> Option<u64> {
        let value = self.int(row)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "two's complement"
        )]
        Some(value as u64)
    }

    /// The number of a literal like `x'4142'`. A MySQL takes one of more than eight bytes for 0.
    fn bits_of_literal(&self, bytes: &[u8]) -> u64 {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        if self.ctx.of_mariadb || bytes.len() - zeros <= 8 {
            return bits_to_u64(bytes);
        }
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.ctx.warn(1292, format!("Truncated incorrect BINARY value: 'x'{digits}''"));
        0
    }

    fn text_to_int(&self, text: &[u8]) -> i128 {
        let read = parse::integer_prefix(text);
        // Digits beyond the least BIGINT were cut off.
        let below = read.value == i128::from(i64::MIN)
            && parse::exact_integer(&String::from_utf8_lossy(text)) != Some(read.value);
        if read.truncated || below {
            self.warn_truncated("INTEGER", text);
        }
        read.value
    }

    /// As a double.
    pub(crate) fn real(&self, row: usize) -> Option<f64> {
        if self.is_null(row) {
            return None;
        }
        let at = self.at(row);
        #[expect(clippy::cast_precision_loss, reason = "MySQL rounds large integers too")]
        Some(match self.reader {
            Reader::Null => return None,
            Reader::Int(array) if self.ty.is_temporal() => {
                let value = array.value(at);
                match self.ty.wire {
                    WireType::Time => time_number(value, self.ty.decimals).to_f64(),
                    wire => datetime_number(wire, value, self.ty.decimals).to_f64(),
                }
            }
            Reader::Int(array) => array.value(at) as f64,
            Reader::UInt(array) => array.value(at) as f64,
            Reader::Dec128(_) | Reader::Dec256(_) => self.decimal(row)?.to_f64(),
            Reader::F32(array) => f64::from(array.value(at)),
            Reader::F64(array) => array.value(at),
            Reader::Text(array) => self.text_to_real(array.value(at).as_bytes()),
            Reader::Bytes(array) if self.hex => self.bits_of_literal(array.value(at)) as f64,
            Reader::Bytes(array) => self.text_to_real(array.value(at)),
        })
    }

    fn text_to_real(&self, text: &[u8]) -> f64 {
        let read = parse::double_prefix(text);
        if read.truncated && !text.is_empty() {
            self.warn_truncated("DOUBLE", text);
        }
        read.value
    }

    /// As a decimal.
    pub(crate) fn decimal(&self, row: usize) -> Option<Decimal> {
        if self.is_null(row) {
            return None;
        }
        let at = self.at(row);
        Some(match self.reader {
            Reader::Null => return None,
            Reader::Dec128(array) => {
                Decimal { units: i256::from_i128(array.value(at)), scale: self.scale }
            }
            Reader::Dec256(array) => Decimal { units: array.value(at), scale: self.scale },
            Reader::Int(array) if self.ty.is_date() => {
                datetime_number(self.ty.wire, array.value(at), self.ty.decimals)
            }
            Reader::Int(array) if self.ty.wire == WireType::Time => {
                time_number(array.value(at), self.ty.decimals)
            }
            Reader::Int(_) | Reader::UInt(_) => Decimal::from_i128(self.int(row)?),
            Reader::F32(_) | Reader::F64(_) => double_to_decimal(self.real(row)?),
            Reader::Text(array) => self.text_to_decimal(array.value(at).as_bytes()),
            Reader::Bytes(_) if self.hex => Decimal::from_i128(self.int(row)?),
            Reader::Bytes(array) => self.text_to_decimal(array.value(at)),
        })
    }

    fn text_to_decimal(&self, text: &[u8]) -> Decimal {
        let read = parse::decimal_prefix(text);
        if read.truncated {
            self.warn_truncated("DECIMAL", text);
        }
        read.value
    }

    /// As text. Bytes without a charset are read as UTF-8; for other types it is `Some` whenever
    /// [`Self::bytes`] is.
    pub(crate) fn text(&self, row: usize) -> Result<Option<Cow<'a, str>>> {
        if self.is_null(row) {
            return Ok(None);
        }
        let at = self.at(row);
        Ok(Some(match self.reader {
            Reader::Text(array) => Cow::Borrowed(array.value(at)),
            Reader::Bytes(array) => {
                Cow::Borrowed(std::str::from_utf8(array.value(at)).map_err(|_| {
                    Error::unsupported("bytes that are not characters, used as text")
                })?)
            }
            _ => Cow::Owned(self.shown(row)?),
        }))
    }

    /// As bytes: the text of [`Self::text`] in the argument's own charset.
    pub(crate) fn bytes(&self, row: usize) -> Result<Option<Cow<'a, [u8]>>> {
        if self.is_null(row) {
            return Ok(None);
        }
        let at = self.at(row);
        Ok(Some(match self.reader {
            Reader::Text(array) => {
                crate::collation::charset::encode(array.value(at), self.ty.collation)?
            }
            Reader::Bytes(array) => Cow::Borrowed(array.value(at)),
            Reader::UInt(array) if self.ty.wire == WireType::Bit => {
                Cow::Owned(bit_bytes(array.value(at), self.ty.length))
            }
            _ => Cow::Owned(self.shown(row)?.into_bytes()),
        }))
    }

    /// The text of a number or date, where it is that of its own type.
    fn shown(&self, row: usize) -> Result<String> {
        let mut out = String::new();
        match (self.reader, self.text_form) {
            (_, TextForm::Chosen) => {
                return Err(Error::unsupported(
                    "the text of IF or CASE of numbers of several types",
                ));
            }
            _ if self.ctx.of_mariadb || self.ty.decimals < 31 => return Ok(self.display(row)),
            (Reader::F32(array), TextForm::Double) => {
                write_double_text(&mut out, f64::from(array.value(self.at(row))));
            }
            (Reader::F32(array), _) => write_float_text(&mut out, array.value(self.at(row))),
            (Reader::F64(array), _) => write_double_text(&mut out, array.value(self.at(row))),
            _ => return Ok(self.display(row)),
        }
        Ok(out)
    }

    /// A number or date as MySQL prints it. The row is not NULL.
    fn display(&self, row: usize) -> String {
        let mut out = String::new();
        let at = self.at(row);
        match self.reader {
            Reader::Null | Reader::Text(_) | Reader::Bytes(_) => {}
            Reader::Int(array) => match self.ty.wire {
                WireType::Date => write_date(&mut out, DateTime::unpack(array.value(at))),
                WireType::DateTime | WireType::Timestamp => {
                    write_datetime(&mut out, DateTime::unpack(array.value(at)), self.ty.decimals);
                }
                WireType::Time => write_time(&mut out, array.value(at), self.ty.decimals),
                _ => return array.value(at).to_string(),
            },
            Reader::UInt(array) => match self.ty.wire {
                WireType::Year if self.ty.flags.has(Flags::ZEROFILL) => {
                    return format!("{:04}", array.value(at));
                }
                WireType::Bit => {
                    return bit_bytes(array.value(at), self.ty.length)
                        .iter()
                        .map(|byte| char::from(*byte))
                        .collect();
                }
                _ if self.ty.flags.has(Flags::ZEROFILL) => {
                    let width = usize::try_from(self.ty.length).unwrap_or(0).min(255);
                    return format!("{:0width$}", array.value(at));
                }
                _ => return array.value(at).to_string(),
            },
            Reader::Dec128(_) | Reader::Dec256(_) => {
                if let Some(value) = self.decimal(row) {
                    return value.rescale(self.ty.decimals).unwrap_or(value).to_text();
                }
            }
            Reader::F32(array) if self.ty.decimals < 31 => {
                return fixed(f64::from(array.value(at)), self.ty.decimals);
            }
            Reader::F32(array) => write_float(&mut out, array.value(at)),
            Reader::F64(array) if self.ty.decimals < 31 => {
                return fixed(array.value(at), self.ty.decimals);
            }
            Reader::F64(array) => write_double(&mut out, array.value(at)),
        }
        out
    }

    /// As a truth value: anything but zero is true.
    pub(crate) fn truth(&self, row: usize) -> Option<bool> {
        if self.is_null(row) {
            return None;
        }
        let at = self.at(row);
        match self.reader {
            Reader::Null => None,
            Reader::UInt(array) => Some(array.value(at) != 0),
            Reader::Int(array) if !self.ty.is_temporal() => Some(array.value(at) != 0),
            Reader::Dec128(array) => Some(array.value(at) != 0),
            Reader::Dec256(array) => Some(array.value(at) != i256::ZERO),
            _ => Some(self.real(row)? != 0.0),
        }
    }

    /// Leaves warning 1292 for a text that is not wholly a number.
    pub(crate) fn warn_truncated(&self, kind: &str, text: &[u8]) {
        self.ctx.warn(
            1292,
            format!("Truncated incorrect {kind} value: '{}'", String::from_utf8_lossy(text)),
        );
    }
}

/// A number with so many digits after the point: of one with fewer, no more digits than tell it from its
/// neighbours.
fn fixed(value: f64, digits: u8) -> String {
    let digits = usize::from(digits);
    let shortest = format!("{value}");
    match shortest.split_once('.') {
        None if digits > 0 => format!("{shortest}.{:0>digits$}", ""),
        None => shortest,
        Some(_) => format!("{value:.digits$}"),
    }
}

fn reader(array: &ArrayRef) -> Option<Reader<'_>> {
    let any = array.as_any();
    Some(match array.data_type() {
        DataType::Null => Reader::Null,
        DataType::Int64 => Reader::Int(any.downcast_ref()?),
        DataType::UInt64 => Reader::UInt(any.downcast_ref()?),
        DataType::Decimal128(..) => Reader::Dec128(any.downcast_ref()?),
        DataType::Decimal256(..) => Reader::Dec256(any.downcast_ref()?),
        DataType::Float32 => Reader::F32(any.downcast_ref()?),
        DataType::Float64 => Reader::F64(any.downcast_ref()?),
        DataType::Utf8 => Reader::Text(any.downcast_ref()?),
        DataType::Binary => Reader::Bytes(any.downcast_ref()?),
        _ => return None,
    })
}

/// The bits of a literal like `x'4142'` as a number: the last eight bytes.
pub(crate) fn bits_to_u64(bytes: &[u8]) -> u64 {
    bytes.iter().rev().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// A BIT value as the bytes that MySQL shows, `length` bits wide.
fn bit_bytes(value: u64, length: u32) -> Vec<u8> {
    let bytes = usize::try_from(length.div_ceil(8).clamp(1, 8)).unwrap_or(8);
    value.to_be_bytes()[8 - bytes..].to_vec()
}

fn clamp_int(value: i128) -> i128 {
    value.clamp(i128::from(i64::MIN), i128::from(u64::MAX))
}

/// A double as an integer: rounded to even, cut to the range of BIGINT.
pub(crate) fn double_to_int(value: f64) -> i128 {
    let rounded = crate::decimal::rint(value);
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    let whole = rounded as i128;
    whole.clamp(i128::from(i64::MIN), i128::from(i64::MAX))
}

/// A double as a decimal: by its shortest digits.
pub(crate) fn double_to_decimal(value: f64) -> Decimal {
    if !value.is_finite() {
        return parse::largest(value < 0.0);
    }
    parse::decimal_prefix(format!("{value:e}").as_bytes()).value
}

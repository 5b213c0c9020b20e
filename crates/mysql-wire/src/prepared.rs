//! Prepared statements: the answer to PREPARE, and the parameters of EXECUTE in both directions.

use bytes::{BufMut as _, BytesMut};
use pelorus_error::{Error, Result};
use pelorus_types::column::WireType;
use pelorus_types::temporal::{DateTime, TIME_MAX_MICROS};

use crate::command::Code;
use crate::lenenc::{Reader, malformed, put_lenenc_bytes};
use crate::response;

/// The statement number by which MariaDB's clients mean the statement prepared last.
pub const LAST_PREPARED: u32 = u32::MAX;

/// The answer to PREPARE. Definitions of parameters and columns follow, each list with its EOF
/// unless EOF is deprecated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepareOk {
    /// The statement's number.
    pub id: u32,
    /// Columns of its result.
    pub columns: u16,
    /// Its parameters.
    pub parameters: u16,
    /// Warnings.
    pub warnings: u16,
}

impl PrepareOk {
    /// Appends the packet.
    pub fn put(&self, out: &mut BytesMut) {
        out.put_u8(response::OK);
        out.put_u32_le(self.id);
        out.put_u16_le(self.columns);
        out.put_u16_le(self.parameters);
        out.put_u8(0);
        out.put_u16_le(self.warnings);
    }

    /// Reads the packet; an ERR packet in its place is the error.
    pub fn parse(payload: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(payload);
        match reader.u8()? {
            response::OK => {}
            response::ERR => return Err(response::parse_err(payload)),
            _ => return Err(malformed("no answer to PREPARE")),
        }
        let id = reader.u32()?;
        let columns = reader.u16()?;
        let parameters = reader.u16()?;
        reader.u8()?;
        let warnings = if reader.remaining() >= 2 { reader.u16()? } else { 0 };
        Ok(Self { id, columns, parameters, warnings })
    }
}

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A FLOAT.
    Float(f32),
    /// A DOUBLE.
    Double(f64),
    /// A DECIMAL in text.
    Decimal(&'a [u8]),
    /// Text in the client's charset.
    Text(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A DATE, packed.
    Date(i64),
    /// A DATETIME or TIMESTAMP, packed.
    DateTime(i64),
    /// A TIME in microseconds.
    Time(i64),
}

/// The type that a client bound to a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterType {
    /// The type byte.
    pub kind: u8,
    /// Whether integers are unsigned.
    pub unsigned: bool,
}

/// Reads the parameters of EXECUTE.
///
/// `types` remembers the types between executions: clients send them with the first one only.
/// `long_data` has what COM_STMT_SEND_LONG_DATA sent, by parameter; such parameters have no value
/// in the packet.
pub fn parse_parameters<'a>(
    bytes: &'a [u8],
    count: u16,
    types: &mut Vec<ParameterType>,
    long_data: &'a [Option<Vec<u8>>],
) -> Result<Vec<Value<'a>>> {
    let count = usize::from(count);
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut reader = Reader::new(bytes);
    let nulls = reader.bytes(count.div_ceil(8))?;
    match reader.u8()? {
        0 if types.len() == count => {}
        1 => {
            types.clear();
            for _ in 0..count {
                let [kind, flags] = reader.array()?;
                types.push(ParameterType { kind, unsigned: flags & 0x80 != 0 });
            }
        }
        _ => return Err(malformed("parameters without types")),
    }
    let mut values = Vec::with_capacity(count);
    for (index, ty) in types.iter().enumerate() {
        let long = long_data.get(index).and_then(Option::as_deref);
        values.push(if let Some(data) = long {
            if is_bytes(ty.kind) { Value::Bytes(data) } else { Value::Text(data) }
        } else if nulls[index / 8] >> (index % 8) & 1 == 1 {
            Value::Null
        } else {
            parse_value(&mut reader, *ty)?
        });
    }
    Ok(values)
}

/// The BLOB types. Drivers bind text as VAR_STRING or STRING, and bytes as a BLOB.
fn is_bytes(kind: u8) -> bool {
    (249..=252).contains(&kind) || kind == 255 || kind == 242
}

#[expect(clippy::cast_possible_wrap, reason = "the client says that the bits have a sign")]
fn parse_value<'a>(reader: &mut Reader<'a>, ty: ParameterType) -> Result<Value<'a>> {
    let unsigned = |value: u64| Value::UInt(value);
    Ok(match ty.kind {
        kind if kind == WireType::Null as u8 => Value::Null,
        1 if ty.unsigned => unsigned(reader.u8()?.into()),
        1 => Value::Int((reader.u8()? as i8).into()),
        2 | 13 if ty.unsigned => unsigned(reader.u16()?.into()),
        2 | 13 => Value::Int((reader.u16()? as i16).into()),
        3 | 9 if ty.unsigned => unsigned(reader.u32()?.into()),
        3 | 9 => Value::Int((reader.u32()? as i32).into()),
        8 if ty.unsigned => unsigned(reader.u64()?),
        8 => Value::Int(reader.u64()? as i64),
        4 => Value::Float(f32::from_bits(reader.u32()?)),
        5 => Value::Double(f64::from_bits(reader.u64()?)),
        0 | 246 => Value::Decimal(reader.lenenc_bytes()?),
        10 => Value::Date(parse_datetime(reader)?.midnight().pack()),
        7 | 12 | 17 | 18 => Value::DateTime(parse_datetime(reader)?.pack()),
        11 | 19 => Value::Time(parse_time(reader)?),
        // A bool of MySQL's newest clients.
        244 => Value::Int((reader.u8()? as i8).into()),
        15 | 245 | 247 | 248 | 253 | 254 => Value::Text(reader.lenenc_bytes()?),
        16 => Value::Bytes(reader.lenenc_bytes()?),
        kind if is_bytes(kind) => Value::Bytes(reader.lenenc_bytes()?),
        other => {
            return Err(Error::unsupported(format_args!("parameters of type {other}")));
        }
    })
}

/// Reads a DATE or DATETIME of the binary protocol, whose length byte says how much of it is not
/// zero.
pub fn parse_datetime(reader: &mut Reader<'_>) -> Result<DateTime> {
    let length = reader.u8()?;
    let mut value = DateTime::default();
    if length == 0 {
        return Ok(value);
    }
    value.year = reader.u16()?;
    value.month = reader.u8()?;
    value.day = reader.u8()?;
    match length {
        4 => {}
        7 | 11 => {
            value.hour = reader.u8()?;
            value.minute = reader.u8()?;
            value.second = reader.u8()?;
            if length == 11 {
                value.micros = reader.u32()?;
            }
        }
        13 => return Err(Error::unsupported("datetime parameters with a time zone")),
        _ => return Err(malformed("the length of a datetime")),
    }
    let fits = value.year <= 9999
        && value.month <= 12
        && value.day <= 31
        && value.hour < 24
        && value.minute < 60
        && value.second < 60
        && value.micros < 1_000_000;
    if fits { Ok(value) } else { Err(malformed("a datetime out of range")) }
}

/// Reads a TIME of the binary protocol as microseconds.
pub fn parse_time(reader: &mut Reader<'_>) -> Result<i64> {
    let length = reader.u8()?;
    if length == 0 {
        return Ok(0);
    }
    if length != 8 && length != 12 {
        return Err(malformed("the length of a time"));
    }
    let negative = reader.u8()? != 0;
    let days = i64::from(reader.u32()?);
    let hours = days * 24 + i64::from(reader.u8()?);
    let minutes = hours * 60 + i64::from(reader.u8()?);
    let seconds = minutes * 60 + i64::from(reader.u8()?);
    let fraction = if length == 12 { i64::from(reader.u32()?) } else { 0 };
    // Days have 32 bits, so nothing here comes near 64.
    let micros = seconds * 1_000_000 + fraction;
    // TIME ends at 838:59:59 without a fraction, but MariaDB's goes on to .999999.
    if micros >= TIME_MAX_MICROS + 1_000_000 {
        return Err(malformed("a time out of range"));
    }
    Ok(if negative { -micros } else { micros })
}

/// Appends a DATE or DATETIME in its shortest form.
pub fn put_datetime(out: &mut BytesMut, value: DateTime) {
    let date = value.year != 0 || value.month != 0 || value.day != 0;
    let time = value.hour != 0 || value.minute != 0 || value.second != 0;
    let length = match (date, time, value.micros != 0) {
        (false, false, false) => 0,
        (true, false, false) => 4,
        (_, true, false) => 7,
        (_, _, true) => 11,
    };
    out.put_u8(length);
    if length >= 4 {
        out.put_u16_le(value.year);
        out.put_slice(&[value.month, value.day]);
    }
    if length >= 7 {
        out.put_slice(&[value.hour, value.minute, value.second]);
    }
    if length == 11 {
        out.put_u32_le(value.micros);
    }
}

/// Appends a TIME given in microseconds in its shortest form.
pub fn put_time(out: &mut BytesMut, micros: i64) {
    let negative = micros < 0;
    let total = micros.unsigned_abs();
    if total == 0 {
        out.put_u8(0);
        return;
    }
    let fraction = (total % 1_000_000) as u32;
    let seconds = total / 1_000_000;
    out.put_u8(if fraction == 0 { 8 } else { 12 });
    out.put_u8(u8::from(negative));
    out.put_u32_le((seconds / 86_400) as u32);
    out.put_slice(&[(seconds / 3600 % 24) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8]);
    if fraction != 0 {
        out.put_u32_le(fraction);
    }
}

/// Appends COM_STMT_EXECUTE with its parameters and their types.
pub fn put_execute(out: &mut BytesMut, id: u32, cursor: u8, values: &[Value<'_>]) {
    out.put_u8(Code::StmtExecute as u8);
    out.put_u32_le(id);
    out.put_u8(cursor);
    out.put_u32_le(1);
    if values.is_empty() {
        return;
    }
    let mut nulls = vec![0_u8; values.len().div_ceil(8)];
    for (index, value) in values.iter().enumerate() {
        if *value == Value::Null {
            nulls[index / 8] |= 1 << (index % 8);
        }
    }
    out.put_slice(&nulls);
    out.put_u8(1);
    for value in values {
        out.put_slice(&type_of(value));
    }
    for value in values {
        put_value(out, value);
    }
}

fn type_of(value: &Value<'_>) -> [u8; 2] {
    use WireType as Wire;
    let kind = match value {
        Value::Null => Wire::Null,
        Value::Int(_) | Value::UInt(_) => Wire::LongLong,
        Value::Float(_) => Wire::Float,
        Value::Double(_) => Wire::Double,
        Value::Decimal(_) => Wire::NewDecimal,
        Value::Text(_) => Wire::VarString,
        Value::Bytes(_) => Wire::Blob,
        Value::Date(_) => Wire::Date,
        Value::DateTime(_) => Wire::DateTime,
        Value::Time(_) => Wire::Time,
    };
    let unsigned = matches!(value, Value::UInt(_));
    [kind as u8, u8::from(unsigned) << 7]
}

fn put_value(out: &mut BytesMut, value: &Value<'_>) {
    match *value {
        Value::Null => {}
        Value::Int(value) => out.put_i64_le(value),
        Value::UInt(value) => out.put_u64_le(value),
        Value::Float(value) => out.put_f32_le(value),
        Value::Double(value) => out.put_f64_le(value),
        Value::Decimal(bytes) | Value::Text(bytes) | Value::Bytes(bytes) => {
            put_lenenc_bytes(out, bytes);
        }
        Value::Date(packed) => put_datetime(out, DateTime::unpack(packed).midnight()),
        Value::DateTime(packed) => put_datetime(out, DateTime::unpack(packed)),
        Value::Time(micros) => put_time(out, micros),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::caps::Capabilities;
    use crate::command::{Command, StmtExecute};

    fn datetime() -> impl Strategy<Value = DateTime> {
        let micros = prop_oneof![Just(0), 0_u32..1_000_000];
        (0_u16..=9999, 0_u8..=12, 0_u8..=31, 0_u8..24, 0_u8..60, 0_u8..60, micros).prop_map(
            |(year, month, day, hour, minute, second, micros)| DateTime {
                year,
                month,
                day,
                hour,
                minute,
                second,
                micros,
            },
        )
    }

    fn value() -> impl Strategy<Value = Value<'static>> {
        prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::Int),
            any::<u64>().prop_map(Value::UInt),
            (-1e9_f32..1e9).prop_map(Value::Float),
            (-1e9_f64..1e9).prop_map(Value::Double),
            prop::sample::select(vec![&b"1.5"[..], b"", b"-0"]).prop_map(Value::Decimal),
            prop::sample::select(vec![&b"text"[..], b"", b"\xff"]).prop_map(Value::Text),
            prop::sample::select(vec![&b"bytes"[..], b"\0"]).prop_map(Value::Bytes),
            datetime().prop_map(|value| Value::Date(value.midnight().pack())),
            datetime().prop_map(|value| Value::DateTime(value.pack())),
            (-TIME_MAX_MICROS..=TIME_MAX_MICROS).prop_map(Value::Time),
        ]
    }

    proptest! {
        #[test]
        fn parameters_come_back(values in prop::collection::vec(value(), 0..20), id: u32) {
            let mut out = BytesMut::new();
            put_execute(&mut out, id, 1, &values);
            let Command::StmtExecute(StmtExecute { id: read, flags, parameters }) =
                Command::parse(&out, Capabilities::default()).unwrap()
            else {
                panic!("not an EXECUTE");
            };
            prop_assert_eq!((read, flags), (id, 1));
            let mut types = Vec::new();
            let count = u16::try_from(values.len()).unwrap();
            prop_assert_eq!(parse_parameters(parameters, count, &mut types, &[]).unwrap(), values);
        }

        #[test]
        fn any_bytes_give_values_or_an_error(
            bytes: Vec<u8>, count in 0_u16..300, types in prop::collection::vec(any::<u8>(), 0..5),
        ) {
            let mut types: Vec<_> =
                types.iter().map(|kind| ParameterType { kind: *kind, unsigned: false }).collect();
            let _ = parse_parameters(&bytes, count, &mut types.clone(), &[]);
            let known = u16::try_from(types.len()).unwrap();
            let mut packet = vec![0; usize::from(known).div_ceil(8) + 1];
            packet.extend_from_slice(&bytes);
            let _ = parse_parameters(&packet, known, &mut types, &[None, Some(vec![1])]);
            let _ = PrepareOk::parse(&bytes);
        }

        #[test]
        fn answers_to_prepare_come_back(id: u32, columns: u16, parameters: u16, warnings: u16) {
            let answer = PrepareOk { id, columns, parameters, warnings };
            let mut out = BytesMut::new();
            answer.put(&mut out);
            prop_assert_eq!(PrepareOk::parse(&out).unwrap(), answer);
        }
    }

    #[test]
    fn types_are_remembered_and_long_data_replaces_values() {
        let mut out = BytesMut::new();
        put_execute(&mut out, 1, 0, &[Value::Int(-2), Value::Text(b"x")]);
        let mut types = Vec::new();
        parse_parameters(&out[10..], 2, &mut types, &[]).unwrap();
        // The second time: no types, and the text was sent beforehand.
        let again = [&[0, 0][..], &(-3_i64).to_le_bytes()].concat();
        let long = [None, Some(b"long".to_vec())];
        assert_eq!(
            parse_parameters(&again, 2, &mut types, &long).unwrap(),
            [Value::Int(-3), Value::Text(b"long")]
        );
        assert!(parse_parameters(&again, 2, &mut Vec::new(), &long).is_err());
    }
}

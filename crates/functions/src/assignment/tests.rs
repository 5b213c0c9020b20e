//! Tests of assignment: tables of literals with MySQL's results, messages, arrays, and properties.

mod arrays;
mod cases;
mod messages;
mod properties;

use pelorus_types::{Collation, ColumnType, Flags, WireType, collation};

use super::*;
use crate::context::EvalContext;
use crate::input::{Input, Slot};

/// A policy under MySQL's default `sql_mode`.
fn policy(strict: bool) -> Policy {
    Policy::new(&EvalContext::default(), strict)
}

/// The numbers in brackets after a type's name.
fn numbers(rest: &str) -> Vec<u32> {
    let inner = rest.split('(').nth(1).and_then(|rest| rest.split(')').next()).unwrap_or("");
    inner.split(',').filter_map(|number| number.trim().parse().ok()).collect()
}

fn members(rest: &str) -> Vec<String> {
    let inner = rest.split_once('(').unwrap().1.rsplit_once(')').unwrap().0;
    inner.split(',').map(|name| name.trim().trim_matches('\'').to_owned()).collect()
}

fn text_collation(spec: &str) -> Collation {
    let charset = spec.split("charset ").nth(1).map(str::trim);
    charset.map_or(collation::UTF8MB4_0900_AI_CI, |name| Collation::default_of(name).unwrap())
}

/// A nullable column `c` of table `t` with a type as SQL writes it.
fn column(spec: &str) -> Target {
    use WireType as W;
    let name = spec.split(['(', ' ']).next().unwrap();
    let n = numbers(spec);
    let first = n.first().copied();
    let small = |at: usize, missing: u8| n.get(at).map_or(missing, |n| u8::try_from(*n).unwrap());
    let number =
        |wire, length, decimals| ColumnType::new(wire, collation::BINARY, length, decimals);
    let text = |wire, length| ColumnType::new(wire, text_collation(spec), length, 0);
    let width = u32::from(text_collation(spec).bytes_per_char());
    let mut ty = match name {
        "tinyint" => number(W::Tiny, 4, 0),
        "smallint" => number(W::Short, 6, 0),
        "mediumint" => number(W::Int24, 9, 0),
        "int" => number(W::Long, 11, 0),
        "bigint" => number(W::LongLong, 20, 0),
        "year" => number(W::Year, 4, 0),
        "bit" => number(W::Bit, first.unwrap_or(1), 0),
        "decimal" => {
            let mut ty = ColumnType::decimal(small(0, 10), small(1, 0));
            ty.length -= u32::from(spec.ends_with("unsigned"));
            ty
        }
        "float" => number(W::Float, first.unwrap_or(12), small(1, 31)),
        "double" => number(W::Double, first.unwrap_or(22), small(1, 31)),
        "date" => number(W::Date, 10, 0),
        "datetime" => number(W::DateTime, 19, small(0, 0)),
        "timestamp" => number(W::Timestamp, 19, small(0, 0)),
        "time" => number(W::Time, 10, small(0, 0)),
        "char" => text(W::String, first.unwrap_or(1) * width),
        "varchar" => text(W::VarString, n[0] * width),
        "binary" => number(W::String, first.unwrap_or(1), 0),
        "varbinary" => number(W::VarString, n[0], 0),
        "tinytext" => text(W::TinyBlob, 255),
        "text" => text(W::Blob, 65_535),
        "tinyblob" => number(W::TinyBlob, 255, 0),
        "enum" => text(W::Enum, 40),
        "set" => text(W::Set, 40),
        "json" => text(W::Json, u32::MAX),
        other => panic!("no type {other}"),
    };
    if spec.contains("unsigned") {
        ty.flags = ty.flags.with(Flags::UNSIGNED);
    }
    let listed = matches!(ty.wire, W::Enum | W::Set);
    let target = Target::new("t", "c", ty);
    if listed { target.with_members(members(spec)) } else { target }
}

/// A literal as SQL writes it, without escapes; `\` before `x` and two digits is a byte.
fn literal(text: &str) -> Owned {
    if text == "NULL" {
        return Owned::Null;
    }
    if let Some(digits) = text.strip_prefix("x'") {
        let digits = digits.trim_end_matches('\'');
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        return Owned::Hex((0..digits.len()).step_by(2).map(byte).collect());
    }
    match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(inner) => Owned::Text(inner.as_bytes().to_vec()),
        None => Owned::Number(text.to_owned()),
    }
}

enum Owned {
    Null,
    Text(Vec<u8>),
    Hex(Vec<u8>),
    Number(String),
}

impl Owned {
    fn borrow(&self) -> Literal<'_> {
        match self {
            Owned::Null => Literal::Null,
            Owned::Text(text) => Literal::Text(text),
            Owned::Hex(bytes) => Literal::Hex(bytes),
            Owned::Number(text) => Literal::Number(text),
        }
    }
}

/// A row of a stored array as MySQL shows it; bytes as hexadecimal digits, BIT as a number.
fn shown(array: &ArrayRef, ty: &ColumnType, row: usize) -> String {
    let ctx = EvalContext::default();
    let mut ty = *ty;
    if ty.wire == WireType::Bit {
        ty.wire = WireType::LongLong;
    }
    let one = array.slice(row, 1);
    let input = Input::new(&one, &Slot::of_type(ty), &ctx).unwrap();
    if ty.is_binary_string() {
        return input.bytes(0).unwrap().map_or("NULL".to_owned(), |bytes| {
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        });
    }
    let text = input.text(0).unwrap();
    let text = text.map_or("NULL".to_owned(), std::borrow::Cow::into_owned);
    if ty.wire == WireType::Year { format!("{text:0>4}") } else { text }
}

/// What becomes of a literal: `!1264` for an error, else the value with `~1265` for each warning
/// and `~n1265` for each note.
fn outcome(target: &Target, literal: Literal<'_>, policy: Policy) -> String {
    let mut builder = ColumnBuilder::new(target, policy).unwrap();
    if let Err(failure) = builder.append(literal) {
        return format!("!{}", failure.error.errno());
    }
    let assigned = builder.finish();
    assert_eq!(assigned.array.data_type(), &target.ty.arrow());
    assert_eq!(assigned.array.len(), 1);
    let mut out = shown(&assigned.array, &target.ty, 0);
    for warning in &assigned.warnings {
        let mark = if warning.level == Level::Note { "n" } else { "" };
        out.push_str(&format!(" ~{mark}{}", warning.code));
    }
    out
}

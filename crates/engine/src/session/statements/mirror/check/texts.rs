//! SQL texts of `CHECK MIRROR` that both sides compute with equal results.

use pelorus_native::definition::NativeDef;
use pelorus_sql::literal;
use pelorus_types::{ColumnType, WireType, collation};

use crate::mirror::filter::part;

/// A text that rows have in common when all of their values that are copied are the same.
pub(super) fn row_text(def: &NativeDef) -> String {
    let value = |column: &pelorus_types::Column| {
        format!("IFNULL({}, '~')", plain_text(&literal::name(&column.name), &column.ty))
    };
    let part = part(def).map(|it| it.left_out).unwrap_or_default();
    let kept = def.columns.iter().enumerate().filter(|(at, _)| part.get(*at) != Some(&true));
    let values: Vec<String> = kept.map(|(_, column)| value(column)).collect();
    format!("CONCAT_WS(',', {})", values.join(", "))
}

/// A value as text that both sides write alike.
fn plain_text(name: &str, ty: &ColumnType) -> String {
    match ty.wire {
        WireType::Json => format!("HEX(CAST({name} AS CHAR))"),
        _ if ty.is_string() && ty.collation == collation::BINARY => format!("HEX({name})"),
        _ if ty.is_string() => format!("HEX(CONVERT({name} USING utf8mb4))"),
        // As text MySQL, MariaDB and we write some of them differently.
        WireType::Double => format!("CAST({name} AS DECIMAL(65,6))"),
        WireType::Bit => format!("({name} + 0)"),
        _ => name.to_owned(),
    }
}

pub(super) fn key_text(def: &NativeDef, at: usize) -> String {
    plain_text(&literal::name(&def.columns[at].name), &def.columns[at].ty)
}

/// The complete primary key as one text.
pub(super) fn whole_key_text(def: &NativeDef) -> String {
    let parts: Vec<String> = def.key.iter().map(|&at| key_text(def, at)).collect();
    format!("CONCAT_WS(',', {})", parts.join(", "))
}

/// Whether rows can be named by the texts of their keys.
pub(super) fn has_plain_keys(def: &NativeDef) -> bool {
    let is_plain = |at: &usize| !def.targets[*at].ty.arrow().is_floating();
    def.key.iter().all(is_plain)
}

/// The side that evaluates a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// The server, in a range: columns have a \u{1} in front, which must be nowhere else.
    There,
    /// We.
    Here,
}

/// A condition that is true of the rows with some keys, given by their texts.
pub(super) fn condition_of(def: &NativeDef, keys: &[Vec<String>], reader: Reader) -> String {
    let mark = if reader == Reader::There { "\u{1}" } else { "" };
    let parts = |key: &Vec<String>| {
        let parts = key.iter().zip(&def.key).map(|(value, &at)| {
            let column = &def.columns[at];
            let name = literal::name(&column.name);
            // Such dates, and the year 0, are no literals here.
            let is_odd = match column.ty.wire {
                WireType::Year => true,
                _ => column.ty.is_temporal() && has_zero_part(value),
            };
            let name = match is_odd && reader == Reader::Here {
                true => format!("CAST({name} AS CHAR)"),
                false => format!("{mark}{name}"),
            };
            format!("{name} = {}", value_text(value, &column.ty, reader))
        });
        format!("({})", parts.collect::<Vec<_>>().join(" AND "))
    };
    format!("({})", keys.iter().map(parts).collect::<Vec<_>>().join(" OR "))
}

/// Whether a date has a year, a month or a day that is zero.
fn has_zero_part(date: &str) -> bool {
    date.starts_with("0000-") || date.get(4..).is_some_and(|it| it.contains("-00"))
}

/// A value of [`plain_text`] in SQL.
fn value_text(value: &str, ty: &ColumnType, reader: Reader) -> String {
    match ty.wire {
        _ if ty.is_string() && ty.collation == collation::BINARY => format!("x'{value}'"),
        // In hex, values are never taken for names.
        _ if ty.is_string() && reader == Reader::There => format!("_utf8mb4 x'{value}'"),
        _ if ty.is_string() => {
            let bytes = crate::hex::decode(value).unwrap_or_default();
            literal::text(&String::from_utf8_lossy(&bytes), pelorus_sql::Mode::default())
        }
        WireType::Year => format!("'{value}'"),
        _ if ty.is_temporal() => format!("'{value}'"),
        _ => value.to_owned(),
    }
}

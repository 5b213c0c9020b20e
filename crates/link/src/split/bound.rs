//! Bounds: values of a key as SQL text, their comparison, and points between two of them.

use pelorus_types::WireType;
use pelorus_types::temporal::{self, DateTime};

use super::{QUALIFIER, hex, quote_name, quote_text};
use crate::table::{KeyPart, RemoteColumn, RemoteKey, RemoteTable};

/// A point in a key's order: literals for its first columns. A row is at or above it when its key
/// is, column by column.
pub(super) type Bound = Vec<String>;

/// The kind of a column's values, for finding points between two of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    /// Integers, and decimals as integers of their last digit.
    Number { scale: u8 },
    /// YEAR: as literals, numbers below 100 would mean other years.
    Year,
    /// DATE, in days.
    Date,
    /// DATETIME, in seconds.
    DateTime,
    /// TIMESTAMP, in days: a bound at noon is far from any change of daylight saving time, when a
    /// later local time may be an earlier moment.
    Timestamp,
    /// Text under a collation.
    Text { charset: String, collation: String, unicode: bool },
    /// Bytes.
    Bytes,
}

/// Between two points this many are tried at most.
pub(super) const MOST: usize = 160;
/// The maximum number of texts, whose order the server must check.
const MOST_TEXTS: usize = 40;

impl Domain {
    /// The domain of a key's part; `None` when its values cannot be bounds.
    pub(super) fn of(table: &RemoteTable, part: &KeyPart) -> Option<Self> {
        Self::of_column(table.column(&part.column)?)
    }

    fn of_column(column: &RemoteColumn) -> Option<Self> {
        use WireType::*;
        let ty = &column.ty;
        let declared = column.sql_type.to_ascii_lowercase();
        // They are ordered by number and compared as text.
        if declared.starts_with("enum") || declared.starts_with("set") {
            return None;
        }
        match ty.wire {
            Tiny | Short | Int24 | Long | LongLong => Some(Domain::Number { scale: 0 }),
            Year => Some(Domain::Year),
            NewDecimal if ty.precision() <= 36 => Some(Domain::Number { scale: ty.decimals }),
            Date => Some(Domain::Date),
            DateTime => Some(Domain::DateTime),
            Timestamp => Some(Domain::Timestamp),
            VarChar | VarString | String => match (&column.charset, &column.collation) {
                (Some(charset), Some(collation)) => Some(Domain::Text {
                    unicode: charset.starts_with("utf8"),
                    charset: charset.clone(),
                    collation: collation.clone(),
                }),
                _ if ty.is_binary_string() => Some(Domain::Bytes),
                _ => None,
            },
            _ => None,
        }
    }

    /// How to read a column's value so that `Self::read` understands it.
    pub(super) fn select(&self, column: &str) -> String {
        match self {
            Domain::Bytes => format!("HEX({column})"),
            _ => column.to_owned(),
        }
    }

    /// Literals between the values `low` and `high` (above the first, up to the second), about
    /// `count` of them, in probable ascending order. Values are as the server sends them in text.
    pub(super) fn between(&self, low: &str, high: &str, count: usize) -> Vec<String> {
        let count = count.clamp(1, MOST);
        match self {
            Domain::Text { unicode, .. } => {
                texts_between(low, high, count.min(MOST_TEXTS), *unicode)
            }
            Domain::Bytes => bytes_between(low, high, count),
            numeric => {
                let (Some(low), Some(high)) = (numeric.number(low), numeric.number(high)) else {
                    return Vec::new();
                };
                numbers_between(low, high, count)
                    .into_iter()
                    .filter_map(|number| numeric.literal(number))
                    .collect()
            }
        }
    }

    /// The literal of a value that the server sent.
    pub(super) fn quote(&self, value: &str) -> Option<String> {
        match self {
            Domain::Text { .. } => Some(quote_text(value)),
            Domain::Bytes => Some(bytes_literal(value)),
            Domain::Number { .. } => Some(value.to_owned()),
            Domain::Year => value.parse().ok().and_then(|year| self.literal(year)),
            // A zero date is an error under some modes, so that it cannot be a bound.
            Domain::Date | Domain::DateTime | Domain::Timestamp => {
                has_no_zero(value).then(|| format!("'{value}'"))
            }
        }
    }

    /// Whether one value always has the same literal. Under a collation several texts are one, and
    /// points in time are written in the time of a zone: read under the server's, and compared
    /// under that of a session, two of them may be one.
    pub(super) fn is_spelled_once(&self) -> bool {
        !matches!(self, Domain::Text { .. } | Domain::Timestamp)
    }

    /// Whether the server must check if literals ascend.
    pub(super) fn needs_check(&self) -> bool {
        matches!(self, Domain::Text { .. } | Domain::Bytes)
    }

    /// A literal with the column's own comparison.
    pub(super) fn typed(&self, literal: &str) -> String {
        match self {
            Domain::Text { charset, collation, .. } => {
                format!("CONVERT({literal} USING {charset}) COLLATE {collation}")
            }
            _ => literal.to_owned(),
        }
    }

    fn number(&self, text: &str) -> Option<i128> {
        match self {
            Domain::Number { scale } => {
                pelorus_types::number::parse_decimal(text.as_bytes(), *scale)?.to_i128()
            }
            Domain::Year => text.parse().ok(),
            Domain::Date | Domain::Timestamp => {
                parse_date(text.get(..10)?).map(|date| i128::from(date.day_number()))
            }
            Domain::DateTime => {
                let date = parse_date(text.get(..10)?)?;
                let part = |at: usize| text.get(at..at + 2)?.parse::<i128>().ok();
                let seconds = (part(11)? * 60 + part(14)?) * 60 + part(17)?;
                Some(i128::from(date.day_number()) * 86_400 + seconds)
            }
            Domain::Text { .. } | Domain::Bytes => None,
        }
    }

    fn literal(&self, number: i128) -> Option<String> {
        let mut out = String::new();
        match self {
            Domain::Number { scale } => {
                let units = arrow::datatypes::i256::from_i128(number);
                pelorus_types::number::write_decimal(&mut out, units, *scale);
                return Some(out);
            }
            Domain::Year => return (number >= 1901).then(|| number.to_string()),
            Domain::Date => {
                temporal::write_date(&mut out, DateTime::from_day_number(number.try_into().ok()?)?);
            }
            Domain::Timestamp => {
                temporal::write_date(&mut out, DateTime::from_day_number(number.try_into().ok()?)?);
                out.push_str(" 12:00:00");
            }
            Domain::DateTime => {
                let days = i64::try_from(number.div_euclid(86_400)).ok()?;
                let seconds = i64::try_from(number.rem_euclid(86_400)).ok()?;
                let value = DateTime::from_day_number(days)?.at_time_micros(seconds * 1_000_000);
                temporal::write_datetime(&mut out, value, 0);
            }
            Domain::Text { .. } | Domain::Bytes => return None,
        }
        Some(format!("'{out}'"))
    }
}

/// Whether neither the month nor the day of a date is zero.
fn has_no_zero(date: &str) -> bool {
    let part = |at: usize| date.get(at..at + 2).and_then(|text| text.parse::<u8>().ok());
    [5, 8].into_iter().all(|at| part(at).is_some_and(|part| part > 0))
}

/// A date; zero parts count as the first of their kind, which is near enough for a bound.
fn parse_date(text: &str) -> Option<DateTime> {
    let year = text.get(..4)?.parse().ok()?;
    let month = text.get(5..7)?.parse::<u8>().ok()?.max(1);
    let day = text.get(8..10)?.parse::<u8>().ok()?.max(1);
    Some(DateTime::date(year, month, day))
}

/// Numbers above `low` up to `high`, evenly spread.
fn numbers_between(low: i128, high: i128, count: usize) -> Vec<i128> {
    let Some(width) = high.checked_sub(low).filter(|width| *width > 0) else { return Vec::new() };
    let steps = i128::try_from(count + 1).unwrap_or(i128::MAX);
    let mut numbers: Vec<i128> = (1..steps)
        .filter_map(|step| Some(low + width.checked_mul(step)? / steps))
        .filter(|number| *number > low)
        .collect();
    if width < steps {
        // So few that each has a cell of its own.
        numbers = (1..=width).map(|step| low + step).collect();
    }
    numbers.dedup();
    numbers
}

/// Texts between two: what they have in common, and one more character. The order of characters
/// is the collation's business; the server is asked which of them ascend.
fn texts_between(low: &str, high: &str, count: usize, unicode: bool) -> Vec<String> {
    let common: String =
        low.chars().zip(high.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    let rest = |text: &str| text[common.len()..].chars().next();
    let first = rest(low).map_or(0x20, u32::from);
    let Some(last) = rest(high).map(u32::from) else { return Vec::new() };
    let mut codes: Vec<u32> = Vec::new();
    if first < last {
        let points = numbers_between(i128::from(first), i128::from(last), count);
        codes.extend(points.into_iter().filter_map(|code| u32::try_from(code).ok()));
    }
    // Digits and letters ascend in every collation; case may not count.
    codes.extend(('0'..='9').chain('a'..='z').map(u32::from));
    codes.retain(|code| *code >= 0x20 && (unicode || *code < 0x7F));
    let mut texts: Vec<String> = codes
        .into_iter()
        .filter_map(char::from_u32)
        .filter(|character| !character.is_control())
        .map(|character| format!("{common}{character}"))
        .collect();
    texts.sort();
    texts.dedup();
    texts.into_iter().map(|text| quote_text(&text)).collect()
}

/// Byte strings (given in hex) between two.
fn bytes_between(low: &str, high: &str, count: usize) -> Vec<String> {
    let bytes = |text: &str| -> Vec<u8> {
        (0..text.len() / 2)
            .filter_map(|at| u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok())
            .collect()
    };
    let (low, high) = (bytes(low), bytes(high));
    let common = low.iter().zip(&high).take_while(|(a, b)| a == b).count();
    // Three bytes after what they have in common leave room for many points.
    let tail = |bytes: &[u8]| {
        (0..3).fold(0, |value, at| {
            value << 8 | i128::from(bytes.get(common + at).copied().unwrap_or(0))
        })
    };
    numbers_between(tail(&low), tail(&high), count)
        .into_iter()
        .filter_map(|number| u32::try_from(number).ok())
        .map(|number| {
            let [_, a, b, c] = number.to_be_bytes();
            let mut value = high[..common].to_vec();
            value.extend([a, b, c]);
            bytes_literal(&hex(&value))
        })
        .collect()
}

fn bytes_literal(hex: &str) -> String {
    if hex.is_empty() { "''".to_owned() } else { format!("x'{hex}'") }
}

/// The condition for keys from `lower` (inclusive) to `upper` (exclusive), as alternatives that a
/// range optimizer reads as intervals of the key. `None` when there is no bound.
pub(super) fn condition(
    key: &RemoteKey,
    table: &RemoteTable,
    lower: Option<&Bound>,
    upper: Option<&Bound>,
) -> Option<String> {
    let empty = Vec::new();
    let columns: Vec<Column> = key
        .parts
        .iter()
        .map(|part| Column {
            name: format!("{QUALIFIER}{}", quote_name(&part.column)),
            nullable: table.column(&part.column).is_none_or(|column| column.nullable),
        })
        .collect();
    let text = between(&columns, lower.unwrap_or(&empty), upper.unwrap_or(&empty));
    (!text.is_empty()).then(|| any(&text))
}

struct Column {
    name: String,
    nullable: bool,
}

/// Alternatives for keys of `columns` at or above `lower` and below `upper`; an empty bound is
/// none. No alternatives mean no condition.
fn between(columns: &[Column], lower: &[String], upper: &[String]) -> Vec<String> {
    let Some((column, rest)) = columns.split_first() else { return Vec::new() };
    let name = &column.name;
    let with = |value: &str, inner: Vec<String>| {
        let equal = format!("{name} = {value}");
        if inner.is_empty() { equal } else { format!("{equal} AND {}", any(&inner)) }
    };
    match (lower, upper) {
        ([], []) => Vec::new(),
        ([low, low_rest @ ..], [high, high_rest @ ..]) if low == high => {
            vec![with(low, between(rest, low_rest, high_rest))]
        }
        _ => {
            let mut all = Vec::new();
            let mut middle = Vec::new();
            if let [low, low_rest @ ..] = lower {
                if low_rest.is_empty() {
                    middle.push(format!("{name} >= {low}"));
                } else {
                    all.push(with(low, between(rest, low_rest, &[])));
                    middle.push(format!("{name} > {low}"));
                }
            } else if column.nullable {
                all.push(format!("{name} IS NULL"));
            }
            if let [high, ..] = upper {
                middle.push(format!("{name} < {high}"));
            }
            all.push(middle.join(" AND "));
            if let [high, high_rest @ ..] = upper
                && !high_rest.is_empty()
            {
                all.push(with(high, between(rest, &[], high_rest)));
            }
            all
        }
    }
}

fn any(alternatives: &[String]) -> String {
    match alternatives {
        [one] => one.clone(),
        many => {
            let inner: Vec<_> = many.iter().map(|text| format!("({text})")).collect();
            format!("({})", inner.join(" OR "))
        }
    }
}

//! The decoding plan of a table: how each column in the log is read, given the targets, computed
//! once per table.

use pelorus_error::{Error, Result};
use pelorus_types::{WireType, collation};

use super::{Form, Target, decimal};
use crate::charset::Charset;
use crate::reader::Reader;
use crate::table_map::{SourceColumn, SourceType, TableMap};

/// How one column is read.
#[derive(Debug)]
pub(super) struct Step {
    /// How many bytes a value takes.
    pub(super) width: Width,
    /// The conversion of its bytes.
    pub(super) conversion: Conversion,
    /// The target; `None` if the column is not requested.
    pub(super) target: Option<usize>,
    /// Whether it is a JSON document, which updates may tell by its changes.
    pub(super) is_document: bool,
}

/// How many bytes a value takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Width {
    Fixed(usize),
    /// The value has a length prefix of so many bytes.
    Prefixed(usize),
}

impl Width {
    #[inline]
    pub(super) fn take<'a>(self, reader: &mut Reader<'a>) -> Result<&'a [u8]> {
        let length = match self {
            Width::Fixed(length) => length,
            Width::Prefixed(1) => usize::from(reader.u8()?),
            Width::Prefixed(2) => usize::from(reader.u16()?),
            Width::Prefixed(width) => usize::try_from(reader.uint_le(width)?).unwrap_or(usize::MAX),
        };
        reader.bytes(length)
    }

    fn of(kind: SourceType) -> Self {
        use SourceType::*;
        let fraction = |digits: u8| usize::from(digits.div_ceil(2));
        match kind {
            Int(width) | Bit(width) | Enum(width) | Set(width) => Width::Fixed(usize::from(width)),
            Float | TimestampOld => Width::Fixed(4),
            Double | DateTimeOld => Width::Fixed(8),
            Decimal(precision, scale) => Width::Fixed(decimal::size(precision, scale)),
            Year => Width::Fixed(1),
            Date | TimeOld => Width::Fixed(3),
            Time(digits) => Width::Fixed(3 + fraction(digits)),
            DateTime(digits) => Width::Fixed(5 + fraction(digits)),
            Timestamp(digits) => Width::Fixed(4 + fraction(digits)),
            Char(most) | VarChar(most) | VarCharCompressed(most) => {
                Width::Prefixed(if most > 255 { 2 } else { 1 })
            }
            Blob(width) | Json(width) | Geometry(width) | Vector(width) | BlobCompressed(width) => {
                Width::Prefixed(usize::from(width))
            }
            Null => Width::Fixed(0),
        }
    }
}

/// The conversion of a value's bytes.
#[derive(Debug)]
pub(super) enum Conversion {
    /// Nothing: the column is skipped.
    Nothing,
    Signed,
    Unsigned,
    Float,
    Double,
    /// Digits, those after the point, and zeros to add after.
    Decimal {
        precision: u8,
        scale: u8,
        zeros: u8,
    },
    Bit,
    Year,
    Date,
    Time(u8),
    TimeOld,
    DateTime,
    DateTimeOld,
    Timestamp,
    TimestampOld,
    /// Text; compressed as MariaDB compresses columns.
    Text {
        charset: Charset,
        compressed: bool,
    },
    Bytes {
        compressed: bool,
    },
    /// Bytes of a fixed length, without the zeros at their end.
    Padded(usize),
    /// The members in UTF-8.
    Enum(Vec<Vec<u8>>),
    Set(Vec<Vec<u8>>),
    Json,
    Uuid,
    Inet4,
    Inet6,
}

/// The steps for all columns of a table.
pub(super) fn steps(table: &TableMap, targets: &[Target]) -> Result<Vec<Step>> {
    let mut steps: Vec<Step> = table
        .columns
        .iter()
        .map(|column| Step {
            width: Width::of(column.kind),
            conversion: Conversion::Nothing,
            target: None,
            is_document: matches!(column.kind, SourceType::Json(_)),
        })
        .collect();
    for (at, target) in targets.iter().enumerate() {
        let found = table.columns.get(target.source).zip(steps.get_mut(target.source));
        let Some((column, step)) = found else {
            return Err(misfit(table, target, "is not in the log"));
        };
        if step.target.is_some() {
            return Err(Error::internal("a column of the log is wanted twice"));
        }
        step.conversion = conversion(column, target)?
            .ok_or_else(|| misfit(table, target, &format!("is logged as {:?}", column.kind)))?;
        step.target = Some(at);
    }
    Ok(steps)
}

fn misfit(table: &TableMap, target: &Target, what: &str) -> Error {
    Error::unsupported(format_args!(
        "column '{}' of '{}.{}', which {what}",
        target.name, table.database, table.table
    ))
}

/// How a column becomes a target; `None` when it cannot.
fn conversion(column: &SourceColumn, target: &Target) -> Result<Option<Conversion>> {
    use SourceType as S;
    use WireType as W;
    let ty = &target.ty;
    Ok(Some(match (column.kind, ty.wire) {
        (S::Int(_), W::Tiny | W::Short | W::Int24 | W::Long | W::LongLong) => {
            if column.unsigned.unwrap_or(ty.is_unsigned()) {
                Conversion::Unsigned
            } else {
                Conversion::Signed
            }
        }
        (S::Float, W::Float) => Conversion::Float,
        (S::Double, W::Double) => Conversion::Double,
        (S::Decimal(precision, scale), W::NewDecimal | W::OldDecimal) => {
            let wider = ty.decimals.min(38).checked_sub(scale);
            let room = ty.precision().saturating_sub(ty.decimals);
            match wider {
                Some(zeros) if room >= precision - scale => {
                    Conversion::Decimal { precision, scale, zeros }
                }
                _ => return Ok(None),
            }
        }
        (S::Bit(_), W::Bit) => Conversion::Bit,
        (S::Year, W::Year) => Conversion::Year,
        (S::Date, W::Date) => Conversion::Date,
        (S::Time(digits), W::Time) => Conversion::Time(digits),
        // MariaDB has fractions in these forms, too, in bytes that nothing in the log tells.
        (S::TimeOld, W::Time) if ty.decimals == 0 => Conversion::TimeOld,
        (S::DateTime(_), W::DateTime) => Conversion::DateTime,
        (S::DateTimeOld, W::DateTime) if ty.decimals == 0 => Conversion::DateTimeOld,
        (S::Timestamp(_), W::Timestamp) => Conversion::Timestamp,
        (S::TimestampOld, W::Timestamp) if ty.decimals == 0 => Conversion::TimestampOld,
        _ if !ty.is_string() => return Ok(None),
        (kind, _) => return string(column, kind, target),
    }))
}

/// How a column becomes a string.
fn string(column: &SourceColumn, kind: SourceType, target: &Target) -> Result<Option<Conversion>> {
    use SourceType as S;
    let binary = target.ty.is_binary_string();
    let length = match kind {
        S::Char(length) => usize::from(length),
        _ => 0,
    };
    match target.form {
        Form::Uuid if length == 16 => return Ok(Some(Conversion::Uuid)),
        Form::Inet6 if length == 16 => return Ok(Some(Conversion::Inet6)),
        Form::Inet4 if length == 4 => return Ok(Some(Conversion::Inet4)),
        Form::Plain => {}
        _ => return Ok(None),
    }
    Ok(match kind {
        S::Enum(_) if !binary => Some(Conversion::Enum(members(column, target)?)),
        S::Set(_) if !binary => Some(Conversion::Set(members(column, target)?)),
        S::Json(_) if !binary => Some(Conversion::Json),
        S::Geometry(_) | S::Vector(_) if binary => Some(Conversion::Bytes { compressed: false }),
        S::Char(_) if binary => Some(Conversion::Padded(length)),
        S::VarChar(_) | S::Blob(_) if binary => Some(Conversion::Bytes { compressed: false }),
        S::VarCharCompressed(_) | S::BlobCompressed(_) if binary => {
            Some(Conversion::Bytes { compressed: true })
        }
        S::Char(_) | S::VarChar(_) | S::Blob(_) => Some(text(column, target, false)),
        S::VarCharCompressed(_) | S::BlobCompressed(_) => Some(text(column, target, true)),
        _ => None,
    })
}

fn text(column: &SourceColumn, target: &Target, compressed: bool) -> Conversion {
    // A number that is not known tells no charset.
    let source = column.collation.filter(|c| *c != collation::BINARY && c.info().is_some());
    let declared = target.charset.unwrap_or(target.ty.collation);
    Conversion::Text { charset: Charset::of(source.unwrap_or(declared)), compressed }
}

/// The members of an ENUM or SET in UTF-8.
fn members(column: &SourceColumn, target: &Target) -> Result<Vec<Vec<u8>>> {
    if let Some(members) = &target.members {
        return Ok(members.iter().map(|member| member.as_bytes().to_vec()).collect());
    }
    let Some(members) = &column.members else {
        return Err(Error::unsupported(format_args!(
            "column '{}': the binlog does not tell the members of its ENUM or SET",
            target.name
        )));
    };
    let charset = Charset::of(column.collation.or(target.charset).unwrap_or(target.ty.collation));
    members
        .iter()
        .map(|member| {
            let mut out = Vec::new();
            charset.append(member, &mut out).map(|()| out)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use pelorus_types::ColumnType;

    use super::*;

    #[test]
    fn old_times_with_fractions_are_refused() {
        let column = |kind| SourceColumn {
            kind,
            nullable: true,
            unsigned: None,
            collation: None,
            name: None,
            members: None,
            geometry: None,
            dimensions: None,
            visible: None,
        };
        let target = |wire, decimals| Target {
            name: "c".to_owned(),
            source: 0,
            ty: ColumnType::new(wire, collation::BINARY, 26, decimals),
            charset: None,
            members: None,
            form: Form::Plain,
        };
        for (kind, wire) in [
            (SourceType::TimeOld, WireType::Time),
            (SourceType::DateTimeOld, WireType::DateTime),
            (SourceType::TimestampOld, WireType::Timestamp),
        ] {
            assert!(conversion(&column(kind), &target(wire, 0)).unwrap().is_some());
            assert!(conversion(&column(kind), &target(wire, 3)).unwrap().is_none());
        }
    }
}

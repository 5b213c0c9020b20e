//! Result types: lengths, precisions and numeric kinds of arguments, from which they are computed.

use pelorus_types::{ColumnType, Flags, WireType, collation};

use crate::collation::charset::width;
use crate::decimal::{MAX_PRECISION, MAX_SCALE};
use crate::value::Arg;

/// Digits after the point of a double or a text: not fixed.
pub(crate) const NOT_FIXED: u8 = pelorus_types::column::DECIMALS_NOT_FIXED;

/// The numeric kind of an argument where a number is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Numeric {
    Int,
    Decimal,
    Real,
}

/// The kind of number that an operator takes the argument as.
pub(crate) fn numeric(arg: &Arg) -> Numeric {
    if arg.is_hex() { Numeric::Int } else { numeric_type(&arg.ty) }
}

/// The kind of number that a type is taken as.
pub(crate) fn numeric_type(ty: &ColumnType) -> Numeric {
    if ty.is_temporal() {
        if ty.decimals == 0 { Numeric::Int } else { Numeric::Decimal }
    } else if ty.is_integer() {
        Numeric::Int
    } else if ty.is_decimal() {
        Numeric::Decimal
    } else {
        Numeric::Real
    }
}

/// Digits after the point, 31 where they are not fixed.
pub(crate) fn decimals(ty: &ColumnType) -> u8 {
    if ty.is_bits() {
        0
    } else if ty.is_string() {
        NOT_FIXED
    } else {
        ty.decimals
    }
}

/// Digits of the argument as a decimal number.
pub(crate) fn precision(arg: &Arg) -> u8 {
    let ty = &arg.ty;
    let digits = match ty.wire {
        WireType::Date => 8,
        WireType::DateTime | WireType::Timestamp => 14 + u32::from(ty.decimals),
        WireType::Time => 7 + u32::from(ty.decimals),
        WireType::LongLong if ty.length == 1 => 1,
        _ if ty.is_decimal() || ty.is_integer() => {
            let point = u32::from(ty.decimals > 0);
            let sign = u32::from(!ty.is_unsigned() && ty.length > 0);
            ty.length.saturating_sub(point + sign)
        }
        // Bits of a literal: as many digits as its bytes may take.
        _ if arg.is_hex() => hex_digits(arg),
        _ => chars(ty),
    };
    u8::try_from(digits.min(u32::from(MAX_PRECISION))).unwrap_or(MAX_PRECISION)
}

fn hex_digits(arg: &Arg) -> u32 {
    // Two decimal digits a byte and one more; bits of `b'101'` count as signed.
    let digits = match arg.ty.length {
        0 => 1,
        1 => 3,
        bytes => bytes.saturating_mul(5).div_ceil(2).min(20),
    };
    if arg.ty.is_unsigned() { digits } else { digits.saturating_add(1) }
}

/// Length of a text argument in characters: lengths of long results count double, see
/// [`string_type`].
pub(crate) fn text_chars(arg: &Arg) -> u32 {
    let doubled = arg.origin == crate::value::Origin::Expression && blob_rank(arg.ty.wire) > 0;
    if arg.ty.wire == WireType::Json {
        return arg.ty.length / 4;
    }
    chars(&arg.ty) / if doubled { width(arg.ty.collation).max(1) } else { 1 }
}

/// An ENUM or SET: columns have a flag in addition to the wire type of a string.
pub(crate) fn is_listed(ty: &ColumnType) -> bool {
    matches!(ty.wire, WireType::Enum | WireType::Set)
        || ty.flags.has(Flags::ENUM)
        || ty.flags.has(Flags::SET)
}

/// 1 to 4 for the wire types of TINYTEXT to LONGTEXT, else 0.
pub(crate) fn blob_rank(wire: WireType) -> usize {
    match wire {
        WireType::TinyBlob => 1,
        WireType::Blob => 2,
        WireType::MediumBlob => 3,
        WireType::LongBlob => 4,
        _ => 0,
    }
}

/// Length in characters.
pub(crate) fn chars(ty: &ColumnType) -> u32 {
    if ty.is_string() { ty.length / width(ty.collation).max(1) } else { ty.length }
}

/// A DECIMAL result: capped, and unsigned when it cannot be negative.
pub(crate) fn decimal_type(precision: u32, scale: u32, unsigned: bool) -> ColumnType {
    let scale = scale.min(u32::from(MAX_SCALE));
    let precision = precision.clamp(1, u32::from(MAX_PRECISION));
    decimal_of(precision, scale, unsigned)
}

/// A DECIMAL whose precision is not capped: MySQL reports 66 digits here and there.
pub(crate) fn decimal_of(precision: u32, scale: u32, unsigned: bool) -> ColumnType {
    let scale = u8::try_from(scale).unwrap_or(MAX_SCALE);
    let length = precision + u32::from(scale > 0) + u32::from(!unsigned);
    flagged(WireType::NewDecimal, length, scale, unsigned)
}

/// A BIGINT of a display length.
pub(crate) fn bigint_type(length: u32, unsigned: bool) -> ColumnType {
    flagged(WireType::LongLong, length, 0, unsigned)
}

fn flagged(wire: WireType, length: u32, decimals: u8, unsigned: bool) -> ColumnType {
    let mut ty = ColumnType::new(wire, collation::BINARY, length, decimals);
    ty.flags = if unsigned { Flags::BINARY.with(Flags::UNSIGNED) } else { Flags::BINARY };
    ty
}

/// A DOUBLE of a display length.
pub(crate) fn double_type(length: u32, decimals: u8) -> ColumnType {
    flagged(WireType::Double, length, decimals, false)
}

/// Display length of a DOUBLE with so many decimals.
pub(crate) fn float_length(decimals: u8) -> u32 {
    if decimals >= NOT_FIXED { 23 } else { 17 + u32::from(decimals) }
}

/// The DOUBLE that an operator makes of its arguments: as many decimals as they have, if all are
/// fixed.
pub(crate) fn merged_double(args: &[Arg]) -> ColumnType {
    let scale = args.iter().map(|arg| decimals(&arg.ty)).max().unwrap_or(0);
    if scale >= NOT_FIXED {
        return ColumnType::double();
    }
    let whole = args
        .iter()
        .map(|arg| chars(&arg.ty).saturating_sub(u32::from(decimals(&arg.ty))))
        .max()
        .unwrap_or(0);
    double_type(whole + u32::from(scale), scale)
}

/// Characters of a result whose length is not known before the rows are.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// Longest result that MySQL computes a length for, in bytes.
const LONGEST: u32 = 16_777_216;

/// A type of text under a collation, in the wire type that MySQL gives a string of its length.
pub(crate) fn text_type(chars: u32, collation: pelorus_types::Collation) -> ColumnType {
    if chars == UNKNOWN {
        let mut ty = string_type(UNKNOWN, collation);
        ty.length = (LONGEST * 4).saturating_mul(width(collation));
        return ty;
    }
    string_type(chars.saturating_mul(width(collation)), collation)
}

/// Like [`text_type`], with the length in bytes. Long results are reported with their length in
/// bytes taken for characters.
pub(crate) fn string_type(bytes: u32, collation: pelorus_types::Collation) -> ColumnType {
    let wire = match bytes {
        ..65_536 => WireType::VarString,
        65_536..LONGEST => WireType::MediumBlob,
        _ => WireType::LongBlob,
    };
    let length = match wire {
        WireType::VarString => bytes,
        _ => bytes.min(LONGEST).saturating_mul(width(collation)),
    };
    let mut ty = ColumnType::new(wire, collation, length, NOT_FIXED);
    if collation.is_binary_order() {
        ty.flags = Flags::BINARY;
    }
    ty
}

/// NOT NULL when every argument is.
pub(crate) fn null_if_any(ty: ColumnType, args: &[Arg]) -> ColumnType {
    if args.iter().all(|arg| !arg.ty.is_nullable()) { ty.not_null() } else { ty.nullable() }
}

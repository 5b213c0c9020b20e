//! The common type of several types: of `IF`, `CASE`, `COALESCE`, `UNION`.

use pelorus_error::{Error, Result};
use pelorus_types::{Collation, ColumnType, Flags, WireType, collation as collations};

use crate::collation::resolution::mix;
use crate::context::EvalContext;
use crate::types::result_type;
use crate::types::result_type::NOT_FIXED;
use crate::value::{Arg, Coercibility};

/// A type with the strength of its collation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Common {
    pub(crate) ty: ColumnType,
    pub(crate) coercibility: Coercibility,
    /// Digits after the point that decimals carry.
    pub(crate) scale: u8,
}

/// The type that columns of a UNION have in common.
pub fn common_type(types: &[ColumnType], ctx: &EvalContext) -> Result<ColumnType> {
    let args: Vec<Arg> = types.iter().map(|ty| Arg::column(*ty, "")).collect();
    let refs: Vec<&Arg> = args.iter().collect();
    Ok(common(&refs, ctx, "UNION")?.ty)
}

/// The type that arguments have in common. It is nullable when any argument is.
pub(crate) fn common(args: &[&Arg], ctx: &EvalContext, operation: &str) -> Result<Common> {
    let nullable = args.iter().any(|arg| arg.ty.is_nullable());
    check_bits(args, operation)?;
    let real: Vec<&Arg> = args.iter().copied().filter(|arg| !arg.is_null()).collect();
    let scale = real.iter().map(|arg| arg.scale).max().unwrap_or(0);
    let mut coercibility = Coercibility::Numeric;
    let mut ty = if real.is_empty() {
        coercibility = Coercibility::Ignorable;
        ColumnType::null()
    } else if let Some(ty) = temporal(&real) {
        ty
    } else if real.iter().all(|arg| arg.ty.is_numeric()) {
        number(&real)
    } else {
        if real.iter().any(|arg| arg.ty.wire == WireType::Json) {
            return Err(Error::unsupported("JSON values in a common type"));
        }
        let mixed = mix(&real, ctx, operation)?;
        coercibility = mixed.coercibility;
        text(&real, mixed.collation)
    };
    ty = if nullable { ty.nullable() } else { ty.not_null() };
    Ok(Common { ty, coercibility, scale: if ty.is_decimal() { scale.max(ty.decimals) } else { 0 } })
}

/// Error 1235 for BIT among other types where IF, CASE or COALESCE choose: a MySQL shows it as bytes
/// or as a number, as the value that is chosen has it.
fn check_bits(args: &[&Arg], operation: &str) -> Result<()> {
    let is_bit = |arg: &&&Arg| arg.ty.wire == WireType::Bit;
    let is_chosen = matches!(operation, "if" | "case");
    let others = |arg: &&&Arg| !is_bit(arg) && (is_chosen || arg.is_null());
    let chooses = is_chosen || matches!(operation, "coalesce" | "ifnull");
    if chooses && args.iter().any(|arg| is_bit(&arg)) && args.iter().any(|arg| others(&arg)) {
        return Err(Error::unsupported(format_args!(
            "{operation} of BIT and values of other types"
        )));
    }
    Ok(())
}

fn with_flags(wire: WireType, length: u32, decimals: u8, flags: Flags) -> ColumnType {
    let mut ty = ColumnType::new(wire, collations::BINARY, length, decimals);
    ty.flags = flags;
    ty
}

fn temporal(args: &[&Arg]) -> Option<ColumnType> {
    if !args.iter().all(|arg| arg.ty.is_temporal()) {
        return None;
    }
    let decimals = args.iter().map(|arg| arg.ty.decimals).max()?;
    let first = args.first()?.ty.wire;
    let wire = if args.iter().all(|arg| arg.ty.wire == first) { first } else { WireType::DateTime };
    Some(temporal_type(wire, decimals))
}

/// A date or time type of its usual length.
pub(crate) fn temporal_type(wire: WireType, decimals: u8) -> ColumnType {
    let fraction = if decimals > 0 { u32::from(decimals) + 1 } else { 0 };
    let length = match wire {
        WireType::Date => 10,
        WireType::Time => 10 + fraction,
        _ => 19 + fraction,
    };
    let decimals = if wire == WireType::Date { 0 } else { decimals };
    with_flags(wire, length, decimals, Flags::BINARY)
}

fn rank(wire: WireType) -> u8 {
    match wire {
        WireType::Tiny => 1,
        WireType::Short | WireType::Year => 2,
        WireType::Int24 => 3,
        WireType::Long => 4,
        _ => 5,
    }
}

fn of_rank(rank: u8) -> WireType {
    match rank {
        1 => WireType::Tiny,
        2 => WireType::Short,
        3 => WireType::Int24,
        4 => WireType::Long,
        _ => WireType::LongLong,
    }
}

fn number(args: &[&Arg]) -> ColumnType {
    let first = args[0].ty.wire;
    let same = args.iter().all(|arg| arg.ty.wire == first);
    if args.iter().any(|arg| arg.ty.is_float()) {
        let wires = args.iter().map(|arg| arg.ty.wire);
        return float(args, wires.reduce(with_float) == Some(WireType::Float));
    }
    if args.iter().all(|arg| arg.ty.is_integer())
        && let Some(ty) = integer(args, same)
    {
        return ty;
    }
    let scale = args.iter().map(|arg| arg.ty.decimals).max().unwrap_or(0);
    let whole = args
        .iter()
        .map(|arg| result_type::precision(arg).saturating_sub(arg.ty.decimals))
        .max()
        .unwrap_or(1);
    // Unsigned decimals do not stay so.
    result_type::decimal_type(u32::from(whole) + u32::from(scale), u32::from(scale), false)
}

/// What two numbers have in common where a FLOAT is among them or follows. MySQL goes from left to
/// right, and a BIGINT after a FLOAT is not one in front of it.
fn with_float(left: WireType, right: WireType) -> WireType {
    use WireType::{Double, Float, Int24, LongLong, Short, Tiny, Year};
    match (left, right) {
        (Float, Float | LongLong) => Float,
        (Float, Tiny | Short | Int24 | Year) | (Tiny | Short | Int24 | Year, Float) => Float,
        (Float | Double, _) | (_, Float | Double) => Double,
        _ if rank(left) >= rank(right) => left,
        _ => right,
    }
}

fn float(args: &[&Arg], single: bool) -> ColumnType {
    let owned: Vec<Arg> = args.iter().map(|arg| (*arg).clone()).collect();
    let merged = result_type::merged_double(&owned);
    if single && merged.decimals >= NOT_FIXED {
        return with_flags(WireType::Float, 23, NOT_FIXED, Flags::BINARY);
    }
    if single { ColumnType { wire: WireType::Float, ..merged } } else { merged }
}

/// `None` when signed and unsigned values need more than 64 bits.
fn integer(args: &[&Arg], same: bool) -> Option<ColumnType> {
    let unsigned = args.iter().all(|arg| arg.ty.is_unsigned());
    let mixed = !unsigned && args.iter().any(|arg| arg.ty.is_unsigned());
    let length = args.iter().map(|arg| arg.ty.length).max()?;
    let flags = if unsigned { Flags::BINARY.with(Flags::UNSIGNED) } else { Flags::BINARY };
    let first = args[0].ty.wire;
    if same && matches!(first, WireType::Year | WireType::Bit) {
        // Clients take BIT for bytes all the same.
        let flags = if first == WireType::Bit { flags.without(Flags::BINARY) } else { flags };
        return Some(with_flags(first, length, 0, flags));
    }
    if args.iter().any(|arg| arg.ty.wire == WireType::Bit) && mixed {
        return None;
    }
    let mut top = args.iter().map(|arg| rank(arg.ty.wire)).max()?;
    if mixed {
        let unsigned_top =
            args.iter().filter(|arg| arg.ty.is_unsigned() && arg.ty.wire != WireType::Year);
        let unsigned_top = unsigned_top.map(|arg| rank(arg.ty.wire)).max().unwrap_or(0);
        let signed_top =
            args.iter().filter(|arg| !arg.ty.is_unsigned()).map(|arg| rank(arg.ty.wire)).max()?;
        if unsigned_top >= 5 {
            return None;
        }
        if unsigned_top >= signed_top {
            top = if unsigned_top == 4 { 5 } else { unsigned_top + 1 };
        }
    }
    Some(with_flags(of_rank(top), length, 0, flags))
}

fn text(args: &[&Arg], collation: Collation) -> ColumnType {
    let bytes = collation == collations::BINARY;
    let chars_of = |arg: &&Arg| {
        if bytes && arg.ty.is_string() {
            arg.ty.length
        } else {
            crate::scalar::cast::text_length(arg)
        }
    };
    let chars = args.iter().map(chars_of).max().unwrap_or(0);
    let blob = args.iter().map(|arg| result_type::blob_rank(arg.ty.wire)).max().unwrap_or(0);
    let mut ty = result_type::text_type(chars, collation);
    let has = |wire: WireType| {
        args.iter().any(|arg| arg.ty.wire == wire && !result_type::is_listed(&arg.ty))
    };
    if ty.wire == WireType::VarString && has(WireType::String) && !has(WireType::VarString) {
        ty.wire = WireType::String;
    }
    if blob > 0 {
        let width = crate::collation::charset::width(collation);
        ty.length = chars.saturating_mul(width).saturating_mul(width);
        ty.wire = [
            WireType::VarString,
            WireType::TinyBlob,
            WireType::Blob,
            WireType::MediumBlob,
            WireType::LongBlob,
        ][blob];
    }
    ty
}

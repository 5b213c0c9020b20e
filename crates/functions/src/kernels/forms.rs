//! Numeric and text forms of a value, if another type than its own is required. IF, CASE and NULLIF
//! return the number and the text of the value that they choose, GREATEST and LEAST compare numbers
//! if a number is required, and the text of a FLOAT that a function returns is that of a DOUBLE.

use pelorus_types::{ColumnType, WireType};

use crate::types::result_type::NOT_FIXED;
use crate::value::{Arg, TextForm, Value};

/// The arguments that a conditional chooses its value from; `None` for other functions.
fn choices<'a>(name: &str, args: &'a [Arg]) -> Option<Vec<&'a Arg>> {
    let of_pairs = |args: &'a [Arg]| {
        let mut results: Vec<&Arg> = args.chunks_exact(2).map(|pair| &pair[1]).collect();
        results.extend(args.chunks_exact(2).remainder());
        results
    };
    match name {
        "IF" => Some(args.iter().skip(1).collect()),
        "NULLIF" => Some(args.iter().take(1).collect()),
        "CASE" => Some(of_pairs(args)),
        "CASE WHEN" => Some(of_pairs(args.get(1..).unwrap_or_default())),
        _ => None,
    }
}

/// Whether the result is a text, a date or a FLOAT whose number is that of a value of another type. Of texts alone
/// a MariaDB compares the numbers where GREATEST or LEAST is to give one.
pub(crate) fn mixes(name: &str, args: &[Arg], ty: &ColumnType, of_mariadb: bool) -> bool {
    if ty.wire == WireType::Float && ty.decimals >= NOT_FIXED {
        // A BIGINT keeps its digits, which arrays of FLOAT have not.
        let all = matches!(name, "GREATEST" | "LEAST" | "COALESCE" | "IFNULL")
            .then(|| args.iter().collect::<Vec<_>>());
        let among = choices(name, args).or(all).unwrap_or_default();
        return !of_mariadb && among.iter().any(|arg| arg.ty.wire == WireType::LongLong);
    }
    if ty.is_temporal() {
        // A DATE among DATETIMEs is its own number.
        let is_other = |arg: &&Arg| !arg.is_null() && (arg.mixes || arg.ty.wire != ty.wire);
        return choices(name, args).is_some_and(|choices| choices.iter().any(is_other));
    }
    if !ty.is_string() {
        return false;
    }
    if matches!(name, "GREATEST" | "LEAST") {
        let is_timed = |arg: &Arg| arg.ty.is_temporal() || arg.ty.wire == WireType::Year;
        return of_mariadb || args.iter().any(is_timed);
    }
    let is_other = |arg: &&Arg| {
        let is_odd = matches!(arg.ty.wire, WireType::Float | WireType::Bit);
        arg.mixes || is_odd || arg.ty.is_temporal() || arg.is_hex()
    };
    choices(name, args).is_some_and(|choices| choices.iter().any(is_other))
}

/// How the text of a result is made that is a number.
pub(crate) fn text_form(name: &str, args: &[Arg], ty: &ColumnType, of_mariadb: bool) -> TextForm {
    if !ty.is_float() {
        let is_other = |arg: &&Arg| {
            let has_other_digits = arg.ty.decimals != ty.decimals;
            let is_year = arg.ty.wire == WireType::Year && ty.wire != WireType::Year;
            !arg.is_null() && (arg.text_form != TextForm::Shown || has_other_digits || is_year)
        };
        let is_number = ty.is_decimal() || ty.is_integer();
        let choices = choices(name, args).filter(|_| is_number);
        return match choices.is_some_and(|choices| choices.iter().any(is_other)) {
            true => TextForm::Chosen,
            false => TextForm::Shown,
        };
    }
    let Some(choices) = choices(name, args) else {
        return match ty.wire {
            WireType::Float if mixes(name, args, ty, of_mariadb) => TextForm::Chosen,
            WireType::Float => TextForm::Double,
            _ => TextForm::Shown,
        };
    };
    let real = || choices.iter().filter(|arg| !arg.is_null());
    let first = real().next().map_or(TextForm::Shown, |arg| arg.text_form);
    let is_alike = |arg: &&&Arg| {
        let is_same = (arg.ty.wire, arg.ty.decimals) == (ty.wire, ty.decimals);
        is_same && arg.text_form == first || is_short(arg) && first == TextForm::Shown
    };
    if real().all(|arg| is_alike(&arg)) { first } else { TextForm::Chosen }
}

/// Whether it is a whole number whose digits every floating-point number has.
fn is_short(arg: &Arg) -> bool {
    const MOST: u64 = 99_999;
    match arg.constant {
        Some(Value::Int(value)) => value.unsigned_abs() <= MOST,
        Some(Value::UInt(value)) => value <= MOST,
        Some(_) => false,
        None => matches!(arg.ty.wire, WireType::Tiny | WireType::Short | WireType::Year),
    }
}

//! Resolves function names: binds a name and argument types to a call.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_types::WireType;

use crate::call::Call;
use crate::context::EvalContext;
use crate::kernels::forms;
use crate::registry::errors::no_such_function;
use crate::registry::{fallibility, names};
use crate::scalar::{
    arithmetic, bits, cast, compare, conditional, datetime, greatest_least, logic, math, round,
    session_info, string,
};
use crate::value::{Arg, Value};

/// Binds a function or operator by name, in any case, to its arguments.
///
/// Operators go by their signs and words, with `NOT` in front as in SQL (`NOT IN`, `IS NOT NULL`):
///
/// - `+`, `-` (one argument: the unary minus), `*`, `/`, `DIV`, `%`, `&`, `|`, `^`, `~`, `<<`, `>>`
/// - `=`, `<=>`, `<>`, `!=`, `<`, `<=`, `>`, `>=`, `BETWEEN`, `IN`, `LIKE` (third argument: the
///   escape), `REGEXP`, `AND`, `OR`, `XOR`, `NOT`, `IS NULL`, `IS TRUE`, `IS FALSE`, `IS UNKNOWN`
/// - `CASE`: conditions and results alternately, then the result of ELSE; `CASE WHEN` for the form
///   with a value: the value first; `CASE =`: the equality of that form alone
/// - `COLLATE`: text and the collation's name; `DATE_ADD` and `DATE_SUB`: date, amount, unit;
///   `EXTRACT`: unit, date; `TRIM`, `TRIM LEADING` and `TRIM TRAILING`: text and what to trim;
///   `CHAR USING`: codes and the charset's name; `GET_FORMAT`: kind, region; names and units are
///   constant texts
pub fn resolve(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let upper = name.to_ascii_uppercase();
    refuse_hidden_numbers(&upper, args)?;
    refuse_broken_text(&upper, args)?;
    let written = name;
    let name = upper.as_str();
    let bound = operator(name, args, ctx)
        .or_else(|| number(name, args, ctx))
        .or_else(|| text(name, args, ctx))
        .or_else(|| date(name, args, ctx))
        .or_else(|| session(name, args, ctx));
    match bound {
        Some(call) => call.map(|call| {
            let is_fallible = fallibility::of_function(name, args, &call.return_type());
            let hides = hides_number(name, args, ctx);
            let mixes = forms::mixes(name, args, &call.return_type(), ctx.of_mariadb);
            let text_form = forms::text_form(name, args, &call.return_type(), ctx.of_mariadb);
            call.with_fallibility(is_fallible, args)
                .with_hidden_number(hides)
                .with_forms(mixes, text_form)
        }),
        None if names::is_function(&upper) => {
            Err(Error::unsupported(format_args!("the function {upper}")))
        }
        None => Err(no_such_function(ctx.database.as_deref(), written)),
    }
}

fn operator(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Option<Result<Call>> {
    Some(match name {
        "-" if args.len() == 1 => arithmetic::negate(name, args, ctx),
        "+" | "-" | "*" | "/" | "DIV" | "%" | "MOD" => arithmetic::binary(name, args, ctx),
        "=" | "<=>" | "<>" | "!=" | "<" | "<=" | ">" | ">=" | "CASE =" => {
            compare::binary(name, args, ctx)
        }
        "BETWEEN" | "NOT BETWEEN" => compare::between(name, args, ctx),
        "IN" | "NOT IN" => compare::within(name, args, ctx),
        "AND" | "OR" | "XOR" | "NOT" | "!" | "IS NULL" | "IS NOT NULL" | "IS TRUE"
        | "IS NOT TRUE" | "IS FALSE" | "IS NOT FALSE" | "IS UNKNOWN" | "IS NOT UNKNOWN"
        | "ISNULL" => logic::resolve(name, args, ctx),
        "&" | "|" | "^" | "<<" | ">>" => bits::binary(name, args, ctx),
        "~" | "BIT_COUNT" => bits::unary(name, args, ctx),
        "IF" => conditional::if_else(name, args, ctx),
        "IFNULL" | "COALESCE" => conditional::coalesce(name, args, ctx),
        "NULLIF" => conditional::null_if(name, args, ctx),
        "CASE" => conditional::searched_case(name, args, ctx),
        "CASE WHEN" => conditional::simple_case(name, args, ctx),
        "COLLATE" => cast::collate(name, args, ctx),
        "STRCMP" => compare::strcmp(name, args, ctx),
        _ => return None,
    })
}

fn number(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Option<Result<Call>> {
    Some(match name {
        "ROUND" | "TRUNCATE" => round::round(name, args, ctx),
        "ABS" => round::abs(name, args, ctx),
        "CEIL" | "CEILING" | "FLOOR" => round::to_integer(name, args, ctx),
        "SIGN" => round::sign(name, args, ctx),
        "PI" => math::pi(name, args, ctx),
        _ => return math::unary(name, args, ctx).or_else(|| math::binary(name, args, ctx)),
    })
}

fn text(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Option<Result<Call>> {
    use string::{build, codes, like, list, measure, part, search};
    Some(match name {
        "LIKE" | "NOT LIKE" => like::like(name, args, ctx),
        "REGEXP" | "NOT REGEXP" | "RLIKE" | "NOT RLIKE" | "REGEXP_LIKE" => {
            like::regexp(name, args, ctx)
        }
        "CONCAT" => build::concat(name, args, ctx),
        "CONCAT_WS" => build::concat_ws(name, args, ctx),
        "UPPER" | "UCASE" | "LOWER" | "LCASE" => build::letter_case(name, args, ctx),
        "REVERSE" => build::reverse(name, args, ctx),
        "REPEAT" => build::repeat(name, args, ctx),
        "SPACE" => build::space(name, args, ctx),
        "LPAD" | "RPAD" => build::pad(name, args, ctx),
        "REPLACE" => build::replace(name, args, ctx),
        "INSERT" => build::insert(name, args, ctx),
        "QUOTE" => build::quote(name, args, ctx),
        "SUBSTRING" | "SUBSTR" | "MID" => part::substring(name, args, ctx),
        "LEFT" | "RIGHT" => part::side(name, args, ctx),
        "TRIM" | "TRIM LEADING" | "TRIM TRAILING" | "LTRIM" | "RTRIM" => {
            part::trim(name, args, ctx)
        }
        "SUBSTRING_INDEX" => part::substring_index(name, args, ctx),
        "LENGTH" | "OCTET_LENGTH" | "BIT_LENGTH" | "CHAR_LENGTH" | "CHARACTER_LENGTH" => {
            measure::length(name, args, ctx)
        }
        "ASCII" | "ORD" => measure::code(name, args, ctx),
        "CRC32" => measure::crc32(name, args, ctx),
        "LOCATE" | "INSTR" | "POSITION" => search::locate(name, args, ctx),
        "FIELD" => search::field(name, args, ctx),
        "FIND_IN_SET" => search::find_in_set(name, args, ctx),
        "ELT" => list::elt(name, args, ctx),
        "MAKE_SET" => list::make_set(name, args, ctx),
        "EXPORT_SET" => list::export_set(name, args, ctx),
        "HEX" => codes::hex(name, args, ctx),
        "UNHEX" => codes::unhex(name, args, ctx),
        "CONV" | "BIN" | "OCT" => codes::conv(name, args, ctx),
        "CHAR" | "CHAR USING" => codes::char_of(name, args, ctx),
        "FORMAT" => codes::format(name, args, ctx),
        "INET_ATON" => codes::inet_aton(name, args, ctx),
        "INET_NTOA" => codes::inet_ntoa(name, args, ctx),
        "IS_IPV4" | "IS_IPV6" => codes::is_address(name, args, ctx),
        "CHARSET" | "COLLATION" | "COERCIBILITY" => codes::about(name, args, ctx),
        "TO_BASE64" => codes::to_base64(name, args, ctx),
        "FROM_BASE64" => codes::from_base64(name, args, ctx),
        _ => return None,
    })
}

fn date(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Option<Result<Call>> {
    use datetime::{clock, difference, format, interval, make, part, scan};
    Some(match name {
        "YEAR" | "MONTH" | "DAY" | "DAYOFMONTH" | "QUARTER" | "DAYOFYEAR" | "DAYOFWEEK"
        | "WEEKDAY" | "WEEKOFYEAR" | "TO_DAYS" | "TO_SECONDS" => part::of_date(name, args, ctx),
        "HOUR" | "MINUTE" | "SECOND" | "MICROSECOND" | "TIME_TO_SEC" => {
            part::of_time(name, args, ctx)
        }
        "WEEK" | "YEARWEEK" => part::week_of(name, args, ctx),
        "DAYNAME" | "MONTHNAME" => part::name_of(name, args, ctx),
        "EXTRACT" => part::extract(name, args, ctx),
        "DATEDIFF" => difference::dates(name, args, ctx),
        "TIMEDIFF" => difference::times(name, args, ctx),
        "TIMESTAMPDIFF" => difference::timestamps(name, args, ctx),
        "PERIOD_ADD" | "PERIOD_DIFF" => difference::periods(name, args, ctx),
        "DATE" => make::date(name, args, ctx),
        "TIME" => make::time(name, args, ctx),
        "TIMESTAMP" => make::timestamp(name, args, ctx),
        "LAST_DAY" => make::last_day(name, args, ctx),
        "MAKEDATE" => make::makedate(name, args, ctx),
        "MAKETIME" => make::maketime(name, args, ctx),
        "SEC_TO_TIME" => make::sec_to_time(name, args, ctx),
        "FROM_DAYS" => make::from_days(name, args, ctx),
        "DATE_ADD" | "DATE_SUB" => interval::add(name, args, ctx),
        "ADDDATE" | "SUBDATE" => interval::add_days(name, args, ctx),
        "TIMESTAMPADD" => interval::timestamp_add(name, args, ctx),
        "ADDTIME" | "SUBTIME" => interval::add_time(name, args, ctx),
        "DATE_FORMAT" => format::date_format(name, args, ctx),
        "TIME_FORMAT" => format::time_format(name, args, ctx),
        "GET_FORMAT" => format::get_format(name, args, ctx),
        "STR_TO_DATE" => scan::str_to_date(name, args, ctx),
        "NOW" | "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" | "UTC_TIMESTAMP"
        | "CURDATE" | "CURRENT_DATE" | "UTC_DATE" | "CURTIME" | "CURRENT_TIME" | "UTC_TIME" => {
            clock::current(name, args, ctx)
        }
        "UNIX_TIMESTAMP" => clock::unix_timestamp(name, args, ctx),
        "FROM_UNIXTIME" => clock::from_unixtime(name, args, ctx),
        "CONVERT_TZ" => clock::convert_tz(name, args, ctx),
        _ => return None,
    })
}

fn session(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Option<Result<Call>> {
    Some(match name {
        "GREATEST" | "LEAST" => greatest_least::resolve(name, args, ctx),
        "VERSION" | "DATABASE" | "SCHEMA" | "USER" | "SESSION_USER" | "SYSTEM_USER"
        | "CURRENT_USER" | "CONNECTION_ID" => session_info::resolve(name, args, ctx),
        _ => return None,
    })
}

/// A literal that is not valid in its charset is allowed in combination with bytes, as which it is
/// taken, and where a function needs only its bytes. MySQL uses the broken text elsewhere, too.
fn refuse_broken_text(name: &str, args: &[Arg]) -> Result<()> {
    let Some(broken) = args.iter().find(|it| it.broken) else { return Ok(()) };
    let is_of_bytes = matches!(
        name,
        "HEX"
            | "LENGTH"
            | "OCTET_LENGTH"
            | "BIT_LENGTH"
            | "TO_BASE64"
            | "CRC32"
            | "IS NULL"
            | "IS NOT NULL"
            | "ISNULL"
    );
    if is_of_bytes || args.iter().any(|it| !it.broken && it.ty.is_binary_string()) {
        return Ok(());
    }
    let bytes = match &broken.constant {
        Some(Value::Bytes(bytes)) => bytes.as_slice(),
        _ => &[],
    };
    let at = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), |_| 0);
    let shown: String = bytes[at..].iter().take(6).map(|byte| format!("\\x{byte:02X}")).collect();
    let text = format!("Invalid utf8mb4 character string: '{shown}'");
    Err(Error::new(Code::InvalidCharacterString, text))
}

/// The arguments, by their places, that count as numbers which are not those of their texts, and
/// texts are all that arrays hold: of an ENUM or SET the place of its member, of a value that IF or
/// its like chose the number of that value. JSON values are among them.
///
/// # Errors
/// Error 1235 for a list that compares such a value with texts as well as with numbers.
pub fn hidden_numbers(name: &str, args: &[Arg]) -> Result<Vec<usize>> {
    let hides = |arg: &Arg| arg.hides_number() || arg.mixes;
    if !args.iter().any(hides) {
        return Ok(Vec::new());
    }
    let upper = name.to_ascii_uppercase();
    // A text among dates is a date.
    let is_text = |arg: &Arg| {
        let is_json = |arg: &Arg| arg.ty.wire == WireType::Json;
        arg.ty.is_string() || arg.ty.is_temporal() && !args.iter().any(is_json)
    };
    let is_number = |arg: &Arg| !is_text(arg) && !arg.is_null();
    let hiding = args.iter().enumerate().filter(|(_, arg)| hides(arg));
    let places = |counts: &dyn Fn(usize) -> bool| {
        hiding.clone().map(|(at, _)| at).filter(|at| counts(*at)).collect()
    };
    let [first, rest @ ..] = args else { return Ok(Vec::new()) };
    Ok(match upper.as_str() {
        "=" | "<=>" | "<>" | "!=" | "<" | "<=" | ">" | ">=" | "BETWEEN" | "NOT BETWEEN"
        | "CASE =" | "FIELD" => {
            let is_asked = args.iter().any(is_number);
            places(&|_| is_asked)
        }
        "IN" | "NOT IN" | "CASE WHEN" => {
            let step = if upper == "CASE WHEN" { 2 } else { 1 };
            let count = if step == 2 { rest.len() / 2 * 2 } else { rest.len() };
            let compared: Vec<&Arg> = rest[..count].iter().step_by(step).collect();
            let is_first_asked = hides(first) && compared.iter().any(|arg| is_number(arg));
            if is_first_asked && compared.iter().any(|arg| is_text(arg)) {
                return Err(Error::unsupported(MIXED_LIST));
            }
            places(&|at| match at {
                0 => is_first_asked,
                at => is_number(first) && at <= count && (at - 1) % step == 0,
            })
        }
        "NULLIF" => {
            if hides(first) && args.iter().any(is_number) {
                return Err(Error::unsupported(HIDDEN_NUMBER));
            }
            places(&|at| at == 1 && is_number(first))
        }
        other if is_mathematical(other, args) => places(&|_| true),
        other => places(&|at| asks_number(other, at, args.len())),
    })
}

/// In refusals of ENUM and SET values, and of what IF and its like choose.
const HIDDEN_NUMBER: &str = "ENUM, SET and JSON values as numbers, and texts that IF, CASE, GREATEST \
                             or LEAST chose among other types";
/// In refusals of lists.
const MIXED_LIST: &str = "ENUM, SET and JSON values in lists of numbers and texts";

/// Whether a function takes a number with its fraction, not an integer.
pub fn asks_real(name: &str, args: &[Arg]) -> bool {
    let upper = name.to_ascii_uppercase();
    matches!(
        upper.as_str(),
        "=" | "<=>"
            | "<>"
            | "!="
            | "<"
            | "<="
            | ">"
            | ">="
            | "BETWEEN"
            | "NOT BETWEEN"
            | "CASE ="
            | "IN"
            | "NOT IN"
            | "+"
            | "-"
            | "*"
            | "/"
            | "%"
            | "MOD"
            | "AND"
            | "OR"
            | "XOR"
            | "NOT"
            | "!"
            | "IS TRUE"
            | "IS FALSE"
            | "IS NOT TRUE"
            | "IS NOT FALSE"
            | "IF"
            | "CASE"
            | "ROUND"
            | "TRUNCATE"
            | "ABS"
            | "CEIL"
            | "CEILING"
            | "FLOOR"
            | "SIGN"
    ) || is_mathematical(&upper, args)
}

/// Whether a function takes an argument, by its place, for a text whatever its type is.
pub fn asks_text(name: &str, at: usize) -> bool {
    match name.to_ascii_uppercase().as_str() {
        "CONCAT" | "CONCAT_WS" | "LIKE" | "NOT LIKE" | "REPLACE" => true,
        "UPPER" | "UCASE" | "LOWER" | "LCASE" | "REVERSE" | "LENGTH" | "OCTET_LENGTH"
        | "CHAR_LENGTH" | "CHARACTER_LENGTH" | "QUOTE" | "TRIM" | "LTRIM" | "RTRIM" | "LEFT"
        | "RIGHT" | "LPAD" | "RPAD" | "SUBSTRING" | "SUBSTR" | "MID" => at == 0,
        _ => false,
    }
}

fn refuse_hidden_numbers(name: &str, args: &[Arg]) -> Result<()> {
    match hidden_numbers(name, args)?.is_empty() {
        true => Ok(()),
        false => Err(Error::unsupported(HIDDEN_NUMBER)),
    }
}

/// Whether a function or operator uses the numeric form of an argument, by its position among so
/// many.
fn asks_number(name: &str, at: usize, count: usize) -> bool {
    match name {
        "+" | "-" | "*" | "/" | "DIV" | "%" | "MOD" | "AND" | "OR" | "XOR" | "NOT" | "!" | "&"
        | "|" | "^" | "~" | "<<" | ">>" | "BIT_COUNT" | "IS TRUE" | "IS FALSE" | "IS NOT TRUE"
        | "IS NOT FALSE" | "ROUND" | "TRUNCATE" | "ABS" | "CEIL" | "CEILING" | "FLOOR" | "SIGN"
        | "FORMAT" | "CHAR" | "CONV" | "BIN" | "OCT" | "SPACE" | "SEC_TO_TIME"
        | "FROM_UNIXTIME" | "FROM_DAYS" | "INET_NTOA" | "MAKEDATE" | "MAKETIME" | "PERIOD_ADD"
        | "PERIOD_DIFF" => true,
        "IF" | "ELT" | "MAKE_SET" => at == 0,
        // The last of an odd number is the result of ELSE.
        "CASE" => at.is_multiple_of(2) && at + 1 < count,
        "EXPORT_SET" => at == 0 || at == 4,
        "SUBSTRING" | "SUBSTR" | "MID" | "LEFT" | "RIGHT" | "REPEAT" => at > 0,
        "LPAD" | "RPAD" | "WEEK" | "YEARWEEK" | "DATE_ADD" | "DATE_SUB" | "ADDDATE" | "SUBDATE"
        | "TIMESTAMPADD" => at == 1,
        "INSERT" => at == 1 || at == 2,
        "SUBSTRING_INDEX" | "LOCATE" | "POSITION" => at == 2,
        _ => false,
    }
}

/// Whether the value of a call is one of its arguments, whose number may not be that of its text. A
/// MySQL makes the number of a text that COALESCE, GREATEST or LEAST chose of the text.
fn hides_number(name: &str, args: &[Arg], ctx: &EvalContext) -> bool {
    let is_hidden = |arg: &Arg| match name {
        "IF" | "CASE" | "CASE WHEN" | "NULLIF" | "ELT" => arg.hides_number(),
        "IFNULL" | "COALESCE" | "GREATEST" | "LEAST" if ctx.of_mariadb => arg.hides_number(),
        "IFNULL" | "COALESCE" | "GREATEST" | "LEAST" => arg.ty.wire == WireType::Json,
        _ => false,
    };
    args.iter().any(is_hidden)
}

fn is_mathematical(name: &str, args: &[Arg]) -> bool {
    let ctx = Arc::new(EvalContext::default());
    math::unary(name, args, &ctx).or_else(|| math::binary(name, args, &ctx)).is_some()
}

#[cfg(test)]
mod tests {
    use pelorus_types::{ColumnType, Flags, collation};

    use super::*;
    use crate::literal;

    #[test]
    fn numbers_of_listed_values_are_asked_for_beside_numbers() {
        let ctx = Arc::new(EvalContext::default());
        let mut ty = ColumnType::new(WireType::String, collation::UTF8MB4_0900_AI_CI, 4, 0);
        ty.flags = Flags::ENUM;
        let listed = || Arg::column(ty, "`e`");
        let number = || Arg::column(ColumnType::bigint(), "`n`");
        let text = || literal::text("x", &ctx);
        let asked = |name: &str, args: &[Arg]| hidden_numbers(name, args).ok();
        assert_eq!(asked("=", &[listed(), number()]), Some(vec![0]));
        assert_eq!(asked("=", &[listed(), text()]), Some(Vec::new()));
        assert_eq!(asked("between", &[number(), listed(), listed()]), Some(vec![1, 2]));
        assert_eq!(asked("IN", &[number(), text(), listed()]), Some(vec![2]));
        assert_eq!(asked("IN", &[listed(), number(), number()]), Some(vec![0]));
        assert_eq!(asked("IN", &[listed(), number(), text()]), None);
        assert_eq!(asked("CASE WHEN", &[number(), text(), listed(), listed()]), Some(Vec::new()));
        assert_eq!(asked("CASE WHEN", &[number(), listed(), text()]), Some(vec![1]));
        assert_eq!(asked("NULLIF", &[number(), listed()]), Some(vec![1]));
        assert_eq!(asked("NULLIF", &[listed(), number()]), None);
        assert_eq!(asked("+", &[listed(), text()]), Some(vec![0]));
        assert_eq!(asked("LEFT", &[listed(), listed()]), Some(vec![1]));
        assert_eq!(asked("CONCAT", &[listed(), number()]), Some(Vec::new()));
    }

    #[test]
    fn broken_text_stands_beside_bytes_alone() {
        let ctx = Arc::new(EvalContext::default());
        let broken = || literal::broken(b"a\xff".to_vec());
        let (bytes, text) = (literal::bytes(b"x".to_vec()), literal::text("x", &ctx));
        let errno = |name: &str, args: &[Arg]| resolve(name, args, &ctx).err().map(|it| it.errno());
        assert_eq!(errno("=", &[bytes.clone(), broken()]), None);
        assert_eq!(errno("IN", &[bytes, broken(), broken()]), None);
        assert_eq!(errno("HEX", &[broken()]), None);
        assert_eq!(errno("=", &[text.clone(), broken()]), Some(1300));
        assert_eq!(errno("CONCAT", &[broken(), broken()]), Some(1300));
        assert_eq!(errno("UPPER", &[broken()]), Some(1300));
        let error = resolve("=", &[text, broken()], &ctx).err().unwrap();
        assert_eq!(error.message(), "Invalid utf8mb4 character string: '\\xFF'");
    }
}

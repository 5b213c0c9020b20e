//! MariaDB rules: expressions that MariaDB computes differently from MySQL.
//!
//! Expressions are computed here as MySQL does. If the result must be MariaDB's (that of a mirror
//! of a MariaDB, or of a query on one that is split), an expression that MariaDB may compute
//! differently is refused with error 1235, and the query runs on the server.
//!
//! The differences were found by running everything below over columns of every type on servers of
//! both kinds (MySQL 9.7, MariaDB 10.11):
//!
//! | what | the difference |
//! | --- | --- |
//! | `/` of exact numbers within an expression | MySQL rounds to the digits that the quotient shows, MariaDB continues with all of them |
//! | `AVG` of exact numbers, `IF` and similar functions of quotients and of values with more digits | the same |
//! | `=`, `<` and similar operators of quotients | as shown, but not in `BETWEEN`, `IN`, `CASE x WHEN` |
//! | `ROUND(decimal, digits)`, `TRUNCATE` with more digits than there are | MariaDB adds zeros |
//! | products, quotients, signs, `ROUND` of floating-point numbers and texts | 0 with a sign, and the digits that are shown |
//! | bits of floating-point numbers and texts | rounded or cut |
//! | `x'41' + 0` | 65 or 0 |
//! | `GREATEST`, `LEAST`, comparisons of values of different types | what is compared as what |
//! | casts to fewer digits of a second | rounded by MySQL, cut by MariaDB |
//! | `CAST(-1.5 AS UNSIGNED)` | MariaDB gives 0 |
//! | a text that is no literal and an interval | MySQL shows digits of a second where there are any, MariaDB six |
//! | days below year 1 by an interval, moments beyond 2038 | NULL or as they are in MariaDB; such values are refused when they come |
//! | dates made of numbers, of TIME and YEAR | MariaDB reads 0 as no date, and TIME without today |
//! | fractions in `TIME_TO_SEC`, `SEC_TO_TIME`, `ADDTIME` and similar functions | kept or lost, and the limit of 838 hours |
//! | `EXTRACT` of TIME | MariaDB counts days |
//! | texts like `2024-01-31T10:00`, `20240131 10`, `1:2 PM` as dates and times | what may stand where; such texts are refused when they are read |
//! | `UNIX_TIMESTAMP('0000-00-00')` | NULL or 0 |
//! | `/` and `AVG` with more than 30 digits after the point | MySQL shows 30, MariaDB 38 |
//! | `STD`, `VARIANCE` of exact numbers | as many digits as `AVG` has |
//! | `PERCENT_RANK`, `CUME_DIST` | MariaDB rounds to ten digits |
//! | BIT | a number or bytes |
//! | `LOCATE`, `FIELD`, `REPLACE` of texts of several collations | MySQL goes by one argument, MariaDB by all |
//! | `LOCATE`, `FIND_IN_SET` | accents, spaces at the end |
//! | literals | MariaDB's default collation ignores spaces at the end |
//! | `WITH ROLLUP` over no rows | MySQL gives the row for all of them; this is done as the MariaDB does |
//! | functions that one of them does not have, and REGEXP | |

use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_functions::{Arg, CastTarget, Coercibility, EvalContext, Origin, Value};
use pelorus_types::{Collation, WireType, collation};

use super::typed_expression::TypedExpr;

/// The class of an argument, as far as the two servers differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Null,
    /// An integer or a decimal.
    Exact,
    Year,
    Bit,
    /// `x'41'`, `b'101'`.
    Bits,
    /// FLOAT and DOUBLE.
    Real,
    Text,
    /// ENUM and SET.
    Listed,
    Bytes,
    /// DATE, DATETIME, TIMESTAMP.
    Date,
    Time,
    Other,
}

/// Whether a function gives the same for some arguments.
type Rule = fn(&[Arg]) -> bool;

/// The functions that do not give the same for all arguments.
const RULES: &[(&[&str], Rule)] = &[
    (&["+", "%", "MOD", "DIV"], |args| !any(args, Kind::Bits)),
    (&["-"], |args| {
        !any(args, Kind::Bits) && (args.len() > 1 || all(args, &EXACT) || has_positive(args))
    }),
    (&["*", "/"], |args| !any(args, Kind::Bits) && keeps_sign(args)),
    (&["&", "|", "^", "~", "<<", ">>", "BIT_COUNT"], |args| all(args, &NUMBERS)),
    (
        &[
            "=",
            "CASE =",
            "<>",
            "<",
            "<=",
            ">",
            ">=",
            "<=>",
            "BETWEEN",
            "NOT BETWEEN",
            "IN",
            "INTERVAL",
        ],
        compares,
    ),
    (&["FIELD"], |args| compares(args) && is_decided_by(args, 0)),
    (&["NULLIF"], |args| compares(args) && !any(args, Kind::Bit)),
    (&["STRCMP", "LIKE"], texts_meet),
    (&["IF", "IFNULL", "COALESCE", "CASE", "CASE WHEN"], one_text),
    (&["GREATEST", "LEAST"], extremes),
    (&["ROUND", "TRUNCATE", "CEIL", "CEILING", "FLOOR"], |args| first(args, &EXACT)),
    (&["ABS", "SPACE", "INET_NTOA"], |args| !args.iter().any(|it| it.ty.is_temporal())),
    (&["MAKE_SET", "EXPORT_SET", "SEC_TO_TIME"], |args| args.first().is_none_or(is_whole)),
    (&["MAKETIME"], |args| args.iter().all(is_whole)),
    // Beyond microseconds MySQL rounds, MariaDB cuts off.
    (&["FROM_UNIXTIME"], |args| {
        first(args, &[Kind::Null, Kind::Exact]) && args.first().is_none_or(|it| it.ty.decimals <= 6)
    }),
    (&["UNIX_TIMESTAMP"], |args| args.iter().all(|it| it.ty.wire == WireType::Timestamp)),
    (&["TIME_TO_SEC"], |args| args.iter().all(|it| is_whole(it) || is_whole_time(it))),
    (&["TIME", "TIME_FORMAT", "HOUR", "MINUTE", "SECOND", "MICROSECOND"], |args| {
        first(args, &[Kind::Null, Kind::Date, Kind::Time, Kind::Text])
    }),
    (
        &[
            "YEAR",
            "MONTH",
            "DAY",
            "DAYOFMONTH",
            "QUARTER",
            "WEEK",
            "WEEKOFYEAR",
            "YEARWEEK",
            "WEEKDAY",
            "DAYOFWEEK",
            "DAYOFYEAR",
            "DAYNAME",
            "MONTHNAME",
            "LAST_DAY",
            "TO_DAYS",
            "TO_SECONDS",
            "DATE",
            "DATE_FORMAT",
            "CONVERT_TZ",
        ],
        |args| first(args, &DATES),
    ),
    (&["DATE_ADD", "DATE_SUB", "ADDDATE", "SUBDATE"], |args| args.first().is_none_or(is_moved)),
    (&["TIMESTAMP"], |args| args.len() == 1 && all(args, &DATES)),
    (&["DATEDIFF"], |args| all(args, &DATES)),
    // The first argument of these is a unit.
    (&["TIMESTAMPDIFF"], |args| args.iter().skip(1).all(|it| DATES.contains(&kind(it)))),
    (&["TIMESTAMPADD"], |args| args.get(2).is_none_or(is_moved)),
    (&["EXTRACT"], |args| args.get(1).is_none_or(|it| kind(it) == Kind::Date)),
    (&["INSTR"], |args| args.iter().all(has_binary_order) && is_decided_by(args, 0)),
    (&["LOCATE", "POSITION"], |args| args.iter().all(has_binary_order) && is_decided_by(args, 1)),
    (&["LPAD", "RPAD"], |args| {
        args.get(2).is_some_and(|it| constant_text(it) != Some("")) && is_decided_by(args, 0)
    }),
    (&["REPLACE", "INSERT", "SUBSTRING_INDEX", "TRIM", "TRIM LEADING", "TRIM TRAILING"], |args| {
        is_decided_by(args, 0)
    }),
    (&["COLLATION", "COERCIBILITY"], |args| !args.iter().any(is_literal_text)),
    (
        &[
            "ADDTIME",
            "SUBTIME",
            "TIMEDIFF",
            "FROM_DAYS",
            "FIND_IN_SET",
            "REGEXP",
            "NOT REGEXP",
            "RLIKE",
            "NOT RLIKE",
            "REGEXP_LIKE",
            "REGEXP_REPLACE",
            "REGEXP_INSTR",
            "REGEXP_SUBSTR",
            "UUID_TO_BIN",
            "BIN_TO_UUID",
            "IS_UUID",
        ],
        |_| false,
    ),
];

/// The aggregates that do not give the same for all arguments.
const AGGREGATES: &[(&[&str], Rule)] = &[
    (&["STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "VAR_POP", "VAR_SAMP"], |args| {
        all(args, &[Kind::Null, Kind::Real, Kind::Text])
    }),
    (&["MIN", "MAX"], |args| !any(args, Kind::Bit)),
    (&["BIT_AND", "BIT_OR", "BIT_XOR"], |args| all(args, &NUMBERS)),
    (&["SUM", "AVG"], |args| !args.iter().any(|it| it.ty.is_temporal() && it.ty.decimals > 0)),
    (&["ANY_VALUE", "JSON_ARRAYAGG", "JSON_OBJECTAGG"], |_| false),
];

/// Numbers whose shown digits are all their digits.
const EXACT: [Kind; 3] = [Kind::Null, Kind::Exact, Kind::Year];
const NUMBERS: [Kind; 4] = [Kind::Null, Kind::Exact, Kind::Year, Kind::Bit];
/// Values that both servers read as a date in the same way.
const DATES: [Kind; 3] = [Kind::Null, Kind::Date, Kind::Text];

/// Whether both servers show the result of a date and an interval with the same digits.
fn is_moved(date: &Arg) -> bool {
    match kind(date) {
        Kind::Text => date.constant.is_some() && date.origin == Origin::Literal,
        kind => DATES.contains(&kind),
    }
}

/// Refuses a function or operator that a MariaDB may compute otherwise.
///
/// # Errors
/// 1235.
pub(crate) fn check(name: &str, args: &[Arg]) -> Result<()> {
    if contradict(args) {
        return Err(differs("texts whose collations contradict each other"));
    }
    tell(name, RULES, args)
}

/// The same for an aggregate that the statement names; `increment` is as in [`check_scale`].
///
/// # Errors
/// 1235.
pub(crate) fn check_aggregate(name: &str, args: &[TypedExpr], increment: u8) -> Result<()> {
    if name != "COUNT" {
        args.iter().try_for_each(check_digits)?;
    }
    let args: Vec<Arg> = args.iter().map(TypedExpr::arg).collect();
    if name == "AVG" {
        check_scale(&args, increment)?;
    }
    tell(name, AGGREGATES, &args)
}

/// Refuses quotients and averages that have `increment` digits more than their first argument
/// (`div_precision_increment`), if these are more than a MySQL shows.
///
/// # Errors
/// 1235.
pub(crate) fn check_scale(args: &[Arg], increment: u8) -> Result<()> {
    const MOST: u8 = 30;
    let is_long = |it: &Arg| it.ty.is_decimal() && it.ty.decimals.saturating_add(increment) > MOST;
    if args.first().is_some_and(is_long) {
        Err(differs("more than 30 digits after the point"))
    } else {
        Ok(())
    }
}

/// The same for a cast.
///
/// # Errors
/// 1235.
pub(crate) fn check_cast(target: CastTarget, arg: &Arg) -> Result<()> {
    let (kind, digits) = (kind(arg), arg.ty.decimals);
    let same = match target {
        CastTarget::Year | CastTarget::Json => false,
        CastTarget::Date => matches!(kind, Kind::Time | Kind::Bytes) || DATES.contains(&kind),
        CastTarget::DateTime(to) | CastTarget::Time(to) => match kind {
            Kind::Date | Kind::Time => digits <= to,
            Kind::Text => constant_text(arg).is_some_and(|text| !text.contains('.')),
            _ => is_whole(arg),
        },
        CastTarget::Unsigned => match kind {
            Kind::Date => digits == 0,
            Kind::Year | Kind::Bit | Kind::Text => true,
            _ => is_whole(arg),
        },
        CastTarget::Signed => !arg.ty.is_temporal() || digits == 0,
        CastTarget::Char(..) => kind != Kind::Bit,
        CastTarget::Binary(_)
        | CastTarget::Decimal(..)
        | CastTarget::Double
        | CastTarget::Float => true,
    };
    if same { Ok(()) } else { Err(differs("CAST")) }
}

/// Refuses further computations with a quotient: it has other digits than it shows.
///
/// # Errors
/// 1235.
pub(crate) fn check_digits(value: &TypedExpr) -> Result<()> {
    if value.is_quotient() { Err(differs("the digits of a quotient")) } else { Ok(()) }
}

/// Whether an aggregate divides: over exact numbers it has other digits than it shows.
pub(crate) fn is_average(name: &str) -> bool {
    name == "AVG"
}

/// Rounds the operands of `=`, `<` and similar operators to the digits that they show, if all are
/// exact: so does MariaDB, for which an average of 0.004987 equals 0.0050.
pub(crate) fn round_compared(args: &mut [TypedExpr], context: &Arc<EvalContext>) {
    if args.iter().all(|arg| EXACT.contains(&kind(&arg.arg()))) {
        for arg in args.iter_mut().filter(|arg| arg.is_quotient()) {
            *arg = arg.clone().settled(context).with_quotient(false);
        }
    }
}

/// Whether a function compares two values with [`round_compared`].
pub(crate) fn is_comparison(name: &str) -> bool {
    matches!(name, "=" | "<=>" | "<>" | "!=" | "<" | "<=" | ">" | ">=")
}

/// Whether a result shows more digits of a quotient that is combined with it.
pub(crate) fn shows_more(result: &TypedExpr, quotient: &TypedExpr) -> bool {
    match kind(&result.arg()) {
        Kind::Null | Kind::Text => false,
        Kind::Exact | Kind::Year => result.ty.decimals > quotient.ty.decimals,
        _ => true,
    }
}

/// Whether the result of a call is a quotient, or one of its arguments that is one.
///
/// # Errors
/// A quotient that the call computes with, or that it shows more digits of (1235).
pub(crate) fn is_quotient(name: &str, args: &[TypedExpr]) -> Result<bool> {
    let last = args.len().saturating_sub(1);
    let passes = |at: usize| match name {
        "IFNULL" | "COALESCE" => true,
        "IF" => at > 0,
        // Conditions and results alternate; the ELSE result follows.
        "CASE" => at % 2 == 1 || at == last,
        _ => false,
    };
    let is_tested = matches!(name, "IS NULL" | "IS NOT NULL" | "ISNULL");
    let mut passed = false;
    for (at, arg) in args.iter().enumerate() {
        if passes(at) {
            let mut results = args.iter().enumerate().filter(|(at, _)| passes(*at));
            if arg.is_quotient() && results.any(|(_, result)| shows_more(result, arg)) {
                check_digits(arg)?;
            }
            passed |= arg.is_quotient();
        } else if !is_tested {
            check_digits(arg)?;
        }
    }
    Ok(name == "/" || passed)
}

fn tell(name: &str, rules: &[(&[&str], Rule)], args: &[Arg]) -> Result<()> {
    let rule = rules.iter().find(|(names, _)| names.contains(&name));
    if rule.is_none_or(|(_, same)| same(args)) { Ok(()) } else { Err(differs(name)) }
}

fn differs(what: &str) -> Error {
    Error::unsupported(format_args!("{what} as MariaDB has it"))
}

fn kind(arg: &Arg) -> Kind {
    let ty = &arg.ty;
    let is_literal = arg.origin == Origin::Literal && arg.constant.is_some();
    match ty.wire {
        WireType::Null => Kind::Null,
        WireType::Year => Kind::Year,
        WireType::Bit => Kind::Bit,
        WireType::Time => Kind::Time,
        WireType::Enum | WireType::Set => Kind::Listed,
        WireType::Json | WireType::Geometry | WireType::Vector => Kind::Other,
        WireType::VarString if is_literal && ty.is_bits() => Kind::Bits,
        _ if ty.is_date() => Kind::Date,
        _ if ty.is_integer() || ty.is_decimal() => Kind::Exact,
        _ if ty.is_float() => Kind::Real,
        _ if ty.is_binary_string() => Kind::Bytes,
        _ => Kind::Text,
    }
}

fn any(args: &[Arg], what: Kind) -> bool {
    args.iter().any(|it| kind(it) == what)
}

fn all(args: &[Arg], what: &[Kind]) -> bool {
    args.iter().all(|it| what.contains(&kind(it)))
}

fn first(args: &[Arg], what: &[Kind]) -> bool {
    args.first().is_none_or(|it| what.contains(&kind(it)))
}

/// An integer that is no YEAR and no BIT, or a decimal without digits after the point.
fn is_whole(arg: &Arg) -> bool {
    kind(arg) == Kind::Null || kind(arg) == Kind::Exact && arg.ty.decimals == 0
}

/// A point in time, or a time, of whole seconds.
fn is_whole_time(arg: &Arg) -> bool {
    arg.ty.is_temporal() && arg.ty.decimals == 0
}

/// Whether a product or quotient can be no 0 with a sign, but for one that was there before.
fn keeps_sign(args: &[Arg]) -> bool {
    let exact = |it: &Arg| NUMBERS.contains(&kind(it)) || it.ty.is_temporal();
    let number = |it: &Arg| exact(it) || kind(it) == Kind::Real;
    args.iter().all(exact) || args.iter().all(number) && has_positive(args)
}

fn has_positive(args: &[Arg]) -> bool {
    args.iter().any(|it| match &it.constant {
        Some(Value::Int(value)) => *value > 0,
        Some(Value::UInt(value)) => *value > 0,
        Some(Value::Double(value)) => *value > 0.0,
        Some(Value::Decimal(value)) => value.to_f64() > 0.0,
        _ => false,
    })
}

/// Whether values are compared as the same.
fn compares(args: &[Arg]) -> bool {
    let constant = |it: &Arg| it.constant.is_some();
    let text = |it: &Arg| matches!(kind(it), Kind::Text | Kind::Listed | Kind::Bytes);
    let with_time = |it: &Arg| match kind(it) {
        Kind::Time | Kind::Null => true,
        _ => constant(it) && (text(it) || is_whole(it)),
    };
    let with_date = |it: &Arg| match kind(it) {
        Kind::Date | Kind::Null => true,
        _ => text(it) || constant(it) && is_whole(it),
    };
    texts_meet(args)
        && (!any(args, Kind::Time) || args.iter().all(with_time))
        && (!any(args, Kind::Date) || args.iter().all(with_date))
}

/// Whether it does not matter which collation texts are compared by that are only literals, and
/// whether a literal can be written in the charset that it meets.
fn texts_meet(args: &[Arg]) -> bool {
    let plain =
        |it: &Arg| constant_text(it).is_none_or(|text| text.is_ascii() && !text.ends_with(' '));
    let mut texts = args.iter().filter(|it| kind(it) == Kind::Text);
    let by_literals = texts.clone().all(is_literal_text);
    let narrow = texts.any(|it| matches!(it.ty.collation.charset(), "latin1" | "ascii"));
    !(by_literals || narrow) || args.iter().all(plain)
}

/// Whether collations contradict each other: what comes of it is stronger in MariaDB.
fn contradict(args: &[Arg]) -> bool {
    let insists = |it: &&Arg| {
        let implicit = it.coercibility == Coercibility::Implicit;
        implicit && kind(it) == Kind::Text && !it.ty.collation.is_binary_order()
    };
    let of = |it: &Arg| (it.ty.collation.charset(), it.ty.collation);
    let texts: Vec<_> = args.iter().filter(insists).map(of).collect();
    let differ = |a: &(&str, Collation), b: &(&str, Collation)| a.0 == b.0 && a.1 != b.1;
    args.iter().any(|it| it.coercibility == Coercibility::None)
        || texts.iter().any(|a| texts.iter().any(|b| differ(a, b)))
}

/// Whether the collation of all arguments, by which a MariaDB goes, is that of one of them, by
/// which a MySQL goes.
fn is_decided_by(args: &[Arg], at: usize) -> bool {
    let Some(one) = args.get(at) else { return true };
    args.iter().filter(|it| it.ty.is_string()).all(|it| {
        let plain = is_literal_text(it) && !one.ty.is_string();
        // Bytes win over texts that insist as they do.
        let bytes = kind(one) == Kind::Bytes && it.coercibility >= one.coercibility;
        plain || bytes || it.ty.collation == one.ty.collation || it.coercibility > one.coercibility
    })
}

/// A text that has the session's collation, which a MariaDB does not have.
fn is_literal_text(arg: &Arg) -> bool {
    kind(arg) == Kind::Text && arg.ty.collation == collation::UTF8MB4_0900_AI_CI
}

fn has_binary_order(arg: &Arg) -> bool {
    kind(arg) != Kind::Text || arg.constant.is_some() || arg.ty.collation.is_binary_order()
}

fn constant_text(arg: &Arg) -> Option<&str> {
    match &arg.constant {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// Whether texts of one sort meet: a MariaDB converts those of a charset before they become bytes.
fn one_text(args: &[Arg]) -> bool {
    let bytes = any(args, Kind::Bytes) || any(args, Kind::Bits);
    !any(args, Kind::Bit) && !(bytes && (any(args, Kind::Text) || any(args, Kind::Listed)))
}

/// Whether values of one sort are compared for the least or greatest.
fn extremes(args: &[Arg]) -> bool {
    let same_dates = || {
        let mut wires = args.iter().map(|it| it.ty.wire).filter(|it| *it != WireType::Null);
        let first = wires.next();
        wires.all(|it| Some(it) == first)
    };
    let numbers = [Kind::Null, Kind::Exact, Kind::Year, Kind::Real];
    all(args, &numbers)
        || all(args, &[Kind::Null, Kind::Text]) && texts_meet(args)
        || all(args, &[Kind::Null, Kind::Date]) && same_dates()
}

#[cfg(test)]
mod tests {
    use pelorus_types::ColumnType;

    use super::*;

    fn column(ty: ColumnType) -> Arg {
        Arg::column(ty, "c")
    }

    fn of(wire: WireType, decimals: u8) -> Arg {
        column(ColumnType { wire, decimals, ..ColumnType::bigint() })
    }

    fn text(text: &str) -> Arg {
        let ty = ColumnType::varchar(9, collation::UTF8MB4_0900_AI_CI);
        Arg::literal(Value::Text(text.to_owned()), ty, "")
    }

    fn number(value: i64) -> Arg {
        Arg::literal(Value::Int(value), ColumnType::bigint(), "")
    }

    fn name_column() -> Arg {
        column(ColumnType::varchar(9, collation::UTF8MB4_GENERAL_CI))
    }

    fn same(name: &str, args: &[Arg]) -> bool {
        check(name, args).is_ok()
    }

    #[test]
    fn collations_that_servers_unite_differently() {
        let unicode = column(ColumnType::varchar(9, collation::UTF8MB4_0900_AI_CI));
        let bytes = column(ColumnType::varchar(9, collation::BINARY));
        let latin =
            column(ColumnType::varchar(9, Collation::by_name("latin1_swedish_ci").unwrap()));
        let none = Arg { coercibility: Coercibility::None, ..name_column() };
        assert!(!same("CONCAT", &[name_column(), unicode.clone()]));
        assert!(!same("UPPER", &[none]));
        assert!(same("CONCAT", &[name_column(), latin, name_column()]));
        assert!(same("REPLACE", &[name_column(), text("a"), text("b")]));
        assert!(same("REPLACE", &[number(12), text("1"), text("2")]));
        assert!(!same("REPLACE", &[text("a"), name_column(), text("b")]));
        assert!(!same("TRIM", &[name_column(), bytes.clone()]));
        assert!(same("TRIM", &[bytes.clone(), name_column()]));
        assert!(!same("FIELD", &[name_column(), bytes.clone()]));
        let ordered = column(ColumnType::varchar(9, collation::UTF8MB4_BIN));
        assert!(same("LOCATE", &[text("a"), ordered.clone()]));
        assert!(!same("LOCATE", &[bytes, ordered]));
    }

    #[test]
    fn plain_reports_stay() {
        let (int, dec) = (column(ColumnType::bigint()), column(ColumnType::decimal(12, 2)));
        let (date, at) = (of(WireType::Date, 0), of(WireType::DateTime, 3));
        for name in ["+", "-", "*", "/", "%", "=", "<", "GREATEST", "ROUND"] {
            assert!(same(name, &[dec.clone(), int.clone()]), "{name}");
        }
        for name in ["YEAR", "MONTH", "DATE", "LAST_DAY", "HOUR", "DATE_FORMAT"] {
            assert!(same(name, &[date.clone(), text("%Y")]), "{name}");
            assert!(same(name, &[at.clone(), text("%Y")]), "{name}");
        }
        assert!(same(">=", &[date.clone(), text("2024-01-01")]));
        assert!(same("BETWEEN", &[at, date, text("2024-01-01")]));
        assert!(same("=", &[name_column(), text("Zoë ")]));
        assert!(same("=", &[of(WireType::Time, 0), text("12:00:00")]));
        assert!(same("*", &[column(ColumnType::double()), number(2)]));
        assert!(check_cast(CastTarget::Date, &of(WireType::DateTime, 3)).is_ok());
        assert!(check_cast(CastTarget::Signed, &name_column()).is_ok());
    }

    #[test]
    fn what_differs_is_refused() {
        let double = column(ColumnType::double());
        let (int, name) = (column(ColumnType::bigint()), name_column());
        let (at, time) = (of(WireType::DateTime, 3), of(WireType::Time, 0));
        for (function, args) in [
            ("*", vec![double.clone(), int.clone()]),
            ("*", vec![name.clone(), number(2)]),
            ("-", vec![double.clone()]),
            ("ROUND", vec![double.clone(), number(2)]),
            ("&", vec![double, number(1)]),
            ("GREATEST", vec![int.clone(), text("")]),
            ("<", vec![int, at.clone()]),
            ("=", vec![name.clone(), time.clone()]),
            ("=", vec![text("a"), text("a ")]),
            ("EXTRACT", vec![text("HOUR"), time.clone()]),
            ("DATE_ADD", vec![time, number(1), text("DAY")]),
            ("FROM_UNIXTIME", vec![column(ColumnType::decimal(20, 7))]),
            ("TIME_TO_SEC", vec![at.clone()]),
            ("UNIX_TIMESTAMP", vec![at.clone()]),
            ("LOCATE", vec![text("a"), name.clone()]),
            ("RPAD", vec![name, number(5), text("")]),
        ] {
            assert!(!same(function, &args), "{function} {args:?}");
        }
        assert!(check_cast(CastTarget::DateTime(0), &at).is_err());
        assert!(check_cast(CastTarget::Unsigned, &column(ColumnType::decimal(9, 1))).is_err());
    }

    #[test]
    fn aggregates_of_digits_and_bits() {
        let typed = |ty| TypedExpr::computed(datafusion::logical_expr::lit(0_i64), ty);
        let (int, double) = (typed(ColumnType::bigint()), typed(ColumnType::double()));
        let bit = typed(ColumnType { wire: WireType::Bit, ..ColumnType::bigint() });
        assert!(check_aggregate("STD", std::slice::from_ref(&int), 4).is_err());
        assert!(check_aggregate("STD", std::slice::from_ref(&double), 4).is_ok());
        assert!(check_aggregate("MAX", std::slice::from_ref(&bit), 4).is_err());
        assert!(check_aggregate("SUM", std::slice::from_ref(&int), 4).is_ok());
        assert!(check_aggregate("ANY_VALUE", &[int], 4).is_err());
        let decimal = [typed(ColumnType::decimal(40, 26))];
        assert!(check_aggregate("AVG", &decimal, 4).is_ok());
        assert!(check_aggregate("AVG", &decimal, 5).is_err());
        assert!(check_aggregate("SUM", &decimal, 5).is_ok());
    }

    #[test]
    fn quotients_are_compared_as_shown() {
        let context = Arc::default();
        let typed = |ty| TypedExpr::computed(datafusion::logical_expr::lit(0_i64), ty);
        let quotient = || typed(ColumnType::decimal(12, 4)).with_quotient(true);
        let mut exact = [quotient(), typed(ColumnType::bigint())];
        round_compared(&mut exact, &context);
        assert!(!exact[0].is_quotient());
        let mut double = [quotient(), typed(ColumnType::double())];
        round_compared(&mut double, &context);
        assert!(double[0].is_quotient());
    }

    #[test]
    fn quotients_are_shown_and_nothing_else() {
        let ty = ColumnType::decimal(12, 4);
        let value = TypedExpr::computed(datafusion::logical_expr::lit(0_i64), ty);
        let quotient = value.clone().with_quotient(true);
        let args = [value.clone(), value.clone()];
        assert!(is_quotient("/", &args).unwrap());
        assert!(!is_quotient("+", &args).unwrap());
        assert!(is_quotient("*", &[quotient.clone(), value.clone()]).is_err());
        assert!(is_quotient("IFNULL", &[quotient.clone(), value.clone()]).unwrap());
        let case = [value.clone(), quotient.clone(), value.clone()];
        assert!(is_quotient("CASE", &case).unwrap());
        assert!(is_quotient("CASE", &[quotient.clone(), value]).is_err());
        assert!(!is_quotient("IS NULL", std::slice::from_ref(&quotient)).unwrap());
        assert!(check_digits(&quotient).is_err());
        // Combined with more digits, a quotient shows more of its own.
        let typed = |ty| TypedExpr::computed(datafusion::logical_expr::lit(0_i64), ty);
        let finer = typed(ColumnType::decimal(12, 6));
        assert!(is_quotient("IFNULL", &[quotient.clone(), finer]).is_err());
        assert!(is_quotient("IFNULL", &[quotient, typed(ColumnType::double())]).is_err());
    }
}

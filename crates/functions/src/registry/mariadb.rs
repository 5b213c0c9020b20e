//! MariaDB rules: calls that MariaDB computes differently from MySQL. The function table has the
//! rule of each function; what they are made of is here.
//!
//! Functions are computed as MySQL does. If the result must be MariaDB's (that of a mirror of a
//! MariaDB, or of a query on one that is split), a call that MariaDB may compute differently is
//! refused with error 1235, and the query runs on the server.
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

use pelorus_error::{Error, Result};
use pelorus_types::{Collation, WireType, collation};

use crate::scalar::cast::CastTarget;
use crate::value::{Arg, Coercibility, Origin, Value};

/// Whether a call gives the same for some arguments.
pub(crate) type Rule = fn(&[Arg]) -> bool;

/// The class of an argument, as far as the two servers differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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

/// Numbers whose shown digits are all their digits.
pub(crate) const EXACT: [Kind; 3] = [Kind::Null, Kind::Exact, Kind::Year];
pub(crate) const NUMBERS: [Kind; 4] = [Kind::Null, Kind::Exact, Kind::Year, Kind::Bit];
/// Values that both servers read as a date in the same way.
pub(crate) const DATES: [Kind; 3] = [Kind::Null, Kind::Date, Kind::Text];

/// Whether both servers show the result of a date and an interval with the same digits.
pub(crate) fn is_moved(date: &Arg) -> bool {
    match kind(date) {
        Kind::Text => date.constant.is_some() && date.origin == Origin::Literal,
        kind => DATES.contains(&kind),
    }
}

/// The rule of functions that give the same for all arguments.
pub(crate) fn always(_: &[Arg]) -> bool {
    true
}

/// The rule of functions that one of the servers lacks, or computes differently for most arguments.
pub(crate) fn never(_: &[Arg]) -> bool {
    false
}

/// Whether MariaDB shows all digits that an exact number has.
pub fn is_exact(arg: &Arg) -> bool {
    EXACT.contains(&kind(arg))
}

/// Whether the shown form of a value has room for more digits than a quotient shows.
pub fn shows_more(result: &Arg, quotient: &Arg) -> bool {
    match kind(result) {
        Kind::Null | Kind::Text => false,
        Kind::Exact | Kind::Year => result.ty.decimals > quotient.ty.decimals,
        _ => true,
    }
}

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

/// Refuses an aggregate that a MariaDB may compute otherwise.
///
/// # Errors
/// 1235.
pub fn check_aggregate(name: &str, args: &[Arg]) -> Result<()> {
    let rule = AGGREGATES.iter().find(|(names, _)| names.contains(&name));
    if rule.is_none_or(|(_, same)| same(args)) { Ok(()) } else { Err(differs(name)) }
}

/// Refuses quotients and averages that have `increment` digits more than their first argument
/// (`div_precision_increment`), if these are more than a MySQL shows.
///
/// # Errors
/// 1235.
pub fn check_scale(args: &[Arg], increment: u8) -> Result<()> {
    const MOST: u8 = 30;
    let is_long = |it: &Arg| it.ty.is_decimal() && it.ty.decimals.saturating_add(increment) > MOST;
    if args.first().is_some_and(is_long) {
        Err(differs("more than 30 digits after the point"))
    } else {
        Ok(())
    }
}

/// Refuses a cast that a MariaDB may compute otherwise.
///
/// # Errors
/// 1235.
pub fn check_cast(target: CastTarget, arg: &Arg) -> Result<()> {
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

/// Error 1235.
pub fn differs(what: &str) -> Error {
    Error::unsupported(format_args!("{what} as MariaDB has it"))
}

pub(crate) fn kind(arg: &Arg) -> Kind {
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

pub(crate) fn any(args: &[Arg], what: Kind) -> bool {
    args.iter().any(|it| kind(it) == what)
}

pub(crate) fn all(args: &[Arg], what: &[Kind]) -> bool {
    args.iter().all(|it| what.contains(&kind(it)))
}

pub(crate) fn first(args: &[Arg], what: &[Kind]) -> bool {
    args.first().is_none_or(|it| what.contains(&kind(it)))
}

/// An integer that is no YEAR and no BIT, or a decimal without digits after the point.
pub(crate) fn is_whole(arg: &Arg) -> bool {
    kind(arg) == Kind::Null || kind(arg) == Kind::Exact && arg.ty.decimals == 0
}

/// A point in time, or a time, of whole seconds.
pub(crate) fn is_whole_time(arg: &Arg) -> bool {
    arg.ty.is_temporal() && arg.ty.decimals == 0
}

/// Whether a product or quotient can be no 0 with a sign, but for one that was there before.
pub(crate) fn keeps_sign(args: &[Arg]) -> bool {
    let exact = |it: &Arg| NUMBERS.contains(&kind(it)) || it.ty.is_temporal();
    let number = |it: &Arg| exact(it) || kind(it) == Kind::Real;
    args.iter().all(exact) || args.iter().all(number) && has_positive(args)
}

pub(crate) fn has_positive(args: &[Arg]) -> bool {
    args.iter().any(|it| match &it.constant {
        Some(Value::Int(value)) => *value > 0,
        Some(Value::UInt(value)) => *value > 0,
        Some(Value::Double(value)) => *value > 0.0,
        Some(Value::Decimal(value)) => value.to_f64() > 0.0,
        _ => false,
    })
}

/// Whether values are compared as the same.
pub(crate) fn compares(args: &[Arg]) -> bool {
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
pub(crate) fn texts_meet(args: &[Arg]) -> bool {
    let plain =
        |it: &Arg| constant_text(it).is_none_or(|text| text.is_ascii() && !text.ends_with(' '));
    let mut texts = args.iter().filter(|it| kind(it) == Kind::Text);
    let by_literals = texts.clone().all(is_literal_text);
    let narrow = texts.any(|it| matches!(it.ty.collation.charset(), "latin1" | "ascii"));
    !(by_literals || narrow) || args.iter().all(plain)
}

/// Whether collations contradict each other: what comes of it is stronger in MariaDB.
pub(crate) fn contradict(args: &[Arg]) -> bool {
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
pub(crate) fn is_decided_by(args: &[Arg], at: usize) -> bool {
    let Some(one) = args.get(at) else { return true };
    args.iter().filter(|it| it.ty.is_string()).all(|it| {
        let plain = is_literal_text(it) && !one.ty.is_string();
        // Bytes win over texts that insist as they do.
        let bytes = kind(one) == Kind::Bytes && it.coercibility >= one.coercibility;
        plain || bytes || it.ty.collation == one.ty.collation || it.coercibility > one.coercibility
    })
}

/// A text that has the session's collation, which a MariaDB does not have.
pub(crate) fn is_literal_text(arg: &Arg) -> bool {
    kind(arg) == Kind::Text && arg.ty.collation == collation::UTF8MB4_0900_AI_CI
}

pub(crate) fn has_binary_order(arg: &Arg) -> bool {
    kind(arg) != Kind::Text || arg.constant.is_some() || arg.ty.collation.is_binary_order()
}

pub(crate) fn constant_text(arg: &Arg) -> Option<&str> {
    match &arg.constant {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// Whether texts of one sort meet: a MariaDB converts those of a charset before they become bytes.
pub(crate) fn one_text(args: &[Arg]) -> bool {
    let bytes = any(args, Kind::Bytes) || any(args, Kind::Bits);
    !any(args, Kind::Bit) && !(bytes && (any(args, Kind::Text) || any(args, Kind::Listed)))
}

/// Whether values of one sort are compared for the least or greatest.
pub(crate) fn extremes(args: &[Arg]) -> bool {
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
    use crate::registry::names::check_mariadb as check;

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
}

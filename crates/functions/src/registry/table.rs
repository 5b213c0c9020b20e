//! The table of functions and operators: one row for each, with everything that is decided by its
//! name. Dispatch, short-circuit evaluation, the places in which a definition may call it, and the
//! errors 1305 and 1582 are looked up here.
//!
//! Rows are ordered by subject. Functions that only linked servers compute have a row as well:
//! queries that call them are sent there.

use std::collections::HashMap;
use std::sync::LazyLock;

use pelorus_types::WireType;

use crate::registry::function::{
    Chooses, Function, Places, Stored, Volatility, elsewhere, function, of_mariadb, operator,
};
use crate::registry::mariadb::{
    self, DATES, EXACT, Kind, NUMBERS, all, any, compares, constant_text, extremes, first,
    has_binary_order, has_positive, is_decided_by, is_literal_text, is_moved, is_whole,
    is_whole_time, keeps_sign, kind, one_text, texts_meet,
};
use crate::scalar::datetime::{clock, difference, format, interval, make, part as date_part, scan};
use crate::scalar::string::{build, codes, like, list, measure, part as text_part, search};
use crate::scalar::{
    arithmetic, bits, cast, compare, conditional, greatest_least, logic, math, round, session_info,
};
use crate::short_circuit::Flow;

/// The row of a name in upper case.
pub fn find(name: &str) -> Option<&'static Function> {
    static BY_NAME: LazyLock<HashMap<&str, &Function>> = LazyLock::new(|| {
        TABLE.iter().flat_map(|row| row.names.iter().map(move |name| (*name, row))).collect()
    });
    BY_NAME.get(name).copied()
}

static TABLE: &[Function] = &[
    // Operators, by their signs and words.
    operator(&["+"], arithmetic::binary)
        .numbers(Places::All)
        .reals()
        .mariadb(|args| !any(args, Kind::Bits)),
    operator(&["-"], arithmetic::minus).partitions().numbers(Places::All).reals().mariadb(|args| {
        !any(args, Kind::Bits) && (args.len() > 1 || all(args, &EXACT) || has_positive(args))
    }),
    operator(&["*"], arithmetic::binary)
        .numbers(Places::All)
        .reals()
        .mariadb(|args| !any(args, Kind::Bits) && keeps_sign(args)),
    operator(&["/"], arithmetic::binary)
        .numbers(Places::All)
        .reals()
        .mariadb(|args| !any(args, Kind::Bits) && keeps_sign(args)),
    operator(&["DIV"], arithmetic::binary)
        .numbers(Places::All)
        .mariadb(|args| !any(args, Kind::Bits)),
    operator(&["%"], arithmetic::binary)
        .numbers(Places::All)
        .reals()
        .mariadb(|args| !any(args, Kind::Bits)),
    function(&["MOD"], arithmetic::binary)
        .partitions()
        .filters()
        .grammar()
        .numbers(Places::All)
        .reals()
        .mariadb(|args| !any(args, Kind::Bits)),
    operator(&["="], compare::binary).flow(Flow::First).reals().mariadb(compares),
    operator(&["<=>"], compare::binary).reals().mariadb(compares),
    operator(&["<>", "!="], compare::binary).flow(Flow::First).reals().mariadb(compares),
    operator(&["<"], compare::binary).flow(Flow::First).reals().mariadb(compares),
    operator(&["<="], compare::binary).flow(Flow::First).reals().mariadb(compares),
    operator(&[">"], compare::binary).flow(Flow::First).reals().mariadb(compares),
    operator(&[">="], compare::binary).flow(Flow::First).reals().mariadb(compares),
    operator(&["CASE ="], compare::binary).flow(Flow::First).reals().mariadb(compares),
    operator(&["BETWEEN"], compare::between).flow(Flow::First).reals().mariadb(compares),
    operator(&["NOT BETWEEN"], compare::between).flow(Flow::First).reals().mariadb(compares),
    operator(&["IN"], compare::within).reals().mariadb(compares),
    operator(&["NOT IN"], compare::within).reals(),
    operator(&["AND"], logic::resolve).flow(Flow::And).numbers(Places::All).reals(),
    operator(&["OR"], logic::resolve).flow(Flow::Or).numbers(Places::All).reals(),
    operator(&["XOR"], logic::resolve).numbers(Places::All).reals(),
    operator(&["NOT", "!"], logic::resolve).numbers(Places::All).reals(),
    operator(&["IS NULL"], logic::resolve).bytes(),
    operator(&["IS NOT NULL"], logic::resolve).bytes(),
    operator(&["IS TRUE"], logic::resolve).numbers(Places::All).reals(),
    operator(&["IS NOT TRUE"], logic::resolve).numbers(Places::All).reals(),
    operator(&["IS FALSE"], logic::resolve).numbers(Places::All).reals(),
    operator(&["IS NOT FALSE"], logic::resolve).numbers(Places::All).reals(),
    operator(&["IS UNKNOWN"], logic::resolve),
    operator(&["IS NOT UNKNOWN"], logic::resolve),
    function(&["ISNULL"], logic::resolve).own_nulls().filters().bytes(),
    operator(&["&"], bits::binary)
        .flow(Flow::First)
        .numbers(Places::All)
        .mariadb(|args| all(args, &NUMBERS)),
    operator(&["|"], bits::binary).numbers(Places::All).mariadb(|args| all(args, &NUMBERS)),
    operator(&["^"], bits::binary)
        .flow(Flow::First)
        .numbers(Places::All)
        .mariadb(|args| all(args, &NUMBERS)),
    operator(&["<<"], bits::binary)
        .flow(Flow::First)
        .numbers(Places::All)
        .mariadb(|args| all(args, &NUMBERS)),
    operator(&[">>"], bits::binary).numbers(Places::All).mariadb(|args| all(args, &NUMBERS)),
    operator(&["~"], bits::unary).numbers(Places::All).mariadb(|args| all(args, &NUMBERS)),
    function(&["BIT_COUNT"], bits::unary).numbers(Places::All).mariadb(|args| all(args, &NUMBERS)),
    function(&["IF"], conditional::if_else)
        .own_nulls()
        .grammar()
        .flow(Flow::If)
        .chooses(Chooses::Argument)
        .numbers(Places::At(&[0]))
        .reals()
        .mariadb(one_text),
    function(&["IFNULL"], conditional::coalesce)
        .own_nulls()
        .filters()
        .flow(Flow::Coalesce)
        .chooses(Chooses::Common)
        .mariadb(one_text),
    function(&["COALESCE"], conditional::coalesce)
        .own_nulls()
        .filters()
        .grammar()
        .flow(Flow::Coalesce)
        .chooses(Chooses::Common)
        .mariadb(one_text),
    function(&["NULLIF"], conditional::null_if)
        .own_nulls()
        .flow(Flow::First)
        .chooses(Chooses::Argument)
        .mariadb(|args| compares(args) && !any(args, Kind::Bit)),
    operator(&["CASE"], conditional::searched_case)
        .flow(Flow::Case)
        .chooses(Chooses::Argument)
        .numbers(Places::Conditions)
        .reals()
        .mariadb(one_text),
    operator(&["CASE WHEN"], conditional::simple_case).chooses(Chooses::Argument).mariadb(one_text),
    operator(&["COLLATE"], cast::collate),
    function(&["STRCMP"], compare::strcmp).flow(Flow::First).mariadb(texts_meet),
    // Numbers.
    function(&["ROUND"], round::round)
        .flow(Flow::First)
        .numbers(Places::All)
        .reals()
        .mariadb(|args| first(args, &EXACT)),
    function(&["TRUNCATE"], round::round)
        .grammar()
        .flow(Flow::First)
        .numbers(Places::All)
        .reals()
        .mariadb(|args| first(args, &EXACT)),
    function(&["ABS"], round::abs)
        .partitions()
        .numbers(Places::All)
        .reals()
        .mariadb(|args| !args.iter().any(|it| it.ty.is_temporal())),
    function(&["CEIL", "CEILING"], round::to_integer)
        .partitions()
        .numbers(Places::All)
        .reals()
        .mariadb(|args| first(args, &EXACT)),
    function(&["FLOOR"], round::to_integer)
        .partitions()
        .numbers(Places::All)
        .reals()
        .mariadb(|args| first(args, &EXACT)),
    function(&["SIGN"], round::sign).numbers(Places::All).reals(),
    function(&["PI"], math::pi),
    function(&["SQRT"], math::of_one).numbers(Places::All).reals(),
    function(&["EXP"], math::of_one).numbers(Places::All).reals(),
    function(&["LN"], math::of_one).numbers(Places::All).reals(),
    function(&["LOG2"], math::of_one).numbers(Places::All).reals(),
    function(&["LOG10"], math::of_one).numbers(Places::All).reals(),
    function(&["SIN"], math::of_one).numbers(Places::All).reals(),
    function(&["COS"], math::of_one).numbers(Places::All).reals(),
    function(&["TAN"], math::of_one).numbers(Places::All).reals(),
    function(&["COT"], math::of_one).numbers(Places::All).reals(),
    function(&["ASIN"], math::of_one).numbers(Places::All).reals(),
    function(&["ACOS"], math::of_one).numbers(Places::All).reals(),
    function(&["DEGREES"], math::of_one).numbers(Places::All).reals(),
    function(&["RADIANS"], math::of_one).numbers(Places::All).reals(),
    function(&["POW"], math::of_two).flow(Flow::First).numbers(Places::All).reals(),
    function(&["POWER"], math::of_two).numbers(Places::All).reals(),
    function(&["ATAN2"], math::of_two).numbers(Places::All).reals(),
    function(&["LOG"], math::of_one_or_two).numbers(Places::All).reals(),
    function(&["ATAN"], math::of_one_or_two).numbers(Places::All).reals(),
    // Texts.
    function(&["LIKE"], like::like).flow(Flow::First).texts(Places::All).mariadb(texts_meet),
    function(&["NOT LIKE"], like::like).texts(Places::All),
    function(&["REGEXP", "RLIKE"], like::regexp).mariadb(mariadb::never),
    function(&["NOT REGEXP", "NOT RLIKE"], like::regexp).mariadb(mariadb::never),
    function(&["REGEXP_LIKE"], like::regexp).mariadb(mariadb::never),
    function(&["CONCAT"], build::concat).flow(Flow::First).texts(Places::All),
    function(&["CONCAT_WS"], build::concat_ws).own_nulls().texts(Places::All),
    function(&["UPPER", "UCASE"], build::letter_case).filters().texts(Places::At(&[0])),
    function(&["LOWER", "LCASE"], build::letter_case).filters().texts(Places::At(&[0])),
    function(&["REVERSE"], build::reverse).grammar().texts(Places::At(&[0])),
    function(&["REPEAT"], build::repeat).grammar().flow(Flow::First).numbers(Places::After(0)),
    function(&["SPACE"], build::space)
        .numbers(Places::All)
        .mariadb(|args| !args.iter().any(|it| it.ty.is_temporal())),
    function(&["LPAD"], build::pad)
        .flow(Flow::First)
        .numbers(Places::At(&[1]))
        .texts(Places::At(&[0]))
        .mariadb(|args| {
            args.get(2).is_some_and(|it| constant_text(it) != Some("")) && is_decided_by(args, 0)
        }),
    function(&["RPAD"], build::pad).numbers(Places::At(&[1])).texts(Places::At(&[0])).mariadb(
        |args| {
            args.get(2).is_some_and(|it| constant_text(it) != Some("")) && is_decided_by(args, 0)
        },
    ),
    function(&["REPLACE"], build::replace)
        .grammar()
        .flow(Flow::First)
        .texts(Places::All)
        .mariadb(|args| is_decided_by(args, 0)),
    function(&["INSERT"], build::insert)
        .grammar()
        .numbers(Places::At(&[1, 2]))
        .mariadb(|args| is_decided_by(args, 0)),
    function(&["QUOTE"], build::quote).own_nulls().texts(Places::At(&[0])),
    function(&["SUBSTRING"], text_part::substring)
        .filters()
        .grammar()
        .flow(Flow::First)
        .numbers(Places::After(0))
        .texts(Places::At(&[0])),
    function(&["SUBSTR"], text_part::substring)
        .filters()
        .numbers(Places::After(0))
        .texts(Places::At(&[0])),
    function(&["MID"], text_part::substring)
        .filters()
        .grammar()
        .numbers(Places::After(0))
        .texts(Places::At(&[0])),
    function(&["LEFT"], text_part::side)
        .filters()
        .grammar()
        .flow(Flow::First)
        .numbers(Places::After(0))
        .texts(Places::At(&[0])),
    function(&["RIGHT"], text_part::side)
        .filters()
        .grammar()
        .flow(Flow::First)
        .numbers(Places::After(0))
        .texts(Places::At(&[0])),
    function(&["TRIM"], text_part::trim)
        .grammar()
        .texts(Places::At(&[0]))
        .mariadb(|args| is_decided_by(args, 0)),
    operator(&["TRIM LEADING"], text_part::trim).mariadb(|args| is_decided_by(args, 0)),
    operator(&["TRIM TRAILING"], text_part::trim).mariadb(|args| is_decided_by(args, 0)),
    function(&["LTRIM"], text_part::trim).texts(Places::At(&[0])),
    function(&["RTRIM"], text_part::trim).texts(Places::At(&[0])),
    function(&["SUBSTRING_INDEX"], text_part::substring_index)
        .flow(Flow::First)
        .numbers(Places::At(&[2]))
        .mariadb(|args| is_decided_by(args, 0)),
    function(&["LENGTH", "OCTET_LENGTH"], measure::length)
        .filters()
        .texts(Places::At(&[0]))
        .bytes(),
    function(&["BIT_LENGTH"], measure::length).bytes(),
    function(&["CHAR_LENGTH", "CHARACTER_LENGTH"], measure::length)
        .filters()
        .texts(Places::At(&[0])),
    function(&["ASCII"], measure::code).grammar(),
    function(&["ORD"], measure::code),
    function(&["CRC32"], measure::crc32).filters().bytes(),
    function(&["LOCATE"], search::locate)
        .numbers(Places::At(&[2]))
        .mariadb(|args| args.iter().all(has_binary_order) && is_decided_by(args, 1)),
    function(&["INSTR"], search::locate)
        .flow(Flow::First)
        .mariadb(|args| args.iter().all(has_binary_order) && is_decided_by(args, 0)),
    function(&["POSITION"], search::locate)
        .grammar()
        .numbers(Places::At(&[2]))
        .mariadb(|args| args.iter().all(has_binary_order) && is_decided_by(args, 1)),
    function(&["FIELD"], search::field)
        .own_nulls()
        .mariadb(|args| compares(args) && is_decided_by(args, 0)),
    function(&["FIND_IN_SET"], search::find_in_set).flow(Flow::First).mariadb(mariadb::never),
    function(&["ELT"], list::elt)
        .own_nulls()
        .flow(Flow::First)
        .chooses(Chooses::Argument)
        .numbers(Places::At(&[0])),
    function(&["MAKE_SET"], list::make_set)
        .own_nulls()
        .numbers(Places::At(&[0]))
        .mariadb(|args| args.first().is_none_or(is_whole)),
    function(&["EXPORT_SET"], list::export_set)
        .own_nulls()
        .numbers(Places::At(&[0, 4]))
        .mariadb(|args| args.first().is_none_or(is_whole)),
    function(&["HEX"], codes::hex).bytes(),
    function(&["UNHEX"], codes::unhex),
    function(&["CONV"], codes::conv).flow(Flow::First).numbers(Places::All),
    function(&["BIN"], codes::conv).numbers(Places::All),
    function(&["OCT"], codes::conv).numbers(Places::All),
    function(&["CHAR"], codes::char_of).grammar().numbers(Places::All),
    operator(&["CHAR USING"], codes::char_of),
    function(&["FORMAT"], codes::format).grammar().numbers(Places::All),
    function(&["INET_ATON"], codes::inet_aton),
    function(&["INET_NTOA"], codes::inet_ntoa)
        .numbers(Places::All)
        .mariadb(|args| !args.iter().any(|it| it.ty.is_temporal())),
    function(&["IS_IPV4"], codes::is_address),
    function(&["IS_IPV6"], codes::is_address),
    function(&["CHARSET"], codes::about).grammar(),
    function(&["COLLATION"], codes::about)
        .grammar()
        .mariadb(|args| !args.iter().any(is_literal_text)),
    function(&["COERCIBILITY"], codes::about).mariadb(|args| !args.iter().any(is_literal_text)),
    function(&["TO_BASE64"], codes::to_base64).bytes(),
    function(&["FROM_BASE64"], codes::from_base64),
    // Dates and times.
    function(&["YEAR"], date_part::of_date)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &DATES)),
    function(&["MONTH"], date_part::of_date)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &DATES)),
    function(&["DAY"], date_part::of_date)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &DATES)),
    function(&["DAYOFMONTH"], date_part::of_date)
        .partitions()
        .filters_dates()
        .mariadb(|args| first(args, &DATES)),
    function(&["QUARTER"], date_part::of_date)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &DATES)),
    function(&["DAYOFYEAR"], date_part::of_date)
        .partitions()
        .filters_dates()
        .mariadb(|args| first(args, &DATES)),
    function(&["DAYOFWEEK"], date_part::of_date)
        .partitions()
        .filters_dates()
        .mariadb(|args| first(args, &DATES)),
    function(&["WEEKDAY"], date_part::of_date).partitions().mariadb(|args| first(args, &DATES)),
    function(&["WEEKOFYEAR"], date_part::of_date).partitions().mariadb(|args| first(args, &DATES)),
    function(&["TO_DAYS"], date_part::of_date).partitions().mariadb(|args| first(args, &DATES)),
    function(&["TO_SECONDS"], date_part::of_date).partitions().mariadb(|args| first(args, &DATES)),
    function(&["HOUR"], date_part::of_time)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &[Kind::Null, Kind::Date, Kind::Time, Kind::Text])),
    function(&["MINUTE"], date_part::of_time)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &[Kind::Null, Kind::Date, Kind::Time, Kind::Text])),
    function(&["SECOND"], date_part::of_time)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &[Kind::Null, Kind::Date, Kind::Time, Kind::Text])),
    function(&["MICROSECOND"], date_part::of_time)
        .partitions()
        .grammar()
        .mariadb(|args| first(args, &[Kind::Null, Kind::Date, Kind::Time, Kind::Text])),
    function(&["TIME_TO_SEC"], date_part::of_time)
        .partitions()
        .mariadb(|args| args.iter().all(|it| is_whole(it) || is_whole_time(it))),
    function(&["WEEK"], date_part::week_of)
        .grammar()
        .numbers(Places::At(&[1]))
        .mariadb(|args| first(args, &DATES)),
    function(&["YEARWEEK"], date_part::week_of)
        .partitions()
        .numbers(Places::At(&[1]))
        .mariadb(|args| first(args, &DATES)),
    function(&["DAYNAME"], date_part::name_of).mariadb(|args| first(args, &DATES)),
    function(&["MONTHNAME"], date_part::name_of).mariadb(|args| first(args, &DATES)),
    function(&["EXTRACT"], date_part::extract)
        .partitions()
        .grammar()
        .mariadb(|args| args.get(1).is_none_or(|it| kind(it) == Kind::Date)),
    function(&["DATEDIFF"], difference::dates).partitions().mariadb(|args| all(args, &DATES)),
    function(&["TIMEDIFF"], difference::times).mariadb(mariadb::never),
    function(&["TIMESTAMPDIFF"], difference::timestamps)
        .grammar()
        .keyword()
        .mariadb(|args| args.iter().skip(1).all(|it| DATES.contains(&kind(it)))),
    function(&["PERIOD_ADD"], difference::periods).numbers(Places::All),
    function(&["PERIOD_DIFF"], difference::periods).numbers(Places::All),
    function(&["DATE"], make::date).filters_dates().grammar().mariadb(|args| first(args, &DATES)),
    function(&["TIME"], make::time)
        .grammar()
        .mariadb(|args| first(args, &[Kind::Null, Kind::Date, Kind::Time, Kind::Text])),
    function(&["TIMESTAMP"], make::timestamp)
        .grammar()
        .mariadb(|args| args.len() == 1 && all(args, &DATES)),
    function(&["LAST_DAY"], make::last_day).mariadb(|args| first(args, &DATES)),
    function(&["MAKEDATE"], make::makedate).numbers(Places::All),
    function(&["MAKETIME"], make::maketime)
        .flow(Flow::First)
        .numbers(Places::All)
        .mariadb(|args| args.iter().all(is_whole)),
    function(&["SEC_TO_TIME"], make::sec_to_time)
        .numbers(Places::All)
        .mariadb(|args| args.first().is_none_or(is_whole)),
    function(&["FROM_DAYS"], make::from_days).numbers(Places::All).mariadb(mariadb::never),
    function(&["DATE_ADD"], interval::add)
        .grammar()
        .flow(Flow::First)
        .numbers(Places::At(&[1]))
        .mariadb(|args| args.first().is_none_or(is_moved)),
    function(&["DATE_SUB"], interval::add)
        .grammar()
        .numbers(Places::At(&[1]))
        .mariadb(|args| args.first().is_none_or(is_moved)),
    function(&["ADDDATE"], interval::add_days)
        .grammar()
        .numbers(Places::At(&[1]))
        .mariadb(|args| args.first().is_none_or(is_moved)),
    function(&["SUBDATE"], interval::add_days)
        .grammar()
        .numbers(Places::At(&[1]))
        .mariadb(|args| args.first().is_none_or(is_moved)),
    function(&["TIMESTAMPADD"], interval::timestamp_add)
        .grammar()
        .keyword()
        .numbers(Places::At(&[1]))
        .mariadb(|args| args.get(2).is_none_or(is_moved)),
    function(&["ADDTIME"], interval::add_time).mariadb(mariadb::never),
    function(&["SUBTIME"], interval::add_time).mariadb(mariadb::never),
    function(&["DATE_FORMAT"], format::date_format).mariadb(|args| first(args, &DATES)),
    function(&["TIME_FORMAT"], format::time_format)
        .mariadb(|args| first(args, &[Kind::Null, Kind::Date, Kind::Time, Kind::Text])),
    function(&["GET_FORMAT"], format::get_format).grammar().keyword(),
    function(&["STR_TO_DATE"], scan::str_to_date),
    function(&["NOW"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .grammar(),
    function(&["CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults),
    function(&["UTC_TIMESTAMP"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults),
    function(&["CURDATE"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .grammar(),
    function(&["CURRENT_DATE"], clock::current).volatile(Volatility::Time).stored(Stored::Defaults),
    function(&["UTC_DATE"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .grammar(),
    function(&["CURTIME"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .grammar(),
    function(&["CURRENT_TIME"], clock::current).volatile(Volatility::Time).stored(Stored::Defaults),
    function(&["UTC_TIME"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .grammar(),
    function(&["UNIX_TIMESTAMP"], clock::unix_timestamp)
        .bare(Volatility::Time)
        .partitions()
        .mariadb(|args| args.iter().all(|it| it.ty.wire == WireType::Timestamp)),
    function(&["FROM_UNIXTIME"], clock::from_unixtime).numbers(Places::All).mariadb(|args| {
        first(args, &[Kind::Null, Kind::Exact]) && args.first().is_none_or(|it| it.ty.decimals <= 6)
    }),
    function(&["CONVERT_TZ"], clock::convert_tz).mariadb(|args| first(args, &DATES)),
    // Sessions, and the rest.
    function(&["GREATEST"], greatest_least::resolve)
        .flow(Flow::First)
        .chooses(Chooses::Common)
        .mariadb(extremes),
    function(&["LEAST"], greatest_least::resolve)
        .flow(Flow::First)
        .chooses(Chooses::Common)
        .mariadb(extremes),
    function(&["VERSION"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Never),
    function(&["DATABASE"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Defaults)
        .grammar(),
    function(&["SCHEMA"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Defaults),
    function(&["USER"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Defaults)
        .grammar(),
    function(&["SESSION_USER", "SYSTEM_USER"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Defaults),
    function(&["CURRENT_USER"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Defaults)
        .grammar(),
    function(&["CONNECTION_ID"], session_info::resolve)
        .volatile(Volatility::Session)
        .stored(Stored::Defaults),
    // Functions of MySQL that are not computed here.
    elsewhere(&["AES_DECRYPT"]),
    elsewhere(&["AES_ENCRYPT"]),
    elsewhere(&["BENCHMARK"]).volatile(Volatility::Random).stored(Stored::Never),
    elsewhere(&["BIN_TO_UUID"]).mariadb(mariadb::never),
    elsewhere(&["COMPRESS"]),
    elsewhere(&["CURRENT_ROLE"]).volatile(Volatility::Session).stored(Stored::Defaults),
    elsewhere(&["DEFAULT"]),
    elsewhere(&["EXTRACTVALUE"]),
    elsewhere(&["FORMAT_BYTES"]).own_nulls(),
    elsewhere(&["FORMAT_PICO_TIME"]),
    elsewhere(&["FOUND_ROWS"]).volatile(Volatility::Session).stored(Stored::Never),
    elsewhere(&["GET_LOCK"]).volatile(Volatility::Effect).stored(Stored::Never),
    elsewhere(&["GROUPING"]),
    elsewhere(&["ICU_VERSION"]).volatile(Volatility::Session).stored(Stored::Never),
    elsewhere(&["INET6_ATON"]),
    elsewhere(&["INET6_NTOA"]),
    elsewhere(&["INTERVAL"]).own_nulls().mariadb(compares),
    elsewhere(&["IS_FREE_LOCK"]).volatile(Volatility::Effect).stored(Stored::Never),
    elsewhere(&["IS_IPV4_COMPAT"]),
    elsewhere(&["IS_IPV4_MAPPED"]),
    elsewhere(&["IS_USED_LOCK"]).volatile(Volatility::Effect).stored(Stored::Never),
    elsewhere(&["IS_UUID"]).mariadb(mariadb::never),
    elsewhere(&["JSON_ARRAY"]).own_nulls(),
    elsewhere(&["JSON_ARRAY_APPEND"]),
    elsewhere(&["JSON_ARRAY_INSERT"]),
    elsewhere(&["JSON_CONTAINS"]),
    elsewhere(&["JSON_CONTAINS_PATH"]),
    elsewhere(&["JSON_DEPTH"]),
    elsewhere(&["JSON_EXTRACT"]),
    elsewhere(&["JSON_INSERT"]),
    elsewhere(&["JSON_KEYS"]),
    elsewhere(&["JSON_LENGTH"]),
    elsewhere(&["JSON_MERGE"]),
    elsewhere(&["JSON_MERGE_PATCH"]),
    elsewhere(&["JSON_MERGE_PRESERVE"]),
    elsewhere(&["JSON_OBJECT"]).own_nulls(),
    elsewhere(&["JSON_OVERLAPS"]),
    elsewhere(&["JSON_PRETTY"]),
    elsewhere(&["JSON_QUOTE"]),
    elsewhere(&["JSON_REMOVE"]),
    elsewhere(&["JSON_REPLACE"]),
    elsewhere(&["JSON_SCHEMA_VALID"]),
    elsewhere(&["JSON_SCHEMA_VALIDATION_REPORT"]),
    elsewhere(&["JSON_SEARCH"]),
    elsewhere(&["JSON_SET"]),
    elsewhere(&["JSON_STORAGE_FREE"]),
    elsewhere(&["JSON_STORAGE_SIZE"]),
    elsewhere(&["JSON_TYPE"]),
    elsewhere(&["JSON_UNQUOTE"]),
    elsewhere(&["JSON_VALID"]),
    elsewhere(&["JSON_VALUE"]),
    elsewhere(&["LAST_INSERT_ID"])
        .volatile(Volatility::Effect)
        .bare(Volatility::Session)
        .stored(Stored::Never)
        .own_nulls(),
    elsewhere(&["LOAD_FILE"]).volatile(Volatility::Effect).stored(Stored::Never),
    elsewhere(&["MD5"]),
    elsewhere(&["NAME_CONST"]).stored(Stored::Never),
    elsewhere(&["PS_CURRENT_THREAD_ID"]).volatile(Volatility::Session),
    elsewhere(&["PS_THREAD_ID"]).volatile(Volatility::Session),
    elsewhere(&["RAND"]).volatile(Volatility::Random).stored(Stored::Defaults).own_nulls(),
    elsewhere(&["RANDOM_BYTES"]).volatile(Volatility::Random).stored(Stored::Defaults),
    elsewhere(&["REGEXP_INSTR"]).mariadb(mariadb::never),
    elsewhere(&["REGEXP_REPLACE"]).mariadb(mariadb::never),
    elsewhere(&["REGEXP_SUBSTR"]).mariadb(mariadb::never),
    elsewhere(&["RELEASE_ALL_LOCKS"]).volatile(Volatility::Effect).stored(Stored::Never),
    elsewhere(&["RELEASE_LOCK"]).volatile(Volatility::Effect).stored(Stored::Never),
    elsewhere(&["ROLES_GRAPHML"]).volatile(Volatility::Session).stored(Stored::Defaults),
    elsewhere(&["ROW_COUNT"]).volatile(Volatility::Session).stored(Stored::Never),
    elsewhere(&["SHA", "SHA1"]),
    elsewhere(&["SHA2"]),
    elsewhere(&["SLEEP"]).volatile(Volatility::Random).stored(Stored::Never),
    elsewhere(&["SOUNDEX"]),
    elsewhere(&["STATEMENT_DIGEST"]).stored(Stored::Defaults),
    elsewhere(&["STATEMENT_DIGEST_TEXT"]).stored(Stored::Defaults),
    elsewhere(&["ST_AREA"]),
    elsewhere(&["ST_ASBINARY", "ST_ASWKB"]),
    elsewhere(&["ST_ASGEOJSON"]),
    elsewhere(&["ST_ASTEXT", "ST_ASWKT"]),
    elsewhere(&["ST_BUFFER"]),
    elsewhere(&["ST_CENTROID"]),
    elsewhere(&["ST_CONTAINS"]),
    elsewhere(&["ST_CONVEXHULL"]),
    elsewhere(&["ST_CROSSES"]),
    elsewhere(&["ST_DIFFERENCE"]),
    elsewhere(&["ST_DIMENSION"]),
    elsewhere(&["ST_DISJOINT"]),
    elsewhere(&["ST_DISTANCE"]),
    elsewhere(&["ST_DISTANCE_SPHERE"]),
    elsewhere(&["ST_ENDPOINT"]),
    elsewhere(&["ST_ENVELOPE"]),
    elsewhere(&["ST_EQUALS"]),
    elsewhere(&["ST_EXTERIORRING"]),
    elsewhere(&["ST_GEOHASH"]),
    elsewhere(&["ST_GEOMCOLLFROMTEXT"]),
    elsewhere(&["ST_GEOMETRYN"]),
    elsewhere(&["ST_GEOMETRYTYPE"]),
    elsewhere(&["ST_GEOMFROMGEOJSON"]),
    elsewhere(&["ST_GEOMFROMTEXT"]),
    elsewhere(&["ST_GEOMFROMWKB"]),
    elsewhere(&["ST_INTERSECTION"]),
    elsewhere(&["ST_INTERSECTS"]),
    elsewhere(&["ST_ISCLOSED"]),
    elsewhere(&["ST_ISEMPTY"]),
    elsewhere(&["ST_ISSIMPLE"]),
    elsewhere(&["ST_ISVALID"]),
    elsewhere(&["ST_LATITUDE"]),
    elsewhere(&["ST_LENGTH"]),
    elsewhere(&["ST_LINEFROMTEXT"]),
    elsewhere(&["ST_LONGITUDE"]),
    elsewhere(&["ST_MAKEENVELOPE"]),
    elsewhere(&["ST_NUMGEOMETRIES"]),
    elsewhere(&["ST_NUMPOINTS"]),
    elsewhere(&["ST_POINTFROMTEXT"]),
    elsewhere(&["ST_POINTN"]),
    elsewhere(&["ST_POLYFROMTEXT"]),
    elsewhere(&["ST_SIMPLIFY"]),
    elsewhere(&["ST_SRID"]),
    elsewhere(&["ST_STARTPOINT"]),
    elsewhere(&["ST_SYMDIFFERENCE"]),
    elsewhere(&["ST_TOUCHES"]),
    elsewhere(&["ST_TRANSFORM"]),
    elsewhere(&["ST_UNION"]),
    elsewhere(&["ST_VALIDATE"]),
    elsewhere(&["ST_WITHIN"]),
    elsewhere(&["ST_X"]),
    elsewhere(&["ST_Y"]),
    elsewhere(&["SYSDATE"]).volatile(Volatility::Random).stored(Stored::Defaults).grammar(),
    elsewhere(&["UNCOMPRESS"]),
    elsewhere(&["UNCOMPRESSED_LENGTH"]),
    elsewhere(&["UPDATEXML"]).stored(Stored::Never),
    elsewhere(&["UUID"]).volatile(Volatility::Random).stored(Stored::Defaults).own_nulls(),
    elsewhere(&["UUID_SHORT"]).volatile(Volatility::Random).stored(Stored::Defaults),
    elsewhere(&["UUID_TO_BIN"]).mariadb(mariadb::never),
    elsewhere(&["VALIDATE_PASSWORD_STRENGTH"]),
    elsewhere(&["VALUES"]).stored(Stored::Never).own_nulls(),
    elsewhere(&["WAIT_FOR_EXECUTED_GTID_SET"]).volatile(Volatility::Effect).stored(Stored::Never),
    elsewhere(&["GTID_SUBSET"]).volatile(Volatility::Session),
    elsewhere(&["GTID_SUBTRACT"]),
    elsewhere(&["SOURCE_POS_WAIT"]).volatile(Volatility::Effect),
    elsewhere(&["WEIGHT_STRING"]).own_nulls(),
    of_mariadb(&["ANY_VALUE"]).own_nulls(),
    of_mariadb(&["LASTVAL"]).volatile(Volatility::Effect),
    of_mariadb(&["MASTER_GTID_WAIT"]).volatile(Volatility::Effect),
    of_mariadb(&["MASTER_POS_WAIT"]).volatile(Volatility::Effect).stored(Stored::Never),
    of_mariadb(&["NEXTVAL"]).volatile(Volatility::Effect),
    of_mariadb(&["NVL"]).own_nulls(),
    of_mariadb(&["SETVAL"]).volatile(Volatility::Effect),
    of_mariadb(&["SYS_GUID"]).volatile(Volatility::Random),
    of_mariadb(&["WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS"]).volatile(Volatility::Effect),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fmt::Write as _;

    use super::*;
    use crate::registry::function::Filters;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/functions.md");

    #[test]
    fn every_name_has_one_row() {
        let names: usize = TABLE.iter().map(|row| row.names.len()).sum();
        let different: HashSet<_> = TABLE.iter().flat_map(|row| row.names).collect();
        assert_eq!(names, different.len());
        assert!(different.iter().all(|name| **name == name.to_ascii_uppercase()));
    }

    /// The page of the reference that the table makes.
    fn page() -> String {
        let mut page = "# Functions\n\nGenerated from `crates/functions/src/registry/table.rs`; \
                        aggregates and window functions are not in it.\n\nHere: Pelorus computes \
                        it, over native tables, mirrors and linked servers. Linked servers: a query \
                        that calls it runs on the linked server of its tables.\n\n| function | \
                        computed | depends on | definitions that may call it | partitioning | a \
                        mirror's `WHERE` |\n| --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
        let mut rows: Vec<&Function> = TABLE.iter().filter(|row| row.is_mysql).collect();
        rows.retain(|row| row.names[0].chars().all(|char| char.is_alphanumeric() || char == '_'));
        rows.sort_by_key(|row| row.names[0]);
        for row in rows {
            let names = row.names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
            let depends = |volatility| match volatility {
                Volatility::Immutable => "",
                Volatility::Time => "the statement's time",
                Volatility::Session => "the session",
                Volatility::Random => "chance",
                Volatility::Effect => "has side effects",
            };
            let mut on = depends(row.volatility).to_owned();
            if let Some(bare) = row.without_arguments {
                write!(on, "; without arguments: {}", depends(bare)).unwrap();
            }
            let stored = match row.stored {
                Stored::Everywhere => "all",
                Stored::Defaults => "defaults",
                Stored::Never => "none",
            };
            let filters = match row.filters {
                Filters::No => "",
                Filters::Yes => "yes",
                Filters::Dates => "of dates",
            };
            let here = if row.bind.is_some() { "here" } else { "on linked servers" };
            let partitions = if row.in_partitions { "yes" } else { "" };
            let names = names.join(", ");
            let on = on.trim_start_matches("; ");
            writeln!(page, "| {names} | {here} | {on} | {stored} | {partitions} | {filters} |")
                .unwrap();
        }
        page
    }

    #[test]
    fn the_reference_page_is_fresh() {
        if std::env::var_os("PELORUS_WRITE_PAGES").is_some() {
            std::fs::write(PAGE, page()).unwrap();
        }
        let written = std::fs::read_to_string(PAGE).unwrap();
        for (expected, found) in page().lines().zip(written.lines()) {
            assert_eq!(
                found, expected,
                "write it: PELORUS_WRITE_PAGES=1 cargo test -p pelorus-functions reference_page"
            );
        }
        assert_eq!(page().lines().count(), written.lines().count());
    }
}

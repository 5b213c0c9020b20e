//! The errors that functions raise, with MySQL's texts.

use pelorus_error::{Code, Error};

/// Error 1690.
pub(crate) fn out_of_range(kind: &str, text: &str) -> Error {
    Error::new(Code::DataOutOfRange, format!("{kind} value is out of range in '{text}'"))
}

/// Error 1582.
///
/// Functions that MySQL's grammar knows by name give a syntax error instead.
pub(crate) fn parameter_count(name: &str) -> Error {
    const GRAMMAR: [&str; 48] = [
        "ADDDATE",
        "ASCII",
        "CHAR",
        "CHARSET",
        "COALESCE",
        "COLLATION",
        "CURDATE",
        "CURRENT_USER",
        "CURTIME",
        "DATABASE",
        "DATE",
        "DATE_ADD",
        "DATE_SUB",
        "DAY",
        "EXTRACT",
        "FORMAT",
        "GET_FORMAT",
        "HOUR",
        "IF",
        "INSERT",
        "LEFT",
        "MICROSECOND",
        "MID",
        "MINUTE",
        "MOD",
        "MONTH",
        "NOW",
        "POSITION",
        "QUARTER",
        "REPEAT",
        "REPLACE",
        "REVERSE",
        "RIGHT",
        "SECOND",
        "SUBDATE",
        "SUBSTRING",
        "SYSDATE",
        "TIME",
        "TIMESTAMP",
        "TIMESTAMPADD",
        "TIMESTAMPDIFF",
        "TRIM",
        "TRUNCATE",
        "USER",
        "UTC_DATE",
        "UTC_TIME",
        "WEEK",
        "YEAR",
    ];
    if GRAMMAR.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return Error::new(
            Code::Syntax,
            format!(
                "You have an error in your SQL syntax; check the manual that corresponds to your \
                 MySQL server version for the right syntax to use near '{name}'"
            ),
        );
    }
    Error::new(
        Code::WrongParameterCount,
        format!("Incorrect parameter count in the call to native function '{name}'"),
    )
}

/// Error 1305.
pub(crate) fn no_such_function(database: Option<&str>, name: &str) -> Error {
    let full = match database {
        Some(database) => format!("{database}.{name}"),
        None => name.to_owned(),
    };
    Error::new(Code::NoSuchFunction, format!("FUNCTION {full} does not exist"))
}

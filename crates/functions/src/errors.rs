//! The errors that functions raise, in MySQL's words.

use pelorus_error::{Code, Error};

/// Error 1690.
pub(crate) fn out_of_range(kind: &str, text: &str) -> Error {
    Error::new(Code::DataOutOfRange, format!("{kind} value is out of range in '{text}'"))
}

/// Error 1582.
pub(crate) fn parameter_count(name: &str) -> Error {
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

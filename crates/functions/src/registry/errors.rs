//! The errors that functions raise, with MySQL's texts.

use pelorus_error::{Code, Error};

/// Error 1690.
pub(crate) fn out_of_range(kind: &str, text: &str) -> Error {
    Error::new(Code::DataOutOfRange, format!("{kind} value is out of range in '{text}'"))
}

/// Error 1582. Of functions that MySQL's grammar knows, [`crate::registry::resolve`] makes a syntax
/// error of it.
pub(crate) fn parameter_count(name: &str) -> Error {
    Error::new(
        Code::WrongParameterCount,
        format!("Incorrect parameter count in the call to native function '{name}'"),
    )
}

/// Error 1064 of a call.
pub(crate) fn syntax_error_near(name: &str) -> Error {
    Error::new(
        Code::Syntax,
        format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your \
             MySQL server version for the right syntax to use near '{name}'"
        ),
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

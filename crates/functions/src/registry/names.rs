//! Questions about a function by its name, in upper case.

use pelorus_error::Result;

use super::function::{Stored, Volatility};
use super::mariadb;
use super::table::find;
use crate::value::Arg;

/// Whether MySQL has a function of this name.
pub fn is_function(name: &str) -> bool {
    find(name).is_some_and(|row| row.is_mysql)
}

/// Whether a function's value is not that of its arguments alone, so that no generated column and no
/// CHECK constraint may call it.
pub fn is_of_moment(name: &str) -> bool {
    find(name).is_some_and(|row| row.stored != Stored::Everywhere)
}

/// What the value of a call with so many arguments depends on. Nothing is known of stored functions.
pub fn volatility(name: &str, arguments: usize) -> Volatility {
    let of = find(name).map(|row| match row.without_arguments {
        Some(volatility) if arguments == 0 => volatility,
        _ => row.volatility,
    });
    of.unwrap_or(Volatility::Immutable)
}

/// Whether each call gives another value, for [`volatility`]'s arguments.
pub fn is_random(name: &str, arguments: usize) -> bool {
    volatility(name, arguments) == Volatility::Random
}

/// Whether the value is that of the statement's time.
pub fn is_of_time(name: &str, arguments: usize) -> bool {
    volatility(name, arguments) == Volatility::Time
}

/// Whether the call changes something.
pub fn has_effects(name: &str, arguments: usize) -> bool {
    volatility(name, arguments) == Volatility::Effect
}

/// Refuses a call that a MariaDB may compute otherwise.
///
/// # Errors
/// 1235.
pub fn check_mariadb(name: &str, args: &[Arg]) -> Result<()> {
    if mariadb::contradict(args) {
        return Err(mariadb::differs("texts whose collations contradict each other"));
    }
    let same = find(name).is_none_or(|row| (row.on_mariadb)(args));
    if same { Ok(()) } else { Err(mariadb::differs(name)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_functions_depend_on_other_things_without_arguments() {
        let found = |name, arguments| volatility(name, arguments);
        assert_eq!(found("UNIX_TIMESTAMP", 0), Volatility::Time);
        assert_eq!(found("UNIX_TIMESTAMP", 1), Volatility::Immutable);
        assert_eq!(found("LAST_INSERT_ID", 0), Volatility::Session);
        assert_eq!(found("LAST_INSERT_ID", 1), Volatility::Effect);
        assert_eq!(found("RAND", 0), Volatility::Random);
        assert_eq!(found("USER", 0), Volatility::Session);
        assert_eq!(found("D.F", 1), Volatility::Immutable);
    }

    #[test]
    fn definitions_call_what_depends_on_arguments_alone() {
        assert!(is_of_moment("NOW") && is_of_moment("UUID") && is_of_moment("SLEEP"));
        assert!(!is_of_moment("ABS") && !is_of_moment("D.F"));
        assert!(is_function("JSON_EXTRACT") && !is_function("NVL") && !is_function("AND"));
    }
}

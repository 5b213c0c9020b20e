//! When a commit to native tables is acknowledged: the session's setting or the tables' setting
//! decides.

use pelorus_error::{Code, Error, Result};
use pelorus_sql::ddl::TableDefinition;
use pelorus_store::Durability;

use super::definition::NativeDef;

/// The durability that a session requests (`pelorus_durability`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// As the tables say that are written to; all of them must be content with less.
    Tables,
    /// Durable first.
    Synced,
    /// At once.
    Soon,
}

impl Wanted {
    /// Reads the variable.
    pub fn of_variable(text: &str) -> Self {
        match text {
            "SYNC" => Self::Synced,
            "ASYNC" => Self::Soon,
            _ => Self::Tables,
        }
    }

    /// The durability of a commit to some tables.
    pub(crate) fn of<'d>(self, tables: impl IntoIterator<Item = &'d NativeDef>) -> Durability {
        let soon = match self {
            Self::Synced => false,
            Self::Soon => true,
            Self::Tables => {
                let mut tables = tables.into_iter().peekable();
                // A commit to none would show at once what others are still waiting for.
                tables.peek().is_some() && tables.all(|it| is_soon(&it.definition))
            }
        };
        if soon { Durability::Async } else { Durability::Synced }
    }
}

fn is_soon(definition: &TableDefinition) -> bool {
    definition.option("COMMIT").is_some_and(|text| text.eq_ignore_ascii_case("ASYNC"))
}

/// Checks the table option `COMMIT`.
///
/// # Errors
/// Another word than SYNC and ASYNC (1064).
pub(super) fn check(definition: &TableDefinition) -> Result<()> {
    match definition.option("COMMIT") {
        Some(text) if !["SYNC", "ASYNC"].iter().any(|it| text.eq_ignore_ascii_case(it)) => {
            let text = format!("the table option COMMIT cannot be '{text}'");
            Err(Error::new(Code::Syntax, text))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_to_no_table_is_not_asynchronous() {
        assert_eq!(Wanted::Tables.of([]), Durability::Synced);
        assert_eq!(Wanted::of_variable("ASYNC").of([]), Durability::Async);
    }
}

//! System variables: one table with the type, the scope, the bounds and the effect of each.
//!
//! | module | owns |
//! | --- | --- |
//! | [`table`] | the table |
//! | [`value`] | values, and how they are read, shown and typed |
//! | [`check`] | the values that a variable accepts |
//! | [`session`] | session values and global values |

pub(crate) mod check;
pub(crate) mod session;
pub(crate) mod table;
pub(crate) mod value;

use pelorus_error::{Code, Error, Result};

pub(crate) use session::{Globals, SessionVariables};
pub(crate) use table::TABLE;
pub(crate) use value::VarValue;

/// Where a variable has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// One value for the server.
    Global,
    /// One for each session, and a global one that new sessions begin with.
    Both,
    /// One for each session only.
    Session,
}

/// Which values it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Bool,
    /// An integer within bounds, shown as unsigned when the lower bound is not negative.
    Int(i64, u64),
    /// Seconds with a fraction.
    Double(f64, f64),
    /// One of these words; numbers count from 0.
    Enum(&'static [&'static str]),
    Text,
    /// Text or NULL.
    NullableText,
    /// A charset that clients may use.
    Charset,
    /// The same, or NULL for "as it is".
    NullableCharset,
    Collation,
    SqlMode,
    TimeZone,
    /// `name=on,name=off`, handed to servers as it is.
    Switches,
}

/// The effect of setting the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It takes effect here.
    Here,
    /// It is handed to linked servers with every statement of the session.
    Relayed,
    /// It can be set without effect, because the feature that it tunes does not exist here; the doc
    /// names it.
    NoEffect,
    /// It can be set to the value that it has; others are refused as not supported.
    OnlyDefault,
    /// The configuration file can set it; a running server cannot (1238).
    AtStart,
    /// It cannot be set (1238).
    Never,
}

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) scope: Scope,
    pub(crate) kind: Kind,
    /// The default in the words of `SHOW VARIABLES`; `None` if the engine computes it at the start
    /// or when it is read.
    pub(crate) default: Option<&'static str>,
    pub(crate) change: Change,
    /// Shown by the reference and by `pelorus.variables`.
    pub(crate) doc: &'static str,
}

/// Finds a variable by name, in any case and with `-` for `_` as in option files.
///
/// # Errors
/// Unknown (1193).
pub(crate) fn find(name: &str) -> Result<&'static Variable> {
    // MySQL's old names of variables that drivers still ask for.
    let name = if name.eq_ignore_ascii_case("tx_isolation") {
        "transaction_isolation"
    } else if name.eq_ignore_ascii_case("tx_read_only") {
        "transaction_read_only"
    } else {
        name
    };
    TABLE.iter().find(|variable| variable.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        Error::new(Code::UnknownSystemVariable, format!("Unknown system variable '{name}'"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_its_defaults_are_values() {
        for pair in TABLE.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} and {}", pair[0].name, pair[1].name);
        }
        for variable in TABLE {
            if let Some(default) = variable.default {
                let value = VarValue::Text(default.to_owned());
                check::convert(variable, &value).unwrap_or_else(|error| {
                    panic!("default of {}: {error}", variable.name);
                });
            }
            assert!(variable.doc.ends_with('.') || variable.doc.is_empty(), "{}", variable.name);
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(find("SQL_Mode").unwrap().name, "sql_mode");
        assert_eq!(find("tx_isolation").unwrap().name, "transaction_isolation");
        let error = find("nonsense").unwrap_err();
        assert_eq!((error.errno(), error.message()), (1193, "Unknown system variable 'nonsense'"));
    }

    /// The page of the reference that the table makes.
    fn page() -> String {
        let mut page = "# System variables\n\nGenerated from \
                        `crates/engine/src/variables/table.rs`.\n\n| name | scope | default | \
                        setting it | meaning |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
        for variable in TABLE {
            let scope = match variable.scope {
                Scope::Global => "global",
                Scope::Both => "both",
                Scope::Session => "session",
            };
            let effect = match variable.change {
                Change::Here => "takes effect here",
                Change::Relayed => "handed to linked servers",
                Change::NoEffect => "no effect",
                Change::OnlyDefault => "only the default",
                Change::AtStart => "in the configuration",
                Change::Never => "read only",
            };
            let default = match variable.default {
                None | Some("") => String::new(),
                Some(default) => format!("`{}`", default.replace('|', "\\|")),
            };
            page.push_str(&format!(
                "| `{}` | {scope} | {default} | {effect} | {} |\n",
                variable.name, variable.doc
            ));
        }
        page
    }

    #[test]
    fn the_reference_page_is_fresh() {
        let written = include_str!("../../../docs/reference/variables.md");
        for (expected, found) in page().lines().zip(written.lines()) {
            assert_eq!(found, expected, "docs/reference/variables.md");
        }
        assert_eq!(page().lines().count(), written.lines().count());
    }
}

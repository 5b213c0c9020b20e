//! The text of a statement that runs unchanged on a server.

use pelorus_error::{Error, Result};
use pelorus_link::{Link, SessionSettings};
use pelorus_sql::Mode;
use pelorus_sql::lexer::{Lexer, server_text};

/// Schemas in which a server shows its inside.
const SYSTEM_SCHEMAS: [&str; 2] = ["performance_schema", "sys"];

/// Functions that change or show more than tables; a session that only reads may not call them on a
/// server, whose READ ONLY transactions allow it.
const NOT_FOR_READERS: [&str; 5] =
    ["GET_LOCK", "LOAD_FILE", "RELEASE_ALL_LOCKS", "RELEASE_LOCK", "SETVAL"];

/// Functions that take something for their connection, which the session does not keep.
pub(crate) const HELD: [&str; 3] = ["GET_LOCK", "RELEASE_LOCK", "RELEASE_ALL_LOCKS"];

/// Makes the text of a statement for a server, from the tokens that it was judged by.
/// `reads_system_schemas` is for queries where those of this server are shown.
///
/// # Errors
/// 1064 for text that is not made of tokens; 1235 for names of databases that are not shown here,
/// and for functions that a session which only reads may not call there.
pub async fn text_for_server(
    link: &Link,
    settings: &SessionSettings,
    sql: &str,
    mode: Mode,
    reads_system_schemas: bool,
) -> Result<String> {
    let names = TextNames::of(sql, mode);
    checked_text(link, settings, (sql, &names), mode, reads_system_schemas).await
}

/// The same, with the names in the text.
///
/// # Errors
/// As [`text_for_server`].
pub(crate) async fn checked_text(
    link: &Link,
    settings: &SessionSettings,
    (sql, names): (&str, &TextNames),
    mode: Mode,
    reads_system_schemas: bool,
) -> Result<String> {
    for function in &names.called {
        check_function(function, settings)?;
    }
    for name in &names.qualifiers {
        let is_read = reads_system_schemas && is_one_of(name, &SYSTEM_SCHEMAS);
        if !is_read && link.hides(name).await? {
            return Err(Error::unsupported(format_args!(
                "the name `{name}` in a statement for server '{}': its database of that name is not \
                 shown here",
                link.name()
            )));
        }
    }
    Ok(server_text(sql, mode)?.into_owned())
}

/// Refuses a function that a session may not call on a server.
///
/// # Errors
/// 1235.
pub(crate) fn check_function(function: &str, settings: &SessionSettings) -> Result<()> {
    if settings.read_only && is_one_of(function, &NOT_FOR_READERS) {
        let function = function.to_ascii_uppercase();
        return Err(Error::unsupported(format_args!(
            "{function} on a linked server, in a session that only reads"
        )));
    }
    Ok(())
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|it| it.eq_ignore_ascii_case(name))
}

/// Names in a text that is not understood.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TextNames {
    /// Names before a dot that may be databases, each once, except for functions in `sys`, which
    /// all accounts may call.
    qualifiers: Vec<String>,
    /// Names before a parenthesis, without a database.
    called: Vec<String>,
}

impl TextNames {
    /// Reads a text.
    pub(crate) fn of(sql: &str, mode: Mode) -> Self {
        let mut out = Self::default();
        // The names just read, with dots between them.
        let mut path: Vec<String> = Vec::new();
        let mut after_dot = false;
        for token in Lexer::new(sql, mode) {
            let is_dot = token.is_symbol(sql, ".");
            if !is_dot {
                let name = token.name(sql);
                if !after_dot || name.is_none() {
                    out.end(std::mem::take(&mut path), after_dot, token.is_symbol(sql, "("));
                }
                path.extend(name);
            }
            after_dot = is_dot;
        }
        out.end(path, after_dot, false);
        out
    }

    /// A function that the text calls and that takes something for its connection.
    pub(crate) fn held_function(&self) -> Option<&str> {
        self.called.iter().find(|it| is_one_of(it, &HELD)).map(String::as_str)
    }

    /// Notes a name that has ended, with a dot or without.
    fn end(&mut self, path: Vec<String>, after_dot: bool, is_call: bool) {
        let is_qualified = path.len() > 1 || after_dot;
        let Some(first) = path.into_iter().next() else { return };
        let list = match (is_qualified, is_call) {
            (true, true) if first.eq_ignore_ascii_case("sys") => return,
            (true, _) => &mut self.qualifiers,
            (false, true) => &mut self.called,
            (false, false) => return,
        };
        if !list.contains(&first) {
            list.push(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        let mode = Mode { ansi_quotes: true, ..Mode::default() };
        let found = TextNames::of(
            "SELECT a . b, `c`/* d.e */.f.g, sys.h(), \"i\".j(), k('l.m'), 1.5 FROM n.*, .o, `get_lock`(1)",
            mode,
        );
        assert_eq!(found.qualifiers, ["a", "c", "i", "n"]);
        assert_eq!(found.called, ["k", "get_lock"]);
    }
}

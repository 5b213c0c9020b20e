//! What each text file must and must not hold.

use crate::tree::{File, Tree};

/// A file longer than this has a seam somewhere.
const LINES_MAX: usize = 900;

/// Words that a finished change does not leave behind, as (file ending, word, what to do instead).
/// They are put together here so that this table does not find itself.
const LEFTOVERS: &[(&str, &[&str], &str)] = &[
    ("", &["FIX", "ME"], "mend it or file an issue"),
    ("", &["TO", "DO"], "do it or file an issue"),
    ("", &["XX", "X"], "say what is meant"),
    ("rs", &["dbg", "!("], "remove it"),
    ("rs", &["to", "do!("], "return an error that says what is not supported"),
    ("rs", &["unimple", "mented!("], "return an error that says what is not supported"),
    ("rs", &["#[igno", "re"], "a test runs or is deleted"),
    ("rs", &["#[should_", "panic"], "assert the error"),
];

/// Text of production code that only some crates or files may hold.
const TEXT_FENCES: &[(&str, &[&str])] = &[
    ("std::fs", &["env", "server", "bench"]),
    ("TcpStream", &["link", "mysql-server", "server", "bench"]),
    ("TcpListener", &["mysql-server", "server", "bench"]),
    ("UnixStream", &["link", "mysql-server", "server", "bench"]),
    // The engine looks up passwords that a link gives by reference to the environment.
    // Tests ask how much they should try.
    ("std::env::var", &["engine", "server", "bench", "crates/env/src/scale.rs"]),
    // The one way of text to a linked server: what is sent was checked there.
    ("command::QUERY", &["crates/link/src/connection.rs"]),
    ("command::STMT_PREPARE", &["crates/link/src/connection.rs"]),
    ("StatementText", &["crates/link/src/text.rs", "crates/link/src/connection.rs"]),
    // What a client wrote becomes text for a server in these places.
    (
        "server_text(",
        &[
            "crates/sql/src/lexer/server_text.rs",
            "crates/query/src/federation/passthrough_text.rs",
            "crates/query/src/run.rs",
            "crates/engine/src/session/statements/show/remote.rs",
        ],
    ),
    // An error that is not our own comes from a server's packet.
    ("Error::remote(", &["error", "link", "mysql-wire"]),
    // Handlers of statements take a context, which says what they may change.
    (
        "session: &mut Session,",
        &[
            "crates/engine/src/session/dispatch.rs",
            "crates/engine/src/session/statement_lifecycle.rs",
            "crates/engine/src/session/statements/execute.rs",
        ],
    ),
    (".pin_counting(", &["link", "crates/engine/src/session/primary_connection.rs"]),
    (
        "pinned.execute(",
        &[
            "crates/engine/src/session/primary_connection.rs",
            "crates/engine/src/session/primary_statement.rs",
        ],
    ),
    (
        "Target::Primary",
        &[
            "link",
            "query",
            "crates/engine/src/session/statements/show.rs",
            "crates/engine/src/info/remote_columns.rs",
        ],
    ),
    (
        "unsafe {",
        &[
            "crates/chunk/src/column/compact.rs",
            "crates/chunk/src/column/compact/avx2.rs",
            "crates/chunk/src/column/compact/avx512.rs",
            "crates/chunk/src/column/dictionary.rs",
            "crates/chunk/src/column/text.rs",
            "crates/env/src/memory.rs",
            "crates/link/src/stream/low_water.rs",
            "crates/server/src/main.rs",
        ],
    ),
];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.files.iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    if file.is("rs") {
        found.extend(check_rust(file));
    }
    if file.is("py") && !file.text.starts_with("\"\"\"") {
        found.push(format!("{}: begins without a docstring that says what it is for", file.path));
    }
    for (at, line) in file.text.lines().enumerate() {
        found.extend(check_line(file, at + 1, line));
    }
    found
}

fn check_rust(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    if !file.text.starts_with("//! ") {
        found.push(format!("{}: begins without `//!`, which says what it is for", file.path));
    }
    let mut before = "";
    for (at, line) in file.text.lines().enumerate() {
        let text = line.trim();
        // Behind `let a =` it is a value.
        if text.starts_with("matches!(") && text.ends_with(");") && !before.ends_with('=') {
            let number = at + 1;
            let complaint = "`matches!` alone checks nothing: `assert!`";
            found.push(format!("{}:{number}: {complaint}", file.path));
        }
        before = text;
    }
    if file.text.starts_with("//! stub") {
        found.push(format!("{}: is still a stub", file.path));
    }
    let lines = file.text.lines().count();
    if lines > LINES_MAX {
        found.push(format!("{}: {lines} lines; find the seam (at most {LINES_MAX})", file.path));
    }
    if file.path.ends_with("/mod.rs") {
        found.push(format!("{}: a module `foo` lives in `foo.rs`", file.path));
    }
    let Some(name) = file.path.strip_prefix("crates/").and_then(|rest| rest.split('/').next())
    else {
        return found;
    };
    if file.path.starts_with(&format!("crates/{name}/tests/")) {
        return found;
    }
    let shipped = file.text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    for (at, line) in shipped.lines().enumerate() {
        if logs_internals(line) {
            let number = at + 1;
            let complaint = "a log line is for people: `%` and words, not `?`";
            found.push(format!("{}:{number}: {complaint}", file.path));
        }
    }
    for (text, owners) in TEXT_FENCES {
        let uses = |line: &str| !line.trim_start().starts_with("//") && line.contains(text);
        let may = owners.contains(&name) || owners.contains(&&*file.path);
        if !may && !file.is_test() && shipped.lines().any(uses) {
            found.push(format!("{}: `{text}` is for {owners:?} only", file.path));
        }
    }
    found
}

/// Whether a line gives a field of a log line as Rust's `Debug` writes it.
fn logs_internals(line: &str) -> bool {
    let begins_field = |rest: &str| rest.starts_with(|c: char| c.is_ascii_lowercase());
    let line = line.trim_start();
    let in_macro = line.contains("tracing::")
        && ["(?", " ?", "= ?"].iter().any(|mark| line.split(mark).skip(1).any(begins_field));
    in_macro || line.strip_prefix('?').is_some_and(begins_field)
}

fn check_line(file: &File, number: usize, line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (ending, parts, instead) in LEFTOVERS {
        let word = parts.concat();
        if (ending.is_empty() || file.is(ending)) && has_word(line, &word) {
            found.push(format!("{}:{number}: `{word}`: {instead}", file.path));
        }
    }
    if ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark)) {
        found.push(format!("{}:{number}: a conflict that was not resolved", file.path));
    }
    if line.ends_with([' ', '\t']) && !file.is("md") {
        found.push(format!("{}:{number}: blanks at the end of the line", file.path));
    }
    found
}

/// Whether the word stands in the line, not as a part of a longer word.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !joins(line[..at].chars().next_back()) && !joins(line[at + word.len()..].chars().next())
            || !word.ends_with(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> usize {
        check_file(&File { path: path.to_owned(), text: text.to_owned() }).len()
    }

    #[test]
    fn a_plain_file_is_fine() {
        assert_eq!(complaints("crates/link/src/a.rs", "//! Says what it is for.\n"), 0);
        assert_eq!(complaints("a.py", "\"\"\"Says what it is for.\"\"\"\n"), 0);
    }

    #[test]
    fn each_fault_is_seen() {
        let head = "//! Says what it is for.\n";
        assert_eq!(complaints("crates/link/src/a.rs", "fn main() {}\n"), 1);
        assert_eq!(complaints("crates/link/src/mod.rs", head), 1);
        assert_eq!(complaints("crates/link/src/a.rs", &format!("{head}// TO{}\n", "DO later")), 1);
        assert_eq!(complaints("crates/link/src/a.rs", &format!("{head}use std::fs;\n")), 1);
        assert_eq!(complaints("crates/env/src/a.rs", &format!("{head}use std::fs;\n")), 0);
        assert_eq!(complaints("crates/env/src/a.rs", &head.repeat(901)), 1);
        assert_eq!(complaints("crates/env/src/a.rs", &format!("{head}matches!(a, b);\n")), 1);
        let logs = |line: &str| complaints("crates/env/src/a.rs", &format!("{head}{line}\n"));
        assert_eq!(logs("tracing::warn!(?item, \"what\");"), 1);
        assert_eq!(logs("tracing::warn!(link, ?item, \"what\");"), 1);
        assert_eq!(logs("    ?item,"), 1);
        assert_eq!(logs("tracing::warn!(%item, \"what?\");"), 0);
        assert_eq!(logs("let a = b()?;"), 0);
        let value = format!("{head}let a =\n    matches!(a, b);\n");
        assert_eq!(complaints("crates/env/src/a.rs", &value), 0);
        assert_eq!(complaints("crates/env/src/a.rs", &format!("{head}let a = 1; \n")), 1);
    }

    #[test]
    fn tests_may_use_the_disk() {
        let text = "//! Says what it is for.\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        assert_eq!(complaints("crates/link/src/a.rs", text), 0);
    }
}

//! Generates the reference page of errors, as Markdown.

use std::fmt::Write as _;

use crate::Code;

const HEAD: &str = "\
# Errors

Every error that Pelorus raises itself, by its number. Numbers and SQL states are MySQL's where MySQL
has the error; 9000 and above are Pelorus's own. An error of a linked server is passed on with the
number, state and text that the server gave it; the server's manual explains it.

Some numbers also appear as warnings (`SHOW WARNINGS`): under strict SQL mode a write with such a
warning fails with it.

This page is generated from `crates/error/src/code/table.rs` (`cargo xtask pages`).

| Number | SQL state | Meaning | What to do |
| --- | --- | --- | --- |
";

/// The page `docs/reference/errors.md`.
pub fn reference_page() -> String {
    let mut codes: Vec<Code> = Code::ALL.iter().map(|(code, _)| *code).collect();
    codes.sort_by_key(|code| code.errno());
    let mut page = HEAD.to_owned();
    for code in codes {
        let state = String::from_utf8_lossy(&code.sqlstate()).into_owned();
        let (meaning, remedy) = (code.meaning(), code.remedy());
        // A `String` accepts every write.
        writeln!(page, "| {} | {state} | {meaning} | {remedy} |", code.errno()).ok();
    }
    page
}

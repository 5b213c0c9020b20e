//! The list of planted bugs, as it stands in text files.
//!
//! ```text
//! [name-of-the-bug]
//! what  what it does wrong, in a sentence
//! file  crates/log/src/log.rs
//! form  expression
//! test  pelorus-log it module::name_of_a_test
//! --- old
//! text that stands in the file exactly once
//! --- new
//! what is put in its place
//! ```
//! A line `form` says how the bug gets into the copy:
//!
//! - `expression`: both texts are expressions of one type. The copy has
//!   `(if SWITCH { NEW } else { OLD })`.
//! - `statements`: both texts are statements that bind nothing for what follows, or the last
//!   expression of a block. The copy has `if SWITCH { NEW } else { OLD }`.
//! - no such line: the old text is replaced by the new one, and the crate is built again for this
//!   bug alone. Constants, patterns, removed derives and signatures need this form.
//!
//! All bugs with a switch are compiled into one build; a variable of the environment turns one on
//! (see `switch.rs`). Their old texts must not overlap. Prefer this form: a build takes minutes, a
//! switch nothing.
//!
//! A line `test` names the package, the test target (`lib`, or the name of an integration test; with
//! `+loom` or `+shuttle` it is built with that feature) and the test, which must fail. `#` begins a
//! comment outside of the two texts. A line in brackets always begins an entry, so that neither text
//! can have one.

use std::path::Path;

use anyhow::{Context as _, bail};

/// A mistake, and who must notice it.
#[derive(Clone, Debug, Default)]
pub(super) struct Bug {
    pub(super) name: String,
    /// Path from the root of the workspace.
    pub(super) file: String,
    pub(super) form: Form,
    pub(super) old: String,
    pub(super) new: String,
    pub(super) tests: Vec<Test>,
}

/// How a bug gets into the copy of the sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// Its text replaces the old one, in a build of its own.
    #[default]
    Replaced,
    /// With a switch, as an expression.
    Expression,
    /// With a switch, as statements.
    Statements,
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Test {
    pub(super) package: String,
    /// `lib` or the name of an integration test, and perhaps `+` and a feature.
    pub(super) target: String,
    /// Its path in there.
    pub(super) name: String,
}

/// Reads all lists, in order of their file names.
pub(super) fn read(root: &Path) -> anyhow::Result<Vec<Bug>> {
    let folder = root.join("xtask/planted");
    let entries = std::fs::read_dir(&folder).with_context(|| format!("no folder {folder:?}"))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut bugs = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "txt")) {
        let text = std::fs::read_to_string(path)?;
        bugs.extend(parse(&text, &path.display().to_string())?);
    }
    Ok(bugs)
}

/// Which part of an entry a line belongs to.
enum Part {
    Head,
    Old,
    New,
}

/// Reads one list; `what` names it in errors.
pub(super) fn parse(text: &str, what: &str) -> anyhow::Result<Vec<Bug>> {
    let mut bugs: Vec<Bug> = Vec::new();
    let mut part = Part::Head;
    for (number, line) in (1..).zip(text.lines()) {
        let name = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(name) = name {
            bugs.push(Bug { name: name.to_owned(), ..Bug::default() });
            part = Part::Head;
            continue;
        }
        let Some(bug) = bugs.last_mut() else {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            bail!("{what}:{number}: no [name] before it");
        };
        match (&part, line) {
            (_, "--- old") => part = Part::Old,
            (_, "--- new") => part = Part::New,
            (Part::Old, line) => add_line(&mut bug.old, line),
            (Part::New, line) => add_line(&mut bug.new, line),
            (Part::Head, line) => {
                head(bug, line).with_context(|| format!("{what}:{number}: {line:?}"))?;
            }
        }
    }
    for bug in &mut bugs {
        // Entries are set apart by empty lines.
        for text in [&mut bug.old, &mut bug.new] {
            text.truncate(text.trim_end().len());
        }
        if bug.file.is_empty() || bug.old.is_empty() || bug.tests.is_empty() || bug.old == bug.new {
            bail!("{what}: [{}] lacks its file, its text, its change or a test", bug.name);
        }
    }
    Ok(bugs)
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

fn head(bug: &mut Bug, line: &str) -> anyhow::Result<()> {
    let mut words = line.split_whitespace();
    match words.next() {
        None | Some("what" | "#") => {}
        Some("file") => bug.file = words.next().context("a path is missing")?.to_owned(),
        Some("form") => {
            bug.form = match words.next() {
                Some("expression") => Form::Expression,
                Some("statements") => Form::Statements,
                _ => bail!("a form is `expression` or `statements`"),
            }
        }
        Some("test") => {
            let words: Vec<&str> = words.collect();
            let [package, target, name] = words[..] else {
                bail!("a test is a package, a target and a name");
            };
            bug.tests.push(Test {
                package: package.to_owned(),
                target: target.to_owned(),
                name: name.to_owned(),
            });
        }
        Some(_) => bail!("neither `what`, `file`, `form` nor `test`"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_with_all_their_lines() {
        let text = "# head\n\n[one]\nwhat it does\nfile a/b.rs\nform expression\ntest p lib m::t\ntest p it u\n\
                    --- old\n    x(\n\n    y)\n--- new\n    z\n\n[two]\nfile c\ntest p lib t\n\
                    --- old\nq\n--- new\n";
        let bugs = parse(text, "text").unwrap();
        assert_eq!(bugs.len(), 2);
        assert_eq!((&*bugs[0].old, &*bugs[0].new), ("    x(\n\n    y)", "    z"));
        assert_eq!((bugs[0].tests.len(), &*bugs[0].file), (2, "a/b.rs"));
        assert_eq!((bugs[0].form, bugs[1].form), (Form::Expression, Form::Replaced));
        assert_eq!((&*bugs[1].old, &*bugs[1].new), ("q", ""));
        for wrong in
            ["x", "[a]\nfile f\n", "[a]\nfile f\ntest p q\n", "[a]\nform x\n", "[a]\nfoo\n"]
        {
            assert!(parse(wrong, "text").is_err(), "{wrong:?}");
        }
    }
}

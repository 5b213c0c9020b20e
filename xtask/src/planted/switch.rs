//! Bugs with switches: all are compiled into one build, and a variable of the environment turns
//! one of them on.

use std::ops::Range;
use std::path::Path;

use anyhow::Context as _;

use super::copy::Changes;
use super::list::{Bug, Form};

/// The variable that names the bug that is on.
pub(super) const VARIABLE: &str = "PELORUS_PLANTED_BUG";

/// The module that a crate with such bugs gets in the copy.
const MODULE: &str = "\
//! Which planted bug is on.

use std::sync::LazyLock;

static CHOSEN: LazyLock<Option<String>> =
    LazyLock::new(|| std::env::var(\"PELORUS_PLANTED_BUG\").ok());

pub(crate) fn is_on(name: &str) -> bool {
    CHOSEN.as_deref() == Some(name)
}
";

/// The files of the copy that differ from the sources once all of these bugs are planted.
pub(super) fn plant_all(root: &Path, bugs: &[&Bug]) -> anyhow::Result<Changes> {
    let mut changes = Changes::new();
    for bug in bugs {
        let (folder, _) = bug.file.split_once("/src/").context("not in the sources of a crate")?;
        let library = format!("{folder}/src/lib.rs");
        let module = format!("{folder}/src/planted_switch.rs");
        if changes.insert(module, MODULE.to_owned()).is_none() {
            let text = text_of(root, &changes, &library)?;
            changes.insert(library, text + "\nmod planted_switch;\n");
        }
        let text = text_of(root, &changes, &bug.file)?;
        changes.insert(bug.file.clone(), with_switch(&text, bug)?);
    }
    Ok(changes)
}

fn text_of(root: &Path, changes: &Changes, path: &str) -> anyhow::Result<String> {
    match changes.get(path) {
        Some(text) => Ok(text.clone()),
        None => std::fs::read_to_string(root.join(path)).with_context(|| path.to_owned()),
    }
}

/// Puts both texts of a bug where the old one stands.
fn with_switch(text: &str, bug: &Bug) -> anyhow::Result<String> {
    let Range { start, end } = place(text, bug)
        .with_context(|| format!("{}: its text does not stand in {} once", bug.name, bug.file))?;
    let Bug { name, old, new, .. } = bug;
    let both =
        format!("if crate::planted_switch::is_on({name:?}) {{\n{new}\n}} else {{\n{old}\n}}");
    let both = if bug.form == Form::Expression { format!("({both})") } else { both };
    Ok([&text[..start], &both, &text[end..]].concat())
}

/// Where the old text of a bug stands; `None` if it does not stand there exactly once.
pub(super) fn place(text: &str, bug: &Bug) -> Option<Range<usize>> {
    let mut found = text.match_indices(&bug.old);
    let (start, _) = found.next()?;
    found.next().is_none().then(|| start..start + bug.old.len())
}

#[cfg(test)]
mod tests {
    use super::super::list::parse;
    use super::*;

    #[test]
    fn both_texts_stand_in_the_copy() {
        let list = "[a]\nfile f\nform expression\ntest p lib t\n--- old\nx > 1\n--- new\nx > 2\n\
                    [b]\nfile f\nform statements\ntest p lib t\n--- old\ng();\n--- new\n";
        let bugs = parse(list, "text").unwrap();
        let text = with_switch("h(x > 1);\ng();\n", &bugs[0]).unwrap();
        let text = with_switch(&text, &bugs[1]).unwrap();
        assert_eq!(
            text,
            "h((if crate::planted_switch::is_on(\"a\") {\nx > 2\n} else {\nx > 1\n}));\n\
             if crate::planted_switch::is_on(\"b\") {\n\n} else {\ng();\n}\n"
        );
        assert!(with_switch("g(); g();", &bugs[1]).is_err());
    }
}

//! The pages of the documentation that are generated from tables in the code.
//!
//! `docs/reference/variables.md` and `functions.md` are generated too; tests of the crates whose
//! tables they come from compare them.

use std::fs;

use crate::tree::Tree;

/// A page and what writes it.
const PAGES: &[(&str, fn() -> String)] =
    &[("docs/reference/errors.md", pelorus_error::reference_page)];

/// The pages that are not what their tables say.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let is_stale = |(path, page): &&(&str, fn() -> String)| tree.text(path) != page();
    let stale = PAGES.iter().filter(is_stale);
    stale
        .map(|(path, _)| format!("{path}: is not what its table says: `cargo xtask pages`"))
        .collect()
}

/// Writes all pages.
pub(crate) fn write() -> anyhow::Result<()> {
    let tree = Tree::read()?;
    for (path, page) in PAGES {
        fs::write(tree.root.join(path), page())?;
    }
    Ok(())
}

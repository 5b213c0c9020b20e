//! A copy of the sources that keeps the times of files that have not changed, so that cargo builds
//! again only what was touched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// What of the workspace is copied.
const COPIED: &[&str] = &["Cargo.toml", "Cargo.lock", "clippy.toml", "crates", "xtask"];

/// Files that have another text in the copy, or are only there, by their paths from the root.
pub(super) type Changes = BTreeMap<String, String>;

/// Makes a folder hold what the workspace holds, with these changes.
pub(super) fn update(from: &Path, to: &Path, changes: &Changes) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {to:?}"))?;
    let changed: BTreeSet<PathBuf> = changes.keys().map(|path| to.join(path)).collect();
    let mut expected = changed.clone();
    for name in COPIED {
        copy(&from.join(name), &to.join(name), &changed, &mut expected)?;
    }
    for (path, text) in changes {
        write(&to.join(path), text.as_bytes())?;
    }
    remove_others(to, &expected)
}

/// Writes a file unless it holds that already.
pub(super) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {path:?}"))
}

fn copy(
    from: &Path,
    to: &Path,
    changed: &BTreeSet<PathBuf>,
    expected: &mut BTreeSet<PathBuf>,
) -> anyhow::Result<()> {
    expected.insert(to.to_owned());
    if changed.contains(to) {
        return Ok(());
    }
    if !from.is_dir() {
        let bytes = fs::read(from).with_context(|| format!("cannot read {from:?}"))?;
        return write(to, &bytes);
    }
    fs::create_dir_all(to).with_context(|| format!("cannot make {to:?}"))?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        copy(&from.join(&name), &to.join(&name), changed, expected)?;
    }
    Ok(())
}

/// Removes what a failed test or an older state of the sources has left.
fn remove_others(folder: &Path, expected: &BTreeSet<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match (expected.contains(&path), path.is_dir()) {
            (true, true) => remove_others(&path, expected)?,
            (true, false) => {}
            (false, true) => fs::remove_dir_all(&path)?,
            (false, false) => fs::remove_file(&path)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_brought_up_to_date_and_what_is_the_same_keeps_its_time() {
        let folder = std::env::temp_dir().join(format!("pelorus-xtask-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir_all(from.join("crates/a")).unwrap();
        fs::create_dir_all(from.join("xtask")).unwrap();
        for name in ["Cargo.toml", "Cargo.lock", "clippy.toml", "crates/a/b.rs", "crates/c.rs"] {
            fs::write(from.join(name), name).unwrap();
        }
        let changes = [("crates/a/b.rs", "a bug"), ("crates/a/switch.rs", "")];
        let changes = changes.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        update(&from, &to, &changes).unwrap();
        assert_eq!(fs::read_to_string(to.join("crates/a/b.rs")).unwrap(), "a bug");
        assert!(to.join("crates/a/switch.rs").try_exists().unwrap());
        let time = |name: &str| fs::metadata(to.join(name)).unwrap().modified().unwrap();
        let before = time("crates/c.rs");
        fs::write(to.join("crates/a/left.rs"), "left").unwrap();
        fs::create_dir_all(to.join("crates/left")).unwrap();
        update(&from, &to, &Changes::new()).unwrap();
        assert!(!to.join("crates/a/switch.rs").try_exists().unwrap());
        assert_eq!(fs::read_to_string(to.join("crates/a/b.rs")).unwrap(), "crates/a/b.rs");
        assert!(!to.join("crates/a/left.rs").try_exists().unwrap());
        assert!(!to.join("crates/left").try_exists().unwrap());
        assert_eq!(time("crates/c.rs"), before);
        fs::remove_dir_all(folder).unwrap();
    }
}

//! Planted bugs: mistakes put into a copy of the sources one at a time, each of which a named test
//! must notice. A test that cannot fail protects nothing; this shows that it can.
//!
//! The mistakes stand in `xtask/planted/*.txt`: which text of which file becomes which, and which
//! tests must fail then. `cargo xtask planted` builds and runs them; that every entry still fits
//! the sources is an ordinary test.

mod copy;
mod list;
mod run;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail};

use list::{Bug, Test};
use run::{Outcome, Workshop};

/// Plants the bugs of these names (all if there are none), and requires that each is noticed.
pub(crate) fn run(names: &[String]) -> anyhow::Result<()> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    let root = metadata.workspace_root.as_std_path();
    let mut bugs = list::read(root)?;
    let misfits = misfits(root, &bugs);
    if !misfits.is_empty() {
        bail!("entries that do not fit the sources:\n{}", misfits.join("\n"));
    }
    if let Some(name) = names.iter().find(|name| !bugs.iter().any(|bug| bug.name == **name)) {
        bail!("there is no planted bug {name:?}");
    }
    bugs.retain(|bug| names.is_empty() || names.contains(&bug.name));
    let workshop = Workshop::new(root, &metadata.target_directory.as_std_path().join("planted"))?;
    baseline(&workshop, &bugs)?;
    let mut missed = 0;
    for bug in &bugs {
        let begin = now();
        for (test, outcome) in workshop.plant(bug)? {
            let mark = if outcome.is_caught() { "  " } else { "! " };
            missed += usize::from(!outcome.is_caught());
            let (name, seconds) = (&bug.name, begin.elapsed().as_secs());
            println!("{mark}{:<15} {name:<44} {:>4} s  {}", outcome.word(), seconds, test.name);
            if let Outcome::NotBuilt(errors) = &outcome {
                println!("{errors}");
            }
        }
    }
    println!("planted: {} bugs, {missed} not noticed", bugs.len());
    if missed > 0 {
        bail!("{missed} planted bugs were not noticed; each needs a test");
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "how long a build takes is in no simulated run")]
fn now() -> Instant {
    Instant::now()
}

/// Without a bug all tests must pass, or their failing would say nothing.
fn baseline(workshop: &Workshop, bugs: &[Bug]) -> anyhow::Result<()> {
    let mut tests: Vec<&Test> = bugs.iter().flat_map(|bug| &bug.tests).collect();
    tests.sort_unstable();
    tests.dedup();
    for same in tests.chunk_by(|a, b| (&a.package, &a.target) == (&b.package, &b.target)) {
        match workshop.build_and_run(same)? {
            Outcome::Survived => {}
            Outcome::NotBuilt(errors) => bail!("the sources do not build:\n{errors}"),
            Outcome::Caught(output) | Outcome::Hung(output) => {
                bail!("without a bug, tests of {} fail:\n{output}", same[0].package)
            }
        }
    }
    println!("planted: {} tests pass without a bug", tests.len());
    Ok(())
}

/// Says what does not fit: text that does not stand in its file exactly once, tests that are not
/// there, names that occur twice.
fn misfits(root: &Path, bugs: &[Bug]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, bug) in bugs.iter().enumerate() {
        let mut complain = |what: &str| found.push(format!("{}: {what}", bug.name));
        if bugs[..at].iter().any(|other| other.name == bug.name) {
            complain("the name is there twice");
        }
        match std::fs::read_to_string(root.join(&bug.file)) {
            Err(error) => complain(&format!("{}: {error}", bug.file)),
            Ok(text) => match text.matches(&bug.old).count() {
                1 => {}
                count => complain(&format!("its text stands {count} times in {}", bug.file)),
            },
        }
        for test in bug.tests.iter().filter(|test| !exists(root, test)) {
            complain(&format!("{} has no test {}", test.package, test.name));
        }
    }
    found
}

/// Whether a crate has a function of this name; the run says whether it is a test.
fn exists(root: &Path, test: &Test) -> bool {
    let function = format!("fn {}(", test.name.rsplit("::").next().unwrap_or_default());
    let folder = test.package.strip_prefix("pelorus-").unwrap_or(&test.package);
    let mut folders = vec![root.join("crates").join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs")
                && std::fs::read_to_string(&path).is_ok_and(|text| text.contains(&function))
            {
                return true;
            }
        }
    }
    false
}

/// Plants a bug into a copy: its text stands in the file exactly once.
fn planted(text: &str, bug: &Bug) -> anyhow::Result<String> {
    let at = text.find(&bug.old).with_context(|| format!("{}: no such text", bug.name))?;
    Ok([&text[..at], &bug.new, &text[at + bug.old.len()..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_planted_bug_fits_the_sources() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let bugs = list::read(root).unwrap();
        assert!(bugs.len() >= 25, "{} bugs", bugs.len());
        let misfits = misfits(root, &bugs);
        assert!(misfits.is_empty(), "{}", misfits.join("\n"));
    }

    #[test]
    fn a_stale_entry_is_seen() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut bugs = list::read(root).unwrap();
        bugs.truncate(3);
        bugs[0].old.push_str("no such text");
        bugs[1].tests[0].name.push_str("no_such_test");
        let again = bugs[2].clone();
        bugs.push(again);
        assert_eq!(misfits(root, &bugs).len(), 3);
    }

    #[test]
    fn only_the_text_changes() {
        let bug =
            list::parse("[a]\nfile f\ntest pelorus-log it t\n--- old\nb\n--- new\nxyz\n", "t");
        assert_eq!(planted("abc\n", &bug.unwrap()[0]).unwrap(), "axyzc\n");
    }
}

//! Planted bugs: mistakes put into a copy of the sources, one at a time, or all with switches that
//! are turned on one at a time. A named test must notice each. A test that cannot fail protects
//! nothing; this shows that it can.
//!
//! The mistakes stand in `xtask/planted/*.txt`: which text of which file becomes which, and which
//! tests must fail then (`list.rs` describes the form). `cargo xtask planted` builds and runs them;
//! that every entry still fits the sources is an ordinary test.

mod copy;
mod list;
mod run;
mod switch;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, anyhow, bail};

use copy::Changes;
use list::{Bug, Form, Test};
use run::{Outcome, Workshop};

/// Plants the bugs of these names (all if there are none), and requires that each is noticed.
pub(crate) fn run(names: &[String]) -> anyhow::Result<()> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    let root = metadata.workspace_root.as_std_path();
    let bugs = list::read(root)?;
    let misfits = misfits(root, &bugs);
    if !misfits.is_empty() {
        bail!("entries that do not fit the sources:\n{}", misfits.join("\n"));
    }
    if let Some(name) = names.iter().find(|name| !bugs.iter().any(|bug| bug.name == **name)) {
        bail!("there is no planted bug {name:?}");
    }
    let folder = metadata.target_directory.as_std_path().join("planted");
    let (replaced, switched): (Vec<&Bug>, Vec<&Bug>) =
        bugs.iter().partition(|bug| bug.form == Form::Replaced);
    let chosen = |bugs: &[&Bug]| -> Vec<Bug> {
        let mut chosen: Vec<Bug> = bugs.iter().map(|bug| (*bug).clone()).collect();
        chosen.retain(|bug| names.is_empty() || names.contains(&bug.name));
        chosen
    };
    let mut missed = 0;
    let with_switches = chosen(&switched);
    if !with_switches.is_empty() {
        // All of them, whichever are run, so that the next run need not build again.
        let changes = switch::plant_all(root, &switched)?;
        let workshop = Workshop::new(root, &folder, "switched", &changes)?;
        missed += turn_on_each(&workshop, &with_switches)?;
    }
    let one_by_one = chosen(&replaced);
    if !one_by_one.is_empty() {
        let workshop = Workshop::new(root, &folder, "tree", &Changes::new())?;
        missed += plant_each(&workshop, &one_by_one)?;
    }
    println!("planted: {} bugs, {missed} not noticed", with_switches.len() + one_by_one.len());
    if missed > 0 {
        bail!("{missed} planted bugs were not noticed; each needs a test");
    }
    Ok(())
}

/// Builds the tests once with all bugs and their switches, and runs them with each switch. Returns
/// how many tests noticed nothing.
fn turn_on_each(workshop: &Workshop, bugs: &[Bug]) -> anyhow::Result<usize> {
    let begin = now();
    let mut binaries = BTreeMap::new();
    for same in by_target(&tests_of(bugs)) {
        let binary = workshop.build(same[0])?;
        let binary = binary.map_err(|errors| anyhow!("the bugs do not build:\n{errors}"))?;
        require_passed(same, workshop.run(&binary, same, None)?)?;
        binaries.insert((&same[0].package, &same[0].target), binary);
    }
    let (tests, seconds) = (tests_of(bugs).len(), begin.elapsed().as_secs());
    println!("planted: {tests} tests pass with no switch on ({seconds} s)");
    let mut missed = 0;
    for bug in bugs {
        for test in &bug.tests {
            let begin = now();
            let binary = &binaries[&(&test.package, &test.target)];
            let outcome = workshop.run(binary, &[test], Some(&bug.name))?;
            missed += report(bug, test, &outcome, begin);
        }
    }
    Ok(missed)
}

/// Builds and runs the tests of each bug with that bug alone. Returns how many noticed nothing.
fn plant_each(workshop: &Workshop, bugs: &[Bug]) -> anyhow::Result<usize> {
    let tests = tests_of(bugs);
    for same in by_target(&tests) {
        require_passed(same, workshop.build_and_run(same)?)?;
    }
    println!("planted: {} tests pass without a bug", tests.len());
    let mut missed = 0;
    for bug in bugs {
        let begin = now();
        for (test, outcome) in workshop.plant(bug)? {
            missed += report(bug, test, &outcome, begin);
        }
    }
    Ok(missed)
}

/// Prints what a test said of a bug; 1 if it noticed nothing.
fn report(bug: &Bug, test: &Test, outcome: &Outcome, begin: Instant) -> usize {
    let mark = if outcome.is_caught() { "  " } else { "! " };
    let (name, seconds) = (&bug.name, begin.elapsed().as_secs());
    println!("{mark}{:<15} {name:<44} {:>4} s  {}", outcome.word(), seconds, test.name);
    if let Outcome::NotBuilt(errors) = outcome {
        println!("{errors}");
    }
    usize::from(!outcome.is_caught())
}

/// The tests that notice these bugs, each once and those of one target side by side.
fn tests_of(bugs: &[Bug]) -> Vec<&Test> {
    let mut tests: Vec<&Test> = bugs.iter().flat_map(|bug| &bug.tests).collect();
    tests.sort_unstable();
    tests.dedup();
    tests
}

fn by_target<'a, 'b>(tests: &'a [&'b Test]) -> impl Iterator<Item = &'a [&'b Test]> {
    tests.chunk_by(|a, b| (&a.package, &a.target) == (&b.package, &b.target))
}

/// Without a bug all tests must pass, or their failing would say nothing.
fn require_passed(tests: &[&Test], outcome: Outcome) -> anyhow::Result<()> {
    match outcome {
        Outcome::Survived => Ok(()),
        Outcome::NotBuilt(errors) => bail!("the sources do not build:\n{errors}"),
        Outcome::Caught(output) | Outcome::Hung(output) => {
            bail!("without a bug, tests of {} fail:\n{output}", tests[0].package)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a build takes is in no simulated run")]
fn now() -> Instant {
    Instant::now()
}

/// Says what does not fit: text that does not stand in its file exactly once or overlaps another,
/// tests that are not there, names that occur twice.
fn misfits(root: &Path, bugs: &[Bug]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, bug) in bugs.iter().enumerate() {
        let mut complain = |what: &str| found.push(format!("{}: {what}", bug.name));
        if bugs[..at].iter().any(|other| other.name == bug.name) {
            complain("the name is there twice");
        }
        match std::fs::read_to_string(root.join(&bug.file)) {
            Err(error) => complain(&format!("{}: {error}", bug.file)),
            Ok(text) => match switch::place(&text, bug) {
                None => complain(&format!("its text does not stand once in {}", bug.file)),
                Some(place) => bugs[..at]
                    .iter()
                    .filter(|other| other.file == bug.file && other.form != Form::Replaced)
                    .filter(|other| bug.form != Form::Replaced && other.name != bug.name)
                    .filter_map(|other| Some((other, switch::place(&text, other)?)))
                    .filter(|(_, other)| other.start < place.end && place.start < other.end)
                    .for_each(|(other, _)| complain(&format!("its text overlaps {}", other.name))),
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
        assert!(bugs.len() >= 150, "{} bugs", bugs.len());
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
    fn texts_with_switches_do_not_overlap() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let bugs = list::read(root).unwrap();
        let bug = bugs.iter().find(|bug| bug.form == Form::Expression).unwrap();
        let again = |form| Bug { name: "again".to_owned(), form, ..bug.clone() };
        let found = misfits(root, &[bug.clone(), again(Form::Statements)]);
        assert_eq!(found, [format!("again: its text overlaps {}", bug.name)]);
        assert!(misfits(root, &[bug.clone(), again(Form::Replaced)]).is_empty());
    }

    #[test]
    fn only_the_text_changes() {
        let bug =
            list::parse("[a]\nfile f\ntest pelorus-log it t\n--- old\nb\n--- new\nxyz\n", "t");
        assert_eq!(planted("abc\n", &bug.unwrap()[0]).unwrap(), "axyzc\n");
    }
}

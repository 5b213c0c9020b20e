//! Runs the SQL expression files against what a real MySQL answered (`record.py` writes it down):
//! values, types, lengths, decimals, charsets, flags, errors and warnings.

mod support {
    pub(crate) mod parser;
    pub(crate) mod run;
}

use std::path::{Path, PathBuf};

use support::run::{Answer, Session};

#[derive(Default)]
struct Tally {
    right: usize,
    refused: Vec<String>,
    wrong: Vec<String>,
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the recorded answers are there")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.file_name().is_some_and(|name| name != "table.tsv"))
        .collect();
    files.sort();
    files
}

fn check(session: &Session, line: &str, tally: &mut Tally) {
    let mut fields = line.split('\t');
    let statement = fields.next().unwrap_or_default();
    let expected: Vec<&str> = fields.collect();
    let run = std::panic::AssertUnwindSafe(|| session.run(statement));
    let Ok(actual) = std::panic::catch_unwind(run) else {
        tally.wrong.push(format!("{statement}\n    panicked"));
        return;
    };
    match actual {
        Answer::Refused(why) => tally.refused.push(format!("{statement}  -- {why}")),
        Answer::Given(actual) if matches(&expected, &actual) => tally.right += 1,
        Answer::Given(actual) => {
            tally
                .wrong
                .push(format!("{statement}\n    mysql   {expected:?}\n    pelorus {actual:?}"));
        }
    }
}

/// Warnings are compared by number only where MySQL gave none or one kind: it repeats some.
fn matches(expected: &[&str], actual: &[String]) -> bool {
    if expected.len() != actual.len() {
        return false;
    }
    let last = expected.len() - 1;
    expected.iter().zip(actual).enumerate().all(|(at, (expected, actual))| {
        if at == last && !expected.starts_with("ERROR") {
            let kinds = |text: &str| {
                let mut kinds: Vec<&str> = text.split(',').filter(|kind| !ignored(kind)).collect();
                kinds.sort_unstable();
                kinds.dedup();
                kinds.join(",")
            };
            kinds(expected) == kinds(actual)
        } else {
            expected == actual
        }
    })
}

/// Deprecations and notes that come from the parser, and a note that MySQL adds to others.
fn ignored(kind: &str) -> bool {
    matches!(kind, "1287" | "1366" | "4095" | "4096" | "3720" | "3719" | "3778" | "4" | "")
}

#[test]
fn expressions_answer_as_mysql_does() {
    let session = Session::new();
    let mut wrong = Vec::new();
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("a recorded answer is text");
        let mut tally = Tally::default();
        for line in text.lines() {
            check(&session, line, &mut tally);
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        println!(
            "{}: {} right, {} refused, {} wrong",
            name.unwrap_or_default(),
            tally.right,
            tally.refused.len(),
            tally.wrong.len()
        );
        for refused in &tally.refused {
            println!("  refused: {refused}");
        }
        wrong.extend(tally.wrong);
    }
    for wrong in &wrong {
        println!("WRONG {wrong}");
    }
    assert!(wrong.is_empty(), "{} statements are answered wrongly", wrong.len());
}

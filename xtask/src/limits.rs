//! What may only shrink: the largest circle of each crate's files, long functions, tuples as
//! parameters, words that the style page rules out.
//!
//! `xtask/limits.txt` holds the counts of the day. A count that grew is a complaint, one that shrank
//! too, until `cargo xtask tidy --lower` has written it down.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::modules::Graph;
use crate::source::Source;
use crate::tree::{File, Tree};
use crate::words;

/// Where the counts are kept.
pub(crate) const PATH: &str = "xtask/limits.txt";

/// A function that is longer has a part with a name of its own.
const FUNCTION_LINES_MAX: usize = 70;

const HEAD: &str = "\
# What may only shrink. `cargo xtask tidy --lower` writes what has shrunk.
# circle CRATE: files in the largest circle of files that use each other
# tuples CRATE: parameters that are destructured tuples
# lines FUNCTION: functions of more than 70 lines
# word WORD: how often prose has it
";

/// Counts by what is counted.
pub(crate) type Counts = BTreeMap<String, usize>;

/// What was measured.
pub(crate) struct Measured {
    pub(crate) counts: Counts,
    /// The files of the largest circle, by crate.
    pub(crate) circles: BTreeMap<String, Vec<String>>,
}

/// Measures the tree.
pub(crate) fn measure(tree: &Tree) -> Measured {
    let mut counts = Counts::new();
    let mut circles = BTreeMap::new();
    for (name, files) in sources(&tree.files) {
        let graph: Vec<(&str, &Source)> =
            files.iter().map(|(path, source)| (*path, source)).collect();
        let circle = Graph::new(&graph).largest_circle();
        counts.insert(format!("circle {name}"), circle.len());
        circles.insert(name.to_owned(), circle);
        let mut tuples = 0;
        for (path, source) in &files {
            for function in source.functions() {
                tuples += function.tuples;
                if function.lines > FUNCTION_LINES_MAX {
                    let key = format!("lines crates/{name}/src/{path}::{}", function.name);
                    let longest = counts.entry(key).or_default();
                    *longest = function.lines.max(*longest);
                }
            }
        }
        counts.insert(format!("tuples {name}"), tuples);
    }
    for (word, count) in words::count(&tree.files) {
        counts.insert(format!("word {word}"), count);
    }
    counts.retain(|_, count| *count > 0);
    Measured { counts, circles }
}

/// The files that ship, by crate, each with its path from `src`.
fn sources(files: &[File]) -> BTreeMap<&str, Vec<(&str, Source)>> {
    let mut found: BTreeMap<&str, Vec<(&str, Source)>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is("rs") && !file.is_test()) {
        let Some(rest) = file.path.strip_prefix("crates/") else { continue };
        if let Some((name, path)) = rest.split_once("/src/") {
            found.entry(name).or_default().push((path, Source::of(&file.text)));
        }
    }
    found
}

/// What is wrong with the counts, compared with those that were written down.
pub(crate) fn check(measured: &Counts, written: &str) -> Vec<String> {
    let limits = parse(written);
    let keys: std::collections::BTreeSet<&String> = measured.keys().chain(limits.keys()).collect();
    let count = |counts: &Counts, key: &String| counts.get(key).copied().unwrap_or_default();
    let mut found = Vec::new();
    for key in keys {
        let (now, limit) = (count(measured, key), count(&limits, key));
        if now > limit {
            found.push(format!("{key}: {now}, at most {limit}{}", advice(key)));
        } else if now < limit {
            found
                .push(format!("{key}: {now}, and {PATH} says {limit}: `cargo xtask tidy --lower`"));
        }
    }
    found
}

/// What to do about a count that grew.
fn advice(key: &str) -> String {
    match key.split_once(' ') {
        Some(("circle", _)) => ": files of a crate use each other in one direction".to_owned(),
        Some(("lines", _)) => ": give a part of the function a name of its own".to_owned(),
        Some(("tuples", _)) => ": make a struct of what belongs together".to_owned(),
        Some((_, word)) => {
            let entry = words::RULED_OUT.iter().find(|(parts, _)| parts.concat() == word);
            entry.map(|(_, instead)| format!(": write {instead}")).unwrap_or_default()
        }
        None => String::new(),
    }
}

/// The text of the file with the counts that have shrunk.
pub(crate) fn lowered(measured: &Counts, written: &str) -> String {
    let mut text = HEAD.to_owned();
    for (key, limit) in parse(written) {
        let now = measured.get(&key).copied().unwrap_or_default().min(limit);
        if now > 0 {
            let _ = writeln!(text, "{key} {now}");
        }
    }
    text
}

fn parse(text: &str) -> Counts {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let (key, count) = line.rsplit_once(' ')?;
            Some((key.to_owned(), count.parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_only_shrink() {
        let counts = |circle| Counts::from([("circle store".to_owned(), circle)]);
        assert!(check(&counts(5), "circle store 5").is_empty());
        assert_eq!(check(&counts(6), "circle store 5").len(), 1);
        assert_eq!(check(&counts(4), "circle store 5").len(), 1);
        assert_eq!(check(&counts(1), "").len(), 1);
        assert_eq!(check(&Counts::new(), "circle store 5").len(), 1);
        assert!(lowered(&counts(4), "circle store 5").ends_with("circle store 4\n"));
        assert!(lowered(&counts(6), "circle store 5").ends_with("circle store 5\n"));
        assert_eq!(lowered(&Counts::new(), "circle store 5"), HEAD);
    }
}

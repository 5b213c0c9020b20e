//! Plan snapshots: each file of `cases` has a catalog and queries with the plans that must come out.
//!
//! A file begins with what it is about. Sections follow, each with a line `---- KIND`:
//!
//! | section | content |
//! | --- | --- |
//! | `native` | statements that make native tables and fill them |
//! | `server NAME VERSION` | `CREATE TABLE` statements of a linked server's database `NAME`; the comment of a table says how many rows it has |
//! | `query TEXT` | a query, and what is to be seen in its plans |
//! | `statement`, `scans`, `fragments`, `logical`, `physical` | its plans |
//!
//! `PELORUS_PLANS=record` writes the plans into the files. The linked servers are simulated
//! (`server`): they describe their tables and estimate statements, but have no rows.

// The tasks of the simulated servers plan queries.
#![recursion_limit = "256"]

mod catalog;
mod file;
mod server;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pelorus_query::PlanTexts;

use catalog::World;
use file::{Section, parse, write};

/// The sections that a query's plans are in.
const PLANS: [&str; 6] = ["error", "statement", "scans", "fragments", "logical", "physical"];

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans/cases");
    let entries = std::fs::read_dir(folder).expect("the folder of cases");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// The plans of a query as sections.
async fn planned(world: &World, sql: &str) -> Vec<Section> {
    let section = |kind: &str, body: String| Section { kind: kind.to_owned(), body };
    match pelorus_query::plans(&world.context(), sql).await {
        Err(error) => {
            vec![section("error", format!("{}: {}", error.errno(), error.message()))]
        }
        Ok(PlanTexts::Passthrough { link, why, sql }) => {
            vec![section(&format!("statement for {link}: {why}"), sql)]
        }
        Ok(PlanTexts::Here { parts, logical, physical }) => {
            let (mut scans, mut fragments) = (String::new(), String::new());
            for part in parts {
                let text = if part.place == "pelorus" { &mut scans } else { &mut fragments };
                let ranges = if part.ranges == 1 { "range" } else { "ranges" };
                let (place, operation) = (part.place, part.operation);
                writeln!(text, "{place} {operation}, {} {ranges}", part.ranges).expect("a text");
                writeln!(text, "  {}", part.detail).expect("a text");
            }
            let mut sections = Vec::new();
            for (kind, body) in [("scans", scans), ("fragments", fragments)] {
                if !body.is_empty() {
                    sections.push(section(kind, body));
                }
            }
            sections.push(section("logical", without_hashes(&logical)));
            sections.push(section("physical", without_hashes(&physical)));
            sections
        }
    }
}

/// A plan without the hashes in the names of join keys that are computed: they are others in each
/// process.
fn without_hashes(plan: &str) -> String {
    let mut pieces = plan.split('#');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        text.push('#');
        text.push_str(piece.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    text
}

/// The file with the plans that come out.
async fn replanned(text: &str) -> (String, usize) {
    let (head, sections) = parse(text);
    let is_plan =
        |section: &Section| PLANS.iter().any(|kind| section.kind.split(' ').next() == Some(kind));
    let mut world = World::new();
    let (mut out, mut queries) = (Vec::new(), 0);
    for section in sections.into_iter().filter(|section| !is_plan(section)) {
        let kind = section.kind.clone();
        match kind.split_once(' ').unwrap_or((&kind, "")) {
            ("native", _) => world.run_all(&section.body).await,
            ("server", name) => world.add_server(name, &section.body).await,
            ("query", _) => {
                queries += 1;
                let plans = planned(&world, &section.body).await;
                out.push(section);
                out.extend(plans);
                continue;
            }
            _ => panic!("a section of kind {kind:?}"),
        }
        out.push(section);
    }
    (write(&head, &out), queries)
}

/// The first line that differs, for people.
fn difference(expected: &str, found: &str) -> String {
    let (mut query, mut lines) = ("", expected.lines().zip(found.lines()));
    let differs = lines.find(|(expected, found)| {
        if found.starts_with("---- query") {
            query = found;
        }
        expected != found
    });
    let (expected, found) = differs.unwrap_or(("the end", "the end"));
    format!("{query}\n  expected: {expected}\n  found:    {found}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_are_those_of_the_files() {
    let records = std::env::var("PELORUS_PLANS").is_ok_and(|value| value == "record");
    let (mut queries, mut failures) = (0, Vec::new());
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("a file of cases");
        let (found, count) = replanned(&text).await;
        queries += count;
        if found == text {
            continue;
        }
        if records {
            std::fs::write(&path, &found).expect("a file of cases");
        } else {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            failures.push(format!("{name}: {}", difference(&text, &found)));
        }
    }
    assert!(queries >= 40, "{queries} queries");
    assert!(
        failures.is_empty(),
        "{}\nPELORUS_PLANS=record writes the plans into the files",
        failures.join("\n")
    );
}

//! The table of functions and operators: one row for each, with everything that is decided by its
//! name. Dispatch, short-circuit evaluation, fallibility, MariaDB's differences, the places in which
//! a definition may call it, the errors 1305 and 1582, and the reference page are looked up here.
//!
//! Functions that only linked servers compute have a row as well: queries that call them are sent
//! there.

mod dates;
mod numbers;
mod operators;
mod server_documents;
mod server_functions;
mod sessions;
mod texts;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::registry::function::Function;

/// The rows by subject, with the headings of the reference page.
static SUBJECTS: &[(&str, &[Function])] = &[
    ("Choices, comparisons and bits", operators::ROWS),
    ("Numbers", numbers::ROWS),
    ("Texts", texts::ROWS),
    ("Dates and times", dates::ROWS),
    ("Sessions, and the rest", sessions::ROWS),
    ("JSON and geometry, computed by linked servers only", server_documents::ROWS),
    ("Others that are computed by linked servers only", server_functions::ROWS),
];

fn rows() -> impl Iterator<Item = &'static Function> {
    SUBJECTS.iter().flat_map(|(_, rows)| rows.iter())
}

/// The row of a name in upper case.
pub fn find(name: &str) -> Option<&'static Function> {
    static BY_NAME: LazyLock<HashMap<&str, &Function>> = LazyLock::new(|| {
        rows().flat_map(|row| row.names.iter().map(move |name| (*name, row))).collect()
    });
    BY_NAME.get(name).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fmt::Write as _;

    use super::*;
    use crate::registry::function::{Filters, Stored, Volatility};

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/functions.md");

    /// Whether it is called by a name, and is no operator.
    fn is_named(row: &Function) -> bool {
        row.names[0].chars().all(|char| char.is_alphanumeric() || char == '_')
            && (row.is_mysql || row.bind.is_none())
            && row.names[0] != "ANY_VALUE"
    }

    #[test]
    fn every_name_has_one_row() {
        let names: usize = rows().map(|row| row.names.len()).sum();
        let different: HashSet<_> = rows().flat_map(|row| row.names).collect();
        assert_eq!(names, different.len());
        assert!(different.iter().all(|name| **name == name.to_ascii_uppercase()));
    }

    #[test]
    fn every_function_says_what_it_returns() {
        for row in rows().filter(|row| is_named(row)) {
            assert!(row.signature.contains(row.names[0]), "{:?}", row.names);
            assert!(row.text.ends_with('.'), "{:?}", row.names);
        }
    }

    fn cell(text: &str) -> String {
        text.replace('|', "\\|")
    }

    /// What a function returns, in a row for each.
    fn returns(page: &mut String, rows: &[Function]) {
        page.push_str("| function | returns | example |\n| --- | --- | --- |\n");
        let mut rows: Vec<&Function> = rows.iter().filter(|row| is_named(row)).collect();
        rows.sort_by_key(|row| row.names[0]);
        for row in rows {
            let mut names = format!("`{}`", row.signature);
            for synonym in &row.names[1..] {
                write!(names, ", `{synonym}`").unwrap();
            }
            let example = match row.example {
                None => String::new(),
                Some((example, None)) => format!("`{example}`"),
                Some((example, Some(""))) => format!("`{example}`: an empty text"),
                Some((example, Some(result))) => format!("`{example}`: `{result}`"),
            };
            let of_mariadb = if row.is_mysql { "" } else { " (MariaDB)" };
            let (names, text, example) = (cell(&names), cell(row.text), cell(&example));
            writeln!(page, "| {names}{of_mariadb} | {text} | {example} |").unwrap();
        }
    }

    /// Where a function may be called.
    fn places(page: &mut String) {
        page.push_str(
            "| function | NULL | depends on | definitions | partitioning | a mirror's `WHERE` |\n\
             | --- | --- | --- | --- | --- | --- |\n",
        );
        let mut rows: Vec<&Function> = rows().filter(|row| is_named(row) && row.is_mysql).collect();
        rows.sort_by_key(|row| row.names[0]);
        for row in rows {
            let depends = |volatility| match volatility {
                Volatility::Immutable => "",
                Volatility::Time => "the statement's time",
                Volatility::Session => "the session",
                Volatility::Random => "chance",
                Volatility::Effect => "has side effects",
            };
            let mut on = depends(row.volatility).to_owned();
            if let Some(bare) = row.without_arguments {
                write!(on, "; without arguments: {}", depends(bare)).unwrap();
            }
            let stored = match row.stored {
                Stored::Everywhere => "all",
                Stored::Defaults => "defaults",
                Stored::Never => "none",
            };
            let filters = match row.filters {
                Filters::No => "",
                Filters::Yes => "yes",
                Filters::Dates => "of dates",
            };
            let partitions = if row.in_partitions { "yes" } else { "" };
            let (name, on) = (row.names[0], on.trim_start_matches("; "));
            let null = if row.is_strict { "yes" } else { "" };
            writeln!(page, "| `{name}` | {null} | {on} | {stored} | {partitions} | {filters} |")
                .unwrap();
        }
    }

    /// The page of the reference that the table makes.
    fn page() -> String {
        let mut page = "# Functions\n\nGenerated from `crates/functions/src/registry/table/`; \
                        aggregates and window functions are not in it. Every example is run on a \
                        MySQL (those of functions that only MariaDB has on a MariaDB) and by \
                        Pelorus.\n\nPelorus computes all functions over native tables, mirrors and \
                        linked servers, except those of the last two sections.\n"
            .to_owned();
        for (subject, rows) in SUBJECTS {
            write!(page, "\n## {subject}\n\n").unwrap();
            returns(&mut page, rows);
        }
        page.push_str("\n## Where functions may be called\n\n");
        page.push_str(
            "NULL: the result is NULL where an argument is. Definitions are generated columns, CHECK \
             constraints and defaults.\n\n",
        );
        places(&mut page);
        page
    }

    #[test]
    fn the_reference_page_is_fresh() {
        if std::env::var_os("PELORUS_WRITE_PAGES").is_some() {
            std::fs::write(PAGE, page()).unwrap();
        }
        let written = std::fs::read_to_string(PAGE).unwrap();
        for (expected, found) in page().lines().zip(written.lines()) {
            assert_eq!(
                found, expected,
                "write it: PELORUS_WRITE_PAGES=1 cargo test -p pelorus-functions reference_page"
            );
        }
        assert_eq!(page().lines().count(), written.lines().count());
    }
}

//! Limits of the depth and the size of the plan of one statement.
//!
//! The parser bounds the text. A common table expression is bound at every reference, though, so
//! that a short text can mean a plan of any depth and size; binder and planner recurse over it.

use std::sync::atomic::{AtomicUsize, Ordering};

use pelorus_error::{Code, Error, Result};

/// The maximum nesting of queries and joins in parentheses. The planner puts expressions of one
/// level into those of the next, each as high as the parser lets it be: with some 3 KiB of stack
/// for a node that is what the threads of the server take.
const MAX_LEVELS: usize = 64;

/// How many queries and tables a statement may have, counted at every reference.
const MAX_PARTS: usize = 1024;

/// The maximum nesting of subqueries in expressions: DataFusion visits each twice as often as at
/// the one around it.
const MAX_SUBQUERY_LEVELS: usize = 16;

/// The size of the bound part of a statement.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    levels: AtomicUsize,
    subquery_levels: AtomicUsize,
    parts: AtomicUsize,
}

/// One level of nesting, left when it is dropped.
#[derive(Debug)]
pub(crate) struct Level<'a>(&'a AtomicUsize);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Extent {
    /// Enters a query or a join in parentheses.
    pub(crate) fn deeper(&self) -> Result<Level<'_>> {
        self.count()?;
        let levels = self.levels.fetch_add(1, Ordering::Relaxed) + 1;
        let level = Level(&self.levels);
        if levels > MAX_LEVELS {
            return Err(Error::unsupported(format_args!(
                "queries and common table expressions that lead more than {MAX_LEVELS} levels deep"
            )));
        }
        Ok(level)
    }

    /// Enters a subquery of an expression.
    pub(crate) fn enter_subquery(&self) -> Result<Level<'_>> {
        let levels = self.subquery_levels.fetch_add(1, Ordering::Relaxed) + 1;
        let level = Level(&self.subquery_levels);
        if levels > MAX_SUBQUERY_LEVELS {
            return Err(Error::unsupported(format_args!(
                "subqueries in expressions, nested more than {MAX_SUBQUERY_LEVELS} levels deep"
            )));
        }
        Ok(level)
    }

    /// Counts a query or a table.
    pub(crate) fn count(&self) -> Result<()> {
        if self.parts.fetch_add(1, Ordering::Relaxed) >= MAX_PARTS {
            return Err(Error::unsupported(format_args!(
                "more than {MAX_PARTS} tables and queries in one statement, each common table \
                 expression counted at every reference"
            )));
        }
        Ok(())
    }
}

/// Most columns of a result, and expressions of one clause.
const MAX_COLUMNS: usize = 4096;

/// Refuses more columns than MySQL lets a result have.
///
/// # Errors
/// 1117.
pub(crate) fn check_columns(count: usize) -> Result<()> {
    match count > MAX_COLUMNS {
        true => Err(Error::new(Code::TooManyColumns, "Too many columns")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_that_are_left_can_be_entered_again() {
        let extent = Extent::default();
        let first = extent.deeper().unwrap();
        let others: Vec<_> = (1..MAX_LEVELS).map(|_| extent.deeper().unwrap()).collect();
        assert_eq!(extent.deeper().unwrap_err().errno(), 1235);
        drop(first);
        assert!(extent.deeper().is_ok());
        drop(others);
    }

    #[test]
    fn what_was_left_still_counts_as_a_part() {
        let extent = Extent::default();
        for _ in 0..MAX_PARTS {
            drop(extent.deeper().unwrap());
        }
        assert_eq!(extent.count().unwrap_err().errno(), 1235);
    }
}

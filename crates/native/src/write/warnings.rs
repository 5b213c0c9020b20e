//! Conversion warnings of DML statements: collected by column, reported by row.

use pelorus_functions::assignment::{Level, Warning};
use pelorus_result::diagnostics::{self, Diagnostics};

/// Most warnings that a client can request: the largest `max_error_count`.
const KEPT: usize = 65_535;

/// Warnings of columns, and their total number. If there are very many, those of the first rows are
/// stored.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    kept: Vec<Warning>,
    count: u64,
}

impl Warnings {
    /// Adds those of a column.
    pub fn add(&mut self, kept: Vec<Warning>, count: u64) {
        self.kept.extend(kept);
        self.count += count;
        // Not each time, so that a warning is not moved often.
        if self.kept.len() > 2 * KEPT {
            self.kept.sort_by_key(|warning| warning.row);
            self.kept.truncate(KEPT);
            self.kept.shrink_to(2 * KEPT);
        }
    }

    /// Adds others.
    pub(crate) fn append(&mut self, others: Warnings) {
        self.add(others.kept, others.count);
    }

    /// Adds one of a row.
    pub fn push(&mut self, row: u64, code: u16, message: String) {
        self.add(vec![Warning { row, level: Level::Warning, code, message }], 1);
    }

    /// Hands them on in the order of rows, and within a row of columns.
    pub fn tell(mut self, diagnostics: &Diagnostics) {
        self.kept.sort_by_key(|warning| warning.row);
        let told = self.kept.len();
        for warning in self.kept {
            let level = match warning.level {
                Level::Note => diagnostics::Level::Note,
                Level::Warning => diagnostics::Level::Warning,
            };
            diagnostics.push(level, warning.code, warning.message);
        }
        let rest = usize::try_from(self.count).unwrap_or(usize::MAX).saturating_sub(told);
        diagnostics.count_more(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_told_by_row() {
        let diagnostics = Diagnostics::default();
        diagnostics.begin(10);
        let mut warnings = Warnings::default();
        warnings.push(2, 1265, "a 2".into());
        warnings.push(3, 1265, "a 3".into());
        warnings.push(1, 1264, "b 1".into());
        warnings.push(2, 1264, "b 2".into());
        warnings.add(Vec::new(), 5);
        warnings.tell(&diagnostics);
        let told: Vec<String> = diagnostics.conditions().into_iter().map(|it| it.message).collect();
        assert_eq!(told, ["b 1", "a 2", "b 2", "a 3"]);
        assert_eq!(diagnostics.count(), 9);
    }

    #[test]
    fn the_warnings_of_the_first_rows_are_kept() {
        let mut warnings = Warnings::default();
        let rows = 5 * KEPT as u64;
        for row in 1..=rows {
            warnings.push(rows + 1 - row, 1265, String::new());
        }
        warnings.push(1, 1264, "second".into());
        assert!(warnings.kept.len() <= 2 * KEPT, "{}", warnings.kept.len());
        let diagnostics = Diagnostics::default();
        diagnostics.begin(KEPT);
        warnings.tell(&diagnostics);
        assert_eq!(diagnostics.count() as u64, rows + 1);
        let told = diagnostics.conditions();
        assert_eq!(told.len(), KEPT);
        assert_eq!((told[0].code, told[1].code, told[1].message.as_str()), (1265, 1264, "second"));
    }
}

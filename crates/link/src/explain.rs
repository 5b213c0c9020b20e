//! The server's own estimate of a statement, from its `EXPLAIN`.

use crate::connection::{TextRow, TextRows};

/// The server's estimate of a statement, from EXPLAIN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// A line per table and step, in the server's order.
    pub tables: Vec<EstimateTable>,
    /// Rows that the server thinks it must read: within each SELECT the product over its joined
    /// tables of rows that each earlier combination looks up, summed over all SELECTs.
    pub rows_examined: f64,
    /// Whether the server knows the answer without reading rows (`Select tables optimized away`,
    /// `Impossible WHERE`, constants only).
    pub optimized_away: bool,
    /// Whether the server is a MariaDB.
    pub is_mariadb: bool,
}

/// A line of EXPLAIN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EstimateTable {
    /// The SELECT's number.
    pub id: Option<u64>,
    /// The kind of SELECT: `SIMPLE`, `PRIMARY`, `DERIVED`, ..
    pub select_type: String,
    /// The table's alias.
    pub table: Option<String>,
    /// Partitions that are read, when the server says so.
    pub partitions: Vec<String>,
    /// How it is read: `const`, `eq_ref`, `ref`, `range`, `index`, `ALL`, ..
    pub access: Option<String>,
    /// The key that is used.
    pub key: Option<String>,
    /// How many bytes of the key are used.
    pub key_len: Option<u64>,
    /// The values with which the key is compared.
    pub reference: Option<String>,
    /// Rows read for each combination of the tables before.
    pub rows: Option<u64>,
    /// How many per cent of them pass the conditions.
    pub filtered: Option<f64>,
    /// Notes, such as `Using index; Using temporary`.
    pub extra: String,
}

impl Estimate {
    pub(crate) fn from_rows(rows: &TextRows) -> Self {
        let tables: Vec<_> = rows.iter().map(|row| EstimateTable::from_row(&row)).collect();
        let rows_examined = examined(&tables);
        let optimized_away = !tables.is_empty() && tables.iter().all(EstimateTable::reads_nothing);
        Self { tables, rows_examined, optimized_away, is_mariadb: false }
    }

    /// Whether rows pass through a temporary table of the server.
    pub fn uses_temporary(&self) -> bool {
        self.tables.iter().any(|line| line.extra.contains("Using temporary"))
    }
}

impl EstimateTable {
    fn from_row(row: &TextRow<'_>) -> Self {
        let owned = |name: &str| row.get(name).map(str::to_owned);
        Self {
            id: row.number("id"),
            select_type: row.text("select_type"),
            table: owned("table"),
            partitions: row
                .get("partitions")
                .map(|names| names.split(',').map(str::to_owned).collect())
                .unwrap_or_default(),
            access: owned("type"),
            key: owned("key"),
            // With index_merge there are several lengths; none of them is the one.
            key_len: row.number("key_len"),
            reference: owned("ref"),
            // MySQL before 8 and MariaDB give whole numbers, some versions fractions.
            rows: row.number::<f64>("rows").map(whole),
            filtered: row.number("filtered"),
            extra: row.text("Extra"),
        }
    }

    fn reads_nothing(&self) -> bool {
        self.table.is_none() && self.rows.is_none()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn examined(tables: &[EstimateTable]) -> f64 {
    let mut total = 0.0;
    let mut select = None;
    let mut before = 1.0;
    for table in tables {
        if select != Some(table.id) {
            select = Some(table.id);
            before = 1.0;
        }
        let Some(rows) = table.rows else { continue };
        let looked_up = before * rows as f64;
        total += looked_up;
        before = (looked_up * table.filtered.unwrap_or(100.0) / 100.0).max(1.0);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_multiply_and_selects_add() {
        let table = |id, rows, filtered| EstimateTable {
            id: Some(id),
            rows: Some(rows),
            filtered: Some(filtered),
            ..EstimateTable::default()
        };
        let tables = [table(1, 100, 50.0), table(1, 2, 100.0), table(2, 30, 100.0)];
        assert!((examined(&tables) - (100.0 + 100.0 + 30.0)).abs() < 1e-9);
    }
}

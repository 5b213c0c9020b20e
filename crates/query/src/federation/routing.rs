//! Routing: passthrough or split, decided by the server's own estimate of a statement's cost.

use pelorus_link::Estimate;

use crate::context::PlanOptions;

/// Whether the statement should run whole on the server: the server knows the answer already, or
/// expects to examine fewer rows than splitting is worth.
pub(crate) fn takes_whole(estimate: &Estimate, options: &PlanOptions) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "estimates are rough anyway")]
    let few = estimate.rows_examined < options.split_rows_min as f64;
    options.streams < 2 || estimate.optimized_away || few
}

/// The index that the server would read from end to end instead of the table, because it covers
/// the statement: ranges along it keep that advantage.
pub(crate) fn covering_key<'a>(estimate: &'a Estimate, alias: &str) -> Option<&'a str> {
    let line = estimate.tables.iter().find(|line| {
        line.table.as_deref().is_some_and(|table| table.eq_ignore_ascii_case(alias))
    })?;
    let covers = line.extra.split(';').any(|note| note.trim() == "Using index")
        || line.extra.contains("Using where; Using index");
    if covers { line.key.as_deref() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelorus_link::EstimateTable;

    #[test]
    fn small_and_known_answers_go_whole() {
        let options = PlanOptions { split_rows_min: 1000, ..PlanOptions::default() };
        let estimate = |rows| Estimate { rows_examined: rows, ..Estimate::default() };
        assert!(takes_whole(&estimate(999.0), &options));
        assert!(!takes_whole(&estimate(1000.0), &options));
        let known = Estimate { optimized_away: true, ..estimate(1e9) };
        assert!(takes_whole(&known, &options));
        assert!(takes_whole(&estimate(1e9), &PlanOptions { streams: 1, ..options }));
    }

    #[test]
    fn a_covering_index_is_found_by_alias() {
        let line = EstimateTable {
            table: Some("t".into()),
            key: Some("covered".into()),
            extra: "Using where; Using index; Using temporary".into(),
            ..EstimateTable::default()
        };
        let estimate = Estimate { tables: vec![line], ..Estimate::default() };
        assert_eq!(covering_key(&estimate, "T"), Some("covered"));
        assert_eq!(covering_key(&estimate, "u"), None);
    }
}

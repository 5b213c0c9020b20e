//! Rows about statistics in the tables of the information schema and of `pelorus`.

use pelorus_result::result_table::add_row;
use pelorus_result::result_table::{Cell, ResultTable};
use pelorus_sql::ddl::{KeyDefinition, KeyKind, KeyPart, KeyTarget};
use pelorus_store::{ColumnStatistics, TableStatistics};

use super::json;
use crate::catalog::Catalog;
use crate::definition::NativeDef;

/// The columns of a table that were analysed, with their positions.
fn known<'a>(
    def: &NativeDef,
    statistics: &'a TableStatistics,
) -> Vec<(usize, &'a ColumnStatistics)> {
    let schema = def.table.schema();
    let of = |(at, stored)| Some((at, statistics.column(stored)?));
    schema.columns.iter().enumerate().take(def.columns.len()).filter_map(of).collect()
}

/// Adds the rows of `information_schema.COLUMN_STATISTICS`.
pub(crate) fn histograms(catalog: &Catalog, def: &NativeDef, grid: &mut ResultTable) {
    let Some(statistics) = catalog.statistics().of(def.id) else { return };
    for (at, column) in known(def, &statistics) {
        let Some(histogram) = &column.histogram else { continue };
        add_row(grid, |name| {
            Some(match name {
                "SCHEMA_NAME" => def.database.as_str().into(),
                "TABLE_NAME" => def.name.as_str().into(),
                "COLUMN_NAME" => def.columns[at].name.as_str().into(),
                _ => json::histogram(column, histogram).into(),
            })
        });
    }
}

/// Adds the rows of `pelorus.column_statistics`.
pub fn column_statistics(catalog: &Catalog, grid: &mut ResultTable) {
    for (database, _) in catalog.databases() {
        for def in catalog.tables(&database) {
            let Some(statistics) = catalog.statistics().of(def.id) else { continue };
            for (at, column) in known(&def, &statistics) {
                grid.push(vec![
                    database.as_str().into(),
                    def.name.as_str().into(),
                    def.columns[at].name.as_str().into(),
                    column.rows.into(),
                    column.sampled.into(),
                    Cell::Double(column.null_share),
                    column.distinct.into(),
                    json::common(column).into(),
                    column.histogram.as_ref().map(|it| u64::from(it.asked())).into(),
                    json::moment(column.taken).into(),
                ]);
            }
        }
    }
}

/// How many distinct values a key has up to and with one of its parts. A whole unique key has as
/// many as there are rows; for other keys the table must have been analysed: the product of the
/// columns' distinct values, at most the number of rows, is an upper bound.
pub(crate) fn cardinality(
    catalog: &Catalog,
    def: &NativeDef,
    (key, at, rows): (&KeyDefinition, usize, Option<u64>),
) -> Option<i64> {
    let rows = rows?;
    let is_unique = matches!(key.kind, KeyKind::Primary | KeyKind::Unique);
    if is_unique && at + 1 == key.parts.len() {
        return i64::try_from(rows).ok();
    }
    let statistics = catalog.statistics().of(def.id)?;
    let columns = known(def, &statistics);
    let of_part = |part: &KeyPart| -> Option<u64> {
        let KeyTarget::Column(name) = &part.target else { return None };
        let position = def.position(name)?;
        let (_, column) = columns.iter().find(|(at, _)| *at == position)?;
        // NULL is one more value, as InnoDB counts by default.
        Some(column.distinct?.saturating_add(u64::from(column.null_share > 0.0)))
    };
    let parts = key.parts.get(..=at)?;
    let product =
        parts.iter().try_fold(1_u64, |all, part| Some(all.saturating_mul(of_part(part)?)))?;
    i64::try_from(product.min(rows)).ok()
}

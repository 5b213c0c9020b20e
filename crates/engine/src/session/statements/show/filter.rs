//! `SHOW ... WHERE`: a query filters the rows of the small result as a table.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use pelorus_error::Result;
use pelorus_query::{Catalog, Database, InfoSchema};
use pelorus_result::result_table::ResultTable;
use pelorus_types::Column;

use crate::api::{ResultSet, RowFormat};
use crate::session::context::ReadContext;
use crate::session::statement_snapshot::View;

/// The name of the schema and of its one table; no database can have it.
const NAME: &str = "(show)";

/// A schema of one table.
struct OneTable(ResultTable);

#[async_trait]
impl InfoSchema for OneTable {
    fn table(&self, name: &str) -> Option<Vec<Column>> {
        (name == NAME).then(|| self.0.columns.clone())
    }

    async fn rows(&self, _table: &str, _equals: &[(String, String)]) -> Result<RecordBatch> {
        self.0.batch()
    }
}

/// A catalog with that schema on top.
struct WithTable {
    table: Arc<OneTable>,
    rest: Arc<dyn Catalog>,
}

impl Catalog for WithTable {
    fn database(&self, name: &str) -> Option<Database> {
        if name == NAME {
            return Some(Database::Info(self.table.clone()));
        }
        self.rest.database(name)
    }
}

/// The rows of a small result that meet a condition.
pub(crate) async fn filtered(
    cx: ReadContext<'_>,
    view: &Arc<View>,
    grid: ResultTable,
    condition: &str,
    format: RowFormat,
) -> Result<ResultSet> {
    let mut context = cx.query_context(view);
    let columns = grid.columns.clone();
    context.catalog =
        Arc::new(WithTable { table: Arc::new(OneTable(grid)), rest: context.catalog.clone() });
    let name = pelorus_sql::literal::name(NAME);
    let sql = format!("SELECT * FROM {name}.{name} WHERE ({condition})");
    let mut set = cx.run_query(&context, &sql, format).await?;
    if set.columns.len() == columns.len() {
        // The columns as SHOW describes them, not as those of our table.
        for (column, shown) in set.columns.iter_mut().zip(columns) {
            *column = shown;
        }
    }
    Ok(set)
}

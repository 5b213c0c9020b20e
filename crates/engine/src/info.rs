//! System tables: `information_schema`, `mysql` and `pelorus`.
//!
//! | module | owns |
//! | --- | --- |
//! | `definitions` | the columns of every table |
//! | `linked` | rows that come from the information schemas of linked servers |
//! | `described` | rows that describe our own tables |
//! | `own` | rows about this server: charsets, sessions, accounts |
//! | `remote_columns` | which columns the information schemas of linked servers have |
//! | `links` | `pelorus.*` and `mysql.servers` |

pub(crate) mod definitions;
mod described;
mod linked;
mod links;
mod own;
pub(crate) mod remote_columns;

use std::sync::Arc;

use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use pelorus_error::{Code, Error, Result};
use pelorus_query::InfoSchema;
use pelorus_result::result_table::ResultTable;
use pelorus_types::Column;

use crate::session::statement_snapshot::View;

pub(crate) use own::{READ_PRIVILEGES, processlist};

/// Our own schemas, by name.
pub(crate) const SCHEMAS: [&str; 3] = ["information_schema", "mysql", "pelorus"];

/// One of our own schemas, as a statement sees it.
#[derive(Debug)]
pub(crate) struct InfoTables {
    schema: &'static str,
    view: Arc<View>,
    /// Whether clients see the version of a MariaDB, and so the columns of its information schema.
    of_mariadb: bool,
}

impl InfoTables {
    /// Whether a schema is ours; case does not matter.
    pub(crate) fn is_schema(name: &str) -> bool {
        SCHEMAS.iter().any(|schema| schema.eq_ignore_ascii_case(name))
    }

    /// The schema of this name, if it is ours.
    pub(crate) fn of(name: &str, view: &Arc<View>) -> Option<Self> {
        let schema = SCHEMAS.into_iter().find(|schema| schema.eq_ignore_ascii_case(name))?;
        let of_mariadb = view.engine.server_version().contains("MariaDB");
        Some(Self { schema, view: view.clone(), of_mariadb })
    }

    async fn information_schema(
        &self,
        table: &str,
        columns: &[Column],
        equals: &[(String, String)],
    ) -> Result<RecordBatch> {
        let mut grid = ResultTable::new(columns.to_vec());
        if !linked::is_linked(table) {
            own::fill(&self.view, table, &mut grid)?;
            return grid.batch();
        }
        described::fill(&self.view, table, &mut grid);
        let native = pelorus_native::info::Question {
            catalog: self.view.engine.native(),
            time_zone: self.view.time_zone,
            shows_row_id: self.view.shows_row_id(),
            equals,
        };
        native.fill(table, &mut grid);
        let mut batches = vec![grid.batch()?];
        batches.extend(linked::rows(&self.view, table, columns, equals).await?);
        concat_batches(&batches[0].schema(), &batches)
            .map_err(|error| Error::internal("cannot join information tables").caused_by(error))
    }
}

#[async_trait]
impl InfoSchema for InfoTables {
    fn table(&self, name: &str) -> Option<Vec<Column>> {
        definitions::columns(self.schema, name, self.of_mariadb)
    }

    async fn rows(&self, table: &str, equals: &[(String, String)]) -> Result<RecordBatch> {
        let table = table.to_ascii_uppercase();
        let columns = self.table(&table).ok_or_else(|| {
            Error::new(Code::NoSuchTable, format!("Table '{}.{table}' doesn't exist", self.schema))
        })?;
        if self.schema == "information_schema" {
            return self.information_schema(&table, &columns, equals).await;
        }
        let mut grid = ResultTable::new(columns);
        links::fill(&self.view, &table, &mut grid)?;
        grid.batch()
    }
}

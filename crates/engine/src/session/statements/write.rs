//! `INSERT`, `UPDATE` and the like: of native tables here, of linked tables on the primary of their
//! server.

use pelorus_error::Result;
use pelorus_sql::dml::Change as Parsed;
use pelorus_sql::statement::Write;

use super::load::LoadContext;
use super::{linked_tables, load, native_dml};
use crate::api::{Outcome, RowFormat};

/// Runs a statement that writes.
///
/// # Errors
/// MySQL's errors of the statement.
pub(crate) async fn run(
    cx: &mut LoadContext<'_>,
    sql: &str,
    write: &Write,
    format: RowFormat,
) -> Result<Outcome> {
    if !native_dml::writes_native(cx.base.routing(), write) {
        let cx = &mut cx.base.transaction_context();
        return linked_tables::write(cx, sql, write, format).await;
    }
    let memory = cx.base.reads().stage_memory();
    match &native_dml::parse(cx.base.reads(), sql, &memory)? {
        Parsed::Load(load) => load::begin(cx, load),
        change => native_dml::run(&mut cx.base, change).await,
    }
}

//! DML statements on native tables: they are planned, executed, and planned again after a conflict.

use std::time::Duration;

use pelorus_env::StageMemory;
use pelorus_error::{Code, Result};
use pelorus_native::write::Plan;
use pelorus_native::write::change::Counts;
use pelorus_native::write::lookup::duplicate_text;
use pelorus_sql::dml::Change as Parsed;
use pelorus_sql::statement::{Write, WriteKind};

use crate::api::Outcome;
use crate::session::context::{ReadContext, SettingsContext, TransactionContext};
use crate::session::long_text::read_long;
use crate::session::table_routing::TableRouting;
use crate::session::{native_statement, query_execution};
use crate::variables::VarValue;

/// How often a statement outside of transactions is tried when others were faster.
const TRIES: u32 = 20;

/// Whether the tables that a statement changes are native.
pub(crate) fn writes_native(routing: TableRouting<'_>, write: &Write) -> bool {
    use WriteKind::{Call, Compound, Import};
    let changed = write.tables.get(..write.changed.max(1)).unwrap_or(&write.tables);
    !matches!(write.kind, Call | Compound | Import) && routing.names_native(changed)
}

/// Reads a statement that changes rows. Its tree counts as long as `memory` is there.
///
/// # Errors
/// Syntax errors; the statement was stopped, or has no more memory.
pub(crate) fn parse<'s>(
    cx: ReadContext<'_>,
    sql: &'s str,
    memory: &StageMemory,
) -> Result<Parsed<'s>> {
    let read = || pelorus_sql::dml::parse(sql, cx.settings.mode());
    read_long(sql, cx.statement.stop(), memory, read)?
}

/// Runs `INSERT`, `REPLACE`, `UPDATE` or `DELETE` on native tables.
///
/// # Errors
/// MySQL's errors of the statement. Nothing of it is done then.
pub(crate) async fn run(cx: &mut SettingsContext<'_>, change: &Parsed<'_>) -> Result<Outcome> {
    let pin = cx.reads().native_reads().pin;
    native_statement::join(&mut cx.transaction_context(), &pin, true)?;
    drop(pin);
    let mut is_numbered = false;
    let outcome = change_until_done(&mut cx.transaction_context(), change, &mut is_numbered).await;
    if is_numbered && cx.settings.variables().count("insert_id") > 0 {
        // It was for one statement.
        cx.settings.put_variable("insert_id", VarValue::UInt(0));
    }
    outcome
}

/// Plans and executes a statement, and repeats both after a conflict with another session.
/// `is_numbered` says in the end whether it has made AUTO_INCREMENT values.
async fn change_until_done(
    cx: &mut TransactionContext<'_>,
    change: &Parsed<'_>,
    is_numbered: &mut bool,
) -> Result<Outcome> {
    let (mut tries, mut changes) = (1, 0);
    let (mut plan, counts) = loop {
        let view = cx.reads().view();
        let planned = cx.reads().native_statement(&view).plan(change).await;
        let (depends, carried) = match planned {
            Ok(mut plan) => {
                *is_numbered |= plan.numbers.first_made.is_some();
                let carried = native_statement::execute(cx, &mut plan, view.native.pin.version());
                (plan.depends, carried.map(|counts| (plan, counts)))
            }
            Err(error) => (false, Err(error)),
        };
        let error = match carried {
            Ok(done) => break done,
            Err(error) => error,
        };
        let is_conflict = error.code() == Code::Deadlock && depends;
        if is_conflict && tries < TRIES && !cx.transaction.is_open() {
            tokio::time::sleep(Duration::from_millis(u64::from(tries))).await;
            tries += 1;
        } else if !query_execution::waits_for_change(cx.reads(), &error, &mut changes).await {
            return Err(error);
        }
        cx.begin_diagnostics();
    };
    Ok(changed(cx, &mut plan, &counts))
}

/// The report of an executed statement to the client and the session.
fn changed(cx: &mut TransactionContext<'_>, plan: &mut Plan, counts: &Counts) -> Outcome {
    report(cx, plan, counts);
    Outcome::Done(plan.done(counts, cx.identity.login().found_rows, cx.diagnostics().count()))
}

/// Warnings and AUTO_INCREMENT values of a plan that was executed.
pub(crate) fn report(cx: &mut TransactionContext<'_>, plan: &mut Plan, counts: &Counts) {
    let mut warnings = std::mem::take(&mut plan.warnings);
    if let [change] = plan.changes.as_slice() {
        plan.numbers = plan.numbers.of_written(change, counts);
        // Texts beyond the limit are never shown.
        let shown = counts.ignored_rows.len().min(cx.diagnostics().limit());
        for &row in &counts.ignored_rows[..shown] {
            let Some((columns, at)) = change.put_at(row) else { continue };
            let text = duplicate_text(&change.def, columns, at);
            let row = change.places.as_ref().map_or(row as u64, |it| it.value(row).into());
            warnings.push(row + 1, Code::DuplicateKey.errno(), text);
        }
        warnings.add(Vec::new(), (counts.ignored_rows.len() - shown) as u64);
    }
    warnings.tell(cx.diagnostics());
    if let Some(first) = plan.numbers.first_made {
        cx.statement.set_last_insert_id(first);
        cx.connections.set_insert_id_on(None);
    }
}

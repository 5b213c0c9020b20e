//! What statements on native tables need of the session: its settings, its transaction, and the
//! execution of their plans.

use std::sync::Arc;

use pelorus_env::blocking;
use pelorus_error::{Error, Result};
use pelorus_functions::assignment::{NullRule, Policy};
use pelorus_native::ddl::Definer;
use pelorus_native::durability::Wanted;
use pelorus_native::write::auto::Steps;
use pelorus_native::write::change::{Change, Counts};
use pelorus_native::write::{Plan, Statement, commit};
use pelorus_store::Snapshot;

use super::context::{ReadContext, TransactionContext};
use super::state::client_settings::ClientSettings;
use super::statement_snapshot::View;

impl<'a> ReadContext<'a> {
    /// The session's state that a DML statement sees.
    pub(crate) fn native_statement(self, view: &Arc<View>) -> Statement<'a> {
        let context = self.query_context(view);
        let policy = Policy {
            nulls: NullRule::Refuse,
            null_is_now: !self.settings.variables().is_on("explicit_defaults_for_timestamp"),
            ..Policy::new(&context.eval, self.settings.is_strict())
        };
        Statement {
            catalog: self.engine.native(),
            database: self.settings.database(),
            context,
            reads: view.native.clone(),
            diagnostics: self.diagnostics().clone(),
            stop: self.statement.stop().clone(),
            policy,
            steps: auto_increment_steps(self.settings),
            safe_updates: self.settings.variables().is_on("sql_safe_updates"),
        }
    }

    pub(crate) fn definer(self, view: &Arc<View>) -> Definer {
        let context = self.query_context(view);
        Definer {
            catalog: Arc::clone(self.engine.native()),
            current: self.settings.database().map(str::to_owned),
            mode: self.settings.mode(),
            context: context.eval,
            strict: self.settings.is_strict(),
            diagnostics: self.diagnostics().clone(),
            stop: self.statement.stop().clone(),
            steps: auto_increment_steps(self.settings),
            generates_keys: self.settings.variables().is_on("sql_generate_invisible_primary_key"),
            implies_timestamps: !self.settings.variables().is_on("explicit_defaults_for_timestamp"),
        }
    }
}

/// Lets the open transaction take part in native tables, from now on as of `pin`; without a
/// transaction nothing happens. Every statement on native tables calls it.
///
/// # Errors
/// A transaction that is on a linked server (1235), when the statement writes; one that only
/// reads sees the newest version. An `sql_mode` that native tables do not follow (1235).
pub(crate) fn join(
    cx: &mut TransactionContext<'_>,
    pin: &Arc<Snapshot>,
    writes: bool,
) -> Result<()> {
    if cx.settings.pads_char() {
        return Err(Error::unsupported("PAD_CHAR_TO_FULL_LENGTH with native tables"));
    }
    cx.transaction.begin_implicitly(cx.settings.autocommit());
    cx.transaction.join_native(pin, writes, cx.engine.memory().sessions())
}

/// Executes a plan: at once, or in the open transaction.
pub(crate) fn execute(
    cx: &mut TransactionContext<'_>,
    plan: &mut Plan,
    version: u64,
) -> Result<Counts> {
    let stop = cx.statement.stop().clone();

    let mut counts = if let Some(native) = cx.transaction.native_mut() {
        blocking(|| native.apply(&plan.changes, &stop))?
    } else {
        let store = cx.engine.native().store();
        let snapshot = plan.depends.then_some(version);
        let durability = durability(cx.settings);
        let bytes = plan.changes.iter().map(Change::bytes).sum();
        let held = cx.engine.memory().statements().reserve(bytes);
        let _held = held.map_err(Error::out_of_memory)?;
        blocking(|| commit::commit(store, &mut plan.changes, snapshot, durability, &stop))?
    };
    let alike = plan.alike.min(counts.replaced);
    counts.replaced -= alike;
    counts.inserted += alike;
    Ok(counts)
}

/// When commits of this session are acknowledged.
pub(crate) fn durability(settings: &ClientSettings) -> Wanted {
    Wanted::of_variable(settings.variables().get("pelorus_durability").text())
}

/// How AUTO_INCREMENT counts in this session.
fn auto_increment_steps(settings: &ClientSettings) -> Steps {
    Steps {
        increment: settings.variables().count("auto_increment_increment").max(1),
        offset: settings.variables().count("auto_increment_offset").max(1),
        zero_is_value: settings.has_sql_mode("NO_AUTO_VALUE_ON_ZERO"),
        first: Some(settings.variables().count("insert_id")).filter(|first| *first > 0),
    }
}

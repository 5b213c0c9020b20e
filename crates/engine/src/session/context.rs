//! Contexts: what a handler may read and change of its session. A handler takes the smallest one
//! that suffices, so that its signature says what a statement of its kind can change.
//!
//! | context | may change |
//! | --- | --- |
//! | [`ReadContext`] | nothing; it can add warnings |
//! | [`TransactionContext`] | the transaction, connections to primaries, locks, the statement's state |
//! | [`SettingsContext`] | these, and what the client has set |
//!
//! Handlers of a few kinds have contexts of their own, in their modules.

use std::sync::Arc;

use pelorus_env::StageMemory;
use pelorus_error::Result;
use pelorus_native::NativeReads;
use pelorus_result::diagnostics::Diagnostics;
use pelorus_result::kill::Stop;
use pelorus_sql::Statement;

use super::access_rights::READ_ONLY_VARIABLES;
use super::long_text::read_long;
use super::state::client_settings::ClientSettings;
use super::state::held_locks::HeldLocks;
use super::state::identity::Identity;
use super::state::primary_connections::PrimaryConnections;
use super::state::statement_state::StatementState;
use super::state::transaction::Transaction;
use super::statement_snapshot::View;
use super::table_routing::TableRouting;
use crate::engine::Engine;
use crate::processlist::Process;

/// All that a statement can read of its session.
#[derive(Clone, Copy)]
pub(crate) struct ReadContext<'a> {
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) process: &'a Arc<Process>,
    pub(crate) identity: &'a Identity,
    pub(crate) settings: &'a ClientSettings,
    pub(crate) statement: &'a StatementState,
    pub(crate) transaction: &'a Transaction,
    pub(crate) connections: &'a PrimaryConnections,
}

/// For statements that run in a transaction or on the session's own connections.
pub(crate) struct TransactionContext<'a> {
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) process: &'a Arc<Process>,
    pub(crate) identity: &'a Identity,
    pub(crate) settings: &'a ClientSettings,
    pub(crate) statement: &'a mut StatementState,
    pub(crate) transaction: &'a mut Transaction,
    pub(crate) connections: &'a mut PrimaryConnections,
    pub(crate) locks: &'a mut HeldLocks,
}

/// For statements that also change variables or the current database.
pub(crate) struct SettingsContext<'a> {
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) process: &'a Arc<Process>,
    pub(crate) identity: &'a Identity,
    pub(crate) settings: &'a mut ClientSettings,
    pub(crate) statement: &'a mut StatementState,
    pub(crate) transaction: &'a mut Transaction,
    pub(crate) connections: &'a mut PrimaryConnections,
    pub(crate) locks: &'a mut HeldLocks,
}

impl<'a> ReadContext<'a> {
    /// Finds the linked servers of tables.
    pub(crate) fn routing(self) -> TableRouting<'a> {
        TableRouting { engine: self.engine, settings: self.settings }
    }

    pub(crate) fn diagnostics(self) -> &'a Diagnostics {
        self.statement.diagnostics()
    }

    /// The connection id.
    pub(crate) fn id(self) -> u64 {
        self.process.handle.id()
    }

    /// The session as of now.
    pub(crate) fn view(self) -> Arc<View> {
        let since_epoch = self.engine.env().clock.since_epoch();
        Arc::new(View {
            engine: Arc::clone(self.engine),
            id: self.id(),
            user: self.identity.user(),
            account: self.identity.account().clone(),
            read_only: self.identity.is_read_only(),
            database: self.settings.database().map(str::to_owned),
            variables: self.settings.variables().clone(),
            user_variables: Arc::clone(self.settings.user_variables()),
            warning_count: self.diagnostics().count(),
            error_count: self.diagnostics().errors(),
            found_rows: self.diagnostics().found_rows(),
            last_insert_id: self.statement.last_insert_id(),
            row_count: self.statement.row_count(),
            now_micros: i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX),
            native: self.native_reads(),
            time_zone: self.settings.time_zone(self.engine.zone().zone),
        })
    }

    /// The native tables as a statement reads them.
    pub(crate) fn native_reads(self) -> NativeReads {
        self.transaction
            .native_reads()
            .unwrap_or_else(|| NativeReads::at(Arc::new(self.engine.native().store().snapshot())))
    }

    /// Whether a write would be refused because the transaction only reads.
    pub(crate) fn transaction_is_read_only(self) -> bool {
        self.transaction.is_read_only(self.settings.variables().is_on("transaction_read_only"))
    }

    /// Whether statements of this session on linked servers only read, those of stored functions
    /// too: because of the account, the server or the transaction.
    pub(crate) fn only_reads(self) -> bool {
        let globals = self.engine.globals();
        self.identity.is_read_only()
            || self.transaction_is_read_only()
            || READ_ONLY_VARIABLES.iter().any(|name| globals.get(name).is_on())
    }

    /// What counts the trees of a statement that begins.
    pub(crate) fn stage_memory(self) -> StageMemory {
        StageMemory::new(self.engine.memory().statements())
    }

    /// Reads what a statement is.
    pub(crate) fn classified(self, sql: &str, stop: &Stop) -> Result<Statement> {
        let read = || pelorus_sql::classify(sql, self.settings.mode());
        read_long(sql, stop, &self.stage_memory(), read)?
    }
}

impl TransactionContext<'_> {
    pub(crate) fn reads(&self) -> ReadContext<'_> {
        ReadContext {
            engine: self.engine,
            process: self.process,
            identity: self.identity,
            settings: self.settings,
            statement: self.statement,
            transaction: self.transaction,
            connections: self.connections,
        }
    }

    pub(crate) fn routing(&self) -> TableRouting<'_> {
        TableRouting { engine: self.engine, settings: self.settings }
    }

    pub(crate) fn diagnostics(&self) -> &Diagnostics {
        self.statement.diagnostics()
    }

    /// Clears the diagnostics of the statement before.
    pub(crate) fn begin_diagnostics(&mut self) {
        self.statement.begin_diagnostics(self.settings.variables().count("max_error_count"));
        self.connections.set_warnings_on(None);
    }
}

impl SettingsContext<'_> {
    pub(crate) fn reads(&self) -> ReadContext<'_> {
        ReadContext {
            engine: self.engine,
            process: self.process,
            identity: self.identity,
            settings: self.settings,
            statement: self.statement,
            transaction: self.transaction,
            connections: self.connections,
        }
    }

    pub(crate) fn transaction_context(&mut self) -> TransactionContext<'_> {
        TransactionContext {
            engine: self.engine,
            process: self.process,
            identity: self.identity,
            settings: self.settings,
            statement: self.statement,
            transaction: self.transaction,
            connections: self.connections,
            locks: self.locks,
        }
    }

    pub(crate) fn routing(&self) -> TableRouting<'_> {
        TableRouting { engine: self.engine, settings: self.settings }
    }

    pub(crate) fn diagnostics(&self) -> &Diagnostics {
        self.statement.diagnostics()
    }

    /// Changes the current database.
    pub(crate) fn set_database(&mut self, database: Option<String>) {
        self.settings.set_database(database);
        show_client(self.process, self.identity, self.settings);
    }

    /// No database is current where a dropped one was.
    pub(crate) fn leave_database(&mut self, name: &str) {
        self.settings.leave_database(name);
        show_client(self.process, self.identity, self.settings);
    }
}

/// Shows user, host and database in the list of sessions.
pub(crate) fn show_client(process: &Process, identity: &Identity, settings: &ClientSettings) {
    process.update(|activity| {
        activity.user.clone_from(&identity.login().user);
        activity.account = Some(identity.account().clone());
        activity.host = identity.host_and_port();
        activity.database = settings.own_database().map(str::to_owned);
    });
}

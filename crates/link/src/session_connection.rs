//! [`Pinned`]: a session's own connection to the primary, for writes and transactions.

use std::sync::Arc;

use parking_lot::Mutex;
use pelorus_error::Result;
use pelorus_mysql_wire::ServerStatus;
use pelorus_mysql_wire::prepared::Value;
use pelorus_mysql_wire::rows::Format;
use pelorus_types::Column;
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Duration, timeout};

use crate::config::LinkConfig;
use crate::connection::Connection;
use crate::relay::{Relay, Source, localize, relay};
use crate::server::Lent;
use crate::settings::SessionSettings;

/// How long a stopped statement may take to end before its connection is given up.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// A session's own connection to the primary. Dropping it rolls an open transaction back.
#[derive(Debug)]
pub struct Pinned {
    lent: Arc<tokio::sync::Mutex<Lent>>,
    config: Arc<LinkConfig>,
    /// Status as of the latest answer, for questions between statements.
    status: Arc<Mutex<ServerStatus>>,
}

impl Pinned {
    pub(crate) fn new(mut lent: Lent, config: Arc<LinkConfig>) -> Self {
        // Statements may leave temporary tables, user variables, locks.
        lent.do_not_keep();
        let status = Arc::new(Mutex::new(lent.status()));
        Self { lent: Arc::new(tokio::sync::Mutex::new(lent)), config, status }
    }

    /// Runs a statement unchanged. Waits for the result of the statement before to be read or
    /// dropped.
    pub async fn execute(
        &mut self,
        settings: &SessionSettings,
        sql: &str,
        format: Format,
    ) -> Result<Relay> {
        self.execute_with(settings, sql, format, &[]).await
    }

    /// Runs a statement with values for its `?`; rows come in binary.
    pub async fn execute_with(
        &mut self,
        settings: &SessionSettings,
        sql: &str,
        format: Format,
        params: &[Value<'_>],
    ) -> Result<Relay> {
        let mut held = self.hold().await?;
        held.connection().apply(settings).await?;
        relay(held, &self.config, sql, format, params).await
    }

    /// Runs a statement without rows in whatever state the session is. Waits as [`Self::execute`]
    /// does.
    ///
    /// # Errors
    /// The server's own, and 1430 when the connection breaks.
    pub async fn run(&mut self, sql: &str) -> Result<()> {
        let mut held = self.hold().await?;
        held.connection().run(sql).await.map(drop)
    }

    /// The columns that PREPARE says a statement has, databases under their names here. Waits as
    /// [`Self::execute`] does.
    ///
    /// # Errors
    /// The server's own, when it refuses the statement.
    pub async fn describe(&mut self, settings: &SessionSettings, sql: &str) -> Result<Vec<Column>> {
        let mut held = self.hold().await?;
        let connection = held.connection();
        connection.apply(settings).await?;
        let statement = connection.prepare(sql).await?;
        connection.close_statement(statement.id);
        let mut columns = statement.columns;
        localize(&self.config, &mut columns);
        Ok(columns)
    }

    /// The connection, when the result before has been read or dropped.
    async fn hold(&self) -> Result<Held> {
        let guard = Arc::clone(&self.lent).lock_owned().await;
        if !guard.is_reusable() {
            return Err(guard.lost("the connection broke before"));
        }
        Ok(Held { guard: Some(guard), status: Arc::clone(&self.status) })
    }

    /// Whether the server has a transaction open, after whatever is still read or stopped.
    ///
    /// # Errors
    /// A connection that broke: 1430.
    pub async fn settled(&self) -> Result<bool> {
        let mut held = self.hold().await?;
        Ok(held.connection().status().has(ServerStatus::IN_TRANSACTION))
    }

    /// The server's status bits as of the latest answer.
    pub fn status(&self) -> u16 {
        self.status.lock().0
    }

    /// Whether the server has a transaction open, as of the latest answer.
    pub fn in_transaction(&self) -> bool {
        self.status.lock().has(ServerStatus::IN_TRANSACTION)
    }

    /// Whether `autocommit` is on, as of the latest answer.
    pub fn autocommit(&self) -> bool {
        self.status.lock().has(ServerStatus::AUTOCOMMIT)
    }

    /// Whether the connection can still be used.
    pub fn is_usable(&self) -> bool {
        self.lent.try_lock().map_or(true, |lent| lent.is_reusable() && !lent_is_gone(&lent))
    }
}

fn lent_is_gone(lent: &Lent) -> bool {
    !lent.is_quiet()
}

/// The pinned connection while a result is read. Dropped in the middle, it stops the statement and
/// reads the rest, so that the transaction lives on.
struct Held {
    guard: Option<OwnedMutexGuard<Lent>>,
    status: Arc<Mutex<ServerStatus>>,
}

impl Source for Held {
    fn connection(&mut self) -> &mut Connection {
        self.guard.as_mut().expect("held until it is dropped")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(mut guard) = self.guard.take() else { return };
        if !guard.is_busy() {
            *self.status.lock() = guard.status();
            return;
        }
        let status = Arc::clone(&self.status);
        let runtime = guard.runtime().clone();
        runtime.spawn(async move {
            let stopped = timeout(STOP_PATIENCE, stop(&mut guard)).await;
            if let Ok(Err(error)) = stopped {
                tracing::debug!(server = %guard.label(), %error, "statement not stopped");
            }
            *status.lock() = guard.status();
        });
    }
}

/// Stops the statement and reads its answer to the end.
async fn stop(lent: &mut Lent) -> Result<()> {
    let server = Arc::clone(lent.server());
    let run = lent.run_of_server().clone();
    if !server.kill(lent.id(), &run, true).await? {
        return Err(lent.lost("the server has forgotten the connection"));
    }
    lent.drain().await?;
    // A kill that came late would hit the next statement: let it hit this one.
    match lent.run("DO 0").await {
        Err(error) if !lent.is_reusable() => Err(error),
        _ => Ok(()),
    }
}

//! One server of a link: its connection pool, its health, and the cancellation of its statements.
//!
//! A connection is lent as [`Lent`]. If it is returned idle it waits for the next user. If it is
//! returned in the middle of an answer (its user was dropped) it is closed, and a separate
//! connection kills the statement, so that no abandoned statement runs on.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::Capabilities;
use tokio::runtime::Handle;

use crate::connection::{Address, Connection, Run, ServerVersion, connect, connect_with};
use crate::settings::SessionSettings;
use crate::status::{ServerState, ServerStatus};

/// A server with its pool.
#[derive(Debug)]
pub(crate) struct Server {
    address: Arc<Address>,
    env: Env,
    is_primary: bool,
    idle_timeout: Duration,
    idle: Mutex<Vec<Resting>>,
    /// Connections that exist, lent or resting.
    open: AtomicUsize,
    closed: AtomicBool,
    /// How often all connections were to be made again.
    renewed: AtomicU64,
    health: Mutex<Health>,
    pub(crate) ranges: AtomicU64,
    pub(crate) rows: AtomicU64,
}

#[derive(Debug)]
struct Resting {
    connection: Connection,
    since: Duration,
}

#[derive(Debug, Default)]
struct Health {
    state: Option<ServerState>,
    version: Option<Arc<ServerVersion>>,
    latency: Option<Duration>,
    last_error: Option<String>,
    /// Estimated rows of ranges per second of reading, smoothed.
    speed: Option<f64>,
    /// Whether all changes show in the binlog, and when that was found out.
    logs_everything: Option<(bool, Duration)>,
}

/// How long it is believed whether a server logs everything.
const LOGS_FOR: Duration = Duration::from_secs(10);

impl Server {
    pub(crate) fn new(
        address: Address,
        is_primary: bool,
        idle_timeout: Duration,
        env: Env,
    ) -> Arc<Self> {
        Arc::new(Self {
            address: Arc::new(address),
            env,
            is_primary,
            idle_timeout,
            idle: Mutex::default(),
            open: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            renewed: AtomicU64::new(0),
            health: Mutex::default(),
            ranges: AtomicU64::new(0),
            rows: AtomicU64::new(0),
        })
    }

    /// How errors name it.
    pub(crate) fn label(&self) -> &Arc<str> {
        &self.address.label
    }

    /// Its address alone.
    pub(crate) fn place(&self) -> String {
        self.address.endpoint.to_string()
    }

    pub(crate) fn is_primary(&self) -> bool {
        self.is_primary
    }

    /// Lends a connection in the state that `settings` ask for.
    pub(crate) async fn lend(self: &Arc<Self>, settings: &SessionSettings) -> Result<Lent> {
        let mut lent = match self.take_resting(settings) {
            Some(connection) => self.wrap(connection),
            None => self.make().await?,
        };
        lent.apply(settings).await?;
        Ok(lent)
    }

    /// Makes a connection that never belongs to the pool.
    pub(crate) async fn make_apart(&self) -> Result<Connection> {
        let connection = connect(&self.address, &self.env).await;
        connection.inspect_err(|error| self.note_failure(error))
    }

    /// Makes a new connection.
    pub(crate) async fn make(self: &Arc<Self>) -> Result<Lent> {
        self.make_with(Capabilities::default()).await
    }

    /// Makes a new connection that can more; it must not come back to the pool.
    pub(crate) async fn make_with(self: &Arc<Self>, more: Capabilities) -> Result<Lent> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(Error::new(
                Code::ConnectToForeign,
                format!("Unable to connect to foreign data source: {} is closed", self.label()),
            ));
        }
        let start = self.env.clock.monotonic();
        match connect_with(&self.address, &self.env, more).await {
            Ok(connection) => {
                self.open.fetch_add(1, Ordering::Relaxed);
                let mut health = self.health.lock();
                health.version = Some(Arc::clone(connection.version()));
                health.latency = Some(self.env.clock.monotonic().saturating_sub(start));
                health.state = Some(ServerState::Up);
                drop(health);
                Ok(self.wrap(connection))
            }
            Err(error) => {
                self.note_failure(&error);
                Err(error)
            }
        }
    }

    /// Records an error, for the status.
    pub(crate) fn note_failure(&self, error: &Error) {
        if matches!(error.code(), Code::ConnectToForeign | Code::QueryOnForeign) {
            let mut health = self.health.lock();
            health.last_error = Some(error.message().to_owned());
            if error.code() == Code::ConnectToForeign {
                health.state = Some(ServerState::Down);
            }
        }
    }

    pub(crate) fn set_state(&self, state: ServerState) {
        self.health.lock().state = Some(state);
    }

    /// Whether it is a MariaDB; `None` before the first connection.
    pub(crate) fn is_mariadb(&self) -> Option<bool> {
        self.health.lock().version.as_ref().map(|version| version.is_mariadb)
    }

    /// Its version as in `@@version`; `None` before the first connection.
    pub(crate) fn version_text(&self) -> Option<String> {
        self.health.lock().version.as_ref().map(|version| version.text.clone())
    }

    /// Whether it is worth asking: not known to be down.
    pub(crate) fn seems_up(&self) -> bool {
        self.health.lock().state != Some(ServerState::Down)
    }

    /// Whether it did not follow in time the last time.
    pub(crate) fn is_lagging(&self) -> bool {
        self.health.lock().state == Some(ServerState::Lagging)
    }

    /// Whether all changes show in the binlog, if it was found out lately.
    pub(crate) fn logs_everything(&self) -> Option<bool> {
        let (all, at) = self.health.lock().logs_everything?;
        let age = self.env.clock.monotonic().saturating_sub(at);
        (age < LOGS_FOR).then_some(all)
    }

    pub(crate) fn set_logs_everything(&self, all: bool) {
        let now = self.env.clock.monotonic();
        self.health.lock().logs_everything = Some((all, now));
    }

    /// Estimated rows per second that one of its connections reads.
    pub(crate) fn speed(&self) -> Option<f64> {
        self.health.lock().speed
    }

    /// Notes how long a range took.
    pub(crate) fn note_range(&self, est_rows: u64, sent: u64, elapsed: Duration) {
        self.ranges.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(sent, Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let seen = est_rows.max(1) as f64 / elapsed.as_secs_f64().max(1e-4);
        let mut health = self.health.lock();
        health.speed = Some(health.speed.map_or(seen, |speed| speed * 0.7 + seen * 0.3));
    }

    /// Kills a statement on another connection of this server, known by its number. If the server
    /// has restarted since, or another has taken its place, kills nothing and returns `false`: the
    /// connection no longer exists.
    pub(crate) async fn kill(
        self: &Arc<Self>,
        id: u32,
        run: &Run,
        query_only: bool,
    ) -> Result<bool> {
        let mut connection = self.lend(&SessionSettings::default()).await?;
        if !saw_begin(connection.run_of_server(), run) {
            let age = self.env.clock.monotonic().saturating_sub(run.since);
            let uptime = connection.rows("SHOW GLOBAL STATUS LIKE 'Uptime'").await?;
            let uptime = uptime.iter().next().and_then(|row| row.number("Value"));
            if !is_of_run(run, age, &connection.run_of_server().server, uptime) {
                return Ok(false);
            }
        }
        let what = if query_only { "QUERY" } else { "CONNECTION" };
        match connection.run(&format!("KILL {what} {id}")).await {
            // It has ended already.
            Err(error) if error.errno() == Code::NoSuchThread.errno() => Ok(true),
            other => other.map(|_| true),
        }
    }

    /// Closes connections that have been idle for long.
    pub(crate) fn reap(&self) {
        let now = self.env.clock.monotonic();
        let mut idle = self.idle.lock();
        let (kept, old): (Vec<_>, Vec<_>) = std::mem::take(&mut *idle)
            .into_iter()
            .partition(|resting| now.saturating_sub(resting.since) <= self.idle_timeout);
        *idle = kept;
        drop(idle);
        self.discard_all(old.into_iter().map(|resting| resting.connection).collect());
    }

    /// Closes every connection that rests and lends no more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.close_resting();
    }

    /// Closes every connection that rests, and those that are lent when they are given back.
    pub(crate) fn renew(&self) {
        self.renewed.fetch_add(1, Ordering::Relaxed);
        self.close_resting();
    }

    fn close_resting(&self) {
        let all = std::mem::take(&mut *self.idle.lock());
        self.discard_all(all.into_iter().map(|resting| resting.connection).collect());
    }

    pub(crate) fn status(&self) -> ServerStatus {
        let idle = self.idle.lock().len();
        let health = self.health.lock();
        ServerStatus {
            address: self.place(),
            is_primary: self.is_primary,
            state: health.state.unwrap_or(ServerState::Unknown),
            version: health.version.as_ref().map(|version| version.text.clone()),
            latency: health.latency,
            connections: self.open.load(Ordering::Relaxed),
            idle,
            ranges: self.ranges.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
            speed: health.speed,
            last_error: health.last_error.clone(),
        }
    }

    fn take_resting(&self, settings: &SessionSettings) -> Option<Connection> {
        loop {
            let mut idle = self.idle.lock();
            // The latest of those that need the fewest changes: old ones may then go.
            let best = idle
                .iter()
                .enumerate()
                .rev()
                .min_by_key(|(_, resting)| resting.connection.applied.distance(settings))
                .map(|(at, _)| at)?;
            let resting = idle.swap_remove(best);
            drop(idle);
            let age = self.env.clock.monotonic().saturating_sub(resting.since);
            if resting.connection.is_quiet() && age <= self.idle_timeout {
                return Some(resting.connection);
            }
            self.discard_all(vec![resting.connection]);
        }
    }

    fn discard_all(&self, connections: Vec<Connection>) {
        if connections.is_empty() {
            return;
        }
        self.open.fetch_sub(connections.len(), Ordering::Relaxed);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                for connection in connections {
                    connection.quit().await;
                }
            });
        }
    }

    fn wrap(self: &Arc<Self>, connection: Connection) -> Lent {
        Lent {
            connection: Some(connection),
            server: Arc::clone(self),
            runtime: Handle::current(),
            keep: true,
            renewed: self.renewed.load(Ordering::Relaxed),
        }
    }

    /// Keeps a connection, unless all were to be closed since it was lent.
    fn rest(&self, connection: Connection, renewed: u64) {
        let since = self.env.clock.monotonic();
        let mut idle = self.idle.lock();
        // Ordering: the closing thread sets these first and then takes the idle connections, under
        // the lock.
        let is_old =
            self.closed.load(Ordering::Relaxed) || renewed != self.renewed.load(Ordering::Relaxed);
        if !is_old {
            idle.push(Resting { connection, since });
            return;
        }
        drop(idle);
        self.discard_all(vec![connection]);
    }

    fn take_back(
        self: &Arc<Self>,
        connection: Connection,
        keep: bool,
        renewed: u64,
        runtime: &Handle,
    ) {
        use pelorus_mysql_wire::ServerStatus as Bits;
        let in_transaction = connection.status().has(Bits::IN_TRANSACTION);
        let keep = keep && connection.is_reusable();
        if keep && !in_transaction {
            return self.rest(connection, renewed);
        }
        if keep {
            let server = Arc::clone(self);
            runtime.spawn(async move {
                let mut connection = connection;
                match connection.run("ROLLBACK").await {
                    Ok(_) => server.rest(connection, renewed),
                    Err(_) => server.discard_all(vec![connection]),
                }
            });
            return;
        }
        self.open.fetch_sub(1, Ordering::Relaxed);
        if connection.is_busy() && !connection.has_ended() {
            // Closing the socket alone would leave the statement running until it next sends.
            let id = connection.id();
            let run = connection.run_of_server().clone();
            let server = Arc::clone(self);
            drop(connection);
            runtime.spawn(async move {
                // A server may be out of connections for a moment.
                for pause in [100, 300, 1000, 3000] {
                    let Err(error) = server.kill(id, &run, false).await else { return };
                    tracing::debug!(server = %server.label(), %error, "statement not stopped");
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
            });
        } else {
            runtime.spawn(connection.quit());
        }
    }
}

/// Whether a connection that lives was there on the same server before another was made: then both
/// are of one run, and there is nothing to ask.
fn saw_begin(asking: &Run, run: &Run) -> bool {
    run.server.is_some() && asking.server == run.server && asking.ready <= run.since
}

/// Whether the number of a connection that was made `age` ago is still its own on a server that
/// says who it is and for how many seconds it has been up: numbers begin again with the server, and
/// then belong to others.
fn is_of_run(run: &Run, age: Duration, server: &Option<String>, uptime: Option<u64>) -> bool {
    // Seconds are cut off.
    run.server == *server && uptime.is_none_or(|uptime| uptime + 1 >= age.as_secs())
}

/// A connection lent by its pool.
#[derive(Debug)]
pub(crate) struct Lent {
    /// `None` only while it is being given back.
    connection: Option<Connection>,
    server: Arc<Server>,
    runtime: Handle,
    keep: bool,
    /// That of its server when it was lent.
    renewed: u64,
}

impl Lent {
    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Closes the connection when it is returned: its session has state that is not tracked.
    pub(crate) fn do_not_keep(&mut self) {
        self.keep = false;
    }
}

impl Deref for Lent {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("a lent connection is there until it is dropped")
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("a lent connection is there until it is dropped")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.server.take_back(connection, self.keep, self.renewed, &self.runtime);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_connections_are_of_one_run() {
        let run = Run { server: Some("a 3306".into()), ..Run::default() };
        let age = Duration::from_millis(60_900);
        let same = run.server.clone();
        assert!(is_of_run(&run, age, &same, Some(60)));
        assert!(is_of_run(&run, age, &same, Some(59)));
        assert!(is_of_run(&run, age, &same, None));
        // It was started again, or another answers.
        assert!(!is_of_run(&run, age, &same, Some(40)));
        assert!(!is_of_run(&run, age, &Some("b 3306".into()), Some(90_000)));
        assert!(!is_of_run(&run, age, &None, Some(90_000)));
    }

    #[test]
    fn older_connections_need_not_ask_for_the_run() {
        let seconds = Duration::from_secs;
        let at = |server: Option<&str>, since: u64, ready: u64| Run {
            server: server.map(str::to_owned),
            since: seconds(since),
            ready: seconds(ready),
        };
        let run = at(Some("a 3306"), 10, 11);
        assert!(saw_begin(&at(Some("a 3306"), 5, 6), &run));
        // It was made meanwhile, or later, or elsewhere.
        assert!(!saw_begin(&at(Some("a 3306"), 9, 12), &run));
        assert!(!saw_begin(&at(Some("a 3306"), 20, 21), &run));
        assert!(!saw_begin(&at(Some("b 3306"), 5, 6), &run));
        assert!(!saw_begin(&at(None, 5, 6), &at(None, 10, 11)));
    }
}

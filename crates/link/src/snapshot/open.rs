//! Opens consistent snapshots on many connections.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use pelorus_error::{Code, Error, Result};
use tokio::time::timeout;

use super::{ACQUIRE, ATTEMPTS, FOLLOW, HOLD, LATE_AGAIN, ROUNDS, SnapshotMode};
use crate::connection::Connection;
use crate::link::Inner;
use crate::server::{Lent, Server};
use crate::settings::SessionSettings;
use crate::split::{quote_name, quote_text};
use crate::status::ServerState;

/// Ends the transactions of an earlier attempt; the isolation level cannot be set otherwise.
const END: &str = "COMMIT";
const ISOLATION: &str = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";
const START: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";
/// For one statement, whose first read is the moment: no definition changes between the two.
const START_ONE: &str = "START TRANSACTION READ ONLY";
const POSITION: &str = "SHOW STATUS LIKE 'binlog_snapshot_%'";

/// Connections that see one moment.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) connections: Vec<Lent>,
    pub(crate) mode: SnapshotMode,
    pub(crate) lock_held: Option<Duration>,
    pub(crate) warnings: Vec<String>,
}

/// The connections of a scan while they are brought together.
struct Group<'a> {
    inner: &'a Inner,
    /// Of the primary, or of the only server that answers.
    leaders: Vec<Lent>,
    /// Of each replica.
    followers: Vec<Vec<Lent>>,
    warnings: Vec<String>,
}

/// The request of a snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// How many statements will run.
    pub(crate) statements: usize,
    /// Only committed rows may be read.
    pub(crate) committed: bool,
}

impl Wanted {
    /// The first statements of a connection that reads alone. A single statement sees one moment,
    /// unless the server's isolation level is READ UNCOMMITTED.
    fn begin_alone(self) -> &'static [&'static str] {
        match self {
            Self { statements: 2.., .. } => &[END, ISOLATION, START],
            Self { committed: true, .. } => &[END, ISOLATION, START_ONE],
            _ => &[],
        }
    }
}

/// Opens connections on each server, as many as are said for it, with snapshots of one moment when
/// there are several connections or several statements to run on one.
///
/// # Errors
/// When no server answers.
pub(crate) async fn open(
    inner: &Inner,
    settings: &SessionSettings,
    tables: &[(String, String)],
    servers: &[(Arc<Server>, usize)],
    wanted: Wanted,
) -> Result<Opened> {
    let mut group = connect(inner, settings, servers).await?;
    let count = group.leaders.len() + group.followers.iter().map(Vec::len).sum::<usize>();
    if count == 1 {
        group.leaders[0].run_all(wanted.begin_alone()).await?;
        return Ok(group.finish(SnapshotMode::Single, None));
    }
    let mut failure = None;
    for attempt in 0..ATTEMPTS {
        for round in 0..ROUNDS {
            if group.without_lock(attempt + round == 0).await? {
                return Ok(group.finish(SnapshotMode::Position, None));
            }
        }
        match group.with_lock(tables).await {
            Ok(held) => return Ok(group.finish(SnapshotMode::Locked, Some(held))),
            Err(error) if lacks_rights(&error) => return group.near(&error).await,
            Err(error) => failure = Some(error),
        }
        group.renew(settings).await?;
    }
    group.alone(wanted, failure).await
}

/// Whether an account may not lock the tables, so that another attempt is useless.
pub(crate) fn lacks_rights(error: &Error) -> bool {
    // Denied: the database, the command on a table, an administrative right.
    const DENIED: [u16; 3] = [1044, 1142, 1227];
    matches!(error.code(), Code::Remote(code) if DENIED.contains(&code.errno))
}

async fn connect<'a>(
    inner: &'a Inner,
    settings: &SessionSettings,
    wanted: &[(Arc<Server>, usize)],
) -> Result<Group<'a>> {
    let all = wanted.iter().map(|(server, count)| async move {
        let lent = (0..(*count).max(1)).map(|_| lend(server, settings));
        let lent = join_all(lent).await;
        let mut connections = Vec::new();
        let mut failure = None;
        for result in lent {
            match result {
                Ok(connection) => connections.push(connection),
                Err(error) => failure = Some(error),
            }
        }
        (server, connections, failure)
    });
    let mut group =
        Group { inner, leaders: Vec::new(), followers: Vec::new(), warnings: Vec::new() };
    let mut first_failure = None;
    for (server, connections, failure) in join_all(all).await {
        if let Some(error) = failure {
            if !matches!(error.code(), Code::ConnectToForeign | Code::QueryOnForeign) {
                // The server refused the settings; so will the others.
                return Err(error);
            }
            group.warnings.push(error.message().to_owned());
            first_failure = first_failure.or(Some(error));
        }
        if connections.is_empty() {
            continue;
        }
        if server.is_primary() {
            group.leaders = connections;
        } else {
            group.followers.push(connections);
        }
    }
    if group.leaders.is_empty() {
        // Without the primary the replicas cannot be compared with each other: one must do.
        if group.followers.is_empty() {
            return Err(first_failure.unwrap_or_else(|| Error::internal("a scan of no server")));
        }
        group.leaders = group.followers.remove(0);
        group.leave_out_followers("the primary is away");
        let place = group.leaders[0].server().place();
        group.warnings.push(format!("the primary is away: replica {place} answers alone"));
    }
    Ok(group)
}

/// Lends a connection; a replica that does not answer soon must not hold the others up.
async fn lend(server: &Arc<Server>, settings: &SessionSettings) -> Result<Lent> {
    if server.is_primary() {
        return server.lend(settings).await;
    }
    timeout(FOLLOW, server.lend(settings)).await.unwrap_or_else(|_| {
        server.set_state(ServerState::Down);
        Err(Error::new(
            Code::ConnectToForeign,
            format!(
                "Unable to connect to foreign data source: {}: no answer in time",
                server.label()
            ),
        ))
    })
}

/// Opens snapshots at once: everything is sent before anything is waited for.
async fn open_all(connections: &mut [Lent]) -> Result<()> {
    join_all(
        connections.iter_mut().map(|lent| async { lent.run_all(&[END, ISOLATION, START]).await }),
    )
    .await
    .into_iter()
    .collect()
}

/// How far the commits of a MariaDB are, as a place in its binlog, asked on a connection without a
/// snapshot: one with a snapshot would tell where that was taken.
async fn committed(control: &mut Lent) -> Result<Option<(String, String)>> {
    let status = control.rows(POSITION).await?;
    let value = |name: &str| {
        let row = status
            .iter()
            .find(|row| row.get("Variable_name").is_some_and(|n| n.eq_ignore_ascii_case(name)));
        row.map(|row| row.text("Value")).filter(|text| !text.is_empty())
    };
    Ok(value("binlog_snapshot_file").zip(value("binlog_snapshot_position")))
}

impl Group<'_> {
    fn finish(self, mode: SnapshotMode, lock_held: Option<Duration>) -> Opened {
        let mut connections = self.leaders;
        connections.extend(self.followers.into_iter().flatten());
        let mut latest = self.inner.latest.lock();
        latest.snapshot = Some(mode);
        latest.lock_held = lock_held;
        Opened { connections, mode, lock_held, warnings: self.warnings }
    }

    /// The weaker mode of accounts that may not lock.
    async fn near(mut self, error: &Error) -> Result<Opened> {
        self.leave_out_followers("without a lock it cannot be brought to the primary's moment");
        self.warnings.push(format!(
            "ranges may differ by what was committed while their snapshots were opened: {}",
            error.message()
        ));
        open_all(&mut self.leaders).await?;
        Ok(self.finish(SnapshotMode::Near, None))
    }

    /// One connection reads everything: slower, but of one moment.
    async fn alone(mut self, wanted: Wanted, failure: Option<Error>) -> Result<Opened> {
        self.leave_out_followers("no moment common with the primary's was to be had in time");
        self.leaders.truncate(1);
        if let Some(error) = failure {
            let why = error.message();
            self.warnings.push(format!("one connection reads all ranges: {why}"));
            tracing::warn!(server = %self.leaders[0].label(), why, "no parallel snapshot");
        }
        self.leaders[0].run_all(wanted.begin_alone()).await?;
        Ok(self.finish(SnapshotMode::Single, None))
    }

    /// Replaces connections that were interrupted in the middle of an answer.
    async fn renew(&mut self, settings: &SessionSettings) -> Result<()> {
        for lent in &mut self.leaders {
            if !lent.is_reusable() {
                let server = Arc::clone(lent.server());
                *lent = lend(&server, settings).await?;
            }
        }
        Ok(())
    }

    fn leave_out_followers(&mut self, why: &str) {
        for connections in std::mem::take(&mut self.followers) {
            self.warnings.push(left_out(&connections[0], why));
        }
    }

    /// Tries once to open all snapshots at one moment without a lock. `false` when they cannot be
    /// shown to agree.
    async fn without_lock(&mut self, first: bool) -> Result<bool> {
        if !logs_everything(&mut self.leaders[0]).await? {
            return Ok(false);
        }
        if self.leaders[0].version().is_mariadb {
            self.without_lock_by_position(first).await
        } else {
            self.without_lock_by_gtids(first).await
        }
    }

    async fn without_lock_by_position(&mut self, first: bool) -> Result<bool> {
        let mut before = String::new();
        if !self.followers.is_empty() {
            before = executed(&mut self.leaders[0]).await?;
            self.wait_for_followers(&before, if first { FOLLOW } else { HOLD }).await;
        }
        let server = Arc::clone(self.leaders[0].server());
        let mut control = server.lend(&SessionSettings::default()).await?;
        let Some((file, position)) = committed(&mut control).await? else { return Ok(false) };
        let (led, followed) = futures::join!(
            open_all(&mut self.leaders),
            open_followers(std::mem::take(&mut self.followers)),
        );
        led?;
        self.take_followers(followed);
        // Twice: see the module on what another session may do to the first answer.
        for _ in 0..2 {
            if committed(&mut control).await? != Some((file.clone(), position.clone())) {
                return Ok(false);
            }
        }
        if self.followers.is_empty() {
            return Ok(true);
        }
        let ask = format!(
            "SELECT BINLOG_GTID_POS({}, {position}) = {text} AND @@gtid_binlog_pos = {text}",
            quote_text(&file),
            text = quote_text(&before)
        );
        let same = self.leaders[0].rows(&ask).await?;
        Ok(!before.is_empty() && same.single() == Some("1"))
    }

    async fn without_lock_by_gtids(&mut self, first: bool) -> Result<bool> {
        let (owned, before) = owned_and_executed(&mut self.leaders[0]).await?;
        if before.is_empty() || !owned.is_empty() {
            return Ok(false);
        }
        self.wait_for_followers(&before, if first { FOLLOW } else { HOLD }).await;
        let (led, followed) = futures::join!(
            open_all(&mut self.leaders),
            open_followers(std::mem::take(&mut self.followers)),
        );
        led?;
        self.take_followers(followed);
        let (owned, after) = owned_and_executed(&mut self.leaders[0]).await?;
        Ok(owned.is_empty() && before == after)
    }

    /// Opens all snapshots under a read lock of the tables; gives the time that it was held.
    async fn with_lock(&mut self, tables: &[(String, String)]) -> Result<Duration> {
        if tables.is_empty() {
            return Err(Error::internal("a scan that names no tables"));
        }
        let server = Arc::clone(self.leaders[0].server());
        let mut control = server.lend(&SessionSettings::default()).await?;
        // Whatever happens, the lock goes with the connection.
        control.do_not_keep();
        if !self.followers.is_empty() {
            let near = executed(&mut control).await?;
            self.wait_for_followers(&near, FOLLOW).await;
        }
        let names: Vec<_> = tables
            .iter()
            .map(|(database, table)| format!("{}.{} READ", quote_name(database), quote_name(table)))
            .collect();
        let lock = format!("LOCK TABLES {}", names.join(", "));
        control.run("SET SESSION lock_wait_timeout = 1").await?;
        match timeout(ACQUIRE, control.run(&lock)).await {
            Ok(result) => result?,
            // Dropping the connection stops the wait.
            Err(_) => return Err(control.lost("the tables could not be locked in time")),
        };
        let clock = &self.inner.env.clock;
        let start = clock.monotonic();
        let opened = timeout(HOLD, self.open_under_lock(&mut control)).await;
        let unlocked = control.run("UNLOCK TABLES").await;
        let held = clock.monotonic().saturating_sub(start);
        match opened {
            Ok(result) => result?,
            Err(_) => return Err(control.lost("snapshots could not be opened in time")),
        }
        unlocked?;
        Ok(held)
    }

    async fn open_under_lock(&mut self, control: &mut Connection) -> Result<()> {
        let followers = std::mem::take(&mut self.followers);
        let follow = async {
            if followers.is_empty() {
                return Ok(Vec::new());
            }
            let position = executed(control).await?;
            let opened = followers.into_iter().map(|mut lent| {
                let position = position.clone();
                async move {
                    // A little less than the lock, so that one late replica spoils nothing.
                    let result = timeout(HOLD * 3 / 4, async {
                        wait_for(&mut lent[0], &position, HOLD / 2).await?;
                        open_all(&mut lent).await
                    });
                    let result = result.await;
                    (lent, result.unwrap_or_else(|_| Err(late())))
                }
            });
            Ok(join_all(opened).await)
        };
        let (led, followed) = futures::join!(open_all(&mut self.leaders), follow);
        led?;
        self.take_followers(followed?);
        Ok(())
    }

    /// Keeps the replicas that are ready.
    fn take_followers(&mut self, followed: Vec<(Vec<Lent>, Result<()>)>) {
        for (connections, result) in followed {
            match result {
                Ok(()) => self.followers.push(connections),
                Err(error) => {
                    connections[0].server().note_failure(&error);
                    self.warnings.push(left_out(&connections[0], error.message()));
                }
            }
        }
    }

    /// Waits until replicas have executed `position`; those that do not in time are left out.
    async fn wait_for_followers(&mut self, position: &str, most: Duration) {
        if self.followers.is_empty() {
            return;
        }
        if position.is_empty() {
            self.leave_out_followers("the primary keeps no GTIDs");
            return;
        }
        let waits = std::mem::take(&mut self.followers).into_iter().map(|mut lent| async move {
            // One that was late before must not hold up every scan.
            let most = if lent[0].server().is_lagging() { most.min(LATE_AGAIN) } else { most };
            let result = wait_for(&mut lent[0], position, most).await;
            let state = if result.is_ok() { ServerState::Up } else { ServerState::Lagging };
            lent[0].server().set_state(state);
            (lent, result)
        });
        let waited = join_all(waits).await;
        self.take_followers(waited);
    }
}

fn left_out(lent: &Lent, why: &str) -> String {
    format!("replica {} is left out: {why}", lent.server().place())
}

fn late() -> Error {
    Error::new(Code::QueryOnForeign, "it has not followed the primary in time")
}

async fn open_followers(followers: Vec<Vec<Lent>>) -> Vec<(Vec<Lent>, Result<()>)> {
    join_all(followers.into_iter().map(|mut lent| async move {
        let result = open_all(&mut lent).await;
        (lent, result)
    }))
    .await
}

/// Whether all that changes on a server shows in its binlog position (MariaDB) or GTIDs (MySQL).
/// The binlog may leave databases out, and on a MariaDB that follows another server what comes
/// from there.
async fn logs_everything(lent: &mut Lent) -> Result<bool> {
    let server = Arc::clone(lent.server());
    if let Some(known) = server.logs_everything() {
        return Ok(known);
    }
    let is_mariadb = lent.version().is_mariadb;
    let mut all = true;
    if is_mariadb {
        let follows = lent
            .rows(
                "SELECT @@global.log_slave_updates = 0 AND VARIABLE_VALUE <> '0' \
                 FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'SLAVES_RUNNING'",
            )
            .await?;
        all = follows.single() != Some("1");
    }
    let ask = lent.version().binlog_status();
    // An account without the privilege gets no answer; filters are rare.
    if let Ok(status) = lent.rows(ask).await {
        let filtered = |name: &str| {
            status.iter().any(|row| row.get(name).is_some_and(|text| !text.is_empty()))
        };
        all &= !filtered("Binlog_Do_DB") && !filtered("Binlog_Ignore_DB");
    } else if !lent.is_reusable() {
        return Err(lent.lost("no answer"));
    }
    server.set_logs_everything(all);
    Ok(all)
}

/// What a MySQL has executed, if that says all: a server that once had GTIDs keeps the set without
/// adding anything to it, and while `gtid_mode` is being switched transactions may have none.
const EXECUTED: &str =
    "SELECT IF(@@global.gtid_mode = 'ON' AND @@global.log_bin = 1, @@global.gtid_executed, '')";

/// What a primary has executed, as a GTID position (MariaDB) or set (MySQL); empty when it keeps no
/// GTIDs.
async fn executed(connection: &mut Connection) -> Result<String> {
    let ask =
        if connection.version().is_mariadb { "SELECT @@global.gtid_binlog_pos" } else { EXECUTED };
    Ok(connection.rows(ask).await?.single().unwrap_or_default().to_owned())
}

/// Which GTIDs are on their way and, read after that, which are executed.
async fn owned_and_executed(connection: &mut Connection) -> Result<(String, String)> {
    let both = connection.rows_of_all(&["SELECT @@global.gtid_owned", EXECUTED]).await?;
    let text =
        |at: usize| both.get(at).and_then(|rows| rows.single()).unwrap_or_default().to_owned();
    Ok((text(0), text(1)))
}

/// Waits on a replica until it has executed a position.
async fn wait_for(connection: &mut Connection, position: &str, most: Duration) -> Result<()> {
    if position.is_empty() {
        // An empty position cannot be waited for.
        return Err(late());
    }
    let (function, done) = if connection.version().is_mariadb {
        ("MASTER_GTID_WAIT", "0")
    } else {
        ("WAIT_FOR_EXECUTED_GTID_SET", "0")
    };
    let ask = format!("SELECT {function}({}, {:.3})", quote_text(position), most.as_secs_f64());
    let answer = timeout(most + Duration::from_millis(500), connection.rows(&ask)).await;
    match answer {
        Ok(Ok(rows)) if rows.single() == Some(done) => Ok(()),
        Ok(Ok(_)) | Err(_) => Err(late()),
        Ok(Err(error)) => Err(error),
    }
}

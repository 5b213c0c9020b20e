//! Scans one fragment over many ranges and servers.
//!
//! Ranges wait in a queue; each connection of the scan has a worker that takes the next one when it
//! has finished the last, so a faster server reads more of them. When a connection is lost its
//! range goes back to the queue and the others read it, for they all see the same moment. Batches
//! flow through one bounded channel, so a slow reader slows the servers down and memory stays
//! bounded. When the reader is gone the workers drop their connections in the middle, which kills
//! the statements on the servers.

mod queue;
mod snapshot_group;
mod workers;

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arrow::record_batch::RecordBatch;
use futures::Stream;
use parking_lot::Mutex;
use pelorus_env::Account;
use pelorus_error::{Error, Result};
use pelorus_types::{Column, ColumnType};

use self::queue::Queue;
pub use self::snapshot_group::Moment;
use self::workers::Work;
use crate::link::Inner;
use crate::relay;
use crate::server::{Lent, Server};
use crate::settings::SessionSettings;
use crate::snapshot::SnapshotMode;
use crate::split::{KeyRange, quote_text};

/// The SQL of a fragment around the places where a range goes: `parts[0]`, partition clause,
/// `parts[1]`, range condition, `parts[2]`.
///
/// ```text
/// SELECT .. FROM `db`.`t`|PARTITION (p0)| AS `t` WHERE (filter) AND (|`t`.`id` < 10|) GROUP BY ..
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The pieces of text.
    pub parts: [String; 3],
}

impl Fragment {
    /// A statement without a place for a range: it reads everything.
    pub fn uncut(text: String) -> Self {
        Self { parts: [text, String::new(), String::new()] }
    }

    /// The statement for one range. The condition of a range without one is `1=1`.
    pub fn render(&self, range: &KeyRange, qualifier: &str) -> String {
        let [head, middle, tail] = &self.parts;
        if middle.is_empty() && tail.is_empty() {
            return head.clone();
        }
        let partitions: Vec<_> =
            range.partitions().iter().map(|name| crate::split::quote_name(name)).collect();
        let clause = if partitions.is_empty() {
            String::new()
        } else {
            format!(" PARTITION ({})", partitions.join(", "))
        };
        let condition = range.predicate(qualifier);
        format!("{head}{clause}{middle}{}{tail}", condition.as_deref().unwrap_or("1=1"))
    }
}

/// The request of a scan.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// Session state on the servers.
    pub settings: SessionSettings,
    /// The SQL around each range.
    pub fragment: Fragment,
    /// The ranges; each is read once.
    pub ranges: Vec<KeyRange>,
    /// The alias that the ranges' columns are written with.
    pub qualifier: String,
    /// Every table that the fragment reads, as (database, table) by the server's names; needed for
    /// one moment in time.
    pub tables: Vec<(String, String)>,
    /// The table that is cut into ranges, as (database, table) by the server's names.
    pub cut: Option<(String, String)>,
    /// Connections on each server; 0 means the link's own number.
    pub streams: usize,
    /// Reads committed rows only, whatever the isolation level of the server's sessions. With
    /// several ranges this is always so.
    pub committed: bool,
    /// Keeps a range's rows back until it is complete (up to a bound), so that a failed server's
    /// ranges can be read again elsewhere.
    pub buffer_whole_range: bool,
    /// The types that the plan was made for; empty to accept any. If the server's types differ the
    /// scan fails with [`pelorus_error::Code::TableChanged`] and the cached descriptions of the
    /// tables are dropped.
    pub expected: Vec<ColumnType>,
    /// The memory account of the rows that wait for their reader.
    pub memory: Account,
}

/// A scan that runs.
#[derive(Debug)]
pub struct Scan {
    /// The columns of the batches.
    pub columns: Vec<Column>,
    /// Where batches come out. All streams draw from the same work: any of them may be read alone,
    /// in any order, and together they give every row once. Dropping all of them stops the scan.
    pub streams: Vec<ScanStream>,
    /// The progress of the scan.
    pub report: Arc<ScanReport>,
}

/// One of the outputs of a scan.
pub struct ScanStream {
    batches: Pin<Box<dyn Stream<Item = Result<RecordBatch>> + Send>>,
}

impl std::fmt::Debug for ScanStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ScanStream")
    }
}

impl Stream for ScanStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.batches.as_mut().poll_next(context)
    }
}

/// The report of a scan.
#[derive(Debug)]
pub struct ScanReport {
    /// How its moment was found.
    pub mode: SnapshotMode,
    /// How long read locks were held for it.
    pub lock_held: Option<Duration>,
    /// Warnings for users, such as a weaker snapshot or a replica left out.
    pub warnings: Vec<String>,
    /// How long it took until every connection saw the moment.
    pub opened_in: Duration,
    ranges: Mutex<Vec<RangeReport>>,
}

/// The report of one range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeReport {
    /// Its place in the request.
    pub range: usize,
    /// The server that read it.
    pub server: String,
    /// How long it took.
    pub elapsed: Duration,
    /// Rows that came.
    pub rows: u64,
    /// How often it was begun; above 1 after a failure.
    pub attempts: u32,
}

impl ScanReport {
    /// The ranges read so far, in the order in which they ended.
    pub fn ranges(&self) -> Vec<RangeReport> {
        self.ranges.lock().clone()
    }

    fn note(&self, range: RangeReport) {
        self.ranges.lock().push(range);
    }
}

/// Starts a scan of its own moment.
pub(crate) async fn scan(inner: &Arc<Inner>, request: ScanRequest) -> Result<Scan> {
    let moment = Moment::new(inner);
    let ticket = moment.add(&request);
    moment.scan(ticket, request).await
}

/// The connections with which a scan reads.
#[derive(Debug)]
struct Readers {
    connections: Vec<Lent>,
    mode: SnapshotMode,
    lock_held: Option<Duration>,
    warnings: Vec<String>,
    opened_in: Duration,
}

/// Checks the columns and sets workers to work.
async fn start(inner: &Arc<Inner>, request: ScanRequest, readers: Readers) -> Result<Scan> {
    let Readers { mut connections, mode, lock_held, warnings, opened_in } = readers;
    check_partitions(&mut connections[0], &request).await?;
    let queue = Arc::new(Queue::new(&request));
    let first = queue.take_first();
    let statement = connections[0].prepare(&first.sql).await?;
    if !fits(&statement.columns, &request.expected) {
        connections[0].close_statement(statement.id);
        inner.forget();
        return Err(changed(&request));
    }
    let mut columns = statement.columns.clone();
    relay::localize(&inner.config, &mut columns);
    let ranges = Mutex::default();
    let report = Arc::new(ScanReport { mode, lock_held, warnings, opened_in, ranges });
    let workers = connections.len();
    let (shared, cancelled, batches) = workers::outputs(workers, &queue);
    let job = Work {
        queue,
        columns: columns.clone().into(),
        report: Arc::clone(&report),
        env: inner.env.clone(),
        buffer: if request.buffer_whole_range { workers::buffer_of(workers) } else { 0 },
        batches,
        memory: request.memory.clone(),
    };
    job.start(connections, first, statement, cancelled);
    let streams = shared.into_iter().map(|batches| ScanStream { batches }).collect();
    Ok(Scan { columns, streams, report })
}

/// Where ranges name partitions: they must be all that the table has at the scan's moment. A later
/// change of the partitions is an error of the ranges' statements, whose snapshots are older.
async fn check_partitions(connection: &mut Lent, request: &ScanRequest) -> Result<()> {
    let named: BTreeSet<&str> =
        request.ranges.iter().flat_map(KeyRange::partitions).map(String::as_str).collect();
    let Some((database, table)) = request.cut.as_ref().filter(|_| !named.is_empty()) else {
        return Ok(());
    };
    let ask = format!(
        "SELECT DISTINCT PARTITION_NAME FROM information_schema.PARTITIONS \
         WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quote_text(database),
        quote_text(table)
    );
    let rows = connection.rows(&ask).await?;
    let found: BTreeSet<&str> =
        rows.rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
    if found == named { Ok(()) } else { Err(changed(request)) }
}

/// How many connections to open on each server: no more than there are ranges, the primary first,
/// then the replicas that were fastest.
fn choose_servers(inner: &Inner, request: &ScanRequest) -> Vec<(Arc<Server>, usize)> {
    let each =
        if request.streams == 0 { inner.config.connections_per_server } else { request.streams };
    let mut servers: Vec<_> =
        inner.servers.iter().filter(|server| server.is_primary() || server.seems_up()).collect();
    let speed = |server: &Server| server.speed().unwrap_or(f64::INFINITY);
    servers[1..].sort_by(|a, b| speed(b).total_cmp(&speed(a)));
    let mut left = request.ranges.len();
    let mut wanted: Vec<(Arc<Server>, usize)> = Vec::new();
    for server in servers {
        let count = each.max(1).min(left);
        if count > 0 {
            wanted.push((Arc::clone(server), count));
            left -= count;
        }
    }
    wanted
}

/// Whether columns are held as the plan expects them.
fn fits(columns: &[Column], expected: &[ColumnType]) -> bool {
    expected.is_empty()
        || (columns.len() == expected.len()
            && columns.iter().zip(expected).all(|(column, ty)| same_form(&column.ty, ty)))
}

/// Whether values of two types look the same: flags such as NOT NULL and lengths may differ.
fn same_form(a: &ColumnType, b: &ColumnType) -> bool {
    a.arrow() == b.arrow()
        && (a.wire == b.wire
            || (a.is_string() && b.is_string())
            || (a.is_integer() && b.is_integer()))
        && (!a.is_temporal() || a.decimals == b.decimals)
}

fn changed(request: &ScanRequest) -> Error {
    let names: Vec<_> =
        request.tables.iter().map(|(database, table)| format!("'{database}.{table}'")).collect();
    let error = Error::table_changed();
    let text = format!("{} (linked table {})", error.message(), names.join(", "));
    error.with_message(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_go_where_there_is_a_place_for_them() {
        let everything = KeyRange::whole(0);
        let cut = ["SELECT a FROM t", " WHERE ", ""].map(str::to_owned);
        let cut = Fragment { parts: cut }.render(&everything, "t");
        assert_eq!(cut, "SELECT a FROM t WHERE 1=1");
        let uncut = Fragment::uncut("SELECT 1".to_owned()).render(&everything, "t");
        assert_eq!(uncut, "SELECT 1");
    }
}

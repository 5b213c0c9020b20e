//! One fragment over many ranges and servers.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arrow::record_batch::RecordBatch;
use futures::Stream;
use pelorus_error::Result;
use pelorus_types::{Column, ColumnType};

use crate::link::Inner;
use crate::settings::SessionSettings;
use crate::snapshot::SnapshotMode;
use crate::split::KeyRange;

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
    /// The statement for one range. The condition of a range without one is `1=1`.
    pub fn render(&self, range: &KeyRange, qualifier: &str) -> String {
        let [head, middle, tail] = &self.parts;
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

/// What to scan.
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
    /// Connections on each server; 0 means the link's own number.
    pub streams: usize,
    /// Keeps a range's rows back until it is complete (up to a bound), so that a failed server's
    /// ranges can be read again elsewhere.
    pub buffer_whole_range: bool,
    /// The types that the plan was made for; empty to take what comes. When the server sees it
    /// otherwise the scan fails with [`pelorus_error::Code::TableChanged`] and what is cached of
    /// the tables is forgotten.
    pub expected: Vec<ColumnType>,
}

/// A scan that runs.
#[derive(Debug)]
pub struct Scan {
    /// The columns of the batches.
    pub columns: Vec<Column>,
    /// Where batches come out. All streams draw from the same work: any of them may be read alone,
    /// in any order, and together they give every row once. Dropping all of them stops the scan.
    pub streams: Vec<ScanStream>,
    /// What happens, while it happens.
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

/// What a scan did and does.
#[derive(Debug)]
pub struct ScanReport {
    /// How its moment was found.
    pub mode: SnapshotMode,
    /// How long read locks were held for it.
    pub lock_held: Option<Duration>,
    /// What a person should know, such as a weaker snapshot or a replica left out.
    pub warnings: Vec<String>,
}

/// What became of one range.
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
    /// The ranges read so far.
    pub fn ranges(&self) -> Vec<RangeReport> {
        Vec::new()
    }
}

pub(crate) async fn scan(_inner: &Arc<Inner>, _request: ScanRequest) -> Result<Scan> {
    Err(pelorus_error::Error::unsupported("scans"))
}

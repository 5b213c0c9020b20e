//! The workers of a scan, one for each connection.

use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use futures::{Stream, stream};
use pelorus_env::{Account, Env, Reservation};
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::rows::{Format, RowDecoder};
use pelorus_types::{Column, ColumnType, WireType};
use tokio::sync::{Mutex, mpsc, watch};

use super::queue::{Job, Queue};
use super::{RangeReport, ScanReport, same_form};
use crate::connection::{Answer, Statement};
use crate::server::Lent;

/// A batch ends at so many rows ...
const BATCH_ROWS: usize = 16_384;
/// ... or so many bytes.
const BATCH_BYTES: usize = 2 << 20;
/// Batches that wait for a reader, per worker.
const WAITING_BATCHES: usize = 2;
/// The bytes that all workers of a scan together may buffer until their ranges are complete.
const BUFFERS: usize = 128 << 20;
/// The bytes that one worker may buffer at most.
const BUFFER: usize = 32 << 20;

type Batches = Pin<Box<dyn Stream<Item = Result<RecordBatch>> + Send>>;

/// The bytes that one worker may buffer.
pub(super) fn buffer_of(workers: usize) -> usize {
    (BUFFERS / workers.max(1)).min(BUFFER)
}

/// Rows that wait for their reader, with their memory reservation.
#[derive(Debug)]
pub(super) struct Waiting {
    batch: RecordBatch,
    _held: Reservation,
}

/// What the streams of a scan share. When the last of them is dropped the workers learn it.
struct Output {
    batches: Mutex<mpsc::Receiver<Result<Waiting>>>,
    _wanted: watch::Sender<()>,
}

/// Creates the outputs of a scan, the cancellation signal, and the input.
pub(super) fn outputs(
    workers: usize,
    queue: &Arc<Queue>,
) -> (Vec<Batches>, watch::Receiver<()>, mpsc::Sender<Result<Waiting>>) {
    let (sender, receiver) = mpsc::channel(workers * WAITING_BATCHES);
    let (wanted, cancelled) = watch::channel(());
    let output = Arc::new(Output { batches: Mutex::new(receiver), _wanted: wanted });
    let streams = (0..workers)
        .map(|_| {
            let state = Some((Arc::clone(&output), Arc::clone(queue)));
            let batches = stream::unfold(state, |state| async move {
                let (output, queue) = state?;
                let batch = output.batches.lock().await.recv().await;
                match batch {
                    Some(waiting) => {
                        Some((waiting.map(|waiting| waiting.batch), Some((output, queue))))
                    }
                    // It is the end of the rows only if all ranges were read, or an error was
                    // reported.
                    None if queue.is_settled() => None,
                    None => Some((Err(Error::internal("a scan ended before its ranges")), None)),
                }
            });
            Box::pin(batches) as Batches
        })
        .collect();
    (streams, cancelled, sender)
}

/// The state that the workers of a scan share.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) queue: Arc<Queue>,
    pub(super) columns: Arc<[Column]>,
    pub(super) report: Arc<ScanReport>,
    pub(super) env: Env,
    /// Bytes of a range that are buffered until it is complete.
    pub(super) buffer: usize,
    pub(super) batches: mpsc::Sender<Result<Waiting>>,
    /// The memory account of the waiting batches.
    pub(super) memory: Account,
}

/// A worker that is there. One that ends by a panic has left its range unread, and the others must
/// not wait for it.
struct Left {
    queue: Arc<Queue>,
    in_order: bool,
}

impl Drop for Left {
    fn drop(&mut self) {
        if !self.in_order {
            self.queue.give_up();
        }
    }
}

/// Why a range was not read.
enum Failure {
    /// Another worker may read it.
    Lost(Error),
    /// The scan fails.
    Fatal(Error),
    /// The rows are not needed any more.
    Unwanted,
}

impl Work {
    /// Starts a worker for each connection; the first continues with its prepared range.
    pub(super) fn start(
        self,
        connections: Vec<Lent>,
        first: Job,
        statement: Statement,
        cancelled: watch::Receiver<()>,
    ) {
        self.queue.set_workers(connections.len());
        // Dropped by the worker that fails: the others see it and stop.
        let (failed, failures) = watch::channel(false);
        let failed = Arc::new(failed);
        let mut prepared = Some((first, statement));
        for connection in connections {
            let work = self.clone();
            let prepared = prepared.take();
            let mut cancelled = cancelled.clone();
            let mut failures = failures.clone();
            let failed = Arc::clone(&failed);
            tokio::spawn(async move {
                let mut left = Left { queue: Arc::clone(&work.queue), in_order: false };
                tokio::select! {
                    // The first one runs what it has prepared, which frees it, before it is stopped.
                    biased;
                    () = work.run(connection, prepared, &failed) => {}
                    _ = cancelled.changed() => {}
                    _ = failures.wait_for(|failed| *failed) => {}
                }
                left.in_order = true;
            });
        }
    }

    /// Takes job after job.
    async fn run(
        self,
        mut connection: Lent,
        mut prepared: Option<(Job, Statement)>,
        failed: &watch::Sender<bool>,
    ) {
        loop {
            let (job, statement) = match prepared.take() {
                Some((job, statement)) => (job, Some(statement)),
                None => match self.queue.next().await {
                    Some(job) => (job, None),
                    None => break,
                },
            };
            match self.read(&mut connection, &job, statement).await {
                Ok(()) => self.queue.finish(),
                Err(Failure::Unwanted) => return,
                Err(Failure::Fatal(error)) => return self.fail(error, failed).await,
                Err(Failure::Lost(error)) => {
                    let error = named(&connection, error);
                    connection.server().note_failure(&error);
                    tracing::warn!(server = %connection.label(), %error, "range goes elsewhere");
                    drop(connection);
                    if !self.queue.give_back(job) {
                        self.fail(error, failed).await;
                    }
                    return;
                }
            }
        }
        // The pool ends the transaction when it gets the connection back. Nothing may be awaited
        // here: the consumer that sees the end of the results drops them, and that stops the
        // workers.
    }

    async fn fail(&self, error: Error, failed: &watch::Sender<bool>) {
        self.queue.fail();
        // The error first: the workers that stop close the channel.
        self.batches.send(Err(error)).await.ok();
        failed.send_replace(true);
    }

    /// Reads one range.
    async fn read(
        &self,
        connection: &mut Lent,
        job: &Job,
        statement: Option<Statement>,
    ) -> Result<(), Failure> {
        let start = self.env.clock.monotonic();
        let mut kept = Kept { batches: Vec::new(), bytes: 0, flowing: self.buffer == 0, sent: 0 };
        let result = self.rows(connection, job, statement, &mut kept).await;
        let rows = match result {
            Ok(rows) => rows,
            Err(Failure::Lost(error)) if kept.sent > 0 => {
                return Err(Failure::Fatal(named(connection, error)));
            }
            Err(failure) => return Err(failure),
        };
        self.flow(&mut kept).await?;
        let elapsed = self.env.clock.monotonic().saturating_sub(start);
        connection.server().note_range(job.est_rows, rows, elapsed);
        self.note(connection, job, rows, elapsed);
        Ok(())
    }

    async fn rows(
        &self,
        connection: &mut Lent,
        job: &Job,
        statement: Option<Statement>,
        kept: &mut Kept,
    ) -> Result<u64, Failure> {
        let statement = match statement {
            Some(statement) => statement,
            None => connection.prepare(&job.sql).await.map_err(classify)?,
        };
        if let Err(failure) = self.check(&statement.columns) {
            connection.close_statement(statement.id);
            return Err(failure);
        }
        let answer = connection.execute(&statement, &[]).await.map_err(classify)?;
        let columns = match answer {
            Answer::Rows(columns) => columns,
            Answer::Done(_) => {
                return Err(Failure::Fatal(Error::internal("a fragment without rows")));
            }
        };
        self.check(&columns)?;
        // What is prepared as BIGINT may come out of a temporary table as INT: the rows are as the
        // answer says, the batches as was planned.
        let as_planned = columns.iter().zip(self.columns.iter()).all(|(a, b)| a.ty == b.ty);
        let mut decoder = RowDecoder::new(columns, Format::Binary).map_err(Failure::Fatal)?;
        let mut rows = 0;
        loop {
            let end = connection
                .rows_until(|payload| {
                    decoder.push(payload)?;
                    let full =
                        decoder.len() >= BATCH_ROWS || decoder.payload_bytes() >= BATCH_BYTES;
                    Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                })
                .await
                .map_err(classify)?;
            if !decoder.is_empty() {
                rows += decoder.len() as u64;
                let mut batch = decoder.finish().map_err(Failure::Fatal)?;
                if !as_planned {
                    batch = self.planned(&batch).map_err(Failure::Fatal)?;
                }
                kept.bytes += batch.get_array_memory_size();
                let waiting = self.counted(batch, kept).await?;
                kept.batches.push(waiting);
                if kept.flowing || kept.bytes > self.buffer {
                    kept.flowing = true;
                    self.flow(kept).await?;
                }
            }
            if end.is_some() {
                break;
            }
        }
        Ok(rows)
    }

    /// A batch that waits. Where there is no memory to keep more of a range back, its rows go on as they
    /// come.
    async fn counted(&self, batch: RecordBatch, kept: &mut Kept) -> Result<Waiting, Failure> {
        let bytes = batch.get_array_memory_size();
        if let Ok(held) = self.memory.reserve(bytes) {
            return Ok(Waiting { batch, _held: held });
        }
        kept.flowing = true;
        self.flow(kept).await?;
        let held =
            self.memory.reserve(bytes).map_err(|it| Failure::Fatal(Error::out_of_memory(it)))?;
        Ok(Waiting { batch, _held: held })
    }

    /// Sends the buffered rows.
    async fn flow(&self, kept: &mut Kept) -> Result<(), Failure> {
        kept.bytes = 0;
        for batch in kept.batches.drain(..) {
            kept.sent += 1;
            self.batches.send(Ok(batch)).await.map_err(|_| Failure::Unwanted)?;
        }
        Ok(())
    }

    /// All ranges must have the same columns: the table may be changed in between.
    fn check(&self, columns: &[Column]) -> Result<(), Failure> {
        let numbers = |ty: &ColumnType| ty.is_integer() && ty.wire != WireType::Bit;
        let same = columns.len() == self.columns.len()
            && columns
                .iter()
                .zip(self.columns.iter())
                .all(|(a, b)| same_form(&a.ty, &b.ty) || (numbers(&a.ty) && numbers(&b.ty)));
        if same { Ok(()) } else { Err(Failure::Fatal(Error::table_changed())) }
    }

    /// A batch in the planned forms: integers without sign may have come for signed ones.
    fn planned(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let exact = CastOptions { safe: false, ..CastOptions::default() };
        let arrays = batch.columns().iter().zip(self.columns.iter()).map(|(array, column)| {
            cast_with_options(array, &column.ty.arrow(), &exact).map_err(|_| Error::table_changed())
        });
        let fields: Vec<_> = self.columns.iter().map(Column::field).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays.collect::<Result<Vec<_>>>()?)
            .map_err(|error| Error::internal(error.to_string()))
    }

    fn note(&self, connection: &Lent, job: &Job, rows: u64, elapsed: Duration) {
        self.report.note(RangeReport {
            range: job.range,
            server: connection.server().place(),
            elapsed,
            rows,
            attempts: job.attempts,
        });
    }
}

/// Batches of a range.
struct Kept {
    batches: Vec<Waiting>,
    bytes: usize,
    /// Batches go on as they come.
    flowing: bool,
    /// Batches that went on.
    sent: usize,
}

/// The error for a client after a connection broke: it names the server.
fn named(connection: &Lent, error: Error) -> Error {
    match error.code() {
        Code::Remote(code) => {
            let text = format!("error {}: {error}", code.errno);
            connection.lost(text).caused_by(error)
        }
        _ => error,
    }
}

/// Tells a server that is lost from a statement that fails.
fn classify(error: Error) -> Failure {
    // Shutdown; network errors; connection killed (MariaDB, MySQL), closed for being idle.
    const GONE: [u16; 10] = [1053, 1077, 1079, 1158, 1159, 1160, 1161, 1927, 3169, 4031];
    let lost = match error.code() {
        Code::QueryOnForeign | Code::ConnectToForeign => true,
        Code::Remote(code) => GONE.contains(&code.errno),
        _ => false,
    };
    if lost { Failure::Lost(error) } else { Failure::Fatal(error) }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;

    use super::*;
    use crate::scan::{Fragment, ScanRequest};
    use crate::settings::SessionSettings;
    use crate::split::KeyRange;

    fn queue_of_two() -> Arc<Queue> {
        let request = ScanRequest {
            settings: SessionSettings::default(),
            fragment: Fragment::uncut("SELECT 1".to_owned()),
            ranges: vec![KeyRange::whole(1), KeyRange::whole(1)],
            qualifier: "t".to_owned(),
            tables: Vec::new(),
            cut: None,
            streams: 1,
            committed: false,
            buffer_whole_range: true,
            expected: Vec::new(),
            memory: Account::unlimited(),
        };
        Arc::new(Queue::new(&request))
    }

    #[tokio::test]
    async fn what_waits_for_a_reader_is_counted() {
        let (queue, memory) = (queue_of_two(), Account::new("limit", 1000));
        let (mut streams, _cancelled, batches) = outputs(1, &queue);
        let batch = RecordBatch::new_empty(Arc::new(Schema::empty()));
        let held = memory.reserve(600).unwrap();
        batches.send(Ok(Waiting { batch, _held: held })).await.unwrap();
        assert_eq!(memory.held(), 600);
        assert!(streams[0].next().await.unwrap().is_ok());
        assert_eq!(memory.held(), 0);
    }

    #[tokio::test]
    async fn an_end_before_all_ranges_were_read_is_an_error() {
        let queue = queue_of_two();
        let (mut streams, _cancelled, batches) = outputs(2, &queue);
        queue.take_first();
        queue.finish();
        queue.take_first();
        // The worker of the second range panics.
        drop(Left { queue: Arc::clone(&queue), in_order: false });
        assert!(queue.next().await.is_none(), "others do not wait for it");
        drop(batches);
        let error = streams[0].next().await.unwrap().unwrap_err();
        assert_eq!(error.errno(), 1105);
        assert!(streams[0].next().await.is_none());
    }

    #[tokio::test]
    async fn an_end_with_all_ranges_or_an_error_is_one() {
        for fails in [false, true] {
            let queue = queue_of_two();
            let (mut streams, _cancelled, batches) = outputs(1, &queue);
            queue.take_first();
            queue.finish();
            if fails {
                queue.fail();
            } else {
                queue.take_first();
                queue.finish();
            }
            drop(batches);
            assert!(streams[0].next().await.is_none());
        }
    }
}

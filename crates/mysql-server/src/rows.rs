//! Encodes the batches of a result set into packets, row by row.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use arrow::array::Array as _;
use arrow::record_batch::RecordBatch;
use bytes::{Buf as _, Bytes, BytesMut};
use futures::Stream as _;
use pelorus_engine::api::{ResultSet, Rows};
use pelorus_env::{Account, Reservation};
use pelorus_error::{Error, Result};
use pelorus_mysql_wire::frame::FrameWriter;
use pelorus_mysql_wire::rows::{Format, RowEncoder};
use pelorus_types::{Collation, Column};

use crate::channel::FLUSH;
use crate::recode::Recoder;

/// A result set that returns a requested number of rows at a time.
pub(crate) struct RowSource {
    /// The columns as the rows come.
    columns: Vec<Column>,
    /// The columns as the client is to see them.
    pub(crate) shown: Vec<Column>,
    recoder: Option<Recoder>,
    format: Format,
    /// Rows that wait to be written, with the memory that they take.
    pieces: VecDeque<(Piece, Reservation)>,
    memory: Account,
    /// Rows still to come; `None` once the stream has ended.
    stream: Option<pelorus_engine::api::RowStream>,
    end: Option<Result<u16>>,
}

enum Piece {
    Batch { batch: RecordBatch, next: usize },
    Encoded(Bytes),
}

/// The result of [`RowSource::write`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// As many rows as requested, or enough to be sent; there may be more.
    Wrote(usize),
    /// No rows are here; [`RowSource::more`] waits for them.
    Empty,
}

impl RowSource {
    /// A source of rows in the client's charset, counted by an account while they wait.
    ///
    /// # Errors
    /// A charset that text cannot be written in.
    pub(crate) fn new(
        result: ResultSet,
        format: Format,
        client: Option<Collation>,
        memory: Account,
    ) -> Result<Self> {
        let mut shown = result.columns.clone();
        let recoder = Recoder::for_client(client, format, &mut shown)?;
        Ok(Self {
            columns: result.columns,
            shown,
            recoder,
            format,
            pieces: VecDeque::new(),
            memory,
            stream: Some(result.rows),
            end: None,
        })
    }

    /// Waits for more rows: `false` at the end. Giving up the wait loses nothing.
    pub(crate) async fn more(&mut self) -> bool {
        std::future::poll_fn(|context| self.poll_more(context)).await
    }

    /// Whether more rows are available at once; `None` if the answer requires a wait.
    pub(crate) fn more_now(&mut self) -> Option<bool> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        match self.poll_more(&mut context) {
            Poll::Ready(more) => Some(more),
            Poll::Pending => None,
        }
    }

    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(!self.pieces.is_empty()) };
        match Pin::new(stream).poll_next(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some(Ok(Rows::Batch(batch)))) => {
                return Poll::Ready(self.take(Piece::Batch { batch, next: 0 }));
            }
            Poll::Ready(Some(Ok(Rows::Encoded(bytes)))) => {
                return Poll::Ready(self.take(Piece::Encoded(bytes)));
            }
            Poll::Ready(Some(Ok(Rows::End { warnings }))) => self.finish(Ok(warnings)),
            Poll::Ready(Some(Err(error))) => self.finish(Err(error)),
            // A result that just stops would look complete to the client.
            Poll::Ready(None) => {
                self.finish(Err(Error::internal("a result stopped before its end")));
            }
        }
        Poll::Ready(!self.pieces.is_empty())
    }

    /// Keeps rows until they are written; `false` when the memory has no room for them, which ends
    /// the result.
    fn take(&mut self, piece: Piece) -> bool {
        match self.memory.reserve(piece.bytes()) {
            Ok(held) => self.pieces.push_back((piece, held)),
            Err(refused) => self.fail(Error::out_of_memory(refused)),
        }
        !self.pieces.is_empty()
    }

    fn finish(&mut self, end: Result<u16>) {
        self.stream = None;
        self.end = Some(end);
    }

    /// Whether all rows were written.
    pub(crate) fn is_done(&self) -> bool {
        self.stream.is_none() && self.pieces.is_empty()
    }

    /// How the result ended: its warnings, or the error that cut it off.
    pub(crate) fn take_end(&mut self) -> Result<u16> {
        self.end.take().unwrap_or(Ok(0))
    }

    /// Looks for the end when there are no rows here, so that the last rows can be called that.
    pub(crate) fn peek(&mut self) {
        if self.pieces.is_empty() {
            self.more_now();
        }
    }

    /// Ends the result with an error; rows that were not written are dropped.
    fn fail(&mut self, error: Error) {
        self.pieces.clear();
        self.finish(Err(error));
    }

    /// Writes up to `most` rows of those that are here, until there is enough to be sent.
    pub(crate) fn write(&mut self, writer: &mut FrameWriter, most: usize) -> Progress {
        let Some((piece, _)) = self.pieces.front_mut() else { return Progress::Empty };
        let form =
            Form { columns: &self.columns, format: self.format, recoder: self.recoder.as_ref() };
        match piece.write(&form, writer, most) {
            Ok((wrote, done)) => {
                if done {
                    self.pieces.pop_front();
                }
                Progress::Wrote(wrote)
            }
            Err(error) => {
                self.fail(error);
                Progress::Empty
            }
        }
    }

    /// Whether no more rows come than it holds.
    pub(crate) fn is_whole(&self) -> bool {
        self.stream.is_none()
    }

    /// Takes all rows to come into memory, as far as it has room for them.
    pub(crate) async fn hoard(&mut self) {
        while self.stream.is_some() {
            self.more().await;
        }
    }
}

impl Piece {
    fn bytes(&self) -> usize {
        match self {
            // Of a slice of larger arrays, what it shows.
            Piece::Batch { batch, .. } => {
                let sizes = batch.columns().iter().map(|it| it.to_data().get_slice_memory_size());
                sizes.map(|size| size.unwrap_or(0)).sum()
            }
            Piece::Encoded(bytes) => bytes.len(),
        }
    }

    /// Writes rows; tells how many, and whether the piece is used up.
    fn write(
        &mut self,
        form: &Form<'_>,
        writer: &mut FrameWriter,
        most: usize,
    ) -> Result<(usize, bool)> {
        let mut wrote = 0;
        match self {
            Piece::Batch { batch, next } => {
                let mut encoder = RowEncoder::new(batch, form.columns, form.format)?;
                let mut plain = BytesMut::new();
                while *next < batch.num_rows() && wrote < most && writer.len() < FLUSH {
                    match form.recoder {
                        None => writer.try_packet(|out| encoder.encode(*next, out))?,
                        Some(recoder) => {
                            plain.clear();
                            encoder.encode(*next, &mut plain)?;
                            writer.try_packet(|out| recoder.row(&plain, out))?;
                        }
                    }
                    *next += 1;
                    wrote += 1;
                }
                Ok((wrote, *next == batch.num_rows()))
            }
            Piece::Encoded(bytes) => {
                while !bytes.is_empty() && wrote < most && writer.len() < FLUSH {
                    let row = next_row(bytes)
                        .ok_or_else(|| Error::internal("relayed rows are cut wrongly"))?;
                    match form.recoder {
                        None => writer.payload(&row),
                        Some(recoder) => writer.try_packet(|out| recoder.row(&row, out))?,
                    }
                    wrote += 1;
                }
                Ok((wrote, bytes.is_empty()))
            }
        }
    }
}

/// How rows are to be written.
struct Form<'a> {
    columns: &'a [Column],
    format: Format,
    recoder: Option<&'a Recoder>,
}

/// Takes a row off the front: its length, then its payload.
fn next_row(bytes: &mut Bytes) -> Option<Bytes> {
    let length = u32::from_le_bytes(*bytes.first_chunk::<4>()?) as usize;
    if bytes.len() - 4 < length {
        return None;
    }
    bytes.advance(4);
    Some(bytes.split_to(length))
}

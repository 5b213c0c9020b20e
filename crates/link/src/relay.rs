//! Relays whole statements: rows are passed on as the server encoded them.

use std::pin::Pin;
use std::task::{Context, Poll};

use arrow::record_batch::RecordBatch;
use bytes::{BufMut as _, Bytes, BytesMut};
use futures::{Stream, StreamExt, stream};
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::prepared::Value;
use pelorus_mysql_wire::response;
use pelorus_mysql_wire::rows::{Format, RowDecoder, payloads};
use pelorus_types::Column;

use crate::config::LinkConfig;
use crate::connection::{Answer, Connection};

/// How many bytes of rows come in one piece, about.
const BLOCK: usize = 64 << 10;
/// The server's error for a statement that cannot be prepared.
const NOT_PREPARABLE: u16 = 1295;

/// Which server takes a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The one that takes writes.
    #[default]
    Primary,
    /// A replica that answers, else the primary.
    AnyReplica,
}

/// The result of a relayed statement.
#[derive(Debug)]
pub enum Relay {
    /// Rows.
    Rows(RelayedRows),
    /// No rows.
    Done(RelayDone),
}

/// The numbers of a statement without rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelayDone {
    /// Rows changed (or found).
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value.
    pub last_insert_id: u64,
    /// Warnings that `SHOW WARNINGS` on that connection would list.
    pub warnings: u16,
    /// The server's status bits.
    pub status: u16,
    /// Text for people.
    pub info: String,
}

/// A warning of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `Note`, `Warning` or `Error`.
    pub level: String,
    /// Its number.
    pub code: u16,
    /// Its text.
    pub message: String,
}

/// A piece of a relayed result.
#[derive(Debug)]
pub enum RelayItem {
    /// Rows: for each a `u32` (little endian) with the length of its payload, then the payload.
    Encoded(Bytes),
    /// The end.
    End {
        /// Warnings.
        warnings: u16,
        /// The warnings themselves, as far as the server keeps them.
        conditions: Vec<Condition>,
        /// The server's status bits.
        status: u16,
    },
}

/// A result on its way; the last item is [`RelayItem::End`] unless it fails. Dropping it stops the
/// statement on the server.
pub struct RelayedRows {
    /// The columns, databases under their names here.
    pub columns: Vec<Column>,
    rows: Pin<Box<dyn Stream<Item = Result<RelayItem>> + Send>>,
}

impl std::fmt::Debug for RelayedRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RelayedRows").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl RelayedRows {
    /// All rows of a result in the text format, for small results.
    ///
    /// # Errors
    /// Those of the server and of the connection, and columns without an Arrow form.
    pub async fn collect(mut self) -> Result<RecordBatch> {
        let mut decoder = RowDecoder::new(self.columns.clone(), Format::Text)?;
        while let Some(item) = self.rows.next().await {
            if let RelayItem::Encoded(bytes) = item? {
                for payload in payloads(&bytes) {
                    decoder.push(payload)?;
                }
            }
        }
        decoder.finish()
    }
}

impl Stream for RelayedRows {
    type Item = Result<RelayItem>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.rows.as_mut().poll_next(context)
    }
}

impl From<response::Ok> for RelayDone {
    fn from(ok: response::Ok) -> Self {
        Self {
            affected_rows: ok.affected_rows,
            last_insert_id: ok.last_insert_id,
            warnings: ok.warnings,
            status: ok.status.0,
            info: ok.info,
        }
    }
}

/// Where a relayed result gets its connection from; dropping it in the middle stops the statement.
pub(crate) trait Source: Send + 'static {
    fn connection(&mut self) -> &mut Connection;
}

impl Source for crate::server::Lent {
    fn connection(&mut self) -> &mut Connection {
        self
    }
}

/// Runs a statement on a connection whose settings have been applied.
pub(crate) async fn relay<S: Source>(
    mut source: S,
    config: &LinkConfig,
    sql: &str,
    format: Format,
    params: &[Value<'_>],
) -> Result<Relay> {
    let mut columns = match start(source.connection(), sql, format, params).await? {
        Answer::Done(ok) => return Ok(Relay::Done(ok.into())),
        Answer::Rows(columns) => columns,
    };
    localize(config, &mut columns);
    let state = Reading { source, end: None, ended: false };
    let rows = stream::unfold(state, |mut state| async move {
        if state.ended {
            return None;
        }
        let item = state.next().await;
        Some((item, state))
    });
    Ok(Relay::Rows(RelayedRows { columns, rows: Box::pin(rows) }))
}

async fn start(
    connection: &mut Connection,
    sql: &str,
    format: Format,
    params: &[Value<'_>],
) -> Result<Answer> {
    if format == Format::Text && params.is_empty() {
        return connection.query(sql).await;
    }
    if format == Format::Text {
        return Err(Error::internal("parameters come with rows in binary"));
    }
    let statement = match connection.prepare(sql).await {
        Ok(statement) => statement,
        // Without rows there is no difference between the protocols.
        Err(error) if error.errno() == NOT_PREPARABLE && params.is_empty() => {
            return match connection.query(sql).await? {
                done @ Answer::Done(_) => Ok(done),
                Answer::Rows(_) => Err(error),
            };
        }
        Err(error) => return Err(error),
    };
    if usize::from(statement.params) != params.len() {
        connection.close_statement(statement.id);
        return Err(Error::new(Code::WrongArguments, "Incorrect arguments to mysqld_stmt_execute"));
    }
    connection.execute(&statement, params).await
}

struct Reading<S> {
    source: S,
    /// The final packet, once it was read together with the last rows.
    end: Option<response::Ok>,
    ended: bool,
}

impl<S: Source> Reading<S> {
    async fn next(&mut self) -> Result<RelayItem> {
        let result = self.block().await;
        self.ended = !matches!(result, Ok(RelayItem::Encoded(_)));
        result
    }

    async fn block(&mut self) -> Result<RelayItem> {
        if self.end.is_none() {
            let mut block = BytesMut::new();
            self.end = self
                .source
                .connection()
                .some_rows(BLOCK, |payload| {
                    // Payloads are below 4 GiB: the protocol has nothing longer.
                    block.put_u32_le(u32::try_from(payload.len()).unwrap_or(u32::MAX));
                    block.put_slice(payload);
                })
                .await?;
            if !block.is_empty() {
                return Ok(RelayItem::Encoded(block.freeze()));
            }
        }
        let mut end = self.end.take().unwrap_or_default();
        let connection = self.source.connection();
        if connection.has_more_results() {
            // A procedure ends its results with an OK.
            match connection.head().await? {
                Answer::Done(last) => end = last,
                Answer::Rows(_) => {
                    return Err(Error::unsupported("several results of one statement"));
                }
            }
        }
        let conditions = match end.warnings {
            0 => Vec::new(),
            // All rows have come: a server that goes away now takes only the words of its warnings.
            _ => conditions(connection).await.unwrap_or_default(),
        };
        Ok(RelayItem::End { warnings: end.warnings, conditions, status: end.status.0 })
    }
}

/// The warnings of the latest statement on a connection.
async fn conditions(connection: &mut Connection) -> Result<Vec<Condition>> {
    let rows = connection.rows("SHOW WARNINGS").await?.rows;
    let conditions = rows.into_iter().filter_map(|row| {
        let [level, code, message] = <[_; 3]>::try_from(row).ok()?;
        Some(Condition { level: level?, code: code?.parse().ok()?, message: message? })
    });
    Ok(conditions.collect())
}

/// Puts the names that databases have here in place of the server's.
pub(crate) fn localize(config: &LinkConfig, columns: &mut [Column]) {
    if config.databases.is_empty() {
        return;
    }
    for column in columns {
        let local = config.local_database(&column.schema);
        if local != column.schema {
            column.schema = local.to_owned();
        }
    }
}

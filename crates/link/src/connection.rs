//! One connection to a server: sends commands and reads answers.
//!
//! A connection is *busy* from the moment that a command is sent until its answer has been read to
//! the end; only one that is not busy may be used again. Reading passes payloads by reference from
//! a buffer that takes many rows from one system call.

mod connect;
mod dump;
mod version;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, BufMut as _};
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::frame::{FrameReader, FrameWriter};
use pelorus_mysql_wire::lenenc::{Reader, malformed};
use pelorus_mysql_wire::prepared::{PrepareOk, Value, put_execute};
use pelorus_mysql_wire::response::{self, Head, RowOrEnd};
use pelorus_mysql_wire::{Capabilities, ServerStatus};
use pelorus_types::Column;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::settings::{Applied, SessionSettings};
use crate::split::quote_text;
use crate::stream::Stream;
use crate::text::{Reading, StatementText};

pub(crate) use connect::{Address, connect, connect_with};
use connect::{Works, ask_whether_it_works};
pub(crate) use dump::{Dumped, From};
pub(crate) use version::ServerVersion;

/// The maximum size of one read from the socket.
const READ_ROOM: usize = 128 << 10;
/// After so long without a byte the server is asked whether it still works ...
const SILENCE: Duration = Duration::from_secs(30);
/// ... and after so long again, when it could not be asked.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// So often in a row it may not be reached before it is given up.
const UNANSWERED: u32 = 3;
/// So many statements are sent before their answers are read. With more a server could wait until we
/// read while we wait until it does.
const AT_ONCE: usize = 50;
/// A result has no more columns: the number has two bytes where statements are prepared.
const MOST_COLUMNS: u64 = 0xFFFF;
/// The largest packet that MySQL knows.
pub(crate) const MAX_PAYLOAD: usize = 1 << 30;

mod command {
    pub(super) const QUIT: u8 = 0x01;
    pub(super) const INIT_DB: u8 = 0x02;
    pub(super) const QUERY: u8 = 0x03;
    pub(super) const BINLOG_DUMP: u8 = 0x12;
    pub(super) const REGISTER_REPLICA: u8 = 0x15;
    pub(super) const STMT_PREPARE: u8 = 0x16;
    pub(super) const STMT_CLOSE: u8 = 0x19;
    pub(super) const BINLOG_DUMP_GTID: u8 = 0x1E;
}

/// A connection that has logged in.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    reader: FrameReader,
    writer: FrameWriter,
    caps: Capabilities,
    /// The server's number of this connection, for KILL.
    id: u32,
    version: Arc<ServerVersion>,
    /// How errors name the server.
    label: Arc<str>,
    /// How to ask for news when the server has been silent for long.
    probe: Option<(Arc<Address>, Env)>,
    /// The server's state as of the latest answer.
    status: ServerStatus,
    /// Answers that are due.
    pending: usize,
    /// The number of the first frame of each answer that is to come.
    answers: VecDeque<u8>,
    phase: Phase,
    /// The server's run that has given the number.
    run: Run,
    /// Bytes can no longer be made sense of.
    broken: bool,
    /// The other side, or the network, has ended the connection.
    ended: bool,
    /// A command has gone out in part.
    torn: bool,
    pub(crate) applied: Applied,
}

/// The identity of a server and of its run: the numbers of connections start again with each run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// The identity that the server reported.
    pub(crate) server: Option<String>,
    /// When the connection was made ...
    pub(crate) since: Duration,
    /// ... and when it had logged in.
    pub(crate) ready: Duration,
}

/// The next expected packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first packet of an answer.
    Head,
    /// Columns or rows.
    Rows,
    /// An answer of another kind.
    Other,
}

/// The first part of an answer.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Nothing follows.
    Done(response::Ok),
    /// Rows of these columns follow.
    Rows(Vec<Column>),
}

/// A prepared statement on one connection.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) id: u32,
    pub(crate) params: u16,
    pub(crate) columns: Vec<Column>,
}

/// A small result as text.
#[derive(Debug, Default)]
pub(crate) struct TextRows {
    columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

impl TextRows {
    /// Each row with access by column name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = TextRow<'_>> {
        self.rows.iter().map(|values| TextRow { columns: &self.columns, values })
    }

    /// The first value of the first row.
    pub(crate) fn single(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }
}

/// A row of a small result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextRow<'a> {
    columns: &'a [String],
    values: &'a [Option<String>],
}

impl<'a> TextRow<'a> {
    /// A value by its column's name in any case; `None` for NULL and for no such column.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let at = self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))?;
        self.values.get(at)?.as_deref()
    }

    /// A text, empty for NULL.
    pub(crate) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    /// A number.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.parse().ok()
    }
}

impl Connection {
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// The server's run that its number is of.
    pub(crate) fn run_of_server(&self) -> &Run {
        &self.run
    }

    /// Whether the other side has ended the connection, and with it the statement on it.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn version(&self) -> &Arc<ServerVersion> {
        &self.version
    }

    pub(crate) fn status(&self) -> ServerStatus {
        self.status
    }

    /// Whether answers are still to be read.
    pub(crate) fn is_busy(&self) -> bool {
        self.pending > 0
    }

    /// Whether it may be used for another statement: all answers were read, and the session's state
    /// is known.
    pub(crate) fn is_reusable(&self) -> bool {
        !self.broken && !self.torn && self.pending == 0 && self.applied.is_known()
    }

    /// Whether the other side has said nothing since the last answer, not even good-bye.
    pub(crate) fn is_quiet(&self) -> bool {
        self.reader.unread().is_empty() && self.stream.is_quiet()
    }

    /// Runs a statement of the text protocol and gives its head.
    pub(crate) async fn query(&mut self, sql: &str) -> Result<Answer> {
        self.queue_query(sql)?;
        self.flush().await?;
        self.head().await
    }

    /// Runs a statement that gives no rows.
    pub(crate) async fn run(&mut self, sql: &str) -> Result<response::Ok> {
        self.queue_query(sql)?;
        self.flush().await?;
        self.done().await
    }

    /// Runs several statements that give no rows, [`AT_ONCE`] in one round trip. All are run even if
    /// one fails; the first failure is the result.
    pub(crate) async fn run_all(&mut self, statements: &[&str]) -> Result<()> {
        let mut result = Ok(());
        for together in statements.chunks(AT_ONCE) {
            self.send_all(together).await?;
            for _ in together {
                match self.done().await {
                    Ok(_) => {}
                    Err(error) if self.broken => return Err(error),
                    Err(error) => result = result.and(Err(error)),
                }
            }
        }
        result
    }

    /// Sends statements whose answers are read next.
    async fn send_all(&mut self, statements: &[&str]) -> Result<()> {
        let texts: Vec<_> = statements.iter().map(|sql| self.text(sql)).collect::<Result<_>>()?;
        for text in texts {
            self.queue_text(command::QUERY, text);
        }
        self.flush().await
    }

    /// Runs a statement and gives all its rows as text; for small results.
    pub(crate) async fn rows(&mut self, sql: &str) -> Result<TextRows> {
        self.queue_query(sql)?;
        self.flush().await?;
        self.text_rows().await
    }

    /// Puts a statement into the buffer for sending.
    fn queue_query(&mut self, sql: &str) -> Result<()> {
        let text = self.text(sql)?;
        self.queue_text(command::QUERY, text);
        Ok(())
    }

    /// A text as the server reads it in the state that the session is in.
    fn text<'a>(&self, sql: &'a str) -> Result<StatementText<'a>> {
        let sql_mode = self.applied.sql_mode();
        let has_dollar_quotes = self.version.has_dollar_quotes();
        StatementText::new(sql, Reading { sql_mode, has_dollar_quotes })
    }

    /// The only way by which text goes to the server.
    fn queue_text(&mut self, command: u8, text: StatementText<'_>) {
        self.queue(command, text.as_bytes());
    }

    /// Puts a change of the current database into the buffer for sending.
    pub(crate) fn queue_use(&mut self, database: &str) {
        self.queue(command::INIT_DB, database.as_bytes());
    }

    /// Reads an answer that has no rows (rows that come all the same are read and dropped).
    pub(crate) async fn done(&mut self) -> Result<response::Ok> {
        match self.head().await? {
            Answer::Done(ok) => Ok(ok),
            Answer::Rows(_) => self.each_row(|_| Ok(())).await,
        }
    }

    /// Reads an answer with rows of the text protocol.
    pub(crate) async fn text_rows(&mut self) -> Result<TextRows> {
        let mut result = TextRows::default();
        let Answer::Rows(columns) = self.head().await? else { return Ok(result) };
        result.columns = columns.into_iter().map(|column| column.name).collect();
        let width = result.columns.len();
        self.each_row(|payload| {
            let mut reader = Reader::new(payload);
            let mut row = Vec::with_capacity(width);
            for _ in 0..width {
                let value = reader.lenenc_bytes_or_null()?;
                row.push(value.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
            }
            result.rows.push(row);
            Ok(())
        })
        .await?;
        Ok(result)
    }

    /// Runs several statements with small results, [`AT_ONCE`] in one round trip.
    pub(crate) async fn rows_of_all(&mut self, statements: &[&str]) -> Result<Vec<TextRows>> {
        self.rows_of_each(statements).await?.into_iter().collect()
    }

    /// The same, each with a result of its own.
    ///
    /// # Errors
    /// When the connection breaks.
    pub(crate) async fn rows_of_each(
        &mut self,
        statements: &[&str],
    ) -> Result<Vec<Result<TextRows>>> {
        let mut results = Vec::with_capacity(statements.len());
        for together in statements.chunks(AT_ONCE) {
            self.send_all(together).await?;
            for _ in together {
                match self.text_rows().await {
                    Err(error) if self.broken => return Err(error),
                    result => results.push(result),
                }
            }
        }
        Ok(results)
    }

    /// Prepares a statement.
    pub(crate) async fn prepare(&mut self, sql: &str) -> Result<Statement> {
        let text = self.text(sql)?;
        self.queue_text(command::STMT_PREPARE, text);
        self.flush().await?;
        self.begin_answer();
        self.phase = Phase::Other;
        let ok = self.one(PrepareOk::parse).await?;
        for _ in 0..ok.parameters {
            self.one(|_| Ok(())).await?;
        }
        self.skip_eof(ok.parameters > 0).await?;
        let mut columns = Vec::with_capacity(usize::from(ok.columns));
        for _ in 0..ok.columns {
            columns.push(self.one(response::parse_column).await?);
        }
        self.skip_eof(ok.columns > 0).await?;
        self.pending -= 1;
        self.phase = Phase::Head;
        Ok(Statement { id: ok.id, params: ok.parameters, columns })
    }

    /// Runs a prepared statement, once: the command that frees it goes out after it, and so it is
    /// freed whatever becomes of its answer. (No answer comes to that, and the server looks at it
    /// when it has sent all rows.)
    pub(crate) async fn execute(
        &mut self,
        statement: &Statement,
        params: &[Value<'_>],
    ) -> Result<Answer> {
        self.writer.set_sequence(0);
        self.writer.packet(|out| put_execute(out, statement.id, 0, params));
        self.await_answer();
        self.close_statement(statement.id);
        self.flush().await?;
        self.head().await
    }

    /// Frees a prepared statement that is not run; goes out with the next command.
    pub(crate) fn close_statement(&mut self, statement: u32) {
        self.begin_command(command::STMT_CLOSE, &statement.to_le_bytes());
    }

    /// Reads rows until `visit` breaks or they end; `Some` with the final packet at the end.
    pub(crate) async fn rows_until(
        &mut self,
        mut visit: impl FnMut(&[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<Option<response::Ok>> {
        let caps = self.caps;
        let outcome = self
            .read_until(|payload| match response::row_or_end(payload, caps)? {
                RowOrEnd::Row => Ok(match visit(payload)? {
                    ControlFlow::Continue(()) => ControlFlow::Continue(()),
                    ControlFlow::Break(()) => ControlFlow::Break(None),
                }),
                RowOrEnd::End(ok) => Ok(ControlFlow::Break(Some(ok))),
            })
            .await;
        match outcome {
            Ok(Some(end)) => {
                self.end_of_answer(&end);
                Ok(Some(end))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Reads the rows that have arrived, at least one of them, and at most about `most` bytes;
    /// `Some` with the final packet at the end.
    pub(crate) async fn some_rows(
        &mut self,
        most: usize,
        mut visit: impl FnMut(&[u8]),
    ) -> Result<Option<response::Ok>> {
        let caps = self.caps;
        let mut seen = 0;
        loop {
            loop {
                let step = match self.reader.next() {
                    Ok(None) => break,
                    Ok(Some(payload)) => {
                        response::row_or_end(payload, caps).map(|kind| match kind {
                            RowOrEnd::Row => {
                                visit(payload);
                                seen += payload.len() + 4;
                                None
                            }
                            RowOrEnd::End(ok) => Some(ok),
                        })
                    }
                    Err(error) => Err(error),
                };
                match step {
                    Ok(Some(end)) => {
                        self.end_of_answer(&end);
                        return Ok(Some(end));
                    }
                    Ok(None) if seen >= most => return Ok(None),
                    Ok(None) => {}
                    Err(error) => return Err(self.failed(error)),
                }
            }
            if seen > 0 {
                return Ok(None);
            }
            self.fill().await?;
        }
    }

    /// Reads all rows.
    pub(crate) async fn each_row(
        &mut self,
        mut visit: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<response::Ok> {
        loop {
            let end = self.rows_until(|payload| visit(payload).map(ControlFlow::Continue)).await?;
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Reads and drops the rest of all answers, wherever reading stopped. Errors of the statements
    /// themselves are dropped too.
    pub(crate) async fn drain(&mut self) -> Result<()> {
        while self.pending > 0 {
            if self.broken || self.torn || self.phase == Phase::Other {
                return Err(self.gone("stopped in the middle of a packet"));
            }
            let result = match self.phase {
                Phase::Rows => self.each_row(|_| Ok(())).await.map(|_| ()),
                _ => self.done().await.map(|_| ()),
            };
            self.phase = Phase::Head;
            if let Err(error) = result
                && self.broken
            {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Says good-bye and closes.
    pub(crate) async fn quit(mut self) {
        self.begin_command(command::QUIT, &[]);
        self.flush().await.ok();
        self.stream.shutdown().await.ok();
    }

    /// Reads the head of the next answer.
    pub(crate) async fn head(&mut self) -> Result<Answer> {
        self.begin_answer();
        let caps = self.caps;
        match self.one(|payload| response::parse_head(payload, caps)).await? {
            Head::Ok(ok) => {
                self.end_of_answer(&ok);
                Ok(Answer::Done(ok))
            }
            Head::Columns(count) if count > MOST_COLUMNS => {
                self.broken = true;
                Err(malformed("a result with more columns than there can be"))
            }
            Head::Columns(count) => {
                self.phase = Phase::Rows;
                let mut columns = Vec::new();
                for _ in 0..count {
                    columns.push(self.one(response::parse_column).await?);
                }
                self.skip_eof(true).await?;
                Ok(Answer::Rows(columns))
            }
        }
    }

    /// An error that names this server: it went away.
    pub(crate) fn lost(&self, why: impl std::fmt::Display) -> Error {
        lost(&self.label, why)
    }

    pub(crate) fn label(&self) -> &Arc<str> {
        &self.label
    }

    fn end_of_answer(&mut self, ok: &response::Ok) {
        self.status = ok.status;
        self.phase = Phase::Head;
        if ok.status.has(ServerStatus::MORE_RESULTS) {
            // Procedures give several results. They are read one after the other by `head`.
            return;
        }
        self.pending = self.pending.saturating_sub(1);
    }

    /// Whether another result of the same statement follows.
    pub(crate) fn has_more_results(&self) -> bool {
        self.status.has(ServerStatus::MORE_RESULTS)
    }

    fn queue(&mut self, command: u8, rest: &[u8]) {
        self.begin_command(command, rest);
        self.await_answer();
    }

    /// Notes that the command which was written last has an answer, which goes on counting frames where
    /// the command ended: a long one takes several.
    fn await_answer(&mut self) {
        self.pending += 1;
        self.answers.push_back(self.writer.sequence());
    }

    fn begin_command(&mut self, command: u8, rest: &[u8]) {
        self.writer.set_sequence(0);
        self.writer.packet(|out| {
            out.put_u8(command);
            out.put_slice(rest);
        });
    }

    fn begin_answer(&mut self) {
        // A further result of the same statement goes on counting.
        if !self.status.has(ServerStatus::MORE_RESULTS) {
            self.reader.set_sequence(self.answers.pop_front().unwrap_or(1));
        }
        self.status = self.status.without(ServerStatus::MORE_RESULTS);
        self.phase = Phase::Head;
    }

    /// Sends the content of the buffer.
    pub(crate) async fn flush(&mut self) -> Result<()> {
        while !self.writer.is_empty() {
            self.torn = true;
            let sent = self.stream.write(self.writer.buffer_mut()).await;
            match sent {
                Ok(0) => return Err(self.hung_up("connection closed")),
                Ok(count) => self.writer.buffer_mut().advance(count),
                Err(error) => return Err(self.hung_up(error)),
            }
        }
        match self.stream.flush().await {
            Ok(()) => {
                self.torn = false;
                Ok(())
            }
            Err(error) => Err(self.hung_up(error)),
        }
    }

    /// Reads one payload. Failures end the answer: an ERR packet, or a connection that is of no
    /// use any more.
    async fn one<T>(&mut self, mut parse: impl FnMut(&[u8]) -> Result<T>) -> Result<T> {
        let outcome = self.read_until(|payload| parse(payload).map(ControlFlow::Break)).await;
        outcome.map_err(|error| self.failed(error))
    }

    /// Records the effect of a failure on the connection.
    fn failed(&mut self, error: Error) -> Error {
        match error.code() {
            Code::Remote(_) => {
                self.pending = self.pending.saturating_sub(1);
                self.phase = Phase::Head;
                self.status = self.status.without(ServerStatus::MORE_RESULTS);
            }
            _ => self.broken = true,
        }
        error
    }

    async fn skip_eof(&mut self, expected: bool) -> Result<()> {
        if expected && !self.caps.has(Capabilities::DEPRECATE_EOF) {
            self.one(|payload| response::parse_eof(payload).map(|_| ())).await?;
        }
        Ok(())
    }

    /// Hands payloads to `visit` until it breaks.
    async fn read_until<T>(
        &mut self,
        mut visit: impl FnMut(&[u8]) -> Result<ControlFlow<T>>,
    ) -> Result<T> {
        loop {
            while let Some(payload) = self.reader.next()? {
                if let ControlFlow::Break(value) = visit(payload)? {
                    return Ok(value);
                }
            }
            self.fill().await?;
        }
    }

    /// Reads from the socket once. A server that is silent for long is asked by another
    /// connection whether it still works for this one.
    async fn fill(&mut self) -> Result<()> {
        let mut unanswered = 0;
        let read = loop {
            let read = self.stream.read_buf(self.reader.buffer_mut(READ_ROOM));
            let Some((address, env)) = &self.probe else { break read.await };
            let patience = if unanswered == 0 { SILENCE } else { ASK_AGAIN };
            if let Ok(read) = timeout(patience, read).await {
                break read;
            }
            let (address, env, run) = (Arc::clone(address), env.clone(), self.run.clone());
            match ask_whether_it_works(address, env, self.id, run).await {
                Works::Yes => unanswered = 0,
                Works::No => return Err(self.gone("the server has forgotten the connection")),
                Works::Unknown(error) => {
                    unanswered += 1;
                    if unanswered >= UNANSWERED {
                        return Err(self.gone(error));
                    }
                }
            }
        };
        match read {
            Ok(0) => Err(self.hung_up("the server closed the connection")),
            Ok(_) => Ok(()),
            Err(error) => Err(self.hung_up(error)),
        }
    }

    fn hung_up(&mut self, why: impl std::fmt::Display) -> Error {
        self.ended = true;
        self.gone(why)
    }

    fn gone(&mut self, why: impl std::fmt::Display) -> Error {
        self.broken = true;
        self.lost(why)
    }
}

/// The error for a server that went away in the middle.
pub(crate) fn lost(label: &str, why: impl std::fmt::Display) -> Error {
    Error::new(
        Code::QueryOnForeign,
        format!(
            "There was a problem processing the query on the foreign data source. \
             Data source error: {label}: lost connection during query ({why})"
        ),
    )
}

impl Connection {
    /// Brings the session into the state that a statement needs. Variables that the server does not
    /// know are omitted, since the server does not have their feature.
    pub(crate) async fn apply(&mut self, settings: &SessionSettings) -> Result<()> {
        match self.apply_known(settings).await {
            Err(error) if error.errno() == Code::UnknownSystemVariable.errno() => {
                self.learn_variables(settings).await?;
                self.apply_known(settings).await
            }
            applied => applied,
        }
    }

    async fn apply_known(&mut self, settings: &SessionSettings) -> Result<()> {
        let change = self.applied.change(settings, self.version.read_only_variable())?;
        if change.is_empty() {
            return Ok(());
        }
        if let Some(sql) = &change.set {
            self.queue_query(sql)?;
        }
        if let Some(database) = &change.database {
            self.queue_use(database);
        }
        // The state is unknown before all answers are there: the caller may be dropped meanwhile.
        self.applied.forget();
        self.flush().await?;
        let set = self.taken(change.set.is_some()).await?;
        let database = self.taken(change.database.is_some()).await?;
        self.applied.answered(settings, set.is_ok(), database.is_ok());
        set.and(database)
    }

    /// Finds out which of the variables that are to be set the server does not know.
    async fn learn_variables(&mut self, settings: &SessionSettings) -> Result<()> {
        let names: Vec<String> = settings.others.keys().map(|name| quote_text(name)).collect();
        let ask = format!("SHOW VARIABLES WHERE Variable_name IN ({})", names.join(", "));
        let known = self.rows(&ask).await?;
        let known: Vec<&str> =
            known.rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
        let unknown = settings
            .others
            .keys()
            .filter(|name| !known.iter().any(|known| known.eq_ignore_ascii_case(name)));
        self.applied.leave_out(unknown);
        Ok(())
    }

    /// Reads the answer to a change of the session, if there was one to be made: whether the server
    /// took it. What it refuses changes nothing, and nothing is lost by it, a transaction least of all.
    async fn taken(&mut self, is_asked: bool) -> Result<Result<()>> {
        if !is_asked {
            return Ok(Ok(()));
        }
        match self.done().await {
            Ok(_) => Ok(Ok(())),
            Err(error) if self.broken => Err(error),
            Err(error) => Ok(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests;

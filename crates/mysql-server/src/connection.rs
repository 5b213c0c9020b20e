//! The command loop of one connection.

use std::borrow::Cow;

use bytes::{BufMut as _, Bytes};
use pelorus_engine::api::{Outcome, Prepared};
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::command::{CURSOR_OTHERS, CURSOR_READ_ONLY, Command, StmtExecute};
use pelorus_mysql_wire::prepared::PrepareOk;
use pelorus_mysql_wire::rows::Format;
use pelorus_mysql_wire::{Capabilities, charset, response};
use pelorus_types::{Collation, Column, ColumnType, WireType, collation};
use tokio::sync::watch::Receiver;
use tokio::task::JoinHandle;

use crate::backend::{Backend, BackendSession};
use crate::channel::{Channel, Gone};
use crate::login::{Door, server_shutdown};
use crate::recode::Recoder;
use crate::results::{
    Answer, fetch, names_of, open_cursor, put_columns, put_end, put_error, put_plain_ok,
    send_outcome, status_of, watch, watch_sending,
};
use crate::rows::RowSource;
use crate::statements::Statements;

/// One logged-in client.
pub(crate) struct Connection<B: Backend> {
    pub(crate) door: Door<B>,
    pub(crate) channel: Channel,
    pub(crate) session: B::Session,
    pub(crate) statements: Statements,
}

/// Texts beyond this are never light: even reading them takes a while.
const LIGHT: usize = 1024;

/// Whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Command,
    Quit,
}

/// Work on another runtime; it ends when its result is not waited for any more.
struct Elsewhere<T>(JoinHandle<T>);

impl<T> Drop for Elsewhere<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<B: Backend> Connection<B> {
    /// Runs commands until the client leaves, is killed, or the server stops. `stop` turns true
    /// when the server stops: then the command at hand is the last. What is left is to be closed,
    /// unless the runtime of the commands has ended with it.
    pub(crate) async fn run(self: Box<Self>, mut stop: Receiver<bool>) -> Option<(Channel, Gone)> {
        let mut connection = self;
        loop {
            let turn = match connection.next_command(&mut stop).await {
                Ok(Some(payload)) => {
                    let turn;
                    (connection, turn) = connection.turn(payload).await?;
                    turn
                }
                Ok(None) => Ok(Next::Command),
                Err(gone) => Err(gone),
            };
            let gone = match turn {
                Ok(Next::Command) => continue,
                Ok(Next::Quit) => Gone::Closed,
                Err(gone) => gone,
            };
            let Self { channel, session, statements, .. } = *connection;
            // What a session leaves may be large, or a transaction that is undone.
            let end = tokio::task::spawn_blocking(move || drop((statements, session)));
            end.await.ok();
            return Some((channel, gone));
        }
    }

    /// Waits for a command; `None` where one was refused for its length.
    async fn next_command(&mut self, stop: &mut Receiver<bool>) -> Result<Option<Bytes>, Gone> {
        let timeouts = self.session.timeouts();
        self.channel.read_timeout = timeouts.read;
        self.channel.write_timeout = timeouts.write;
        self.count_traffic();
        let killed = self.session.killed();
        let payload = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => return Err(self.bye(server_shutdown())),
            () = killed => return Err(Gone::Closed),
            payload = self.channel.read_command(timeouts.idle) => payload?,
        };
        // What the command has brought counts for a SHOW STATUS in it.
        self.count_traffic();
        match payload {
            Ok(payload) => Ok(Some(payload)),
            Err(error) => {
                self.channel.error(&error);
                self.channel.flush().await?;
                Ok(None)
            }
        }
    }

    /// Runs a command, on the serving runtime unless it is a light one.
    async fn turn(mut self: Box<Self>, payload: Bytes) -> Option<(Box<Self>, Result<Next, Gone>)> {
        let serving = self.door.shared.serving.clone();
        let Some(serving) = serving.filter(|_| !self.is_light(&payload)) else {
            let next = self.served(payload).await;
            return Some((self, next));
        };
        let mut work = Elsewhere(serving.spawn(async move {
            let next = self.served(payload).await;
            (self, next)
        }));
        match (&mut work.0).await {
            Ok(ended) => Some(ended),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => None,
        }
    }

    /// Whether a command takes next to no time, whatever its session holds.
    fn is_light(&self, payload: &Bytes) -> bool {
        match Command::parse(payload, self.channel.capabilities) {
            Ok(Command::Query(text)) if text.len() <= LIGHT => {
                !self.statements.has_cursors()
                    && std::str::from_utf8(text).is_ok_and(|text| self.session.is_light(text))
            }
            Ok(
                Command::Quit
                | Command::Ping
                | Command::Statistics
                | Command::ProcessKill(_)
                | Command::SetOption(_)
                | Command::Other(_),
            )
            | Err(_) => true,
            Ok(_) => false,
        }
    }

    /// Answers a command.
    async fn served(&mut self, payload: Bytes) -> Result<Next, Gone> {
        let next = self.answer(payload).await?;
        self.channel.flush().await?;
        if self.session.is_killed() {
            return Err(Gone::Closed);
        }
        Ok(next)
    }

    fn count_traffic(&mut self) {
        let traffic = self.channel.take_traffic();
        self.session.count_bytes(traffic.received, traffic.sent);
    }

    /// The last word to a client that has asked nothing.
    fn bye(&mut self, error: Error) -> Gone {
        self.channel.writer.set_sequence(0);
        Gone::Because(error)
    }

    async fn answer(&mut self, payload: Bytes) -> Result<Next, Gone> {
        let command = match Command::parse(&payload, self.channel.capabilities) {
            Ok(command) => command,
            Err(error) => {
                self.channel.error(&error);
                return Ok(Next::Command);
            }
        };
        match command {
            Command::Quit => return Ok(Next::Quit),
            Command::Ping => put_plain_ok(&mut self.channel, &self.session),
            Command::Query(text) => self.query(text).await?,
            Command::InitDb(name) => self.init_db(name).await?,
            Command::FieldList { table, wild } => self.field_list(table, wild).await?,
            Command::Statistics => {
                let line = self.door.shared.backend.statistics();
                self.channel.writer.packet(|out| out.put_slice(line.as_bytes()));
            }
            Command::ProcessKill(id) => {
                let done = self.door.shared.backend.kill(&self.session, id.into(), false);
                self.plain(done);
            }
            Command::ChangeUser(change) => {
                self.statements.clear();
                self.door.change_user(&mut self.channel, &mut self.session, change).await?;
            }
            Command::SetOption(option) => self.set_option(option),
            Command::ResetConnection => {
                self.statements.clear();
                let killed = self.session.killed();
                let done = watch(&mut self.channel, killed, self.session.reset()).await?;
                self.plain(done);
            }
            Command::Other(_) => {
                self.channel.error(&Error::new(Code::UnknownCommand, "Unknown command"));
            }
            statement => self.prepared(statement).await?,
        }
        Ok(Next::Command)
    }

    async fn prepared(&mut self, command: Command<'_>) -> Result<(), Gone> {
        match command {
            Command::StmtPrepare(text) => self.prepare(text).await?,
            Command::StmtExecute(execute) => self.execute(execute).await?,
            Command::StmtFetch { id, rows } => self.fetch(id, rows).await?,
            Command::StmtSendLongData { id, parameter, data } => {
                let id = self.statements.resolve(id);
                let count = self.session.parameter_count(id).unwrap_or(0);
                let most = self.door.settings.max_allowed_packet;
                self.statements.long_data(id, parameter, data, (count, most));
            }
            // There is no answer to it.
            Command::StmtClose(id) => {
                let id = self.statements.resolve(id);
                self.statements.close(id);
                self.session.close_prepared(id);
            }
            Command::StmtReset(id) => {
                let id = self.statements.resolve(id);
                let done =
                    self.statements.get(id, "mysqld_stmt_reset").map(|statement| statement.reset());
                self.plain(done);
            }
            _ => self.channel.error(&Error::new(Code::UnknownCommand, "Unknown command")),
        }
        Ok(())
    }

    /// Answers OK or ERR.
    fn plain(&mut self, done: Result<()>) {
        match done {
            Ok(()) => put_plain_ok(&mut self.channel, &self.session),
            Err(error) => put_error(&mut self.channel, &error),
        }
    }

    fn client(&self) -> Collation {
        self.session.client_collation()
    }

    /// Open cursors must not stand in the way of the next statement.
    async fn settle_cursors(&mut self) -> Result<(), Gone> {
        let killed = self.session.killed();
        watch(&mut self.channel, killed, self.statements.hoard_cursors()).await
    }

    /// The text of a statement. Byte strings in it need not be text; dumps are full of them.
    fn statement<'t>(&self, text: &'t [u8]) -> Result<Cow<'t, str>> {
        let client = self.client();
        let is_read_as_it_is = text.is_ascii()
            || client.charset().starts_with("utf8") && std::str::from_utf8(text).is_ok();
        let digits = if is_read_as_it_is { None } else { self.session.in_digits(text) };
        match digits {
            Some(digits) => Ok(Cow::Owned(charset::decode(client, &digits)?.into_owned())),
            None => charset::decode(client, text),
        }
    }

    async fn query(&mut self, text: &[u8]) -> Result<(), Gone> {
        self.settle_cursors().await?;
        let text = match self.statement(text) {
            Ok(text) => text,
            Err(error) => {
                self.channel.error(&error);
                return Ok(());
            }
        };
        let mut rest: &str = &text;
        loop {
            let (statement, after) = self.session.next_statement(rest);
            let killed = self.session.killed();
            // The results of the statements before it do not wait for it.
            let run = self.session.execute(statement);
            let outcome = watch_sending(&mut self.channel, killed, run).await?;
            let outcome = self.with_file(outcome).await?;
            let more = !after.is_empty();
            let answer =
                send_outcome(&mut self.channel, &self.session, outcome, Format::Text, more).await?;
            if !more || answer == Answer::Failed {
                return Ok(());
            }
            self.channel.flush_if_much().await?;
            rest = after;
        }
    }

    /// Gets the file that a `LOAD DATA LOCAL` asks for; other outcomes are what they are.
    async fn with_file(&mut self, outcome: Result<Outcome>) -> Result<Result<Outcome>, Gone> {
        let Ok(Outcome::File(name)) = &outcome else { return Ok(outcome) };
        if !self.channel.capabilities.has(Capabilities::LOCAL_FILES) {
            self.session.fail_load(Error::new(
                Code::LocalInfileDisabled,
                "Loading local data is disabled; this must be enabled on both the client and \
                 server sides",
            ));
            let killed = self.session.killed();
            return watch(&mut self.channel, killed, self.session.loaded()).await;
        }
        self.channel.writer.packet(|out| {
            out.put_u8(response::LOCAL_INFILE);
            out.put_slice(name.as_bytes());
        });
        self.channel.flush().await?;
        self.channel.expect_answer();
        // The client sends all of its file, whatever became of the statement meanwhile.
        loop {
            let killed = self.session.killed();
            let payload = tokio::select! {
                biased;
                () = killed => return Err(Gone::Closed),
                payload = self.channel.read(self.channel.read_timeout) => payload?,
            };
            match payload {
                Ok(payload) if payload.is_empty() => break,
                Ok(payload) => {
                    let killed = self.session.killed();
                    watch(&mut self.channel, killed, self.session.load(&payload)).await?;
                }
                Err(error) => self.session.fail_load(error),
            }
        }
        let killed = self.session.killed();
        watch(&mut self.channel, killed, self.session.loaded()).await
    }

    async fn init_db(&mut self, name: &[u8]) -> Result<(), Gone> {
        let done = match charset::decode(self.client(), name) {
            Ok(name) => {
                let killed = self.session.killed();
                watch(&mut self.channel, killed, self.session.use_database(&name)).await?
            }
            Err(error) => Err(error),
        };
        self.plain(done);
        Ok(())
    }

    async fn field_list(&mut self, table: &[u8], wild: &[u8]) -> Result<(), Gone> {
        let client = self.client();
        let names = charset::decode(client, table)
            .and_then(|table| Ok((table, charset::decode(client, wild)?)));
        let columns = match names {
            Ok((table, wild)) => {
                let killed = self.session.killed();
                watch(&mut self.channel, killed, self.session.list_fields(&table, &wild)).await?
            }
            Err(error) => Err(error),
        };
        match columns {
            Ok(columns) => {
                let names = names_of(&self.session);
                for column in &columns {
                    let put = |out: &mut _| response::put_column(out, column, Some(None), names);
                    self.channel.writer.packet(put);
                }
                put_end(&mut self.channel, 0, status_of(&self.session));
            }
            Err(error) => put_error(&mut self.channel, &error),
        }
        Ok(())
    }

    fn set_option(&mut self, option: u16) {
        if option > 1 {
            self.channel.error(&Error::new(Code::UnknownCommand, "Unknown command"));
            return;
        }
        self.session.set_multi_statements(option == 0);
        put_end(&mut self.channel, 0, status_of(&self.session));
    }

    async fn prepare(&mut self, text: &[u8]) -> Result<(), Gone> {
        self.statements.preparing();
        self.settle_cursors().await?;
        let prepared = match self.statement(text) {
            Ok(text) => {
                let killed = self.session.killed();
                watch(&mut self.channel, killed, self.session.prepare(&text)).await?
            }
            Err(error) => Err(error),
        };
        if let Err(error) = prepared.and_then(|prepared| self.put_prepared(prepared)) {
            put_error(&mut self.channel, &error);
        }
        Ok(())
    }

    /// Answers PREPARE: the numbers, then the parameters and the columns.
    fn put_prepared(&mut self, mut prepared: Prepared) -> Result<()> {
        let answer = PrepareOk {
            id: prepared.id,
            columns: u16::try_from(prepared.columns.len())
                .map_err(|_| Error::unsupported("results of this many columns"))?,
            parameters: prepared.parameters,
            warnings: prepared.warnings,
        };
        // A charset that results cannot be written in is refused when there are some.
        let client = self.session.results_collation();
        Recoder::for_client(client, Format::Binary, &mut prepared.columns).ok();
        self.statements.opened(prepared.id);
        self.channel.writer.packet(|out| answer.put(out));
        let parameter = Column::computed("?", parameter_type());
        let parameters = vec![parameter; usize::from(prepared.parameters)];
        for list in [&parameters, &prepared.columns] {
            put_columns(&mut self.channel, list, names_of(&self.session));
            let eof = !self.channel.capabilities.has(Capabilities::DEPRECATE_EOF);
            if eof && !list.is_empty() {
                put_end(&mut self.channel, 0, status_of(&self.session));
            }
        }
        Ok(())
    }

    async fn execute(&mut self, execute: StmtExecute<'_>) -> Result<(), Gone> {
        let id = self.statements.resolve(execute.id);
        let outcome = match self.bind(id, &execute) {
            Ok(parameters) => {
                self.settle_cursors().await?;
                let killed = self.session.killed();
                let run = self.session.execute_prepared(id, parameters);
                watch(&mut self.channel, killed, run).await?
            }
            Err(error) => Err(error),
        };
        let outcome = match self.with_file(outcome).await? {
            Ok(Outcome::Rows(result)) if execute.flags & CURSOR_READ_ONLY != 0 => {
                let (client, memory) = (self.session.results_collation(), self.session.memory());
                match RowSource::new(result, Format::Binary, client, memory) {
                    Ok(source) => {
                        self.keep_cursor(id, source);
                        return Ok(());
                    }
                    Err(error) => Err(error),
                }
            }
            outcome => outcome,
        };
        send_outcome(&mut self.channel, &self.session, outcome, Format::Binary, false).await?;
        Ok(())
    }

    fn keep_cursor(&mut self, id: u32, source: RowSource) {
        open_cursor(&mut self.channel, &self.session, &source);
        if let Ok(statement) = self.statements.get(id, "mysqld_stmt_execute") {
            statement.cursor = Some(source);
        }
    }

    fn bind(
        &mut self,
        id: u32,
        execute: &StmtExecute<'_>,
    ) -> Result<Vec<pelorus_engine::api::Parameter>> {
        let client = self.client();
        let statement = self.statements.get(id, "mysqld_stmt_execute")?;
        if execute.flags & CURSOR_OTHERS != 0 {
            return Err(Error::unsupported("cursors that update or scroll"));
        }
        let count = self.session.parameter_count(id).unwrap_or(0);
        statement.parameters(execute.parameters, count, client)
    }

    async fn fetch(&mut self, id: u32, rows: u32) -> Result<(), Gone> {
        let id = self.statements.resolve(id);
        let cursor = self.statements.get(id, "mysqld_stmt_fetch").and_then(|statement| {
            statement.cursor.as_mut().ok_or_else(|| {
                Error::new(
                    Code::StatementHasNoCursor,
                    format!("The statement ({id}) has no open cursor."),
                )
            })
        });
        match cursor {
            Ok(cursor) => fetch(&mut self.channel, &self.session, cursor, rows).await,
            Err(error) => {
                put_error(&mut self.channel, &error);
                Ok(())
            }
        }
    }
}

/// Types of parameters are not known before they are bound: clients see strings, as from MySQL
/// before 8.0.22.
fn parameter_type() -> ColumnType {
    ColumnType::new(WireType::VarString, collation::BINARY, 0, 0)
}

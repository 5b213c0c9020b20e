//! An engine that does what its statements say: fails, waits, gives many rows.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use arrow::array::{Int64Array, StringArray};
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use bytes::{BufMut as _, BytesMut};
use futures::stream::{self, StreamExt as _};
use parking_lot::Mutex;
use pelorus_engine::Settings;
use pelorus_engine::api::{
    Credential, Done, Login, Outcome, Parameter, Prepared, ResultSet, Rows, SessionStatus, Timeouts,
};
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_server::backend::{Backend, BackendSession};
use pelorus_mysql_server::{Edge, EdgeConfig, listen};
use pelorus_mysql_wire::auth::RsaKeys;
use pelorus_mysql_wire::rows::{Format, RowEncoder};
use pelorus_types::{Collation, Column, ColumnType, collation};
use tokio::sync::watch;

pub(crate) struct Script {
    pub(crate) settings: Mutex<Settings>,
    pub(crate) accounts: Mutex<HashMap<String, Credential>>,
    /// Pieces of work that have begun and were not dropped.
    pub(crate) running: Arc<AtomicUsize>,
    /// Rows that streams have given.
    pub(crate) given: Arc<AtomicUsize>,
    pub(crate) killed: watch::Sender<u64>,
    pub(crate) parameters: Mutex<Vec<Parameter>>,
    /// Who has tried to log in, and whether that was proven.
    pub(crate) logins: Mutex<Vec<(String, bool)>>,
    ids: AtomicU64,
}

/// The environment of all servers of this process. Making an RSA key takes a while, so there is one.
pub(crate) static ENV: LazyLock<Env> = LazyLock::new(|| {
    let env = Env::in_memory(7);
    let keys = RsaKeys::generate(env.random.as_ref()).unwrap();
    let pem = keys.to_pem().unwrap();
    env.files.replace(Path::new("data/private_key.pem"), pem.as_bytes()).unwrap();
    env
});

impl Script {
    pub(crate) fn new() -> Arc<Self> {
        let settings = Settings {
            max_allowed_packet: 20 << 20,
            connect_timeout: Duration::from_secs(2),
            net_read_timeout: Duration::from_secs(2),
            ..Settings::default()
        };
        Arc::new(Self {
            settings: Mutex::new(settings),
            accounts: Mutex::default(),
            running: Arc::default(),
            given: Arc::default(),
            killed: watch::Sender::new(0),
            parameters: Mutex::default(),
            logins: Mutex::default(),
            ids: AtomicU64::new(1),
        })
    }

    pub(crate) fn account(&self, user: &str, plugin: &str, authentication: &[u8]) {
        let credential = Credential {
            plugin: plugin.to_owned(),
            authentication: authentication.to_vec(),
            locked: false,
            require_ssl: false,
        };
        self.accounts.lock().insert(user.to_owned(), credential);
    }

    /// Starts the edge on a free port; it lives as long as the test.
    pub(crate) async fn start(self: &Arc<Self>) -> SocketAddr {
        self.start_with(EdgeConfig::new("data"), std::future::pending::<()>()).await
    }

    pub(crate) async fn start_with(
        self: &Arc<Self>,
        config: EdgeConfig,
        shutdown: impl Future + Send + 'static,
    ) -> SocketAddr {
        self.start_in(&ENV, config, shutdown).await
    }

    pub(crate) async fn start_in(
        self: &Arc<Self>,
        env: &Env,
        config: EdgeConfig,
        shutdown: impl Future + Send + 'static,
    ) -> SocketAddr {
        // The first start makes a certificate, and the tests share a folder.
        static STARTS: Mutex<()> = Mutex::new(());
        let starts = STARTS.lock();
        let edge = Edge::new(self.clone(), &config, env).unwrap();
        drop(starts);
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { edge.serve(listener, shutdown).await });
        address
    }

    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    pub(crate) async fn wait_until_running(&self, count: usize) {
        for _ in 0..3000 {
            if self.running() == count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} pieces of work run, not {count}", self.running());
    }
}

/// Counts a piece of work as long as it is not dropped.
struct Work(Arc<AtomicUsize>);

impl Work {
    fn begin(script: &Script) -> Self {
        script.running.fetch_add(1, Ordering::SeqCst);
        Self(script.running.clone())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Backend for Script {
    type Session = ScriptSession;

    fn settings(&self) -> Settings {
        self.settings.lock().clone()
    }

    fn credential(&self, user: &str, _peer: Option<IpAddr>) -> Option<Credential> {
        self.accounts.lock().get(user).cloned()
    }

    fn login_ended(&self, user: &str, _peer: Option<IpAddr>, is_proven: bool) -> Result<()> {
        self.logins.lock().push((user.to_owned(), is_proven));
        Ok(())
    }

    fn next_connection_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::SeqCst)
    }

    async fn connect(self: &Arc<Self>, id: u64, login: Login) -> Result<ScriptSession> {
        if login.database.as_deref() == Some("missing") {
            return Err(Error::new(Code::UnknownDatabase, "Unknown database 'missing'"));
        }
        Ok(ScriptSession {
            script: self.clone(),
            id,
            login,
            multi: false,
            prepared: HashMap::new(),
            next: 1,
            failure: None,
        })
    }

    fn kill(&self, _by: &ScriptSession, id: u64, _query_only: bool) -> Result<()> {
        self.killed.send_replace(id);
        Ok(())
    }

    fn statistics(&self) -> String {
        "Uptime: 1".to_owned()
    }
}

pub(crate) struct ScriptSession {
    script: Arc<Script>,
    id: u64,
    login: Login,
    multi: bool,
    prepared: HashMap<u32, String>,
    next: u32,
    /// Why a file cannot be taken.
    failure: Option<Error>,
}

pub(crate) fn columns() -> Vec<Column> {
    vec![
        Column::computed("id", ColumnType::bigint()),
        Column::computed("text", ColumnType::varchar(100, collation::UTF8MB4_0900_AI_CI)),
    ]
}

fn batch(ids: std::ops::Range<i64>, text: &str) -> RecordBatch {
    let fields: Vec<_> = columns().iter().map(Column::field).collect();
    let texts: StringArray = ids.clone().map(|_| Some(text)).collect();
    RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        vec![Arc::new(Int64Array::from_iter_values(ids)), Arc::new(texts)],
    )
    .unwrap()
}

fn encoded(batch: &RecordBatch, format: Format) -> bytes::Bytes {
    let mut out = BytesMut::new();
    let columns = columns();
    let mut encoder = RowEncoder::new(batch, &columns, format).unwrap();
    for row in 0..batch.num_rows() {
        let mut payload = BytesMut::new();
        encoder.encode(row, &mut payload).unwrap();
        out.put_u32_le(u32::try_from(payload.len()).unwrap());
        out.put_slice(&payload);
    }
    out.freeze()
}

impl ScriptSession {
    /// The statements: `ok`, `light`, `spin N` (milliseconds), `fail`, `wait`, `who`, `rows N`, `relay N`, `wide N`, `cafe`, `stall`,
    /// `break`, `stop`, `file`.
    async fn run(&self, sql: &str, format: Format) -> Result<Outcome> {
        let (word, number) = sql.trim().split_once(' ').unwrap_or((sql.trim(), "0"));
        let number: i64 = number.parse().unwrap_or(0);
        let end = |warnings| stream::iter([Ok(Rows::End { warnings })]);
        let chunk = |from: i64, to: i64| {
            self.script.given.fetch_add(usize::try_from(to - from).unwrap(), Ordering::SeqCst);
            batch(from..to, "text")
        };
        let rows: pelorus_engine::api::RowStream = match word {
            "spin" => {
                let _work = Work::begin(&self.script);
                std::thread::sleep(Duration::from_millis(number.unsigned_abs()));
                return Ok(Outcome::Done(Done::default()));
            }
            "ok" | "light" => {
                return Ok(Outcome::Done(Done {
                    affected_rows: 3,
                    last_insert_id: 7,
                    warnings: 1,
                    info: "Records: 3".to_owned(),
                }));
            }
            "file" => return Ok(Outcome::File("f".to_owned())),
            "fail" => return Err(Error::new(Code::NoSuchTable, "Table 'd.t' doesn't exist")),
            "wait" => {
                let _work = Work::begin(&self.script);
                std::future::pending::<()>().await;
                unreachable!("nothing ends the wait");
            }
            "who" => {
                let text = format!("{}/{:?}", self.login.user, self.login.database);
                stream::iter([Ok(Rows::Batch(batch(0..1, &text)))]).chain(end(0)).boxed()
            }
            "rows" => {
                let work = Work::begin(&self.script);
                let given = self.script.given.clone();
                stream::iter((0..number).step_by(1000))
                    .map(move |from| {
                        let _ = &work;
                        let to = number.min(from + 1000);
                        given.fetch_add(usize::try_from(to - from).unwrap(), Ordering::SeqCst);
                        Ok(Rows::Batch(batch(from..to, "text")))
                    })
                    .chain(end(2))
                    .boxed()
            }
            "relay" => {
                let bytes = encoded(&batch(0..number, "text"), format);
                stream::iter([Ok(Rows::Encoded(bytes))]).chain(end(0)).boxed()
            }
            "wide" => {
                let text = "w".repeat(usize::try_from(number).unwrap());
                stream::iter([Ok(Rows::Batch(batch(0..1, &text)))]).chain(end(0)).boxed()
            }
            "cafe" => stream::iter([Ok(Rows::Batch(batch(0..1, "café")))]).chain(end(0)).boxed(),
            "stall" => {
                let work = Work::begin(&self.script);
                let first = stream::iter([Ok(Rows::Batch(chunk(0, 2)))]);
                first.chain(stream::pending().map(move |rows| (&work, rows).1)).boxed()
            }
            "break" => {
                let error = Error::new(Code::QueryOnForeign, "the server went away");
                stream::iter([Ok(Rows::Batch(chunk(0, 2))), Err(error)]).boxed()
            }
            "stop" => stream::iter([Ok(Rows::Batch(chunk(0, 2)))]).boxed(),
            other => return Err(Error::unsupported(other)),
        };
        Ok(Outcome::Rows(ResultSet { columns: columns(), rows }))
    }
}

impl BackendSession for ScriptSession {
    fn count_bytes(&self, _received: u64, _sent: u64) {}

    fn status(&self) -> SessionStatus {
        SessionStatus { in_transaction: false, autocommit: true, no_backslash_escapes: false }
    }

    fn timeouts(&self) -> Timeouts {
        let settings = self.script.settings.lock();
        Timeouts {
            idle: settings.wait_timeout,
            read: settings.net_read_timeout,
            write: settings.net_write_timeout,
        }
    }

    fn killed(&self) -> impl Future<Output = ()> + Send + 'static {
        let (id, mut killed) = (self.id, self.script.killed.subscribe());
        async move {
            killed.wait_for(|killed| *killed == id).await.ok();
        }
    }

    fn memory(&self) -> pelorus_env::Account {
        pelorus_env::Account::unlimited()
    }

    fn is_killed(&self) -> bool {
        *self.script.killed.borrow() == self.id
    }

    fn in_digits(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn client_collation(&self) -> Collation {
        Collation(self.login.collation)
    }

    fn results_collation(&self) -> Option<Collation> {
        Some(Collation(self.login.collation))
    }

    fn next_statement<'a>(&self, sql: &'a str) -> (&'a str, &'a str) {
        match sql.split_once(';') {
            Some((first, rest)) if self.multi => (first, rest.trim()),
            _ => (sql, ""),
        }
    }

    fn is_light(&self, sql: &str) -> bool {
        sql == "light"
    }

    async fn execute(&mut self, sql: &str) -> Result<Outcome> {
        self.run(sql, Format::Text).await
    }

    async fn prepare(&mut self, sql: &str) -> Result<Prepared> {
        if sql == "fail" {
            return Err(Error::new(Code::Syntax, "You have an error in your SQL syntax"));
        }
        let id = self.next;
        self.next += 1;
        self.prepared.insert(id, sql.to_owned());
        let parameters = u16::try_from(sql.matches('?').count()).unwrap();
        Ok(Prepared { id, parameters, columns: columns(), warnings: 0 })
    }

    async fn execute_prepared(&mut self, id: u32, parameters: Vec<Parameter>) -> Result<Outcome> {
        let sql = self.prepared[&id].replace('?', "");
        *self.script.parameters.lock() = parameters;
        self.run(&sql, Format::Binary).await
    }

    fn parameter_count(&self, id: u32) -> Option<u16> {
        let sql = self.prepared.get(&id)?;
        u16::try_from(sql.matches('?').count()).ok()
    }

    fn close_prepared(&mut self, id: u32) {
        self.prepared.remove(&id);
    }

    async fn use_database(&mut self, name: &str) -> Result<()> {
        self.login.database = Some(name.to_owned());
        Ok(())
    }

    async fn list_fields(&mut self, _table: &str, _wild: &str) -> Result<Vec<Column>> {
        Ok(columns())
    }

    async fn change_user(&mut self, login: Login) -> Result<()> {
        self.login = login;
        Ok(())
    }

    async fn reset(&mut self) -> Result<()> {
        self.prepared.clear();
        Ok(())
    }

    async fn load(&mut self, bytes: &[u8]) {
        self.script.given.fetch_add(bytes.len(), Ordering::SeqCst);
    }

    fn fail_load(&mut self, error: Error) {
        self.failure = Some(error);
    }

    async fn loaded(&mut self) -> Result<Outcome> {
        match self.failure.take() {
            Some(error) => Err(error),
            None => Ok(Outcome::Done(Done::default())),
        }
    }

    fn set_multi_statements(&mut self, on: bool) {
        self.multi = on;
    }
}

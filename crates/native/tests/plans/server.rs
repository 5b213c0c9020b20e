//! A simulated linked server: it describes tables, prepares statements and estimates them, with the
//! answers that a MySQL or MariaDB gives for tables whose keys are dense numbers.

use std::sync::Arc;

use bytes::BytesMut;
use pelorus_env::Env;
use pelorus_error::{Error, Result};
use pelorus_link::{Endpoint, Link, LinkConfig, TlsMode};
use pelorus_mysql_wire::charset::Encoder;
use pelorus_mysql_wire::frame::FrameWriter;
use pelorus_mysql_wire::handshake::Greeting;
use pelorus_mysql_wire::lenenc::{put_lenenc_bytes, put_lenenc_int, put_null};
use pelorus_mysql_wire::prepared::PrepareOk;
use pelorus_mysql_wire::{Capabilities, ServerStatus, response};
use pelorus_native::definition::NativeDef;
use pelorus_sql::ddl::{KeyKind, KeyTarget};
use pelorus_sql::{Mode, ast_analysis, parse_query};
use pelorus_types::{Column, ColumnType, collation};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::catalog::World;

const CAPABILITIES: Capabilities = Capabilities::LONG_PASSWORD
    .with(Capabilities::PROTOCOL_41)
    .with(Capabilities::TRANSACTIONS)
    .with(Capabilities::SECURE_CONNECTION)
    .with(Capabilities::PLUGIN_AUTH)
    .with(Capabilities::DEPRECATE_EOF);

/// Commands of the protocol.
const QUIT: u8 = 0x01;
const INIT_DB: u8 = 0x02;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const CLOSE: u8 = 0x19;

/// Names of columns, and rows of texts.
type Rows = (Vec<&'static str>, Vec<Vec<Option<String>>>);

/// A server with one database, of the link's name.
pub(crate) struct FakeServer {
    name: String,
    version: String,
    /// Its tables, as native tables.
    tables: World,
}

impl FakeServer {
    /// Starts the server; returns a link to it.
    pub(crate) async fn start(name: &str, version: &str, tables: World) -> Link {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("a port").port();
        let server = Arc::new(Self { name: name.to_owned(), version: version.to_owned(), tables });
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&server).serve(socket));
            }
        });
        let endpoint = Endpoint { host: "127.0.0.1".into(), port, ..Endpoint::default() };
        let config = LinkConfig {
            tls: TlsMode::Disabled,
            databases: vec![(name.to_owned(), name.to_owned())],
            ..LinkConfig::new(name, endpoint)
        };
        Link::open(config, Env::in_memory(1)).await.expect("a link")
    }

    async fn serve(self: Arc<Self>, mut socket: TcpStream) {
        let greeting = Greeting {
            server_version: self.version.clone(),
            connection_id: 1,
            scramble: [b'x'; 20],
            capabilities: CAPABILITIES,
            mariadb_capabilities: 0,
            collation: 45,
            status: ServerStatus::AUTOCOMMIT,
            plugin: "mysql_native_password".into(),
        };
        let mut frames = FrameWriter::new();
        frames.packet(|out| greeting.put(out));
        send(&mut socket, frames).await;
        let mut sequence = 2;
        let mut database = None;
        // The first packet is the login.
        while let Some(packet) = received(&mut socket).await {
            let mut frames = FrameWriter::new();
            frames.set_sequence(sequence);
            let is_login = std::mem::replace(&mut sequence, 1) == 2;
            let text = String::from_utf8_lossy(packet.get(1..).unwrap_or_default()).into_owned();
            match packet[0] {
                _ if is_login => put_ok(&mut frames),
                QUIT => return,
                CLOSE => continue,
                INIT_DB => {
                    database = Some(text);
                    put_ok(&mut frames);
                }
                QUERY => self.answer(&mut frames, &text),
                PREPARE => self.prepare(&mut frames, &text, database.as_deref()).await,
                _ => put_ok(&mut frames),
            }
            send(&mut socket, frames).await;
        }
    }

    /// PREPARE: the columns that the statement has over these tables.
    async fn prepare(&self, frames: &mut FrameWriter, sql: &str, database: Option<&str>) {
        let mut context = self.tables.context();
        context.database = database.map(str::to_owned);
        match pelorus_query::describe(&context, sql).await {
            Ok(columns) => {
                let count = u16::try_from(columns.len()).expect("few columns");
                let ok = PrepareOk { id: 1, columns: count, parameters: 0, warnings: 0 };
                frames.packet(|out| ok.put(out));
                put_columns(frames, &columns);
            }
            Err(error) => frames.packet(|out| response::put_err(out, CAPABILITIES, &error)),
        }
    }

    fn answer(&self, frames: &mut FrameWriter, sql: &str) {
        match self.rows(sql) {
            Ok(Some(rows)) => put_rows(frames, rows),
            Ok(None) => put_ok(frames),
            Err(error) => frames.packet(|out| response::put_err(out, CAPABILITIES, &error)),
        }
    }

    fn rows(&self, sql: &str) -> Result<Option<Rows>> {
        let one = |names: &[&'static str], values: &[&str]| {
            (names.to_vec(), vec![values.iter().map(|it| Some((*it).to_owned())).collect()])
        };
        if sql == "SELECT @@lower_case_table_names" {
            return Ok(Some(one(&["value"], &["0"])));
        }
        if sql.starts_with("SELECT @@GLOBAL.time_zone") {
            return Ok(Some(one(&["zone", "system"], &["+00:00", "UTC"])));
        }
        if sql == "SHOW DATABASES" {
            return Ok(Some(one(&["Database"], &[&self.name])));
        }
        if let Some(rest) = sql.strip_prefix("SELECT * FROM information_schema.") {
            let names: Vec<&str> = rest.split('\'').collect();
            let [view, _, _, table, ..] = names[..] else { return Ok(None) };
            let Some(def) = self.tables.native().table(&self.name, table) else {
                return Ok(Some((vec!["TABLE_NAME"], Vec::new())));
            };
            return Ok(Some(described(&self.name, view, &def)));
        }
        let explained = sql.strip_prefix("EXPLAIN FORMAT=TRADITIONAL ");
        if let Some(sql) = explained.or_else(|| sql.strip_prefix("EXPLAIN ")) {
            return self.explained(sql).map(Some);
        }
        if sql.contains(" FORCE INDEX (") {
            let (low, high) = self.dive(sql);
            let value = if sql.contains(" DESC LIMIT 1") { high - 1 } else { low };
            return Ok(Some(one(&["key"], &[&value.to_string()])));
        }
        Ok(None)
    }

    /// The rows of EXPLAIN: the first table is read from end to end, each other one by its key.
    fn explained(&self, sql: &str) -> Result<Rows> {
        let names = vec!["id", "select_type", "table", "type", "key", "rows", "filtered", "Extra"];
        let line = |alias: &str, access: &str, rows: u64| {
            let rows = rows.to_string();
            let values = ["1", "SIMPLE", alias, access, "PRIMARY", &rows, "100.00", ""];
            values.iter().map(|value| Some((*value).to_owned())).collect::<Vec<_>>()
        };
        if sql.starts_with("SELECT 1 FROM") && sql.contains(" INDEX (") {
            let (low, high) = self.dive(sql);
            return Ok((names, vec![line("t", "range", high.saturating_sub(low).max(1))]));
        }
        let parsed = parse_query(sql, Mode::default()).map_err(|unparsed| unparsed.error)?;
        let mut lines = Vec::new();
        for reference in ast_analysis::table_references(&parsed.query) {
            let name = reference.table.name;
            let alias = reference.alias.unwrap_or_else(|| name.clone());
            lines.push(match lines.is_empty() {
                true => line(&alias, "ALL", rows_of(&*self.require(&name)?)),
                false => line(&alias, "eq_ref", 1),
            });
        }
        Ok((names, lines))
    }

    fn require(&self, table: &str) -> Result<Arc<NativeDef>> {
        let found = self.tables.native().table(&self.name, table);
        found.ok_or_else(|| Error::remote(1146, *b"42S02", format!("no table {table}")))
    }

    /// The numbers of the key, which are dense, that an index dive asks about: from the first to
    /// before the second.
    fn dive(&self, sql: &str) -> (u64, u64) {
        let table = sql.split(" FROM ").nth(1).and_then(|rest| rest.split('`').nth(3));
        let rows = table.and_then(|table| self.require(table).ok()).map_or(0, |def| rows_of(&def));
        let number = |operator: &str| {
            let rest = sql.split(operator).nth(1)?;
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].parse().ok()
        };
        (number("` >= ").unwrap_or(1), number("` < ").unwrap_or(rows + 1))
    }
}

/// The comment of a table says how many rows it has: `5000 rows`.
fn rows_of(def: &NativeDef) -> u64 {
    let comment = def.definition.option("COMMENT").unwrap_or_default();
    let number = comment.split(' ').next().unwrap_or_default();
    number.parse().unwrap_or_else(|_| panic!("{comment:?} is not a number of rows"))
}

/// What a view of the information schema tells of a table.
fn described(database: &str, view: &str, def: &NativeDef) -> Rows {
    let table = def.definition.name.name.as_str();
    let some = |text: &str| Some(text.to_owned());
    if view.starts_with("TABLES") {
        let names = vec![
            "TABLE_SCHEMA",
            "TABLE_NAME",
            "TABLE_TYPE",
            "ENGINE",
            "TABLE_ROWS",
            "DATA_LENGTH",
            "TABLE_COLLATION",
            "TABLE_COMMENT",
        ];
        let rows = rows_of(def);
        let (count, bytes) = (rows.to_string(), (rows * 100).to_string());
        let values =
            [database, table, "BASE TABLE", "InnoDB", &count, &bytes, "utf8mb4_0900_ai_ci", ""];
        return (names, vec![values.iter().map(|value| some(value)).collect()]);
    }
    if view.starts_with("COLUMNS") {
        let names = vec![
            "TABLE_NAME",
            "COLUMN_NAME",
            "COLUMN_TYPE",
            "CHARACTER_SET_NAME",
            "COLLATION_NAME",
            "IS_NULLABLE",
            "COLUMN_COMMENT",
            "EXTRA",
        ];
        let row = |column: &Column| {
            let is_text = column.ty.is_string() && !column.ty.is_binary_string();
            let charset = is_text.then(|| column.ty.collation.charset().to_owned());
            let collation = is_text.then(|| column.ty.collation.name());
            let nullable = if column.ty.is_nullable() { "YES" } else { "NO" };
            let sql_type = if is_text { "varchar(100)" } else { "bigint" };
            let name = column.name.as_str();
            let texts = [some(nullable), some(""), some("")].into_iter();
            [some(table), some(name), some(sql_type), charset, collation]
                .into_iter()
                .chain(texts)
                .collect()
        };
        return (names, def.columns.iter().map(row).collect());
    }
    if view.starts_with("STATISTICS") {
        return statistics(table, def);
    }
    (vec!["TABLE_NAME", "PARTITION_NAME"], Vec::new())
}

/// The keys of a table.
fn statistics(table: &str, def: &NativeDef) -> Rows {
    let names =
        vec!["TABLE_NAME", "INDEX_NAME", "NON_UNIQUE", "INDEX_TYPE", "COLUMN_NAME", "NULLABLE"];
    let mut rows = Vec::new();
    for key in &def.definition.keys {
        let (name, unique) = match key.kind {
            KeyKind::Primary => ("PRIMARY", "0"),
            KeyKind::Unique => (key.name.as_deref().unwrap_or_default(), "0"),
            _ => (key.name.as_deref().unwrap_or_default(), "1"),
        };
        for part in &key.parts {
            let KeyTarget::Column(column) = &part.target else { continue };
            let is_nullable =
                def.columns.iter().any(|it| it.name == *column && it.ty.is_nullable());
            let nullable = if is_nullable { "YES" } else { "" };
            let row = [table, name, unique, "BTREE", column, nullable];
            rows.push(row.iter().map(|value| Some((*value).to_owned())).collect());
        }
    }
    (names, rows)
}

fn put_ok(frames: &mut FrameWriter) {
    let ok = response::Ok { status: ServerStatus::AUTOCOMMIT, ..response::Ok::default() };
    frames.packet(|out| response::put_ok(out, response::OK, CAPABILITIES, &ok));
}

fn put_columns(frames: &mut FrameWriter, columns: &[Column]) {
    for column in columns {
        frames.packet(|out| response::put_column(out, column, None, Encoder::AsIs));
    }
}

fn put_rows(frames: &mut FrameWriter, (names, rows): Rows) {
    let ty = ColumnType::varchar(1000, collation::UTF8MB4_GENERAL_CI);
    let columns: Vec<Column> = names.iter().map(|name| Column::computed(*name, ty)).collect();
    frames.packet(|out| put_lenenc_int(out, columns.len() as u64));
    put_columns(frames, &columns);
    for row in rows {
        frames.packet(|out: &mut BytesMut| {
            for value in &row {
                match value {
                    Some(text) => put_lenenc_bytes(out, text.as_bytes()),
                    None => put_null(out),
                }
            }
        });
    }
    frames.packet(|out| {
        response::put_end_of_rows(out, CAPABILITIES, 0, ServerStatus::AUTOCOMMIT);
    });
}

async fn send(socket: &mut TcpStream, mut frames: FrameWriter) {
    // Who has gone away needs no answer.
    socket.write_all(&frames.take()).await.ok();
}

/// The next packet; `None` at the end.
async fn received(socket: &mut TcpStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    socket.read_exact(&mut header).await.ok()?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    let mut payload = vec![0; usize::try_from(length).ok()?];
    socket.read_exact(&mut payload).await.ok()?;
    (!payload.is_empty()).then_some(payload)
}

//! A client made of the client's side of the codec.

use std::net::SocketAddr;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use bytes::{Bytes, BytesMut};
use pelorus_env::Env;
use pelorus_error::{Error, Result};
use pelorus_mysql_wire::auth::{self, CACHING_SHA2, CLEAR, NATIVE, SCRAMBLE};
use pelorus_mysql_wire::command::{self, Code};
use pelorus_mysql_wire::frame::{FrameReader, FrameWriter};
use pelorus_mysql_wire::handshake::{
    AuthStep, ChangeUser, Greeting, Response, SslRequest, parse_auth_step,
};
use pelorus_mysql_wire::prepared::{self, PrepareOk, Value};
use pelorus_mysql_wire::response::{self, Head, Ok as OkPacket, RowOrEnd};
use pelorus_mysql_wire::rows::{Format, RowDecoder};
use pelorus_mysql_wire::{Capabilities, ServerStatus};
use pelorus_types::Column;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

trait Line: AsyncRead + AsyncWrite + Send + Unpin {}
impl<L: AsyncRead + AsyncWrite + Send + Unpin> Line for L {}

/// How a client logs in.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) database: Option<String>,
    pub(crate) plugin: String,
    pub(crate) tls: bool,
    pub(crate) extra: Capabilities,
    pub(crate) collation: u8,
}

impl Options {
    pub(crate) fn new(user: &str, password: &str) -> Self {
        Self {
            user: user.to_owned(),
            password: password.to_owned(),
            database: None,
            plugin: CACHING_SHA2.to_owned(),
            tls: false,
            extra: Capabilities::DEPRECATE_EOF.with(Capabilities::MULTI_STATEMENTS),
            collation: 255,
        }
    }

    pub(crate) fn tls(self) -> Self {
        Self { tls: true, ..self }
    }

    pub(crate) fn plugin(self, plugin: &str) -> Self {
        Self { plugin: plugin.to_owned(), ..self }
    }

    pub(crate) fn extra(self, extra: Capabilities) -> Self {
        Self { extra, ..self }
    }
}

/// What the login took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Steps {
    pub(crate) switched: bool,
    pub(crate) fast: bool,
    pub(crate) full: bool,
}

pub(crate) struct Client {
    line: Box<dyn Line>,
    reader: FrameReader,
    pub(crate) writer: FrameWriter,
    pub(crate) capabilities: Capabilities,
    pub(crate) greeting: Greeting,
    pub(crate) steps: Steps,
    secure: bool,
}

/// A statement's answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: usize,
    pub(crate) batch: Option<RecordBatch>,
    pub(crate) end: OkPacket,
}

impl Answer {
    pub(crate) fn has_more(&self) -> bool {
        self.end.status.has(ServerStatus::MORE_RESULTS)
    }
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr, options: Options) -> Result<Self> {
        let stream = TcpStream::connect(address).await.map_err(broken)?;
        Self::new(Box::new(stream)).start(options).await
    }

    #[cfg(unix)]
    pub(crate) async fn connect_local(path: &std::path::Path, options: Options) -> Result<Self> {
        let stream = tokio::net::UnixStream::connect(path).await.map_err(broken)?;
        Self { secure: true, ..Self::new(Box::new(stream)) }.start(options).await
    }

    fn new(line: Box<dyn Line>) -> Self {
        Self {
            line,
            reader: FrameReader::new(1 << 30),
            writer: FrameWriter::new(),
            capabilities: Capabilities::default(),
            greeting: no_greeting(),
            steps: Steps::default(),
            secure: false,
        }
    }

    async fn start(mut self, options: Options) -> Result<Self> {
        let payload = self.read().await?;
        self.greeting = Greeting::parse(&payload)?;
        self.log_in(&options).await?;
        Ok(self)
    }

    async fn log_in(&mut self, options: &Options) -> Result<()> {
        let mut wanted = Capabilities::PROTOCOL_41
            .with(Capabilities::SECURE_CONNECTION)
            .with(Capabilities::PLUGIN_AUTH)
            .with(Capabilities::PLUGIN_AUTH_LENENC)
            .with(Capabilities::CONNECT_ATTRS)
            .with(options.extra);
        if options.database.is_some() {
            wanted = wanted.with(Capabilities::CONNECT_WITH_DB);
        }
        if options.tls {
            wanted = wanted.with(Capabilities::SSL);
        }
        self.capabilities = wanted.and(self.greeting.capabilities);
        if options.tls {
            self.start_tls(options.collation).await?;
        }
        let scramble = self.greeting.scramble;
        let response = Response {
            capabilities: self.capabilities,
            max_packet: 1 << 30,
            collation: options.collation,
            user: options.user.clone().into_bytes(),
            auth: self.proof(&options.plugin, &options.password, &scramble),
            database: options.database.clone().map(String::into_bytes),
            plugin: Some(options.plugin.clone()),
            attributes: vec![("_client_name".to_owned(), "test".to_owned())],
        };
        self.writer.packet(|out| response.put(out));
        self.prove(&options.password, scramble).await
    }

    fn proof(&self, plugin: &str, password: &str, scramble: &[u8; SCRAMBLE]) -> Vec<u8> {
        match plugin {
            NATIVE => auth::native_proof(password.as_bytes(), scramble),
            CACHING_SHA2 => auth::sha2_proof(password.as_bytes(), scramble),
            CLEAR => [password.as_bytes(), &[0]].concat(),
            other => panic!("plugin {other}"),
        }
    }

    /// Answers the server's questions until it lets the client in.
    async fn prove(&mut self, password: &str, mut scramble: [u8; SCRAMBLE]) -> Result<()> {
        self.steps = Steps::default();
        loop {
            self.flush().await?;
            let payload = self.read().await?;
            match parse_auth_step(&payload, self.capabilities)? {
                AuthStep::Done(_) => return Ok(()),
                AuthStep::Switch { plugin, data } => {
                    self.steps.switched = true;
                    scramble = data.try_into().expect("a challenge has 20 bytes");
                    let proof = self.proof(&plugin, password, &scramble);
                    self.writer.payload(&proof);
                }
                AuthStep::More([auth::FAST_OK]) => self.steps.fast = true,
                AuthStep::More([auth::FULL_AUTH]) => {
                    self.steps.full = true;
                    if self.secure {
                        self.writer.payload(&[password.as_bytes(), &[0]].concat());
                    } else {
                        self.writer.payload(&[auth::REQUEST_KEY]);
                    }
                }
                AuthStep::More(key) => {
                    let random = Env::in_memory(5).random;
                    let sealed =
                        auth::rsa_encrypt(password.as_bytes(), &scramble, key, random.as_ref())?;
                    self.writer.payload(&sealed);
                }
            }
        }
    }

    pub(crate) async fn change_user(&mut self, user: &str, password: &str) -> Result<()> {
        let change = ChangeUser {
            user: user.as_bytes().to_vec(),
            auth: Vec::new(),
            database: Some(b"other".to_vec()),
            collation: Some(255),
            plugin: Some(CACHING_SHA2.to_owned()),
            attributes: Vec::new(),
        };
        let capabilities = self.capabilities;
        self.begin();
        self.writer.packet(|out| command::put_change_user(out, &change, capabilities));
        self.prove(password, [0; SCRAMBLE]).await
    }

    async fn start_tls(&mut self, collation: u8) -> Result<()> {
        let request =
            SslRequest { capabilities: self.capabilities, max_packet: 1 << 30, collation };
        self.writer.packet(|out| request.put(out));
        self.flush().await?;
        let line = std::mem::replace(&mut self.line, Box::new(tokio::io::empty()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(TrustAll))
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        self.line = Box::new(connector.connect(name, line).await.map_err(broken)?);
        self.secure = true;
        Ok(())
    }

    /// A new command: counts start anew; those of the answer go on from what is flushed.
    pub(crate) fn begin(&mut self) {
        self.writer.set_sequence(0);
    }

    /// Expects the answer to a command of one frame.
    pub(crate) fn expect_answer(&mut self) {
        self.reader.set_sequence(1);
    }

    pub(crate) async fn flush(&mut self) -> Result<()> {
        let bytes = self.writer.take();
        self.reader.set_sequence(self.writer.sequence());
        self.line.write_all(&bytes).await.map_err(broken)?;
        self.line.flush().await.map_err(broken)
    }

    pub(crate) async fn read(&mut self) -> Result<Bytes> {
        loop {
            if let Some(payload) = self.reader.next_bytes()? {
                self.writer.set_sequence(self.reader.sequence());
                return Ok(payload);
            }
            let read = self.line.read_buf(self.reader.buffer_mut(8192)).await.map_err(broken)?;
            if read == 0 {
                return Err(Error::internal("the server closed the connection"));
            }
        }
    }

    /// Sends a command and returns without its answer.
    pub(crate) async fn send(&mut self, write: impl FnOnce(&mut BytesMut)) -> Result<()> {
        self.begin();
        self.writer.packet(write);
        self.flush().await
    }

    /// Sends a command whose answer is OK or EOF.
    pub(crate) async fn command(&mut self, write: impl FnOnce(&mut BytesMut)) -> Result<OkPacket> {
        self.send(write).await?;
        let payload = self.read().await?;
        if payload.first() == Some(&response::EOF)
            && !self.capabilities.has(Capabilities::DEPRECATE_EOF)
        {
            return response::parse_eof(&payload);
        }
        response::parse_ok(&payload, self.capabilities)
    }

    pub(crate) async fn query(&mut self, sql: &str) -> Result<Answer> {
        self.send(|out| command::put_text(out, Code::Query, sql.as_bytes())).await?;
        self.answer(Format::Text).await
    }

    pub(crate) async fn answer(&mut self, format: Format) -> Result<Answer> {
        let head = self.read().await?;
        match response::parse_head(&head, self.capabilities)? {
            Head::Ok(end) => Ok(Answer { columns: Vec::new(), rows: 0, batch: None, end }),
            Head::Columns(count) => {
                let columns = self.columns(usize::try_from(count).unwrap()).await?;
                if !self.capabilities.has(Capabilities::DEPRECATE_EOF) {
                    response::parse_eof(&self.read().await?)?;
                }
                self.rows(columns, format).await
            }
        }
    }

    async fn columns(&mut self, count: usize) -> Result<Vec<Column>> {
        let mut columns = Vec::new();
        for _ in 0..count {
            columns.push(response::parse_column(&self.read().await?)?);
        }
        Ok(columns)
    }

    pub(crate) async fn rows(&mut self, columns: Vec<Column>, format: Format) -> Result<Answer> {
        let mut decoder = RowDecoder::new(columns.clone(), format)?;
        loop {
            let payload = self.read().await?;
            match response::row_or_end(&payload, self.capabilities)? {
                RowOrEnd::Row => decoder.push(&payload)?,
                RowOrEnd::End(end) => {
                    let rows = decoder.len();
                    return Ok(Answer { columns, rows, batch: Some(decoder.finish()?), end });
                }
            }
        }
    }

    pub(crate) async fn prepare(&mut self, sql: &str) -> Result<(PrepareOk, Vec<Column>)> {
        self.send(|out| command::put_text(out, Code::StmtPrepare, sql.as_bytes())).await?;
        let ok = PrepareOk::parse(&self.read().await?)?;
        let eof = !self.capabilities.has(Capabilities::DEPRECATE_EOF);
        self.columns(usize::from(ok.parameters)).await?;
        if eof && ok.parameters > 0 {
            response::parse_eof(&self.read().await?)?;
        }
        let columns = self.columns(usize::from(ok.columns)).await?;
        if eof && ok.columns > 0 {
            response::parse_eof(&self.read().await?)?;
        }
        Ok((ok, columns))
    }

    pub(crate) async fn execute(&mut self, id: u32, values: &[Value<'_>]) -> Result<Answer> {
        self.send(|out| prepared::put_execute(out, id, 0, values)).await?;
        self.answer(Format::Binary).await
    }

    /// EXECUTE with a cursor: only columns come, and the packet that says so.
    pub(crate) async fn open(&mut self, id: u32) -> Result<(Vec<Column>, OkPacket)> {
        self.send(|out| prepared::put_execute(out, id, command::CURSOR_READ_ONLY, &[])).await?;
        let Head::Columns(count) = response::parse_head(&self.read().await?, self.capabilities)?
        else {
            return Err(Error::internal("no columns"));
        };
        let columns = self.columns(usize::try_from(count).unwrap()).await?;
        let RowOrEnd::End(end) = response::row_or_end(&self.read().await?, self.capabilities)?
        else {
            return Err(Error::internal("a row instead of a cursor"));
        };
        Ok((columns, end))
    }

    pub(crate) async fn fetch(&mut self, id: u32, rows: u32) -> Result<Answer> {
        self.send(|out| command::put_fetch(out, id, rows)).await?;
        self.rows(crate::scripted::columns(), Format::Binary).await
    }
}

fn broken(error: std::io::Error) -> Error {
    Error::internal("the connection broke").caused_by(error)
}

fn no_greeting() -> Greeting {
    Greeting {
        server_version: String::new(),
        connection_id: 0,
        scramble: [0; SCRAMBLE],
        capabilities: Capabilities::default(),
        mariadb_capabilities: 0,
        collation: 0,
        status: ServerStatus::default(),
        plugin: String::new(),
    }
}

#[derive(Debug)]
struct TrustAll;

impl ServerCertVerifier for TrustAll {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

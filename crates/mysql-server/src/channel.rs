//! The byte channel of a connection: whole packets in, buffered packets out, each with its timeout.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use pelorus_env::{Account, Reservation};
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::Capabilities;
use pelorus_mysql_wire::frame::{FrameReader, FrameWriter};
use pelorus_mysql_wire::response;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// When so many bytes wait, they are sent.
pub(crate) const FLUSH: usize = 32 << 10;
/// Buffers that grew beyond this are given back.
const KEEP: usize = 256 << 10;
/// So much is read ahead while a statement runs; then only its end can tell that the client left.
const READ_AHEAD: usize = 1 << 20;
const READ: usize = 8 << 10;
/// How long a closed connection waits for the client to see it.
const LINGER: Duration = Duration::from_millis(500);

/// A stream of bytes, encrypted or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin> Stream for S {}

/// Why a connection ends.
#[derive(Debug)]
pub(crate) enum Gone {
    /// The client left, or the line broke.
    Closed,
    /// The reason was sent to the client, or is to be sent with this last packet.
    Because(Error),
}

impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Self {
        Gone::Closed
    }
}

/// Bytes that a client sent and got, without those of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) received: u64,
    pub(crate) sent: u64,
}

/// One connection's bytes.
pub(crate) struct Channel {
    stream: Box<dyn Stream>,
    reader: FrameReader,
    pub(crate) writer: FrameWriter,
    /// The capabilities that client and server share.
    pub(crate) capabilities: Capabilities,
    pub(crate) encrypted: bool,
    /// Bytes of packets since they were last counted.
    traffic: Traffic,
    pub(crate) read_timeout: Duration,
    pub(crate) write_timeout: Duration,
    /// What counts long packets.
    memory: Account,
    /// The memory of the packets of a command.
    held: Reservation,
}

impl Channel {
    pub(crate) fn new(stream: Box<dyn Stream>, max_payload: usize) -> Self {
        let memory = Account::unlimited();
        Self {
            stream,
            held: memory.empty(),
            memory,
            reader: FrameReader::new(max_payload),
            writer: FrameWriter::new(),
            capabilities: Capabilities::default(),
            encrypted: false,
            traffic: Traffic::default(),
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
        }
    }

    /// From now on packets of up to so many bytes are taken.
    pub(crate) fn set_max_payload(&mut self, bytes: usize) {
        self.reader.set_max_payload(bytes);
    }

    /// From now on long packets count as memory of a session.
    pub(crate) fn set_memory(&mut self, memory: Account) {
        self.held = memory.empty();
        self.memory = memory;
    }

    /// Counts what has arrived of a packet where that is much. A client whose packet there is no
    /// memory for has to go: the rest of it cannot be answered.
    fn count(&mut self) -> Result<(), Gone> {
        let bytes = self.reader.held();
        if bytes <= KEEP.max(self.held.bytes()) {
            return Ok(());
        }
        self.held.try_resize(bytes).map_err(|refused| {
            self.writer.set_sequence(self.reader.sequence());
            Gone::Because(Error::out_of_memory(refused))
        })
    }

    /// The next packet of a conversation. The first byte may take `idle`, the others the read
    /// timeout each time that nothing comes. The answer continues the count of the packet.
    ///
    /// The inner error (a packet too large) leaves the connection of use.
    pub(crate) async fn read(&mut self, idle: Duration) -> Result<Result<Bytes>, Gone> {
        loop {
            match self.reader.next_bytes() {
                Ok(Some(payload)) => {
                    self.writer.set_sequence(self.reader.sequence());
                    return Ok(Ok(payload));
                }
                Ok(None) => {}
                Err(error) => {
                    self.writer.set_sequence(self.reader.sequence());
                    if error.code() == Code::PacketTooLarge {
                        return Ok(Err(error));
                    }
                    return Err(Gone::Because(error));
                }
            }
            let begun = self.reader.is_mid_payload();
            let limit = if begun { self.read_timeout } else { idle };
            let read = self.stream.read_buf(self.reader.buffer_mut(READ));
            match timeout(limit, read).await {
                Ok(Ok(0)) | Ok(Err(_)) => return Err(Gone::Closed),
                Ok(Ok(bytes)) => {
                    self.traffic.received += bytes as u64;
                    self.count()?;
                }
                Err(_) => return Err(Gone::Because(self.too_slow(begun))),
            }
        }
    }

    fn too_slow(&mut self, begun: bool) -> Error {
        if begun {
            self.writer.set_sequence(self.reader.sequence());
            Error::new(Code::NetReadInterrupted, "Got timeout reading communication packets")
        } else {
            self.writer.set_sequence(0);
            Error::new(
                Code::ClientInteractionTimeout,
                "The client was disconnected by the server because of inactivity. See \
                 wait_timeout and interactive_timeout for configuring this behavior.",
            )
        }
    }

    /// The next command: its count starts again.
    pub(crate) async fn read_command(&mut self, idle: Duration) -> Result<Result<Bytes>, Gone> {
        self.reader.set_sequence(0);
        self.held = self.memory.empty();
        self.read(idle).await
    }

    /// Returns when the client has left; otherwise never. Arriving bytes are buffered. Cancel-safe.
    pub(crate) async fn client_left(&mut self) {
        while self.reader.unread().len() < READ_AHEAD {
            match self.stream.read_buf(self.reader.buffer_mut(READ)).await {
                Ok(0) | Err(_) => return,
                Ok(bytes) => self.traffic.received += bytes as u64,
            }
        }
        std::future::pending().await
    }

    /// Expects the client's next packet after the packets that wait to be sent.
    pub(crate) fn expect_answer(&mut self) {
        self.reader.set_sequence(self.writer.sequence());
    }

    /// Sends the buffered packets.
    pub(crate) async fn flush(&mut self) -> Result<(), Gone> {
        // A row that is long is there once more.
        let bytes = self.writer.len();
        let _held = (bytes > KEEP).then(|| self.memory.hold(bytes));
        while !self.writer.is_empty() {
            let write = self.stream.write_buf(self.writer.buffer_mut());
            match timeout(self.write_timeout, write).await {
                Ok(Ok(0)) | Ok(Err(_)) | Err(_) => return Err(Gone::Closed),
                Ok(Ok(bytes)) => self.traffic.sent += bytes as u64,
            }
        }
        match timeout(self.write_timeout, self.stream.flush()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Err(Gone::Closed),
        }
        if self.writer.buffer_mut().capacity() > KEEP {
            *self.writer.buffer_mut() = BytesMut::new();
        }
        Ok(())
    }

    /// The bytes that came and went since the last call.
    pub(crate) fn take_traffic(&mut self) -> Traffic {
        std::mem::take(&mut self.traffic)
    }

    /// Sends the buffered packets if they are many.
    pub(crate) async fn flush_if_much(&mut self) -> Result<(), Gone> {
        if self.writer.len() >= FLUSH { self.flush().await } else { Ok(()) }
    }

    /// Adds an ERR packet to the buffered ones.
    pub(crate) fn error(&mut self, error: &Error) {
        let capabilities = self.capabilities;
        self.writer.packet(|out| response::put_err(out, capabilities, error));
    }

    /// Says the last word, if there is one, and closes the line.
    pub(crate) async fn close(mut self, gone: Gone) {
        if let Gone::Because(error) = &gone {
            self.error(error);
            self.flush().await.ok();
        }
        // The other side may be gone already.
        timeout(LINGER, self.stream.shutdown()).await.ok();
        if matches!(gone, Gone::Because(_)) {
            // Closing a socket with unread bytes in it would destroy the last word on its way.
            let mut rest = (&mut self.stream).take(READ_AHEAD as u64);
            timeout(LINGER, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await.ok();
        }
    }

    /// Goes on encrypted. Bytes that came after the request for TLS belong to TLS.
    pub(crate) async fn start_tls(&mut self, acceptor: &TlsAcceptor) -> Result<(), Gone> {
        let early = Bytes::copy_from_slice(self.reader.unread());
        let pending = early.len();
        self.reader.buffer_mut(0).advance(pending);
        let open = std::mem::replace(&mut self.stream, Box::new(tokio::io::empty()));
        let encrypted = acceptor.accept(Prefixed { early, stream: open }).await?;
        self.stream = Box::new(encrypted);
        self.encrypted = true;
        Ok(())
    }
}

/// A stream whose first bytes have been read already.
struct Prefixed {
    early: Bytes,
    stream: Box<dyn Stream>,
}

impl AsyncRead for Prefixed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.early.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let count = self.early.len().min(buffer.remaining());
        buffer.put_slice(&self.early.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Prefixed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

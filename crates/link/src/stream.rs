//! The byte stream of a connection: TCP, Unix socket or TLS.

mod low_water;

use std::io;
use std::os::fd::AsFd as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

/// A byte stream to a server.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// For the moment in which TLS takes the socket over.
    Closed,
}

impl Stream {
    /// Whether the connection cannot be read by others.
    pub(crate) fn is_private(&self) -> bool {
        matches!(self, Stream::Unix(_) | Stream::Tls(_))
    }

    /// Whether nothing has happened on a connection that waits for its next command. A server
    /// that closed it, or said why, makes this false.
    pub(crate) fn is_quiet(&self) -> bool {
        let mut byte = [0];
        let read = match self {
            Stream::Tcp(stream) => stream.try_read(&mut byte),
            Stream::Unix(stream) => stream.try_read(&mut byte),
            Stream::Tls(stream) => stream.get_ref().0.try_read(&mut byte),
            Stream::Closed => Ok(0),
        };
        matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Sets the low-water mark: fewer arrived bytes do not wake the reader. When it is lowered,
    /// bytes that have arrived meanwhile are reported at once. Unix sockets report everything.
    pub(crate) fn tell_from(&self, bytes: i32) {
        let socket = match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Tls(stream) => stream.get_ref().0.as_fd(),
            Stream::Unix(_) | Stream::Closed => return,
        };
        if let Err(error) = low_water::set(socket, bytes) {
            // It only costs wake-ups.
            tracing::debug!(%error, bytes, "a socket does not take its low-water mark");
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Closed => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Closed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Stream::Unix(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
            Stream::Closed => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Closed => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    use super::Stream;

    #[tokio::test]
    async fn little_that_arrives_is_told_when_it_is_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut server = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut stream = Stream::Tcp(listener.accept().await.unwrap().0);
        let mut byte = [0];
        let nothing = timeout(Duration::from_millis(10), stream.read(&mut byte)).await;
        assert!(nothing.is_err());

        stream.tell_from(1 << 20);
        server.write_all(b"a").await.unwrap();
        let Stream::Tcp(socket) = &stream else { panic!("another socket") };
        let socket = std::net::TcpStream::from(socket.as_fd().try_clone_to_owned().unwrap());
        while socket.peek(&mut byte).is_err() {
            tokio::task::yield_now().await;
        }
        // It has arrived.
        let untold = timeout(Duration::from_millis(100), stream.read(&mut byte)).await;
        assert!(untold.is_err(), "{untold:?}");
        stream.tell_from(1);
        let told = timeout(Duration::from_secs(20), stream.read(&mut byte)).await;
        assert_eq!((told.unwrap().unwrap(), byte), (1, *b"a"));

        // Large amounts are reported in any case, and so is the end.
        stream.tell_from(1 << 20);
        let sender = tokio::spawn(async move { server.write_all(&[b'b'; 8 << 20]).await.unwrap() });
        let mut all = Vec::new();
        let read = timeout(Duration::from_secs(20), stream.read_to_end(&mut all)).await;
        assert_eq!((read.unwrap().unwrap(), all.len()), (8 << 20, 8 << 20));
        sender.await.unwrap();
    }
}

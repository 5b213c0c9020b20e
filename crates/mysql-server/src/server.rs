//! The accept loop: limits, and the end of all connections when the server stops.
//!
//! Listeners, logins and connections that wait for a command run on the runtime that calls
//! [`Edge::serve`]. A command that may take long runs on another (`EdgeConfig::serving`), so that a
//! server all of whose threads compute still accepts clients and answers `KILL`.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use pelorus_engine::Engine;
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::Capabilities;
use pelorus_mysql_wire::frame::FrameWriter;
use pelorus_mysql_wire::response;
#[cfg(unix)]
use tokio::net::UnixListener;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Handle;
use tokio::sync::watch::{self, Receiver};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::backend::{Backend, BackendSession as _};
use crate::channel::{Channel, Gone, Stream};
use crate::config::EdgeConfig;
use crate::connection::Connection;
use crate::delays::Delays;
use crate::keys::{self, RsaStore};
use crate::login::{Door, LOGIN_PACKET, Peer, server_shutdown};
use crate::proof::{Guard, SharedGuard};
use crate::statements::Statements;
use crate::strangers::{Stranger, Strangers, origin};

/// The state that all connections of one server share, over any number of listeners.
pub struct Edge<B: Backend> {
    shared: Arc<Shared<B>>,
}

/// The server's state that a connection needs.
pub(crate) struct Shared<B: Backend> {
    pub(crate) backend: Arc<B>,
    pub(crate) guard: SharedGuard,
    pub(crate) delays: Delays,
    pub(crate) tls: Option<TlsAcceptor>,
    /// Where commands run that may take long; `None`: where connections wait.
    pub(crate) serving: Option<Handle>,
    grace: Duration,
    strangers: Arc<Strangers>,
    /// Connections that have logged in, over all listeners.
    logged_in: AtomicUsize,
}

/// So many connections may be on their way to a login in any case.
const STRANGERS_MIN: usize = 200;

/// Counts a connection that has logged in, until it is dropped.
struct LoggedIn<'a>(&'a AtomicUsize);

impl<'a> LoggedIn<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        // Ordering: only the number matters.
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for LoggedIn<'_> {
    fn drop(&mut self) {
        // Ordering: as in `new`.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<B: Backend> Clone for Edge<B> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<B: Backend> std::fmt::Debug for Edge<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Edge").finish_non_exhaustive()
    }
}

impl<B: Backend> Edge<B> {
    /// Reads or makes certificate and keys.
    ///
    /// # Errors
    /// When the certificate or the data folder cannot be used.
    pub fn new(backend: Arc<B>, config: &EdgeConfig, env: &Env) -> Result<Self> {
        let guard = Guard::new(env.clone(), RsaStore::new(config, env));
        Ok(Self {
            shared: Arc::new(Shared {
                backend,
                guard: Arc::new(guard),
                delays: Delays::new(env),
                tls: keys::acceptor(config, env)?,
                serving: config.serving.clone(),
                grace: config.shutdown_grace,
                strangers: Arc::default(),
                logged_in: AtomicUsize::new(0),
            }),
        })
    }

    /// Serves clients that come over TCP until `shutdown` is done; then waits for running
    /// statements for the configured grace.
    ///
    /// # Errors
    /// None at present: a failing `accept` is tried again.
    pub async fn serve(&self, listener: TcpListener, shutdown: impl Future) -> Result<()> {
        let listener = Arc::new(listener);
        let accept = move || {
            let listener = Arc::clone(&listener);
            async move {
                let (stream, peer) = listener.accept().await?;
                // Answers are whole when they are sent; waiting for more would only delay them.
                stream.set_nodelay(true).ok();
                Ok((stream, Some(peer)))
            }
        };
        self.accept_all(accept, shutdown).await;
        Ok(())
    }

    /// Serves clients that come over a local socket; otherwise like [`Self::serve`].
    ///
    /// # Errors
    /// None at present.
    #[cfg(unix)]
    pub async fn serve_unix(&self, listener: UnixListener, shutdown: impl Future) -> Result<()> {
        let listener = Arc::new(listener);
        let accept = move || {
            let listener = Arc::clone(&listener);
            async move {
                let (stream, _) = listener.accept().await?;
                Ok((stream, None))
            }
        };
        self.accept_all(accept, shutdown).await;
        Ok(())
    }

    async fn accept_all<S, A, F>(&self, accept: A, shutdown: impl Future)
    where
        S: Stream + 'static,
        A: Fn() -> F,
        F: Future<Output = std::io::Result<(S, Option<SocketAddr>)>>,
    {
        // The first client that needs the RSA key should not have to wait until it is made.
        let guard = self.shared.guard.clone();
        tokio::spawn(async move { guard.prepare().await });
        let (stop, stopped) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                biased;
                _ = &mut shutdown => break,
                Some(ended) = connections.join_next() => {
                    report(ended);
                    continue;
                }
                accepted = accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let shared = self.shared.clone();
                    let most = self.shared.backend.settings().max_connections;
                    // As in MySQL: one more may come in, as it may be an administrator.
                    if shared.logged_in.load(Ordering::Relaxed) > most {
                        connections.spawn(turn_away(stream));
                    } else {
                        let from = origin(peer.map(|peer| peer.ip()));
                        let place = shared.strangers.enter(from, most.max(STRANGERS_MIN));
                        let stopped = stopped.clone();
                        connections.spawn(shared.attend(stream, Peer(peer), place, stopped));
                    }
                }
                // Out of file descriptors, or a client that left before it was accepted.
                Err(error) => {
                    tracing::warn!("cannot accept a connection: {}", pelorus_error::plain(error));
                    sleep(Duration::from_millis(20)).await;
                }
            }
        }
        // Closes the listener: later clients are refused at once.
        drop(accept);
        stop.send(true).ok();
        let all = async {
            while let Some(ended) = connections.join_next().await {
                report(ended)
            }
        };
        if timeout(self.shared.grace, all).await.is_err() {
            connections.shutdown().await;
        }
    }
}

fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!("a connection ended by an internal error, which standard error shows");
    }
}

/// Sends a client the error that there are too many connections. The packet fits the socket's own
/// buffer, so this does not wait.
async fn turn_away(stream: impl Stream) {
    let mut stream = pin!(stream);
    let mut writer = FrameWriter::new();
    let error = too_many();
    // Before the greeting a client is not known to understand SQL states.
    writer.packet(|out: &mut BytesMut| response::put_err(out, Capabilities::default(), &error));
    let farewell = async {
        use tokio::io::AsyncWriteExt as _;
        stream.write_all(&writer.take()).await?;
        stream.shutdown().await
    };
    timeout(Duration::from_secs(1), farewell).await.ok();
}

fn too_many() -> Error {
    Error::new(Code::TooManyConnections, "Too many connections")
}

impl<B: Backend> Shared<B> {
    async fn attend(
        self: Arc<Self>,
        stream: impl Stream + 'static,
        peer: Peer,
        place: Stranger,
        mut stop: Receiver<bool>,
    ) {
        let settings = self.backend.settings();
        let mut channel = Channel::new(Box::new(stream), LOGIN_PACKET);
        channel.read_timeout = settings.net_read_timeout.min(settings.connect_timeout);
        channel.write_timeout = settings.net_write_timeout;
        let shown = peer.0.map_or_else(|| "a local socket".to_owned(), |peer| peer.to_string());
        let door = Door { shared: Arc::clone(&self), settings, peer };
        let login = tokio::select! {
            biased;
            login = door.log_in(&mut channel) => Some(login),
            () = place.sent_away() => None,
            () = stopped(&mut stop) => Some(Err(Gone::Because(server_shutdown()))),
        };
        let Some(login) = login else { return give_way(channel).await };
        drop(place);
        let session = match login {
            Ok(session) => session,
            Err(gone) => {
                tracing::debug!(peer = shown, "connection ended before its login");
                return channel.close(gone).await;
            }
        };
        let _logged_in = LoggedIn::new(&self.logged_in);
        channel.set_max_payload(door.settings.max_allowed_packet);
        channel.set_memory(session.memory());
        let statements = Statements::new(session.memory());
        let connection = Box::new(Connection { door, channel, session, statements });
        let Some((channel, gone)) = connection.run(stop).await else { return };
        tracing::debug!(peer = shown, "connection ended");
        channel.close(gone).await;
    }
}

/// Waits until the server stops.
async fn stopped(stop: &mut Receiver<bool>) {
    stop.wait_for(|stop| *stop).await.ok();
}

/// Says to a client that is sent away why, if that takes no time: others wait for the place.
async fn give_way(mut channel: Channel) {
    channel.error(&too_many());
    timeout(Duration::from_millis(20), channel.flush()).await.ok();
}

/// Connections that may wait to be accepted; the operating system may allow fewer.
const BACKLOG: u32 = 4096;

/// Opens a listener that also a crowd can reach: its queue is as long as the system allows.
///
/// # Errors
/// When the address is taken or not one of this machine's.
pub fn listen(address: SocketAddr) -> Result<TcpListener> {
    let open = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // After a restart connections of the old process may still be closing.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        // Connections inherit it. A client that vanished without a word gives its place up.
        socket.set_keepalive(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    open().map_err(|error| Error::internal(format!("cannot listen on {address}")).caused_by(error))
}

/// Serves MySQL clients that come over TCP until `shutdown` is done.
///
/// # Errors
/// When the certificate or the data folder cannot be used.
pub async fn serve(
    listener: TcpListener,
    engine: Arc<Engine>,
    config: EdgeConfig,
    env: Env,
    shutdown: impl Future,
) -> Result<()> {
    Edge::new(engine, &config, &env)?.serve(listener, shutdown).await
}

/// Serves MySQL clients that come over a local socket until `shutdown` is done.
///
/// # Errors
/// When the certificate or the data folder cannot be used.
#[cfg(unix)]
pub async fn serve_unix(
    listener: UnixListener,
    engine: Arc<Engine>,
    config: EdgeConfig,
    env: Env,
    shutdown: impl Future,
) -> Result<()> {
    Edge::new(engine, &config, &env)?.serve_unix(listener, shutdown).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn clients_that_vanish_are_noticed() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let (_client, accepted) =
            tokio::join!(tokio::net::TcpStream::connect(address), listener.accept());
        let (stream, _) = accepted.unwrap();
        let socket = TcpSocket::from_std_stream(stream.into_std().unwrap());
        assert!(socket.keepalive().unwrap());
    }
}

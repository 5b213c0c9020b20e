//! [`Moment`]: one snapshot for several scans of one statement.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex as SyncMutex;
use pelorus_error::{Error, Result};
use tokio::sync::Mutex;

use super::{Readers, Scan, ScanRequest, choose_servers, start};
use crate::link::Inner;
use crate::server::{Lent, Server};
use crate::snapshot;

/// One moment of a link. Every scan that a statement will make of the link is announced by
/// [`Moment::add`] before the first of them starts; that one opens the connections of all, and so
/// all read the same version.
#[derive(Clone)]
pub struct Moment(Arc<Shared>);

struct Shared {
    inner: Arc<Inner>,
    announced: SyncMutex<Vec<Announced>>,
    /// The connections of every scan, by its number, or the reason for which there is no moment.
    opened: Mutex<Option<Result<Vec<Option<Readers>>>>>,
}

#[derive(Clone)]
struct Announced {
    tables: Vec<(String, String)>,
    wanted: Vec<(Arc<Server>, usize)>,
    statements: usize,
    committed: bool,
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Moment({})", self.0.inner.config.name)
    }
}

impl Moment {
    pub(crate) fn new(inner: &Arc<Inner>) -> Self {
        Self(Arc::new(Shared {
            inner: Arc::clone(inner),
            announced: SyncMutex::default(),
            opened: Mutex::default(),
        }))
    }

    /// Announces a scan; the number is for [`Moment::scan`].
    pub fn add(&self, request: &ScanRequest) -> usize {
        let mut announced = self.0.announced.lock();
        announced.push(Announced {
            tables: request.tables.clone(),
            wanted: choose_servers(&self.0.inner, request),
            statements: request.ranges.len(),
            committed: request.committed,
        });
        announced.len() - 1
    }

    /// Starts a scan that was announced, once.
    ///
    /// # Errors
    /// As [`crate::Link::scan`]; an internal error for a scan that was announced after the first
    /// one had started, or that starts for the second time.
    pub async fn scan(&self, ticket: usize, request: ScanRequest) -> Result<Scan> {
        if request.ranges.is_empty() {
            return Err(Error::internal("a scan of no ranges"));
        }
        let mut opened = self.0.opened.lock().await;
        if opened.is_none() {
            match self.open(&request).await {
                Ok(all) => *opened = Some(Ok(all)),
                Err(error) => {
                    // For the others, of which any may be asked first.
                    *opened = Some(Err(Error::new(error.code(), error.message())));
                    return Err(error);
                }
            }
        }
        let readers = match opened.as_mut() {
            Some(Ok(all)) => all.get_mut(ticket).and_then(Option::take),
            Some(Err(error)) => return Err(Error::new(error.code(), error.message())),
            None => None,
        };
        let mut readers =
            readers.ok_or_else(|| Error::internal("a scan that its moment does not know"))?;
        drop(opened);
        for connection in &mut readers.connections {
            connection.apply(&request.settings).await?;
        }
        start(&self.0.inner, request, readers).await
    }

    /// Opens the connections of all scans at once and shares them out.
    async fn open(&self, request: &ScanRequest) -> Result<Vec<Option<Readers>>> {
        let inner = &self.0.inner;
        // They stay: the caller may be dropped before there is a moment.
        let announced = self.0.announced.lock().clone();
        let mut tables: Vec<(String, String)> = Vec::new();
        let mut wanted: Vec<(Arc<Server>, usize)> = Vec::new();
        for scan in &announced {
            for table in &scan.tables {
                if !tables.contains(table) {
                    tables.push(table.clone());
                }
            }
            for (server, count) in &scan.wanted {
                match wanted.iter_mut().find(|(known, _)| Arc::ptr_eq(known, server)) {
                    Some((_, sum)) => *sum += count,
                    None => wanted.push((Arc::clone(server), *count)),
                }
            }
        }
        let reads = snapshot::Wanted {
            statements: announced.iter().map(|scan| scan.statements).sum(),
            committed: announced.iter().any(|scan| scan.committed),
        };
        let begin = inner.env.clock.monotonic();
        let mut opened = snapshot::open(inner, &request.settings, &tables, &wanted, reads).await?;
        let opened_in = inner.env.clock.monotonic().saturating_sub(begin);
        // Each scan needs one connection at least; one that waits for another could wait forever.
        if opened.connections.len() < announced.len() {
            return Err(Error::unsupported(
                "a query that reads a server in several places while writers let no common \
                 moment be found; try again, or add replicas",
            ));
        }
        let mut spare = announced.len();
        let mut all = Vec::with_capacity(announced.len());
        for scan in &announced {
            spare -= 1;
            let mut connections = Vec::new();
            for (server, count) in &scan.wanted {
                for _ in 0..*count {
                    if opened.connections.len() > spare {
                        connections.extend(take(&mut opened.connections, server));
                    }
                }
            }
            if connections.is_empty() {
                connections.extend(opened.connections.pop());
            }
            all.push(Some(Readers {
                connections,
                mode: opened.mode,
                lock_held: opened.lock_held,
                warnings: opened.warnings.clone(),
                opened_in,
            }));
        }
        Ok(all)
    }
}

/// Takes a connection of that server.
fn take(connections: &mut Vec<Lent>, server: &Arc<Server>) -> Option<Lent> {
    let at = connections.iter().position(|lent| Arc::ptr_eq(lent.server(), server))?;
    Some(connections.remove(at))
}

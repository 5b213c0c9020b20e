//! Telling a session from outside to stop its statement or to end.

use std::sync::Arc;

use tokio::sync::watch;

/// What somebody asked of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wish {
    /// Counts `KILL QUERY`, so that each stops at most one statement.
    queries: u64,
    /// `KILL CONNECTION` was asked.
    connection: bool,
}

/// The outside end of a session: anybody may hold it, it outlives the session.
#[derive(Clone, Debug)]
pub struct Handle {
    id: u64,
    wish: Arc<watch::Sender<Wish>>,
}

impl Handle {
    /// A handle for the session of this id.
    pub(crate) fn new(id: u64) -> Self {
        Self { id, wish: Arc::new(watch::Sender::new(Wish::default())) }
    }

    /// The connection id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Waits until somebody kills the connection; the edge then closes it. Never returns otherwise.
    pub async fn killed(&self) {
        let mut wish = self.wish.subscribe();
        // The sender lives in `self`, so the wait cannot fail.
        wish.wait_for(|wish| wish.connection).await.ok();
    }

    /// Whether somebody killed the connection.
    pub fn is_killed(&self) -> bool {
        self.wish.borrow().connection
    }

    /// Stops the running statement; without one nothing happens.
    pub fn kill_query(&self) {
        self.wish.send_modify(|wish| wish.queries += 1);
    }

    /// Ends the connection and its statement.
    pub fn kill_connection(&self) {
        self.wish.send_modify(|wish| {
            wish.queries += 1;
            wish.connection = true;
        });
    }

    /// A mark of now; [`Self::stopped_since`] waits for a kill after it.
    pub(crate) fn mark(&self) -> u64 {
        self.wish.borrow().queries
    }

    /// Waits until the statement begun at `mark` is to stop.
    pub(crate) async fn stopped_since(&self, mark: u64) {
        let mut wish = self.wish.subscribe();
        wish.wait_for(|wish| wish.queries != mark || wish.connection).await.ok();
    }
}

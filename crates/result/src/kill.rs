//! [`Handle`]: stops a session's statement or ends the session, from another thread (`KILL`,
//! shutdown).

use std::sync::Arc;

use pelorus_error::{Error, Result};
use tokio::sync::watch;

/// The requests to a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wish {
    /// Counts `KILL QUERY`, so that each stops at most one statement.
    queries: u64,
    /// `KILL CONNECTION` was requested.
    connection: bool,
}

/// A handle of a session, for other threads; it outlives the session.
#[derive(Clone, Debug)]
pub struct Handle {
    id: u64,
    wish: Arc<watch::Sender<Wish>>,
}

impl Handle {
    /// A handle for the session of this id.
    pub fn new(id: u64) -> Self {
        Self { id, wish: Arc::new(watch::Sender::new(Wish::default())) }
    }

    /// The connection id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Waits until the connection is killed; the edge then closes it. Never returns otherwise.
    pub async fn killed(&self) {
        let mut wish = self.wish.subscribe();
        // The sender lives in `self`, so the wait cannot fail.
        wish.wait_for(|wish| wish.connection).await.ok();
    }

    /// Whether the connection was killed.
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
    pub fn mark(&self) -> u64 {
        self.wish.borrow().queries
    }

    /// Waits until the statement begun at `mark` is to stop.
    pub async fn stopped_since(&self, mark: u64) {
        let mut wish = self.wish.subscribe();
        wish.wait_for(|wish| wish.queries != mark || wish.connection).await.ok();
    }
}

/// The stop flag of a statement, for work without an `await`, which checks it regularly.
#[derive(Clone, Debug)]
pub struct Stop {
    handle: Handle,
    /// The mark of the handle when the statement began.
    mark: u64,
}

impl Stop {
    /// For the statement that begins now.
    pub fn of(handle: Handle) -> Self {
        let mark = handle.mark();
        Self { handle, mark }
    }

    /// For work that cannot be stopped.
    pub fn never() -> Self {
        Self::of(Handle::new(0))
    }

    /// Whether the statement is to stop.
    pub fn is_asked(&self) -> bool {
        self.handle.mark() != self.mark || self.handle.is_killed()
    }

    /// Fails when the statement is to stop.
    ///
    /// # Errors
    /// 1317.
    pub fn check(&self) -> Result<()> {
        if self.is_asked() { Err(Error::interrupted()) } else { Ok(()) }
    }

    /// Waits until the statement is to stop.
    pub async fn asked(&self) {
        self.handle.stopped_since(self.mark).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_stops_the_statement_that_runs_and_no_later_one() {
        let handle = Handle::new(1);
        let first = Stop::of(handle.clone());
        assert!(!first.is_asked() && first.check().is_ok());
        handle.kill_query();
        assert_eq!(first.check().unwrap_err().errno(), 1317);
        let second = Stop::of(handle.clone());
        assert!(!second.is_asked());
        handle.kill_connection();
        assert!(second.is_asked() && Stop::of(handle).is_asked());
    }
}

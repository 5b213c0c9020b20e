//! One server: its accounts, links and sessions.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pelorus_error::{Error, Result};

use crate::api::{Credential, Login};
use crate::config::{EngineConfig, Settings};
use crate::session::Session;

/// One Pelorus server. Sessions hold it; edges log clients in through it.
#[derive(Debug)]
pub struct Engine {
    config: EngineConfig,
    next_id: AtomicU64,
}

impl Engine {
    /// Opens the data folder and the links.
    ///
    /// # Errors
    /// When the data folder cannot be used. A link that cannot be reached is no error: it is retried.
    pub async fn open(config: EngineConfig) -> Result<Arc<Engine>> {
        Ok(Arc::new(Self { config, next_id: AtomicU64::new(1) }))
    }

    /// The password of `root`, when this start made one up.
    pub fn generated_root_password(&self) -> Option<String> {
        None
    }

    /// Limits and texts for edges. Later changes by `SET GLOBAL` show in later calls.
    pub fn settings(&self) -> Settings {
        self.config.settings.clone()
    }

    /// How the account that fits this user and host proves itself; `None` when there is none.
    /// `peer` is `None` on a local socket.
    pub fn credential(&self, user: &str, peer: Option<IpAddr>) -> Option<Credential> {
        let _ = (user, peer);
        None
    }

    /// A number for a connection that is about to be greeted; [`Self::connect`] takes it over.
    pub fn next_connection_id(&self) -> u64 {
        // Ordering: only uniqueness matters.
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Begins a session for a client whose password the edge has verified.
    ///
    /// # Errors
    /// Too many connections (1040), unknown database (1049).
    pub async fn connect(self: &Arc<Self>, id: u64, login: Login) -> Result<Session> {
        Ok(Session::new(self.clone(), id, login))
    }

    /// `KILL`: stops another session's statement, or the session.
    ///
    /// # Errors
    /// No such id (1094), or not allowed (1095).
    pub fn kill(&self, by: &Session, id: u64, query_only: bool) -> Result<()> {
        let _ = (by, id, query_only);
        Err(Error::unsupported("KILL"))
    }

    /// What `COM_STATISTICS` answers.
    pub fn statistics(&self) -> String {
        String::new()
    }

    /// Ends all sessions and closes the links.
    pub async fn close(&self) {}
}

//! The beginning of a session, and `KILL`.

use std::sync::Arc;

use pelorus_error::Result;

use super::Session;
use crate::api::Login;
use crate::engine::Engine;

impl Engine {
    /// Begins a session for a client whose password the edge has verified.
    ///
    /// # Errors
    /// Too many connections (1040), unknown database (1049), an account that is gone (1045).
    pub async fn connect(self: &Arc<Self>, id: u64, login: Login) -> Result<Session> {
        let process = self.enter(id, &login)?;
        let result = Session::begin(self.clone(), process.clone(), login).await;
        match &result {
            Ok(_) => self.note_login(),
            Err(_) => self.forget_session(&process),
        }
        result
    }

    /// `KILL`: stops another session's statement, or the session.
    ///
    /// # Errors
    /// No such id (1094), or not allowed (1095).
    pub fn kill(&self, by: &Session, id: u64, query_only: bool) -> Result<()> {
        self.kill_as(by.account(), id, query_only)
    }
}

//! [`Backend`]: the interface of an engine that the edge needs, so that tests can substitute one
//! that fails on purpose.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use pelorus_engine::api::{
    Credential, Login, Outcome, Parameter, Prepared, RowFormat, SessionStatus, Timeouts,
};
use pelorus_engine::{Engine, Session, Settings};
use pelorus_env::Account;
use pelorus_error::{Error, Result};
use pelorus_types::{Collation, Column};

/// An engine: accounts, limits and sessions. The methods mean what those of [`Engine`] mean.
#[expect(missing_docs, reason = "the methods are those of the engine")]
pub trait Backend: Send + Sync + 'static {
    type Session: BackendSession;

    fn settings(&self) -> Settings;
    fn credential(&self, user: &str, peer: Option<IpAddr>) -> Option<Credential>;
    fn login_ended(&self, user: &str, peer: Option<IpAddr>, is_proven: bool) -> Result<()>;
    fn next_connection_id(&self) -> u64;
    fn connect(
        self: &Arc<Self>,
        id: u64,
        login: Login,
    ) -> impl Future<Output = Result<Self::Session>> + Send;
    fn kill(&self, by: &Self::Session, id: u64, query_only: bool) -> Result<()>;
    fn statistics(&self) -> String;
}

/// A session of an engine. The methods mean what those of [`Session`] mean.
#[expect(missing_docs, reason = "the methods are those of the engine's session")]
pub trait BackendSession: Send + Sync + 'static {
    fn status(&self) -> SessionStatus;
    fn count_bytes(&self, received: u64, sent: u64);
    fn timeouts(&self) -> Timeouts;
    fn killed(&self) -> impl Future<Output = ()> + Send + 'static;
    fn is_killed(&self) -> bool;
    fn memory(&self) -> Account;
    fn client_collation(&self) -> Collation;
    fn in_digits(&self, statement: &[u8]) -> Option<Vec<u8>>;
    fn results_collation(&self) -> Option<Collation>;
    fn next_statement<'a>(&self, sql: &'a str) -> (&'a str, &'a str);
    fn is_light(&self, sql: &str) -> bool;
    fn execute(&mut self, sql: &str) -> impl Future<Output = Result<Outcome>> + Send;
    fn prepare(&mut self, sql: &str) -> impl Future<Output = Result<Prepared>> + Send;
    fn execute_prepared(
        &mut self,
        id: u32,
        parameters: Vec<Parameter>,
    ) -> impl Future<Output = Result<Outcome>> + Send;
    fn parameter_count(&self, id: u32) -> Option<u16>;
    fn close_prepared(&mut self, id: u32);
    fn use_database(&mut self, name: &str) -> impl Future<Output = Result<()>> + Send;
    fn list_fields(
        &mut self,
        table: &str,
        wild: &str,
    ) -> impl Future<Output = Result<Vec<Column>>> + Send;
    fn change_user(&mut self, login: Login) -> impl Future<Output = Result<()>> + Send;
    fn reset(&mut self) -> impl Future<Output = Result<()>> + Send;
    fn set_multi_statements(&mut self, on: bool);
    fn load(&mut self, bytes: &[u8]) -> impl Future<Output = ()> + Send;
    fn fail_load(&mut self, error: Error);
    fn loaded(&mut self) -> impl Future<Output = Result<Outcome>> + Send;
}

impl Backend for Engine {
    type Session = Session;

    fn settings(&self) -> Settings {
        Engine::settings(self)
    }

    fn credential(&self, user: &str, peer: Option<IpAddr>) -> Option<Credential> {
        Engine::credential(self, user, peer)
    }

    fn login_ended(&self, user: &str, peer: Option<IpAddr>, is_proven: bool) -> Result<()> {
        Engine::login_ended(self, user, peer, is_proven)
    }

    fn next_connection_id(&self) -> u64 {
        Engine::next_connection_id(self)
    }

    async fn connect(self: &Arc<Self>, id: u64, login: Login) -> Result<Session> {
        Engine::connect(self, id, login).await
    }

    fn kill(&self, by: &Session, id: u64, query_only: bool) -> Result<()> {
        Engine::kill(self, by, id, query_only)
    }

    fn statistics(&self) -> String {
        Engine::statistics(self)
    }
}

impl BackendSession for Session {
    fn status(&self) -> SessionStatus {
        Session::status(self)
    }

    fn count_bytes(&self, received: u64, sent: u64) {
        Session::count_bytes(self, received, sent);
    }

    fn timeouts(&self) -> Timeouts {
        Session::timeouts(self)
    }

    fn killed(&self) -> impl Future<Output = ()> + Send + 'static {
        let handle = self.handle();
        async move { handle.killed().await }
    }

    fn is_killed(&self) -> bool {
        self.handle().is_killed()
    }

    fn memory(&self) -> Account {
        Session::memory(self).clone()
    }

    fn client_collation(&self) -> Collation {
        Session::client_collation(self)
    }

    fn in_digits(&self, statement: &[u8]) -> Option<Vec<u8>> {
        Session::in_digits(self, statement)
    }

    fn results_collation(&self) -> Option<Collation> {
        Session::results_collation(self)
    }

    fn next_statement<'a>(&self, sql: &'a str) -> (&'a str, &'a str) {
        Session::next_statement(self, sql)
    }

    fn is_light(&self, sql: &str) -> bool {
        Session::is_light(self, sql)
    }

    async fn execute(&mut self, sql: &str) -> Result<Outcome> {
        Session::execute(self, sql, RowFormat::Text).await
    }

    async fn prepare(&mut self, sql: &str) -> Result<Prepared> {
        Session::prepare(self, sql).await
    }

    async fn execute_prepared(&mut self, id: u32, parameters: Vec<Parameter>) -> Result<Outcome> {
        Session::execute_prepared(self, id, parameters).await
    }

    fn parameter_count(&self, id: u32) -> Option<u16> {
        Session::parameter_count(self, id)
    }

    fn close_prepared(&mut self, id: u32) {
        Session::close_prepared(self, id);
    }

    async fn use_database(&mut self, name: &str) -> Result<()> {
        Session::use_database(self, name).await
    }

    async fn list_fields(&mut self, table: &str, wild: &str) -> Result<Vec<Column>> {
        Session::list_fields(self, table, wild).await
    }

    async fn change_user(&mut self, login: Login) -> Result<()> {
        Session::change_user(self, login).await
    }

    async fn reset(&mut self) -> Result<()> {
        Session::reset(self).await
    }

    async fn load(&mut self, bytes: &[u8]) {
        Session::load(self, bytes).await;
    }

    fn fail_load(&mut self, error: Error) {
        Session::fail_load(self, error);
    }

    async fn loaded(&mut self) -> Result<Outcome> {
        Session::loaded(self).await
    }

    fn set_multi_statements(&mut self, on: bool) {
        Session::set_multi_statements(self, on);
    }
}

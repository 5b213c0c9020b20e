//! Transactions. A transaction runs on one linked server or on native tables, chosen by the first
//! statement that needs a table; each session has at most one connection of its own to each server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_link::{Format, Link, Pinned};
use pelorus_native::{NativeReads, NativeTransaction};
use pelorus_sql::Statement;
use pelorus_sql::statement::{Begin, Completion, Isolation};
use pelorus_store::Snapshot;

use super::Session;
use crate::api::{Done, Outcome};
use crate::global_read_lock;
use crate::variables::VarValue;

/// The transactional state of a session.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// The open transaction.
    pub(super) open: Option<Open>,
    /// The link was requested to end it, and has not answered. If this is set when the next
    /// statement begins, the answer was not awaited.
    ending: bool,
    /// Connections of the session's own, by name of the link. They stay open once made, because
    /// `LAST_INSERT_ID()` inside a later statement, temporary tables and locks belong to them.
    pub(super) pinned: BTreeMap<String, Own>,
    /// `LOCK TABLES` named native tables. It has no other effect than that `UNLOCK TABLES` commits.
    pub(super) locks_native: bool,
    /// `FLUSH TABLES WITH READ LOCK` holds until `UNLOCK TABLES`.
    pub(super) global_read_lock: Option<global_read_lock::Held>,
    /// The links on whose servers the session has taken user-level locks, by name of the lock in
    /// lower case.
    pub(super) user_locks: BTreeMap<String, String>,
    /// `SET TRANSACTION` without scope: for the next one only.
    pub(super) next_isolation: Option<Isolation>,
    pub(super) next_read_only: Option<bool>,
    /// The link whose own connection ran the latest statement; it has its warnings.
    pub(super) warnings_on: Option<String>,
    /// The link whose own connection has written a row with an AUTO_INCREMENT column since: only
    /// the server knows whether it has made the number, or the statement.
    pub(super) insert_id_on: Option<String>,
    /// Linked servers that something was written to since their mirrors were last seen to have it,
    /// by their names in lower case.
    pub(super) wrote_to: BTreeSet<String>,
    /// The link whose own connection knows the `FOUND_ROWS()` of the latest query.
    pub(super) found_rows_on: Option<String>,
}

/// An open transaction.
#[derive(Debug, Default)]
pub(super) struct Open {
    pub(super) begin: Begin,
    /// The link that it is on, once a statement needed one.
    pub(super) link: Option<String>,
    /// The transaction's part on native tables, once a statement has used one.
    pub(super) native: Option<NativeTransaction>,
    /// Savepoints that were set before a link was chosen.
    pub(super) savepoints: Vec<String>,
    /// Begun by `autocommit = 0`, not by a statement.
    pub(super) implicit: bool,
    isolation: Option<Isolation>,
}

/// A connection of the session's own.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) link: Link,
    pub(super) pinned: Pinned,
    /// Temporary tables and other state that only this connection has.
    pub(super) has_temporary: bool,
    /// `LOCK TABLES` is in force.
    pub(super) has_locks: bool,
    /// Its `LAST_INSERT_ID()` as it was last heard of.
    pub(super) insert_id: u64,
    /// A transaction is being started on the connection, and the session has no confirmation yet. A
    /// transaction that is open after a kill is then abandoned; without this flag, a procedure has
    /// started it.
    pub(super) is_beginning: bool,
}

impl Transaction {
    /// Rolls back, and gives up connections and locks. What was written to servers stays written.
    pub(super) fn reset(&mut self) {
        let wrote_to = std::mem::take(&mut self.wrote_to);
        *self = Self { wrote_to, ..Self::default() };
    }

    /// Whether a transaction is open.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a transaction is open that a server takes part in.
    pub(super) fn is_bound(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.link.is_some())
    }

    /// Whether the open transaction has written to native tables.
    pub(super) fn has_written_native(&self) -> bool {
        let native = self.open.as_ref().and_then(|open| open.native.as_ref());
        native.is_some_and(NativeTransaction::has_written)
    }

    /// Whether some own connection has state that others do not see.
    pub(super) fn holds_state(&self) -> bool {
        self.pinned.values().any(|own| own.has_temporary || own.has_locks)
    }

    pub(super) fn holds_state_on(&self, link: &str) -> bool {
        self.pinned.get(link).is_some_and(|own| own.has_temporary || own.has_locks)
    }

    /// A statement that makes warnings of its own begins.
    pub(super) fn forget_warnings(&mut self) {
        self.warnings_on = None;
    }
}

impl Session {
    /// Whether a write would be refused because the transaction only reads.
    pub(super) fn transaction_is_read_only(&self) -> bool {
        match &self.transaction.open {
            Some(open) => open
                .begin
                .read_only
                .unwrap_or_else(|| self.settings.variables().is_on("transaction_read_only")),
            None => self.settings.variables().is_on("transaction_read_only"),
        }
    }

    /// `START TRANSACTION` and `BEGIN`. A requested snapshot is taken at once, on the server of the
    /// current database too, or on the only linked one: a dump of several threads begins all of
    /// them while it holds a lock.
    ///
    /// # Errors
    /// A server that cannot begin it; then none is open.
    pub(super) async fn start_transaction(&mut self, begin: Begin) -> Result<Outcome> {
        let outcome = self.begin_transaction(begin);
        if begin.consistent_snapshot
            && let Some(link) = self.current_link()
            && let Err(error) = self.join(&link).await
        {
            self.transaction.open = None;
            return Err(error);
        }
        Ok(outcome)
    }

    /// The link of the current database; without one, the only existing link.
    pub(super) fn current_link(&self) -> Option<Link> {
        let links = self.engine.links();
        match self.settings.database() {
            Some(database) if self.engine.native().has(database) => None,
            Some(database) => links.database(database).ok().flatten().map(|found| found.link),
            None => match links.all().as_slice() {
                [link] => Some(link.clone()),
                _ => None,
            },
        }
    }

    /// `BEGIN`, `START TRANSACTION`. An open one was committed before.
    pub(super) fn begin_transaction(&mut self, begin: Begin) -> Outcome {
        let read_only = begin.read_only.or(self.transaction.next_read_only.take());
        // On a linked server it begins with the first statement there.
        let native = begin.consistent_snapshot.then(|| {
            let snapshot = Arc::new(self.engine.native().store().snapshot());
            NativeTransaction::new(snapshot, &[], self.engine.memory().sessions())
        });
        self.transaction.open = Some(Open {
            begin: Begin { read_only, ..begin },
            native,
            isolation: self.transaction.next_isolation.take(),
            ..Open::default()
        });
        Outcome::Done(Done::default())
    }

    /// With `autocommit` off, a statement on a linked table begins a transaction.
    pub(super) fn begin_implicitly(&mut self) {
        if self.transaction.open.is_none() && !self.settings.variables().is_on("autocommit") {
            self.begin_transaction(Begin::default());
            if let Some(open) = &mut self.transaction.open {
                open.implicit = true;
            }
        }
    }

    /// `COMMIT` and `ROLLBACK`.
    pub(super) async fn end_transaction(
        &mut self,
        word: &str,
        completion: Completion,
    ) -> Result<Outcome> {
        if completion.release == Some(true) {
            return Err(Error::unsupported(format_args!("{word} RELEASE")));
        }
        if self.transaction.open.is_none() {
            self.wait_for_stopped().await;
        }
        let open = self.transaction.open.as_ref();
        let begin = open.map(|open| (open.begin, open.isolation));
        // One that is on a link has written nothing here.
        if let Some(link) = open.and_then(|open| open.link.clone()) {
            self.end_on_link(&link, word).await?;
        } else if let Some(native) = self.transaction.open.take().and_then(|open| open.native)
            && word == "COMMIT"
        {
            self.commit_native(native)?;
        }
        if let (Some(true), Some((begin, isolation))) = (completion.chain, begin) {
            // The snapshot is not asked for again.
            self.begin_transaction(Begin { consistent_snapshot: false, ..begin });
            if let Some(open) = &mut self.transaction.open {
                open.isolation = isolation;
            }
        }
        Ok(Outcome::Done(Done::default()))
    }

    /// Ends the transaction on its link. Until there is an answer it may go on: a kill may come
    /// before the server has heard of it, and after that. So it may when the server refuses.
    async fn end_on_link(&mut self, link: &str, word: &str) -> Result<()> {
        self.transaction.ending = true;
        let result = self.on_own_as_it_is(link, word).await;
        if result.is_err() && self.transaction.pinned.contains_key(link) {
            // An error does not say whether the transaction goes on.
            self.on_own_as_it_is(link, "DO 0").await.ok();
        }
        self.transaction.ending = false;
        let own = self.transaction.pinned.get(link);
        let goes_on = result.is_err() && own.is_some_and(|own| own.pinned.in_transaction());
        if !goes_on {
            self.transaction.open = None;
        }
        // The server rolls back the transaction of a lost connection.
        let is_gone = !self.transaction.pinned.contains_key(link);
        if is_gone && word == "ROLLBACK" { Ok(()) } else { result }
    }

    /// Determines the outcome of a COMMIT or ROLLBACK whose answer was not awaited.
    ///
    /// # Errors
    /// A lost connection, which leaves the outcome of its transaction unknown (1430).
    pub(super) async fn settle_transaction(&mut self) -> Result<()> {
        let settled = self.settle_end().await;
        self.adopt_left_open().await;
        settled
    }

    async fn settle_end(&mut self) -> Result<()> {
        if !self.transaction.ending {
            return Ok(());
        }
        let link = self.transaction.open.as_ref().and_then(|open| open.link.clone());
        let own = link.as_ref().and_then(|link| self.transaction.pinned.get(link));
        let goes_on = match own {
            Some(own) => own.pinned.settled().await,
            None => Ok(false),
        };
        self.transaction.ending = false;
        match goes_on {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.transaction.open = None;
                Ok(())
            }
            Err(error) => Err(self.after_failure(&link.unwrap_or_default(), error)),
        }
    }

    /// Takes over a transaction that a stored procedure has begun and left open.
    pub(super) fn adopt_transaction(&mut self, link: &str) {
        if self.transaction.open.is_none() {
            self.transaction.open = Some(Open { link: Some(link.to_owned()), ..Open::default() });
        }
    }

    /// Takes over such a transaction if the latest answers report one: a procedure that returns
    /// rows reports it after them. If one seems open, the call waits for a statement that is still
    /// being stopped there: the earlier report may be outdated, and a deadlock does not report its
    /// rollback.
    async fn adopt_left_open(&mut self) {
        if self.transaction.open.is_some() {
            return;
        }
        let mut left = None;
        for (name, own) in &self.transaction.pinned {
            let is_told = !own.is_beginning && own.pinned.in_transaction();
            // One that broke is taken over as well: who uses it next hears that it is lost.
            if is_told && own.pinned.settled().await.unwrap_or(true) {
                left = Some(name.clone());
                break;
            }
        }
        if let Some(link) = left {
            self.adopt_transaction(&link);
        }
    }

    /// Waits for own connections whose statement was killed, and takes over transactions that a
    /// procedure has left open on them.
    async fn wait_for_stopped(&mut self) {
        for own in self.transaction.pinned.values() {
            // One that broke has rolled back; who uses it next hears of that.
            own.pinned.settled().await.ok();
        }
        self.adopt_left_open().await;
    }

    /// Finds out whether a transaction is open on an own connection after an error, which does not
    /// say so: a procedure may have begun one before it failed, and a deadlock ends it.
    pub(super) async fn learn_transaction(&mut self, link: &str) {
        if self.transaction.open.is_none() && self.transaction.pinned.contains_key(link) {
            self.on_own_as_it_is(link, "DO 0").await.ok();
            self.adopt_left_open().await;
        }
    }

    /// Commits before a statement that ends transactions. Those that run on the transaction's own
    /// connection do it there by themselves.
    pub(super) async fn commit_before(&mut self, statement: &Statement) -> Result<()> {
        let is_relayed = matches!(
            statement,
            Statement::Ddl(_) | Statement::Maintenance(_) | Statement::LockTables(_)
        );
        if !is_relayed && self.transaction.is_open() {
            self.end_transaction("COMMIT", Completion::default()).await?;
        }
        Ok(())
    }

    /// `SAVEPOINT`.
    pub(super) async fn savepoint(&mut self, name: &str) -> Result<Outcome> {
        self.begin_implicitly();
        // Outside of a transaction a savepoint is gone at once.
        let Some(open) = &mut self.transaction.open else {
            return Ok(Outcome::Done(Done::default()));
        };
        if let Some(link) = open.link.clone() {
            let sql = format!("SAVEPOINT {}", pelorus_sql::literal::name(name));
            self.on_own(&link, &sql).await?;
        } else {
            // Also when native tables have it: what only reads there may go on on a link.
            open.savepoints.retain(|known| !known.eq_ignore_ascii_case(name));
            open.savepoints.push(name.to_owned());
            if let Some(native) = &mut open.native {
                native.savepoint(name);
            }
        }
        Ok(Outcome::Done(Done::default()))
    }

    /// `ROLLBACK TO SAVEPOINT` and `RELEASE SAVEPOINT`.
    pub(super) async fn back_to_savepoint(&mut self, release: bool, name: &str) -> Result<Outcome> {
        let missing =
            || Error::new(Code::NoSuchFunction, format!("SAVEPOINT {name} does not exist"));
        let verb = if release { "RELEASE SAVEPOINT" } else { "ROLLBACK TO SAVEPOINT" };
        let open = self.transaction.open.as_mut().ok_or_else(missing)?;
        if let Some(link) = open.link.clone() {
            let sql = format!("{verb} {}", pelorus_sql::literal::name(name));
            self.on_own(&link, &sql).await?;
        } else {
            let at = open
                .savepoints
                .iter()
                .rposition(|known| known.eq_ignore_ascii_case(name))
                .ok_or_else(missing)?;
            open.savepoints.truncate(if release { at } else { at + 1 });
            if let Some(native) = &mut open.native
                && !pelorus_env::blocking(|| native.back_to(name, release))?
            {
                return Err(missing());
            }
        }
        Ok(Outcome::Done(Done::default()))
    }

    /// The native tables as a statement reads them.
    pub(super) fn native_reads(&self) -> NativeReads {
        match self.transaction.open.as_ref().and_then(|open| open.native.as_ref()) {
            Some(native) => native.reads(),
            None => NativeReads::at(Arc::new(self.engine.native().store().snapshot())),
        }
    }

    /// Lets the open transaction take part in native tables, from now on as of `pin`; without a
    /// transaction nothing happens. Every statement on native tables calls it.
    ///
    /// # Errors
    /// A transaction that is on a linked server (1235), when the statement writes; one that only
    /// reads sees the newest version. An `sql_mode` that native tables do not follow (1235).
    pub(super) fn join_native(&mut self, pin: &Arc<Snapshot>, writes: bool) -> Result<()> {
        if self.settings.pads_char() {
            return Err(Error::unsupported("PAD_CHAR_TO_FULL_LENGTH with native tables"));
        }
        self.begin_implicitly();
        let memory = self.engine.memory().sessions();
        let Some(open) = &mut self.transaction.open else { return Ok(()) };
        match &open.link {
            Some(link) if writes => Err(Error::unsupported(format_args!(
                "a transaction on server '{link}' and in native tables at once"
            ))),
            Some(_) => Ok(()),
            None => {
                open.native.get_or_insert_with(|| {
                    NativeTransaction::new(Arc::clone(pin), &open.savepoints, memory)
                });
                Ok(())
            }
        }
    }

    /// Makes what a transaction wrote to native tables visible.
    ///
    /// # Errors
    /// A row that another session has written since the transaction began (1213), and 1317 when it
    /// is killed while it waits for other commits or for memory: everything is rolled back.
    fn commit_native(&self, native: NativeTransaction) -> Result<()> {
        if !native.has_written() {
            return Ok(());
        }
        let commit = native.commit(self.durability())?;
        let store = self.engine.native().store();
        let stop = self.statement.stop();
        pelorus_env::blocking(|| store.commit_unless(&commit, &|| stop.is_asked())).map(drop)
    }

    /// Makes the own connection to a link, and begins the open transaction on it.
    ///
    /// # Errors
    /// A transaction that is on another link already or has written to native tables (1235), or a
    /// server that is away.
    pub(super) async fn join(&mut self, link: &Link) -> Result<()> {
        let name = link.name().to_owned();
        let native = self.transaction.open.as_ref().and_then(|open| open.native.as_ref());
        if native.is_some_and(NativeTransaction::has_written) {
            return Err(Error::unsupported(format_args!(
                "a transaction in native tables and on server '{name}' at once"
            )));
        }
        if let Some(bound) = self.transaction.open.as_ref().and_then(|open| open.link.as_deref())
            && bound != name
        {
            return Err(Error::unsupported(format_args!(
                "a transaction on the servers '{bound}' and '{name}' at once"
            )));
        }
        self.drop_broken(&name)?;
        if !self.transaction.pinned.contains_key(&name) {
            let pinned = link.pin_counting(self.identity.login().found_rows).await?;
            let link = link.clone();
            let own = Own {
                link,
                pinned,
                has_temporary: false,
                has_locks: false,
                insert_id: 0,
                is_beginning: false,
            };
            self.transaction.pinned.insert(name.clone(), own);
        }
        // The server refuses an isolation level (1568) while one is open.
        self.end_killed_beginning(&name).await?;
        let Some(open) = &self.transaction.open else {
            return self.join_without_transaction(&name).await;
        };
        if open.link.is_some() {
            return Ok(());
        }
        let (begin, isolation) = (open.begin, open.isolation);
        let savepoints = open.savepoints.clone();
        if let Some(level) = isolation.map(isolation_words).or_else(|| self.isolation_setting()) {
            self.on_own(&name, &format!("SET TRANSACTION ISOLATION LEVEL {level}")).await?;
        }
        // Who only reads cannot let stored functions write either.
        let begin =
            if self.only_reads() { Begin { read_only: Some(true), ..begin } } else { begin };
        let start = start_text(begin, self.settings.variables().is_on("transaction_read_only"));
        self.set_beginning(&name, true);
        self.on_own(&name, &start).await?;
        for savepoint in savepoints {
            let savepoint = pelorus_sql::literal::name(&savepoint);
            self.on_own(&name, &format!("SAVEPOINT {savepoint}")).await?;
        }
        self.set_beginning(&name, false);
        if let Some(open) = &mut self.transaction.open {
            open.link = Some(name);
        }
        Ok(())
    }

    /// Ensures that no transaction unknown to the session is open on an own connection: it would
    /// include changes that must be committed at once.
    async fn join_without_transaction(&mut self, name: &str) -> Result<()> {
        if self.is_inside(name).await? {
            self.adopt_transaction(name);
        }
        Ok(())
    }

    /// Rolls back a transaction on an own connection whose beginning was killed, or failed half way:
    /// to the session it has not begun.
    async fn end_killed_beginning(&mut self, name: &str) -> Result<()> {
        if !self.transaction.pinned.get(name).is_some_and(|own| own.is_beginning) {
            return Ok(());
        }
        if self.is_inside(name).await? {
            self.on_own_as_it_is(name, "ROLLBACK").await?;
        }
        self.set_beginning(name, false);
        Ok(())
    }

    /// Whether a transaction is open on an own connection, after whatever is still stopped there.
    async fn is_inside(&mut self, name: &str) -> Result<bool> {
        let Some(own) = self.transaction.pinned.get(name) else { return Ok(false) };
        let is_inside = own.pinned.settled().await;
        is_inside.map_err(|error| self.after_failure(name, error))
    }

    fn set_beginning(&mut self, name: &str, is_beginning: bool) {
        if let Some(own) = self.transaction.pinned.get_mut(name) {
            own.is_beginning = is_beginning;
        }
    }

    /// The session's isolation level when it was set to something else than the default.
    fn isolation_setting(&self) -> Option<&'static str> {
        match self.settings.variables().get("transaction_isolation").text() {
            "READ-UNCOMMITTED" => Some("READ UNCOMMITTED"),
            "READ-COMMITTED" => Some("READ COMMITTED"),
            "SERIALIZABLE" => Some("SERIALIZABLE"),
            // The server's own default is usually the same, and may be what its owner wants.
            _ => None,
        }
    }

    /// Gives up an own connection that broke. Without a transaction or other state on it nothing is
    /// lost, and the next statement gets another one.
    ///
    /// # Errors
    /// The transaction, tables or locks that were lost with it (1430).
    fn drop_broken(&mut self, name: &str) -> Result<()> {
        if self.transaction.pinned.get(name).is_none_or(|own| own.pinned.is_usable()) {
            return Ok(());
        }
        let held = self.transaction.user_locks.len();
        self.transaction.user_locks.retain(|_, link| link != name);
        let lost_locks = self.transaction.user_locks.len() < held;
        let lost_state = self.transaction.holds_state_on(name) || lost_locks;
        self.transaction.pinned.remove(name);
        if !self.roll_back_on(name) && !lost_state {
            return Ok(());
        }
        Err(Error::new(
            Code::QueryOnForeign,
            format!(
                "the connection to server '{name}' was lost; what it held (transaction, temporary \
                 tables, locks) is gone"
            ),
        ))
    }

    /// Forgets the open transaction if it is on this link, because the server rolled it back.
    fn roll_back_on(&mut self, name: &str) -> bool {
        let on_link =
            self.transaction.open.as_ref().is_some_and(|open| open.link.as_deref() == Some(name));
        if on_link {
            self.transaction.open = None;
        }
        on_link
    }

    /// Runs a statement without rows on an own connection that exists.
    pub(super) async fn on_own(&mut self, name: &str, sql: &str) -> Result<()> {
        let mut settings = self.link_settings();
        let Some(own) = self.transaction.pinned.get_mut(name) else {
            return Err(Error::internal(format!("no connection to server '{name}'")));
        };
        settings.database = None;
        let result = own.pinned.execute(&settings, sql, Format::Text).await;
        result.map(drop).map_err(|error| self.after_failure(name, error))
    }

    /// The same for a statement that means the same whatever the session's settings are: the server
    /// may refuse those, a time zone that it does not know, say.
    async fn on_own_as_it_is(&mut self, name: &str, sql: &str) -> Result<()> {
        let Some(own) = self.transaction.pinned.get_mut(name) else {
            return Err(Error::internal(format!("no connection to server '{name}'")));
        };
        let result = own.pinned.run(sql).await;
        result.map_err(|error| self.after_failure(name, error))
    }

    /// Updates the transaction's state after a failure on the session's own connection.
    pub(super) fn after_failure(&mut self, name: &str, error: Error) -> Error {
        let is_lost = matches!(error.code(), Code::ConnectToForeign | Code::QueryOnForeign);
        if is_lost {
            self.transaction.pinned.remove(name);
        }
        // After a deadlock the server has rolled the whole transaction back.
        if is_lost || error.errno() == Code::Deadlock.errno() {
            self.roll_back_on(name);
        }
        error
    }

    /// `SET autocommit`: switching it on commits.
    pub(super) async fn set_autocommit(&mut self, on: bool) -> Result<()> {
        let was_on = self.settings.variables().is_on("autocommit");
        if on && !was_on && self.transaction.is_open() {
            self.end_transaction("COMMIT", Completion::default()).await?;
        }
        self.settings.put_variable("autocommit", VarValue::Bool(on));
        Ok(())
    }
}

fn isolation_words(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ UNCOMMITTED",
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

fn start_text(begin: Begin, read_only_by_default: bool) -> String {
    let mut traits = Vec::new();
    if begin.consistent_snapshot {
        traits.push("WITH CONSISTENT SNAPSHOT");
    }
    match begin.read_only {
        Some(true) => traits.push("READ ONLY"),
        Some(false) => traits.push("READ WRITE"),
        None if read_only_by_default => traits.push("READ ONLY"),
        None => {}
    }
    format!("START TRANSACTION {}", traits.join(", ")).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_begun_with_their_traits() {
        assert_eq!(start_text(Begin::default(), false), "START TRANSACTION");
        assert_eq!(start_text(Begin::default(), true), "START TRANSACTION READ ONLY");
        let begin = Begin { read_only: Some(false), consistent_snapshot: true };
        assert_eq!(
            start_text(begin, true),
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE"
        );
    }
}

//! The session's own connection to the primary: writes, schema changes, and everything inside a
//! transaction. The text is sent unchanged except for executable comments.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::Value;
use pelorus_link::{Format, Link, Relay, RelayedRows};
use pelorus_result::scalar::{sql_of, value_at};
use pelorus_sql::statement::{Completion, Ddl, DdlAction, TableName, Write, WriteKind};
use pelorus_sql::{Statement, TokenKind, literal};
use pelorus_types::Column;

use super::state::user_variables::user_variable;
use super::statement_snapshot::View;
use super::table_routing::Place;
use super::{Session, stream};
use crate::api::{Done, Outcome, RowFormat};

impl Session {
    /// `INSERT`, `UPDATE` and the like.
    pub(super) async fn write(
        &mut self,
        sql: &str,
        write: &Write,
        format: RowFormat,
    ) -> Result<Outcome> {
        if self.writes_native(write) {
            return self.change_native(sql).await;
        }
        if write.local || write.kind == WriteKind::Load {
            return Err(Error::unsupported("LOAD DATA into tables of linked servers"));
        }
        let has_variables = || {
            let mut tokens = pelorus_sql::lexer::Lexer::new(sql, self.settings.mode());
            tokens.any(|token| token.kind == TokenKind::UserVariable)
        };
        if write.kind == WriteKind::Call && has_variables() {
            // The procedure may change them, on a connection whose variables are not read.
            return Err(Error::unsupported("CALL with user variables as arguments"));
        }
        let place = self.place(&write.tables).await?;
        let link = self.link_for(&place, "a statement that writes", sql)?;
        self.on_pinned(&link, sql, format, true).await
    }

    /// Schema changes.
    pub(super) async fn ddl(
        &mut self,
        view: &Arc<View>,
        sql: &str,
        ddl: &Ddl,
        format: RowFormat,
    ) -> Result<Outcome> {
        if matches!(ddl.object.as_str(), "DATABASE" | "SCHEMA") {
            return self.database_ddl(view, sql, ddl, format).await;
        }
        if self.names_native(&ddl.names) {
            return self.define_native(view, sql, ddl).await;
        }
        if matches!(
            ddl.object.as_str(),
            "ROLE" | "TABLESPACE" | "LOGFILE" | "RESOURCE" | "SPATIAL" | "LIBRARY"
        ) {
            return Err(Error::unsupported(format_args!("DDL of {}", ddl.object)));
        }
        let tables: Vec<TableName> = ddl.names.iter().chain(&ddl.tables).cloned().collect();
        let place = self.place(&tables).await?;
        let link = self.link_for(&place, "DDL", sql)?;
        let outcome = self.on_pinned(&link, sql, format, false).await;
        if ddl.temporary
            && ddl.action == DdlAction::Create
            && outcome.is_ok()
            && let Some(own) = self.transaction.pinned.get_mut(link.name())
        {
            own.has_temporary = true;
        }
        link.forget();
        outcome
    }

    /// `CREATE`, `ALTER` and `DROP DATABASE`.
    async fn database_ddl(
        &mut self,
        view: &Arc<View>,
        sql: &str,
        ddl: &Ddl,
        format: RowFormat,
    ) -> Result<Outcome> {
        let named = ddl
            .names
            .first()
            .map(|name| name.name.clone())
            .or(self.settings.database().map(str::to_owned));
        let Some(name) = named else {
            return Err(Error::new(Code::NoDatabase, "No database selected"));
        };
        if self.engine.native().has(&name) {
            return self.define_native(view, sql, ddl).await;
        }
        self.engine.links().forget();
        self.engine.links().refresh().await;
        let link = match self.engine.links().database(&name)? {
            Some(found) if found.local != found.remote => {
                return Err(Error::unsupported(format_args!(
                    "DDL of database '{name}', which is '{}' on its server",
                    found.remote
                )));
            }
            Some(found) if !crate::links::is_own(&name) => found.link,
            _ if crate::links::is_own(&name) => {
                return Err(self.identity.database_denied(&name));
            }
            _ => return self.define_native(view, sql, ddl).await,
        };
        let outcome = self.on_pinned(&link, sql, format, false).await;
        link.forget();
        self.engine.links().forget();
        if ddl.action == DdlAction::Drop && outcome.is_ok() {
            self.leave_database(&name);
        }
        outcome
    }

    /// `ANALYZE TABLE`, `LOCK TABLES`, `HANDLER` and the like: handed on as they are.
    pub(super) async fn hand_on(
        &mut self,
        sql: &str,
        tables: &[TableName],
        what: &str,
        format: RowFormat,
    ) -> Result<Outcome> {
        let place = self.place(tables).await?;
        let link = self.link_for(&place, what, sql)?;
        self.on_pinned(&link, sql, format, true).await
    }

    /// Whether the tables that a statement changes are native.
    fn writes_native(&self, write: &Write) -> bool {
        use WriteKind::{Call, Compound, Import};
        let changed = write.tables.get(..write.changed.max(1)).unwrap_or(&write.tables);
        !matches!(write.kind, Call | Compound | Import) && self.names_native(changed)
    }

    /// `LOCK TABLES`.
    pub(super) async fn lock_tables(
        &mut self,
        sql: &str,
        tables: &[(TableName, bool)],
        format: RowFormat,
    ) -> Result<Outcome> {
        let tables: Vec<TableName> = tables.iter().map(|(table, _)| table.clone()).collect();
        let place = self.place(&tables).await?;
        if place.native.is_some() && place.only_link("LOCK TABLES")?.is_none() {
            // As on a server, a transaction ends here.
            if self.transaction.is_open() {
                self.end_transaction("COMMIT", Completion::default()).await?;
            }
            // Readers of native tables see one version and writers do not wait, so that a dump
            // that is loaded needs no lock.
            let text = "LOCK TABLES has no effect on native tables";
            self.statement.diagnostics().warn(Code::NotSupportedYet.errno(), text);
            self.transaction.locks_native = true;
            return Ok(Outcome::Done(Done::default()));
        }
        let link = self.link_for(&place, "LOCK TABLES", sql)?;
        if self.identity.is_read_only() {
            // A transaction that only reads does not block writes.
            return Err(self.identity.table_denied("LOCK TABLES", tables.first()));
        }
        let outcome = self.on_pinned(&link, sql, format, false).await?;
        if let Some(own) = self.transaction.pinned.get_mut(link.name()) {
            own.has_locks = true;
        }
        Ok(outcome)
    }

    /// `FLUSH TABLES WITH READ LOCK`: on all linked servers, and for native tables. Statements that
    /// write to those wait; readers do not notice.
    ///
    /// # Errors
    /// A server that is away, or whose account lacks the right to lock it (RELOAD); then nothing is
    /// locked.
    pub(super) async fn lock_everything(&mut self) -> Result<()> {
        if self.transaction.is_open() {
            self.end_transaction("COMMIT", Completion::default()).await?;
        }
        for link in self.engine.links().all() {
            let locked = match self.join(&link).await {
                Ok(()) => self.on_own(link.name(), "FLUSH TABLES WITH READ LOCK").await,
                Err(error) => Err(error),
            };
            if let Err(error) = locked {
                self.unlock_tables().await?;
                return Err(error);
            }
            if let Some(own) = self.transaction.pinned.get_mut(link.name()) {
                own.has_locks = true;
            }
        }
        if self.transaction.global_read_lock.is_none() {
            let held = self.engine.global_read_lock().clone().hold().await;
            self.transaction.global_read_lock = Some(held);
        }
        Ok(())
    }

    /// `UNLOCK TABLES`, on every connection that holds some. What was locked is committed.
    pub(super) async fn unlock_tables(&mut self) -> Result<Outcome> {
        self.transaction.global_read_lock = None;
        if std::mem::take(&mut self.transaction.locks_native) && self.transaction.is_open() {
            self.end_transaction("COMMIT", Completion::default()).await?;
        }
        let names: Vec<String> = self
            .transaction
            .pinned
            .iter()
            .filter(|(_, own)| own.has_locks)
            .map(|(name, _)| name.clone())
            .collect();
        for name in names {
            self.on_own(&name, "UNLOCK TABLES").await?;
            if let Some(own) = self.transaction.pinned.get_mut(&name) {
                own.has_locks = false;
            }
        }
        Ok(Outcome::Done(Done::default()))
    }

    /// The one link of a statement that must go to one.
    fn link_for(&self, place: &Place, what: &str, sql: &str) -> Result<Link> {
        match place.only_link(what)? {
            Some(link) => {
                self.check_names(place, sql)?;
                Ok(link)
            }
            None => match (&place.own, &place.native) {
                (None, Some(_)) => Err(Error::unsupported(format_args!("{what} of native tables"))),
                (Some(own), _) => Err(self.identity.database_denied(own)),
                (None, None) => Err(no_link()),
            },
        }
    }

    /// Runs a statement on the own connection to a link. `joins` tells whether `autocommit = 0`
    /// makes it begin a transaction.
    pub(super) async fn on_pinned(
        &mut self,
        link: &Link,
        sql: &str,
        format: RowFormat,
        joins: bool,
    ) -> Result<Outcome> {
        let text = self.text_for(link, sql, false).await?;
        self.send_pinned(link, (sql, text), format, joins, None).await
    }

    /// The same for a query, which may be limited to some rows.
    pub(super) async fn query_on_pinned(
        &mut self,
        link: &Link,
        sql: &str,
        format: RowFormat,
        select_limit: Option<u64>,
    ) -> Result<Outcome> {
        let text = self.text_for(link, sql, true).await?;
        self.send_pinned(link, (sql, text), format, true, select_limit).await
    }

    /// Runs a statement, given as the client wrote it and as the server gets it.
    async fn send_pinned(
        &mut self,
        link: &Link,
        (sql, text): (&str, String),
        format: RowFormat,
        joins: bool,
        select_limit: Option<u64>,
    ) -> Result<Outcome> {
        self.transaction.wrote_to.insert(link.name().to_lowercase());
        // The bodies of stored programs have variables of their own time.
        let preset = if joins { self.user_variables_of(sql)? } else { None };
        if joins {
            self.begin_implicitly();
        }
        self.join(link).await?;
        let name = link.name().to_owned();
        if self.transaction.insert_id_on.as_ref().is_some_and(|before| *before != name) {
            self.learn_insert_id().await?;
        }
        self.tell_insert_id(&name, sql).await?;
        if let Some(preset) = preset {
            self.on_own(&name, &preset).await?;
        }
        let mut settings = self.link_settings().with_select_limit(select_limit);
        settings.database = self.remote_database(link);
        let format = match format {
            RowFormat::Text => Format::Text,
            RowFormat::Binary => Format::Binary,
        };
        let Some(own) = self.transaction.pinned.get_mut(&name) else {
            return Err(Error::internal("the connection was made above"));
        };
        let result = own.pinned.execute(&settings, &text, format).await;
        let in_transaction = own.pinned.in_transaction();
        crate::status::count(&self.process.counters.relayed);
        match result {
            Ok(relay) => {
                // What a query has warned of comes with its rows.
                if matches!(relay, Relay::Done(_)) {
                    self.transaction.warnings_on = Some(name.clone());
                }
                Ok(self.relayed(&name, relay, in_transaction))
            }
            Err(error) => {
                let error = self.after_failure(&name, error);
                self.learn_transaction(&name).await;
                Err(error)
            }
        }
    }

    /// The text of a statement of the client's for a link. Queries may read its system schemas where
    /// they are shown here.
    async fn text_for(&self, link: &Link, sql: &str, is_query: bool) -> Result<String> {
        let reads_system_schemas = is_query && self.engine.links().shows_system_schemas(link);
        let settings = self.link_settings();
        pelorus_query::text_for_server(
            link,
            &settings,
            sql,
            self.settings.mode(),
            reads_system_schemas,
        )
        .await
    }

    /// The columns of a query on the own connection to a link, where it is to run later.
    pub(super) async fn describe_on_pinned(
        &mut self,
        link: &Link,
        sql: &str,
    ) -> Result<Vec<Column>> {
        let text = self.text_for(link, sql, true).await?;
        let name = link.name();
        if let Some(preset) = self.user_variables_of(sql)? {
            self.on_own(name, &preset).await?;
        }
        let mut settings = self.link_settings();
        settings.database = self.remote_database(link);
        let Some(own) = self.transaction.pinned.get_mut(name) else {
            return Err(Error::internal(format!("no connection to server '{name}'")));
        };
        let described = own.pinned.describe(&settings, &text).await;
        described.map_err(|error| self.after_failure(name, error))
    }

    fn relayed(&mut self, name: &str, relay: Relay, in_transaction: bool) -> Outcome {
        match relay {
            Relay::Rows(rows) => {
                Outcome::Rows(stream::relayed(rows, self.statement.diagnostics().clone()))
            }
            Relay::Done(done) => {
                // Statements such as DDL end the transaction on the server.
                let on_link = self
                    .transaction
                    .open
                    .as_ref()
                    .is_some_and(|open| open.link.as_deref() == Some(name));
                if on_link && !in_transaction {
                    self.transaction.open = None;
                }
                if in_transaction {
                    self.adopt_transaction(name);
                }
                if done.last_insert_id != 0 {
                    self.transaction.insert_id_on = Some(name.to_owned());
                }
                self.statement.diagnostics().count_more(usize::from(done.warnings));
                Outcome::Done(Done {
                    affected_rows: done.affected_rows,
                    last_insert_id: done.last_insert_id,
                    warnings: done.warnings,
                    info: done.info,
                })
            }
        }
    }

    /// The number that a query of one row and column gives on an own connection; `None` for NULL, and
    /// where there is no such connection.
    ///
    /// # Errors
    /// A server that went away, or refuses the query.
    pub(super) async fn number_on_own(&mut self, name: &str, sql: &str) -> Result<Option<u64>> {
        let settings = self.link_settings();
        let Some(own) = self.transaction.pinned.get_mut(name) else { return Ok(None) };
        let number = match own.pinned.execute(&settings, sql, Format::Text).await {
            Ok(Relay::Rows(rows)) => first_number(rows).await,
            Ok(Relay::Done(_)) => Err(Error::internal("a query gave no rows")),
            Err(error) => Err(error),
        };
        number.map_err(|error| self.after_failure(name, error))
    }

    /// Reads `LAST_INSERT_ID()` after statements on the session's own connection. The number in
    /// their answers may be one that the statement gave, which does not change it.
    ///
    /// # Errors
    /// A server that went away.
    pub(super) async fn learn_insert_id(&mut self) -> Result<()> {
        let Some(name) = self.transaction.insert_id_on.clone() else { return Ok(()) };
        let id = self.number_on_own(&name, "SELECT LAST_INSERT_ID()").await;
        // Only now: a kill may have come before the answer.
        self.transaction.insert_id_on = None;
        let Some(id) = id? else { return Ok(()) };
        if let Some(own) = self.transaction.pinned.get_mut(&name)
            && own.insert_id != id
        {
            own.insert_id = id;
            self.statement.set_last_insert_id(id);
        }
        Ok(())
    }

    /// Sets `LAST_INSERT_ID()` on an own connection if a text for it reads it: a native table,
    /// another server or `SET` may have changed it.
    async fn tell_insert_id(&mut self, name: &str, sql: &str) -> Result<()> {
        let id = self.statement.last_insert_id();
        let Some(own) = self.transaction.pinned.get_mut(name) else { return Ok(()) };
        if own.insert_id == id || !names_insert_id(sql) {
            return Ok(());
        }
        own.insert_id = id;
        self.on_own(name, &format!("SET last_insert_id = {id}")).await
    }

    /// User variables that a text reads must be known on the server's connection too: the `SET`
    /// that makes them so.
    ///
    /// # Errors
    /// A text that changes user variables: the change would be lost (1235).
    fn user_variables_of(&self, sql: &str) -> Result<Option<String>> {
        let tokens = pelorus_sql::tokens(sql, self.settings.mode());
        let mut names: Vec<String> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            if token.kind != TokenKind::UserVariable {
                continue;
            }
            let is_set = tokens.get(at + 1).is_some_and(|next| next.is_symbol(sql, ":="));
            if is_set {
                return Err(Error::unsupported("assignment to user variables with :="));
            }
            let name = variable_name(token.text(sql), self.settings.mode());
            if !names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                names.push(name);
            }
        }
        if names.is_empty() {
            return Ok(None);
        }
        let assignments = names
            .iter()
            .map(|name| {
                let (value, ty) = user_variable(self.settings.user_variables(), name);
                Ok(format!(
                    "@{} = {}",
                    literal::name(name),
                    sql_of(&value, &ty, self.settings.mode())?
                ))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Some(format!("SET {}", assignments.join(", "))))
    }
}

/// The number that a result of one row and column has; `None` for NULL.
async fn first_number(rows: RelayedRows) -> Result<Option<u64>> {
    let columns = rows.columns.clone();
    let batch = rows.collect().await?;
    let [column] = columns.as_slice() else {
        return Err(Error::internal("a number with other columns"));
    };
    match value_at(batch.column(0), &column.ty, 0)? {
        Value::Null => Ok(None),
        Value::UInt(number) => Ok(Some(number)),
        Value::Int(number) => Ok(Some(number.try_into().unwrap_or(0))),
        other => Err(Error::internal(format!("{other:?} is no number of a row"))),
    }
}

/// Whether a statement may show `LAST_INSERT_ID()`.
pub(super) fn shows_insert_id(sql: &str, statement: &Statement) -> bool {
    // Prepared statements say it elsewhere.
    matches!(statement, Statement::Execute(_) | Statement::ExecuteImmediate(_))
        || names_insert_id(sql)
}

/// Whether a text has words that may mean `LAST_INSERT_ID()`.
fn names_insert_id(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    ["insert_id", "identity", "variables"].iter().any(|word| sql.contains(word))
}

/// The name in `@name`, `` @`name` ``, `@'name'`.
pub(super) fn variable_name(text: &str, mode: pelorus_sql::Mode) -> String {
    let text = text.strip_prefix('@').unwrap_or(text);
    match text.chars().next() {
        Some('`') => text.trim_matches('`').replace("``", "`"),
        Some('\'' | '"') => literal::text_of_token(text, mode),
        _ => text.to_owned(),
    }
}

fn no_link() -> Error {
    Error::unsupported("tables of its own; link a server with CREATE SERVER")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_show_the_last_insert_id_are_known() {
        let shows = |sql: &str| {
            let statement = pelorus_sql::classify(sql, pelorus_sql::Mode::default()).unwrap();
            shows_insert_id(sql, &statement)
        };
        for sql in ["SELECT Last_Insert_Id()", "SET @x = @@identity", "SHOW VARIABLES", "EXECUTE s"]
        {
            assert!(shows(sql), "{sql}");
        }
        assert!(!shows("INSERT INTO t (v) VALUES (1)"));
    }

    #[test]
    fn names_of_user_variables_lose_their_quotes() {
        let mode = pelorus_sql::Mode::default();
        for text in ["@a", "@`a`", "@'a'", "@\"a\""] {
            assert_eq!(variable_name(text, mode), "a");
        }
    }
}

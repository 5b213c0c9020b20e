//! Dispatches a statement to its handler.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_result::scalar::text_of;
use pelorus_sql::Statement;
use pelorus_sql::statement::{Explain, ExplainTarget, Kill};

use super::Session;
use super::statement_snapshot::View;
use super::table_routing::unknown_database;
use crate::api::{Done, Outcome, RowFormat};
use crate::info::InfoTables;

impl Session {
    /// Runs a statement that the account may run.
    pub(super) async fn dispatch(
        &mut self,
        view: &Arc<View>,
        sql: &str,
        statement: &Statement,
        format: RowFormat,
    ) -> Result<Outcome> {
        match statement {
            Statement::Empty => empty(sql),
            Statement::Query(facts) => self.query(view, sql, facts, format).await,
            Statement::Explain(explain) => self.explain(view, sql, explain, format).await,
            Statement::Describe(describe) => self.describe(view, describe, format).await,
            Statement::Show(show) => self.show(view, show, format).await,
            Statement::Set(assignments) => self.set(view, assignments).await,
            Statement::Use(name) => {
                self.change_database(name).await?;
                Ok(done())
            }
            Statement::Begin(begin) => {
                // As on a server, locks end where a transaction is begun.
                self.transaction.locks_native = false;
                self.start_transaction(*begin).await
            }
            Statement::Commit(completion) => self.end_transaction("COMMIT", *completion).await,
            Statement::Rollback(completion) => self.end_transaction("ROLLBACK", *completion).await,
            Statement::Savepoint(name) => self.savepoint(name).await,
            Statement::ReleaseSavepoint(name) => self.back_to_savepoint(true, name).await,
            Statement::RollbackTo(name) => self.back_to_savepoint(false, name).await,
            Statement::Prepare(prepare) => self.prepare_named(prepare).await,
            Statement::Execute(execute) => self.execute_named(view, execute, format).await,
            Statement::ExecuteImmediate(source) => {
                self.execute_immediate(view, source, format).await
            }
            Statement::Deallocate(name) => self.deallocate(name),
            Statement::Kill(kill) => self.kill(view, kill).await,
            Statement::Do(expressions) => {
                let set = self.run_expressions(view, expressions).await?;
                pelorus_result::collect::drain(set.rows).await?;
                Ok(done())
            }
            Statement::Write(write) => self.write(sql, write, format).await,
            Statement::Ddl(ddl) => self.ddl(view, sql, ddl, format).await,
            Statement::Maintenance(maintenance) => {
                self.maintain(view, sql, maintenance, format).await
            }
            Statement::Mirror(mirror) => self.mirror(mirror).await,
            Statement::Handler(table) => {
                self.hand_on(sql, std::slice::from_ref(table), "HANDLER", format).await
            }
            Statement::LockTables(tables) => self.lock_tables(sql, tables, format).await,
            Statement::UnlockTables => self.unlock_tables().await,
            Statement::Flush(words) => self.flush(words).await,
            Statement::Unknown(_) => Err(pelorus_sql::lexer::syntax_error(sql, 0)),
            Statement::Xa => Err(Error::unsupported("XA transactions")),
            Statement::Grant(_) => Err(Error::unsupported(
                "GRANT and REVOKE; an account may do everything, or only read: ALTER USER ... READ \
                 ONLY | READ WRITE",
            )),
            Statement::Administration(words) => Err(Error::unsupported(words)),
            Statement::Help(_) => Err(Error::unsupported("HELP")),
            other => self.accounts_or_servers(other).await,
        }
    }

    async fn accounts_or_servers(&mut self, statement: &Statement) -> Result<Outcome> {
        match statement {
            Statement::SetPassword(set) => self.set_password(set),
            Statement::CreateUser(create) => self.create_user(create),
            Statement::AlterUser(alter) => self.alter_user(alter),
            Statement::DropUser(drop) => self.drop_user(drop),
            Statement::RenameUser(pairs) => self.rename_user(pairs),
            Statement::CreateServer(create) => self.create_server(create).await,
            Statement::AlterServer(alter) => self.alter_server(alter).await,
            Statement::DropServer(drop) => self.drop_server(drop).await,
            other => Err(Error::unsupported(format_args!("{other:?}"))),
        }
    }

    /// `USE`.
    pub(super) async fn change_database(&mut self, name: &str) -> Result<()> {
        if name.is_empty() {
            return Err(Error::new(Code::NoDatabase, "No database selected"));
        }
        let local = if InfoTables::is_schema(name) {
            name.to_ascii_lowercase()
        } else if self.engine.native().has(name) {
            name.to_owned()
        } else {
            self.linked_database(name).await?
        };
        self.set_database(Some(local));
        Ok(())
    }

    /// The name of a database as its server spells it.
    async fn linked_database(&self, name: &str) -> Result<String> {
        self.refresh_links_for(&[name]).await;
        let links = self.engine.links();
        match links.database(name)? {
            Some(found) => Ok(found.local),
            None => Err(self.unknown_or_away(name)),
        }
    }

    /// Error 1049, or why a server that may have the database does not answer.
    fn unknown_or_away(&self, name: &str) -> Error {
        let links = self.engine.links();
        let away = links.all().into_iter().find_map(|link| links.failure(link.name()));
        match away {
            Some(failure) => Error::new(
                Code::UnknownDatabase,
                format!("Unknown database '{name}' (a linked server does not answer: {failure})"),
            ),
            None => unknown_database(name),
        }
    }

    async fn kill(&mut self, view: &Arc<View>, kill: &Kill) -> Result<Outcome> {
        let (value, ty) = self.evaluate(view, &kill.id).await?;
        let text = text_of(&value, &ty);
        let id = text
            .parse()
            .map_err(|_| Error::new(Code::NoSuchThread, format!("Unknown thread id: {text}")))?;
        self.engine.kill(self, id, kill.query_only)?;
        if id == self.id() {
            return Err(Error::interrupted());
        }
        Ok(done())
    }

    /// `FLUSH`: clears caches; objects that do not exist here are refused.
    async fn flush(&mut self, words: &[String]) -> Result<Outcome> {
        let words: Vec<&str> = words
            .iter()
            .map(String::as_str)
            .filter(|word| !matches!(*word, "NO_WRITE_TO_BINLOG" | "LOCAL"))
            .collect();
        match words.as_slice() {
            // Accounts are read at each login.
            ["PRIVILEGES"] => self.engine.accounts().forget_failures(),
            ["TABLES" | "TABLE"] => {
                self.engine.links().forget();
                for link in self.engine.links().all() {
                    link.forget();
                }
            }
            ["TABLES" | "TABLE", "WITH", "READ", "LOCK"] => self.lock_everything().await?,
            ["STATUS"] => self.process.counters.clear(),
            other => return Err(Error::unsupported(format_args!("FLUSH {}", other.join(" ")))),
        }
        Ok(done())
    }

    async fn explain(
        &mut self,
        view: &Arc<View>,
        sql: &str,
        explain: &Explain,
        format: RowFormat,
    ) -> Result<Outcome> {
        let (text, statement) = match &explain.target {
            ExplainTarget::Connection(_) => {
                return Err(Error::unsupported("EXPLAIN FOR CONNECTION"));
            }
            ExplainTarget::Statement(text, statement) => (text, statement),
        };
        match statement.as_ref() {
            Statement::Query(facts) if !explain.analyze => {
                if !matches!(explain.format.as_deref(), None | Some("TRADITIONAL" | "TREE")) {
                    return Err(Error::unsupported("EXPLAIN FORMAT = JSON"));
                }
                // Where the session's own connection answers, the server knows how.
                if let Some(link) = self.own_link(sql, &facts.tables, false).await? {
                    return self.on_pinned(&link, sql, format, true).await;
                }
                if !facts.tables.is_empty() {
                    self.refresh_links(&facts.tables).await;
                }
                let mirrored = self.mirrored(&facts.tables).await;
                let context = self.context_of_query(view);
                let result = match mirrored {
                    None => {
                        let result = pelorus_query::explain(&context, text).await?;
                        if let Some(why) = self.why_unread(&facts.tables) {
                            let why = format!("no mirror is read: {why}");
                            self.statement.diagnostics().note(Code::NotSupportedYet.errno(), why);
                        }
                        result
                    }
                    Some(mirrored) => {
                        let mirrored = self.context_over(&self.view(), Some(Arc::new(mirrored)));
                        match pelorus_query::explain(&mirrored, text).await {
                            Ok(result) => result,
                            Err(error) => {
                                let why = format!("no mirror is read: {}", error.message());
                                let result = pelorus_query::explain(&context, text).await?;
                                self.statement.diagnostics().note(error.errno(), why);
                                result
                            }
                        }
                    }
                };
                let diagnostics = self.statement.diagnostics().clone();
                let rows = super::stream::blocks(result.rows, context.eval.clone(), diagnostics);
                Ok(Outcome::Rows(crate::api::ResultSet { columns: result.columns, rows }))
            }
            Statement::Query(_) => Err(Error::unsupported("EXPLAIN ANALYZE")),
            Statement::Write(write) => {
                let tables = write.tables.clone();
                self.hand_on(sql, &tables, "EXPLAIN", format).await
            }
            _ => Err(Error::unsupported("EXPLAIN of this statement")),
        }
    }
}

/// An OK without numbers.
pub(super) fn done() -> Outcome {
    Outcome::Done(Done::default())
}

/// A statement without words. As on a server, one of comments does nothing, and one of nothing is an
/// error; the `mysql` client of MySQL sends the comments of dumps.
fn empty(sql: &str) -> Result<Outcome> {
    let text = sql.trim_start_matches(|char: char| char.is_ascii_whitespace());
    match text.is_empty() || text.starts_with(';') {
        true => Err(Error::new(Code::EmptyQuery, "Query was empty")),
        false => Ok(done()),
    }
}

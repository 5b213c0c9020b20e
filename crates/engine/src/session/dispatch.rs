//! Dispatches a statement to its handler, with the context of its kind.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_sql::Statement;

use super::statement_snapshot::View;
use super::statements::{
    accounts, administration, ddl, done, execute, explain, linked_tables, locks, mirror,
    native_ddl, prepare, query, servers, set, show, transaction_control, use_database, write,
};
use super::{Session, expressions};
use crate::api::{Outcome, RowFormat};

/// Runs a statement that the account may run.
///
/// # Errors
/// MySQL's errors of the statement.
pub(crate) async fn dispatch(
    session: &mut Session,
    view: &Arc<View>,
    sql: &str,
    statement: &Statement,
    format: RowFormat,
) -> Result<Outcome> {
    match statement {
        Statement::Empty => empty(sql),
        Statement::Query(_)
        | Statement::Explain(_)
        | Statement::Describe(_)
        | Statement::Show(_)
        | Statement::Handler(_)
        | Statement::Do(_)
        | Statement::Kill(_)
        | Statement::Flush(_)
        | Statement::LockTables(_)
        | Statement::UnlockTables
        | Statement::Maintenance(_) => in_transaction(session, view, sql, statement, format).await,
        Statement::Begin(_)
        | Statement::Commit(_)
        | Statement::Rollback(_)
        | Statement::Savepoint(_)
        | Statement::ReleaseSavepoint(_)
        | Statement::RollbackTo(_) => about_transaction(session, statement).await,
        Statement::Write(write) => {
            write::run(&mut session.load_context(), sql, write, format).await
        }
        Statement::Set(_) | Statement::Use(_) | Statement::Ddl(_) => {
            with_settings(session, view, sql, statement, format).await
        }
        Statement::Prepare(prepare) => {
            prepare::prepare_named(&mut session.prepare_context(), prepare).await
        }
        Statement::Execute(execute) => execute::execute_named(session, view, execute, format).await,
        Statement::ExecuteImmediate(source) => {
            execute::execute_immediate(session, view, source, format).await
        }
        Statement::Deallocate(name) => prepare::deallocate(&mut session.prepared, name),
        Statement::Mirror(mirror) => mirror::run(session.reads(), mirror).await,
        Statement::SetPassword(_)
        | Statement::CreateUser(_)
        | Statement::AlterUser(_)
        | Statement::DropUser(_)
        | Statement::RenameUser(_) => about_accounts(session, statement),
        Statement::CreateServer(create) => {
            servers::create_server(&mut session.server_context(), create).await
        }
        Statement::AlterServer(alter) => {
            servers::alter_server(&mut session.server_context(), alter).await
        }
        Statement::DropServer(drop) => {
            servers::drop_server(&mut session.server_context(), drop).await
        }
        other => Err(refused(sql, other)),
    }
}

/// Statements that may use the transaction and the session's own connections.
async fn in_transaction(
    session: &mut Session,
    view: &Arc<View>,
    sql: &str,
    statement: &Statement,
    format: RowFormat,
) -> Result<Outcome> {
    let cx = &mut session.transaction_context();
    match statement {
        Statement::Query(facts) => query::run(cx, view, sql, facts, format).await,
        Statement::Explain(explain) => explain::run(cx, view, sql, explain, format).await,
        Statement::Describe(describe) => show::describe(cx, view, describe, format).await,
        Statement::Show(show) => show::run(cx, view, show, format).await,
        Statement::Handler(table) => {
            linked_tables::relay(cx, sql, std::slice::from_ref(table), "HANDLER", format).await
        }
        Statement::Maintenance(maintenance) => {
            native_ddl::maintain(cx, view, sql, maintenance, format).await
        }
        Statement::Do(expressions) => {
            let set = expressions::run(cx, view, expressions).await?;
            pelorus_result::collect::drain(set.rows).await?;
            Ok(done())
        }
        Statement::Kill(kill) => administration::kill(cx, view, kill).await,
        Statement::Flush(words) => administration::flush(cx, words).await,
        Statement::LockTables(tables) => locks::lock_tables(cx, sql, tables, format).await,
        Statement::UnlockTables => locks::unlock_tables(cx).await,
        other => Err(refused(sql, other)),
    }
}

/// `BEGIN`, `COMMIT`, savepoints.
async fn about_transaction(session: &mut Session, statement: &Statement) -> Result<Outcome> {
    let cx = &mut session.transaction_context();
    match statement {
        Statement::Begin(begin) => {
            // As on a server, locks end where a transaction is begun.
            cx.locks.set_native_tables(false);
            transaction_control::start(cx, *begin).await
        }
        Statement::Commit(completion) => transaction_control::end(cx, "COMMIT", *completion).await,
        Statement::Rollback(completion) => {
            transaction_control::end(cx, "ROLLBACK", *completion).await
        }
        Statement::Savepoint(name) => transaction_control::set_savepoint(cx, name).await,
        Statement::ReleaseSavepoint(name) => {
            transaction_control::back_to_savepoint(cx, true, name).await
        }
        Statement::RollbackTo(name) => {
            transaction_control::back_to_savepoint(cx, false, name).await
        }
        other => Err(refused("", other)),
    }
}

/// Statements that may also change variables or the current database.
async fn with_settings(
    session: &mut Session,
    view: &Arc<View>,
    sql: &str,
    statement: &Statement,
    format: RowFormat,
) -> Result<Outcome> {
    let cx = &mut session.settings_context();
    match statement {
        Statement::Set(assignments) => set::run(cx, view, assignments).await,
        Statement::Use(name) => {
            use_database::run(cx, name).await?;
            Ok(done())
        }
        Statement::Ddl(statement) => ddl::run(cx, view, sql, statement, format).await,
        other => Err(refused(sql, other)),
    }
}

fn about_accounts(session: &mut Session, statement: &Statement) -> Result<Outcome> {
    let cx = &mut session.account_context();
    match statement {
        Statement::SetPassword(set) => accounts::set_password(cx, set),
        Statement::CreateUser(create) => accounts::create_user(cx, create),
        Statement::AlterUser(alter) => accounts::alter_user(cx, alter),
        Statement::DropUser(drop) => accounts::drop_user(cx, drop),
        Statement::RenameUser(pairs) => accounts::rename_user(cx, pairs),
        other => Err(refused("", other)),
    }
}

/// The error of a statement that has no handler.
fn refused(sql: &str, statement: &Statement) -> Error {
    match statement {
        Statement::Unknown(_) => pelorus_sql::lexer::syntax_error(sql, 0),
        Statement::Xa => Error::unsupported("XA transactions"),
        Statement::Grant(_) => Error::unsupported(
            "GRANT and REVOKE; an account may do everything, or only read: ALTER USER ... READ \
             ONLY | READ WRITE",
        ),
        Statement::Administration(words) => Error::unsupported(words),
        Statement::Help(_) => Error::unsupported("HELP"),
        other => Error::unsupported(format_args!("{other:?}")),
    }
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

//! Access rights: what read-only accounts, servers and transactions refuse.

use pelorus_error::{Code, Error, Result};
use pelorus_sql::Statement;
use pelorus_sql::statement::{DdlAction, Explain, ExplainTarget, UserName, UserOptions, WriteKind};

use super::state::identity::Identity;
use crate::accounts::Accounts;
use crate::variables::Globals;

/// The global variables that forbid writes.
pub(crate) const READ_ONLY_VARIABLES: [&str; 2] = ["super_read_only", "read_only"];

/// Refuses statements that read-only accounts may not run, when they are prepared and when they
/// run.
///
/// # Errors
/// 1142 and 1227.
pub(crate) fn check_account(
    identity: &mut Identity,
    accounts: &Accounts,
    statement: &Statement,
) -> Result<()> {
    identity.refresh_rights(accounts);
    let locks = matches!(statement, Statement::Query(facts) if facts.locking);
    let changes = (statement.is_write() || locks) && !is_own_password(statement);
    if identity.is_read_only() && changes {
        return Err(denied(identity, statement));
    }
    Ok(())
}

/// Refuses changes of data while the server is read-only, or in a read-only transaction.
///
/// # Errors
/// 1290 and 1792.
pub(crate) fn check_changes(
    globals: &Globals,
    transaction_is_read_only: bool,
    statement: &Statement,
) -> Result<()> {
    if !changes_data(statement) {
        return Ok(());
    }
    if let Some(name) = READ_ONLY_VARIABLES.iter().find(|name| globals.get(name).is_on()) {
        return Err(Error::new(
            Code::OptionPreventsStatement,
            format!(
                "The MySQL server is running with the --{} option so it cannot execute this \
                 statement",
                name.replace('_', "-")
            ),
        ));
    }
    if transaction_is_read_only {
        return Err(read_only_transaction());
    }
    Ok(())
}

/// Changes to rows and schemas.
pub(crate) fn changes_data(statement: &Statement) -> bool {
    matches!(statement, Statement::Write(_) | Statement::Ddl(_))
        || matches!(statement, Statement::Maintenance(_)) && statement.is_write()
}

/// Error 1792.
pub(crate) fn read_only_transaction() -> Error {
    Error::new(Code::ReadOnlyTransaction, "Cannot execute statement in a READ ONLY transaction.")
}

/// The error of a read-only account for a statement that may change something.
fn denied(identity: &Identity, statement: &Statement) -> Error {
    match statement {
        Statement::Write(write) => {
            identity.table_denied(write_word(write.kind), write.tables.first())
        }
        Statement::Ddl(ddl) => identity.table_denied(ddl_word(ddl.action), ddl.names.first()),
        Statement::Query(facts) if facts.locking => {
            identity.table_denied("SELECT with locking clause", facts.tables.first())
        }
        Statement::LockTables(tables) => {
            identity.table_denied("LOCK TABLES", tables.first().map(|(table, _)| table))
        }
        Statement::Explain(Explain { target: ExplainTarget::Statement(_, inner), .. }) => {
            denied(identity, inner)
        }
        _ => Error::new(
            Code::SpecificAccessDenied,
            format!(
                "Access denied; account {} is READ ONLY, and this statement needs one that may \
                 change things",
                identity.account()
            ),
        ),
    }
}

/// Every user may change the own password.
fn is_own_password(statement: &Statement) -> bool {
    match statement {
        Statement::SetPassword(set) => set.user == UserName::Current,
        Statement::AlterUser(alter) => {
            alter.users.iter().all(|spec| spec.user == UserName::Current)
                && alter.options == UserOptions::default()
        }
        _ => false,
    }
}

fn write_word(kind: WriteKind) -> &'static str {
    match kind {
        WriteKind::Insert | WriteKind::Replace => "INSERT",
        WriteKind::Update => "UPDATE",
        WriteKind::Delete => "DELETE",
        WriteKind::Load => "LOAD",
        WriteKind::Import => "IMPORT",
        WriteKind::Call => "EXECUTE",
        WriteKind::Compound => "BEGIN",
    }
}

fn ddl_word(action: DdlAction) -> &'static str {
    match action {
        DdlAction::Create => "CREATE",
        DdlAction::Alter => "ALTER",
        DdlAction::Drop | DdlAction::Truncate => "DROP",
        DdlAction::Rename => "ALTER",
    }
}

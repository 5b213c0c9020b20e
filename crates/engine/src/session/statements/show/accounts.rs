//! `SHOW GRANTS`, `SHOW CREATE USER`, `SHOW CREATE SERVER`.

use pelorus_error::{Code, Error, Result};
use pelorus_result::result_table::{ResultTable, text};
use pelorus_sql::literal;
use pelorus_sql::statement::{LockTime, Show, UserName};

use crate::accounts::{Account, AccountName};
use crate::engine::Engine;
use crate::info::READ_PRIVILEGES;
use crate::session::context::ReadContext;

/// `SHOW GRANTS [FOR account]`.
pub(crate) fn show_grants(cx: ReadContext<'_>, show: &Show) -> Result<ResultTable> {
    let account = shown_account(cx, show)?;
    let title = format!("Grants for {}@{}", account.name.user, account.name.host);
    let mut grid = ResultTable::new(vec![text(&title, 1024)]);
    let name = quoted(&account.name);
    let grant = if account.read_only {
        format!("GRANT {} ON *.* TO {name}", READ_PRIVILEGES.join(", "))
    } else {
        format!("GRANT ALL PRIVILEGES ON *.* TO {name} WITH GRANT OPTION")
    };
    grid.push(vec![grant.into()]);
    Ok(grid)
}

/// `SHOW CREATE USER`.
pub(crate) fn show_create_user(cx: ReadContext<'_>, show: &Show) -> Result<ResultTable> {
    let account = shown_account(cx, show)?;
    let title = format!("CREATE USER for {}@{}", account.name.user, account.name.host);
    let mut grid = ResultTable::new(vec![text(&title, 1024)]);
    let mut sql =
        format!("CREATE USER {} IDENTIFIED WITH '{}'", quoted(&account.name), account.plugin);
    if !account.authentication.is_empty() {
        let in_hex = cx.settings.variables().is_on("print_identified_with_as_hex");
        sql.push_str(&format!(" AS {}", hash_literal(&account.authentication, in_hex)));
    }
    sql.push_str(if account.require_ssl { " REQUIRE SSL" } else { " REQUIRE NONE" });
    sql.push_str(" PASSWORD EXPIRE DEFAULT");
    sql.push_str(if account.locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" });
    sql.push_str(
        " PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT \
         DEFAULT",
    );
    if account.failed_login_attempts > 0 {
        let attempts = account.failed_login_attempts;
        sql.push_str(&format!(" FAILED_LOGIN_ATTEMPTS {attempts}"));
    }
    match account.password_lock_time {
        LockTime::Days(0) => {}
        LockTime::Days(days) => sql.push_str(&format!(" PASSWORD_LOCK_TIME {days}")),
        LockTime::Unbounded => sql.push_str(" PASSWORD_LOCK_TIME UNBOUNDED"),
    }
    if account.read_only {
        sql.push_str(" READ ONLY");
    }
    grid.push(vec![sql.into()]);
    Ok(grid)
}

/// The requested account; the privilege is needed for accounts other than the own one.
fn shown_account(cx: ReadContext<'_>, show: &Show) -> Result<Account> {
    let name = cx.identity.account_named(show.user.as_ref().unwrap_or(&UserName::Current))?;
    if name != *cx.identity.account() && cx.identity.is_read_only() {
        return Err(Error::new(
            Code::SpecificAccessDenied,
            format!(
                "Access denied; account {} is READ ONLY and sees itself only",
                cx.identity.account()
            ),
        ));
    }
    cx.engine.accounts().get(&name).ok_or_else(|| {
        Error::new(
            Code::NoSuchGrant,
            format!(
                "There is no such grant defined for user '{}' on host '{}'",
                name.user, name.host
            ),
        )
    })
}

/// `SHOW CREATE SERVER name`, with stars for the password.
pub(crate) fn show_create_server(engine: &Engine, show: &Show) -> Result<ResultTable> {
    let name = show.table.as_ref().map(|table| table.name.as_str()).unwrap_or_default();
    let server = engine.servers().get(name)?;
    let mut grid = ResultTable::new(vec![text("Server", 64), text("Create Server", 1024)]);
    grid.push(vec![server.name.clone().into(), server.create_statement().into()]);
    Ok(grid)
}

/// A hash as `SHOW CREATE USER` writes it: as text where that can be read, in digits where it cannot
/// and that is wanted, or where it is no text at all. Both are read back as the same bytes.
fn hash_literal(hash: &[u8], in_hex: bool) -> String {
    let is_printable = hash.iter().all(|byte| matches!(byte, b' '..=b'~'));
    match std::str::from_utf8(hash) {
        Ok(text) if text.is_ascii() && (is_printable || !in_hex) => super::text(text),
        _ => format!("0x{}", crate::hex::encode(hash)),
    }
}

/// An account as `GRANT` writes it.
fn quoted(name: &AccountName) -> String {
    format!("{}@{}", literal::name(&name.user), literal::name(&name.host))
}

//! `SET`: system variables, user variables, charsets, transactions.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::Value;
use pelorus_result::scalar::{for_variable, text_of};
use pelorus_sql::statement::{Assignment, Charset, Completion, Isolation, Scope, SetValue, Target};
use pelorus_types::ColumnType;

use super::transaction_control;
use crate::api::{Done, Outcome};
use crate::info::InfoTables;
use crate::session::context::{ReadContext, SettingsContext};
use crate::session::expressions;
use crate::session::state::client_settings::ClientSettings;
use crate::session::statement_snapshot::View;
use crate::variables::check::{check_charset, convert, find_collation, wrong_value};
use crate::variables::{Globals, VarValue, Variable, find};

/// Warning of a value that was cut to a variable's bounds.
const TRUNCATED: u16 = 1292;

/// `SET`. Expressions see the values from before the statement, and an error undoes the
/// assignments of the statement.
pub(crate) async fn run(
    cx: &mut SettingsContext<'_>,
    view: &Arc<View>,
    assignments: &[Assignment],
) -> Result<Outcome> {
    let before = (cx.settings.save(), cx.statement.last_insert_id());
    for assignment in assignments {
        if let Err(error) = assign(cx, view, assignment).await {
            cx.settings.restore(before.0);
            cx.statement.set_last_insert_id(before.1);
            return Err(error);
        }
    }
    cx.settings.variables_changed();
    Ok(Outcome::Done(Done::default()))
}

async fn assign(
    cx: &mut SettingsContext<'_>,
    view: &Arc<View>,
    assignment: &Assignment,
) -> Result<()> {
    match assignment {
        Assignment::User { name, expression } => {
            let (value, ty) =
                expressions::evaluate(&mut cx.transaction_context(), view, expression).await?;
            cx.settings.set_user_variable(name, for_variable(value, ty))
        }
        Assignment::Variable { scope, name, value } => {
            set_variable(cx, view, *scope, name, value).await
        }
        Assignment::Names { charset, collation } => {
            set_names(cx.settings, cx.engine.globals(), charset, collation.as_deref())
        }
        Assignment::CharacterSet(charset) => {
            set_character_set(cx.settings, cx.engine.globals(), charset)
        }
        Assignment::Transaction { target, isolation, read_only } => {
            set_transaction(cx, *target, *isolation, *read_only)
        }
        Assignment::Other(words) => Err(Error::unsupported(format_args!("SET {words}"))),
    }
}

async fn set_variable(
    cx: &mut SettingsContext<'_>,
    view: &Arc<View>,
    scope: Scope,
    name: &str,
    value: &SetValue,
) -> Result<()> {
    let variable = find(name)?;
    let value = match value {
        SetValue::Default => None,
        SetValue::Word(word) => Some(VarValue::Text(word.clone())),
        SetValue::Text(text) => Some(VarValue::Text(text.clone())),
        SetValue::Expression(expression) => {
            let (value, ty) =
                expressions::evaluate(&mut cx.transaction_context(), view, expression).await?;
            Some(variable_value(variable, value, &ty)?)
        }
    };
    match scope {
        Scope::Session => set_session(cx, variable, value).await,
        Scope::Global => set_global(cx.reads(), variable, value),
        Scope::Persist | Scope::PersistOnly => Err(Error::unsupported("SET PERSIST")),
    }
}

fn set_global(
    cx: ReadContext<'_>,
    variable: &'static Variable,
    value: Option<VarValue>,
) -> Result<()> {
    if cx.identity.is_read_only() {
        return Err(Error::new(
            Code::SpecificAccessDenied,
            "Access denied; you need (at least one of) the SUPER or SYSTEM_VARIABLES_ADMIN \
             privilege(s) for this operation",
        ));
    }
    if variable.name == "gtid_purged" {
        return pass_over_gtids(cx, variable, value.as_ref());
    }
    let default = || VarValue::Text(variable.default.unwrap_or_default().to_owned());
    let value = value.unwrap_or_else(default);
    let note = cx.engine.globals().set(variable, &value)?;
    if variable.name == "require_secure_transport" {
        let is_on = cx.engine.globals().get(variable.name).is_on();
        cx.engine.accounts().require_secure(is_on).inspect_err(|_| {
            // It was off: only that it is turned on is refused.
            let off = VarValue::Bool(false);
            cx.engine.globals().set(variable, &off).ok();
        })?;
    }
    note_truncation(cx, note);
    warn_of_isolation(cx, variable, &cx.engine.globals().get(variable.name));
    Ok(())
}

/// Says that native tables have no isolation above that of snapshots, where there are any.
fn warn_of_isolation(cx: ReadContext<'_>, variable: &Variable, value: &VarValue) {
    let is_wanted = variable.name == "transaction_isolation" && value.text() == "SERIALIZABLE";
    if is_wanted && !cx.engine.native().databases().is_empty() {
        cx.diagnostics().warn(
            Code::NotSupportedYet.errno(),
            "SERIALIZABLE holds for linked servers; transactions of native tables have snapshot \
             isolation: what they read may change before they commit, what they write may not",
        );
    }
}

/// `SET GLOBAL gtid_purged`, with which the dumps of servers begin. There is no binlog of native
/// tables whose beginning it could say; for a linked server it would change what replicas of
/// that server get.
fn pass_over_gtids(
    cx: ReadContext<'_>,
    variable: &Variable,
    value: Option<&VarValue>,
) -> Result<()> {
    if let Some(value) = value {
        convert(variable, value)?;
    }
    let is_ours = |name: &str| cx.engine.native().has(name) || InfoTables::is_schema(name);
    if cx.settings.database().is_some_and(|name| !is_ours(name)) {
        return Err(Error::unsupported(
            "SET GLOBAL gtid_purged for a linked server; set it there, or dump with \
             --set-gtid-purged=OFF",
        ));
    }
    cx.diagnostics().warn(
        Code::NotSupportedYet.errno(),
        "gtid_purged has no effect: Pelorus writes no binlog of native tables",
    );
    Ok(())
}

async fn set_session(
    cx: &mut SettingsContext<'_>,
    variable: &'static Variable,
    value: Option<VarValue>,
) -> Result<()> {
    match (variable.name, &value) {
        ("last_insert_id" | "identity", Some(VarValue::UInt(id))) => {
            cx.statement.set_last_insert_id(*id);
            return Ok(());
        }
        ("last_insert_id" | "identity", Some(VarValue::Int(id))) => {
            cx.statement.set_last_insert_id(u64::try_from(*id).unwrap_or(0));
            return Ok(());
        }
        ("transaction_isolation" | "transaction_read_only", _) if cx.transaction.is_open() => {
            return Err(transaction_in_progress());
        }
        _ => {}
    }
    let old_autocommit = cx.settings.variables().get("autocommit");
    match value {
        None => cx.settings.reset_variable(variable, cx.engine.globals())?,
        Some(value) => {
            let note = cx.settings.set_variable(variable, &value)?;
            note_truncation(cx.reads(), note);
            warn_of_isolation(cx.reads(), variable, &cx.settings.variables().get(variable.name));
        }
    }
    after_set(cx, variable.name, &old_autocommit).await
}

/// `SET autocommit`: switching it on commits.
async fn set_autocommit(cx: &mut SettingsContext<'_>, on: bool) -> Result<()> {
    let was_on = cx.settings.autocommit();
    if on && !was_on && cx.transaction.is_open() {
        transaction_control::end(&mut cx.transaction_context(), "COMMIT", Completion::default())
            .await?;
    }
    cx.settings.put_variable("autocommit", VarValue::Bool(on));
    Ok(())
}

/// The consequences of setting some variables.
async fn after_set(
    cx: &mut SettingsContext<'_>,
    name: &str,
    old_autocommit: &VarValue,
) -> Result<()> {
    match name {
        "autocommit" => {
            let on = cx.settings.autocommit();
            cx.settings.put_variable("autocommit", old_autocommit.clone());
            set_autocommit(cx, on).await?;
        }
        // A connection collation and charset always belong together.
        "collation_connection" => {
            let name = cx.settings.variables().get("collation_connection");
            let charset = find_collation(name.text())?.charset().to_owned();
            cx.settings.put_variable("character_set_connection", VarValue::Text(charset));
        }
        "character_set_connection" => {
            let name = cx.settings.variables().get("character_set_connection");
            let collation = check_charset(name.text())?.name();
            cx.settings.put_variable("collation_connection", VarValue::Text(collation));
        }
        _ => {}
    }
    Ok(())
}

fn note_truncation(cx: ReadContext<'_>, note: Option<String>) {
    if let Some(text) = note {
        cx.diagnostics().warn(TRUNCATED, text);
    }
}

/// `SET NAMES`.
fn set_names(
    settings: &mut ClientSettings,
    globals: &Globals,
    charset: &Charset,
    collation: Option<&str>,
) -> Result<()> {
    let charset = named_charset(globals, charset)?;
    let default = check_charset(&charset)?;
    let collation = match collation {
        None => default,
        Some(name) => {
            let collation = find_collation(name)?;
            if collation.charset() != charset {
                return Err(Error::new(
                    Code::CollationCharsetMismatch,
                    format!(
                        "COLLATION '{}' is not valid for CHARACTER SET '{charset}'",
                        collation.name()
                    ),
                ));
            }
            collation
        }
    };
    let text = VarValue::Text(charset);
    // The first one refuses charsets that a client cannot have.
    for name in ["character_set_client", "character_set_results", "character_set_connection"] {
        settings.set_variable(find(name)?, &text)?;
    }
    settings.put_variable("collation_connection", VarValue::Text(collation.name()));
    Ok(())
}

/// `SET CHARACTER SET`: the connection gets the charset of the database.
fn set_character_set(
    settings: &mut ClientSettings,
    globals: &Globals,
    charset: &Charset,
) -> Result<()> {
    let charset = VarValue::Text(named_charset(globals, charset)?);
    settings.set_variable(find("character_set_client")?, &charset)?;
    settings.set_variable(find("character_set_results")?, &charset)?;
    let database = settings.variables().get("character_set_database");
    let collation = settings.variables().get("collation_database");
    settings.put_variable("character_set_connection", database);
    settings.put_variable("collation_connection", collation);
    Ok(())
}

fn named_charset(globals: &Globals, charset: &Charset) -> Result<String> {
    match charset {
        Charset::Default => Ok(globals.get("character_set_client").text().to_owned()),
        Charset::Name(name) => {
            let name = name.to_ascii_lowercase();
            let name = if name == "utf8" { "utf8mb3".to_owned() } else { name };
            check_charset(&name)?;
            Ok(name)
        }
    }
}

/// `SET TRANSACTION`.
fn set_transaction(
    cx: &mut SettingsContext<'_>,
    target: Target,
    isolation: Option<Isolation>,
    read_only: Option<bool>,
) -> Result<()> {
    if target == Target::Next {
        if cx.transaction.is_open() {
            return Err(transaction_in_progress());
        }
        if let Some(level) = isolation {
            let value = VarValue::Text(isolation_value(level).to_owned());
            warn_of_isolation(cx.reads(), find("transaction_isolation")?, &value);
        }
        cx.transaction.set_next(isolation, read_only);
        return Ok(());
    }
    let isolation = isolation.map(|level| VarValue::Text(isolation_value(level).to_owned()));
    let read_only = read_only.map(VarValue::Bool);
    for (name, value) in
        [("transaction_isolation", isolation), ("transaction_read_only", read_only)]
    {
        let Some(value) = value else { continue };
        let variable = find(name)?;
        if target == Target::Global {
            set_global(cx.reads(), variable, Some(value))?;
        } else {
            cx.settings.set_variable(variable, &value)?;
            warn_of_isolation(cx.reads(), variable, &value);
        }
    }
    Ok(())
}

/// The value of an expression as one for a system variable.
fn variable_value(variable: &Variable, value: Value, ty: &ColumnType) -> Result<VarValue> {
    Ok(match value {
        Value::Null => VarValue::Null,
        Value::Int(value) => VarValue::Int(value),
        Value::UInt(value) => VarValue::UInt(value),
        Value::Double(value) => VarValue::Double(value),
        Value::Decimal(decimal) if decimal.scale == 0 => decimal
            .to_text()
            .parse()
            .map(VarValue::UInt)
            .map_err(|_| wrong_value(variable, &VarValue::Text(decimal.to_text())))?,
        Value::Decimal(decimal) => VarValue::Double(decimal.to_f64()),
        other => VarValue::Text(text_of(&other, ty)),
    })
}

fn isolation_value(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ-UNCOMMITTED",
        Isolation::ReadCommitted => "READ-COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE-READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

fn transaction_in_progress() -> Error {
    Error::new(
        Code::TransactionInProgress,
        "Transaction characteristics can't be changed while a transaction is in progress",
    )
}

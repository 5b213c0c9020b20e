//! `SET`: system variables, user variables, charsets, transactions.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::Value;
use pelorus_result::scalar::{Typed, for_variable, text_of};
use pelorus_sql::statement::{Assignment, Charset, Isolation, Scope, SetValue, Target};
use pelorus_sql::{TokenKind, literal};
use pelorus_types::ColumnType;

use super::Session;
use super::primary_connection::variable_name;
use super::state::user_variables::user_variable;
use super::statement_snapshot::View;
use crate::api::{Done, Outcome};
use crate::info::InfoTables;
use crate::variables::check::{check_charset, convert, find_collation, wrong_value};
use crate::variables::{VarValue, Variable, find};

/// Warning of a value that was cut to a variable's bounds.
const TRUNCATED: u16 = 1292;

impl Session {
    /// `SET`. Expressions see the values from before the statement, and an error undoes the
    /// assignments of the statement.
    pub(super) async fn set(
        &mut self,
        view: &Arc<View>,
        assignments: &[Assignment],
    ) -> Result<Outcome> {
        let before = (self.settings.save(), self.statement.last_insert_id());
        for assignment in assignments {
            if let Err(error) = self.assign(view, assignment).await {
                self.settings.restore(before.0);
                self.statement.set_last_insert_id(before.1);
                return Err(error);
            }
        }
        self.settings.variables_changed();
        Ok(Outcome::Done(Done::default()))
    }

    async fn assign(&mut self, view: &Arc<View>, assignment: &Assignment) -> Result<()> {
        match assignment {
            Assignment::User { name, expression } => {
                let (value, ty) = self.evaluate(view, expression).await?;
                self.settings.set_user_variable(name, for_variable(value, ty))
            }
            Assignment::Variable { scope, name, value } => {
                self.set_variable(view, *scope, name, value).await
            }
            Assignment::Names { charset, collation } => {
                self.set_names(charset, collation.as_deref())
            }
            Assignment::CharacterSet(charset) => self.set_character_set(charset),
            Assignment::Transaction { target, isolation, read_only } => {
                self.set_transaction(*target, *isolation, *read_only)
            }
            Assignment::Other(words) => Err(Error::unsupported(format_args!("SET {words}"))),
        }
    }

    async fn set_variable(
        &mut self,
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
                let (value, ty) = self.evaluate(view, expression).await?;
                Some(variable_value(variable, value, &ty)?)
            }
        };
        match scope {
            Scope::Session => self.set_session(variable, value).await,
            Scope::Global => self.set_global(variable, value),
            Scope::Persist | Scope::PersistOnly => Err(Error::unsupported("SET PERSIST")),
        }
    }

    fn set_global(&mut self, variable: &'static Variable, value: Option<VarValue>) -> Result<()> {
        if self.identity.is_read_only() {
            return Err(Error::new(
                Code::SpecificAccessDenied,
                "Access denied; you need (at least one of) the SUPER or SYSTEM_VARIABLES_ADMIN \
                 privilege(s) for this operation",
            ));
        }
        if variable.name == "gtid_purged" {
            return self.pass_over_gtids(variable, value.as_ref());
        }
        let default = || VarValue::Text(variable.default.unwrap_or_default().to_owned());
        let value = value.unwrap_or_else(default);
        let note = self.engine.globals().set(variable, &value)?;
        if variable.name == "require_secure_transport" {
            let is_on = self.engine.globals().get(variable.name).is_on();
            self.engine.accounts().require_secure(is_on).inspect_err(|_| {
                // It was off: only that it is turned on is refused.
                let off = VarValue::Bool(false);
                self.engine.globals().set(variable, &off).ok();
            })?;
        }
        self.note_truncation(note);
        self.warn_of_isolation(variable, &self.engine.globals().get(variable.name));
        Ok(())
    }

    /// Says that native tables have no isolation above that of snapshots, where there are any.
    fn warn_of_isolation(&self, variable: &Variable, value: &VarValue) {
        let is_wanted = variable.name == "transaction_isolation" && value.text() == "SERIALIZABLE";
        if is_wanted && !self.engine.native().databases().is_empty() {
            self.statement.diagnostics().warn(
                Code::NotSupportedYet.errno(),
                "SERIALIZABLE holds for linked servers; transactions of native tables have snapshot \
                 isolation: what they read may change before they commit, what they write may not",
            );
        }
    }

    /// `SET GLOBAL gtid_purged`, with which the dumps of servers begin. There is no binlog of native
    /// tables whose beginning it could say; for a linked server it would change what replicas of
    /// that server get.
    fn pass_over_gtids(&self, variable: &Variable, value: Option<&VarValue>) -> Result<()> {
        if let Some(value) = value {
            convert(variable, value)?;
        }
        let is_ours = |name: &str| self.engine.native().has(name) || InfoTables::is_schema(name);
        if self.settings.database().is_some_and(|name| !is_ours(name)) {
            return Err(Error::unsupported(
                "SET GLOBAL gtid_purged for a linked server; set it there, or dump with \
                 --set-gtid-purged=OFF",
            ));
        }
        self.statement.diagnostics().warn(
            Code::NotSupportedYet.errno(),
            "gtid_purged has no effect: Pelorus writes no binlog of native tables",
        );
        Ok(())
    }

    async fn set_session(
        &mut self,
        variable: &'static Variable,
        value: Option<VarValue>,
    ) -> Result<()> {
        match (variable.name, &value) {
            ("last_insert_id" | "identity", Some(VarValue::UInt(id))) => {
                self.statement.set_last_insert_id(*id);
                return Ok(());
            }
            ("last_insert_id" | "identity", Some(VarValue::Int(id))) => {
                self.statement.set_last_insert_id(u64::try_from(*id).unwrap_or(0));
                return Ok(());
            }
            ("transaction_isolation" | "transaction_read_only", _)
                if self.transaction.is_open() =>
            {
                return Err(transaction_in_progress());
            }
            _ => {}
        }
        let old_autocommit = self.settings.variables().get("autocommit");
        match value {
            None => self.settings.reset_variable(variable, self.engine.globals())?,
            Some(value) => {
                let note = self.settings.set_variable(variable, &value)?;
                self.note_truncation(note);
                self.warn_of_isolation(variable, &self.settings.variables().get(variable.name));
            }
        }
        self.after_set(variable.name, &old_autocommit).await
    }

    /// The consequences of setting some variables.
    async fn after_set(&mut self, name: &str, old_autocommit: &VarValue) -> Result<()> {
        match name {
            "autocommit" => {
                let on = self.settings.variables().is_on("autocommit");
                self.settings.put_variable("autocommit", old_autocommit.clone());
                self.set_autocommit(on).await?;
            }
            // A connection collation and charset always belong together.
            "collation_connection" => {
                let name = self.settings.variables().get("collation_connection");
                let charset = find_collation(name.text())?.charset().to_owned();
                self.settings.put_variable("character_set_connection", VarValue::Text(charset));
            }
            "character_set_connection" => {
                let name = self.settings.variables().get("character_set_connection");
                let collation = check_charset(name.text())?.name();
                self.settings.put_variable("collation_connection", VarValue::Text(collation));
            }
            _ => {}
        }
        Ok(())
    }

    fn note_truncation(&self, note: Option<String>) {
        if let Some(text) = note {
            self.statement.diagnostics().warn(TRUNCATED, text);
        }
    }

    /// `SET NAMES`.
    fn set_names(&mut self, charset: &Charset, collation: Option<&str>) -> Result<()> {
        let charset = self.named_charset(charset)?;
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
            self.settings.set_variable(find(name)?, &text)?;
        }
        self.settings.put_variable("collation_connection", VarValue::Text(collation.name()));
        Ok(())
    }

    /// `SET CHARACTER SET`: the connection gets the charset of the database.
    fn set_character_set(&mut self, charset: &Charset) -> Result<()> {
        let charset = VarValue::Text(self.named_charset(charset)?);
        self.settings.set_variable(find("character_set_client")?, &charset)?;
        self.settings.set_variable(find("character_set_results")?, &charset)?;
        let database = self.settings.variables().get("character_set_database");
        let collation = self.settings.variables().get("collation_database");
        self.settings.put_variable("character_set_connection", database);
        self.settings.put_variable("collation_connection", collation);
        Ok(())
    }

    fn named_charset(&self, charset: &Charset) -> Result<String> {
        match charset {
            Charset::Default => {
                Ok(self.engine.globals().get("character_set_client").text().to_owned())
            }
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
        &mut self,
        target: Target,
        isolation: Option<Isolation>,
        read_only: Option<bool>,
    ) -> Result<()> {
        if target == Target::Next {
            if self.transaction.is_open() {
                return Err(transaction_in_progress());
            }
            if let Some(level) = isolation {
                let value = VarValue::Text(isolation_value(level).to_owned());
                self.warn_of_isolation(find("transaction_isolation")?, &value);
            }
            self.transaction.next_isolation = isolation.or(self.transaction.next_isolation);
            self.transaction.next_read_only = read_only.or(self.transaction.next_read_only);
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
                self.set_global(variable, Some(value))?;
            } else {
                self.settings.set_variable(variable, &value)?;
                self.warn_of_isolation(variable, &value);
            }
        }
        Ok(())
    }

    /// The value of a single literal or variable, which most expressions of `SET` are; anything
    /// else gives `None` and is planned as a query.
    pub(super) fn simple_value(&self, view: &View, expression: &str) -> Result<Option<Typed>> {
        let tokens = pelorus_sql::tokens(expression, self.settings.mode());
        let (negative, token) = match tokens.as_slice() {
            [token] => (false, token),
            [minus, token] if minus.is_symbol(expression, "-") => (true, token),
            _ => return Ok(None),
        };
        let text = token.text(expression);
        Ok(match token.kind {
            TokenKind::Integer => integer(text, negative),
            _ if negative => None,
            TokenKind::Text => {
                let value = literal::text_of_token(text, self.settings.mode());
                let collation = self.settings.connection_collation();
                let chars = u32::try_from(value.chars().count()).unwrap_or(u32::MAX);
                Some((Value::Text(value), ColumnType::varchar(chars, collation)))
            }
            TokenKind::Word if text.eq_ignore_ascii_case("NULL") => {
                Some((Value::Null, ColumnType::null()))
            }
            TokenKind::UserVariable => Some(user_variable(
                &view.user_variables,
                &variable_name(text, self.settings.mode()),
            )),
            TokenKind::SystemVariable => {
                let (global, name) = system_name(text);
                let (value, ty) = view.read_variable(&name, global)?;
                Some((value.to_value(), ty))
            }
            _ => None,
        })
    }
}

/// Scope and name of `@@name`, `@@global.name`.
fn system_name(text: &str) -> (bool, String) {
    let name = text.trim_start_matches('@').replace('`', "");
    match name.split_once('.') {
        Some((scope, rest)) if scope.eq_ignore_ascii_case("global") => (true, rest.to_owned()),
        Some((scope, rest))
            if scope.eq_ignore_ascii_case("session") || scope.eq_ignore_ascii_case("local") =>
        {
            (false, rest.to_owned())
        }
        _ => (false, name),
    }
}

fn integer(text: &str, negative: bool) -> Option<Typed> {
    if negative {
        let value = format!("-{text}").parse().ok()?;
        return Some((Value::Int(value), ColumnType::bigint()));
    }
    match text.parse::<i64>() {
        Ok(value) => Some((Value::Int(value), ColumnType::bigint())),
        Err(_) => Some((Value::UInt(text.parse().ok()?), ColumnType::bigint_unsigned())),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_of_system_variables_are_read() {
        assert_eq!(system_name("@@autocommit"), (false, "autocommit".to_owned()));
        assert_eq!(system_name("@@GLOBAL.`x`"), (true, "x".to_owned()));
        assert_eq!(system_name("@@session.x"), (false, "x".to_owned()));
    }

    #[test]
    fn integers_are_signed_until_they_do_not_fit() {
        assert_eq!(integer("5", true).unwrap().0, Value::Int(-5));
        assert_eq!(integer("18446744073709551615", false).unwrap().0, Value::UInt(u64::MAX));
        assert!(integer("99999999999999999999", false).is_none());
    }
}

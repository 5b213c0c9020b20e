//! The statement snapshot: the session's state as one statement sees it, which queries may keep
//! while they run.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::{TimeZone, Value};
use pelorus_native::NativeReads;
use pelorus_query::Variables;
use pelorus_result::scalar::Typed;
use pelorus_types::{ColumnType, collation};

use super::state::user_variables::{UserVariables, user_variable};
use crate::accounts::AccountName;
use crate::engine::Engine;
use crate::variables::{Scope, SessionVariables, VarValue, Variable, find};

/// The session as of the beginning of a statement.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) engine: Arc<Engine>,
    pub(crate) id: u64,
    /// `USER()`: the name given at login and where it came from.
    pub(crate) user: String,
    /// `CURRENT_USER()`.
    pub(crate) account: AccountName,
    pub(crate) read_only: bool,
    pub(crate) database: Option<String>,
    pub(crate) variables: SessionVariables,
    pub(crate) user_variables: Arc<UserVariables>,
    /// Of the statement before.
    pub(crate) warning_count: usize,
    pub(crate) error_count: usize,
    pub(crate) found_rows: u64,
    pub(crate) last_insert_id: u64,
    pub(crate) row_count: i64,
    /// Start of the statement in microseconds since 1970.
    pub(crate) now_micros: i64,
    /// The version of native tables, with the uncommitted rows of the open transaction.
    pub(crate) native: NativeReads,
    /// `@@time_zone`.
    pub(crate) time_zone: TimeZone,
}

impl View {
    /// Whether row numbers that were made for native tables are shown where these are described.
    pub(crate) fn shows_row_id(&self) -> bool {
        self.variables.is_on("show_gipk_in_create_table_and_information_schema")
    }

    /// The value of a variable as the session sees it, those included that are worked out.
    pub(crate) fn variable(&self, variable: &Variable) -> VarValue {
        match variable.name {
            "warning_count" => VarValue::UInt(self.warning_count as u64),
            "error_count" => VarValue::UInt(self.error_count as u64),
            "last_insert_id" | "identity" => VarValue::UInt(self.last_insert_id),
            "pseudo_thread_id" => VarValue::UInt(self.id),
            "pelorus_version" => VarValue::UInt(self.native.pin.version()),
            "timestamp" => match self.variables.get("timestamp") {
                VarValue::Double(moment) if moment > 0.0 => VarValue::Double(moment),
                #[expect(clippy::cast_precision_loss, reason = "microseconds since 1970 fit 2^53")]
                _ => VarValue::Double(self.now_micros as f64 / 1e6),
            },
            _ if variable.scope == Scope::Global => self.global_variable(variable),
            name => self.variables.get(name),
        }
    }

    /// The global value of a variable.
    pub(crate) fn global_variable(&self, variable: &Variable) -> VarValue {
        match variable.name {
            // It follows the linked servers.
            "version" => VarValue::Text(self.engine.server_version()),
            name => self.engine.globals().get(name),
        }
    }

    /// `@@name`, `@@session.name` and `@@global.name`.
    pub(crate) fn read_variable(&self, name: &str, global: bool) -> Result<(VarValue, ColumnType)> {
        let variable = find(name)?;
        if global && variable.scope == Scope::Session {
            return Err(Error::new(
                Code::ReadOnlyVariable,
                format!("Variable '{}' is a SESSION variable", variable.name),
            ));
        }
        let value = if global { self.global_variable(variable) } else { self.variable(variable) };
        Ok((value, variable.column_type()))
    }
}

impl Variables for View {
    fn user(&self, name: &str) -> Typed {
        user_variable(&self.user_variables, name)
    }

    fn system(&self, name: &str, global: bool) -> Result<Typed> {
        let (value, ty) = self.read_variable(name, global)?;
        Ok((value.to_value(), ty))
    }

    fn session_function(&self, name: &str) -> Option<Typed> {
        let text = |text: &str, chars: u32| {
            let ty = ColumnType::varchar(chars, collation::UTF8MB3_GENERAL_CI);
            (Value::Text(text.to_owned()), ty)
        };
        let unsigned = |value| (Value::UInt(value), ColumnType::bigint_unsigned().not_null());
        let signed = |value| (Value::Int(value), ColumnType::bigint().not_null());
        Some(match name {
            "DATABASE" | "SCHEMA" => match &self.database {
                Some(database) => text(database, 64),
                None => (Value::Null, text("", 64).1),
            },
            "USER" | "SESSION_USER" | "SYSTEM_USER" => text(&self.user, 288),
            "CURRENT_USER" => text(&format!("{}@{}", self.account.user, self.account.host), 288),
            "CURRENT_ROLE" => text("NONE", 65_535),
            "CONNECTION_ID" => unsigned(self.id),
            "VERSION" => {
                let version = self.engine.server_version();
                let (value, ty) = text(&version, u32::try_from(version.len()).ok()?);
                (value, ty.not_null())
            }
            "LAST_INSERT_ID" => unsigned(self.last_insert_id),
            "FOUND_ROWS" => signed(i64::try_from(self.found_rows).unwrap_or(i64::MAX)),
            "ROW_COUNT" => signed(self.row_count),
            _ => return None,
        })
    }
}

//! User variables: their values, with the memory that they take.

use std::collections::BTreeMap;
use std::sync::Arc;

use pelorus_env::{Account, Reservation};
use pelorus_error::{Error, Result};
use pelorus_functions::Value;
use pelorus_result::scalar::{Typed, unset};

/// User variables by name in lower case. Snapshots share the values.
pub(crate) type UserVariables = BTreeMap<Arc<str>, Arc<UserVariable>>;

/// The value of a user variable.
#[derive(Debug)]
pub(crate) struct UserVariable {
    value: Typed,
    _memory: Reservation,
}

impl UserVariable {
    /// A value that a session's memory has room for.
    ///
    /// # Errors
    /// 1041.
    pub(crate) fn new(name: &str, value: Typed, memory: &Account) -> Result<Self> {
        /// The overhead of a variable apart from name and value.
        const OVERHEAD: usize = 256;
        let bytes = match &value.0 {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        let memory = memory.reserve(OVERHEAD + name.len() + bytes);
        Ok(Self { value, _memory: memory.map_err(Error::out_of_memory)? })
    }
}

/// The value of a user variable, which may never have been set.
pub(crate) fn user_variable(variables: &UserVariables, name: &str) -> Typed {
    variables.get(name.to_lowercase().as_str()).map_or_else(unset, |it| it.value.clone())
}

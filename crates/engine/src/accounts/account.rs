//! One account, and a change to it.

use pelorus_sql::statement::LockTime;

use super::hash::Proof;
use super::name::AccountName;

/// One account.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Account {
    /// Its name.
    pub(crate) name: AccountName,
    /// The authentication plugin.
    pub(crate) plugin: String,
    /// The bytes that the plugin stores; empty if the account has no password.
    pub(crate) authentication: Vec<u8>,
    /// It may only read.
    pub(crate) read_only: bool,
    /// It may not log in.
    pub(crate) locked: bool,
    /// Its connections must be encrypted.
    pub(crate) require_ssl: bool,
    /// After so many failed logins in a row it is locked; 0 is no limit.
    pub(crate) failed_login_attempts: u16,
    /// How long it is locked then.
    pub(crate) password_lock_time: LockTime,
    /// When the password was set, in seconds since 1970.
    pub(crate) password_changed: u64,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The changes of `CREATE USER` and `ALTER USER` to an account; `None` leaves an attribute
/// unchanged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) proof: Option<Proof>,
    pub(crate) read_only: Option<bool>,
    pub(crate) locked: Option<bool>,
    pub(crate) require_ssl: Option<bool>,
    pub(crate) failed_login_attempts: Option<u16>,
    pub(crate) password_lock_time: Option<LockTime>,
}

impl Change {
    /// Whether failed logins are counted from the beginning after it, as in MySQL.
    pub(super) fn forgets_failures(&self) -> bool {
        self.locked == Some(false)
            || self.failed_login_attempts.is_some()
            || self.password_lock_time.is_some()
    }
}

//! [`Identity`]: the login of a client, and the account that it uses.

use pelorus_error::{Code, Error, Result};
use pelorus_sql::statement::{TableName, UserName};

use crate::accounts::{Account, AccountName, Accounts};
use crate::api::Login;

/// Who the client is.
#[derive(Debug)]
pub(crate) struct Identity {
    login: Login,
    account: AccountName,
    is_read_only: bool,
}

impl Identity {
    /// A client that has been verified as the user of an account.
    pub(crate) fn new(login: Login, account: Account) -> Self {
        Self { login, account: account.name, is_read_only: account.read_only }
    }

    pub(crate) fn login(&self) -> &Login {
        &self.login
    }

    pub(crate) fn account(&self) -> &AccountName {
        &self.account
    }

    /// Whether the account may only read, as of the latest [`Self::refresh_rights`].
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Takes over the rights that the account has now; those of a dropped account stay.
    pub(crate) fn refresh_rights(&mut self, accounts: &Accounts) {
        if let Some(account) = accounts.get(&self.account) {
            self.is_read_only = account.read_only;
        }
    }

    /// The account has another name.
    pub(crate) fn rename_account(&mut self, name: AccountName) {
        self.account = name;
    }

    /// The database of the login does not become current again.
    pub(crate) fn forget_login_database(&mut self) {
        self.login.database = None;
    }

    /// The account that a statement names.
    ///
    /// # Errors
    /// Names that no account can have.
    pub(crate) fn account_named(&self, user: &UserName) -> Result<AccountName> {
        match user {
            UserName::Current => Ok(self.account.clone()),
            UserName::Account(account) => AccountName::new(&account.user, &account.host),
        }
    }

    /// `USER()`: the name given at login, and where the client comes from.
    pub(crate) fn user(&self) -> String {
        let host = match self.login.peer.map(|peer| peer.ip().to_canonical()) {
            Some(address) if !address.is_loopback() => address.to_string(),
            _ => "localhost".to_owned(),
        };
        format!("{}@{host}", self.login.user)
    }

    /// Host and port of the client, as the list of sessions shows them.
    pub(crate) fn host_and_port(&self) -> String {
        match self.login.peer {
            Some(peer) if peer.ip().to_canonical().is_loopback() => {
                format!("localhost:{}", peer.port())
            }
            Some(peer) => peer.to_string(),
            None => "localhost".to_owned(),
        }
    }

    /// Error 1142.
    pub(crate) fn table_denied(&self, command: &str, table: Option<&TableName>) -> Error {
        let table = table.map_or("", |table| table.name.as_str());
        Error::new(
            Code::TableAccessDenied,
            format!("{command} command denied to user {} for table '{table}'", self.account),
        )
    }

    /// Error 1044.
    pub(crate) fn database_denied(&self, database: &str) -> Error {
        Error::new(
            Code::DatabaseAccessDenied,
            format!("Access denied for user {} to database '{database}'", self.account),
        )
    }
}

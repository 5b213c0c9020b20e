//! Names of tables and accounts, and passwords, as statements have them.

/// A name that may be qualified by a database.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName {
    /// The database as written.
    pub database: Option<String>,
    /// The name as written, quotes taken off.
    pub name: String,
}

/// A password on its way through: never printed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text from being printed.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Keeps bytes from being printed: each becomes the character of its number.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(bytes.iter().copied().map(char::from).collect())
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The bytes of a secret that was made of some.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.chars().filter_map(|char| u8::try_from(u32::from(char)).ok()).collect()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// A user at a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Account {
    /// The user.
    pub user: String,
    /// The host; `%` when not said.
    pub host: String,
}

/// Whom a statement names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UserName {
    /// `CURRENT_USER` or `USER()`, or no account given.
    Current,
    /// An account.
    Account(Account),
}

//! Capability flags and server status flags.

use std::fmt;

/// The capabilities of a client or server, as the bits of the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Capabilities(pub u32);

#[expect(missing_docs, reason = "the names are the protocol's own")]
impl Capabilities {
    /// Called CLIENT_MYSQL by MariaDB, whose servers leave it out to announce their own flags.
    pub const LONG_PASSWORD: Self = Self(1);
    pub const FOUND_ROWS: Self = Self(1 << 1);
    pub const LONG_FLAG: Self = Self(1 << 2);
    pub const CONNECT_WITH_DB: Self = Self(1 << 3);
    pub const NO_SCHEMA: Self = Self(1 << 4);
    pub const COMPRESS: Self = Self(1 << 5);
    pub const ODBC: Self = Self(1 << 6);
    pub const LOCAL_FILES: Self = Self(1 << 7);
    pub const IGNORE_SPACE: Self = Self(1 << 8);
    pub const PROTOCOL_41: Self = Self(1 << 9);
    pub const INTERACTIVE: Self = Self(1 << 10);
    pub const SSL: Self = Self(1 << 11);
    pub const TRANSACTIONS: Self = Self(1 << 13);
    pub const SECURE_CONNECTION: Self = Self(1 << 15);
    pub const MULTI_STATEMENTS: Self = Self(1 << 16);
    pub const MULTI_RESULTS: Self = Self(1 << 17);
    pub const PS_MULTI_RESULTS: Self = Self(1 << 18);
    pub const PLUGIN_AUTH: Self = Self(1 << 19);
    pub const CONNECT_ATTRS: Self = Self(1 << 20);
    pub const PLUGIN_AUTH_LENENC: Self = Self(1 << 21);
    pub const HANDLE_EXPIRED_PASSWORDS: Self = Self(1 << 22);
    pub const SESSION_TRACK: Self = Self(1 << 23);
    pub const DEPRECATE_EOF: Self = Self(1 << 24);
    pub const OPTIONAL_RESULTSET_METADATA: Self = Self(1 << 25);
    pub const ZSTD: Self = Self(1 << 26);
    pub const QUERY_ATTRIBUTES: Self = Self(1 << 27);
    pub const MULTI_FACTOR: Self = Self(1 << 28);

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These bits less those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The bits that both have.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::LowerHex for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

/// State that a server reports with every OK and EOF, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ServerStatus(pub u16);

#[expect(missing_docs, reason = "the names are the protocol's own")]
impl ServerStatus {
    pub const IN_TRANSACTION: Self = Self(1);
    pub const AUTOCOMMIT: Self = Self(2);
    pub const MORE_RESULTS: Self = Self(8);
    pub const NO_GOOD_INDEX: Self = Self(16);
    pub const NO_INDEX: Self = Self(32);
    pub const CURSOR_EXISTS: Self = Self(64);
    pub const LAST_ROW_SENT: Self = Self(128);
    pub const NO_BACKSLASH_ESCAPES: Self = Self(512);
    pub const METADATA_CHANGED: Self = Self(1024);
    pub const QUERY_WAS_SLOW: Self = Self(2048);
    pub const OUT_PARAMETERS: Self = Self(4096);
    pub const IN_READ_ONLY_TRANSACTION: Self = Self(8192);
    pub const SESSION_STATE_CHANGED: Self = Self(16384);

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These bits less those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

//! [`FollowError`]: the reason for which following a binlog ended.

use std::fmt;

use pelorus_error::{Code, Error};

/// The kinds of ends of following, by the caller's possible reactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowFailure {
    /// The source has thrown away what comes next: everything must be loaded again.
    Purged,
    /// The source lacks events that were read before: it lost transactions in a crash, or another
    /// server took its place that never had them. Everything must be loaded again.
    Diverged,
    /// The source has begun its binlogs again while they were read: later events differ from
    /// earlier ones with the same names. Everything must be loaded again.
    Reset,
    /// The position lies beyond 4 GiB in a binlog file, where no replica can begin to read.
    /// Everything must be loaded again.
    Beyond,
    /// Another replica has the same `server_id`; choose another one.
    Collision,
    /// The account may not log in, or may not read the binlog.
    Denied,
    /// The connection was killed on the source: an administrator, or, if it happens repeatedly,
    /// another replica with the same `server_id`. Follow again from the last position.
    Killed,
    /// The source cannot be reached, went away, or is silent. Follow again from the last position.
    Lost,
    /// Anything else; the text says what.
    Other,
}

/// The end of following.
#[derive(Debug)]
pub struct FollowError {
    failure: FollowFailure,
    error: Error,
}

impl FollowError {
    /// The kind of the failure.
    pub fn failure(&self) -> FollowFailure {
        self.failure
    }

    /// The error itself: its number is the source's own (mostly 1236) where the source said why,
    /// and its text names the source.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// The error alone.
    pub fn into_error(self) -> Error {
        self.error
    }

    pub(super) fn new(failure: FollowFailure, error: Error) -> Self {
        Self { failure, error }
    }

    /// Sorts an error of the server called `label`, which knows us by `server_id`.
    pub(super) fn sort(error: Error, label: &str, server_id: u32) -> Self {
        let (remote, failure) = match error.code() {
            Code::Remote(code) => (Some(code), of_remote(code.errno, error.message())),
            // The reason lies beneath.
            Code::ConnectToForeign if is_denial(cause(&error)) => (None, FollowFailure::Denied),
            Code::ConnectToForeign
            | Code::QueryOnForeign
            | Code::PacketsOutOfOrder
            | Code::MalformedPacket
            | Code::NetReadError => (None, FollowFailure::Lost),
            _ => (None, FollowFailure::Other),
        };
        let Some(code) = remote else { return Self::new(failure, error) };
        let said = error.message();
        let text = match failure {
            FollowFailure::Collision => format!(
                "{label}: another replica reads its binlog with the same server_id, {server_id}; \
                 each replica needs one of its own ({said})"
            ),
            FollowFailure::Denied => format!(
                "{label}: the account may not read the binlog: GRANT REPLICATION SLAVE ON *.* \
                 to it ({said})"
            ),
            _ => format!("{label}: {said}"),
        };
        Self::new(failure, Error::remote(code.errno, code.sqlstate, text).caused_by(error))
    }
}

/// The error of the server beneath one of ours.
fn cause(error: &Error) -> Option<&Error> {
    std::error::Error::source(error)?.downcast_ref()
}

/// Access denied: for the login (MySQL, MariaDB's other plugins, locked accounts, passwords that
/// have expired), to a database, and for want of a right; also a host that may not connect.
fn is_denial(error: Option<&Error>) -> bool {
    const DENIED: [u16; 10] = [1044, 1045, 1130, 1142, 1227, 1698, 1820, 1862, 3118, 4151];
    error.is_some_and(|error| DENIED.contains(&error.errno()))
}

/// Sorts what a source says. It has one number for nearly everything that ends a dump, so its
/// words decide: they have been the same for many versions.
fn of_remote(errno: u16, text: &str) -> FollowFailure {
    const WORDS: &[(&str, FollowFailure)] = &[
        ("same server_uuid/server_id", FollowFailure::Collision),
        ("not in the master's binlog", FollowFailure::Diverged),
        // MySQL: "replica has more GTIDs than the source has"; older versions have other words.
        ("has more gtids than", FollowFailure::Diverged),
        ("diverged", FollowFailure::Diverged),
        ("position > file size", FollowFailure::Diverged),
        ("could not find next log", FollowFailure::Reset),
        ("purged", FollowFailure::Purged),
        ("could not find first log file", FollowFailure::Purged),
        ("could not find gtid state", FollowFailure::Purged),
    ];
    /// A dump that failed; the source purged required GTIDs; MariaDB's number for a collision.
    const DUMP: [u16; 3] = [1236, 1789, 4052];
    /// Interrupted, shutting down, killed (MariaDB), aborted.
    const ENDED: [u16; 4] = [1317, 1053, 1927, 1152];
    let denied = Error::remote(errno, *b"HY000", "");
    if DUMP.contains(&errno) {
        let text = text.to_ascii_lowercase();
        let found = WORDS.iter().find(|(words, _)| text.contains(words));
        return found.map_or(FollowFailure::Other, |(_, failure)| *failure);
    }
    if is_denial(Some(&denied)) {
        FollowFailure::Denied
    } else if ENDED.contains(&errno) {
        FollowFailure::Killed
    } else {
        FollowFailure::Other
    }
}

impl fmt::Display for FollowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for FollowError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.error)
    }
}

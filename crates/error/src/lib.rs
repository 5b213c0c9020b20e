//! Errors that all crates share: a stable code with its MySQL number, the remedy for the caller,
//! and whether the client may see the details.
//!
//! One table ([`Code`]) holds every error that Pelorus raises itself. An error of a linked server
//! is passed on unchanged as [`Code::Remote`]; only the crates that read servers' packets make one.

mod code;
mod reference;

use std::error::Error as StdError;
use std::fmt;
use std::fmt::Write as _;

pub use code::{Class, Code, RemoteCode};
pub use reference::reference_page;

/// `Result` with the error of Pelorus as its default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure on its way to a client: the code that programs read and the text that people read.
#[derive(Debug)]
pub struct Error {
    code: Code,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// A failure with its text: lower case, one line, no full stop, objects named.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), source: None }
    }

    /// An error that a linked server reported, passed on unchanged.
    pub fn remote(errno: u16, sqlstate: [u8; 5], message: impl Into<String>) -> Self {
        Self::new(Code::Remote(RemoteCode { errno, sqlstate }), message)
    }

    /// A feature of MySQL that Pelorus refuses rather than answer wrongly (error 1235).
    pub fn unsupported(what: impl fmt::Display) -> Self {
        Self::new(
            Code::NotSupportedYet,
            format!("This version of Pelorus doesn't yet support '{what}'"),
        )
    }

    /// Memory that a limit does not allow (error 1041); the text says which limit.
    pub fn out_of_memory(text: impl fmt::Display) -> Self {
        Self::new(Code::OutOfMemory, text.to_string())
    }

    /// A broken invariant. The log gets the details, the client learns that it is our fault.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// A statement that was stopped on request.
    pub fn interrupted() -> Self {
        Self::new(Code::QueryInterrupted, "Query execution was interrupted")
    }

    /// A table whose definition has changed since the statement was planned.
    pub fn table_changed() -> Self {
        Self::new(Code::TableChanged, "Table definition has changed, please retry transaction")
    }

    /// Keeps the failure that lies beneath.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same failure with another text, which says more.
    #[must_use]
    pub fn with_message(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The MySQL error number.
    pub fn errno(&self) -> u16 {
        self.code.errno()
    }

    /// The five characters of the SQL state.
    pub fn sqlstate(&self) -> [u8; 5] {
        self.code.sqlstate()
    }

    /// The message for the client.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as &(dyn StdError + 'static))
    }
}

/// Writes an error and all its causes on one line, joined by `: `.
pub fn display_chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = plain(error);
    let mut cause = error.source();
    while let Some(source) = cause {
        // A `String` accepts every write.
        write!(text, ": {}", plain(source)).ok();
        cause = source.source();
    }
    text
}

/// The text of an error, without the operating system's number in the texts of Rust's library
/// (`Connection refused (os error 111)`), which adds nothing.
pub fn plain(error: impl fmt::Display) -> String {
    let mut text = error.to_string();
    const NUMBER: &str = " (os error ";
    while let Some(at) = text.find(NUMBER) {
        let digits = text[at + NUMBER.len()..].bytes().take_while(u8::is_ascii_digit).count();
        let end = at + NUMBER.len() + digits;
        if digits == 0 || text.as_bytes().get(end) != Some(&b')') {
            break;
        }
        text.replace_range(at..=end, "");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_have_no_numbers_of_the_operating_system() {
        let cause = std::io::Error::from_raw_os_error(2);
        let error = Error::internal("cannot read a (os error of) mine").caused_by(cause);
        let text = display_chain(&error);
        assert_eq!(text, "cannot read a (os error of) mine: No such file or directory");
        assert_eq!(plain("a (os error 1) b (os error 22)"), "a b");
    }
}

//! The one table of error codes: name, MySQL number, SQL state, class, meaning and remedy.
//! `docs/reference/errors.md` is generated from it.

/// The class of a failure: the possible reaction of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// The statement or request is at fault; repeating it fails the same way.
    InvalidInput,
    /// A named object does not exist.
    NotFound,
    /// Another write or an existing object prevents it.
    Conflict,
    /// The user may not do this.
    Denied,
    /// A limit of memory, disk, time or count was reached.
    Resource,
    /// A server cannot be reached or is stopping; the same input may work later.
    Unavailable,
    /// The work was stopped on request.
    Cancelled,
    /// An invariant does not hold.
    Internal,
}

/// Number and state of an error that a linked server raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteCode {
    /// The server's error number.
    pub errno: u16,
    /// The server's SQL state.
    pub sqlstate: [u8; 5],
}

macro_rules! codes {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident = $errno:literal, $state:literal, $class:ident, $remedy:literal;
    )*) => {
        /// A stable error code. Numbers and states are MySQL's own where it has the error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $doc])* $name,)*
            /// Raised by a linked server and passed on unchanged.
            Remote(RemoteCode),
        }

        impl Code {
            /// Every code that Pelorus raises itself, with its name.
            pub const ALL: &'static [(Code, &'static str)] =
                &[$((Code::$name, stringify!($name)),)*];

            /// The MySQL error number.
            pub fn errno(self) -> u16 {
                match self {
                    $(Code::$name => $errno,)*
                    Code::Remote(remote) => remote.errno,
                }
            }

            /// The five characters of the SQL state.
            pub fn sqlstate(self) -> [u8; 5] {
                match self {
                    $(Code::$name => *$state,)*
                    Code::Remote(remote) => remote.sqlstate,
                }
            }

            /// Its class: the possible reaction of a caller.
            pub fn class(self) -> Class {
                match self {
                    $(Code::$name => Class::$class,)*
                    Code::Remote(_) => Class::InvalidInput,
                }
            }

            /// The meaning of the error, as a sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Code::$name => concat!($($doc),*).trim_ascii(),)*
                    Code::Remote(_) => "An error of a linked server.",
                }
            }

            /// The remedy for the user, as a sentence.
            pub fn remedy(self) -> &'static str {
                match self {
                    $(Code::$name => $remedy,)*
                    Code::Remote(_) => "Look into the manual of the linked server.",
                }
            }
        }
    };
}

mod table;

pub use table::Code;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_number_of_its_own_and_a_well_formed_state() {
        let mut numbers = std::collections::HashMap::new();
        for &(code, name) in Code::ALL {
            // MySQL's number for errors that have none of their own.
            let is_unknown = code.errno() == Code::Internal.errno();
            if let Some(other) = numbers.insert(code.errno(), name).filter(|_| !is_unknown) {
                panic!("{name} and {other} share error number {}", code.errno());
            }
            assert!(
                code.sqlstate()
                    .iter()
                    .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()),
                "{name} has a malformed SQL state"
            );
        }
    }

    #[test]
    fn remote_errors_keep_their_number_and_state() {
        let code = Code::Remote(RemoteCode { errno: 1644, sqlstate: *b"45000" });
        assert_eq!((code.errno(), code.sqlstate()), (1644, *b"45000"));
    }
}

//! [`Position`]: the position up to which a binlog has been read.

use std::fmt;
use std::str::FromStr;

use pelorus_error::{Code, Error, Result};

use crate::gtid::{Gtid, GtidSet};
use crate::maria::{MariaGtid, MariaGtids};

/// A position in the binlog: the events that have been read, and the next one.
///
/// Positions of GTIDs are valid on every server that replicates the same transactions. A file and
/// an offset are valid on one server only, so they must be discarded when another server takes its
/// place.
///
/// The text form ([`fmt::Display`], [`FromStr`]) is for storage: `mysql:uuid:1-5`, `mariadb:0-1-7`,
/// `file:bin.000003:1234`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// All that has been read, on a MySQL with GTIDs.
    MySql(GtidSet),
    /// The latest of each domain, on a MariaDB.
    MariaDb(MariaGtids),
    /// A file of the binlog and the offset in it at which the next event starts.
    File {
        /// Its name without a folder.
        file: String,
        /// In bytes.
        offset: u64,
    },
}

/// The change of a position by the end of a transaction or by a rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A transaction of a MySQL with GTIDs.
    MySql(Gtid),
    /// A transaction of a MariaDB.
    MariaDb(MariaGtid),
    /// Where the next event starts.
    File {
        /// The binlog file's name.
        file: String,
        /// In bytes.
        offset: u64,
    },
}

impl Position {
    /// Goes one step on.
    ///
    /// # Errors
    /// 1210 for a step of another kind.
    pub fn advance(&mut self, step: &Step) -> Result<()> {
        match (&mut *self, step) {
            (Position::MySql(set), Step::MySql(gtid)) => {
                set.add(gtid);
            }
            (Position::MariaDb(position), Step::MariaDb(gtid)) => position.advance(*gtid),
            (Position::File { file, offset }, Step::File { file: to, offset: at }) => {
                // Mostly the same file: its name is not copied.
                if file != to {
                    file.clone_from(to);
                }
                *offset = *at;
            }
            (before, step) => {
                let text = format!("a binlog position '{before}' cannot go on with {step:?}");
                return Err(Error::new(Code::WrongArguments, text));
            }
        }
        Ok(())
    }

    /// Whether a step is of its kind.
    pub fn takes(&self, step: &Step) -> bool {
        matches!(
            (self, step),
            (Position::MySql(_), Step::MySql(_))
                | (Position::MariaDb(_), Step::MariaDb(_))
                | (Position::File { .. }, Step::File { .. })
        )
    }

    /// Whether another is of its kind.
    pub fn is_like(&self, other: &Position) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// Whether everything up to `other` has been read at this position: whether it is `other` or
    /// beyond. `None` if that is unknown: positions of two kinds, or in files of two series.
    pub fn has_passed(&self, other: &Position) -> Option<bool> {
        match (self, other) {
            (Position::MySql(mine), Position::MySql(theirs)) => Some(theirs.is_subset(mine)),
            (Position::MariaDb(mine), Position::MariaDb(theirs)) => Some(mine.covers_all(theirs)),
            (
                Position::File { file, offset },
                Position::File { file: their_file, offset: their_offset },
            ) => {
                let ((mine, number), (theirs, their_number)) = (series(file)?, series(their_file)?);
                (mine == theirs).then_some((number, *offset) >= (their_number, *their_offset))
            }
            _ => None,
        }
    }
}

impl Position {
    /// How many transactions `other` has that this position has not; `None` if that is unknown:
    /// positions in files, or of two kinds.
    pub fn behind(&self, other: &Position) -> Option<u64> {
        match (self, other) {
            (Position::MySql(mine), Position::MySql(theirs)) => {
                let mut missing = theirs.clone();
                missing.subtract(mine);
                Some(missing.len())
            }
            (Position::MariaDb(mine), Position::MariaDb(theirs)) => Some(mine.behind(theirs)),
            _ => None,
        }
    }
}

/// The name of a series of binlog files and the number in it: `bin.000012` is the 12th of `bin`.
fn series(file: &str) -> Option<(&str, u64)> {
    let (base, digits) = file.rsplit_once('.')?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok().map(|number| (base, number)))?
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // On one line.
            Position::MySql(set) => write!(f, "mysql:{}", set.to_string().replace('\n', "")),
            Position::MariaDb(position) => write!(f, "mariadb:{position}"),
            Position::File { file, offset } => write!(f, "file:{file}:{offset}"),
        }
    }
}

impl FromStr for Position {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let malformed =
            || Error::new(Code::WrongArguments, format!("malformed binlog position '{text}'"));
        let (kind, rest) = text.split_once(':').ok_or_else(malformed)?;
        match kind {
            "mysql" => Ok(Position::MySql(rest.parse()?)),
            "mariadb" => Ok(Position::MariaDb(rest.parse()?)),
            "file" => {
                let (file, offset) = rest.rsplit_once(':').ok_or_else(malformed)?;
                let offset = offset.parse().map_err(|_| malformed())?;
                Ok(Position::File { file: file.to_owned(), offset })
            }
            _ => Err(malformed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: &str = "c0186e50-e6c0-11f1-8392-02fc00000001";

    fn position(text: &str) -> Position {
        text.parse().unwrap()
    }

    #[test]
    fn kept_text_gives_the_position_back() {
        let two = format!("mysql:{A}:1-5:blue:7,f{}:9", &A[1..]);
        for text in [&two, "mysql:", "mariadb:0-1-7,1-2-3", "mariadb:", "file:a:b.000003:1234"] {
            assert_eq!(position(text).to_string(), *text);
        }
        for wrong in ["", "bin.000001:4", "file:bin", "file:bin:x", "mysql:7", "oracle:1"] {
            assert_eq!(wrong.parse::<Position>().unwrap_err().errno(), 1210, "{wrong}");
        }
    }

    #[test]
    fn steps_are_of_the_positions_own_kind() {
        let mut gtids = position("mariadb:0-1-7");
        let step = Step::MariaDb("0-2-8".parse().unwrap());
        gtids.advance(&step).unwrap();
        assert_eq!(gtids.to_string(), "mariadb:0-2-8");
        let mut set = position(&format!("mysql:{A}:1-5"));
        assert_eq!(set.advance(&step).unwrap_err().errno(), 1210);
        set.advance(&Step::MySql(format!("{A}:6").parse().unwrap())).unwrap();
        assert_eq!(set.to_string(), format!("mysql:{A}:1-6"));
        let mut file = position("file:bin.000001:4");
        file.advance(&Step::File { file: "bin.000002".into(), offset: 99 }).unwrap();
        assert_eq!(file.to_string(), "file:bin.000002:99");
    }

    #[test]
    fn passing_is_told_where_it_can_be() {
        let passed = |a: &str, b: &str| position(a).has_passed(&position(b));
        assert_eq!(passed(&format!("mysql:{A}:1-5"), &format!("mysql:{A}:2-5")), Some(true));
        assert_eq!(passed(&format!("mysql:{A}:2-5"), &format!("mysql:{A}:1-5")), Some(false));
        assert_eq!(passed("mariadb:0-1-7", "mariadb:"), Some(true));
        assert_eq!(passed("mariadb:0-1-7,1-1-1", "mariadb:0-2-7"), Some(true));
        assert_eq!(passed("mariadb:0-1-7", "mariadb:1-1-1"), Some(false));
        assert_eq!(passed("file:b.999999:4", "file:b.1000000:4"), Some(false));
        assert_eq!(passed("file:b.1000000:4", "file:b.999999:400"), Some(true));
        assert_eq!(passed("file:b.000001:4", "file:b.000001:4"), Some(true));
        assert_eq!(passed("file:b.000001:4", "file:c.000001:4"), None);
        assert_eq!(passed("file:b.000001:4", "mysql:"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text: String) {
            let _ = text.parse::<Position>();
        }

        #[test]
        fn a_position_that_goes_on_has_passed_what_it_was(numbers in prop::collection::vec(1_u64..99, 1..20)) {
            let mut now = position("mysql:");
            for number in numbers {
                let before = now.clone();
                let gtid = format!("{A}:{number}").parse().unwrap();
                now.advance(&Step::MySql(gtid)).unwrap();
                prop_assert_eq!(now.has_passed(&before), Some(true));
            }
        }
    }

    #[test]
    fn transactions_behind_are_counted() {
        let behind = |mine: &str, theirs: &str| {
            let (mine, theirs): (Position, Position) =
                (mine.parse().unwrap(), theirs.parse().unwrap());
            mine.behind(&theirs)
        };
        let (one, two) =
            ("11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222");
        assert_eq!(behind(&format!("mysql:{one}:1-5"), &format!("mysql:{one}:1-5")), Some(0));
        assert_eq!(
            behind(&format!("mysql:{one}:1-5:9"), &format!("mysql:{one}:1-12,{two}:3-4")),
            Some(8)
        );
        // What only the mirror has does not count.
        assert_eq!(
            behind(&format!("mysql:{one}:1-5,{two}:1"), &format!("mysql:{one}:1-6")),
            Some(1)
        );
        assert_eq!(behind("mariadb:0-1-7,1-1-5", "mariadb:0-2-10,1-1-5,2-1-4"), Some(7));
        assert_eq!(behind("mariadb:0-1-7", "mariadb:0-1-3"), Some(0));
        assert_eq!(behind("file:bin.000001:4", "file:bin.000001:90"), None);
        assert_eq!(behind("mariadb:0-1-7", &format!("mysql:{one}:1")), None);
    }
}

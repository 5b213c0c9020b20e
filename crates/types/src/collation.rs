//! Collations by their number: name, charset and padding, for MySQL's and MariaDB's alike.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A collation by the number that the protocol uses. Numbers above 65,535 do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Collation(pub u16);

/// No collation: text of which it is not known how it compares. It may be shown, not compared.
pub const UNKNOWN: Collation = Collation(0);
/// `utf8mb3_general_ci`: the collation of MySQL's names and its own texts.
pub const UTF8MB3_GENERAL_CI: Collation = Collation(33);
/// `binary`: bytes without a charset; also the collation of numbers and dates.
pub const BINARY: Collation = Collation(63);
/// `utf8mb4_general_ci`: MariaDB's default for connections.
pub const UTF8MB4_GENERAL_CI: Collation = Collation(45);
/// `utf8mb4_bin`.
pub const UTF8MB4_BIN: Collation = Collation(46);
/// `utf8mb4_0900_ai_ci`: MySQL's default.
pub const UTF8MB4_0900_AI_CI: Collation = Collation(255);

/// The properties of a collation.
#[derive(Debug)]
pub struct Info {
    /// The number.
    pub id: Collation,
    /// The name, as in `COLLATE name`.
    pub name: &'static str,
    /// The charset, as in `CHARACTER SET name`.
    pub charset: &'static str,
    /// The longest character in bytes.
    pub bytes_per_char: u8,
    /// Whether its charset uses it when nothing is said.
    pub is_default: bool,
    /// Whether trailing spaces count (`NO PAD`) or not (`PAD SPACE`).
    pub no_pad: bool,
}

struct Table {
    by_id: HashMap<u16, Info>,
    by_name: HashMap<&'static str, u16>,
    default_of_charset: HashMap<&'static str, u16>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table {
        by_id: HashMap::new(),
        by_name: HashMap::new(),
        default_of_charset: HashMap::new(),
    };
    for line in include_str!("collations.tsv").lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_default();
        let id: u16 = next().parse().expect("the table is a constant that a test reads");
        let info = Info {
            id: Collation(id),
            name: next(),
            charset: next(),
            bytes_per_char: next().parse().expect("the table is a constant that a test reads"),
            is_default: next() == "default",
            no_pad: next() == "nopad",
        };
        table.by_name.insert(info.name, id);
        if info.is_default {
            // MariaDB's utf8mb4_general_ci comes first; MySQL's default of utf8mb4 is the one that
            // the oracle uses.
            table.default_of_charset.insert(info.charset, id);
        }
        table.by_id.insert(id, info);
    }
    table
});

impl Collation {
    /// Its properties, if they are known.
    pub fn info(self) -> Option<&'static Info> {
        TABLE.by_id.get(&self.0)
    }

    /// The name, or a number in words for one that is not known.
    pub fn name(self) -> String {
        self.info().map_or_else(|| format!("collation {}", self.0), |info| info.name.to_owned())
    }

    /// The charset's name; `utf8mb4` for a collation that is not known.
    pub fn charset(self) -> &'static str {
        self.info().map_or("utf8mb4", |info| info.charset)
    }

    /// The longest character in bytes.
    pub fn bytes_per_char(self) -> u8 {
        self.info().map_or(4, |info| info.bytes_per_char)
    }

    /// Whether trailing spaces count in comparisons.
    pub fn is_no_pad(self) -> bool {
        self.info().is_some_and(|info| info.no_pad)
    }

    /// Whether characters compare by their code (`_bin` and `binary`).
    pub fn is_binary_order(self) -> bool {
        self == BINARY || self.info().is_some_and(|info| info.name.ends_with("_bin"))
    }

    /// Finds a collation by name, in any case; MySQL's and MariaDB's names for utf8mb3 both work.
    pub fn by_name(name: &str) -> Option<Collation> {
        let name = name.to_ascii_lowercase();
        let find = |name: &str| TABLE.by_name.get(name).copied().map(Collation);
        find(&name).or_else(|| {
            let rest = name.strip_prefix("utf8_")?;
            find(&format!("utf8mb3_{rest}"))
        })
    }

    /// The collation that a charset uses when nothing is said.
    pub fn default_of(charset: &str) -> Option<Collation> {
        let charset = charset.to_ascii_lowercase();
        let charset = if charset == "utf8" { "utf8mb3" } else { charset.as_str() };
        TABLE.default_of_charset.get(charset).copied().map(Collation)
    }

    /// Every collation, by number.
    pub fn all() -> Vec<&'static Info> {
        let mut all: Vec<_> = TABLE.by_id.values().collect();
        all.sort_by_key(|info| info.id);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_knows_the_common_ones() {
        assert!(Collation::all().len() > 1000);
        assert_eq!(Collation::by_name("utf8mb4_0900_ai_ci"), Some(UTF8MB4_0900_AI_CI));
        assert_eq!(Collation::by_name("UTF8MB4_BIN"), Some(UTF8MB4_BIN));
        assert_eq!(Collation::by_name("utf8_general_ci"), Some(Collation(33)));
        assert_eq!(Collation::default_of("utf8mb4"), Some(UTF8MB4_0900_AI_CI));
        assert_eq!(Collation::default_of("latin1"), Some(Collation(8)));
        assert!(UTF8MB4_0900_AI_CI.is_no_pad() && !UTF8MB4_GENERAL_CI.is_no_pad());
        assert_eq!(Collation(8).bytes_per_char(), 1);
    }
}

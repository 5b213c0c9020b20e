//! MariaDB's GTIDs (`domain-server-sequence`) and positions: the latest GTID of each domain.
//!
//! Within a domain the binlog is one order, whichever servers wrote it, and sequence numbers grow
//! along it (a server never assigns a number that is not larger than all that it has seen of the
//! domain). So the latest number of a domain represents all before it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use pelorus_error::{Code, Error, Result};

/// The name of one transaction or, for its domain, of all up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MariaGtid {
    /// The domain (`gtid_domain_id`): an order of its own.
    pub domain: u32,
    /// The `server_id` of the server where it was first committed.
    pub server: u32,
    /// Its number in the domain.
    pub sequence: u64,
}

/// A position in all domains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MariaGtids {
    /// Server and sequence of each domain's latest.
    domains: BTreeMap<u32, (u32, u64)>,
}

impl MariaGtids {
    /// The position before everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it is the position before everything.
    pub fn is_empty(&self) -> bool {
        self.domains.is_empty()
    }

    /// The latest of each domain, by domain.
    pub fn iter(&self) -> impl Iterator<Item = MariaGtid> + '_ {
        self.domains.iter().map(|(domain, (server, sequence))| MariaGtid {
            domain: *domain,
            server: *server,
            sequence: *sequence,
        })
    }

    /// Makes this transaction the latest of its domain. One with a smaller number than the latest
    /// is taken too: the stream is right about its order.
    pub fn advance(&mut self, gtid: MariaGtid) {
        self.domains.insert(gtid.domain, (gtid.server, gtid.sequence));
    }

    /// Whether a transaction is at or before this position.
    pub fn covers(&self, gtid: MariaGtid) -> bool {
        self.domains.get(&gtid.domain).is_some_and(|(_, latest)| gtid.sequence <= *latest)
    }

    /// How many transactions `other` is ahead, by the sequence numbers of its domains, of which
    /// each transaction has one.
    pub fn behind(&self, other: &MariaGtids) -> u64 {
        let of = |gtid: MariaGtid| {
            let mine = self.domains.get(&gtid.domain).map_or(0, |(_, latest)| *latest);
            gtid.sequence.saturating_sub(mine)
        };
        other.iter().map(of).fold(0, |sum, count| sum.saturating_add(count))
    }

    /// Whether everything up to `other` is at or before this position.
    pub fn covers_all(&self, other: &MariaGtids) -> bool {
        other.iter().all(|gtid| self.covers(gtid))
    }
}

impl fmt::Display for MariaGtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.domain, self.server, self.sequence)
    }
}

/// As in `@@gtid_slave_pos`, domains in order.
impl fmt::Display for MariaGtids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, gtid) in self.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            write!(f, "{gtid}")?;
        }
        Ok(())
    }
}

impl FromStr for MariaGtid {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut words = text.trim().split('-');
        let mut number = || {
            let word = words.next()?;
            word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse::<u64>().ok())?
        };
        let narrow = |number: Option<u64>| u32::try_from(number?).ok();
        let (domain, server, sequence) = (narrow(number()), narrow(number()), number());
        match (domain, server, sequence, words.next()) {
            (Some(domain), Some(server), Some(sequence), None) => {
                Ok(Self { domain, server, sequence })
            }
            _ => Err(malformed(text)),
        }
    }
}

impl FromStr for MariaGtids {
    type Err = Error;

    /// Reads a position; a domain that stands there twice is an error, as MariaDB has it.
    fn from_str(text: &str) -> Result<Self> {
        let mut position = MariaGtids::new();
        if text.trim().is_empty() {
            return Ok(position);
        }
        for word in text.split(',') {
            let gtid: MariaGtid = word.parse()?;
            if position.domains.contains_key(&gtid.domain) {
                return Err(malformed(text));
            }
            position.advance(gtid);
        }
        Ok(position)
    }
}

fn malformed(text: &str) -> Error {
    let start: String = text.chars().take(100).collect();
    Error::new(Code::WrongArguments, format!("malformed GTID position '{start}'"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn gtid() -> impl Strategy<Value = MariaGtid> {
        (0_u32..4, any::<u32>(), 0_u64..20).prop_map(|(domain, server, sequence)| MariaGtid {
            domain,
            server,
            sequence,
        })
    }

    proptest! {
        #[test]
        fn the_latest_of_each_domain_covers_those_before(
            steps in prop::collection::vec(gtid(), 0..30),
            asked in gtid(),
        ) {
            let mut position = MariaGtids::new();
            for step in &steps {
                position.advance(*step);
            }
            let latest = steps.iter().rev().find(|step| step.domain == asked.domain);
            let expected = latest.is_some_and(|latest| asked.sequence <= latest.sequence);
            prop_assert_eq!(position.covers(asked), expected);
            prop_assert!(position.covers_all(&position));
            prop_assert_eq!(position.to_string().parse::<MariaGtids>().unwrap(), position);
        }

        #[test]
        fn any_text_is_answered(text: String) {
            let _ = text.parse::<MariaGtids>();
        }
    }

    #[test]
    fn text_is_as_mariadb_writes_it() {
        let position: MariaGtids = " 1-2-5, 0-1-18446744073709551615".parse().unwrap();
        assert_eq!(position.to_string(), "0-1-18446744073709551615,1-2-5");
        assert!("".parse::<MariaGtids>().unwrap().is_empty());
        for wrong in [
            "0-1",
            "0-1-2-3",
            "0-1-x",
            "0-1-+2",
            "0--2",
            "4294967296-1-1",
            "0-1-2,0-2-3",
            "0-1-2,",
            "0-1-18446744073709551616",
        ] {
            assert_eq!(wrong.parse::<MariaGtids>().unwrap_err().errno(), 1210, "{wrong}");
        }
    }
}

//! Names of accounts: `'user'@'host'`, and the clients that a host pattern matches.

use std::fmt;
use std::net::IpAddr;

use pelorus_error::{Code, Error, Result};

/// An account's name. Users are case-sensitive, hosts are not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AccountName {
    /// The user; never empty.
    pub(crate) user: String,
    /// Where the client may come from: `%`, `localhost`, an address, or a pattern of addresses.
    pub(crate) host: String,
}

impl AccountName {
    /// The longest user name in characters, as in MySQL.
    const USER_CHARS_MAX: usize = 32;
    /// The longest host in characters, as in MySQL.
    const HOST_CHARS_MAX: usize = 255;

    /// Checks both parts.
    ///
    /// # Errors
    /// An empty user, a part that is too long, or a host that could never match.
    pub(crate) fn new(user: &str, host: &str) -> Result<Self> {
        let host = if host.is_empty() { "%".to_owned() } else { host.to_ascii_lowercase() };
        let name = Self { user: user.to_owned(), host };
        let refuse = |why: &str| {
            Err(Error::new(
                Code::CannotUser,
                format!("Operation CREATE USER failed for {name}: {why}"),
            ))
        };
        if user.is_empty() {
            return refuse("anonymous accounts are not allowed");
        }
        if user.chars().count() > Self::USER_CHARS_MAX
            || name.host.chars().count() > Self::HOST_CHARS_MAX
        {
            return refuse("the name is too long");
        }
        if !is_usable(&name.host) {
            return refuse(
                "host names are not looked up; use localhost, an address, a network such as \
                 10.0.0.0/8, or a pattern with % and _",
            );
        }
        Ok(name)
    }

    /// Whether a client from this address may use the account; `None` is a local socket. Clients on
    /// the loopback interface count as `localhost` too.
    pub(crate) fn admits(&self, peer: Option<IpAddr>) -> bool {
        if self.host == "%" {
            return true;
        }
        let peer = peer.map(|address| address.to_canonical());
        if self.host == "localhost" {
            return peer.is_none_or(|address| address.is_loopback());
        }
        let Some(peer) = peer else { return false };
        if let Some(network) = Network::parse(&self.host) {
            return network.contains(peer);
        }
        like(&self.host, &peer.to_string())
    }

    /// Orders accounts as MySQL does: the most specific host first.
    pub(crate) fn specificity(&self) -> (u8, usize) {
        let wildcard = self.host.find(['%', '_']);
        match wildcard {
            None if self.host.contains('/') => (1, 0),
            None => (0, 0),
            // The later the first wildcard, the more specific the pattern.
            Some(at) if self.host != "%" => (2, usize::MAX - at),
            Some(_) => (3, 0),
        }
    }
}

/// Written as MySQL's messages do: `'user'@'host'`.
impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = |text: &str| text.replace('\'', "''");
        write!(f, "'{}'@'{}'", quote(&self.user), quote(&self.host))
    }
}

/// Whether a host of this form can match any client.
fn is_usable(host: &str) -> bool {
    host == "localhost"
        || host.parse::<IpAddr>().is_ok()
        || Network::parse(host).is_some()
        || host.contains(['%', '_'])
            && host.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, '.' | ':' | '%' | '_'))
}

/// A range of addresses: `10.0.0.0/8` or `10.0.0.0/255.0.0.0`.
struct Network {
    address: u128,
    mask: u128,
    is_v4: bool,
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, mask) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let (bits, is_v4, width) = bits_of(address);
        let mask = match mask.parse::<u32>() {
            Ok(length) if length <= width => {
                let all = if is_v4 { u128::from(u32::MAX) } else { u128::MAX };
                // A shift by the whole width would overflow.
                all.checked_shl(width - length).unwrap_or(0) & all
            }
            Ok(_) => return None,
            Err(_) => {
                let (mask, mask_is_v4, _) = bits_of(mask.parse().ok()?);
                if mask_is_v4 != is_v4 {
                    return None;
                }
                mask
            }
        };
        Some(Self { address: bits & mask, mask, is_v4 })
    }

    fn contains(&self, address: IpAddr) -> bool {
        let (bits, is_v4, _) = bits_of(address);
        is_v4 == self.is_v4 && bits & self.mask == self.address
    }
}

/// An address as a number, whether it is of version 4, and its width in bits.
fn bits_of(address: IpAddr) -> (u128, bool, u32) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), true, 32),
        IpAddr::V6(v6) => (v6.to_bits(), false, 128),
    }
}

/// `LIKE` without escapes: `%` is any text, `_` one character; ASCII case does not count.
pub(crate) fn like(pattern: &str, text: &str) -> bool {
    pelorus_result::pattern::Like::new(pattern, None).matches(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(host: &str, peer: &str) -> bool {
        AccountName::new("u", host).unwrap().admits(Some(peer.parse().unwrap()))
    }

    #[test]
    fn hosts_admit_what_mysql_admits() {
        assert!(admits("%", "203.0.113.9"));
        assert!(admits("localhost", "127.0.0.1"));
        assert!(admits("localhost", "::1"));
        assert!(admits("localhost", "::ffff:127.0.0.1"));
        assert!(!admits("localhost", "10.0.0.1"));
        assert!(admits("10.0.0.1", "10.0.0.1"));
        assert!(admits("10.0.%", "10.0.7.1"));
        assert!(!admits("10.0.%", "10.1.0.1"));
        assert!(admits("10.0.0.0/8", "10.200.3.4"));
        assert!(admits("192.168.1.0/255.255.255.0", "192.168.1.77"));
        assert!(!admits("192.168.1.0/24", "192.168.2.1"));
        assert!(admits("fd00::/8", "fd12::1"));
        assert!(admits("0.0.0.0/0", "8.8.8.8"));
        assert!(AccountName::new("u", "localhost").unwrap().admits(None));
        assert!(!AccountName::new("u", "127.0.0.1").unwrap().admits(None));
    }

    #[test]
    fn names_that_could_never_work_are_refused() {
        for (user, host) in [("", "%"), ("u", "db.example.com"), ("u", "10.0.0.0/99")] {
            let error = AccountName::new(user, host).unwrap_err();
            assert_eq!(error.errno(), 1396, "{user}@{host}");
        }
        assert!(AccountName::new(&"x".repeat(33), "%").is_err());
        assert_eq!(AccountName::new("u", "").unwrap().host, "%");
    }

    #[test]
    fn the_most_specific_host_comes_first() {
        let mut hosts = ["%", "10.%", "10.0.0.0/8", "10.0.%", "10.0.0.1"];
        hosts.sort_by_key(|host| AccountName::new("u", host).unwrap().specificity());
        assert_eq!(hosts, ["10.0.0.1", "10.0.0.0/8", "10.0.%", "10.%", "%"]);
    }
}

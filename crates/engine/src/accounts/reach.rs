//! Where the server listens, which decides whether an account can be used by any client at all.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::name::AccountName;

/// Where a server listens.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// The addresses of its TCP ports.
    pub(crate) addresses: Vec<IpAddr>,
    /// It has a local socket.
    pub(crate) socket: bool,
    /// Connections over TCP can be encrypted.
    pub(crate) tls: bool,
}

/// Everywhere.
impl Default for Reach {
    fn default() -> Self {
        Self { addresses: vec![Ipv6Addr::UNSPECIFIED.into()], socket: true, tls: true }
    }
}

impl Reach {
    /// Whether some client that can come may use an account, which takes connections that others can
    /// read only if it may be `open`.
    pub(crate) fn includes(&self, name: &AccountName, open: bool) -> bool {
        // A local socket cannot be read by others.
        if self.socket && name.admits(None) {
            return true;
        }
        if !self.tls && !open {
            return false;
        }
        self.addresses.iter().any(|address| match address {
            own if own.is_loopback() => {
                let own_host = name.host.parse::<IpAddr>().is_ok_and(|host| host.is_loopback());
                own_host || name.admits(Some(*own))
            }
            own if own.is_unspecified() => {
                let loopback: [IpAddr; 2] =
                    [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
                can_be_far(&name.host) || loopback.into_iter().any(|own| name.admits(Some(own)))
            }
            own => can_be_far(&name.host) || name.admits(Some(*own)),
        })
    }
}

/// Whether a host pattern fits an address that a client of another machine can have.
fn can_be_far(host: &str) -> bool {
    if host == "localhost" {
        return false;
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        let is_broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
        return !(address.is_unspecified() || address.is_multicast() || is_broadcast);
    }
    let is_wild = |part: &str| part.contains(['%', '_', '/']);
    // `%` may stand for dots as well; what is left between dots must be numbers of a byte.
    host.contains([':', '/'])
        || host.split('.').all(|part| is_wild(part) || part.parse::<u8>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_count_where_a_client_can_use_them() {
        let reach = |addresses: &[&str], socket| Reach {
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            socket,
            tls: true,
        };
        let name = |host: &str| AccountName::new("u", host).unwrap();
        let includes = |reach: &Reach, host: &str| reach.includes(&name(host), true);
        let own = reach(&["127.0.0.1"], false);
        for (host, is_included) in [
            ("%", true),
            ("localhost", true),
            ("127.0.0.1", true),
            ("127.%", true),
            ("0.0.0.0/0", true),
            ("10.0.0.1", false),
            ("10.%", false),
            ("::1", true),
            ("fe80::/10", false),
        ] {
            assert_eq!(includes(&own, host), is_included, "{host}");
        }
        let all = reach(&["0.0.0.0"], false);
        for (host, is_included) in [
            ("%", true),
            ("localhost", true),
            ("10.0.0.1", true),
            ("10.%", true),
            ("10.0.0.0/8", true),
            ("0.0.0.0", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("999.%", false),
        ] {
            assert_eq!(includes(&all, host), is_included, "{host}");
        }
        let one = reach(&["192.0.2.1"], false);
        assert!(!includes(&one, "localhost") && includes(&one, "192.0.2.7"));
        let socket = reach(&[], true);
        assert!(includes(&socket, "localhost") && includes(&socket, "%"));
        assert!(!includes(&socket, "127.0.0.1"));
        // Accounts that take encrypted connections alone.
        let secret = |reach: &Reach, host: &str| reach.includes(&name(host), false);
        assert!(secret(&all, "%"));
        let plain = |reach: Reach| Reach { tls: false, ..reach };
        assert!(!secret(&plain(all), "%"));
        assert!(secret(&plain(socket), "%"));
        let both = plain(reach(&["0.0.0.0"], true));
        assert!(secret(&both, "%") && secret(&both, "localhost") && !secret(&both, "10.%"));
    }
}

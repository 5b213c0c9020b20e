//! Connections that have not logged in yet: their limit, and which is closed for a new one.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Where connections come from, as they are counted: the address, of IPv6 its network (one host may
/// have all addresses of a /64); `None` is the local socket.
pub(crate) type Origin = Option<IpAddr>;

/// The origin of a connection.
pub(crate) fn origin(address: Option<IpAddr>) -> Origin {
    address.map(|address| match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() & (u128::MAX << 64)).into()),
        v4 => v4,
    })
}

/// All connections that have not logged in, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Strangers(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    open: BTreeMap<u64, (Origin, Arc<Notify>)>,
}

/// The place of one of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Stranger {
    id: u64,
    all: Arc<Strangers>,
    sent_away: Arc<Notify>,
}

impl Strangers {
    /// Takes a new connection in. Where there are `most` already, the oldest of the origin that has
    /// the most of them gives way, so that a crowd from one address keeps out only itself.
    pub(crate) fn enter(self: &Arc<Self>, from: Origin, most: usize) -> Stranger {
        let sent_away = Arc::new(Notify::new());
        let mut inner = self.0.lock();
        if inner.open.len() >= most
            && let Some(id) = inner.oldest_of_largest()
            && let Some((_, gives_way)) = inner.open.remove(&id)
        {
            gives_way.notify_one();
        }
        let id = inner.next;
        inner.next += 1;
        inner.open.insert(id, (from, Arc::clone(&sent_away)));
        drop(inner);
        Stranger { id, all: Arc::clone(self), sent_away }
    }
}

impl Inner {
    fn oldest_of_largest(&self) -> Option<u64> {
        let mut origins: HashMap<Origin, (usize, u64)> = HashMap::new();
        for (id, (origin, _)) in &self.open {
            origins.entry(*origin).or_insert((0, *id)).0 += 1;
        }
        let largest = origins.values().max_by_key(|(count, oldest)| (*count, u64::MAX - oldest));
        largest.map(|(_, oldest)| *oldest)
    }
}

impl Stranger {
    /// Waits until this connection has to give way.
    pub(crate) async fn sent_away(&self) {
        self.sent_away.notified().await;
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.all.0.lock().open.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn from(address: &str) -> Origin {
        origin(Some(address.parse().unwrap()))
    }

    #[test]
    fn the_oldest_of_the_largest_crowd_gives_way() {
        let all = Arc::new(Strangers::default());
        let alone = all.enter(from("192.0.2.1"), 4);
        let crowd: Vec<Stranger> = (0..3).map(|_| all.enter(from("192.0.2.2"), 4)).collect();
        let is_sent_away = |one: &Stranger| one.sent_away().now_or_never().is_some();
        assert!(!crowd.iter().any(is_sent_away));
        let new = all.enter(from("192.0.2.3"), 4);
        let away: Vec<bool> = crowd.iter().map(is_sent_away).collect();
        assert_eq!(away, [true, false, false]);
        assert!(!is_sent_away(&alone) && !is_sent_away(&new));
        // A place that was left is free again.
        drop(new);
        let _new = all.enter(from("192.0.2.3"), 4);
        assert!(!crowd[1..].iter().any(is_sent_away));
        // The next of the crowd.
        let _same = all.enter(from("192.0.2.3"), 4);
        assert!(is_sent_away(&crowd[1]));
    }

    #[test]
    fn a_network_of_version_6_is_one_origin() {
        assert_eq!(from("2001:db8::1"), from("2001:db8::2:3:4"));
        assert_ne!(from("2001:db8::1"), from("2001:db8:0:1::1"));
        assert_eq!(from("::ffff:192.0.2.1"), from("192.0.2.1"));
        assert_ne!(from("192.0.2.1"), from("192.0.2.2"));
    }
}

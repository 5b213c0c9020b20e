//! Memory accounting: accounts in a tree, from the whole server down to one statement.
//!
//! The bytes of an account count in all accounts above it, and each has a limit. Bytes are reserved
//! before the memory is allocated, and released when a [`Reservation`] is dropped. All memory that
//! is subject to a limit is counted here: pools, sessions, results and caches use one tree.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A share of the memory, by its place in the tree.
#[derive(Clone)]
pub struct Account(Arc<Node>);

struct Node {
    /// What the limit is called in messages: a system variable.
    name: &'static str,
    parent: Option<Account>,
    limit: AtomicUsize,
    held: AtomicUsize,
    /// The most that was held at a time.
    most: AtomicUsize,
}

/// Bytes that an account refused, because it or one above it has no more of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The name of the account whose limit it was.
    pub name: &'static str,
    /// The requested number of bytes.
    pub wanted: usize,
    /// The limit.
    pub limit: usize,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, limit, .. } = self;
        write!(f, "The statement needs more memory than {name} allows ({limit} bytes)")
    }
}

impl std::error::Error for Refused {}

impl Node {
    /// Takes bytes if the limit allows it.
    fn take(&self, bytes: usize) -> bool {
        // Ordering: a count, by which no other memory is published.
        let limit = self.limit.load(Ordering::Relaxed);
        let taken = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
            held.checked_add(bytes).filter(|sum| *sum <= limit)
        });
        let Ok(before) = taken else { return false };
        self.most.fetch_max(before + bytes, Ordering::Relaxed);
        true
    }

    /// Takes bytes that are in memory already.
    fn force(&self, bytes: usize) {
        let before = self.held.fetch_add(bytes, Ordering::Relaxed);
        self.most.fetch_max(before.saturating_add(bytes), Ordering::Relaxed);
    }

    fn give_back(&self, bytes: usize) {
        let before = self.held.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "{} gets back what was never taken", self.name);
    }
}

impl Account {
    /// An account that is part of no other.
    pub fn new(name: &'static str, limit: usize) -> Self {
        Self::under(None, name, limit)
    }

    /// An account without a limit, for memory outside of any server.
    pub fn unlimited() -> Self {
        Self::new("no limit", usize::MAX)
    }

    /// A part of this one with a limit of its own.
    pub fn part(&self, name: &'static str, limit: usize) -> Self {
        Self::under(Some(self.clone()), name, limit)
    }

    fn under(parent: Option<Account>, name: &'static str, limit: usize) -> Self {
        let (limit, held, most) =
            (AtomicUsize::new(limit), AtomicUsize::new(0), AtomicUsize::new(0));
        Self(Arc::new(Node { name, parent, limit, held, most }))
    }

    /// This account and all above it.
    fn chain(&self) -> impl Iterator<Item = &Node> {
        std::iter::successors(Some(&*self.0), |node| node.parent.as_ref().map(|it| &*it.0))
    }

    /// Bytes that it and all parts of it hold.
    pub fn held(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    /// The most that it held at a time.
    pub fn most(&self) -> usize {
        self.0.most.load(Ordering::Relaxed)
    }

    /// Its own limit.
    pub fn limit(&self) -> usize {
        self.0.limit.load(Ordering::Relaxed)
    }

    /// Changes its limit. What is held stays.
    pub fn set_limit(&self, limit: usize) {
        self.0.limit.store(limit, Ordering::Relaxed);
    }

    /// Takes bytes, or none.
    ///
    /// # Errors
    /// When this account or one above it has no more.
    pub fn try_grow(&self, bytes: usize) -> Result<(), Refused> {
        if bytes == 0 {
            return Ok(());
        }
        for (level, node) in self.chain().enumerate() {
            if !node.take(bytes) {
                self.chain().take(level).for_each(|below| below.give_back(bytes));
                let limit = node.limit.load(Ordering::Relaxed);
                return Err(Refused { name: node.name, wanted: bytes, limit });
            }
        }
        Ok(())
    }

    /// Takes bytes whatever the limits say: they are in memory already.
    pub fn grow(&self, bytes: usize) {
        self.chain().for_each(|node| node.force(bytes));
    }

    /// Releases bytes.
    pub fn shrink(&self, bytes: usize) {
        self.chain().for_each(|node| node.give_back(bytes));
    }

    /// Takes bytes until the reservation is dropped.
    ///
    /// # Errors
    /// When this account or one above it has no more.
    pub fn reserve(&self, bytes: usize) -> Result<Reservation, Refused> {
        let mut reservation = self.empty();
        reservation.try_resize(bytes)?;
        Ok(reservation)
    }

    /// A reservation of bytes that are in memory already, whatever the limits say.
    pub fn hold(&self, bytes: usize) -> Reservation {
        self.grow(bytes);
        Reservation { account: self.clone(), bytes }
    }

    /// A reservation of nothing yet.
    pub fn empty(&self) -> Reservation {
        Reservation { account: self.clone(), bytes: 0 }
    }
}

impl Default for Account {
    fn default() -> Self {
        Self::unlimited()
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of {} bytes", self.0.name, self.held(), self.limit())
    }
}

/// Bytes of an account, given back when this is dropped.
#[derive(Debug)]
pub struct Reservation {
    account: Account,
    bytes: usize,
}

impl Reservation {
    /// How many bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Resizes it to so many bytes; it is unchanged after an error.
    ///
    /// # Errors
    /// When the account or one above it has no more.
    pub fn try_resize(&mut self, bytes: usize) -> Result<(), Refused> {
        if let Some(more) = bytes.checked_sub(self.bytes) {
            self.account.try_grow(more)?;
        } else {
            self.account.shrink(self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.account.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_refusal_names_the_limit_and_takes_nothing() {
        let server = Account::new("server", 100);
        let (one, other) = (server.part("one", 80), server.part("other", 80));
        let held = one.reserve(70).unwrap();
        let refused = one.reserve(11).unwrap_err();
        assert_eq!((refused.name, refused.wanted, refused.limit), ("one", 11, 80));
        assert_eq!(other.reserve(31).unwrap_err().name, "server");
        assert_eq!((server.held(), one.held(), other.held()), (70, 70, 0));
        drop(held);
        drop(other.reserve(80).unwrap());
        assert_eq!((server.held(), server.most()), (0, 80));
    }

    #[test]
    fn what_is_there_already_counts_above_the_limit() {
        let server = Account::new("server", 100);
        let part = server.part("part", 50);
        drop(part.hold(30));
        assert_eq!(part.held(), 0);
        part.grow(120);
        assert_eq!((server.held(), part.held()), (120, 120));
        part.try_grow(0).unwrap();
        part.try_grow(1).unwrap_err();
        part.shrink(120);
        part.set_limit(10);
        part.try_grow(11).unwrap_err();
        assert_eq!(server.held(), 0);
    }

    #[test]
    fn many_threads_never_exceed_a_limit_and_leave_nothing() {
        let server = Account::new("server", 1000);
        std::thread::scope(|scope| {
            for thread in 0..4_usize {
                let part = server.part("part", 400);
                let server = &server;
                scope.spawn(move || {
                    let mut held = Vec::new();
                    for step in 0..5000_usize {
                        match part.reserve((step * 7 + thread * 13) % 90) {
                            Ok(reservation) => held.push(reservation),
                            Err(_) => held.clear(),
                        }
                        assert!(part.held() <= 400 && server.held() <= 1000);
                    }
                });
            }
        });
        assert_eq!(server.held(), 0);
        assert!(server.most() <= 1000);
    }

    proptest! {
        /// Each step takes, resizes or gives back bytes of one of three accounts under another.
        #[test]
        fn reservations_never_exceed_a_limit_and_return_to_zero(
            steps in prop::collection::vec((0_usize..3, 0_usize..4, 0_usize..60), 0..200),
        ) {
            let server = Account::new("server", 100);
            let parts = [70, 50, usize::MAX].map(|limit| server.part("part", limit));
            let mut held: Vec<(usize, Reservation)> = Vec::new();
            for (part, action, bytes) in steps {
                match action {
                    0 | 1 => {
                        let sum: usize = held.iter().filter(|it| it.0 == part).map(|it| it.1.bytes()).sum();
                        let all: usize = held.iter().map(|it| it.1.bytes()).sum();
                        let fits = sum + bytes <= parts[part].limit() && all + bytes <= 100;
                        let made = parts[part].reserve(bytes);
                        prop_assert_eq!(made.is_ok(), fits || bytes == 0);
                        held.extend(made.ok().map(|it| (part, it)));
                    }
                    2 => if let Some((_, last)) = held.last_mut() {
                        let before = last.bytes();
                        let resized = last.try_resize(bytes);
                        prop_assert_eq!(last.bytes(), if resized.is_ok() { bytes } else { before });
                        prop_assert!(resized.is_ok() || bytes > before);
                    },
                    _ => drop(held.pop()),
                }
                for (at, account) in parts.iter().enumerate() {
                    let sum: usize = held.iter().filter(|it| it.0 == at).map(|it| it.1.bytes()).sum();
                    prop_assert_eq!(account.held(), sum);
                    prop_assert!(sum <= account.limit());
                }
                prop_assert_eq!(server.held(), parts.iter().map(Account::held).sum::<usize>());
                prop_assert!(server.held() <= server.limit());
            }
            held.clear();
            prop_assert_eq!(server.held(), 0);
            prop_assert!(server.most() <= 100);
        }
    }
}

//! What was done and what was seen, and whether one order of versions explains all of it.
//!
//! Threads only note: what they committed under which version, what they asked for without being
//! told what became of it, and what they read at which version. When they have ended, everything is
//! replayed on a model, version by version. Every version is somebody's: those that no writer was
//! told of are the changes of the catalog, whose versions nobody is told and which one thread makes
//! one after another, and, after a crash, some of those whose outcome is open.

use std::collections::{BTreeMap, BTreeSet};

use pelorus_store::{Outcome, TableId, Version};

use crate::catalog::NEW;
use crate::model::{Change, Seen, State};

/// A commit that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) changes: Vec<Change>,
    /// The version that it was computed from.
    pub(crate) seen: Option<Version>,
    /// What each change did, if it is known.
    pub(crate) outcomes: Option<Vec<Outcome>>,
    /// It was acknowledged before it was durable.
    pub(crate) soon: bool,
}

/// Something that was read.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) version: Version,
    pub(crate) table: TableId,
    pub(crate) seen: Seen,
}

/// What happened since a known state.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) begin: Version,
    pub(crate) state: State,
    /// Tables whose values of `v` together never change.
    pub(crate) bank: Vec<TableId>,
    /// Commits by their versions.
    pub(crate) commits: BTreeMap<Version, Asked>,
    /// Changes of the catalog, in order.
    pub(crate) catalog: Vec<Asked>,
    /// Commits that may be there or not.
    pub(crate) open: Vec<Asked>,
    pub(crate) reads: Vec<Read>,
}

/// What is found in the end: the newest version, and everything there is then.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) version: Version,
    pub(crate) state: State,
}

impl History {
    pub(crate) fn note(&mut self, version: Version, asked: Asked) {
        if let Some(other) = self.commits.insert(version, asked) {
            panic!("version {version} is also that of {other:?}");
        }
    }

    /// Finds out the number of a table of which nobody was told that it was made.
    pub(crate) fn resolve(&mut self, found: &Found) {
        let made = |asked: &Asked| {
            asked.changes.iter().find_map(|it| match it {
                Change::Create { table } => Some(*table),
                _ => None,
            })
        };
        let known: BTreeSet<TableId> = self.catalog.iter().filter_map(made).collect();
        let is_new = |id: &&TableId| !known.contains(id) && !self.state.tables.contains_key(id);
        let Some(id) = found.state.tables.keys().find(is_new) else { return };
        for change in self.open.iter_mut().flat_map(|asked| &mut asked.changes) {
            if let Change::Create { table } = change {
                assert_eq!(std::mem::replace(table, *id), NEW);
            }
        }
    }

    /// Requires that some order explains everything.
    pub(crate) fn check(&self, found: &Found) {
        let read = self.reads.iter().map(|read| read.version).max().unwrap_or(0);
        let known = self.commits.last_key_value().map_or(0, |(version, _)| *version);
        let last = found.version.max(read).max(known).max(self.begin);
        let gaps: Vec<Version> =
            (self.begin + 1..=last).filter(|it| !self.commits.contains_key(it)).collect();
        let Some(open) = gaps.len().checked_sub(self.catalog.len()) else {
            panic!("of {} changes of the catalog only {gaps:?} are there", self.catalog.len());
        };
        assert!(open <= self.open.len(), "nobody asked for one of the versions {gaps:?}");
        self.check_durable(found.version, &gaps);
        let mut complaints = Vec::new();
        for order in orders(self.open.len(), open) {
            let open = order.iter().map(|&at| &self.open[at]);
            let filling: Vec<&Asked> = self.catalog.iter().chain(open).collect();
            let filled: BTreeMap<Version, &Asked> = gaps.iter().copied().zip(filling).collect();
            match self.replay(last, &filled, found) {
                Ok(()) => return,
                Err(complaint) => complaints.push(complaint),
            }
        }
        complaints.dedup();
        panic!("nothing explains what was found: {}", complaints.join("\nor "));
    }

    /// What was acknowledged as durable is there.
    fn check_durable(&self, version: Version, gaps: &[Version]) {
        for (lost, asked) in self.commits.range(version + 1..) {
            assert!(asked.soon, "version {lost} is lost, {version} is the last: {asked:?}");
        }
        let lost = gaps[..self.catalog.len()].iter().find(|it| **it > version);
        assert_eq!(lost, None, "a change of the catalog is lost, {version} is the last");
    }

    /// Replays everything up to a version.
    fn replay(
        &self,
        last: Version,
        filled: &BTreeMap<Version, &Asked>,
        found: &Found,
    ) -> Result<(), String> {
        let mut state = self.state.clone();
        let mut reads: BTreeMap<Version, Vec<&Read>> = BTreeMap::new();
        for read in &self.reads {
            reads.entry(read.version).or_default().push(read);
        }
        let money = state.money(&self.bank);
        for version in self.begin..=last {
            if version > self.begin {
                let asked = self.commits.get(&version).or(filled.get(&version).copied());
                let asked = asked.ok_or_else(|| format!("nobody made version {version}"))?;
                state.apply(version, asked)?;
            }
            if state.money(&self.bank) != money {
                return Err(format!("at version {version} the money is another"));
            }
            for read in reads.remove(&version).unwrap_or_default() {
                let seen = state.check(read.table, &read.seen);
                seen.map_err(|it| format!("at version {version}, {:?}: {it}", read.table))?;
            }
            if version == found.version {
                let same = state.same(&found.state);
                same.map_err(|it| format!("what is found at version {version}: {it}"))?;
            }
        }
        match reads.keys().next() {
            Some(early) => Err(format!("version {early} was read, which is before this")),
            None => Ok(()),
        }
    }
}

/// All ways to take so many of some things one after another.
fn orders(of: usize, count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        let longer = all.iter().flat_map(|order: &Vec<usize>| {
            let taken: BTreeSet<usize> = order.iter().copied().collect();
            let rest = (0..of).filter(move |it| !taken.contains(it));
            rest.map(|next| [order.as_slice(), &[next]].concat()).collect::<Vec<_>>()
        });
        all = longer.collect();
    }
    all
}

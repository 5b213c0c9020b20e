//! Delete marks: the dead rows of a part, and the version since which each is dead.
//!
//! Rows are immutable; a deletion or an update of a row marks it dead from a version on. A part
//! stores the marks as a log ordered by version on top of a bitmap of everything older, and
//! additionally a bitmap of all marks for readers of the newest state. Marks are never removed, and
//! a row is marked once.

use std::sync::Arc;

use pelorus_env::sync::RwLock;

use crate::catalog::schema::Version;

/// A set of rows of one part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mask {
    words: Vec<u64>,
    count: usize,
}

impl Mask {
    pub(crate) fn contains(&self, row: u32) -> bool {
        let word = self.words.get(row as usize / 64).copied().unwrap_or(0);
        word >> (row % 64) & 1 == 1
    }

    /// Adds a row; whether it was new.
    pub(crate) fn insert(&mut self, row: u32) -> bool {
        let (at, bit) = (row as usize / 64, 1 << (row % 64));
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        let is_new = self.words[at] & bit == 0;
        self.words[at] |= bit;
        self.count += usize::from(is_new);
        is_new
    }

    /// How many rows are in it.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The words, 64 rows each, least significant bit first; rows beyond them are not in it.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The rows in it, rising.
    pub(crate) fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        let words = (0_u32..).step_by(64).zip(&self.words).filter(|(_, word)| **word != 0);
        words.flat_map(|(first, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < u64::BITS).then_some(first + bit)
            })
        })
    }
}

/// The marks of one part.
#[derive(Debug, Default)]
pub(crate) struct Deletes(RwLock<Inner>);

#[derive(Clone, Debug, Default)]
struct Inner {
    /// Rows dead since a version below which no snapshot reads any more.
    base: Arc<Mask>,
    /// The version that `base` holds up to.
    base_version: Version,
    /// Versions of the log, each with the end of its rows in `rows`.
    runs: Vec<(Version, usize)>,
    rows: Vec<u32>,
    /// All marks.
    current: Arc<Mask>,
}

impl Deletes {
    /// Marks from a manifest: a base and the log above it. What the log has up to the base version
    /// belongs to the base: a few rows take less there than words.
    pub(crate) fn restore(mut base: Mask, base_version: Version, log: &[(Version, u32)]) -> Self {
        let (below, above) =
            log.split_at(log.partition_point(|(version, _)| *version <= base_version));
        for (_, row) in below {
            base.insert(*row);
        }
        let base = Arc::new(base);
        let inner = Inner { current: Arc::clone(&base), base, base_version, ..Inner::default() };
        let this = Self(RwLock::new(inner));
        for &(version, row) in above {
            this.mark(version, &[row]);
        }
        this
    }

    /// Marks rows dead from a version on, which is not below that of earlier marks.
    pub(crate) fn mark(&self, version: Version, rows: &[u32]) {
        if rows.is_empty() {
            return;
        }
        let inner = &mut *self.0.write();
        let current = Arc::make_mut(&mut inner.current);
        let news = rows.iter().copied().filter(|row| current.insert(*row));
        inner.rows.extend(news);
        let end = inner.rows.len();
        match inner.runs.last_mut() {
            Some((last, last_end)) if *last == version => *last_end = end,
            _ => inner.runs.push((version, end)),
        }
    }

    /// The rows that are dead at a version.
    pub(crate) fn at(&self, version: Version) -> Arc<Mask> {
        let inner = self.0.read();
        if inner.runs.last().is_none_or(|(last, _)| *last <= version) {
            return Arc::clone(&inner.current);
        }
        let below = inner.runs.partition_point(|(it, _)| *it <= version);
        let Some((_, end)) = below.checked_sub(1).and_then(|at| inner.runs.get(at)) else {
            return Arc::clone(&inner.base);
        };
        let mut mask = Mask::clone(&inner.base);
        for &row in &inner.rows[..*end] {
            mask.insert(row);
        }
        Arc::new(mask)
    }

    /// The newest version that marked a row.
    pub(crate) fn last(&self) -> Version {
        let inner = self.0.read();
        inner.runs.last().map_or(inner.base_version, |(version, _)| *version)
    }

    /// Whether a row is dead in the newest state.
    pub(crate) fn contains(&self, row: u32) -> bool {
        self.0.read().current.contains(row)
    }

    /// How many rows are dead in the newest state.
    pub(crate) fn count(&self) -> usize {
        self.0.read().current.count()
    }

    /// How many rows died at or below a version.
    pub(crate) fn count_at(&self, version: Version) -> usize {
        let inner = self.0.read();
        let below = inner.runs.partition_point(|(it, _)| *it <= version);
        let end = below.checked_sub(1).map_or(0, |at| inner.runs[at].1);
        inner.base.count() + end
    }

    /// Forgets when rows died at or below a version, below which no snapshot reads any more.
    pub(crate) fn fold(&self, horizon: Version) {
        let inner = &mut *self.0.write();
        let below = inner.runs.partition_point(|(it, _)| *it <= horizon);
        inner.base_version = inner.base_version.max(horizon);
        let Some(&(_, end)) = below.checked_sub(1).and_then(|at| inner.runs.get(at)) else {
            return;
        };
        let base = Arc::make_mut(&mut inner.base);
        for row in inner.rows.drain(..end) {
            base.insert(row);
        }
        inner.runs.drain(..below);
        for (_, rest) in &mut inner.runs {
            *rest -= end;
        }
    }

    /// How many rows of the log died at or below a version.
    pub(crate) fn history_at(&self, version: Version) -> usize {
        let inner = self.0.read();
        let below = inner.runs.partition_point(|(it, _)| *it <= version);
        below.checked_sub(1).map_or(0, |at| inner.runs[at].1)
    }

    /// The rows whose time of death is no longer known.
    pub(crate) fn base(&self) -> Arc<Mask> {
        Arc::clone(&self.0.read().base)
    }

    /// All rows that are dead at a version, and the version below which that tells nothing: an image
    /// without a log.
    pub(crate) fn image_without_history(&self, up_to: Version) -> (Arc<Mask>, Version) {
        // First, since it may rise meanwhile, with what the base holds.
        let base_version = self.0.read().base_version;
        (self.at(up_to), base_version.max(up_to))
    }

    /// The base, its version, and the log up to a version, in order.
    pub(crate) fn image(&self, up_to: Version) -> (Arc<Mask>, Version, Vec<(Version, u32)>) {
        let inner = self.0.read();
        let mut log = Vec::new();
        let mut begin = 0;
        for &(version, end) in inner.runs.iter().take_while(|(version, _)| *version <= up_to) {
            log.extend(inner.rows[begin..end].iter().map(|&row| (version, row)));
            begin = end;
        }
        (Arc::clone(&inner.base), inner.base_version, log)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_version_from_the_horizon_on_can_be_read(
            commits in prop::collection::vec(prop::collection::btree_set(0_u32..300, 0..20), 1..30),
            fold_after in 0_usize..30,
        ) {
            let deletes = Deletes::default();
            let mut died = BTreeMap::new();
            let mut horizon = 0;
            for (at, rows) in commits.iter().enumerate() {
                let version = at as Version + 1;
                let news: Vec<u32> =
                    rows.iter().copied().filter(|row| !died.contains_key(row)).collect();
                deletes.mark(version, &news);
                died.extend(news.into_iter().map(|row| (row, version)));
                if at == fold_after {
                    horizon = version / 2;
                    deletes.fold(horizon);
                }
            }
            let last = commits.len() as Version;
            for version in horizon..=last + 1 {
                let mask = deletes.at(version);
                for row in 0..310 {
                    let expected = died.get(&row).is_some_and(|since| *since <= version);
                    prop_assert_eq!(mask.contains(row), expected);
                }
                prop_assert_eq!(mask.count(), deletes.count_at(version));
                let (base, base_version, log) = deletes.image(version);
                let copy = Deletes::restore(Mask::clone(&base), base_version, &log);
                prop_assert_eq!(&*copy.at(version), &*mask);
                prop_assert_eq!(deletes.history_at(version), log.len());
                let (base, base_version) = deletes.image_without_history(version);
                prop_assert_eq!((&*base, base_version), (&*mask, version));
            }
        }
    }

    #[test]
    fn a_reader_keeps_the_mask_that_it_took() {
        let deletes = Deletes::default();
        deletes.mark(1, &[3]);
        let before = deletes.at(1);
        deletes.mark(2, &[4]);
        assert!(before.contains(3) && !before.contains(4));
        assert_eq!(deletes.at(2).count(), 2);
    }
}

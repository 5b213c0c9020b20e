//! The column cache: encoded columns of chunks in memory, within a budget of bytes.
//!
//! Every chunk has a table of its columns that are in memory ([`Resident`]): a hit needs no
//! look-up, however many chunks there are, and the table is locked once for all columns of a row.
//! The cache itself is a ring of the entries of all tables, from which entries are evicted when the
//! budget is exceeded.
//!
//! Replacement is CLOCK with a second chance (F. J. Corbató, "A paging experiment with the Multics
//! system", 1968): a hit sets a bit and moves nothing; the hand clears bits until it finds an entry
//! that has not been used since its last visit. In this implementation the hand is fixed and the
//! ring turns.
//!
//! Lock order: the ring, then a table. A hit takes the lock of its table only.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use pelorus_chunk::Column;
use pelorus_env::Account;
use pelorus_env::sync::{Mutex, RwLock};
use pelorus_error::Result;

/// With so few entries it is not worth looking for those of chunks that are gone.
const FEW: usize = 1024;

/// The cache that all tables share.
#[derive(Debug)]
pub(crate) struct Cache {
    /// Bytes that the columns of all tables may have.
    budget: usize,
    /// Bytes that they have.
    bytes: Account,
    ring: Mutex<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    /// Columns by table and position, in the order in which they are looked at.
    entries: VecDeque<(Weak<Resident>, usize)>,
    /// With so many entries it is time to look for those of chunks that are gone.
    full: usize,
}

/// Columns by their positions; those that are not in memory are missing.
pub(crate) type Columns = [Option<Arc<Column>>];

/// The columns of one chunk that are in memory.
#[derive(Debug)]
pub(crate) struct Resident {
    cache: Arc<Cache>,
    /// Replaced as a whole.
    columns: RwLock<Arc<Columns>>,
    /// The columns that were used since the last pass of the hand.
    used: Box<[AtomicBool]>,
}

impl Resident {
    /// No columns yet, of so many.
    pub(crate) fn new(cache: Arc<Cache>, columns: usize) -> Arc<Self> {
        Arc::new(Self {
            cache,
            columns: RwLock::new(vec![None; columns].into()),
            used: (0..columns).map(|_| AtomicBool::new(false)).collect(),
        })
    }

    /// Columns by their positions, from memory or from a function that reads them. The result has
    /// all of them, whatever the cache drops meanwhile.
    ///
    /// # Errors
    /// Errors of reading.
    ///
    /// # Panics
    /// If a position is outside.
    pub(crate) fn get_or_read(
        self: &Arc<Self>,
        positions: impl Iterator<Item = usize> + Clone,
        read: impl Fn(usize) -> Result<Column>,
    ) -> Result<Arc<Columns>> {
        let mut columns = Arc::clone(&self.columns.read());
        for position in positions.clone().filter(|&it| columns[it].is_some()) {
            // Ordering: a lost hint costs a read at worst. A bit that is set is not set again, so
            // that many processors can have its memory in their caches.
            if !self.used[position].load(Ordering::Relaxed) {
                self.used[position].store(true, Ordering::Relaxed);
            }
        }
        let mut own = Vec::new();
        while let Some(missing) = positions.clone().find(|&it| columns[it].is_none()) {
            // A released table may be changed in place.
            drop(columns);
            let column = Arc::new(read(missing)?);
            self.cache.insert(self, missing, &column);
            own.push((missing, column));
            columns = Arc::clone(&self.columns.read());
            for (position, column) in &own {
                if columns[*position].is_none() {
                    Arc::make_mut(&mut columns)[*position] = Some(Arc::clone(column));
                }
            }
        }
        Ok(columns)
    }

    /// Whether a column is in memory; one that is outside is not.
    pub(crate) fn has(&self, position: usize) -> bool {
        self.columns.read().get(position).is_some_and(Option::is_some)
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        let bytes: usize = self.columns.get_mut().iter().flatten().map(|it| it.memory()).sum();
        self.cache.bytes.shrink(bytes);
    }
}

impl Cache {
    /// No columns yet; their bytes are counted by an account.
    pub(crate) fn new(budget: usize, bytes: Account) -> Self {
        Self { budget, bytes, ring: Mutex::default() }
    }

    /// Enters a column into its table, unless another thread has done so meanwhile.
    fn insert(&self, table: &Arc<Resident>, position: usize, column: &Arc<Column>) {
        let bytes = column.memory();
        if bytes > self.budget {
            // It would drive everything else out.
            return;
        }
        let mut ring = self.ring.lock();
        if table.columns.read()[position].is_some() {
            return;
        }
        let dropped = self.make_room(&mut ring, bytes);
        Arc::make_mut(&mut *table.columns.write())[position] = Some(Arc::clone(column));
        self.bytes.grow(bytes);
        ring.push(table, position);
        // Memory is given back without the lock.
        drop(ring);
        drop(dropped);
    }

    /// Takes columns out of their tables until there is room for so many bytes, if possible.
    fn make_room(&self, ring: &mut Ring, bytes: usize) -> Vec<Arc<Column>> {
        let mut dropped = Vec::new();
        // Two rounds clear every bit, unless others set them again.
        for _ in 0..ring.entries.len() * 2 {
            if self.bytes.held() + bytes <= self.budget {
                break;
            }
            let Some((weak, position)) = ring.entries.pop_front() else { break };
            let Some(table) = weak.upgrade() else { continue };
            if table.used[position].swap(false, Ordering::Relaxed) {
                ring.entries.push_back((weak, position));
            } else if let Some(column) = Arc::make_mut(&mut *table.columns.write())[position].take()
            {
                self.bytes.shrink(column.memory());
                dropped.push(column);
            }
        }
        dropped
    }

    /// Bytes held.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.held()
    }
}

impl Ring {
    fn push(&mut self, table: &Arc<Resident>, position: usize) {
        if self.entries.len() >= self.full.max(FEW) {
            self.entries.retain(|(table, _)| table.strong_count() > 0);
            self.full = self.entries.len() * 2;
        }
        self.entries.push_back((Arc::downgrade(table), position));
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};
    use arrow::buffer::Buffer;
    use pelorus_chunk::encode;
    use pelorus_error::Error;

    use super::*;

    fn column() -> Column {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values((0..4096).map(|it| it * it)));
        let chunk = encode(&[values]).unwrap();
        chunk.meta.column(&Buffer::from_vec(chunk.bytes), 0).unwrap()
    }

    fn fail(_: usize) -> Result<Column> {
        Err(Error::internal("read"))
    }

    #[test]
    fn the_budget_holds_and_what_is_used_stays() {
        let size = column().memory();
        let cache = Arc::new(Cache::new(size * 64, Account::unlimited()));
        let hot = Resident::new(Arc::clone(&cache), 1);
        hot.get_or_read(0..1, |_| Ok(column())).unwrap();
        let tables: Vec<_> = (0..1000).map(|_| Resident::new(Arc::clone(&cache), 3)).collect();
        for table in &tables {
            let columns = table.get_or_read([2, 0].into_iter(), |_| Ok(column())).unwrap();
            assert!(columns[0].is_some() && columns[1].is_none() && columns[2].is_some());
            // Asked for all the time, so never dropped.
            hot.get_or_read(0..1, fail).unwrap();
            assert!(cache.bytes() <= size * 64);
        }
        tables[999].get_or_read([0, 2].into_iter(), fail).unwrap();
        tables[0].get_or_read(0..1, fail).unwrap_err();
        drop(tables);
        assert_eq!(cache.bytes(), size);
        drop(hot);
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn a_result_has_all_columns_even_if_none_of_them_has_room() {
        let size = column().memory();
        for budget in [0, size, size * 2] {
            let cache = Arc::new(Cache::new(budget, Account::unlimited()));
            let table = Resident::new(Arc::clone(&cache), 5);
            for _ in 0..3 {
                let columns = table.get_or_read(0..5, |_| Ok(column())).unwrap();
                assert!(columns.iter().all(Option::is_some));
                assert!(cache.bytes() <= budget);
            }
        }
    }

    #[test]
    fn entries_of_chunks_that_are_gone_do_not_pile_up() {
        let cache = Arc::new(Cache::new(usize::MAX, Account::unlimited()));
        let one = column();
        let kept = Resident::new(Arc::clone(&cache), 1);
        kept.get_or_read(0..1, |_| Ok(one.clone())).unwrap();
        for _ in 0..10 * FEW {
            let table = Resident::new(Arc::clone(&cache), 1);
            table.get_or_read(0..1, |_| Ok(one.clone())).unwrap();
        }
        assert!(cache.ring.lock().entries.len() <= FEW);
        assert_eq!(cache.bytes(), one.memory());
    }

    #[test]
    fn many_threads_see_their_columns_and_the_bytes_add_up() {
        let one = column();
        let cache = Arc::new(Cache::new(one.memory() * 7, Account::unlimited()));
        let tables: Vec<_> = (0..6).map(|_| Resident::new(Arc::clone(&cache), 3)).collect();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (tables, one) = (&tables, &one);
                scope.spawn(move || {
                    for step in 0..2000 {
                        let table = &tables[(step * (thread + 1) + step / 7) % tables.len()];
                        let columns = table.get_or_read(0..3, |_| Ok(one.clone())).unwrap();
                        assert!(columns.iter().all(Option::is_some));
                    }
                });
            }
        });
        let held = |table: &Arc<Resident>| table.columns.read().iter().flatten().count();
        let all: usize = tables.iter().map(held).sum();
        assert_eq!(cache.bytes(), all * one.memory());
        assert_eq!(cache.ring.lock().entries.len(), all);
        assert!((1..=7).contains(&all));
    }
}

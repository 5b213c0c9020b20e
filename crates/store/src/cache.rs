//! Encoded columns of chunks in memory, within a budget of bytes.
//!
//! Replacement is CLOCK with a second chance (F. J. Corbató, "A paging experiment with the Multics
//! system", 1968): a hit sets a bit and moves nothing; the hand clears bits until it finds an entry
//! that nobody has asked for since its last visit. The cache is cut into shards by key, so that
//! scans on several cores seldom meet.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use pelorus_chunk::Column;
use pelorus_env::sync::RwLock;
use pelorus_error::Result;

const SHARDS: usize = 16;

/// File, block and column; `u32::MAX` stands for no column.
pub(crate) type CacheKey = (u64, u64, u32);

/// A cache of parsed columns.
#[derive(Debug)]
pub(crate) struct Cache {
    shards: Vec<RwLock<Shard>>,
    /// Bytes that each shard may hold.
    budget: AtomicUsize,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    places: HashMap<CacheKey, usize>,
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    hand: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    key: CacheKey,
    column: Arc<Column>,
    bytes: usize,
    used: AtomicBool,
}

impl Cache {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            budget: AtomicUsize::new(budget / SHARDS),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// A column from the cache, or from a function that reads it.
    pub(crate) fn get_or_read(
        &self,
        key: CacheKey,
        read: impl FnOnce() -> Result<Column>,
    ) -> Result<Arc<Column>> {
        let shard = &self.shards[shard_of(key)];
        {
            let shard = shard.read();
            let place = shard.places.get(&key).and_then(|&at| shard.entries[at].as_ref());
            if let Some(entry) = place {
                // Ordering: a lost hint costs a read at worst.
                entry.used.store(true, Ordering::Relaxed);
                self.hits.fetch_add(1, Ordering::Relaxed);
                return Ok(Arc::clone(&entry.column));
            }
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let column = Arc::new(read()?);
        shard.write().insert(key, Arc::clone(&column), self.budget.load(Ordering::Relaxed));
        Ok(column)
    }

    /// Forgets the columns of a block that is gone.
    pub(crate) fn forget(&self, file: u64, block: u64, columns: usize) {
        for column in 0..u32::try_from(columns).unwrap_or(u32::MAX) {
            let key = (file, block, column);
            self.shards[shard_of(key)].write().remove(key);
        }
    }

    /// Bytes held.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().bytes).sum()
    }

    /// Hits and misses since the start.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }
}

fn shard_of((file, block, column): CacheKey) -> usize {
    let mixed = (file << 40 ^ block << 12 ^ u64::from(column)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 60) as usize % SHARDS
}

impl Shard {
    fn insert(&mut self, key: CacheKey, column: Arc<Column>, budget: usize) {
        let bytes = column.memory();
        if self.places.contains_key(&key) || bytes > budget {
            // Somebody else read it meanwhile, or it would drive everything else out.
            return;
        }
        while self.bytes + bytes > budget && self.evict() {}
        let entry = Entry { key, column, bytes, used: AtomicBool::new(false) };
        let at = match self.free.pop() {
            Some(at) => {
                self.entries[at] = Some(entry);
                at
            }
            None => {
                self.entries.push(Some(entry));
                self.entries.len() - 1
            }
        };
        self.places.insert(key, at);
        self.bytes += bytes;
    }

    /// Drops the next entry without a second chance; whether there was one.
    fn evict(&mut self) -> bool {
        // Two rounds clear every bit.
        for _ in 0..self.entries.len() * 2 {
            let at = self.hand;
            self.hand = (self.hand + 1) % self.entries.len();
            let Some(entry) = &self.entries[at] else { continue };
            if !entry.used.swap(false, Ordering::Relaxed) {
                let key = entry.key;
                self.remove(key);
                return true;
            }
        }
        false
    }

    fn remove(&mut self, key: CacheKey) {
        let Some(at) = self.places.remove(&key) else { return };
        if let Some(entry) = self.entries[at].take() {
            self.bytes -= entry.bytes;
            self.free.push(at);
        }
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

    #[test]
    fn the_budget_holds_and_what_is_used_stays() {
        let size = column().memory();
        let cache = Cache::new(size * 4 * SHARDS);
        let fail = || Err(Error::internal("read"));
        for block in 0..1000 {
            cache.get_or_read((1, block, 0), || Ok(column())).unwrap();
            // Asked for all the time, so never dropped.
            cache.get_or_read((1, 0, 0), fail).unwrap();
            assert!(cache.bytes() <= size * 4 * SHARDS);
        }
        assert_eq!(cache.counts(), (1000, 1000));
        cache.forget(1, 0, 1);
        cache.get_or_read((1, 0, 0), fail).unwrap_err();
    }
}

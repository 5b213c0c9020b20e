//! A cache of recent answers of a server (descriptions, estimates), for a short time.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::time::Duration;

use parking_lot::Mutex;
use pelorus_env::Env;

/// For so long an answer is taken as it is.
const FRESH_FOR: Duration = Duration::from_secs(5);
/// For so long an answer is still returned while a new one is fetched in the background.
const USABLE_FOR: Duration = Duration::from_secs(60);
/// Above this many entries all are forgotten: queries with ever new literals would fill memory.
const MOST: usize = 2000;

/// Answers by question, for a short time.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    env: Env,
    state: Mutex<State<K, V>>,
}

#[derive(Debug)]
struct State<K, V> {
    entries: HashMap<K, (V, Duration)>,
    refreshing: HashSet<K>,
    /// Counts how often the cache was cleared: answers of earlier requests do not count.
    epoch: u64,
}

/// The result of a look-up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<V> {
    /// Take it.
    Fresh(V),
    /// Use it, and fetch a new one: no other caller does.
    Stale(V),
    /// Nothing is known.
    Nothing,
}

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    pub(crate) fn new(env: Env) -> Self {
        let state = State { entries: HashMap::new(), refreshing: HashSet::new(), epoch: 0 };
        Self { env, state: Mutex::new(state) }
    }

    pub(crate) fn find(&self, key: &K) -> Found<V> {
        let now = self.env.clock.monotonic();
        let mut state = self.state.lock();
        let Some((value, at)) = state.entries.get(key) else { return Found::Nothing };
        let age = now.saturating_sub(*at);
        let value = value.clone();
        if age <= FRESH_FOR {
            Found::Fresh(value)
        } else if age > USABLE_FOR {
            Found::Nothing
        } else if state.refreshing.insert(key.clone()) {
            Found::Stale(value)
        } else {
            Found::Fresh(value)
        }
    }

    /// Only answers that are fresh.
    pub(crate) fn fresh(&self, key: &K) -> Option<V> {
        let now = self.env.clock.monotonic();
        let state = self.state.lock();
        let (value, at) = state.entries.get(key)?;
        (now.saturating_sub(*at) <= FRESH_FOR).then(|| value.clone())
    }

    /// The epoch, which must be read before fetching and passed to [`Self::put`].
    pub(crate) fn epoch(&self) -> u64 {
        self.state.lock().epoch
    }

    /// Stores an answer, or notes that there is none any more.
    pub(crate) fn put(&self, key: K, value: Option<V>, epoch: u64) {
        let now = self.env.clock.monotonic();
        let mut state = self.state.lock();
        state.refreshing.remove(&key);
        if state.epoch != epoch {
            return;
        }
        match value {
            Some(value) => {
                if state.entries.len() >= MOST {
                    state.entries.clear();
                }
                state.entries.insert(key, (value, now));
            }
            None => {
                state.entries.remove(&key);
            }
        }
    }

    pub(crate) fn clear(&self) {
        let mut state = self.state.lock();
        state.entries.clear();
        state.refreshing.clear();
        state.epoch += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_from_before_a_change_are_not_kept() {
        let cache = Cache::new(Env::in_memory(1));
        let epoch = cache.epoch();
        cache.clear();
        cache.put("t", Some(1), epoch);
        assert_eq!(cache.find(&"t"), Found::Nothing);
        cache.put("t", Some(2), cache.epoch());
        assert_eq!(cache.find(&"t"), Found::Fresh(2));
        cache.put("t", None, cache.epoch());
        assert_eq!(cache.find(&"t"), Found::Nothing);
    }
}

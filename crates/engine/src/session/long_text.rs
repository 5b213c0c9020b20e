//! Reading of long texts, which can be stopped and whose trees count as memory.

use pelorus_env::{StageMemory, blocking, check_stage_memory};
use pelorus_error::{Error, Result};
use pelorus_result::kill::Stop;

/// Reads a text, and stops when that is requested or its tree has no more memory; away from the
/// threads that serve others where the text is long. The tree counts as long as `memory` is there.
pub(crate) fn read_long<T>(
    sql: &str,
    stop: &Stop,
    memory: &StageMemory,
    read: impl FnOnce() -> T,
) -> Result<T> {
    /// A text of so many bytes takes about a millisecond.
    const LONG: usize = 64 << 10;
    if sql.len() < LONG {
        return Ok(read());
    }
    let stop = stop.clone();
    let stops = move || stop.is_asked() || check_stage_memory().is_err();
    let read = blocking(|| memory.count(|| pelorus_sql::stop::unless(stops, read)));
    read.map_err(|stopped| match memory.refused() {
        Some(refused) => Error::out_of_memory(refused),
        None => stopped,
    })
}

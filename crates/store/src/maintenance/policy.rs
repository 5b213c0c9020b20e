//! The maintenance policy: thresholds of rows in memory, dead rows and unused blocks, and the
//! choice of chunks to compact.

use std::sync::Arc;
use std::time::Duration;

use pelorus_blockfile::Usage;

use crate::catalog::schema::Version;
use crate::compaction::CHUNK_BYTES;
use crate::partition::part::Part;
use crate::table::Table;

/// The share of dead rows, in thousandths, from which on a chunk is merged: when the table is idle,
/// and while rows are written to a partition that has many dead rows, or few. The fewer dead rows a
/// chunk has, the more live ones are written for each that goes.
const GARBAGE_IDLE: u64 = 63;
const GARBAGE_MANY: u64 = 80;
const GARBAGE_FEW: u64 = 300;

/// From this share of its rows on a partition has many dead ones.
const MANY: u64 = 90;

/// A table is idle after so long without a write.
pub(super) const IDLE_MICROS: u64 = 1_000_000;

/// From this share of dead rows in a partition on writers wait, at the second twice as long for each
/// row as is given here.
const GARBAGE_SLOW: u64 = 90;
const GARBAGE_FULL: u64 = 145;

/// From this share of their budget on that rows in memory take writers wait likewise, so that they
/// are never stopped for long; early, so that a load has the speed that it can keep from its
/// beginning on. What is in memory goes into every checkpoint, too. It is above the threshold at
/// which partitions are flushed in any case, so that a waiting writer waits for a running flush.
const MEMORY_SLOW: u64 = 250;
const MEMORY_FULL: u64 = 1000;

/// Above so many bytes of rows in memory, of a budget, the largest partitions are flushed whatever
/// is in them, and until there are no more than the second.
pub(super) fn memory_to_flush(budget: usize) -> (usize, usize) {
    (budget / 16 * 3, budget / 32 * 3)
}

/// How long writers wait for each row at the full share of memory.
const WAIT_FULL: Duration = Duration::from_micros(4);

/// Rows below which a chunk is small.
#[expect(clippy::cast_possible_truncation, reason = "both limits are small")]
const SMALL: u32 = crate::limit(32_768, 16) as u32;

/// So many small chunks of a partition are merged.
const SMALL_MANY: usize = 4;

/// Most chunks that one merge reads.
const MERGE_MOST: usize = crate::limit(8, 2);

/// About how many bytes of rows one merge takes at a time, at least one part. Arrow's offsets have
/// 31 bits.
pub(super) const MERGE_BYTES: u64 = 512 << 20;

/// The same for a flush, which gives their memory back at its end.
pub(super) const FLUSH_BYTES: u64 = 128 << 20;

/// So many deltas of a partition are flushed, whatever is in them: each takes a slot.
pub(crate) const DELTAS_MANY: usize = 24;

/// Bytes of a file that may be wasted, however small the table is.
const WASTE_BYTES: u64 = crate::limit(32 << 20, 16 << 10) as u64;

/// A data file grows that has had more blocks than ever before within so long.
const GROWING_MICROS: u64 = crate::limit(5_000_000, 1000) as u64;

/// Between checkpoints that only give space back.
pub(super) const WASTE_MICROS: u64 = 250_000;

/// Whether a data file has so much garbage that a checkpoint is worth its cost: writing the
/// manifest and the rows since the last one.
pub(crate) fn has_waste(table: &Table) -> bool {
    is_waste(table.file.blocks.usage(), table.file.manifest_bytes(), WASTE_BYTES)
}

/// Each checkpoint retires the manifest before it, however little else: one that were due because of
/// that would make the next one due.
fn is_waste(usage: Usage, manifest: u64, least: u64) -> bool {
    usage.retired > (usage.live / 40).max(least).max(manifest * 2)
}

/// Whether an idle data file has more garbage than is worth keeping.
pub(crate) fn holds_more(table: &Table) -> bool {
    is_waste(table.file.blocks.usage(), table.file.manifest_bytes(), WASTE_BYTES / 32)
}

/// Whether blocks from the end of the file should move into the holes before them. A table that
/// grows, as one does that is loaded, will soon have filled them with new ones.
pub(crate) fn has_holes(table: &Table, now: u64) -> bool {
    let usage = table.file.blocks.usage();
    let holes = usage.length.saturating_sub(usage.live + usage.retired);
    holes > (usage.live / 16).max(WASTE_BYTES)
        && table.file.not_grown(now) > GROWING_MICROS
        && !table.file.is_settled(usage.length)
}

/// The deltas among parts.
pub(super) fn deltas(parts: &[Arc<Part>]) -> Vec<Arc<Part>> {
    parts.iter().filter(|part| part.delta().is_some()).cloned().collect()
}

/// How many parts from the first on take no more than so many bytes together.
pub(super) fn within(parts: &[Arc<Part>], most: u64, bytes: impl Fn(&Arc<Part>) -> u64) -> usize {
    let mut sum = 0_u64;
    let fits = |part: &&Arc<Part>| {
        sum = sum.saturating_add(bytes(part));
        sum <= most
    };
    parts.iter().take_while(fits).count()
}

/// How many rows are dead but can still be read, and about how many bytes they take.
pub(super) fn readable_dead(table: &Table, horizon: Version) -> (usize, u64) {
    /// The default size of a row, if it is unknown.
    const ROW_BYTES: u64 = 64;
    /// The size of each mark in the manifest, however short the row is.
    const MARK_BYTES: u64 = 12;
    let (mut all, mut bytes) = (0, 0_u64);
    for partition in table.partitions().iter() {
        for part in partition.parts().iter() {
            let rows = part.deletes.count().saturating_sub(part.deletes.count_at(horizon));
            let each = match part.chunk() {
                Some(chunk) if chunk.rows() > 0 => chunk.at.meta_at / u64::from(chunk.rows()),
                _ => ROW_BYTES,
            };
            all += rows;
            bytes += rows as u64 * each.max(MARK_BYTES);
        }
    }
    (all, bytes)
}

/// The share of dead rows in the chunks of a partition, in thousandths. A few do not count.
pub(super) fn garbage_of(parts: &[Arc<Part>], horizon: Version) -> u64 {
    let chunks = parts.iter().filter(|part| part.chunk().is_some());
    let (rows, dead) = chunks.fold((0, 0), |(rows, dead), part| {
        (rows + u64::from(part.rows()), dead + part.deletes.count_at(horizon) as u64)
    });
    if dead < crate::CHUNK_ROWS_MAX as u64 { 0 } else { dead * 1000 / rows }
}

/// The number of rows in memory from which a partition is flushed: if the table is idle, so many
/// that they are worth a chunk.
pub(super) fn flush_from(while_written: usize, is_idle: bool) -> usize {
    if is_idle { while_written.min(crate::CHUNK_ROWS_MAX / 2) } else { while_written }
}

/// The share of dead rows, in thousandths, from which on a chunk of a partition is merged.
pub(super) fn merge_from(of_partition: u64, is_idle: bool) -> u64 {
    match (is_idle, of_partition >= MANY) {
        (true, _) => GARBAGE_IDLE,
        (false, true) => GARBAGE_MANY,
        (false, false) => GARBAGE_FEW,
    }
}

/// How long a writer of so many rows waits for merging, by the share of dead rows in thousandths.
///
/// By its square: merging begins late after a burst of writes, and a file that has grown by then
/// stays large for long. In a steady state writers wait on average as long as in proportion to the
/// share.
pub(super) fn wait_for_merging(garbage: u64, rows: usize) -> Option<Duration> {
    let part = part(garbage, (GARBAGE_SLOW, GARBAGE_FULL))?;
    Some(wait(2.0 * part * part, rows))
}

/// How long a writer of so many rows waits for flushes, by the bytes of rows in memory.
pub(super) fn wait_for_flushes(bytes: usize, budget: usize, rows: usize) -> Option<Duration> {
    let share = bytes.saturating_mul(1000) / budget.max(1);
    Some(wait(part(share as u64, (MEMORY_SLOW, MEMORY_FULL))?, rows))
}

/// How far a share is above the first bound, where the second is 1. `None` below.
fn part(share: u64, (slow, full): (u64, u64)) -> Option<f64> {
    let above = share.checked_sub(slow).filter(|above| *above > 0)?;
    Some(above as f64 / (full - slow) as f64)
}

fn wait(part: f64, rows: usize) -> Duration {
    let rows = u32::try_from(rows).unwrap_or(u32::MAX);
    let wait = WAIT_FULL.checked_mul(rows).unwrap_or(Duration::MAX);
    wait.min(Duration::from_secs(1)).mul_f64(part.min(4.0)).min(Duration::from_secs(1))
}

/// Which chunks to merge: those of whose rows so many thousandths are dead, and small ones if there
/// are many.
pub(crate) fn choose(chunks: &[Arc<Part>], horizon: Version, garbage: u64) -> Vec<Arc<Part>> {
    let live = |part: &Arc<Part>| {
        let dead = part.deletes.count_at(horizon);
        part.rows().saturating_sub(u32::try_from(dead).unwrap_or(u32::MAX))
    };
    let raw_bytes = |part: &Arc<Part>| part.chunk().map_or(0, |chunk| chunk.at.raw_bytes);
    let has_garbage = |part: &Arc<Part>| {
        let dead = u64::from(part.rows() - live(part));
        dead > 0 && dead * 1000 >= u64::from(part.rows()) * garbage
    };
    // Chunks of few long rows are not small: merging would make as many again, for ever.
    let is_small =
        |part: &Arc<Part>| part.rows() < SMALL && raw_bytes(part) < CHUNK_BYTES as u64 / 4;
    let mut chosen: Vec<Arc<Part>> =
        chunks.iter().filter(|part| has_garbage(part)).cloned().collect();
    chosen.sort_by_key(|part| u64::from(live(part)) * 1000 / u64::from(part.rows().max(1)));
    let mut small: Vec<Arc<Part>> =
        chunks.iter().filter(|part| is_small(part) && !has_garbage(part)).cloned().collect();
    small.sort_by_key(|part| part.rows());
    if small.len() >= SMALL_MANY || !chosen.is_empty() {
        chosen.append(&mut small);
    }
    let some = within(&chosen, MERGE_BYTES, raw_bytes).clamp(1, MERGE_MOST);
    chosen.truncate(some);
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load was uneven where writers waited for memory of which nothing was due to be flushed.
    #[test]
    fn who_waits_for_memory_waits_for_a_flush() {
        let budget = 1 << 30;
        let (above, until) = memory_to_flush(budget);
        assert!(until < above);
        assert_eq!(wait_for_flushes(above, budget, 10_000), None);
        assert!(wait_for_flushes(budget, budget, 10_000).is_some());
    }

    #[test]
    fn writers_wait_the_longer_the_more_is_dead() {
        let waits = |garbage| wait_for_merging(garbage, 10_000);
        assert_eq!(waits(0), None);
        assert_eq!(waits(GARBAGE_SLOW), None);
        assert_eq!(waits(GARBAGE_FULL), Some(Duration::from_millis(80)));
        assert_eq!(
            waits(GARBAGE_SLOW.midpoint(GARBAGE_FULL + 1)).map(|it| it.as_millis()),
            Some(20)
        );
        assert!(waits(GARBAGE_SLOW + 10) < waits(GARBAGE_FULL));
        assert_eq!(waits(1000), Some(Duration::from_millis(160)));
        assert_eq!(wait_for_merging(1000, usize::MAX), Some(Duration::from_secs(1)));
    }

    #[test]
    fn writers_wait_the_longer_the_less_memory_is_left() {
        let waits = |bytes| wait_for_flushes(bytes, 1 << 30, 10_000);
        assert_eq!(waits(200 << 20), None);
        assert!(waits(600 << 20) < waits(700 << 20));
        assert_eq!(waits(1 << 30), Some(Duration::from_millis(40)));
        assert_eq!(wait_for_flushes(1, 0, 1), Some(Duration::from_micros(4)), "no budget at all");
    }

    /// A table of which many rows had died wrote its manifest four times a second, until no
    /// snapshot could read them any more.
    #[test]
    fn checkpoints_do_not_make_the_next_one_due() {
        let manifest = 36 << 20;
        let after = Usage { length: 2 << 30, live: 1 << 30, retired: manifest };
        assert!(!is_waste(after, manifest, WASTE_BYTES) && is_waste(after, 0, WASTE_BYTES));
        let merged = Usage { retired: manifest * 3, ..after };
        assert!(is_waste(merged, manifest, WASTE_BYTES));
    }

    #[test]
    fn chunks_with_few_dead_rows_wait_until_there_are_many() {
        assert!(merge_from(MANY, false) < merge_from(MANY - 1, false));
        assert!(merge_from(0, true) < merge_from(MANY, false));
    }
}

//! The current group and its way to the disk: leading a group, reserving space, beginning a
//! segment, and refusing all appends after a failure.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pelorus_env::sync::MutexGuard;
use pelorus_env::{AlignedBytes, DiskFile, is_disk_full, rare, rare_if, write_all_direct};
use pelorus_error::{Code, Error, Result};

use super::Log;
use crate::format::{BLOCK, GROUP_HEADER, Lsn, Seed, SegmentHeader, seal};
use crate::recover::Recovered;
use crate::segment::{self, offset_of};

/// Invariants: `durable <= start`, and they differ only while a leader writes; `buffer` begins
/// with space for a group's header, or is empty; the bytes of `buffer` and of the group that is
/// being written lie below `segment.reserved`.
#[derive(Debug)]
pub(super) struct State {
    /// The next group: records with the checksums of their payloads alone.
    pub(super) buffer: AlignedBytes,
    /// Where the group in `buffer` begins.
    pub(super) start: Lsn,
    pub(super) durable: Lsn,
    /// Bytes of the last group, if it holds records and nothing on the disk says that it is durable.
    pub(super) unproven: usize,
    /// A leader is writing `in_flight` bytes.
    pub(super) leading: bool,
    pub(super) in_flight: usize,
    /// The buffer of the last group, for its memory.
    pub(super) spare: AlignedBytes,
    /// Why nothing more can be written.
    pub(super) failure: Option<String>,
    pub(super) segment: Segment,
    /// All segments by number, with where they begin. The last one is written.
    pub(super) segments: BTreeMap<u64, Lsn>,
    /// Numbers of older ones whose files are set aside for new ones.
    pub(super) spares: Vec<u64>,
}

impl State {
    /// The state of a log that begins, or continues with the prepared segment.
    pub(super) fn new(folder: &Path, from: Recovered) -> Self {
        let durable = from.header.durable;
        let reserved = offset_of(from.header.first, durable);
        Self {
            buffer: AlignedBytes::default(),
            start: durable,
            durable,
            unproven: 0,
            leading: false,
            in_flight: 0,
            spare: AlignedBytes::default(),
            failure: None,
            segment: Segment::new(folder, &from.header, from.file, reserved),
            segments: from.segments,
            spares: Vec::new(),
        }
    }

    /// Where the last record ends.
    pub(super) fn end(&self) -> Lsn {
        // `append` has seen that the end of the buffer is a position.
        Lsn(self.start.0 + self.buffer.len() as u64)
    }

    /// What an opening takes, whichever of the last groups it has to copy.
    fn copy_bytes(&self) -> u64 {
        copy_bytes(self.buffer.len().max(self.in_flight).max(self.unproven))
    }
}

/// Bytes that an opening takes which copies a group of so many: those of the group, and a header.
pub(super) fn copy_bytes(group: usize) -> u64 {
    (group.max(1) as u64).next_multiple_of(BLOCK).saturating_add(BLOCK)
}

/// The segment that is written.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) path: PathBuf,
    pub(super) number: u64,
    pub(super) first: Lsn,
    pub(super) seed: Seed,
    /// Bytes of the file that are there to be written.
    pub(super) reserved: u64,
}

impl Segment {
    fn new(folder: &Path, header: &SegmentHeader, file: Arc<dyn DiskFile>, reserved: u64) -> Self {
        let path = segment::path(folder, header.number);
        let seed = Seed::new(&header.uuid, header.number);
        let (number, first) = (header.number, header.first);
        Self { file, path, number, first, seed, reserved }
    }

    /// Gives back what was taken ahead of records that go to the next segment, which begins at `next`.
    fn end_at(self, next: Lsn) {
        let end = offset_of(self.first, next);
        if self.reserved > end {
            // It costs nothing but the space.
            self.file.set_len(end).ok();
        }
    }
}

impl Log {
    /// Fails once the log is poisoned.
    pub(super) fn check(&self, state: &State) -> Result<()> {
        let Some(failure) = &state.failure else { return Ok(()) };
        let text = format!(
            "the log in {} takes no more writes until it is opened again: {failure}",
            self.folder.display()
        );
        Err(Error::new(Code::TableFailed, text))
    }

    /// Ends all writing, for the first reason that is given.
    pub(super) fn poison(&self, state: &mut State, error: &dyn Display) {
        state.failure.get_or_insert_with(|| error.to_string());
        self.changed.notify_all();
    }

    /// Leads a group, or waits for the leader at work.
    pub(super) fn advance(&self, state: &mut MutexGuard<'_, State>) {
        if state.leading { self.changed.wait(state) } else { self.lead(state) }
    }

    /// Writes and syncs the waiting records as one group; without records it writes an idle marker.
    pub(super) fn lead(&self, state: &mut MutexGuard<'_, State>) {
        let spare = mem::take(&mut state.spare);
        let mut group = mem::replace(&mut state.buffer, spare);
        group.resize(group.len().max(GROUP_HEADER), 0);
        let unproven = if group.len() > GROUP_HEADER { group.len() } else { 0 };
        let start = state.start;
        // `reserve` has seen that the end of the padding is a position.
        let end = Lsn(start.0 + (group.len() as u64).next_multiple_of(BLOCK));
        let (file, seed, durable) = (state.segment.file.clone(), state.segment.seed, state.durable);
        let offset = offset_of(state.segment.first, start);
        state.leading = true;
        state.in_flight = group.len();
        state.start = end;
        let written = MutexGuard::unlocked(state, || {
            seal(&mut group, seed, start, durable);
            write_all_direct(&*file, &group, offset)?;
            file.sync()
        });
        state.in_flight = 0;
        if group.capacity() <= self.options.buffer_bytes {
            group.clear();
            state.spare = group;
        }
        match written {
            // Something else failed meanwhile, so nothing that waits is acknowledged.
            Ok(()) if state.failure.is_some() => {}
            Ok(()) => {
                state.durable = end;
                state.unproven = unproven;
                if offset_of(state.segment.first, end) >= self.options.segment_bytes {
                    self.rotate(state);
                }
            }
            Err(error) => {
                let error = segment::write_error(&state.segment.path, error);
                self.poison(state, &error);
            }
        }
        state.leading = false;
        self.changed.notify_all();
    }

    /// Makes sure that the file of the segment has space up to a position and its padding, and
    /// `kept` bytes after it.
    pub(super) fn reserve(&self, state: &mut State, end: Lsn, kept: u64) -> Result<()> {
        let end = end.align_up().ok_or_else(used_up)?;
        let segment = &mut state.segment;
        let end_offset = offset_of(segment.first, end);
        let needed = end_offset.saturating_add(kept);
        if needed <= segment.reserved {
            return Ok(());
        }
        let usual = self.options.segment_bytes.saturating_add(kept);
        let ahead = usual.saturating_sub(needed);
        let much = self.options.reserve_bytes;
        let is_much = end_offset.saturating_sub(segment.reserved) > much;
        let ahead = (much.min(ahead), is_much);
        let (reserved, result) = segment::reserve(&*segment.file, segment.reserved, needed, ahead);
        segment.reserved = reserved;
        let Err(error) = result else { return Ok(()) };
        let is_full = is_disk_full(&error);
        if is_full && reserved >= needed {
            return Ok(());
        }
        if is_full && !state.spares.is_empty() {
            segment::remove_spares(&*self.disk, &self.folder, &mut state.spares);
            return self.reserve(state, end, kept);
        }
        let error = segment::write_error(&state.segment.path, error);
        if is_full {
            return Err(error);
        }
        self.poison(state, &error);
        self.check(state)
    }

    /// Reserves the space for records which free more ([`Log::append_freeing`]), and as much for
    /// others, if there is room: freed space must not be used up before the next record arrives.
    /// Returns whether the reserve is complete; other users of space should wait until it is.
    pub fn keep_space(&self) -> bool {
        let wanted = self.options.kept_bytes() * 2;
        let mut kept = wanted;
        let mut state = self.state.lock();
        let end = state.end();
        // What there is of it is better than nothing.
        while kept > 0 && state.failure.is_none() && self.reserve(&mut state, end, kept).is_err() {
            kept = kept / 2 / BLOCK * BLOCK;
        }
        kept == wanted
    }

    /// Releases the space after the last record, for an operation that frees more with it, until
    /// [`Self::keep_space`]. What the last records take ([`Self::append_last`]) and what an opening
    /// takes stays: released space may be lost for good. Returns whether there was any.
    pub fn lend_space(&self) -> bool {
        if self.options.kept_bytes() == 0 {
            return false;
        }
        let mut state = self.state.lock();
        let Some(end) = state.end().align_up() else { return false };
        let used = offset_of(state.segment.first, end);
        let left = used.saturating_add(self.options.last_bytes().max(state.copy_bytes()));
        if state.failure.is_some() || left >= state.segment.reserved {
            return false;
        }
        // What is being written ends before that.
        let is_cut = state.segment.file.set_len(left).is_ok();
        if is_cut {
            state.segment.reserved = left;
        }
        is_cut
    }

    /// Begins the next segment, with the space that `buffer` needs. Everything before it is
    /// durable. When the disk is too full, or too many files are open, the present segment goes on, and
    /// the next group tries again.
    fn rotate(&self, state: &mut State) {
        let Some(number) = state.segment.number.checked_add(1) else { return };
        let first = state.start;
        let header = SegmentHeader { uuid: self.uuid, number, first, durable: first };
        let waiting = (state.buffer.len() as u64).next_multiple_of(BLOCK);
        let much = self.options.reserve_bytes;
        let ahead = (much.min(self.options.segment_bytes), waiting.saturating_add(BLOCK) > much);
        let kept = self.options.kept_bytes().max(copy_bytes(state.buffer.len()));
        let needed = BLOCK.saturating_add(waiting).saturating_add(kept);
        let path = segment::path(&self.folder, number);
        rare("a segment of the log is begun");
        let spare = state.spares.pop().map(|number| segment::spare(&self.folder, number));
        rare_if("a segment of the log takes an old file", || spare.is_some());
        let mut reserved = needed;
        let fill = &mut |file: &dyn DiskFile| {
            let failed = |error| segment::write_error(&path, error);
            // An old file has its space already.
            let length = file.length().map_err(failed)?;
            let (taken, result) = segment::reserve(file, length, needed, ahead);
            reserved = taken;
            result.map_err(failed)
        };
        let created = segment::create(&*self.disk, &self.folder, &header, spare.as_deref(), fill);
        match created {
            Ok(file) => {
                let next = Segment::new(&self.folder, &header, file, reserved);
                mem::replace(&mut state.segment, next).end_at(first);
                state.segments.insert(number, first);
                state.unproven = 0;
            }
            Err(failure) if failure.refused => {}
            Err(failure) => self.poison(state, &failure.error),
        }
    }
}

pub(super) fn used_up() -> Error {
    Error::internal("the positions of the log are used up")
}

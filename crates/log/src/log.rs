//! [`Log`]: appends records to the buffer of the next group, and makes them durable by group
//! commit.
//!
//! A thread that needs a record to be durable writes and syncs the whole group for all others
//! (group commit by leader and followers). There is no thread of the log. A waiter that finds no
//! leader becomes the leader: it takes the buffer, writes it as one group and syncs; the others
//! continue to fill the next buffer and wait. One mutex guards the state; the leader releases it
//! while it writes, and `State::leading` keeps others from writing meanwhile. Two operations run
//! under the mutex although they access the disk, since they are rare: reserving space, and
//! beginning a segment.

mod group;

use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pelorus_env::sync::{Condvar, Mutex};
use pelorus_env::{Disk, rare};
use pelorus_error::{Code, Error, Result};

use crate::format::{BLOCK, GROUP_HEADER, Lsn, RECORD_BYTES_MAX, RECORD_HEADER, SegmentHeader};
use crate::recover::{Checkpoint, Recovered, recover};
use crate::segment;
use group::{State, copy_bytes, used_up};

/// How a log uses its folder and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes after which a new segment is begun. A segment grows beyond by what its last group
    /// takes, and further while the disk is too full for a new segment or too many files are open.
    pub segment_bytes: u64,
    /// Bytes of zeros that are written ahead of the records. Three eighths of them, in whole blocks, are
    /// kept for records that free space ([`Log::append_freeing`]), and a quarter of that for those that
    /// free it at once ([`Log::append_last`]). After each group there is always as much as an opening
    /// takes to copy it. Where records need more than so much at once, it is allocated, and no zeros are
    /// written.
    pub reserve_bytes: u64,
    /// The most bytes that wait in memory or are being written; a record larger than this goes
    /// alone.
    pub buffer_bytes: usize,
    /// At most so many files of segments that are not needed any more are set aside for new ones,
    /// until [`Log::remove_spares`].
    pub spare_segments: usize,
}

impl Options {
    /// Bytes of the space ahead that only records take which free more: with small ones, all that
    /// is needed to drop dozens of tables on a full disk.
    fn kept_bytes(&self) -> u64 {
        self.reserve_bytes / 8 * 3 / BLOCK * BLOCK
    }

    /// Bytes of these that nothing takes but records which give much space back at once.
    fn last_bytes(&self) -> u64 {
        self.kept_bytes() / 4 / BLOCK * BLOCK
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            reserve_bytes: 1 << 20,
            buffer_bytes: 64 << 20,
            spare_segments: 8,
        }
    }
}

/// An open log. All methods can be called by many threads.
#[derive(Debug)]
pub struct Log {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    uuid: [u8; 16],
    options: Options,
    state: Mutex<State>,
    /// Something that a waiter waits for may have happened.
    changed: Condvar,
}

impl Log {
    /// Creates a log that begins at `first` (rounded up to 4 KiB), in a folder that is created if
    /// it does not exist. The log and its folder are durable when this returns; folders further up
    /// are the caller's.
    ///
    /// `uuid` is the identity of the log: unique, and stored by the caller, since `open` requires
    /// it. A `first` other than 0 is for a database whose log was lost: the LSN of its checkpoint.
    ///
    /// # Errors
    /// [`Code::FileWrite`] when the folder holds a log already (also one that an interrupted call
    /// left) or cannot be written, [`Code::DiskFull`] when it does not fit.
    pub fn create(
        disk: Arc<dyn Disk>,
        folder: &Path,
        options: Options,
        uuid: [u8; 16],
        first: Lsn,
    ) -> Result<Self> {
        let failed = |error| segment::write_error(folder, error);
        disk.create_folder(folder).map_err(failed)?;
        if !segment::list(&*disk, folder)?.is_empty() {
            let text = format!("log folder {} holds a log already", folder.display());
            return Err(Error::new(Code::FileWrite, text));
        }
        let first = first.align_up().ok_or_else(used_up)?;
        let header = SegmentHeader { uuid, number: 1, first, durable: first };
        let file = segment::create(&*disk, folder, &header, None, &mut |_| Ok(()));
        let file = file.map_err(|failure| failure.error)?;
        let segments = BTreeMap::from([(header.number, first)]);
        Ok(Self::new(disk, folder, options, Recovered { header, file, segments }))
    }

    /// Opens a log: calls `replay` with each record that ends after `checkpoint.lsn`, in order,
    /// with where it ends and its bytes. All that was replayed is durable when this returns.
    ///
    /// # Errors
    /// [`Code::FileDamaged`] when acknowledged records are damaged or missing; records may have
    /// been replayed by then. [`Code::FileVersion`], [`Code::FileRead`], [`Code::FileWrite`] and
    /// [`Code::DiskFull`] (opening takes 4 KiB and the size of the last group; on a full disk from
    /// the preallocated space of the log, which is enough if the disk keeps it, or nothing if no
    /// group has to be copied). Errors of `replay`.
    pub fn open(
        disk: Arc<dyn Disk>,
        folder: &Path,
        options: Options,
        uuid: [u8; 16],
        checkpoint: Checkpoint,
        replay: &mut dyn FnMut(Lsn, &[u8]) -> Result<()>,
    ) -> Result<Self> {
        let recovered = recover(&*disk, folder, &uuid, checkpoint, replay)?;
        let log = Self::new(disk, folder, options, recovered);
        // Or others may have taken it when it is needed.
        log.keep_space();
        Ok(log)
    }

    fn new(disk: Arc<dyn Disk>, folder: &Path, options: Options, from: Recovered) -> Self {
        let uuid = from.header.uuid;
        let state = Mutex::new(State::new(folder, from));
        Self { disk, folder: folder.to_owned(), uuid, options, state, changed: Condvar::new() }
    }

    /// Puts a record, given in parts, after all earlier ones; returns where it ends. It is durable
    /// when [`wait`](Self::wait) says so.
    ///
    /// Blocks while [`Options::buffer_bytes`] are waiting: the caller then writes them itself, or
    /// waits for the thread that does.
    ///
    /// # Errors
    /// [`Code::RowTooLarge`] above [`RECORD_BYTES_MAX`]; [`Code::DiskFull`] when there is no space
    /// for the record: nothing has changed then, and a later call may succeed.
    /// [`Code::TableFailed`] when the log is poisoned.
    pub fn append(&self, parts: &[&[u8]]) -> Result<Lsn> {
        self.append_keeping(parts, self.options.kept_bytes())
    }

    /// As [`append`](Self::append), of a small record that leads to space being free: it can use
    /// the space that is reserved for such records when the disk is full.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_freeing(&self, parts: &[&[u8]]) -> Result<Lsn> {
        self.append_keeping(parts, self.options.last_bytes())
    }

    /// The same of a record on which files are removed: it can use all the reserved space. The
    /// caller restores the reserve ([`Self::keep_space`]).
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_last(&self, parts: &[&[u8]]) -> Result<Lsn> {
        self.append_keeping(parts, 0)
    }

    /// Appends a record that leaves so many bytes of space after it.
    fn append_keeping(&self, parts: &[&[u8]], kept: u64) -> Result<Lsn> {
        let bytes = parts.iter().try_fold(0_usize, |sum, part| sum.checked_add(part.len()));
        let bytes = bytes.filter(|&bytes| bytes <= RECORD_BYTES_MAX).ok_or_else(|| {
            let text = format!("a log record is larger than {RECORD_BYTES_MAX} bytes");
            Error::new(Code::RowTooLarge, text)
        })?;
        // The largest record fits a u32.
        let length = u32::try_from(bytes).unwrap_or(u32::MAX);
        let checksum = parts.iter().fold(0, |sum, part| crc32c::crc32c_append(sum, part));
        let bytes = RECORD_HEADER + bytes;

        let mut state = self.state.lock();
        loop {
            self.check(&state)?;
            let pending = state.buffer.len() + state.in_flight;
            if pending == 0 || pending + bytes <= self.options.buffer_bytes {
                break;
            }
            self.advance(&mut state);
        }
        let inside = state.buffer.len().max(GROUP_HEADER) + bytes;
        let end = state.start.plus(inside as u64).ok_or_else(used_up)?;
        self.reserve(&mut state, end, kept.max(copy_bytes(inside)))?;
        if state.buffer.is_empty() {
            state.buffer.resize(GROUP_HEADER, 0);
        }
        state.buffer.extend_from_slice(&length.to_le_bytes());
        state.buffer.extend_from_slice(&checksum.to_le_bytes());
        for part in parts {
            state.buffer.extend_from_slice(part);
        }
        Ok(end)
    }

    /// Returns when everything up to a position that `append` gave is durable.
    ///
    /// # Errors
    /// [`Code::TableFailed`] when writing or syncing failed before that; the record may or may not
    /// be there when the log is opened again.
    pub fn wait(&self, lsn: Lsn) -> Result<()> {
        let mut state = self.state.lock();
        while state.durable < lsn {
            self.check(&state)?;
            if lsn > state.end() {
                let text = format!("waited for lsn {lsn}, but the log ends at {}", state.end());
                return Err(Error::internal(text));
            }
            self.advance(&mut state);
        }
        Ok(())
    }

    /// Makes everything durable that was appended before this call.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn sync(&self) -> Result<()> {
        self.wait(self.end())
    }

    /// Records that the last group is durable, so that damage to it is distinguished from a torn
    /// write. To be called when the log has been idle for some milliseconds, and before it is
    /// closed. Does nothing when that is recorded already, or when records are waiting or being
    /// written.
    ///
    /// # Errors
    /// [`Code::DiskFull`] when there is no space for the marker, which changes nothing;
    /// [`Code::TableFailed`] when the log is poisoned.
    pub fn mark_idle(&self) -> Result<()> {
        let mut state = self.state.lock();
        self.check(&state)?;
        if state.unproven > 0 && !state.leading && state.buffer.is_empty() {
            let end = state.start.plus(GROUP_HEADER as u64).ok_or_else(used_up)?;
            // A start on a full disk has less to write after it.
            let kept = self.options.last_bytes().max(copy_bytes(GROUP_HEADER));
            self.reserve(&mut state, end, kept)?;
            self.lead(&mut state);
            self.check(&state)?;
        }
        Ok(())
    }

    /// Where the first segment begins: records that end before this are gone.
    pub fn begin(&self) -> Lsn {
        self.state.lock().segments.first_key_value().map_or(Lsn(0), |(_, first)| *first)
    }

    /// A position after all records so far and before all later ones: the position that a
    /// checkpoint begun now must cover.
    pub fn end(&self) -> Lsn {
        self.state.lock().end()
    }

    /// Everything before this position is durable.
    pub fn durable(&self) -> Lsn {
        self.state.lock().durable
    }

    /// Bytes of log after a position, which opening would read.
    pub fn bytes_since(&self, lsn: Lsn) -> u64 {
        self.end().0.saturating_sub(lsn.0)
    }

    /// Removes the segments that hold nothing after `lsn`, which is a position from which `open`
    /// will never replay again. Some of their files are set aside for new segments.
    ///
    /// # Errors
    /// [`Code::FileWrite`] when a segment cannot be removed; a later call tries again.
    pub fn discard_before(&self, lsn: Lsn) -> Result<()> {
        let mut state = self.state.lock();
        // The last segment that begins at or before the position is the first that is needed.
        let begins = |(_, first): &(&u64, &Lsn)| **first <= lsn;
        let Some((&needed, &end)) = state.segments.iter().rev().find(begins) else { return Ok(()) };
        let kept = state.segments.split_off(&needed);
        let mut old = mem::replace(&mut state.segments, kept);
        let places = self.options.spare_segments.saturating_sub(state.spares.len());
        drop(state);
        if old.is_empty() {
            return Ok(());
        }
        rare("segments of the log are removed");
        let mut spares = Vec::new();
        while let Some((&number, &first)) = old.first_key_value() {
            let next = old.values().nth(1).copied().unwrap_or(end);
            let is_spare = spares.len() < places && self.is_worth_keeping(first, next);
            let path = segment::path(&self.folder, number);
            let done = match is_spare {
                true => self.disk.rename(&path, &segment::spare(&self.folder, number)),
                false => self.disk.remove(&path),
            };
            match done {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    segment::remove_spares(&*self.disk, &self.folder, &mut spares);
                    self.state.lock().segments.append(&mut old);
                    return Err(segment::write_error(&path, error));
                }
                Ok(()) if is_spare => spares.push(number),
                _ => {}
            }
            old.pop_first();
        }
        let synced = self.disk.sync_folder(&self.folder);
        let mut state = self.state.lock();
        synced.map_err(|error| {
            // The folder may have forgotten a new segment as well.
            let error = segment::write_error(&self.folder, error);
            self.poison(&mut state, &error);
            error
        })?;
        // Not before a crash can no longer bring their old names back.
        state.spares.append(&mut spares);
        Ok(())
    }

    /// Whether the file of a segment is about as long as a new one's will be.
    fn is_worth_keeping(&self, first: Lsn, next: Lsn) -> bool {
        let (bytes, usual) = (next.0.saturating_sub(first.0), self.options.segment_bytes);
        bytes >= usual / 2 && bytes <= usual.saturating_mul(2)
    }

    /// Removes the files that are set aside, if little is written or the disk is full.
    pub fn remove_spares(&self) {
        let mut spares = mem::take(&mut self.state.lock().spares);
        segment::remove_spares(&*self.disk, &self.folder, &mut spares);
    }
}

//! Recovery of a log: which segments count, which records are replayed, where the log ends, which
//! damage is refused.
//!
//! 1. From the newest segment back to the one that contains the checkpoint, all headers must
//!    decode. Each segment ends where the next one begins, and must be whole up to there.
//! 2. In the last segment, records are replayed up to the first place without a valid record. If
//!    anything proves that bytes after that place were durable (the checkpoint, a header, a group,
//!    also one after that place), acknowledged data is damaged: the log is refused. "A valid group
//!    after a bad one" alone is no such proof, since unsynced writes survive in any order.
//!    Otherwise that place is the end of the log.
//! 3. Groups before the end that are not proved durable may have been read from the operating
//!    system's cache and may never have reached the disk (a crash of the process alone, or a sync
//!    that failed). They are written once more: into a new segment, which begins where they begin.
//!    When that segment gets its name, the truncation and the groups before it are durable in one
//!    step; until then, nothing has changed.
//! 4. If there are no such groups and the disk is full, the last segment continues: it is truncated
//!    at the end of the log, and written only when the truncation is durable.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use pelorus_env::{AlignedBytes, Disk, DiskFile, Open, rare, write_all_direct};
use pelorus_error::{Code, Error, Result};

use crate::Lsn;
use crate::format::{BLOCK, GROUP_HEADER, Group, RECORD_HEADER, SegmentHeader, seal};
use crate::scan::{Record, Scan};
use crate::segment::{self, CreateError, damaged, offset_of};

/// The data files' knowledge of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The data files hold everything up to the record that ends here; later ones are replayed.
    pub lsn: Lsn,
    /// The value of [`Log::durable`](crate::Log::durable) when the checkpoint was written (or
    /// later).
    pub durable: Lsn,
}

/// A log that is ready for new groups.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) header: SegmentHeader,
    pub(crate) file: Arc<dyn DiskFile>,
    /// All segments by number, with where they begin; 0 for those older than the checkpoint.
    pub(crate) segments: BTreeMap<u64, Lsn>,
}

pub(crate) fn recover(
    disk: &dyn Disk,
    folder: &Path,
    uuid: &[u8; 16],
    checkpoint: Checkpoint,
    replay: &mut dyn FnMut(Lsn, &[u8]) -> Result<()>,
) -> Result<Recovered> {
    let numbers = segment::list(disk, folder)?;
    let mut chain = open_chain(disk, folder, uuid, &numbers, checkpoint)?;
    let older = numbers.len() - chain.len();
    let mut segments: BTreeMap<_, _> =
        chain.iter().map(|scan| (scan.header.number, scan.header.first)).collect();
    // Older ones may still be needed. One whose header cannot be read goes with the next.
    for &number in numbers[..older].iter().rev() {
        let next = segments.first_key_value().map_or(Lsn(0), |(_, first)| *first);
        let first = segment::open(disk, folder, number, uuid).map_or(next, |(_, it)| it.first);
        segments.insert(number, first.min(next));
    }
    let Some(mut last) = chain.pop() else {
        let text = format!(
            "log folder {} holds no segment of a log; nothing was changed: put back its files, or \
             restore the database from a backup",
            folder.display()
        );
        return Err(Error::new(Code::FileDamaged, text));
    };
    let ends = chain.iter().skip(1).map(|scan| scan.header.first);
    let ends: Vec<Lsn> = ends.chain([last.header.first]).collect();

    let durable = checkpoint.lsn.max(checkpoint.durable);
    let mut tail = Tail { position: last.header.first, durable, unproven: VecDeque::new() };
    for (mut scan, until) in chain.into_iter().zip(ends) {
        if let Some(bad) = tail.read(&mut scan, Some(until), checkpoint.lsn, replay)? {
            let text = format!("{} at lsn {}, and the next segment goes on", bad.what, bad.lsn);
            return Err(damaged(&scan.path, scan.offset_of(bad.lsn), &text));
        }
    }
    if let Some(bad) = tail.read(&mut last, None, checkpoint.lsn, replay)? {
        tail.accept_end(&mut last, &bad)?;
    }
    let (header, file) = go_on(disk, folder, &mut last, &tail)?;
    segments.insert(header.number, header.first);
    if header.number != last.header.number && end_last(disk, &last, header.first) {
        segments.remove(&last.header.number);
    }
    Ok(Recovered { header, file, segments })
}

/// Gives back what the last segment has from the position on at which the next one begins: otherwise
/// what was taken ahead of its records would be missing where the disk is full. Whether nothing is left
/// of it. Where that fails, it costs nothing but the space.
fn end_last(disk: &dyn Disk, last: &Scan, next: Lsn) -> bool {
    if next <= last.header.first {
        return disk.remove(&last.path).is_ok();
    }
    let end = last.offset_of(next);
    if let Ok(file) = disk.open(&last.path, Open::Write)
        && file.length().is_ok_and(|length| length > end)
    {
        file.set_len(end).ok();
    }
    false
}

/// Opens the segments from the one in which the checkpoint lies on, oldest first.
fn open_chain(
    disk: &dyn Disk,
    folder: &Path,
    uuid: &[u8; 16],
    numbers: &[u64],
    checkpoint: Checkpoint,
) -> Result<Vec<Scan>> {
    let mut chain: Vec<Scan> = Vec::new();
    for &number in numbers.iter().rev() {
        let (file, header) = segment::open(disk, folder, number, uuid)?;
        let path = segment::path(folder, number);
        if chain.last().is_some_and(|next| next.header.first < header.first) {
            return Err(damaged(&path, 0, "it begins behind the segment that follows it"));
        }
        chain.push(Scan::new(path, file, header)?);
        if header.first <= checkpoint.lsn {
            break;
        }
    }
    if let Some(oldest) = chain.last()
        && oldest.header.first > checkpoint.lsn
    {
        let text = format!(
            "the log in {} begins at lsn {}, but the checkpoint is at lsn {}: older segments are \
             missing; put them back, or restore the database from a backup",
            folder.display(),
            oldest.header.first,
            checkpoint.lsn
        );
        return Err(Error::new(Code::FileDamaged, text));
    }
    chain.reverse();
    Ok(chain)
}

/// A place at which no valid group or record stands.
#[derive(Debug)]
struct Bad {
    lsn: Lsn,
    /// Where the group that contains it begins. Groups become durable as a whole, so anything
    /// durable after this means that the place was durable too.
    start: Lsn,
    /// Where a later group can begin.
    next: Lsn,
    what: &'static str,
}

impl Bad {
    fn group(start: Lsn, next: Lsn, what: &'static str) -> Self {
        Self { lsn: start, start, next, what }
    }
}

/// What is known while the log is read.
#[derive(Debug)]
struct Tail {
    /// Where the next group begins.
    position: Lsn,
    /// Something says that everything before this was durable.
    durable: Lsn,
    /// Groups before `position` that nothing says were durable, cut to their valid records.
    unproven: VecDeque<Group>,
}

impl Tail {
    /// Replays one segment up to `until`, or up to the first place that is not valid.
    fn read(
        &mut self,
        scan: &mut Scan,
        until: Option<Lsn>,
        from: Lsn,
        replay: &mut dyn FnMut(Lsn, &[u8]) -> Result<()>,
    ) -> Result<Option<Bad>> {
        self.position = scan.header.first;
        self.prove(scan.header.durable);
        while until != Some(self.position) {
            let start = self.position;
            let next = Lsn(start.0.saturating_add(BLOCK));
            let Some(group) = scan.group(start)? else {
                return Ok(Some(Bad::group(start, next, "no valid group begins")));
            };
            let next = group.padded_end();
            if until.is_some_and(|until| next > until) {
                return Ok(Some(Bad::group(start, next, "a group too long begins")));
            }
            self.prove(group.durable);
            let end = read_group(scan, &group, from, replay)?;
            self.keep(Group { length: end.0 - start.0, ..group });
            if end != group.end() {
                return Ok(Some(Bad { lsn: end, start, next, what: "no valid record begins" }));
            }
        }
        Ok(None)
    }

    fn prove(&mut self, durable: Lsn) {
        self.durable = self.durable.max(durable);
        while self.unproven.front().is_some_and(|group| group.padded_end() <= self.durable) {
            self.unproven.pop_front();
        }
    }

    fn keep(&mut self, group: Group) {
        self.position = group.padded_end();
        if self.position > self.durable {
            self.unproven.push_back(group);
        }
    }

    /// Decides whether the log ends at a place, or is damaged there.
    fn accept_end(&self, last: &mut Scan, bad: &Bad) -> Result<()> {
        let durable = match last.evidence(bad.next, bad.start)? {
            Some(group) => self.durable.max(group.durable),
            None => self.durable,
        };
        if durable <= bad.start {
            return Ok(());
        }
        let text =
            format!("{} at lsn {}, but the log was durable up to {durable}", bad.what, bad.lsn);
        Err(damaged(&last.path, last.offset_of(bad.lsn), &text))
    }
}

/// Replays the records of a group. Returns where the last valid one ends.
fn read_group(
    scan: &mut Scan,
    group: &Group,
    from: Lsn,
    replay: &mut dyn FnMut(Lsn, &[u8]) -> Result<()>,
) -> Result<Lsn> {
    let mut at = Lsn(group.start.0 + GROUP_HEADER as u64);
    while let Record::Whole(end, payload) = scan.record(at, group)? {
        if end > from {
            replay(end, payload)?;
        }
        at = end;
    }
    Ok(at)
}

/// The segment that is written from now on: a new one. Where the disk is too full for it, the last one is
/// cut where the log ends, and then has no bytes that a later group could be taken for. If all its groups
/// are known to be durable, it goes on itself, which takes no space, however often the log is opened; else
/// the groups that are to be copied have the space that was taken ahead when they were written.
fn go_on(
    disk: &dyn Disk,
    folder: &Path,
    last: &mut Scan,
    tail: &Tail,
) -> Result<(SegmentHeader, Arc<dyn DiskFile>)> {
    match begin_segment(disk, folder, last, tail) {
        // Else there may be a segment of the new name.
        Err(failure) if failure.refused && failure.error.code() == Code::DiskFull => {}
        begun => return begun.map_err(|failure| failure.error),
    }
    rare("a log is opened on a full disk");
    let file = cut_tail(disk, last, tail)?;
    if tail.unproven.is_empty() {
        rare("a segment of the log goes on after a start");
        return Ok((SegmentHeader { durable: tail.position, ..last.header }, file));
    }
    begin_segment(disk, folder, last, tail).map_err(|failure| failure.error)
}

/// Cuts the last segment where the log ends, durably. What stands there was never acknowledged.
fn cut_tail(disk: &dyn Disk, last: &Scan, tail: &Tail) -> Result<Arc<dyn DiskFile>> {
    let failed = |error| segment::write_error(&last.path, error);
    let file = disk.open(&last.path, Open::Write).map_err(failed)?;
    // Some file systems have the space only when that is durable; and until it is, a crash may bring
    // back what stood there, between sectors that were written since.
    file.set_len(last.offset_of(tail.position)).and_then(|()| file.sync()).map_err(failed)?;
    Ok(file)
}

/// Begins the segment after the last one, with the groups that nothing says were durable.
fn begin_segment(
    disk: &dyn Disk,
    folder: &Path,
    last: &mut Scan,
    tail: &Tail,
) -> Result<(SegmentHeader, Arc<dyn DiskFile>), CreateError> {
    let number = last.header.number.checked_add(1).ok_or_else(|| {
        let error = Error::internal("the numbers of log segments are used up");
        CreateError { error, refused: false }
    })?;
    let first = tail.unproven.front().map_or(tail.position, |group| group.start);
    let header = SegmentHeader { number, first, durable: tail.position, ..last.header };
    let seed = crate::format::Seed::new(&header.uuid, number);
    let path = segment::path(folder, number);
    let file = segment::create(disk, folder, &header, None, &mut |file| {
        for group in &tail.unproven {
            let mut bytes = unsealed(last, group)?;
            seal(&mut bytes, seed, group.start, group.durable);
            write_all_direct(file, &bytes, offset_of(first, group.start))
                .map_err(|error| segment::write_error(&path, error))?;
        }
        Ok(())
    })?;
    Ok((header, file))
}

/// The bytes of a group as they were before [`seal`].
fn unsealed(scan: &mut Scan, group: &Group) -> Result<AlignedBytes> {
    let mut bytes = AlignedBytes::default();
    bytes.resize(GROUP_HEADER, 0);
    let mut at = Lsn(group.start.0 + GROUP_HEADER as u64);
    loop {
        match scan.record(at, group)? {
            Record::Whole(end, payload) => {
                // The length is that of a record's payload, which fits a u32.
                let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
                bytes.extend_from_slice(&length.to_le_bytes());
                bytes.extend_from_slice(&crc32c::crc32c(payload).to_le_bytes());
                bytes.extend_from_slice(payload);
                debug_assert_eq!(end.0 - at.0, (RECORD_HEADER + payload.len()) as u64);
                at = end;
            }
            Record::End => return Ok(bytes),
            Record::Bad => {
                let text = format!("the record at lsn {at} reads differently at a second time");
                return Err(damaged(&scan.path, scan.offset_of(at), &text));
            }
        }
    }
}

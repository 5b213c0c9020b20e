//! Decodes the log: segments, groups, records; finds its end, and whether that is damage
//! (`docs/internals/format-log.md`, section *Reading*).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pelorus_env::{Disk, DiskFile, Open, read_exact_at};

use crate::bytes::{Cursor, Decoded, array_at, long, size, u32_at};
use crate::report::{Findings, LogReport, Place, advice};

const UNIT: u64 = 4096;
const GROUP_HEADER: u64 = 40;
const RECORD_MAX: u32 = 1 << 30;

/// Which part of the log is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needed {
    pub(crate) uuid: [u8; 16],
    /// The data files hold everything up to here.
    pub(crate) from: u64,
    /// The log was durable up to here.
    pub(crate) known: u64,
}

/// A segment's file and header.
#[derive(Debug)]
struct Segment {
    number: u64,
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    bytes: u64,
    first: u64,
    durable: u64,
}

/// A group whose header is valid.
#[derive(Debug)]
struct Group {
    length: u64,
    durable: u64,
}

/// Takes in a record, by the position of its end; says what is wrong with it.
type Found<'a> = dyn FnMut(u64, &[u8]) -> Decoded<()> + 'a;

/// Reads the log and gives every record that ends after `needed.from`. Returns whether all that was
/// acknowledged could be read.
pub(crate) fn read(
    disk: &dyn Disk,
    folder: &Path,
    needed: Needed,
    findings: &mut Findings,
    report: &mut LogReport,
    found: &mut Found<'_>,
) -> bool {
    let Some(segments) = segments(disk, folder, needed, findings, report) else { return false };
    report.needed = long(segments.len());
    report.from = needed.from;
    let durable = needed.from.max(needed.known);
    let mut reader = Reader { needed, durable, report, found, bad: Vec::new() };
    for (at, segment) in segments.iter().enumerate() {
        let place = Place::file(&segment.path);
        reader.durable = reader.durable.max(segment.durable);
        let outcome = match segments.get(at + 1) {
            Some(next) => reader.whole(segment, next.first),
            None => reader.last(segment),
        };
        for (position, why) in reader.bad.drain(..) {
            findings.damage(place.at(segment.offset(position)), why, advice::RESTORE);
        }
        if let Err((position, why)) = outcome {
            let offset = segment.offset(position);
            findings.damage(
                place.at(offset),
                format!("the log is damaged at position {position}: {why}"),
                advice::RESTORE,
            );
            return false;
        }
    }
    true
}

/// The segments that are needed, oldest first.
fn segments(
    disk: &dyn Disk,
    folder: &Path,
    needed: Needed,
    findings: &mut Findings,
    report: &mut LogReport,
) -> Option<Vec<Segment>> {
    let names = match disk.list(folder) {
        Ok(names) => names,
        Err(error) => {
            let what = format!("the folder cannot be read: {error}");
            findings.damage(Place::file(folder), what, advice::READ);
            return None;
        }
    };
    let mut numbers = Vec::new();
    for name in names {
        let number = |end| name.strip_suffix(end).filter(|it| it.len() == 20)?.parse::<u64>().ok();
        match (number(".log"), number(".new"), number(".spare")) {
            (Some(number), ..) => numbers.push((number, folder.join(&name))),
            (_, Some(_), _) => findings.note(
                Place::file(&folder.join(&name)),
                "a segment that was never finished",
                advice::LEFT_OVER,
            ),
            // Set aside for a new segment.
            (.., Some(_)) => {}
            _ => findings.note(
                Place::file(&folder.join(&name)),
                "the file is not the log's",
                advice::NOTHING,
            ),
        }
    }
    numbers.sort_unstable();
    report.segments = long(numbers.len());
    let mut chosen: Vec<Segment> = Vec::new();
    for (number, path) in numbers.into_iter().rev() {
        let segment = match Segment::open(disk, &path, number, needed.uuid) {
            Ok(segment) => segment,
            Err(why) => {
                findings.damage(Place::file(&path).at(0), why, advice::RESTORE);
                return None;
            }
        };
        if let Some(next) = chosen.last()
            && next.first < segment.first
        {
            let what = format!(
                "segment {} begins at position {}, before segment {number} at {}",
                next.number, next.first, segment.first
            );
            findings.damage(Place::file(&path).at(40), what, advice::RESTORE);
            return None;
        }
        let is_last = segment.first <= needed.from;
        chosen.push(segment);
        if is_last {
            chosen.reverse();
            return Some(chosen);
        }
    }
    let what = match chosen.last() {
        None => "the log has no segments".to_owned(),
        Some(oldest) => format!(
            "the log is needed from position {}, but begins at {}",
            needed.from, oldest.first
        ),
    };
    findings.damage(Place::file(folder), what, advice::MISSING);
    None
}

impl Segment {
    fn open(disk: &dyn Disk, path: &Path, number: u64, uuid: [u8; 16]) -> Decoded<Self> {
        let unreadable = |error| format!("it cannot be read: {error}");
        let file = disk.open(path, Open::Read).map_err(unreadable)?;
        let bytes = file.length().map_err(unreadable)?;
        let mut head = vec![0; 4096];
        read_exact_at(&*file, &mut head, 0).map_err(unreadable)?;
        if crc32c::crc32c(&head[..4092]) != u32_at(&head, 4092) {
            return Err("the checksum of the segment's header is wrong".into());
        }
        let from = &mut Cursor::new(&head);
        if from.take(8)? != b"PELORLOG" {
            return Err("the magic of the segment is missing".into());
        }
        let (version, zero) = (from.u32()?, from.u32()?);
        if version != 1 {
            return Err(format!("the segment has unknown format {version}"));
        }
        let (found, own) = (from.uuid()?, from.u64()?);
        let (first, durable) = (from.u64()?, from.u64()?);
        if found != uuid || own != number {
            return Err(format!("it is segment {own}, perhaps of another log"));
        }
        if first % UNIT != 0 || durable < first || zero != 0 {
            return Err("the header of the segment breaks a rule".into());
        }
        Ok(Self { number, path: path.to_owned(), file, bytes, first, durable })
    }

    /// The offset of a position.
    fn offset(&self, position: u64) -> u64 {
        UNIT.saturating_add(position.saturating_sub(self.first))
    }

    /// Up to `length` bytes at a position; fewer at the end of the file.
    fn bytes_at(&self, position: u64, length: u64) -> Decoded<Vec<u8>> {
        let offset = self.offset(position);
        let length = length.min(self.bytes.saturating_sub(offset));
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| "it is too long")?];
        read_exact_at(&*self.file, &mut bytes, offset)
            .map_err(|error| format!("it cannot be read: {error}"))?;
        Ok(bytes)
    }

    /// The header of the group at a position.
    fn group(&self, uuid: [u8; 16], position: u64) -> Decoded<Group> {
        let head = self.bytes_at(position, GROUP_HEADER)?;
        let from = &mut Cursor::new(&head);
        if from.take(8)? != b"PELORGRP" {
            return Err("no group begins there".into());
        }
        let (length, start, durable) = (from.u64()?, from.u64()?, from.u64()?);
        let (zero, crc) = (from.u32()?, from.u32()?);
        let sealed = [&uuid[..], &self.number.to_le_bytes(), &head[..36]].concat();
        if crc32c::crc32c(&sealed) != crc {
            return Err("the checksum of the group's header is wrong".into());
        }
        if start != position || length < GROUP_HEADER || durable > start || zero != 0 {
            return Err("the header of the group breaks a rule".into());
        }
        let end = start.checked_add(length).and_then(|end| end.checked_next_multiple_of(UNIT));
        end.ok_or("the group reaches beyond all positions")?;
        Ok(Group { length, durable })
    }
}

struct Reader<'a, 'f> {
    needed: Needed,
    /// The greatest position that is said to have been durable.
    durable: u64,
    report: &'a mut LogReport,
    found: &'a mut Found<'f>,
    /// Records of the present segment that are whole but make no sense.
    bad: Vec<At>,
}

/// Where something is wrong, and what.
type At = (u64, String);

impl Reader<'_, '_> {
    /// Reads a segment that has a successor, which begins at `end`.
    fn whole(&mut self, segment: &Segment, end: u64) -> Result<(), At> {
        let mut at = segment.first;
        while at < end {
            let group = segment.group(self.needed.uuid, at).map_err(|why| (at, why))?;
            self.durable = self.durable.max(group.durable);
            self.records(segment, at, &group)?;
            at = next(at, &group);
        }
        if at > end {
            return Err((end, format!("the group before it ends at {at}")));
        }
        self.report.end = self.report.end.max(end);
        Ok(())
    }

    /// Reads the last segment up to where the log ends.
    fn last(&mut self, segment: &Segment) -> Result<(), At> {
        let mut at = segment.first;
        loop {
            self.report.end = self.report.end.max(at);
            let (behind, why) = match segment.group(self.needed.uuid, at) {
                Err(why) => (at.saturating_add(UNIT), why),
                Ok(group) => {
                    self.durable = self.durable.max(group.durable);
                    match self.records(segment, at, &group) {
                        Ok(()) => {
                            at = next(at, &group);
                            continue;
                        }
                        Err((place, why)) => {
                            self.report.torn = true;
                            (next(at, &group), format!("the record at {place}: {why}"))
                        }
                    }
                }
            };
            return self.end(segment, at, behind, why);
        }
    }

    /// Decides whether the log may end with the group at `start`, which is not valid; `behind` is
    /// where other groups may be found.
    fn end(
        &mut self,
        segment: &Segment,
        start: u64,
        mut behind: u64,
        why: String,
    ) -> Result<(), At> {
        while segment.offset(behind) < segment.bytes {
            if let Ok(group) = segment.group(self.needed.uuid, behind) {
                self.durable = self.durable.max(group.durable);
            }
            let Some(further) = behind.checked_add(UNIT) else { break };
            behind = further;
        }
        if self.durable > start {
            return Err((start, format!("{why}, but it was durable up to {}", self.durable)));
        }
        Ok(())
    }

    /// Gives the records of a group.
    fn records(&mut self, segment: &Segment, start: u64, group: &Group) -> Result<(), At> {
        let bytes = segment.bytes_at(start, group.length).map_err(|why| (start, why))?;
        let length = usize::try_from(group.length).unwrap_or(usize::MAX);
        let mut at = size(40);
        while at < length {
            let position = start + long(at);
            let payload = record(self.needed.uuid, segment, position, &bytes, at, length)
                .map_err(|why| (position, why))?;
            at += 8 + payload.len();
            let end = start + long(at);
            self.report.end = self.report.end.max(end);
            if end > self.needed.from {
                self.report.records += 1;
                if let Err(why) = (self.found)(end, payload) {
                    self.bad.push((position, format!("the log record that ends at {end}: {why}")));
                }
            }
        }
        Ok(())
    }
}

/// The payload of the record at byte `at` of a group.
fn record<'a>(
    uuid: [u8; 16],
    segment: &Segment,
    position: u64,
    bytes: &'a [u8],
    at: usize,
    length: usize,
) -> Decoded<&'a [u8]> {
    let mut from = Cursor::new(bytes.get(at..length.min(bytes.len())).unwrap_or_default());
    let (count, crc) = (from.u32()?, from.u32()?);
    if count > RECORD_MAX {
        return Err(format!("a record of {count} bytes"));
    }
    let payload = from.take(size(count))?;
    let inner = crc32c::crc32c(payload);
    let numbers = [segment.number.to_le_bytes(), position.to_le_bytes()].concat();
    let small = [array_at::<4>(bytes, at), inner.to_le_bytes()].concat();
    if crc32c::crc32c(&[&uuid[..], &numbers, &small].concat()) != crc {
        return Err("the checksum of the record is wrong".into());
    }
    Ok(payload)
}

/// Where the group after one begins; it was checked that this fits.
fn next(start: u64, group: &Group) -> u64 {
    start.saturating_add(group.length).next_multiple_of(UNIT)
}

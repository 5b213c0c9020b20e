//! Decodes the block file: header slots, translation tables, blocks
//! (`docs/internals/format-blockfile.md`).

mod slot;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pelorus_env::{Disk, DiskFile, Open, read_exact_at};

use crate::bytes::{Cursor, Decoded, long, u32_at};
use crate::report::{Findings, Place, advice};

pub(crate) use slot::{Expected, Header, Slot};

/// The unit of places in the file.
pub(crate) const UNIT: u64 = 4096;
/// Where blocks begin.
pub(crate) const FIRST_BLOCK: u64 = 65536;
/// Bytes of the header of a block.
pub(crate) const BLOCK_HEADER: u64 = 72;
const PAYLOAD_MAX: u64 = 1 << 30;

/// An entry of a translation table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) kind: u8,
    pub(crate) generation: u64,
    pub(crate) check: u64,
}

impl Entry {
    /// The offset after the last unit.
    pub(crate) fn end(&self) -> u64 {
        extent_end(self.offset, u64::from(self.length))
    }
}

/// Where a block with a payload of that length ends, in whole units.
pub(crate) fn extent_end(offset: u64, length: u64) -> u64 {
    let bytes = length.saturating_add(BLOCK_HEADER).div_ceil(UNIT).saturating_mul(UNIT);
    offset.saturating_add(bytes)
}

/// A header with its translation table.
#[derive(Clone, Debug)]
pub(crate) struct Generation {
    pub(crate) header: Header,
    pub(crate) entries: BTreeMap<u64, Entry>,
}

impl Generation {
    /// Offset, end and number (0 for the translation table) of all blocks, by offset.
    pub(crate) fn extents(&self) -> Vec<(u64, u64, u64)> {
        let (offset, length, _) = self.header.map;
        let map = (offset != 0).then(|| (offset, extent_end(offset, length), 0));
        let blocks = self.entries.values().map(|entry| (entry.offset, entry.end(), entry.number));
        let mut all: Vec<_> = blocks.chain(map).collect();
        all.sort_unstable();
        all
    }
}

/// A block file with the content to which its slots refer.
#[derive(Debug)]
pub(crate) struct BlockFile {
    pub(crate) path: PathBuf,
    file: Arc<dyn DiskFile>,
    pub(crate) bytes: u64,
    pub(crate) slots: [Slot; 2],
    pub(crate) chosen: Option<Generation>,
    pub(crate) fallback: Option<Generation>,
}

impl BlockFile {
    /// Reads slots and translation tables, and reports problems. `None` when the file cannot be
    /// opened at all; `chosen` is `None` when nothing in it can be used.
    pub(crate) fn open(
        disk: &dyn Disk,
        path: &Path,
        expected: Expected,
        findings: &mut Findings,
    ) -> Option<Self> {
        let place = Place::file(path);
        let opened = disk.open(path, Open::Read).and_then(|file| Ok((file.length()?, file)));
        let (bytes, file) = match opened {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                findings.damage(place, "the file is missing", advice::MISSING);
                return None;
            }
            Err(error) => {
                findings.damage(place, format!("it cannot be read: {error}"), advice::READ);
                return None;
            }
        };
        let slots = [0_u32, 1].map(|number| slot::read_slot(&*file, number, expected));
        let (chosen, fallback) = (None, None);
        let mut this = Self { path: path.to_owned(), file, bytes, slots, chosen, fallback };
        this.choose(findings);
        Some(this)
    }

    fn choose(&mut self, findings: &mut Findings) {
        let path = self.path.clone();
        let place = Place::file(&path);
        let mut valid: Vec<Header> = Vec::new();
        for (number, slot) in (0_u64..).zip(&self.slots) {
            match slot {
                Slot::Valid(header) => valid.push(header.clone()),
                Slot::Later(why) => {
                    findings.damage(place.at(number * UNIT), why.as_str(), advice::NEWER);
                    return;
                }
                Slot::Invalid(_) => {}
            }
        }
        valid.sort_by_key(|header| std::cmp::Reverse(header.checkpoint));
        for header in valid {
            let slot_at = u64::from(header.slot) * UNIT;
            if let Some(chosen) = &self.chosen {
                match self.fallback(&header, chosen) {
                    Ok(fallback) => self.fallback = Some(fallback),
                    Err(why) => findings.warn(
                        place.at(slot_at),
                        format!("checkpoint {} is no fallback: {why}", header.checkpoint),
                        advice::SPARE,
                    ),
                }
                return;
            }
            match self.usable(&header) {
                Ok(generation) => self.chosen = Some(generation),
                Err(why) => findings.damage(
                    place.at(slot_at),
                    format!("checkpoint {} cannot be used: {why}", header.checkpoint),
                    advice::REWRITE,
                ),
            }
        }
        for (number, slot) in (0_u64..).zip(&self.slots) {
            let Slot::Invalid(why) = slot else { continue };
            let place = place.at(number * UNIT);
            match &self.chosen {
                Some(chosen) => findings.warn(
                    place,
                    format!(
                        "header slot {number} is not valid: {why}; the file is opened by \
                         checkpoint {} of the other slot, which has no fallback",
                        chosen.header.checkpoint
                    ),
                    advice::SLOT,
                ),
                None => findings.damage(
                    place,
                    format!("header slot {number} is not valid: {why}"),
                    advice::REWRITE,
                ),
            }
        }
    }

    fn usable(&self, header: &Header) -> Decoded<Generation> {
        let generation = self.generation(header)?;
        if header.root != 0 {
            let root = generation
                .entries
                .get(&header.root)
                .ok_or_else(|| format!("its root, block {}, is not in its table", header.root))?;
            self.read(header, root).map_err(|why| {
                format!("its root, block {} at offset {}, is bad: {why}", root.number, root.offset)
            })?;
        }
        Ok(generation)
    }

    fn fallback(&self, header: &Header, chosen: &Generation) -> Decoded<Generation> {
        if header.checkpoint != chosen.header.previous {
            return Err(format!(
                "checkpoint {} names {} as the one before it",
                chosen.header.checkpoint, chosen.header.previous
            ));
        }
        let generation = self.generation(header)?;
        let mut all = chosen.extents();
        let shared = |number: u64| chosen.entries.get(&number) == generation.entries.get(&number);
        let own = generation.extents();
        all.extend(own.into_iter().filter(|(.., number)| *number == 0 || !shared(*number)));
        all.sort_unstable();
        no_overlap(&all)?;
        Ok(generation)
    }

    /// Reads the translation table of a header and checks its rules.
    fn generation(&self, header: &Header) -> Decoded<Generation> {
        let mut this = Generation { header: header.clone(), entries: BTreeMap::new() };
        let (offset, length, check) = header.map;
        if header.map == (0, 0, 0) {
            return Ok(this);
        }
        let own = Entry {
            number: 0,
            offset,
            length: u32::try_from(length).map_err(|_| "its translation table is too long")?,
            kind: 0,
            generation: header.checkpoint,
            check,
        };
        let bad = |why| format!("its translation table at offset {offset} is bad: {why}");
        check_place(header, &own).map_err(bad)?;
        let payload = self.read(header, &own).map_err(bad)?;
        this.entries = parse_entries(header, &payload).map_err(bad)?;
        no_overlap(&this.extents()).map_err(bad)?;
        Ok(this)
    }

    /// Reads a block and verifies all that is known of it; gives the payload.
    pub(crate) fn read(&self, header: &Header, entry: &Entry) -> Decoded<Vec<u8>> {
        let head = self.read_header(header, entry)?;
        let payload = self.read_raw(entry.offset + BLOCK_HEADER, u64::from(entry.length))?;
        let expected = u32_at(&head, 64);
        let found = crc32c::crc32c(&payload);
        if found != expected {
            return Err(format!(
                "the checksum of its payload is {found:08x} instead of {expected:08x}"
            ));
        }
        Ok(payload)
    }

    /// Reads bytes of a payload without its checksum.
    pub(crate) fn read_part(&self, entry: &Entry, at: u64, length: u64) -> Decoded<Vec<u8>> {
        if at.checked_add(length).is_none_or(|end| end > u64::from(entry.length)) {
            return Err(format!("bytes {at} and {length} more are outside of the block"));
        }
        self.read_raw(entry.offset + BLOCK_HEADER + at, length)
    }

    fn read_header(&self, header: &Header, entry: &Entry) -> Decoded<Vec<u8>> {
        let head = self.read_raw(entry.offset, BLOCK_HEADER)?;
        let from = &mut Cursor::new(&head);
        if from.take(4)? != b"PBLK" {
            return Err("its magic is missing".into());
        }
        let kind = from.u8()?;
        let zeros = from.take(3)?;
        let (database, table) = (from.uuid()?, from.u64()?);
        let (number, generation, _lsn) = (from.u64()?, from.u64()?, from.u64()?);
        let (length, payload_crc, crc) = (from.u64()?, from.u32()?, from.u32()?);
        if crc32c::crc32c(&head[..68]) != crc {
            return Err("the checksum of its header is wrong".into());
        }
        let found = (database, table, kind, number, generation, length);
        let (of, expected_length) = (header, u64::from(entry.length));
        let expected =
            (of.database, of.table, entry.kind, entry.number, entry.generation, expected_length);
        if found != expected || zeros != [0; 3] {
            return Err("its header is that of another block".into());
        }
        if entry.check != u64::from(payload_crc) << 32 | u64::from(crc) {
            return Err("it is another copy than the one that is referred to".into());
        }
        Ok(head)
    }

    fn read_raw(&self, offset: u64, length: u64) -> Decoded<Vec<u8>> {
        if offset.checked_add(length).is_none_or(|end| end > self.bytes) {
            return Err(format!(
                "the file ends at {} before the {length} bytes at offset {offset}",
                self.bytes
            ));
        }
        let length = usize::try_from(length).map_err(|_| "it is too long")?;
        let mut bytes = vec![0; length];
        read_exact_at(&*self.file, &mut bytes, offset)
            .map_err(|error| format!("it cannot be read: {error}"))?;
        Ok(bytes)
    }
}

fn check_place(header: &Header, entry: &Entry) -> Decoded<()> {
    let Entry { offset, .. } = *entry;
    if offset % UNIT != 0 || offset < FIRST_BLOCK {
        return Err(format!("no block can be at offset {offset}"));
    }
    if u64::from(entry.length) > PAYLOAD_MAX || entry.end() > header.length {
        return Err(format!(
            "the block at offset {offset} reaches beyond the {} bytes of its checkpoint",
            header.length
        ));
    }
    Ok(())
}

fn parse_entries(header: &Header, payload: &[u8]) -> Decoded<BTreeMap<u64, Entry>> {
    let from = &mut Cursor::new(payload);
    let (next, checkpoint, count) = (from.u64()?, from.u64()?, from.u64()?);
    if checkpoint != header.checkpoint {
        return Err(format!("it is that of checkpoint {checkpoint}"));
    }
    if count.checked_mul(40) != Some(long(from.left())) {
        return Err(format!("{} bytes are not {count} entries", from.left()));
    }
    let mut entries = BTreeMap::new();
    let mut last = 0;
    for _ in 0..count {
        let (number, offset, length) = (from.u64()?, from.u64()?, from.u32()?);
        let (kind, zeros) = (from.u8()?, from.take(3)?);
        let entry =
            Entry { number, offset, length, kind, generation: from.u64()?, check: from.u64()? };
        if number <= last || number >= next {
            return Err(format!("block number {number} is out of order"));
        }
        last = number;
        if kind == 0 || zeros != [0; 3] || entry.generation > header.checkpoint {
            return Err(format!("the entry of block {number} breaks a rule"));
        }
        check_place(header, &entry).map_err(|why| format!("block {number}: {why}"))?;
        entries.insert(number, entry);
    }
    Ok(entries)
}

/// Checks extents that are sorted by offset.
fn no_overlap(extents: &[(u64, u64, u64)]) -> Decoded<()> {
    for pair in extents.windows(2) {
        let ((_, end, first), (begin, _, second)) = (pair[0], pair[1]);
        if begin < end {
            return Err(format!(
                "blocks {first} and {second} (0: the translation table) overlap at offset {begin}"
            ));
        }
    }
    Ok(())
}

/// The bytes that a block takes, for reports.
pub(crate) fn taken(entry: &Entry) -> u64 {
    BLOCK_HEADER + u64::from(entry.length)
}

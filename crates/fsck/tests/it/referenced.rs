//! Which bytes of a database are referred to, and a sample of them: a flipped bit of any must be
//! found out. The tests of the store use it, too.
//!
//! These are both header slots of each data file, the blocks of both its checkpoints (translation
//! tables, headers and payloads), and of the log the headers of the segments that are needed and
//! the groups in them that are known to have been durable.
//! Everything else may change unnoticed: what is between the slots and the first block, the rest
//! of the last unit of a block or group, holes, segments that are not needed, what stands behind
//! the last group, and that group where nothing says that it was durable: it is what a torn write
//! looks like.

use std::ops::Range;
use std::path::{Path, PathBuf};

use pelorus_env::{Disk as _, Open, SimDisk, read_exact_at, scaled};
use pelorus_fsck::{BlockView, check, inspect};

/// Bytes of a file.
pub(crate) type Piece = (PathBuf, Range<u64>);

/// Units of data files, blocks of the log, and slots.
const UNIT: u64 = 4096;

fn bytes_of(disk: &SimDisk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, Open::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.length().unwrap()).unwrap()];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}

/// The header slots of a data file that it can be opened by.
pub(crate) fn slots(disk: &SimDisk, path: &Path) -> Vec<Piece> {
    let headers = inspect(disk, path).headers;
    let usable = headers.iter().filter(|it| ["newest", "fallback"].contains(&it.state.as_str()));
    usable.map(|it| (path.to_owned(), it.slot * UNIT..(it.slot + 1) * UNIT)).collect()
}

/// The blocks of both checkpoints of a data file.
pub(crate) fn blocks(disk: &SimDisk, path: &Path) -> Vec<(Piece, BlockView)> {
    let blocks = inspect(disk, path).blocks.into_iter();
    let with_place = |it: BlockView| {
        let place = it.offset..it.offset + 72 + it.payload;
        ((path.to_owned(), place), it)
    };
    blocks.map(with_place).collect()
}

/// The pieces of the log.
pub(crate) fn of_log(disk: &SimDisk, folder: &Path) -> Vec<Piece> {
    let report = check(disk, folder);
    let log = report.log.unwrap();
    let folder = folder.join("log");
    let names = disk.list(&folder).unwrap().into_iter().filter(|name| name.ends_with(".log"));
    let mut segments: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    let needed = segments.split_off(segments.len() - usize::try_from(log.needed).unwrap());
    // What the data files hold was durable.
    let mut durable = report.tables.iter().map(|it| it.lsn).chain([log.from]).max().unwrap();
    let (mut found, mut groups) = (Vec::new(), Vec::new());
    for path in needed {
        let bytes = bytes_of(disk, &path);
        let number = |at: u64| -> u64 {
            let at = usize::try_from(at).unwrap();
            u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
        };
        let (first, mut at) = (number(40), UNIT);
        durable = durable.max(number(48));
        found.push((path.clone(), 0..UNIT));
        // Behind the end there may be groups of a segment that had the file before.
        let is_group = |at: u64| {
            let is_inside = at + UNIT <= bytes.len() as u64 && first + at - UNIT < log.end;
            is_inside && number(at + 16) == first + at - UNIT
        };
        while is_group(at) {
            let end = at + number(at + 8);
            durable = durable.max(number(at + 24));
            groups.push((first + at - UNIT, (path.clone(), at..end)));
            at = end.next_multiple_of(UNIT);
        }
    }
    let proven = groups.into_iter().filter(|(start, _)| *start < durable);
    found.extend(proven.map(|(_, piece)| piece));
    found
}

/// About so many of the bytes, some of each piece, with a bit of each: the number of the piece, the
/// offset in the file, the bit. All bytes where `PELORUS_TEST_SCALE` is large.
pub(crate) fn sample(pieces: &[Piece], usual: u32, seed: u64) -> Vec<(usize, u64, u8)> {
    let mut word = seed;
    let mut below = |bound: u64| {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (word >> 33) % bound
    };
    let length = |range: &Range<u64>| range.end - range.start;
    let total: u64 = pieces.iter().map(|(_, range)| length(range)).sum();
    let step = (total / u64::from(scaled(usual))).max(1);
    let mut found = Vec::new();
    for (number, (_, range)) in pieces.iter().enumerate() {
        let step = step.min(length(range) / 8).max(1);
        let mut at = range.start + below(step);
        while at < range.end {
            found.push((number, at, u8::try_from(below(8)).unwrap()));
            // As far as `step` on the average.
            at += 1 + below(2 * step - 1);
        }
    }
    found
}

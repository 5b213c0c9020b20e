//! Bytes that make a damaged file whose checksums are right, so that damage reaches what lies behind
//! them. The fuzz target `blockfile` and a test run it.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use pelorus_blockfile::{BlockFile, BlockId, Identity};
use pelorus_env::{Disk, SimDisk};
use pelorus_error::Code;

const IDENTITY: Identity = Identity { database: *b"0123456789abcdef", table: 7 };

fn path() -> &'static Path {
    Path::new("table")
}

fn shared(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// A file with two checkpoints, holes, and blocks that only the older one has.
fn file() -> SimDisk {
    static MADE: OnceLock<SimDisk> = OnceLock::new();
    let make = || {
        let disk = SimDisk::new(1);
        let file = BlockFile::create(&shared(&disk), path(), IDENTITY).unwrap();
        let mut ids: Vec<BlockId> = Vec::new();
        for round in 0..5_u8 {
            for length in [10, 5000, 300] {
                ids.push(
                    file.write(1 + round % 3, &vec![round; length], u64::from(round)).unwrap(),
                );
            }
            file.free(ids.remove(0)).unwrap();
            let root = *ids.last().unwrap();
            file.checkpoint(root, u64::from(round) * 100, || Ok(())).unwrap();
        }
        disk
    };
    MADE.get_or_init(make).fork(1)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// Makes the checksums of a block right; gives its check.
fn seal(bytes: &mut [u8], at: usize, length: usize) -> u64 {
    let payload = crc32c::crc32c(&bytes[at + 72..at + 72 + length]);
    put(bytes, at + 64, &payload.to_le_bytes());
    let header = crc32c::crc32c(&bytes[at..at + 68]);
    put(bytes, at + 68, &header.to_le_bytes());
    u64::from(payload) << 32 | u64::from(header)
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    Refused,
    Fallback,
    Opened,
}

/// Changes what the input says: four bytes each for the place (a slot's header, its translation
/// table, a block's header), an offset in it, and the new byte.
pub(crate) fn run(input: &[u8]) -> End {
    let disk = file();
    let mut bytes = disk.durable_bytes(path()).unwrap();
    // Where tables and blocks are is read before anything is changed.
    let tables = [0, 4096].map(|slot| {
        let at = |from: usize| u64_at(&bytes, slot + from) as usize;
        (slot, at(104), at(112))
    });
    for change in input.as_chunks::<4>().0 {
        let [what, offset, more, byte] = *change;
        let offset = usize::from(offset) | usize::from(more & 15) << 8;
        let (slot, table, length) = tables[usize::from(what & 1)];
        match what >> 1 & 3 {
            // Most fields of a header lie in its first 128 bytes.
            0 => bytes[slot + offset % 128] = byte,
            1 => bytes[table + 72 + offset % length] = byte,
            2 => bytes[table + offset % 64] = byte,
            _ => {
                let entry = table + 72 + 24 + offset % ((length - 24) / 40) * 40;
                let at = u64_at(&bytes, entry + 8) as usize;
                if let Some(place) = bytes.get_mut(at + offset % 64) {
                    *place = byte;
                }
            }
        }
    }
    for (slot, table, length) in tables {
        // An input with an odd number of bytes leaves the check of the table as it is.
        let check = seal(&mut bytes, table, length);
        if input.len().is_multiple_of(2) {
            put(&mut bytes, slot + 120, &check.to_le_bytes());
        }
        let crc = crc32c::crc32c(&bytes[slot..slot + 4092]);
        put(&mut bytes, slot + 4092, &crc.to_le_bytes());
    }
    disk.overwrite(path(), 0, &bytes).unwrap();
    use_file(&disk)
}

/// Opens, reads everything, writes, and opens again.
fn use_file(disk: &SimDisk) -> End {
    let file = match BlockFile::open(&shared(disk), path(), IDENTITY) {
        Ok(file) => file,
        Err(error) => {
            let code = error.code();
            assert!(matches!(code, Code::FileDamaged | Code::FileVersion), "{error}");
            return End::Refused;
        }
    };
    // The root was verified.
    file.check_space().unwrap();
    let damaged = file.verify_all().iter().filter(|damage| damage.block.is_some()).count();
    let blocks = file.blocks();
    let whole: Vec<(BlockId, Vec<u8>)> =
        blocks.iter().filter_map(|block| Some((block.id, file.read(block.id).ok()?))).collect();
    assert_eq!(whole.len() + damaged, blocks.len());
    let end = if file.fallback().is_some() { End::Fallback } else { End::Opened };
    // Numbers may be at the end of their range, and a file too long for the disk.
    let Ok(root) = file.write(1, b"new", 1) else { return end };
    if file.checkpoint(root, u64::MAX, || Ok(())).is_err() {
        return end;
    }
    file.check_space().unwrap();
    disk.crash();
    let file = BlockFile::open(&shared(disk), path(), IDENTITY).unwrap();
    for (id, payload) in whole {
        assert_eq!(file.read(id).unwrap(), payload);
    }
    assert_eq!(file.read(root).unwrap(), b"new");
    end
}

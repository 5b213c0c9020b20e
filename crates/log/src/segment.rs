//! Segment files: their names, and their creation.
//!
//! A segment is written under a temporary name, synced, and renamed; then its folder is synced. So
//! a file under a segment's name has had a durable header from its first moment, and a header that
//! does not decode is damage, never the result of a crash.
//!
//! The file of an obsolete segment can be set aside for a later one, which is cheaper than new
//! space: its blocks are already allocated on the disk and cached by the operating system. Its old
//! content is ignored by the next segment, whose checksums begin with another number.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pelorus_env::{
    ALIGNMENT, Disk, DiskFile, Open, is_disk_full, is_out_of_files, rare, read_exact_at,
    write_all_at, write_all_direct,
};
use pelorus_error::{Code, Error, Result};

use crate::format::{BLOCK, BLOCK_BYTES, HeaderError, SegmentHeader};

const SUFFIX: &str = ".log";
const TEMPORARY_SUFFIX: &str = ".new";
const SPARE_SUFFIX: &str = ".spare";
/// Digits of a number in a name: as many as the largest number has, so that names sort.
const DIGITS: usize = 20;

pub(crate) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:020}{SUFFIX}"))
}

/// The name of a segment's file that is set aside.
pub(crate) fn spare(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:020}{SPARE_SUFFIX}"))
}

/// The number in a name, if it is one that `path` makes.
fn number_of(name: &str, suffix: &str) -> Option<u64> {
    let digits = name.strip_suffix(suffix)?;
    let well_formed = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    if well_formed { digits.parse().ok() } else { None }
}

/// The numbers of the segments in a folder, rising. Removes the remains of an interrupted creation,
/// and files that were set aside. Other files are not the log's and stay.
pub(crate) fn list(disk: &dyn Disk, folder: &Path) -> Result<Vec<u64>> {
    let names = disk.list(folder).map_err(|error| read_error(folder, error))?;
    for name in &names {
        if [TEMPORARY_SUFFIX, SPARE_SUFFIX].iter().any(|it| number_of(name, it).is_some()) {
            let leftover = folder.join(name);
            disk.remove(&leftover).map_err(|error| write_error(&leftover, error))?;
        }
    }
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| number_of(name, SUFFIX)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Opens a segment to read, and reads its header.
pub(crate) fn open(
    disk: &dyn Disk,
    folder: &Path,
    number: u64,
    uuid: &[u8; 16],
) -> Result<(Arc<dyn DiskFile>, SegmentHeader)> {
    let path = path(folder, number);
    let file = disk.open(&path, Open::Read).map_err(|error| read_error(&path, error))?;
    let mut bytes = [0; BLOCK_BYTES];
    match read_exact_at(&*file, &mut bytes, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(damaged(&path, 0, "the file is shorter than its header"));
        }
        Err(error) => return Err(read_error(&path, error)),
    }
    let header = match SegmentHeader::decode(&bytes) {
        Ok(header) => header,
        Err(HeaderError::Damaged) => {
            return Err(damaged(&path, 0, "its header is damaged"));
        }
        Err(HeaderError::Version(version)) => {
            let text = format!(
                "log segment {} has format version {version}, which this version of pelorus cannot \
                 read; open it with the version that wrote it",
                path.display()
            );
            return Err(Error::new(Code::FileVersion, text));
        }
    };
    if header.uuid != *uuid {
        return Err(damaged(&path, 0, "it belongs to another log"));
    }
    if header.number != number {
        return Err(damaged(&path, 0, &format!("it is segment {} by its header", header.number)));
    }
    Ok((file, header))
}

/// Why a segment was not created.
#[derive(Debug)]
pub(crate) struct CreateError {
    pub(crate) error: Error,
    /// The disk was full, or too many files were open, and the folder has no segment of this name: all
    /// is as it was before.
    pub(crate) refused: bool,
}

/// Creates a segment, durable when this returns, from a file that was set aside if there is one.
/// `fill` writes the content after the header.
pub(crate) fn create(
    disk: &dyn Disk,
    folder: &Path,
    header: &SegmentHeader,
    spare: Option<&Path>,
    fill: &mut dyn FnMut(&dyn DiskFile) -> Result<()>,
) -> Result<Arc<dyn DiskFile>, CreateError> {
    let path = path(folder, header.number);
    let temporary = path.with_extension(&TEMPORARY_SUFFIX[1..]);
    let written = write_temporary(disk, &temporary, header, spare, fill);
    let file = written.map_err(|error| {
        // Gives the space back; what cannot be removed now is removed by the next creation.
        disk.remove(&temporary).ok();
        let refused = error.code() == Code::DiskFull || is_of_too_many_files(&error);
        CreateError { error, refused }
    })?;
    disk.rename(&temporary, &path)
        .and_then(|()| disk.sync_folder(folder))
        .map_err(|error| CreateError { error: write_error(&path, error), refused: false })?;
    Ok(file)
}

fn write_temporary(
    disk: &dyn Disk,
    path: &Path,
    header: &SegmentHeader,
    spare: Option<&Path>,
    fill: &mut dyn FnMut(&dyn DiskFile) -> Result<()>,
) -> Result<Arc<dyn DiskFile>> {
    let failed = |error| write_error(path, error);
    match disk.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let file = match spare {
        Some(spare) => disk.rename(spare, path).and_then(|()| disk.open(path, Open::Write)),
        None => disk.open(path, Open::Create),
    };
    let file = file.map_err(failed)?;
    write_all_at(&*file, &header.encode(), 0).map_err(failed)?;
    fill(&*file)?;
    file.sync().map_err(failed)?;
    Ok(file)
}

/// Whether the file could not be opened although nothing is wrong with the disk.
fn is_of_too_many_files(error: &Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|it| it.downcast_ref::<io::Error>());
    cause.is_some_and(is_out_of_files)
}

/// Removes files that were set aside. One that cannot be removed goes when the log is opened.
pub(crate) fn remove_spares(disk: &dyn Disk, folder: &Path, spares: &mut Vec<u64>) {
    for number in spares.drain(..) {
        disk.remove(&spare(folder, number)).ok();
    }
}

/// Zeros that lie in memory as direct writes need them.
#[repr(align(4096))]
struct Zeros([u8; 1 << 20]);

static ZEROS: Zeros = Zeros([0; 1 << 20]);

const _: () = assert!(align_of::<Zeros>() == ALIGNMENT, "zeros are written directly");

/// Takes space from the end of a file up to `needed`, and by writing zeros `ahead` bytes more, so
/// that small groups do not change the file's metadata. Where much of it is written at once, it is not
/// written twice. Returns up to where it came, with the error that ended it there.
pub(crate) fn reserve(
    file: &dyn DiskFile,
    from: u64,
    needed: u64,
    (ahead, is_much): (u64, bool),
) -> (u64, io::Result<()>) {
    if is_much {
        match file.allocate(from, needed) {
            Ok(()) => {
                rare("the log takes space without writing");
                return (needed, Ok(()));
            }
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(error) => return (from, Err(error)),
        }
    }
    let to = needed.saturating_add(ahead);
    let (mut at, mut step) = (from, ZEROS.0.len());
    while at < to {
        let count = usize::try_from(to - at).unwrap_or(usize::MAX).min(step);
        match write_all_direct(file, &ZEROS.0[..count], at) {
            Ok(()) => at += count as u64,
            // There may be room for a part of it.
            Err(error) if is_disk_full(&error) && count > BLOCK_BYTES => {
                step = (count / 2).next_multiple_of(BLOCK_BYTES);
            }
            Err(error) => return (at, Err(error)),
        }
    }
    (at, Ok(()))
}

pub(crate) fn write_error(path: &Path, error: io::Error) -> Error {
    let path = path.display();
    let (code, text) = match is_disk_full(&error) {
        true => (
            Code::DiskFull,
            format!(
                "the disk is full: cannot write {path}: {error}; make room, or drop native tables \
                 or partitions, which works on a full disk"
            ),
        ),
        false => (Code::FileWrite, format!("cannot write {path}: {error}")),
    };
    Error::new(code, text).caused_by(error)
}

pub(crate) fn read_error(path: &Path, error: io::Error) -> Error {
    Error::new(Code::FileRead, format!("cannot read {}: {error}", path.display())).caused_by(error)
}

/// Acknowledged data cannot be read; `what` completes "log segment F is damaged at offset O: ".
pub(crate) fn damaged(path: &Path, offset: u64, what: &str) -> Error {
    let path = path.display();
    let text = format!(
        "log segment {path} is damaged at offset {offset}: {what}; nothing was changed: put back \
         the original file, or restore the database from a backup"
    );
    Error::new(Code::FileDamaged, text)
}

/// The offset of a position in the file of a segment that begins at `first`.
pub(crate) fn offset_of(first: crate::Lsn, lsn: crate::Lsn) -> u64 {
    lsn.0.saturating_sub(first.0).saturating_add(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_path_makes_are_segments() {
        let name = path(Path::new(""), u64::MAX);
        assert_eq!(number_of(name.to_str().unwrap(), SUFFIX), Some(u64::MAX));
        for name in [
            "99999999999999999999.log",
            "1.log",
            "+0000000000000000001.log",
            "000000000000000000001.log",
            "00000000000000000001.LOG",
            "00000000000000000001.new",
            ".log",
        ] {
            assert_eq!(number_of(name, SUFFIX), None, "{name}");
        }
    }
}

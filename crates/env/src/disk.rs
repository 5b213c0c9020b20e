//! [`Disk`]: files that are read and written in place, the log and the data files of native tables.
//!
//! All disk operations of the storage go through [`Disk`] and [`DiskFile`], so that
//! [`SimDisk`](crate::SimDisk) can lose, tear, damage and refuse exactly what a real disk can. Only
//! `sync` orders durability: until it returns, any subset of the writes may survive.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::aligned::ALIGNMENT;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// An existing file, to read.
    Read,
    /// An existing file, to read and write.
    Write,
    /// A new file, to read and write; an existing one is an error.
    Create,
}

/// A place that holds files.
pub trait Disk: Send + Sync + std::fmt::Debug {
    /// Opens a file. A created file is durable once it and its folder are synced.
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn DiskFile>>;
    /// Removes a file; durable once its folder is synced. Open handles go on working.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Moves a file over another; durable once the folder is synced.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Creates a folder and its parents, for its owner only; the names of those that it makes are
    /// durable when it returns.
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// The names in a folder, sorted; empty when there is no such folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Makes creations, removals and renames inside a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// An open file. Methods take `&self`: reads and writes at offsets need no shared position.
pub trait DiskFile: Send + Sync + std::fmt::Debug {
    /// Reads at an offset; may read less than asked for, and reads 0 bytes at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes at an offset; may write less than given.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Writes at an offset what is not read soon; may write less than given. Where the bytes begin and
    /// end at multiples of [`ALIGNMENT`], in memory and in the file, they go past the operating
    /// system's memory, which has neither to copy nor to keep them.
    fn write_direct(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.write_at(bytes, offset)
    }
    /// Makes all bytes and the length durable. After an error nothing is known of either, and
    /// trying again proves nothing.
    fn sync(&self) -> io::Result<()>;
    /// Takes the space from the end of the file up to a position, so that writing there does not
    /// fill the disk. It reads as zeros, and costs the first sync after each write into it a
    /// little more than zeros that have been written.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where a disk can take no space without writing.
    fn allocate(&self, _from: u64, _to: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Cuts or extends (with zeros) the file.
    fn set_len(&self, length: u64) -> io::Result<()>;
    /// The length in bytes.
    fn length(&self) -> io::Result<u64>;
}

/// Fills the buffer from an offset; an end before that is [`io::ErrorKind::UnexpectedEof`].
pub fn read_exact_at(
    file: &dyn DiskFile,
    mut buffer: &mut [u8],
    mut offset: u64,
) -> io::Result<()> {
    while !buffer.is_empty() {
        match file.read_at(buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                buffer = &mut buffer[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes all bytes at an offset.
pub fn write_all_at(file: &dyn DiskFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    write_all(|bytes, offset| file.write_at(bytes, offset), bytes, offset)
}

/// Writes all bytes at an offset, as [`DiskFile::write_direct`] does.
pub fn write_all_direct(file: &dyn DiskFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    write_all(|bytes, offset| file.write_direct(bytes, offset), bytes, offset)
}

fn write_all(
    write: impl Fn(&[u8], u64) -> io::Result<usize>,
    mut bytes: &[u8],
    mut offset: u64,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                bytes = &bytes[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The disk of the operating system.
#[derive(Debug)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(how != Open::Read).create_new(how == Open::Create);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        let direct = if how == Open::Read { Direct::Impossible } else { Direct::Closed };
        Ok(Arc::new(RealFile { file, direct: Mutex::new(direct) }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        crate::Files::create_folder(&crate::DiskFiles, path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()?;
        names.sort_unstable();
        Ok(names)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        open_folder(folder)?.sync_all()
    }
}

/// Folders that were synced and are held open: a file that has got its name must get it durably, even
/// where nothing more can be opened.
static FOLDERS: Mutex<BTreeMap<PathBuf, Arc<File>>> = Mutex::new(BTreeMap::new());

/// More than one process has; tests make and remove very many.
const FOLDERS_MAX: usize = 16;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that is open, from now on if it was not.
fn open_folder(folder: &Path) -> io::Result<Arc<File>> {
    let mut folders = lock(&FOLDERS);
    // Another folder may have its name by now. What is held open cannot lose its number to another.
    let now = fs::metadata(folder)?;
    let is_same = |held: &Arc<File>| {
        held.metadata().is_ok_and(|it| (it.dev(), it.ino()) == (now.dev(), now.ino()))
    };
    if let Some(held) = folders.get(folder).filter(|&held| is_same(held)) {
        return Ok(Arc::clone(held));
    }
    let opened = Arc::new(File::open(folder)?);
    if folders.len() >= FOLDERS_MAX {
        folders.clear();
    }
    folders.insert(folder.to_owned(), Arc::clone(&opened));
    Ok(opened)
}

/// An open file. One that nothing is written to takes one descriptor.
#[derive(Debug)]
struct RealFile {
    file: File,
    direct: Mutex<Direct>,
}

/// The same file once more, for writes past the operating system's memory.
#[derive(Debug)]
enum Direct {
    /// Nothing was written between the last two syncs.
    Closed,
    Open {
        file: Arc<File>,
        written: bool,
    },
    /// Its file system has none, or it is only read.
    Impossible,
}

impl RealFile {
    /// The file for a direct write, opened if it is not; `None` where that cannot be.
    fn direct(&self) -> Option<Arc<File>> {
        let mut direct = lock(&self.direct);
        if let Direct::Closed = *direct {
            match open_direct(&self.file) {
                Ok(file) => *direct = Direct::Open { file: Arc::new(file), written: true },
                // Others may be closed until the next write.
                Err(error) if is_out_of_files(&error) => {}
                Err(_) => *direct = Direct::Impossible,
            }
        }
        match &mut *direct {
            Direct::Open { file, written } => {
                *written = true;
                Some(Arc::clone(file))
            }
            Direct::Closed | Direct::Impossible => None,
        }
    }

    /// Gives the second descriptor back if nothing was written since the sync before: a log, which
    /// writes before each, keeps it, and the file of a table only until its checkpoint is made.
    fn close_direct(&self) {
        let mut direct = lock(&self.direct);
        if let Direct::Open { written, .. } = &mut *direct
            && !std::mem::take(written)
        {
            *direct = Direct::Closed;
        }
    }
}

/// Opens a file once more for direct writes, whatever its name is by now.
fn open_direct(file: &File) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        let mut options = OpenOptions::new();
        let flag = rustix::fs::OFlags::DIRECT.bits().cast_signed();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flag);
        options.write(true).open(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file.as_raw_fd();
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Whether a disk, or the part of it that this user may take, is full.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Whether nothing could be opened since this process, or the machine, has as much open as it may.
pub fn is_out_of_files(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let is = |it: Errno| error.raw_os_error() == Some(it.raw_os_error());
    is(Errno::MFILE) || is(Errno::NFILE)
}

/// Lets this process have as many files open as it may at most; gives how many that are. Every native
/// table has one, and every client.
pub fn raise_file_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised.current,
        // As it was.
        Err(_) => limit.current,
    }
}

/// Whether bytes can be written directly.
pub(crate) fn is_aligned(bytes: &[u8], offset: u64) -> bool {
    bytes.as_ptr().align_offset(ALIGNMENT) == 0
        && bytes.len().is_multiple_of(ALIGNMENT)
        && offset.is_multiple_of(ALIGNMENT as u64)
}

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(&self.file, bytes, offset)
    }

    fn write_direct(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let direct = if is_aligned(bytes, offset) { self.direct() } else { None };
        if let Some(direct) = direct {
            match std::os::unix::fs::FileExt::write_at(&*direct, bytes, offset) {
                // What a disk with larger blocks says, and file systems that only take the flag.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
                other => return other,
            }
        }
        self.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.close_direct();
        self.file.sync_data()
    }

    #[cfg(target_os = "linux")]
    fn allocate(&self, from: u64, to: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::{Errno, retry_on_intr};
        let length = to.saturating_sub(from);
        let taken = retry_on_intr(|| fallocate(&self.file, FallocateFlags::empty(), from, length));
        taken.map_err(|error| match error {
            Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL => io::ErrorKind::Unsupported.into(),
            other => other.into(),
        })
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AlignedBytes, scaled};

    /// What is allocated is there, reads as zeros and keeps what was written before it.
    #[cfg(target_os = "linux")]
    #[test]
    fn allocated_space_reads_as_zeros() {
        let folder = std::env::temp_dir().join(format!("pelorus-allocate-{}", std::process::id()));
        RealDisk.create_folder(&folder).unwrap();
        let path = folder.join("file");
        let file = RealDisk.open(&path, Open::Create).unwrap();
        write_all_at(&*file, &[7; 5000], 0).unwrap();
        match file.allocate(5000, 3 << 20) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            allocated => {
                allocated.unwrap();
                let mut found = vec![1; 3 << 20];
                assert_eq!(file.length().unwrap(), found.len() as u64);
                read_exact_at(&*file, &mut found, 0).unwrap();
                assert!(found[..5000].iter().all(|&byte| byte == 7));
                assert!(found[5000..].iter().all(|&byte| byte == 0));
            }
        }
        RealDisk.remove(&path).unwrap();
        RealDisk.remove_folder(&folder).unwrap();
    }

    /// Direct writes, others and reads of one file see each other, whatever is aligned.
    #[test]
    fn direct_writes_are_read_as_others_are() {
        let folder = std::env::temp_dir().join(format!("pelorus-direct-{}", std::process::id()));
        RealDisk.create_folder(&folder).unwrap();
        let path = folder.join("file");
        let file = RealDisk.open(&path, Open::Create).unwrap();
        let mut expected = vec![0_u8; 1 << 18];
        write_all_at(&*file, &expected, 0).unwrap();
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for round in 0..scaled(200) {
            let unit = if round % 3 == 0 { 1 } else { ALIGNMENT as u64 };
            let from = next((1 << 17) / unit) * unit;
            let length = usize::try_from(next((1 << 16) / unit) * unit).unwrap();
            let mut bytes = AlignedBytes::with_capacity(length);
            bytes.resize(length, round.to_le_bytes()[0]);
            match next(3) {
                0 => write_all_at(&*file, &bytes, from).unwrap(),
                _ => write_all_direct(&*file, &bytes, from).unwrap(),
            }
            let from = usize::try_from(from).unwrap();
            expected[from..from + length].copy_from_slice(&bytes);
            let mut found = vec![0; expected.len()];
            read_exact_at(&*file, &mut found, 0).unwrap();
            assert!(found == expected, "round {round}");
        }
        file.sync().unwrap();
        RealDisk.remove(&path).unwrap();
        RealDisk.remove_folder(&folder).unwrap();
    }
}

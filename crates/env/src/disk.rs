//! Files that are read and written in place: the log and the data files of native tables.
//!
//! Everything that the storage does to a disk goes through [`Disk`] and [`DiskFile`], so that
//! [`SimDisk`](crate::SimDisk) can lose, tear, damage and refuse exactly what a real one can.
//! Only `sync` orders durability: until it returns, any subset of what was written may survive.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

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
    /// Creates a folder and its parents, for its owner only.
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
    /// Makes all bytes and the length durable. After an error nothing is known of either, and
    /// trying again proves nothing.
    fn sync(&self) -> io::Result<()>;
    /// Cuts or extends (with zeros) the file.
    fn set_len(&self, length: u64) -> io::Result<()>;
    /// The length in bytes.
    fn length(&self) -> io::Result<u64>;
    /// Says that some bytes, which are durable, are not read soon, so that the operating system can
    /// use the memory in which it has them for something else.
    fn forget(&self, _offset: u64, _bytes: u64) {}
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
pub fn write_all_at(file: &dyn DiskFile, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(bytes, offset) {
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
        Ok(Arc::new(RealFile(options.open(path)?)))
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
        File::open(folder)?.sync_all()
    }
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.0, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(&self.0, bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn forget(&self, offset: u64, bytes: u64) {
        #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
        if let Some(bytes) = std::num::NonZeroU64::new(bytes) {
            // Advice: nothing is lost without it.
            rustix::fs::fadvise(&self.0, offset, Some(bytes), rustix::fs::Advice::DontNeed).ok();
        }
        #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
        let _ = (offset, bytes);
    }
}

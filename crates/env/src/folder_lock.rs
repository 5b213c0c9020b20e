//! The lock of a data folder: one process at a time.
//!
//! Two processes that write one log and one set of data files would each lose writes that the other
//! has acknowledged. The lock is the operating system's on a file of the folder, so it ends with
//! its process, however that ends, and no cleanup is needed. The file is never removed: a process
//! that removed it could do so after another process has locked it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// The name of the file.
const NAME: &str = "lock";

/// An exclusively locked folder, until this is dropped.
#[derive(Debug)]
pub struct FolderLock {
    /// Nothing where the folder has no lock that could be taken.
    _file: Option<File>,
}

impl FolderLock {
    /// Takes the lock of an existing folder; `None` while another process has it.
    ///
    /// # Errors
    /// A folder that cannot be written to, or whose file system has no locks.
    pub fn try_take(folder: &Path) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(folder.join(NAME))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: Some(file) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Keeps the lock of a folder from being taken while the folder is read; `None` while another
    /// process has it. Any number of readers can share it. Nothing is written: a folder that was
    /// never in use has no file to lock, and a read-only folder has no writer.
    ///
    /// # Errors
    /// An existing file that cannot be opened or locked.
    pub fn try_share(folder: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(folder.join(NAME)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(Self { _file: None }));
            }
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Self { _file: Some(file) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            // Without locks no server runs there either.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Some(Self { _file: None }))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DiskFiles, Files as _};

    #[test]
    fn a_folder_has_one_user_at_a_time() {
        let folder = std::env::temp_dir().join(format!("pelorus-lock-{}", std::process::id()));
        let [one, two] = ["one", "two"].map(|name| folder.join(name));
        DiskFiles.create_folder(&one).unwrap();
        DiskFiles.create_folder(&two).unwrap();
        let first = FolderLock::try_take(&one).unwrap().unwrap();
        assert!(FolderLock::try_take(&one).unwrap().is_none());
        let other = FolderLock::try_take(&two).unwrap();
        assert!(other.is_some(), "another folder is another matter");
        drop(first);
        assert!(FolderLock::try_take(&one).unwrap().is_some());
        assert!(FolderLock::try_take(&folder.join("missing")).is_err());
        drop(other);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn readers_share_a_folder_and_leave_no_trace() {
        let folder = std::env::temp_dir().join(format!("pelorus-share-{}", std::process::id()));
        DiskFiles.create_folder(&folder).unwrap();
        assert!(FolderLock::try_share(&folder).unwrap().is_some());
        assert!(!folder.join(NAME).try_exists().unwrap(), "a reader has made the file");
        let user = FolderLock::try_take(&folder).unwrap().unwrap();
        assert!(FolderLock::try_share(&folder).unwrap().is_none());
        drop(user);
        let readers = [(); 2].map(|()| FolderLock::try_share(&folder).unwrap().unwrap());
        assert!(FolderLock::try_take(&folder).unwrap().is_none());
        drop(readers);
        assert!(FolderLock::try_take(&folder).unwrap().is_some());
        std::fs::remove_dir_all(folder).unwrap();
    }
}

//! Small files that are read and replaced as a whole: accounts, linked servers, keys.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Reads and replaces whole files.
pub trait Files: Send + Sync + std::fmt::Debug {
    /// Returns the bytes of a file, or `None` when there is no such file.
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>>;
    /// Replaces a file so that after a crash either the old or the new bytes are there. The file
    /// can be read by its owner only.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Creates a folder and its parents, for its owner only; the names of those that it makes are
    /// durable when it returns.
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Removes the folders in one, with everything in them, whose names begin like this. It need
    /// not be there itself.
    fn remove_folders(&self, within: &Path, prefix: &str) -> io::Result<()>;
}

/// The disk.
#[derive(Debug)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        match fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut draft = path.as_os_str().to_owned();
        draft.push(".new");
        let draft = PathBuf::from(draft);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        // The rename is durable once the folder is.
        File::open(folder)?.sync_all()
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let is_missing =
            |it: &&Path| !it.as_os_str().is_empty() && matches!(it.try_exists(), Ok(false));
        let made: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)?;
        if made.is_empty() {
            // Who made it may have died before its name was durable. Where that cannot be mended (it
            // is mounted within what is read only, or cannot be synced), it is there all the same.
            sync_name(path).ok();
        }
        made.into_iter().try_for_each(sync_name)
    }

    fn remove_folders(&self, within: &Path, prefix: &str) -> io::Result<()> {
        let entries = match fs::read_dir(within) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let is_meant = entry.file_name().to_string_lossy().starts_with(prefix);
            if is_meant && entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }
}

/// Makes a folder's name durable: it is once the folder is that it stands in.
fn sync_name(folder: &Path) -> io::Result<()> {
    let parent = folder.parent().filter(|it| !it.as_os_str().is_empty());
    match File::open(parent.unwrap_or(Path::new("."))) {
        // A folder of others, which takes names and shows none.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        parent => parent?.sync_all(),
    }
}

/// Files that live as long as the value, for tests.
#[derive(Debug, Default)]
pub struct MemoryFiles(Mutex<BTreeMap<PathBuf, Vec<u8>>>);

impl Files for MemoryFiles {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned())
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn create_folder(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove_folders(&self, within: &Path, prefix: &str) -> io::Result<()> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|file, _| {
            let inside = file.strip_prefix(within).ok().and_then(|rest| rest.to_str());
            !inside.is_some_and(|rest| rest.starts_with(prefix))
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_read_by_its_owner_only() {
        let folder = std::env::temp_dir().join(format!("pelorus-env-{}", std::process::id()));
        DiskFiles.create_folder(&folder).unwrap();
        let path = folder.join("accounts");
        assert_eq!(DiskFiles.read(&path).unwrap(), None);
        DiskFiles.replace(&path, b"old and long").unwrap();
        DiskFiles.replace(&path, b"new").unwrap();
        assert_eq!(DiskFiles.read(&path).unwrap().as_deref(), Some(&b"new"[..]));
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(
                &fs::metadata(&path).unwrap().permissions(),
            );
            assert_eq!(mode & 0o777, 0o600);
        }
        fs::remove_dir_all(folder).unwrap();
    }

    /// A data folder may be mounted within anything; `/proc` has no folder that can be synced.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_is_there_needs_no_parent_that_can_be_synced() {
        let folder = Path::new("/proc/self/task");
        sync_name(folder).unwrap_err();
        DiskFiles.create_folder(folder).unwrap();
    }

    #[test]
    fn folders_are_removed_by_the_beginning_of_their_names() {
        let folder = std::env::temp_dir().join(format!("pelorus-env-in-{}", std::process::id()));
        DiskFiles.remove_folders(&folder, "left-").unwrap();
        for inside in ["left-1/deep", "left-2", "kept"] {
            DiskFiles.create_folder(&folder.join(inside)).unwrap();
        }
        DiskFiles.replace(&folder.join("left-1").join("deep").join("file"), b"rows").unwrap();
        DiskFiles.remove_folders(&folder, "left-").unwrap();
        let left: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["kept"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}

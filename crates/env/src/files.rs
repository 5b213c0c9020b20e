//! Small files that are read and replaced as a whole: accounts, linked servers, keys.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Reads and replaces whole files.
pub trait Files: Send + Sync + std::fmt::Debug {
    /// Returns the bytes of a file, or `None` when there is no such file.
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>>;
    /// Returns the bytes of a regular file of at most `most` bytes that a user has named: it
    /// never waits for another process, as a pipe would. With `within`, only files of that folder
    /// are read, and symbolic links do not lead out of it; a relative path begins there.
    ///
    /// # Errors
    /// A file that is not there, that is no such file, or that is too large.
    fn read_named(&self, path: &Path, within: Option<&Path>, most: u64) -> io::Result<Vec<u8>>;
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

    fn read_named(&self, path: &Path, within: Option<&Path>, most: u64) -> io::Result<Vec<u8>> {
        let path = match within {
            Some(folder) => resolve_within(folder, path)?,
            None => path.to_owned(),
        };
        // Before it is opened: opening alone does something to some devices.
        check_regular(&fs::metadata(&path)?, most)?;
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(
            &mut options,
            open_flags(within.is_some())?,
        );
        let file = options.open(&path)?;
        // And after it: the name may have been given to another file meanwhile.
        check_regular(&file.metadata()?, most)?;
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(too_large(most));
        }
        Ok(bytes)
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

/// The real path of a file in a folder.
///
/// What is outside is refused by its name alone, so that the answer does not say whether it is there.
fn resolve_within(folder: &Path, path: &Path) -> io::Result<PathBuf> {
    let outside = || io::Error::other(format!("it is outside of the folder {}", folder.display()));
    let path = folder.join(path);
    if path.components().any(|it| it == Component::ParentDir) || !path.starts_with(folder) {
        return Err(outside());
    }
    let (folder, path) = (fs::canonicalize(folder)?, fs::canonicalize(path)?);
    if path.starts_with(&folder) { Ok(path) } else { Err(outside()) }
}

fn check_regular(found: &fs::Metadata, most: u64) -> io::Result<()> {
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if found.len() > most { Err(too_large(most)) } else { Ok(()) }
}

fn too_large(most: u64) -> io::Error {
    io::Error::other(format!("it has more than {} KiB", most >> 10))
}

/// Opening neither waits nor gives the process a terminal. A path without symbolic links is not followed
/// when its last part has become one.
#[cfg(unix)]
fn open_flags(is_resolved: bool) -> io::Result<i32> {
    use rustix::fs::OFlags;
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    flags.set(OFlags::NOFOLLOW, is_resolved);
    i32::try_from(flags.bits()).map_err(io::Error::other)
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
    fn read_named(&self, path: &Path, within: Option<&Path>, most: u64) -> io::Result<Vec<u8>> {
        let path = within.map_or_else(|| path.to_owned(), |folder| folder.join(path));
        let bytes = self.read(&path)?.ok_or(io::ErrorKind::NotFound)?;
        if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
    }

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

    #[cfg(unix)]
    #[test]
    fn named_files_are_regular_small_and_in_their_folder() {
        use std::os::unix::fs::symlink;
        let top = std::env::temp_dir().join(format!("pelorus-env-named-{}", std::process::id()));
        let folder = top.join("secrets");
        DiskFiles.create_folder(&folder.join("inner")).unwrap();
        DiskFiles.create_folder(&top.join("secrets-of-others")).unwrap();
        let write = |path: &str| DiskFiles.replace(&top.join(path), path.as_bytes()).unwrap();
        ["secrets/plain", "secrets/inner/deep", "outside", "secrets-of-others/x"]
            .into_iter()
            .for_each(write);
        symlink("inner/deep", folder.join("within")).unwrap();
        symlink("../outside", folder.join("away")).unwrap();
        symlink("..", folder.join("up")).unwrap();
        symlink("loop", folder.join("loop")).unwrap();
        File::create(folder.join("sparse")).unwrap().set_len(3 << 30).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        let read = |path: &str| DiskFiles.read_named(Path::new(path), Some(&folder), 64 << 10);
        assert_eq!(read("plain").unwrap(), b"secrets/plain");
        assert_eq!(read("within").unwrap(), b"secrets/inner/deep");
        let absolute = folder.join("plain").display().to_string();
        assert_eq!(read(&absolute).unwrap(), b"secrets/plain");
        let outside = top.join("outside").display().to_string();
        let neighbour = top.join("secrets-of-others/x").display().to_string();
        for (path, why) in [
            ("pipe", "not a regular file"),
            ("socket", "not a regular file"),
            ("inner", "not a regular file"),
            ("", "not a regular file"),
            (".", "not a regular file"),
            ("sparse", "more than 64 KiB"),
            ("missing", "No such file"),
            ("away", "outside of the folder"),
            ("up/outside", "outside of the folder"),
            ("../outside", "outside of the folder"),
            ("inner/../../outside", "outside of the folder"),
            ("../missing", "outside of the folder"),
            (&outside, "outside of the folder"),
            (&neighbour, "outside of the folder"),
            ("/dev/zero", "outside of the folder"),
            ("loop", ""),
        ] {
            let error = read(path).unwrap_err().to_string();
            assert!(error.contains(why), "{path}: {error}");
        }
        // Without a folder it is any regular file.
        let anywhere = |path: &str| DiskFiles.read_named(Path::new(path), None, 64 << 10);
        assert_eq!(anywhere(&outside).unwrap(), b"outside");
        assert!(anywhere("/dev/zero").is_err());
        let limit = DiskFiles.read_named(Path::new("plain"), Some(&folder), 5);
        assert!(limit.unwrap_err().to_string().contains("more than 0 KiB"));
        fs::remove_dir_all(top).unwrap();
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

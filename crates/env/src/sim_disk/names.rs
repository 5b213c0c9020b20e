//! The names on a simulated disk: the current ones, the durable ones, and the pending changes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The object of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    File(u64),
    Folder,
}

/// A change of names that is not durable yet.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Link(PathBuf, Entry),
    Unlink(PathBuf),
    Rename(PathBuf, PathBuf, Entry),
}

pub(super) type Map = BTreeMap<PathBuf, Entry>;

/// All names of a disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) now: Map,
    pub(super) durable: Map,
    /// In the order in which they were made, with the folder whose sync makes them durable.
    pub(super) pending: Vec<(PathBuf, Change)>,
}

/// Roots are always there and are names in no folder.
fn is_root(path: &Path) -> bool {
    path.as_os_str().is_empty() || path == Path::new("/") || path == Path::new(".")
}

pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Whether `map` knows a folder.
pub(super) fn has_folder(map: &Map, path: &Path) -> bool {
    is_root(path) || map.get(path) == Some(&Entry::Folder)
}

/// Makes one change of a map. If its predecessors were lost, the change has the effect that is
/// still possible.
pub(super) fn apply(map: &mut Map, change: &Change) {
    match change {
        Change::Link(path, entry) => {
            map.insert(path.clone(), *entry);
        }
        Change::Unlink(path) => {
            map.remove(path);
        }
        Change::Rename(from, to, entry) => {
            if map.get(from) == Some(entry) {
                map.remove(from);
            }
            map.insert(to.clone(), *entry);
        }
    }
}

impl Names {
    fn change(&mut self, folder: &Path, change: Change) {
        apply(&mut self.now, &change);
        self.pending.push((folder.to_owned(), change));
    }

    fn file(&self, path: &Path) -> io::Result<Entry> {
        match self.now.get(path) {
            Some(Entry::Folder) => Err(io::ErrorKind::IsADirectory.into()),
            Some(entry) => Ok(*entry),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn create_file(&mut self, path: &Path, inode: u64) -> io::Result<()> {
        if self.now.contains_key(path) || is_root(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if !has_folder(&self.now, folder_of(path)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.change(folder_of(path), Change::Link(path.to_owned(), Entry::File(inode)));
        Ok(())
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        self.file(path)?;
        self.change(folder_of(path), Change::Unlink(path.to_owned()));
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let entry = self.file(from)?;
        if self.now.get(to) == Some(&Entry::Folder) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let (source, target) = (folder_of(from), folder_of(to));
        if !has_folder(&self.now, target) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if source == target {
            self.change(source, Change::Rename(from.to_owned(), to.to_owned(), entry));
        } else {
            self.change(target, Change::Link(to.to_owned(), entry));
            self.change(source, Change::Unlink(from.to_owned()));
        }
        Ok(())
    }

    pub(super) fn create_folder(&mut self, path: &Path) -> io::Result<()> {
        if is_root(path) {
            return Ok(());
        }
        match self.now.get(path) {
            Some(Entry::Folder) => Ok(()),
            Some(Entry::File(_)) => Err(io::ErrorKind::AlreadyExists.into()),
            None => {
                self.create_folder(folder_of(path))?;
                self.change(folder_of(path), Change::Link(path.to_owned(), Entry::Folder));
                Ok(())
            }
        }
    }

    pub(super) fn remove_folder(&mut self, path: &Path) -> io::Result<()> {
        match self.now.get(path) {
            Some(Entry::Folder) if self.list(path).is_empty() => {
                self.change(folder_of(path), Change::Unlink(path.to_owned()));
                Ok(())
            }
            Some(Entry::Folder) => Err(io::ErrorKind::DirectoryNotEmpty.into()),
            Some(Entry::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn list(&self, folder: &Path) -> Vec<String> {
        // Paths sort by component, so the order of the map is the order of the names.
        let inside = self.now.keys().filter(|path| !is_root(path) && folder_of(path) == folder);
        let mut names: Vec<String> = inside
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .collect();
        names.sort_unstable();
        names
    }

    /// Makes the pending changes of one folder durable.
    pub(super) fn sync(&mut self, folder: &Path) {
        let pending = std::mem::take(&mut self.pending);
        for (place, change) in pending {
            if place == folder || (is_root(&place) && is_root(folder)) {
                apply(&mut self.durable, &change);
            } else {
                self.pending.push((place, change));
            }
        }
    }

    /// Ends a crash: only `durable` is left, and a name whose folder is gone is gone too.
    pub(super) fn settle(&mut self) {
        let mut kept = Map::new();
        // A folder sorts before everything inside it.
        for (path, entry) in std::mem::take(&mut self.durable) {
            if has_folder(&kept, folder_of(&path)) {
                kept.insert(path, entry);
            }
        }
        self.now = kept.clone();
        self.durable = kept;
        self.pending.clear();
    }
}

//! [`SimDisk`]: a simulated disk in memory that fails, loses and damages what a real disk can,
//! repeatably from a seed.
//!
//! The disk stores durable and pending data separately. Bytes and lengths of a file become durable
//! by `sync` of the file; names (creations, removals, renames) by `sync_folder` of their folder,
//! and a folder is a name in its parent, which `create_folder` syncs. [`SimDisk::crash`] is a crash
//! of the machine: of everything pending an arbitrary subset survives, at the granularity of
//! 512-byte sectors. Faults that no crash explains (errors, lost and misdirected writes, stale
//! reads) are injected with [`SimDisk::fail_after`].
//!
//! The model is harsher than any one file system: a synced file whose folder was not synced may be
//! gone, sectors of one write survive independently of each other, and a rename from one folder to
//! another is two changes.

mod content;
mod crash;
mod fault;
mod file;
mod names;
mod state;

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disk::{Disk, DiskFile, Open};
use fault::Operation;
use file::SimFile;
use names::Entry;
use state::State;

pub use fault::{Fault, SyncFailure, Tear};

/// A disk in memory; clones share it.
#[derive(Clone, Debug)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimDisk {
    /// An empty disk. The same seed and the same calls give the same results.
    pub fn new(seed: u64) -> Self {
        Self { state: Arc::new(Mutex::new(State::new(seed))) }
    }

    /// How many operations that change something were begun: creations, removals, renames, folder
    /// creations and removals, writes, length changes, allocations, syncs.
    pub fn operations(&self) -> u64 {
        lock(&self.state).operations
    }

    /// How many reads of files were begun.
    pub fn reads(&self) -> u64 {
        lock(&self.state).reads
    }

    /// Lets `count` more changing operations pass; the first one after them that the fault can hit
    /// is hit, once. [`Fault::Crash`] hits any changing operation: its effect stays pending, and it
    /// and everything after it, reads too, fail until [`SimDisk::crash`].
    pub fn fail_after(&self, count: u64, fault: Fault) {
        let mut state = lock(&self.state);
        let from = state.operations.saturating_add(count);
        state.faults.push((from, fault));
    }

    /// Lets `count` more reads pass and hits the one after them, once, with a fault of reads.
    pub fn fail_read_after(&self, count: u64, fault: Fault) {
        let mut state = lock(&self.state);
        let from = state.reads.saturating_add(count);
        state.read_faults.push((from, fault));
    }

    /// Forgets all faults that have not hit yet; returns how many there were.
    pub fn clear_faults(&self) -> usize {
        let mut state = lock(&self.state);
        let of_reads = std::mem::take(&mut state.read_faults).len();
        of_reads + std::mem::take(&mut state.faults).len()
    }

    /// Says whether space can be taken without writing, as it can at first; a disk that cannot says
    /// [`io::ErrorKind::Unsupported`].
    pub fn set_allocates(&self, allocates: bool) {
        lock(&self.state).allocates = allocates;
    }

    /// Whether space can be taken without writing.
    pub fn allocates(&self) -> bool {
        lock(&self.state).allocates
    }

    /// Limits the bytes of all files together, in pages of 4 KiB that were written or allocated; a
    /// write beyond is cut short, or fails with [`io::ErrorKind::StorageFull`] if no page of it
    /// fits, and an allocation that does not fit as a whole fails.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        lock(&self.state).capacity = bytes;
    }

    /// The bytes of all files together, as [`Self::set_capacity`] counts them.
    pub fn used(&self) -> u64 {
        lock(&self.state).used()
    }

    /// Crashes the machine with [`Tear::Random`].
    pub fn crash(&self) {
        self.crash_with(Tear::Random);
    }

    /// Crashes the machine: pending changes survive according to `tear`, all open handles are dead,
    /// and faults that have not occurred are cancelled.
    pub fn crash_with(&self, tear: Tear) {
        lock(&self.state).crash(tear);
    }

    /// An independent copy, pending changes and faults included, with its own seed. Open handles
    /// stay with the original.
    pub fn fork(&self, seed: u64) -> Self {
        let mut state = lock(&self.state).clone();
        state.random = seed;
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// An independent copy of the durable state.
    pub fn snapshot(&self) -> Self {
        let copy = Self { state: Arc::new(Mutex::new(lock(&self.state).clone())) };
        copy.crash_with(Tear::Nothing);
        copy
    }

    /// The content of a file after a crash that loses everything pending.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] when the file's name is not durable.
    pub fn durable_bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        let state = lock(&self.state);
        let content = match state.names.durable.get(path) {
            Some(Entry::File(inode)) => state.inodes.get(inode).map(|file| &file.durable),
            _ => None,
        };
        Ok(content.ok_or(io::ErrorKind::NotFound)?.to_vec())
    }

    /// Flips one bit of a file, durably.
    pub fn flip_bit(&self, path: &Path, offset: u64, bit: u8) -> io::Result<()> {
        self.damage(path, |content| {
            let mut byte = [0];
            content.read(&mut byte, offset);
            content.write(&[byte[0] ^ (1 << (bit & 7))], offset);
        })
    }

    /// Overwrites bytes of a file, durably and without counting as an operation.
    pub fn overwrite(&self, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.damage(path, |content| content.write(bytes, offset))
    }

    /// Cuts or extends a file, durably and without counting as an operation.
    pub fn truncate_raw(&self, path: &Path, length: u64) -> io::Result<()> {
        self.damage(path, |content| content.set_len(length))
    }

    /// Changes what is durable and what is read now alike.
    fn damage(&self, path: &Path, change: impl Fn(&mut content::Content)) -> io::Result<()> {
        let mut state = lock(&self.state);
        let Some(&Entry::File(inode)) = state.names.now.get(path) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let file = state.inode(inode);
        change(&mut file.durable);
        change(&mut file.current);
        Ok(())
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = lock(&self.state);
        if how == Open::Create {
            let fault = state.begin(Operation::Create)?;
            let inode = state.next_inode;
            state.names.create_file(path, inode)?;
            state.next_inode += 1;
            state.inodes.insert(inode, state::Inode::default());
            state::fail(fault)?;
        } else {
            // Whatever hits it leaves no trace.
            state.begin(Operation::Open)?;
        }
        let inode = match state.names.now.get(path) {
            Some(Entry::File(inode)) => *inode,
            Some(Entry::Folder) => return Err(io::ErrorKind::IsADirectory.into()),
            None => return Err(io::ErrorKind::NotFound.into()),
        };
        let epoch = state.epoch;
        Ok(Arc::new(SimFile::new(self.state.clone(), inode, epoch, how != Open::Read)))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = lock(&self.state);
        let fault = state.begin(Operation::Name)?;
        state.names.remove_file(path)?;
        state::fail(fault)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = lock(&self.state);
        let fault = state.begin(Operation::Name)?;
        state.names.rename(from, to)?;
        state::fail(fault)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = lock(&self.state);
        let fault = state.begin(Operation::Name)?;
        let now = &state.names.now;
        let made: Vec<&Path> =
            path.ancestors().take_while(|it| !names::has_folder(now, it)).collect();
        state.names.create_folder(path)?;
        state::fail(fault)?;
        for folder in made {
            state.names.sync(names::folder_of(folder));
        }
        Ok(())
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = lock(&self.state);
        let fault = state.begin(Operation::Name)?;
        state.names.remove_folder(path)?;
        state::fail(fault)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let state = lock(&self.state);
        state.alive()?;
        Ok(state.names.list(folder))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = lock(&self.state);
        let fault = state.begin(Operation::Sync)?;
        state.sync_folder(folder, fault)
    }
}

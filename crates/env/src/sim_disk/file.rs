//! A handle of a file on a simulated disk.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use super::lock;
use super::state::State;
use crate::disk::{DiskFile, is_aligned};

#[derive(Debug)]
pub(super) struct SimFile {
    state: Arc<Mutex<State>>,
    inode: u64,
    epoch: u64,
    writable: bool,
}

impl SimFile {
    pub(super) fn new(state: Arc<Mutex<State>>, inode: u64, epoch: u64, writable: bool) -> Self {
        Self { state, inode, epoch, writable }
    }

    fn state(&self, to_write: bool) -> io::Result<MutexGuard<'_, State>> {
        let state = lock(&self.state);
        if state.epoch != self.epoch {
            return Err(io::Error::other("the file was opened before the machine crashed"));
        }
        if to_write && !self.writable {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(state)
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.state(false)?.read(self.inode, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.state(true)?.write(self.inode, bytes, offset, false)
    }

    fn write_direct(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let direct = is_aligned(bytes, offset);
        self.state(true)?.write(self.inode, bytes, offset, direct)
    }

    fn sync(&self) -> io::Result<()> {
        self.state(false)?.sync(self.inode)
    }

    fn allocate(&self, from: u64, to: u64) -> io::Result<()> {
        self.state(true)?.allocate(self.inode, from, to)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.state(true)?.set_len(self.inode, length)
    }

    fn length(&self) -> io::Result<u64> {
        let mut state = self.state(false)?;
        state.alive()?;
        Ok(state.inode(self.inode).current.length())
    }
}

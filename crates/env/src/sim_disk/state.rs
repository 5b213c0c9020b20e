//! The state of a simulated disk and the operations on it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::content::{Content, PAGE, Page, pages_of};
use super::fault::{Fault, Operation, SyncFailure};
use super::names::{Entry, Names, has_folder};

/// A change of a file that is not durable yet, with the number of the operation that made it.
#[derive(Clone, Debug)]
pub(super) enum Pending {
    /// `direct` says that they went past the operating system's memory.
    Write {
        operation: u64,
        offset: u64,
        bytes: Arc<[u8]>,
        direct: bool,
    },
    SetLen(u64),
    Allocate {
        from: u64,
        to: u64,
    },
}

/// A file, named or not.
#[derive(Clone, Debug, Default)]
pub(super) struct Inode {
    pub(super) durable: Content,
    /// The content that reads see.
    pub(super) current: Content,
    pub(super) pending: Vec<Pending>,
    /// The pages that the last sync replaced, for stale reads; `None` is a page of zeros.
    stale: BTreeMap<u64, Option<Arc<Page>>>,
}

impl Inode {
    fn sync(&mut self) {
        self.stale.clear();
        for pending in std::mem::take(&mut self.pending) {
            match pending {
                Pending::Write { offset, bytes, .. } => {
                    for page in pages_of(offset, bytes.len() as u64) {
                        let old = self.durable.page(page).cloned();
                        self.stale.entry(page).or_insert(old);
                        self.durable.adopt(page, &self.current);
                    }
                }
                // The page that the length cuts is changed as well.
                Pending::SetLen(length) => self.durable.adopt_tail(length / PAGE, &self.current),
                Pending::Allocate { from, to } => self.durable.allocate(from, to),
            }
        }
        self.durable.set_len(self.current.length());
    }

    fn read_stale(&self, buffer: &mut [u8], offset: u64) -> usize {
        let mut old = self.current.clone();
        for (page, bytes) in &self.stale {
            let zeros: Page = [0; _];
            old.write(bytes.as_deref().unwrap_or(&zeros), page * PAGE);
        }
        old.set_len(self.current.length());
        old.read(buffer, offset)
    }
}

/// The whole disk.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) names: Names,
    pub(super) inodes: BTreeMap<u64, Inode>,
    pub(super) next_inode: u64,
    pub(super) random: u64,
    /// Crashes so far; a handle of an older epoch is dead.
    pub(super) epoch: u64,
    pub(super) operations: u64,
    pub(super) reads: u64,
    /// Faults that have not hit, with the count of operations from which on they can.
    pub(super) faults: Vec<(u64, Fault)>,
    /// The same of reads, with the count of reads.
    pub(super) read_faults: Vec<(u64, Fault)>,
    pub(super) down: bool,
    pub(super) capacity: Option<u64>,
    /// Whether space can be taken without writing.
    pub(super) allocates: bool,
}

fn crashed() -> io::Error {
    io::Error::other("the simulated machine has crashed")
}

/// The error that an operation reports after having had its effect.
pub(super) fn fail(fault: Option<Fault>) -> io::Result<()> {
    match fault {
        None => Ok(()),
        Some(Fault::Crash) => Err(crashed()),
        Some(Fault::DiskFull) => Err(io::ErrorKind::StorageFull.into()),
        Some(Fault::TooManyFiles) => Err(rustix::io::Errno::MFILE.into()),
        Some(Fault::InterruptedRead | Fault::InterruptedWrite) => {
            Err(io::ErrorKind::Interrupted.into())
        }
        Some(fault) => Err(io::Error::other(format!("simulated fault {fault:?}"))),
    }
}

/// Takes the first fault that can hit an operation after so many others.
fn take_due(faults: &mut Vec<(u64, Fault)>, count: u64, operation: Operation) -> Option<Fault> {
    let place = faults.iter().position(|(from, fault)| *from <= count && fault.hits(operation))?;
    Some(faults.remove(place).1)
}

impl State {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            names: Names::default(),
            inodes: BTreeMap::new(),
            next_inode: 0,
            random: seed,
            epoch: 0,
            operations: 0,
            reads: 0,
            faults: Vec::new(),
            read_faults: Vec::new(),
            down: false,
            capacity: None,
            allocates: true,
        }
    }

    pub(super) fn inode(&mut self, inode: u64) -> &mut Inode {
        self.inodes.entry(inode).or_default()
    }

    /// A number below `bound`, which is not 0 (splitmix64; the bias is of no matter here).
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.random;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ (word >> 31)) % bound
    }

    pub(super) fn alive(&self) -> io::Result<()> {
        if self.down { Err(crashed()) } else { Ok(()) }
    }

    /// Begins an operation and returns the fault that hits it. Faults that leave no trace on the
    /// disk are reported at once; the others are for the operation to act on.
    pub(super) fn begin(&mut self, operation: Operation) -> io::Result<Option<Fault>> {
        self.alive()?;
        let mut hit = take_due(&mut self.faults, self.operations, operation);
        if operation == Operation::Read {
            hit = hit.or_else(|| take_due(&mut self.read_faults, self.reads, operation));
            self.reads += 1;
        }
        if operation.is_change() {
            self.operations += 1;
        }
        match hit {
            Some(Fault::Crash) => self.down = true,
            Some(
                Fault::ReadError
                | Fault::InterruptedRead
                | Fault::InterruptedWrite
                | Fault::TooManyFiles,
            ) => fail(hit)?,
            Some(Fault::WriteError | Fault::DiskFull) if operation != Operation::Write => {
                fail(hit)?;
            }
            _ => {}
        }
        Ok(hit)
    }

    pub(super) fn read(&mut self, inode: u64, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let fault = self.begin(Operation::Read)?;
        let count = match fault {
            Some(Fault::ShortRead) if buffer.len() > 1 => buffer.len() / 2,
            _ => buffer.len(),
        };
        let file = self.inode(inode);
        Ok(match fault {
            Some(Fault::StaleRead) => file.read_stale(buffer, at),
            _ => file.current.read(&mut buffer[..count], at),
        })
    }

    pub(super) fn write(
        &mut self,
        inode: u64,
        bytes: &[u8],
        at: u64,
        direct: bool,
    ) -> io::Result<usize> {
        match self.begin(Operation::Write)? {
            Some(Fault::LostWrite) => Ok(bytes.len()),
            Some(Fault::ShortWrite) => {
                self.put(inode, &bytes[..bytes.len().div_ceil(2)], at, direct)
            }
            Some(Fault::MisdirectedWrite) => {
                let sectors = self.inode(inode).current.length() / 512;
                let elsewhere = self.below(sectors + 1) * 512;
                let elsewhere = if elsewhere == at { at + 512 } else { elsewhere };
                self.put(inode, bytes, elsewhere, direct)
            }
            Some(fault @ (Fault::WriteError | Fault::DiskFull)) => {
                let part = self.below(bytes.len() as u64 + 1);
                self.put(inode, &bytes[..usize::try_from(part).unwrap_or(0)], at, direct)?;
                fail(Some(fault)).map(|()| 0)
            }
            Some(fault) => {
                self.put(inode, bytes, at, direct)?;
                fail(Some(fault)).map(|()| 0)
            }
            None => self.put(inode, bytes, at, direct),
        }
    }

    /// The bytes of all files that have a name.
    pub(super) fn used(&self) -> u64 {
        // A file that is removed gives its space back at once.
        let named = self.names.now.values().filter_map(|entry| match entry {
            Entry::File(inode) => self.inodes.get(inode),
            Entry::Folder => None,
        });
        named.map(|file| file.current.allocated()).sum()
    }

    /// Pages that the capacity has left, if there is one.
    fn free_pages(&self) -> Option<u64> {
        Some(self.capacity?.saturating_sub(self.used()) / PAGE)
    }

    /// Writes as much as the capacity allows.
    fn put(&mut self, inode: u64, bytes: &[u8], offset: u64, direct: bool) -> io::Result<usize> {
        let mut bytes = bytes;
        if let Some(mut free) = self.free_pages() {
            let content = &self.inode(inode).current;
            for page in pages_of(offset, bytes.len() as u64) {
                if content.page(page).is_none() {
                    if free == 0 {
                        let fits = (page * PAGE).saturating_sub(offset);
                        bytes = &bytes[..usize::try_from(fits).unwrap_or(0).min(bytes.len())];
                        break;
                    }
                    free -= 1;
                }
            }
            if bytes.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        let operation = self.operations;
        let file = self.inode(inode);
        file.current.write(bytes, offset);
        file.pending.push(Pending::Write { operation, offset, bytes: bytes.into(), direct });
        Ok(bytes.len())
    }

    /// Takes all of a range or, where that does not fit, nothing.
    pub(super) fn allocate(&mut self, inode: u64, from: u64, to: u64) -> io::Result<()> {
        self.alive()?;
        if !self.allocates || to <= from {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let fault = self.begin(Operation::Allocate)?;
        let free = self.free_pages();
        let file = self.inode(inode);
        if free.is_some_and(|free| file.current.missing(from, to) > free) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.current.allocate(from, to);
        file.pending.push(Pending::Allocate { from, to });
        fail(fault)
    }

    pub(super) fn set_len(&mut self, inode: u64, length: u64) -> io::Result<()> {
        let fault = self.begin(Operation::Length)?;
        let file = self.inode(inode);
        file.current.set_len(length);
        file.pending.push(Pending::SetLen(length));
        fail(fault)
    }

    pub(super) fn sync(&mut self, inode: u64) -> io::Result<()> {
        let fault = self.begin(Operation::Sync)?;
        let file = self.inode(inode);
        match fault {
            None | Some(Fault::Sync(SyncFailure::Kept)) => file.sync(),
            Some(Fault::Sync(SyncFailure::Reverted)) => {
                file.pending.clear();
                file.current = file.durable.clone();
            }
            Some(Fault::Sync(SyncFailure::Once)) => file.pending.clear(),
            Some(Fault::Sync(SyncFailure::Cached)) => file
                .pending
                .retain(|change| !matches!(change, Pending::Write { direct: false, .. })),
            Some(_) => {}
        }
        fail(fault)
    }

    pub(super) fn sync_folder(&mut self, folder: &Path, fault: Option<Fault>) -> io::Result<()> {
        if !has_folder(&self.names.now, folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        match fault {
            None | Some(Fault::Sync(SyncFailure::Kept)) => self.names.sync(folder),
            // Names that a failed sync lost stay pending: they may survive or not.
            Some(_) => {}
        }
        fail(fault)
    }
}

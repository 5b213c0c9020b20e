//! [`BlockFile`]: the open block file, its parts, its creation, and its errors.

mod checkpoint;
mod identity;
mod inspect;
mod open;
mod read;
mod space;
mod write;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pelorus_env::sync::{Mutex, RwLock};
use pelorus_env::{Disk, DiskFile, Open, is_disk_full, write_all_at};
use pelorus_error::{Code, Error, Result};

use crate::format::{BlockId, Header, Identity, Places, RESERVED};
use space::Space;

pub use checkpoint::Checkpointing;
pub use inspect::{Block, Damage, Statistics, Usage};

/// One data file of a table. All methods can be called from many threads at once.
#[derive(Debug)]
pub struct BlockFile {
    path: PathBuf,
    identity: Identity,
    file: Arc<dyn DiskFile>,
    /// What is free, what will be, and the state of checkpoints.
    space: Mutex<Space>,
    /// The present state: every block that was written and not freed.
    table: RwLock<Places>,
    fallback: Option<String>,
}

/// A durable checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its number; grows with every checkpoint. A new file has number 1.
    pub number: u64,
    /// The log sequence number up to which it holds everything.
    pub lsn: u64,
    /// The same of the checkpoint that the other header holds. The log is needed from there on,
    /// since the file falls back to it when the newer header is damaged.
    pub previous_lsn: u64,
    /// The block from which the table finds all others; `None` in a new file.
    pub root: Option<BlockId>,
}

impl BlockFile {
    /// Creates an empty file; it and its name are durable on return.
    ///
    /// # Errors
    /// [`Code::FileWrite`] when the file exists already or cannot be written, [`Code::DiskFull`].
    /// What was created of the file stays.
    pub fn create(disk: &Arc<dyn Disk>, path: &Path, identity: Identity) -> Result<Self> {
        let failed = |what: &str, error| {
            let code = if is_full(&error) { Code::DiskFull } else { Code::FileWrite };
            write_error(path, code, what, error)
        };
        let file =
            disk.open(path, Open::Create).map_err(|error| failed("cannot be created", error))?;
        let headers = [0, 1].map(|slot| Header::initial(identity, slot));
        let bytes = headers.map(|header| header.encode()).concat();
        file.set_len(RESERVED)
            .and_then(|()| write_all_at(&*file, &bytes, 0))
            .and_then(|()| file.sync())
            .map_err(|error| failed("cannot be written", error))?;
        disk.sync_folder(path.parent().unwrap_or(Path::new("")))
            .map_err(|error| failed("cannot be made durable in its folder", error))?;
        let space = Space::new(headers[1], RESERVED);
        Ok(Self::with(path, identity, file, space, Places::default(), None))
    }

    fn with(
        path: &Path,
        identity: Identity,
        file: Arc<dyn DiskFile>,
        space: Space,
        table: Places,
        fallback: Option<String>,
    ) -> Self {
        let path = path.to_owned();
        let (space, table) = (Mutex::new(space), RwLock::new(table));
        Self { path, identity, file, space, table, fallback }
    }

    /// The path with which the file was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The newest durable checkpoint.
    pub fn header(&self) -> Checkpoint {
        let header = self.space.lock().durable;
        Checkpoint {
            number: header.number,
            lsn: header.lsn,
            previous_lsn: header.previous_lsn,
            root: (header.root != 0).then(|| BlockId::new(header.root)),
        }
    }

    /// Why only one header was usable when the file was opened, if so. After a crash during a
    /// checkpoint that is as it should be; else the file is damaged, and may have lost its newest
    /// checkpoint, which the log from [`Checkpoint::lsn`] on makes up for.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    fn fail(&self, what: &str, error: io::Error) -> Error {
        self.space.lock().fail(&self.path, what, error)
    }

    /// Verifies that no write has failed.
    fn writable(&self, space: &Space) -> Result<()> {
        match &space.failed {
            None => Ok(()),
            Some(reason) => Err(Error::new(
                Code::TableFailed,
                format!("file {} takes no writes since it {reason}", self.path.display()),
            )),
        }
    }

    /// Adds the file's name to an error of a decoder.
    fn named(&self, what: &str, error: Error) -> Error {
        Error::new(error.code(), format!("file {}: {what}: {error}", self.path.display()))
            .caused_by(error)
    }
}

fn is_full(error: &io::Error) -> bool {
    is_disk_full(error) || error.kind() == io::ErrorKind::FileTooLarge
}

fn write_error(path: &Path, code: Code, what: &str, error: io::Error) -> Error {
    let path = path.display();
    let text = match code {
        Code::DiskFull => format!(
            "the disk is full: file {path} {what}; make room, or drop native tables or partitions, \
             which works on a full disk"
        ),
        _ => format!("file {path} {what}"),
    };
    Error::new(code, text).caused_by(error)
}

//! Reads the identity of a file before it is opened: the table to which it belongs.

use std::path::Path;
use std::sync::Arc;

use pelorus_env::{Disk, DiskFile, Open};
use pelorus_error::{Code, Error, Result};

use super::BlockFile;
use super::open::read_slot;
use crate::format::{Header, Identity};

impl BlockFile {
    /// Reads the identity that an intact header names, and the log position up to which the file
    /// holds everything. One slot that cannot be read is passed over.
    ///
    /// # Errors
    /// [`Code::FileNotFound`]; [`Code::FileRead`] when neither header can be read;
    /// [`Code::FileVersion`] when the file was written by a version that this one does not know;
    /// [`Code::FileDamaged`] when no header is intact.
    pub fn identity_of(disk: &Arc<dyn Disk>, path: &Path) -> Result<(Identity, u64)> {
        let file = disk.open(path, Open::Read).map_err(|error| {
            let code = match error.kind() {
                std::io::ErrorKind::NotFound => Code::FileNotFound,
                _ => Code::FileRead,
            };
            Error::new(code, format!("file {} cannot be opened", path.display())).caused_by(error)
        })?;
        match [0, 1].map(|slot| any_header(&*file, slot)) {
            [Err(error), _] | [_, Err(error)] if error.code() == Code::FileVersion => {
                Err(Error::new(error.code(), format!("file {}: {error}", path.display())))
            }
            [Ok(first), Ok(second)] => Ok((first.identity, first.lsn.max(second.lsn))),
            [Ok(header), _] | [_, Ok(header)] => Ok((header.identity, header.lsn)),
            [Err(first), Err(second)] => {
                let code = match (first.code(), second.code()) {
                    (Code::FileRead, Code::FileRead) => Code::FileRead,
                    _ => Code::FileDamaged,
                };
                let text =
                    format!("file {} has no intact header: {first}; {second}", path.display());
                Err(Error::new(code, text))
            }
        }
    }
}

/// Reads and verifies one header slot of a file, whosever it is.
fn any_header(file: &dyn DiskFile, slot: u32) -> Result<Header> {
    let bytes = read_slot(file, slot)?;
    Header::decode(&bytes, slot, Header::identity_in(&bytes))
}

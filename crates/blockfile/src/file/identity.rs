//! Whose a file is, for the one file of a database that is opened before its identity is known.

use std::path::Path;
use std::sync::Arc;

use pelorus_env::{Disk, Open, read_exact_at};
use pelorus_error::{Code, Error, Result};

use super::BlockFile;
use super::open::read_header;
use crate::format::{Identity, SLOT};

/// Where the identity is in a header.
const IDENTITY_AT: usize = 32;

impl BlockFile {
    /// Reads the identity that an intact header names.
    ///
    /// # Errors
    /// [`Code::FileNotFound`], [`Code::FileRead`]; [`Code::FileDamaged`] when no header is intact.
    pub fn identity_of(disk: &Arc<dyn Disk>, path: &Path) -> Result<Identity> {
        let failed = |error: std::io::Error| {
            let code = match error.kind() {
                std::io::ErrorKind::NotFound => Code::FileNotFound,
                std::io::ErrorKind::UnexpectedEof => Code::FileDamaged,
                _ => Code::FileRead,
            };
            Error::new(code, format!("file {} cannot be read", path.display())).caused_by(error)
        };
        let file = disk.open(path, Open::Read).map_err(failed)?;
        let mut why = None;
        for slot in 0..2 {
            let mut bytes = [0; 24];
            let at = u64::from(slot) * SLOT as u64 + IDENTITY_AT as u64;
            read_exact_at(&*file, &mut bytes, at).map_err(failed)?;
            let (database, table) = bytes.split_at(16);
            let (Ok(database), Ok(table)) = (database.try_into(), table.try_into()) else {
                continue;
            };
            let identity = Identity { database, table: u64::from_le_bytes(table) };
            match read_header(&*file, slot, identity) {
                Ok(_) => return Ok(identity),
                Err(error) => why = Some(error),
            }
        }
        let why = why.map_or_else(String::new, |error| error.message().to_owned());
        let text = format!("file {} has no intact header: {why}", path.display());
        Err(Error::new(Code::FileDamaged, text))
    }
}

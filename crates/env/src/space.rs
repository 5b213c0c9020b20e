//! The free space of a folder's file system.

use std::io;
use std::path::Path;

/// Bytes of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// All of them.
    pub total: u64,
    /// Those that may still be written.
    pub free: u64,
}

/// The space of the file system that a folder is on.
///
/// # Errors
/// What the operating system says, of a folder that is not there for instance.
pub fn space_of(folder: &Path) -> io::Result<Space> {
    let found = rustix::fs::statvfs(folder)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok(Space { total: bytes(found.f_blocks), free: bytes(found.f_bavail) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_has_space_and_a_missing_folder_none() {
        let space = space_of(Path::new("/")).unwrap();
        assert!(space.total > 0 && space.free <= space.total);
        space_of(Path::new("/no/such/folder")).unwrap_err();
    }
}

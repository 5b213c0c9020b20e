//! Errors of the small files in the data folder (accounts, linked servers), when one cannot be read
//! or written.

use std::io;
use std::path::Path;

use pelorus_env::is_disk_full;
use pelorus_error::{Code, Error};

/// The error of a file that cannot be written: MySQL's 1021 where the disk is full.
pub(crate) fn write_error(path: &Path, error: io::Error) -> Error {
    let path = path.display();
    let (code, text) = match is_disk_full(&error) {
        true => (
            Code::DiskFull,
            format!(
                "the disk is full: cannot write {path}; make room, or drop native tables or \
                 partitions, which works on a full disk"
            ),
        ),
        false => (Code::Internal, format!("cannot write {path}")),
    };
    Error::new(code, text).caused_by(error)
}

/// The error of a file that was read and cannot be used, with the remedy.
pub(crate) fn unusable(path: &Path, help: &str, error: Error) -> Error {
    Error::new(error.code(), format!("cannot use {} ({help})", path.display())).caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_has_mysqls_number() {
        let of = |kind: io::ErrorKind| write_error(Path::new("accounts.json"), kind.into());
        let full = of(io::ErrorKind::StorageFull);
        assert_eq!(full.errno(), 1021);
        assert!(full.message().starts_with("the disk is full: cannot write accounts.json;"));
        assert_eq!(of(io::ErrorKind::PermissionDenied).errno(), 1105);
    }
}

//! A disk that does something before each sync of a file.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use pelorus_env::{Disk, Hook, HookedDisk, Step};

struct BeforeSync<F>(F);

impl<F> fmt::Debug for BeforeSync<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BeforeSync")
    }
}

impl<F: Fn() + Send + Sync> Hook for BeforeSync<F> {
    fn before(&self, step: Step<'_>, _: &Path) -> io::Result<()> {
        if let Step::Sync = step {
            (self.0)();
        }
        Ok(())
    }
}

/// The disk with the hook.
pub(crate) fn before_sync(
    disk: Arc<dyn Disk>,
    run: impl Fn() + Send + Sync + 'static,
) -> HookedDisk {
    HookedDisk::new(disk, BeforeSync(run))
}

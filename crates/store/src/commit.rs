//! Commits: write sets, their preparation and application, log records, and timestamps.

pub(crate) mod apply;
pub(crate) mod async_commit;
pub(crate) mod log_record;
pub(crate) mod pinned_versions;
pub(crate) mod timestamps;
pub(crate) mod write_set;

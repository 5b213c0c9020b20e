//! Commits: what is written, made ready, applied, logged and timestamped.

pub(crate) mod apply;
pub(crate) mod async_commit;
pub(crate) mod log_record;
pub(crate) mod pinned_versions;
pub(crate) mod timestamps;
pub(crate) mod write_set;

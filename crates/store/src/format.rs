//! The byte formats of data files, manifests and batches of rows.

pub(crate) mod arrays;
pub(crate) mod bytes;
pub(crate) mod data_file;
pub(crate) mod manifest;
pub(crate) mod row_batch;

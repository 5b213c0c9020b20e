//! Applies changes of mirrored tables: transactions of the binlog become commits of the store.

pub(crate) mod batch;
pub mod foreign_key_actions;
pub(crate) mod partial_row_images;
pub(crate) mod row_image_completion;
pub(crate) mod snapshot_window;
pub(crate) mod unsettled_rows;
pub(crate) mod writes;

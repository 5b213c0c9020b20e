//! Collations and charsets: comparison of text, and its bytes.

pub(crate) mod case;
pub(crate) mod charset;
pub(crate) mod resolution;
pub(crate) mod sort_weights;
mod unicode;

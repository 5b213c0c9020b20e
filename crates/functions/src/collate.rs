//! Collations and charsets: comparison of text, and its bytes.

pub(crate) mod charset;
pub(crate) mod mix;
pub(crate) mod weight;

//! Collations and charsets: comparison of text, and its bytes.

pub(crate) mod case;
pub(crate) mod charset;
pub(crate) mod mix;
mod unicode;
pub(crate) mod weight;

//! Dates and times.

pub(crate) mod number;
pub(crate) mod parse;
pub(crate) mod read;

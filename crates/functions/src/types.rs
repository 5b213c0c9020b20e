//! Types of values and of results.

pub(crate) mod common_type;
pub(crate) mod convert;
pub(crate) mod enum_members;
pub(crate) mod result_type;

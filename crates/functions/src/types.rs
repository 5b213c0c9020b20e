//! Types: common types, result types, implicit conversions, members of ENUM and SET.

pub(crate) mod common_type;
pub(crate) mod convert;
pub(crate) mod enum_members;
pub(crate) mod result_type;

//! Scalar functions and operators by family.

pub(crate) mod arithmetic;
pub(crate) mod bits;
pub(crate) mod cast;
pub(crate) mod compare;
pub(crate) mod conditional;
pub(crate) mod datetime;
pub(crate) mod greatest_least;
pub(crate) mod logic;
pub(crate) mod math;
pub(crate) mod round;
pub(crate) mod session_info;
pub(crate) mod string;

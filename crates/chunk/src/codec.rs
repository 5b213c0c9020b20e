//! The codecs of columns: one tag byte each.

use pelorus_error::Result;

use crate::format::damaged;

/// How the values of a column are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// Every row is NULL; there are no values.
    Null,
    /// Every row that is not NULL has the same value.
    Constant,
    /// Values side by side; text with offsets.
    Plain,
    /// Integers of 1, 2, 4 or 8 bytes above a base, one base a chunk or a vector.
    Frame,
    /// Integers that never fall: increments above an anchor every 128 rows.
    Delta,
    /// Runs of equal values with the row where each ends.
    Runs,
    /// Distinct values in rising order, and a code of 1, 2 or 4 bytes a row.
    Dictionary,
}

impl Codec {
    pub(crate) fn tag(self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Constant => 1,
            Self::Plain => 2,
            Self::Frame => 3,
            Self::Delta => 4,
            Self::Runs => 5,
            Self::Dictionary => 6,
        }
    }

    pub(crate) fn from_tag(tag: u8) -> Result<Self> {
        Ok(match tag {
            0 => Self::Null,
            1 => Self::Constant,
            2 => Self::Plain,
            3 => Self::Frame,
            4 => Self::Delta,
            5 => Self::Runs,
            6 => Self::Dictionary,
            _ => return Err(damaged(format!("unknown column codec {tag}"))),
        })
    }
}

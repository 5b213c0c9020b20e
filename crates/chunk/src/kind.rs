//! The physical types of columns: which Arrow types a chunk holds and how wide their values are.

use arrow::datatypes::{DataType, i256};
use pelorus_error::{Error, Result};

use crate::format::damaged;

/// The physical type of a column; one tag byte and two bytes of precision and scale on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int64,
    UInt64,
    Float32,
    Float64,
    Decimal128(u8, i8),
    Decimal256(u8, i8),
    Utf8,
    Binary,
}

impl Kind {
    /// The kind that holds an Arrow type.
    ///
    /// # Errors
    /// `Internal` for a type that chunks do not hold: the caller maps SQL types beforehand.
    pub(crate) fn of(data_type: &DataType) -> Result<Self> {
        Ok(match data_type {
            DataType::Int64 => Self::Int64,
            DataType::UInt64 => Self::UInt64,
            DataType::Float32 => Self::Float32,
            DataType::Float64 => Self::Float64,
            DataType::Decimal128(precision, scale) => Self::Decimal128(*precision, *scale),
            DataType::Decimal256(precision, scale) => Self::Decimal256(*precision, *scale),
            DataType::Utf8 => Self::Utf8,
            DataType::Binary => Self::Binary,
            other => {
                return Err(Error::internal(format!("a chunk cannot hold columns of {other}")));
            }
        })
    }

    pub(crate) fn data_type(self) -> DataType {
        match self {
            Self::Int64 => DataType::Int64,
            Self::UInt64 => DataType::UInt64,
            Self::Float32 => DataType::Float32,
            Self::Float64 => DataType::Float64,
            Self::Decimal128(precision, scale) => DataType::Decimal128(precision, scale),
            Self::Decimal256(precision, scale) => DataType::Decimal256(precision, scale),
            Self::Utf8 => DataType::Utf8,
            Self::Binary => DataType::Binary,
        }
    }

    /// Tag, precision and scale as in the header of a column.
    pub(crate) fn to_tag(self) -> (u8, u8, i8) {
        match self {
            Self::Int64 => (1, 0, 0),
            Self::UInt64 => (2, 0, 0),
            Self::Float32 => (3, 0, 0),
            Self::Float64 => (4, 0, 0),
            Self::Decimal128(precision, scale) => (5, precision, scale),
            Self::Decimal256(precision, scale) => (6, precision, scale),
            Self::Utf8 => (7, 0, 0),
            Self::Binary => (8, 0, 0),
        }
    }

    pub(crate) fn from_tag(tag: u8, precision: u8, scale: i8) -> Result<Self> {
        let kind = match tag {
            1 => Self::Int64,
            2 => Self::UInt64,
            3 => Self::Float32,
            4 => Self::Float64,
            5 => Self::Decimal128(precision, scale),
            6 => Self::Decimal256(precision, scale),
            7 => Self::Utf8,
            8 => Self::Binary,
            _ => return Err(damaged(format!("unknown column type {tag}"))),
        };
        let most = match kind {
            Self::Decimal128(..) => 38,
            Self::Decimal256(..) => 76,
            _ => 0,
        };
        let least = u8::from(most > 0);
        if precision < least || precision > most || scale.unsigned_abs() > precision {
            return Err(damaged(format!("precision {precision} and scale {scale} of a column")));
        }
        Ok(kind)
    }

    /// Bytes of one stored value; `None` for text and binary.
    pub(crate) fn width(self) -> Option<usize> {
        match self {
            Self::Float32 => Some(4),
            Self::Int64 | Self::UInt64 | Self::Float64 => Some(8),
            Self::Decimal128(..) => Some(16),
            Self::Decimal256(..) => Some(32),
            Self::Utf8 | Self::Binary => None,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    /// Whether values are integers (decimals count by their unscaled value).
    pub(crate) fn is_integer(self) -> bool {
        !self.is_float() && self.width().is_some()
    }
}

/// A wide integer as 128 bits, if it fits.
pub(crate) fn narrow(value: i256) -> Option<i128> {
    let low = value.as_i128();
    (i256::from_i128(low) == value).then_some(low)
}

/// Runs a body with `$T` as the Arrow primitive type of a kind, and another for text and binary.
macro_rules! by_kind {
    ($kind:expr, $T:ident => $number:expr, utf8 => $utf8:expr, binary => $binary:expr $(,)?) => {{
        use arrow::datatypes::{
            Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, UInt64Type,
        };
        match $kind {
            $crate::kind::Kind::Int64 => {
                type $T = Int64Type;
                $number
            }
            $crate::kind::Kind::UInt64 => {
                type $T = UInt64Type;
                $number
            }
            $crate::kind::Kind::Float32 => {
                type $T = Float32Type;
                $number
            }
            $crate::kind::Kind::Float64 => {
                type $T = Float64Type;
                $number
            }
            $crate::kind::Kind::Decimal128(..) => {
                type $T = Decimal128Type;
                $number
            }
            $crate::kind::Kind::Decimal256(..) => {
                type $T = Decimal256Type;
                $number
            }
            $crate::kind::Kind::Utf8 => $utf8,
            $crate::kind::Kind::Binary => $binary,
        }
    }};
}
pub(crate) use by_kind;

//! Changes of a value's form that have no name in SQL: implicit conversions, truth values, and the
//! keys by which values are compared, grouped and sorted.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use pelorus_env::Account;
use pelorus_error::Result;
use pelorus_functions::{self as functions, EqualityKey, EvalContext, Members};
use pelorus_types::ColumnType;

/// A change of form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Implicit conversion, as in assignments and UNION.
    Convert {
        /// The type of the value.
        from: ColumnType,
        /// The type that it gets.
        to: ColumnType,
    },
    /// The key that is equal exactly if MySQL calls the values equal, and ordered as MySQL
    /// compares them.
    Key(ColumnType),
    /// The number of a value of an ENUM or SET.
    Number(Arc<Members>),
    /// Zeros without a sign.
    Unsigned(ColumnType),
    /// Decimals rounded to the digits that their type shows.
    Settle(ColumnType),
    /// The value as a condition: a Boolean, NULL for unknown.
    Truth(ColumnType),
    /// The same value, which may be missing: that of a subquery without rows is NULL.
    Same(ColumnType),
    /// The key by which a value is compared with one of another type.
    Equality(EqualityKey, ColumnType),
}

impl Form {
    /// The word by which plans show it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Convert { .. } => "convert",
            Self::Key(_) => "collation_key",
            Self::Number(_) => "member_number",
            Self::Unsigned(_) => "unsigned_zero",
            Self::Settle(_) => "settle",
            Self::Truth(_) => "truth",
            Self::Same(_) => "maybe_missing",
            Self::Equality(..) => "equality_key",
        }
    }

    /// The type of the arrays that it makes.
    pub fn arrow(&self) -> DataType {
        match self {
            Self::Convert { to, .. } | Self::Settle(to) | Self::Unsigned(to) | Self::Same(to) => {
                to.arrow()
            }
            Self::Key(ty) => functions::key_type(ty),
            Self::Number(_) => Members::number_type(),
            Self::Truth(_) => DataType::Boolean,
            Self::Equality(key, _) => key.arrow(),
        }
    }

    /// Whether it can leave an error or a warning: where a text is taken for something else.
    pub fn is_fallible(&self) -> bool {
        match self {
            Self::Convert { from, to } => from.is_string() && !to.is_string(),
            Self::Truth(ty) => ty.is_string(),
            Self::Equality(key, ty) => key.is_fallible(ty),
            Self::Key(_)
            | Self::Number(_)
            | Self::Unsigned(_)
            | Self::Settle(_)
            | Self::Same(_) => false,
        }
    }

    /// Whether it is the comparison key of a value of another type, NULL for NULL, that never
    /// leaves an error or a warning. (The key of a text can: of some padded texts it is not known.)
    pub fn is_infallible_key(&self) -> bool {
        match self {
            // A number need not be a date.
            Self::Equality(EqualityKey::Date | EqualityKey::Day | EqualityKey::Time, ty)
                if !ty.is_temporal() =>
            {
                false
            }
            Self::Equality(..) => !self.is_fallible(),
            _ => false,
        }
    }

    /// The values in their new form.
    ///
    /// # Errors
    /// Those of the conversion.
    pub fn apply(&self, array: &ArrayRef, context: &Arc<EvalContext>) -> Result<ArrayRef> {
        match self {
            Self::Convert { from, to } => functions::convert(array, from, to, context),
            Self::Key(ty) => {
                // Operators count the keys that they hold; counted here too, a sort would not spill
                // but fail.
                functions::comparison_keys(array, ty, &Account::unlimited())
            }
            Self::Number(members) => members.numbers(array),
            Self::Unsigned(_) => Ok(functions::without_signed_zeros(array)),
            Self::Same(_) => Ok(Arc::clone(array)),
            Self::Settle(ty) => functions::settle(array, ty),
            Self::Equality(key, ty) => key.keys(array, ty, context),
            Self::Truth(ty) => {
                functions::truth(array, ty, context).map(|truth| -> ArrayRef { Arc::new(truth) })
            }
        }
    }
}

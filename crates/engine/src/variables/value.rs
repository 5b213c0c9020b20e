//! Values of system variables: their texts in `SHOW`, and their types in expressions.

use pelorus_functions::Value;
use pelorus_types::{ColumnType, WireType, collation};

use crate::variables::{Kind, Variable};

/// A value of a system variable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum VarValue {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(String),
}

impl VarValue {
    /// As `SHOW VARIABLES` writes it; NULL is an empty text there.
    pub(crate) fn show(&self) -> String {
        match self {
            VarValue::Null => String::new(),
            VarValue::Bool(true) => "ON".to_owned(),
            VarValue::Bool(false) => "OFF".to_owned(),
            VarValue::Int(value) => value.to_string(),
            VarValue::UInt(value) => value.to_string(),
            VarValue::Double(value) => format!("{value:.6}"),
            VarValue::Text(text) => text.clone(),
        }
    }

    /// As a value of an SQL expression.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            VarValue::Null => Value::Null,
            VarValue::Bool(value) => Value::Int(i64::from(*value)),
            VarValue::Int(value) => Value::Int(*value),
            VarValue::UInt(value) => Value::UInt(*value),
            VarValue::Double(value) => Value::Double(*value),
            VarValue::Text(text) => Value::Text(text.clone()),
        }
    }

    /// As a literal for a linked server.
    pub(crate) fn to_sql(&self) -> String {
        match self {
            VarValue::Null => "NULL".to_owned(),
            VarValue::Bool(value) => u8::from(*value).to_string(),
            VarValue::Int(value) => value.to_string(),
            VarValue::UInt(value) => value.to_string(),
            VarValue::Double(value) => format!("{value:e}"),
            VarValue::Text(text) => pelorus_sql::literal::text(text, pelorus_sql::Mode::default()),
        }
    }

    /// A truth value; of text, `ON` and `TRUE` are true.
    pub(crate) fn is_on(&self) -> bool {
        match self {
            VarValue::Null => false,
            VarValue::Bool(value) => *value,
            VarValue::Int(value) => *value != 0,
            VarValue::UInt(value) => *value != 0,
            VarValue::Double(value) => *value != 0.0,
            VarValue::Text(text) => {
                ["ON", "TRUE", "1"].iter().any(|on| on.eq_ignore_ascii_case(text))
            }
        }
    }

    /// A count; 0 for other values.
    pub(crate) fn count(&self) -> u64 {
        match self {
            VarValue::UInt(value) => *value,
            VarValue::Int(value) => u64::try_from(*value).unwrap_or(0),
            VarValue::Bool(value) => u64::from(*value),
            _ => 0,
        }
    }

    /// The text; empty for other values.
    pub(crate) fn text(&self) -> &str {
        match self {
            VarValue::Text(text) => text,
            _ => "",
        }
    }
}

impl Variable {
    /// The type of `@@name`.
    pub(crate) fn column_type(&self) -> ColumnType {
        match self.kind {
            Kind::Bool => ColumnType::boolean(),
            Kind::Int(low, _) if low < 0 => ColumnType::bigint(),
            Kind::Int(..) => ColumnType::bigint_unsigned(),
            Kind::Double(..) => ColumnType { decimals: 6, ..ColumnType::double() },
            _ => {
                let mut ty = ColumnType::varchar(21_845, collation::UTF8MB3_GENERAL_CI);
                ty.wire = WireType::VarString;
                ty
            }
        }
    }
}

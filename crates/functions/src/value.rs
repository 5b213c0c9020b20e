//! [`Value`]: single values, and [`Arg`]: the facts of an argument that are known before
//! evaluation.

use pelorus_types::ColumnType;

use crate::decimal::Decimal;

/// A value of SQL. Its MySQL type is stored separately.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer, a YEAR or the bits of a BIT.
    UInt(u64),
    /// A DECIMAL.
    Decimal(Decimal),
    /// A FLOAT or DOUBLE.
    Double(f64),
    /// Characters.
    Text(String),
    /// Bytes without a charset.
    Bytes(Vec<u8>),
    /// A DATE, DATETIME or TIMESTAMP, packed.
    Date(i64),
    /// A TIME in microseconds.
    Time(i64),
}

impl Value {
    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

/// How strongly an argument insists on its collation; the stronger of two wins. The numbers are
/// those of MySQL's `COERCIBILITY()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coercibility {
    /// `COLLATE` was written.
    Explicit = 0,
    /// A column.
    Implicit = 2,
    /// `USER()`, `VERSION()`.
    SystemConstant = 3,
    /// A literal.
    Coercible = 4,
    /// A number or date.
    Numeric = 5,
    /// NULL.
    Ignorable = 6,
    /// Two collations of the same strength met: anything else decides.
    None = 7,
}

impl Coercibility {
    /// The word that error 1267 uses.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::None => "NONE",
            Coercibility::Implicit => "IMPLICIT",
            Coercibility::SystemConstant => "SYSCONST",
            Coercibility::Coercible => "COERCIBLE",
            Coercibility::Numeric => "NUMERIC",
            Coercibility::Ignorable => "IGNORABLE",
        }
    }
}

/// Where an argument comes from; some of MySQL's conversions depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A column of a table.
    Column,
    /// A literal.
    Literal,
    /// Anything computed.
    Expression,
}

/// How the text of a floating-point number is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextForm {
    /// As the type shows it.
    #[default]
    Shown,
    /// As that of a DOUBLE, though it is shown as a FLOAT.
    Double,
    /// As that of the value that a conditional chose, whose type is another.
    Chosen,
}

/// The properties of an argument that are known before evaluation.
#[derive(Clone, Debug)]
pub struct Arg {
    /// Its type.
    pub ty: ColumnType,
    /// Its value when it is the same for all rows.
    pub constant: Option<Value>,
    /// How strongly it insists on its collation.
    pub coercibility: Coercibility,
    /// Where it comes from.
    pub origin: Origin,
    /// Digits after the point that a DECIMAL's array has; more than the type shows within
    /// expressions (see [`crate::settle`]).
    pub scale: u8,
    /// How MySQL prints it in the text of error 1690.
    pub text: String,
    /// Whether computing it can leave an error or a warning.
    pub is_fallible: bool,
    /// Whether it is the value of an ENUM, SET or JSON column whatever its type says: as a number
    /// it is another than its text.
    pub hides_number: bool,
    /// Whether it is a text that IF, CASE, GREATEST or LEAST chose among values of several types: a MySQL
    /// has its number of the value, not of the text.
    pub mixes: bool,
    /// How its text is made where it is a floating-point number.
    pub text_form: TextForm,
    /// Whether it is a text literal whose bytes are not valid in its charset: they count only in
    /// combination with other bytes, and where only bytes are required.
    pub broken: bool,
}

impl Arg {
    /// A column. `text` is its name as MySQL prints it in errors: `` `db`.`table`.`column` ``.
    pub fn column(ty: ColumnType, text: impl Into<String>) -> Self {
        let coercibility = implicit_coercibility(&ty);
        let text = text.into();
        let (origin, scale) = (Origin::Column, ty.decimals);
        let (is_fallible, hides_number, broken) = (false, false, false);
        let (constant, mixes, text_form) = (None, false, TextForm::Shown);
        Self {
            ty,
            constant,
            coercibility,
            origin,
            scale,
            text,
            is_fallible,
            hides_number,
            mixes,
            text_form,
            broken,
        }
    }

    /// A literal or a folded constant.
    pub fn literal(value: Value, ty: ColumnType, text: impl Into<String>) -> Self {
        let coercibility = match implicit_coercibility(&ty) {
            Coercibility::Implicit => Coercibility::Coercible,
            other => other,
        };
        let scale = match value {
            Value::Decimal(decimal) => decimal.scale,
            _ if ty.is_bits() => 0,
            _ => ty.decimals,
        };
        let (constant, text) = (Some(value), text.into());
        let origin = Origin::Literal;
        Self { constant, coercibility, origin, scale, ..Self::column(ty, text) }
    }

    /// The result of a call. `constant` is its value when the call was folded.
    pub fn of(call: &crate::Call, constant: Option<Value>) -> Self {
        Self {
            ty: call.return_type(),
            is_fallible: constant.is_none() && call.is_fallible(),
            hides_number: call.hides_number(),
            mixes: call.mixes(),
            text_form: call.text_form(),
            broken: false,
            constant,
            coercibility: call.coercibility(),
            origin: Origin::Expression,
            scale: call.scale(),
            text: call.text().to_owned(),
        }
    }

    /// Whether it is a bare NULL.
    pub(crate) fn is_null(&self) -> bool {
        self.ty.wire == pelorus_types::WireType::Null
    }

    /// Whether its number is another than that of its text, which is all that arrays hold.
    pub fn hides_number(&self) -> bool {
        self.hides_number
            || crate::types::result_type::is_listed(&self.ty)
            || self.ty.wire == pelorus_types::WireType::Json
    }

    /// A literal like `x'41'` or `b'101'`, which is a number where a number is required.
    pub(crate) fn is_hex(&self) -> bool {
        self.origin == Origin::Literal && self.ty.is_bits()
    }

    /// The constant text, when it is one.
    pub(crate) fn constant_text(&self) -> Option<&str> {
        match &self.constant {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The constant integer, when it is one.
    pub(crate) fn constant_int(&self) -> Option<i64> {
        match self.constant {
            Some(Value::Int(value)) => Some(value),
            Some(Value::UInt(value)) => Some(i64::try_from(value).unwrap_or(i64::MAX)),
            _ => None,
        }
    }
}

fn implicit_coercibility(ty: &ColumnType) -> Coercibility {
    if ty.wire == pelorus_types::WireType::Null {
        Coercibility::Ignorable
    } else if ty.is_string() || ty.wire == pelorus_types::WireType::Bit {
        Coercibility::Implicit
    } else {
        Coercibility::Numeric
    }
}

//! Parses the types of `CAST` and of the columns of `JSON_TABLE`.

use sqlparser::ast::{
    CastKind, CharacterLength, DataType, ExactNumberInfo, Expr, Ident, ObjectName, TimezoneInfo,
};

use super::cursor::{Parser, Result};

/// A cast as a tree.
pub(super) fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, format: None }
}

/// A type that the tree has no words for; it is printed as given.
fn custom(text: String) -> DataType {
    DataType::Custom(ObjectName::from(vec![Ident::new(text)]), Vec::new())
}

impl Parser<'_> {
    /// The type after `AS` in a `CAST`. What the tree has no words for (`CHAR(3) CHARACTER SET
    /// latin1`, `NCHAR`, `YEAR`) becomes [`DataType::Custom`] with its text in upper case.
    pub(super) fn cast_type(&mut self) -> Result<DataType> {
        let Ok(word) = self.any_word() else { return self.unexpected() };
        let data_type = match word.value.to_ascii_uppercase().as_str() {
            "SIGNED" => {
                self.take_int();
                DataType::Signed
            }
            "UNSIGNED" => {
                self.take_int();
                DataType::Unsigned
            }
            "INT" | "INTEGER" => custom("SIGNED".to_owned()),
            "CHAR" | "CHARACTER" => return self.char_type("CHAR"),
            "NCHAR" => return self.char_type("NCHAR"),
            "NATIONAL" if self.is_word("CHAR") || self.is_word("CHARACTER") => {
                self.advance();
                return self.char_type("NCHAR");
            }
            "VARCHAR" => return self.char_type("VARCHAR"),
            "BINARY" => DataType::Binary(self.length()?),
            "DATE" => DataType::Date,
            "DATETIME" => DataType::Datetime(self.length()?),
            "TIME" => DataType::Time(self.length()?, TimezoneInfo::None),
            "YEAR" => custom("YEAR".to_owned()),
            "JSON" => DataType::JSON,
            "DECIMAL" | "DEC" | "NUMERIC" => DataType::Decimal(self.precision()?),
            "FLOAT" => DataType::Float(match self.length()? {
                Some(bits) => ExactNumberInfo::Precision(bits),
                None => ExactNumberInfo::None,
            }),
            "DOUBLE" => {
                self.take_word("PRECISION");
                DataType::Double(ExactNumberInfo::None)
            }
            "REAL" => DataType::Real,
            _ => return self.unsupported(&format!("CAST AS {}", word.value)),
        };
        if self.is_word("ARRAY") {
            return self.unsupported("CAST AS ... ARRAY");
        }
        Ok(data_type)
    }

    fn take_int(&mut self) {
        if !self.take_word("INT") {
            self.take_word("INTEGER");
        }
    }

    /// `(n)`
    fn length(&mut self) -> Result<Option<u64>> {
        if !self.take_symbol("(") {
            return Ok(None);
        }
        let length = self.integer()?;
        self.expect_symbol(")")?;
        Ok(Some(length))
    }

    /// `(p)` or `(p, s)`
    fn precision(&mut self) -> Result<ExactNumberInfo> {
        if !self.take_symbol("(") {
            return Ok(ExactNumberInfo::None);
        }
        let precision = self.integer()?;
        let scale = match self.take_symbol(",") {
            true => Some(self.integer()?),
            false => None,
        };
        self.expect_symbol(")")?;
        Ok(match scale.map(i64::try_from) {
            Some(Ok(scale)) => ExactNumberInfo::PrecisionAndScale(precision, scale),
            Some(Err(_)) => return self.unexpected(),
            None => ExactNumberInfo::Precision(precision),
        })
    }

    /// `CHAR[(n)] [CHARACTER SET name | ASCII | UNICODE | BYTE | BINARY]`
    fn char_type(&mut self, kind: &str) -> Result<DataType> {
        let length = self.length()?;
        let charset = if self.take_words(&["CHARACTER", "SET"])
            || self.take_words(&["CHAR", "SET"])
            || self.take_word("CHARSET")
        {
            Some(self.charset_name()?)
        } else if self.is_any_word(&["ASCII", "UNICODE", "BYTE", "BINARY"]) {
            return self.unsupported("this charset of a CAST");
        } else {
            None
        };
        if self.is_word("COLLATE") {
            return self.unsupported("COLLATE in a CAST");
        }
        let characters = length.map(|length| CharacterLength::IntegerLength { length, unit: None });
        Ok(match (kind, charset) {
            ("CHAR", None) => DataType::Char(characters),
            ("VARCHAR", None) => DataType::Varchar(characters),
            (_, charset) => {
                let mut text = kind.to_owned();
                if let Some(length) = length {
                    text.push_str(&format!("({length})"));
                }
                if let Some(charset) = charset {
                    // The quotes would become part of the name.
                    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                    if !charset.value.bytes().all(is_word) {
                        return self.unsupported("this charset of a CAST");
                    }
                    text.push_str(&format!(" CHARACTER SET {}", charset.value));
                }
                custom(text)
            }
        })
    }
}

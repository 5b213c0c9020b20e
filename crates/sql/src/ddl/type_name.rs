//! Parses the types of columns, with all their synonyms.

use pelorus_error::{Code, Error};

use super::definition::{Base, TypeName};
use crate::lexer::TokenKind;
use crate::parse::Unparsed;
use crate::parse::cursor::{Parser, Result};

/// Types of one word and no attributes but lengths: the word, the type.
const WORDS: [(&str, Base); 62] = [
    ("BIT", Base::Bit),
    ("TINYINT", Base::TinyInt),
    ("INT1", Base::TinyInt),
    ("SMALLINT", Base::SmallInt),
    ("INT2", Base::SmallInt),
    ("MEDIUMINT", Base::MediumInt),
    ("MIDDLEINT", Base::MediumInt),
    ("INT3", Base::MediumInt),
    ("INT", Base::Int),
    ("INTEGER", Base::Int),
    ("INT4", Base::Int),
    ("BIGINT", Base::BigInt),
    ("INT8", Base::BigInt),
    ("DECIMAL", Base::Decimal),
    ("DEC", Base::Decimal),
    ("NUMERIC", Base::Decimal),
    ("FIXED", Base::Decimal),
    ("FLOAT", Base::Float),
    ("FLOAT4", Base::Float),
    ("DOUBLE", Base::Double),
    ("FLOAT8", Base::Double),
    ("REAL", Base::Double),
    ("DATE", Base::Date),
    ("TIME", Base::Time),
    ("DATETIME", Base::DateTime),
    ("TIMESTAMP", Base::Timestamp),
    ("YEAR", Base::Year),
    ("CHAR", Base::Char),
    ("CHARACTER", Base::Char),
    ("NCHAR", Base::Char),
    ("VARCHAR", Base::VarChar),
    ("VARCHARACTER", Base::VarChar),
    ("NVARCHAR", Base::VarChar),
    ("BINARY", Base::Binary),
    ("VARBINARY", Base::VarBinary),
    ("TINYBLOB", Base::TinyBlob),
    ("BLOB", Base::Blob),
    ("MEDIUMBLOB", Base::MediumBlob),
    ("LONGBLOB", Base::LongBlob),
    ("TINYTEXT", Base::TinyText),
    ("TEXT", Base::Text),
    ("MEDIUMTEXT", Base::MediumText),
    ("LONGTEXT", Base::LongText),
    ("ENUM", Base::Enum),
    ("SET", Base::Set),
    ("JSON", Base::Json),
    ("GEOMETRY", Base::Geometry),
    ("POINT", Base::Point),
    ("LINESTRING", Base::LineString),
    ("POLYGON", Base::Polygon),
    ("MULTIPOINT", Base::MultiPoint),
    ("MULTILINESTRING", Base::MultiLineString),
    ("MULTIPOLYGON", Base::MultiPolygon),
    ("GEOMETRYCOLLECTION", Base::GeometryCollection),
    ("GEOMCOLLECTION", Base::GeometryCollection),
    ("VECTOR", Base::Vector),
    ("UUID", Base::Uuid),
    ("INET4", Base::Inet4),
    ("INET6", Base::Inet6),
    ("BOOL", Base::TinyInt),
    ("BOOLEAN", Base::TinyInt),
    ("LONG", Base::MediumText),
];

impl Base {
    /// The type in lower case, as `SHOW CREATE TABLE` writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bit => "bit",
            Self::TinyInt => "tinyint",
            Self::SmallInt => "smallint",
            Self::MediumInt => "mediumint",
            Self::Int => "int",
            Self::BigInt => "bigint",
            Self::Decimal => "decimal",
            Self::Float => "float",
            Self::Double => "double",
            Self::Date => "date",
            Self::Time => "time",
            Self::DateTime => "datetime",
            Self::Timestamp => "timestamp",
            Self::Year => "year",
            Self::Char => "char",
            Self::VarChar => "varchar",
            Self::Binary => "binary",
            Self::VarBinary => "varbinary",
            Self::TinyBlob => "tinyblob",
            Self::Blob => "blob",
            Self::MediumBlob => "mediumblob",
            Self::LongBlob => "longblob",
            Self::TinyText => "tinytext",
            Self::Text => "text",
            Self::MediumText => "mediumtext",
            Self::LongText => "longtext",
            Self::Enum => "enum",
            Self::Set => "set",
            Self::Json => "json",
            Self::Geometry => "geometry",
            Self::Point => "point",
            Self::LineString => "linestring",
            Self::Polygon => "polygon",
            Self::MultiPoint => "multipoint",
            Self::MultiLineString => "multilinestring",
            Self::MultiPolygon => "multipolygon",
            Self::GeometryCollection => "geomcollection",
            Self::Vector => "vector",
            Self::Uuid => "uuid",
            Self::Inet4 => "inet4",
            Self::Inet6 => "inet6",
        }
    }

    /// Whether values are only stored and shown: those of geometry, VECTOR, and MariaDB's UUID and
    /// addresses, which follow rules of their own in comparisons and functions.
    pub fn is_opaque(self) -> bool {
        self.is_geometry() || matches!(self, Self::Vector | Self::Uuid | Self::Inet4 | Self::Inet6)
    }

    /// Whether it is one of the five types of integers.
    pub fn is_integer(self) -> bool {
        matches!(self, Self::TinyInt | Self::SmallInt | Self::MediumInt | Self::Int | Self::BigInt)
    }

    /// Whether `UNSIGNED` is allowed after it.
    pub fn is_number(self) -> bool {
        self.is_integer() || matches!(self, Self::Decimal | Self::Float | Self::Double)
    }

    /// Whether it has a charset.
    pub fn is_text(self) -> bool {
        use Base::*;
        matches!(self, Char | VarChar | TinyText | Text | MediumText | LongText | Enum | Set)
    }

    /// Whether its values are bytes.
    pub fn is_bytes(self) -> bool {
        use Base::*;
        matches!(self, Binary | VarBinary | TinyBlob | Blob | MediumBlob | LongBlob)
    }

    /// Whether MySQL shows no `DEFAULT NULL` for it: large values and geometries.
    pub(super) fn has_no_default(self) -> bool {
        use Base::*;
        matches!(self, TinyBlob | Blob | MediumBlob | LongBlob | Vector)
            || matches!(self, TinyText | Text | MediumText | LongText)
            || self.is_geometry()
    }

    fn is_geometry(self) -> bool {
        use Base::*;
        matches!(self, Geometry | Point | LineString | Polygon | MultiPoint)
            || matches!(self, MultiLineString | MultiPolygon | GeometryCollection)
    }
}

impl TypeName {
    /// A type without lengths and attributes.
    pub fn new(base: Base) -> Self {
        Self {
            base,
            length: None,
            scale: None,
            unsigned: false,
            zerofill: false,
            values: Vec::new(),
            charset: None,
            collation: None,
            binary: false,
        }
    }
}

impl Parser<'_> {
    /// The type of a column. `COLLATE` is read with the attributes of the column.
    pub(super) fn type_name(&mut self, column: &str) -> Result<TypeName> {
        let at = self.peek().map_or(0, |token| token.start);
        let Some(token) = self.peek().filter(|token| token.kind == TokenKind::Word) else {
            return self.unexpected();
        };
        let mut word = self.text(token).to_ascii_uppercase();
        if word == "NATIONAL" {
            self.advance();
            word = match self.peek().map(|token| self.text(token).to_ascii_uppercase()) {
                Some(next) if next == "CHAR" || next == "CHARACTER" => "NCHAR".to_owned(),
                Some(next) if next == "VARCHAR" || next == "VARCHARACTER" => "NVARCHAR".to_owned(),
                _ => return self.unexpected(),
            };
        }
        let Some((_, base)) = WORDS.iter().find(|(name, _)| *name == word) else {
            return self.unexpected();
        };
        self.advance();
        let mut out = TypeName::new(*base);
        match word.as_str() {
            "BOOL" | "BOOLEAN" => {
                out.length = Some(1);
                return Ok(out);
            }
            "NCHAR" | "NVARCHAR" => out.charset = Some("utf8mb3".to_owned()),
            "LONG" => self.long(&mut out),
            "DOUBLE" => {
                self.take_word("PRECISION");
            }
            _ => {}
        }
        if out.base == Base::Char && self.take_word("VARYING") {
            out.base = Base::VarChar;
        }
        self.lengths(&mut out, (column, at))?;
        if out.base.is_number() {
            self.number_attributes(&mut out);
        } else if out.base.is_text() {
            self.text_attributes(&mut out)?;
        }
        Ok(out)
    }

    /// `LONG [VARCHAR | VARBINARY]`
    fn long(&mut self, out: &mut TypeName) {
        if self.take_word("VARBINARY") {
            out.base = Base::MediumBlob;
        } else if self.take_words(&["CHAR", "VARYING"])
            || self.take_word("VARCHAR")
            || self.take_word("VARCHARACTER")
        {
            out.base = Base::MediumText;
        }
    }

    /// A number of 32 bits.
    pub(super) fn integer_of_32_bits(&mut self) -> Result<u32> {
        let position = self.position();
        let value = self.integer()?;
        u32::try_from(value).or_else(|_| {
            self.rewind(position);
            self.unexpected()
        })
    }

    /// `(n)` if it is present.
    pub(super) fn length_in_parentheses(&mut self) -> Result<Option<u32>> {
        if !self.take_symbol("(") {
            return Ok(None);
        }
        let length = self.integer_of_32_bits()?;
        self.expect_symbol(")")?;
        Ok(Some(length))
    }

    /// The content of the parentheses after a type; `place` is for errors.
    fn lengths(&mut self, out: &mut TypeName, place: (&str, usize)) -> Result<()> {
        match out.base {
            Base::Enum | Base::Set => {
                out.values = self.parenthesised(Self::string_value)?;
            }
            Base::Decimal | Base::Float | Base::Double if self.take_symbol("(") => {
                out.length = Some(self.integer_of_32_bits()?);
                if self.take_symbol(",") {
                    out.scale = Some(self.integer_of_32_bits()?);
                } else if out.base == Base::Double {
                    return self.unexpected();
                }
                self.expect_symbol(")")?;
                if out.base == Base::Float && out.scale.is_none() {
                    self.float_of_bits(out, place)?;
                }
            }
            Base::VarChar | Base::VarBinary => {
                out.length = self.length_in_parentheses()?;
                if out.length.is_none() {
                    return self.unexpected();
                }
            }
            Base::Decimal | Base::Float | Base::Double => {}
            // Types without a length.
            Base::Date | Base::Json | Base::Uuid | Base::Inet4 | Base::Inet6 => {}
            Base::TinyBlob | Base::MediumBlob | Base::LongBlob => {}
            Base::TinyText | Base::MediumText | Base::LongText => {}
            base if base.is_geometry() => {}
            Base::Blob => {
                if let Some(bytes) = self.length_in_parentheses()? {
                    out.base = blob_of(bytes);
                }
            }
            _ => out.length = self.length_in_parentheses()?,
        }
        Ok(())
    }

    /// `FLOAT(p)` says how many bits are needed.
    fn float_of_bits(&self, out: &mut TypeName, (column, at): (&str, usize)) -> Result<()> {
        match out.length.take() {
            Some(54..) => {
                let text = format!("Incorrect column specifier for column '{column}'");
                return Err(Unparsed { error: Error::new(Code::WrongColumnDefinition, text), at });
            }
            Some(25..) => out.base = Base::Double,
            _ => {}
        }
        Ok(())
    }

    fn number_attributes(&mut self, out: &mut TypeName) {
        loop {
            if self.take_word("UNSIGNED") {
                out.unsigned = true;
            } else if self.take_word("ZEROFILL") {
                out.unsigned = true;
                out.zerofill = true;
            } else if !self.take_word("SIGNED") {
                return;
            }
        }
    }

    /// `CHARACTER SET x`, `ASCII`, `UNICODE`, `BYTE`, `BINARY`, in any order.
    fn text_attributes(&mut self, out: &mut TypeName) -> Result<()> {
        loop {
            if self.take_charset() {
                out.charset = Some(self.charset_text()?);
            } else if self.take_word("ASCII") {
                out.charset = Some("latin1".to_owned());
            } else if self.take_word("UNICODE") {
                out.charset = Some("ucs2".to_owned());
            } else if self.take_word("BYTE") {
                out.charset = Some("binary".to_owned());
            } else if self.take_word("BINARY") {
                out.binary = true;
            } else {
                break;
            }
        }
        if out.charset.as_deref() == Some("binary") {
            let base = match out.base {
                Base::Char => Base::Binary,
                Base::VarChar => Base::VarBinary,
                Base::TinyText => Base::TinyBlob,
                Base::Text => out.length.take().map_or(Base::Blob, blob_of),
                Base::MediumText => Base::MediumBlob,
                Base::LongText => Base::LongBlob,
                other => other,
            };
            if base != out.base {
                (out.base, out.charset, out.binary) = (base, None, false);
            }
        }
        Ok(())
    }

    /// `CHARACTER SET`, `CHAR SET` or `CHARSET`.
    pub(crate) fn take_charset(&mut self) -> bool {
        self.take_words(&["CHARACTER", "SET"])
            || self.take_words(&["CHAR", "SET"])
            || self.take_word("CHARSET")
    }

    /// The name of a charset or collation, in lower case.
    pub(crate) fn charset_text(&mut self) -> Result<String> {
        Ok(self.charset_name()?.value.to_ascii_lowercase())
    }
}

/// The smallest type for this many bytes.
fn blob_of(bytes: u32) -> Base {
    match bytes {
        // `BLOB(0)` is a `BLOB`.
        0 => Base::Blob,
        1..=0xff => Base::TinyBlob,
        0x100..=0xffff => Base::Blob,
        0x1_0000..=0xff_ffff => Base::MediumBlob,
        _ => Base::LongBlob,
    }
}

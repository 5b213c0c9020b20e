//! TABLE_MAP: the table that the rows which follow belong to.
//!
//! Body: number of the table (6 bytes; 4 in very old files), flags (2), database and table (each
//! with its length and a zero), the number of columns, the type byte of each, the metadata of the
//! types, a bitmap of the columns that may be NULL, and the optional metadata
//! ([`crate::metadata`]). Sources: MySQL's `rows_event.h` (`Table_map_event`), MariaDB's
//! `Table_map_log_event`.

use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_types::Collation;

use crate::metadata;
use crate::reader::{Reader, malformed, utf8};

/// More columns than a table can have in any server (4,096 in MySQL).
const MAX_COLUMNS: usize = 65_535;

/// A table as the log describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMap {
    /// The number by which rows name the table; new whenever the server opens the table again.
    pub id: u64,
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
    /// The columns, those that are invisible or generated included.
    pub columns: Vec<SourceColumn>,
    /// The primary key: columns (from 0) with the length of their prefix in characters, 0 for the
    /// whole column. `None` if the log does not contain it (`binlog_row_metadata = MINIMAL`).
    pub primary_key: Option<Vec<(usize, u64)>>,
}

/// A column as the log describes it. What is `None` the log does not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceColumn {
    /// How values are written.
    pub kind: SourceType,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// Whether a number is unsigned.
    pub unsigned: Option<bool>,
    /// The collation of text, `binary` of bytes.
    pub collation: Option<Collation>,
    /// The name.
    pub name: Option<String>,
    /// The members of an ENUM or SET, in the column's charset.
    pub members: Option<Arc<[Vec<u8>]>>,
    /// The type of a geometry (0: any).
    pub geometry: Option<u64>,
    /// The dimensions of a VECTOR.
    pub dimensions: Option<u64>,
    /// Whether `SELECT *` shows it.
    pub visible: Option<bool>,
}

/// How the values of a column are written in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceType {
    /// An integer of so many bytes.
    Int(u8),
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// DECIMAL(precision, scale).
    Decimal(u8, u8),
    /// BIT of so many bytes.
    Bit(u8),
    /// YEAR.
    Year,
    /// DATE.
    Date,
    /// TIME before MySQL 5.6.
    TimeOld,
    /// TIME with so many digits of fraction.
    Time(u8),
    /// DATETIME before MySQL 5.6.
    DateTimeOld,
    /// DATETIME with so many digits of fraction.
    DateTime(u8),
    /// TIMESTAMP before MySQL 5.6.
    TimestampOld,
    /// TIMESTAMP with so many digits of fraction.
    Timestamp(u8),
    /// CHAR or BINARY of at most so many bytes.
    Char(u16),
    /// VARCHAR or VARBINARY of at most so many bytes.
    VarChar(u16),
    /// TEXT, BLOB and MariaDB's JSON; so many bytes hold the length.
    Blob(u8),
    /// ENUM of so many bytes.
    Enum(u8),
    /// SET of so many bytes.
    Set(u8),
    /// MySQL's JSON; so many bytes hold the length.
    Json(u8),
    /// A geometry; so many bytes hold the length.
    Geometry(u8),
    /// MySQL's VECTOR; so many bytes hold the length.
    Vector(u8),
    /// MariaDB's compressed VARCHAR of at most so many bytes.
    VarCharCompressed(u16),
    /// MariaDB's compressed TEXT or BLOB.
    BlobCompressed(u8),
    /// NULL and nothing else.
    Null,
}

impl SourceType {
    /// Whether the log tells of signs: the types that the bitmap of signs counts.
    pub(crate) fn is_numeric(self) -> bool {
        use SourceType::*;
        matches!(self, Int(_) | Float | Double | Decimal(..) | Year)
    }

    /// Whether the log tells a charset with the other texts.
    pub(crate) fn is_character(self) -> bool {
        use SourceType::*;
        matches!(
            self,
            Char(_) | VarChar(_) | Blob(_) | Geometry(_) | VarCharCompressed(_) | BlobCompressed(_)
        )
    }

    /// Reads a type's metadata.
    fn read(byte: u8, reader: &mut Reader<'_>) -> Result<Self> {
        use SourceType::*;
        Ok(match byte {
            1 => Int(1),
            2 => Int(2),
            9 => Int(3),
            3 => Int(4),
            8 => Int(8),
            4 => reader.u8().map(|_| Float)?,
            5 => reader.u8().map(|_| Double)?,
            6 => Null,
            7 => TimestampOld,
            10 | 14 => Date,
            11 => TimeOld,
            12 => DateTimeOld,
            13 => Year,
            15 | 253 => VarChar(reader.u16()?),
            16 => {
                let (bits, bytes) = (reader.u8()?, reader.u8()?);
                if bits > 7 || bytes > 8 || (bytes == 8 && bits > 0) {
                    return Err(malformed("a BIT of more than 64 bits"));
                }
                Bit(bytes + u8::from(bits > 0))
            }
            17 => Timestamp(fraction(reader)?),
            18 => DateTime(fraction(reader)?),
            19 => Time(fraction(reader)?),
            140 => BlobCompressed(length_bytes(reader)?),
            141 => VarCharCompressed(reader.u16()?),
            242 => Vector(length_bytes(reader)?),
            245 => Json(length_bytes(reader)?),
            246 => {
                let (precision, scale) = (reader.u8()?, reader.u8()?);
                if precision > 65 || scale > precision || scale > 38 {
                    return Err(malformed("a DECIMAL of more than 65 digits"));
                }
                Decimal(precision, scale)
            }
            249..=252 => Blob(length_bytes(reader)?),
            254 | 247 | 248 => Self::read_string(reader)?,
            255 => Geometry(length_bytes(reader)?),
            other => {
                return Err(Error::unsupported(format_args!("column type {other} in a binlog")));
            }
        })
    }

    /// STRING hides ENUM and SET, and in two bits of the type byte the length above 255.
    fn read_string(reader: &mut Reader<'_>) -> Result<Self> {
        let (byte, low) = (reader.u8()?, reader.u8()?);
        let width = |most| {
            if (1..=most).contains(&low) {
                Ok(low)
            } else {
                Err(malformed("width of an ENUM or SET"))
            }
        };
        Ok(match byte {
            247 => Self::Enum(width(2)?),
            248 => Self::Set(width(8)?),
            _ => Self::Char(u16::from(low) | u16::from((byte & 0x30) ^ 0x30) << 4),
        })
    }
}

fn fraction(reader: &mut Reader<'_>) -> Result<u8> {
    let digits = reader.u8()?;
    if digits <= 6 { Ok(digits) } else { Err(malformed("a fraction of more than six digits")) }
}

fn length_bytes(reader: &mut Reader<'_>) -> Result<u8> {
    let bytes = reader.u8()?;
    if (1..=4).contains(&bytes) { Ok(bytes) } else { Err(malformed("a length of no known width")) }
}

impl TableMap {
    /// Reads the body. `fixed` is the length of the fixed part.
    pub(crate) fn read(body: &[u8], fixed: u8) -> Result<Self> {
        let mut reader = Reader::new(body);
        let id = table_id(&mut reader, fixed)?;
        reader.u16()?;
        let database = utf8(reader.short_bytes()?, "a database")?;
        reader.zero()?;
        let table = utf8(reader.short_bytes()?, "a table")?;
        reader.zero()?;
        let count = reader.lenenc_len()?;
        if count > MAX_COLUMNS {
            return Err(malformed("too many columns"));
        }
        let types = reader.bytes(count)?;
        let mut metadata = Reader::new(reader.lenenc_bytes()?);
        let nullable = reader.bytes(count.div_ceil(8))?;
        let mut columns = Vec::with_capacity(count);
        for (at, byte) in types.iter().enumerate() {
            let kind = SourceType::read(*byte, &mut metadata)
                .map_err(|error| in_table(error, &database, &table, at))?;
            columns.push(SourceColumn {
                kind,
                nullable: nullable[at / 8] >> (at % 8) & 1 == 1,
                unsigned: None,
                collation: None,
                name: None,
                members: None,
                geometry: None,
                dimensions: None,
                visible: None,
            });
        }
        let mut this = Self { id, database, table, columns, primary_key: None };
        metadata::read(&mut this, &mut reader)?;
        Ok(this)
    }
}

fn in_table(error: Error, database: &str, table: &str, at: usize) -> Error {
    Error::new(
        error.code(),
        format!("{} (column {} of table '{database}.{table}')", error.message(), at + 1),
    )
}

/// The number of a table: four bytes when the fixed part is as short as in MySQL 5.1's first files.
pub(crate) fn table_id(reader: &mut Reader<'_>, fixed: u8) -> Result<u64> {
    if fixed == 6 { reader.u32().map(u64::from) } else { reader.u48() }
}

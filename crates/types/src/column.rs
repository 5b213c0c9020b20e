//! [`ColumnType`]: the type of a column, and the metadata of a result column.

use arrow::datatypes::{DataType, Field};
use pelorus_error::{Error, Result};

use crate::collation::{self, Collation};

/// The type byte of a column in the MySQL protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub enum WireType {
    OldDecimal = 0,
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    VarChar = 15,
    Bit = 16,
    Vector = 242,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    TinyBlob = 249,
    MediumBlob = 250,
    LongBlob = 251,
    Blob = 252,
    VarString = 253,
    String = 254,
    Geometry = 255,
}

impl WireType {
    /// Reads the type byte; `None` for bytes that no result column carries.
    pub fn from_byte(byte: u8) -> Option<Self> {
        use WireType::*;
        const ALL: [WireType; 28] = [
            OldDecimal, Tiny, Short, Long, Float, Double, Null, Timestamp, LongLong, Int24, Date,
            Time, DateTime, Year, VarChar, Bit, Vector, Json, NewDecimal, Enum, Set, TinyBlob,
            MediumBlob, LongBlob, Blob, VarString, String, Geometry,
        ];
        ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// The flags of a column in the MySQL protocol, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// The column cannot be NULL.
    pub const NOT_NULL: Flags = Flags(1);
    /// Part of the primary key.
    pub const PRIMARY_KEY: Flags = Flags(2);
    /// Part of a unique key.
    pub const UNIQUE_KEY: Flags = Flags(4);
    /// Part of another key.
    pub const MULTIPLE_KEY: Flags = Flags(8);
    /// A BLOB or TEXT.
    pub const BLOB: Flags = Flags(16);
    /// An unsigned number.
    pub const UNSIGNED: Flags = Flags(32);
    /// Shown with leading zeros.
    pub const ZEROFILL: Flags = Flags(64);
    /// Compared by bytes.
    pub const BINARY: Flags = Flags(128);
    /// An ENUM.
    pub const ENUM: Flags = Flags(256);
    /// AUTO_INCREMENT.
    pub const AUTO_INCREMENT: Flags = Flags(512);
    /// A TIMESTAMP.
    pub const TIMESTAMP: Flags = Flags(1024);
    /// A SET.
    pub const SET: Flags = Flags(2048);
    /// Has no default value.
    pub const NO_DEFAULT: Flags = Flags(4096);
    /// A number, for clients.
    pub const NUM: Flags = Flags(32768);

    /// Whether all bits of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits of both.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// These bits less those of `other`.
    #[must_use]
    pub fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
}

/// `decimals` of floating point numbers without a fixed scale, and of text.
pub const DECIMALS_NOT_FIXED: u8 = 31;

/// `decimals` of a literal of bits. No column has it: a VARBINARY column, whose values are no
/// numbers, is of the same type byte, collation and flags.
pub const DECIMALS_OF_BITS: u8 = 30;

/// The type of a column or an expression, in the terms of the MySQL protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnType {
    /// The type byte.
    pub wire: WireType,
    /// The flags.
    pub flags: Flags,
    /// The collation; `binary` (63) for numbers and dates.
    pub collation: Collation,
    /// The display length in bytes, as MySQL reports it.
    pub length: u32,
    /// Digits after the point: of a DECIMAL its scale, of a time its fraction, 31 where not fixed.
    pub decimals: u8,
}

impl ColumnType {
    /// A type of no particular flags.
    pub const fn new(wire: WireType, collation: Collation, length: u32, decimals: u8) -> Self {
        Self { wire, flags: Flags(0), collation, length, decimals }
    }

    /// A signed BIGINT.
    pub const fn bigint() -> Self {
        let mut this = Self::new(WireType::LongLong, collation::BINARY, 21, 0);
        this.flags = Flags(Flags::BINARY.0);
        this
    }

    /// An unsigned BIGINT.
    pub const fn bigint_unsigned() -> Self {
        let mut this = Self::new(WireType::LongLong, collation::BINARY, 21, 0);
        this.flags = Flags(Flags::BINARY.0 | Flags::UNSIGNED.0);
        this
    }

    /// The type of a comparison: 0 or 1.
    pub const fn boolean() -> Self {
        let mut this = Self::new(WireType::LongLong, collation::BINARY, 1, 0);
        this.flags = Flags(Flags::BINARY.0);
        this
    }

    /// A DOUBLE without fixed scale.
    pub const fn double() -> Self {
        let mut this = Self::new(WireType::Double, collation::BINARY, 23, DECIMALS_NOT_FIXED);
        this.flags = Flags(Flags::BINARY.0);
        this
    }

    /// A DECIMAL of `precision` digits, `scale` of them after the point.
    pub const fn decimal(precision: u8, scale: u8) -> Self {
        let length = precision as u32 + 1 + (scale > 0) as u32;
        let mut this = Self::new(WireType::NewDecimal, collation::BINARY, length, scale);
        this.flags = Flags(Flags::BINARY.0);
        this
    }

    /// A string of at most `chars` characters under a collation.
    pub fn varchar(chars: u32, collation: Collation) -> Self {
        let bytes = chars.saturating_mul(u32::from(collation.bytes_per_char()));
        Self::new(WireType::VarString, collation, bytes, DECIMALS_NOT_FIXED)
    }

    /// The type of a bare NULL.
    pub const fn null() -> Self {
        let mut this = Self::new(WireType::Null, collation::BINARY, 0, 0);
        this.flags = Flags(Flags::BINARY.0);
        this
    }

    /// The same type that cannot be NULL.
    #[must_use]
    pub const fn not_null(mut self) -> Self {
        self.flags = Flags(self.flags.0 | Flags::NOT_NULL.0);
        self
    }

    /// The same type that can be NULL.
    #[must_use]
    pub const fn nullable(mut self) -> Self {
        self.flags = Flags(self.flags.0 & !Flags::NOT_NULL.0);
        self
    }

    /// Whether a value can be NULL.
    pub fn is_nullable(&self) -> bool {
        !self.flags.has(Flags::NOT_NULL)
    }

    /// Whether it is an unsigned number.
    pub fn is_unsigned(&self) -> bool {
        self.flags.has(Flags::UNSIGNED)
    }

    /// An integer (YEAR and BIT included).
    pub fn is_integer(&self) -> bool {
        use WireType::*;
        matches!(self.wire, Tiny | Short | Int24 | Long | LongLong | Year | Bit)
    }

    /// The type that a computed value has once it went through one of MySQL's temporary tables:
    /// integers become INT where their digits fit, else BIGINT, and texts are VARCHAR or TEXT by their
    /// length.
    #[must_use]
    pub fn in_temporary_table(self) -> ColumnType {
        /// From this length on, sign included, a number may not fit.
        const TOO_LONG: u32 = 10;
        /// Characters of the longest VARCHAR.
        const VARCHAR_MAX: u32 = 512;
        let chars = self.length / u32::from(self.collation.bytes_per_char().max(1));
        let wire = match self.wire {
            WireType::Bit | WireType::Json => self.wire,
            _ if self.is_integer() && self.length < TOO_LONG => WireType::Long,
            _ if self.is_integer() => WireType::LongLong,
            _ if self.is_string() && chars > VARCHAR_MAX => WireType::Blob,
            _ if self.is_string() => WireType::VarString,
            other => other,
        };
        ColumnType { wire, ..self }.as_temporary_column()
    }

    /// How MySQL describes a column of this type of a temporary table: numbers are not marked as
    /// bytes, and texts have no digits after the point; long ones are TEXT.
    #[must_use]
    pub fn as_temporary_column(self) -> ColumnType {
        let is_long = self.is_blob();
        let wire = if is_long { WireType::Blob } else { self.wire };
        let mut flags = self.flags;
        if self.wire == WireType::Year {
            flags = flags.with(Flags::ZEROFILL);
        }
        if self.is_numeric() {
            flags = flags.without(Flags::BINARY);
        } else if is_long {
            flags = flags.with(Flags::BLOB);
        }
        let decimals = if self.is_string() { 0 } else { self.decimals };
        ColumnType { wire, flags, decimals, ..self }
    }

    /// How MySQL describes a value of this type that is no column of a table, such as a subquery:
    /// the table's properties of the column are removed.
    #[must_use]
    pub fn as_value(self) -> ColumnType {
        let kept = Flags::UNSIGNED.with(Flags::NOT_NULL).with(Flags::ENUM).with(Flags::SET);
        let mut flags = Flags(self.flags.0 & kept.0);
        let is_bytes = match self.is_string() {
            true => self.collation.is_binary_order(),
            false => self.wire != WireType::Bit,
        };
        if is_bytes {
            flags = flags.with(Flags::BINARY);
        }
        let decimals = if self.is_string() { DECIMALS_NOT_FIXED } else { self.decimals };
        ColumnType { flags, decimals, ..self }
    }

    /// A TEXT or BLOB of any length.
    pub fn is_blob(&self) -> bool {
        use WireType::*;
        matches!(self.wire, TinyBlob | Blob | MediumBlob | LongBlob)
    }

    /// A DECIMAL.
    pub fn is_decimal(&self) -> bool {
        matches!(self.wire, WireType::NewDecimal | WireType::OldDecimal)
    }

    /// A FLOAT or DOUBLE.
    pub fn is_float(&self) -> bool {
        matches!(self.wire, WireType::Float | WireType::Double)
    }

    /// Any number.
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || self.is_decimal() || self.is_float()
    }

    /// DATE, DATETIME, TIMESTAMP or TIME.
    pub fn is_temporal(&self) -> bool {
        self.is_date() || self.wire == WireType::Time
    }

    /// DATE, DATETIME or TIMESTAMP: values packed by [`crate::temporal`].
    pub fn is_date(&self) -> bool {
        use WireType::*;
        matches!(self.wire, Date | DateTime | Timestamp)
    }

    /// A string of characters or bytes, ENUM, SET and JSON included.
    pub fn is_string(&self) -> bool {
        use WireType::*;
        matches!(
            self.wire,
            VarChar
                | VarString
                | String
                | Enum
                | Set
                | Json
                | TinyBlob
                | Blob
                | MediumBlob
                | LongBlob
                | Geometry
                | Vector
        )
    }

    /// A literal like `x'41'` or `b'101'`, which is a number where a number is required. The mark
    /// stays with the type when the literal is passed on, for example when it is assigned to a
    /// column.
    pub fn is_bits(&self) -> bool {
        self.wire == WireType::VarString
            && self.collation == collation::BINARY
            && self.decimals == DECIMALS_OF_BITS
    }

    /// A string of bytes without a charset.
    pub fn is_binary_string(&self) -> bool {
        self.is_string()
            && self.wire != WireType::Json
            && (self.collation == collation::BINARY
                || matches!(self.wire, WireType::Geometry | WireType::Vector))
    }

    /// Digits of a DECIMAL, derived from its length as clients do.
    pub fn precision(&self) -> u8 {
        let point = u32::from(self.decimals > 0);
        let sign = u32::from(!self.is_unsigned());
        u8::try_from(self.length.saturating_sub(point + sign).clamp(1, 65)).unwrap_or(65)
    }

    /// The Arrow type that holds the values.
    pub fn arrow(&self) -> DataType {
        use WireType::*;
        match self.wire {
            Year | Bit => DataType::UInt64,
            Tiny | Short | Int24 | Long | LongLong if self.is_unsigned() => DataType::UInt64,
            Tiny | Short | Int24 | Long | LongLong => DataType::Int64,
            OldDecimal | NewDecimal => {
                crate::number::decimal_arrow(self.precision(), self.decimals)
            }
            Float => DataType::Float32,
            Double => DataType::Float64,
            Date | DateTime | Timestamp | Time => DataType::Int64,
            Null => DataType::Null,
            _ if self.is_binary_string() => DataType::Binary,
            _ => DataType::Utf8,
        }
    }
}

/// A column of a result, with everything that the protocol says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The database of the table.
    pub schema: String,
    /// The table or its alias.
    pub table: String,
    /// The table after the alias.
    pub org_table: String,
    /// The name that the client sees.
    pub name: String,
    /// The column after the alias.
    pub org_name: String,
    /// The type.
    pub ty: ColumnType,
}

impl Column {
    /// A column that comes from no table.
    pub fn computed(name: impl Into<String>, ty: ColumnType) -> Self {
        Self {
            schema: String::new(),
            table: String::new(),
            org_table: String::new(),
            name: name.into(),
            org_name: String::new(),
            ty,
        }
    }

    /// The Arrow field that holds the column. Arrow sees every column as nullable: NOT NULL is a
    /// promise of MySQL's that an outer join does not keep.
    pub fn field(&self) -> Field {
        Field::new(&self.name, self.ty.arrow(), true)
    }
}

/// Refuses a type byte that Pelorus does not know, by name of its column.
pub fn unknown_wire_type(column: &str, byte: u8) -> Error {
    Error::unsupported(format_args!("column type {byte} of column '{column}'"))
}

/// Reads a type byte, or refuses the column by name.
pub fn wire_type(column: &str, byte: u8) -> Result<WireType> {
    WireType::from_byte(byte).ok_or_else(|| unknown_wire_type(column, byte))
}

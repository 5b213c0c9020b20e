//! MySQL's types and values, and how Arrow holds them.
//!
//! A [`ColumnType`] says what a result column of the MySQL protocol says: wire type, flags, charset,
//! length and decimals. Arrow arrays hold the values in the forms of [`ColumnType::arrow`]; the
//! MySQL type always travels with the array and is never guessed from it.
//!
//! | MySQL | Arrow |
//! | --- | --- |
//! | TINYINT .. BIGINT, signed | `Int64` |
//! | TINYINT .. BIGINT unsigned, YEAR, BIT | `UInt64` |
//! | DECIMAL(p, s) | `Decimal128(38, s)` when p <= 38, else `Decimal256(76, s)` |
//! | FLOAT, DOUBLE | `Float32`, `Float64` |
//! | DATE, DATETIME, TIMESTAMP | `Int64`, packed by [`temporal`] which preserves the order and zero dates |
//! | TIME | `Int64`, microseconds, negative or beyond 24 h as MySQL allows |
//! | CHAR, VARCHAR, TEXT, ENUM, SET, JSON | `Utf8` |
//! | BINARY, VARBINARY, BLOB, GEOMETRY, VECTOR | `Binary` |
//! | NULL without a type | `Null` |

pub mod builder;
pub mod charset;
pub mod collation;
pub mod column;
pub mod number;
pub mod temporal;

pub use collation::{Collation, Info};
pub use column::{Column, ColumnType, Flags, WireType};

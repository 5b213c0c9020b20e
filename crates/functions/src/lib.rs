//! MySQL's operators, functions, casts and aggregates on Arrow arrays, with MySQL's values, NULLs,
//! result types, errors and warnings.
//!
//! [`resolve`] binds a name to the types of its arguments and gives a [`Call`], which knows the
//! type of its result and runs on arrays. What Pelorus lacks does not resolve: error 1235 for
//! functions that MySQL has, 1305 for those that nobody has. Nothing is answered approximately.
//!
//! Map: `value` (what is known of arguments), `input` and `output` (arrays a row at a time, with
//! the implicit conversions), `shape` (lengths and precisions of types), `common` (types that have
//! to agree), `call` and `resolve` (binding), `complaint` and `lazy` (which calls leave errors and
//! warnings, and how rows that do not reach them are spared), one module for each family of
//! functions, and [`assign`] (what a column stores of the values that INSERT, UPDATE and LOAD DATA
//! give it).
//!
//! Invariants: no clock, no I/O (but for the database of time zones, in [`zone`]) and no randomness
//! in here (time and identity come in by [`EvalContext`]); text in arrays is UTF-8 whatever its charset; two texts are compared only
//! under a collation whose rules are known exactly.

pub mod aggregate;
mod arithmetic;
pub mod assign;
mod bits;
mod call;
mod cast;
mod collate;
mod common;
mod compare;
mod complaint;
mod conditional;
mod context;
mod convert;
mod datetime;
mod decimal;
mod equality;
mod errors;
mod extreme;
mod forms;
mod formula;
mod info;
mod input;
mod interrupt;
mod keys;
mod lazy;
pub mod literal;
mod logic;
mod lookup;
mod math;
mod members;
pub mod names;
mod output;
mod parse;
mod quotient;
mod resolve;
mod round;
mod shape;
mod string;
mod value;
mod vector;
pub mod zone;

pub use call::Call;
pub use cast::{CastTarget, cast};
pub use common::common_type;
pub use context::{EvalContext, SqlMode};
pub use convert::{convert, reported, settle};
pub use decimal::Decimal;
pub use equality::EqualityKey;
pub use formula::{ExactOp, Formula};
pub use interrupt::Interrupt;
pub use keys::{comparison_keys, key_type, needs_key, without_signed_zeros};
pub use lazy::Ask;
pub use logic::truth;
pub use members::{Members, is_listed};
pub use output::{array_of, value_at};
pub use parse::exact_integer as whole_number;
pub use quotient::rounded_quotient;
pub use resolve::{asks_real, asks_text, hidden_numbers, resolve};
pub use value::{Arg, Coercibility, Origin, TextForm, Value};
pub use zone::TimeZone;

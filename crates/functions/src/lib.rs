//! MySQL's operators, functions, casts and aggregates on Arrow arrays, with MySQL's values, NULLs,
//! result types, errors and warnings.
//!
//! [`resolve`] binds a name to the types of its arguments and returns a [`Call`], which knows the
//! type of its result and runs on arrays. A function that Pelorus lacks is error 1235 if MySQL has
//! it, else 1305. No answer is approximate.
//!
//! | module | owns |
//! | --- | --- |
//! | `registry` | names, binding, which calls can fail or warn |
//! | `types` | result types, common types, implicit conversions |
//! | `scalar` | functions and operators by family |
//! | [`aggregate`] | aggregates |
//! | `collation` | charsets, collations, sort weights |
//! | [`assignment`] | what a column stores of the values that INSERT, UPDATE and LOAD DATA give it |
//! | `kernels` | loops over arrays, sort and join keys |
//! | `short_circuit` | evaluation of only the rows that reach an argument |
//! | `literal`, `decimal`, `parse`, [`zone`] | literals, exact numbers, numbers in text, time zones |
//! | `interrupt` | cancellation |
//! | `value`, `input`, `output`, `call`, `context` | values, arguments, results, bound calls, the session |
//!
//! Invariants: no clock, no I/O (except the time zone database, in [`zone`]) and no randomness; time
//! and identity come from [`EvalContext`]. Text in arrays is UTF-8 whatever its charset. Two texts
//! are compared only under a collation whose rules are known exactly.

pub mod aggregate;
pub mod assignment;
mod call;
mod collation;
mod context;
mod decimal;
mod input;
mod interrupt;
mod kernels;
pub mod literal;
mod output;
mod parse;
mod registry;
mod scalar;
mod short_circuit;
mod types;
mod value;
pub mod zone;

pub use crate::kernels::fused_arithmetic::{ExactOp, Formula};
pub use crate::kernels::join_key::EqualityKey;
pub use crate::kernels::quotient::rounded_quotient;
pub use crate::kernels::sort_key::{comparison_keys, key_type, needs_key, without_signed_zeros};
pub use crate::registry::function::{Filters, Function, Stored, Volatility};
pub use crate::registry::resolve::{asks_real, asks_text, hidden_numbers, resolve};
pub use crate::registry::table::find;
pub use crate::registry::{mariadb, names};
pub use crate::scalar::cast::{CastTarget, cast};
pub use crate::scalar::logic::truth;
pub use crate::types::common_type::common_type;
pub use crate::types::convert::{convert, reported, settle};
pub use crate::types::enum_members::{Members, is_listed};
pub use call::{Call, Operand};
pub use context::{EvalContext, SqlMode};
pub use decimal::Decimal;
pub use interrupt::Interrupt;
pub use output::{array_of, value_at};
pub use parse::exact_integer as whole_number;
pub use short_circuit::Ask;
pub use value::{Arg, Coercibility, Origin, TextForm, Value};
pub use zone::TimeZone;

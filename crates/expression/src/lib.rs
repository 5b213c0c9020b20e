//! Bound expressions: from the syntax tree to calls of functions, and their evaluation. It knows
//! neither tables nor DataFusion.
//!
//! | module | owns |
//! | --- | --- |
//! | [`syntax`] | which functions and operators the syntax stands for |
//! | [`bound`] | the tree of a bound expression, and its evaluation |
//! | `form` | conversions and keys, which have no name in SQL |
//! | `literal`, `cast_target` | literals and the types of CAST |
//! | `balanced` | trees of AND and OR |
//!
//! Queries, DML, defaults, CHECK constraints, generated columns, partitioning and the row
//! conditions of mirrors bind their expressions by the same [`syntax::bind`].

mod balanced;
pub mod bound;
mod cast_target;
mod form;
mod literal;
pub mod syntax;

pub use balanced::balanced;
pub use bound::{BoundExpr, TypedValue};
pub use cast_target::{cast_target, text_in_charset};
pub use form::Form;
pub use literal::{introduced, is_placeholder, literal};
pub use syntax::Binder;

//! Turns the syntax tree of a query into a DataFusion plan with MySQL's names, types and rules.
//!
//! DataFusion's own SQL planner is not used: names, types and coercions are MySQL's business and
//! are settled here, so that the plan holds nothing that DataFusion could read differently.
//!
//! | module | what it binds |
//! | --- | --- |
//! | [`scope`] | names to columns |
//! | [`items`], [`names`] | the select list, and what names of other clauses mean in it |
//! | [`facts`], `grouped` | what `ONLY_FULL_GROUP_BY` knows and asks |
//! | [`typed`] | an expression with its MySQL type |
//! | [`expr`] | expressions |
//! | `extent` | how deep and how large a statement may become |
//! | [`guard`] | conditions whose order matters |
//! | [`cast`] | the targets of casts |
//! | [`from`] | FROM clauses |
//! | [`leaf`] | tables of a FROM clause |
//! | [`literal`] | constants |
//! | [`mariadb`] | what a MariaDB computes otherwise, which is refused |
//! | `version` | the moment of `FOR SYSTEM_TIME AS OF` |
//! | [`native`], [`condition`] | native tables, and what of WHERE their scans can use |
//! | [`select`] | one SELECT block |
//! | [`correlated`] | subqueries that depend on the row |
//! | [`aggregate`] | GROUP BY, aggregates, HAVING |
//! | `outer` | aggregates of a block in its subqueries |
//! | `concat` | `GROUP_CONCAT` |
//! | [`rollup`] | WITH ROLLUP |
//! | [`window`] | window functions |
//! | `propagated` | conditions that a MySQL changes by others |
//! | [`query`] | set operations, ORDER BY, LIMIT, WITH |
//! | `repeated` | what WITH defines and more than one table factor names |

pub(crate) mod aggregate;
pub(crate) mod cast;
mod common;
mod concat;
pub(crate) mod condition;
pub(crate) mod correlated;
pub(crate) mod expr;
mod extent;
pub(crate) mod facts;
pub(crate) mod from;
mod grouped;
mod guard;
pub(crate) mod items;
pub(crate) mod leaf;
pub(crate) mod literal;
pub(crate) mod mariadb;
pub(crate) mod names;
pub(crate) mod native;
mod outer;
mod propagated;
pub(crate) mod query;
mod repeated;
pub(crate) mod rollup;
pub(crate) mod scope;
pub(crate) mod select;
pub(crate) mod subquery;
pub(crate) mod typed;
mod version;
pub(crate) mod window;

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
pub(crate) mod base_table;
pub(crate) mod cast;
pub(crate) mod clause_names;
pub(crate) mod correlated;
mod cte_policy;
pub(crate) mod expression;
pub(crate) mod from_clause;
pub(crate) mod functional_dependency;
mod group_concat;
mod grouped;
pub(crate) mod literal;
pub(crate) mod mariadb_rules;
pub(crate) mod native;
mod ordered_conjunction;
mod outer_aggregates;
mod plan_limits;
mod propagated;
pub(crate) mod query;
pub(crate) mod rollup;
pub(crate) mod scan_predicate;
pub(crate) mod scope;
pub(crate) mod select;
pub(crate) mod select_list;
pub(crate) mod subquery;
mod system_time;
pub(crate) mod typed_expression;
mod using_columns;
pub(crate) mod window;

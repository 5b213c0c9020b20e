//! Binds the syntax tree of a query to a DataFusion plan with MySQL's names, types and rules.
//!
//! DataFusion's own SQL planner is not used: names, types and coercions follow MySQL and are
//! settled here, so that the plan contains nothing that DataFusion could interpret differently.
//!
//! | module | what it binds |
//! | --- | --- |
//! | [`statement`] | one statement: its binder, and what linked servers do for it |
//! | [`bound_query`] | the result: a plan, and the meaning of its columns |
//! | [`scope`] | names to columns |
//! | [`select`], [`block`] | one SELECT block |
//! | [`query`] | set operations, WITH |
//! | [`order_limit`] | ORDER BY and LIMIT |
//! | [`select_list`], [`clause_names`] | the select list, and its names in other clauses |
//! | [`from_clause`], [`join_kind`], [`using_columns`] | FROM clauses, joins, `USING` and `NATURAL` |
//! | [`base_table`], [`mentioned`] | tables of a FROM clause, and the columns that a statement needs |
//! | [`native`], [`scan_predicate`] | native tables, and the conditions of WHERE that their scans test |
//! | [`system_time`] | the moment of `FOR SYSTEM_TIME AS OF` |
//! | [`typed_expression`] | an expression with its MySQL type |
//! | [`expression`] | expressions, by the syntax that `pelorus_expression` knows |
//! | [`subquery`], [`correlated`] | subqueries, and those that depend on the row |
//! | [`aggregate`], [`group_concat`], [`rollup`] | GROUP BY, aggregates, HAVING, `GROUP_CONCAT`, WITH ROLLUP |
//! | [`outer_aggregates`] | aggregates of a block in its subqueries |
//! | [`grouped`], [`functional_dependency`], [`facts`] | the rules of `ONLY_FULL_GROUP_BY` |
//! | [`function_call`], [`named_columns`], [`session_constant`] | calls, columns and variables of our session in a tree |
//! | [`window`] | window functions |
//! | [`ordered_conjunction`] | conditions whose order matters |
//! | [`propagated`] | conditions that MySQL changes by equality propagation |
//! | [`cte_policy`] | inlining and materialisation of common table expressions |
//! | [`mariadb_rules`] | expressions that MariaDB computes differently, which are refused |
//! | [`plan_limits`] | limits of the depth and size of a plan |

pub(crate) mod aggregate;
pub(crate) mod base_table;
pub(crate) mod block;
pub(crate) mod bound_query;
pub(crate) mod clause_names;
pub(crate) mod correlated;
mod cte_policy;
pub(crate) mod expression;
pub(crate) mod facts;
pub(crate) mod from_clause;
pub(crate) mod function_call;
pub(crate) mod functional_dependency;
mod group_concat;
mod grouped;
pub(crate) mod join_kind;
pub(crate) mod mariadb_rules;
pub(crate) mod mentioned;
mod named_columns;
pub(crate) mod native;
pub(crate) mod order_limit;
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
pub(crate) mod session_constant;
pub(crate) mod statement;
pub(crate) mod subquery;
mod system_time;
pub(crate) mod typed_expression;
mod using_columns;
pub(crate) mod window;

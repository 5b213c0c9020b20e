//! Binds the syntax tree of a query to a DataFusion plan with MySQL's names, types and rules.
//!
//! DataFusion's own SQL planner is not used: names, types and coercions follow MySQL and are
//! settled here, so that the plan contains nothing that DataFusion could interpret differently.
//!
//! | module | what it binds |
//! | --- | --- |
//! | [`scope`] | names to columns |
//! | [`select`] | one SELECT block |
//! | [`query`] | set operations, ORDER BY, LIMIT, WITH |
//! | [`select_list`], [`clause_names`] | the select list, and its names in other clauses |
//! | [`from_clause`], [`using_columns`] | FROM clauses, `USING` and `NATURAL` |
//! | [`base_table`] | tables of a FROM clause |
//! | [`native`], [`scan_predicate`] | native tables, and the conditions of WHERE that their scans test |
//! | [`system_time`] | the moment of `FOR SYSTEM_TIME AS OF` |
//! | [`typed_expression`] | an expression with its MySQL type |
//! | [`expression`] | expressions, by the syntax that `pelorus_expression` knows |
//! | [`subquery`], [`correlated`] | subqueries, and those that depend on the row |
//! | [`aggregate`], [`group_concat`], [`rollup`] | GROUP BY, aggregates, HAVING, `GROUP_CONCAT`, WITH ROLLUP |
//! | [`outer_aggregates`] | aggregates of a block in its subqueries |
//! | [`grouped`], [`functional_dependency`] | the rules of `ONLY_FULL_GROUP_BY` |
//! | [`window`] | window functions |
//! | [`ordered_conjunction`] | conditions whose order matters |
//! | [`propagated`] | conditions that MySQL changes by equality propagation |
//! | [`cte_policy`] | inlining and materialisation of common table expressions |
//! | [`mariadb_rules`] | expressions that MariaDB computes differently, which are refused |
//! | [`plan_limits`] | limits of the depth and size of a plan |

pub(crate) mod aggregate;
pub(crate) mod base_table;
pub(crate) mod clause_names;
pub(crate) mod correlated;
mod cte_policy;
pub(crate) mod expression;
pub(crate) mod from_clause;
pub(crate) mod functional_dependency;
mod group_concat;
mod grouped;
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

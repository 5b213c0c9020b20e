//! `sql_safe_updates`: `UPDATE` and `DELETE` are refused unless their `WHERE` uses a key, or a
//! `LIMIT` bounds them.
//!
//! MySQL decides by the optimizer's plan, which depends on the stored rows. Here the text decides:
//! a condition counts if it compares the first column of a key with a value that is known before
//! the table is read. A table that is joined by its key counts if there is any `WHERE`; in MySQL
//! this depends on the join order.

use pelorus_error::{Code, Error, Result};
use pelorus_functions::names;
use pelorus_sql::ast::{
    BinaryOperator, Expr, Ident, JoinConstraint, JoinOperator, TableFactor, TableWithJoins,
    UnaryOperator,
};
use pelorus_sql::ddl::{KeyKind, KeyTarget};
use pelorus_sql::literal::{self, Constant};
use pelorus_sql::{Mode, ast_analysis};

use super::Statement;
use super::update::named;
use crate::definition::NativeDef;

/// A table whose rows a statement changes.
struct Changed<'a> {
    def: &'a NativeDef,
    /// Its alias.
    alias: &'a str,
    mode: Mode,
    /// The first columns of its keys.
    first: Vec<usize>,
}

impl Statement<'_> {
    /// Refuses to change a table where `sql_safe_updates` is on and no condition uses a key of it.
    ///
    /// # Errors
    /// 1175.
    pub(super) fn check_safe(
        &self,
        tables: &[TableWithJoins],
        selection: Option<&Expr>,
        (def, alias): (&NativeDef, &str),
    ) -> Result<()> {
        if !self.safe_updates {
            return Ok(());
        }
        let table = Changed { def, alias, mode: self.context.mode, first: first_columns(def) };
        let uses_key = selection.is_some_and(|selection| {
            table.is_narrowed(selection, false) || tables.iter().any(|it| table.is_joined(it))
        });
        if uses_key {
            return Ok(());
        }
        // The blank at the end is MySQL's.
        Err(Error::new(
            Code::SafeUpdates,
            "You are using safe update mode and you tried to update a table without a WHERE that \
             uses a KEY column. ",
        ))
    }
}

/// The first columns of the keys in which values can be looked up.
fn first_columns(def: &NativeDef) -> Vec<usize> {
    let keys =
        def.definition.keys.iter().filter(|key| {
            !key.invisible && !matches!(key.kind, KeyKind::FullText | KeyKind::Spatial)
        });
    keys.filter_map(|key| match &key.parts.first()?.target {
        KeyTarget::Column(name) => def.position(name),
        KeyTarget::Expression(_) => None,
    })
    .collect()
}

impl Changed<'_> {
    /// Whether a condition, or its opposite, leaves a part of a key.
    fn is_narrowed(&self, condition: &Expr, negated: bool) -> bool {
        match condition {
            Expr::Nested(inner) => self.is_narrowed(inner, negated),
            Expr::UnaryOp { op: UnaryOperator::Not | UnaryOperator::BangNot, expr } => {
                self.is_narrowed(expr, !negated)
            }
            Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
                let (left, right) =
                    (self.is_narrowed(left, negated), self.is_narrowed(right, negated));
                let needs_both = (*op == BinaryOperator::Or) != negated;
                if needs_both { left && right } else { left || right }
            }
            Expr::BinaryOp { left, op, right } => match op {
                BinaryOperator::Eq => self.is_equal(left, right) || self.is_equal(right, left),
                BinaryOperator::Spaceship if negated => false,
                BinaryOperator::Spaceship
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq => self.is_bound(left, right) || self.is_bound(right, left),
                _ => false,
            },
            Expr::Between { expr, low, high, .. } => {
                self.is_bound(expr, low) && self.is_bound(expr, high)
            }
            Expr::InList { expr, list, .. } => list.iter().all(|value| self.is_equal(expr, value)),
            Expr::Like { negated: false, any: false, expr, pattern, .. } => {
                !negated && self.is_begun(expr, pattern)
            }
            Expr::IsNull(expr) | Expr::IsNotNull(expr) => {
                let finds_nulls = matches!(condition, Expr::IsNull(_)) != negated;
                self.key(expr)
                    .is_some_and(|at| finds_nulls || self.def.columns[at].ty.is_nullable())
            }
            // A number as a condition is compared with 0.
            other => self.key(other).is_some(),
        }
    }

    /// Whether the table is joined by a key.
    fn is_joined(&self, tables: &TableWithJoins) -> bool {
        let is_inside = |factor: &TableFactor| match factor {
            TableFactor::NestedJoin { table_with_joins, .. } => self.is_joined(table_with_joins),
            _ => false,
        };
        is_inside(&tables.relation)
            || tables.joins.iter().any(|join| {
                is_inside(&join.relation) || self.is_found_by(&join.join_operator, &join.relation)
            })
    }

    /// Whether a join finds rows of the table by a key. Of the outer side of a join all rows stay.
    fn is_found_by(&self, join: &JoinOperator, relation: &TableFactor) -> bool {
        let is_right = named(relation).is_some_and(|(_, name)| name == self.alias);
        let constraint = match join {
            JoinOperator::Join(it)
            | JoinOperator::Inner(it)
            | JoinOperator::CrossJoin(it)
            | JoinOperator::StraightJoin(it) => it,
            JoinOperator::Left(it) | JoinOperator::LeftOuter(it) if is_right => it,
            JoinOperator::Right(it) | JoinOperator::RightOuter(it) if !is_right => it,
            _ => return false,
        };
        match constraint {
            JoinConstraint::On(condition) => self.is_narrowed(condition, false),
            JoinConstraint::Using(names) => names.iter().any(|name| {
                let at = self.def.position(&ast_analysis::table_name(name).name);
                at.is_some_and(|at| self.first.contains(&at))
            }),
            JoinConstraint::Natural | JoinConstraint::None => false,
        }
    }

    /// Whether a side of `=` or `IN` is a key and the other side a value, or a column of another
    /// table; so it is with rows of which one column is.
    fn is_equal(&self, key: &Expr, value: &Expr) -> bool {
        match (ast_analysis::unnested(key), ast_analysis::unnested(value)) {
            (Expr::Tuple(keys), Expr::Tuple(values)) => {
                keys.iter().zip(values).any(|(key, value)| self.is_equal(key, value))
            }
            (key, value) => {
                self.is_compared(key, value)
                    && !ast_analysis::columns(value).iter().any(|path| self.is_own(path))
            }
        }
    }

    /// Whether a side of a comparison is a key and the other side a value.
    fn is_bound(&self, key: &Expr, value: &Expr) -> bool {
        self.is_compared(key, value) && ast_analysis::columns(value).is_empty()
    }

    /// Whether one side is a key and the other nothing that differs from row to row, as far as
    /// functions and subqueries go. Texts are not looked up by numbers.
    fn is_compared(&self, key: &Expr, value: &Expr) -> bool {
        let Some(at) = self.key(key) else { return false };
        let is_number = matches!(
            literal::constant(ast_analysis::unnested(value), self.mode),
            Some(Constant::Integer(_) | Constant::Decimal(_) | Constant::Float(_))
        );
        let is_of_row = |path: &Vec<Ident>| path.len() > 1 && self.is_own(path);
        let text_by_number = is_number && self.def.columns[at].ty.is_string();
        !text_by_number
            && !ast_analysis::all_columns(value).iter().any(is_of_row)
            && !ast_analysis::expression_dependence(value, self.mode).calls(names::is_random)
    }

    /// Whether a pattern says how texts of a key begin.
    fn is_begun(&self, key: &Expr, pattern: &Expr) -> bool {
        let is_text = self.key(key).is_some_and(|at| self.def.columns[at].ty.is_string());
        is_text
            && match literal::constant(ast_analysis::unnested(pattern), self.mode) {
                Some(Constant::Text { text, .. }) => !text.starts_with(['%', '_']),
                Some(_) => false,
                None => self.is_bound(key, pattern),
            }
    }

    /// The column of the table that an expression is, if a key begins with it.
    fn key(&self, expr: &Expr) -> Option<usize> {
        let path = match ast_analysis::unnested(expr) {
            Expr::Identifier(name) => std::slice::from_ref(name),
            Expr::CompoundIdentifier(path) => path.as_slice(),
            _ => return None,
        };
        let at = self.def.position(&path.last()?.value)?;
        (self.is_own(path) && self.first.contains(&at)).then_some(at)
    }

    /// Whether a name is that of a column of the table. One without a table's name that several
    /// tables have is an error anyway.
    fn is_own(&self, path: &[Ident]) -> bool {
        match path {
            [.., table, _] => table.value == self.alias,
            [name] => self.def.position(&name.value).is_some(),
            [] => false,
        }
    }
}

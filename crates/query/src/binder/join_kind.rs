//! How a join treats its sides, and its condition.

use sqlparser::ast::{self, JoinConstraint, JoinOperator};

/// How a join treats the rows of its right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinKind {
    /// Rows of both sides that fit.
    Inner,
    /// All rows of the left side.
    Left,
    /// All rows of the right side.
    Right,
}

impl JoinKind {
    /// Reads the operator; `None` for one that MySQL does not have.
    pub(crate) fn of(operator: &JoinOperator) -> Option<JoinKind> {
        match operator {
            JoinOperator::Join(_)
            | JoinOperator::Inner(_)
            | JoinOperator::CrossJoin(_)
            | JoinOperator::StraightJoin(_) => Some(JoinKind::Inner),
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => Some(JoinKind::Left),
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => Some(JoinKind::Right),
            _ => None,
        }
    }
}

/// The condition of a join.
pub(crate) fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(it)
        | JoinOperator::Inner(it)
        | JoinOperator::CrossJoin(it)
        | JoinOperator::StraightJoin(it)
        | JoinOperator::Left(it)
        | JoinOperator::LeftOuter(it)
        | JoinOperator::Right(it)
        | JoinOperator::RightOuter(it) => Some(it),
        _ => None,
    }
}

/// The conditions of the inner joins of an item that have the same meaning in WHERE.
pub(crate) fn inner_conditions(item: &ast::TableWithJoins) -> Vec<&ast::Expr> {
    let kinds = || item.joins.iter().map(|join| JoinKind::of(&join.join_operator));
    if kinds().any(|kind| kind == Some(JoinKind::Right)) {
        return Vec::new();
    }
    let inner = item.joins.iter().zip(kinds()).filter(|(_, kind)| *kind == Some(JoinKind::Inner));
    inner.filter_map(|(join, _)| condition_of(join)).collect()
}

/// The condition of a join that has one.
pub(crate) fn condition_of(join: &ast::Join) -> Option<&ast::Expr> {
    match constraint(&join.join_operator) {
        Some(JoinConstraint::On(condition)) => Some(condition),
        _ => None,
    }
}

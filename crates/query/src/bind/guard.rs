//! Conditions that rows have to meet one after another.
//!
//! DataFusion asks the parts of an AND in any order, and of more rows than MySQL does. That does
//! not matter unless a part can leave an error or a warning (`u > 5 AND u - 6 > 1` of an unsigned
//! `u`). Such a part is asked of the rows alone that meet the parts in front of it, as far as those
//! concern the same tables: MySQL, too, asks of a table first what concerns no other. The parts in
//! front still stand on their own as well, so that they reach joins and scans.

use std::collections::BTreeSet;

use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use super::scope::Scope;
use crate::lazy;

/// Tables by their database and name.
type Tables<'s> = BTreeSet<(&'s str, &'s str)>;

struct Part<'s> {
    condition: Expr,
    complains: bool,
    /// The tables that it concerns; `None` of what has to stay where DataFusion finds it.
    tables: Option<Tables<'s>>,
}

impl<'s> Part<'s> {
    fn new(condition: Expr, scope: &'s Scope) -> Self {
        let tables = tables(&condition, scope);
        let joins = is_equality(&condition) && tables.len() > 1;
        let stays = joins || !lazy::is_plain(&condition);
        let complains = lazy::complains(&condition);
        Self { condition, complains, tables: (!stays).then_some(tables) }
    }

    /// Whether what stands in front of it counts.
    fn waits(&self) -> bool {
        self.complains && self.tables.is_some()
    }

    /// Whether another part that it stands in front of waits for it.
    fn precedes(&self, other: &Part<'_>) -> bool {
        match (&self.tables, &other.tables) {
            (Some(own), Some(all)) => !self.complains && own.is_subset(all),
            _ => false,
        }
    }
}

/// Whether DataFusion may take it for the key of a join.
pub(super) fn is_equality(condition: &Expr) -> bool {
    matches!(condition, Expr::BinaryExpr(BinaryExpr { op: Operator::Eq, .. }))
}

/// Whether it concerns no more than one table.
pub(super) fn is_of_one_table(condition: &Expr, scope: &Scope) -> bool {
    tables(condition, scope).len() < 2
}

/// The tables of the columns; what is no column of a table counts as one without a name.
fn tables<'s>(condition: &Expr, scope: &'s Scope) -> Tables<'s> {
    let table_of = |name: &datafusion::common::Column| {
        let is_it = |value: &Expr| matches!(value, Expr::Column(column) if column == name);
        let column = scope.columns.iter().find(|column| is_it(&column.value.expr));
        column.map_or(("", ""), |column| (column.schema.as_str(), column.table.as_str()))
    };
    condition.column_refs().into_iter().map(table_of).collect()
}

/// All of the conditions; `None` of none.
pub(super) fn conjunction(conditions: Vec<Expr>, scope: &Scope) -> Option<Expr> {
    let parts: Vec<Part<'_>> = conditions.into_iter().map(|it| Part::new(it, scope)).collect();
    let mut is_guarded = vec![false; parts.len()];
    let mut chains = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if is_guarded[at] || !part.waits() {
            continue;
        }
        let is_alike = |it: &usize| parts[*it].waits() && parts[*it].tables == part.tables;
        let alike: Vec<usize> = (at..parts.len()).filter(is_alike).collect();
        let end = alike.last().map_or(at, |last| last + 1);
        let chain: Vec<&Expr> = (0..end)
            .filter(|it| alike.contains(it) || parts[*it].precedes(part))
            .map(|it| &parts[it].condition)
            .collect();
        if chain.len() > 1 {
            alike.iter().for_each(|it| is_guarded[*it] = true);
            chains.push(lazy::all(&chain));
        }
    }
    let plain = parts.into_iter().zip(is_guarded).filter(|(_, is_guarded)| !is_guarded);
    plain.map(|(part, _)| part.condition).chain(chains).reduce(Expr::and)
}

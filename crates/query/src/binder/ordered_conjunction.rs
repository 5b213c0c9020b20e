//! AND conditions whose order matters, because a later part can fail or warn.
//!
//! DataFusion evaluates the parts of an AND in any order, and for more rows than MySQL does. That
//! does not matter unless a part can leave an error or a warning (`u > 5 AND u - 6 > 1` of an
//! unsigned `u`). Such a part is evaluated only for the rows that meet the earlier parts, as far as
//! those concern the same tables: MySQL, too, first tests the conditions on a single table. The
//! earlier parts also remain separate conditions, so that they reach joins and scans.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use pelorus_expression::balanced;

use super::scope::Scope;
use crate::operators::short_circuit;

/// The maximum number of separate conditions, which DataFusion can move independently.
const MAX_PARTS: usize = 64;

/// Tables by their database and name.
type Tables<'s> = BTreeSet<(&'s str, &'s str)>;

struct Part<'s> {
    condition: Expr,
    is_fallible: bool,
    /// The tables that it concerns; `None` for a condition that must stay in its place.
    tables: Option<Tables<'s>>,
}

impl<'s> Part<'s> {
    fn new(condition: Expr, scope: &'s Scope) -> Self {
        let tables = tables(&condition, scope);
        let joins = is_equality(&condition) && tables.len() > 1;
        let stays = joins || !short_circuit::is_plain(&condition);
        let is_fallible = short_circuit::is_fallible(&condition);
        Self { condition, is_fallible, tables: (!stays).then_some(tables) }
    }

    /// Whether the earlier parts matter for it.
    fn waits(&self) -> bool {
        self.is_fallible && self.tables.is_some()
    }

    /// Whether a later part must wait for it.
    fn precedes(&self, other: &Part<'_>) -> bool {
        match (&self.tables, &other.tables) {
            (Some(own), Some(all)) => !self.is_fallible && own.is_subset(all),
            _ => false,
        }
    }
}

/// Whether DataFusion may take it for the key of a join.
pub(crate) fn is_equality(condition: &Expr) -> bool {
    matches!(condition, Expr::BinaryExpr(BinaryExpr { op: Operator::Eq, .. }))
}

/// Whether it concerns no more than one table.
pub(crate) fn is_of_one_table(condition: &Expr, scope: &Scope) -> bool {
    tables(condition, scope).len() < 2
}

/// The tables of the columns; names that are no column of a table count as one without a name.
fn tables<'s>(condition: &Expr, scope: &'s Scope) -> Tables<'s> {
    let table_of = |name: &datafusion::common::Column| {
        let is_it = |value: &Expr| matches!(value, Expr::Column(column) if column == name);
        let column = scope.columns.iter().find(|column| is_it(&column.value.expr));
        column.map_or(("", ""), |column| (column.schema.as_str(), column.table.as_str()))
    };
    condition.column_refs().into_iter().map(table_of).collect()
}

/// All of the conditions; `None` of none.
pub(crate) fn conjunction(conditions: Vec<Expr>, scope: &Scope) -> Option<Expr> {
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
            chains.push(short_circuit::all(&chain));
        }
    }
    let plain = parts.into_iter().zip(is_guarded).filter(|(_, is_guarded)| !is_guarded);
    let mut all = few(plain.map(|(part, _)| part).collect());
    all.extend(chains);
    balanced(all, |left, right| Ok(left.and(right))).ok().flatten()
}

/// The conditions of the parts. Of many, those that concern the same tables become one function:
/// DataFusion makes of the parts of an AND a tree that leans to one side and recurses over it.
fn few(parts: Vec<Part<'_>>) -> Vec<Expr> {
    let is_many = parts.len() > MAX_PARTS;
    let mut single = Vec::new();
    let mut groups: BTreeMap<Tables<'_>, Vec<Expr>> = BTreeMap::new();
    for part in parts {
        match part.tables {
            Some(tables) if is_many => groups.entry(tables).or_default().push(part.condition),
            _ => single.push(part.condition),
        }
    }
    single.extend(groups.into_values().map(|mut group| match group.len() {
        1 => group.remove(0),
        _ => short_circuit::all(&group.iter().collect::<Vec<_>>()),
    }));
    single
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::{col, lit};

    use super::*;

    fn height(expr: &Expr) -> usize {
        match expr {
            Expr::BinaryExpr(it) if it.op == Operator::And => {
                1 + height(&it.left).max(height(&it.right))
            }
            _ => 0,
        }
    }

    #[test]
    fn many_conditions_on_one_table_become_one() {
        let scope = Scope::default();
        let conditions = |count: usize| -> Vec<Expr> {
            (0..count).map(|at| col("c").gt(lit(at as u64))).collect()
        };
        let some = conjunction(conditions(MAX_PARTS), &scope).unwrap();
        assert_eq!(height(&some), MAX_PARTS.ilog2() as usize);
        let many = conjunction(conditions(MAX_PARTS + 1), &scope).unwrap();
        let Expr::ScalarFunction(function) = &many else { panic!("{many}") };
        assert_eq!(function.args.len(), MAX_PARTS + 1);
    }
}

//! Evaluates assignments without a query. Statements that repeat them over few rows would otherwise
//! spend most of their time on parsing and planning.

use std::sync::Arc;

use arrow::array::ArrayRef;
use pelorus_error::Result;
use pelorus_functions::assignment::{Policy, Target, assign_array};
use pelorus_functions::{EvalContext, is_listed};
use pelorus_sql::Mode;
use pelorus_store::bytes_of;

use super::assign::{Source, new_name};
use super::check_bytes;
use super::warnings::Warnings;
use crate::constraints::{not_of_rows, values};
use crate::definition::NativeDef;
use crate::expression::RowExpression;

/// Assignments to rows with corresponding new rows, in the same order.
#[derive(Debug)]
pub(super) struct Direct {
    /// The columns of the table, and after them those of the new rows.
    targets: Vec<Target>,
    assignments: Vec<(usize, RowExpression)>,
}

impl Direct {
    /// Binds assignments whose names a query has found right; `None` if one of them needs a query.
    pub(super) fn of(
        def: &NativeDef,
        sources: &[(usize, Source)],
        mode: Mode,
        context: &Arc<EvalContext>,
    ) -> Option<Self> {
        let renamed = |target: &Target| Target { name: new_name(&target.name), ..target.clone() };
        let new = def.targets.iter().map(renamed);
        let targets: Vec<Target> = def.targets.iter().cloned().chain(new).collect();
        let bind = |(column, source): &(usize, Source)| {
            let Source::Expression(text, _) = source else { return None };
            let tree = pelorus_sql::parse_expression(text, mode).ok()?;
            if not_of_rows(&tree) {
                return None;
            }
            let scope = (targets.as_slice(), mode);
            let (context, target) = (Arc::clone(context), &def.targets[*column]);
            let bound = RowExpression::of_column(&tree, &def.name, scope, context, target);
            // What an ENUM is in an expression depends on its members.
            let bound = bound.ok()?;
            let is_plain = bound.columns().iter().all(|&at| !is_listed(&targets[at].ty));
            is_plain.then_some((*column, bound))
        };
        let assignments = sources.iter().map(bind).collect::<Option<Vec<_>>>()?;
        Some(Self { targets, assignments })
    }

    /// The rows after the assignments; `new` are the corresponding new rows. All are in stored
    /// form.
    ///
    /// # Errors
    /// A value that does not fit, errors of expressions, more bytes than one commit takes (1235).
    pub(super) fn assigned(
        &self,
        old: &[ArrayRef],
        new: &[ArrayRef],
        policy: &Policy,
        warnings: &mut Warnings,
    ) -> Result<Vec<ArrayRef>> {
        let mut rows = [old, new].concat();
        for (column, expression) in &self.assignments {
            let found = values(expression, &self.targets, &rows, policy)?;
            let assigned = assign_array(&self.targets[*column], policy, &found, &expression.ty())?;
            warnings.add(assigned.warnings, assigned.warning_count);
            rows[*column] = assigned.array;
        }
        rows.truncate(old.len());
        check_bytes(bytes_of(&rows))?;
        Ok(rows)
    }
}

//! Merged columns of `USING` and `NATURAL` joins.
//!
//! Each pair of columns is equal, and the bare name means the column of the first side, which for a
//! right join is the right one. `*` shows the merged columns first, then the other columns of the
//! first side, then those of the second.

use pelorus_error::{Code, Error, Result};
use sqlparser::ast::{BinaryOperator, Expr, JoinConstraint};

use super::join_kind::JoinKind;
use super::scope::Scope;

/// In messages.
const CLAUSE: &str = "from clause";

/// The pairs of a join: places in the first side, in the order of its `*`, and in the second.
#[derive(Debug, Default)]
pub(crate) struct Common(Vec<(usize, usize)>);

impl Common {
    /// The merged columns of a join's constraint; `None` if it is a condition, or there is none.
    ///
    /// # Errors
    /// A column that a side does not have (1054), or has several of (1052).
    pub(crate) fn of(
        constraint: &JoinConstraint,
        first: &Scope,
        second: &Scope,
    ) -> Result<Option<Self>> {
        let mut pairs = Vec::new();
        match constraint {
            JoinConstraint::Using(names) => {
                for name in names {
                    let name = name.0.last().and_then(|part| part.as_ident());
                    let name = name.map(|it| it.value.as_str()).unwrap_or_default();
                    let pair = (required(first, name)?, required(second, name)?);
                    if !pairs.contains(&pair) {
                        pairs.push(pair);
                    }
                }
            }
            JoinConstraint::Natural => {
                for &at in &first.starred {
                    let name = &first.columns[at].name;
                    if let Some(other) = place(second, name)? {
                        pairs.push((required(first, name)?, other));
                    }
                }
            }
            JoinConstraint::On(_) | JoinConstraint::None => return Ok(None),
        }
        pairs.sort_by_key(|(at, _)| first.starred.iter().position(|it| it == at));
        Ok(Some(Self(pairs)))
    }

    /// The pairs as places in the scope of both, whose right side begins at a place.
    fn places(
        &self,
        (kind, begin): (JoinKind, usize),
    ) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.0.iter().map(move |&(first, second)| match kind {
            JoinKind::Right => (begin + first, second),
            _ => (first, begin + second),
        })
    }

    /// That the columns of each pair are equal.
    pub(crate) fn conditions(&self, scope: &Scope, joined: (JoinKind, usize)) -> Vec<Expr> {
        let name = |at: usize| Box::new(scope.path(at));
        let equal = |(first, second)| Expr::BinaryOp {
            left: name(first),
            op: BinaryOperator::Eq,
            right: name(second),
        };
        self.places(joined).map(equal).collect()
    }

    /// Leaves one column of each pair to bare names and to `*`.
    pub(crate) fn merge(&self, scope: &mut Scope, joined: (JoinKind, usize)) {
        let (kind, begin) = joined;
        let pairs: Vec<(usize, usize)> = self.places(joined).collect();
        for (_, second) in &pairs {
            scope.columns[*second].hidden = true;
        }
        let is_common = |at: &usize| pairs.iter().any(|(a, b)| a == at || b == at);
        let rest = |right: bool| {
            let of_side = scope.starred.iter().filter(move |at| (**at >= begin) == right);
            of_side.filter(|at| !is_common(at)).copied().collect::<Vec<_>>()
        };
        let rests = [rest(kind == JoinKind::Right), rest(kind != JoinKind::Right)];
        let common: Vec<usize> = pairs.iter().map(|(first, _)| *first).collect();
        scope.starred = [common, rests.concat()].concat();
    }
}

/// The place of a column with a bare name.
fn place(scope: &Scope, name: &str) -> Result<Option<usize>> {
    scope.place(&[name], CLAUSE)
}

fn required(scope: &Scope, name: &str) -> Result<usize> {
    place(scope, name)?.ok_or_else(|| {
        Error::new(Code::UnknownColumn, format!("Unknown column '{name}' in '{CLAUSE}'"))
    })
}

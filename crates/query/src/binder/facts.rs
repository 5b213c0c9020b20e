//! Functional dependencies: that some columns determine others. How they follow from a query is in
//! [`super::functional_dependency`].

use std::ops::Range;

/// That some columns determine others, by their places in a scope or among the outputs of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    /// The determining columns; empty for constants.
    pub(crate) from: Vec<usize>,
    /// The determined columns.
    pub(crate) to: Vec<usize>,
    /// Whether it holds of rows that an outer join fills with NULL, too.
    pub(crate) survives: bool,
}

/// The functional dependencies among the columns of a scope, or among the outputs of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts(Vec<Fact>);

impl Facts {
    /// Adds a fact.
    pub(crate) fn add(&mut self, from: Vec<usize>, to: Vec<usize>, survives: bool) {
        self.0.push(Fact { from, to, survives });
    }

    /// Adds the facts about columns of the same scope.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The same facts with all places moved on.
    pub(crate) fn moved(mut self, by: usize) -> Self {
        for fact in &mut self.0 {
            fact.from.iter_mut().chain(&mut fact.to).for_each(|at| *at += by);
        }
        self
    }

    /// The single facts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Fact> {
        self.0.iter()
    }

    /// Adds to `known` everything that it determines. `surviving` says to use the facts alone that
    /// hold of rows filled with NULL.
    pub(crate) fn close(&self, known: &mut [bool], surviving: bool) {
        let mut left: Vec<&Fact> =
            self.0.iter().filter(|fact| fact.survives || !surviving).collect();
        loop {
            let before = left.len();
            left.retain(|fact| {
                let applies = fact.from.iter().all(|&at| known[at]);
                if applies {
                    fact.to.iter().for_each(|&at| known[at] = true);
                }
                !applies
            });
            if left.len() == before {
                return;
            }
        }
    }

    /// The dependencies of the inner side that survive an outer join, whose condition names these
    /// columns of the outer side and is deterministic; `None` if it is not.
    pub(crate) fn fill_with_null(&mut self, inner: &Range<usize>, outer: Option<&Vec<usize>>) {
        self.0.retain_mut(|fact| {
            if fact.survives || fact.to.iter().any(|at| !inner.contains(at)) {
                return true;
            }
            match outer {
                Some(outer) if fact.from.is_empty() => {
                    fact.from.clone_from(outer);
                    true
                }
                _ => false,
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_applied_until_nothing_more_follows() {
        let mut facts = Facts::default();
        facts.add(vec![2], vec![3], false);
        facts.add(vec![0, 1], vec![2], true);
        let closed = |known: [bool; 4], surviving| {
            let mut known = known;
            facts.close(&mut known, surviving);
            known
        };
        assert_eq!(closed([true, false, false, false], false), [true, false, false, false]);
        assert_eq!(closed([true, true, false, false], false), [true; 4]);
        assert_eq!(closed([true, true, false, false], true), [true, true, true, false]);
    }
}

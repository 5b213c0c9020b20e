//! A segment tree of partial states: aggregates any range of rows with few merges.
//!
//! Source: Leis et al., "Efficient Processing of Window Functions in Analytical SQL Queries", VLDB
//! 2015. A node of the lowest level holds the state of 32 consecutive rows, a node above that of 32
//! nodes. A range is at most 62 rows, and as many nodes of each level.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use pelorus_error::Result;
use pelorus_functions::aggregate::{Accumulator, AggregateCall, Take};

/// Rows of a node of the lowest level, and nodes of one above.
const FAN: usize = 32;

/// The states of all levels over the rows of a partition.
#[derive(Debug)]
pub(super) struct Tree {
    call: Arc<AggregateCall>,
    /// The arguments of the aggregate.
    values: Vec<ArrayRef>,
    /// The states of the nodes, the lowest level first.
    levels: Vec<Vec<ArrayRef>>,
}

impl Tree {
    /// The tree over so many rows of arguments.
    ///
    /// # Errors
    /// Errors of the aggregate.
    pub(super) fn new(
        call: &Arc<AggregateCall>,
        values: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<Self> {
        let parents = |children: usize| (0..children).map(|child| child / FAN).collect::<Vec<_>>();
        let mut nodes = rows.div_ceil(FAN);
        let mut states = call.accumulator();
        states.update(&values, &parents(rows), None, nodes)?;
        let mut levels = vec![states.state(Take::All)?];
        while nodes > FAN
            && let Some(below) = levels.last()
        {
            let mut states = call.accumulator();
            let above = nodes.div_ceil(FAN);
            states.merge(below, &parents(nodes), above)?;
            levels.push(states.state(Take::All)?);
            nodes = above;
        }
        Ok(Self { call: Arc::clone(call), values, levels })
    }

    /// The aggregate of a range of rows.
    ///
    /// # Errors
    /// Errors of the aggregate.
    pub(super) fn of(&self, range: &Range<usize>) -> Result<Box<dyn Accumulator>> {
        let mut sum = self.call.accumulator();
        let (mut left, whole) = ends(range);
        left.retain(|rows| !rows.is_empty());
        // The one group is there even if no row is.
        sum.update(&sliced(&self.values, &(0..0)), &[], None, 1)?;
        for rows in left {
            sum.update(&sliced(&self.values, &rows), &vec![0; rows.len()], None, 1)?;
        }
        let mut nodes = whole;
        let highest = self.levels.len().saturating_sub(1);
        for (at, level) in self.levels.iter().enumerate() {
            let (left, whole) =
                if at == highest { (vec![nodes.clone()], 0..0) } else { ends(&nodes) };
            for nodes in left.into_iter().filter(|nodes| !nodes.is_empty()) {
                sum.merge(&sliced(level, &nodes), &vec![0; nodes.len()], 1)?;
            }
            nodes = whole;
        }
        Ok(sum)
    }
}

/// The parts of a range that are no complete node of the next level, and those nodes.
fn ends(range: &Range<usize>) -> (Vec<Range<usize>>, Range<usize>) {
    let first = range.start.next_multiple_of(FAN);
    let last = range.end - range.end % FAN;
    if first >= last {
        return (vec![range.clone()], 0..0);
    }
    (vec![range.start..first, last..range.end], first / FAN..last / FAN)
}

fn sliced(arrays: &[ArrayRef], rows: &Range<usize>) -> Vec<ArrayRef> {
    arrays.iter().map(|array| array.slice(rows.start, rows.len())).collect()
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::Int64Type;
    use pelorus_functions::{Arg, EvalContext, aggregate};
    use pelorus_types::ColumnType;

    use super::*;

    #[test]
    fn every_range_has_what_its_rows_have() {
        let arg = Arg::column(ColumnType::bigint(), "a");
        let context = Arc::new(EvalContext::default());
        let call = aggregate::resolve("MAX", false, &[arg], &context).expect("MAX of a number");
        let call = Arc::new(call);
        for rows in [0, 1, 31, 32, 33, 1024, 1025, 40_000] {
            let numbers = (0_i64..).take(rows);
            let row = |at: i64| (at % 7 > 0).then_some(at * 7919 % 10_007);
            let all: Vec<Option<i64>> = numbers.map(row).collect();
            let values = Int64Array::from(all.clone());
            let tree = Tree::new(&call, vec![Arc::new(values)], rows).expect("a tree");
            let mut seed = 1_usize;
            for _ in 0..400 {
                let mut next = || {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (seed >> 33) % (rows + 1)
                };
                let (a, b) = (next(), next());
                let range = a.min(b)..a.max(b);
                let found = tree.of(&range).and_then(|mut it| it.evaluate(Take::All));
                let found = found.expect("an aggregate");
                let found = found.as_primitive::<Int64Type>().iter().next().flatten();
                let expected = all[range.clone()].iter().copied().flatten().max();
                assert_eq!(found, expected, "{range:?} of {rows}");
            }
        }
    }
}

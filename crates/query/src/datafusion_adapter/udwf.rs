//! Window functions as DataFusion runs them: one sorted partition at a time.
//!
//! Ranks are DataFusion's own. Aggregates over frames are MySQL's aggregates: while only the end of
//! a frame moves, rows are added to the state; a frame whose beginning moves is computed again,
//! from the partial states of a segment tree if it is long.

mod tree;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, new_null_array};
use arrow::compute::interleave;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{
    PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl,
};
use pelorus_error::Error;
use pelorus_functions::aggregate::{Accumulator, AggregateCall, Take};

use self::tree::Tree;
use crate::datafusion_adapter::udf::{by_identity, into_datafusion, next_id, signature};

type DfResult<T> = Result<T, DataFusionError>;

/// The function of a window.
#[derive(Clone, Debug)]
pub(crate) enum Over {
    /// An aggregate of the frame.
    Aggregate(Arc<AggregateCall>),
    /// The value so many rows before, of the first argument; the second where there is no such row.
    Shifted(i64),
    /// The value of the frame's row of this number, from 0.
    Nth(usize),
    /// The value of the frame's last row.
    Last,
}

/// A window function. `name` is the name in EXPLAIN, `ty` the type of the result.
pub(crate) fn window(name: &str, over: Over, ty: DataType, arguments: usize) -> Arc<WindowUDF> {
    Arc::new(WindowUDF::new_from_impl(WindowCall {
        name: name.to_ascii_lowercase(),
        over,
        ty,
        arguments,
        id: next_id(),
        signature: signature(arguments, Volatility::Immutable),
    }))
}

/// One resolved call; as with other functions, two are the same only if they are the same object.
struct WindowCall {
    name: String,
    over: Over,
    ty: DataType,
    arguments: usize,
    id: u64,
    signature: Signature,
}

by_identity!(WindowCall);

impl WindowUDFImpl for WindowCall {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(
        &self,
        _: PartitionEvaluatorArgs<'_>,
    ) -> DfResult<Box<dyn PartitionEvaluator>> {
        Ok(match &self.over {
            Over::Aggregate(call) => Box::new(Frames::new(Arc::clone(call), self.arguments)),
            Over::Shifted(by) => Box::new(Shifted(*by)),
            Over::Nth(at) => Box::new(Picked { nth: Some(*at) }),
            Over::Last => Box::new(Picked { nth: None }),
        })
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> DfResult<FieldRef> {
        Ok(Arc::new(Field::new(args.name(), self.ty.clone(), true)))
    }
}

/// An aggregate of each row's frame.
#[derive(Debug)]
struct Frames {
    call: Arc<AggregateCall>,
    inner: Box<dyn Accumulator>,
    /// How many of the columns are arguments; the sort keys of the window follow.
    arguments: usize,
    /// The rows that are in `inner`, and their result.
    seen: Range<usize>,
    value: Option<ScalarValue>,
    /// Made for the first long frame whose beginning has moved.
    tree: Option<Tree>,
}

/// A frame of so many rows is computed from its rows.
const SHORT: usize = 64;

impl Frames {
    fn new(call: Arc<AggregateCall>, arguments: usize) -> Self {
        Self { inner: call.accumulator(), call, arguments, seen: 0..0, value: None, tree: None }
    }

    /// Updates the state to the rows of a frame.
    fn move_to(&mut self, values: &[ArrayRef], frame: &Range<usize>) -> Result<(), Error> {
        let grows = self.seen.start == frame.start && self.seen.end <= frame.end;
        if !grows && frame.len() > SHORT {
            if self.tree.is_none() {
                let rows = values.first().map_or(0, |array| array.len());
                self.tree = Some(Tree::new(&self.call, values.to_vec(), rows)?);
            }
            if let Some(tree) = &self.tree {
                self.inner = tree.of(frame)?;
                self.seen = frame.clone();
                return Ok(());
            }
        }
        if !grows {
            self.inner = self.call.accumulator();
            self.seen = frame.start..frame.start;
        }
        let rows = frame.end - self.seen.end;
        let more: Vec<ArrayRef> =
            values.iter().map(|array| array.slice(self.seen.end, rows)).collect();
        self.inner.update(&more, &vec![0; rows], None, 1)?;
        self.seen = frame.clone();
        Ok(())
    }
}

impl PartitionEvaluator for Frames {
    fn uses_window_frame(&self) -> bool {
        true
    }

    fn evaluate(&mut self, values: &[ArrayRef], frame: &Range<usize>) -> DfResult<ScalarValue> {
        let frame = frame.start..frame.end.max(frame.start);
        if let Some(value) = &self.value
            && self.seen == frame
        {
            return Ok(value.clone());
        }
        let values = values.get(..self.arguments).unwrap_or(values);
        self.move_to(values, &frame).map_err(into_datafusion)?;
        let array = self.inner.copied().evaluate(Take::All).map_err(into_datafusion)?;
        let value = ScalarValue::try_from_array(&array, 0)?;
        self.value = Some(value.clone());
        Ok(value)
    }
}

/// `LAG`, and `LEAD` with a negative number.
#[derive(Debug)]
struct Shifted(i64);

impl PartitionEvaluator for Shifted {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> DfResult<ArrayRef> {
        let Some(of) = values.first() else {
            return Err(into_datafusion(Error::internal("LAG has an argument")));
        };
        let absent = || new_null_array(of.data_type(), rows);
        let otherwise = values.get(1).cloned().unwrap_or_else(absent);
        let place = |at: usize| {
            let from = i64::try_from(at).ok().and_then(|at| at.checked_sub(self.0));
            let from = from.and_then(|from| usize::try_from(from).ok());
            from.filter(|from| *from < rows).map_or((1, at), |from| (0, from))
        };
        let places: Vec<(usize, usize)> = (0..rows).map(place).collect();
        Ok(interleave(&[of.as_ref(), otherwise.as_ref()], &places)?)
    }
}

/// `FIRST_VALUE`, `NTH_VALUE`, and `LAST_VALUE` without a number.
#[derive(Debug)]
struct Picked {
    nth: Option<usize>,
}

impl PartitionEvaluator for Picked {
    fn uses_window_frame(&self) -> bool {
        true
    }

    fn evaluate(&mut self, values: &[ArrayRef], frame: &Range<usize>) -> DfResult<ScalarValue> {
        let Some(of) = values.first() else {
            return Err(into_datafusion(Error::internal("NTH_VALUE has an argument")));
        };
        let at = match self.nth {
            Some(nth) => frame.start.checked_add(nth),
            None => frame.end.checked_sub(1),
        };
        match at.filter(|at| frame.contains(at)) {
            Some(at) => ScalarValue::try_from_array(of, at),
            None => ScalarValue::try_new_null(of.data_type()),
        }
    }
}

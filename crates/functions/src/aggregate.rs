//! Aggregates: bound to the types of their arguments, computed for many groups at once, and
//! merged from partial states.

mod count;
mod extreme;
mod sum;

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::DataType;
use pelorus_error::{Error, Result};
use pelorus_types::ColumnType;

use crate::context::EvalContext;
use crate::errors::{no_such_function, parameter_count};
use crate::value::{Arg, Coercibility};

/// Which groups to give out: all, or the first so many (the others move down).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// Every group.
    All,
    /// The first groups.
    First(usize),
}

impl Take {
    /// Removes and gives the groups from a vector of their states.
    pub(crate) fn from<T>(self, states: &mut Vec<T>) -> Vec<T> {
        match self {
            Take::All => std::mem::take(states),
            Take::First(count) => {
                let rest = states.split_off(count.min(states.len()));
                std::mem::replace(states, rest)
            }
        }
    }
}

/// The states of one aggregate for many groups, numbered from 0.
pub trait Accumulator: fmt::Debug + Send + Sync {
    /// Takes rows in: `groups[row]` is the group of each row; rows whose filter is not true are
    /// left out. `total` is the number of groups so far.
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()>;

    /// Takes partial states in, as [`Self::state`] gave them.
    fn merge(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()>;

    /// The results of groups, which are then forgotten.
    fn evaluate(&mut self, take: Take) -> Result<ArrayRef>;

    /// The partial states of groups, which are then forgotten.
    fn state(&mut self, take: Take) -> Result<Vec<ArrayRef>>;

    /// Bytes of memory held.
    fn size(&self) -> usize;
}

type Maker = Box<dyn Fn() -> Box<dyn Accumulator> + Send + Sync>;

/// An aggregate bound to the types of its arguments.
pub struct AggregateCall {
    name: String,
    ty: ColumnType,
    scale: u8,
    coercibility: Coercibility,
    states: Vec<DataType>,
    make: Maker,
    text: String,
}

impl fmt::Debug for AggregateCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AggregateCall")
            .field("name", &self.name)
            .field("ty", &self.ty)
            .finish_non_exhaustive()
    }
}

impl AggregateCall {
    pub(crate) fn new(
        name: &str,
        args: &[Arg],
        ty: ColumnType,
        states: Vec<DataType>,
        make: Maker,
    ) -> Self {
        let texts: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
        let coercibility =
            if ty.is_string() { Coercibility::Implicit } else { Coercibility::Numeric };
        Self {
            name: name.to_owned(),
            ty,
            scale: ty.decimals,
            coercibility,
            states,
            make,
            text: format!("{}({})", name.to_ascii_lowercase(), texts.join(",")),
        }
    }

    pub(crate) fn with_scale(mut self, scale: u8) -> Self {
        self.scale = scale;
        self
    }

    /// The aggregate's name as it was asked for.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of the result.
    pub fn return_type(&self) -> ColumnType {
        self.ty
    }

    /// The Arrow type of the results; see [`crate::Call::arrow_type`].
    pub fn arrow_type(&self) -> DataType {
        crate::output::storage(&self.ty, self.scale)
    }

    /// The Arrow types of the partial states.
    pub fn state_types(&self) -> &[DataType] {
        &self.states
    }

    /// New states for no groups.
    pub fn accumulator(&self) -> Box<dyn Accumulator> {
        (self.make)()
    }

    /// The result as an argument of further expressions.
    pub fn as_arg(&self) -> Arg {
        Arg {
            ty: self.ty,
            constant: None,
            coercibility: self.coercibility,
            origin: crate::value::Origin::Expression,
            scale: self.scale,
            text: self.text.clone(),
        }
    }
}

/// Binds an aggregate. `COUNT` without arguments is `COUNT(*)`.
pub fn resolve(
    name: &str,
    distinct: bool,
    args: &[Arg],
    ctx: &Arc<EvalContext>,
) -> Result<AggregateCall> {
    let upper = name.to_ascii_uppercase();
    let one = |args: &[Arg]| if args.len() == 1 { Ok(()) } else { Err(parameter_count(name)) };
    // The least and the greatest are the same with and without repetition.
    let repeats_matter = !matches!(upper.as_str(), "MIN" | "MAX" | "ANY_VALUE");
    if distinct && repeats_matter {
        return Err(Error::unsupported(format_args!("{upper}(DISTINCT ...)")));
    }
    match upper.as_str() {
        "COUNT" => Ok(count::count(&upper, args)),
        "COUNT_MERGE" => one(args).map(|()| count::merge(&upper, args)),
        "SUM" | "SUM_MERGE" => {
            one(args)?;
            Ok(sum::sum(&upper, &args[0], ctx))
        }
        "AVG" => {
            one(args)?;
            Ok(sum::average(&upper, args, ctx))
        }
        "AVG_MERGE" if args.len() == 2 => Ok(sum::average(&upper, args, ctx)),
        "MIN" | "MAX" | "ANY_VALUE" => {
            one(args)?;
            extreme::resolve(&upper, &args[0], ctx)
        }
        _ => Err(no_such_function(ctx.database.as_deref(), name)),
    }
}

/// Calls `row` with each row that counts and its group.
pub(crate) fn each(
    groups: &[usize],
    filter: Option<&BooleanArray>,
    mut row: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    use arrow::array::Array;
    match filter {
        None => {
            for (at, group) in groups.iter().enumerate() {
                row(at, *group)?;
            }
        }
        Some(filter) => {
            for (at, group) in groups.iter().enumerate() {
                if filter.is_valid(at) && filter.value(at) {
                    row(at, *group)?;
                }
            }
        }
    }
    Ok(())
}

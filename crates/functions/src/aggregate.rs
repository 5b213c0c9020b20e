//! Aggregate functions: bound to the types of their arguments, computed for many groups at once,
//! and merged from partial states.

mod bits;
mod concat;
mod count;
mod distinct;
mod extreme;
mod spread;
mod sum;

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::DataType;
use pelorus_error::{Error, Result};
use pelorus_types::{ColumnType, WireType};

use crate::context::EvalContext;
use crate::kernels::fused_arithmetic::Formula;
use crate::registry::errors::{no_such_function, parameter_count};
use crate::value::{Arg, Coercibility, TextForm};

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

    /// The same states once more, so that results can be had of them while rows are still to come.
    fn copied(&self) -> Box<dyn Accumulator>;
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
    partial: Option<String>,
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
            partial: None,
        }
    }

    pub(crate) fn with_partial(mut self, partial: Option<String>) -> Self {
        self.partial = partial;
        self
    }

    /// The definition of its partial states, if another aggregate may have the same: two with equal
    /// definitions and the same columns have equal partial states, as `SUM(x)` and `AVG(x)`.
    pub fn partial(&self) -> Option<&str> {
        self.partial.as_deref()
    }

    pub(crate) fn with_scale(mut self, scale: u8) -> Self {
        self.scale = scale;
        self
    }

    /// The aggregate's name as in the call.
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
            is_fallible: false,
            hides_number: false,
            mixes: false,
            // The text of the least or greatest FLOAT is that of a DOUBLE.
            text_form: TextForm::Double,
            broken: false,
        }
    }
}

/// Binds an aggregate. `COUNT` without arguments is `COUNT(*)`. After its values, `GROUP_CONCAT` is
/// given the bytes that rows are sorted by (a constant where they are not) and the separator, a
/// constant.
///
/// `COUNT_MERGE(count)`, `SUM_MERGE(sum)` and `AVG_MERGE(sum, count)` unite columns of partial
/// results that a server computed; the result of `SUM_MERGE` has the type of its argument.
pub fn resolve(
    name: &str,
    distinct: bool,
    args: &[Arg],
    ctx: &Arc<EvalContext>,
) -> Result<AggregateCall> {
    let upper = name.to_ascii_uppercase();
    let by_text = matches!(upper.as_str(), "COUNT" | "MIN" | "MAX" | "ANY_VALUE" | "GROUP_CONCAT");
    if !by_text && args.iter().any(|arg| arg.hides_number() || arg.mixes) {
        return Err(Error::unsupported("ENUM, SET and JSON values as numbers"));
    }
    let plain = plain(&upper, args, ctx)?;
    // The least and the greatest are the same with and without repetition.
    let repeats_matter =
        !matches!(upper.as_str(), "MIN" | "MAX" | "ANY_VALUE" | "BIT_AND" | "BIT_OR");
    if !distinct || !repeats_matter {
        return Ok(plain);
    }
    // Documents are equal by their values, not by their texts: 1 and 1.0 are one.
    if args.iter().any(|arg| arg.ty.wire == WireType::Json) {
        return Err(Error::unsupported(format_args!("{upper}(DISTINCT ...) of JSON values")));
    }
    match upper.as_str() {
        // Texts that are added up are numbers, of which '1' and '1.0' are the same.
        "SUM" | "AVG" if args.iter().any(|arg| arg.ty.is_string()) => {
            let number = |arg: &Arg| match arg.ty.is_string() {
                true => Arg::column(ColumnType::double(), arg.text.clone()),
                false => arg.clone(),
            };
            let numbers: Vec<Arg> = args.iter().map(number).collect();
            let plain = self::plain(&upper, &numbers, ctx)?;
            Ok(distinct::wrap(plain, (args, &numbers), args.len(), ctx))
        }
        "COUNT" | "SUM" | "AVG" if !args.is_empty() => {
            Ok(distinct::wrap(plain, (args, args), args.len(), ctx))
        }
        "GROUP_CONCAT" => {
            let (values, order, _) = concat::parts(&upper, args)?;
            // The sort key of the first of equal rows is stored with its values.
            let kept = &args[..values.len() + usize::from(concat::is_ordered(order))];
            Ok(distinct::wrap(plain, (kept, kept), values.len(), ctx))
        }
        _ => Err(Error::unsupported(format_args!("{upper}(DISTINCT ...)"))),
    }
}

/// Binds `SUM` or `AVG` of an argument that accumulators compute themselves, from the columns of
/// a formula; `None` for other aggregates.
pub fn resolve_formula(
    name: &str,
    arg: &Arg,
    formula: Formula,
    ctx: &Arc<EvalContext>,
) -> Option<AggregateCall> {
    match name.to_ascii_uppercase().as_str() {
        "SUM" => Some(sum::sum(name, arg, Some(formula), ctx)),
        "AVG" => Some(sum::average(name, std::slice::from_ref(arg), Some(formula), ctx)),
        _ => None,
    }
}

/// The formula that is nothing but the argument.
fn column_of(arg: &Arg) -> Option<Formula> {
    (!arg.ty.is_temporal()).then_some(Formula::Column(0))
}

fn plain(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<AggregateCall> {
    match (name, args) {
        ("COUNT", _) => Ok(count::count(name, args)),
        ("COUNT_MERGE", [_]) => Ok(count::merge(name, args)),
        ("SUM" | "SUM_MERGE", [arg]) => Ok(sum::sum(name, arg, column_of(arg), ctx)),
        ("AVG", [arg]) | ("AVG_MERGE", [arg, _]) => {
            Ok(sum::average(name, args, column_of(arg), ctx))
        }
        ("MIN" | "MAX" | "ANY_VALUE", [arg]) => extreme::resolve(name, arg, ctx),
        ("BIT_AND" | "BIT_OR" | "BIT_XOR", [arg]) => bits::resolve(name, arg, ctx),
        (
            "STD" | "STDDEV" | "STDDEV_POP" | "STDDEV_SAMP" | "VARIANCE" | "VAR_POP" | "VAR_SAMP",
            [arg],
        ) => Ok(spread::resolve(name, arg, ctx)),
        ("GROUP_CONCAT", _) => concat::resolve(name, args, ctx),
        ("JSON_ARRAYAGG" | "JSON_OBJECTAGG" | "ST_COLLECT", _) => {
            Err(Error::unsupported(format_args!("the aggregate {name}")))
        }
        (
            "SUM" | "AVG" | "MIN" | "MAX" | "ANY_VALUE" | "BIT_AND" | "BIT_OR" | "BIT_XOR" | "STD"
            | "STDDEV" | "STDDEV_POP" | "STDDEV_SAMP" | "VARIANCE" | "VAR_POP" | "VAR_SAMP",
            _,
        ) => Err(parameter_count(name)),
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

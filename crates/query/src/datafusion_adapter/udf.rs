//! Wraps MySQL's functions and aggregates as DataFusion UDFs.
//!
//! DataFusion sees each resolved call as a function of its own whose types are fixed: it never
//! coerces an argument and never picks an overload.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, BooleanArray, new_empty_array};
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::error::ArrowError;
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, EmitTo, Expr, GroupsAccumulator,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::aggregate::{self, AggregateCall, Take};
use pelorus_functions::{Call, Formula};

use crate::datafusion_adapter::memory;
use crate::operators::short_circuit;

pub(crate) type DfResult<T> = Result<T, DataFusionError>;

/// Carries an error of ours through DataFusion.
pub(crate) fn into_datafusion(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Finds our error in an error of DataFusion; any other becomes an internal error, except exhausted
/// memory and full disks, which have classes of their own.
pub(crate) fn from_datafusion(error: DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => match inner.downcast::<Error>() {
            Ok(ours) => *ours,
            Err(inner) => match inner.downcast::<DataFusionError>() {
                Ok(inner) => from_datafusion(*inner),
                Err(inner) => copied_of_any(inner.as_ref()),
            },
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
            from_datafusion(*inner)
        }
        DataFusionError::ArrowError(inner, _) => match *inner {
            ArrowError::ExternalError(inner) => from_datafusion(DataFusionError::External(inner)),
            inner => copied_of_arrow(&inner),
        },
        DataFusionError::Shared(inner) => match Arc::try_unwrap(inner) {
            Ok(inner) => from_datafusion(inner),
            Err(inner) => copied(&inner),
        },
        DataFusionError::NotImplemented(text) => Error::unsupported(text),
        other => foreign(&other),
    }
}

/// An error that is none of ours. What is wrapped so often that only its text is left is known by
/// that.
fn foreign(error: &(dyn std::error::Error + 'static)) -> Error {
    let text = error.to_string();
    if text.contains("Resources exhausted") || text.contains("ran out of memory") {
        tracing::debug!(text, "out of memory");
        let server = "pelorus_memory_limit";
        let limit = if text.contains(server) { server } else { "pelorus_query_memory" };
        return Error::out_of_memory(format_args!(
            "The query needs more memory than {limit} allows"
        ));
    }
    if text.contains("Scalar subquery returned more than one row") {
        return Error::new(Code::SubqueryRows, "Subquery returns more than 1 row");
    }
    let is_full = |error: &std::io::Error| error.kind() == std::io::ErrorKind::StorageFull;
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<std::io::Error>().is_some_and(is_full) {
            let limits = [memory::LIMIT, memory::SPACE];
            let text = match limits.into_iter().find(|limit| text.contains(limit)) {
                Some(limit) => format!("The files that queries spill to have reached {limit}"),
                None => "The disk is full where queries spill to (tmpdir)".to_owned(),
            };
            return Error::new(Code::DiskFull, text);
        }
        cause = error.source();
    }
    Error::internal(format!("query failed: {text}"))
}

/// The same for an error that several streams hold, as those of a join do: text and code are
/// copied from where ours lies in it.
pub(crate) fn copied(error: &DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => copied_of_any(inner.as_ref()),
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => copied(inner),
        DataFusionError::ArrowError(inner, _) => copied_of_arrow(inner),
        DataFusionError::Shared(inner) => copied(inner),
        DataFusionError::NotImplemented(text) => Error::unsupported(text),
        other => foreign(other),
    }
}

fn copied_of_arrow(error: &ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(inner) => copied_of_any(inner.as_ref()),
        other => foreign(other),
    }
}

fn copied_of_any(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Error {
    if let Some(ours) = error.downcast_ref::<Error>() {
        Error::new(ours.code(), ours.message())
    } else if let Some(inner) = error.downcast_ref::<DataFusionError>() {
        copied(inner)
    } else if let Some(inner) = error.downcast_ref::<Arc<DataFusionError>>() {
        copied(inner)
    } else if let Some(inner) = error.downcast_ref::<ArrowError>() {
        copied_of_arrow(inner)
    } else {
        foreign(error)
    }
}

/// One resolved call. Two are the same only if they are the same object: their resolution may
/// depend on constants that DataFusion does not see.
struct CallUdf {
    name: String,
    call: Arc<Call>,
    id: u64,
    signature: Signature,
}

/// The number of a function of which no other is the same.
pub(crate) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Makes functions with a name and an `id` the same only if they are the same object.
macro_rules! by_identity {
    ($function:ty) => {
        impl std::fmt::Debug for $function {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}#{}", self.name, self.id)
            }
        }

        impl PartialEq for $function {
            fn eq(&self, other: &Self) -> bool {
                self.id == other.id
            }
        }

        impl Eq for $function {}

        impl std::hash::Hash for $function {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.id.hash(state);
            }
        }
    };
}
pub(crate) use by_identity;

pub(crate) fn signature(arguments: usize, volatility: Volatility) -> Signature {
    let types = if arguments == 0 { TypeSignature::Nullary } else { TypeSignature::Any(arguments) };
    Signature::new(types, volatility)
}

/// The name of the column that a call makes: equal calls have equal names and others have others.
/// The default spells out all arguments, and DataFusion asks for the name at every level of an
/// expression repeatedly.
pub(crate) fn column_name(name: &str, id: impl std::hash::Hash, args: &[Expr]) -> String {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one((id, args));
    format!("{name}#{hash:016x}")
}

/// Runs a function over arrays, in which one value may represent all rows; over constants alone it
/// runs for one row if `once` allows that.
pub(crate) fn over_arrays(
    args: &ScalarFunctionArgs,
    once: bool,
    evaluate: impl FnOnce(&[ArrayRef], usize) -> Result<ArrayRef>,
) -> DfResult<ColumnarValue> {
    if args.number_rows == 0 {
        // No row, no warning.
        return Ok(ColumnarValue::Array(new_empty_array(args.return_type())));
    }
    let constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
    let arrays = args.args.iter().map(|arg| match arg {
        ColumnarValue::Array(array) => Ok(Arc::clone(array)),
        ColumnarValue::Scalar(value) => value.to_array_of_size(1),
    });
    let arrays = arrays.collect::<DfResult<Vec<ArrayRef>>>()?;
    let rows = if constant && once { 1 } else { args.number_rows };
    let result = evaluate(&arrays, rows).map_err(into_datafusion)?;
    if result.len() == 1 && (constant || rows != 1) {
        return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
    }
    Ok(ColumnarValue::Array(result))
}

by_identity!(CallUdf);

impl ScalarUDFImpl for CallUdf {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DfResult<DataType> {
        Ok(self.call.arrow_type())
    }

    fn schema_name(&self, args: &[Expr]) -> DfResult<String> {
        Ok(column_name(&self.name, self.id, args))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DfResult<ColumnarValue> {
        over_arrays(&args, self.call.is_deterministic(), |arrays, rows| {
            self.call.evaluate(arrays, rows)
        })
    }
}

/// Bytes of the longest text that a call may give for a row; 0 of other types.
pub(crate) fn text_length(call: &Call) -> usize {
    let ty = call.return_type();
    if ty.is_string() { usize::try_from(ty.length).unwrap_or(usize::MAX) } else { 0 }
}

/// The same of a function of DataFusion's; 0 of others than ours.
pub(crate) fn length_of_call(function: &ScalarUDF) -> usize {
    function.inner().downcast_ref::<CallUdf>().map_or(0, |udf| text_length(&udf.call))
}

/// The resolved call of a function of DataFusion.
pub(crate) fn as_call(function: &ScalarFunction) -> Option<&Arc<Call>> {
    function.func.inner().downcast_ref::<CallUdf>().map(|udf| &udf.call)
}

/// A call of a resolved function as an expression. `name` is what EXPLAIN shows; `waits` says that
/// it is evaluated only for a row, although its arguments are constants.
pub(crate) fn call(name: &str, call: Call, args: Vec<Expr>, waits: bool) -> Expr {
    let is_fixed = call.is_deterministic() && !waits;
    let volatility = if is_fixed { Volatility::Immutable } else { Volatility::Volatile };
    let lazy_type = call.is_lazy().then(|| call.arrow_type());
    let udf = CallUdf {
        name: name.to_ascii_lowercase(),
        signature: signature(args.len(), volatility),
        call: Arc::new(call),
        id: next_id(),
    };
    let expr = ScalarUDF::new_from_impl(udf).call(args);
    match lazy_type {
        Some(ty) => short_circuit::conditional(name, &expr, ty),
        None => expr,
    }
}

/// A decimal column that can be had as unscaled numbers in 64 bits as well.
#[derive(Clone, Debug)]
pub(crate) struct Units {
    /// The column.
    pub(crate) column: Expr,
    /// Its unscaled numbers.
    pub(crate) units: Expr,
    /// The type of the column.
    pub(crate) ty: DataType,
    /// How many digits it has at most.
    pub(crate) digits: u8,
}

/// An expression of exact operators as a formula over its operands, which are added to `columns`.
pub(crate) fn formula(expr: &Expr, units: &[Units], columns: &mut Vec<Expr>) -> Option<Formula> {
    match expr {
        Expr::Alias(alias) => formula(&alias.expr, units, columns),
        Expr::Literal(value, _) => Some(Formula::Constant(value.to_array().ok()?)),
        Expr::ScalarFunction(function) => {
            let call = as_call(function).and_then(|call| Some((call.exact_op()?, call)));
            let (Some((op, call)), [left, right]) = (call, function.args.as_slice()) else {
                return Some(column(expr, units, columns));
            };
            let operands = [formula(left, units, columns)?, formula(right, units, columns)?];
            Some(Formula::Op(op, Arc::clone(call), Box::new(operands)))
        }
        _ => Some(column(expr, units, columns)),
    }
}

fn column(expr: &Expr, units: &[Units], columns: &mut Vec<Expr>) -> Formula {
    let mut place = |expr: &Expr| {
        columns.iter().position(|it| it == expr).unwrap_or_else(|| {
            columns.push(expr.clone());
            columns.len() - 1
        })
    };
    match units.iter().find(|it| it.column == *expr) {
        Some(found) => Formula::Units(place(&found.units), found.ty.clone(), found.digits),
        None => Formula::Column(place(expr)),
    }
}

/// One resolved aggregate.
struct AggregateUdf {
    call: Arc<AggregateCall>,
    name: String,
    id: u64,
    signature: Signature,
}

by_identity!(AggregateUdf);

impl AggregateUDFImpl for AggregateUdf {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DfResult<DataType> {
        Ok(self.call.arrow_type())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> DfResult<Box<dyn Accumulator>> {
        let mut inner = self.call.accumulator();
        // The one group exists even when no row comes.
        let empty: Vec<ArrayRef> =
            args.expr_fields.iter().map(|field| new_empty_array(field.data_type())).collect();
        inner.update(&empty, &[], None, 1).map_err(into_datafusion)?;
        Ok(Box::new(OneGroup { inner }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> DfResult<Vec<FieldRef>> {
        Ok(self
            .call
            .state_types()
            .iter()
            .enumerate()
            .map(|(at, ty)| Arc::new(Field::new(format!("{}[{at}]", args.name), ty.clone(), true)))
            .collect())
    }

    fn default_value(&self, _: &DataType) -> DfResult<ScalarValue> {
        let mut inner = self.call.accumulator();
        let nothing: Vec<ArrayRef> = self.call.state_types().iter().map(new_empty_array).collect();
        inner.merge(&nothing, &[], 1).map_err(into_datafusion)?;
        let array = inner.evaluate(Take::All).map_err(into_datafusion)?;
        ScalarValue::try_from_array(&array, 0)
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(
        &self,
        _: AccumulatorArgs<'_>,
    ) -> DfResult<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(ManyGroups { call: Arc::clone(&self.call), inner: self.call.accumulator() }))
    }
}

/// Whether two aggregates have equal partial states of the same rows.
pub(crate) fn is_shared(one: &AggregateFunctionExpr, other: &AggregateFunctionExpr) -> bool {
    let partial = |it: &AggregateFunctionExpr| -> Option<String> {
        it.fun().inner().downcast_ref::<AggregateUdf>()?.call.partial().map(str::to_owned)
    };
    let columns = |it: &AggregateFunctionExpr| it.expressions();
    partial(one).is_some_and(|it| partial(other) == Some(it)) && columns(one) == columns(other)
}

/// An aggregate over all rows.
#[derive(Debug)]
struct OneGroup {
    inner: Box<dyn aggregate::Accumulator>,
}

/// The groups of rows that are all in one. Few accumulators look at them, so that making them again
/// for each and every batch would cost as much as what is done with the rows.
fn one_group(rows: usize) -> Cow<'static, [usize]> {
    static ZEROS: [usize; 1 << 15] = [0; 1 << 15];
    ZEROS.get(..rows).map_or_else(|| Cow::Owned(vec![0; rows]), Cow::Borrowed)
}

impl Accumulator for OneGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DfResult<()> {
        let rows = values.first().map_or(0, |array| array.len());
        self.inner.update(values, &one_group(rows), None, 1).map_err(into_datafusion)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DfResult<()> {
        let rows = states.first().map_or(0, |array| array.len());
        self.inner.merge(states, &one_group(rows), 1).map_err(into_datafusion)
    }

    fn state(&mut self) -> DfResult<Vec<ScalarValue>> {
        let arrays = self.inner.state(Take::All).map_err(into_datafusion)?;
        arrays.iter().map(|array| ScalarValue::try_from_array(array, 0)).collect()
    }

    fn evaluate(&mut self) -> DfResult<ScalarValue> {
        let array = self.inner.evaluate(Take::All).map_err(into_datafusion)?;
        ScalarValue::try_from_array(&array, 0)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

/// An aggregate over groups.
#[derive(Debug)]
struct ManyGroups {
    call: Arc<AggregateCall>,
    inner: Box<dyn aggregate::Accumulator>,
}

fn take(emit: EmitTo) -> Take {
    match emit {
        EmitTo::All => Take::All,
        EmitTo::First(count) => Take::First(count),
    }
}

impl GroupsAccumulator for ManyGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DfResult<()> {
        self.inner.update(values, groups, filter, total).map_err(into_datafusion)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> DfResult<()> {
        self.inner.merge(states, groups, total).map_err(into_datafusion)
    }

    fn evaluate(&mut self, emit: EmitTo) -> DfResult<ArrayRef> {
        self.inner.evaluate(take(emit)).map_err(into_datafusion)
    }

    fn state(&mut self, emit: EmitTo) -> DfResult<Vec<ArrayRef>> {
        self.inner.state(take(emit)).map_err(into_datafusion)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> DfResult<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |array| array.len());
        let groups: Vec<usize> = (0..rows).collect();
        let mut fresh = self.call.accumulator();
        fresh.update(values, &groups, filter, rows).map_err(into_datafusion)?;
        fresh.state(Take::All).map_err(into_datafusion)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

/// A call of a resolved aggregate as an expression.
pub(crate) fn aggregate(call: Arc<AggregateCall>, args: Vec<Expr>) -> Expr {
    let udf = AggregateUdf {
        name: call.name().to_ascii_lowercase(),
        signature: signature(args.len(), Volatility::Immutable),
        call,
        id: next_id(),
    };
    AggregateUDF::new_from_impl(udf).call(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_error_is_found_wherever_it_lies() {
        let ours = || into_datafusion(Error::new(Code::DataOutOfRange, "out of range"));
        let within = |inner| DataFusionError::Context("a join".to_owned(), Box::new(inner));
        let by_arrow = ArrowError::ExternalError(Box::new(within(ours())));
        let whole = DataFusionError::ArrowError(Box::new(by_arrow), None);
        assert_eq!(from_datafusion(whole).errno(), 1690);

        let by_arrow = ArrowError::ExternalError(Box::new(within(ours())));
        let both = Arc::new(within(DataFusionError::ArrowError(Box::new(by_arrow), None)));
        let one = DataFusionError::Shared(Arc::clone(&both));
        assert_eq!(from_datafusion(within(one)).errno(), 1690);
        let other = DataFusionError::External(Box::new(Arc::clone(&both)));
        assert_eq!(from_datafusion(other).errno(), 1690);
    }

    #[test]
    fn calls_have_names_of_one_length_that_tell_them_apart() {
        let name = |id: u64, args: &[&str]| {
            let args: Vec<Expr> =
                args.iter().map(|it| datafusion::logical_expr::col(*it)).collect();
            column_name("f", id, &args)
        };
        assert_eq!(name(1, &["a", "b"]), name(1, &["a", "b"]));
        let others = [name(2, &["a", "b"]), name(1, &["b", "a"]), name(1, &["a"])];
        for other in others {
            assert_ne!(name(1, &["a", "b"]), other);
            assert_eq!(other.len(), name(1, &[]).len());
        }
    }

    #[test]
    fn subqueries_of_several_rows_have_the_error_of_mysql() {
        let several = || {
            let text = "Scalar subquery returned more than one row";
            DataFusionError::Execution(text.to_owned())
        };
        for error in [several(), DataFusionError::Shared(Arc::new(several()))] {
            let ours = from_datafusion(error);
            assert_eq!((ours.errno(), ours.message()), (1242, "Subquery returns more than 1 row"));
        }
    }

    #[test]
    fn a_lack_of_memory_has_our_words_however_it_is_wrapped() {
        let lack = || DataFusionError::ResourcesExhausted("too many bytes".to_owned());
        let within = |inner| DataFusionError::Context("datafusion.x".to_owned(), Box::new(inner));
        let wrapped = [
            lack(),
            within(lack()),
            DataFusionError::External(Box::new(Arc::new(within(lack())))),
            DataFusionError::External(Box::new(within(lack()))),
            DataFusionError::ArrowError(
                Box::new(ArrowError::ExternalError(Box::new(lack()))),
                None,
            ),
            DataFusionError::Shared(Arc::new(lack())),
            DataFusionError::Collection(vec![lack()]),
        ];
        for error in wrapped {
            let ours = from_datafusion(error);
            assert_eq!(ours.errno(), 1041);
            assert!(ours.message().contains("pelorus_query_memory"), "{}", ours.message());
            assert!(!ours.message().contains("datafusion"), "{}", ours.message());
        }
    }

    #[test]
    fn a_full_disk_is_known_below_what_wraps_it() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let written = std::io::Error::other(DataFusionError::IoError(full));
        assert_eq!(from_datafusion(DataFusionError::IoError(written)).errno(), 1021);
    }
}

//! [`Call`]: a function bound to the types of its arguments, which is evaluated on arrays.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt64Array, new_null_array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use pelorus_env::Account;
use pelorus_error::Result;
use pelorus_types::ColumnType;

use crate::context::EvalContext;
use crate::input::{Input, Slot};
use crate::kernels::fused_arithmetic::ExactOp;
use crate::output::{Output, storage};
use crate::short_circuit::{Ask, Flow, Frame};
use crate::value::{Arg, Coercibility, TextForm, Value};

/// The rows that a kernel runs on.
pub(crate) struct Batch<'a> {
    pub(crate) inputs: Vec<Input<'a>>,
    pub(crate) rows: usize,
    pub(crate) ctx: &'a EvalContext,
    /// The memory account of the result's texts.
    pub(crate) memory: Account,
}

pub(crate) type Kernel = Box<dyn Fn(&Batch<'_>) -> Result<ArrayRef> + Send + Sync>;

/// An argument of a comparison.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Its type.
    pub ty: ColumnType,
    /// Its value where it is the same for all rows.
    pub constant: Option<Value>,
    /// How strongly it insists on its collation.
    pub coercibility: Coercibility,
}

/// A function bound to the types of its arguments.
pub struct Call {
    name: String,
    ty: ColumnType,
    scale: u8,
    storage: DataType,
    coercibility: Coercibility,
    text: String,
    slots: Vec<Slot>,
    kernel: Kernel,
    exact: Option<ExactOp>,
    operands: Vec<Operand>,
    is_fallible: bool,
    flow: Option<Flow>,
    hides_number: bool,
    mixes: bool,
    text_form: TextForm,
    ctx: Arc<EvalContext>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("name", &self.name)
            .field("ty", &self.ty)
            .finish_non_exhaustive()
    }
}

impl Call {
    /// Binds a kernel. The text is `name(args)` until [`Self::with_text`] says otherwise.
    pub(crate) fn new(
        name: &str,
        args: &[Arg],
        ctx: &Arc<EvalContext>,
        ty: ColumnType,
        kernel: Kernel,
    ) -> Self {
        let texts: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
        Self {
            name: name.to_owned(),
            ty,
            scale: ty.decimals,
            storage: ty.arrow(),
            coercibility: if ty.is_string() {
                Coercibility::Coercible
            } else {
                Coercibility::Numeric
            },
            text: format!("{}({})", name.to_ascii_lowercase(), texts.join(",")),
            slots: args.iter().map(Slot::of).collect(),
            kernel,
            exact: None,
            operands: Vec::new(),
            is_fallible: true,
            flow: None,
            hides_number: false,
            mixes: false,
            text_form: TextForm::Shown,
            ctx: Arc::clone(ctx),
        }
    }

    /// Binds a function of single rows.
    pub(crate) fn rowwise(
        name: &str,
        args: &[Arg],
        ctx: &Arc<EvalContext>,
        ty: ColumnType,
        row: impl Fn(&Batch<'_>, usize) -> Result<Value> + Send + Sync + 'static,
    ) -> Self {
        let storage = ty.arrow();
        Self::new(name, args, ctx, ty, each_row(storage, row))
    }

    pub(crate) fn with_scale(mut self, scale: u8) -> Self {
        self.scale = scale.max(self.ty.decimals);
        self.storage = storage(&self.ty, self.scale);
        self
    }

    pub(crate) fn with_exact(mut self, op: ExactOp) -> Self {
        self.exact = Some(op);
        self
    }

    /// Keeps what is compared: scans test comparisons of a column with constants on stored values.
    pub(crate) fn comparing(mut self, args: &[Arg]) -> Self {
        let operand = |arg: &Arg| Operand {
            ty: arg.ty,
            constant: arg.constant.clone(),
            coercibility: arg.coercibility,
        };
        self.operands = args.iter().map(operand).collect();
        self
    }

    /// What a comparison compares; empty of other functions.
    pub fn operands(&self) -> &[Operand] {
        &self.operands
    }

    /// Sets how many of the arguments, from the first on, a batch must have: the others are
    /// constants.
    pub(crate) fn reading(mut self, arguments: usize) -> Self {
        self.slots.truncate(arguments);
        self
    }

    /// How many arguments [`Self::evaluate`] reads: the first ones.
    pub fn reads(&self) -> usize {
        self.slots.len()
    }

    /// Says whether the call itself can complain of the values of its arguments.
    pub(crate) fn with_fallibility(mut self, is_fallible: bool, args: &[Arg]) -> Self {
        self.is_fallible = is_fallible || args.iter().any(|arg| arg.is_fallible);
        self
    }

    /// Sets the order in which arguments are evaluated, if one must be kept.
    pub(crate) fn with_flow(mut self, flow: Option<Flow>) -> Self {
        self.flow = flow;
        self
    }

    /// Says whether the values are those of an ENUM, SET or JSON, whose numbers are not known.
    pub(crate) fn with_hidden_number(mut self, hides_number: bool) -> Self {
        self.hides_number = hides_number;
        self
    }

    /// Sets the numeric and text forms of the values, if another type than theirs is required.
    pub(crate) fn with_forms(mut self, mixes: bool, text_form: TextForm) -> Self {
        (self.mixes, self.text_form) = (mixes, text_form);
        self
    }

    pub(crate) fn with_coercibility(mut self, coercibility: Coercibility) -> Self {
        self.coercibility = coercibility;
        self
    }

    pub(crate) fn with_text(mut self, text: String) -> Self {
        self.text = text;
        self
    }

    /// NOT NULL when every argument is.
    pub(crate) fn null_with(mut self, args: &[Arg]) -> Self {
        self.ty = crate::types::result_type::null_if_any(self.ty, args);
        self
    }

    /// Where its warnings go.
    pub fn context(&self) -> &Arc<EvalContext> {
        &self.ctx
    }

    /// The function's name as in the call.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of the result.
    pub fn return_type(&self) -> ColumnType {
        self.ty
    }

    /// The Arrow type of the arrays that [`Self::evaluate`] gives. It differs from
    /// `return_type().arrow()` only for decimals that carry more digits than they show; see
    /// [`crate::settle`].
    pub fn arrow_type(&self) -> DataType {
        self.storage.clone()
    }

    /// Digits after the point of decimals in the arrays.
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// The operator, where it is one of signed integers and decimals that a [`crate::Formula`] may
    /// hold.
    pub fn exact_op(&self) -> Option<ExactOp> {
        self.exact
    }

    /// How strongly the result insists on its collation.
    pub fn coercibility(&self) -> Coercibility {
        self.coercibility
    }

    /// How MySQL prints the expression.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the same arguments always give the same result within a statement.
    pub fn is_deterministic(&self) -> bool {
        // Functions of chance (RAND, UUID, SYSDATE) do not resolve yet.
        true
    }

    /// Whether the number of a value may be another than that of its text, as of an ENUM's.
    pub fn hides_number(&self) -> bool {
        self.hides_number
    }

    /// Whether the number of a text is that of a value of another type.
    pub fn mixes(&self) -> bool {
        self.mixes
    }

    /// How the text of a floating-point number is made.
    pub fn text_form(&self) -> TextForm {
        self.text_form
    }

    /// Whether the call or an argument of it can leave an error or a warning.
    pub fn is_fallible(&self) -> bool {
        self.is_fallible
    }

    /// Whether fallible arguments count only for rows that reach them, so that
    /// [`Self::evaluate_lazily`] must be used.
    pub fn is_lazy(&self) -> bool {
        self.flow.is_some()
    }

    /// Like [`Self::evaluate`], with arguments that are evaluated on demand: all of them for all
    /// rows, or those of a conditional for the rows that reach them.
    pub fn evaluate_lazily(&self, rows: usize, ask: &mut Ask<'_>) -> Result<ArrayRef> {
        let Some(flow) = self.flow else {
            let all: Vec<usize> = (0..rows).collect();
            let args = (0..self.slots.len()).map(|arg| ask(arg, &all));
            return self.evaluate(&args.collect::<Result<Vec<_>>>()?, rows);
        };
        if matches!(flow, Flow::First) {
            return self.evaluate_unless_null(rows, ask);
        }
        let Self { slots, ty, storage, ctx, .. } = self;
        Frame { slots, ty: *ty, storage, ctx }.run(flow, rows, ask)
    }

    /// Runs on the rows whose first argument is not NULL; of the others the result is NULL as well.
    fn evaluate_unless_null(&self, rows: usize, ask: &mut Ask<'_>) -> Result<ArrayRef> {
        let broken = |error: arrow::error::ArrowError| {
            pelorus_error::Error::internal("rows that are not NULL").caused_by(error)
        };
        let all: Vec<usize> = (0..rows).collect();
        let first = ask(0, &all)?;
        let is_one = first.len() == 1;
        let is_bare = *first.data_type() == DataType::Null;
        let has_value = |row: &usize| !is_bare && first.is_valid(if is_one { 0 } else { *row });
        let left: Vec<usize> = all.into_iter().filter(has_value).collect();
        if left.is_empty() {
            return Ok(new_null_array(&self.storage, rows));
        }
        let is_whole = left.len() == rows;
        let numbers = UInt64Array::from_iter_values(left.iter().map(|row| *row as u64));
        let mut args = vec![if is_one || is_whole {
            first
        } else {
            take(first.as_ref(), &numbers, None).map_err(broken)?
        }];
        for arg in 1..self.slots.len() {
            args.push(ask(arg, &left)?);
        }
        let values = self.evaluate(&args, left.len())?;
        if is_whole {
            return Ok(values);
        }
        let mut places = vec![None; rows];
        for (at, row) in left.into_iter().enumerate() {
            places[row] = Some(at as u64);
        }
        take(values.as_ref(), &UInt64Array::from(places), None).map_err(broken)
    }

    /// Runs on `rows` rows. Arrays of length 1 represent the same value in every row. The result
    /// has `rows` values.
    pub fn evaluate(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        if args.len() < self.slots.len() {
            return Err(pelorus_error::Error::internal(format!(
                "{} got {} arguments, fewer than {}",
                self.name,
                args.len(),
                self.slots.len()
            )));
        }
        self.ctx.interrupt.check()?;
        let inputs = args
            .iter()
            .zip(&self.slots)
            .map(|(array, slot)| Input::new(array, slot, &self.ctx))
            .collect::<Result<Vec<_>>>()?;
        let memory = self.ctx.counting(if self.ty.is_string() { self.ty.length } else { 0 });
        (self.kernel)(&Batch { inputs, rows, ctx: &self.ctx, memory })
    }
}

/// A kernel that calls `row` for each row.
pub(crate) fn each_row(
    storage: DataType,
    row: impl Fn(&Batch<'_>, usize) -> Result<Value> + Send + Sync + 'static,
) -> Kernel {
    Box::new(move |batch| {
        let mut output = Output::new(&storage, batch.rows, &batch.memory)?;
        for at in 0..batch.rows {
            output.push(row(batch, at)?)?;
        }
        Ok(output.finish())
    })
}

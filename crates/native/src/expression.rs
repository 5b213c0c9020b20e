//! Expressions over the columns of one table, as `PARTITION BY` allows them, and constants.
//!
//! TIMESTAMP columns are evaluated in universal time, as they are stored; MySQL allows only
//! `UNIX_TIMESTAMP` of them, whose result is the same in every time zone.

mod stored;

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, UInt64Array};
use pelorus_error::{Code, Error, Result};
use pelorus_expression::syntax::{bind, plain_arguments};
use pelorus_expression::{Binder, BoundExpr, TypedValue, is_placeholder};
use pelorus_functions::assignment::Target;
use pelorus_functions::{Arg, CastTarget, EvalContext, Value, cast, resolve, value_at};
use pelorus_sql::operator::function_of;
use pelorus_sql::{Mode, ast_analysis};
use pelorus_types::{ColumnType, WireType};
use sqlparser::ast::{Expr, Function, Ident, UnaryOperator};

/// Operators that a partitioning expression can use.
const PARTITION_OPERATORS: [&str; 5] = ["+", "-", "*", "%", "DIV"];

/// An expression that is bound to the columns of a table.
#[derive(Debug)]
pub struct RowExpression {
    root: BoundExpr,
    ty: ColumnType,
    /// Positions of the columns that it names, each once.
    columns: Vec<usize>,
    /// A function of one column and nothing else: its name and the column.
    single: Option<(String, usize)>,
    /// Whether a function of dates or times has none in a column.
    lacks_dates: bool,
}

/// The columns to which an expression is bound.
#[derive(Clone)]
struct Scope<'a> {
    table: &'a str,
    targets: &'a [Target],
    mode: Mode,
    context: Arc<EvalContext>,
    /// Whether only what partitioning expressions can use is allowed.
    restricted: bool,
}

impl RowExpression {
    /// Binds the expression of a `PARTITION BY`.
    ///
    /// # Errors
    /// An unknown column (1054), a function that is not allowed (1564), a result that is no
    /// integer (1491; 1659 of a column alone), no column or a function that depends on the time zone (1486).
    pub(crate) fn of_partitioning(
        tree: &Expr,
        table: &str,
        targets: &[Target],
        mode: Mode,
    ) -> Result<Self> {
        let context = Arc::new(EvalContext::default());
        let scope = Scope { table, targets, mode, context, restricted: true };
        let TypedValue { expr: root, arg: Arg { ty, .. } } = bind(&scope, tree)?;
        let mut columns = Vec::new();
        root.inputs(&mut columns);
        if columns.is_empty() {
            return Err(zone_dependent());
        }
        if !ty.is_integer() || ty.wire == WireType::Bit {
            if let BoundExpr::Input(at) = root {
                let name = &targets[at].name;
                let text = format!(
                    "Field '{name}' is of a not allowed type for this type of partitioning"
                );
                return Err(Error::new(Code::PartitionFieldType, text));
            }
            return Err(Error::new(
                Code::PartitionExpressionType,
                "The PARTITION function returns the wrong type",
            ));
        }
        let is_timestamp = |at: &&usize| targets[**at].ty.wire == WireType::Timestamp;
        let single = function_of_column(&root);
        let of_timestamp = columns.iter().any(|at| is_timestamp(&at));
        let is_unix = matches!(&single, Some((name, _)) if name == "UNIX_TIMESTAMP");
        if of_timestamp != is_unix || (!is_unix && uses_unix_timestamp(tree)) {
            return Err(zone_dependent());
        }
        let lacks_dates = !has_dates(&root, targets);
        Ok(Self { root, ty, columns, single, lacks_dates })
    }

    /// Refuses functions of dates and times none of whose arguments is a column of such a type, as
    /// MySQL does where a table is made.
    ///
    /// # Errors
    /// 1486.
    pub(crate) fn check_dates(&self) -> Result<()> {
        if self.lacks_dates { Err(zone_dependent()) } else { Ok(()) }
    }

    /// An expression that is not a function of a single column.
    fn whole(value: TypedValue) -> Self {
        let TypedValue { expr: root, arg: Arg { ty, .. } } = value;
        let mut columns = Vec::new();
        root.inputs(&mut columns);
        Self { root, ty, columns, single: None, lacks_dates: false }
    }

    /// Binds an expression whose values a column stores.
    ///
    /// # Errors
    /// An unknown column (1054), and expressions that are not supported.
    pub(crate) fn of_column(
        tree: &Expr,
        table: &str,
        (targets, mode): (&[Target], Mode),
        context: Arc<EvalContext>,
        column: &Target,
    ) -> Result<Self> {
        let scope = Scope { table, targets, mode, context, restricted: false };
        Ok(Self::whole(scope.stored(tree, column)?))
    }

    /// Binds a condition, so that its values say whether it is true: 1 or 0.
    ///
    /// # Errors
    /// An unknown column (1054), and expressions that are not supported.
    pub fn of_condition(
        tree: &Expr,
        table: &str,
        (targets, mode): (&[Target], Mode),
        context: Arc<EvalContext>,
    ) -> Result<Self> {
        let scope = Scope { table, targets, mode, context, restricted: false };
        Ok(Self::whole(scope.call("IS TRUE", vec![bind(&scope, tree)?])?))
    }

    /// Binds a CHECK: its values are 0 for rows that break it.
    ///
    /// # Errors
    /// An unknown column (1054), and expressions that are not supported.
    pub(crate) fn of_check(
        tree: &Expr,
        table: &str,
        (targets, mode): (&[Target], Mode),
        context: Arc<EvalContext>,
    ) -> Result<Self> {
        let scope = Scope { table, targets, mode, context, restricted: false };
        Ok(Self::whole(scope.call("IS NOT FALSE", vec![bind(&scope, tree)?])?))
    }

    /// The type of its values.
    pub(crate) fn ty(&self) -> ColumnType {
        self.ty
    }

    /// The positions of the columns that it names.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The function and the column of `f(column)`; the function of a bare column has no name.
    pub(crate) fn single(&self) -> Option<(&str, usize)> {
        self.single.as_ref().map(|(name, column)| (name.as_str(), *column))
    }

    /// The values for some rows. `column` gives the array of a position.
    ///
    /// # Errors
    /// Errors of the functions.
    pub fn evaluate<'a>(
        &self,
        rows: usize,
        column: &dyn Fn(usize) -> &'a ArrayRef,
    ) -> Result<ArrayRef> {
        let values = self.root.evaluate(rows, &|at| Arc::clone(column(at)))?;
        if values.len() == rows {
            return Ok(values);
        }
        // A constant is computed once.
        let same = UInt64Array::from(vec![0; rows]);
        let failed = |error| Error::internal("a constant for every row").caused_by(error);
        arrow::compute::take(values.as_ref(), &same, None).map_err(failed)
    }
}

/// The value of an expression without columns.
///
/// # Errors
/// Errors of the expression; a column (1054).
pub(crate) fn constant(
    tree: &Expr,
    mode: Mode,
    context: &Arc<EvalContext>,
) -> Result<(Value, ColumnType)> {
    let context = Arc::clone(context);
    let scope = Scope { table: "", targets: &[], mode, context, restricted: false };
    let TypedValue { expr, arg: Arg { ty, .. } } = bind(&scope, tree)?;
    // It names no column, so that it asks for none.
    let array = expr.evaluate(1, &|_| Arc::new(arrow::array::NullArray::new(1)))?;
    Ok((value_at(&array, &ty, 0)?, ty))
}

/// Error 1486.
fn zone_dependent() -> Error {
    Error::new(
        Code::PartitionExpressionNotDeterministic,
        "Constant, random or timezone-dependent expressions in (sub)partitioning function are not \
         allowed",
    )
}

/// The types of columns that MySQL partitions by a function of dates or times of; `None` for other
/// functions, and for `UNIX_TIMESTAMP`, which has a rule of its own.
fn date_types(function: &str, unit: Option<&str>) -> Option<&'static [WireType]> {
    const DATE: &[WireType] = &[WireType::Date, WireType::DateTime];
    const TIME: &[WireType] = &[WireType::Time, WireType::DateTime];
    match (function, unit.unwrap_or_default()) {
        (
            "DATEDIFF" | "DAY" | "DAYOFMONTH" | "DAYOFWEEK" | "DAYOFYEAR" | "MONTH" | "QUARTER"
            | "TO_DAYS" | "TO_SECONDS" | "WEEKDAY" | "WEEKOFYEAR" | "YEAR" | "YEARWEEK",
            _,
        ) => Some(DATE),
        ("HOUR" | "MICROSECOND" | "MINUTE" | "SECOND" | "TIME_TO_SEC", _) => Some(TIME),
        ("EXTRACT", "YEAR" | "YEAR_MONTH" | "QUARTER" | "MONTH" | "DAY") => Some(DATE),
        // Where weeks begin, a variable of the session says.
        ("EXTRACT", "WEEK") => Some(&[]),
        ("EXTRACT", unit) if unit.starts_with("DAY_") => Some(&[WireType::DateTime]),
        ("EXTRACT", _) => Some(TIME),
        _ => None,
    }
}

fn uses_unix_timestamp(tree: &Expr) -> bool {
    ast_analysis::calls(tree).iter().any(|call| call.name == "UNIX_TIMESTAMP")
}

/// Whether all functions of dates and times have a column of a date or time among their arguments.
fn has_dates(expr: &BoundExpr, targets: &[Target]) -> bool {
    let BoundExpr::Call(call, args) = expr else { return true };
    let unit = match args.first() {
        Some(BoundExpr::Constant(array)) if array.len() == 1 => {
            array.as_string_opt::<i32>().map(|texts| texts.value(0))
        }
        _ => None,
    };
    let is_one = |wanted: &[WireType]| {
        let mut columns = args.iter();
        columns.any(|arg| match arg {
            BoundExpr::Input(at) => wanted.contains(&targets[*at].ty.wire),
            _ => false,
        })
    };
    date_types(&call.name().to_ascii_uppercase(), unit).is_none_or(is_one)
        && args.iter().all(|arg| has_dates(arg, targets))
}

/// The function and the column of `f(column)`; the function of a bare column has no name.
fn function_of_column(expr: &BoundExpr) -> Option<(String, usize)> {
    match expr {
        BoundExpr::Input(at) => Some((String::new(), *at)),
        BoundExpr::Call(call, args) => match args.as_slice() {
            [BoundExpr::Input(at)] => Some((call.name().to_ascii_uppercase(), *at)),
            _ => None,
        },
        _ => None,
    }
}

impl Binder for Scope<'_> {
    type Value = TypedValue;

    fn context(&self) -> &Arc<EvalContext> {
        &self.context
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn known(&self, tree: &Expr) -> Result<Option<TypedValue>> {
        if is_placeholder(tree) || self.restricted && !self.is_of_partitioning(tree)? {
            return Err(self.not_allowed());
        }
        Ok(None)
    }

    fn name(&self, path: &[Ident]) -> Result<TypedValue> {
        let name = path.last().map_or("", |name| name.value.as_str());
        let found = self.targets.iter().position(|it| it.name.eq_ignore_ascii_case(name));
        let at = found.ok_or_else(|| unknown_column(name, self.table))?;
        Ok(TypedValue::column(at, self.targets[at].ty))
    }

    fn constant(&self, arg: Arg) -> Result<TypedValue> {
        TypedValue::constant(arg)
    }

    fn call(&self, name: &str, args: Vec<TypedValue>) -> Result<TypedValue> {
        let known: Vec<Arg> = args.iter().map(|it| it.arg.clone()).collect();
        Ok(TypedValue::of_call(resolve(name, &known, &self.context)?, args))
    }

    fn cast(&self, value: TypedValue, target: CastTarget) -> Result<TypedValue> {
        let call = cast(target, &value.arg, &self.context)?;
        Ok(TypedValue::of_call(call, vec![value]))
    }
}

impl Scope<'_> {
    /// Whether a partitioning expression can have this part.
    fn is_of_partitioning(&self, tree: &Expr) -> Result<bool> {
        Ok(match tree {
            Expr::Nested(_)
            | Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::Extract { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. }
            | Expr::Value(_)
            | Expr::Prefixed { .. }
            | Expr::TypedString(_)
            | Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, .. } => true,
            Expr::BinaryOp { left, op, right } => {
                let is_interval = |side: &Expr| matches!(side, Expr::Interval(_));
                let sign = function_of(op, self.mode)
                    .ok_or_else(|| Error::unsupported(format_args!("operator {op} here")))?;
                PARTITION_OPERATORS.contains(&sign) && !is_interval(left) && !is_interval(right)
            }
            Expr::Function(function) => {
                let name = ast_analysis::function_name(&function.name);
                pelorus_functions::find(&name).is_some_and(|row| row.in_partitions)
                    && arguments(function).is_some()
            }
            _ => false,
        })
    }

    fn not_allowed(&self) -> Error {
        Error::new(Code::PartitionFunction, "This partition function is not allowed")
    }
}

/// The plain arguments of a function; `None` when there are others.
pub fn arguments(function: &Function) -> Option<Vec<&Expr>> {
    if function.over.is_some() { None } else { plain_arguments(function).ok() }
}

/// Error 1054.
pub(crate) fn unknown_column(name: &str, place: &str) -> Error {
    Error::new(Code::UnknownColumn, format!("Unknown column '{name}' in '{place}'"))
}

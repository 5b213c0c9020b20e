//! Expressions over the columns of one table, as `PARTITION BY` allows them, and constants.
//!
//! TIMESTAMP columns are evaluated in universal time, as they are stored; MySQL allows only
//! `UNIX_TIMESTAMP` of them, whose result is the same in every time zone.

mod condition;
mod stored;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, UInt64Array};
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::Target;
use pelorus_functions::{Arg, Call, EvalContext, Value, array_of, value_at};
use pelorus_sql::literal::Constant;
use pelorus_sql::operator::function_of;
use pelorus_sql::{Mode, ast_analysis, literal};
use pelorus_types::{ColumnType, WireType};
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator,
};

/// Operators that a partitioning expression can use.
const PARTITION_OPERATORS: [&str; 5] = ["+", "-", "*", "%", "DIV"];

/// An expression that is bound to the columns of a table.
#[derive(Debug)]
pub struct RowExpression {
    root: Node,
    /// Positions of the columns that it names, each once.
    columns: Vec<usize>,
    /// A function of one column and nothing else: its name and the column.
    single: Option<(String, usize)>,
}

#[derive(Debug)]
enum Node {
    Column(usize, ColumnType),
    Constant(ArrayRef, Arg),
    Call(Call, Vec<Node>),
}

/// The columns to which an expression is bound.
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
        let root = scope.bind(tree)?;
        let mut columns = Vec::new();
        root.columns(&mut columns);
        if columns.is_empty() {
            return Err(zone_dependent());
        }
        let ty = root.ty();
        if !ty.is_integer() || ty.wire == WireType::Bit {
            if let Node::Column(at, _) = root {
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
        let single = root.single();
        let of_timestamp = columns.iter().any(|at| is_timestamp(&at));
        let is_unix = matches!(&single, Some((name, _)) if name == "UNIX_TIMESTAMP");
        if of_timestamp != is_unix || (!is_unix && uses_unix_timestamp(tree)) {
            return Err(zone_dependent());
        }
        Ok(Self { root, columns, single })
    }

    /// Refuses functions of dates and times none of whose arguments is a column of such a type, as
    /// MySQL does where a table is made.
    ///
    /// # Errors
    /// 1486.
    pub(crate) fn check_dates(&self) -> Result<()> {
        if self.root.has_dates() { Ok(()) } else { Err(zone_dependent()) }
    }

    /// An expression that is not a function of a single column.
    fn whole(root: Node) -> Self {
        let mut columns = Vec::new();
        root.columns(&mut columns);
        Self { root, columns, single: None }
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
        Ok(Self::whole(scope.bound("IS TRUE", vec![scope.bind(tree)?])?))
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
        Ok(Self::whole(scope.bound("IS NOT FALSE", vec![scope.bind(tree)?])?))
    }

    /// The type of its values.
    pub(crate) fn ty(&self) -> ColumnType {
        self.root.ty()
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
        self.root.evaluate(rows, column)
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
    let root = scope.bind(tree)?;
    let array = root.evaluate(1, &|_| unreachable_column())?;
    let ty = root.ty();
    Ok((value_at(&array, &ty, 0)?, ty))
}

/// A constant names no column, so this is never called.
fn unreachable_column<'a>() -> &'a ArrayRef {
    static EMPTY: std::sync::LazyLock<ArrayRef> =
        std::sync::LazyLock::new(|| Arc::new(arrow::array::NullArray::new(1)));
    &EMPTY
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

impl Node {
    fn ty(&self) -> ColumnType {
        match self {
            Node::Column(_, ty) => *ty,
            Node::Constant(_, arg) => arg.ty,
            Node::Call(call, _) => call.return_type(),
        }
    }

    fn arg(&self) -> Arg {
        match self {
            Node::Column(_, ty) => Arg::column(*ty, ""),
            Node::Constant(_, arg) => arg.clone(),
            Node::Call(call, _) => Arg::of(call, None),
        }
    }

    fn columns(&self, out: &mut Vec<usize>) {
        match self {
            Node::Column(at, _) if !out.contains(at) => out.push(*at),
            Node::Call(_, args) => args.iter().for_each(|arg| arg.columns(out)),
            _ => {}
        }
    }

    /// Whether all functions of dates and times have one in a column.
    fn has_dates(&self) -> bool {
        let Node::Call(call, args) = self else { return true };
        let unit = args.first().and_then(|arg| match arg {
            Node::Constant(_, Arg { constant: Some(Value::Text(unit)), .. }) => Some(unit.as_str()),
            _ => None,
        });
        let is_one = |wanted: &[WireType]| {
            let mut columns = args.iter();
            columns.any(|arg| matches!(arg, Node::Column(_, ty) if wanted.contains(&ty.wire)))
        };
        date_types(&call.name().to_ascii_uppercase(), unit).is_none_or(is_one)
            && args.iter().all(Node::has_dates)
    }

    fn single(&self) -> Option<(String, usize)> {
        match self {
            Node::Column(at, _) => Some((String::new(), *at)),
            Node::Call(call, args) => match args.as_slice() {
                [Node::Column(at, _)] => Some((call.name().to_ascii_uppercase(), *at)),
                _ => None,
            },
            Node::Constant(..) => None,
        }
    }

    fn evaluate<'a>(
        &self,
        rows: usize,
        column: &dyn Fn(usize) -> &'a ArrayRef,
    ) -> Result<ArrayRef> {
        match self {
            Node::Column(at, _) => Ok(Arc::clone(column(*at))),
            Node::Constant(array, _) => Ok(Arc::clone(array)),
            Node::Call(call, args) if call.is_lazy() => call
                .evaluate_lazily(rows, &mut |arg, chosen| args[arg].of_rows(rows, chosen, column)),
            Node::Call(call, args) => {
                let args: Vec<ArrayRef> =
                    args.iter().map(|arg| arg.evaluate(rows, column)).collect::<Result<_>>()?;
                call.evaluate(&args, rows)
            }
        }
    }
}

impl Node {
    /// The values of some of the rows, the only ones that are computed.
    fn of_rows<'a>(
        &self,
        rows: usize,
        chosen: &[usize],
        column: &dyn Fn(usize) -> &'a ArrayRef,
    ) -> Result<ArrayRef> {
        if chosen.len() == rows {
            return self.evaluate(rows, column);
        }
        let mut named = Vec::new();
        self.columns(&mut named);
        let numbers = UInt64Array::from_iter_values(chosen.iter().map(|row| *row as u64));
        let some = named.iter().map(|at| {
            let taken = arrow::compute::take(column(*at).as_ref(), &numbers, None);
            let failed = |error| Error::internal("rows cannot be taken").caused_by(error);
            Ok((*at, taken.map_err(failed)?))
        });
        let some: HashMap<usize, ArrayRef> = some.collect::<Result<_>>()?;
        self.evaluate(chosen.len(), &|at| &some[&at])
    }
}

impl Scope<'_> {
    fn bind(&self, tree: &Expr) -> Result<Node> {
        match tree {
            Expr::Nested(inner) => self.bind(inner),
            Expr::Identifier(name) => self.column(&name.value),
            Expr::CompoundIdentifier(path) => match path.last() {
                Some(name) => self.column(&name.value),
                None => Err(self.not_allowed()),
            },
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => self.call("-", &[expr.as_ref()]),
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } => self.bind(expr),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::Function(function) => self.function(function),
            Expr::Extract { field, expr, .. } => {
                let unit = field.to_string().to_ascii_uppercase();
                let unit = constant_node(pelorus_functions::literal::text(unit, &self.context))?;
                self.bound("EXTRACT", vec![unit, self.bind(expr)?])
            }
            Expr::Ceil { expr, .. } => self.call("CEIL", &[expr.as_ref()]),
            Expr::Floor { expr, .. } => self.call("FLOOR", &[expr.as_ref()]),
            other => match literal::constant(other, self.mode)
                .or_else(|| super::types::typed_text(other, self.mode))
            {
                Some(constant) => self.literal(constant),
                None if !self.restricted => self.condition(other),
                None => Err(self.not_allowed()),
            },
        }
    }

    fn column(&self, name: &str) -> Result<Node> {
        let found = self.targets.iter().position(|it| it.name.eq_ignore_ascii_case(name));
        let at = found.ok_or_else(|| unknown_column(name, self.table))?;
        Ok(Node::Column(at, self.targets[at].ty))
    }

    fn literal(&self, constant: Constant) -> Result<Node> {
        use pelorus_functions::literal as make;
        constant_node(match constant {
            Constant::Null => make::null(),
            Constant::Boolean(value) => make::boolean(value),
            Constant::Integer(text) | Constant::Decimal(text) | Constant::Float(text) => {
                make::number(&text)?
            }
            Constant::Text { text, .. } => make::text(text, &self.context),
            Constant::Hex { bytes, charset: None } => make::hex(bytes),
            Constant::Bits { bytes, charset: None } => make::bits(bytes),
            Constant::Hex { bytes, charset: Some(charset) }
            | Constant::Bits { bytes, charset: Some(charset) } => {
                pelorus_query::introduced_literal(bytes, &charset)?
            }
            Constant::Placeholder => return Err(self.not_allowed()),
        })
    }

    fn binary(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Node> {
        if !self.restricted
            && let Some(node) = self.interval_arithmetic(left, op, right)?
        {
            return Ok(node);
        }
        let sign = function_of(op, self.mode)
            .ok_or_else(|| Error::unsupported(format_args!("operator {op} here")))?;
        if self.restricted && !PARTITION_OPERATORS.contains(&sign) {
            return Err(self.not_allowed());
        }
        let args = vec![self.bind(left)?, self.bind(right)?];
        self.bound(sign, args)
    }

    fn function(&self, function: &Function) -> Result<Node> {
        let name = ast_analysis::function_name(&function.name);
        if self.restricted && !pelorus_functions::find(&name).is_some_and(|row| row.in_partitions) {
            return Err(self.not_allowed());
        }
        let args = arguments(function).ok_or_else(|| self.not_allowed())?;
        if self.restricted { self.call(&name, &args) } else { self.any_function(&name, &args) }
    }

    fn call(&self, name: &str, args: &[&Expr]) -> Result<Node> {
        let args = args.iter().map(|arg| self.bind(arg)).collect::<Result<Vec<_>>>()?;
        self.bound(name, args)
    }

    fn bound(&self, name: &str, args: Vec<Node>) -> Result<Node> {
        let known: Vec<Arg> = args.iter().map(Node::arg).collect();
        let call = pelorus_functions::resolve(name, &known, &self.context)?;
        Ok(Node::Call(call, args))
    }

    fn not_allowed(&self) -> Error {
        Error::new(Code::PartitionFunction, "This partition function is not allowed")
    }
}

fn constant_node(arg: Arg) -> Result<Node> {
    let value = arg.constant.clone().unwrap_or(Value::Null);
    Ok(Node::Constant(array_of(&value, &arg.ty)?, arg))
}

/// The plain arguments of a function; `None` when there are others.
pub fn arguments(function: &Function) -> Option<Vec<&Expr>> {
    if function.over.is_some() {
        return None;
    }
    match &function.args {
        FunctionArguments::None => Some(Vec::new()),
        FunctionArguments::List(list) => list
            .args
            .iter()
            .map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                _ => None,
            })
            .collect(),
        FunctionArguments::Subquery(_) => None,
    }
}

/// Error 1054.
pub(crate) fn unknown_column(name: &str, place: &str) -> Error {
    Error::new(Code::UnknownColumn, format!("Unknown column '{name}' in '{place}'"))
}

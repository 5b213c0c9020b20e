//! Binds window functions, which are computed over the rows of a block after grouping and HAVING.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::functions_window::{cume_dist, ntile, rank, row_number};
use datafusion::logical_expr::expr::{NullTreatment, WindowFunction};
use datafusion::logical_expr::{
    Expr, LogicalPlan, SortExpr, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowUDF, lit,
};
use pelorus_error::{Code, Error, Result};
use pelorus_expression::syntax::plain_arguments;
use pelorus_functions::{self as functions, Value};
use pelorus_sql::ast_analysis::{is_aggregate_name, unnested};
use pelorus_types::ColumnType;
use sqlparser::ast::{self, NamedWindowExpr, WindowSpec, WindowType};

use super::expression::{Computed, ExprBinder, canonical};
use super::function_call::name_of;
use super::order_limit::sort_term;
use super::statement::Binder;
use super::typed_expression::TypedExpr;
use super::{function_call, mariadb_rules};
use crate::datafusion_adapter::plan_nodes::column_expr;
use crate::datafusion_adapter::row_key::{few_keys, few_terms};
use crate::datafusion_adapter::udwf::Over;
use crate::datafusion_adapter::{plan_nodes, udwf};

/// Most windows of a block in MySQL.
const MAX_NAMED: usize = 127;

/// Checks whether the windows of a block have names of their own, and an order where their frames
/// count values. Those that no function uses are checked, too.
///
/// # Errors
/// 3591, 3587, 4086.
pub(crate) fn check_names(named: &[ast::NamedWindowDefinition]) -> Result<()> {
    if named.len() > MAX_NAMED {
        let text = format!(
            "Too many windows in SELECT: {}. Maximum allowed is {MAX_NAMED}. Use named windows to share \
             windows between window functions.",
            named.len()
        );
        return Err(Error::new(Code::TooManyWindows, text));
    }
    for (at, ast::NamedWindowDefinition(name, window)) in named.iter().enumerate() {
        if let NamedWindowExpr::WindowSpec(spec) = window
            && spec.window_name.is_none()
            && spec.order_by.len() != 1
            && spec.window_frame.as_ref().is_some_and(counts_values)
        {
            return Err(range_order());
        }
        if named[..at].iter().any(|other| other.0.value.eq_ignore_ascii_case(&name.value)) {
            let text = format!("Window '{}' is defined twice.", name.value);
            return Err(Error::new(Code::WindowDuplicateName, text));
        }
    }
    Ok(())
}

/// Whether a frame begins or ends some values away.
fn counts_values(frame: &ast::WindowFrame) -> bool {
    use ast::WindowFrameBound::{Following, Preceding};
    let is_some =
        |bound: &ast::WindowFrameBound| matches!(bound, Preceding(Some(_)) | Following(Some(_)));
    frame.units == ast::WindowFrameUnits::Range
        && (is_some(&frame.start_bound) || frame.end_bound.as_ref().is_some_and(is_some))
}

/// The expressions by which a window is partitioned and ordered.
type Windowed = (Vec<Expr>, Vec<SortExpr>);

/// Each window sorts the rows separately, after the sorts of the earlier ones.
const MAX_WINDOWS: usize = 64;

/// A window function, with the meaning of its column.
struct Bound {
    function: Arc<WindowUDF>,
    args: Vec<Expr>,
    value: TypedExpr,
    /// Its value does not depend on the frame.
    frameless: bool,
}

impl Binder<'_> {
    /// Adds the window functions of a block to its plan; the computed expressions are added to
    /// `computed`. `named` are the windows of its WINDOW clause.
    pub(crate) fn windows(
        &self,
        plan: LogicalPlan,
        binder: &ExprBinder<'_>,
        functions: &[ast::Function],
        named: &[ast::NamedWindowDefinition],
        computed: &mut Computed,
    ) -> Result<LogicalPlan> {
        // Windows that are partitioned and ordered alike share their sorting.
        let mut sorted: Vec<(Windowed, Vec<Expr>)> = Vec::new();
        for function in functions {
            let text = canonical(&ast::Expr::Function(function.clone()), binder.scope);
            if computed.contains_key(&text) {
                continue;
            }
            let name = self.fresh("w");
            let (call, value) = self.window(function, column_expr(&name), binder, named)?;
            let rows = (call.params.partition_by.clone(), call.params.order_by.clone());
            let expr = Expr::from(call).alias(&name);
            match sorted.iter_mut().find(|(others, _)| *others == rows) {
                Some((_, exprs)) => exprs.push(expr),
                None => sorted.push((rows, vec![expr])),
            }
            if sorted.len() > MAX_WINDOWS {
                return Err(Error::unsupported(format_args!(
                    "more than {MAX_WINDOWS} windows of different order in a query"
                )));
            }
            computed.insert(text, value);
        }
        sorted.into_iter().try_fold(plan, |plan, (_, exprs)| plan_nodes::window(plan, exprs))
    }

    fn window(
        &self,
        function: &ast::Function,
        column: Expr,
        binder: &ExprBinder<'_>,
        named: &[ast::NamedWindowDefinition],
    ) -> Result<(WindowFunction, TypedExpr)> {
        if function.filter.is_some() || !function.within_group.is_empty() {
            return Err(Error::unsupported(function));
        }
        let spec = spec_of(function, named)?;
        refuse_places(&spec)?;
        let context = &self.context.eval;
        let partition_by =
            spec.partition_by.iter().map(|key| Ok(binder.exact(key)?.sort_key(context)));
        let partition_by = partition_by.collect::<Result<Vec<_>>>()?;
        let order = spec.order_by.iter().map(|term| binder.exact(&term.expr));
        let order = order.collect::<Result<Vec<_>>>()?;
        refuse_listed(function, &order, binder)?;
        if binder.is_mariadb() && order.iter().any(|key| pelorus_functions::is_listed(&key.ty)) {
            return Err(Error::unsupported("ENUM and SET in the order of a window, on a MariaDB"));
        }
        let sorted = |(key, term): (&TypedExpr, _)| sort_term(key.order_key(context)?, term);
        let order_by = order.iter().zip(&spec.order_by).map(sorted);
        let order_by: Vec<SortExpr> = order_by.collect::<Result<_>>()?;
        let frame = frame(&spec, &order)?;
        let bound = self.over(function, column, binder)?;
        let frame = if bound.frameless { default_frame(&order) } else { frame };
        let mut call = WindowFunction::new(bound.function, bound.args);
        call.params.partition_by = few_keys(partition_by);
        call.params.order_by = few_terms(order_by);
        call.params.window_frame = frame;
        call.params.null_treatment = Some(NullTreatment::RespectNulls);
        Ok((call, bound.value))
    }

    fn over(
        &self,
        function: &ast::Function,
        column: Expr,
        binder: &ExprBinder<'_>,
    ) -> Result<Bound> {
        let name = name_of(function);
        if is_aggregate_name(&name) {
            return self.aggregate_over(function, column, binder);
        }
        let args = plain_arguments(function)?;
        let wrong = || {
            let text = format!("Incorrect parameter count in the call to native function '{name}'");
            Error::new(Code::WrongParameterCount, text)
        };
        let rank = |function: Arc<WindowUDF>, ty: ColumnType| {
            let value = TypedExpr::computed(column.clone(), ty);
            Bound { function, args: Vec::new(), value, frameless: true }
        };
        if binder.is_mariadb() && matches!(name.as_str(), "PERCENT_RANK" | "CUME_DIST") {
            return Err(Error::unsupported(format_args!("{name} with the digits of a MariaDB")));
        }
        let number = ColumnType::bigint_unsigned().not_null();
        let share = ColumnType::double().not_null();
        Ok(match (name.as_str(), &args[..]) {
            ("ROW_NUMBER", []) => rank(row_number::row_number_udwf(), number),
            ("RANK", []) => rank(rank::rank_udwf(), number),
            ("DENSE_RANK", []) => rank(rank::dense_rank_udwf(), number),
            ("PERCENT_RANK", []) => rank(rank::percent_rank_udwf(), share),
            ("CUME_DIST", []) => rank(cume_dist::cume_dist_udwf(), share),
            ("NTILE", [count]) => {
                let count = count_of(binder, count, &name)?.filter(|count| *count > 0);
                let count = count.ok_or_else(|| wrong_arguments(&name))?;
                Bound { args: vec![lit(count)], ..rank(ntile::ntile_udwf(), number.nullable()) }
            }
            ("LAG" | "LEAD", [value, more @ ..]) if more.len() < 3 => {
                self.shifted(&name, (binder.value(value)?, more), column, binder)?
            }
            ("FIRST_VALUE", [value]) => {
                self.picked(&name, Over::Nth(0), binder.value(value)?, column)
            }
            ("LAST_VALUE", [value]) => self.picked(&name, Over::Last, binder.value(value)?, column),
            ("NTH_VALUE", [value, nth]) => {
                let nth = count_of(binder, nth, &name)?.and_then(|nth| nth.checked_sub(1));
                let nth = nth.ok_or_else(|| wrong_arguments(&name))?;
                let nth = usize::try_from(nth).unwrap_or(usize::MAX);
                self.picked(&name, Over::Nth(nth), binder.value(value)?, column)
            }
            (
                "ROW_NUMBER" | "RANK" | "DENSE_RANK" | "PERCENT_RANK" | "CUME_DIST" | "NTILE"
                | "LAG" | "LEAD" | "FIRST_VALUE" | "LAST_VALUE" | "NTH_VALUE",
                _,
            ) => return Err(wrong()),
            _ => return Err(Error::unsupported(format_args!("{name} over a window"))),
        })
    }

    /// An aggregate of the frame.
    fn aggregate_over(
        &self,
        function: &ast::Function,
        column: Expr,
        binder: &ExprBinder<'_>,
    ) -> Result<Bound> {
        let call = function_call::call_of(function)?;
        if call.distinct {
            return Err(Error::unsupported("<window function>(DISTINCT ..)"));
        }
        if matches!(call.name.as_str(), "GROUP_CONCAT" | "ANY_VALUE") {
            return Err(Error::unsupported(format_args!("{} over a window", call.name)));
        }
        let args = call.args.iter().map(|arg| binder.value(arg)).collect::<Result<Vec<_>>>()?;
        if binder.is_mariadb() {
            let increment = self.context.eval.div_precision_increment;
            mariadb_rules::check_aggregate(&call.name, &args, increment)?;
        }
        let described: Vec<_> = args.iter().map(TypedExpr::arg).collect();
        let resolved =
            functions::aggregate::resolve(&call.name, false, &described, &self.context.eval)?;
        let resolved = Arc::new(resolved);
        let mut args: Vec<Expr> = args.into_iter().map(|arg| arg.expr).collect();
        if args.is_empty() {
            // Rows are counted by the length of an argument.
            args.push(lit(1_i64));
        }
        let over = Over::Aggregate(Arc::clone(&resolved));
        let function = udwf::window(&call.name, over, resolved.arrow_type(), args.len());
        let mut value = binder.marked(&call.name, TypedExpr::of_aggregate(column, &resolved));
        value.describe(widened(value.ty));
        // MySQL keeps it in a column of its type, with the digits that this has.
        let value = if binder.is_mariadb() { value } else { value.settled(&self.context.eval) };
        Ok(Bound { function, args, value, frameless: false })
    }

    /// `LAG` and `LEAD`, whose value may be of a row that is not there.
    fn shifted(
        &self,
        name: &str,
        (value, more): (TypedExpr, &[&ast::Expr]),
        column: Expr,
        binder: &ExprBinder<'_>,
    ) -> Result<Bound> {
        let context = &self.context.eval;
        let by = match more.first() {
            Some(by) => count_of(binder, by, name)?.ok_or_else(|| wrong_arguments(name))?,
            None => 1,
        };
        let by = i64::try_from(by).map_err(|_| wrong_arguments(name))?;
        let otherwise = more.get(1).map(|otherwise| binder.value(otherwise)).transpose()?;
        let mut args = vec![value.settled(context)];
        let mut ty = widened(args[0].clone().into_value().ty).nullable();
        if let Some(otherwise) = otherwise {
            // The type that both have in common, as with COALESCE.
            mariadb_rules::check_digits(&args[0])?;
            mariadb_rules::check_digits(&otherwise)?;
            args.push(otherwise);
            let both = TypedExpr::apply("IFNULL", args.clone(), context, binder.constants)?;
            let common = widened(both.ty);
            ty = if args[1].ty.is_nullable() { common.nullable() } else { common };
            args = args.into_iter().map(|arg| arg.converted(ty, context)).collect();
        }
        let over = Over::Shifted(if name == "LAG" { by } else { -by });
        let function = udwf::window(name, over, ty.arrow(), args.len());
        Ok(Bound {
            function,
            args: args.into_iter().map(|arg| arg.expr).collect(),
            value: TypedExpr::computed(column, ty),
            frameless: true,
        })
    }

    /// A value of a row of the frame.
    fn picked(&self, name: &str, over: Over, value: TypedExpr, column: Expr) -> Bound {
        let value = value.settled(&self.context.eval);
        let ty = widened(value.clone().into_value().ty).nullable();
        Bound {
            function: udwf::window(name, over, ty.arrow(), 1),
            args: vec![value.expr],
            value: TypedExpr::computed(column, ty),
            frameless: false,
        }
    }
}

/// Refuses the least and the greatest of an ENUM or SET in a window with an order: MySQL takes the
/// first or the last row for it where that order is the one by number.
fn refuse_listed(
    function: &ast::Function,
    order: &[TypedExpr],
    binder: &ExprBinder<'_>,
) -> Result<()> {
    let name = name_of(function);
    if order.is_empty() || !matches!(name.as_str(), "MIN" | "MAX") {
        return Ok(());
    }
    for arg in plain_arguments(function)? {
        if pelorus_functions::is_listed(&binder.value(arg)?.ty) {
            let text = format!("{name} of an ENUM or SET over a window with ORDER BY");
            return Err(Error::unsupported(text));
        }
    }
    Ok(())
}

/// The type of a value over a window, which goes through a temporary table.
fn widened(ty: ColumnType) -> ColumnType {
    ty.as_value().in_temporary_table()
}

fn wrong_arguments(name: &str) -> Error {
    let text = format!("Incorrect arguments to {}", name.to_ascii_lowercase());
    Error::new(Code::WrongArguments, text)
}

/// A constant number of rows; `None` for NULL.
fn count_of(binder: &ExprBinder<'_>, expr: &ast::Expr, name: &str) -> Result<Option<u64>> {
    if pelorus_expression::is_placeholder(expr) {
        // Any number will do until the statement is executed.
        return Ok(Some(1));
    }
    match binder.value(expr)?.arg().constant {
        Some(Value::Int(count)) => {
            u64::try_from(count).map(Some).map_err(|_| wrong_arguments(name))
        }
        Some(Value::UInt(count)) => Ok(Some(count)),
        Some(Value::Null) => Ok(None),
        _ => Err(wrong_arguments(name)),
    }
}

/// The window of a function, including the parts that it inherits from others.
fn spec_of(function: &ast::Function, named: &[ast::NamedWindowDefinition]) -> Result<WindowSpec> {
    match &function.over {
        Some(WindowType::WindowSpec(spec)) => inherited(spec, None, named, named.len()),
        Some(WindowType::NamedWindow(name)) => find(name, named, named.len()),
        None => Err(Error::internal("a window function without a window")),
    }
}

/// Refuses numbers that would mean columns of the select list elsewhere.
fn refuse_places(spec: &WindowSpec) -> Result<()> {
    let keys = spec.partition_by.iter().chain(spec.order_by.iter().map(|term| &term.expr));
    let is_place = |key: &ast::Expr| match unnested(key) {
        ast::Expr::Value(value) => matches!(value.value, ast::Value::Number(..)),
        _ => false,
    };
    match keys.into_iter().any(is_place) {
        false => Ok(()),
        true => Err(Error::new(
            Code::WindowLegacyOrder,
            "Window '<unnamed window>': ORDER BY or PARTITION BY uses legacy position indication \
             which is not supported, use expression.",
        )),
    }
}

/// The window of a name. Each can depend on every other once, `left` says on how many still.
fn find(
    name: &ast::Ident,
    named: &[ast::NamedWindowDefinition],
    left: usize,
) -> Result<WindowSpec> {
    let found = named.iter().find(|window| window.0.value.eq_ignore_ascii_case(&name.value));
    match found {
        None => Err(Error::new(
            Code::NoSuchWindow,
            format!("Window name '{}' is not defined.", name.value),
        )),
        Some(_) if left == 0 => Err(Error::new(
            Code::WindowCircularity,
            "There is a circularity in the window dependency graph.",
        )),
        Some(ast::NamedWindowDefinition(own, NamedWindowExpr::WindowSpec(spec))) => {
            inherited(spec, Some(own), named, left - 1)
        }
        Some(ast::NamedWindowDefinition(_, NamedWindowExpr::NamedWindow(other))) => {
            find(other, named, left - 1)
        }
    }
}

/// A window with the partitions and the order of the one that it is based on.
fn inherited(
    spec: &WindowSpec,
    own: Option<&ast::Ident>,
    named: &[ast::NamedWindowDefinition],
    left: usize,
) -> Result<WindowSpec> {
    let Some(name) = &spec.window_name else { return Ok(spec.clone()) };
    let base = find(name, named, left)?;
    if !spec.partition_by.is_empty() {
        return Err(Error::new(
            Code::WindowChildPartitioning,
            "A window which depends on another cannot define partitioning.",
        ));
    }
    if base.window_frame.is_some() {
        let text = "has a frame definition, so cannot be referenced by another window.";
        return Err(Error::new(
            Code::WindowFrameInherited,
            format!("Window '{}' {text}", name.value),
        ));
    }
    if !spec.order_by.is_empty() && !base.order_by.is_empty() {
        let own = own.map_or("<unnamed window>", |own| own.value.as_str());
        let text = "since both contain an ORDER BY clause.";
        return Err(Error::new(
            Code::WindowOrderRedefined,
            format!("Window '{own}' cannot inherit '{}' {text}", name.value),
        ));
    }
    let order_by = if spec.order_by.is_empty() { base.order_by } else { spec.order_by.clone() };
    Ok(WindowSpec {
        window_name: None,
        partition_by: base.partition_by,
        order_by,
        window_frame: spec.window_frame.clone(),
    })
}

const BEGIN: WindowFrameBound = WindowFrameBound::Preceding(ScalarValue::UInt64(None));
const END: WindowFrameBound = WindowFrameBound::Following(ScalarValue::UInt64(None));

/// Up to the row and those that are ordered alike; without an order all rows of the partition.
fn default_frame(order: &[TypedExpr]) -> WindowFrame {
    match order {
        [] => WindowFrame::new_bounds(WindowFrameUnits::Rows, BEGIN, END),
        _ => WindowFrame::new_bounds(WindowFrameUnits::Groups, BEGIN, WindowFrameBound::CurrentRow),
    }
}

fn has_offset(bound: &ast::WindowFrameBound) -> bool {
    use ast::WindowFrameBound::{Following, Preceding};
    matches!(bound, Preceding(Some(_)) | Following(Some(_)))
}

fn frame(spec: &WindowSpec, order: &[TypedExpr]) -> Result<WindowFrame> {
    let Some(said) = &spec.window_frame else { return Ok(default_frame(order)) };
    let current = ast::WindowFrameBound::CurrentRow;
    let (start, end) = (&said.start_bound, said.end_bound.as_ref().unwrap_or(&current));
    check_bounds(start, end)?;
    let units = match said.units {
        ast::WindowFrameUnits::Rows => WindowFrameUnits::Rows,
        ast::WindowFrameUnits::Range if has_offset(start) || has_offset(end) => {
            WindowFrameUnits::Range
        }
        // All rows are ordered alike.
        ast::WindowFrameUnits::Range if order.is_empty() => return Ok(default_frame(order)),
        // The same, and for values of all types.
        ast::WindowFrameUnits::Range => WindowFrameUnits::Groups,
        ast::WindowFrameUnits::Groups => return Err(Error::unsupported("GROUPS in a window")),
    };
    let offset = |offset: &Option<Box<ast::Expr>>| match offset {
        None => Ok(ScalarValue::UInt64(None)),
        Some(expr) if units == WindowFrameUnits::Rows => {
            Ok(ScalarValue::UInt64(Some(rows_of(expr)?.min(ENDLESS))))
        }
        Some(expr) => range_of(expr, order),
    };
    let bound = |bound: &ast::WindowFrameBound| {
        Ok::<_, Error>(match bound {
            ast::WindowFrameBound::CurrentRow => WindowFrameBound::CurrentRow,
            ast::WindowFrameBound::Preceding(by) => WindowFrameBound::Preceding(offset(by)?),
            ast::WindowFrameBound::Following(by) => WindowFrameBound::Following(offset(by)?),
        })
    };
    Ok(WindowFrame::new_bounds(units, bound(start)?, bound(end)?))
}

/// Refuses frames that end before they begin.
fn check_bounds(start: &ast::WindowFrameBound, end: &ast::WindowFrameBound) -> Result<()> {
    use ast::WindowFrameBound::{CurrentRow, Following, Preceding};
    let window = "Window '<unnamed window>'";
    match (start, end) {
        (Following(None), _) => Err(Error::new(
            Code::WindowFrameStart,
            format!("{window}: frame start cannot be UNBOUNDED FOLLOWING."),
        )),
        (_, Preceding(None)) => Err(Error::new(
            Code::WindowFrameEnd,
            format!("{window}: frame end cannot be UNBOUNDED PRECEDING."),
        )),
        (CurrentRow, Preceding(_)) | (Following(_), CurrentRow | Preceding(_)) => {
            Err(illegal_frame())
        }
        _ => Ok(()),
    }
}

fn illegal_frame() -> Error {
    Error::new(
        Code::WindowFrameIllegal,
        "Window '<unnamed window>': frame start or end is negative, NULL or of non-integral type",
    )
}

fn range_order() -> Error {
    Error::new(
        Code::WindowRangeOrder,
        "Window '<unnamed window>' with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER \
         BY expression, of numeric or temporal type",
    )
}

/// More rows than there ever are. Numbers of rows are added to others, which must not overflow.
const ENDLESS: u64 = 1 << 60;

fn rows_of(expr: &ast::Expr) -> Result<u64> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, _) => digits.parse().map_err(|_| illegal_frame()),
            _ => Err(illegal_frame()),
        },
        _ => Err(illegal_frame()),
    }
}

/// The offset of a RANGE frame, in the type of the window's sort key.
fn range_of(expr: &ast::Expr, order: &[TypedExpr]) -> Result<ScalarValue> {
    let [key] = order else { return Err(range_order()) };
    if !key.ty.is_integer() {
        return match key.ty.is_string() {
            true => Err(range_order()),
            false => Err(Error::unsupported(
                "RANGE with an offset over native tables or several servers, ordered by something \
                 other than integers",
            )),
        };
    }
    let offset = ScalarValue::UInt64(Some(rows_of(expr)?));
    offset.cast_to(&key.ty.arrow()).map_err(|_| {
        Error::unsupported("RANGE with an offset beyond the values of what orders the window")
    })
}

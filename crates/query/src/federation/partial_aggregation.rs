//! A grouped block, split: every range aggregates its own rows, and the partial states are merged
//! here.
//!
//! A fragment selects the group keys, the arguments of `COUNT(DISTINCT ..)` as further keys, and a
//! partial aggregate for each aggregate of the block. For text keys it also selects
//! `WEIGHT_STRING`, bytes that compare as the text does under its collation on the server, so that
//! merging and ordering need no collation here.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use pelorus_error::Result;
use pelorus_expression::syntax::plain_arguments;
use pelorus_link::Estimate;
use pelorus_sql::ast_analysis;
use pelorus_types::{Column, ColumnType, Flags, Info, WireType, collation};
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{self, Ident, SelectItem};

use super::block::{Block, Tail, unbounded};
use super::collations::extreme_argument;
use super::routing;
use crate::binder::block::{self, is_distinct};
use crate::binder::bound_query::BoundQuery;
use crate::binder::expression::{Computed, ExprBinder, Subqueries, canonical};
use crate::binder::function_call::Call;
use crate::binder::statement::Binder;
use crate::binder::typed_expression::TypedExpr;
use crate::binder::{aggregate, function_call};
use crate::context::Flavour;
use crate::datafusion_adapter::plan_nodes::column_expr;
use crate::datafusion_adapter::udf::from_datafusion;

/// How the result of an aggregate is merged from the fragments' partial aggregates.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Merge {
    /// The parts of all ranges, merged: counts and sums added, extremes compared.
    Part(usize),
    /// Sum and count of all ranges, added and divided.
    Average { sum: usize, count: usize },
    /// How many different combinations of the further keys there are.
    CountDistinct,
}

/// The columns that the fragments of a grouped block compute.
struct Plan {
    /// The group keys, with their canonical text.
    keys: Vec<(String, ast::Expr)>,
    /// Further keys: the arguments of `COUNT(DISTINCT ..)`.
    further: Option<Vec<(String, ast::Expr)>>,
    /// There are several `COUNT(DISTINCT ..)` of different arguments.
    several_distinct: bool,
    /// Partial aggregates, each with the function that merges it.
    parts: Vec<(ast::Expr, &'static str)>,
    /// The aggregates of the block by canonical text.
    merges: Vec<(String, Merge)>,
}

impl Plan {
    /// Plans the columns of the fragments; `None` if an aggregate cannot be merged.
    fn of(block: &Block<'_>, keys: Vec<ast::Expr>, functions: &[ast::Function]) -> Option<Self> {
        let mut plan = Self {
            keys: Vec::new(),
            further: None,
            several_distinct: false,
            parts: Vec::new(),
            merges: Vec::new(),
        };
        for key in keys {
            let text = canonical(&key, &block.scope);
            if !plan.keys.iter().any(|(known, _)| *known == text) {
                plan.keys.push((text, key));
            }
        }
        for function in functions {
            let whole = ast::Expr::Function(function.clone());
            let text = canonical(&whole, &block.scope);
            if plan.merges.iter().any(|(known, _)| *known == text) {
                continue;
            }
            let call = function_call::call_of(function).ok()?;
            let merge = plan.merge(block, &call, whole)?;
            plan.merges.push((text, merge));
        }
        Some(plan)
    }

    fn merge(&mut self, block: &Block<'_>, call: &Call<'_>, whole: ast::Expr) -> Option<Merge> {
        let one = |call: &Call<'_>| (call.args.len() == 1).then(|| call.args[0].clone());
        // A quotient carries more digits than a part shows: adding rounded sums gives another last
        // digit than adding the quotients, and HAVING compares all digits of an extreme.
        if call.name != "COUNT" && call.args.iter().any(|arg| divides(arg)) {
            return None;
        }
        Some(match (call.name.as_str(), call.distinct) {
            ("COUNT", false) => Merge::Part(self.part(whole, "COUNT_MERGE")),
            ("COUNT", true) => {
                self.further(block, &call.args);
                Merge::CountDistinct
            }
            ("SUM", false) => {
                let condition = counted(&one(call)?).filter(|_| !self.keys.is_empty());
                Merge::Part(self.part(condition.map_or(whole, count_of), "SUM_MERGE"))
            }
            ("AVG", false) => {
                let arg = one(call)?;
                let sum = self.part(invoke("SUM", arg.clone()), "SUM_MERGE");
                Merge::Average { sum, count: self.part(invoke("COUNT", arg), "COUNT_MERGE") }
            }
            // DISTINCT changes nothing for the least and the greatest.
            ("MIN", _) => Merge::Part(self.part(invoke("MIN", one(call)?), "MIN")),
            ("MAX", _) => Merge::Part(self.part(invoke("MAX", one(call)?), "MAX")),
            _ => return None,
        })
    }

    fn part(&mut self, expr: ast::Expr, function: &'static str) -> usize {
        if let Some(at) = self.parts.iter().position(|(known, _)| *known == expr) {
            return at;
        }
        self.parts.push((expr, function));
        self.parts.len() - 1
    }

    /// Notes the arguments of a `COUNT(DISTINCT ..)`. All of a block must have the same: with
    /// several, every combination of their values would be sent.
    fn further(&mut self, block: &Block<'_>, args: &[&ast::Expr]) {
        let list: Vec<_> =
            args.iter().map(|&arg| (canonical(arg, &block.scope), arg.clone())).collect();
        match &self.further {
            Some(known) if known.iter().map(|it| &it.0).ne(list.iter().map(|it| &it.0)) => {
                self.several_distinct = true;
            }
            _ => self.further = Some(list),
        }
    }

    fn further_keys(&self) -> &[(String, ast::Expr)] {
        self.further.as_deref().unwrap_or_default()
    }

    fn projection(&self) -> Vec<SelectItem> {
        let named = |prefix: &str, at: usize, expr: &ast::Expr| SelectItem::ExprWithAlias {
            expr: expr.clone(),
            alias: Ident::with_quote('`', format!("pelorus_{prefix}{at}")),
        };
        let keys = self.keys.iter().enumerate().map(|(at, (_, key))| named("g", at, key));
        let further = self.further_keys().iter().enumerate();
        let further = further.map(|(at, (_, key))| named("d", at, key));
        let parts = self.parts.iter().enumerate().map(|(at, (part, _))| named("p", at, part));
        keys.chain(further).chain(parts).collect()
    }

    /// The expressions whose collation matters, in the order of the fragment's columns.
    fn sources(&self) -> Vec<ast::Expr> {
        let parts = self.parts.iter().map(|(part, _)| part.clone());
        self.group_by().into_iter().chain(parts).collect()
    }

    fn group_by(&self) -> Vec<ast::Expr> {
        self.keys.iter().chain(self.further_keys()).map(|(_, key)| key.clone()).collect()
    }
}

/// Whether a part is the least or greatest of an ENUM or SET column, which the server finds by the
/// text and sorts by the number.
fn is_listed(part: &ast::Expr, block: &Block<'_>) -> bool {
    let origin =
        extreme_argument(part).and_then(|arg| block.origin_of(ast_analysis::unnested(arg)));
    origin.is_some_and(|column| pelorus_functions::is_listed(&column.ty))
}

/// The condition of `IF(condition, 1, 0)`, whose sum over a group counts rows.
fn counted(arg: &ast::Expr) -> Option<ast::Expr> {
    let is = |expr: &ast::Expr, digit: &str| {
        matches!(expr, ast::Expr::Value(value)
            if matches!(&value.value, ast::Value::Number(digits, _) if digits == digit))
    };
    match arg {
        ast::Expr::Function(function) if function_call::name_of(function) == "IF" => {
            let [condition, one, zero] = plain_arguments(function).ok()?[..] else { return None };
            (is(one, "1") && is(zero, "0")).then(|| condition.clone())
        }
        ast::Expr::Case { operand: None, conditions, else_result: Some(zero), .. } => {
            let [when] = &conditions[..] else { return None };
            (is(&when.result, "1") && is(zero, "0")).then(|| when.condition.clone())
        }
        _ => None,
    }
}

/// How many rows of a group meet a condition, as the decimal that `SUM` gives: servers count twice
/// as fast as they add decimals. Only for groups, which have rows: `SUM` of none is NULL.
fn count_of(condition: ast::Expr) -> ast::Expr {
    let count = ast::Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![ast::CaseWhen {
            condition,
            result: ast::Expr::value(ast::Value::Number("1".to_owned(), false)),
        }],
        else_result: None,
    };
    ast::Expr::Cast {
        kind: ast::CastKind::Cast,
        expr: Box::new(invoke("COUNT", count)),
        data_type: ast::DataType::Decimal(ast::ExactNumberInfo::PrecisionAndScale(23, 0)),
        format: None,
    }
}

/// Whether an expression divides.
fn divides(expr: &ast::Expr) -> bool {
    expr.to_string().contains('/')
}

pub(crate) fn invoke(name: &str, arg: ast::Expr) -> ast::Expr {
    ast::Expr::Function(ast::Function {
        name: ast::ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(ast::FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(arg))],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

impl Binder<'_> {
    /// Splits a grouped block (DISTINCT is grouping by everything). `None` if it must run whole.
    pub(crate) async fn split_groups(
        &self,
        block: &Block<'_>,
        estimate: &Estimate,
    ) -> Result<Option<BoundQuery>> {
        let mut keys = block.clauses.key_expressions();
        let above = block.above();
        let mut functions = Vec::new();
        above.iter().for_each(|expr| {
            function_call::collect(expr, function_call::is_aggregate, &mut functions)
        });
        if is_distinct(block.select)? {
            if !keys.is_empty() || !functions.is_empty() {
                return Ok(None);
            }
            keys = block.item_expressions()?;
        }
        if !keys.is_empty() && block.order.limit.is_some() && block.order.by.is_empty() {
            // Which groups come is the server's choice.
            return Ok(None);
        }
        let Some(plan) = Plan::of(block, keys, &functions) else { return Ok(None) };
        if plan.several_distinct {
            return Ok(None);
        }
        let inner = block.inner(self, plan.projection(), plan.group_by(), Tail::default())?;
        let inner = inner.to_string();
        let described =
            block.link.describe(&self.context.settings, &unbounded(&inner)).await?.columns.clone();
        let Some(mut columns) = self.true_columns(block, described, &plan.sources()).await? else {
            return Ok(None);
        };
        let keys = plan.keys.len() + plan.further_keys().len();
        // The extremes of BIT come as bytes from some servers, and bytes are no numbers here.
        if columns[keys..]
            .iter()
            .any(|part| part.ty.is_binary_string() || part.ty.wire == WireType::Bit)
        {
            return Ok(None);
        }
        if !block.order.by.is_empty() && plan.parts.iter().any(|(part, _)| is_listed(part, block)) {
            return Ok(None);
        }
        // Extremes are compared, sums are not.
        let is_compared = |at: usize| at < keys || matches!(plan.parts[at - keys].1, "MIN" | "MAX");
        if !self.can_compare(block, &columns, is_compared).await? {
            return Ok(None);
        }
        let compared: Vec<bool> = (0..columns.len()).map(|at| at < keys).collect();
        let Some(weights) = weights(&columns, &compared) else { return Ok(None) };
        let text = with_weights(&inner, &columns, &weights);
        columns.extend(weights.iter().map(Weight::column));
        let key = routing::covering_key(estimate, &block.driving().alias);
        let (request, how) = self.request(block, &text, key, &columns).await?;
        let (leaf, typed) = self.fragment(&block.link, request, &columns, how)?;
        let mut typed = attach_keys(typed, &weights);
        for (at, value) in typed.iter_mut().enumerate() {
            // The names within the fragment are ours; clients see the tables' own.
            value.origin = plan.group_by().get(at).and_then(|key| block.origin_of(key));
        }
        let (merged, computed) = self.merge(leaf, &plan, typed)?;
        self.above_groups(block, merged, &computed).map(Some)
    }

    /// Whether the compared columns of a fragment can be compared here. Points in time come in the
    /// time of a zone: where its clocks are set back, two may look the same.
    pub(crate) async fn can_compare(
        &self,
        block: &Block<'_>,
        columns: &[Column],
        is_compared: impl Fn(usize) -> bool,
    ) -> Result<bool> {
        let has_moments = columns
            .iter()
            .enumerate()
            .any(|(at, column)| column.ty.wire == WireType::Timestamp && is_compared(at));
        if !has_moments {
            return Ok(true);
        }
        block.link.has_fixed_zone(&self.context.settings).await
    }

    /// Merges the groups of all ranges; the result maps the block's keys and aggregates to columns
    /// of the plan.
    ///
    /// With `COUNT(DISTINCT ..)` groups are merged twice: first by all keys, so that every
    /// combination of the further keys is there once, then by the block's own keys.
    fn merge(
        &self,
        leaf: LogicalPlan,
        plan: &Plan,
        typed: Vec<TypedExpr>,
    ) -> Result<(LogicalPlan, Computed)> {
        let (mut leaf, mut typed) = (leaf, typed);
        let further = plan.further_keys().len();
        let keys = plan.keys.len();
        if further > 0 {
            let mut level = Level::default();
            let mut merged = Vec::new();
            for key in &typed[..keys + further] {
                merged.push(self.merge_key(key, &mut level)?);
            }
            for (part, (_, function)) in typed[keys + further..].iter().zip(&plan.parts) {
                merged.push(self.merge_part(function, vec![part.clone()], &mut level)?);
            }
            leaf = level.over(leaf)?;
            typed = merged;
        }
        let (keys, rest) = typed.split_at(keys);
        let (further, parts) = rest.split_at(further);
        let mut level = Level::default();
        let mut computed: Computed = HashMap::new();
        for ((text, _), key) in plan.keys.iter().zip(keys) {
            computed.insert(text.clone(), self.merge_key(key, &mut level)?);
        }
        for (text, merge) in &plan.merges {
            let merged = match *merge {
                Merge::Part(at) => {
                    self.merge_part(plan.parts[at].1, vec![parts[at].clone()], &mut level)?
                }
                Merge::Average { sum, count } => {
                    let args = vec![parts[sum].clone(), parts[count].clone()];
                    self.merge_part("AVG_MERGE", args, &mut level)?
                }
                // Rows with a NULL among the arguments do not count.
                Merge::CountDistinct => self.merge_part("COUNT", further.to_vec(), &mut level)?,
            };
            computed.insert(text.clone(), merged);
        }
        Ok((level.over(leaf)?, computed))
    }

    /// Adds a group key to a level; gives the key above it.
    fn merge_key(&self, value: &TypedExpr, level: &mut Level) -> Result<TypedExpr> {
        let context = &self.context.eval;
        let name = self.fresh("g");
        let group = value.sort_key(context);
        level.groups.push(group.clone().alias(&name));
        if group == value.expr {
            return Ok(value.at(column_expr(&name), None));
        }
        let pick = self.fresh("v");
        level.aggregates.push(aggregate::any_value(value, context)?.alias(&pick));
        Ok(value.at(column_expr(&pick), Some(column_expr(&name))))
    }

    fn merge_part(
        &self,
        function: &str,
        args: Vec<TypedExpr>,
        level: &mut Level,
    ) -> Result<TypedExpr> {
        let name = self.fresh("a");
        let (expr, call) = aggregate::bind(function, false, args.clone(), &self.context.eval)?;
        level.aggregates.push(expr.alias(&name));
        let is_quotient = self.answer.get() == Some(&Flavour::MariaDb) && function == "AVG_MERGE";
        let value = TypedExpr::of_aggregate(column_expr(&name), &call).extreme_of(function, &args);
        // The server's groups are gone: it is not known whether it would have rounded them.
        Ok(match is_quotient {
            true => value.settled(&self.context.eval).with_quotient(true),
            false => value,
        })
    }

    /// HAVING, the select list, ORDER BY and LIMIT over merged groups.
    fn above_groups(
        &self,
        block: &Block<'_>,
        plan: LogicalPlan,
        computed: &Computed,
    ) -> Result<BoundQuery> {
        let subqueries = Subqueries::new();
        let binder = ExprBinder {
            computed,
            only_computed: true,
            ..self.clause(&block.scope, &subqueries, "field list")
        };
        let mut values = Vec::new();
        for expr in block.item_expressions()? {
            values.push(binder.value(&expr)?);
        }
        let above = block::Block {
            select: block.select,
            order: block.order,
            items: block.items.clone(),
            subqueries: Subqueries::new(),
            distinct: false,
            clauses: block.clauses.clone(),
            calls: Vec::new(),
            determined: Vec::new(),
        };
        let plan = self.having(plan, &binder, &above)?;
        self.project(plan, &binder, &above, values)
    }
}

/// One grouping of a plan.
#[derive(Default)]
struct Level {
    groups: Vec<Expr>,
    aggregates: Vec<Expr>,
}

impl Level {
    fn over(self, plan: LogicalPlan) -> Result<LogicalPlan> {
        LogicalPlanBuilder::from(plan)
            .aggregate(self.groups, self.aggregates)
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)
    }
}

impl Block<'_> {
    /// The select list as expressions.
    pub(crate) fn item_expressions(&self) -> Result<Vec<ast::Expr>> {
        self.items.iter().map(|item| item.expression(&self.scope)).collect()
    }

    /// The column that an expression is nothing but a name for.
    pub(crate) fn origin_of(&self, expr: &ast::Expr) -> Option<Arc<Column>> {
        let path: Vec<&str> = match expr {
            ast::Expr::Identifier(name) => vec![&name.value],
            ast::Expr::CompoundIdentifier(path) => {
                path.iter().map(|part| part.value.as_str()).collect()
            }
            _ => return None,
        };
        self.scope.find(&path, "").ok()??.value.origin.clone()
    }

    /// The expressions above the groups.
    fn above(&self) -> Vec<ast::Expr> {
        let items = self.items.iter().filter_map(|item| item.expr.clone());
        items
            .chain(self.clauses.having.clone())
            .chain(self.clauses.order_values().cloned())
            .collect()
    }
}

/// A key that the server makes of a text column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weight {
    /// The column that it is of.
    pub(crate) of: usize,
    /// The expression, over the fragment's column names.
    pub(crate) sql: String,
}

impl Weight {
    /// The column that carries it.
    pub(crate) fn column(&self) -> Column {
        let ty = ColumnType::new(WireType::LongBlob, collation::BINARY, u32::MAX, 0);
        Column::computed(format!("pelorus_w{}", self.of), ty)
    }
}

/// Longest text, in characters, whose key is padded to full length.
const PADDED_CHARS_MAX: u32 = 512;

/// The keys of the text columns that are compared; `None` if some column's values cannot be
/// compared by bytes that the server computes.
///
/// Under PAD SPACE, `a` equals `a ` and sorts after `a` with a tab: only weights of texts padded to
/// one length agree with that. `WEIGHT_STRING(x AS CHAR(n))` pads to n weights and truncates longer
/// ones, so it does for collations of one weight a character. Under those of the Unicode algorithm
/// a character may have many: there the trailing weights of a space are removed and one is added
/// again, which preserves equality, and the order of all texts except of a text and its
/// continuation by a space and a control character. Under NO PAD the plain weights do.
pub(crate) fn weights(columns: &[Column], compared: &[bool]) -> Option<Vec<Weight>> {
    let mut weights = Vec::new();
    for (of, (column, _)) in columns.iter().zip(compared).enumerate().filter(|(_, it)| *it.1) {
        let enumerated = column.ty.flags.has(Flags::ENUM) || column.ty.flags.has(Flags::SET);
        match column.ty.wire {
            WireType::Json | WireType::Geometry | WireType::Vector => return None,
            // ENUM and SET order by number and compare by text: two keys would be needed.
            _ if enumerated => return None,
            _ if !column.ty.is_string() || column.ty.is_binary_string() => continue,
            _ => {}
        }
        let name = pelorus_sql::literal::name(&column.name);
        let chars = column.ty.length / 4;
        let info = column.ty.collation.info()?;
        let sql = if info.no_pad {
            format!("WEIGHT_STRING({name})")
        } else if follows_unicode(info) {
            let (charset, collation) = (info.charset, info.name);
            let space = format!("WEIGHT_STRING(CONVERT(' ' USING {charset}) COLLATE {collation})");
            format!("CONCAT(TRIM(TRAILING {space} FROM WEIGHT_STRING({name})), {space})")
        } else if has_several_levels(info) || chars > PADDED_CHARS_MAX {
            return None;
        } else {
            format!("WEIGHT_STRING({name} AS CHAR({}))", chars.max(1))
        };
        weights.push(Weight { of, sql });
    }
    Some(weights)
}

/// Whether a collation with PAD SPACE has the weights of the Unicode collation algorithm: all those
/// of the Unicode charsets but the oldest, which have one weight a character.
fn follows_unicode(info: &Info) -> bool {
    let unicode = ["utf8mb3", "utf8mb4", "ucs2", "utf16", "utf16le", "utf32"];
    let single = ["_bin", "_general_ci", "_general_mysql500_ci", "_tolower_ci", "_general_cs"];
    unicode.contains(&info.charset) && !single.iter().any(|ending| info.name.ends_with(ending))
}

/// Whether a collation of an 8-bit charset gives some characters several weights.
fn has_several_levels(info: &Info) -> bool {
    ["latin1_german2_ci", "latin2_czech_cs", "cp1250_czech_cs"].contains(&info.name)
}

/// Puts the text keys around a fragment.
pub(crate) fn with_weights(inner: &str, described: &[Column], weights: &[Weight]) -> String {
    if weights.is_empty() {
        return inner.to_owned();
    }
    let mut items: Vec<String> =
        described.iter().map(|column| pelorus_sql::literal::name(&column.name)).collect();
    items.extend(weights.iter().map(|weight| weight.sql.clone()));
    format!("SELECT {} FROM ({inner}) AS pelorus_t", items.join(", "))
}

/// Attaches the keys to the columns; the columns of the keys themselves are dropped.
pub(crate) fn attach_keys(mut typed: Vec<TypedExpr>, weights: &[Weight]) -> Vec<TypedExpr> {
    let keys = typed.split_off(typed.len() - weights.len());
    for (weight, key) in weights.iter().zip(keys) {
        typed[weight.of].key = Some(key.expr);
    }
    typed
}

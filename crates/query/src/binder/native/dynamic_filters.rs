//! Dynamic filters: conditions that become known while a query runs, from the keys of the other
//! side of a join and from the current bound of a LIMIT after an ORDER BY.
//!
//! They only save work: the operators that made them test every row themselves. A filter that is
//! not understood here therefore lets all rows pass.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::ScalarFunctionExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, Column, InListExpr, IsNullExpr, Literal,
};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use datafusion::physical_plan::PhysicalExpr;
use datafusion::physical_plan::joins::{HashExpr, HashTableLookupExpr};
use pelorus_chunk::{Op, Predicate, Scalar};
use pelorus_error::{Error, Result};
use pelorus_store::ValueTest;

use crate::datafusion_adapter::form::FormUdf;
use crate::datafusion_adapter::udf::from_datafusion;

/// The current state of the conditions.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// No row passes.
    pub(crate) nothing: bool,
    /// Conditions on columns by their places in the scan.
    pub(crate) predicates: Vec<(usize, Predicate)>,
    /// Which keys a join may find.
    pub(crate) tests: Vec<(usize, Arc<dyn ValueTest>)>,
}

/// The conditions of a scan.
#[derive(Debug)]
pub(crate) struct Dynamic {
    filters: Vec<Arc<dyn PhysicalExpr>>,
    /// The columns on which conditions can be tested by their stored values.
    plain: Vec<Option<Field>>,
    asked: Arc<Asked>,
}

/// The number of tested values, and of those that passed.
#[derive(Debug, Default)]
struct Asked {
    values: AtomicU64,
    kept: AtomicU64,
}

impl Asked {
    /// Whether asking has shown to be worth while, or is yet to be tried.
    fn is_worth_while(&self) -> bool {
        /// Values after which the share counts.
        const TRIED: u64 = 64 << 10;
        // Ordering: an estimate that other threads move anyway.
        let (values, kept) = (self.values.load(Memory::Relaxed), self.kept.load(Memory::Relaxed));
        values < TRIED || kept < values / 4 * 3
    }
}

impl Dynamic {
    /// Conditions on the columns of a scan; `plain` are those that are given as they are stored.
    pub(crate) fn new(filters: Vec<Arc<dyn PhysicalExpr>>, plain: Vec<Option<Field>>) -> Self {
        Self { filters, plain, asked: Arc::default() }
    }

    /// The conditions as expressions over the columns of the scan.
    pub(crate) fn filters(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.filters
    }

    /// The current conditions.
    ///
    /// # Errors
    /// Those of DataFusion.
    pub(crate) fn now(&self) -> Result<Known> {
        let mut known = Known::default();
        for filter in &self.filters {
            let expr = snapshot_physical_expr(Arc::clone(filter)).map_err(from_datafusion)?;
            for (place, field) in self.plain.iter().enumerate() {
                let Some(field) = field else { continue };
                match ends(&expr, place, field) {
                    None => known.nothing = true,
                    Some(ends) => known.predicates.extend(ends.predicates(field, place)),
                }
            }
            if self.asked.is_worth_while()
                && let Some((place, field)) = self.asks_for_keys(&expr)?
            {
                let test = KeyTest::new(&expr, field, Arc::clone(&self.asked))?;
                known.tests.push((place, Arc::new(test)));
            }
        }
        Ok(known)
    }

    /// The one column whose values an expression looks up, if no NULL can pass it.
    fn asks_for_keys(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Option<(usize, &Field)>> {
        if !is_of_columns(expr) {
            return Ok(None);
        }
        let (mut places, mut looks_up, mut nulls) = (Vec::new(), false, false);
        expr.apply(|node| {
            if let Some(column) = node.downcast_ref::<Column>() {
                places.push(column.index());
            }
            looks_up |= node.downcast_ref::<InListExpr>().is_some()
                || node.downcast_ref::<HashTableLookupExpr>().is_some();
            nulls |= node.downcast_ref::<IsNullExpr>().is_some();
            Ok(TreeNodeRecursion::Continue)
        })
        .map_err(from_datafusion)?;
        places.sort_unstable();
        places.dedup();
        let [place] = places.as_slice() else { return Ok(None) };
        let field = self.plain.get(*place).and_then(Option::as_ref);
        Ok(field.filter(|it| looks_up && !(nulls && it.is_nullable())).map(|it| (*place, it)))
    }
}

/// Whether a condition looks at columns only, or at their keys, and not at what else is computed of
/// them: below a projection, the columns of a condition become the expressions that they stand for.
/// What is computed can have a value where the column is NULL, and can complain of rows that are
/// dead, or that WHERE leaves out, of which a scan asks as well.
fn is_of_columns(expr: &Arc<dyn PhysicalExpr>) -> bool {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        let (left, right) = (binary.left(), binary.right());
        return match binary.op() {
            Operator::And | Operator::Or => is_of_columns(left) && is_of_columns(right),
            Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq => {
                (is_key(left) || is_literal(left)) && (is_key(right) || is_literal(right))
            }
            _ => false,
        };
    }
    if let Some(case) = expr.downcast_ref::<CaseExpr>() {
        return case.expr().is_some_and(is_stream)
            && case
                .when_then_expr()
                .iter()
                .all(|(at, then)| is_literal(at) && is_of_columns(then))
            && case.else_expr().is_none_or(is_of_columns);
    }
    if let Some(list) = expr.downcast_ref::<InListExpr>() {
        return is_key(list.expr()) && list.list().iter().all(is_literal);
    }
    if let Some(lookup) = expr.downcast_ref::<HashTableLookupExpr>() {
        return lookup.children().into_iter().all(is_key);
    }
    expr.downcast_ref::<IsNullExpr>().is_some_and(|null| is_column(null.arg())) || is_literal(expr)
}

/// Whether it is the number of the stream of a join to which a row belongs.
fn is_stream(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<BinaryExpr>().is_some_and(|binary| {
        let hash = binary.left().downcast_ref::<HashExpr>();
        *binary.op() == Operator::Modulo
            && hash.is_some_and(|hash| hash.on_columns().iter().all(is_key))
            && is_literal(binary.right())
    })
}

/// Whether it is a column, or the key by which a join finds its values among those of another type.
fn is_key(expr: &Arc<dyn PhysicalExpr>) -> bool {
    is_column(expr)
        || expr.downcast_ref::<ScalarFunctionExpr>().is_some_and(|function| {
            let form = function.fun().inner().downcast_ref::<FormUdf>();
            form.is_some_and(|udf| udf.form.is_infallible_key())
                && function.args().iter().all(is_column)
        })
}

fn is_column(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<Column>().is_some()
}

fn is_literal(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<Literal>().is_some()
}

/// Asks whether keys are among those of a join's other side.
#[derive(Debug)]
struct KeyTest {
    /// Over the one column of the schema.
    expr: Arc<dyn PhysicalExpr>,
    schema: Arc<Schema>,
    asked: Arc<Asked>,
}

impl KeyTest {
    fn new(expr: &Arc<dyn PhysicalExpr>, field: &Field, asked: Arc<Asked>) -> Result<Self> {
        let first: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), 0));
        let only = Arc::clone(expr).transform(|node| {
            Ok(match node.downcast_ref::<Column>() {
                Some(_) => Transformed::yes(Arc::clone(&first)),
                None => Transformed::no(node),
            })
        });
        let expr = only.map_err(from_datafusion)?.data;
        let schema = Arc::new(Schema::new(vec![field.clone().with_nullable(true)]));
        Ok(Self { expr, schema, asked })
    }
}

impl ValueTest for KeyTest {
    fn keep(&self, values: &ArrayRef) -> Result<BooleanArray> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![Arc::clone(values)])
            .map_err(|error| Error::internal("keys of a join").caused_by(error))?;
        let found = self.expr.evaluate(&batch).and_then(|it| it.into_array(values.len()));
        let found = found.map_err(from_datafusion)?;
        let found = found.as_boolean_opt().ok_or_else(|| Error::internal("a key test's answer"))?;
        // Ordering: see `is_worth_while`.
        self.asked.values.fetch_add(values.len() as u64, Memory::Relaxed);
        self.asked.kept.fetch_add(found.true_count() as u64, Memory::Relaxed);
        Ok(found.clone())
    }
}

/// Values between two ends; each may be missing, and tells whether it belongs to them.
#[derive(Clone, Debug, Default, PartialEq)]
struct Ends {
    low: Option<(i128, bool)>,
    high: Option<(i128, bool)>,
}

impl Ends {
    /// Those that lie between both ends.
    fn and(self, other: Self) -> Self {
        // Of equal ends the one that does not belong is the narrower.
        let low = pick(self.low, other.low, |a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)).is_gt());
        let high = pick(self.high, other.high, |a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1)).is_lt());
        Self { low, high }
    }

    /// The ends of both together.
    fn or(self, other: Self) -> Self {
        let wider = |a: Option<(i128, bool)>, b: Option<(i128, bool)>, order: Ordering| {
            let (a, b) = (a?, b?);
            Some(match a.0.cmp(&b.0) {
                Ordering::Equal => (a.0, a.1 || b.1),
                found if found == order => a,
                _ => b,
            })
        };
        let low = wider(self.low, other.low, Ordering::Less);
        Self { low, high: wider(self.high, other.high, Ordering::Greater) }
    }

    fn predicates(self, field: &Field, place: usize) -> impl Iterator<Item = (usize, Predicate)> {
        let compare = |op, value| (place, Predicate::Compare(op, Scalar::Int(value)));
        debug_assert!(is_whole(field.data_type()), "ends of {field:?}");
        let low = self.low.map(|(value, has)| compare(if has { Op::Ge } else { Op::Gt }, value));
        let high = self.high.map(|(value, has)| compare(if has { Op::Le } else { Op::Lt }, value));
        low.into_iter().chain(high)
    }
}

/// The first or, where `second` says so of the pair, the second, or whichever there is.
fn pick<T: Copy>(a: Option<T>, b: Option<T>, first: impl Fn(T, T) -> bool) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if first(a, b) { a } else { b }),
        _ => a.or(b),
    }
}

/// Whether values of a type are stored as integers.
pub(crate) fn is_whole(ty: &DataType) -> bool {
    matches!(ty, DataType::Int64 | DataType::UInt64 | DataType::Decimal128(..))
}

/// The bounds of a column's values that pass a condition; `None` if none pass.
fn ends(expr: &Arc<dyn PhysicalExpr>, place: usize, field: &Field) -> Option<Ends> {
    let of = |expr: &Arc<dyn PhysicalExpr>| ends(expr, place, field);
    let either = |a: Option<Ends>, b: Option<Ends>| match (a, b) {
        (Some(a), Some(b)) => Some(a.or(b)),
        (a, b) => a.or(b),
    };
    if let Some(literal) = expr.downcast_ref::<Literal>() {
        let passes = *literal.value() == ScalarValue::Boolean(Some(true));
        return passes.then(Ends::default);
    }
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return match binary.op() {
            Operator::And => Some(of(binary.left())?.and(of(binary.right())?)),
            Operator::Or => either(of(binary.left()), of(binary.right())),
            _ => Some(compared(binary, place, field).unwrap_or_default()),
        };
    }
    if let Some(case) = expr.downcast_ref::<CaseExpr>() {
        // Without ELSE the rest is NULL, which does not pass.
        let rest = case.else_expr().and_then(of);
        return case.when_then_expr().iter().fold(rest, |all, (_, then)| either(all, of(then)));
    }
    if let Some(null) = expr.downcast_ref::<IsNullExpr>() {
        let column = null.arg().downcast_ref::<Column>();
        let never = column.is_some_and(|it| it.index() == place) && !field.is_nullable();
        return (!never).then(Ends::default);
    }
    Some(Ends::default())
}

/// The ends that a comparison of the column with a number sets.
fn compared(binary: &BinaryExpr, place: usize, field: &Field) -> Option<Ends> {
    let column = binary.left().downcast_ref::<Column>();
    let (literal, op) = match column {
        Some(_) => (binary.right().downcast_ref::<Literal>()?, *binary.op()),
        None => (binary.left().downcast_ref::<Literal>()?, binary.op().swap()?),
    };
    let column = column.or_else(|| binary.right().downcast_ref::<Column>())?;
    if column.index() != place {
        return None;
    }
    let value = whole(literal.value(), field.data_type())?;
    let (low, high) = match op {
        Operator::Eq => (Some((value, true)), Some((value, true))),
        Operator::Gt | Operator::GtEq => (Some((value, op == Operator::GtEq)), None),
        Operator::Lt | Operator::LtEq => (None, Some((value, op == Operator::LtEq))),
        _ => return None,
    };
    Some(Ends { low, high })
}

/// A number as columns of the type store it.
fn whole(value: &ScalarValue, ty: &DataType) -> Option<i128> {
    match (value, ty) {
        (ScalarValue::Int64(value), DataType::Int64) => value.map(i128::from),
        (ScalarValue::UInt64(value), DataType::UInt64) => value.map(i128::from),
        (ScalarValue::Decimal128(value, _, scale), DataType::Decimal128(_, of)) if scale == of => {
            *value
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::config::ConfigOptions;
    use datafusion::physical_expr::expressions::{binary, case, col, in_list, is_null, lit};
    use datafusion::physical_plan::joins::SeededRandomState;
    use pelorus_functions::EqualityKey;
    use pelorus_types::ColumnType;

    use super::*;

    fn schema() -> Schema {
        let int = |name, null| Field::new(name, DataType::Int64, null);
        Schema::new(vec![int("a", false), int("b", true)])
    }

    fn test(column: &str, op: Operator, value: i64) -> Arc<dyn PhysicalExpr> {
        binary(col(column, &schema()).unwrap(), op, lit(value), &schema()).unwrap()
    }

    fn both(
        a: Arc<dyn PhysicalExpr>,
        op: Operator,
        b: Arc<dyn PhysicalExpr>,
    ) -> Arc<dyn PhysicalExpr> {
        binary(a, op, b, &schema()).unwrap()
    }

    fn of(
        expr: &Arc<dyn PhysicalExpr>,
        place: usize,
    ) -> Option<(Option<(i128, bool)>, Option<(i128, bool)>)> {
        ends(expr, place, schema().field(place)).map(|it| (it.low, it.high))
    }

    #[test]
    fn ends_of_bounds_and_of_several_streams() {
        use Operator::{And, Eq, Gt, GtEq, Lt, LtEq, Or};
        let between = |low, high| both(test("a", GtEq, low), And, test("a", LtEq, high));
        assert_eq!(of(&between(3, 9), 0), Some((Some((3, true)), Some((9, true)))));
        assert_eq!(of(&between(3, 9), 1), Some((None, None)));
        let two = both(between(3, 5), Or, between(4, 9));
        assert_eq!(of(&two, 0), Some((Some((3, true)), Some((9, true)))));
        let narrower = both(between(3, 9), And, test("a", Gt, 3));
        assert_eq!(of(&narrower, 0), Some((Some((3, false)), Some((9, true)))));
        // The rows that a LIMIT after ORDER BY a, b lets pass.
        let tie = both(test("a", Eq, 7), And, test("b", Lt, 2));
        let top = both(test("a", Lt, 7), Or, tie);
        assert_eq!(of(&top, 0), Some((None, Some((7, true)))));
        assert_eq!(of(&top, 1), Some((None, None)));
    }

    #[test]
    fn nothing_passes_false_and_nulls_pass_where_there_are_some() {
        let lower = |column| {
            let null = is_null(col(column, &schema()).unwrap()).unwrap();
            both(null, Operator::Or, test(column, Operator::Lt, 7))
        };
        assert_eq!(of(&lit(false), 0), None);
        assert_eq!(of(&lit(true), 0), Some((None, None)));
        assert_eq!(of(&lower("a"), 0), Some((None, Some((7, false)))));
        assert_eq!(of(&lower("b"), 1), Some((None, None)));
        let other = both(lit(false), Operator::Or, test("a", Operator::Gt, 1));
        assert_eq!(of(&other, 0), Some((Some((1, false)), None)));
    }

    #[test]
    fn keys_are_asked_for_until_all_pass() {
        let list = |column: &str| {
            in_list(
                col(column, &schema()).unwrap(),
                vec![lit(2_i64), lit(5_i64)],
                &false,
                &schema(),
            )
            .unwrap()
        };
        let fields: Vec<_> = schema().fields().iter().map(|it| Some(Field::clone(it))).collect();
        let dynamic = Dynamic::new(vec![list("b")], fields.clone());
        let known = dynamic.now().unwrap();
        let [(1, test)] = &known.tests[..] else { panic!("{known:?}") };
        let values: ArrayRef =
            Arc::new(arrow::array::Int64Array::from(vec![Some(5), None, Some(3)]));
        let kept = test.keep(&values).unwrap();
        assert!(kept.value(0) && !kept.value(2));
        dynamic.asked.values.store(1 << 20, Memory::Relaxed);
        assert_eq!(dynamic.now().unwrap().tests.len(), 1);
        dynamic.asked.kept.store(1 << 20, Memory::Relaxed);
        assert_eq!(dynamic.now().unwrap().tests.len(), 0);
        // A NULL that passes is not asked for, and neither are two columns.
        let null = is_null(col("b", &schema()).unwrap()).unwrap();
        for expr in [both(null, Operator::Or, list("b")), both(list("a"), Operator::And, list("b"))]
        {
            assert!(Dynamic::new(vec![expr], fields.clone()).now().unwrap().tests.is_empty());
        }
    }

    #[test]
    fn keys_of_streams_are_asked_for_and_computed_ones_are_not() {
        let schema = schema();
        let fields: Vec<_> = schema.fields().iter().map(|it| Some(Field::clone(it))).collect();
        let tests = |expr| Dynamic::new(vec![expr], fields.clone()).now().unwrap().tests.len();
        let column = || col("b", &schema).unwrap();
        let of = |key| in_list(key, vec![lit(2_i64), lit(5_i64)], &false, &schema).unwrap();
        let routed = |key: Arc<dyn PhysicalExpr>, found| {
            let seed = SeededRandomState::with_seed(0);
            let hash = Arc::new(HashExpr::new(vec![key], seed, "hash".to_owned()));
            let stream = both(hash, Operator::Modulo, lit(2_u64));
            let streams = vec![(lit(0_u64), found), (lit(1_u64), lit(false))];
            case(Some(stream), streams, Some(lit(false))).unwrap()
        };
        let next = || both(column(), Operator::Plus, lit(1_i64));
        // It gives NULL a value.
        let some = || {
            let null = is_null(column()).unwrap();
            case(None, vec![(null, lit(2_i64))], Some(column())).unwrap()
        };
        let near = || test("b", Operator::GtEq, 2);
        assert_eq!(tests(of(column())), 1);
        assert_eq!(tests(both(near(), Operator::And, of(column()))), 1);
        assert_eq!(tests(routed(column(), both(near(), Operator::And, of(column())))), 1);
        for expr in [
            of(next()),
            of(some()),
            in_list(is_null(column()).unwrap(), vec![lit(true)], &false, &schema).unwrap(),
            both(near(), Operator::And, of(next())),
            both(both(next(), Operator::GtEq, lit(2_i64)), Operator::And, of(column())),
            routed(next(), of(column())),
            routed(column(), of(some())),
            case(None, vec![(near(), of(column()))], None).unwrap(),
        ] {
            assert_eq!(tests(Arc::clone(&expr)), 0, "{expr}");
        }
    }

    #[test]
    fn keys_of_values_of_another_type_are_asked_for() {
        let schema = schema();
        let fields: Vec<_> = schema.fields().iter().map(|it| Some(Field::clone(it))).collect();
        let known = |expr| Dynamic::new(vec![expr], fields.clone()).now().unwrap();
        let equal = |key, ty, of: Arc<dyn PhysicalExpr>| -> Arc<dyn PhysicalExpr> {
            let udf = Arc::new(FormUdf::equality(key, ty));
            let config = Arc::new(ConfigOptions::default());
            Arc::new(ScalarFunctionExpr::try_new(udf, vec![of], &schema, config).unwrap())
        };
        let real = |of| equal(EqualityKey::Real, ColumnType::bigint(), of);
        let column = || col("b", &schema).unwrap();
        let among = |key| in_list(key, vec![lit(2_f64), lit(5_f64)], &false, &schema).unwrap();
        let found = known(among(real(column())));
        let [(1, test)] = &found.tests[..] else { panic!("{found:?}") };
        let values: ArrayRef =
            Arc::new(arrow::array::Int64Array::from(vec![Some(5), None, Some(3)]));
        let kept = test.keep(&values).unwrap();
        assert!(kept.value(0) && !kept.value(2));
        // What is NULL is another thing, and so are keys that complain or are of what is computed.
        let next = both(column(), Operator::Plus, lit(1_i64));
        let is_number =
            in_list(is_null(real(column())).unwrap(), vec![lit(false)], &false, &schema);
        let time = equal(EqualityKey::Time, ColumnType::bigint(), column());
        let day = equal(EqualityKey::Date, ColumnType::bigint(), column());
        let at = |key| in_list(key, vec![lit(2_i64)], &false, &schema).unwrap();
        for expr in [among(real(next)), is_number.unwrap(), at(time), at(day)] {
            assert!(known(Arc::clone(&expr)).tests.is_empty(), "{expr}");
        }
    }
}

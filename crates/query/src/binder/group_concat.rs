//! `GROUP_CONCAT`: binds its additional arguments, the bytes that rows are sorted by and the
//! separator.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{SortOptions, is_not_null};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, SortExpr,
    Volatility,
};
use pelorus_env::Account;
use pelorus_error::{Code, Error, Result};
use pelorus_expression::literal;
use pelorus_functions as functions;
use pelorus_sql::ast_analysis::unnested;
use pelorus_types::{ColumnType, collation};
use sqlparser::ast;

use super::aggregate::Call;
use super::expression::ExprBinder;
use super::query::{Binder, is_ascending};
use super::typed_expression::TypedExpr;
use crate::datafusion_adapter::udf;
use crate::datafusion_adapter::udf::{DfResult, by_identity};

impl Binder<'_> {
    /// Adds the other arguments of a `GROUP_CONCAT` to its values.
    ///
    /// # Errors
    /// Those of expressions, and 1235 where a server could answer: the length of its texts depends
    /// on its settings.
    pub(crate) fn concatenated(
        &self,
        call: &Call<'_>,
        mut values: Vec<TypedExpr>,
        binder: &ExprBinder<'_>,
    ) -> Result<Vec<TypedExpr>> {
        if binder.answer.is_some() {
            return Err(Error::unsupported("GROUP_CONCAT in the place of a linked server"));
        }
        let order = self.row_order(call, &values, binder)?;
        let separator = match call.separator {
            Some(text) => {
                literal(&ast::Expr::Value(text.clone()), self.context.mode, &self.context.eval)?
            }
            None => functions::literal::text(",", &self.context.eval),
        };
        values.extend([order, TypedExpr::literal(separator)?]);
        Ok(values)
    }

    /// The sort key of rows, as bytes; a constant if they are not sorted.
    fn row_order(
        &self,
        call: &Call<'_>,
        values: &[TypedExpr],
        binder: &ExprBinder<'_>,
    ) -> Result<TypedExpr> {
        let (mut keys, mut terms) = (Vec::new(), Vec::new());
        for term in call.order {
            let key = match place(&term.expr) {
                Some(place) => value_at(values, place)?.clone(),
                None => binder.value(&term.expr)?,
            };
            if key.arg().constant.is_some() {
                continue;
            }
            let nothing = nothing_of(&key)?;
            let ascending = is_ascending(term)?;
            terms.push(Term { ascending, nulls_first: true, nothing: Some(nothing) });
            keys.push(key.order_key(&self.context.eval)?);
        }
        if keys.is_empty() {
            return TypedExpr::literal(functions::literal::text_of("", collation::BINARY));
        }
        let expr = RowKey::of(keys, terms);
        Ok(TypedExpr::computed(expr, ColumnType::varchar(u32::MAX, collation::BINARY).not_null()))
    }
}

/// The number of a value that ORDER BY gives instead of an expression.
fn place(term: &ast::Expr) -> Option<usize> {
    match unnested(term) {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn value_at(values: &[TypedExpr], place: usize) -> Result<&TypedExpr> {
    let value = place.checked_sub(1).and_then(|at| values.get(at));
    value.ok_or_else(|| {
        let text = format!("Unknown column '{place}' in 'order clause'");
        Error::new(Code::UnknownColumn, text)
    })
}

/// The key of an empty text, in the form in which a key of bytes is.
fn nothing_of(key: &TypedExpr) -> Result<Vec<u8>> {
    if key.key.is_some() || !functions::needs_key(&key.ty) {
        return Ok(Vec::new());
    }
    let empty: ArrayRef = Arc::new(StringArray::from(vec![""]));
    match ScalarValue::try_from_array(
        &functions::comparison_keys(&empty, &key.ty, &Account::unlimited())?,
        0,
    ) {
        Ok(ScalarValue::Binary(Some(bytes))) => Ok(bytes),
        _ => Err(Error::internal("the key of a text is bytes")),
    }
}

/// How a row is sorted by one of its keys.
struct Term {
    ascending: bool,
    nulls_first: bool,
    /// What NULL is sorted as where the key is bytes. Where it is a number, that is zero: MySQL
    /// compares what lies below the mark of a NULL. `None` where NULL has a place of its own.
    nothing: Option<Vec<u8>>,
}

/// More keys than these become one: the planner's time grows with the cube of their number.
const MANY_KEYS: usize = 16;

/// The terms of an ORDER BY, as one term where they are many.
pub(crate) fn few_terms(terms: Vec<SortExpr>) -> Vec<SortExpr> {
    if terms.len() <= MANY_KEYS {
        return terms;
    }
    let term = |it: SortExpr| {
        (it.expr, Term { ascending: it.asc, nulls_first: it.nulls_first, nothing: None })
    };
    let (keys, terms) = terms.into_iter().map(term).unzip();
    vec![SortExpr::new(RowKey::of(keys, terms), true, true)]
}

/// Keys of which only equality counts, as one key where they are many.
pub(crate) fn few_keys(keys: Vec<Expr>) -> Vec<Expr> {
    if keys.len() <= MANY_KEYS {
        return keys;
    }
    let term = |_: &Expr| Term { ascending: true, nulls_first: true, nothing: None };
    let terms = keys.iter().map(term).collect();
    vec![RowKey::of(keys, terms)]
}

/// Makes one sequence of bytes of several keys, which is sorted as they are.
struct RowKey {
    name: String,
    signature: Signature,
    terms: Vec<Term>,
    id: u64,
}

by_identity!(RowKey);

impl RowKey {
    fn of(keys: Vec<Expr>, terms: Vec<Term>) -> Expr {
        let udf = Self {
            name: "row_key".to_owned(),
            signature: udf::signature(keys.len(), Volatility::Immutable),
            terms,
            id: udf::next_id(),
        };
        ScalarUDF::new_from_impl(udf).call(keys)
    }

    fn keys_of(&self, arrays: &[ArrayRef]) -> DfResult<ArrayRef> {
        let field = |(array, term): (&ArrayRef, &Term)| {
            let options =
                SortOptions { descending: !term.ascending, nulls_first: term.nulls_first };
            SortField::new_with_options(array.data_type().clone(), options)
        };
        let filled = arrays.iter().zip(&self.terms).map(|(array, term)| filled(array, term));
        let filled = filled.collect::<DfResult<Vec<ArrayRef>>>()?;
        let fields: Vec<SortField> = filled.iter().zip(&self.terms).map(field).collect();
        let rows = RowConverter::new(fields)?.convert_columns(&filled)?;
        Ok(Arc::new(rows.try_into_binary()?))
    }
}

/// An array with something in the place of NULL.
fn filled(array: &ArrayRef, term: &Term) -> DfResult<ArrayRef> {
    let Some(nothing) = term.nothing.as_ref().filter(|_| array.null_count() > 0) else {
        return Ok(Arc::clone(array));
    };
    let nothing = match array.data_type() {
        DataType::Binary => ScalarValue::Binary(Some(nothing.clone())),
        ty => ScalarValue::new_zero(ty)?,
    };
    Ok(zip(&is_not_null(array)?, array, &nothing.to_scalar()?)?)
}

impl ScalarUDFImpl for RowKey {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DfResult<DataType> {
        Ok(DataType::Binary)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DfResult<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|arg| arg.to_array(rows));
        let arrays = arrays.collect::<DfResult<Vec<ArrayRef>>>()?;
        self.keys_of(&arrays).map(ColumnarValue::Array)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray, BinaryArray, Float64Array, Int64Array};

    use super::*;

    /// The order in which rows come.
    fn sorted(keys: &[ArrayRef], ascending: &[bool], nothing: &[u8]) -> Vec<usize> {
        let term = |ascending: &bool| Term {
            ascending: *ascending,
            nulls_first: true,
            nothing: Some(nothing.to_vec()),
        };
        let udf = RowKey {
            name: String::new(),
            signature: udf::signature(keys.len(), Volatility::Immutable),
            terms: ascending.iter().map(term).collect(),
            id: udf::next_id(),
        };
        let bytes = udf.keys_of(keys).expect("keys");
        let bytes = bytes.as_binary::<i32>();
        let mut rows: Vec<usize> = (0..bytes.len()).collect();
        rows.sort_by_key(|row| bytes.value(*row));
        rows
    }

    #[test]
    fn keys_are_sorted_as_their_terms_say_and_null_as_zero() {
        let numbers: ArrayRef =
            Arc::new(Int64Array::from(vec![Some(3), Some(-1), None, Some(1), Some(3)]));
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.5, 0.0, 7.0, -2.0, -1e300]));
        assert_eq!(sorted(&[Arc::clone(&numbers)], &[true], b""), [1, 2, 3, 0, 4]);
        assert_eq!(
            sorted(&[Arc::clone(&numbers), Arc::clone(&floats)], &[false, true], b""),
            [4, 0, 3, 2, 1]
        );
        assert_eq!(sorted(&[floats, numbers], &[false, true], b""), [2, 0, 1, 3, 4]);
        let texts: ArrayRef = Arc::new(BinaryArray::from(vec![
            Some(b"b".as_slice()),
            None,
            Some(b"ba".as_slice()),
            Some(b"\x01".as_slice()),
        ]));
        assert_eq!(sorted(&[Arc::clone(&texts)], &[true], b"\x20"), [3, 1, 0, 2]);
        assert_eq!(sorted(&[texts], &[false], b"\x20"), [2, 0, 1, 3]);
    }

    #[test]
    fn many_terms_are_one() {
        let column = |at: usize| super::super::query::column_expr(&format!("c{at}"));
        let terms = |count| (0..count).map(|at| SortExpr::new(column(at), true, true)).collect();
        assert_eq!(few_terms(terms(MANY_KEYS)).len(), MANY_KEYS);
        assert_eq!(few_terms(terms(MANY_KEYS + 1)).len(), 1);
        assert_eq!(few_keys((0..MANY_KEYS + 1).map(column).collect()).len(), 1);
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(0), None, Some(-1), Some(2)]));
        let order = |ascending| {
            let nulls_first = ascending;
            let term = Term { ascending, nulls_first, nothing: None };
            let udf = RowKey {
                name: String::new(),
                signature: udf::signature(1, Volatility::Immutable),
                terms: vec![term],
                id: udf::next_id(),
            };
            let bytes = udf.keys_of(&[Arc::clone(&numbers)]).expect("keys");
            let mut rows: Vec<usize> = (0..4).collect();
            rows.sort_by_key(|row| bytes.as_binary::<i32>().value(*row).to_vec());
            rows
        };
        assert_eq!(order(true), [1, 2, 0, 3]);
        assert_eq!(order(false), [3, 0, 2, 1]);
    }

    #[test]
    fn numbers_are_places_of_values() {
        let number = |digits: &str| {
            let number = ast::Expr::value(ast::Value::Number(digits.to_owned(), false));
            ast::Expr::Nested(Box::new(number))
        };
        assert_eq!(place(&number("2")), Some(2));
        assert_eq!(place(&number("1.5")), None);
        assert_eq!(value_at(&[], 0).expect_err("no value").errno(), 1054);
        assert_eq!(value_at(&[], 1).expect_err("no value").errno(), 1054);
    }
}

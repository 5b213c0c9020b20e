//! Several sort keys as one sequence of bytes.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{SortOptions, is_not_null};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, SortExpr,
    Volatility,
};

use crate::datafusion_adapter::udf::{self, DfResult, by_identity};

/// How a row is sorted by one of its keys.
pub(crate) struct KeyTerm {
    /// Whether it goes up.
    pub(crate) ascending: bool,
    /// Whether NULL comes first.
    pub(crate) nulls_first: bool,
    /// What NULL is sorted as where the key is bytes. Where it is a number, that is zero: MySQL
    /// compares what lies below the mark of a NULL. `None` where NULL has a place of its own.
    pub(crate) nothing: Option<Vec<u8>>,
}

/// More keys than these become one: the planner's time grows with the cube of their number.
const MANY_KEYS: usize = 16;

/// The terms of an ORDER BY, as one term where they are many.
pub(crate) fn few_terms(terms: Vec<SortExpr>) -> Vec<SortExpr> {
    if terms.len() <= MANY_KEYS {
        return terms;
    }
    let term = |it: SortExpr| {
        (it.expr, KeyTerm { ascending: it.asc, nulls_first: it.nulls_first, nothing: None })
    };
    let (keys, terms) = terms.into_iter().map(term).unzip();
    vec![SortExpr::new(RowKey::of(keys, terms), true, true)]
}

/// Keys of which only equality counts, as one key where they are many.
pub(crate) fn few_keys(keys: Vec<Expr>) -> Vec<Expr> {
    if keys.len() <= MANY_KEYS {
        return keys;
    }
    let term = |_: &Expr| KeyTerm { ascending: true, nulls_first: true, nothing: None };
    let terms = keys.iter().map(term).collect();
    vec![RowKey::of(keys, terms)]
}

/// Makes one sequence of bytes of several keys, which is sorted as they are.
pub(crate) struct RowKey {
    name: String,
    signature: Signature,
    terms: Vec<KeyTerm>,
    id: u64,
}

by_identity!(RowKey);

impl RowKey {
    /// One key of several.
    pub(crate) fn of(keys: Vec<Expr>, terms: Vec<KeyTerm>) -> Expr {
        let udf = Self {
            name: "row_key".to_owned(),
            signature: udf::signature(keys.len(), Volatility::Immutable),
            terms,
            id: udf::next_id(),
        };
        ScalarUDF::new_from_impl(udf).call(keys)
    }

    fn keys_of(&self, arrays: &[ArrayRef]) -> DfResult<ArrayRef> {
        let field = |(array, term): (&ArrayRef, &KeyTerm)| {
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
fn filled(array: &ArrayRef, term: &KeyTerm) -> DfResult<ArrayRef> {
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
        let term = |ascending: &bool| KeyTerm {
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
        let column =
            |at: usize| crate::datafusion_adapter::plan_nodes::column_expr(&format!("c{at}"));
        let terms = |count| (0..count).map(|at| SortExpr::new(column(at), true, true)).collect();
        assert_eq!(few_terms(terms(MANY_KEYS)).len(), MANY_KEYS);
        assert_eq!(few_terms(terms(MANY_KEYS + 1)).len(), 1);
        assert_eq!(few_keys((0..MANY_KEYS + 1).map(column).collect()).len(), 1);
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(0), None, Some(-1), Some(2)]));
        let order = |ascending| {
            let nulls_first = ascending;
            let term = KeyTerm { ascending, nulls_first, nothing: None };
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
}

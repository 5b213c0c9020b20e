//! Changes of form as functions of DataFusion.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use pelorus_expression::Form;
#[cfg(test)]
use pelorus_functions::EqualityKey;
use pelorus_functions::EvalContext;
use pelorus_types::ColumnType;

use super::udf::{DfResult, column_name, into_datafusion};

/// A change of form as a function.
#[derive(Debug)]
pub(crate) struct FormUdf {
    pub(crate) form: Arc<Form>,
    pub(crate) context: Arc<EvalContext>,
    signature: Signature,
}

impl FormUdf {
    fn function(form: Form, context: &Arc<EvalContext>, volatility: Volatility) -> ScalarUDF {
        let (form, context) = (Arc::new(form), Arc::clone(context));
        let signature = Signature::any(1, volatility);
        ScalarUDF::new_from_impl(Self { form, context, signature })
    }

    /// The key by which a value of another type is compared.
    #[cfg(test)]
    pub(crate) fn equality(key: EqualityKey, ty: ColumnType) -> ScalarUDF {
        let context = Arc::new(EvalContext::default());
        Self::function(Form::Equality(key, ty), &context, Volatility::Immutable)
    }
}

/// An expression in another form.
pub(crate) fn form(what: Form, context: &Arc<EvalContext>, expr: Expr) -> Expr {
    FormUdf::function(what, context, Volatility::Immutable).call(vec![expr])
}

/// A value of a scalar subquery that may have no row, NULL in that case. DataFusion takes a value
/// that is never NULL within a query for one that is never NULL outside.
pub(crate) fn maybe_missing(expr: Expr, ty: ColumnType, context: &Arc<EvalContext>) -> Expr {
    // What is constant would be put in its place.
    FormUdf::function(Form::Same(ty), context, Volatility::Volatile).call(vec![expr])
}

impl PartialEq for FormUdf {
    fn eq(&self, other: &Self) -> bool {
        self.form == other.form && Arc::ptr_eq(&self.context, &other.context)
    }
}

impl Eq for FormUdf {}

impl std::hash::Hash for FormUdf {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.form.hash(state);
    }
}

impl ScalarUDFImpl for FormUdf {
    fn name(&self) -> &str {
        self.form.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DfResult<DataType> {
        Ok(self.form.arrow())
    }

    fn schema_name(&self, args: &[Expr]) -> DfResult<String> {
        Ok(column_name(self.name(), &self.form, args))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DfResult<ColumnarValue> {
        let (array, constant) = match &args.args[0] {
            ColumnarValue::Array(array) => (Arc::clone(array), false),
            ColumnarValue::Scalar(value) => (value.to_array_of_size(1)?, true),
        };
        let result = self.form.apply(&array, &self.context).map_err(into_datafusion)?;
        if constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
        }
        Ok(ColumnarValue::Array(result))
    }
}

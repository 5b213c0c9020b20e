//! The numeric and text forms of the value that IF, CASE and similar functions choose, if they
//! differ from those of its type. A derived table has columns for these forms, since MySQL merges
//! it into the enclosing block.

use std::sync::Arc;

use datafusion::logical_expr::Expr;
use pelorus_error::Result;
use pelorus_functions::{EvalContext, TextForm};
use pelorus_types::ColumnType;

use super::{Choice, TypedExpr};

/// Where the number and the text of a value come from.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "an Arc holds it")]
pub(super) enum Chosen {
    /// The call that chose it.
    Call(Choice),
    /// Columns of a derived table.
    Columns { number: Option<TypedExpr>, text: Option<TypedExpr> },
}

/// The numeric and text forms of an output column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forms {
    mixes: bool,
    text_form: TextForm,
    number: Option<TypedExpr>,
    text: Option<TypedExpr>,
    /// The value with all digits of a quotient.
    pub(crate) digits: Option<TypedExpr>,
}

impl Forms {
    /// Of a value that a server chose: its number is not known where its type has other values.
    pub(crate) fn of_server(ty: &ColumnType, is_choice: bool) -> Self {
        let mixes = is_choice && (ty.is_string() || ty.is_temporal());
        Self { mixes, ..Self::default() }
    }

    /// The same by other names of columns.
    ///
    /// # Errors
    /// Those of `rename`.
    pub(crate) fn renamed(&self, rename: &impl Fn(&Expr) -> Result<Expr>) -> Result<Self> {
        let renamed = |it: &Option<TypedExpr>| it.as_ref().map(|it| it.renamed(rename)).transpose();
        let (number, text) = (renamed(&self.number)?, renamed(&self.text)?);
        Ok(Self { number, text, digits: renamed(&self.digits)?, ..self.clone() })
    }
}

impl TypedExpr {
    /// The numeric and text forms of an output column with this value. `add` makes columns of the
    /// computed forms.
    pub(crate) fn forms(
        &self,
        context: &Arc<EvalContext>,
        mut add: impl FnMut(Expr) -> Expr,
    ) -> Forms {
        // What is not known is refused where it is asked for.
        let mut column = |form: Option<TypedExpr>| {
            form.map(|it| {
                let mut column = TypedExpr { chosen: None, ..it.at(add(it.expr.clone()), None) };
                // An outer join may fill it with NULL.
                column.set_nullable();
                column
            })
        };
        let number = if self.arg.mixes { self.number(true, context).ok().flatten() } else { None };
        let is_chosen = self.arg.text_form == TextForm::Chosen;
        let text = if is_chosen { self.text(context).ok().flatten() } else { None };
        let (number, text) = (column(number), column(text));
        let (mixes, text_form) = (self.arg.mixes, self.arg.text_form);
        Forms { mixes, text_form, number, text, digits: None }
    }

    /// The same column of a derived table that is merged into the block around it.
    #[must_use]
    pub(crate) fn with_forms(mut self, forms: Forms) -> Self {
        let Forms { mixes, text_form, number, text, .. } = forms;
        (self.arg.mixes, self.arg.text_form) = (mixes, text_form);
        if number.is_some() || text.is_some() {
            self.chosen = Some(Arc::new(Chosen::Columns { number, text }));
        }
        self
    }
}

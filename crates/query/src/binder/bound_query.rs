//! A bound query: a plan, and the meaning of its columns.

use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use pelorus_functions::EvalContext;
use pelorus_types::{Column, ColumnType, WireType};

use super::facts::Facts;
use super::typed_expression::{Forms, TypedExpr};
use crate::datafusion_adapter::plan_nodes::column_expr;

/// A query as a plan, with the meaning of its columns.
#[derive(Clone, Debug)]
pub(crate) struct BoundQuery {
    /// The plan. It may carry more columns than the query has: keys that order and group.
    pub(crate) plan: LogicalPlan,
    /// The columns of the query; their expressions name columns of the plan.
    pub(crate) columns: Vec<BoundColumn>,
    /// Which columns determine others, by their places.
    pub(crate) facts: Facts,
}

impl BoundQuery {
    /// A query of whose columns nothing is known.
    pub(crate) fn new(plan: LogicalPlan, columns: Vec<BoundColumn>) -> Self {
        Self { plan, columns, facts: Facts::default() }
    }
}

/// A column of a bound query.
#[derive(Clone, Debug)]
pub(crate) struct BoundColumn {
    /// The column that the client sees.
    pub(crate) meta: Column,
    /// The column of the plan.
    pub(crate) value: TypedExpr,
    /// Its numeric and text forms in a block into which MySQL merges its own; `None` if a server
    /// computed it.
    pub(crate) forms: Option<Forms>,
}

impl BoundColumn {
    /// A column whose block is merged into no other one.
    pub(crate) fn new(meta: Column, value: TypedExpr) -> Self {
        Self { meta, value, forms: Some(Forms::default()) }
    }

    /// A column that a server made.
    pub(crate) fn of_server(meta: Column, value: TypedExpr) -> Self {
        Self { meta, value, forms: None }
    }

    /// Gives a computed column the type that it has in a temporary table of MySQL's.
    pub(crate) fn in_temporary_table(&mut self, context: &Arc<EvalContext>) {
        let from = self.value.ty;
        if self.meta.org_name.is_empty() {
            let to = from.in_temporary_table();
            match to.arrow() == from.arrow() {
                true => self.describe(to),
                false => self.convert(to, context),
            }
        }
    }

    /// Describes a computed column as one of a temporary table of MySQL's.
    pub(crate) fn as_temporary_column(&mut self) {
        if self.meta.org_name.is_empty() {
            self.describe(self.value.ty.as_temporary_column());
        }
    }

    fn describe(&mut self, ty: ColumnType) {
        self.value.describe(ty);
        self.meta.ty = ty;
    }

    /// The same of MIN and MAX of integers that are computed: such aggregates are BIGINT there.
    pub(crate) fn as_extreme(&mut self, context: &Arc<EvalContext>) {
        let from = self.value.ty;
        if from.is_integer() && !matches!(from.wire, WireType::LongLong | WireType::Bit) {
            self.convert(ColumnType { wire: WireType::LongLong, ..from }, context);
        }
    }

    fn convert(&mut self, to: ColumnType, context: &Arc<EvalContext>) {
        self.value = self.value.clone().converted(to, context);
        self.meta.ty = to;
    }
}

/// Columns of a plan by their names in it.
pub(crate) fn named(metas: &[Column], names: &[String]) -> Vec<BoundColumn> {
    metas
        .iter()
        .zip(names)
        .map(|(meta, name)| {
            BoundColumn::new(meta.clone(), TypedExpr::computed(column_expr(name), meta.ty))
        })
        .collect()
}

//! Base tables as leaves of a plan that is built here: tables of a server, and system tables of
//! Pelorus.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::datasource::provider_as_source;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use pelorus_error::{Code, Error, Result};
use pelorus_sql::ast_analysis;
use pelorus_sql::literal;
use pelorus_types::Column;
use sqlparser::ast::{self, BinaryOperator};

use super::function_call;
use super::scope::Scope;
use super::statement::Binder;
use super::typed_expression::TypedExpr;
use crate::context::InfoSchema;
use crate::datafusion_adapter::plan_nodes::column_expr;
use crate::datafusion_adapter::udf::{from_datafusion, into_datafusion};

impl Binder<'_> {
    /// A leaf of the plan that reads streams.
    pub(crate) fn leaf(
        &self,
        schema: SchemaRef,
        streams: Vec<Arc<dyn PartitionStream>>,
    ) -> Result<LogicalPlan> {
        let table = StreamingTable::try_new(schema, streams).map_err(from_datafusion)?;
        let source = provider_as_source(Arc::new(table));
        LogicalPlanBuilder::scan(self.fresh("t"), source, None)
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)
    }

    /// A table of Pelorus's inside.
    pub(crate) async fn info_table(
        &self,
        schema: &str,
        table: &str,
        alias: &str,
        source: Arc<dyn InfoSchema>,
        select: &ast::Select,
    ) -> Result<(LogicalPlan, Scope)> {
        let columns = source.table(table).ok_or_else(|| {
            Error::new(
                Code::UnknownTableInFieldList,
                format!("Unknown table '{table}' in {schema}"),
            )
        })?;
        let equals = select
            .selection
            .as_ref()
            .map_or_else(Vec::new, |selection| self.equalities(selection, alias, &columns));
        let names: Vec<String> = columns.iter().map(|_| self.fresh("c")).collect();
        let fields: Vec<Field> =
            columns.iter().zip(&names).map(|(it, name)| it.field().with_name(name)).collect();
        let arrow = Arc::new(Schema::new(fields));
        let stream =
            InfoStream { source, table: table.to_owned(), equals, schema: Arc::clone(&arrow) };
        let plan = self.leaf(arrow, vec![Arc::new(stream)])?;
        let typed = columns
            .iter()
            .zip(&names)
            .map(|(column, name)| TypedExpr::column(column_expr(name), column))
            .collect();
        let mut scope = Scope::default();
        scope.push_relation(schema, alias, typed);
        Ok((plan, scope))
    }

    /// Conditions `column = 'text'` of WHERE, which tell what not to fetch.
    fn equalities(
        &self,
        selection: &ast::Expr,
        alias: &str,
        columns: &[Column],
    ) -> Vec<(String, String)> {
        let name_of = |expr: &ast::Expr| match expr {
            ast::Expr::Identifier(name) => Some(name.value.clone()),
            ast::Expr::CompoundIdentifier(path) => match &path[..] {
                [table, name] if table.value.eq_ignore_ascii_case(alias) => {
                    Some(name.value.clone())
                }
                _ => None,
            },
            _ => None,
        };
        let text_of = |expr: &ast::Expr| match literal::constant(expr, self.context.mode) {
            Some(literal::Constant::Text { text, .. }) => Some(text),
            _ => match expr {
                ast::Expr::Function(function)
                    if matches!(
                        function_call::name_of(function).as_str(),
                        "DATABASE" | "SCHEMA"
                    ) =>
                {
                    self.context.database.clone()
                }
                _ => None,
            },
        };
        let mut found = Vec::new();
        for condition in ast_analysis::conjuncts(selection) {
            let ast::Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = condition else {
                continue;
            };
            for (name, value) in [(left, right), (right, left)] {
                if let (Some(name), Some(value)) = (name_of(name), text_of(value))
                    && columns.iter().any(|column| column.name.eq_ignore_ascii_case(&name))
                {
                    found.push((name.to_ascii_uppercase(), value));
                }
            }
        }
        found
    }
}

/// The rows of a system table of Pelorus, built on demand.
struct InfoStream {
    source: Arc<dyn InfoSchema>,
    table: String,
    equals: Vec<(String, String)>,
    schema: SchemaRef,
}

impl std::fmt::Debug for InfoStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rows of {}", self.table)
    }
}

impl PartitionStream for InfoStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let source = Arc::clone(&self.source);
        let (table, equals) = (self.table.clone(), self.equals.clone());
        let schema = Arc::clone(&self.schema);
        let rows = futures::stream::once(async move {
            let batch = source.rows(&table, &equals).await.map_err(into_datafusion)?;
            RecordBatch::try_new(schema, batch.columns().to_vec()).map_err(Into::into)
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}

//! The scan of a fragment over its ranges, as a leaf of a DataFusion plan.

use std::sync::{Arc, PoisonError};

use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::{StreamExt, TryStreamExt};
use pelorus_error::Result;
use pelorus_link::{Link, Moment, ScanRequest};
use pelorus_types::Column;

use crate::binder::statement::Binder;
use crate::binder::typed_expression::TypedExpr;
use crate::datafusion_adapter::plan_nodes::column_expr;
use crate::datafusion_adapter::udf::into_datafusion;
use crate::journal::{Entry, Journal};

/// A fragment that starts at the first poll.
struct FragmentStream {
    link: Link,
    /// The moment that all fragments of the statement on this link share.
    moment: Moment,
    ticket: usize,
    request: ScanRequest,
    schema: SchemaRef,
    journal: Journal,
    entry: usize,
}

impl std::fmt::Debug for FragmentStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "fragment on {}", self.link.name())
    }
}

impl PartitionStream for FragmentStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (moment, ticket, request) = (self.moment.clone(), self.ticket, self.request.clone());
        let (schema, journal, entry) = (Arc::clone(&self.schema), self.journal.clone(), self.entry);
        let started = async move {
            let scan = moment.scan(ticket, request).await.map_err(into_datafusion)?;
            journal.ran(entry, Arc::clone(&scan.report));
            let rows = futures::stream::select_all(scan.streams).map(move |batch| {
                let batch = batch.map_err(into_datafusion)?;
                // The server's column names give way to the plan's.
                RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec())
                    .map_err(Into::into)
            });
            Ok::<_, DataFusionError>(rows)
        };
        let rows = futures::stream::once(started).try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}

impl Binder<'_> {
    /// A leaf of the plan that runs a fragment. `columns` describe its columns; the result names
    /// them in the plan.
    pub(crate) fn fragment(
        &self,
        link: &Link,
        request: ScanRequest,
        columns: &[Column],
        how: String,
    ) -> Result<(LogicalPlan, Vec<TypedExpr>)> {
        let first = request.ranges.first();
        let sql = first.map(|range| request.fragment.render(range, &request.qualifier));
        let entry = self.journal.note(Entry {
            link: link.name().to_owned(),
            what: "fragment",
            how,
            ranges: request.ranges.len(),
            sql: sql.unwrap_or_default(),
            report: None,
        });
        let names: Vec<String> = columns.iter().map(|_| self.fresh("c")).collect();
        let fields: Vec<Field> =
            columns.iter().zip(&names).map(|(it, name)| it.field().with_name(name)).collect();
        let schema = Arc::new(Schema::new(fields));
        let moment = self.moment(link);
        let stream = FragmentStream {
            link: link.clone(),
            ticket: moment.add(&request),
            moment,
            request,
            schema: Arc::clone(&schema),
            journal: self.journal.clone(),
            entry,
        };
        let plan = self.leaf(schema, vec![Arc::new(stream)])?;
        let typed = columns
            .iter()
            .zip(&names)
            .map(|(column, name)| TypedExpr::column(column_expr(name), column))
            .collect();
        Ok((plan, typed))
    }

    /// The moment at which a statement reads a link.
    fn moment(&self, link: &Link) -> Moment {
        let mut moments = self.moments.lock().unwrap_or_else(PoisonError::into_inner);
        moments.entry(link.name().to_owned()).or_insert_with(|| link.moment()).clone()
    }
}

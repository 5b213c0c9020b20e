//! The task of a statement: parsing, binding and planning run in a task that can be cancelled.
//!
//! These steps do not reach an `await` for as long as the statement is large. In a task of their
//! own they leave the session free to react to `KILL`, the end of its connection and its time
//! limit. The session stops waiting at once, and the work ends at its next check of the statement's
//! [`Interrupt`]: the lexer and the parser check every thousand tokens, the binder at every part of
//! the statement, the optimizer between its rules, and every function before it is computed.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::ExecutionPlan;
use futures::Stream;
use pelorus_env::{StageMemory, blocking, blocking_steps, check_stage_memory};
use pelorus_error::{Error, Result};
use pelorus_functions::Interrupt;
use tokio::task::JoinHandle;

use crate::context::QueryContext;
use crate::datafusion_adapter::udf::{DfResult, into_datafusion};
use crate::result::{Block, BlockStream};

/// Texts from this length on are read away from the threads that serve others.
const LONG: usize = 16 << 10;

/// Reads a text, away from the threads that serve others where that takes long.
///
/// # Errors
/// 1317 when the statement was interrupted meanwhile, 1041 when its tree has no more memory.
pub(crate) fn reading<T>(sql: &str, context: &QueryContext, read: impl FnOnce() -> T) -> Result<T> {
    if sql.len() < LONG {
        return Ok(read());
    }
    let interrupt = context.eval.interrupt.clone();
    let stops = move || interrupt.is_set() || check_stage_memory().is_err();
    let read = blocking(|| context.trees.count(|| pelorus_sql::stop::unless(stops, read)));
    read.map_err(|stopped| match context.trees.refused() {
        Some(refused) => Error::out_of_memory(refused),
        None => stopped,
    })
}

/// Binds or plans: steps that may take long, whose trees count.
pub(crate) async fn building<T>(trees: &StageMemory, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    blocking_steps(poll_fn(|context| trees.count(|| work.as_mut().poll(context)))).await
}

/// A task that ends when it is dropped.
struct Task<T> {
    handle: JoinHandle<T>,
    interrupt: Interrupt,
    is_done: bool,
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if !self.is_done {
            self.interrupt.set();
            self.handle.abort();
        }
    }
}

/// Does work in a task of its own. When the result is dropped before its end, the work is
/// interrupted.
///
/// # Errors
/// Those of the work.
pub(crate) async fn apart<T: Send + 'static>(
    interrupt: &Interrupt,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let interrupt = interrupt.clone();
    let mut task = Task { handle: tokio::spawn(work), interrupt, is_done: false };
    let ended = (&mut task.handle).await;
    task.is_done = true;
    match ended {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(Error::internal("a statement's task ended").caused_by(error)),
        },
    }
}

/// Rows whose making is interrupted when they are dropped before their end.
struct Awaited {
    rows: BlockStream,
    interrupt: Interrupt,
    is_done: bool,
}

/// Interrupts the making of rows when they are dropped before their end.
pub(crate) fn awaited(rows: BlockStream, interrupt: &Interrupt) -> BlockStream {
    Box::pin(Awaited { rows, interrupt: interrupt.clone(), is_done: false })
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if !self.is_done {
            self.interrupt.set();
        }
    }
}

impl Stream for Awaited {
    type Item = Result<Block>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.rows.as_mut().poll_next(context);
        self.is_done |= matches!(next, Poll::Ready(None | Some(Err(_))));
        next
    }
}

/// A rule that looks whether the plan is still wanted.
#[derive(Debug)]
struct Asking<R: ?Sized> {
    interrupt: Interrupt,
    rule: Arc<R>,
}

type LogicalRule = dyn OptimizerRule + Send + Sync;
type PhysicalRule = dyn PhysicalOptimizerRule + Send + Sync;

/// Rules that look, at every node that they come to, whether the plan is still wanted.
pub(crate) fn asking(rules: Vec<Arc<LogicalRule>>, interrupt: &Interrupt) -> Vec<Arc<LogicalRule>> {
    let asking = |rule| Arc::new(Asking { interrupt: interrupt.clone(), rule }) as _;
    rules.into_iter().map(asking).collect()
}

/// Rules that look beforehand whether the plan is still wanted.
pub(crate) fn physically_asking(
    rules: Vec<Arc<PhysicalRule>>,
    interrupt: &Interrupt,
) -> Vec<Arc<PhysicalRule>> {
    let asking = |rule| Arc::new(Asking { interrupt: interrupt.clone(), rule }) as _;
    rules.into_iter().map(asking).collect()
}

impl OptimizerRule for Asking<LogicalRule> {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> DfResult<Transformed<LogicalPlan>> {
        self.interrupt.check().map_err(into_datafusion)?;
        self.rule.rewrite(plan, config)
    }
}

impl PhysicalOptimizerRule for Asking<PhysicalRule> {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }

    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> DfResult<Arc<dyn ExecutionPlan>> {
        self.interrupt.check().map_err(into_datafusion)?;
        self.rule.optimize(plan, config)
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> DfResult<Arc<dyn ExecutionPlan>> {
        self.interrupt.check().map_err(into_datafusion)?;
        self.rule.optimize_with_context(plan, context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn work_that_is_no_longer_awaited_is_interrupted() {
        let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let interrupt = Interrupt::default();
        let (begun, begins) = channel();
        let (say, hear) = channel();
        let its = interrupt.clone();
        let waits = runtime.spawn(async move {
            let work = async move {
                begun.send(()).ok();
                // It comes to no `await`.
                while !its.is_set() {
                    std::thread::yield_now();
                }
                say.send(7).ok();
                Ok(())
            };
            apart(&interrupt, work).await
        });
        begins.recv().unwrap();
        waits.abort();
        assert_eq!(hear.recv_timeout(Duration::from_secs(20)), Ok(7));
    }

    #[test]
    fn work_that_ends_is_not_interrupted() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let interrupt = Interrupt::default();
        assert_eq!(runtime.block_on(apart(&interrupt, async { Ok(7) })).unwrap(), 7);
        assert!(!interrupt.is_set());
        let rows: BlockStream = Box::pin(futures::stream::empty());
        drop(awaited(rows, &interrupt));
        assert!(interrupt.is_set());
        let interrupt = Interrupt::default();
        let mut rows = awaited(Box::pin(futures::stream::empty()), &interrupt);
        let next = runtime.block_on(futures::StreamExt::next(&mut rows));
        drop(rows);
        assert!(next.is_none() && !interrupt.is_set());
    }
}

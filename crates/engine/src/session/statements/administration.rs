//! `KILL` and `FLUSH`.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_result::scalar::text_of;
use pelorus_sql::statement::Kill;

use super::{done, locks};
use crate::api::Outcome;
use crate::session::context::TransactionContext;
use crate::session::expressions;
use crate::session::statement_snapshot::View;

/// `KILL`.
pub(crate) async fn kill(
    cx: &mut TransactionContext<'_>,
    view: &Arc<View>,
    kill: &Kill,
) -> Result<Outcome> {
    let (value, ty) = expressions::evaluate(cx, view, &kill.id).await?;
    let text = text_of(&value, &ty);
    let id = text
        .parse()
        .map_err(|_| Error::new(Code::NoSuchThread, format!("Unknown thread id: {text}")))?;
    cx.engine.kill_as(cx.identity.account(), id, kill.query_only)?;
    if id == cx.reads().id() {
        return Err(Error::interrupted());
    }
    Ok(done())
}

/// `FLUSH`: clears caches; objects that do not exist here are refused.
pub(crate) async fn flush(cx: &mut TransactionContext<'_>, words: &[String]) -> Result<Outcome> {
    let words: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !matches!(*word, "NO_WRITE_TO_BINLOG" | "LOCAL"))
        .collect();
    match words.as_slice() {
        // Accounts are read at each login.
        ["PRIVILEGES"] => cx.engine.accounts().forget_failures(),
        ["TABLES" | "TABLE"] => {
            cx.engine.links().forget();
            for link in cx.engine.links().all() {
                link.forget();
            }
        }
        ["TABLES" | "TABLE", "WITH", "READ", "LOCK"] => locks::lock_everything(cx).await?,
        ["STATUS"] => cx.process.counters.clear(),
        other => return Err(Error::unsupported(format_args!("FLUSH {}", other.join(" ")))),
    }
    Ok(done())
}

//! Loads: reads the waiting tables of a server, a few at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pelorus_error::{Code, Error, Result};
use pelorus_link::Link;
use tokio::task::{self, JoinSet};

use super::{RETRY_MAX, RETRY_MIN, Source};
use crate::control::initial_snapshot;
use crate::model::mirror::Mirror;
use crate::model::name::MirrorName;
use crate::model::record::State;

/// Tables of one server that are read at the same time.
const LOADS: usize = 2;
/// How often tables that wait are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

impl Source {
    /// Loads the waiting tables, until it is dropped.
    pub(super) async fn load_all(self: Arc<Self>, link: Link) {
        let mut tasks: JoinSet<(Arc<Mirror>, u64, Result<()>)> = JoinSet::new();
        let mut running: BTreeMap<MirrorName, (task::Id, Arc<Mirror>)> = BTreeMap::new();
        // How often each has failed, and when it is tried again.
        let mut tries: BTreeMap<MirrorName, (u32, Duration)> = BTreeMap::new();
        loop {
            let now = self.now();
            for mirror in self.mirrors() {
                let is_due = tries.get(&mirror.name).is_none_or(|(_, at)| *at <= now);
                let is_free = running.len() < LOADS && !running.contains_key(&mirror.name);
                if is_due
                    && is_free
                    && let Some(turn) = mirror.waiting_turn()
                {
                    let (source, link) = (Arc::clone(&self), link.clone());
                    let of_task = Arc::clone(&mirror);
                    let task = tasks.spawn(async move {
                        let result =
                            initial_snapshot::load(source, Arc::clone(&of_task), link, turn).await;
                        (of_task, turn, result)
                    });
                    running.insert(mirror.name.clone(), (task.id(), mirror));
                }
            }
            tokio::select! {
                Some(done) = tasks.join_next() => match done {
                    Ok((mirror, turn, result)) => {
                        running.remove(&mirror.name);
                        self.after_load(&mirror, turn, result, &mut tries);
                    }
                    Err(error) => {
                        tracing::error!("the reading of a table ended by an internal error");
                        let of_task = |_: &MirrorName, it: &mut (task::Id, _)| it.0 == error.id();
                        for (_, (_, mirror)) in running.extract_if(.., of_task) {
                            let error = Error::internal("the reading of the table has panicked");
                            self.after_load(&mirror, mirror.turn(), Err(error), &mut tries);
                        }
                    }
                },
                () = self.wake.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    pub(super) fn after_load(
        &self,
        mirror: &Mirror,
        turn: u64,
        result: Result<()>,
        tries: &mut BTreeMap<MirrorName, (u32, Duration)>,
    ) {
        let error = match result {
            Ok(()) => {
                tries.remove(&mirror.name);
                *mirror.trouble.lock() = None;
                return;
            }
            Err(error) if initial_snapshot::is_overtaken(&error) || mirror.turn() != turn => return,
            Err(error) => error,
        };
        let tried = tries.get(&mirror.name).map_or(0, |it| it.0) + 1;
        let wait = RETRY_MIN.saturating_mul(2_u32.saturating_pow(tried.min(8))).min(RETRY_MAX);
        tries.insert(mirror.name.clone(), (tried, self.now() + wait));
        self.note_load_failure(mirror, &error);
    }

    /// Notes a failed load: temporary failures are retried, definite ones are not.
    pub(super) fn note_load_failure(&self, mirror: &Mirror, error: &Error) {
        let mut text = pelorus_error::display_chain(error);
        if error.code() == Code::NoSuchTable {
            text.push_str(
                "; it is mirrored when it is made, or when ALTER MIRROR ... RESUME finds it",
            );
        }
        let name = &mirror.name;
        let is_transient = matches!(
            error.code(),
            Code::ConnectToForeign
                | Code::QueryOnForeign
                | Code::TableChanged
                | Code::DiskFull
                | Code::Remote(_)
        );
        let was = mirror.trouble.lock().take();
        let outcome = if !is_transient {
            tracing::warn!(mirror = %name, error = text, "a table cannot be mirrored");
            mirror.stop_in(self.store(), State::Failed, Some(text))
        } else if error.code() == Code::TableChanged {
            mirror.begin_again(self.store(), Some(text))
        } else {
            if was.as_ref() != Some(&text) {
                tracing::warn!(mirror = %name, error = text, "a table cannot be read; it is tried again");
            }
            *mirror.trouble.lock() = Some(text);
            Ok(())
        };
        if let Err(error) = outcome {
            let error = pelorus_error::display_chain(&error);
            tracing::error!(mirror = %name, error, "the state of a mirror cannot be kept");
        }
    }
}

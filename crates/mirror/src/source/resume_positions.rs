//! Resume positions: where a server's stream is and where it restarts, and mirrors that leave the
//! stream and rejoin it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::MutexGuard;
use pelorus_binlog::Position;
use pelorus_env::blocking;
use pelorus_error::Result;

use super::Source;
use crate::control::initial_snapshot::is_overtaken;
use crate::model::mirror::{Mirror, Values};
use crate::model::record;
use crate::model::record::{SourceRecord, State};

/// How often the stream is reminded to commit what it has.
const SETTLE_EVERY: Duration = Duration::from_millis(50);

impl Source {
    /// Up to where the stream has been applied.
    pub(crate) fn position(&self) -> Option<Position> {
        self.applied.borrow().clone()
    }

    /// Stops following a table.
    pub(crate) fn pause(&self, mirror: &Mirror) -> Result<()> {
        // Nothing is committed between the look at the position and the end of the following.
        let _moving = self.hold();
        match mirror.state() {
            State::Paused => Ok(()),
            // What has been read can be gone on from the place where the stream is.
            State::Live | State::CatchingUp => {
                self.keep_beginning(mirror)?;
                mirror.stop_in(self.store(), State::Paused, None)
            }
            _ => {
                mirror.begin_again(self.store(), None)?;
                mirror.stop_in(self.store(), State::Paused, None)
            }
        }
    }

    /// Resumes a table. The stream goes back to where it was paused; the other tables skip the
    /// changes that they have.
    pub(crate) fn resume(&self, mirror: &Mirror) -> Result<()> {
        let _moving = self.hold();
        let record = mirror.record();
        let place = record.from.as_deref().map(str::parse::<Position>).transpose()?;
        match (record.state, place) {
            (State::Paused, Some(place))
                if mirror.copy().is_some() && self.position().is_some() =>
            {
                let until = self.level(mirror)?;
                // It may come by there again, for the sake of others.
                let is_ahead = |at: &Position| place.has_passed(at) == Some(true);
                let goes_back = !self.position().as_ref().is_some_and(is_ahead);
                // One commit: a mirror that follows from a place before the stream would miss what is
                // between them, if the process ended there.
                let values = if goes_back { self.to_go_to(&place)? } else { Values::new() };
                mirror.update_with(self.store(), values, |record| {
                    record.state = State::CatchingUp;
                    record.reason = None;
                    record.until = until.map(|it| it.to_string());
                })?;
                if goes_back {
                    self.has_gone_to(&place);
                } else {
                    self.begin_stream_again();
                }
                Ok(())
            }
            (State::Paused | State::Failed, _) => {
                mirror.begin_again(self.store(), None)?;
                self.wake();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Notes for all mirrors but one that they have everything up to where the stream is. Returns
    /// the position from which on that one can be read together with the others: one of them may
    /// be further than the stream, which has gone back before for another.
    pub(super) fn level(&self, mirror: &Mirror) -> Result<Option<Position>> {
        let mut level = self.position();
        let mut reach = |text: Option<String>| {
            let other = text.and_then(|it| it.parse::<Position>().ok());
            let is_later = match (&other, &level) {
                (Some(other), Some(level)) => other.has_passed(level) == Some(true),
                (other, None) => other.is_some(),
                (None, _) => false,
            };
            if is_later {
                level = other;
            }
        };
        for other in self.mirrors() {
            if other.state().follows() && other.name != mirror.name {
                match self.keep_beginning(&other) {
                    Ok(()) => reach(other.record().from),
                    // It was ended at this moment.
                    Err(error) if is_overtaken(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let record = mirror.record();
        reach(record.until);
        reach(record.from);
        Ok(level)
    }

    /// Notes for a mirror that it has everything up to where the stream is.
    pub(super) fn keep_beginning(&self, mirror: &Mirror) -> Result<()> {
        let Some(at) = self.position() else { return Ok(()) };
        let earlier = mirror.record().from.and_then(|it| it.parse::<Position>().ok());
        if earlier.is_some_and(|earlier| earlier.has_passed(&at) == Some(true)) {
            return Ok(());
        }
        mirror.update(self.store(), |record| record.from = Some(at.to_string()))
    }

    /// Lets the stream begin again at a position.
    pub(super) fn go_to(&self, place: &Position) -> Result<()> {
        let _moving = self.hold();
        if self.position().is_none() {
            self.begin_left_again()?;
        }
        self.keep_values(self.to_go_to(place)?)?;
        self.has_gone_to(place);
        Ok(())
    }

    /// What is kept when the stream goes to a place: that, and how far it was where it goes back.
    fn to_go_to(&self, place: &Position) -> Result<Values> {
        let mut values = self.to_keep_position(Some(place));
        let (Some(at), Some(known)) = (self.position(), self.known()?) else { return Ok(values) };
        let earlier = known.reached.as_deref().and_then(|it| it.parse::<Position>().ok());
        let is_known = earlier.is_some_and(|earlier| earlier.has_passed(&at) == Some(true));
        if !is_known && place.has_passed(&at) != Some(true) {
            values.push(self.to_keep(&SourceRecord { reached: Some(at.to_string()), ..known })?);
        }
        Ok(values)
    }

    /// The stream begins again at a place that is kept.
    fn has_gone_to(&self, place: &Position) {
        self.applied.send_replace(Some(place.clone()));
        self.begin_stream_again();
    }

    /// Whether the stream has met an event before it went back: which tables there are since, and
    /// under which names, is known. After the place where it was everything is new, also where a
    /// MariaDB gives out lower numbers again.
    pub(crate) fn has_met(&self, is_old: &dyn Fn(&Position) -> bool) -> Result<bool> {
        let reached = self.known()?.and_then(|it| it.reached);
        let Some(reached) = reached.and_then(|it| it.parse::<Position>().ok()) else {
            return Ok(false);
        };
        let is_past = self.position().is_some_and(|at| at.has_passed(&reached) == Some(true));
        Ok(!is_past && is_old(&reached))
    }

    /// Whether the running stream must end: its further events must not count.
    pub(crate) fn must_begin_again(&self) -> bool {
        self.is_stopping() || self.moved.load(Ordering::Acquire)
    }

    /// Ends the stream; it begins again where it was.
    pub(crate) fn begin_stream_again(&self) {
        self.moved.store(true, Ordering::Release);
        self.wake();
    }

    /// Sees that the stream begins at a position or before it.
    pub(crate) fn begin_at(&self, place: &Position) -> Result<()> {
        let is_set = self.position().is_some();
        if is_set { Ok(()) } else { self.go_to(place) }
    }

    /// The next stream begins at a position of its own.
    pub(super) fn give_up_position(&self, _moving: &MutexGuard<'_, ()>) -> Result<()> {
        let mut values = self.to_keep_position(None);
        let has_met = |it: &SourceRecord| it.renamed.is_some() || it.reached.is_some();
        if let Some(known) = self.known()?.filter(has_met) {
            // Positions may mean other events from now on.
            values.push(self.to_keep(&SourceRecord { renamed: None, reached: None, ..known })?);
        }
        self.keep_values(values)?;
        self.applied.send_replace(None);
        self.moved.store(true, Ordering::Release);
        Ok(())
    }

    /// The stored values of a position that the stream did not reach by reading, or of none. The
    /// prepared XA transactions that it has seen are forgotten: after that position others may have
    /// their names.
    fn to_keep_position(&self, position: Option<&Position>) -> Values {
        let prepared = self.store().values(&record::xa_key(&self.link, ""));
        let mut values: Values = prepared.into_iter().map(|(key, _)| (key, None)).collect();
        let value = position.map(|it| it.to_string().into_bytes());
        values.push((record::position_key(&self.link), value));
        values
    }

    /// Reads all tables again, from a new position.
    pub(super) fn begin_all_again(&self, reason: &str) -> Result<()> {
        // The position first: without it no copy continues, should the rest fail or the process
        // end. No other task sets a position before the rest is done.
        let moving = self.hold();
        self.give_up_position(&moving)?;
        for mirror in self.mirrors() {
            pass_over_ended(if mirror.state() != State::Paused {
                mirror.begin_again(self.store(), Some(reason.to_owned()))
            } else {
                mirror.update(self.store(), |record| record.from = None)
            })?;
        }
        Ok(())
    }

    /// Reads the tables again that were to be when the position was given up: the process ended
    /// then, or the disk was full.
    fn begin_left_again(&self) -> Result<()> {
        for mirror in self.mirrors() {
            let record = mirror.record();
            pass_over_ended(if record.state.follows() {
                let reason = "the stream of changes begins at another position";
                mirror.begin_again(self.store(), Some(reason.to_owned()))
            } else if record.from.is_some() {
                mirror.update(self.store(), |record| record.from = None)
            } else {
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Resynchronises the tables that need events after a position, and continues at the position
    /// of the others, which have more: the stream had gone back for the former. Returns whether
    /// there are others.
    pub(super) fn begin_those_again(&self, reason: &str, place: &Position) -> Result<bool> {
        let is_behind =
            |one: &Position, other: &Position| one != other && other.has_passed(one) == Some(true);
        let (mut needy, mut first): (Vec<Arc<Mirror>>, Option<Position>) = (Vec::new(), None);
        for mirror in self.mirrors().into_iter().filter(|it| it.state().follows()) {
            let from = mirror.record().from.and_then(|it| it.parse::<Position>().ok());
            match from.filter(|from| is_behind(place, from)) {
                None => needy.push(mirror),
                Some(from) if first.as_ref().is_none_or(|it| is_behind(&from, it)) => {
                    first = Some(from);
                }
                // One that is neither before nor after the first is met by it, or resynchronised
                // later.
                Some(_) => {}
            }
        }
        let Some(first) = first.filter(|_| !needy.is_empty()) else { return Ok(false) };
        for mirror in needy {
            tracing::warn!(mirror = %mirror.name, reason, "a table is mirrored anew");
            pass_over_ended(mirror.begin_again(self.store(), Some(reason.to_owned())))?;
        }
        self.go_to(&first)?;
        Ok(true)
    }

    /// Waits until the stream has committed everything that it had read before this call, if it
    /// runs: from then on it looks at the mirrors as they are now.
    pub(crate) async fn settle(&self) {
        let mut rounds = self.rounds.subscribe();
        // The round that runs now may have begun before the call.
        let wanted = *rounds.borrow_and_update() + 2;
        while *rounds.borrow_and_update() < wanted && self.status.lock().connected {
            self.wake();
            tokio::time::timeout(SETTLE_EVERY, rounds.changed()).await.ok();
        }
    }

    /// While this is held the stream commits nothing: the followed copies equal their tables at
    /// [`Self::position`].
    pub(crate) fn hold(&self) -> MutexGuard<'_, ()> {
        // The stream has it while it commits, which may have to wait for room in the store.
        self.moving.try_lock().unwrap_or_else(|| blocking(|| self.moving.lock()))
    }
}

/// The result of changing one mirror of many: it is not an error if the mirror was ended at this
/// moment.
fn pass_over_ended(changed: Result<()>) -> Result<()> {
    match changed {
        Err(error) if is_overtaken(&error) => Ok(()),
        other => other,
    }
}

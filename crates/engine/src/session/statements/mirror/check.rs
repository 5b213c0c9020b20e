//! `CHECK MIRROR`: compares a table with its copy while both change.
//!
//! Both sides compute checksums of the same ranges with the same SQL. A range that differs is
//! compared in many small pieces by hashes of the primary key, then row by row in the pieces that
//! differ ([`compare`]). A row that still differs may have changed between the reads; it is
//! therefore compared again at one position of the binlog ([`pelorus_mirror::control::repair`]),
//! where `REPAIR` also corrects it. So a concurrent write is never reported as a difference, and
//! only the rows that seem to differ are read again.

mod compare;
mod texts;

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_link::SessionSettings;
use pelorus_mirror::control::repair::{Difference, Differs, Examined};
use pelorus_mirror::{MirrorName, Mirrors, State};
use pelorus_native::definition::NativeDef;
use pelorus_result::result_table::{Cell, ResultTable, text};
use pelorus_result::scalar::{text_of, value_at};
use pelorus_sql::statement::MirrorTarget;

use self::compare::{Compared, Pair};
use super::mirrors_of;
use crate::api::Outcome;
use crate::links::LinkedDatabase;
use crate::mirror::hidden_database;
use crate::session::context::ReadContext;
use crate::session::stream;

/// Differences that are shown.
const SHOWN: usize = 20;

/// The result of a check.
struct Found {
    compared: Compared,
    examined: Examined,
    def: Arc<NativeDef>,
}

/// `CHECK MIRROR`.
pub(crate) async fn run(
    cx: ReadContext<'_>,
    target: &MirrorTarget,
    repair: bool,
) -> Result<Outcome> {
    let mut grid = ResultTable::new(vec![
        text("Table", 128),
        text("Op", 16),
        text("Msg_type", 16),
        text("Msg_text", 1024),
    ]);
    for name in mirrors_of(cx, target)? {
        let mut say = |kind: &str, message: String| {
            let row = [name.to_string(), "check".to_owned(), kind.to_owned(), message];
            grid.push(row.into_iter().map(Cell::from).collect());
        };
        match check_mirror(cx, &name, repair).await {
            Ok(found) => say_found(cx.engine.mirrors(), &name, &found, repair, &mut say)?,
            Err(error) => say("error", error.message().to_owned()),
        }
    }
    stream::grid(&grid).map(Outcome::Rows)
}

/// Reports the result, and resynchronises the table if its rows could not be corrected.
fn say_found(
    mirrors: &Mirrors,
    name: &MirrorName,
    found: &Found,
    repair: bool,
    say: &mut impl FnMut(&str, String),
) -> Result<()> {
    let Found { compared, examined, .. } = found;
    let (ranges, rows) = (compared.ranges, compared.rows);
    say("info", format!("{rows} rows in {ranges} ranges compared"));
    for difference in examined.differences.iter().take(SHOWN) {
        say("warning", found.shown(difference)?);
    }
    let more = examined.differences.len().saturating_sub(SHOWN);
    if more > 0 {
        say("warning", format!("{more} further rows differ"));
    }
    if examined.unsettled > 0 {
        let count = examined.unsettled;
        let text = match &examined.hindered {
            None => format!("{count} rows changed too often to be compared"),
            Some(why) => format!("{count} rows that seem to differ: {why}"),
        };
        say("note", text);
    }
    let whole_table = compared.only_as_a_whole.as_ref().or(examined.hindered.as_ref());
    let counts = counts(&examined.differences);
    let status = match (whole_table, repair) {
        (Some(why), true) => {
            mirrors.resync(name, "CHECK MIRROR ... REPAIR")?;
            format!("different; the table is being resynchronised: {why}")
        }
        (Some(why), false) => {
            format!("different; CHECK MIRROR ... REPAIR resynchronises the table: {why}")
        }
        (None, _) if examined.differences.is_empty() => "OK".to_owned(),
        (None, false) => {
            format!("different: {counts}; CHECK MIRROR ... REPAIR puts them right")
        }
        (None, true) => {
            let (read, place) = (examined.read, examined.position.as_deref());
            let place = place.unwrap_or_default();
            tracing::warn!(mirror = %name, counts, place, "rows of a mirror were put right");
            format!("repaired: {counts}; {read} rows were read again, for {place}")
        }
    };
    say("status", status);
    Ok(())
}

async fn check_mirror(cx: ReadContext<'_>, name: &MirrorName, repair: bool) -> Result<Found> {
    let mirrors = cx.engine.mirrors();
    let state = mirrors.list().into_iter().find(|it| it.name == *name).map(|it| it.state);
    if state != Some(State::Live) {
        let word = state.map_or("gone", State::word);
        return Err(Error::new(
            Code::WrongArguments,
            format!("'{name}' is {word}; a mirror that is live can be compared"),
        ));
    }
    let link = cx.engine.links().get(&name.link);
    let link = link.ok_or_else(|| Error::internal("a mirror without a link"))?;
    let local = link.local_database(&name.database).unwrap_or_default();
    let linked = LinkedDatabase { link, local, remote: name.database.clone() };
    let hidden = hidden_database(&name.link, &name.database);
    let def = cx.engine.native().require(&hidden, &name.table)?;
    let settings = SessionSettings::as_stored();
    let pair = Pair::new(cx, name.clone(), linked, Arc::clone(&def), settings);
    let (compared, suspects) = pair.compare().await?;
    let examined = match suspects.is_empty() {
        true => Examined::default(),
        false => mirrors.examine(name, suspects, repair).await?,
    };
    Ok(Found { compared, examined, def })
}

impl Found {
    /// A difference for people.
    fn shown(&self, difference: &Difference) -> Result<String> {
        let value = |(array, &at): (&arrow::array::ArrayRef, &usize)| {
            let ty = &self.def.targets[at].ty;
            Ok(text_of(&value_at(array, ty, 0)?, ty))
        };
        let key = difference.key.iter().zip(&self.def.key).map(value);
        let key = key.collect::<Result<Vec<_>>>()?.join(", ");
        Ok(match difference.differs {
            Differs::Missing => format!("the copy lacks the row ({key})"),
            Differs::Surplus => format!("the copy has the row ({key}), which the table has not"),
            Differs::Changed => format!("the row ({key}) differs"),
        })
    }
}

/// How many differences of each sort there are.
fn counts(differences: &[Difference]) -> String {
    let of = |differs| differences.iter().filter(|it| it.differs == differs).count();
    format!(
        "{} rows missing, {} surplus, {} with other values",
        of(Differs::Missing),
        of(Differs::Surplus),
        of(Differs::Changed)
    )
}

//! `CHECK MIRROR`: a table and its copy, compared while both change.
//!
//! Both sides compute checksums of the same ranges with the same SQL. Where they differ the rows of
//! the range are compared, and where those differ they are looked at again until it is clear: a
//! row is different when the server shows the same twice, and the copy, which has caught up in
//! between, shows something else. So what is written meanwhile is never taken for a difference.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::TimeZone;
use pelorus_link::SessionSettings;
use pelorus_mirror::{MirrorName, State};
use pelorus_query::QueryContext;
use pelorus_sql::literal;
use pelorus_sql::statement::MirrorTarget;
use pelorus_types::{ColumnType, WireType, collation};

use super::{Mirrored, Session};
use crate::api::{Outcome, RowFormat};
use crate::grid::{Cell, Grid, text};
use crate::links::LinkedDatabase;
use crate::mirror::filter::{condition_text, part};
use crate::mirror::hidden_database;
use crate::native::definition::NativeDef;
use crate::scalar::{text_of, value_at};
use crate::session::stream;

/// Rows of a range.
const RANGE_ROWS: u64 = 100_000;
/// How often a range whose checksums differ is looked at as a whole.
const TRIES: usize = 3;
/// How often rows that differ are looked at.
const ROUNDS: usize = 20;
/// Rows of one question.
const ROWS: usize = 200;
/// How long the copy may take to catch up.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// Differences that are shown.
const SHOWN: usize = 20;

/// What a comparison found.
#[derive(Debug, Default)]
struct Found {
    ranges: usize,
    rows: u64,
    /// Keys of rows that differ, for people.
    differences: Vec<String>,
    /// Keys of rows that changed all the time.
    unsettled: usize,
}

/// One table and its copy.
struct Pair<'s> {
    session: &'s Session,
    name: MirrorName,
    found: LinkedDatabase,
    def: Arc<NativeDef>,
    settings: SessionSettings,
    /// The text of a row, made of all columns that are copied.
    row: String,
}

impl Session {
    /// `CHECK MIRROR`.
    pub(super) async fn check_mirrors(
        &self,
        target: &MirrorTarget,
        repair: bool,
    ) -> Result<Outcome> {
        let mut grid = Grid::new(vec![
            text("Table", 128),
            text("Op", 16),
            text("Msg_type", 16),
            text("Msg_text", 1024),
        ]);
        for name in self.mirrors_of(target)? {
            let mut say = |kind: &str, message: String| {
                let row = [name.to_string(), "check".to_owned(), kind.to_owned(), message];
                grid.push(row.into_iter().map(Cell::from).collect());
            };
            match self.check_mirror(&name).await {
                Ok(found) => {
                    let (ranges, rows) = (found.ranges, found.rows);
                    say("info", format!("{rows} rows in {ranges} ranges compared"));
                    for key in found.differences.iter().take(SHOWN) {
                        say("warning", format!("the row {key} differs"));
                    }
                    let more = found.differences.len().saturating_sub(SHOWN);
                    if more > 0 {
                        say("warning", format!("{more} further rows differ"));
                    }
                    if found.unsettled > 0 {
                        let count = found.unsettled;
                        say("note", format!("{count} rows changed too often to be compared"));
                    }
                    match (found.differences.is_empty(), repair) {
                        (true, _) => say("status", "OK".to_owned()),
                        (false, false) => say(
                            "status",
                            "different; CHECK MIRROR ... REPAIR reads the table anew".to_owned(),
                        ),
                        (false, true) => {
                            self.engine.mirrors().resync(&name)?;
                            say("status", "different; the table is being read anew".to_owned());
                        }
                    }
                }
                Err(error) => say("error", error.message().to_owned()),
            }
        }
        stream::grid(&grid).map(Outcome::Rows)
    }

    async fn check_mirror(&self, name: &MirrorName) -> Result<Found> {
        let mirrors = self.engine.mirrors();
        let state = mirrors.list().into_iter().find(|it| it.name == *name).map(|it| it.state);
        if state != Some(State::Live) {
            let word = state.map_or("gone", State::word);
            return Err(Error::new(
                Code::WrongArguments,
                format!("'{name}' is {word}; a mirror that is live can be compared"),
            ));
        }
        let link = self.engine.links().get(&name.link);
        let link = link.ok_or_else(|| Error::internal("a mirror without a link"))?;
        let local = link.local_database(&name.database).unwrap_or_default();
        let found = LinkedDatabase { link, local, remote: name.database.clone() };
        let hidden = hidden_database(&name.link, &name.database);
        let def = self.engine.native().require(&hidden, &name.table)?;
        let settings = SessionSettings::as_stored();
        let row = row_text(&def);
        let pair = Pair { session: self, name: name.clone(), found, def, settings, row };
        pair.compare().await
    }
}

impl Pair<'_> {
    async fn compare(&self) -> Result<Found> {
        let mut found = Found::default();
        for condition in self.conditions().await? {
            found.ranges += 1;
            self.compare_range(&condition, &mut found).await?;
        }
        Ok(found)
    }

    /// The ranges as conditions; one for all where they are made of partitions.
    async fn conditions(&self) -> Result<Vec<String>> {
        let link = &self.found.link;
        let table = link.table(&self.found.local, &self.name.table).await?;
        let Some(table) = table else { return Err(Error::internal("the table is gone")) };
        let wanted = usize::try_from(table.rows.div_ceil(RANGE_ROWS).clamp(1, 4096)).unwrap_or(1);
        let split = link.split(&table, None, wanted).await?;
        if split.ranges.iter().any(|range| !range.partitions().is_empty()) {
            return Ok(vec!["1=1".to_owned()]);
        }
        let of = |range: &pelorus_link::KeyRange| range.predicate("");
        Ok(split.ranges.iter().map(|it| of(it).unwrap_or_else(|| "1=1".to_owned())).collect())
    }

    async fn compare_range(&self, condition: &str, found: &mut Found) -> Result<()> {
        let sums = format!("COUNT(*), BIT_XOR(CRC32({row})), SUM(CRC32({row}))", row = self.row);
        for _ in 0..TRIES {
            let there = self.there(&sums, condition).await?;
            self.catch_up().await?;
            let here = self.here(&sums, condition).await?;
            if there == here {
                let rows = there.first().and_then(|row| row.first()).cloned().flatten();
                found.rows += rows.and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
        let there = self.rows(true, condition).await?;
        self.catch_up().await?;
        let here = self.rows(false, condition).await?;
        found.rows += there.len() as u64;
        let keys: BTreeSet<&Vec<String>> = there.keys().chain(here.keys()).collect();
        let suspects = keys.into_iter().filter(|key| there.get(*key) != here.get(*key));
        let suspects: Vec<Vec<String>> = suspects.cloned().collect();
        for some in suspects.chunks(ROWS) {
            self.settle(some.to_vec(), found).await?;
        }
        Ok(())
    }

    /// Looks at rows that seem to differ until it is clear which do.
    async fn settle(&self, mut keys: Vec<Vec<String>>, found: &mut Found) -> Result<()> {
        let mut seen: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        for _ in 0..ROUNDS {
            let condition = self.condition_of(&keys);
            let before = self.rows(true, &condition).await?;
            self.catch_up().await?;
            let here = self.rows(false, &condition).await?;
            let after = self.rows(true, &condition).await?;
            keys.retain(|key| {
                let (a, b, c) = (before.get(key), here.get(key), after.get(key));
                if b == a || b == c {
                    return false;
                }
                if a == c {
                    *seen.entry(key.clone()).or_default() += 1;
                }
                // Twice: what came between the looks could have been changed and changed back.
                seen.get(key).is_none_or(|times| *times < 2)
            });
            if keys.is_empty() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        found.unsettled += keys.len();
        let different = seen.into_iter().filter(|(_, times)| *times >= 2);
        found.differences.extend(different.map(|(key, _)| self.shown(&key)));
        Ok(())
    }

    /// A key for people.
    fn shown(&self, key: &[String]) -> String {
        let value = |(value, &at): (&String, &usize)| {
            let ty = &self.def.columns[at].ty;
            let bytes = crate::hex::decode(value).filter(|_| ty.is_string());
            bytes.and_then(|it| String::from_utf8(it).ok()).unwrap_or_else(|| value.clone())
        };
        format!("({})", key.iter().zip(&self.def.key).map(value).collect::<Vec<_>>().join(", "))
    }

    /// The checksums of rows by their keys.
    async fn rows(&self, there: bool, condition: &str) -> Result<BTreeMap<Vec<String>, String>> {
        let keys: Vec<String> = self.def.key.iter().map(|&at| key_text(&self.def, at)).collect();
        let wanted = format!("{}, CRC32({})", keys.join(", "), self.row);
        let rows = match there {
            true => self.there(&wanted, condition).await?,
            false => self.here(&wanted, condition).await?,
        };
        let row = |mut row: Vec<Option<String>>| {
            let sum = row.pop().flatten().unwrap_or_default();
            (row.into_iter().map(Option::unwrap_or_default).collect(), sum)
        };
        Ok(rows.into_iter().map(row).collect())
    }

    fn condition_of(&self, keys: &[Vec<String>]) -> String {
        let parts = |key: &Vec<String>| {
            let parts = key.iter().zip(&self.def.key).map(|(value, &at)| {
                let column = &self.def.columns[at];
                let name = literal::name(&column.name);
                format!("{name} = {}", value_text(value, &column.ty))
            });
            format!("({})", parts.collect::<Vec<_>>().join(" AND "))
        };
        keys.iter().map(parts).collect::<Vec<_>>().join(" OR ")
    }

    async fn catch_up(&self) -> Result<()> {
        let name = &self.name;
        let tables = [(name.database.clone(), name.table.clone())];
        let mirrors = self.session.engine.mirrors();
        match mirrors.fresh(&name.link, &tables, Duration::ZERO, true, PATIENCE).await {
            Some(_) => Ok(()),
            None => Err(Error::new(
                Code::QueryInterrupted,
                format!("'{name}' does not catch up with its server"),
            )),
        }
    }

    /// Asks the server.
    async fn there(&self, wanted: &str, condition: &str) -> Result<Vec<Vec<Option<String>>>> {
        let part = condition_text(&self.def).map_or_else(String::new, |it| format!("({it}) AND "));
        let sql = format!(
            "SELECT {wanted} FROM {}.{} WHERE {part}({condition})",
            literal::name(&self.found.remote),
            literal::name(&self.name.table)
        );
        self.found.link.ask(&self.settings, &sql).await
    }

    /// Asks the copy.
    async fn here(&self, wanted: &str, condition: &str) -> Result<Vec<Vec<Option<String>>>> {
        let sql = format!(
            "SELECT {wanted} FROM {}.{} WHERE {condition}",
            literal::name(&self.found.local),
            literal::name(&self.name.table)
        );
        let set = self.session.run_query(&self.context(), &sql, RowFormat::Binary).await?;
        let columns = set.columns.clone();
        let batches = crate::collect::batches(&columns, set.rows).await?;
        let mut rows = Vec::new();
        for batch in &batches {
            for row in 0..batch.num_rows() {
                let value = |(at, column): (usize, &pelorus_types::Column)| {
                    let value = value_at(batch.column(at), &column.ty, row)?;
                    Ok(match value {
                        pelorus_functions::Value::Null => None,
                        value => Some(text_of(&value, &column.ty)),
                    })
                };
                rows.push(columns.iter().enumerate().map(value).collect::<Result<_>>()?);
            }
        }
        Ok(rows)
    }

    /// A query of the copy: as of now, in universal time, and reading values as they are.
    fn context(&self) -> QueryContext {
        let databases =
            [(self.found.local.clone(), hidden_database(&self.name.link, &self.name.database))];
        let mirrored = Mirrored::as_whole(databases.into(), TimeZone::Utc);
        let view = self.session.view();
        let mut context = self.session.context_over(&view, Some(Arc::new(mirrored)));
        let mut eval = self.session.eval_context(&view);
        eval.time_zone = TimeZone::Utc;
        eval.sql_mode = pelorus_functions::SqlMode::default();
        context.eval = Arc::new(eval);
        context.mode = pelorus_sql::Mode::default();
        context
    }
}

/// A text that rows have in common when all of their values that are copied are the same.
fn row_text(def: &NativeDef) -> String {
    let value = |column: &pelorus_types::Column| {
        format!("IFNULL({}, '~')", plain_text(&literal::name(&column.name), &column.ty))
    };
    let part = part(def).map(|it| it.left_out).unwrap_or_default();
    let kept = def.columns.iter().enumerate().filter(|(at, _)| part.get(*at) != Some(&true));
    let values: Vec<String> = kept.map(|(_, column)| value(column)).collect();
    format!("CONCAT_WS(',', {})", values.join(", "))
}

/// A value as text that both sides write alike.
fn plain_text(name: &str, ty: &ColumnType) -> String {
    match ty.wire {
        WireType::Json => format!("HEX(CAST({name} AS CHAR))"),
        _ if ty.is_string() && ty.collation == collation::BINARY => format!("HEX({name})"),
        _ if ty.is_string() => format!("HEX(CONVERT({name} USING utf8mb4))"),
        // As text MySQL, MariaDB and we write some of them differently.
        WireType::Double => format!("CAST({name} AS DECIMAL(65,6))"),
        WireType::Bit => format!("({name} + 0)"),
        _ => name.to_owned(),
    }
}

fn key_text(def: &NativeDef, at: usize) -> String {
    plain_text(&literal::name(&def.columns[at].name), &def.columns[at].ty)
}

/// A value of [`plain_text`] in SQL.
fn value_text(value: &str, ty: &ColumnType) -> String {
    match ty.wire {
        _ if ty.is_string() && ty.collation == collation::BINARY => format!("x'{value}'"),
        _ if ty.is_string() => {
            let bytes = crate::hex::decode(value).unwrap_or_default();
            literal::text(&String::from_utf8_lossy(&bytes), pelorus_sql::Mode::default())
        }
        _ if ty.is_temporal() => format!("'{value}'"),
        _ => value.to_owned(),
    }
}

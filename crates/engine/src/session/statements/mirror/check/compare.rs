//! Finds where a table and its copy differ: by checksums of ranges, then of pieces, then of rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::ArrayRef;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::{TimeZone, Value, array_of};
use pelorus_link::SessionSettings;
use pelorus_mirror::MirrorName;
use pelorus_mirror::control::repair::Suspects;
use pelorus_native::definition::NativeDef;
use pelorus_query::QueryContext;
use pelorus_result::scalar::{text_of, value_at};
use pelorus_sql::literal;

use super::texts::{Reader, condition_of, has_plain_keys, key_text, row_text, whole_key_text};
use crate::api::RowFormat;
use crate::links::LinkedDatabase;
use crate::mirror::answering::Mirrored;
use crate::mirror::filter::condition_text;
use crate::mirror::hidden_database;
use crate::session::context::ReadContext;

/// Rows of a range.
const RANGE_ROWS: u64 = 100_000;
/// Rows of a piece, and most pieces of a range.
const PIECE_ROWS: u64 = 100;
const PIECES_MAX: u64 = 65_536;
/// Pieces whose rows are compared together.
const PIECES: usize = 2048;
/// Rows that are looked at together.
const ROWS: usize = 200;
/// So many rows that seem to differ are looked at one by one; of more the table is read again.
const SUSPECTS_MAX: usize = 100_000;
/// How often a range is looked at whose rows cannot be named.
const TRIES: usize = 5;
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the copy may take to catch up.
const PATIENCE: Duration = Duration::from_secs(30);

/// The key of a row, as texts.
type Key = Vec<String>;
/// Rows of texts.
type Texts = Vec<Vec<Option<String>>>;

/// The result of a comparison.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) ranges: usize,
    pub(super) rows: u64,
    /// The table differs, and this is why its rows cannot be looked at one by one.
    pub(super) only_as_a_whole: Option<String>,
}

/// One table and its copy.
pub(super) struct Pair<'s> {
    session: ReadContext<'s>,
    name: MirrorName,
    found: LinkedDatabase,
    def: Arc<NativeDef>,
    settings: SessionSettings,
    /// Checksums of any number of rows, the number of them first.
    sums: String,
    /// The columns of the key, then the checksum of the row.
    row: String,
}

impl<'s> Pair<'s> {
    pub(super) fn new(
        session: ReadContext<'s>,
        name: MirrorName,
        found: LinkedDatabase,
        def: Arc<NativeDef>,
        settings: SessionSettings,
    ) -> Self {
        let row = row_text(&def);
        let sums = format!("COUNT(*), BIT_XOR(CRC32({row})), SUM(CRC32({row}))");
        let keys: Vec<String> = def.key.iter().map(|&at| key_text(&def, at)).collect();
        let row = format!("{}, CRC32({row})", keys.join(", "));
        Self { session, name, found, def, settings, sums, row }
    }

    /// Compares all rows. Returns those that seem to differ.
    pub(super) async fn compare(&self) -> Result<(Compared, Vec<Suspects>)> {
        let mut compared = Compared::default();
        let mut keys: Vec<Key> = Vec::new();
        for condition in self.conditions().await? {
            compared.ranges += 1;
            if compared.only_as_a_whole.is_none() {
                self.compare_range(&format!("({condition})"), &mut compared, &mut keys).await?;
            }
            if keys.len() > SUSPECTS_MAX {
                compared.only_as_a_whole = Some(format!("more than {SUSPECTS_MAX} rows differ"));
                keys.clear();
            }
        }
        let mut suspects = Vec::with_capacity(keys.len().div_ceil(ROWS));
        for some in keys.chunks(ROWS) {
            suspects.push(Suspects {
                condition: condition_of(&self.def, some, Reader::There),
                keys: self.keys_here(&condition_of(&self.def, some, Reader::Here)).await?,
            });
        }
        Ok((compared, suspects))
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

    async fn compare_range(
        &self,
        condition: &str,
        compared: &mut Compared,
        keys: &mut Vec<Key>,
    ) -> Result<()> {
        let has_plain_keys = has_plain_keys(&self.def);
        let tries = if has_plain_keys { 1 } else { TRIES };
        let mut rows = 0;
        for tried in 0..tries {
            if tried > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            let there = self.there(&self.sums, condition).await?;
            self.catch_up().await?;
            let here = self.here(&self.sums, condition).await?;
            rows = there.first().and_then(|row| row.first()).map_or(0, number);
            if there == here {
                compared.rows += rows;
                return Ok(());
            }
        }
        compared.rows += rows;
        if !has_plain_keys {
            let why = "its primary key has FLOAT or DOUBLE, by which rows cannot be named";
            compared.only_as_a_whole = Some(why.to_owned());
            return Ok(());
        }
        let pieces = (rows / PIECE_ROWS).clamp(1, PIECES_MAX);
        let piece = format!("MOD(CRC32({}), {pieces})", whole_key_text(&self.def));
        let differing = match pieces {
            1 => vec![0],
            _ => self.differing_pieces(&piece, condition).await?,
        };
        for some in differing.chunks(PIECES) {
            let some: Vec<String> = some.iter().map(u64::to_string).collect();
            let condition = format!("{condition} AND {piece} IN ({})", some.join(", "));
            let there = self.rows(true, &condition).await?;
            self.catch_up().await?;
            let here = self.rows(false, &condition).await?;
            let all: BTreeSet<&Key> = there.keys().chain(here.keys()).collect();
            let differs = |key: &&Key| there.get(*key) != here.get(*key);
            keys.extend(all.into_iter().filter(differs).cloned());
            if keys.len() > SUSPECTS_MAX {
                break;
            }
        }
        Ok(())
    }

    /// The pieces of a range whose checksums differ.
    async fn differing_pieces(&self, piece: &str, condition: &str) -> Result<Vec<u64>> {
        let wanted = format!("{piece}, {}", self.sums);
        let condition = format!("{condition} GROUP BY {piece}");
        let by_piece = |rows: Texts| -> BTreeMap<u64, Vec<Option<String>>> {
            let of = |mut row: Vec<Option<String>>| {
                let sums = row.split_off(1.min(row.len()));
                (row.first().map_or(0, number), sums)
            };
            rows.into_iter().map(of).collect()
        };
        let there = by_piece(self.there(&wanted, &condition).await?);
        self.catch_up().await?;
        let here = by_piece(self.here(&wanted, &condition).await?);
        let all: BTreeSet<u64> = there.keys().chain(here.keys()).copied().collect();
        Ok(all.into_iter().filter(|piece| there.get(piece) != here.get(piece)).collect())
    }

    /// The checksums of rows by their keys.
    async fn rows(&self, there: bool, condition: &str) -> Result<BTreeMap<Key, String>> {
        let rows = match there {
            true => self.there(&self.row, condition).await?,
            false => self.here(&self.row, condition).await?,
        };
        let row = |mut row: Vec<Option<String>>| {
            let sum = row.pop().flatten().unwrap_or_default();
            (row.into_iter().map(Option::unwrap_or_default).collect(), sum)
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// The keys of rows of the copy, as it has them.
    async fn keys_here(&self, condition: &str) -> Result<Vec<ArrayRef>> {
        let key = &self.def.key;
        let names: Vec<String> =
            key.iter().map(|&at| literal::name(&self.def.columns[at].name)).collect();
        let rows = self.values(&names.join(", "), condition).await?;
        let cannot = |error| Error::internal("keys cannot be put together").caused_by(error);
        let column = |(part, &at): (usize, &usize)| {
            let ty = &self.def.targets[at].ty;
            let mut parts = vec![arrow::array::new_empty_array(&ty.arrow())];
            for (value, _) in rows.iter().filter_map(|row| row.get(part)) {
                parts.push(array_of(value, ty)?);
            }
            let parts: Vec<&dyn arrow::array::Array> = parts.iter().map(AsRef::as_ref).collect();
            arrow::compute::concat(&parts).map_err(cannot)
        };
        key.iter().enumerate().map(column).collect()
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

    /// Queries the server. The condition is one that can follow `AND`.
    async fn there(&self, wanted: &str, condition: &str) -> Result<Texts> {
        let part = condition_text(&self.def).map_or_else(String::new, |it| format!("({it}) AND "));
        let sql = format!(
            "SELECT {wanted} FROM {}.{} WHERE {part}{condition}",
            literal::name(&self.found.remote),
            literal::name(&self.name.table)
        );
        self.found.link.ask(&self.settings, &sql).await
    }

    /// Asks the copy.
    async fn here(&self, wanted: &str, condition: &str) -> Result<Texts> {
        let text = |(value, ty): (Value, pelorus_types::ColumnType)| match value {
            Value::Null => None,
            value => Some(text_of(&value, &ty)),
        };
        let rows = self.values(wanted, condition).await?;
        Ok(rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect())
    }

    /// Asks the copy for values.
    async fn values(
        &self,
        wanted: &str,
        condition: &str,
    ) -> Result<Vec<Vec<(Value, pelorus_types::ColumnType)>>> {
        let sql = format!(
            "SELECT {wanted} FROM {}.{} WHERE {condition}",
            literal::name(&self.found.local),
            literal::name(&self.name.table)
        );
        let set = self.session.run_query(&self.context(), &sql, RowFormat::Binary).await?;
        let columns = set.columns.clone();
        let batches = pelorus_result::collect::batches(&columns, set.rows).await?;
        let mut rows = Vec::new();
        for batch in &batches {
            for row in 0..batch.num_rows() {
                let value = |(at, column): (usize, &pelorus_types::Column)| {
                    Ok((value_at(batch.column(at), &column.ty, row)?, column.ty))
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
        let mut context = self.session.query_context_over(&view, Some(Arc::new(mirrored)));
        let mut eval = self.session.eval_context(&view);
        eval.time_zone = TimeZone::Utc;
        eval.sql_mode = pelorus_functions::SqlMode::default();
        context.eval = Arc::new(eval);
        context.mode = pelorus_sql::Mode::default();
        context
    }
}

/// A number as text.
fn number(text: &Option<String>) -> u64 {
    text.as_deref().and_then(|it| it.parse().ok()).unwrap_or(0)
}

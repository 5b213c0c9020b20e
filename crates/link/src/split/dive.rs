//! Finding cells of a key by looking into the index.
//!
//! Begin with one cell that holds everything. Each round takes the cells that are too heavy, reads
//! their first and last key, proposes points between them, lets the server say which points
//! ascend (text), and estimates the smaller cells by EXPLAIN. All of a round's questions of one
//! kind go out together, so a round is at most three round trips.

use pelorus_error::Result;

use super::bound::{Bound, Domain, MOST, condition};
use super::{Cell, quote_name};
use crate::connection::Connection;
use crate::explain::Estimate;
use crate::table::{RemoteKey, RemoteTable};

/// How many cells a range is made of, about: the more, the more even the ranges.
const FINE: u64 = 3;
/// More rounds bring nothing.
const ROUNDS: usize = 8;
/// EXPLAINs that finding a split may take in all.
const BUDGET: usize = 400;

const FORCE: &str = "FORCE INDEX";

/// What is asked of one heavy cell.
struct Heavy {
    /// Its place among the cells.
    at: usize,
    /// Columns that are the same for all its rows.
    depth: usize,
    points: Vec<String>,
    prefix: Vec<String>,
    /// The first and the last value, as the server sent them.
    low: String,
    high: String,
}

/// Cuts a key (of one partition, if named) into cells so fine that about `ranges` even ranges can
/// be made of them.
pub(super) async fn cells(
    connection: &mut Connection,
    table: &RemoteTable,
    key: &RemoteKey,
    partition: Option<&str>,
    rows: u64,
    ranges: usize,
) -> Result<Vec<Cell>> {
    let mut dive = Dive { connection, table, key, partition, asked: 0 };
    let mut cells = vec![Cell { lower: None, upper: None, rows }];
    // Cells that cannot be cut, by their bounds: one value, or no point found.
    let mut done: Vec<Cell> = Vec::new();
    let wanted = u64::try_from(ranges.max(1)).unwrap_or(1) * FINE;
    for _ in 0..ROUNDS {
        let total: u64 = cells.iter().map(|cell| cell.rows).sum();
        let most = (total / wanted).max(1);
        let heavy: Vec<usize> = (0..cells.len())
            .filter(|at| cells[*at].rows > most * 3 / 2 && !done.contains(&cells[*at]))
            .collect();
        if heavy.is_empty() || dive.asked >= BUDGET {
            break;
        }
        let found = dive.points(&cells, &heavy, most).await?;
        for at in &heavy {
            if !found.iter().any(|heavy| heavy.at == *at && !heavy.points.is_empty()) {
                done.push(cells[*at].clone());
            }
        }
        cells = dive.cut(cells, found).await?;
    }
    Ok(cells)
}

struct Dive<'a> {
    connection: &'a mut Connection,
    table: &'a RemoteTable,
    key: &'a RemoteKey,
    partition: Option<&'a str>,
    asked: usize,
}

impl Dive<'_> {
    /// `FROM table PARTITION (p) hint (key) WHERE ..` of a cell.
    fn from(
        &self,
        hint: &str,
        lower: Option<&Bound>,
        upper: Option<&Bound>,
        extra: Option<&str>,
    ) -> String {
        let partition = self
            .partition
            .map(|name| format!(" PARTITION ({})", quote_name(name)))
            .unwrap_or_default();
        let mut text = format!(
            "FROM {}.{}{partition} {hint} ({})",
            quote_name(&self.table.database),
            quote_name(&self.table.name),
            quote_name(&self.key.name)
        );
        let within = condition(self.key, self.table, lower, upper)
            .map(|text| text.replace(super::QUALIFIER, ""));
        let all: Vec<_> = within.as_deref().into_iter().chain(extra).collect();
        if !all.is_empty() {
            text.push_str(" WHERE ");
            text.push_str(&all.join(" AND "));
        }
        text
    }

    fn domain(&self, depth: usize) -> Option<Domain> {
        Domain::of(self.table, self.key.parts.get(depth)?)
    }

    /// Points at which heavy cells may be cut.
    async fn points(&mut self, cells: &[Cell], heavy: &[usize], most: u64) -> Result<Vec<Heavy>> {
        let ends = self.ends(cells, heavy, 0, &vec![Vec::new(); heavy.len()]).await?;
        let mut found = Vec::new();
        let mut deeper: Vec<(usize, Vec<String>)> = Vec::new();
        for (at, ends) in heavy.iter().zip(ends) {
            let Some((low, high)) = ends else { continue };
            if low == high {
                deeper.extend(self.quote(0, &low).map(|literal| (*at, vec![literal])));
            } else {
                found.push(self.propose(cells, *at, Vec::new(), &low, &high, most));
            }
        }
        // One value of the first columns only: the next column cuts it.
        for depth in 1..self.key.parts.len() {
            if deeper.is_empty() || self.domain(depth).is_none() {
                break;
            }
            let at: Vec<_> = deeper.iter().map(|(at, _)| *at).collect();
            let prefixes: Vec<_> = deeper.drain(..).map(|(_, prefix)| prefix).collect();
            let ends = self.ends(cells, &at, depth, &prefixes).await?;
            for ((at, ends), prefix) in at.into_iter().zip(ends).zip(prefixes) {
                let Some((low, high)) = ends else { continue };
                if low == high {
                    deeper
                        .extend(self.quote(depth, &low).map(|literal| {
                            (at, prefix.iter().cloned().chain([literal]).collect())
                        }));
                } else {
                    found.push(self.propose(cells, at, prefix, &low, &high, most));
                }
            }
        }
        self.keep_ascending(&mut found).await?;
        Ok(found)
    }

    fn quote(&self, depth: usize, value: &str) -> Option<String> {
        self.domain(depth)?.quote(value)
    }

    fn propose(
        &self,
        cells: &[Cell],
        at: usize,
        prefix: Vec<String>,
        low: &str,
        high: &str,
        most: u64,
    ) -> Heavy {
        let depth = prefix.len();
        let pieces = usize::try_from(cells[at].rows / most.max(1)).unwrap_or(MOST);
        let count = (pieces * 5 / 4).clamp(4, MOST);
        let points =
            self.domain(depth).map_or_else(Vec::new, |domain| domain.between(low, high, count));
        Heavy { at, depth, points, prefix, low: low.to_owned(), high: high.to_owned() }
    }

    /// The first and the last value of a column in each of the cells; `None` where there are no
    /// rows (NULLs aside).
    async fn ends(
        &mut self,
        cells: &[Cell],
        heavy: &[usize],
        depth: usize,
        prefixes: &[Vec<String>],
    ) -> Result<Vec<Option<(String, String)>>> {
        let (Some(part), Some(domain)) = (self.key.parts.get(depth), self.domain(depth)) else {
            return Ok(vec![None; heavy.len()]);
        };
        let column = quote_name(&part.column);
        let select = domain.select(&column);
        let mut queries = Vec::new();
        for (at, prefix) in heavy.iter().zip(prefixes) {
            let cell = &cells[*at];
            let mut extra: Vec<_> = prefix
                .iter()
                .zip(&self.key.parts)
                .map(|(value, part)| format!("{} = {value}", quote_name(&part.column)))
                .collect();
            extra.push(format!("{column} IS NOT NULL"));
            let extra = extra.join(" AND ");
            let from = self.from(FORCE, cell.lower.as_ref(), cell.upper.as_ref(), Some(&extra));
            queries.push(format!("SELECT {select} {from} ORDER BY {column} LIMIT 1"));
            queries.push(format!("SELECT {select} {from} ORDER BY {column} DESC LIMIT 1"));
        }
        let texts: Vec<_> = queries.iter().map(String::as_str).collect();
        let answers = self.connection.rows_of_all(&texts).await?;
        Ok(answers
            .chunks(2)
            .map(|pair| {
                let [low, high] = pair else { return None };
                Some((low.single()?.to_owned(), high.single()?.to_owned()))
            })
            .collect())
    }

    /// Drops points that do not ascend in the server's eyes, nor lie within their cell.
    async fn keep_ascending(&mut self, found: &mut [Heavy]) -> Result<()> {
        for heavy in found {
            let Some(domain) = self.domain(heavy.depth) else {
                heavy.points.clear();
                continue;
            };
            if !domain.needs_check() || heavy.points.is_empty() {
                continue;
            }
            let points = std::mem::take(&mut heavy.points);
            let ends = domain.quote(&heavy.low).zip(domain.quote(&heavy.high));
            if let Some((low, high)) = ends {
                heavy.points = self.ascending(&domain, points, &low, &high).await?;
            }
        }
        Ok(())
    }

    /// Lets the server sort literals in a column's order, equal ones once, those above `low` and
    /// up to `high` only.
    async fn ascending(
        &mut self,
        domain: &Domain,
        points: Vec<String>,
        low: &str,
        high: &str,
    ) -> Result<Vec<String>> {
        let rows: Vec<_> = points
            .iter()
            .enumerate()
            .map(|(at, literal)| {
                format!("SELECT {at} AS place, {} AS point", domain.typed(literal))
            })
            .collect();
        let sql = format!(
            "SELECT MIN(place) FROM ({}) AS points WHERE point > {} AND point <= {} \
             GROUP BY point ORDER BY point",
            rows.join(" UNION ALL "),
            domain.typed(low),
            domain.typed(high)
        );
        let answer = self.connection.rows(&sql).await?;
        Ok(answer
            .rows
            .iter()
            .filter_map(|row| row.first()?.as_deref()?.parse::<usize>().ok())
            .filter_map(|at| points.get(at).cloned())
            .collect())
    }

    /// Cuts cells at the points found, and estimates the pieces.
    async fn cut(&mut self, cells: Vec<Cell>, found: Vec<Heavy>) -> Result<Vec<Cell>> {
        let mut result = Vec::new();
        let mut asked = Vec::new();
        for (at, cell) in cells.into_iter().enumerate() {
            let heavy = found.iter().find(|heavy| heavy.at == at && !heavy.points.is_empty());
            let Some(heavy) = heavy else {
                result.push(cell);
                continue;
            };
            let mut lower = cell.lower;
            for point in &heavy.points {
                let bound: Bound = heavy.prefix.iter().chain([point]).cloned().collect();
                if Some(&bound) == lower.as_ref() || Some(&bound) == cell.upper.as_ref() {
                    continue;
                }
                asked.push(result.len());
                result.push(Cell { lower, upper: Some(bound.clone()), rows: 0 });
                lower = Some(bound);
            }
            asked.push(result.len());
            result.push(Cell { lower, upper: cell.upper, rows: 0 });
        }
        let explain = self.connection.version().explain();
        // MySQL does not look into an index that it is forced to use anyway.
        let hint = if self.connection.version().is_mariadb { FORCE } else { "USE INDEX" };
        let queries: Vec<_> = asked
            .iter()
            .map(|at| {
                let cell = &result[*at];
                let from = self.from(hint, cell.lower.as_ref(), cell.upper.as_ref(), None);
                format!("{explain}SELECT 1 {from}")
            })
            .collect();
        self.asked += queries.len();
        let texts: Vec<_> = queries.iter().map(String::as_str).collect();
        let answers = self.connection.rows_of_all(&texts).await?;
        for (at, answer) in asked.into_iter().zip(&answers) {
            let estimate = Estimate::from_rows(answer);
            result[at].rows = estimate.tables.first().and_then(|table| table.rows).unwrap_or(0);
        }
        Ok(result)
    }
}

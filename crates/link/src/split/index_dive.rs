//! Index dives: finds cells of a key with estimates from `EXPLAIN`.
//!
//! The first round has one cell that contains all rows. Each round takes the cells that are too
//! heavy, reads their first and last key, proposes points between them, lets the server say which
//! points ascend (text), and estimates the smaller cells by EXPLAIN. A round's statements of one
//! kind are sent together, so that a round takes few round trips.

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
/// EXPLAINs that finding a split may take in all, unless more cells than that are wanted ...
const BUDGET: usize = 400;
/// ... and then so many for each of them.
const EACH: usize = 2;

const FORCE: &str = "FORCE INDEX";

/// The requests for one heavy cell.
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
    let fine = usize::try_from(FINE).unwrap_or(1).saturating_mul(ranges.max(1));
    let budget = BUDGET.max(fine.saturating_mul(EACH));
    let mut dive = IndexDive { connection, table, key, partition, budget, asked: 0 };
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
        if heavy.is_empty() || dive.asked >= dive.budget {
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

/// The literal of the only value that the column after `prefix` has in a cell, to go on with the
/// next column; `None` when there are several, or none that may be written. `own` is the value as
/// it was found in the cell.
///
/// Bounds are compared by their texts. So one value must have the same text in all bounds that have
/// columns after it: with two spellings of it (`'acme'` and `'ACME'`, or the two names of an hour
/// that clocks leave out) a cell between them would be everything from the one bound on *or* below
/// the other.
fn one_value(
    cell: &Cell,
    prefix: &[String],
    own: Option<String>,
    is_spelled_once: bool,
) -> Option<String> {
    let depth = prefix.len();
    let said = [&cell.lower, &cell.upper].map(|bound| {
        let longer = |bound: &&Bound| bound.len() > depth + 1 && bound[..depth] == *prefix;
        bound.as_ref().filter(longer).map(|bound| &bound[depth])
    });
    match said {
        // However the rows spell it.
        [Some(lower), Some(upper)] if lower == upper => Some(lower.clone()),
        said => own.filter(|own| is_spelled_once || said.into_iter().flatten().all(|it| it == own)),
    }
}

/// Leaves at most so many points, evenly spread.
fn thin(points: &mut Vec<String>, most: usize) {
    let count = points.len();
    if count > most {
        let kept = (1..=most).map(|at| points[at * count / (most + 1)].clone()).collect();
        *points = kept;
    }
}

struct IndexDive<'a> {
    connection: &'a mut Connection,
    table: &'a RemoteTable,
    key: &'a RemoteKey,
    partition: Option<&'a str>,
    /// The remaining budget of EXPLAINs, and those that ran.
    budget: usize,
    asked: usize,
}

impl IndexDive<'_> {
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
        let mut found = Vec::new();
        let mut deeper: Vec<(usize, Vec<String>)> =
            heavy.iter().map(|at| (*at, Vec::new())).collect();
        // One value of the first columns only: the next column cuts it.
        for depth in 0..self.key.parts.len() {
            let Some(domain) = self.domain(depth).filter(|_| !deeper.is_empty()) else { break };
            let (at, prefixes): (Vec<_>, Vec<_>) = deeper.drain(..).unzip();
            let ends = self.ends(cells, &at, depth, &prefixes).await?;
            for ((at, ends), mut prefix) in at.into_iter().zip(ends).zip(prefixes) {
                let Some((low, high)) = ends else { continue };
                let own = domain.quote(&low).filter(|_| low == high);
                match one_value(&cells[at], &prefix, own, domain.is_spelled_once()) {
                    Some(literal) => {
                        prefix.push(literal);
                        deeper.push((at, prefix));
                    }
                    None if low == high => {}
                    None => found.push(self.propose(cells, at, prefix, &low, &high, most)),
                }
            }
        }
        self.keep_ascending(&mut found).await?;
        // Every point will be asked about.
        let each = self.budget.saturating_sub(self.asked) / found.len().max(1);
        for heavy in &mut found {
            thin(&mut heavy.points, each.max(1));
        }
        Ok(found)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(lower: &[&str], upper: &[&str]) -> Cell {
        let bound = |values: &[&str]| -> Option<Bound> {
            (!values.is_empty()).then(|| values.iter().map(|value| (*value).to_owned()).collect())
        };
        Cell { lower: bound(lower), upper: bound(upper), rows: 1 }
    }

    #[test]
    fn a_value_keeps_the_spelling_that_bounds_have() {
        let found = |cell: &Cell, prefix: &[&str], own: Option<&str>, once: bool| {
            let prefix: Vec<_> = prefix.iter().map(|value| (*value).to_owned()).collect();
            one_value(cell, &prefix, own.map(str::to_owned), once)
        };
        let acme = Some("'acme'".to_owned());
        let whole = cell(&[], &[]);
        assert_eq!(found(&whole, &[], Some("'acme'"), false), acme);
        assert_eq!(found(&whole, &[], None, false), None);
        // Bounds of one column have no say.
        assert_eq!(found(&cell(&["'acm'"], &["'acn'"]), &[], Some("'acme'"), false), acme);
        // Another spelling after a longer bound would make ranges overlap.
        let behind = cell(&["'acme'", "100"], &["'acn'"]);
        assert_eq!(found(&behind, &[], Some("'acme'"), false), acme);
        assert_eq!(found(&behind, &[], Some("'ACME'"), false), None);
        let before = cell(&["'acm'"], &["'acme'", "100"]);
        assert_eq!(found(&before, &[], Some("'ACME'"), false), None);
        // Of numbers other words are another value.
        let numbers = cell(&["5", "100"], &["7"]);
        assert_eq!(found(&numbers, &[], Some("6"), true), Some("6".to_owned()));
        // Between two bounds with the value there is nothing else, whatever rows look like.
        let within = cell(&["'acme'", "100"], &["'acme'", "200"]);
        assert_eq!(found(&within, &[], Some("'ACME'"), false), acme);
        assert_eq!(found(&within, &[], None, false), acme);
        // The second column.
        let deep = cell(&["1", "'acme'", "100"], &["2"]);
        assert_eq!(found(&deep, &["1"], Some("'ACME'"), false), None);
        assert_eq!(found(&deep, &["1"], Some("'acme'"), false), acme);
        assert_eq!(found(&deep, &["2"], Some("'ACME'"), false), Some("'ACME'".to_owned()));
    }

    #[test]
    fn points_are_thinned_evenly() {
        let points = |count: usize| (0..count).map(|at| at.to_string()).collect::<Vec<_>>();
        let mut few = points(3);
        thin(&mut few, 3);
        assert_eq!(few, points(3));
        let mut many = points(100);
        thin(&mut many, 3);
        assert_eq!(many, ["25", "50", "75"]);
        let mut more = points(4);
        thin(&mut more, 3);
        assert_eq!(more, ["1", "2", "3"]);
    }
}

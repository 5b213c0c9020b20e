//! Runs and dictionaries over any values: when they are cheaper, and their codes.

use std::ops::Range;

use super::Source;
use super::frame;
use super::keys::Keys;
use crate::VECTOR_ROWS;

/// Runs cost this many times their bytes: a row has to look for its run.
const RUNS_WEIGHT: usize = 2;
/// Rows from which the number of distinct values is guessed.
const SAMPLE: usize = 4096;
/// Slots that are looked at for one value; more mean that hashes collide on purpose.
const MOST_PROBES: usize = 64;

/// Values stored once for many rows. `reps` are rows that show the values, none of them NULL.
pub(super) enum Layout {
    /// One value everywhere.
    Constant { row: u32 },
    /// Runs, with the row after each and a row inside each.
    Runs { ends: Vec<u32>, reps: Vec<u32> },
    /// Distinct values in rising order, and the code of each row (0 or a neighbour's for NULL).
    Dictionary { codes: Vec<u32>, reps: Vec<u32> },
}

/// Bytes of a code in a dictionary of so many values.
pub(super) fn code_width(entries: usize) -> u8 {
    match entries {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    }
}

/// The codes as bytes.
pub(super) fn write_codes(codes: &[u32], width: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::extend(&mut bytes, codes.len(), width, codes.iter().map(|&code| code.into()));
    bytes
}

impl Layout {
    /// The best layout if it costs less than `best` bytes. The column has at least one value.
    pub(super) fn choose(keys: &impl Keys, source: &Source<'_>, best: usize) -> Option<Self> {
        let (rows, nulls) = (source.rows, source.null_count());
        // Text costs its mean length; numbers of few values must save a fifth to earn a lookup.
        let (entry, weight) = match source.kind.width() {
            Some(width) => (width, 5),
            None => (source.plain_bytes() / (rows - nulls) + 1, 4),
        };
        let runs_cost = |runs: usize| runs * (entry + 4) * RUNS_WEIGHT;
        let runs = count_runs(keys, source, best / runs_cost(1) + 1);
        if runs == 1 {
            let row = (0..rows).find(|&row| source.is_valid(row))?;
            return Some(Self::Constant { row: number(row) });
        }
        let runs_cost = runs_cost(runs);
        let best = best.min(runs_cost);
        let dictionary_cost = |entries: usize| {
            (entries * entry + rows * usize::from(code_width(entries))) * weight / 4
        };
        let guess = guess_distinct(keys, source).min(runs);
        if dictionary_cost(guess) < best {
            let most = (best * 4 / weight).saturating_sub(rows) / entry;
            if let Some(distinct) = distinct(keys, source, 0..rows, 1, most)
                && dictionary_cost(distinct.reps.len()) < best
            {
                return Some(distinct.sorted(keys));
            }
        }
        (runs_cost <= best).then(|| list_runs(keys, source))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a chunk has at most 131,072 rows")]
fn number(row: usize) -> u32 {
    row as u32
}

/// Number of runs, or of rows if there are more than `most` runs; a NULL belongs to the run
/// around it.
fn count_runs(keys: &impl Keys, source: &Source<'_>, most: usize) -> usize {
    let (mut runs, mut last) = (1, None);
    for start in (0..source.rows).step_by(VECTOR_ROWS) {
        for row in start..source.rows.min(start + VECTOR_ROWS) {
            if source.is_valid(row) {
                runs += usize::from(last.is_some_and(|last| !keys.same(last, row)));
                last = Some(row);
            }
        }
        if runs > most {
            return source.rows;
        }
    }
    runs
}

fn list_runs(keys: &impl Keys, source: &Source<'_>) -> Layout {
    let (mut ends, mut reps): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut last = None;
    for row in (0..source.rows).filter(|&row| source.is_valid(row)) {
        if last.is_none_or(|last| !keys.same(last, row)) {
            if last.is_some() {
                ends.push(number(row));
            }
            reps.push(number(row));
        }
        last = Some(row);
    }
    ends.push(number(source.rows));
    Layout::Runs { ends, reps }
}

/// Distinct values in the order in which they first occur.
struct Distinct {
    codes: Vec<u32>,
    reps: Vec<u32>,
}

/// Guesses the number of distinct values from evenly spaced rows: of n draws from d values about
/// n²/2d find a value that was drawn before.
fn guess_distinct(keys: &impl Keys, source: &Source<'_>) -> usize {
    let stride = source.rows.div_ceil(SAMPLE);
    if stride == 1 {
        return 1;
    }
    let Some(sample) = distinct(keys, source, 0..source.rows, stride, SAMPLE) else {
        return source.rows;
    };
    let drawn = sample.codes.len();
    match drawn - sample.reps.len() {
        0 => source.rows,
        again => (drawn * drawn / (2 * again)).clamp(sample.reps.len(), source.rows),
    }
}

/// Numbers the distinct values of every `stride`-th row of a range; `None` if there are more than
/// `most`, or if their hashes are too unevenly spread to go on.
fn distinct(
    keys: &impl Keys,
    source: &Source<'_>,
    rows: Range<usize>,
    stride: usize,
    most: usize,
) -> Option<Distinct> {
    const FREE: u32 = u32::MAX;
    let mut slots = vec![FREE; 1024];
    let mut hashes: Vec<u64> = Vec::new();
    let mut found = Distinct { codes: Vec::with_capacity(rows.len() / stride + 1), reps: vec![] };
    let place = |hash: u64, probe: usize, slots: usize| {
        // The top bits of a folded product are as good as any; the mask needs low ones.
        (usize::try_from(hash >> 20).unwrap_or(0) + probe) & (slots - 1)
    };
    let mut last = 0;
    for row in rows.step_by(stride) {
        if !source.is_valid(row) {
            found.codes.push(last);
            continue;
        }
        let hash = keys.hash(row);
        let mut probe = 0;
        last = loop {
            let size = slots.len();
            let slot = &mut slots[place(hash, probe, size)];
            if *slot == FREE {
                *slot = number(found.reps.len());
                found.reps.push(number(row));
                hashes.push(hash);
                break number(found.reps.len() - 1);
            }
            let code = *slot as usize;
            if hashes[code] == hash && keys.same(found.reps[code] as usize, row) {
                break *slot;
            }
            probe += 1;
            if probe > MOST_PROBES {
                return None;
            }
        };
        found.codes.push(last);
        if found.reps.len() > most {
            return None;
        }
        if found.reps.len() * 2 > slots.len() {
            slots = vec![FREE; slots.len() * 4];
            for (code, &hash) in hashes.iter().enumerate() {
                let size = slots.len();
                let free = (0..size).find(|&probe| slots[place(hash, probe, size)] == FREE)?;
                slots[place(hash, free, size)] = number(code);
            }
        }
    }
    Some(found)
}

impl Distinct {
    /// Puts the values in rising order.
    fn sorted(mut self, keys: &impl Keys) -> Layout {
        let mut order: Vec<u32> = (0..number(self.reps.len())).collect();
        let rep = |code: u32| self.reps[code as usize] as usize;
        order.sort_unstable_by(|&left, &right| keys.order(rep(left), rep(right)));
        let mut ranks = vec![0; order.len()];
        for (rank, &code) in order.iter().enumerate() {
            ranks[code as usize] = number(rank);
        }
        for code in &mut self.codes {
            *code = ranks[*code as usize];
        }
        let reps = order.into_iter().map(|code| self.reps[code as usize]).collect();
        Layout::Dictionary { codes: self.codes, reps }
    }
}

/// The rows of the smallest and largest value of each vector, and whether any value is a NaN.
pub(super) fn ends(keys: &impl Keys, source: &Source<'_>) -> (Vec<Option<(usize, usize)>>, bool) {
    let mut nan = false;
    let mut ends = Vec::with_capacity(source.rows.div_ceil(VECTOR_ROWS));
    for start in (0..source.rows).step_by(VECTOR_ROWS) {
        let mut found: Option<(usize, usize)> = None;
        for row in start..source.rows.min(start + VECTOR_ROWS) {
            if !source.is_valid(row) {
                continue;
            }
            if keys.is_nan(row) {
                nan = true;
                continue;
            }
            found = Some(match found {
                None => (row, row),
                Some((low, high)) if keys.order(row, low).is_lt() => (row, high),
                Some((low, high)) if keys.order(row, high).is_gt() => (low, row),
                Some(ends) => ends,
            });
        }
        ends.push(found);
    }
    (ends, nan)
}

//! AUTO_INCREMENT.
//!
//! Numbers are taken from a counter in memory, row by row as in MySQL: a value in the statement
//! that is not below the counter moves it. The store keeps an upper bound of the counter, which is
//! raised in large steps before any number above it is used, so that no number is used twice after
//! a crash. After a crash the numbers between the last used one and the bound are skipped.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt64Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, UInt64Type};
use parking_lot::{Mutex, MutexGuard};
use pelorus_chunk::{Op, Predicate, Scalar};
use pelorus_error::{Code, Error, Result};
use pelorus_store::{Commit, Database, Mode, ScanRequest};
use pelorus_types::{ColumnType, WireType};

use super::change::{Change, Counts};
use crate::definition::{AutoIncrement, NativeDef};

/// How far the bound is ahead of the used numbers.
const AHEAD: u64 = 1000;

/// Rows of a batch of a scan.
const SCANNED_ROWS: usize = 8192;

/// Held while a bound is read and raised.
static RAISING: Mutex<()> = Mutex::new(());

fn hold_raising() -> MutexGuard<'static, ()> {
    #[cfg(test)]
    tests::note_waiting();
    RAISING.lock()
}

/// Which numbers a session wants.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// `auto_increment_increment`
    pub increment: u64,
    /// `auto_increment_offset`
    pub offset: u64,
    /// `NO_AUTO_VALUE_ON_ZERO`: 0 is a value like others.
    pub zero_is_value: bool,
    /// `insert_id`: the first generated number, whatever the counter's value.
    pub first: Option<u64>,
}

/// The numbers of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// The first number that was made.
    pub first_made: Option<u64>,
    /// The value of the last row, made or given.
    pub(crate) last: Option<u64>,
}

impl Numbers {
    /// The number in an OK packet.
    pub(crate) fn reported(self) -> u64 {
        self.first_made.or(self.last).unwrap_or(0)
    }

    /// Those of a change that was executed: the first number is that of the first row that was
    /// written, and where none was, there is none.
    pub fn of_written(self, change: &Change, counts: &Counts) -> Numbers {
        let Some(made) = &change.made else { return self };
        if counts.inserted + counts.replaced == 0 {
            return Numbers::default();
        }
        let ignored = &counts.ignored_rows;
        // Of very many rows it is not known which were left out.
        if counts.ignored != ignored.len() as u64 || made.len() != change.puts_count() {
            return self;
        }
        let is_written = |row: &usize| made[*row] && ignored.binary_search(row).is_err();
        let first = (0..made.len()).find(is_written);
        Numbers { first_made: first.and_then(|row| number_at(change, row)), last: self.last }
    }

    /// Adds those of rows that come after.
    pub fn then(self, later: Numbers) -> Numbers {
        Numbers { first_made: self.first_made.or(later.first_made), last: later.last.or(self.last) }
    }
}

/// The number of a row that a change writes, by its position in all batches.
fn number_at(change: &Change, position: usize) -> Option<u64> {
    let column = change.def.auto.as_ref()?.column;
    let (columns, row) = change.put_at(position)?;
    number_in(columns.get(column)?, row)
}

/// Puts numbers where a column has none.
///
/// # Errors
/// No number is left that the column holds (1467; most columns give their last one again instead),
/// and errors of raising the bound.
pub(crate) fn number(
    store: &Database,
    def: &NativeDef,
    columns: &mut [ArrayRef],
    steps: Steps,
) -> Result<Numbers> {
    let Some(auto) = &def.auto else { return Ok(Numbers::default()) };
    let ty = &def.targets[auto.column].ty;
    let array = &columns[auto.column];
    let end = End { largest: largest(ty), is_key: def.key == [auto.column] };
    let (filled, numbers, next) = take(auto, array, steps, end)?;
    columns[auto.column] = filled;
    if let Some(next) = next {
        raise(store, def, next, array_len(columns))?;
    }
    Ok(numbers)
}

/// Moves the counter after numbers that rows got by assignments.
///
/// # Errors
/// Errors of raising the bound.
pub(crate) fn follow(
    store: &Database,
    def: &NativeDef,
    puts: &[(Vec<ArrayRef>, Mode)],
) -> Result<()> {
    let Some(auto) = &def.auto else { return Ok(()) };
    let given = puts.iter().filter_map(|(columns, _)| most(&columns[auto.column])).max();
    let next = given.map_or(0, |given| given.saturating_add(1));
    if auto.next.fetch_max(next, Ordering::AcqRel) < next {
        raise(store, def, next, 1)?;
    }
    Ok(())
}

/// The largest number of a column's array, of those that are not negative.
fn most(array: &ArrayRef) -> Option<u64> {
    if let Some(values) = array.as_primitive_opt::<Int64Type>() {
        return values.iter().flatten().max().and_then(|value| u64::try_from(value).ok());
    }
    array.as_primitive_opt::<UInt64Type>()?.iter().flatten().max()
}

/// The number at which a table without concurrent writes continues: `first`, or after its largest
/// number.
///
/// # Errors
/// Errors of reading.
pub(crate) fn free_from(store: &Arc<Database>, def: &NativeDef, first: u64) -> Result<u64> {
    let Some(auto) = &def.auto else { return Ok(first) };
    let snapshot = store.snapshot();
    let table = snapshot.table(def.id)?;
    let at_least = Predicate::Compare(Op::Ge, Scalar::Int(first.into()));
    let field = Field::new("c", def.targets[auto.column].ty.arrow(), true);
    let request = ScanRequest {
        columns: vec![auto.column],
        predicates: vec![(auto.column, at_least)],
        tests: Vec::new(),
        schema: Arc::new(Schema::new(vec![field])),
        hidden: None,
        batch_rows: SCANNED_ROWS,
    };
    let mut next = first;
    for unit in table.scan(request, |_| true)? {
        let mut cursor = unit.open()?;
        while let Some(batch) = cursor.next_batch()? {
            let found = most(batch.column(0));
            next = next.max(found.map_or(0, |found| found.saturating_add(1)));
        }
    }
    Ok(next)
}

/// Restarts the counter of a table at a number, which may be below earlier ones.
///
/// # Errors
/// Errors of writing it down.
pub(crate) fn restart(store: &Database, def: &NativeDef, next: u64) -> Result<()> {
    let Some(auto) = &def.auto else { return Ok(()) };
    // A statement that takes a number from now on finds the new bound and raises it.
    let _held = hold_raising();
    auto.next.store(next, Ordering::Release);
    let values = vec![(NativeDef::auto_key(def.id), Some(next.to_le_bytes().to_vec()))];
    store.commit(&Commit { values, ..Commit::default() }).map(drop)
}

fn array_len(columns: &[ArrayRef]) -> u64 {
    columns.first().map_or(0, |column| column.len() as u64)
}

/// Whether numbers decide about partitions.
pub(crate) fn decides(def: &NativeDef) -> bool {
    def.auto.as_ref().is_some_and(|auto| def.partitioner.columns().contains(&auto.column))
}

/// Which rows a statement gives no numbers, of a table that has a column for them.
pub(crate) fn lacking(def: &NativeDef, columns: &[ArrayRef], steps: Steps) -> Option<Vec<bool>> {
    let array = &columns[def.auto.as_ref()?.column];
    let is_zero = |row| number_in(array, row) == Some(0);
    let lacks = |row| array.is_null(row) || !steps.zero_is_value && is_zero(row);
    Some((0..array.len()).map(lacks).collect())
}

/// The number of a row, if it is not negative.
pub(crate) fn number_in(array: &ArrayRef, row: usize) -> Option<u64> {
    match array.data_type() {
        DataType::Int64 => u64::try_from(array.as_primitive::<Int64Type>().value(row)).ok(),
        DataType::UInt64 => Some(array.as_primitive::<UInt64Type>().value(row)),
        _ => None,
    }
}

/// Writes exact numbers down in the place of bounds that lie ahead of them.
///
/// # Errors
/// Errors of writing them down.
pub(crate) fn keep(store: &Database, tables: &[Arc<NativeDef>]) -> Result<()> {
    // A statement that takes a number meanwhile finds the lower bound and raises it, before the
    // number is used.
    let _held = hold_raising();
    let next = |def: &Arc<NativeDef>| {
        let next = def.auto.as_ref()?.next.load(Ordering::Acquire).to_le_bytes().to_vec();
        let key = NativeDef::auto_key(def.id);
        let kept = store.value(&key)?;
        (kept != next).then_some((key, Some(next)))
    };
    let values: Vec<_> = tables.iter().filter_map(next).collect();
    if values.is_empty() {
        return Ok(());
    }
    store.commit(&Commit { values, ..Commit::default() }).map(drop)
}

/// Makes sure that the store's bound is not below the counter.
fn raise(store: &Database, def: &NativeDef, next: u64, rows: u64) -> Result<()> {
    let _held = hold_raising();
    let key = NativeDef::auto_key(def.id);
    let bytes = store.value(&key).unwrap_or_default();
    let bound = <[u8; 8]>::try_from(bytes).map_or(0, u64::from_le_bytes);
    if next <= bound {
        return Ok(());
    }
    let bound = next.saturating_add(AHEAD.max(rows.saturating_mul(4)));
    let values = vec![(key, Some(bound.to_le_bytes().to_vec()))];
    store.commit(&Commit { values, ..Commit::default() }).map(drop)
}

/// The column with numbers, the numbers, and the counter if it moved.
fn take(
    auto: &AutoIncrement,
    array: &ArrayRef,
    steps: Steps,
    end: End,
) -> Result<(ArrayRef, Numbers, Option<u64>)> {
    loop {
        let start = auto.next.load(Ordering::Acquire);
        let numbers = Numbers::default();
        let mut walk = Walk { next: start, steps, end, numbers, is_full: false };
        let filled = walk.fill(array)?;
        let next = walk.next.max(start);
        if next == start {
            return Ok((filled, walk.numbers, None));
        }
        let taken = auto.next.compare_exchange(start, next, Ordering::AcqRel, Ordering::Acquire);
        if taken.is_ok() {
            return Ok((filled, walk.numbers, Some(next)));
        }
    }
}

/// Where numbers end.
#[derive(Clone, Copy)]
struct End {
    /// The largest that the column holds.
    largest: u64,
    /// The column is all of the primary key: one that is given again is a duplicate.
    is_key: bool,
}

struct Walk {
    next: u64,
    steps: Steps,
    end: End,
    numbers: Numbers,
    /// The first number that was made was the last one again.
    is_full: bool,
}

impl Walk {
    fn fill(&mut self, array: &ArrayRef) -> Result<ArrayRef> {
        if let Some(values) = array.as_primitive_opt::<Int64Type>() {
            let is_value = |value: i64| value != 0 || self.steps.zero_is_value;
            if values.null_count() == 0 && values.values().iter().copied().all(is_value) {
                values.values().iter().for_each(|value| self.given_signed(*value));
                return Ok(Arc::clone(array));
            }
            let filled = values
                .iter()
                .map(|value| match value {
                    Some(value) if value != 0 || self.steps.zero_is_value => {
                        self.given_signed(value);
                        Ok(value)
                    }
                    _ => self.make().map(|value| i64::try_from(value).unwrap_or(i64::MAX)),
                })
                .collect::<Result<Vec<i64>>>()?;
            return Ok(Arc::new(Int64Array::from(filled)));
        }
        let Some(values) = array.as_primitive_opt::<UInt64Type>() else {
            return Err(Error::unsupported("AUTO_INCREMENT of numbers that are no integers"));
        };
        let filled = values
            .iter()
            .map(|value| match value {
                Some(value) if value != 0 || self.steps.zero_is_value => {
                    self.given(value);
                    Ok(value)
                }
                _ => self.make(),
            })
            .collect::<Result<Vec<u64>>>()?;
        Ok(Arc::new(UInt64Array::from(filled)))
    }

    /// One that may be negative, which moves no counter; clients receive its bits.
    fn given_signed(&mut self, value: i64) {
        match u64::try_from(value) {
            Ok(value) => self.given(value),
            Err(_) => self.numbers.last = Some(value.cast_unsigned()),
        }
    }

    fn given(&mut self, value: u64) {
        self.next = self.next.max(value.saturating_add(1));
        self.numbers.last = Some(value);
    }

    fn make(&mut self) -> Result<u64> {
        let Steps { increment, offset, .. } = self.steps;
        if let Some(first) = self.steps.first.take() {
            self.next = first;
        }
        // An offset beyond the increment is passed over, as MySQL does.
        let offset = if offset > increment { 0 } else { offset };
        let behind = self.next.max(1).saturating_sub(offset).div_ceil(increment);
        let value = offset.saturating_add(behind.saturating_mul(increment)).max(1);
        let value = if value > self.end.largest { self.last_again()? } else { value };
        // The last of all numbers is never made.
        if value == u64::MAX {
            return Err(exhausted());
        }
        self.next = self.next.max(value.saturating_add(1));
        self.numbers.first_made.get_or_insert(value);
        self.numbers.last = Some(value);
        Ok(value)
    }

    /// The counter of a column that is full stays at its last number, which is there already as a
    /// rule. A statement gets it once, or as often as it likes where it is a duplicate (1062) anyway.
    fn last_again(&mut self) -> Result<u64> {
        let is_first = self.numbers.first_made.is_none() && self.next > self.end.largest;
        self.is_full |= is_first;
        if is_first || self.is_full && self.end.is_key {
            return Ok(self.end.largest);
        }
        Err(exhausted())
    }
}

fn exhausted() -> Error {
    Error::new(Code::AutoIncrementFailed, "Failed to read auto-increment value from storage engine")
}

/// The largest number of a column.
fn largest(ty: &ColumnType) -> u64 {
    let bits = match ty.wire {
        WireType::Tiny => 8,
        WireType::Short => 16,
        WireType::Int24 => 24,
        WireType::Long => 32,
        _ => 64,
    };
    let all = u64::MAX >> (64 - bits);
    if ty.is_unsigned() { all } else { all >> 1 }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc::{Sender, channel};

    use super::*;
    use crate::tests::with_tables;

    thread_local! {
        /// Gets a message when this thread is about to wait for the numbers of others.
        static WAITING: RefCell<Option<Sender<()>>> = const { RefCell::new(None) };
    }

    pub(super) fn note_waiting() {
        WAITING.with_borrow(|waiting| {
            waiting.iter().for_each(|it| it.send(()).unwrap());
        });
    }

    const PLAIN: Steps = Steps { increment: 1, offset: 1, zero_is_value: false, first: None };
    const END: End = End { largest: 127, is_key: true };

    fn taken(next: u64, values: Vec<Option<i64>>, steps: Steps) -> (Vec<i64>, Numbers, u64) {
        let auto = AutoIncrement { column: 0, next: Arc::new(AtomicU64::new(next)) };
        let array: ArrayRef = Arc::new(Int64Array::from(values));
        let (filled, numbers, _) = take(&auto, &array, steps, END).unwrap();
        let filled = filled.as_primitive::<Int64Type>().values().to_vec();
        (filled, numbers, auto.next.load(Ordering::Relaxed))
    }

    #[test]
    fn numbers_follow_those_that_are_given() {
        let (filled, numbers, next) =
            taken(5, vec![None, Some(3), Some(0), Some(20), None, Some(-4)], PLAIN);
        assert_eq!(filled, [5, 3, 6, 20, 21, -4]);
        assert_eq!((numbers.first_made, next), (Some(5), 22));
        assert_eq!(numbers.last, Some(4_u64.wrapping_neg()));
        assert_eq!(numbers.reported(), 5);
        assert_eq!(taken(5, vec![Some(0), Some(0)], PLAIN).0, [5, 6]);
    }

    #[test]
    fn a_statement_without_gaps_reports_its_last_number() {
        let (filled, numbers, next) = taken(1, vec![Some(7), Some(4)], PLAIN);
        assert_eq!((filled, next), (vec![7, 4], 8));
        assert_eq!((numbers.first_made, numbers.reported()), (None, 4));
    }

    #[test]
    fn the_largest_number_of_rows() {
        let signed: ArrayRef = Arc::new(Int64Array::from(vec![Some(3), None, Some(-7)]));
        assert_eq!(most(&signed), Some(3));
        assert_eq!(most(&signed.slice(1, 2)), None);
        let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![4, u64::MAX]));
        assert_eq!(most(&unsigned), Some(u64::MAX));
    }

    #[test]
    fn steps_and_zero() {
        let steps = Steps { increment: 10, offset: 3, zero_is_value: true, first: None };
        let (filled, numbers, next) = taken(1, vec![Some(0), None, None, Some(40), None], steps);
        assert_eq!(filled, [0, 3, 13, 40, 43]);
        assert_eq!((numbers.first_made, next), (Some(3), 44));
    }

    #[test]
    fn the_first_number_may_be_said() {
        let steps = Steps { first: Some(20), ..PLAIN };
        let (filled, numbers, next) = taken(30, vec![Some(7), None, None], steps);
        assert_eq!((filled, next), (vec![7, 20, 21], 30));
        assert_eq!((numbers.first_made, numbers.last), (Some(20), Some(21)));
        let (filled, _, next) = taken(3, vec![None, Some(40), None], steps);
        assert_eq!((filled, next), (vec![20, 40, 41], 42));
        assert_eq!(taken(5, vec![Some(7)], steps).2, 8);
    }

    #[test]
    fn exact_numbers_are_not_below_those_that_are_taken_meanwhile() {
        let table = "CREATE TABLE c (id INT AUTO_INCREMENT PRIMARY KEY)";
        let catalog = with_tables(&[table]);
        let def = catalog.require("d", "c").unwrap();
        let store = Arc::clone(catalog.store());
        raise(&store, &def, 2, 1).unwrap();
        let (to_keep, tables) = (Arc::clone(&store), [Arc::clone(&def)]);
        let held = RAISING.lock();
        let (waiting, waits) = channel();
        let keeping = std::thread::spawn(move || {
            WAITING.set(Some(waiting));
            keep(&to_keep, &tables)
        });
        // What is read before the lock has been read by now.
        waits.recv().unwrap();
        def.auto.as_ref().unwrap().next.store(51, Ordering::Release);
        drop(held);
        keeping.join().unwrap().unwrap();
        let kept = store.value(&NativeDef::auto_key(def.id));
        assert_eq!(kept, Some(51_u64.to_le_bytes().to_vec()));
    }

    #[test]
    fn a_full_column_gives_its_last_number_or_error_1467() {
        let made = |next, values: Vec<Option<i64>>, end| {
            let auto = AutoIncrement { column: 0, next: Arc::new(AtomicU64::new(next)) };
            let array: ArrayRef = Arc::new(Int64Array::from(values));
            take(&auto, &array, PLAIN, end).map(|(filled, _, next)| {
                (filled.as_primitive::<Int64Type>().values().to_vec(), next)
            })
        };
        let other = End { is_key: false, ..END };
        assert_eq!(made(127, vec![None, None], END).unwrap_err().errno(), 1467);
        assert_eq!(made(128, vec![None, None], END).unwrap(), (vec![127, 127], None));
        assert_eq!(made(1, vec![Some(127), None], END).unwrap(), (vec![127, 127], Some(128)));
        assert_eq!(made(128, vec![None], other).unwrap(), (vec![127], None));
        assert_eq!(made(128, vec![None, None], other).unwrap_err().errno(), 1467);
        assert_eq!(largest(&ColumnType::bigint()), i64::MAX as u64);
        let last = End { largest: u64::MAX, is_key: true };
        assert_eq!(made(u64::MAX, vec![None], last).unwrap_err().errno(), 1467);
    }
}

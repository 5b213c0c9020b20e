//! The table of perfect-hash aggregation: maps the values of group keys to groups.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt32Array};
use arrow::compute::{cast, max, min, take};
use arrow::datatypes::{DataType, SchemaRef, UInt32Type};
use datafusion::common::DataFusionError;
use datafusion::logical_expr::EmitTo;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;

type DfResult<T> = Result<T, DataFusionError>;

/// Places that a table has at most: they stay close to the processor.
const PLACES: usize = 1 << 16;

/// Not a group.
const NONE: u32 = u32::MAX;

/// Whether values of a type are numbers that fit 64 bits with their sign.
pub(super) fn is_small_number(ty: &DataType) -> bool {
    ty.is_integer() && *ty != DataType::UInt64 || *ty == DataType::Date32
}

/// The groups of one stream.
pub(super) struct Table {
    values: Box<dyn GroupValues>,
    keys: Vec<Key>,
    /// The group at each place, or none yet; a power of two of them, no more than are needed: most
    /// queries have a few groups.
    places: Vec<u32>,
    /// So many values of the only key, from 0 on, are the numbers of their groups: then nothing has
    /// to be looked up. That is so where a scan numbers groups.
    straight: u32,
}

/// The group at a place, without a bounds check: a place beyond the end is mapped to another one,
/// and the caller avoids that.
fn at(places: &[u32], place: u64) -> u32 {
    places[index(places, place)]
}

fn index(places: &[u32], place: u64) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "so that it is an index in any case")]
    let place = place as usize;
    place & (places.len() - 1)
}

/// The values of one key for which there are places: NULL has the one after them.
#[derive(Clone, Copy, Debug, Default)]
struct Key {
    least: i64,
    count: u64,
}

impl Key {
    /// The digit that represents a value; the last one if it has none.
    fn digit(self, value: i64) -> u64 {
        value.wrapping_sub(self.least).cast_unsigned()
    }

    /// The same with space for more values.
    fn with(self, values: &Int64Array) -> Option<Self> {
        let (Some(least), Some(most)) = (min(values), max(values)) else { return Some(self) };
        let (least, most) = match self.count.checked_sub(1).and_then(|it| i64::try_from(it).ok()) {
            Some(more) => (least.min(self.least), most.max(self.least.saturating_add(more))),
            None => (least, most),
        };
        let count = most.checked_sub(least)?.cast_unsigned().checked_add(1)?;
        Some(Self { least, count })
    }
}

impl Table {
    /// No groups, by keys of these types.
    pub(super) fn new(schema: SchemaRef) -> DfResult<Self> {
        let keys = vec![Key::default(); schema.fields().len()];
        let values = new_group_values(schema, &GroupOrdering::None)?;
        Ok(Self { values, keys, places: vec![NONE], straight: 0 })
    }

    pub(super) fn groups(&self) -> usize {
        self.values.len()
    }

    pub(super) fn memory(&self) -> usize {
        self.values.size() + size_of_val(self.places.as_slice())
    }

    /// Returns the keys of all groups in their order, and starts again.
    pub(super) fn take(&mut self) -> DfResult<Vec<ArrayRef>> {
        self.places.fill(NONE);
        self.straight = 0;
        let keys = self.values.emit(EmitTo::All);
        // It would find the groups that it gave away.
        self.values.clear_shrink(0);
        keys
    }

    /// Finds the group of each row. False where the keys have values too far apart: nothing has
    /// changed then.
    pub(super) fn find(&mut self, keys: &[ArrayRef], groups: &mut Vec<usize>) -> DfResult<bool> {
        // The numbers of groups that a scan gives, mostly known: they need not become wider first.
        if let [key] = keys
            && key.null_count() == 0
            && let Some(numbers) = key.as_primitive_opt::<UInt32Type>()
        {
            let numbers = numbers.values();
            if numbers.iter().fold(0, |most, number| most.max(*number)) < self.straight {
                groups.clear();
                groups.extend(numbers.iter().map(|number| *number as usize));
                return Ok(true);
            }
            if !self.look_one_up(numbers.iter().map(|value| i64::from(*value)), groups) {
                return Ok(true);
            }
        }
        let numbers = keys.iter().map(|key| Ok(cast(key, &DataType::Int64)?));
        let numbers = numbers.collect::<DfResult<Vec<_>>>()?;
        let numbers: Vec<&Int64Array> = numbers.iter().map(|it| it.as_primitive()).collect();
        if self.look_up(&numbers, groups) {
            if !self.make_space(&numbers) {
                return Ok(false);
            }
            self.add(keys, &numbers, groups)?;
        }
        Ok(true)
    }

    /// Looks all rows up, without a branch; whether there are some whose group is not known, and
    /// then nothing that was found counts.
    fn look_up(&self, keys: &[&Int64Array], groups: &mut Vec<usize>) -> bool {
        if let [key] = keys
            && key.null_count() == 0
        {
            return self.look_one_up(key.values().iter().copied(), groups);
        }
        groups.clear();
        let mut is_new = false;
        groups.extend(self.places_of(keys).into_iter().map(|place| {
            let group = at(&self.places, place);
            is_new |= place == u64::MAX || group == NONE;
            group as usize
        }));
        is_new
    }

    /// The same by the values of a single key, of which none is NULL.
    fn look_one_up(
        &self,
        values: impl ExactSizeIterator<Item = i64>,
        groups: &mut Vec<usize>,
    ) -> bool {
        groups.clear();
        let mut is_new = false;
        let own = self.keys[0];
        groups.extend(values.map(|value| {
            let digit = own.digit(value);
            let group = at(&self.places, digit);
            // The place after the values is that of NULL.
            is_new |= digit >= own.count || group == NONE;
            group as usize
        }));
        is_new
    }

    /// The place of each row, that of one which has none beyond all.
    fn places_of(&self, keys: &[&Int64Array]) -> Vec<u64> {
        let mut places = vec![0_u64; keys.first().map_or(0, |key| key.len())];
        for (key, values) in self.keys.iter().zip(keys) {
            let base = key.count + 1;
            let mut push = |row: usize, digit: u64| {
                let place = &mut places[row];
                *place = match *place {
                    u64::MAX => u64::MAX,
                    _ if digit > key.count => u64::MAX,
                    before => before * base + digit,
                };
            };
            let digit = |value: i64| {
                // A value must not be taken for NULL.
                let digit = key.digit(value);
                if digit >= key.count { u64::MAX } else { digit }
            };
            match values.nulls() {
                None => {
                    for (row, value) in values.values().iter().enumerate() {
                        push(row, digit(*value));
                    }
                }
                Some(nulls) => {
                    for (row, (value, valid)) in values.values().iter().zip(nulls).enumerate() {
                        push(row, if valid { digit(*value) } else { key.count });
                    }
                }
            }
        }
        places
    }

    /// Makes sure that all these values have places, if there can be so many.
    fn make_space(&mut self, keys: &[&Int64Array]) -> bool {
        let wider = self.keys.iter().zip(keys).map(|(key, values)| key.with(values));
        let Some(wider) = wider.collect::<Option<Vec<Key>>>() else { return false };
        let same =
            wider.iter().zip(&self.keys).all(|(a, b)| (a.least, a.count) == (b.least, b.count));
        if same {
            return true;
        }
        let count = |product: u64, key: &Key| product.checked_mul(key.count.checked_add(1)?);
        let places = wider.iter().try_fold(1, count).filter(|places| *places <= PLACES as u64);
        let Some(places) = places.and_then(|it| usize::try_from(it).ok()) else { return false };
        self.keys = wider;
        // Their groups are found again when they come by.
        self.places.clear();
        self.places.resize(places.next_power_of_two(), NONE);
        true
    }

    /// Finds the groups of rows that all have a place, and numbers those that are new.
    fn add(
        &mut self,
        keys: &[ArrayRef],
        numbers: &[&Int64Array],
        groups: &mut Vec<usize>,
    ) -> DfResult<()> {
        let places = self.places_of(numbers);
        let group = |place: &u64| at(&self.places, *place);
        let rows = (0_u32..).zip(&places).filter(|(_, place)| group(place) == NONE);
        let mut rows: Vec<u32> = rows.map(|(row, _)| row).collect();
        if let [key] = keys
            && *key.data_type() == DataType::UInt32
        {
            // Groups in the order of their values are found without looking them up, see `straight`.
            rows.sort_by_key(|row| places[*row as usize]);
        }
        let rows = UInt32Array::from(rows);
        let taken = keys.iter().map(|key| Ok(take(key, &rows, None)?));
        let mut found = Vec::with_capacity(rows.len());
        self.values.intern(&taken.collect::<DfResult<Vec<_>>>()?, &mut found)?;
        for (row, group) in rows.values().iter().zip(found) {
            // There are no more groups than places.
            let number = u32::try_from(group).unwrap_or(NONE);
            let place = index(&self.places, places[*row as usize]);
            self.places[place] = number;
        }
        groups.clear();
        groups.extend(places.into_iter().map(|place| at(&self.places, place) as usize));
        self.straighten();
        Ok(())
    }

    /// Finds out which values are the numbers of their groups.
    fn straighten(&mut self) {
        self.straight = 0;
        if let [Key { least: 0, count }] = self.keys.as_slice() {
            let values = (0..).zip(&self.places).take_while(|(value, group)| value == *group);
            let straight = values.take(usize::try_from(*count).unwrap_or(usize::MAX)).count();
            self.straight = u32::try_from(straight).unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use arrow::array::{Int16Array, Int32Array};
    use arrow::datatypes::{Field, Int64Type, Schema};

    use super::*;

    fn table(types: &[DataType]) -> Table {
        let fields: Vec<Field> = types.iter().map(|ty| Field::new("k", ty.clone(), true)).collect();
        Table::new(Arc::new(Schema::new(fields))).unwrap()
    }

    fn keys(table: &mut Table) -> Vec<Vec<Option<i64>>> {
        let columns = table.take().unwrap();
        let columns: Vec<ArrayRef> =
            columns.iter().map(|it| cast(it, &DataType::Int64).unwrap()).collect();
        let rows = 0..columns[0].len();
        let value = |column: &ArrayRef, row: usize| {
            let column = column.as_primitive::<Int64Type>();
            column.is_valid(row).then(|| column.value(row))
        };
        rows.map(|row| columns.iter().map(|column| value(column, row)).collect()).collect()
    }

    /// Groups are those of a map, whatever comes: values beyond those before, NULLs, and the same
    /// groups again after all were given away.
    #[test]
    fn groups_are_those_of_a_map() {
        let mut table = table(&[DataType::Int32, DataType::Int16]);
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for round in 0..60_u64 {
            let mut known: HashMap<(Option<i64>, Option<i64>), usize> = HashMap::new();
            for batch in 0..4 {
                let mut rows = Vec::new();
                for _ in 0..next(300) {
                    let one = (next(9) > 0).then(|| next(5 + round + batch).cast_signed() - 30);
                    let two = (next(9) > 0).then(|| next(20).cast_signed() + i64::from(i8::MAX));
                    rows.push((one, two));
                }
                let first = rows.iter().map(|it| it.0.map(|it| i32::try_from(it).unwrap()));
                let second = rows.iter().map(|it| it.1.map(|it| i16::try_from(it).unwrap()));
                let columns: [ArrayRef; 2] = [
                    Arc::new(first.collect::<Int32Array>()),
                    Arc::new(second.collect::<Int16Array>()),
                ];
                let mut groups = Vec::new();
                assert!(table.find(&columns, &mut groups).unwrap());
                assert_eq!(groups.len(), rows.len());
                for (row, group) in rows.iter().zip(groups) {
                    let count = known.len();
                    assert_eq!(group, *known.entry(*row).or_insert(count));
                }
                assert_eq!(table.groups(), known.len());
            }
            let found = keys(&mut table);
            assert_eq!(found.len(), known.len());
            for ((one, two), group) in known {
                assert_eq!(found[group], [one, two]);
            }
        }
    }

    /// Numbers that mostly come in the order of the groups, and such that do not.
    #[test]
    fn numbers_of_groups_are_found() {
        let mut state = 3_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            u32::try_from((state >> 33) % below).unwrap()
        };
        let (mut all, mut some) = (0, 0);
        for round in 0..300 {
            let mut table = table(&[DataType::UInt32]);
            let mut known: HashMap<Option<u32>, usize> = HashMap::new();
            for batch in 1..6 {
                let (least, count) = (next(1 + round % 3), 1 + u64::from(next(4 * batch)));
                let nulls = round % 5 == 0;
                let rows: Vec<Option<u32>> = (0..1 + next(40))
                    .map(|_| (!nulls || next(9) > 0).then(|| least + next(count)))
                    .collect();
                let mut groups = Vec::new();
                let column: [ArrayRef; 1] = [Arc::new(UInt32Array::from(rows.clone()))];
                assert!(table.find(&column, &mut groups).unwrap());
                assert_eq!(groups.len(), rows.len());
                for (row, group) in rows.iter().zip(groups) {
                    assert_eq!(*known.entry(*row).or_insert(group), group);
                }
                assert_eq!(table.groups(), known.len());
                match table.straight as usize {
                    0 => {}
                    straight if straight == known.len() => all += 1,
                    _ => some += 1,
                }
            }
            let found = keys(&mut table);
            assert_eq!(table.straight, 0);
            for (value, group) in known {
                assert_eq!(found[group], [value.map(i64::from)]);
            }
        }
        assert!(all > 50 && some > 50, "{all} {some}");
    }

    #[test]
    fn values_too_far_apart_change_nothing() {
        let mut table = table(&[DataType::Int64]);
        let mut groups = Vec::new();
        let column = |values: &[i64]| [Arc::new(Int64Array::from(values.to_vec())) as ArrayRef];
        assert!(table.find(&column(&[i64::MAX, i64::MAX - 3]), &mut groups).unwrap());
        for far in [0, i64::MIN, i64::MAX - 65_536] {
            assert!(!table.find(&column(&[i64::MAX, far]), &mut groups).unwrap());
            assert_eq!(table.groups(), 2);
        }
        assert!(table.find(&column(&[i64::MAX - 65_534]), &mut groups).unwrap());
        assert_eq!(groups, [2]);
        assert_eq!(
            keys(&mut table).concat(),
            [i64::MAX, i64::MAX - 3, i64::MAX - 65_534].map(Some)
        );
        assert!(table.find(&column(&[]), &mut groups).unwrap());
        assert!(groups.is_empty());
    }

    #[test]
    fn only_numbers_with_a_sign_fit() {
        assert!(is_small_number(&DataType::Date32) && is_small_number(&DataType::UInt32));
        assert!(!is_small_number(&DataType::UInt64) && !is_small_number(&DataType::Float64));
    }
}

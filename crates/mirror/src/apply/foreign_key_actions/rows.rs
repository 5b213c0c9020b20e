//! The rows of a replay, as references into arrays, and the state of each key of a table.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, new_empty_array, new_null_array};
use pelorus_error::Result;
use pelorus_store::Keys;

use super::values::{cannot, values};
use crate::model::copies::CopyTable;
use crate::model::mirror::Mirror;

/// The changes of one table in a batch.
#[derive(Debug)]
pub(crate) struct Images {
    pub(crate) mirror: Arc<Mirror>,
    pub(crate) copy: Arc<dyn CopyTable>,
    /// Rows after their changes.
    pub(crate) after: Arc<Vec<ArrayRef>>,
    /// Rows before their changes: the columns of the key, and those that are referred to.
    pub(crate) before: Arc<Vec<ArrayRef>>,
    pub(crate) after_keys: Keys,
    pub(crate) before_keys: Keys,
}

/// The resulting changes of a table.
#[derive(Debug)]
pub(crate) struct Folded {
    /// Rows as they are at the end.
    pub(crate) puts: Vec<ArrayRef>,
    /// Rows that are gone; only the columns of the key count.
    pub(crate) removes: Vec<ArrayRef>,
}

/// A row: a place in arrays, and columns that are elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) base: Arc<Vec<ArrayRef>>,
    pub(super) at: usize,
    pub(super) over: Vec<(usize, ArrayRef, usize)>,
}

impl Row {
    pub(super) fn new(base: &Arc<Vec<ArrayRef>>, at: usize) -> Self {
        Self { base: Arc::clone(base), at, over: Vec::new() }
    }

    pub(super) fn cell(&self, column: usize) -> (&ArrayRef, usize) {
        match self.over.iter().find(|it| it.0 == column) {
            Some((_, array, at)) => (array, *at),
            None => (&self.base[column], self.at),
        }
    }

    pub(super) fn one(&self, column: usize) -> ArrayRef {
        let (array, at) = self.cell(column);
        array.slice(at, 1)
    }

    pub(super) fn set(&mut self, column: usize, array: ArrayRef, at: usize) {
        self.over.retain(|it| it.0 != column);
        self.over.push((column, array, at));
    }

    /// The values of columns, encoded.
    pub(super) fn value(&self, copy: &dyn CopyTable, columns: &[usize]) -> Result<Option<Vec<u8>>> {
        let arrays: Vec<ArrayRef> = columns.iter().map(|&column| self.one(column)).collect();
        Ok(values(copy, columns, &arrays)?.pop().flatten())
    }

    /// Which of some columns differ.
    pub(super) fn differs(&self, other: &Self, columns: &[usize]) -> Vec<bool> {
        columns.iter().map(|&column| *self.one(column) != *other.one(column)).collect()
    }
}

/// The state of a key of a table.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) row: Option<Row>,
    /// A row of that key, whatever has become of it.
    pub(super) of_key: Row,
    /// The values to which the row refers, by foreign key.
    pub(super) refers: Vec<Option<Vec<u8>>>,
    pub(super) is_changed: bool,
}

/// A foreign key of a table.
#[derive(Debug)]
pub(super) struct Referring {
    pub(super) name: String,
    pub(super) columns: Vec<usize>,
    /// Keys of rows that referred to a value at some time.
    pub(super) by_value: HashMap<Vec<u8>, Vec<Vec<u8>>>,
    /// Values whose rows of the copy are known.
    pub(super) known: HashSet<Vec<u8>>,
}

/// A table with foreign keys.
#[derive(Debug)]
pub(super) struct Child<'i> {
    pub(super) images: &'i Images,
    pub(super) keys: Vec<Referring>,
    pub(super) slots: HashMap<Vec<u8>, Slot>,
    /// Bytes of the rows of the copy that were looked for.
    pub(super) bytes: usize,
}

impl Child<'_> {
    pub(super) fn refers(&self, row: &Row) -> Result<Vec<Option<Vec<u8>>>> {
        let copy = self.images.copy.as_ref();
        self.keys.iter().map(|key| row.value(copy, &key.columns)).collect()
    }

    /// The values to which all rows of a batch refer, by row and foreign key.
    pub(super) fn all_refer(&self, arrays: &[ArrayRef]) -> Result<Vec<Vec<Option<Vec<u8>>>>> {
        let rows = arrays.first().map_or(0, |array| array.len());
        let mut all = vec![Vec::with_capacity(self.keys.len()); rows];
        for key in &self.keys {
            let own: Vec<ArrayRef> =
                key.columns.iter().map(|&at| Arc::clone(&arrays[at])).collect();
            for (of_row, value) in
                all.iter_mut().zip(values(self.images.copy.as_ref(), &key.columns, &own)?)
            {
                of_row.push(value);
            }
        }
        Ok(all)
    }

    pub(super) fn put(
        &mut self,
        key: Vec<u8>,
        row: Row,
        refers: Vec<Option<Vec<u8>>>,
        is_changed: bool,
    ) {
        for (known, value) in self.keys.iter_mut().zip(&refers) {
            if let Some(value) = value {
                known.by_value.entry(value.clone()).or_default().push(key.clone());
            }
        }
        let of_key = row.clone();
        self.slots.insert(key, Slot { row: Some(row), of_key, refers, is_changed });
    }

    pub(super) fn remove(&mut self, key: Vec<u8>, of_key: Row) {
        let slot = Slot { row: None, of_key, refers: Vec::new(), is_changed: true };
        self.slots.insert(key, slot);
    }

    /// Forgets all rows.
    pub(super) fn forget(&mut self) {
        self.slots = HashMap::new();
        self.keys.iter_mut().for_each(|key| key.by_value = HashMap::new());
    }

    /// The keys of the rows that refer to a value, of those that are known.
    pub(super) fn referring(&self, at: usize, value: &[u8]) -> Vec<Vec<u8>> {
        let refers = |key: &&Vec<u8>| {
            self.slots
                .get(*key)
                .is_some_and(|slot| slot.row.is_some() && slot.refers[at].as_deref() == Some(value))
        };
        let listed = self.keys[at].by_value.get(value).into_iter().flatten();
        let mut seen = HashSet::new();
        listed.filter(refers).filter(|key| seen.insert(*key)).cloned().collect()
    }

    /// The resulting changes.
    pub(super) fn fold(&self) -> Result<Folded> {
        let mut changed: Vec<(&Vec<u8>, &Slot)> =
            self.slots.iter().filter(|(_, slot)| slot.is_changed).collect();
        changed.sort_unstable_by_key(|(key, _)| *key);
        let puts: Vec<&Row> = changed.iter().filter_map(|(_, slot)| slot.row.as_ref()).collect();
        let gone = changed.iter().filter(|(_, slot)| slot.row.is_none());
        let gone: Vec<&Row> = gone.map(|(_, slot)| &slot.of_key).collect();
        let copy = &self.images.copy;
        let column = |rows: &[&Row], at: usize, is_there: bool| -> Result<ArrayRef> {
            let ty = copy.columns()[at].ty.arrow();
            match (rows.is_empty(), is_there) {
                (true, _) => Ok(new_empty_array(&ty)),
                (_, false) => Ok(new_null_array(&ty, rows.len())),
                _ => gathered(rows, at),
            }
        };
        let all = 0..copy.columns().len();
        Ok(Folded {
            puts: all.clone().map(|at| column(&puts, at, true)).collect::<Result<_>>()?,
            removes: all
                .map(|at| column(&gone, at, copy.key().contains(&at)))
                .collect::<Result<_>>()?,
        })
    }
}

/// One column of rows.
fn gathered(rows: &[&Row], column: usize) -> Result<ArrayRef> {
    let mut arrays: Vec<&dyn arrow::array::Array> = Vec::new();
    let mut known: HashMap<*const u8, usize> = HashMap::new();
    let mut places = Vec::with_capacity(rows.len());
    for row in rows {
        let (array, at) = row.cell(column);
        let number = *known.entry(Arc::as_ptr(array).cast()).or_insert_with(|| {
            arrays.push(array.as_ref());
            arrays.len() - 1
        });
        places.push((number, at));
    }
    arrow::compute::interleave(&arrays, &places).map_err(cannot)
}

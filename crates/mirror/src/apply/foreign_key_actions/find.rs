//! Finds the child rows in a copy that refer to given values.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, UInt64Type};
use pelorus_chunk::{Predicate, Scalar};
use pelorus_error::Result;
use pelorus_store::{Database, ScanRequest, ValueTest, bytes_of};

use super::values::{cannot, values};
use crate::model::copies::CopyTable;

/// An estimate of the memory of a row's key and notes.
const NOTE_BYTES: usize = 256;
/// About so many rows are looked at together.
const BATCH_ROWS: usize = 8192;
/// So many numbers are looked for one by one; of more their bounds and then a set.
const FEW: usize = 64;

/// The values to look for.
pub(super) struct Wanted<'w> {
    pub(super) copy: &'w Arc<dyn CopyTable>,
    /// The columns that refer.
    pub(super) columns: &'w [usize],
    /// The values that they refer to: those columns, without NULLs.
    pub(super) arrays: &'w [ArrayRef],
    /// The same, encoded.
    pub(super) keys: &'w HashSet<Vec<u8>>,
    /// Bytes that the rows may take.
    pub(super) most: usize,
}

/// Rows that were found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) batches: Vec<Vec<ArrayRef>>,
    /// Bytes of the rows, with their metadata.
    pub(super) bytes: usize,
}

/// All columns of the rows that refer to one of the values, at the newest version. This reads the
/// columns that refer of all chunks whose bounds may have one of the values. `None` where they take
/// more bytes than they may.
///
/// # Errors
/// Errors of reading.
pub(super) fn rows(store: &Arc<Database>, wanted: &Wanted<'_>) -> Result<Option<Found>> {
    let copy = wanted.copy;
    let fields: Vec<Field> = copy
        .columns()
        .iter()
        .map(|column| Field::new(&column.name, column.ty.arrow(), true))
        .collect();
    let mut request = ScanRequest {
        columns: (0..copy.columns().len()).collect(),
        predicates: Vec::new(),
        tests: Vec::new(),
        schema: Arc::new(Schema::new(fields)),
        hidden: None,
        batch_rows: BATCH_ROWS,
    };
    for (&column, array) in wanted.columns.iter().zip(wanted.arrays) {
        narrow(&mut request, copy, column, array)?;
    }
    let snapshot = store.snapshot();
    let mut found = Found::default();
    for unit in snapshot.table(copy.id())?.scan(request, |_| true)? {
        let mut cursor = unit.open()?;
        while let Some(batch) = cursor.next_batch()? {
            let columns = batch.columns();
            let own: Vec<ArrayRef> =
                wanted.columns.iter().map(|&at| Arc::clone(&columns[at])).collect();
            let keys = values(copy.as_ref(), wanted.columns, &own)?;
            let keep =
                |key: &Option<Vec<u8>>| key.as_ref().is_some_and(|it| wanted.keys.contains(it));
            let keep = BooleanArray::from(keys.iter().map(keep).collect::<Vec<_>>());
            if keep.true_count() > 0 {
                let kept = columns.iter().map(|it| arrow::compute::filter(it, &keep));
                let kept: Vec<ArrayRef> = kept.collect::<Result<_, _>>().map_err(cannot)?;
                found.bytes += bytes_of(&kept) + keep.true_count() * NOTE_BYTES;
                if found.bytes > wanted.most {
                    return Ok(None);
                }
                found.batches.push(kept);
            }
        }
    }
    Ok(Some(found))
}

/// Leaves out what one column tells apart already.
fn narrow(
    request: &mut ScanRequest,
    copy: &Arc<dyn CopyTable>,
    column: usize,
    array: &ArrayRef,
) -> Result<()> {
    let numbers: Option<HashSet<i128>> = match array.data_type() {
        DataType::Int64 => {
            Some(array.as_primitive::<Int64Type>().iter().flatten().map(i128::from).collect())
        }
        DataType::UInt64 => {
            Some(array.as_primitive::<UInt64Type>().iter().flatten().map(i128::from).collect())
        }
        _ => None,
    };
    let Some(numbers) = numbers else {
        let keys = copy.encoded(&[column], array.len(), std::slice::from_ref(array))?;
        let wanted = keys.iter().map(<[u8]>::to_vec).collect();
        request.tests.push((column, Arc::new(OneOf { copy: Arc::clone(copy), column, wanted })));
        return Ok(());
    };
    if numbers.len() <= FEW {
        let list = numbers.into_iter().map(Scalar::Int).collect();
        request.predicates.push((column, Predicate::In(list)));
    } else if let (Some(&low), Some(&high)) = (numbers.iter().min(), numbers.iter().max()) {
        request.predicates.push((column, Predicate::Between(Scalar::Int(low), Scalar::Int(high))));
        request.tests.push((column, Arc::new(OneNumber(numbers))));
    }
    Ok(())
}

/// Values that are called equal to one of some.
#[derive(Debug)]
struct OneOf {
    copy: Arc<dyn CopyTable>,
    column: usize,
    wanted: HashSet<Vec<u8>>,
}

impl ValueTest for OneOf {
    fn keep(&self, array: &ArrayRef) -> Result<BooleanArray> {
        let keys = values(self.copy.as_ref(), &[self.column], std::slice::from_ref(array))?;
        let is_one =
            |key: &Option<Vec<u8>>| key.as_ref().is_some_and(|it| self.wanted.contains(it));
        Ok(keys.iter().map(is_one).collect::<Vec<_>>().into())
    }
}

/// One of some numbers.
#[derive(Debug)]
struct OneNumber(HashSet<i128>);

impl ValueTest for OneNumber {
    fn keep(&self, array: &ArrayRef) -> Result<BooleanArray> {
        let has = |value: Option<i128>| value.is_some_and(|it| self.0.contains(&it));
        let found: Vec<bool> = match array.data_type() {
            DataType::UInt64 => {
                let values = array.as_primitive::<UInt64Type>().iter();
                values.map(|it| has(it.map(i128::from))).collect()
            }
            _ => {
                let values = array.as_primitive::<Int64Type>().iter();
                values.map(|it| has(it.map(i128::from))).collect()
            }
        };
        Ok(found.into())
    }
}

//! Comparing all that can be read with the model.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use pelorus_chunk::{Op, Predicate, Scalar};
use pelorus_error::Code;
use pelorus_store::{Snapshot, TableSnapshot};

use super::world::World;
use crate::rows::{Content, How, Key, Row, read};

impl World {
    /// A content as it is seen under the columns of a snapshot.
    fn seen(&self, table: usize, snapshot: &TableSnapshot, content: &Content) -> Content {
        let fillers = &self.tables[table].fillers;
        let ids: Vec<u32> =
            snapshot.schema().columns.iter().map(|it| it.id).filter(|id| *id > 3).collect();
        let row = |row: &Row| {
            let value = |id: &u32| row.added.get(id).copied().unwrap_or_else(|| fillers[id]);
            let added: BTreeMap<_, _> = ids.iter().map(|id| (*id, value(id))).collect();
            Row { added, ..row.clone() }
        };
        content.iter().map(|(key, it)| (*key, row(it))).collect()
    }

    pub(super) fn check(&self) {
        let newest = self.database.snapshot();
        for table in 0..2 {
            self.check_all(table, &newest);
            let seen = newest.table(self.tables[table].id).unwrap();
            assert_eq!(seen.verify(&|| false).unwrap(), []);
            self.check_some(table, &newest);
            for held in &self.held {
                // Under the newest schema what is held can always be read.
                self.check_all(table, &self.database.snapshot_at(held.version()));
                self.check_held(table, held);
            }
        }
        let expected: Vec<_> = self.values.clone().into_iter().collect();
        assert_eq!(self.database.values(b"k"), expected);
        for key in 0..4 {
            let key = vec![b'k', key];
            assert_eq!(self.database.value(&key).as_ref(), self.values.get(&key));
        }
        self.check_times();
    }

    fn check_all(&self, table: usize, snapshot: &Snapshot) {
        let version = snapshot.version();
        let seen = snapshot.table(self.tables[table].id).unwrap();
        let expected = self.seen(table, &seen, &self.content_at(version)[table]);
        let found = read(&seen, How { batch_rows: 64, ..How::default() }).unwrap();
        assert_eq!(found, expected, "table {table} at version {version}");
        assert_eq!(seen.rows(), expected.len() as u64);
        assert_eq!(seen.count_rows().unwrap(), expected.len() as u64);
        self.check_points(table, &seen, &expected);
    }

    /// What was read once is read again, under the columns of the first time unless one is gone.
    fn check_held(&self, table: usize, held: &Snapshot) {
        let seen = held.table(self.tables[table].id).unwrap();
        let content = &self.content_at(held.version())[table];
        match read(&seen, How { batch_rows: 1, ..How::default() }) {
            Ok(found) => assert_eq!(found, self.seen(table, &seen, content)),
            Err(error) => {
                assert_eq!(error.code(), Code::TableChanged);
                let now = self.tables[table].schema.columns.iter().map(|it| it.id);
                let now: HashSet<u32> = now.collect();
                assert!(seen.schema().columns.iter().any(|it| !now.contains(&it.id)));
            }
        }
    }

    /// Rows by conditions on an old and on an added column, without some that are hidden.
    fn check_some(&self, table: usize, newest: &Snapshot) {
        let seen = newest.table(self.tables[table].id).unwrap();
        let half = self.number / 2;
        let mut predicates = vec![
            (1, Predicate::Between(Scalar::Int(20), Scalar::Int(60))),
            (2, Predicate::Compare(Op::Lt, Scalar::Int(half.into()))),
        ];
        let added = seen.schema().columns.iter().map(|it| it.id).find(|id| *id > 3);
        if let Some(id) = added {
            predicates.push((id, Predicate::Compare(Op::Ge, Scalar::Int(3))));
        }
        let is_hidden = |key: &Key| (key.0 + key.1) % 3 == 0;
        let mut expected = self.seen(table, &seen, &self.content_at(newest.version())[table]);
        expected.retain(|key, row| {
            let has = added.is_none_or(|id| row.added[&id].is_some_and(|value| value >= 3));
            (20..=60).contains(&key.1) && row.v < half && has && !is_hidden(key)
        });
        let bytes = |number: i64| (number ^ i64::MIN).to_be_bytes();
        let all = (0..3).flat_map(|p| (0..super::KEYS).map(move |k| (p, k)));
        let hidden = all.filter(is_hidden).map(|(p, k)| [bytes(p), bytes(k)].concat()).collect();
        let how = How { predicates, hidden: Some(Arc::new(hidden)), batch_rows: 7 };
        assert_eq!(read(&seen, how).unwrap(), expected);
    }

    /// Rows that are looked up by their keys are those of the version.
    fn check_points(&self, table: usize, seen: &TableSnapshot, expected: &Content) {
        let numbers: Vec<i64> = (0..super::KEYS).step_by(13).collect();
        let p: ArrayRef = Arc::new(Int64Array::from(vec![1; numbers.len()]));
        let k: ArrayRef = Arc::new(Int64Array::from(numbers.clone()));
        let v = seen.schema().position(2).unwrap();
        let rows = seen.get(&1_i64.to_be_bytes(), &[p, k], &[v]).unwrap();
        let mut values = rows.columns[0].as_primitive::<Int64Type>().values().iter();
        for (number, found) in numbers.iter().zip(&rows.found) {
            let value = found.then(|| *values.next().unwrap());
            let expected = expected.get(&(1, *number)).map(|row| row.v);
            assert_eq!(value, expected, "table {table}");
        }
    }

    /// Moments lead to the versions that were the newest then, to the millisecond.
    fn check_times(&self) {
        let Some(&(last, newest)) = self.times.last() else { return };
        assert_eq!(self.database.version_at(last + 1000), Some(newest));
        assert_eq!(self.database.version_at(self.times[0].0 - 1), None);
        for &(moment, version) in self.times.iter().rev().take(5) {
            let found = self.database.version_at(moment).unwrap();
            assert!(found >= version, "version {found} at the moment of {version}");
            let (made, _) = self.times.iter().find(|(_, it)| *it >= found).unwrap();
            assert!(*made < moment + 1000, "version {found} is of {made}, after {moment}");
        }
    }

    /// Every version that can still be read is what it was.
    pub(super) fn check_history(&self) {
        let floors = self.tables.clone().map(|it| self.database.table(it.id).unwrap().floor());
        for version in self.versions.keys() {
            let snapshot = self.database.snapshot_at(*version);
            for (table, floor) in floors.iter().enumerate() {
                if version >= floor {
                    self.check_all(table, &snapshot);
                } else {
                    let error = snapshot.table(self.tables[table].id).unwrap_err();
                    assert_eq!(error.code(), Code::HistoryTooOld);
                }
            }
        }
    }
}

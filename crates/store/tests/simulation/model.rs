//! What a database holds at one version, and what each change does to it.

use std::collections::BTreeMap;

use pelorus_store::{Mode, Outcome, TableId, Version};

use crate::history::Asked;
use crate::rows::{Content, Key, Row};

/// One change of a commit, or of the catalog.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Put {
        table: TableId,
        mode: Mode,
        rows: Vec<(Key, Row)>,
    },
    Remove {
        table: TableId,
        keys: Vec<Key>,
    },
    Value {
        key: Vec<u8>,
        value: Vec<u8>,
    },
    Create {
        table: TableId,
    },
    Drop {
        table: TableId,
    },
    /// The columns there are from now on, and what older rows have in them.
    Alter {
        table: TableId,
        columns: Columns,
    },
    DropPartition {
        table: TableId,
        p: i64,
    },
    Truncate {
        table: TableId,
    },
    /// A table takes the place of another.
    Replace {
        old: TableId,
        new: TableId,
    },
}

/// Columns that were added, by their numbers, with what rows have in them that are older.
pub(crate) type Columns = BTreeMap<u32, Option<i64>>;

/// What somebody saw of a table.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// All rows, under the given columns.
    All(Columns, Content),
    /// `v` of one key.
    Point(Key, Option<i64>),
    /// How many rows there are.
    Count(u64),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) columns: Columns,
    pub(crate) rows: Content,
    /// When each key was last written or removed, and when rows were last dropped otherwise.
    written: BTreeMap<Key, Version>,
    dropped: Version,
}

impl Table {
    pub(crate) fn new(columns: Columns, rows: Content) -> Self {
        Self { columns, rows, ..Self::default() }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) tables: BTreeMap<TableId, Table>,
    pub(crate) values: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl State {
    /// All money of some tables.
    pub(crate) fn money(&self, bank: &[TableId]) -> i64 {
        let tables = bank.iter().filter_map(|table| self.tables.get(table));
        tables.flat_map(|table| table.rows.values()).map(|row| row.v).sum()
    }

    fn table(&mut self, id: TableId) -> Result<&mut Table, String> {
        self.tables.get_mut(&id).ok_or_else(|| format!("there is no {id:?}"))
    }

    /// Does what was asked for, and compares what became of it.
    pub(crate) fn apply(&mut self, version: Version, asked: &Asked) -> Result<(), String> {
        let mut outcomes = asked.outcomes.iter().flatten();
        for change in &asked.changes {
            let Some(own) = self.change(version, change, asked.seen)? else { continue };
            let Some(theirs) = outcomes.next() else { continue };
            let theirs = Outcome { ignored_rows: Vec::new(), ..theirs.clone() };
            if own != theirs {
                return Err(format!("version {version} did {theirs:?}, not {own:?}"));
            }
        }
        Ok(())
    }

    /// Does one change; what it did to rows.
    fn change(
        &mut self,
        version: Version,
        change: &Change,
        seen: Option<Version>,
    ) -> Result<Option<Outcome>, String> {
        match change {
            Change::Put { table, mode, rows } => {
                self.table(*table)?.put(version, *mode, rows, seen).map(Some)
            }
            Change::Remove { table, keys } => {
                self.table(*table)?.remove(version, keys, seen).map(Some)
            }
            Change::Value { key, value } => {
                self.values.insert(key.clone(), value.clone());
                Ok(None)
            }
            Change::Create { table } => {
                self.tables.insert(*table, Table::default());
                Ok(None)
            }
            Change::Drop { table } => {
                self.table(*table)?;
                self.tables.remove(table);
                Ok(None)
            }
            Change::Alter { table, columns } => {
                self.table(*table)?.columns = columns.clone();
                Ok(None)
            }
            Change::DropPartition { table, p } => {
                let table = self.table(*table)?;
                table.rows.retain(|key, _| key.0 != *p);
                table.dropped = version;
                Ok(None)
            }
            Change::Truncate { table } => {
                let table = self.table(*table)?;
                table.rows.clear();
                table.dropped = version;
                Ok(None)
            }
            Change::Replace { old, new } => {
                self.table(*new)?;
                self.table(*old)?;
                self.tables.remove(old);
                Ok(None)
            }
        }
    }

    /// Compares what somebody saw.
    pub(crate) fn check(&self, table: TableId, seen: &Seen) -> Result<(), String> {
        // At a version before its creation a table is empty.
        let empty = Table::default();
        let table = self.tables.get(&table).unwrap_or(&empty);
        match seen {
            Seen::All(columns, rows) => {
                let expected = table.under(columns);
                let differs = |key: &&Key| rows.get(*key) != expected.get(*key);
                match rows.keys().chain(expected.keys()).find(differs) {
                    None => Ok(()),
                    Some(key) => {
                        let (found, expected) = (rows.get(key), expected.get(key));
                        Err(format!("{key:?} is {found:?}, not {expected:?}"))
                    }
                }
            }
            Seen::Point(key, found) => match table.rows.get(key).map(|row| row.v) {
                expected if expected == *found => Ok(()),
                expected => Err(format!("{key:?} was looked up as {found:?}, not {expected:?}")),
            },
            Seen::Count(found) => match table.rows.len() as u64 {
                expected if expected == *found => Ok(()),
                expected => Err(format!("{found} rows are counted, not {expected}")),
            },
        }
    }

    /// Compares everything with what was found.
    pub(crate) fn same(&self, found: &State) -> Result<(), String> {
        if !self.tables.keys().eq(found.tables.keys()) {
            return Err(format!("tables {:?}", found.tables.keys().collect::<Vec<_>>()));
        }
        if self.values != found.values {
            return Err(format!("values {:?}, not {:?}", found.values, self.values));
        }
        for (id, table) in &found.tables {
            if !self.tables[id].columns.keys().eq(table.columns.keys()) {
                return Err(format!("columns {:?} of {id:?}", table.columns));
            }
            let seen = Seen::All(table.columns.clone(), table.rows.clone());
            self.check(*id, &seen).map_err(|it| format!("{id:?}: {it}"))?;
        }
        Ok(())
    }
}

impl Table {
    /// All rows as they are seen under some columns.
    fn under(&self, columns: &Columns) -> Content {
        let row = |row: &Row| {
            let value = |(id, filler): (&u32, &Option<i64>)| {
                (*id, row.added.get(id).copied().unwrap_or(*filler))
            };
            Row { added: columns.iter().map(value).collect(), ..row.clone() }
        };
        self.rows.iter().map(|(key, it)| (*key, row(it))).collect()
    }

    /// A commit that was computed from a version has seen the last change of each of its keys.
    fn saw(&self, key: &Key, seen: Option<Version>) -> Result<(), String> {
        let last = self.written.get(key).copied().unwrap_or(0).max(self.dropped);
        match seen {
            Some(seen) if last > seen => {
                Err(format!("a commit on {key:?} saw version {seen}, but not {last}"))
            }
            _ => Ok(()),
        }
    }

    fn put(
        &mut self,
        version: Version,
        mode: Mode,
        rows: &[(Key, Row)],
        seen: Option<Version>,
    ) -> Result<Outcome, String> {
        let mut outcome = Outcome::default();
        for (key, row) in rows {
            let is_there = self.rows.contains_key(key);
            match mode {
                Mode::Insert if is_there => {
                    return Err(format!("{key:?} was inserted, though it was there"));
                }
                Mode::Ignore if is_there => {
                    outcome.ignored += 1;
                    continue;
                }
                _ if is_there => outcome.replaced += 1,
                _ => outcome.inserted += 1,
            }
            self.saw(key, seen)?;
            self.written.insert(*key, version);
            self.rows.insert(*key, row.clone());
        }
        Ok(outcome)
    }

    fn remove(
        &mut self,
        version: Version,
        keys: &[Key],
        seen: Option<Version>,
    ) -> Result<Outcome, String> {
        let mut outcome = Outcome::default();
        for key in keys {
            self.saw(key, seen)?;
            if self.rows.remove(key).is_some() {
                self.written.insert(*key, version);
                outcome.removed += 1;
            }
        }
        Ok(outcome)
    }
}

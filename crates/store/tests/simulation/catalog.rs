//! What the thread does that changes the catalog.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use pelorus_env::rare;
use pelorus_env::sync::switching::below;
use pelorus_error::{Code, Result};
use pelorus_store::{Mode, StoredColumn, TableId, encode_filler};
use pelorus_types::ColumnType;

use crate::found::{added, rows};
use crate::harness::schema;
use crate::history::Asked;
use crate::model::Change;
use crate::plan::Dice;
use crate::world::{PARTITIONS, World};

/// Stands for a table of which it is not known whether it was made.
pub(crate) const NEW: TableId = TableId(u64::MAX);

impl World {
    /// A thread that changes the catalog.
    pub(crate) fn change_catalog(&self, who: u64) {
        let mut dice = Dice::new(self.seed, who);
        for _ in 0..self.plan.changes {
            self.pass(&mut dice);
            let any = dice.pick(&[self.bank[0], self.bank[1], self.churn]);
            let result = match dice.below(10) {
                0..4 if self.columns_grow(any) => self.add_column(any, &mut dice),
                0..4 => self.drop_column(any),
                4..6 => self.drop_partition(dice.number(PARTITIONS)),
                6 => self.freeze(any),
                _ => self.table_of_own(who, &mut dice),
            };
            match result {
                Err(error) if error.code() == Code::TableFailed => return self.forgive(&error),
                Err(error) => self.forgive(&error),
                Ok(()) => {}
            }
        }
    }

    /// Whether a table gets columns, or loses some, in this life. Not both: rows that a writer has
    /// made ready are refused if there are more columns, or fewer, but the store cannot tell that
    /// another column has come to stand in the place of one that they were made for.
    fn columns_grow(&self, id: TableId) -> bool {
        let begin = self.history(|history| history.begin);
        Dice::new(self.seed ^ begin, id.0).below(3) > 0
    }

    /// Notes what became of a change.
    fn changed<T>(&self, changes: Vec<Change>, result: Result<T>) -> Result<T> {
        let asked = Asked { changes, seen: None, outcomes: None, soon: false };
        match &result {
            Ok(_) => self.history(|history| history.catalog.push(asked)),
            Err(error) if error.code() == Code::TableFailed => {
                self.history(|history| history.open.push(asked));
            }
            Err(_) => {}
        }
        result
    }

    fn add_column(&self, id: TableId, dice: &mut Dice) -> Result<()> {
        let Some(table) = self.database.table(id) else { return Ok(()) };
        let (mut schema, column) = (table.schema(), table.next_column_id());
        let value = (!dice.once_in(3)).then(|| dice.number(100));
        let filler = value.map(|value| {
            let value: ArrayRef = Arc::new(Int64Array::from(vec![value]));
            encode_filler(&value)
        });
        self.fillers.lock().unwrap().insert((id, column), value);
        schema.columns.push(StoredColumn { id: column, ty: ColumnType::bigint(), filler });
        let columns = added(id, &schema, &self.fillers());
        let result = self.database.alter_table(id, schema, b"added");
        self.changed(vec![Change::Alter { table: id, columns }], result)
    }

    fn drop_column(&self, id: TableId) -> Result<()> {
        let Some(table) = self.database.table(id) else { return Ok(()) };
        let mut schema = table.schema();
        if schema.columns.len() <= 4 {
            return Ok(());
        }
        schema.columns.remove(4);
        let columns = added(id, &schema, &self.fillers());
        let result = self.database.alter_table(id, schema, b"dropped");
        self.changed(vec![Change::Alter { table: id, columns }], result)
    }

    fn drop_partition(&self, p: i64) -> Result<()> {
        let keys = [p.to_be_bytes().to_vec()];
        match self.database.drop_partitions(self.churn, &keys) {
            // There was none, so nothing was committed.
            Ok(0) => Ok(()),
            result => {
                let drop = Change::DropPartition { table: self.churn, p };
                self.changed(vec![drop], result).map(|_| ())
            }
        }
    }

    /// Keeps writers from a table for a while.
    fn freeze(&self, id: TableId) -> Result<()> {
        let frozen = self.database.freeze(id)?;
        let snapshot = self.database.snapshot();
        let before = rows(&*snapshot.table(id)?)?;
        for _ in 0..below(20) {
            self.database.version();
        }
        let now = self.database.snapshot();
        match now.table(id).and_then(|it| rows(&it)) {
            Ok(now) => assert_eq!(now, before, "rows were written to a table that takes none"),
            Err(error) => self.forgive(&error),
        }
        drop(frozen);
        rare("a table takes no rows for a while");
        Ok(())
    }

    /// Makes a table, writes rows, and then truncates it, drops it, or puts another in its place.
    fn table_of_own(&self, who: u64, dice: &mut Dice) -> Result<()> {
        let first = self.make_table(who)?;
        match dice.below(4) {
            0 => {
                let result = self.database.truncate_table(first);
                self.changed(vec![Change::Truncate { table: first }], result)?;
            }
            1 => {
                let second = self.make_table(who)?;
                let result = self.database.replace_table(first, second, b"second", Vec::new());
                self.changed(vec![Change::Replace { old: first, new: second }], result)?;
                rare("a table takes the place of another");
            }
            _ => {}
        }
        if dice.once_in(2) && self.database.table(first).is_some() {
            let result = self.database.drop_table(first);
            self.changed(vec![Change::Drop { table: first }], result)?;
        }
        Ok(())
    }

    fn make_table(&self, who: u64) -> Result<TableId> {
        let result = self.database.create_table(schema(), b"own");
        let table = *result.as_ref().unwrap_or(&NEW);
        self.changed(vec![Change::Create { table }], result)?;
        let rows = (0..5).map(|k| ((0, k), self.row())).collect();
        self.commit(who, vec![Change::Put { table, mode: Mode::Insert, rows }], None, false)?;
        Ok(table)
    }
}

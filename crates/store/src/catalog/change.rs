//! DDL of the store: tables created, altered and dropped, partitions dropped. Each change is a
//! commit of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pelorus_blockfile::{BlockFile, Identity};
use pelorus_error::{Code, Error, Result};
use pelorus_log::Lsn;
use pelorus_types::Collation;

use crate::catalog::schema::{PartitionId, TableId, TableSchema, Version};
use crate::catalog::schema_version::filler;
use crate::catalog::{Catalog, TableEntry};
use crate::commit::log_record::{Change, RecordWriter};
use crate::database::{Committing, Database};
use crate::format::data_file::DataFile;
use crate::partition::Partition;
use crate::table::{Table, longest_history};

impl Database {
    /// Executes a change of the catalog as a commit of its own; whether there was one to make.
    /// `make` runs while nothing else is committed.
    fn commit_change(&self, make: impl FnOnce(&Self) -> Result<Option<Pending>>) -> Result<bool> {
        self.check()?;
        let (lsn, version) = {
            let mut committing = self.committing.lock();
            self.check()?;
            let Some(pending) = make(self)? else { return Ok(false) };
            let version = committing.catalog.version + 1;
            let micros = self.now();
            let mut record = RecordWriter::new(version, micros);
            for change in pending.changes() {
                record.push(&change);
            }
            let appended = match pending.room() {
                Room::Free => self.log.append(&record.parts()),
                Room::Kept => self.log.append_freeing(&record.parts()),
                Room::Last => self.log.append_last(&record.parts()),
            };
            let lsn = appended.inspect_err(|error| self.on_append(error))?;
            self.enter(&mut committing, pending, lsn, version);
            let longest = longest_history(self.tables.read().values());
            committing.longest_history = longest;
            committing.catalog.version = version;
            committing.catalog.note_time(micros, version, longest);
            (lsn, version)
        };
        self.publish(lsn, version)?;
        Ok(true)
    }

    /// The same for changes that free space, which makes room for its own record if necessary.
    fn commit_drop(&self, mut make: impl FnMut(&Self) -> Result<Option<Pending>>) -> Result<bool> {
        self.with_room(&|| false, || self.commit_change(&mut make))
    }

    /// Puts a change of the catalog into memory.
    fn enter(&self, committing: &mut Committing, pending: Pending, lsn: Lsn, version: Version) {
        let catalog = &mut committing.catalog;
        match pending {
            Pending::Create { table, schema, definition, values } => {
                table.born(lsn.0);
                catalog.next_table = catalog.next_table.max(table.id().0 + 1);
                let entry = TableEntry::new(schema, definition, lsn.0);
                catalog.tables.insert(table.id(), entry);
                self.tables.write().insert(table.id(), table);
                committing.note_values(&values);
            }
            Pending::Alter { altered } => enter_altered(catalog, altered, lsn),
            Pending::Drop { ids, forgets } => {
                for id in ids {
                    self.forget_table(catalog, id);
                }
                for key in &forgets {
                    catalog.values.remove(key);
                }
            }
            Pending::Replace { old, table, altered, values } => {
                table.raise_floor(version);
                enter_altered(catalog, altered, lsn);
                self.forget_table(catalog, old);
                committing.note_values(&values);
            }
            Pending::EndHistory { table } => {
                table.changed.fetch_max(lsn.0, Ordering::AcqRel);
                table.raise_floor(version);
            }
            Pending::DropPartitions { table, partitions } => {
                table.changed.fetch_max(lsn.0, Ordering::AcqRel);
                table.drop_partitions(&partitions, version);
            }
        }
    }

    fn forget_table(&self, catalog: &mut Catalog, id: TableId) {
        catalog.tables.remove(&id);
        self.broken.write().remove(&id);
        if let Some(table) = self.tables.write().remove(&id) {
            table.retire();
        }
    }

    /// Makes a table.
    ///
    /// # Errors
    /// A schema that cannot be, and errors of writing files.
    pub fn create_table(&self, schema: TableSchema, definition: &[u8]) -> Result<TableId> {
        self.create_table_with(schema, definition, |_| Vec::new())
    }

    /// Makes a table and writes values of the engine's for its number, in one commit.
    ///
    /// # Errors
    /// As [`Self::create_table`].
    pub fn create_table_with(
        &self,
        schema: TableSchema,
        definition: &[u8],
        values: impl FnOnce(TableId) -> Vec<(Vec<u8>, Option<Vec<u8>>)>,
    ) -> Result<TableId> {
        schema.check()?;
        self.check()?;
        let id = {
            let mut committing = self.committing.lock();
            // A number is used up even when the table is not made after all.
            let id = TableId(committing.catalog.next_table.max(1));
            committing.catalog.next_table = id.0.checked_add(1).ok_or_else(|| {
                Error::new(Code::TableFull, "the numbers of the database's tables are used up")
            })?;
            id
        };
        let path = table_path(&self.folder, id);
        let identity = Identity { database: self.identity, table: id.0 };
        let blocks = BlockFile::create(&self.env.disk, &path, identity)
            .inspect_err(|error| self.remove_unmade(&path, error))?;
        let file = DataFile::new(path.clone(), blocks, Arc::clone(&self.cache));
        let weigher = Arc::clone(&self.weigher);
        let named = (schema.clone(), definition);
        let memory = self.delta_bytes.clone();
        let table = Arc::new(Table::new(id, named, Arc::new(file), weigher, self.seed, memory));
        let (definition, values) = (definition.to_vec(), values(id));
        self.commit_change(|_| Ok(Some(Pending::Create { table, schema, definition, values })))
            .inspect_err(|error| self.remove_unmade(&path, error))?;
        Ok(id)
    }

    /// Removes the file of a table for which the disk had no room: no record speaks of it.
    fn remove_unmade(&self, path: &Path, error: &Error) {
        if error.code() == Code::DiskFull {
            self.env.disk.remove(path).ok();
        }
    }

    /// Changes the schema of a table: columns may be added, dropped, renamed and reordered; a
    /// column keeps its number and its Arrow type, the key its columns and their collations. New
    /// columns have numbers from [`Table::next_column_id`] on.
    ///
    /// # Errors
    /// A change that requires a rewrite of the rows, which the engine does.
    pub fn alter_table(&self, id: TableId, schema: TableSchema, definition: &[u8]) -> Result<()> {
        self.alter_table_with(id, schema, definition, Vec::new())
    }

    /// The same, and other tables get definitions that do not change their rows, in one commit:
    /// running changes of these tables are not disturbed.
    ///
    /// # Errors
    /// As [`Self::alter_table`].
    pub fn alter_table_with(
        &self,
        id: TableId,
        schema: TableSchema,
        definition: &[u8],
        others: Vec<(TableId, Vec<u8>)>,
    ) -> Result<()> {
        schema.check()?;
        for column in &schema.columns {
            filler(column, 1)?;
        }
        let definition = definition.to_vec();
        self.commit_change(|this| {
            let table = this.require(id)?;
            check_alter(&table, &schema)?;
            let mut altered = vec![Altered { table, schema, definition, is_text: false }];
            altered.extend(this.redefined(others, true)?);
            Ok(Some(Pending::Alter { altered }))
        })
        .map(|_| ())
    }

    /// Replaces the definitions of tables, all in one commit; their schemas stay.
    ///
    /// # Errors
    /// No such table.
    pub fn define_tables(&self, definitions: Vec<(TableId, Vec<u8>)>) -> Result<()> {
        self.define_tables_with(definitions, Vec::new())
    }

    /// The same, with others whose definitions say nothing else of their rows, as in
    /// [`Self::alter_table_with`].
    ///
    /// # Errors
    /// No such table.
    pub fn define_tables_with(
        &self,
        definitions: Vec<(TableId, Vec<u8>)>,
        others: Vec<(TableId, Vec<u8>)>,
    ) -> Result<()> {
        self.commit_change(|this| {
            let mut altered = this.redefined(definitions, false)?;
            altered.extend(this.redefined(others, true)?);
            Ok(Some(Pending::Alter { altered }))
        })
        .map(|_| ())
    }

    /// Tables with other definitions and the schemas that they have.
    fn redefined(
        &self,
        definitions: Vec<(TableId, Vec<u8>)>,
        is_text: bool,
    ) -> Result<Vec<Altered>> {
        let altered = definitions.into_iter().map(|(id, definition)| {
            let table = self.require(id)?;
            Ok(Altered { schema: table.schema(), table, definition, is_text })
        });
        altered.collect()
    }

    /// Puts a table in the place of another, which is dropped, and writes values of the engine's, in
    /// one commit. Of the table that stays only this version and later ones can be read.
    ///
    /// # Errors
    /// No such tables.
    pub fn replace_table(
        &self,
        old: TableId,
        new: TableId,
        definition: &[u8],
        values: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    ) -> Result<()> {
        self.replace_table_with((old, new), definition, values, Vec::new())
    }

    /// The same, with other tables' definitions as in [`Self::alter_table_with`].
    ///
    /// # Errors
    /// No such tables.
    pub fn replace_table_with(
        &self,
        (old, new): (TableId, TableId),
        definition: &[u8],
        values: Vec<(Vec<u8>, Option<Vec<u8>>)>,
        others: Vec<(TableId, Vec<u8>)>,
    ) -> Result<()> {
        let definition = definition.to_vec();
        self.commit_change(|this| {
            this.require(old)?;
            let table = this.require(new)?;
            let mut altered = this.redefined(vec![(new, definition)], false)?;
            altered.extend(this.redefined(others, true)?);
            Ok(Some(Pending::Replace { old, table, altered, values }))
        })?;
        self.env.disk.remove(&table_path(&self.folder, old)).ok();
        self.note_dropped();
        Ok(())
    }

    /// Drops a table and its file, damaged or not.
    ///
    /// # Errors
    /// No such table.
    pub fn drop_table(&self, id: TableId) -> Result<()> {
        self.drop_tables(&[id], Vec::new())
    }

    /// Drops tables and their files, damaged or not, and takes values of the engine's away, in one
    /// commit.
    ///
    /// # Errors
    /// No such table; nothing is dropped then.
    pub fn drop_tables(&self, ids: &[TableId], forgets: Vec<Vec<u8>>) -> Result<()> {
        let files: Vec<PathBuf> = ids.iter().map(|id| table_path(&self.folder, *id)).collect();
        self.commit_drop(|this| {
            for &id in ids {
                if this.broken(id).is_none() {
                    this.require(id)?;
                }
            }
            Ok(Some(Pending::Drop { ids: ids.to_vec(), forgets: forgets.clone() }))
        })?;
        // Recovery can do without the files as soon as the log says that they are dropped. Who
        // still reads one does so by an open handle; a file that stays goes at the next start.
        for file in files {
            self.env.disk.remove(&file).ok();
        }
        // On a full disk it was this that there was room for the record.
        self.note_dropped();
        Ok(())
    }

    /// Ends the history of a table: versions before this one cannot be read any more.
    ///
    /// # Errors
    /// No such table.
    pub fn end_history(&self, id: TableId) -> Result<()> {
        self.commit_drop(|this| Ok(Some(Pending::EndHistory { table: this.require(id)? })))
            .map(|_| ())
    }

    /// Drops partitions by their keys; unknown ones are ignored. Returns the number of dropped
    /// partitions.
    ///
    /// # Errors
    /// No such table.
    pub fn drop_partitions(&self, id: TableId, keys: &[Vec<u8>]) -> Result<usize> {
        let keys: BTreeSet<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        self.drop_partitions_if(id, |partition| keys.contains(partition.key.as_slice()))
    }

    /// Drops all rows of a table.
    ///
    /// # Errors
    /// No such table.
    pub fn truncate_table(&self, id: TableId) -> Result<()> {
        self.drop_partitions_if(id, |_| true).map(|_| ())
    }

    fn drop_partitions_if(&self, id: TableId, goes: impl Fn(&Partition) -> bool) -> Result<usize> {
        let mut dropped = (0, None);
        self.commit_drop(|this| {
            let table = this.require(id)?;
            let partitions: Vec<PartitionId> =
                table.partitions().iter().filter(|it| goes(it)).map(|it| it.id).collect();
            if partitions.is_empty() {
                return Ok(None);
            }
            dropped = (partitions.len(), Some(Arc::clone(&table)));
            Ok(Some(Pending::DropPartitions { table, partitions }))
        })?;
        let (count, table) = dropped;
        if let Some(table) = table {
            self.forget_dropped(&table);
            self.note_dropped();
        }
        Ok(count)
    }
}

/// A table and its new state.
struct Altered {
    table: Arc<Table>,
    schema: TableSchema,
    definition: Vec<u8>,
    /// The schema is the one that it has, and the definition says nothing else of rows.
    is_text: bool,
}

/// Puts what tables become into memory.
fn enter_altered(catalog: &mut Catalog, altered: Vec<Altered>, lsn: Lsn) {
    for Altered { table, schema, definition, is_text } in altered {
        table.changed.fetch_max(lsn.0, Ordering::AcqRel);
        if let Some(entry) = catalog.tables.get_mut(&table.id()) {
            entry.alter(schema.clone(), definition.clone());
        }
        match is_text {
            true => table.define(&definition),
            false => table.alter(schema, &definition),
        }
    }
}

/// Where in the log a record finds room on a full disk.
enum Room {
    /// It can wait until there is room.
    Free,
    /// In the space that is reserved for changes that free more.
    Kept,
    /// In all of that.
    Last,
}

/// A change of the catalog on its way.
enum Pending {
    Create {
        table: Arc<Table>,
        schema: TableSchema,
        definition: Vec<u8>,
        values: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    },
    Alter {
        altered: Vec<Altered>,
    },
    Drop {
        ids: Vec<TableId>,
        /// Values of the engine's that are taken away.
        forgets: Vec<Vec<u8>>,
    },
    Replace {
        old: TableId,
        table: Arc<Table>,
        /// The same table, and others that change with it.
        altered: Vec<Altered>,
        values: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    },
    EndHistory {
        table: Arc<Table>,
    },
    DropPartitions {
        table: Arc<Table>,
        partitions: Vec<PartitionId>,
    },
}

impl Pending {
    /// Whether it can wait until there is room on a full disk. What drops something cannot, nor the
    /// new definition of a table that has lost partitions.
    fn room(&self) -> Room {
        match self {
            Pending::Create { .. } | Pending::Replace { .. } => Room::Free,
            Pending::Alter { .. } | Pending::EndHistory { .. } | Pending::DropPartitions { .. } => {
                Room::Kept
            }
            Pending::Drop { .. } => Room::Last,
        }
    }

    fn changes<'a>(&'a self) -> Vec<Change<'a>> {
        match self {
            Pending::Create { table, schema, definition, values } => {
                let (table, schema) = (table.id(), schema.clone());
                let mut changes = vec![Change::CreateTable { table, schema, definition }];
                changes.extend(values.iter().map(value_change));
                changes
            }
            Pending::Alter { altered } => altered.iter().map(alter_change).collect(),
            Pending::Drop { ids, forgets } => {
                let tables = ids.iter().map(|&table| Change::DropTable { table });
                let values = forgets.iter().map(|key| Change::Value { key, value: None });
                tables.chain(values).collect()
            }
            Pending::Replace { old, table, altered, values } => {
                let mut changes: Vec<Change<'_>> = altered.iter().map(alter_change).collect();
                changes.push(Change::EndHistory { table: table.id() });
                changes.push(Change::DropTable { table: *old });
                changes.extend(values.iter().map(value_change));
                changes
            }
            Pending::EndHistory { table } => vec![Change::EndHistory { table: table.id() }],
            Pending::DropPartitions { table, partitions } => partitions
                .iter()
                .map(|&partition| Change::DropPartition { table: table.id(), partition })
                .collect(),
        }
    }
}

fn alter_change(altered: &Altered) -> Change<'_> {
    let Altered { table, schema, definition, .. } = altered;
    Change::AlterTable { table: table.id(), schema: schema.clone(), definition }
}

fn value_change((key, value): &(Vec<u8>, Option<Vec<u8>>)) -> Change<'_> {
    Change::Value { key, value: value.as_deref() }
}

fn check_alter(table: &Table, new: &TableSchema) -> Result<()> {
    let layout = table.layout();
    let old = &layout.schema;
    // Keys are stored as bytes, which follow from these.
    let key = |schema: &TableSchema| -> Vec<(u32, Collation)> {
        let columns = schema.key.iter().map(|&at| &schema.columns[at]);
        columns.map(|column| (column.id, column.ty.collation)).collect()
    };
    let fits = new.columns.iter().all(|column| match old.position(column.id) {
        Some(at) => old.columns[at].ty.arrow() == column.ty.arrow(),
        None => column.id >= table.next_column_id(),
    });
    if key(old) == key(new) && fits {
        return Ok(());
    }
    Err(Error::internal("this change of a table needs its rows written anew"))
}

/// The data file of a table.
pub(crate) fn table_path(folder: &Path, id: TableId) -> PathBuf {
    folder.join(format!("table-{}.blocks", id.0))
}

//! The log record of a commit.
//!
//! A record is the version, the wall clock in microseconds, and changes: a kind byte, the length of
//! the rest, and the rest. `docs/internals/format-store.md` has every byte. Rows of a `Put` have
//! the numbers of their columns, so that a record can be read after any later change of the table.

use pelorus_error::Result;

use crate::catalog::schema::{COLUMNS_MAX, PartitionId, TableId, TableSchema, Version};
use crate::format::bytes::{Reader, Writer};

const PUT: u8 = 1;
const REMOVE: u8 = 2;
const ADD_PARTITION: u8 = 3;
const DROP_PARTITION: u8 = 4;
const CREATE_TABLE: u8 = 5;
const ALTER_TABLE: u8 = 6;
const DROP_TABLE: u8 = 7;
const VALUE: u8 = 8;
const END_HISTORY: u8 = 9;

/// One change of a commit, as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// Rows that replace what their keys had.
    Put {
        table: TableId,
        partition: PartitionId,
        columns: Vec<u32>,
        batch: &'a [u8],
    },
    /// Keys that are gone.
    Remove {
        table: TableId,
        partition: PartitionId,
        batch: &'a [u8],
    },
    AddPartition {
        table: TableId,
        partition: PartitionId,
        key: &'a [u8],
    },
    DropPartition {
        table: TableId,
        partition: PartitionId,
    },
    CreateTable {
        table: TableId,
        schema: TableSchema,
        definition: &'a [u8],
    },
    AlterTable {
        table: TableId,
        schema: TableSchema,
        definition: &'a [u8],
    },
    DropTable {
        table: TableId,
    },
    /// Versions before this one can no longer be read.
    EndHistory {
        table: TableId,
    },
    /// A value of the engine's; `None` takes it away.
    Value {
        key: &'a [u8],
        value: Option<&'a [u8]>,
    },
}

impl<'a> Change<'a> {
    /// The table that it is about.
    pub(crate) fn table(&self) -> Option<TableId> {
        match self {
            Change::Put { table, .. }
            | Change::Remove { table, .. }
            | Change::AddPartition { table, .. }
            | Change::DropPartition { table, .. }
            | Change::CreateTable { table, .. }
            | Change::AlterTable { table, .. }
            | Change::DropTable { table }
            | Change::EndHistory { table } => Some(*table),
            Change::Value { .. } => None,
        }
    }

    /// Writes everything but the tail.
    fn write(&self, out: &mut Writer) {
        let kind = match self {
            Change::Put { .. } => PUT,
            Change::Remove { .. } => REMOVE,
            Change::AddPartition { .. } => ADD_PARTITION,
            Change::DropPartition { .. } => DROP_PARTITION,
            Change::CreateTable { .. } => CREATE_TABLE,
            Change::AlterTable { .. } => ALTER_TABLE,
            Change::DropTable { .. } => DROP_TABLE,
            Change::EndHistory { .. } => END_HISTORY,
            Change::Value { .. } => VALUE,
        };
        out.u8(kind);
        let length_at = out.0.len();
        out.u64(0);
        if let Some(table) = self.table() {
            out.u64(table.0);
        }
        self.write_rest(out);
        let length = (out.0.len() - length_at - 8 + self.tail().len()) as u64;
        out.0[length_at..length_at + 8].copy_from_slice(&length.to_le_bytes());
    }

    /// The rows, which a change ends with and which may be many.
    fn tail(&self) -> &'a [u8] {
        match *self {
            Change::Put { batch, .. } | Change::Remove { batch, .. } => batch,
            _ => &[],
        }
    }

    fn write_rest(&self, out: &mut Writer) {
        match self {
            Change::Put { partition, columns, batch, .. } => {
                out.u32(partition.0);
                out.count(columns.len());
                for id in columns {
                    out.u32(*id);
                }
                out.u64(batch.len() as u64);
            }
            Change::Remove { partition, batch, .. } => {
                out.u32(partition.0);
                out.u64(batch.len() as u64);
            }
            Change::AddPartition { partition, key, .. } => {
                out.u32(partition.0);
                out.bytes(key);
            }
            Change::DropPartition { partition, .. } => out.u32(partition.0),
            Change::CreateTable { schema, definition, .. }
            | Change::AlterTable { schema, definition, .. } => {
                schema.write(out);
                out.bytes(definition);
            }
            Change::DropTable { .. } | Change::EndHistory { .. } => {}
            Change::Value { key, value } => {
                out.bytes(key);
                out.bool(value.is_some());
                out.bytes(value.unwrap_or_default());
            }
        }
    }

    fn read(kind: u8, mut from: Reader<'a>) -> Result<Self> {
        let table = if kind == VALUE { TableId(0) } else { TableId(from.u64()?) };
        let change = match kind {
            PUT => {
                let partition = PartitionId(from.u32()?);
                let count = from.count_up_to(COLUMNS_MAX)?;
                let columns = (0..count).map(|_| from.u32()).collect::<Result<_>>()?;
                Change::Put { table, partition, columns, batch: from.bytes()? }
            }
            REMOVE => {
                Change::Remove { table, partition: PartitionId(from.u32()?), batch: from.bytes()? }
            }
            ADD_PARTITION => {
                let partition = PartitionId(from.u32()?);
                Change::AddPartition { table, partition, key: from.bytes()? }
            }
            DROP_PARTITION => Change::DropPartition { table, partition: PartitionId(from.u32()?) },
            CREATE_TABLE | ALTER_TABLE => {
                let schema = TableSchema::read(&mut from)?;
                let definition = from.bytes()?;
                if kind == CREATE_TABLE {
                    Change::CreateTable { table, schema, definition }
                } else {
                    Change::AlterTable { table, schema, definition }
                }
            }
            DROP_TABLE => Change::DropTable { table },
            END_HISTORY => Change::EndHistory { table },
            VALUE => {
                let key = from.bytes()?;
                let some = from.bool()?;
                let value = from.bytes()?;
                Change::Value { key, value: some.then_some(value) }
            }
            other => return Err(from.damaged(&format!("unknown kind of change {other}"))),
        };
        from.end()?;
        Ok(change)
    }
}

/// A commit on its way to the log. The rows of its changes are not copied.
#[derive(Debug)]
pub(crate) struct RecordWriter<'a> {
    /// All but the rows.
    head: Writer,
    /// Rows, each with its position in `head`.
    rows: Vec<(usize, &'a [u8])>,
}

impl<'a> RecordWriter<'a> {
    pub(crate) fn new(version: Version, micros: u64) -> Self {
        let mut head = Writer::default();
        head.u64(version);
        head.u64(micros);
        Self { head, rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, change: &Change<'a>) {
        change.write(&mut self.head);
        if !change.tail().is_empty() {
            self.rows.push((self.head.0.len(), change.tail()));
        }
    }

    /// The bytes of the record, in parts.
    pub(crate) fn parts(&self) -> Vec<&[u8]> {
        let mut parts = Vec::with_capacity(self.rows.len() * 2 + 1);
        let mut begin = 0;
        for (end, rows) in &self.rows {
            parts.extend([&self.head.0[begin..*end], rows]);
            begin = *end;
        }
        parts.push(&self.head.0[begin..]);
        parts
    }
}

/// A commit from the log.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) version: Version,
    pub(crate) micros: u64,
    rest: Reader<'a>,
    what: &'a str,
}

impl<'a> Record<'a> {
    pub(crate) fn read(bytes: &'a [u8], what: &'a str) -> Result<Self> {
        let mut rest = Reader::new(bytes, what);
        Ok(Self { version: rest.u64()?, micros: rest.u64()?, rest, what })
    }

    /// The next change.
    pub(crate) fn next_change(&mut self) -> Result<Option<Change<'a>>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let kind = self.rest.u8()?;
        let body = self.rest.bytes()?;
        Change::read(kind, Reader::new(body, self.what)).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use pelorus_types::ColumnType;
    use proptest::prelude::*;

    use super::*;
    use crate::catalog::key_function::{Function, KeyFunction};
    use crate::catalog::schema::{History, StoredColumn};

    fn schema() -> TableSchema {
        let column = |id, ty, filler| StoredColumn { id, ty, filler };
        TableSchema {
            columns: vec![
                column(3, ColumnType::bigint().not_null(), None),
                column(7, ColumnType::decimal(20, 3), Some(vec![1, 2])),
            ],
            key: vec![0],
            segment: vec![KeyFunction { column: 0, function: Function::RoundDown(100) }],
            history: History::default(),
        }
    }

    fn changes() -> Vec<Change<'static>> {
        let (table, partition) = (TableId(9), PartitionId(4));
        vec![
            Change::AddPartition { table, partition, key: b"key" },
            Change::Put { table, partition, columns: vec![3, 7], batch: b"rows" },
            Change::Remove { table, partition, batch: b"keys" },
            Change::DropPartition { table, partition },
            Change::CreateTable { table, schema: schema(), definition: b"create" },
            Change::AlterTable { table, schema: schema(), definition: b"" },
            Change::DropTable { table },
            Change::EndHistory { table },
            Change::Value { key: b"k", value: Some(b"v") },
            Change::Value { key: b"k", value: None },
        ]
    }

    fn written() -> Vec<u8> {
        let mut out = RecordWriter::new(17, 1234);
        for change in changes() {
            out.push(&change);
        }
        out.parts().concat()
    }

    fn read(bytes: &[u8]) -> Result<Vec<Change<'_>>> {
        let mut record = Record::read(bytes, "a test")?;
        let mut found = Vec::new();
        while let Some(change) = record.next_change()? {
            found.push(change);
        }
        Ok(found)
    }

    #[test]
    fn changes_come_back() {
        let bytes = written();
        let record = Record::read(&bytes, "a test").unwrap();
        assert_eq!((record.version, record.micros), (17, 1234));
        assert_eq!(read(&bytes).unwrap(), changes());
    }

    proptest! {
        #[test]
        fn rubbish_is_refused_or_read(at in any::<usize>(), byte: u8, cut in 0_usize..40) {
            let mut bytes = written();
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(length - cut);
            let _ = read(&bytes);
        }
    }
}

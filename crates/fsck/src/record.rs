//! Decodes records of the log: commits and their changes (`docs/internals/format-store.md`).

use crate::bytes::{Cursor, Decoded};
use crate::catalog::name_of;
use crate::schema::Schema;

const COLUMNS_MAX: usize = 4096;

/// One change of a commit.
#[derive(Clone, Debug)]
pub(crate) enum Change<'a> {
    Put { table: u64, partition: u32, columns: Vec<u32>, batch: &'a [u8] },
    Remove { table: u64, partition: u32, batch: &'a [u8] },
    AddPartition { table: u64, partition: u32, key: &'a [u8] },
    DropPartition { table: u64, partition: u32 },
    CreateTable { table: u64, schema: Schema, name: Option<String> },
    AlterTable { table: u64, schema: Schema, name: Option<String> },
    DropTable { table: u64 },
    EndHistory,
    Value,
}

/// One commit.
#[derive(Clone, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) version: u64,
    pub(crate) changes: Vec<Change<'a>>,
}

impl<'a> Record<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Decoded<Self> {
        let mut from = Cursor::new(bytes);
        let (version, _micros) = (from.u64()?, from.u64()?);
        let mut changes = Vec::new();
        while from.left() > 0 {
            let kind = from.u8()?;
            changes.push(change(kind, from.bytes()?)?);
        }
        Ok(Self { version, changes })
    }
}

fn change(kind: u8, bytes: &[u8]) -> Decoded<Change<'_>> {
    let from = &mut Cursor::new(bytes);
    let table = if kind == 8 { 0 } else { from.u64()? };
    let change = match kind {
        1 => {
            let partition = from.u32()?;
            let count = from.count(COLUMNS_MAX, "columns")?;
            let columns = (0..count).map(|_| from.u32()).collect::<Decoded<_>>()?;
            Change::Put { table, partition, columns, batch: from.bytes()? }
        }
        2 => Change::Remove { table, partition: from.u32()?, batch: from.bytes()? },
        3 => Change::AddPartition { table, partition: from.u32()?, key: from.bytes()? },
        4 => Change::DropPartition { table, partition: from.u32()? },
        5 | 6 => {
            let schema = Schema::parse(from)?;
            let name = name_of(from.bytes()?);
            match kind {
                5 => Change::CreateTable { table, schema, name },
                _ => Change::AlterTable { table, schema, name },
            }
        }
        7 => Change::DropTable { table },
        8 => {
            let _key = from.bytes()?;
            let is_set = from.bool()?;
            if !from.bytes()?.is_empty() && !is_set {
                return Err("a value that is taken away has bytes".into());
            }
            Change::Value
        }
        9 => Change::EndHistory,
        other => return Err(format!("it has a change of unknown kind {other}")),
    };
    from.end()?;
    Ok(change)
}

//! Decodes the catalog (`docs/internals/format-store.md`).

use std::collections::BTreeMap;

use crate::bytes::{Cursor, Decoded};
use crate::schema::Schema;

/// The root block of `catalog.blocks`.
#[derive(Clone, Debug)]
pub(crate) struct Catalog {
    pub(crate) version: u64,
    pub(crate) next_table: u64,
    pub(crate) log_start: u64,
    pub(crate) tables: BTreeMap<u64, TableEntry>,
    pub(crate) values: usize,
}

/// A table in the catalog.
#[derive(Clone, Debug)]
pub(crate) struct TableEntry {
    pub(crate) schema: Schema,
    /// Its name, if its definition contains one.
    pub(crate) name: Option<String>,
    /// Log positions of the records that made it, and that last changed it.
    pub(crate) created: u64,
    pub(crate) changed: u64,
}

impl Catalog {
    pub(crate) fn parse(bytes: &[u8]) -> Decoded<Self> {
        let from = &mut Cursor::new(bytes);
        let format = from.u8()?;
        if format != 1 {
            return Err(format!("it has unknown format {format}"));
        }
        let (version, next_table, log_start) = (from.u64()?, from.u64()?, from.u64()?);
        let mut tables = BTreeMap::new();
        let mut last = 0;
        for _ in 0..from.count_of_rest("tables")? {
            let number = from.u64()?;
            if number <= last || number >= next_table {
                return Err(format!("table {number} is out of order"));
            }
            last = number;
            let entry = parse_table(from).map_err(|why| format!("table {number}: {why}"))?;
            tables.insert(number, entry);
        }
        let values = from.count_of_rest("values")?;
        let mut last: Option<&[u8]> = None;
        for _ in 0..values {
            let key = from.bytes()?;
            if last.is_some_and(|last| last >= key) {
                return Err("its values are out of order".into());
            }
            last = Some(key);
            from.bytes()?;
        }
        let mut last: Option<(u64, u64)> = None;
        for _ in 0..from.count_of_rest("times")? {
            let time = (from.u64()?, from.u64()?);
            if last.is_some_and(|last| last.0 >= time.0 || last.1 > time.1) || time.1 > version {
                return Err(format!("its times are out of order at version {}", time.1));
            }
            last = Some(time);
        }
        Ok(Self { version, next_table, log_start, tables, values })
    }
}

fn parse_table(from: &mut Cursor<'_>) -> Decoded<TableEntry> {
    let schema = Schema::parse(from)?;
    let name = name_of(from.bytes()?);
    let (next_column, created, changed) = (from.u32()?, from.u64()?, from.u64()?);
    if let Some(column) = schema.columns.iter().find(|column| column.id >= next_column) {
        return Err(format!("column {} is there, but the next is {next_column}", column.id));
    }
    if created > changed {
        return Err(format!("it was changed at {changed}, but made at {created}"));
    }
    Ok(TableEntry { schema, name, created, changed })
}

/// The name in a definition: the database's and the table's, each with a zero byte after it. A
/// table that is being made to take another's place has none.
pub(crate) fn name_of(definition: &[u8]) -> Option<String> {
    let mut parts = definition.split(|byte| *byte == 0);
    let mut next = || std::str::from_utf8(parts.next()?).ok().filter(|it| !it.is_empty());
    let (database, table) = (next()?, next()?);
    Some(format!("{}.{}", database.escape_debug(), table.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_begin_with_names() {
        let name = name_of(b"shop\0order\0ANSI\0CREATE TABLE ...");
        assert_eq!(name.as_deref(), Some("shop.order"));
        for nameless in [&b""[..], b"shop", b"\0order\0", b"shop\0\0", b"\xff\0order\0"] {
            assert_eq!(name_of(nameless), None);
        }
    }
}

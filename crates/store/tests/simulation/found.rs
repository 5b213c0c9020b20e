//! Everything that is in a database, by the store and by the second decoder.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use pelorus_env::SimDisk;
use pelorus_fsck::{Row, Severity, Value, check_rows};
use pelorus_store::{Database, TableId, TableSchema, TableSnapshot};

use crate::history::Found;
use crate::model::{Columns, State, Table};
use crate::rows::{Content, How, read};

/// The columns that were added to a table, with what older rows have in them.
pub(crate) fn added(
    id: TableId,
    schema: &TableSchema,
    fillers: &BTreeMap<(TableId, u32), Option<i64>>,
) -> Columns {
    let added = schema.columns.iter().map(|column| column.id).filter(|id| *id > 3);
    added.map(|column| (column, fillers[&(id, column)])).collect()
}

/// All rows of a table.
pub(crate) fn rows(snapshot: &TableSnapshot) -> pelorus_error::Result<Content> {
    read(snapshot, How { batch_rows: 16, ..How::default() })
}

/// Everything in the newest version, which nobody changes meanwhile.
pub(crate) fn newest(
    database: &Arc<Database>,
    fillers: &BTreeMap<(TableId, u32), Option<i64>>,
) -> Found {
    let snapshot = database.snapshot();
    let mut state =
        State { values: database.values(b"").into_iter().collect(), ..State::default() };
    for table in database.tables() {
        let seen = snapshot.table(table.id()).unwrap();
        let content = rows(&seen).unwrap();
        assert_eq!(seen.count_rows().unwrap(), content.len() as u64);
        assert_eq!(seen.verify(&|| false).unwrap(), []);
        let columns = added(table.id(), &table.schema(), fillers);
        state.tables.insert(table.id(), Table::new(columns, content));
    }
    Found { version: snapshot.version(), state }
}

/// The second decoder finds the same in the files, and nothing to complain about.
pub(crate) fn check_files(disk: &SimDisk, found: &Found, crashed: bool) {
    let mut decoded: BTreeMap<TableId, Vec<[i64; 3]>> = BTreeMap::new();
    let report = check_rows(disk, Path::new("/data"), &mut |row: &Row<'_>| {
        let int = |at: usize| match row.values[at] {
            Value::Int(value) => value,
            other => panic!("{other:?} is no integer"),
        };
        decoded.entry(TableId(row.table)).or_default().push([0, 1, 2].map(int));
    });
    let from = if crashed { Severity::Damage } else { Severity::Warning };
    let findings: Vec<_> = report.findings.iter().filter(|it| it.severity >= from).collect();
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(report.not_checked, [""; 0]);
    assert_eq!(report.version, found.version);
    for (id, table) in &found.state.tables {
        let mut decoded = decoded.remove(id).unwrap_or_default();
        decoded.sort_unstable();
        let stored: Vec<_> = table.rows.iter().map(|((p, k), row)| [*p, *k, row.v]).collect();
        assert_eq!(decoded, stored, "the decoders disagree on {id:?}");
    }
    assert_eq!(decoded.len(), 0);
}

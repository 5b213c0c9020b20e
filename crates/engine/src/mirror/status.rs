//! What users see of mirrors: the rows of `pelorus.mirrors`.

use pelorus_mirror::{MirrorStatus, Mirrors, State};
use pelorus_result::result_table::Cell;

use crate::links::Links;

/// The rows of `pelorus.mirrors`, of one database or of all.
pub(crate) fn rows(mirrors: &Mirrors, links: &Links, database: Option<&str>) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for mirror in mirrors.list() {
        let local = local_database(links, &mirror);
        if database.is_some_and(|it| !it.eq_ignore_ascii_case(&local)) {
            continue;
        }
        rows.push(vec![
            local.into(),
            mirror.name.table.clone().into(),
            mirror.name.link.clone().into(),
            mirror.state.word().into(),
            Cell::UInt(progress(&mirror)),
            Cell::UInt(mirror.rows_loaded),
            Cell::UInt(mirror.changes),
            Cell::UInt(mirror.loads),
            mirror.staleness.map_or(Cell::Null, |it| Cell::Double(it.as_secs_f64())),
            mirror.transactions.map_or(Cell::Null, Cell::UInt),
            mirror.position.clone().into(),
            mirror.reason.clone().into(),
            Cell::UInt(mirror.queries),
            mirror.filter.clone().into(),
            mirror.layout.clone().into(),
        ]);
    }
    rows
}

fn local_database(links: &Links, mirror: &MirrorStatus) -> String {
    let link = links.get(&mirror.name.link);
    let local = link.and_then(|link| link.local_database(&mirror.name.database));
    local.unwrap_or_else(|| mirror.name.database.clone())
}

/// How much of a table has been read, in percent.
fn progress(mirror: &MirrorStatus) -> u64 {
    match (mirror.state, mirror.ranges) {
        (State::CatchingUp | State::Live, _) => 100,
        (_, (_, 0)) => 0,
        (_, (done, all)) => (done * 100 / all) as u64,
    }
}

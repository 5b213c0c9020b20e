//! Mirror routing: whether copies of linked tables answer a query.

use std::collections::BTreeMap;
use std::time::Duration;

use pelorus_functions::TimeZone;
use pelorus_link::Link;
use pelorus_mirror::{MirrorName, MirrorStatus, State};
use pelorus_query::Flavour;
use pelorus_sql::statement::TableName;
use pelorus_types::WireType;

use super::context::{ReadContext, TransactionContext};
use super::state::client_settings::ClientSettings;
use crate::engine::Engine;
use crate::links::LinkedDatabase;
use crate::mirror::answering::Mirrored;
use crate::mirror::hidden_database;

/// The copies that answer a query, if all of its linked tables have some that are as fresh as
/// the session requires.
pub(crate) async fn mirrored(
    cx: &mut TransactionContext<'_>,
    tables: &[TableName],
) -> Option<Mirrored> {
    let engine = cx.engine;
    if engine.mirrors().is_empty() || !cx.settings.variables().is_on("pelorus_mirrors") {
        return None;
    }
    // Columns of CHAR are read without the spaces at their end.
    if cx.settings.pads_char() {
        return None;
    }
    let mut by_link: BTreeMap<String, (Link, Vec<(String, String)>)> = BTreeMap::new();
    let mut databases = BTreeMap::new();
    for table in tables {
        let Ok(database) = cx.settings.database_of(table) else { continue };
        let Ok(Some(found)) = engine.links().database(database) else { continue };
        if engine.native().has(database) {
            continue;
        }
        let name = mirror_name(&found, &table.name);
        if !engine.mirrors().has(&name) {
            return None;
        }
        databases.insert(found.local, hidden_database(&name.link, &name.database));
        by_link
            .entry(name.link)
            .or_insert_with(|| (found.link, Vec::new()))
            .1
            .push((name.database, name.table));
    }
    let most = max_staleness(cx.settings);
    let patience = Duration::from_millis(cx.settings.variables().count("pelorus_mirror_timeout"));
    let reads_own = cx.settings.variables().is_on("pelorus_read_your_writes");
    let (mut zone, mut fresh, mut of) = (None, Vec::new(), None);
    for (name, (link, tables)) in &by_link {
        let own = reads_own && cx.connections.has_written(name);
        fresh.push(engine.mirrors().fresh(name, tables, most, own, patience).await?);
        // What an open transaction has written is in no mirror yet, whatever was waited for.
        if own && !cx.transaction.is_open() {
            cx.connections.mirrors_have_writes(name);
        }
        let is_mariadb = link.is_known_mariadb().or_else(|| engine.mirrors().is_mariadb(name));
        of = Some(if is_mariadb? { Flavour::MariaDb } else { Flavour::MySql });
        let of_link = zone_of(cx.reads(), link, tables, most, patience).await?;
        if *zone.get_or_insert(of_link) != of_link {
            return None;
        }
    }
    let of = of.filter(|_| by_link.len() == 1);
    Some(Mirrored { databases, time_zone: zone?, as_whole: false, of, fresh })
}

/// Why no mirrors are read although all linked tables have some: for `EXPLAIN`.
pub(crate) fn why_unread(cx: ReadContext<'_>, tables: &[TableName]) -> Option<String> {
    const LATE: &str = "did not arrive within pelorus_mirror_timeout";
    if !cx.settings.variables().is_on("pelorus_mirrors") {
        return None;
    }
    let name = |table: &TableName| {
        let found = cx.engine.links().database(cx.settings.database_of(table).ok()?).ok()??;
        Some(mirror_name(&found, &table.name))
    };
    let names: Vec<MirrorName> = tables.iter().filter_map(name).collect();
    let all = cx.engine.mirrors().list();
    let status = |name: &MirrorName| all.iter().find(|it| it.name == *name);
    let found: Vec<&MirrorStatus> = names.iter().map(status).collect::<Option<_>>()?;
    if let Some(other) = found.iter().find(|it| it.state != State::Live) {
        return Some(format!("the mirror of '{}' is {}", other.name, other.state.word()));
    }
    let most = max_staleness(cx.settings);
    let is_stale = |it: &&&MirrorStatus| it.staleness.is_none_or(|age| age > most);
    if let Some(stale) = found.iter().find(is_stale) {
        let age = stale.staleness.map(|it| format!("up to {:.1}", it.as_secs_f64()));
        let (name, age) = (&stale.name, age.unwrap_or_else(|| "an unknown number of".into()));
        return Some(format!(
            "the mirror of '{name}' is {age} seconds old, which is more than \
             pelorus_max_staleness, and what the server has since {LATE}"
        ));
    }
    let waits = cx.settings.variables().is_on("pelorus_read_your_writes");
    let wrote = found.iter().any(|it| cx.connections.has_written(&it.name.link));
    (waits && wrote).then(|| format!("what this session has written {LATE}"))
}

/// The time zone in which the server runs this session's statements; `None` where it is not
/// known (yet): every statement may ask for `NOW()`. Where only its distance at present is
/// known, `None` if one of the tables has TIMESTAMPs.
async fn zone_of(
    cx: ReadContext<'_>,
    link: &Link,
    tables: &[(String, String)],
    most: Duration,
    patience: Duration,
) -> Option<TimeZone> {
    if cx.settings.variables().get("time_zone").text() != "SYSTEM" {
        return Some(cx.settings.time_zone(cx.engine.zone().zone));
    }
    let (zones, store) = (cx.engine.zones(), cx.engine.native().store());
    let (mirrors, name) = (cx.engine.mirrors(), link.name().to_lowercase());
    let is_connected = mirrors.is_connected(&name);
    // A session that accepts old rows gets the last known zone of an unreachable server. For
    // the others the server has just answered, and its zone may have changed since it was last
    // read.
    let is_away = !is_connected && !most.is_zero();
    let last = if is_away { zones.last(link) } else { None };
    let patience = if last.is_some() { Duration::ZERO } else { patience };
    let stream = if is_connected || is_away { mirrors.streams(&name) } else { NO_STREAM };
    let found = zones.of(link, store, cx.engine.env(), stream, patience).await;
    let Some(found) = found.or(last) else {
        return is_away.then(|| crate::mirror::zones::kept(store, link)).flatten();
    };
    match found.zone {
        Some(zone) => Some(zone),
        None => (!has_timestamps(cx.engine, link, tables)).then_some(found.at_present),
    }
}

/// How old answers of mirrors may be.
fn max_staleness(settings: &ClientSettings) -> Duration {
    Duration::from_secs_f64(match settings.variables().get("pelorus_max_staleness") {
        crate::variables::VarValue::Double(seconds) => seconds.clamp(0.0, 1e9),
        _ => 0.0,
    })
}

fn has_timestamps(engine: &Engine, link: &Link, tables: &[(String, String)]) -> bool {
    tables.iter().any(|(database, table)| {
        let hidden = hidden_database(link.name(), database);
        engine.native().table(&hidden, table).is_none_or(|def| {
            def.columns.iter().any(|column| column.ty.wire == WireType::Timestamp)
        })
    })
}

/// The number of no stream.
const NO_STREAM: u64 = u64::MAX;

/// The name that the mirror of a linked table has.
pub(crate) fn mirror_name(found: &LinkedDatabase, table: &str) -> MirrorName {
    MirrorName {
        link: found.link.name().to_lowercase(),
        database: found.remote.clone(),
        table: table.to_owned(),
    }
}

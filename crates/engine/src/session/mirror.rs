//! Statements about mirrors, and queries that read mirrors.

mod check;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pelorus_env::blocking;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::TimeZone;
use pelorus_link::Link;
use pelorus_mirror::{MirrorName, MirrorStatus, State};
use pelorus_query::Flavour;
use pelorus_result::result_table::{Cell, ResultTable, nullable_text, nullable_uint, text, uint};
use pelorus_sql::Mode;
use pelorus_sql::statement::{
    MirrorAction, MirrorFilter, MirrorStatement, MirrorTarget, TableName,
};
use pelorus_types::WireType;

use super::Session;
use super::dispatch::done;
use super::statement_snapshot::View;
use super::table_routing::unknown_database;
use crate::api::Outcome;
use crate::links::LinkedDatabase;
use crate::mirror::answering::Mirrored;
use crate::mirror::copies::check_wanted;
use crate::mirror::status::rows;
use crate::mirror::{hidden_database, mirror_database};

impl Session {
    /// Carries a statement about mirrors out.
    pub(super) async fn mirror(&mut self, statement: &MirrorStatement) -> Result<Outcome> {
        self.engine.links().refresh().await;
        match statement {
            MirrorStatement::Create { target, if_not_exists, filter, layout } => {
                // What is to be mirrored may have been made a moment ago.
                self.engine.links().forget();
                self.engine.links().refresh().await;
                let how = (layout.as_deref(), filter);
                self.create_mirrors(target, *if_not_exists, how).await
            }
            MirrorStatement::Drop { target, if_exists } => {
                blocking(|| self.drop_mirrors(target, *if_exists))
            }
            MirrorStatement::Alter { target, action } => {
                let mirrors = self.engine.mirrors();
                for name in self.mirrors_of(target)? {
                    blocking(|| match action {
                        MirrorAction::Pause => mirrors.pause(&name),
                        MirrorAction::Resume => mirrors.resume(&name),
                        MirrorAction::Resync => mirrors.resync(&name, "ALTER MIRROR ... RESYNC"),
                    })?;
                }
                Ok(done())
            }
            MirrorStatement::Check { target, repair } => self.check_mirrors(target, *repair).await,
        }
    }

    /// Where a linked database is.
    fn linked(&self, database: &str) -> Result<LinkedDatabase> {
        if self.engine.native().has(database) {
            return Err(Error::unsupported(format_args!(
                "mirrors of database '{database}', which is native: its tables are columns already"
            )));
        }
        self.engine.links().database(database)?.ok_or_else(|| unknown_database(database))
    }

    /// Where a database that has mirrors is: its link, and its name there. What the server shows now
    /// does not matter: it may be away, and the database gone.
    fn mirrored_database(&self, database: &str) -> Result<(String, String)> {
        let links = self.engine.links();
        let all = self.engine.mirrors().databases();
        let local = |(link, remote): &(String, String)| {
            let local = links.get(link).and_then(|it| it.local_database(remote));
            local.unwrap_or_else(|| remote.clone())
        };
        let named = |same: fn(&str, &str) -> bool| -> Vec<(String, String)> {
            all.iter().filter(|&it| same(&local(it), database)).cloned().collect()
        };
        if let [only] = named(|a, b| a == b).as_slice() {
            return Ok(only.clone());
        }
        match (self.linked(database), named(str::eq_ignore_ascii_case).as_slice()) {
            (Ok(found), _) => Ok((found.link.name().to_lowercase(), found.remote)),
            (Err(_), [only]) => Ok(only.clone()),
            (Err(error), _) => Err(error),
        }
    }

    /// The name that a mirror of a table has.
    fn mirror_name(&self, table: &TableName) -> Result<MirrorName> {
        let (link, database) = self.mirrored_database(self.settings.database_of(table)?)?;
        Ok(MirrorName { link, database, table: table.name.clone() })
    }

    /// The same for `IF EXISTS`: `None`, with a note, where there is no mirror of that name.
    fn mirror_if_exists(&self, table: &TableName) -> Result<Option<MirrorName>> {
        let text = match self.mirror_name(table) {
            Ok(name) if self.engine.mirrors().has(&name) => return Ok(Some(name)),
            Ok(name) => format!("Table '{name}' is not mirrored"),
            Err(error) if error.code() == Code::UnknownDatabase => error.message().to_owned(),
            Err(error) => return Err(error),
        };
        self.statement.diagnostics().note(Code::UnknownTable.errno(), text);
        Ok(None)
    }

    async fn create_mirrors(
        &self,
        target: &MirrorTarget,
        if_not_exists: bool,
        (layout, filter): (Option<&str>, &MirrorFilter),
    ) -> Result<Outcome> {
        let mirrors = self.engine.mirrors();
        if let Some(condition) = &filter.condition {
            check_reading(condition, self.settings.mode())?;
        }
        match target {
            MirrorTarget::Tables(tables) => {
                let mut names = Vec::new();
                let mut parents = Vec::new();
                let mut warnings = BTreeSet::new();
                for table in tables {
                    let found = self.linked(self.settings.database_of(table)?)?;
                    warnings.extend(check_source(&found.link).await?);
                    self.engine.learn_zone(&found.link);
                    found.link.forget();
                    let there =
                        pelorus_mirror::check(&found.link, &found.remote, &table.name).await?;
                    check_wanted(&there.definition(layout.map(str::to_owned), filter.clone()))?;
                    let name = mirror_name(&found, &there.table.name);
                    if !filter.is_empty() && !there.keys.is_empty() {
                        return Err(pelorus_mirror::apply::foreign_key_actions::in_part(&name));
                    }
                    parents.extend(there.parents(&found.remote).into_iter().map(|parent| {
                        let (database, table) = parent;
                        let parent = MirrorName { database, table, ..name.clone() };
                        (name.clone(), parent)
                    }));
                    names.push(name);
                }
                if let Some((name, parent)) =
                    parents.iter().find(|(_, it)| !mirrors.has(it) && !names.contains(it))
                {
                    return Err(Error::unsupported(format_args!(
                        "mirrors of '{name}' without one of '{parent}': a foreign key changes its \
                         rows when those change, and this server does not write that into its \
                         binlog; MIRROR TABLE `{}`.`{}` first, or together with it",
                        parent.database, parent.table
                    )));
                }
                for name in names {
                    if mirrors.has(&name) && if_not_exists {
                        let text = format!("Table '{name}' is mirrored already");
                        self.statement.diagnostics().note(Code::TableExists.errno(), text);
                        continue;
                    }
                    let words = (!filter.is_empty()).then(|| filter.to_string());
                    mirrors.create(&name, layout.map(str::to_owned), words)?;
                }
                self.warn_of_source(warnings);
            }
            MirrorTarget::Database(database) => {
                let (link, remote) = self.mirrored_database(database)?;
                if mirrors.has_database(&link, &remote) {
                    let text = format!("Database '{database}' is mirrored already");
                    if if_not_exists {
                        self.statement.diagnostics().note(Code::DatabaseExists.errno(), text);
                        return Ok(done());
                    }
                    return Err(Error::new(Code::DatabaseExists, text));
                }
                let found = self.linked(database)?;
                let warning = check_source(&found.link).await?;
                self.engine.learn_zone(&found.link);
                mirror_database(mirrors, &found).await?;
                self.warn_of_source(warning);
            }
        }
        Ok(done())
    }

    fn warn_of_source(&self, warnings: impl IntoIterator<Item = String>) {
        for text in warnings {
            self.statement.diagnostics().warn(Code::OptionPreventsStatement.errno(), text);
        }
    }

    fn drop_mirrors(&self, target: &MirrorTarget, if_exists: bool) -> Result<Outcome> {
        let mirrors = self.engine.mirrors();
        match target {
            MirrorTarget::Tables(tables) => {
                for table in tables {
                    let name = match if_exists {
                        true => self.mirror_if_exists(table)?,
                        false => Some(self.mirror_name(table)?),
                    };
                    if let Some(name) = name {
                        mirrors.drop_mirror(&name)?;
                    }
                }
            }
            MirrorTarget::Database(database) => {
                let found = match self.mirrored_database(database) {
                    Ok((link, remote)) => {
                        let has_tables = !mirrors.tables(&link, &remote).is_empty();
                        let is_there = has_tables || mirrors.has_database(&link, &remote);
                        is_there.then_some((link, remote))
                    }
                    Err(error) if if_exists && error.code() == Code::UnknownDatabase => None,
                    Err(error) => return Err(error),
                };
                let Some((link, remote)) = found else {
                    let text = format!("Database '{database}' is not mirrored");
                    if if_exists {
                        self.statement.diagnostics().note(Code::DatabaseDropExists.errno(), text);
                        return Ok(done());
                    }
                    return Err(Error::new(Code::DatabaseDropExists, text));
                };
                mirrors.drop_database(&link, &remote)?;
            }
        }
        Ok(done())
    }

    /// The mirrors that a statement names, which there must be.
    fn mirrors_of(&self, target: &MirrorTarget) -> Result<Vec<MirrorName>> {
        let mirrors = self.engine.mirrors();
        match target {
            MirrorTarget::Tables(tables) => tables
                .iter()
                .map(|table| {
                    let name = self.mirror_name(table)?;
                    match mirrors.has(&name) {
                        true => Ok(name),
                        false => Err(Error::new(
                            Code::UnknownTable,
                            format!("Table '{name}' is not mirrored"),
                        )),
                    }
                })
                .collect(),
            MirrorTarget::Database(database) => {
                let (link, database) = self.mirrored_database(database)?;
                let tables = mirrors.tables(&link, &database).into_iter();
                let name =
                    |table| MirrorName { link: link.clone(), database: database.clone(), table };
                Ok(tables.map(name).collect())
            }
        }
    }

    /// The copies that answer a query, if all of its linked tables have some that are as fresh as
    /// the session requires.
    pub(super) async fn mirrored(&mut self, tables: &[TableName]) -> Option<Mirrored> {
        let engine = Arc::clone(&self.engine);
        if engine.mirrors().is_empty() || !self.settings.variables().is_on("pelorus_mirrors") {
            return None;
        }
        // Columns of CHAR are read without the spaces at their end.
        if self.settings.pads_char() {
            return None;
        }
        let mut by_link: BTreeMap<String, (Link, Vec<(String, String)>)> = BTreeMap::new();
        let mut databases = BTreeMap::new();
        for table in tables {
            let Ok(database) = self.settings.database_of(table) else { continue };
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
        let most = self.max_staleness();
        let patience =
            Duration::from_millis(self.settings.variables().count("pelorus_mirror_timeout"));
        let reads_own = self.settings.variables().is_on("pelorus_read_your_writes");
        let (mut zone, mut fresh, mut of) = (None, Vec::new(), None);
        for (name, (link, tables)) in &by_link {
            let own = reads_own && self.transaction.wrote_to.contains(name);
            fresh.push(engine.mirrors().fresh(name, tables, most, own, patience).await?);
            // What an open transaction has written is in no mirror yet, whatever was waited for.
            if own && !self.transaction.is_open() {
                self.transaction.wrote_to.remove(name);
            }
            let is_mariadb = link.is_known_mariadb().or_else(|| engine.mirrors().is_mariadb(name));
            of = Some(if is_mariadb? { Flavour::MariaDb } else { Flavour::MySql });
            let of_link = self.zone_of(link, tables, most, patience).await?;
            if *zone.get_or_insert(of_link) != of_link {
                return None;
            }
        }
        let of = of.filter(|_| by_link.len() == 1);
        Some(Mirrored { databases, time_zone: zone?, as_whole: false, of, fresh })
    }

    /// How old answers of mirrors may be.
    fn max_staleness(&self) -> Duration {
        Duration::from_secs_f64(match self.settings.variables().get("pelorus_max_staleness") {
            crate::variables::VarValue::Double(seconds) => seconds.clamp(0.0, 1e9),
            _ => 0.0,
        })
    }

    /// Why no mirrors are read although all linked tables have some: for `EXPLAIN`.
    pub(super) fn why_unread(&self, tables: &[TableName]) -> Option<String> {
        const LATE: &str = "did not arrive within pelorus_mirror_timeout";
        if !self.settings.variables().is_on("pelorus_mirrors") {
            return None;
        }
        let name = |table: &TableName| {
            let found =
                self.engine.links().database(self.settings.database_of(table).ok()?).ok()??;
            Some(mirror_name(&found, &table.name))
        };
        let names: Vec<MirrorName> = tables.iter().filter_map(name).collect();
        let all = self.engine.mirrors().list();
        let status = |name: &MirrorName| all.iter().find(|it| it.name == *name);
        let found: Vec<&MirrorStatus> = names.iter().map(status).collect::<Option<_>>()?;
        if let Some(other) = found.iter().find(|it| it.state != State::Live) {
            return Some(format!("the mirror of '{}' is {}", other.name, other.state.word()));
        }
        let most = self.max_staleness();
        let is_stale = |it: &&&MirrorStatus| it.staleness.is_none_or(|age| age > most);
        if let Some(stale) = found.iter().find(is_stale) {
            let age = stale.staleness.map(|it| format!("up to {:.1}", it.as_secs_f64()));
            let (name, age) = (&stale.name, age.unwrap_or_else(|| "an unknown number of".into()));
            return Some(format!(
                "the mirror of '{name}' is {age} seconds old, which is more than \
                 pelorus_max_staleness, and what the server has since {LATE}"
            ));
        }
        let waits = self.settings.variables().is_on("pelorus_read_your_writes");
        let wrote = found.iter().any(|it| self.transaction.wrote_to.contains(&it.name.link));
        (waits && wrote).then(|| format!("what this session has written {LATE}"))
    }

    /// The time zone in which the server runs this session's statements; `None` where it is not
    /// known (yet): every statement may ask for `NOW()`. Where only its distance at present is
    /// known, `None` if one of the tables has TIMESTAMPs.
    async fn zone_of(
        &self,
        link: &Link,
        tables: &[(String, String)],
        most: Duration,
        patience: Duration,
    ) -> Option<TimeZone> {
        if self.settings.variables().get("time_zone").text() != "SYSTEM" {
            return Some(self.settings.time_zone(self.engine.zone().zone));
        }
        let (zones, store) = (self.engine.zones(), self.engine.native().store());
        let (mirrors, name) = (self.engine.mirrors(), link.name().to_lowercase());
        let is_connected = mirrors.is_connected(&name);
        // A session that accepts old rows gets the last known zone of an unreachable server. For
        // the others the server has just answered, and its zone may have changed since it was last
        // read.
        let is_away = !is_connected && !most.is_zero();
        let last = if is_away { zones.last(link) } else { None };
        let patience = if last.is_some() { Duration::ZERO } else { patience };
        let stream = if is_connected || is_away { mirrors.streams(&name) } else { NO_STREAM };
        let found = zones.of(link, store, self.engine.env(), stream, patience).await;
        let Some(found) = found.or(last) else {
            return is_away.then(|| crate::mirror::zones::kept(store, link)).flatten();
        };
        match found.zone {
            Some(zone) => Some(zone),
            None => (!self.has_timestamps(link, tables)).then_some(found.at_present),
        }
    }

    fn has_timestamps(&self, link: &Link, tables: &[(String, String)]) -> bool {
        tables.iter().any(|(database, table)| {
            let hidden = hidden_database(link.name(), database);
            self.engine.native().table(&hidden, table).is_none_or(|def| {
                def.columns.iter().any(|column| column.ty.wire == WireType::Timestamp)
            })
        })
    }
}

/// The number of no stream.
const NO_STREAM: u64 = u64::MAX;

/// A condition is kept as text, and read under an empty `sql_mode` from then on.
fn check_reading(condition: &str, mode: Mode) -> Result<()> {
    let read = |mode| pelorus_sql::parse_expression(condition, mode).map_err(|it| it.error);
    if read(mode)? == read(Mode::default())? {
        return Ok(());
    }
    Err(Error::unsupported(
        "a condition of a mirror that means something else under an empty sql_mode",
    ))
}

/// Looks whether a server can be followed. What mirrors do not see of it is a warning.
///
/// # Errors
/// What keeps it from being followed.
async fn check_source(link: &Link) -> Result<Option<String>> {
    let facts = link.source_facts().await?;
    match facts.check().into_iter().next() {
        Some(error) => Err(error),
        None => Ok(facts.leaves_out()),
    }
}

fn mirror_name(found: &LinkedDatabase, table: &str) -> MirrorName {
    MirrorName {
        link: found.link.name().to_lowercase(),
        database: found.remote.clone(),
        table: table.to_owned(),
    }
}

/// `SHOW MIRRORS`.
pub(crate) fn mirrors(view: &View, database: Option<&str>) -> ResultTable {
    let mut grid = ResultTable::new(vec![
        text("Table", 64),
        text("Database", 64),
        text("Server", 64),
        text("State", 16),
        uint("Progress"),
        uint("Rows_loaded"),
        uint("Changes"),
        uint("Loads"),
        nullable_text("Seconds_behind", 24),
        nullable_uint("Transactions_behind"),
        nullable_text("Position", 1024),
        nullable_text("Reason", 2048),
        uint("Queries"),
        nullable_text("Filter", 4096),
        nullable_text("Layout", 4096),
    ]);
    for mut row in rows(view.engine.mirrors(), view.engine.links(), database) {
        // The table first, for LIKE.
        row.swap(0, 1);
        if let Some(Cell::Double(seconds)) = row.get(8) {
            row[8] = format!("{seconds:.3}").into();
        }
        grid.push(row);
    }
    grid
}

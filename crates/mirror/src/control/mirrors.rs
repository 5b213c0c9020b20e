//! [`Mirrors`]: creates, pauses, drops and lists mirrors, and reports their freshness.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::RwLock;
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};

use crate::control::repair;
use crate::control::repair::{Examined, Suspects};
use crate::model::copies::Copies;
use crate::model::mirror::Mirror;
use crate::model::name::MirrorName;
use crate::model::record::{MirrorRecord, State};
use crate::model::shared::{FindLink, Shared};
use crate::model::status::MirrorStatus;
use crate::model::{filter, record};
use crate::source::Source;

/// What earlier versions kept as the reason of a mirror that is paused while they dropped it.
const LEFT_BEHIND: &str = "is being dropped";

/// All mirrors.
#[derive(Debug)]
pub struct Mirrors {
    shared: Arc<Shared>,
    sources: RwLock<BTreeMap<String, Arc<Source>>>,
}

impl Mirrors {
    /// Reads the stored records. Nothing runs before [`Self::start`].
    ///
    /// # Errors
    /// Records that cannot be read (1034).
    pub fn open(copies: Arc<dyn Copies>, links: Arc<dyn FindLink>, env: Env) -> Result<Self> {
        let shared = Arc::new(Shared { copies, links, env });
        let this = Self { shared, sources: RwLock::default() };
        let store = this.shared.store();
        let mut known = BTreeSet::new();
        for (name, mut record) in record::mirrors(store)? {
            known.insert(name.clone());
            let copy = this.shared.copies.find(&name);
            // The process may have ended between a change of the copy and that of the record.
            if let (Some(words), Some(copy)) = (&record.filter, &copy)
                && let Ok(words) = filter::followed(words, copy.columns())
            {
                record.filter = Some(words);
            }
            // The same, of the name of the copy.
            let is_lost = copy.is_none() && record.state.follows();
            let is_left =
                record.state == State::Paused && record.reason.as_deref() == Some(LEFT_BEHIND);
            let mirror = Arc::new(Mirror::new(name, record, copy)?);
            if is_lost || is_left {
                let why = "the process ended while its table was renamed or dropped".to_owned();
                mirror.begin_again(store, Some(why))?;
            }
            this.source(&mirror.name.link)?.insert(mirror);
        }
        this.drop_others(&known);
        for (link, database) in record::databases(store)? {
            this.source(&link)?.add_database(&database);
        }
        Ok(this)
    }

    /// Drops copies that no mirror has: the process ended before they were dropped, or between the
    /// renaming of a copy and that of its mirror.
    fn drop_others(&self, known: &BTreeSet<MirrorName>) {
        let copies = &self.shared.copies;
        for name in copies.all().into_iter().filter(|it| !known.contains(it)) {
            tracing::info!(copy = %name, "a copy that no mirror has is dropped");
            // It does no harm, so this is no reason not to start.
            if let Err(error) = copies.drop_copy(&name) {
                let error = pelorus_error::display_chain(&error);
                tracing::warn!(copy = %name, error, "a copy that no mirror has cannot be dropped");
            }
        }
    }

    /// Begins to follow the servers; needs a runtime.
    pub fn start(&self) {
        for source in self.sources.read().values() {
            source.start();
        }
    }

    /// Stops following; applied changes stay.
    pub async fn close(&self) {
        let sources: Vec<_> = self.sources.read().values().cloned().collect();
        for source in sources {
            source.stop().await;
        }
    }

    fn source(&self, link: &str) -> Result<Arc<Source>> {
        if let Some(source) = self.sources.read().get(link) {
            return Ok(Arc::clone(source));
        }
        let source = Source::open(link, Arc::clone(&self.shared))?;
        let mut sources = self.sources.write();
        Ok(Arc::clone(sources.entry(link.to_owned()).or_insert(source)))
    }

    fn existing(&self, link: &str) -> Option<Arc<Source>> {
        self.sources.read().get(link).cloned()
    }

    fn mirror(&self, name: &MirrorName) -> Option<Arc<Mirror>> {
        self.existing(&name.link)?.mirror(&name.database, &name.table)
    }

    /// Whether there is a mirror of a table.
    pub fn has(&self, name: &MirrorName) -> bool {
        self.mirror(name).is_some()
    }

    /// Whether there is any mirror.
    pub fn is_empty(&self) -> bool {
        self.sources.read().values().all(|source| source.is_empty())
    }

    /// Creates a mirror; its rows are read in the background. `layout` and `filter` are clauses of
    /// the statement.
    ///
    /// # Errors
    /// An existing mirror (1050), and errors of the store.
    pub fn create(
        &self,
        name: &MirrorName,
        layout: Option<String>,
        filter: Option<String>,
    ) -> Result<()> {
        let source = self.source(&name.link)?;
        if !source.add(name, MirrorRecord { layout, filter, ..MirrorRecord::default() })? {
            return Err(Error::new(
                Code::TableExists,
                format!("Table '{name}' is mirrored already"),
            ));
        }
        source.start();
        Ok(())
    }

    /// Mirrors the tables of a database that are created from now on. Existing tables should be
    /// listed after this, for [`Self::add_tables`], so that none is missed.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn begin_database(&self, link: &str, database: &str) -> Result<()> {
        let source = self.source(link)?;
        let value = record::encode(&record::DatabaseRecord {})?;
        source.keep_values(vec![(record::database_key(link, database), Some(value))])?;
        source.add_database(database);
        Ok(())
    }

    /// Mirrors no further tables of a database.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn end_database(&self, link: &str, database: &str) -> Result<()> {
        let Some(source) = self.existing(link) else { return Ok(()) };
        source.keep_values(vec![(record::database_key(link, database), None)])?;
        source.forget_database(database);
        Ok(())
    }

    /// Mirrors the tables that a database has which is mirrored.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn add_tables(&self, link: &str, database: &str, tables: &[String]) -> Result<()> {
        let source = self.source(link)?;
        for table in tables {
            let name = MirrorName {
                link: link.to_owned(),
                database: database.to_owned(),
                table: table.clone(),
            };
            source.add(&name, MirrorRecord { of_database: true, ..MirrorRecord::default() })?;
        }
        source.start();
        Ok(())
    }

    /// Whether all tables of a database are mirrored.
    pub fn has_database(&self, link: &str, database: &str) -> bool {
        self.existing(link).is_some_and(|source| source.has_database(database))
    }

    /// Ends a mirror and drops its copy.
    ///
    /// # Errors
    /// No such mirror (1051), and errors of the store.
    pub fn drop_mirror(&self, name: &MirrorName) -> Result<()> {
        let source = self.existing(&name.link).ok_or_else(|| unknown(name))?;
        source.remove(&name.database, &name.table)?.ok_or_else(|| unknown(name))
    }

    /// Ends the mirrors of a database, and mirrors no tables to come.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn drop_database(&self, link: &str, database: &str) -> Result<()> {
        self.end_database(link, database)?;
        let Some(source) = self.existing(link) else { return Ok(()) };
        for mirror in source.mirrors_of(database) {
            source.remove(database, &mirror.name.table)?;
        }
        // All its tables may have gone before.
        source.rest_if_unused()
    }

    /// Stops following a table; its copy stays and is not read.
    ///
    /// # Errors
    /// No such mirror (1051), and errors of the store.
    pub fn pause(&self, name: &MirrorName) -> Result<()> {
        let source = self.existing(&name.link).ok_or_else(|| unknown(name))?;
        let mirror = self.mirror(name).ok_or_else(|| unknown(name))?;
        source.pause(&mirror)
    }

    /// Goes on from where a mirror was paused. One that failed is resynchronised.
    ///
    /// # Errors
    /// No such mirror (1051), and errors of the store.
    pub fn resume(&self, name: &MirrorName) -> Result<()> {
        let source = self.existing(&name.link).ok_or_else(|| unknown(name))?;
        let mirror = self.mirror(name).ok_or_else(|| unknown(name))?;
        source.resume(&mirror)
    }

    /// Reads a table from the beginning; people see the reason.
    ///
    /// # Errors
    /// No such mirror (1051), and errors of the store.
    pub fn resync(&self, name: &MirrorName, reason: &str) -> Result<()> {
        let source = self.existing(&name.link).ok_or_else(|| unknown(name))?;
        let mirror = self.mirror(name).ok_or_else(|| unknown(name))?;
        mirror.begin_again(self.shared.store(), Some(reason.to_owned()))?;
        source.wake();
        Ok(())
    }

    /// Compares rows of a live mirror with those of its table, at one position; with `repair`,
    /// corrects the differences.
    ///
    /// # Errors
    /// No such mirror (1051), one that is not live or is resynchronised meanwhile (1317), errors of
    /// the server, and errors of the store.
    pub async fn examine(
        &self,
        name: &MirrorName,
        suspects: Vec<Suspects>,
        repair: bool,
    ) -> Result<Examined> {
        let source = self.existing(&name.link).ok_or_else(|| unknown(name))?;
        let mirror = self.mirror(name).ok_or_else(|| unknown(name))?;
        let link = self.shared.links.link(&name.link).ok_or_else(|| unknown(name))?;
        repair::examine(&source, mirror, link, suspects, repair).await
    }

    /// Follows a link by its new definition.
    pub fn relink(&self, link: &str) {
        if let Some(source) = self.existing(link) {
            source.begin_stream_again();
        }
    }

    /// Whether a link has mirrors, or databases that are mirrored.
    pub fn uses(&self, link: &str) -> bool {
        self.existing(link).is_some_and(|source| source.is_used())
    }

    /// Tables that are mirrored in a database, by name.
    pub fn tables(&self, link: &str, database: &str) -> Vec<String> {
        let Some(source) = self.existing(link) else { return Vec::new() };
        source.mirrors_of(database).iter().map(|mirror| mirror.name.table.clone()).collect()
    }

    /// Databases that are mirrored or have mirrors: link, and name there.
    pub fn databases(&self) -> Vec<(String, String)> {
        let sources = self.sources.read();
        let of = |(link, source): (&String, &Arc<Source>)| {
            source.all_databases().into_iter().map(|name| (link.clone(), name)).collect::<Vec<_>>()
        };
        sources.iter().flat_map(of).collect()
    }

    /// All mirrors.
    pub fn list(&self) -> Vec<MirrorStatus> {
        let sources: Vec<_> = self.sources.read().values().cloned().collect();
        sources.iter().flat_map(|source| source.list()).collect()
    }

    /// Whether the server of a link is a MariaDB (else a MySQL), according to its binlog.
    pub fn is_mariadb(&self, link: &str) -> Option<bool> {
        let source = self.existing(link)?;
        source.position().map(|_| source.is_mariadb())
    }

    /// Whether the binlog of a link's server is being read.
    pub fn is_connected(&self, link: &str) -> bool {
        self.existing(link).is_some_and(|source| source.is_connected())
    }

    /// How often the binlog of a link's server has been opened: after each time there may be
    /// another server, or one that was started again.
    pub fn streams(&self, link: &str) -> u64 {
        self.existing(link).map_or(0, |source| source.streams())
    }

    /// Live mirrors of all of some tables of one link, if they show all transactions that were
    /// committed more than `most` ago. If the known position is older, the server is asked for its
    /// position, and the call waits for the stream, `patience` at most. `now` requires all
    /// transactions that were committed before this call.
    pub async fn fresh(
        &self,
        link: &str,
        tables: &[(String, String)],
        most: Duration,
        now: bool,
        patience: Duration,
    ) -> Option<Fresh> {
        let source = self.existing(link)?;
        let of = |(database, table): &(String, String)| {
            let mirror = source.mirror(database, table)?;
            let turn = mirror.turn();
            Some((mirror, turn))
        };
        let fresh = Fresh(tables.iter().map(of).collect::<Option<_>>()?);
        if tables.is_empty() || !fresh.holds() {
            return None;
        }
        let is_fresh = match !now && source.staleness().is_some_and(|it| it <= most) {
            true => true,
            false if source.catch_up(patience).await => true,
            // It may be that nothing was heard of the server yet.
            false => !now && source.remembered_staleness().is_some_and(|it| it <= most),
        };
        is_fresh.then_some(fresh)
    }
}

/// Mirrors that were fresh enough for a query.
#[derive(Debug)]
pub struct Fresh(Vec<(Arc<Mirror>, u64)>);

impl Fresh {
    /// Whether they are live and were live all the time: a snapshot of the copies that was opened
    /// before this call is complete.
    pub fn holds(&self) -> bool {
        self.0.iter().all(|(mirror, turn)| mirror.state() == State::Live && mirror.turn() == *turn)
    }

    /// Notes that a query was answered by them.
    pub fn note_query(&self) {
        for (mirror, _) in &self.0 {
            // Ordering: only looked at by people.
            mirror.queries.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn unknown(name: &MirrorName) -> Error {
    Error::new(Code::UnknownTable, format!("Table '{name}' is not mirrored"))
}

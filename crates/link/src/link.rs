//! [`Link`]: a linked server with its replicas, the entry point of this crate.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pelorus_env::Env;
use pelorus_error::{Code, Result};
use pelorus_mysql_wire::Capabilities;
use pelorus_mysql_wire::prepared::Value;
use pelorus_mysql_wire::rows::Format;
use pelorus_types::Column;

use crate::cache::{Cache, Found};
use crate::config::{Endpoint, LinkConfig};
use crate::connection::Address;
use crate::explain::Estimate;
use crate::relay::{self, Relay, Target};
use crate::scan::{self, Moment, Scan, ScanRequest};
use crate::server::{Lent, Server};
use crate::session_connection::Pinned;
use crate::settings::SessionSettings;
use crate::snapshot::SnapshotMode;
use crate::split::{self, Split, SplitCache};
use crate::status::LinkStatus;
use crate::table::{RemoteTable, TableName, load};
use crate::tls;

/// Databases that servers have for themselves.
const OWN_DATABASES: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];
/// How often connections that rest, and servers that are away, are looked at.
const REAP_EVERY: Duration = Duration::from_secs(5);

/// A linked server with its replicas. Clones share everything.
#[derive(Clone, Debug)]
pub struct Link {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) config: Arc<LinkConfig>,
    pub(crate) env: Env,
    /// The primary first.
    pub(crate) servers: Vec<Arc<Server>>,
    /// All that the server has, by its names.
    databases: Cache<(), Arc<Vec<String>>>,
    tables: Cache<String, Arc<Vec<TableName>>>,
    table: Cache<(String, String), Arc<RemoteTable>>,
    described: Cache<(String, String), Arc<Described>>,
    pub(crate) splits: SplitCache,
    pub(crate) latest: Mutex<Latest>,
}

/// The results of the latest scan.
#[derive(Debug, Default)]
pub(crate) struct Latest {
    pub(crate) snapshot: Option<SnapshotMode>,
    pub(crate) lock_held: Option<Duration>,
    pub(crate) next_replica: usize,
}

/// The result of PREPARE for a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// How many `?` it has.
    pub params: u16,
    /// Its columns, databases under their names here; empty when it gives no rows.
    pub columns: Vec<Column>,
}

impl Link {
    /// Creates the link. The servers are not contacted yet: an unreachable server is an error of
    /// the statement that needs it.
    ///
    /// # Errors
    /// When certificates cannot be read.
    pub async fn open(config: LinkConfig, env: Env) -> Result<Link> {
        let tls_config = tls::client_config(&config, &env)?;
        let server = |endpoint: &Endpoint, is_primary: bool| {
            let address = Address {
                endpoint: endpoint.clone(),
                label: format!("server '{}' at {endpoint}", config.name).into(),
                tls: config.tls,
                tls_config: tls_config.clone(),
                cleartext_password: config.cleartext_password,
                timeout: config.connect_timeout,
            };
            Server::new(address, is_primary, config.idle_timeout, env.clone())
        };
        let replicas = config.replicas.iter().map(|endpoint| server(endpoint, false));
        let servers: Vec<_> =
            std::iter::once(server(&config.primary, true)).chain(replicas).collect();
        start_reaping(&servers);
        let inner = Inner {
            config: Arc::new(config),
            servers,
            databases: Cache::new(env.clone()),
            tables: Cache::new(env.clone()),
            table: Cache::new(env.clone()),
            described: Cache::new(env.clone()),
            splits: SplitCache::default(),
            latest: Mutex::default(),
            env,
        };
        Ok(Link { inner: Arc::new(inner) })
    }

    /// The link's name.
    pub fn name(&self) -> &str {
        &self.inner.config.name
    }

    /// How it was made.
    pub fn config(&self) -> &LinkConfig {
        &self.inner.config
    }

    /// Closes every connection that rests and makes no new ones. Statements that run end by
    /// themselves.
    pub async fn close(&self) {
        for server in &self.inner.servers {
            server.close();
        }
    }

    /// Connects to the primary, so that `CREATE SERVER` reports errors early.
    ///
    /// # Errors
    /// 1429 with the reason.
    pub async fn check(&self) -> Result<()> {
        self.inner.lend(&SessionSettings::default()).await.map(|_| ())
    }

    /// The primary's version, as in `@@version`.
    pub async fn version(&self) -> Result<String> {
        Ok(self.inner.lend(&SessionSettings::default()).await?.version().text.clone())
    }

    /// Whether the primary is a MariaDB (else a MySQL).
    pub async fn is_mariadb(&self) -> Result<bool> {
        Ok(self.inner.lend(&SessionSettings::default()).await?.version().is_mariadb)
    }

    /// The same as far as it was heard of, without asking.
    pub fn is_known_mariadb(&self) -> Option<bool> {
        self.inner.servers.first().and_then(|primary| primary.is_mariadb())
    }

    /// The primary's version, as in `@@version`, as far as it was heard of, without asking.
    pub fn known_version(&self) -> Option<String> {
        self.inner.servers.first().and_then(|primary| primary.version_text())
    }

    /// The server's global `sql_mode`.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn sql_mode(&self) -> Result<String> {
        let mut connection = self.inner.lend_for_metadata().await?;
        let rows = connection.rows("SELECT @@GLOBAL.sql_mode").await?;
        Ok(rows.single().unwrap_or_default().to_owned())
    }

    /// Whether the session's time zone is the same all year, so that points in time are ordered as
    /// they are written.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn has_fixed_zone(&self, settings: &SessionSettings) -> Result<bool> {
        if let Some(zone) = &settings.time_zone {
            return Ok(is_fixed_zone(zone));
        }
        let mut connection = self.inner.lend_for_metadata().await?;
        let rows = connection.rows("SELECT @@GLOBAL.time_zone, @@system_time_zone").await?;
        Ok(match rows.rows.first().map(Vec::as_slice) {
            Some([Some(zone), Some(system)]) => is_fixed_server(zone, system),
            _ => false,
        })
    }

    /// The databases, under their names here.
    pub async fn databases(&self) -> Result<Vec<String>> {
        let config = &self.inner.config;
        if !config.databases.is_empty() {
            return Ok(config.databases.iter().map(|(local, _)| local.clone()).collect());
        }
        Ok(self.inner.all_databases().await?.to_vec())
    }

    /// Whether the server has a database of this name, in any case, that is not shown here.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn hides(&self, remote: &str) -> Result<bool> {
        let shown = &self.inner.config.databases;
        let is_own = OWN_DATABASES.iter().any(|own| own.eq_ignore_ascii_case(remote));
        if is_own || shown.is_empty() {
            return Ok(is_own);
        }
        let same = |name: &str| name.eq_ignore_ascii_case(remote);
        if shown.iter().any(|(_, shown)| same(shown)) {
            return Ok(false);
        }
        Ok(self.inner.all_databases().await?.iter().any(|name| same(name)))
    }

    /// Of the databases that the link is to show, those that the server does not have, or does not
    /// show to the account, by their names there.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn missing_databases(&self) -> Result<Vec<String>> {
        let wanted = &self.inner.config.databases;
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let there = load::databases(&mut *self.inner.lend_for_metadata().await?).await?;
        // Whether case counts is a matter of the server.
        let is_there = |name: &String| there.iter().any(|it| it.eq_ignore_ascii_case(name));
        let missing = wanted.iter().map(|(_, remote)| remote).filter(|name| !is_there(name));
        Ok(missing.cloned().collect())
    }

    /// The same, read from the server without the cache: there may be a new one.
    ///
    /// # Errors
    /// As [`Self::databases`].
    pub async fn databases_now(&self) -> Result<Vec<String>> {
        self.inner.databases.clear();
        self.databases().await
    }

    /// The tables and views of a database, given by its name here; none of a database that is not
    /// shown.
    pub async fn tables(&self, database: &str) -> Result<Vec<TableName>> {
        let Some(remote) = self.inner.config.remote_database(database) else {
            return Ok(Vec::new());
        };
        let key = remote.to_owned();
        if let Some(names) = self.inner.tables.fresh(&key) {
            return Ok(names.to_vec());
        }
        let epoch = self.inner.tables.epoch();
        let names = load::tables(&mut *self.inner.lend_for_metadata().await?, remote).await?;
        self.inner.tables.put(key, Some(Arc::new(names.clone())), epoch);
        Ok(names)
    }

    /// A table, with its database given by its name here; `None` when there is none.
    pub async fn table(&self, database: &str, table: &str) -> Result<Option<Arc<RemoteTable>>> {
        let Some(remote) = self.inner.config.remote_database(database) else { return Ok(None) };
        self.inner.remote_table(remote, table).await
    }

    /// Clears the cache of tables and statements, for instance after DDL.
    pub fn forget(&self) {
        self.inner.forget();
    }

    /// The name here of a database of the server; `None` when it is not shown.
    pub fn local_database(&self, remote: &str) -> Option<String> {
        let config = &self.inner.config;
        let local = config.local_database(remote);
        (config.remote_database(local) == Some(remote)).then(|| local.to_owned())
    }

    /// Renews idle sessions without state on the server, so that they have the current global
    /// settings.
    pub fn renew(&self) {
        for server in &self.inner.servers {
            server.renew();
        }
    }

    /// A small result of the primary, as text.
    ///
    /// # Errors
    /// The server's own; 1429 and 1430 when it is away.
    pub async fn ask(
        &self,
        settings: &SessionSettings,
        sql: &str,
    ) -> Result<Vec<Vec<Option<String>>>> {
        Ok(self.inner.lend(settings).await?.rows(sql).await?.rows)
    }

    /// The result of PREPARE for a statement.
    ///
    /// # Errors
    /// The server's own, when it refuses the statement.
    pub async fn describe(&self, settings: &SessionSettings, sql: &str) -> Result<Arc<Described>> {
        let timeless = SessionSettings { timestamp: None, ..settings.clone() };
        let key = (format!("{timeless:?}"), sql.to_owned());
        match self.inner.described.fresh(&key) {
            Some(described) => Ok(described),
            None => self.describe_now(settings, sql).await,
        }
    }

    /// The same, read from the server without the cache: a table may have changed.
    ///
    /// # Errors
    /// As [`Self::describe`].
    pub async fn describe_now(
        &self,
        settings: &SessionSettings,
        sql: &str,
    ) -> Result<Arc<Described>> {
        let timeless = SessionSettings { timestamp: None, ..settings.clone() };
        let key = (format!("{timeless:?}"), sql.to_owned());
        let epoch = self.inner.described.epoch();
        let mut connection = self.inner.lend(&timeless).await?;
        let statement = connection.prepare(sql).await?;
        connection.close_statement(statement.id);
        let mut columns = statement.columns;
        relay::localize(&self.inner.config, &mut columns);
        let described = Arc::new(Described { params: statement.params, columns });
        self.inner.described.put(key, Some(Arc::clone(&described)), epoch);
        Ok(described)
    }

    /// The server's estimate of a statement, from EXPLAIN.
    ///
    /// # Errors
    /// The server's own, when it refuses the statement.
    pub async fn explain(&self, settings: &SessionSettings, sql: &str) -> Result<Estimate> {
        // The moment of NOW() matters little to an estimate, setting it would cost a round trip.
        let timeless = SessionSettings { timestamp: None, ..settings.clone() };
        let mut connection = self.inner.lend(&timeless).await?;
        let (explain, is_mariadb) =
            (connection.version().explain(), connection.version().is_mariadb);
        let rows = connection.rows(&format!("{explain}{sql}")).await?;
        Ok(Estimate { is_mariadb, ..Estimate::from_rows(&rows) })
    }

    /// Relays a whole statement.
    ///
    /// # Errors
    /// The server's own; 1429 and 1430 when it is unreachable.
    pub async fn relay(
        &self,
        settings: &SessionSettings,
        sql: &str,
        format: Format,
        target: Target,
    ) -> Result<Relay> {
        self.relay_with(settings, sql, format, &[], target).await
    }

    /// Relays a whole statement, with values for its `?`; rows are then in the binary format.
    ///
    /// # Errors
    /// As [`Self::relay`].
    pub async fn relay_with(
        &self,
        settings: &SessionSettings,
        sql: &str,
        format: Format,
        params: &[Value<'_>],
        target: Target,
    ) -> Result<Relay> {
        let lent = match target {
            Target::Primary => self.inner.lend(settings).await?,
            Target::AnyReplica => self.inner.lend_replica(settings).await?,
        };
        relay::relay(lent, &self.inner.config, sql, format, params).await
    }

    /// Cuts a table into about `ranges` ranges of equal work, along the key of that name or the
    /// best there is.
    ///
    /// # Errors
    /// The server's own.
    pub async fn split(
        &self,
        table: &RemoteTable,
        key: Option<&str>,
        ranges: usize,
    ) -> Result<Arc<Split>> {
        split::split(&self.inner, table, key, ranges).await
    }

    /// Runs a fragment over ranges on all servers at one moment.
    ///
    /// # Errors
    /// The server's own; 1412 when columns are not of the expected types; 1429 and 1430 when no
    /// server is left.
    pub async fn scan(&self, request: ScanRequest) -> Result<Scan> {
        scan::scan(&self.inner, request).await
    }

    /// A moment for several scans of one statement.
    pub fn moment(&self) -> Moment {
        Moment::new(&self.inner)
    }

    /// A connection to the primary of one's own.
    ///
    /// # Errors
    /// 1429 when the primary cannot be reached.
    pub async fn pin(&self) -> Result<Pinned> {
        self.pin_counting(false).await
    }

    /// The same. `found_rows` says that statements which change rows count those that they found,
    /// changed or not.
    ///
    /// # Errors
    /// As [`Self::pin`].
    pub async fn pin_counting(&self, found_rows: bool) -> Result<Pinned> {
        let more = if found_rows { Capabilities::FOUND_ROWS } else { Capabilities::default() };
        let lent = self.inner.primary().make_with(more).await?;
        Ok(Pinned::new(lent, Arc::clone(&self.inner.config)))
    }

    /// The status of the servers.
    pub fn status(&self) -> LinkStatus {
        let latest = self.inner.latest.lock();
        LinkStatus {
            name: self.name().to_owned(),
            servers: self.inner.servers.iter().map(|server| server.status()).collect(),
            snapshot: latest.snapshot,
            lock_held: latest.lock_held,
        }
    }
}

impl Inner {
    pub(crate) fn primary(&self) -> &Arc<Server> {
        &self.servers[0]
    }

    /// A connection to the primary in that state.
    pub(crate) async fn lend(&self, settings: &SessionSettings) -> Result<Lent> {
        self.primary().lend(settings).await
    }

    /// A connection for questions that any server answers: the primary, else a replica.
    pub(crate) async fn lend_reader(&self) -> Result<Lent> {
        let settings = SessionSettings::default();
        match self.lend(&settings).await {
            Err(error) if error.code() == Code::ConnectToForeign => {
                for server in &self.servers[1..] {
                    if let Ok(lent) = server.lend(&settings).await {
                        return Ok(lent);
                    }
                }
                Err(error)
            }
            other => other,
        }
    }

    /// A connection to the primary on which the information schema tells the present.
    pub(crate) async fn lend_for_metadata(&self) -> Result<Lent> {
        let mut lent = self.lend_reader().await?;
        let version = Arc::clone(lent.version());
        if !version.is_mariadb && version.number >= (8, 0, 0) {
            // MySQL 8 gives estimates of yesterday otherwise.
            let mut settings = SessionSettings::default();
            settings.others.insert("information_schema_stats_expiry".into(), "0".into());
            lent.apply(&settings).await?;
        }
        Ok(lent)
    }

    /// A connection to a replica that answers, each in turn, else to the primary.
    async fn lend_replica(&self, settings: &SessionSettings) -> Result<Lent> {
        let replicas = &self.servers[1..];
        let first = {
            let mut latest = self.latest.lock();
            latest.next_replica = latest.next_replica.wrapping_add(1);
            latest.next_replica
        };
        for turn in 0..replicas.len() {
            let server = &replicas[(first.wrapping_add(turn)) % replicas.len()];
            if !server.seems_up() {
                continue;
            }
            match server.lend(settings).await {
                Ok(lent) => return Ok(lent),
                Err(error) => tracing::debug!(server = %server.label(), %error, "not used"),
            }
        }
        self.lend(settings).await
    }

    async fn all_databases(&self) -> Result<Arc<Vec<String>>> {
        if let Some(names) = self.databases.fresh(&()) {
            return Ok(names);
        }
        let epoch = self.databases.epoch();
        let names = Arc::new(load::databases(&mut *self.lend_for_metadata().await?).await?);
        self.databases.put((), Some(Arc::clone(&names)), epoch);
        Ok(names)
    }

    pub(crate) fn forget(&self) {
        self.databases.clear();
        self.tables.clear();
        self.table.clear();
        self.described.clear();
        self.splits.clear();
    }

    /// A table by the server's name of its database.
    pub(crate) async fn remote_table(
        self: &Arc<Self>,
        database: &str,
        table: &str,
    ) -> Result<Option<Arc<RemoteTable>>> {
        let key = (database.to_owned(), table.to_owned());
        match self.table.find(&key) {
            Found::Fresh(found) => Ok(Some(found)),
            Found::Stale(found) => {
                let inner = Arc::clone(self);
                tokio::spawn(async move {
                    if let Err(error) = inner.load_table(key).await {
                        tracing::debug!(link = %inner.config.name, %error, "table not read again");
                    }
                });
                Ok(Some(found))
            }
            Found::Nothing => self.load_table(key).await,
        }
    }

    async fn load_table(&self, key: (String, String)) -> Result<Option<Arc<RemoteTable>>> {
        let epoch = self.table.epoch();
        let loaded = async {
            let mut connection = self.lend_for_metadata().await?;
            load::table(&mut connection, &key.0, &key.1).await
        }
        .await;
        let found = match loaded {
            Ok(found) => found.map(Arc::new),
            Err(error) => {
                self.table.put(key, None, epoch);
                return Err(error);
            }
        };
        self.table.put(key, found.clone(), epoch);
        Ok(found)
    }
}

/// Whether a zone, by its name or offset, is the same all year.
fn is_fixed_zone(zone: &str) -> bool {
    zone.starts_with(['+', '-']) || matches!(zone, "UTC" | "GMT" | "Etc/UTC" | "Z")
}

/// Whether a server's zone is, by its `time_zone` and its `system_time_zone`. The latter is what the
/// clocks were called when the server was started: London's are called GMT in winter.
fn is_fixed_server(zone: &str, system: &str) -> bool {
    if zone.eq_ignore_ascii_case("SYSTEM") { system == "UTC" } else { is_fixed_zone(zone) }
}

fn start_reaping(servers: &[Arc<Server>]) {
    let servers: Vec<_> = servers.iter().map(Arc::downgrade).collect();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(REAP_EVERY).await;
            let alive: Vec<_> = servers.iter().filter_map(std::sync::Weak::upgrade).collect();
            if alive.is_empty() {
                return;
            }
            for server in alive {
                server.reap();
                if !server.seems_up() {
                    // Scans leave it alone; once it answers they use it again. A connection that
                    // rests would say nothing of that.
                    server.make().await.ok();
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clocks_are_called_in_winter_is_no_zone() {
        assert!(is_fixed_zone("GMT") && is_fixed_zone("+02:00") && !is_fixed_zone("Europe/London"));
        assert!(is_fixed_server("SYSTEM", "UTC") && is_fixed_server("GMT", "CET"));
        assert!(is_fixed_server("+00:00", "CET"));
        // London, and a zone without letters.
        assert!(!is_fixed_server("SYSTEM", "GMT") && !is_fixed_server("SYSTEM", "-03"));
    }
}

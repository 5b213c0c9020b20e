//! [`Engine`]: one server with its accounts, links, native tables and sessions.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};
use pelorus_link::Link;
use pelorus_mirror::FindLink;
use pelorus_mirror::Mirrors;
use pelorus_native::Catalog;
use pelorus_query::Scratch;
use pelorus_result::kill::Handle;

use crate::accounts::{Account, AccountName, Accounts, Reach};
use crate::api::{Credential, Login};
use crate::config::{EngineConfig, LoginDelay, SERVER_VERSION, SecretSources, Settings};
use crate::global_read_lock::GlobalReadLock;
use crate::info::remote_columns::RemoteInfo;
use crate::links::Links;
use crate::memory::{self, Budgets, Memory, SpillBudgets};
use crate::mirror::copies::EngineCopies;
use crate::mirror::wanted::{Place, Wanted};
use crate::mirror::zones::Zones;
use crate::processlist::{Activity, Process, Processes};
use crate::servers::{Server, Servers};
use crate::status::Counters;
use crate::user_locks::UserLocks;
use crate::variables::{Globals, VarValue, check, find};
use crate::zone::Zone;

/// How often links are looked after when no statement does it.
const WATCH: Duration = Duration::from_secs(10);

/// One Pelorus server. Sessions hold it; edges log clients in through it.
pub struct Engine {
    env: Env,
    settings: Settings,
    accounts: Accounts,
    generated_root_password: Option<String>,
    servers: Servers,
    secrets: SecretSources,
    /// Why links could not be opened, by the names of their servers.
    unopened: Mutex<BTreeMap<String, String>>,
    links: Arc<Links>,
    native: Arc<Catalog>,
    mirrors: Mirrors,
    zones: Zones,
    remote_info: RemoteInfo,
    globals: Arc<Globals>,
    processes: Processes,
    user_locks: UserLocks,
    global_read_lock: Arc<GlobalReadLock>,
    counters: Counters,
    zone: Zone,
    cores: usize,
    scratch: Scratch,
    memory: Memory,
    /// How many prepared statements all sessions have.
    prepared: Arc<AtomicUsize>,
    started: Duration,
    next_id: AtomicU64,
    most_sessions: AtomicUsize,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens the data folder with its native tables, and the links.
    ///
    /// # Errors
    /// When the data folder cannot be used, or the configuration says something that cannot be. A
    /// link that cannot be reached is no error: it is tried again.
    pub async fn open(config: EngineConfig) -> Result<Arc<Engine>> {
        let env = config.env;
        env.files.create_folder(&config.data).map_err(|error| {
            Error::internal(format!("cannot create {}", config.data.display())).caused_by(error)
        })?;
        let missing = missing(&env, &config.data)?;
        let reach = Reach {
            addresses: config.settings.addresses.clone(),
            socket: !config.settings.socket.is_empty(),
            tls: config.settings.tls,
        };
        let (accounts, generated_root_password) =
            Accounts::open(&env, &config.data, &config.root_password, &config.root_hosts, reach)?;
        check_root_hosts(&accounts, &config.root_hosts)?;
        let servers = Servers::open(&env, &config.data, &config.links)?;
        let zone = Zone::of_machine(&env);
        let (scratch, spills_to) = scratch(&env, &config.data)?;
        let data = config.data.display().to_string();
        let limit = chosen_limit(&config.variables);
        let budgets = Budgets::of_machine(&env, limit);
        let folders = (data.as_str(), spills_to.as_path());
        let globals = computed(folders, &config.settings, &zone, &env, budgets);
        let globals = Arc::new(Globals::new(globals, &config.variables)?);
        accounts.begin_secure(globals.get("require_secure_transport").is_on());
        let memory = Memory::new(&globals);
        let options = memory::options(&globals, &memory);
        let native = Arc::new(Catalog::open(&env, &config.data, options)?);
        if !native.store().tables().is_empty() {
            for (name, what) in missing {
                let path = config.data.join(name);
                tracing::warn!(file = %path.display(), "was missing and is made anew: {what}");
            }
        }
        let links = Arc::new(Links::new(&env));
        let copies = Arc::new(EngineCopies::new(
            Arc::clone(&native),
            Arc::clone(&globals),
            memory.mirrors().clone(),
        ));
        let mirrors = Mirrors::open(copies, Arc::clone(&links) as Arc<dyn FindLink>, env.clone())?;
        let engine = Arc::new(Self {
            mirrors,
            zones: Zones::default(),
            links,
            native,
            started: env.clock.monotonic(),
            settings: config.settings,
            cores: std::thread::available_parallelism().map_or(2, usize::from),
            scratch,
            memory,
            prepared: Arc::default(),
            env,
            accounts,
            generated_root_password,
            servers,
            secrets: config.secrets,
            unopened: Mutex::default(),
            remote_info: RemoteInfo::default(),
            globals,
            processes: Processes::default(),
            user_locks: UserLocks::default(),
            global_read_lock: Arc::default(),
            counters: Counters::default(),
            zone,
            next_id: AtomicU64::new(1),
            most_sessions: AtomicUsize::new(0),
        });
        for server in engine.servers.all() {
            engine.open_link(&server).await;
        }
        engine.links.refresh_within(crate::links::PATIENCE_AT_FIRST).await;
        engine.warn_of_links();
        engine.mirrors.start();
        let wanted = Wanted::new(config.mirrors)?;
        tokio::spawn(watch(Arc::downgrade(&engine), wanted));
        tokio::spawn(memory::keep_within(Arc::downgrade(&engine.globals)));
        Ok(engine)
    }

    /// Asks a server that has mirrors for its time zone: queries of mirrors need it, and it may be
    /// away when they come.
    pub(crate) fn learn_zone(&self, link: &Link) {
        let stream = self.mirrors.streams(&link.name().to_lowercase());
        self.zones.learn(link, self.native.store(), &self.env, stream);
    }

    /// Opens the link of a definition. What is wrong is logged; [`watch`] tries again.
    async fn open_link(&self, server: &Server) {
        let link = match server.link_config(&self.env, self.cores, &self.secrets) {
            Ok(config) => Link::open(config, self.env.clone()).await,
            Err(error) => Err(error),
        };
        match link {
            Ok(link) => {
                self.unopened.lock().remove(&server.name);
                self.links.insert(link);
                self.remember_databases(&server.name);
            }
            Err(error) => {
                let why = pelorus_error::display_chain(&error);
                let before = self.unopened.lock().insert(server.name.clone(), why.clone());
                if before.as_ref() != Some(&why) {
                    tracing::warn!(
                        server = server.name,
                        error = why,
                        "a linked server cannot be opened; it is tried again"
                    );
                }
            }
        }
    }

    /// Reports the links that cannot be read, so that a misspelt name shows at the start, and not
    /// in the first report.
    fn warn_of_links(&self) {
        for link in self.report_links() {
            for database in &link.missing {
                tracing::warn!(
                    link = link.name,
                    database,
                    "the server has no such database, or does not show it to the account"
                );
            }
            if link.failure.is_none() && link.databases.is_empty() && link.missing.is_empty() {
                tracing::warn!(link = link.name, "the server shows no databases to the account");
            }
        }
    }

    /// Why the latest attempt to use a link failed; `None` when it did not.
    pub(crate) fn link_failure(&self, name: &str) -> Option<String> {
        match self.links.get(name) {
            Some(_) => self.links.failure(name),
            None => self.unopened.lock().get(name).cloned(),
        }
    }

    /// If a server is unreachable from the start, its mirrors are found by the stored names of its
    /// databases.
    fn remember_databases(&self, server: &str) {
        let link = server.to_lowercase();
        let mut known = self.mirrors.databases();
        known.retain(|(of, _)| *of == link);
        let names: Vec<String> = known.into_iter().map(|(_, name)| name).collect();
        self.links.remember(&link, &names);
    }

    /// Whether an account lets clients of other machines in.
    pub fn admits_others(&self) -> bool {
        self.accounts.admits_others()
    }

    /// The password of `root`, when this start made one up.
    pub fn generated_root_password(&self) -> Option<String> {
        self.generated_root_password.clone()
    }

    /// The version that clients see.
    ///
    /// Tools that know a MariaDB by its version read its information schema differently from
    /// MySQL's, so the version follows the linked servers. The greeting has no `5.5.5-` before it,
    /// as MariaDB has none from version 11 on: with it, Connector/J takes the server for a MySQL
    /// 5.5.5 and misreads the second step of `caching_sha2_password`.
    pub(crate) fn server_version(&self) -> String {
        let set = self.globals.get("pelorus_server_version");
        if !set.text().is_empty() {
            return set.text().to_owned();
        }
        let links = self.links.all();
        let is_mariadb = |link: &Link| link.is_known_mariadb() == Some(true);
        match links.first().and_then(Link::known_version) {
            Some(version) if links.iter().all(is_mariadb) => {
                let number: String =
                    version.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
                format!("{number}-MariaDB-pelorus-{}", env!("CARGO_PKG_VERSION"))
            }
            _ => SERVER_VERSION.to_owned(),
        }
    }

    /// Limits and texts for edges. Later changes by `SET GLOBAL` show in later calls.
    pub fn settings(&self) -> Settings {
        let seconds = |name| Duration::from_secs(self.globals.get(name).count());
        let milliseconds = |name| Duration::from_millis(self.globals.get(name).count());
        let size = |name| usize::try_from(self.globals.get(name).count()).unwrap_or(usize::MAX);
        Settings {
            server_version: self.server_version(),
            max_allowed_packet: size("max_allowed_packet"),
            wait_timeout: seconds("wait_timeout"),
            net_read_timeout: seconds("net_read_timeout"),
            net_write_timeout: seconds("net_write_timeout"),
            connect_timeout: seconds("connect_timeout"),
            max_connections: size("max_connections"),
            login_delay: LoginDelay {
                threshold: u32::try_from(
                    self.globals.get("connection_control_failed_connections_threshold").count(),
                )
                .unwrap_or(u32::MAX),
                min: milliseconds("connection_control_min_connection_delay"),
                max: milliseconds("connection_control_max_connection_delay"),
            },
            require_secure_transport: self.globals.get("require_secure_transport").is_on(),
            ..self.settings.clone()
        }
    }

    /// How the account that fits this user and host proves itself; `None` when there is none.
    /// `peer` is `None` on a local socket.
    pub fn credential(&self, user: &str, peer: Option<IpAddr>) -> Option<Credential> {
        self.accounts.find(user, peer).map(Credential::from)
    }

    /// Counts how a login ended whose proof the edge has looked at.
    ///
    /// # Errors
    /// The account is locked for failed logins (3955), whatever was proven.
    pub fn login_ended(&self, user: &str, peer: Option<IpAddr>, is_proven: bool) -> Result<()> {
        self.accounts.login_ended(user, peer, is_proven)
    }

    /// A number for a connection that is about to be greeted; [`Self::connect`] takes it over.
    pub fn next_connection_id(&self) -> u64 {
        // Ordering: only uniqueness matters.
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Enters a client whose password the edge has verified into the list of sessions.
    ///
    /// # Errors
    /// Too many connections (1040).
    pub(crate) fn enter(&self, id: u64, login: &Login) -> Result<Arc<Process>> {
        let activity =
            Activity { command: "Sleep", since: self.env.clock.monotonic(), ..Activity::default() };
        let process = Arc::new(Process::new(Handle::new(id), activity));
        // As in MySQL, one place more is kept for those who can make room.
        let reserved = usize::from(self.account_of(login).is_ok_and(|account| !account.read_only));
        if !self.processes.add(process.clone(), self.settings().max_connections + reserved) {
            return Err(Error::new(Code::TooManyConnections, "Too many connections"));
        }
        // Ordering: counts are only looked at by people.
        self.most_sessions.fetch_max(self.processes.len(), Ordering::Relaxed);
        Ok(process)
    }

    /// From the first login on, starts leave the accounts as they are.
    pub(crate) fn note_login(&self) {
        if !self.accounts.is_unused() {
            return;
        }
        if let Err(error) = pelorus_env::blocking(|| self.accounts.note_login()) {
            let error = pelorus_error::display_chain(&error);
            tracing::warn!(error, "a start before the next login makes another password of root");
        }
    }

    /// `KILL` by an account.
    ///
    /// # Errors
    /// No such id (1094), or not allowed (1095).
    pub(crate) fn kill_as(&self, by: &AccountName, id: u64, query_only: bool) -> Result<()> {
        let missing = || Error::new(Code::NoSuchThread, format!("Unknown thread id: {id}"));
        let process = self.processes.get(id).ok_or_else(missing)?;
        let is_own = process.activity().account.as_ref() == Some(by);
        if !is_own && !self.may_administrate(by) {
            return Err(Error::new(Code::KillDenied, format!("You are not owner of thread {id}")));
        }
        if query_only {
            process.handle.kill_query();
        } else {
            process.handle.kill_connection();
        }
        Ok(())
    }

    /// The text that `COM_STATISTICS` returns.
    pub fn statistics(&self) -> String {
        let uptime = self.uptime();
        let questions = self.total("Questions");
        #[expect(clippy::cast_precision_loss, reason = "a rate for people to look at")]
        let rate = questions as f64 / uptime.max(1) as f64;
        format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: 0  Opens: 0  \
             Flush tables: 0  Open tables: 0  Queries per second avg: {rate:.3}",
            self.processes.len()
        )
    }

    /// Ends all sessions and closes the links and the native tables.
    pub async fn close(&self) {
        for process in self.processes.all() {
            process.handle.kill_connection();
        }
        self.mirrors.close().await;
        for link in self.links.all() {
            link.close().await;
        }
        if let Err(error) = pelorus_env::blocking(|| self.native.close()) {
            tracing::error!(
                error = pelorus_error::display_chain(&error),
                "native tables could not be closed; the next start reads the log"
            );
        }
    }

    /// The state of the links for the report at the start: name, address, and its databases or the
    /// reason for which it cannot be reached.
    pub fn report_links(&self) -> Vec<LinkReport> {
        let databases = self.links.databases();
        self.servers
            .all()
            .into_iter()
            .map(|server| {
                let failure = self.link_failure(&server.name);
                let databases: Vec<String> = databases
                    .iter()
                    .filter(|database| database.link.name().eq_ignore_ascii_case(&server.name))
                    .map(|database| database.local.clone())
                    .collect();
                let missing = self.links.missing(&server.name);
                let address = match &server.socket {
                    Some(socket) => socket.display().to_string(),
                    None if server.port == 0 => format!("{}:3306", server.host),
                    None => format!("{}:{}", server.host, server.port),
                };
                LinkReport { name: server.name, address, databases, missing, failure }
            })
            .collect()
    }

    /// Whether an account may change accounts and see what others do.
    fn may_administrate(&self, name: &AccountName) -> bool {
        self.accounts.get(name).is_some_and(|account| !account.read_only)
    }

    pub(crate) fn env(&self) -> &Env {
        &self.env
    }

    pub(crate) fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    pub(crate) fn user_locks(&self) -> &UserLocks {
        &self.user_locks
    }

    pub(crate) fn global_read_lock(&self) -> &Arc<GlobalReadLock> {
        &self.global_read_lock
    }

    pub(crate) fn servers(&self) -> &Servers {
        &self.servers
    }

    pub(crate) fn secrets(&self) -> &SecretSources {
        &self.secrets
    }

    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    pub(crate) fn native(&self) -> &Arc<Catalog> {
        &self.native
    }

    pub(crate) fn zones(&self) -> &Zones {
        &self.zones
    }

    pub(crate) fn mirrors(&self) -> &Mirrors {
        &self.mirrors
    }

    pub(crate) fn remote_info(&self) -> &RemoteInfo {
        &self.remote_info
    }

    pub(crate) fn globals(&self) -> &Globals {
        &self.globals
    }

    pub(crate) fn processes(&self) -> &Processes {
        &self.processes
    }

    pub(crate) fn zone(&self) -> &Zone {
        &self.zone
    }

    pub(crate) fn cores(&self) -> usize {
        self.cores
    }

    /// Where queries spill to, within the limits that are in force.
    pub(crate) fn scratch(&self) -> Scratch {
        let bytes = |name| self.globals.get(name).count();
        let limits = (bytes("pelorus_spill_limit"), bytes("pelorus_spill_reserve"));
        if let Err(error) = self.scratch.limit(limits.0, limits.1) {
            tracing::warn!(%error, "the files that queries spill to have no limit");
        }
        self.scratch.clone()
    }

    /// The memory usage of the server.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// How many prepared statements all sessions have.
    pub(crate) fn prepared(&self) -> &Arc<AtomicUsize> {
        &self.prepared
    }

    /// The account of a login that the edge has verified; it may have gone since.
    pub(crate) fn account_of(&self, login: &Login) -> Result<Account> {
        let address = login.peer.map(|peer| peer.ip());
        self.accounts.find(&login.user, address).ok_or_else(|| {
            let host = address.map_or_else(|| "localhost".to_owned(), |ip| ip.to_string());
            Error::new(
                Code::AccessDenied,
                format!("Access denied for user '{}'@'{host}' (using password: YES)", login.user),
            )
        })
    }

    pub(crate) fn forget_session(&self, process: &Process) {
        self.user_locks.release_all(process.handle.id());
        if self.processes.remove(process.handle.id()) {
            self.counters.absorb(&process.counters);
        }
    }

    fn uptime(&self) -> u64 {
        self.env.clock.monotonic().saturating_sub(self.started).as_secs()
    }

    /// A count of all sessions, those that ended included.
    fn total(&self, name: &str) -> u64 {
        self.totals().into_iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| count)
    }

    fn totals(&self) -> Vec<(&'static str, u64)> {
        let sum = Counters::default();
        sum.absorb(&self.counters);
        for process in self.processes.all() {
            sum.absorb(&process.counters);
        }
        sum.list()
    }

    /// The lines of `SHOW STATUS`, of one session or of all.
    pub(crate) fn status(&self, global: bool, process: &Process) -> Vec<(String, String)> {
        let counters = if global { self.totals() } else { process.counters.list() };
        let mut all: Vec<(String, String)> = counters
            .into_iter()
            .map(|(name, count)| (name.to_owned(), count.to_string()))
            .collect();
        let sessions = self.processes.all();
        let running =
            sessions.iter().filter(|process| process.activity().command != "Sleep").count();
        // Ordering: counts are only looked at by people.
        let begun = self.next_id.load(Ordering::Relaxed) - 1;
        let most = self.most_sessions.load(Ordering::Relaxed);
        for (name, value) in [
            ("Connections", begun),
            ("Max_used_connections", most as u64),
            ("Pelorus_links", self.links.all().len() as u64),
            ("Pelorus_spilled", self.scratch.spilled()),
            ("Prepared_stmt_count", self.prepared.load(Ordering::Relaxed) as u64),
            ("Threads_connected", sessions.len() as u64),
            ("Threads_running", running as u64),
            ("Uptime", self.uptime()),
        ] {
            all.push((name.to_owned(), value.to_string()));
        }
        all.extend(self.memory.status().map(|(name, bytes)| (name.to_owned(), bytes.to_string())));
        all
    }
}

/// The state of a link.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// The link.
    pub name: String,
    /// Where its primary is.
    pub address: String,
    /// The databases that it shows, by their names here.
    pub databases: Vec<String>,
    /// Databases that it is to show and does not, by their names there.
    pub missing: Vec<String>,
    /// Why it cannot be reached.
    pub failure: Option<String>,
}

/// The spill folder of queries: a folder of the data folder, emptied of the files of a killed
/// process. If files are not stored on the disk, it is a folder of the system.
fn scratch(env: &Env, data: &Path) -> Result<(Scratch, PathBuf)> {
    let folder = data.join("tmp");
    let left = env.files.remove_folders(&folder, Scratch::PREFIX);
    let made = left.and_then(|()| env.files.create_folder(&folder));
    let made = made.map_err(|error| Error::internal("it cannot be used").caused_by(error));
    match made.and_then(|()| Scratch::new(Some(&folder))) {
        Ok(scratch) => Ok((scratch, folder)),
        Err(error) => {
            tracing::warn!(
                folder = %folder.display(),
                error = pelorus_error::display_chain(&error),
                "queries spill to the system's folder for temporary files"
            );
            Ok((Scratch::new(None)?, std::env::temp_dir()))
        }
    }
}

/// The files of the data folder that every start writes and that are missing, with the consequence
/// if there are tables already.
fn missing(env: &Env, data: &Path) -> Result<Vec<(&'static str, &'static str)>> {
    let mut missing = Vec::new();
    for (name, what) in [
        ("accounts.json", "all accounts but root are gone"),
        ("key.json", "passwords of linked servers that were stored cannot be read any more"),
    ] {
        let path = data.join(name);
        let found = env.files.read(&path).map_err(|error| {
            Error::internal(format!("cannot read {}", path.display())).caused_by(error)
        })?;
        if found.is_none() {
            missing.push((name, what));
        }
    }
    Ok(missing)
}

/// Refuses hosts of root that no client could have, and says where they come too late.
fn check_root_hosts(accounts: &Accounts, hosts: &[String]) -> Result<()> {
    for host in hosts {
        let name = AccountName::new("root", host)?;
        if accounts.get(&name).is_none() {
            tracing::warn!(
                account = %name,
                "root_host counts until the first login; CREATE USER makes the account now"
            );
        }
    }
    Ok(())
}

/// The limit of the memory that the configuration sets; whether it is one is seen later.
fn chosen_limit(configured: &[(String, String)]) -> Option<u64> {
    let is_limit = |name: &str| find(name).is_ok_and(|it| it.name == memory::LIMIT);
    let (_, value) = configured.iter().rfind(|(name, _)| is_limit(name))?;
    let (value, _) =
        check::convert(find(memory::LIMIT).ok()?, &VarValue::Text(value.clone())).ok()?;
    Some(value.count())
}

/// Values of variables that are known only now.
fn computed(
    (data, spills_to): (&str, &Path),
    settings: &Settings,
    zone: &Zone,
    env: &Env,
    budgets: Budgets,
) -> Vec<(&'static str, VarValue)> {
    let text = |text: &str| VarValue::Text(text.to_owned());
    let seconds = |time: Duration| VarValue::UInt(time.as_secs());
    let hostname = env
        .files
        .read(Path::new("/etc/hostname"))
        .ok()
        .flatten()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let spills = SpillBudgets::of_folder(spills_to);
    vec![
        ("basedir", text("")),
        ("bind_address", text(&settings.bind_address)),
        ("connect_timeout", seconds(settings.connect_timeout)),
        ("datadir", text(&format!("{data}/"))),
        ("hostname", text(hostname.as_deref().unwrap_or("localhost").trim())),
        ("max_allowed_packet", VarValue::UInt(settings.max_allowed_packet as u64)),
        ("max_connections", VarValue::UInt(settings.max_connections as u64)),
        ("net_read_timeout", seconds(settings.net_read_timeout)),
        ("net_write_timeout", seconds(settings.net_write_timeout)),
        ("pelorus_block_cache", VarValue::UInt(budgets.cache)),
        ("pelorus_delta_memory", VarValue::UInt(budgets.delta)),
        ("pelorus_index_memory", VarValue::UInt(budgets.index)),
        (memory::LIMIT, VarValue::UInt(budgets.limit)),
        ("pelorus_spill_limit", VarValue::UInt(spills.limit)),
        ("pelorus_spill_reserve", VarValue::UInt(spills.reserve)),
        ("port", VarValue::UInt(u64::from(settings.port))),
        ("require_secure_transport", VarValue::Bool(settings.require_secure_transport)),
        ("secure_file_priv", text("NULL")),
        ("server_uuid", text(&uuid(env))),
        ("socket", text(&settings.socket)),
        ("system_time_zone", text(&zone.name)),
        ("tmpdir", text(&spills_to.display().to_string())),
        ("version", text(SERVER_VERSION)),
        ("version_compile_machine", text(std::env::consts::ARCH)),
        ("version_compile_os", text(std::env::consts::OS)),
        ("wait_timeout", seconds(settings.wait_timeout)),
    ]
}

/// A random UUID (version 4).
fn uuid(env: &Env) -> String {
    let mut bytes = [0; 16];
    env.random.fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let digits = crate::hex::encode(&bytes).to_ascii_lowercase();
    let (a, rest) = digits.split_at(8);
    let (b, rest) = rest.split_at(4);
    let (c, rest) = rest.split_at(4);
    let (d, e) = rest.split_at(4);
    format!("{a}-{b}-{c}-{d}-{e}")
}

/// Why a database is not found.
fn unknown(engine: &Engine) -> String {
    let links = engine.report_links();
    if links.is_empty() {
        return "no server is linked".to_owned();
    }
    match links.iter().find(|link| link.failure.is_some()) {
        None => "no linked server shows a database of this name to its account".to_owned(),
        Some(link) => format!(
            "no linked server that answers shows a database of this name, and server '{}' does not \
             answer",
            link.name
        ),
    }
}

/// Looks after idle links: opens those that could not be opened, and tries unreachable ones again.
async fn watch(engine: std::sync::Weak<Engine>, mut wanted: Wanted) {
    loop {
        if let Some(engine) = engine.upgrade() {
            let place = Place { links: &engine.links, mirrors: &engine.mirrors };
            wanted.make(place, || unknown(&engine)).await;
        }
        tokio::time::sleep(WATCH).await;
        let Some(engine) = engine.upgrade() else { return };
        for server in engine.servers.all() {
            if engine.links.get(&server.name).is_none() {
                engine.open_link(&server).await;
            }
        }
        engine.links.refresh().await;
        for (name, _) in engine.mirrors.databases() {
            if let Some(link) = engine.links.get(&name) {
                engine.learn_zone(&link);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_every_start_leaves_behind_are_missed() {
        let env = Env::in_memory(1);
        let data = Path::new("/data");
        let names = || missing(&env, data).unwrap().into_iter().map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(names(), ["accounts.json", "key.json"]);
        env.files.replace(&data.join("accounts.json"), b"x").unwrap();
        assert_eq!(names(), ["key.json"]);
    }
}

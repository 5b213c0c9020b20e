//! The open links, and the map from databases to the links that show them.
//!
//! Names are looked up without I/O in a list that [`Links::refresh`] renews; a statement refreshes
//! the list before it is planned. An unreachable server keeps the databases that it had when it was
//! last reached, so that a statement on them fails with the reason and not with "unknown database".

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use pelorus_env::Env;
use pelorus_error::{Error, Result};
use pelorus_link::Link;
use pelorus_mirror::FindLink;

/// How long a list of databases counts as fresh.
const FRESH: Duration = Duration::from_secs(1);
/// The pause after a request to servers for an unknown database.
const MISS_PAUSE: Duration = Duration::from_millis(100);
/// The pause after a failure of a server, before it is asked again for its databases.
const PAUSE: Duration = Duration::from_secs(5);

/// How long a statement waits for a server's list when an older one is there, and when none is.
const PATIENCE: Duration = Duration::from_millis(200);
pub(crate) const PATIENCE_AT_FIRST: Duration = Duration::from_secs(5);
/// The same where a database is not in the list.
const PATIENCE_AT_MISS: Duration = Duration::from_secs(1);

/// Schemas of a server that tools (MySQL Workbench, mysqldump) look into.
const SYSTEM_SCHEMAS: [&str; 2] = ["performance_schema", "sys"];

/// One open link and its databases by their names here.
#[derive(Debug)]
struct Entry {
    link: Link,
    known: RwLock<Known>,
    /// A question about its databases is on its way.
    is_asked: AtomicBool,
}

#[derive(Debug, Default)]
struct Known {
    /// (name here, name there).
    databases: Arc<Vec<(String, String)>>,
    /// They are the stored ones: the server has not answered since the start.
    is_remembered: bool,
    /// Databases that the definition names and the server does not show; `None` before the server
    /// has answered.
    missing: Option<Vec<String>>,
    /// The server's global `sql_mode`.
    sql_mode: Option<String>,
    /// When to ask again, on the monotonic clock; `None` before the first answer.
    next: Option<Duration>,
    /// Why the latest attempt failed.
    failure: Option<String>,
}

/// A database of a link.
#[derive(Clone, Debug)]
pub(crate) struct LinkedDatabase {
    pub(crate) link: Link,
    /// The name on this side, spelt as the server spells it.
    pub(crate) local: String,
    /// The name on the server.
    pub(crate) remote: String,
}

/// All open links.
#[derive(Debug)]
pub(crate) struct Links {
    env: Env,
    entries: RwLock<BTreeMap<String, Arc<Entry>>>,
    /// The time of the last request for an unknown database, on the monotonic clock.
    missed: tokio::sync::Mutex<Option<Duration>>,
}

impl Links {
    pub(crate) fn new(env: &Env) -> Self {
        Self { env: env.clone(), entries: RwLock::default(), missed: tokio::sync::Mutex::default() }
    }

    /// Adds a link, in place of one of the same name, which is returned to be closed.
    pub(crate) fn insert(&self, link: Link) -> Option<Link> {
        let known = Known {
            // What the definition names is known without asking.
            databases: Arc::new(link.config().databases.clone()),
            ..Known::default()
        };
        let key = link.name().to_lowercase();
        let entry =
            Arc::new(Entry { link, known: RwLock::new(known), is_asked: AtomicBool::new(false) });
        self.entries.write().insert(key, entry).map(|old| old.link.clone())
    }

    /// Notes databases that a server had, by its names, until it says itself which it has.
    pub(crate) fn remember(&self, name: &str, remotes: &[String]) {
        let Some(entry) = self.entries.read().get(&name.to_lowercase()).cloned() else { return };
        let mut known = entry.known.write();
        if known.sql_mode.is_some() {
            return;
        }
        let mut all = known.databases.to_vec();
        for remote in remotes {
            let Some(local) = entry.link.local_database(remote) else { continue };
            if all.iter().all(|(other, _)| *other != local) {
                all.push((local, remote.clone()));
            }
        }
        known.is_remembered = all.len() > entry.link.config().databases.len();
        known.databases = Arc::new(all);
    }

    /// Takes a link away; the caller closes it.
    pub(crate) fn remove(&self, name: &str) -> Option<Link> {
        self.entries.write().remove(&name.to_lowercase()).map(|entry| entry.link.clone())
    }

    /// All links, by name.
    pub(crate) fn all(&self) -> Vec<Link> {
        self.entries.read().values().map(|entry| entry.link.clone()).collect()
    }

    /// A link by name, in any case.
    pub(crate) fn get(&self, name: &str) -> Option<Link> {
        self.entries.read().get(&name.to_lowercase()).map(|entry| entry.link.clone())
    }

    /// Asks the servers for their databases if the list is not fresh. An unreachable server is
    /// tried again only after a while. The wait is short for a server that has answered before: the
    /// request continues in the background.
    pub(crate) async fn refresh(&self) {
        self.refresh_within(PATIENCE).await;
    }

    /// The same with patience for servers that were heard of before.
    pub(crate) async fn refresh_within(&self, patience: Duration) {
        let now = self.env.clock.monotonic();
        let due: Vec<Arc<Entry>> = self
            .entries
            .read()
            .values()
            .filter(|entry| entry.known.read().next.is_none_or(|next| next <= now))
            .cloned()
            .collect();
        let questions = due.into_iter().map(|entry| {
            let is_known = entry.known.read().is_heard_of();
            let limit = if is_known { patience } else { PATIENCE_AT_FIRST };
            // Ordering: the flag only keeps two questions from running at once.
            let is_asked = entry.is_asked.swap(true, Ordering::Relaxed);
            let question = (!is_asked).then(|| {
                let env = self.env.clone();
                tokio::spawn(async move {
                    entry.refresh(&env).await;
                    entry.is_asked.store(false, Ordering::Relaxed);
                })
            });
            async move {
                if let Some(question) = question {
                    tokio::time::timeout(limit, question).await.ok();
                }
            }
        });
        futures::future::join_all(questions).await;
    }

    /// Asks all reachable servers for their databases now, because a statement names an unknown
    /// one. Unknown names do not overload servers: requests have a minimum interval, and one serves
    /// all waiting statements.
    pub(crate) async fn look_again(&self) {
        let begun = self.env.clock.monotonic();
        let mut missed = self.missed.lock().await;
        if missed.is_some_and(|asked| asked >= begun) {
            return;
        }
        let entries: Vec<Arc<Entry>> = self.entries.read().values().cloned().collect();
        let answer = |entry: &Arc<Entry>| entry.known.read().failure.is_none();
        let questions: Vec<_> = entries.into_iter().filter(answer).collect();
        if questions.is_empty() {
            return;
        }
        let since = missed.map_or(MISS_PAUSE, |asked| begun.saturating_sub(asked));
        tokio::time::sleep(MISS_PAUSE.saturating_sub(since)).await;
        *missed = Some(self.env.clock.monotonic());
        let questions = questions.into_iter().map(|entry| {
            let env = self.env.clone();
            let question = tokio::spawn(async move { entry.refresh(&env).await });
            tokio::time::timeout(PATIENCE_AT_MISS, question)
        });
        futures::future::join_all(questions).await;
    }

    /// Makes the next [`Self::refresh`] ask all servers, after `CREATE DATABASE` and the like.
    pub(crate) fn forget(&self) {
        for entry in self.entries.read().values() {
            entry.known.write().next = None;
        }
    }

    /// The database that is shown under a name.
    ///
    /// # Errors
    /// When two links show one name: neither is taken, because an answer from the wrong one would
    /// be silently wrong.
    pub(crate) fn database(&self, name: &str) -> Result<Option<LinkedDatabase>> {
        let entries = self.entries.read();
        let find = |same: fn(&str, &str) -> bool| -> Vec<LinkedDatabase> {
            let mut found = Vec::new();
            for entry in entries.values() {
                for (local, remote) in entry.known.read().databases.iter() {
                    if same(local, name) {
                        let (local, remote) = (local.clone(), remote.clone());
                        found.push(LinkedDatabase { link: entry.link.clone(), local, remote });
                    }
                }
            }
            found
        };
        let mut found = find(|a, b| a == b);
        if found.is_empty() {
            // Servers with lower_case_table_names take any case; on others two names can differ in
            // case only, and then no guess is made.
            found = find(str::eq_ignore_ascii_case);
            if found.len() > 1 {
                return Ok(None);
            }
        }
        if found.len() > 1 {
            return Err(ambiguous(name, &found));
        }
        Ok(found.pop().or_else(|| Self::system_schema(&entries, name)))
    }

    /// A system schema of a server, if there is only one linked server and it shows all of its
    /// databases. It is in no list: its tables describe the server.
    fn system_schema(entries: &BTreeMap<String, Arc<Entry>>, name: &str) -> Option<LinkedDatabase> {
        let name = SYSTEM_SCHEMAS.into_iter().find(|schema| schema.eq_ignore_ascii_case(name))?;
        let mut all = entries.values();
        let (Some(entry), None) = (all.next(), all.next()) else { return None };
        entry.link.config().databases.is_empty().then(|| LinkedDatabase {
            link: entry.link.clone(),
            local: name.to_owned(),
            remote: name.to_owned(),
        })
    }

    /// Whether the schemas in which a link's server shows its inside are shown here.
    pub(crate) fn shows_system_schemas(&self, link: &Link) -> bool {
        Self::system_schema(&self.entries.read(), SYSTEM_SCHEMAS[0])
            .is_some_and(|shown| shown.link.name() == link.name())
    }

    /// All databases that links show, by name.
    pub(crate) fn databases(&self) -> Vec<LinkedDatabase> {
        let mut all: Vec<LinkedDatabase> = Vec::new();
        for entry in self.entries.read().values() {
            all.extend(entry.known.read().databases.iter().map(|(local, remote)| LinkedDatabase {
                link: entry.link.clone(),
                local: local.clone(),
                remote: remote.clone(),
            }));
        }
        all.sort_by(|a, b| a.local.cmp(&b.local));
        all
    }

    /// The `sql_mode` of the linked servers; `None` where they differ or none has answered yet.
    pub(crate) fn sql_mode(&self) -> Option<String> {
        let entries = self.entries.read();
        let mut modes = entries.values().filter_map(|entry| entry.known.read().sql_mode.clone());
        let first = modes.next()?;
        modes.all(|mode| mode == first).then_some(first)
    }

    /// Why the last request for a link's databases failed; `None` if it succeeded.
    pub(crate) fn failure(&self, name: &str) -> Option<String> {
        let entry = self.entries.read().get(&name.to_lowercase()).cloned()?;
        let known = entry.known.read();
        known.failure.clone()
    }

    /// The databases that a link is to show and its server does not show, by their names there.
    pub(crate) fn missing(&self, name: &str) -> Vec<String> {
        let entry = self.entries.read().get(&name.to_lowercase()).cloned();
        entry.and_then(|entry| entry.known.read().missing.clone()).unwrap_or_default()
    }
}

impl FindLink for Links {
    fn link(&self, name: &str) -> Option<Link> {
        self.get(name)
    }
}

impl Known {
    /// Whether there is something to go on with when the server does not answer at once.
    fn is_heard_of(&self) -> bool {
        !self.databases.is_empty() && (!self.is_remembered || self.failure.is_some())
    }
}

impl Entry {
    /// The databases and the `sql_mode`.
    async fn ask(&self) -> Result<(Vec<String>, String)> {
        let mode = self.link.sql_mode().await?;
        let databases = self.link.databases_now().await?;
        let is_complete = self.known.read().missing.as_ref().is_some_and(Vec::is_empty);
        if !is_complete {
            let missing = self.link.missing_databases().await?;
            self.known.write().missing = Some(missing);
        }
        Ok((databases, mode))
    }

    async fn refresh(&self, env: &Env) {
        let answer = self.ask().await;
        let now = env.clock.monotonic();
        let mut known = self.known.write();
        match answer {
            Ok((names, sql_mode)) => {
                known.sql_mode = Some(sql_mode);
                known.is_remembered = false;
                let config = self.link.config();
                let pair = |name: String| {
                    let remote = config.remote_database(&name).unwrap_or(&name).to_owned();
                    (name, remote)
                };
                if known.failure.take().is_some() {
                    tracing::info!(link = self.link.name(), "linked server answers again");
                }
                known.databases =
                    Arc::new(names.into_iter().filter(|name| !is_own(name)).map(pair).collect());
                let is_given = !config.databases.is_empty();
                known.next = Some(now + if is_given { PAUSE } else { FRESH });
            }
            Err(error) => {
                let failure = error.message().to_owned();
                if known.failure.as_ref() != Some(&failure) {
                    tracing::warn!(
                        link = self.link.name(),
                        error = pelorus_error::display_chain(&error),
                        "linked server does not answer; it is tried again"
                    );
                }
                known.failure = Some(failure);
                known.next = Some(now + PAUSE);
            }
        }
    }
}

/// Databases of our own, and those that every server has for itself.
pub(crate) fn is_own(name: &str) -> bool {
    ["information_schema", "mysql", "performance_schema", "sys", "pelorus"]
        .iter()
        .any(|own| own.eq_ignore_ascii_case(name))
}

fn ambiguous(name: &str, found: &[LinkedDatabase]) -> Error {
    let links: Vec<String> =
        found.iter().map(|database| format!("'{}'", database.link.name())).collect();
    Error::new(
        pelorus_error::Code::UnknownDatabase,
        format!(
            "database '{name}' is on the servers {}; show one of them under another name: ALTER \
             SERVER name OPTIONS (DATABASES 'name_there AS name_here')",
            links.join(" and ")
        ),
    )
}

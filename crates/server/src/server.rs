//! Runs the server from its start to its shutdown.

use std::future::Future;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use pelorus_engine::{Engine, EngineConfig, LinkReport};
use pelorus_env::{Env, FolderLock};
use pelorus_error::display_chain;
use pelorus_mysql_server::{Edge, EdgeConfig, listen};
use tokio::net::{TcpListener, UnixListener, UnixStream, lookup_host};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::config::Config;

/// Where clients come in.
#[derive(Debug, Default)]
pub struct Listeners {
    /// TCP.
    pub tcp: Vec<TcpListener>,
    /// Local sockets with their paths.
    pub local: Vec<(UnixListener, PathBuf)>,
}

impl Listeners {
    /// Opens the listeners that the configuration names.
    ///
    /// # Errors
    /// An address that is in use or not local.
    pub async fn bind(config: &Config) -> Result<Self> {
        let mut listeners = Self::default();
        for address in &config.listen {
            let listener = bind_tcp(address).await.with_context(|| {
                format!("cannot listen on {address}; choose another address with --listen")
            })?;
            listeners.tcp.push(listener);
        }
        if let Some(path) = &config.socket {
            let listener = bind_local(path).await?;
            listeners.local.push((listener, path.clone()));
        }
        Ok(listeners)
    }
}

/// Listens on the first address that a name stands for and that can be had.
async fn bind_tcp(address: &str) -> Result<TcpListener> {
    let mut failure = None;
    for address in lookup_host(address).await? {
        match listen(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => failure = Some(error),
        }
    }
    match failure {
        Some(error) => bail!("{}", display_chain(&error)),
        None => bail!("it stands for no address"),
    }
}

/// Opens a local socket; the file of an earlier server is removed first.
async fn bind_local(path: &Path) -> Result<UnixListener> {
    let failed = || format!("cannot listen on the socket {}", path.display());
    match UnixListener::bind(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            if UnixStream::connect(path).await.is_ok() {
                bail!("{}: another server listens there", failed());
            }
            std::fs::remove_file(path).with_context(failed)?;
            UnixListener::bind(path).with_context(failed)
        }
        result => result.with_context(failed),
    }
}

/// Done when Ctrl-C or SIGTERM comes.
///
/// # Errors
/// When signals cannot be received.
pub fn stop_signal() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot receive Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot receive SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// How long a start waits for another process to leave the data folder: one that is being stopped
/// writes what it still has to write.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes this process the only one that uses a data folder, until the result is dropped.
///
/// # Errors
/// A folder that cannot be used, or that another process goes on using.
async fn lock_folder(folder: &Path, env: &Env, patience: Duration) -> Result<FolderLock> {
    let shown = folder.display();
    env.files.create_folder(folder).with_context(|| format!("cannot create {shown}"))?;
    let begun = env.clock.monotonic();
    let mut told = false;
    loop {
        let taken = FolderLock::try_take(folder);
        if let Some(lock) = taken.with_context(|| format!("cannot lock the data folder {shown}"))? {
            return Ok(lock);
        }
        if env.clock.monotonic().saturating_sub(begun) >= patience {
            bail!(
                "another Pelorus uses the data folder {shown}; stop it, or choose another folder \
                 with --data"
            );
        }
        if !std::mem::replace(&mut told, true) {
            tracing::warn!(folder = %shown, "another Pelorus uses the data folder; waiting");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// How long running statements may go on once the server is to stop.
const STATEMENTS_GRACE: Duration = Duration::from_secs(8);
/// How long the whole stop takes at most.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// Ends the process if it does not end in time: statements may compute without checking for
/// cancellation. The data on disk is then as after a crash, from which every start recovers.
fn end_in_time() {
    let watch = std::thread::Builder::new().name("pelorus-stop".to_owned()).spawn(|| {
        std::thread::sleep(STOP_LIMIT);
        tracing::warn!("statements that do not stop are cut off");
        std::process::exit(0);
    });
    if let Err(error) = watch {
        tracing::warn!("the time of the stop is not limited: {error}");
    }
}

/// Serves clients until `shutdown` is done; then lets running statements end for a while. The engine
/// and statements run on the runtime `serving`; this one lets clients in, and answers them when all
/// threads of the other compute.
///
/// # Errors
/// A data folder, key or certificate that cannot be used.
pub async fn run(
    mut config: Config,
    listeners: Listeners,
    shutdown: impl Future<Output = ()>,
    serving: Handle,
) -> Result<()> {
    let env = Env::real();
    // Before anything in it is read, and until everything in it is written.
    let _lock = lock_folder(&config.data, &env, PATIENCE).await?;
    let addresses = listeners.tcp.iter().filter_map(|listener| listener.local_addr().ok());
    config.settings.addresses = addresses.map(|address| address.ip()).collect();
    let opening = engine_config(&config, &env);
    let engine = serving.spawn(Engine::open(opening)).await?;
    let engine = engine.map_err(|error| anyhow::anyhow!("{}", display_chain(&error)))?;
    let edge_config = EdgeConfig {
        tls: config.tls.clone(),
        shutdown_grace: STATEMENTS_GRACE,
        serving: Some(serving.clone()),
        ..EdgeConfig::new(&config.data)
    };
    if env.clock.after_1970().is_none() {
        tracing::error!(
            "the clock shows a time before 1970: connections of clients and to linked servers cannot be \
             encrypted until it is set"
        );
    }
    let edge = Edge::new(engine.clone(), &edge_config, &env)
        .map_err(|error| anyhow::anyhow!("{}", display_chain(&error)))?;
    report(&config, &engine, &listeners);

    let (stop, stopped) = watch::channel(());
    let mut listening = JoinSet::new();
    // The channel closes when the server is to stop.
    let wait =
        |mut stopped: watch::Receiver<()>| async move { while stopped.changed().await.is_ok() {} };
    let mut paths = Vec::new();
    for listener in listeners.tcp {
        let (edge, stopped) = (edge.clone(), stopped.clone());
        listening.spawn(async move { edge.serve(listener, wait(stopped)).await });
    }
    for (listener, path) in listeners.local {
        paths.push(path);
        let (edge, stopped) = (edge.clone(), stopped.clone());
        listening.spawn(async move { edge.serve_unix(listener, wait(stopped)).await });
    }
    drop(stopped);
    shutdown.await;
    tracing::info!("stopping");
    end_in_time();
    drop(stop);
    while let Some(ended) = listening.join_next().await {
        if let Ok(Err(error)) = ended {
            tracing::error!(error = display_chain(&error), "a listener failed");
        }
    }
    serving.spawn(async move { engine.close().await }).await?;
    for path in paths {
        // The next start takes away what is left.
        std::fs::remove_file(path).ok();
    }
    Ok(())
}

fn engine_config(config: &Config, env: &Env) -> EngineConfig {
    EngineConfig {
        env: env.clone(),
        data: config.data.clone(),
        settings: config.settings.clone(),
        root_password: config.root_password.clone(),
        root_hosts: config.root_hosts.clone(),
        secrets: config.secrets.clone(),
        links: config.links.clone(),
        mirrors: config.mirrors.clone(),
        variables: config.variables.clone(),
    }
}

/// Says on standard output what was started and what to do next.
fn report(config: &Config, engine: &Engine, listeners: &Listeners) {
    let mut out = format!("Pelorus {}\n", env!("CARGO_PKG_VERSION"));
    let mut is_open = false;
    for listener in &listeners.tcp {
        let Ok(address) = listener.local_addr() else { continue };
        is_open |= !address.ip().is_loopback();
        // What clients of this machine write, for root is let in from there.
        let here = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        let port = address.port();
        out.push_str(&format!(
            "listening on {address}: mysql --host {here} --port {port} --user root --password\n"
        ));
    }
    for (_, path) in &listeners.local {
        out.push_str(&format!("listening on {}\n", path.display()));
    }
    if is_open && !engine.admits_others() {
        out.push_str(
            "no account admits clients of other machines yet: CREATE USER name@'%' IDENTIFIED BY \
             '...', or --root-host until the first login\n",
        );
    }
    if let Some(password) = engine.generated_root_password() {
        out.push_str(&format!(
            "the password of root is {password}\n(each start shows a new one until the first \
             login; change it with SET PASSWORD = '...')\n"
        ));
    }
    let links = engine.report_links();
    if links.is_empty() {
        out.push_str(
            "no server is linked yet: --link mysql://user@host/database, or CREATE SERVER\n",
        );
    }
    for link in links {
        let is_configured = config.links.iter().any(|spec| spec.name == link.name);
        out.push_str(&report_link(&link, is_configured));
    }
    let mut stdout = std::io::stdout().lock();
    // Who closed our output does not read it; the next start shows the password of root again.
    stdout.write_all(out.as_bytes()).and_then(|()| stdout.flush()).ok();
}

/// How a link stands, a line for each thing that there is to say.
fn report_link(link: &LinkReport, is_configured: bool) -> String {
    let LinkReport { name, address, databases, missing, failure } = link;
    let place = if is_configured { "--link or [[link]]" } else { "ALTER SERVER" };
    if let Some(failure) = failure {
        return format!(
            "NOT linked {name} ({address}): {failure}\n  check host, user and password ({place}); \
             it is tried again\n"
        );
    }
    let shown: Vec<&str> =
        databases.iter().filter(|it| !missing.contains(it)).map(String::as_str).collect();
    let mut out = match shown.is_empty() {
        true => format!("linked {name} ({address}), BUT it shows no databases to the account\n"),
        false => format!("linked {name} ({address}): {}\n", shown.join(", ")),
    };
    for database in missing {
        out.push_str(&format!(
            "  there is NO database {database} on {name}, or the account may not see it ({place})\n"
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_link_does_not_show_is_said() {
        let link = |databases: &[&str], missing: &[&str], failure: Option<&str>| LinkReport {
            name: "main".to_owned(),
            address: "db1:3306".to_owned(),
            databases: databases.iter().map(ToString::to_string).collect(),
            missing: missing.iter().map(ToString::to_string).collect(),
            failure: failure.map(str::to_owned),
        };
        let fine = report_link(&link(&["a", "b"], &[], None), true);
        assert_eq!(fine, "linked main (db1:3306): a, b\n");
        let empty = report_link(&link(&[], &[], None), true);
        assert!(empty.contains("BUT it shows no databases"), "{empty}");
        let part = report_link(&link(&["a", "b"], &["b"], None), false);
        assert!(part.contains("): a\n") && part.contains("NO database b"), "{part}");
        let away = report_link(&link(&["a"], &[], Some("no answer")), false);
        assert!(away.starts_with("NOT linked main (db1:3306): no answer"), "{away}");
        assert!(away.contains("ALTER SERVER"), "{away}");
    }

    #[tokio::test]
    async fn a_data_folder_in_use_is_waited_for_and_then_refused() {
        let env = Env::real();
        let folder = std::env::temp_dir().join(format!("pelorus-folder-{}", std::process::id()));
        let first = lock_folder(&folder, &env, Duration::ZERO).await.unwrap();
        let refused = lock_folder(&folder, &env, Duration::ZERO).await.unwrap_err().to_string();
        assert!(refused.contains("another Pelorus"), "{refused}");
        assert!(refused.contains(&folder.display().to_string()), "{refused}");
        let (second, ()) = tokio::join!(lock_folder(&folder, &env, PATIENCE), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            drop(first);
        });
        drop(second.unwrap());
        std::fs::remove_dir_all(folder).unwrap();
    }
}

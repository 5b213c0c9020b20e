//! The command line: commands and options.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};
use pelorus_engine::RootPassword;
use pelorus_env::{Env, FolderLock};
use pelorus_error::display_chain;

use crate::config::{self, Config};
use crate::{server, settings};

/// Run slow reports of MySQL and MariaDB servers in parallel, through the MySQL protocol.
///
/// Link your servers, point your client at this one's port, and send the same SQL:
///
///   pelorus serve --link mysql://reader@db1:3306/shop?replicas=db2
///   mysql --host 127.0.0.1 --port 3307 --user root --password shop
#[derive(Debug, Parser)]
#[command(name = "pelorus", version, verbatim_doc_comment, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve clients until Ctrl-C or SIGTERM.
    Serve(ServeOptions),
    /// Look at the configuration without serving.
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Check every byte of the native tables of a server that is stopped.
    Fsck {
        /// The data folder, as given to `serve --data`.
        #[arg(long, value_name = "DIR", default_value = "pelorus-data")]
        data: PathBuf,
    },
    /// Give an account of a server that is stopped another password, where the old one is lost.
    ResetPassword(ResetOptions),
    /// Show what is in a data file of a native table: headers, blocks, holes, chunks.
    Inspect {
        /// The file, for example pelorus-data/native/table-1.blocks.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
enum ConfigCommand {
    /// Say whether file and options are right, and what follows from them.
    Check(ServeOptions),
    /// List every setting of the file.
    Settings,
}

/// What the command line says; each stands above the same setting of the file.
// The help shows these texts as they are; brackets are no links in it.
#[allow(rustdoc::broken_intra_doc_links)]
#[derive(Args, Clone, Debug, Default)]
pub struct ServeOptions {
    /// Configuration file (TOML).
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder of accounts, linked servers and keys [default: pelorus-data].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Address and port for clients; may be repeated [default: 127.0.0.1:3307].
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Vec<String>,
    /// Path of a local socket for clients.
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Server to link: mysql://user[:password]@host[:port]/[database][?replicas=host2,host3]; may
    /// be repeated.
    #[arg(long, value_name = "URL")]
    pub link: Vec<String>,
    /// What of the linked servers is mirrored, as live columnar copies: all, a database, or
    /// database.table; may be repeated.
    #[arg(long, value_name = "WHAT")]
    pub mirror: Vec<String>,
    /// File with the password that root gets at the first start; without one (and without
    /// PELORUS_ROOT_PASSWORD) a password is made up and printed at each start until the first login.
    #[arg(long, value_name = "FILE")]
    pub root_password_file: Option<PathBuf>,
    /// Host from which root may log in too, as in CREATE USER: an address, a network, a pattern, or %
    /// for all; counts until the first login; may be repeated (or PELORUS_ROOT_HOST, by
    /// commas).
    #[arg(long, value_name = "HOST")]
    pub root_host: Vec<String>,
    /// Folder of the files that PASSWORD_FILE and TLS_CA of CREATE SERVER may name [default: none].
    #[arg(long, value_name = "DIR")]
    pub secrets_folder: Option<PathBuf>,
    /// Environment variable that PASSWORD_ENV of CREATE SERVER may name; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub secret_variable: Vec<String>,
    /// Refuse connections over TCP that are not encrypted.
    #[arg(long)]
    pub require_secure_transport: bool,
    /// How much is logged: error, warn, info, debug [default: info].
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
}

/// Which account gets which password.
#[derive(Args, Clone, Debug)]
struct ResetOptions {
    /// The data folder, as given to `serve --data`.
    #[arg(long, value_name = "DIR", default_value = "pelorus-data")]
    data: PathBuf,
    /// The account's user.
    #[arg(long, value_name = "NAME", default_value = "root")]
    user: String,
    /// The account's host; the account is made if it is not there.
    #[arg(long, value_name = "HOST", default_value = "localhost")]
    host: String,
    /// File with the new password; without one it is made up and printed.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// Why the command ended, and the exit code: 2 for wrong input, 1 for everything else.
#[derive(Debug)]
pub struct Failure {
    /// What happened.
    pub error: anyhow::Error,
    /// The exit code.
    pub code: u8,
}

/// Runs the command that the command line names. `root_password` is what the environment says.
///
/// # Errors
/// Wrong options or configuration, or a server that cannot start.
pub fn run(root_password: Option<String>) -> Result<(), Failure> {
    match Cli::parse().command {
        Command::Serve(options) => {
            let config = config::load(&options, root_password).map_err(wrong_input)?;
            serve(config).map_err(|error| Failure { error, code: 1 })
        }
        Command::Config { command: ConfigCommand::Check(options) } => {
            let config = config::load(&options, root_password).map_err(wrong_input)?;
            writeln!(std::io::stdout(), "{}the configuration is right", config.describe())
                .context("cannot write")
                .map_err(|error| Failure { error, code: 1 })
        }
        Command::Config { command: ConfigCommand::Settings } => show(&settings::list()),
        Command::Fsck { data } => fsck(&data),
        Command::ResetPassword(options) => reset_password(&options),
        Command::Inspect { file } => inspect(&file),
    }
}

fn wrong_input(error: anyhow::Error) -> Failure {
    Failure { error, code: 2 }
}

/// Sees that no server uses a data folder, and keeps it so until the result is dropped: files that
/// are being written look damaged.
fn share_folder(data: &Path) -> Result<FolderLock, Failure> {
    let shown = data.display();
    let taken = FolderLock::try_share(data);
    let taken = taken.with_context(|| format!("cannot look at the lock of {shown}"));
    taken.map_err(wrong_input)?.ok_or_else(|| {
        wrong_input(anyhow::anyhow!(
            "another Pelorus uses the data folder {shown}; stop it, or copy the folder (by a \
             snapshot of its file system, all at one moment) and look at the copy"
        ))
    })
}

/// Gives an account another password, in the data folder of a server that is stopped.
fn reset_password(options: &ResetOptions) -> Result<(), Failure> {
    let shown = options.data.display();
    let password = match &options.password_file {
        Some(path) => config::password_of(path).map_err(wrong_input)?,
        None => RootPassword::Generate,
    };
    if !options.data.is_dir() {
        let error = anyhow::anyhow!("there is no data folder {shown}; name one with --data");
        return Err(wrong_input(error));
    }
    let taken = FolderLock::try_take(&options.data);
    let taken = taken.with_context(|| format!("cannot lock the data folder {shown}"));
    let _lock = taken.map_err(wrong_input)?.ok_or_else(|| {
        wrong_input(anyhow::anyhow!("a server uses the data folder {shown}; stop it first"))
    })?;
    let (user, host) = (options.user.as_str(), options.host.as_str());
    let made_up =
        pelorus_engine::reset_password(&Env::real(), &options.data, (user, host), &password)
            .map_err(|error| wrong_input(anyhow::anyhow!("{}", display_chain(&error))))?;
    show(&match made_up {
        Some(password) => format!("the password of '{user}'@'{host}' is {password}\n"),
        None => format!("the password of '{user}'@'{host}' is that of the file\n"),
    })
}

/// Checks the native tables of a data folder; damage ends with code 1.
fn fsck(data: &Path) -> Result<(), Failure> {
    let folder = data.join("native");
    if !folder.is_dir() {
        return Err(wrong_input(anyhow::anyhow!(
            "{} is no data folder: it has no folder native; name one with --data",
            data.display()
        )));
    }
    let _shared = share_folder(data)?;
    let report = pelorus_fsck::check(&pelorus_env::RealDisk, &folder);
    show(&pelorus_fsck::render(&report))?;
    if report.is_sound() {
        return Ok(());
    }
    let error = anyhow::anyhow!("{} is damaged", folder.display());
    Err(Failure { error, code: 1 })
}

/// Draws one file; damage, and a file that is none of a native table's, ends with code 1.
fn inspect(file: &Path) -> Result<(), Failure> {
    let shown = file.display();
    let failure = |error| Failure { error, code: 1 };
    if file.is_dir() {
        return Err(failure(anyhow::anyhow!(
            "{shown} is a folder; name a file, for example {}, or check all of a data folder with \
             pelorus fsck --data",
            file.join("table-1.blocks").display()
        )));
    }
    let _shared = data_folder_of(file).map(|data| share_folder(&data)).transpose()?;
    let view = pelorus_fsck::inspect(&pelorus_env::RealDisk, file);
    show(&pelorus_fsck::render(&view))?;
    match view.damage() {
        None => Ok(()),
        Some(damage) if view.is_usable() => {
            Err(failure(anyhow::anyhow!("{shown} is damaged: {}", damage.what)))
        }
        Some(damage) => Err(failure(anyhow::anyhow!(
            "{shown} cannot be read as a file of native tables: {}",
            damage.what
        ))),
    }
}

/// The data folder that a file of native tables stands in, if it stands in one.
fn data_folder_of(file: &Path) -> Option<PathBuf> {
    let file = std::fs::canonicalize(file).ok()?;
    let native = file.parent().filter(|folder| folder.ends_with("native"))?;
    native.parent().map(Path::to_owned)
}

fn show(text: &str) -> Result<(), Failure> {
    write!(std::io::stdout(), "{text}")
        .context("cannot write")
        .map_err(|error| Failure { error, code: 1 })
}

/// The stack of a thread. Binder, planner and execution recurse over the plan of a statement, as
/// deep as the binder lets it become; of memory a stack takes what was used of it. The number of threads
/// stays tokio's: whatever waits (`env::blocking`) takes one, and with fewer the rest would stand still.
const STACK_BYTES: usize = 128 << 20;

/// The threads that let clients in, log them in, wait for their commands and answer the light ones.
/// They have next to nothing to do: a second one is for what one of them has to wait for.
const EDGE_THREADS: usize = 2;

fn serve(config: Config) -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_max_level(config.log)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
    if let Some(files) = pelorus_env::raise_file_limit() {
        tracing::debug!(files, "files and connections that can be open");
    }
    let runtime = |name: &str| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.enable_all().thread_name(name).thread_stack_size(STACK_BYTES);
        builder
    };
    let serving = runtime("pelorus-serving").build().context("cannot start the runtime")?;
    let edge = runtime("pelorus-edge").worker_threads(EDGE_THREADS).build();
    let edge = edge.context("cannot start the runtime of the edge")?;
    let ended = edge.block_on(async {
        let listeners = server::Listeners::bind(&config).await?;
        server::run(config, listeners, server::stop_signal()?, serving.handle().clone()).await
    });
    // What still computes for clients that are gone holds up nothing.
    serving.shutdown_background();
    edge.shutdown_background();
    ended
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn help_begins_with_the_task() {
        Cli::command().debug_assert();
        let help = Cli::command().render_long_help().to_string();
        assert!(help.starts_with("Run slow reports"), "{help}");
    }
}

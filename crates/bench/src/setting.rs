//! Settings of a run from the environment: sizes, folders, the commit.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

/// A variable of the environment, unless it is empty.
pub(crate) fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A number from the command line, else from the environment, else the default.
pub(crate) fn number(given: Option<u64>, name: &str, default: u64) -> anyhow::Result<u64> {
    match (given, setting(name)) {
        (Some(number), _) => Ok(number),
        (None, Some(text)) => {
            text.parse().with_context(|| format!("{name} must be a number, not {text}"))
        }
        (None, None) => Ok(default),
    }
}

/// The folder of build results.
pub(crate) fn target() -> PathBuf {
    PathBuf::from(setting("CARGO_TARGET_DIR").unwrap_or_else(|| "target".to_owned()))
}

/// The folder of the figures, which is made when it is not there.
pub(crate) fn figures() -> anyhow::Result<PathBuf> {
    let folder = target().join("bench");
    std::fs::create_dir_all(&folder).context("cannot create the folder of the figures")?;
    // Whole, since some peers look for a relative one elsewhere.
    std::fs::canonicalize(&folder).context("cannot find the folder of the figures")
}

/// Starts a program of `scripts/pelorus_tools` and waits until it has done its work.
pub(crate) fn run_python(module: &str, arguments: &[String]) -> anyhow::Result<()> {
    // Another environment may be given, so that the one of `make` stays as it is.
    let python =
        setting("BENCH_PYTHON").map_or_else(|| target().join("venv/bin/python"), Into::into);
    let status = Command::new(python)
        .args(["-m", module])
        .args(arguments)
        .env("PYTHONPATH", "scripts")
        .status()
        .context("cannot start Python: run this by `make`")?;
    if !status.success() {
        anyhow::bail!("the measurements of {module} failed ({status})");
    }
    Ok(())
}

/// The commit of the working tree, with `+` when there are changes on top of it.
pub(crate) fn commit() -> String {
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
    };
    let Some(head) = git(&["rev-parse", "HEAD"]) else { return "unknown".to_owned() };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
    if changed.is_some_and(|text| !text.is_empty()) { head + "+" } else { head }
}

//! Building and running tests in the copy.

use std::fs;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use cargo_metadata::Message;

use super::list::{Bug, Test};
use super::{copy, now, planted, switch};

/// A test that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(400);

/// A copy of the sources with a target folder of its own, in which only what a bug touches is built
/// again.
pub(super) struct Workshop {
    tree: PathBuf,
    target: PathBuf,
}

/// What came of running tests.
#[derive(Debug)]
pub(super) enum Outcome {
    /// One failed; its output.
    Caught(String),
    /// One did not end.
    Hung(String),
    /// All passed.
    Survived,
    /// The compiler's errors.
    NotBuilt(String),
}

impl Outcome {
    pub(super) fn is_caught(&self) -> bool {
        matches!(self, Self::Caught(_) | Self::Hung(_))
    }

    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Caught(_) => "caught",
            Self::Hung(_) => "caught (hangs)",
            Self::Survived => "SURVIVED",
            Self::NotBuilt(_) => "DOES NOT BUILD",
        }
    }
}

impl Workshop {
    /// Copies the sources with these changes. Copies of different names in one folder share the
    /// crates of others that cargo has built.
    pub(super) fn new(
        root: &Path,
        folder: &Path,
        name: &str,
        changes: &copy::Changes,
    ) -> anyhow::Result<Self> {
        let (tree, target) = (folder.join(name), folder.join("target"));
        copy::update(root, &tree, changes)?;
        Ok(Self { tree, target })
    }

    /// Plants a bug, runs each of its tests, and takes it out again.
    pub(super) fn plant<'b>(&self, bug: &'b Bug) -> anyhow::Result<Vec<(&'b Test, Outcome)>> {
        let path = self.tree.join(&bug.file);
        let text = fs::read_to_string(&path)?;
        copy::write(&path, planted(&text, bug)?.as_bytes())?;
        let outcomes = bug.tests.iter().map(|test| Ok((test, self.build_and_run(&[test])?)));
        let outcomes = outcomes.collect();
        copy::write(&path, text.as_bytes())?;
        outcomes
    }

    /// Builds and runs tests of one target.
    pub(super) fn build_and_run(&self, tests: &[&Test]) -> anyhow::Result<Outcome> {
        match self.build(tests[0])? {
            Ok(binary) => self.run(&binary, tests, None),
            Err(errors) => Ok(Outcome::NotBuilt(errors)),
        }
    }

    /// Builds a test binary; the inner error is the compiler's.
    pub(super) fn build(&self, test: &Test) -> anyhow::Result<Result<PathBuf, String>> {
        let (name, feature) = test.target.split_once('+').unwrap_or((&test.target, ""));
        let mut target = if name == "lib" { vec!["--lib"] } else { vec!["--test", name] };
        if !feature.is_empty() {
            target.extend(["--features", feature]);
        }
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["test", "--quiet", "--release", "--locked", "--no-run"])
            .args(["--message-format", "json-render-diagnostics"])
            .args(["--package", &test.package])
            .args(target)
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.target)
            // Little changes from one build to the next, and most tests end soon.
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            // A bug may be what a lint warns of.
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let output = cargo.output().context("cargo cannot be run")?;
        if !output.status.success() {
            return Ok(Err(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        for message in Message::parse_stream(BufReader::new(&*output.stdout)) {
            if let Message::CompilerArtifact(artifact) = message?
                && artifact.profile.test
                && let Some(binary) = artifact.executable
            {
                return Ok(Ok(binary.into_std_path_buf()));
            }
        }
        bail!("cargo built no test binary of {} {}", test.package, test.target)
    }

    /// Runs tests of one binary, with the switch of a bug turned on.
    pub(super) fn run(
        &self,
        binary: &Path,
        tests: &[&Test],
        switch: Option<&str>,
    ) -> anyhow::Result<Outcome> {
        let folder = tests[0].package.strip_prefix("pelorus-").unwrap_or(&tests[0].package);
        let log = self.target.join("output.txt");
        let output = fs::File::create(&log)?;
        let mut command = Command::new(binary);
        command
            .arg("--exact")
            .args(tests.iter().map(|test| &test.name))
            .current_dir(self.tree.join("crates").join(folder))
            // A failure is all that is asked for, not the smallest.
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
            .env_remove("PELORUS_TEST_SCALE")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        match switch {
            Some(name) => command.env(switch::VARIABLE, name),
            None => command.env_remove(switch::VARIABLE),
        };
        let ended = wait(command.spawn()?)?;
        let text = text_of(&log)?;
        let Some(passed) = ended else { return Ok(Outcome::Hung(text)) };
        // Names that match nothing would pass.
        let count = format!("running {} test", tests.len());
        if !text.contains(&count) {
            bail!("{} does not have all of {tests:?}:\n{text}", binary.display());
        }
        Ok(if passed { Outcome::Survived } else { Outcome::Caught(text) })
    }
}

/// Whether a process succeeded; `None` if it had to be ended.
fn wait(mut child: Child) -> anyhow::Result<Option<bool>> {
    let begin = now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if begin.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The beginning of a file, which may be long and hold anything.
fn text_of(path: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(20_000).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

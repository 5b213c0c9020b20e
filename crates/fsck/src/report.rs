//! The report of a check: findings by severity and file.

use std::path::{Path, PathBuf};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know; nothing is wrong.
    Note,
    /// A spare is missing or space is wasted, as after a crash; all data can be read.
    Warning,
    /// Bytes violate the format: data is lost, or its spare copy is.
    Damage,
}

impl Severity {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Damage => "damage",
        }
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The file.
    pub file: PathBuf,
    /// The number of the block, if it is about one.
    pub block: Option<u64>,
    /// The offset in the file, in bytes, where one can be named.
    pub offset: Option<u64>,
    /// The problem: one line.
    pub what: String,
    /// The remedy: one line; empty if nothing needs to be done.
    pub advice: &'static str,
}

/// The remedies of findings.
pub(crate) mod advice {
    pub(crate) const NOTHING: &str = "";
    pub(crate) const RESTORE: &str =
        "copy the folder aside, then restore it from a backup; test the disk and its memory";
    pub(crate) const REWRITE: &str = "copy the folder aside, then restore it from a backup, or \
        read what can be read of the table and write it anew; test the disk and its memory";
    pub(crate) const SPARE: &str = "nothing is lost: only the fallback needs it, and the next \
        checkpoints replace it; test the disk and its memory";
    pub(crate) const SLOT: &str = "nothing to do if the process was stopped in the middle of a \
        checkpoint; otherwise test the disk";
    pub(crate) const NEWER: &str = "use the version of Pelorus that wrote it, or a later one";
    pub(crate) const READ: &str = "see that the file can be read, and check again";
    pub(crate) const MISSING: &str = "put the file back, or restore the folder from a backup";
    pub(crate) const LEFT_OVER: &str = "nothing to do: the next start removes it";
}

/// Where findings are gathered: so many, and the rest only counted.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) list: Vec<Finding>,
    pub(crate) omitted: u64,
}

/// Findings beyond this many are only counted: damage may have many.
const FINDINGS_MAX: usize = 1000;

/// The object of a finding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) file: &'a Path,
    pub(crate) block: Option<u64>,
    pub(crate) offset: Option<u64>,
}

impl<'a> Place<'a> {
    pub(crate) fn file(file: &'a Path) -> Self {
        Self { file, block: None, offset: None }
    }

    pub(crate) fn at(self, offset: u64) -> Self {
        Self { offset: Some(offset), ..self }
    }

    pub(crate) fn block(self, number: u64) -> Self {
        Self { block: Some(number), ..self }
    }
}

impl Findings {
    /// Takes over those of another list.
    pub(crate) fn append(&mut self, other: &mut Findings) {
        let room = FINDINGS_MAX.saturating_sub(self.list.len()).min(other.list.len());
        self.omitted += other.omitted + crate::bytes::long(other.list.len() - room);
        self.list.extend(other.list.drain(..).take(room));
    }

    pub(crate) fn add(
        &mut self,
        severity: Severity,
        place: Place<'_>,
        what: impl Into<String>,
        advice: &'static str,
    ) {
        if self.list.len() >= FINDINGS_MAX {
            self.omitted += 1;
            return;
        }
        self.list.push(Finding {
            severity,
            file: place.file.to_owned(),
            block: place.block,
            offset: place.offset,
            what: what.into(),
            advice,
        });
    }

    pub(crate) fn damage(
        &mut self,
        place: Place<'_>,
        what: impl Into<String>,
        advice: &'static str,
    ) {
        self.add(Severity::Damage, place, what, advice);
    }

    pub(crate) fn warn(&mut self, place: Place<'_>, what: impl Into<String>, advice: &'static str) {
        self.add(Severity::Warning, place, what, advice);
    }

    pub(crate) fn note(&mut self, place: Place<'_>, what: impl Into<String>, advice: &'static str) {
        self.add(Severity::Note, place, what, advice);
    }
}

/// One data file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableReport {
    /// The number of the table.
    pub table: u64,
    /// Its database and name, if they are known.
    pub name: Option<String>,
    /// The number of the checkpoint that the file is opened by.
    pub checkpoint: u64,
    /// The log position up to which the file holds everything.
    pub lsn: u64,
    /// The version of its manifest; 0 without one.
    pub version: u64,
    /// Blocks of both checkpoints that were verified, translation tables included.
    pub blocks: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Partitions, those of the log included.
    pub partitions: u64,
    /// Chunks of the newest checkpoint.
    pub chunks: u64,
    /// Columns of chunks that were decoded, of the fallback's too.
    pub columns: u64,
    /// Rows in chunks and deltas of the newest checkpoint, dead ones included.
    pub stored_rows: u64,
    /// Dead rows among them.
    pub dead_rows: u64,
    /// Rows of the newest version, those of the log included; `None` when damage or a key that
    /// cannot be compared here leaves that open.
    pub live_rows: Option<u64>,
}

/// The log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogReport {
    /// Segments there are.
    pub segments: u64,
    /// Segments that were read.
    pub needed: u64,
    /// Where reading began: the data files hold everything before it.
    pub from: u64,
    /// The end of the last valid record or group.
    pub end: u64,
    /// Records that were decoded.
    pub records: u64,
    /// Whether the log ends with a group that was torn by a crash, which loses nothing that was
    /// acknowledged.
    pub torn: bool,
}

/// The findings in the folder of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The folder.
    pub folder: PathBuf,
    /// The findings, in the order of the checks.
    pub findings: Vec<Finding>,
    /// How many findings more there are.
    pub omitted: u64,
    /// The newest version.
    pub version: u64,
    /// The data files.
    pub tables: Vec<TableReport>,
    /// The log, if it could be found out which part of it is needed.
    pub log: Option<LogReport>,
    /// Parts that could not be checked, and why.
    pub not_checked: Vec<String>,
}

impl Report {
    /// The worst that was found.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Whether no damage was found. Warnings and notes may be there.
    pub fn is_sound(&self) -> bool {
        self.worst() != Some(Severity::Damage)
    }
}

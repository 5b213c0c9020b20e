//! The oracle: what was issued and what was acknowledged, and what a log may say after that.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pelorus_env::{Disk, SimDisk};
use pelorus_error::{Code, Result};
use pelorus_log::{Checkpoint, Log, Lsn, Options};

pub(crate) const UUID: [u8; 16] = *b"uuid of this log";

pub(crate) const SMALL: Options =
    Options { segment_bytes: 16384, reserve_bytes: 8192, buffer_bytes: 24576, spare_segments: 2 };

/// As usual: some space is kept.
pub(crate) const ROOMY: Options =
    Options { segment_bytes: 1 << 20, reserve_bytes: 64 << 10, ..SMALL };

pub(crate) fn folder() -> &'static Path {
    Path::new("log")
}

pub(crate) fn segment(number: u64) -> PathBuf {
    folder().join(format!("{number:020}.log"))
}

pub(crate) fn segments(disk: &dyn Disk) -> Vec<PathBuf> {
    let names = disk.list(folder()).unwrap();
    names.iter().filter(|name| name.ends_with(".log")).map(|name| folder().join(name)).collect()
}

pub(crate) fn create(disk: &SimDisk, options: Options) -> Result<Log> {
    Log::create(Arc::new(disk.clone()), folder(), options, UUID, Lsn(0))
}

pub(crate) type Records = Vec<(Lsn, Vec<u8>)>;

pub(crate) fn open(disk: &SimDisk, options: Options, from: Checkpoint) -> Result<(Log, Records)> {
    let mut records = Records::new();
    let log =
        Log::open(Arc::new(disk.clone()), folder(), options, UUID, from, &mut |lsn, bytes| {
            records.push((lsn, bytes.to_vec()));
            Ok(())
        })?;
    Ok((log, records))
}

/// Bytes that differ from record to record.
pub(crate) fn payload(seed: usize, length: usize) -> Vec<u8> {
    let mut word = seed as u64 + 1;
    let step = |_| {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (word >> 56) as u8
    };
    (0..length).map(step).collect()
}

/// What the log owes its callers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) created: bool,
    /// Records that `append` took, in order.
    pub(crate) issued: Records,
    /// How many of them are acknowledged.
    pub(crate) acked: usize,
    pub(crate) checkpoint: Checkpoint,
    serial: usize,
}

impl Oracle {
    /// Of a log that is there.
    pub(crate) fn created() -> Self {
        Self { created: true, ..Self::default() }
    }

    pub(crate) fn append(&mut self, log: &Log, length: usize) -> Result<Lsn> {
        self.append_by(log, length, |log, parts| log.append(parts))
    }

    /// Appends by one of the calls that do.
    pub(crate) fn append_by(
        &mut self,
        log: &Log,
        length: usize,
        append: fn(&Log, &[&[u8]]) -> Result<Lsn>,
    ) -> Result<Lsn> {
        self.serial += 1;
        let bytes = payload(self.serial, length);
        let (left, right) = bytes.split_at(length / 3);
        let before = log.durable();
        let lsn = append(log, &[left, right]);
        // A full buffer makes `append` write a group by itself; that acknowledges nothing.
        assert!(log.durable() >= before);
        let lsn = lsn?;
        assert!(self.issued.last().is_none_or(|(last, _)| *last < lsn), "positions rise");
        self.issued.push((lsn, bytes));
        Ok(lsn)
    }

    pub(crate) fn sync(&mut self, log: &Log) -> Result<()> {
        log.sync()?;
        self.acked = self.issued.len();
        assert!(log.durable() >= log.end());
        Ok(())
    }

    pub(crate) fn wait(&mut self, log: &Log, lsn: Lsn) -> Result<()> {
        log.wait(lsn)?;
        let acked = self.issued.iter().take_while(|(end, _)| *end <= lsn).count();
        self.acked = self.acked.max(acked);
        Ok(())
    }

    /// Moves the checkpoint to the end of the log if all is acknowledged, and otherwise to the last
    /// acknowledged record.
    pub(crate) fn checkpoint(&mut self, log: &Log) {
        let all = self.acked == self.issued.len() && log.durable() >= log.end();
        let last = self.issued[..self.acked].last().map(|(lsn, _)| *lsn);
        let lsn = if all { Some(log.end()) } else { last };
        // A checkpoint never goes back.
        if let Some(lsn) = lsn.filter(|lsn| *lsn > self.checkpoint.lsn) {
            self.checkpoint = Checkpoint { lsn, durable: log.durable() };
        }
    }

    /// Opens the log and compares; what it says now is durable.
    pub(crate) fn reopen(&mut self, disk: &SimDisk, options: Options) -> Result<Option<Log>> {
        let opened = open(disk, options, self.checkpoint);
        let (log, records) = match opened {
            Err(error) if !self.created && error.code() == Code::FileDamaged => {
                assert!(error.message().contains("holds no segment"), "{error}");
                return Ok(None);
            }
            other => other?,
        };
        let from = self.issued.partition_point(|(lsn, _)| *lsn <= self.checkpoint.lsn);
        let end = from + records.len();
        assert!(end >= self.acked, "{} acknowledged records lost", self.acked - end);
        assert!(end <= self.issued.len(), "records that nobody wrote");
        assert!(records == self.issued[from..end], "other records than those written");
        self.issued.truncate(end);
        self.acked = end;
        self.created = true;
        assert!(log.durable() >= log.end());
        assert!(self.issued.last().is_none_or(|(lsn, _)| *lsn <= log.end()));
        Ok(Some(log))
    }
}

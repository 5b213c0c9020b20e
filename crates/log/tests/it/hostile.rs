//! Bytes that make segments of a log whose checksums are right, whatever their fields say. The fuzz
//! target `log` and a test run it.

use std::collections::BTreeSet;
use std::path::Path;

use pelorus_env::{Disk as _, Open, SimDisk, write_all_at};
use pelorus_error::Code;
use pelorus_log::{Checkpoint, Lsn};

use crate::decoder::Image;
use crate::support::{SMALL, folder, open, segment};

/// Takes an input apart; zeros follow its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A position near one that is right, or far off.
    fn near(&mut self, right: u64) -> u64 {
        match self.byte() {
            0..200 => right,
            200..220 => right.wrapping_add(4096),
            220..235 => right.wrapping_sub(4096),
            235..245 => right ^ 1 << (self.byte() % 64),
            245..250 => 0,
            _ => u64::MAX - 4095,
        }
    }
}

/// What became of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    Refused,
    Empty,
    Opened,
}

/// Makes segments as the input says, opens them, and goes on writing.
pub(crate) fn run(input: &[u8]) -> End {
    let input = &mut Input(input);
    let disk = SimDisk::new(1);
    disk.create_folder(folder()).unwrap();
    let (mut first, mut written) = (0, BTreeSet::new());
    for number in 1..=1 + u64::from(input.byte() % 3) {
        let named = if input.byte() < 250 { number } else { number ^ 1 };
        let (begin, durable) = (input.near(first), input.near(first));
        let mut image = Image::new(named, begin, durable);
        for _ in 0..input.byte() % 4 {
            let record = vec![input.byte(); usize::from(input.byte()) * 40];
            let records: Vec<&[u8]> = (0..input.byte() % 3).map(|_| &*record).collect();
            let durable = input.near(image.end());
            let length = (input.byte() > 240).then(|| input.near(40 + record.len() as u64));
            image.group_of_length(durable, &records, length);
            written.insert(record);
        }
        first = image.end();
        // Some bytes are torn.
        if input.byte() > 220 {
            let at = usize::from(input.byte()) * 67 % image.bytes.len();
            image.bytes[at] ^= input.byte();
        }
        if input.byte() > 240 {
            image.bytes.truncate(usize::from(input.byte()) * 131 % image.bytes.len());
        }
        let file = disk.open(&segment(number), Open::Create).unwrap();
        write_all_at(&*file, &image.bytes, 0).unwrap();
        file.sync().unwrap();
    }
    for folder in [folder(), Path::new("")] {
        disk.sync_folder(folder).unwrap();
    }
    let lsn = Lsn(if input.byte() < 200 { 0 } else { input.near(first) });
    let from = Checkpoint { lsn, durable: Lsn(if input.byte() < 128 { 0 } else { first }) };
    let (log, found) = match open(&disk, SMALL, from) {
        Ok(opened) => opened,
        Err(error) => {
            let code = error.code();
            // The end of the numbers of positions is no damage.
            let fits = matches!(code, Code::FileDamaged | Code::FileVersion | Code::Internal);
            assert!(fits, "{error}");
            return End::Refused;
        }
    };
    for (_, record) in &found {
        assert!(written.contains(record), "a record that nobody wrote");
    }
    if log.append(&[b"more"]).is_ok() {
        log.sync().unwrap();
        drop(log);
        disk.crash();
        let (_, again) = open(&disk, SMALL, from).unwrap();
        assert_eq!(again.len(), found.len() + 1);
        assert!(again.starts_with(&found));
    }
    if found.is_empty() { End::Empty } else { End::Opened }
}

#[test]
fn hostile_bytes_do_no_harm_and_have_every_outcome() {
    let mut seen = BTreeSet::new();
    for number in 0..u64::from(pelorus_env::scaled(4000)) {
        seen.insert(run(&crate::support::payload(number as usize, 60)));
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
}

//! A second encoder and decoder of the format, written from `docs/internals/format-log.md` alone.

use std::collections::BTreeMap;

use pelorus_env::{Disk, Open, SimDisk, read_exact_at};
use pelorus_log::Lsn;

use crate::support::{Records, UUID, folder};

const BLOCK: usize = 4096;

fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn checksum(number: u64, rest: &[&[u8]]) -> u32 {
    let seed = crc32c::crc32c_append(crc32c::crc32c(&UUID), &number.to_le_bytes());
    rest.iter().fold(seed, |sum, part| crc32c::crc32c_append(sum, part))
}

fn record_checksum(number: u64, start: u64, payload: &[u8]) -> u32 {
    let length = (payload.len() as u32).to_le_bytes();
    let inner = crc32c::crc32c(payload).to_le_bytes();
    checksum(number, &[&start.to_le_bytes(), &length, &inner])
}

/// A segment file that is being put together.
#[derive(Clone)]
pub(crate) struct Image {
    pub(crate) number: u64,
    first: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Image {
    pub(crate) fn new(number: u64, first: u64, durable: u64) -> Self {
        Self::of_version(1, UUID, number, first, durable)
    }

    pub(crate) fn of_version(
        version: u32,
        uuid: [u8; 16],
        number: u64,
        first: u64,
        durable: u64,
    ) -> Self {
        let mut bytes = b"PELORLOG".to_vec();
        bytes.extend(version.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(uuid);
        bytes.extend(number.to_le_bytes());
        bytes.extend(first.to_le_bytes());
        bytes.extend(durable.to_le_bytes());
        bytes.resize(BLOCK - 4, 0);
        let sum = crc32c::crc32c(&bytes);
        bytes.extend(sum.to_le_bytes());
        Self { number, first, bytes }
    }

    /// Where the next group begins.
    pub(crate) fn end(&self) -> u64 {
        self.first.wrapping_add((self.bytes.len() - BLOCK) as u64)
    }

    pub(crate) fn group(&mut self, durable: u64, records: &[&[u8]]) -> &mut Self {
        self.group_of_length(durable, records, None)
    }

    /// A group whose header gives a length of its own choice.
    pub(crate) fn group_of_length(
        &mut self,
        durable: u64,
        records: &[&[u8]],
        length: Option<u64>,
    ) -> &mut Self {
        let start = self.end();
        let mut body = Vec::new();
        for record in records {
            let at = start.wrapping_add(40 + body.len() as u64);
            let sum = record_checksum(self.number, at, record);
            body.extend((record.len() as u32).to_le_bytes());
            body.extend(sum.to_le_bytes());
            body.extend(*record);
        }
        let mut header = b"PELORGRP".to_vec();
        header.extend(length.unwrap_or(40 + body.len() as u64).to_le_bytes());
        header.extend(start.to_le_bytes());
        header.extend(durable.to_le_bytes());
        header.extend([0; 4]);
        let sum = checksum(self.number, &[&header]);
        header.extend(sum.to_le_bytes());
        self.bytes.extend(header);
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len().next_multiple_of(BLOCK), 0);
        self
    }
}

pub(crate) fn bytes_of(disk: &SimDisk, path: &std::path::Path) -> Vec<u8> {
    let file = disk.open(path, Open::Read).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}

/// The records of all segments of a log that is known to be whole, up to where it ends.
pub(crate) fn decode(disk: &SimDisk) -> Records {
    let mut files = BTreeMap::new();
    for name in disk.list(folder()).unwrap() {
        if let Some(number) = name.strip_suffix(".log") {
            let number: u64 = number.parse().unwrap();
            files.insert(number, bytes_of(disk, &folder().join(name)));
        }
    }
    let firsts: Vec<u64> = files.values().map(|bytes| le64(bytes, 40)).collect();
    let mut records = Records::new();
    for (index, (&number, bytes)) in files.iter().enumerate() {
        assert_eq!(&bytes[..8], b"PELORLOG");
        assert_eq!((le32(bytes, 8), le64(bytes, 32)), (1, number));
        assert_eq!(
            (&bytes[16..32], le32(bytes, 4092)),
            (&UUID[..], crc32c::crc32c(&bytes[..4092]))
        );
        decode_segment(bytes, number, firsts.get(index + 1).copied(), &mut records);
    }
    records
}

fn decode_segment(bytes: &[u8], number: u64, until: Option<u64>, records: &mut Records) {
    let first = le64(bytes, 40);
    let mut at = BLOCK;
    while until != Some(first + (at - BLOCK) as u64) {
        let start = first + (at - BLOCK) as u64;
        let header = bytes.get(at..at + 40).filter(|header| {
            header[..8] == *b"PELORGRP"
                && le64(header, 16) == start
                && le32(header, 36) == checksum(number, &[&header[..36]])
        });
        let Some(header) = header else {
            assert_eq!(until, None, "a segment ends before the next begins");
            return;
        };
        let end = at + le64(header, 8) as usize;
        let mut record = at + 40;
        while record < end {
            let lsn = first + (record - BLOCK) as u64;
            let length = le32(bytes, record) as usize;
            let payload = bytes
                .get(record + 8..record + 8 + length)
                .filter(|payload| record_checksum(number, lsn, payload) == le32(bytes, record + 4));
            let Some(payload) = payload else {
                assert_eq!(until, None, "a record is damaged");
                return;
            };
            records.push((Lsn(lsn + 8 + length as u64), payload.to_vec()));
            record += 8 + length;
        }
        at = end.next_multiple_of(BLOCK);
    }
}

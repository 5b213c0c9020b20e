//! Logs put together by hand: what the rules of recovery say about each.

use pelorus_env::{Disk, Open, SimDisk, write_all_at};
use pelorus_error::Code;
use pelorus_log::{Checkpoint, Lsn};

use crate::decoder::Image;
use crate::support::*;

const A: &[u8] = &[b'a'; 100];
const B: &[u8] = &[b'b'; 5000];
const C: &[u8] = b"c";

fn disk_of(images: &[&Image]) -> SimDisk {
    let disk = SimDisk::new(1);
    disk.create_folder(folder()).unwrap();
    for image in images {
        let file = disk.open(&segment(image.number), Open::Create).unwrap();
        write_all_at(&*file, &image.bytes, 0).unwrap();
    }
    disk
}

/// Opens; the first bytes of the records, or the error.
fn read(images: &[&Image]) -> Result<String, (Code, String)> {
    read_from(images, Checkpoint::default())
}

fn read_from(images: &[&Image], from: Checkpoint) -> Result<String, (Code, String)> {
    let disk = disk_of(images);
    let before = disk.snapshot();
    match open(&disk, SMALL, from) {
        Ok((log, records)) => {
            // A second opening says the same.
            drop(log);
            assert_eq!(open(&disk, SMALL, from).unwrap().1, records);
            Ok(records.iter().map(|(_, bytes)| bytes.first().map_or('.', |&b| b.into())).collect())
        }
        Err(error) => {
            assert_eq!(before.operations(), disk.operations(), "a refused log was changed");
            Err((error.code(), error.message().to_owned()))
        }
    }
}

fn refused(images: &[&Image], what: &str) {
    let (code, message) = read(images).unwrap_err();
    assert!(code == Code::FileDamaged && message.contains(what), "{code:?}: {message}");
}

#[test]
fn a_bad_group_before_a_good_one_is_a_torn_tail_unless_something_says_it_was_durable() {
    // The writer of these groups syncs several at once: all three were written when only what lies
    // before 0 was durable.
    let mut image = Image::new(1, 0, 0);
    image.group(0, &[A]).group(0, &[B]).group(0, &[C]);
    assert_eq!(read(&[&image]), Ok("abc".into()));
    let mut torn = image.clone();
    torn.bytes[4096 + 4096 + 3000] ^= 1;
    assert_eq!(read(&[&torn]), Ok("a".into()));
    // A group behind it that knew it durable, a checkpoint, or a next segment.
    let mut proven = torn.clone();
    proven.group(4096 + 8192, &[C]);
    refused(&[&proven], "durable up to 12288");
    for durable in [4096, 4097] {
        let known = read_from(&[&torn], Checkpoint { lsn: Lsn(0), durable: Lsn(durable) });
        assert_eq!(known.is_err(), durable == 4097, "{known:?}");
    }
    let mut next = Image::new(2, torn.end(), torn.end());
    refused(&[&torn, next.group(torn.end(), &[C])], "the next segment goes on");
    // A group behind it that knew only what lies before it.
    let mut unproven = torn.clone();
    unproven.group(4096, &[C]);
    assert_eq!(read(&[&unproven]), Ok("a".into()));
}

#[test]
fn a_group_torn_in_its_middle_gives_its_first_records() {
    let mut image = Image::new(1, 0, 0);
    image.group(0, &[A, C, B, C]);
    let whole = image.bytes.len();
    for length in (4096..whole).step_by(512) {
        let mut torn = image.clone();
        torn.bytes.truncate(length);
        let records = read(&[&torn]).unwrap();
        assert!("acbc".starts_with(&records), "{records}");
        assert_eq!(records.len() >= 2, length >= 4096 + 512);
    }
}

#[test]
fn a_torn_record_that_ends_at_a_block_is_cut_there() {
    // The first record ends where a block ends, so the cut group needs no padding. What was durable
    // up to there was durable as a whole group.
    let full = vec![b'f'; 4096 - 48];
    let mut image = Image::new(1, 0, 0);
    image.group(0, &[&full, B]);
    image.bytes[9000] ^= 1;
    assert_eq!(read(&[&image]), Ok("f".into()));
    let known = |durable| read_from(&[&image], Checkpoint { lsn: Lsn(0), durable: Lsn(durable) });
    assert_eq!(known(0), Ok("f".into()));
    assert!(known(4096).is_err());
}

#[test]
fn an_idle_marker_behind_a_group_is_no_record() {
    let mut image = Image::new(1, 0, 0);
    image.group(0, &[A]).group(4096, &[]).group(8192, &[C]).group(12288, &[]);
    assert_eq!(read(&[&image]), Ok("ac".into()));
}

#[test]
fn segments_must_follow_each_other() {
    let mut one = Image::new(1, 0, 0);
    one.group(0, &[A]);
    let mut two = Image::new(2, 4096, 4096);
    two.group(4096, &[B]);
    let mut three = Image::new(3, 4096 + 8192, 4096 + 8192);
    three.group(4096 + 8192, &[C]);
    assert_eq!(read(&[&one, &two, &three]), Ok("abc".into()));
    refused(&[&one, &three], "the next segment goes on");
    refused(&[&two, &three], "older segments are missing");
    // What lies before the checkpoint is not needed, nor read.
    let from = Checkpoint { lsn: Lsn(4096), durable: Lsn(4096) };
    assert_eq!(read_from(&[&two, &three], from), Ok("bc".into()));
    let mut rotten = one.clone();
    rotten.bytes[100] ^= 1;
    assert_eq!(read_from(&[&rotten, &two, &three], from), Ok("bc".into()));
    // The log ends before the checkpoint.
    let from = Checkpoint { lsn: Lsn(20_000), durable: Lsn(0) };
    assert!(read_from(&[&one, &two, &three], from).unwrap_err().1.contains("durable up to 20000"));
}

#[test]
fn a_segment_ends_where_the_next_begins_whatever_stands_behind() {
    let mut one = Image::new(1, 0, 0);
    one.group(0, &[A]).group(4096, &[B]);
    let mut two = Image::new(2, 4096, 4096);
    two.group(4096, &[C]);
    assert_eq!(read(&[&one, &two]), Ok("ac".into()));
    // But a group does not reach over that point.
    let mut inside = Image::new(2, 8192, 8192);
    refused(&[&one, inside.group(8192, &[C])], "a group too long begins");
}

#[test]
fn segments_without_groups_are_fine() {
    let empty = [1, 2, 3].map(|number| Image::new(number, 0, 0));
    assert_eq!(read(&empty.each_ref()), Ok(String::new()));
    // A header that knew more than the segment has.
    refused(&[&Image::new(1, 0, 4096)], "durable up to 4096");
}

#[test]
fn segments_of_other_logs_places_and_versions_are_refused() {
    let mut one = Image::new(1, 0, 0);
    one.group(0, &[A]);
    let other = Image::of_version(1, [9; 16], 2, 4096, 4096);
    refused(&[&one, &other], "belongs to another log");
    let mut renamed = Image::new(2, 4096, 4096);
    renamed.number = 3;
    refused(&[&one, &renamed], "segment 2 by its header");
    let from = Checkpoint { lsn: Lsn(4096), durable: Lsn(0) };
    let far =
        [&Image::new(1, 0, 0), &Image::new(2, 8192, 8192), &Image::new(3, 4096 * 3, 4096 * 3)];
    assert!(read_from(&far, from).is_err());
    let order = [&Image::new(1, 0, 0), &Image::new(2, 8192, 8192), &Image::new(3, 4100, 4100)];
    assert!(read_from(&order, from).unwrap_err().1.contains("header is damaged"));
    let order = [&Image::new(1, 8192, 8192), &Image::new(2, 4096 * 3, 4096 * 3)];
    assert!(read_from(&order, from).unwrap_err().1.contains("older segments are missing"));
    let newer = Image::of_version(2, UUID, 2, 4096, 4096);
    assert_eq!(read(&[&one, &newer]).unwrap_err().0, Code::FileVersion);
    // Records of another segment, at the same place.
    let mut moved = Image::new(2, 0, 0);
    moved.group(0, &[A]);
    moved.bytes[..4096].copy_from_slice(&Image::new(1, 0, 0).bytes);
    moved.number = 1;
    assert_eq!(read(&[&moved]), Ok(String::new()));
}

#[test]
fn a_segment_that_begins_before_its_predecessor_is_refused() {
    let images = [&Image::new(1, 0, 0), &Image::new(2, 8192, 8192), &Image::new(3, 4096, 4096)];
    refused(&images, "begins behind the segment");
    let mut long = Image::new(1, 0, 0);
    long.group(0, &[A]).group(4096, &[A]);
    let second = Image::new(2, 8192, 8192);
    let from = Checkpoint { lsn: Lsn(1), durable: Lsn(0) };
    let images = [&long, &second, &Image::new(3, 4096, 4096)];
    assert!(read_from(&images, from).unwrap_err().1.contains("begins behind the segment"));
}

#[test]
fn short_files_and_missing_logs_are_refused() {
    refused(&[], "holds no segment");
    let mut one = Image::new(1, 0, 0);
    one.group(0, &[A]);
    for length in [0, 1, 4095] {
        let mut short = Image::new(2, 4096, 4096);
        short.bytes.truncate(length);
        refused(&[&one, &short], "shorter than its header");
    }
}

#[test]
fn absurd_lengths_with_good_checksums_allocate_nothing() {
    for length in [39, 41, 47, 4097, 1 << 40, u64::MAX - 5000, u64::MAX] {
        let mut image = Image::new(1, 0, 0);
        image.group_of_length(0, &[A], Some(length));
        let records = read(&[&image]).unwrap();
        assert!("a".starts_with(&records), "length {length}: {records}");
    }
    let mut image = Image::new(1, 0, 0);
    image.group_of_length(0, &[A, A], Some(1 << 40));
    image.bytes[4096 + 40 + 108..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(read(&[&image]), Ok("a".into()));
    let last = u64::MAX - 4095;
    let image = Image::new(1, last, last);
    let from = Checkpoint { lsn: Lsn(last), durable: Lsn(last) };
    assert_eq!(read_from(&[&image], from), Ok(String::new()));
}

#[test]
fn the_last_segment_number_is_the_last() {
    let image = Image::new(u64::MAX, 0, 0);
    assert_eq!(read(&[&image]).unwrap_err().0, Code::Internal);
}

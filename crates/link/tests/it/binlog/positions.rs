//! The lower bound, the upper bound, and what sources say of themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pelorus_binlog::Position;
use pelorus_link::{Format, Link};

use super::{alone, insert, links, request, tables, until};
use crate::servers::{run, settings, texts, value};

const WRITERS: u32 = 6;
const ROUNDS: u32 = 25;

/// Rows end with `w3-17;`: the 17th of writer 3.
fn rows_of(bytes: &[u8], into: &mut BTreeMap<u32, Vec<u32>>) {
    let text = String::from_utf8_lossy(bytes);
    for piece in text.split(';') {
        let Some(at) = piece.rfind('w') else { continue };
        let Some((writer, number)) = piece[at + 1..].split_once('-') else { continue };
        if let (Ok(writer), Ok(number)) = (writer.parse(), number.parse()) {
            into.entry(writer).or_default().push(number);
        }
    }
}

/// Makes the time between writing to the binlog and becoming visible longer; gives the statements
/// that undo it.
async fn slow_commits(link: &Link) -> Vec<String> {
    let mut undo = Vec::new();
    // A MariaDB waits for the disk in between. A MySQL would move the end only after that; it
    // waits for others to join where it is told to.
    let sync = u32::from(link.is_mariadb().await.unwrap());
    for (name, value) in [("sync_binlog", sync), ("binlog_group_commit_sync_delay", 10_000)] {
        let is_there = texts(link, &format!("SHOW GLOBAL VARIABLES LIKE '{name}'")).await;
        if let Some(row) = is_there.first() {
            run(link, &format!("SET GLOBAL {name} = {value}")).await;
            undo.push(format!("SET GLOBAL {name} = {}", row[1].as_deref().unwrap()));
        }
    }
    undo
}

/// How many writers have rows that are neither in a snapshot that is opened now nor in the binlog
/// from `position` on.
async fn lacking(link: &Link, position: Position, round: &str) -> usize {
    let mut all = BTreeMap::new();
    for row in texts(link, "SELECT v FROM lower_bound").await {
        rows_of(row[0].as_deref().unwrap().as_bytes(), &mut all);
    }
    // A row that is missing shows by a later one of its writer: time for those to be written.
    for marker in [format!("{round} before"), format!("{round} soon"), round.to_owned()] {
        insert(link, "lower_bound", &marker).await;
    }
    let mut follower = link.follow(&request(position)).await.unwrap();
    for event in until(&mut follower, round).await {
        rows_of(&event, &mut all);
    }
    let lacks = |numbers: &Vec<u32>| {
        let different: BTreeSet<_> = numbers.iter().collect();
        // A writer's rows are numbered from 0 and written one after the other.
        different.last().is_some_and(|last| **last as usize + 1 != different.len())
    };
    all.values().filter(|numbers| lacks(numbers)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_snapshot_lacks_comes_after_the_lower_bound() {
    let _alone = alone().await;
    for link in links("lower_bound").await {
        let undo = slow_commits(&link).await;
        let stop = Arc::new(AtomicBool::new(false));
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            let (link, stop) = (link.clone(), Arc::clone(&stop));
            writers.push(tokio::spawn(async move {
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    insert(&link, "lower_bound", &format!("w{writer}-{number}")).await;
                    number += 1;
                }
                number
            }));
        }
        let (mut wrong, mut moved) = (0, 0);
        let mut before = link.binlog_position(&tables("lower_bound")).await.unwrap();
        for round in 0..ROUNDS {
            let position = link.binlog_position(&tables("lower_bound")).await.unwrap();
            let lacks = lacking(&link, position.clone(), &format!("right {round}")).await;
            assert_eq!(lacks, 0, "writers lack rows with {position}");
            moved += u32::from(before.has_passed(&position) == Some(false));
            before = position;
            // The test can tell: the end of the binlog is ahead of what is visible.
            let end = link.binlog_end().await.unwrap();
            wrong += lacking(&link, end, &format!("wrong {round}")).await;
        }
        stop.store(true, Ordering::Relaxed);
        let mut written = 0;
        for writer in writers {
            written += writer.await.unwrap();
        }
        for sql in undo {
            run(&link, &sql).await;
        }
        let facts = link.source_facts().await.unwrap();
        eprintln!("{}: {written} rows, the end was wrong {wrong} times", facts.version);
        assert!(written > ROUNDS && moved > ROUNDS / 2, "{written} rows, {moved} steps");
        assert!(wrong > 0 || facts.has_gtids());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_upper_bound_covers_what_was_acknowledged_and_positions_pass_each_other() {
    let _alone = alone().await;
    for link in links("upper_bound").await {
        let mut before = link.binlog_position(&tables("upper_bound")).await.unwrap();
        for round in 0..5 {
            insert(&link, "upper_bound", &format!("a{round}")).await;
            let end = link.binlog_end().await.unwrap();
            assert_eq!(end.has_passed(&before), Some(true), "{end} {before}");
            assert_eq!(before.has_passed(&end), Some(false), "{end} {before}");
            insert(&link, "upper_bound", &format!("b{round}")).await;
            let mut follower = link.follow(&request(end.clone())).await.unwrap();
            let events = until(&mut follower, &format!("b{round}")).await;
            assert!(!events.iter().any(|event| super::holds(event, &format!("a{round}"))));
            // Nobody writes: the lower bound is not behind.
            before = link.binlog_position(&tables("upper_bound")).await.unwrap();
            assert_eq!(before.has_passed(&end), Some(true), "{end} {before}");
            assert_eq!(before.to_string().parse::<Position>().unwrap(), before);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mysql_without_gtids_falls_back_to_the_start_of_the_file() {
    let _alone = alone().await;
    for link in links("held").await {
        if link.source_facts().await.unwrap().has_gtids() {
            continue;
        }
        let offset = |position: Position| match position {
            Position::File { offset, .. } => offset,
            other => panic!("{other}"),
        };
        insert(&link, "held", "a").await;
        assert!(offset(link.binlog_position(&tables("held")).await.unwrap()) > 4);
        assert_eq!(offset(link.binlog_position(&[]).await.unwrap()), 4);
        let mut pinned = link.pin().await.unwrap();
        for sql in ["START TRANSACTION", "INSERT INTO held VALUES ('b')"] {
            pinned.execute(&settings(), sql, Format::Text).await.unwrap();
        }
        assert_eq!(offset(link.binlog_position(&tables("held")).await.unwrap()), 4);
        // The lock that was asked for is gone: others write.
        insert(&link, "held", "c").await;
        pinned.execute(&settings(), "COMMIT", Format::Text).await.unwrap();
        assert!(offset(link.binlog_position(&tables("held")).await.unwrap()) > 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_are_the_servers_own() {
    let _alone = alone().await;
    for link in links("facts").await {
        let facts = link.source_facts().await.unwrap();
        assert!(facts.check().is_empty(), "{facts:?} {:?}", facts.check());
        assert_eq!(facts.is_mariadb, link.is_mariadb().await.unwrap());
        assert_eq!(facts.version, link.version().await.unwrap());
        assert_eq!(value(&link, "SELECT @@server_id").await, facts.server_id.to_string());
        assert_eq!(facts.server_uuid.is_some(), !facts.is_mariadb);
        assert_eq!(facts.binlog_checksum, "CRC32");
        assert_eq!((facts.is_replica, facts.may_see_position), (Some(false), true));
        assert!(facts.logs("anything") && facts.log_replica_updates && facts.log_bin);
        let before = value(&link, "SELECT @@global.binlog_format").await;
        run(&link, "SET GLOBAL binlog_format = MIXED").await;
        let errors = link.source_facts().await.unwrap().check();
        run(&link, &format!("SET GLOBAL binlog_format = '{before}'")).await;
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].message().contains("SET GLOBAL binlog_format = ROW"));
    }
}

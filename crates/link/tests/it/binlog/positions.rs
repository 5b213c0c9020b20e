//! The lower bound, the upper bound, and what sources say of themselves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pelorus_binlog::Position;
use pelorus_link::Format;

use super::{alone, insert, links, request, tables, until};
use crate::servers::{run, settings, texts, value};

const WRITERS: u32 = 6;
const ROUNDS: u32 = 25;

/// Rows look like `w3-17;`: the 17th of writer 3.
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

#[tokio::test(flavor = "multi_thread")]
async fn what_a_snapshot_lacks_comes_after_the_lower_bound() {
    let _alone = alone().await;
    for link in links("lower_bound").await {
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
        let mut seen_in_streams = 0;
        for round in 0..ROUNDS {
            let position = link.binlog_position(&tables("lower_bound")).await.unwrap();
            let mut all = BTreeMap::new();
            for row in texts(&link, "SELECT v FROM lower_bound").await {
                rows_of(row[0].as_deref().unwrap().as_bytes(), &mut all);
            }
            // Once around, so that what was on its way then is in the stream.
            insert(&link, "lower_bound", &format!("end {round}")).await;
            let mut follower = link.follow(&request(position)).await.unwrap();
            for event in until(&mut follower, &format!("end {round}")).await {
                let before: usize = all.values().map(Vec::len).sum();
                rows_of(&event, &mut all);
                seen_in_streams += all.values().map(Vec::len).sum::<usize>() - before;
            }
            for (writer, mut numbers) in all {
                numbers.sort_unstable();
                numbers.dedup();
                let count = u32::try_from(numbers.len()).unwrap();
                assert_eq!(numbers.last(), Some(&(count - 1)), "writer {writer} lacks rows");
            }
        }
        stop.store(true, Ordering::Relaxed);
        let mut written = 0;
        for writer in writers {
            written += writer.await.unwrap();
        }
        assert!(written > 50 && seen_in_streams > 0, "{written} rows, {seen_in_streams} seen");
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
        for sql in ["START TRANSACTION", "INSERT INTO held VALUES ('b;')"] {
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
        let before = value(&link, "SELECT @@global.binlog_row_image").await;
        run(&link, "SET GLOBAL binlog_row_image = MINIMAL").await;
        let errors = link.source_facts().await.unwrap().check();
        run(&link, &format!("SET GLOBAL binlog_row_image = '{before}'")).await;
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].message().contains("SET GLOBAL binlog_row_image = FULL"));
    }
}

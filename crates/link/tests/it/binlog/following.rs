//! Following that works.

use std::time::Duration;

use pelorus_env::Env;
use pelorus_link::{Format, Link, LinkConfig, Pinned, TlsMode};

use super::{
    HEARTBEAT, ROTATE, alone, holds, insert, links, next, request, tables, text_of, until,
};
use crate::servers::{DATABASE, address, config, run, settings, sources, variable};

#[tokio::test(flavor = "multi_thread")]
async fn events_come_through_rotation_and_again_from_the_same_position() {
    let _alone = alone().await;
    for link in links("rotation").await {
        let position = link.binlog_position(&tables("rotation")).await.unwrap();
        let mut follower = link.follow(&request(position.clone())).await.unwrap();
        insert(&link, "rotation", "a").await;
        until(&mut follower, "a").await;
        run(&link, "FLUSH BINARY LOGS").await;
        insert(&link, "rotation", "b").await;
        let events = until(&mut follower, "b").await;
        assert!(events.iter().any(|event| event[4] == ROTATE));
        drop(follower);
        // The connection that was dropped may still be there: the new one takes its place.
        let mut follower = link.follow(&request(position)).await.unwrap();
        let events = until(&mut follower, "b").await;
        assert!(events.iter().any(|event| holds(event, "a")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_source_sends_heartbeats() {
    let _alone = alone().await;
    for link in links("idle").await {
        let position = link.binlog_position(&tables("idle")).await.unwrap();
        let mut request = request(position);
        request.silence = Duration::from_millis(1500);
        let mut follower = link.follow(&request).await.unwrap();
        // Longer than a silence may be.
        for _ in 0..8 {
            while next(&mut follower).await[4] != HEARTBEAT {}
        }
        insert(&link, "idle", "a").await;
        until(&mut follower, "a").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_events_are_had_without_waiting_and_waiting_may_be_given_up() {
    let _alone = alone().await;
    for link in links("several").await {
        let position = link.binlog_position(&tables("several")).await.unwrap();
        let mut follower = link.follow(&request(position)).await.unwrap();
        let (mut waited, mut at_once, mut found) = (0, 0, 0);
        for number in 0..40 {
            insert(&link, "several", &format!("n{number}")).await;
        }
        while found < 40 {
            let event = match tokio::time::timeout(Duration::from_micros(50), follower.next()).await
            {
                Ok(event) => event.unwrap().unwrap(),
                Err(_) => next(&mut follower).await,
            };
            waited += 1;
            found += usize::from(holds(&event, &format!("n{found}")));
            while let Some(event) = follower.arrived().unwrap() {
                at_once += 1;
                found += usize::from(holds(&event, &format!("n{found}")));
            }
        }
        assert!(at_once > waited, "{at_once} at once, {waited} after waiting");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_beyond_16_mib_comes_whole() {
    let _alone = alone().await;
    for link in links("large").await {
        run(&link, "DROP TABLE IF EXISTS larger").await;
        run(&link, "CREATE TABLE larger (a LONGBLOB, b LONGBLOB, c LONGBLOB, v VARCHAR(99))").await;
        let position = link.binlog_position(&tables("large")).await.unwrap();
        let mut follower = link.follow(&request(position)).await.unwrap();
        let text = |letter| format!("REPEAT('{letter}', 12000000)");
        let (a, b, c) = (text('a'), text('b'), text('c'));
        run(&link, &format!("INSERT INTO larger VALUES ({a}, {b}, {c}, '{}')", text_of("z"))).await;
        let events = until(&mut follower, "z").await;
        let event = events.last().unwrap();
        let count = |letter| event.iter().filter(|byte| **byte == letter).count();
        assert!(event.len() > 36_000_000, "an event of {} bytes", event.len());
        assert!(
            [b'a', b'b', b'c'].into_iter().all(|l| (12_000_000..12_001_000).contains(&count(l)))
        );
        insert(&link, "large", "after").await;
        until(&mut follower, "after").await;
        run(&link, "DROP TABLE larger").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn encrypted_lines_carry_the_same() {
    let _alone = alone().await;
    let plain = links("encrypted").await;
    for ((_, endpoint), link) in sources().into_iter().zip(plain) {
        let required = LinkConfig { tls: TlsMode::Required, ..config(&endpoint) };
        let encrypted = Link::open(required, Env::real()).await.unwrap();
        if let Err(error) = encrypted.check().await {
            assert!(error.message().contains("offers no TLS"), "{error}");
            continue;
        }
        let position = encrypted.binlog_position(&tables("encrypted")).await.unwrap();
        let mut follower = encrypted.follow(&request(position)).await.unwrap();
        let text = text_of("a");
        run(&link, &format!("INSERT INTO encrypted VALUES (REPEAT('x', 90)), ('{text}')")).await;
        until(&mut follower, "a").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_with_the_same_transactions_goes_on_from_the_same_position() {
    let _alone = alone().await;
    for name in ["PELORUS_TEST_REPLICATED_MARIADB", "PELORUS_TEST_REPLICATED_MYSQL"] {
        let Some(text) = variable(name) else { continue };
        let (primary, replica) = text.split_once(',').unwrap();
        let open = async |text| Link::open(config(&address(text)), Env::real()).await.unwrap();
        let (primary, replica) = (open(primary).await, open(replica).await);
        run(&primary, &format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")).await;
        run(&primary, "DROP TABLE IF EXISTS failover").await;
        run(&primary, "CREATE TABLE failover (v VARCHAR(100) PRIMARY KEY)").await;
        insert(&primary, "failover", "before").await;
        let position = primary.binlog_position(&tables("failover")).await.unwrap();
        insert(&primary, "failover", "after").await;
        let end = primary.binlog_end().await.unwrap();
        let mut tries = 0;
        while replica.binlog_position(&[]).await.unwrap().has_passed(&end) != Some(true) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            tries += 1;
            assert!(tries < 600, "the replica does not follow");
        }
        let facts = replica.source_facts().await.unwrap();
        assert!(facts.check().is_empty() && facts.is_replica == Some(true), "{facts:?}");
        let mut follower = replica.follow(&request(position)).await.unwrap();
        let events = until(&mut follower, "after").await;
        assert!(!events.iter().any(|event| holds(event, "before")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn positions_with_tags_are_understood() {
    let _alone = alone().await;
    for link in links("tagged").await {
        let facts = link.source_facts().await.unwrap();
        if facts.is_mariadb || !facts.has_gtids() {
            continue;
        }
        let mut pinned = link.pin().await.unwrap();
        let tagged = async |pinned: &mut Pinned, marker: &str| {
            let insert = format!("INSERT INTO tagged VALUES ('{}')", text_of(marker));
            for sql in ["SET SESSION gtid_next = 'AUTOMATIC:blue'", &insert] {
                pinned.execute(&settings(), sql, Format::Text).await.unwrap();
            }
        };
        tagged(&mut pinned, "a").await;
        let position = link.binlog_position(&tables("tagged")).await.unwrap();
        assert!(position.to_string().contains(":blue:"), "{position}");
        tagged(&mut pinned, "b").await;
        let mut follower = link.follow(&request(position)).await.unwrap();
        let events = until(&mut follower, "b").await;
        assert!(!events.iter().any(|event| holds(event, "a")));
    }
}

//! A primary with a replica, given by `PELORUS_TEST_REPLICATED_MARIADB` and
//! `PELORUS_TEST_REPLICATED_MYSQL` as two addresses joined by a comma:
//! `host:port:user:password,host:port:user:password`.

use std::time::Duration;

use arrow::array::{ArrayRef, AsArray as _};
use arrow::datatypes::{Decimal128Type, Decimal256Type};
use pelorus_env::Env;
use pelorus_link::{Format, Link, LinkConfig, ScanReport, ServerState, SnapshotMode};

use crate::scan::{all, numbers, request, wait_for};
use crate::servers::{DATABASE, address, config, run, settings, texts, variable};

/// Links to a pair, to its primary alone and to its replica alone.
struct Pair {
    both: Link,
    primary: Link,
    replica: Link,
    words: &'static Words,
}

/// How a server says what has to do with replication.
struct Words {
    variable: &'static str,
    position: &'static str,
    wait: &'static str,
    stop: &'static str,
    start: &'static str,
}

const MARIADB: Words = Words {
    variable: "PELORUS_TEST_REPLICATED_MARIADB",
    position: "SELECT @@gtid_binlog_pos",
    wait: "MASTER_GTID_WAIT",
    stop: "STOP SLAVE SQL_THREAD",
    start: "START SLAVE SQL_THREAD",
};

const MYSQL: Words = Words {
    variable: "PELORUS_TEST_REPLICATED_MYSQL",
    position: "SELECT @@global.gtid_executed",
    wait: "WAIT_FOR_EXECUTED_GTID_SET",
    stop: "STOP REPLICA SQL_THREAD",
    start: "START REPLICA SQL_THREAD",
};

async fn pairs() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for words in [&MARIADB, &MYSQL] {
        let Some(text) = variable(words.variable) else { continue };
        let (primary, replica) = text.split_once(',').unwrap();
        let (primary, replica) = (address(primary), address(replica));
        let both = LinkConfig { replicas: vec![replica.clone()], ..config(&primary) };
        let open = async |config| Link::open(config, Env::real()).await.unwrap();
        let (primary, replica) = (open(config(&primary)).await, open(config(&replica)).await);
        run(&primary, &format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")).await;
        pairs.push(Pair { both: open(both).await, primary, replica, words });
    }
    pairs
}

impl Pair {
    async fn caught_up(&self) {
        let position = crate::servers::value(&self.primary, self.words.position).await;
        let ask = format!("SELECT {}('{position}', 20)", self.words.wait);
        assert_eq!(crate::servers::value(&self.replica, &ask).await, "0");
    }
}

/// A decimal; servers differ in how wide they think that a sum is.
fn units(array: &ArrayRef) -> i128 {
    match array.as_primitive_opt::<Decimal128Type>() {
        Some(narrow) => narrow.value(0),
        None => array.as_primitive::<Decimal256Type>().value(0).to_i128().unwrap(),
    }
}

/// The sum of a scan, and what it reports.
async fn sum(link: &Link, table: &str, select: &str) -> (i128, std::sync::Arc<ScanReport>) {
    let scan = link.scan(request(link, table, select, 8).await).await.unwrap();
    let report = scan.report.clone();
    let total = all(scan).await.unwrap().iter().map(|batch| units(batch.column(0))).sum();
    (total, report)
}

fn servers_of(report: &ScanReport) -> usize {
    let ranges = report.ranges();
    ranges.iter().map(|range| &range.server).collect::<std::collections::HashSet<_>>().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_reads_the_same_moment_or_is_left_out() {
    for pair in pairs().await {
        same_moment_or_left_out(&pair).await;
    }
}

/// Waits until a replica that has caught up is read again: a busy machine may take it for slow a
/// few more times.
async fn used_again(both: &Link) {
    for _ in 0..100 {
        let (total, report) = sum(both, "replicated", "SUM(v)").await;
        assert_eq!(total, 800_000, "{report:?}");
        if report.warnings.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the replica is still left out: {:?}", both.status());
}

/// Where nobody writes no lock is taken; a busy machine may need one a few times.
async fn without_locks(both: &Link) {
    for _ in 0..20 {
        let (total, report) = sum(both, "replicated", "SUM(v)").await;
        assert_eq!(total, 800_000, "{report:?}");
        if report.mode == SnapshotMode::Position {
            return;
        }
        assert_eq!(report.mode, SnapshotMode::Locked, "{report:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("every moment took a lock: {:?}", both.status());
}

async fn same_moment_or_left_out(pair: &Pair) {
    let Pair { both, primary, replica, words } = pair;
    run(primary, "SET GLOBAL innodb_flush_log_at_trx_commit = 2").await;
    numbers(primary, "replicated", 8_000).await;
    pair.caught_up().await;
    without_locks(both).await;
    let (_, report) = sum(both, "replicated", "SUM(v + SLEEP(0.0001))").await;
    assert_eq!(servers_of(&report), 2, "{report:?}");

    // While money moves.
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let (moved, mut moves) = tokio::sync::watch::channel(0_u64);
    let writer = tokio::spawn({
        let primary = primary.clone();
        async move {
            let mut pinned = primary.pin().await.unwrap();
            let mut at = 1_u64;
            while !*stopped.borrow() {
                at = (at * 48_271 + 11) % 8_000;
                for sql in [
                    "BEGIN".to_owned(),
                    format!("UPDATE replicated SET v = v - 7 WHERE id = {at}"),
                    format!("UPDATE replicated SET v = v + 7 WHERE id = {}", (at + 3_999) % 8_000),
                    "COMMIT".to_owned(),
                ] {
                    pinned.execute(&settings(), &sql, Format::Text).await.unwrap();
                }
                moved.send_modify(|moves| *moves += 1);
            }
        }
    });
    let mut seen = std::collections::BTreeMap::new();
    for _ in 0..40 {
        let (total, report) = sum(both, "replicated", "SUM(v)").await;
        assert_eq!(total, 800_000, "{report:?}");
        let key = format!("{:?} on {} servers", report.mode, 2 - report.warnings.len());
        *seen.entry(key).or_insert(0) += 1;
        assert_ne!(report.mode, SnapshotMode::Near, "{report:?}");
        assert!(report.lock_held.unwrap_or_default() < Duration::from_millis(400));
    }
    eprintln!("{seen:?}");

    // A replica that stands still is left out, once the primary has gone on: on a busy machine that
    // takes a while.
    run(replica, words.stop).await;
    let before = *moves.borrow();
    moves.wait_for(|now| *now > before + 2).await.unwrap();
    for _ in 0..3 {
        let (total, report) = sum(both, "replicated", "SUM(v)").await;
        assert_eq!(total, 800_000);
        assert_eq!(report.warnings.len(), 1, "{report:?}");
        assert!(report.warnings[0].contains("left out"));
    }
    assert_eq!(both.status().servers[1].state, ServerState::Lagging);
    stop.send(true).unwrap();
    writer.await.unwrap();
    run(replica, words.start).await;
    pair.caught_up().await;
    used_again(both).await;

    // A replica whose connections die costs a retry.
    let select = "/* replica_scan */ SUM(v), SUM(SLEEP(0.0003))";
    let scan = both.scan(request(both, "replicated", select, 8).await).await.unwrap();
    wait_for(replica, "replica_scan", "2").await;
    let victims = texts(
        replica,
        "SELECT ID FROM information_schema.PROCESSLIST \
         WHERE INFO LIKE '%replica_scan%' AND INFO NOT LIKE '%PROCESSLIST%'",
    )
    .await;
    for victim in victims {
        run(replica, &format!("KILL {}", victim[0].as_ref().unwrap())).await;
    }
    let report = scan.report.clone();
    let total: i128 = all(scan).await.unwrap().iter().map(|batch| units(batch.column(0))).sum();
    assert_eq!(total, 800_000);
    assert!(report.ranges().iter().any(|range| range.attempts > 1), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_is_away_costs_nothing_but_a_warning() {
    for pair in pairs().await {
        away(&pair.primary).await;
    }
}

async fn away(primary: &Link) {
    numbers(primary, "replica_away", 5_000).await;
    let mut config = primary.config().clone();
    let mut nowhere = config.primary.clone();
    nowhere.port = 9;
    config.replicas = vec![nowhere];
    let link = Link::open(config.clone(), Env::real()).await.unwrap();
    for _ in 0..2 {
        let (total, _) = sum(&link, "replica_away", "SUM(v)").await;
        assert_eq!(total, 500_000);
    }
    assert_eq!(link.status().servers[1].state, ServerState::Down);

    // And the other way round: the primary is away.
    std::mem::swap(&mut config.primary, &mut config.replicas[0]);
    let link = Link::open(config, Env::real()).await.unwrap();
    let (total, report) = sum(&link, "replica_away", "SUM(v)").await;
    assert_eq!(total, 500_000);
    assert!(report.warnings.iter().any(|text| text.contains("answers alone")), "{report:?}");
}

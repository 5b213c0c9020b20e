//! Scans: every row once, one moment, stopping, losing servers.

use std::time::Duration;

use arrow::array::{AsArray as _, RecordBatch};
use arrow::datatypes::{Decimal128Type, Int64Type};
use futures::StreamExt as _;
use pelorus_link::{Format, Fragment, KeyRange, Link, Scan, ScanRequest, SnapshotMode, Target};
use pelorus_types::ColumnType;

use crate::servers::{DATABASE, endpoints, links, run, settings, value};

/// A table of `rows` numbers from 0.
pub(crate) async fn numbers(link: &Link, table: &str, rows: u64) {
    run(link, &format!("DROP TABLE IF EXISTS {table}")).await;
    run(link, &format!("CREATE TABLE {table} (id INT PRIMARY KEY, v INT NOT NULL)")).await;
    let mut at = 0;
    while at < rows {
        let next = rows.min(at + 5000);
        let values: Vec<_> = (at..next).map(|id| format!("({id},100)")).collect();
        run(link, &format!("INSERT INTO {table} VALUES {}", values.join(","))).await;
        at = next;
    }
    link.forget();
}

pub(crate) async fn request(link: &Link, table: &str, select: &str, ranges: usize) -> ScanRequest {
    let known = link.table(DATABASE, table).await.unwrap().unwrap();
    let split = link.split(&known, None, ranges).await.unwrap();
    ScanRequest {
        cut: Some((DATABASE.to_owned(), table.to_owned())),
        settings: settings(),
        fragment: Fragment {
            parts: [
                format!("SELECT {select} FROM {DATABASE}.{table}"),
                " AS t WHERE ".to_owned(),
                String::new(),
            ],
        },
        ranges: split.ranges.clone(),
        qualifier: "t".to_owned(),
        tables: vec![(DATABASE.to_owned(), table.to_owned())],
        streams: 2,
        committed: false,
        buffer_whole_range: true,
        expected: Vec::new(),
        memory: pelorus_env::Account::unlimited(),
    }
}

pub(crate) async fn all(scan: Scan) -> pelorus_error::Result<Vec<RecordBatch>> {
    let mut streams = futures::stream::select_all(scan.streams);
    let mut batches = Vec::new();
    while let Some(batch) = streams.next().await {
        batches.push(batch?);
    }
    Ok(batches)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_comes_once() {
    for link in links().await {
        numbers(&link, "scan_rows", 50_000).await;
        for buffered in [true, false] {
            let mut request = request(&link, "scan_rows", "id, v", 8).await;
            assert!(request.ranges.len() > 4);
            request.buffer_whole_range = buffered;
            let scan = link.scan(request).await.unwrap();
            let report = scan.report.clone();
            assert_eq!(scan.columns.len(), 2);
            let batches = all(scan).await.unwrap();
            let mut ids: Vec<i64> = batches
                .iter()
                .flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec())
                .collect();
            ids.sort_unstable();
            assert_eq!(ids, (0..50_000).collect::<Vec<_>>());
            assert_ne!(report.mode, SnapshotMode::Near, "{report:?}");
            assert_eq!(report.ranges().iter().map(|range| range.rows).sum::<u64>(), 50_000);
        }
        // One stream alone gives everything, the others nothing.
        let scan = link.scan(request(&link, "scan_rows", "id", 8).await).await.unwrap();
        let mut streams = scan.streams.into_iter();
        let (mut one, others) = (streams.next().unwrap(), streams.collect::<Vec<_>>());
        let mut rows = 0;
        while let Some(batch) = one.next().await {
            rows += batch.unwrap().num_rows();
        }
        drop(others);
        assert_eq!(rows, 50_000);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_never_waver_while_money_moves() {
    for link in links().await {
        numbers(&link, "scan_bank", 6_000).await;
        let (stop, mut stopped) = tokio::sync::watch::channel(false);
        let writers: Vec<_> = (0..3_u64)
            .map(|writer| {
                let link = link.clone();
                let mut stopped = stopped.clone();
                tokio::spawn(async move {
                    let mut pinned = link.pin().await.unwrap();
                    let mut at = writer * 977;
                    let mut moved = 0;
                    while !*stopped.borrow_and_update() {
                        at = (at * 48_271 + 11) % 6_000;
                        let from = at;
                        let to = (at + 2_999) % 6_000;
                        for sql in [
                            "BEGIN".to_owned(),
                            format!("UPDATE scan_bank SET v = v - 7 WHERE id = {}", from.min(to)),
                            format!("UPDATE scan_bank SET v = v + 7 WHERE id = {}", from.max(to)),
                            "COMMIT".to_owned(),
                        ] {
                            if pinned.execute(&settings(), &sql, Format::Text).await.is_err() {
                                let _ = pinned.execute(&settings(), "ROLLBACK", Format::Text).await;
                                break;
                            }
                        }
                        moved += 1;
                    }
                    moved
                })
            })
            .collect();
        stopped.mark_unchanged();
        let mut modes = std::collections::HashMap::new();
        let mut held = Duration::ZERO;
        for _ in 0..60 {
            let request = request(&link, "scan_bank", "SUM(t.v)", 4).await;
            assert!(request.ranges.len() >= 3);
            let scan = link.scan(request).await.unwrap();
            *modes.entry(scan.report.mode).or_insert(0) += 1;
            held = held.max(scan.report.lock_held.unwrap_or_default());
            let mode = scan.report.mode;
            let total: i128 = all(scan)
                .await
                .unwrap()
                .iter()
                .map(|batch| batch.column(0).as_primitive::<Decimal128Type>().value(0))
                .sum();
            assert_eq!(total, 600_000, "{mode:?}");
            assert_ne!(mode, SnapshotMode::Near);
        }
        stop.send(true).unwrap();
        let mut moved = 0;
        for writer in writers {
            moved += writer.await.unwrap();
        }
        eprintln!("{moved} transfers beside 60 scans: {modes:?}, lock held {held:?} at most");
        assert!(moved > 50);
        assert!(held < Duration::from_millis(400));
    }
}

async fn running(link: &Link, mark: &str) -> String {
    value(
        link,
        &format!(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
             WHERE INFO LIKE '%{mark}%' AND INFO NOT LIKE '%PROCESSLIST%'"
        ),
    )
    .await
}

pub(crate) async fn wait_for(link: &Link, mark: &str, count: &str) {
    for _ in 0..250 {
        if running(link, mark).await == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{} statements run, not {count}", running(link, mark).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_scan_stops_its_statements() {
    for link in links().await {
        numbers(&link, "scan_stop", 5_000).await;
        let request = request(&link, "scan_stop", "/* slow_scan */ SUM(SLEEP(0.01) + v)", 4).await;
        let scan = link.scan(request).await.unwrap();
        wait_for(&link, "slow_scan", "2").await;
        drop(scan);
        wait_for(&link, "slow_scan", "0").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_of_a_killed_connection_are_read_by_the_others() {
    for link in links().await {
        numbers(&link, "scan_kill", 5_000).await;
        let select = "/* killed_scan */ SUM(v), SUM(SLEEP(0.0005))";
        let scan = link.scan(request(&link, "scan_kill", select, 6).await).await.unwrap();
        wait_for(&link, "killed_scan", "2").await;
        let victim = value(
            &link,
            "SELECT MIN(ID) FROM information_schema.PROCESSLIST \
             WHERE INFO LIKE '%killed_scan%' AND INFO NOT LIKE '%PROCESSLIST%'",
        )
        .await;
        run(&link, &format!("KILL {victim}")).await;
        let report = scan.report.clone();
        let total: i128 = all(scan)
            .await
            .unwrap()
            .iter()
            .map(|batch| batch.column(0).as_primitive::<Decimal128Type>().value(0))
            .sum();
        assert_eq!(total, 500_000);
        assert!(report.ranges().iter().any(|range| range.attempts > 1), "{report:?}");

        // When all are killed the scan fails and names the server.
        let scan = link.scan(request(&link, "scan_kill", select, 6).await).await.unwrap();
        wait_for(&link, "killed_scan", "2").await;
        // Connections that were between two ranges take over: they are killed with their next one.
        let kill_all = async {
            loop {
                let victims = crate::servers::texts(
                    &link,
                    "SELECT ID FROM information_schema.PROCESSLIST \
                     WHERE INFO LIKE '%killed_scan%' AND INFO NOT LIKE '%PROCESSLIST%'",
                )
                .await;
                for victim in victims {
                    let kill = format!("KILL {}", victim[0].clone().unwrap());
                    let _ = link.relay(&settings(), &kill, Format::Text, Target::Primary).await;
                }
            }
        };
        let error = tokio::select! {
            ended = all(scan) => ended.unwrap_err(),
            () = kill_all => unreachable!("it goes on until the scan has ended"),
        };
        assert!([1430, 1927, 3169, 1317, 1053].contains(&error.errno()), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_changed_is_noticed() {
    for link in links().await {
        numbers(&link, "scan_type", 5_000).await;
        let mut ask = request(&link, "scan_type", "v", 4).await;
        ask.expected = vec![ColumnType::bigint()];
        assert!(link.scan(ask.clone()).await.is_ok());
        run(&link, "ALTER TABLE scan_type MODIFY v VARCHAR(20)").await;
        let error = link.scan(ask).await.unwrap_err();
        assert_eq!(error.errno(), 1412);
        assert!(error.message().contains("scan_type"), "{error}");
        let table = link.table(DATABASE, "scan_type").await.unwrap().unwrap();
        assert!(table.columns[1].ty.is_string(), "what was cached is forgotten");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_fragments_end_the_scan() {
    for link in links().await {
        numbers(&link, "scan_error", 5_000).await;
        let ask = request(&link, "scan_error", "nothing", 4).await;
        assert_eq!(link.scan(ask).await.unwrap_err().errno(), 1054);
        // Only one range fails, in the middle.
        let select = "IF(id = 4000, (SELECT id FROM scan_error), v)";
        let scan = link.scan(request(&link, "scan_error", select, 4).await).await.unwrap();
        assert_eq!(all(scan).await.unwrap_err().errno(), 1242);
        wait_for(&link, "FROM link_test.scan_error", "0").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_without_rights_to_lock_gets_a_warning_or_a_moment() {
    for (_, endpoint) in endpoints() {
        let admin = crate::servers::config(&endpoint);
        let link = Link::open(admin.clone(), pelorus_env::Env::real()).await.unwrap();
        run(&link, &format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")).await;
        numbers(&link, "scan_rights", 5_000).await;
        run(&link, "DROP USER IF EXISTS link_reader").await;
        run(&link, "CREATE USER link_reader IDENTIFIED BY 'Read-0nly'").await;
        run(&link, &format!("GRANT SELECT ON {DATABASE}.* TO link_reader")).await;
        let mut config = admin;
        config.primary.user = "link_reader".into();
        config.primary.password = pelorus_link::Secret::new("Read-0nly");
        for tls in [pelorus_link::TlsMode::Disabled, pelorus_link::TlsMode::Preferred] {
            config.tls = tls;
            let reader = Link::open(config.clone(), pelorus_env::Env::real()).await.unwrap();
            let scan = reader.scan(request(&reader, "scan_rights", "v", 4).await).await.unwrap();
            assert_eq!(scan.report.mode == SnapshotMode::Near, !scan.report.warnings.is_empty());
            let rows: usize = all(scan).await.unwrap().iter().map(RecordBatch::num_rows).sum();
            assert_eq!(rows, 5_000);
        }
        run(&link, "DROP USER link_reader").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_range_needs_no_snapshot() {
    for link in links().await {
        numbers(&link, "scan_one", 100).await;
        let mut ask = request(&link, "scan_one", "id", 4).await;
        assert_eq!(ask.ranges.len(), 1, "a small table");
        ask.ranges = vec![KeyRange::whole(100)];
        let scan = link.scan(ask).await.unwrap();
        assert_eq!(scan.report.mode, SnapshotMode::Single);
        let rows: usize = all(scan).await.unwrap().iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows, 100);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scans_of_one_moment_agree() {
    for link in links().await {
        numbers(&link, "scan_left", 5_000).await;
        numbers(&link, "scan_right", 5_000).await;
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let writer = tokio::spawn({
            let link = link.clone();
            async move {
                let mut pinned = link.pin().await.unwrap();
                let mut at = 1_u64;
                while !*stopped.borrow() {
                    at = (at * 48_271 + 11) % 5_000;
                    for sql in [
                        "BEGIN".to_owned(),
                        format!("UPDATE scan_left SET v = v - 7 WHERE id = {at}"),
                        format!("UPDATE scan_right SET v = v + 7 WHERE id = {at}"),
                        "COMMIT".to_owned(),
                    ] {
                        pinned.execute(&settings(), &sql, Format::Text).await.unwrap();
                    }
                }
            }
        });
        for _ in 0..20 {
            let left = request(&link, "scan_left", "SUM(t.v)", 3).await;
            let right = request(&link, "scan_right", "SUM(t.v)", 2).await;
            let moment = link.moment();
            let (first, second) = (moment.add(&left), moment.add(&right));
            let mut total = 0;
            // One after the other, with time in between.
            for (ticket, request) in [(second, right), (first, left)] {
                let scan = moment.scan(ticket, request).await.unwrap();
                assert_ne!(scan.report.mode, SnapshotMode::Near);
                total += all(scan)
                    .await
                    .unwrap()
                    .iter()
                    .map(|batch| batch.column(0).as_primitive::<Decimal128Type>().value(0))
                    .sum::<i128>();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert_eq!(total, 1_000_000);
            let again = request(&link, "scan_left", "v", 2).await;
            assert_eq!(moment.scan(first, again).await.unwrap_err().errno(), 1105);
        }
        stop.send(true).unwrap();
        writer.await.unwrap();
    }
}

/// The end of a scan leaves its connections to the next one.
#[tokio::test(flavor = "multi_thread")]
async fn connections_are_used_again() {
    for link in links().await {
        numbers(&link, "scan_again", 5_000).await;
        let select = "CAST(CONNECTION_ID() AS SIGNED)";
        let ask = request(&link, "scan_again", select, 4).await;
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..20 {
            for batch in all(link.scan(ask.clone()).await.unwrap()).await.unwrap() {
                seen.extend(batch.column(0).as_primitive::<Int64Type>().values().iter().copied());
            }
            // Their transactions are rolled back meanwhile.
            for _ in 0..100 {
                let servers = link.status().servers;
                if servers[0].idle == servers[0].connections {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        assert!(seen.len() <= 4, "{seen:?}");
    }
}

/// What failed for one scan of a moment failed for all of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_moment_that_cannot_be_had_says_why_to_everybody() {
    for link in links().await {
        numbers(&link, "scan_nowhere", 5_000).await;
        let mut wrong = request(&link, "scan_nowhere", "v", 2).await;
        wrong.settings.time_zone = Some("No/Where".into());
        let moment = link.moment();
        let tickets = [moment.add(&wrong), moment.add(&wrong)];
        for ticket in tickets {
            let error = moment.scan(ticket, wrong.clone()).await.unwrap_err();
            assert_eq!(error.errno(), 1298, "{error}");
        }
    }
}

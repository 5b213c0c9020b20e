//! Splits cover every row exactly once, whatever the keys look like.

use std::fmt::Write as _;

use pelorus_link::{Link, RemoteTable, Split};

use crate::servers::{DATABASE, links, run, texts, value};

/// Numbers that repeat from run to run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

async fn fill(
    link: &Link,
    table: &str,
    columns: &str,
    rows: usize,
    mut row: impl FnMut(usize) -> String,
) {
    run(link, &format!("DROP TABLE IF EXISTS {table}")).await;
    run(link, &format!("CREATE TABLE {table} ({columns})")).await;
    let mut at = 0;
    while at < rows {
        let mut sql = format!("INSERT IGNORE INTO {table} VALUES ");
        for index in at..rows.min(at + 1000) {
            let comma = if index == at { "" } else { ", " };
            write!(sql, "{comma}({})", row(index)).unwrap();
        }
        run(link, &sql).await;
        at += 1000;
    }
    texts(link, &format!("ANALYZE TABLE {table}")).await;
    link.forget();
}

/// Counts each range and compares with the whole table.
async fn check(
    link: &Link,
    table: &str,
    key: Option<&str>,
    ranges: usize,
) -> std::sync::Arc<Split> {
    let known = link.table(DATABASE, table).await.unwrap().unwrap();
    let split = link.split(&known, key, ranges).await.unwrap();
    let counts = counts(link, &known, &split).await;
    let total: u64 = value(link, &format!("SELECT COUNT(*) FROM {table}")).await.parse().unwrap();
    let sums =
        texts(link, &format!("SELECT SUM(CRC32(CONCAT_WS('|', n, '-'))) FROM {table}")).await;
    assert_eq!(counts.iter().map(|(count, _)| count).sum::<u64>(), total, "{table}: {split:?}");
    let sum: u64 = counts.iter().map(|(_, sum)| sum).sum();
    assert_eq!(sum.to_string(), sums[0][0].clone().unwrap(), "{table}: {split:?}");
    split
}

/// Rows and checksum of each range.
async fn counts(link: &Link, table: &RemoteTable, split: &Split) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    for range in &split.ranges {
        let partitions = if range.partitions().is_empty() {
            String::new()
        } else {
            format!(" PARTITION ({})", range.partitions().join(", "))
        };
        let sql = format!(
            "SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS('|', t.n, '-'))), 0) \
             FROM {}{partitions} AS t WHERE {}",
            table.name,
            range.predicate("t").unwrap_or_else(|| "1=1".to_owned())
        );
        let row = texts(link, &sql).await.remove(0);
        let number = |at: usize| row[at].as_ref().unwrap().parse().unwrap();
        all.push((number(0), number(1)));
    }
    all
}

/// Whether no range has much more than its share.
async fn assert_even(link: &Link, table: &str, split: &Split, most: f64) {
    let known = link.table(DATABASE, table).await.unwrap().unwrap();
    let counts = counts(link, &known, split).await;
    let total: u64 = counts.iter().map(|(count, _)| count).sum();
    let share = total as f64 / counts.len() as f64;
    for (count, _) in &counts {
        assert!(*count as f64 <= share * most, "{table}: {counts:?} {}", split.how);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn skewed_integers() {
    for link in links().await {
        let mut dice = Dice(1);
        // Nine of ten ids lie in one hundredth of the range.
        fill(&link, "split_ints", "id BIGINT PRIMARY KEY, n INT", 20_000, |n| {
            let id = if dice.roll(10) > 0 {
                900_000_000 + dice.roll(10_000_000)
            } else {
                dice.roll(1_000_000_000)
            };
            let sign = if dice.roll(5) == 0 { "-" } else { "" };
            format!("{sign}{id}, {n}")
        })
        .await;
        let split = check(&link, "split_ints", None, 8).await;
        assert!((6..=10).contains(&split.ranges.len()), "{split:?}");
        assert_even(&link, "split_ints", &split, 2.0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_in_several_collations() {
    let collations = [
        "utf8mb4 COLLATE utf8mb4_general_ci",
        "utf8mb4 COLLATE utf8mb4_unicode_ci",
        "utf8mb4 COLLATE utf8mb4_bin",
        "latin1 COLLATE latin1_swedish_ci",
        "latin1 COLLATE latin1_german2_ci",
        "cp1251 COLLATE cp1251_general_cs",
        "utf8mb4 COLLATE utf8mb4_swedish_ci",
    ];
    let alphabet: Vec<char> = "aAbBzZ09_- .äÄöéßЖя".chars().collect();
    for link in links().await {
        for (at, collation) in collations.iter().enumerate() {
            let mut dice = Dice(at as u64);
            let table = format!("split_text{at}");
            let columns =
                format!("k VARCHAR(20) CHARACTER SET {collation} NOT NULL, n INT, KEY by_k (k)");
            fill(&link, &table, &columns, 6_000, |n| {
                let length = dice.roll(6);
                let prefix = if dice.roll(3) > 0 { "user_" } else { "" };
                let text: String = (0..length)
                    .map(|_| alphabet[dice.roll(alphabet.len() as u64) as usize])
                    .collect();
                format!("'{prefix}{text}', {n}")
            })
            .await;
            let split = check(&link, &table, Some("by_k"), 6).await;
            assert!(split.ranges.len() >= 3, "{collation}: {split:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn composite_keys_with_heavy_values_and_nulls() {
    for link in links().await {
        let mut dice = Dice(7);
        let columns = "day TINYINT, state CHAR(2) CHARACTER SET latin1, price DECIMAL(8,2), n INT, \
                       KEY covered (day, state, price)";
        fill(&link, "split_composite", columns, 30_000, |n| {
            let day = match dice.roll(20) {
                0 => "NULL".to_owned(),
                1..=14 => "3".to_owned(),
                other => (other % 7).to_string(),
            };
            let state = match dice.roll(10) {
                0 => "NULL".to_owned(),
                1..=6 => "'NC'".to_owned(),
                _ => format!(
                    "'{}{}'",
                    (b'A' + dice.roll(26) as u8) as char,
                    (b'A' + dice.roll(26) as u8) as char
                ),
            };
            let price = if dice.roll(10) == 0 {
                "NULL".to_owned()
            } else {
                format!("{}.{:02}", dice.roll(1000), dice.roll(100))
            };
            format!("{day}, {state}, {price}, {n}")
        })
        .await;
        let split = check(&link, "split_composite", Some("covered"), 8).await;
        assert!(split.ranges.len() >= 6, "{split:?}");
        assert_even(&link, "split_composite", &split, 2.0).await;
        let heavy = split.ranges.iter().filter_map(|range| range.predicate("")).collect::<Vec<_>>();
        assert!(heavy.iter().any(|text| text.contains("`day` = 3")), "{heavy:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dates_times_bytes_and_years() {
    let kinds: [(&str, &dyn Fn(&mut Dice) -> String); 7] = [
        ("DATE", &|dice| format!("'2020-01-01' + INTERVAL {} DAY", dice.roll(900))),
        ("DATETIME(3)", &|dice| {
            format!("'2020-01-01' + INTERVAL {} SECOND", dice.roll(90_000_000))
        }),
        ("TIMESTAMP NULL", &|dice| {
            format!("'2020-01-01 08:00:00' + INTERVAL {} HOUR", dice.roll(20_000))
        }),
        ("YEAR", &|dice| {
            if dice.roll(9) == 0 { "'0000'".into() } else { (1950 + dice.roll(120)).to_string() }
        }),
        ("VARBINARY(8)", &|dice| format!("x'{:06X}'", dice.roll(1 << 24))),
        ("BINARY(4)", &|dice| format!("x'{:04X}'", dice.roll(1 << 16))),
        ("DECIMAL(20,6) UNSIGNED", &|dice| {
            format!("{}.{:06}", dice.roll(50), dice.roll(1_000_000))
        }),
    ];
    for link in links().await {
        for (at, (kind, make)) in kinds.iter().enumerate() {
            let mut dice = Dice(at as u64 + 100);
            let table = format!("split_kind{at}");
            fill(&link, &table, &format!("k {kind}, n INT, KEY by_k (k)"), 6_000, |n| {
                let k = if dice.roll(20) == 0 { "NULL".to_owned() } else { make(&mut dice) };
                format!("{k}, {n}")
            })
            .await;
            let split = check(&link, &table, Some("by_k"), 6).await;
            assert!(split.ranges.len() >= 4, "{kind}: {split:?}");
            assert_even(&link, &table, &split, 2.2).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_and_tables_without_keys() {
    for link in links().await {
        let mut dice = Dice(3);
        let columns = "id INT, year INT, n INT, PRIMARY KEY (id, year)) PARTITION BY RANGE (year) \
                       (PARTITION p0 VALUES LESS THAN (2000), PARTITION p1 VALUES LESS THAN (2001), \
                       PARTITION p2 VALUES LESS THAN (2010), PARTITION p3 VALUES LESS THAN MAXVALUE";
        fill(&link, "split_parts", columns, 20_000, |n| {
            let year = if dice.roll(4) == 0 { 1990 + dice.roll(30) } else { 2005 };
            format!("{n}, {year}, {n}")
        })
        .await;
        let split = check(&link, "split_parts", None, 6).await;
        assert!(split.ranges.iter().all(|range| !range.partitions().is_empty()), "{split:?}");
        assert!(split.ranges.iter().any(|range| range.predicate("").is_some()), "{split:?}");

        fill(&link, "split_heap", "v INT, n INT", 5_000, |n| format!("{n}, {n}")).await;
        assert_eq!(check(&link, "split_heap", None, 6).await.ranges.len(), 1);
        fill(&link, "split_same", "v INT, n INT, KEY by_v (v)", 5_000, |n| format!("7, {n}")).await;
        assert_eq!(check(&link, "split_same", Some("by_v"), 6).await.ranges.len(), 1);
    }
}

/// Under a collation several spellings are one value; rows of it must not be in two ranges.
#[tokio::test(flavor = "multi_thread")]
async fn a_heavy_text_in_several_spellings() {
    for link in links().await {
        let mut dice = Dice(11);
        let columns = "k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, \
                       id INT NOT NULL, n INT, PRIMARY KEY (k, id)";
        // Stretches of one spelling, so that the ends of most cells have the same.
        fill(&link, "split_spellings", columns, 20_000, |n| {
            let k = match n / 1_500 {
                _ if dice.roll(20) == 0 => "zeta",
                0 | 13 => "acme",
                stretch if stretch % 2 == 1 => "ACME",
                _ => "Acme",
            };
            format!("'{k}', {n}, {n}")
        })
        .await;
        for ranges in [4, 16, 64] {
            let split = check(&link, "split_spellings", None, ranges).await;
            assert!(split.ranges.len() >= ranges / 2, "{split:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn zero_dates_that_are_heavy() {
    for link in links().await {
        let loose = pelorus_link::SessionSettings {
            sql_mode: Some(String::new()),
            ..crate::servers::settings()
        };
        let columns = "d DATE NOT NULL, id INT, n INT, PRIMARY KEY (d, id)";
        fill(&link, "split_zero", columns, 20_000, |n| {
            format!("'2024-01-{:02}', {n}, {n}", n % 28 + 1)
        })
        .await;
        let update = "UPDATE split_zero SET d = '0000-00-00' WHERE n % 4 > 0";
        link.relay(&loose, update, pelorus_link::Format::Text, pelorus_link::Target::Primary)
            .await
            .unwrap();
        texts(&link, "ANALYZE TABLE split_zero").await;
        link.forget();
        // Under the server's own mode, which forbids them, too.
        check(&link, "split_zero", None, 8).await;
    }
}

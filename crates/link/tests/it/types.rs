//! Every type comes over exactly, from both servers, in both protocols.

use std::fmt::Write as _;

use bytes::BytesMut;
use futures::StreamExt as _;
use pelorus_link::{Format, Link, Relay, RelayItem, Target};
use pelorus_mysql_wire::rows::{RowDecoder, RowEncoder};
use pelorus_types::Column;

use crate::servers::{DATABASE, links, run, settings};

/// Column types with values that are at the ends of what they hold.
const COLUMNS: &[(&str, &[&str])] = &[
    ("TINYINT", &["-128", "127"]),
    ("TINYINT UNSIGNED", &["0", "255"]),
    ("SMALLINT", &["-32768", "32767"]),
    ("SMALLINT UNSIGNED", &["65535"]),
    ("MEDIUMINT", &["-8388608", "8388607"]),
    ("MEDIUMINT UNSIGNED", &["16777215"]),
    ("INT", &["-2147483648", "2147483647"]),
    ("INT UNSIGNED", &["4294967295"]),
    ("INT(8) ZEROFILL", &["42"]),
    ("BIGINT", &["-9223372036854775808", "9223372036854775807"]),
    ("BIGINT UNSIGNED", &["18446744073709551615"]),
    (
        "DECIMAL(65,30)",
        &[
            "-99999999999999999999999999999999999.999999999999999999999999999999",
            "0.000000000000000000000000000001",
        ],
    ),
    ("DECIMAL(38,10)", &["-9999999999999999999999999999.9999999999"]),
    ("DECIMAL(5,0)", &["-99999"]),
    ("DECIMAL(10,2) UNSIGNED", &["99999999.99"]),
    ("DECIMAL(30,30)", &["-0.999999999999999999999999999999"]),
    ("FLOAT", &["0.1", "-3.40282e38", "16777216", "1e-38", "1234567"]),
    ("FLOAT(7,3)", &["1.5"]),
    (
        "DOUBLE",
        &["0.1", "1e308", "-2.2250738585072014e-308", "123456789.123456789", "1e15", "1e-7"],
    ),
    ("DOUBLE(12,2)", &["12345.67"]),
    ("DATE", &["'0000-00-00'", "'2024-00-00'", "'2024-02-30'", "'9999-12-31'"]),
    ("DATETIME", &["'0000-00-00 00:00:00'", "'2024-12-31 23:59:59'"]),
    ("DATETIME(6)", &["'2024-12-31 23:59:59.000001'", "'2024-12-31 00:00:00'"]),
    ("DATETIME(3)", &["'2024-12-31 23:59:59.12'"]),
    ("TIMESTAMP(2) NULL", &["'2024-06-30 12:00:00.25'"]),
    ("TIME", &["'-838:59:59'", "'838:59:59'", "'00:00:00'"]),
    ("TIME(6)", &["'-00:00:00.000001'", "'24:00:00.5'"]),
    ("YEAR", &["1901", "2155", "0"]),
    ("BIT(1)", &["b'1'"]),
    ("BIT(64)", &["b'1111111111111111111111111111111111111111111111111111111111111110'"]),
    ("BIT(10)", &["513"]),
    ("CHAR(10) CHARACTER SET latin1", &["'größe'", "'x  '"]),
    ("VARCHAR(20) CHARACTER SET utf8mb4", &["'😀 é'", "''"]),
    ("VARCHAR(20) CHARACTER SET utf16", &["'naïve'"]),
    ("TEXT CHARACTER SET cp1251", &["'Москва'"]),
    ("BINARY(4)", &["x'00ff'"]),
    ("VARBINARY(300)", &["x'00ff27'", "REPEAT(x'41', 260)"]),
    ("MEDIUMBLOB", &["REPEAT(x'42', 70000)"]),
    ("ENUM('a','ü')", &["'ü'"]),
    ("SET('a','b')", &["'a,b'", "''"]),
    ("JSON", &["'{\"a\": [1, 2]}'"]),
];

async fn rows_of(link: &Link, sql: &str, format: Format) -> (Vec<Column>, Vec<Vec<u8>>) {
    let relay = link.relay(&settings(), sql, format, Target::Primary).await;
    let Relay::Rows(mut rows) = relay.unwrap() else { panic!("no rows") };
    let mut all = Vec::new();
    while let Some(Ok(RelayItem::Encoded(block))) = rows.next().await {
        let mut rest = &block[..];
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let (payload, next) = after.split_at(u32::from_le_bytes(*length) as usize);
            all.push(payload.to_vec());
            rest = next;
        }
    }
    (rows.columns, all)
}

/// Decodes rows and encodes them again in a format.
fn recode(columns: &[Column], rows: &[Vec<u8>], from: Format, to: Format) -> Vec<Vec<u8>> {
    let mut decoder = RowDecoder::new(columns.to_vec(), from).unwrap();
    for row in rows {
        decoder.push(row).unwrap();
    }
    let batch = decoder.finish().unwrap();
    let mut encoder = RowEncoder::new(&batch, columns, to).unwrap();
    (0..batch.num_rows())
        .map(|row| {
            let mut out = BytesMut::new();
            encoder.encode(row, &mut out).unwrap();
            out.to_vec()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_types_come_over_as_the_server_writes_them() {
    for link in links().await {
        run(&link, "DROP TABLE IF EXISTS all_types").await;
        let mut create = "CREATE TABLE all_types (id INT PRIMARY KEY".to_owned();
        let most = COLUMNS.iter().map(|(_, values)| values.len()).max().unwrap();
        let mut rows = vec![String::new(); most + 1];
        for (index, (ty, values)) in COLUMNS.iter().enumerate() {
            write!(create, ", c{index} {ty}").unwrap();
            if !ty.ends_with("NULL") {
                create.push_str(" NULL");
            }
            for (at, row) in rows.iter_mut().enumerate() {
                write!(row, ", {}", values.get(at).unwrap_or(&"NULL")).unwrap();
            }
        }
        run(&link, &format!("{create})")).await;
        let mut lax = settings();
        lax.sql_mode = Some("ALLOW_INVALID_DATES".to_owned());
        for (at, row) in rows.iter().enumerate() {
            let sql = format!("INSERT INTO all_types VALUES ({at}{row})");
            let done = link.relay(&lax, &sql, Format::Text, Target::Primary).await.unwrap();
            assert!(matches!(done, Relay::Done(done) if done.affected_rows == 1), "{sql}");
        }
        for (index, (what, _)) in COLUMNS.iter().enumerate() {
            let sql = format!("SELECT id, c{index} FROM all_types ORDER BY id");
            let (columns, text) = rows_of(&link, &sql, Format::Text).await;
            let (binary_columns, binary) = rows_of(&link, &sql, Format::Binary).await;
            assert_eq!(columns[1].ty.arrow(), binary_columns[1].ty.arrow(), "{what}");
            let again = recode(&binary_columns, &binary, Format::Binary, Format::Binary);
            assert_eq!(again, binary, "{what}");
            let as_text = recode(&binary_columns, &binary, Format::Binary, Format::Text);
            for (ours, theirs) in as_text.iter().zip(&text) {
                assert_eq!(
                    String::from_utf8_lossy(ours),
                    String::from_utf8_lossy(theirs),
                    "{what} on {}",
                    link.version().await.unwrap()
                );
            }
            // The text of a FLOAT says less than its value.
            if !what.starts_with("FLOAT") {
                let as_binary = recode(&columns, &text, Format::Text, Format::Binary);
                assert_eq!(as_binary, binary, "{what}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_described_with_their_own_collations() {
    for link in links().await {
        run(&link, "DROP TABLE IF EXISTS described").await;
        run(
            &link,
            "CREATE TABLE described (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, \
             name VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_german1_ci NOT NULL, \
             price DECIMAL(10,2) DEFAULT 1.5 COMMENT 'what it costs', body LONGTEXT, \
             UNIQUE KEY by_name (name(5), price), KEY by_price (price DESC)) COMMENT='goods'",
        )
        .await;
        link.forget();
        let table = link.table(DATABASE, "described").await.unwrap().unwrap();
        assert_eq!((table.name.as_str(), table.comment.as_str()), ("described", "goods"));
        assert_eq!(table.engine, "InnoDB");
        let [id, name, price, body] = table.columns.as_slice() else { panic!("{table:?}") };
        assert!(id.ty.is_unsigned() && !id.nullable && id.extra == "auto_increment");
        assert_eq!(name.ty.collation.name(), "latin1_german1_ci");
        assert_eq!((name.ty.length, name.sql_type.as_str()), (20, "varchar(20)"));
        assert_eq!((price.ty.precision(), price.ty.decimals), (10, 2));
        assert_eq!(price.comment, "what it costs");
        assert_eq!(body.ty.length, u32::MAX);
        let names: Vec<_> = table.keys.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names, ["PRIMARY", "by_name", "by_price"]);
        let by_name = table.key("BY_NAME").unwrap();
        assert!(by_name.unique && by_name.parts[0].prefix == Some(5));
        assert!(link.table(DATABASE, "nothing").await.unwrap().is_none());
        assert!(link.tables(DATABASE).await.unwrap().iter().any(|t| t.name == "described"));
        assert!(link.databases().await.unwrap().contains(&DATABASE.to_owned()));
    }
}

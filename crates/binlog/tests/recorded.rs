//! Binlog files of real servers (`record.py` says how they came about), replayed into tables in
//! memory; at the end the tables must be what SELECT gave.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, UInt64Type, i256,
};
use bytes::Bytes;
use pelorus_binlog::{
    Decoder, Event, Form, Gtid, Image, ImageBuilder, Images, LogEvent, RowsEvent, RowsKind,
    TableMap, Target, apply_changes,
};
use pelorus_types::temporal::{DateTime, write_date, write_datetime, write_time};
use pelorus_types::{Collation, ColumnType, Flags, WireType, number};
use serde_json::Value;

/// A table as SELECT saw it.
struct Table {
    name: String,
    columns: Vec<Target>,
    rows: Vec<Vec<Option<String>>>,
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn int(value: &Value, key: &str) -> u32 {
    u32::try_from(value[key].as_u64().unwrap()).unwrap()
}

fn column(value: &Value) -> Target {
    let narrow = |key: &str| u8::try_from(int(value, key)).unwrap();
    let mut ty = ColumnType::new(
        WireType::from_byte(narrow("wire")).unwrap(),
        Collation(u16::try_from(int(value, "collation")).unwrap()),
        int(value, "length"),
        narrow("decimals"),
    );
    ty.flags = Flags(u16::try_from(int(value, "flags") & 0xFFFF).unwrap());
    let members = value["members"]
        .as_array()
        .map(|members| members.iter().map(|m| m.as_str().unwrap().to_owned()).collect());
    let form = match value["declared"].as_str().unwrap() {
        "uuid" => Form::Uuid,
        "inet6" => Form::Inet6,
        "inet4" => Form::Inet4,
        _ => Form::Plain,
    };
    let charset = value["charset"].as_str().map(|name| Collation::by_name(name).unwrap());
    Target {
        name: value["name"].as_str().unwrap().to_owned(),
        source: 0,
        ty,
        charset,
        members,
        form,
    }
}

fn expected(name: &str) -> Vec<Table> {
    let text = std::fs::read_to_string(path(&format!("{name}.json"))).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let tables = value["tables"].as_array().unwrap();
    let texts = |row: &Value| {
        row.as_array().unwrap().iter().map(|v| v.as_str().map(str::to_owned)).collect()
    };
    tables
        .iter()
        .map(|table| Table {
            name: table["name"].as_str().unwrap().to_owned(),
            columns: table["columns"].as_array().unwrap().iter().map(column).collect(),
            rows: table["rows"].as_array().unwrap().iter().map(texts).collect(),
        })
        .collect()
}

/// The events of a file, without its magic bytes.
fn raw_events(name: &str) -> Vec<Bytes> {
    let mut rest = Bytes::from(std::fs::read(path(&format!("{name}.binlog"))).unwrap());
    assert_eq!(&rest.split_to(4)[..], b"\xfebin");
    let mut events = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[9..13].try_into().unwrap());
        events.push(rest.split_to(usize::try_from(length).unwrap()));
    }
    events
}

fn events(name: &str) -> Vec<LogEvent> {
    let mut decoder = Decoder::new();
    let mut events = Vec::new();
    for bytes in raw_events(name) {
        decoder.push(bytes).unwrap();
        while let Some(event) = decoder.next_event().unwrap() {
            events.push(event);
        }
    }
    events
}

/// As `record.py` shows values.
fn shown(bytes: &[u8]) -> String {
    let hex = || bytes.iter().fold("x:".to_owned(), |out, byte| out + &format!("{byte:02x}"));
    if bytes.len() > 3000 {
        return format!("crc:{:08x}:{}", crc32fast::hash(bytes), bytes.len());
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.starts_with("x:") && !text.contains('\0') => text.to_owned(),
        _ => hex(),
    }
}

/// A value as the text protocol gives it.
fn text(array: &ArrayRef, row: usize, ty: &ColumnType) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    let mut out = String::new();
    match array.data_type() {
        DataType::Int64 => {
            let value = array.as_primitive::<Int64Type>().value(row);
            match ty.wire {
                WireType::Date => write_date(&mut out, DateTime::unpack(value)),
                WireType::DateTime | WireType::Timestamp => {
                    write_datetime(&mut out, DateTime::unpack(value), ty.decimals);
                }
                WireType::Time => write_time(&mut out, value, ty.decimals),
                _ => out = value.to_string(),
            }
        }
        DataType::UInt64 => {
            let value = array.as_primitive::<UInt64Type>().value(row);
            match ty.wire {
                WireType::Year => out = format!("{value:04}"),
                WireType::Bit => {
                    let width = usize::try_from(ty.length.div_ceil(8)).unwrap();
                    return Some(shown(&value.to_be_bytes()[8 - width..]));
                }
                _ => out = value.to_string(),
            }
        }
        DataType::Float32 => {
            number::write_float(&mut out, array.as_primitive::<Float32Type>().value(row));
        }
        DataType::Float64 => {
            number::write_double(&mut out, array.as_primitive::<Float64Type>().value(row));
        }
        DataType::Decimal128(..) => number::write_decimal(
            &mut out,
            i256::from_i128(array.as_primitive::<Decimal128Type>().value(row)),
            ty.decimals,
        ),
        DataType::Decimal256(..) => number::write_decimal(
            &mut out,
            array.as_primitive::<Decimal256Type>().value(row),
            ty.decimals,
        ),
        DataType::Utf8 => return Some(shown(array.as_string::<i32>().value(row).as_bytes())),
        DataType::Binary => return Some(shown(array.as_binary::<i32>().value(row))),
        other => panic!("{other}"),
    }
    Some(out)
}

type Row = BTreeMap<String, Option<String>>;

/// The rows of a table by their key.
#[derive(Default)]
struct State {
    rows: BTreeMap<i64, Row>,
    before: usize,
}

/// The targets of a table at the moment of the event: by name, or in order where none is told.
fn targets(map: &TableMap, table: &Table) -> Vec<Target> {
    map.columns
        .iter()
        .enumerate()
        .filter_map(|(source, column)| {
            let found = match &column.name {
                Some(name) => table.columns.iter().find(|target| target.name == *name)?,
                None => table.columns.get(source)?,
            };
            Some(Target { source, ..found.clone() })
        })
        .collect()
}

fn images(event: &RowsEvent, targets: &[Target], image: Image) -> (Vec<Row>, Images) {
    let mut builder = ImageBuilder::new(targets.to_vec()).unwrap();
    let count = builder.append(event, image).unwrap();
    let images = builder.finish().unwrap();
    assert_eq!(images.rows, count);
    let rows = (0..count)
        .map(|row| {
            let there = |at: &usize| images.present[*at].as_ref().is_none_or(|p| p.value(row));
            (0..targets.len())
                .filter(there)
                .map(|at| {
                    (targets[at].name.clone(), text(&images.arrays[at], row, &targets[at].ty))
                })
                .collect()
        })
        .collect();
    (rows, images)
}

fn apply(state: &mut State, event: &RowsEvent, table: &Table) {
    let targets = targets(&event.table, table);
    let (before, _) = images(event, &targets, Image::Before);
    let (mut after, told) = images(event, &targets, Image::After);
    let (completed, _) = images(event, &targets, Image::Completed);
    assert_eq!(completed.len(), after.len());
    for (at, row) in completed.iter().enumerate() {
        // What the image of before has and that of after has not is added, and nothing else.
        let mut both = before.get(at).cloned().unwrap_or_default();
        both.extend(after[at].clone());
        assert_eq!(row, &both);
    }
    for change in told.changes {
        let (name, row) = (&targets[change.target].name, &mut after[change.row]);
        let id = row.get("id").or_else(|| before[change.row].get("id")).unwrap().clone().unwrap();
        let old = state.rows[&id.parse::<i64>().unwrap()][name].clone().unwrap();
        row.insert(name.clone(), Some(apply_changes(&old, &change.bytes).unwrap()));
    }
    assert_eq!(before.is_empty(), event.kind == RowsKind::Insert);
    assert_eq!(after.is_empty(), event.kind == RowsKind::Delete);
    let key = |row: &Row| row["id"].as_ref().unwrap().parse::<i64>().unwrap();
    for (at, row) in before.iter().enumerate() {
        state.before += 1;
        let mut old = state.rows.remove(&key(row)).expect("the row is there");
        for (column, value) in row {
            assert_eq!(&old[column], value, "{column} before");
        }
        if let Some(new) = after.get(at) {
            old.extend(new.clone());
            state.rows.insert(key(&old), old);
        }
    }
    if event.kind == RowsKind::Insert {
        for mut row in after {
            for target in &table.columns {
                // What MINIMAL leaves out of an insert has its default.
                let default =
                    if table.name == "wide" && target.name == "c" { Some("7") } else { None };
                row.entry(target.name.clone()).or_insert(default.map(str::to_owned));
            }
            assert!(state.rows.insert(key(&row), row).is_none());
        }
    }
}

/// Replays a file and compares.
fn replay(name: &str) -> Vec<LogEvent> {
    let tables = expected(name);
    let mut states: BTreeMap<&str, State> = BTreeMap::new();
    let events = events(name);
    let mut written = 0;
    for event in &events {
        match &event.event {
            Event::Rows(rows) => {
                assert_eq!(rows.table.database, "rec");
                if let Some(table) = tables.iter().find(|table| table.name == rows.table.table) {
                    written += 1;
                    apply(states.entry(&table.name).or_default(), rows, table);
                }
            }
            Event::Query(query) if query.text().unwrap().contains("ADD COLUMN c") => {
                for row in states.get_mut("flow").unwrap().rows.values_mut() {
                    row.insert("c".to_owned(), Some("1.25".to_owned()));
                }
            }
            _ => {}
        }
    }
    assert!(written > 0);
    for table in &tables {
        let state = &states[table.name.as_str()];
        assert_eq!(state.rows.len(), table.rows.len(), "rows of {}", table.name);
        for (got, wanted) in state.rows.values().zip(&table.rows) {
            for (target, wanted) in table.columns.iter().zip(wanted) {
                assert_eq!(
                    &got[&target.name], wanted,
                    "{name}: {}.{} of row {:?}",
                    table.name, target.name, got["id"]
                );
            }
        }
    }
    events
}

fn gtids(events: &[LogEvent]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match &event.event {
            Event::Gtid(gtid) => gtid.gtid.as_ref().map(Gtid::to_string),
            _ => None,
        })
        .collect()
}

macro_rules! replays {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*
    };
}

replays! {
    mysql_numbers mysql_numbers_bare mysql_times mysql_strings mysql_strings_bare mysql_many
    mysql_transactions mysql_unchecked mysql_minimal mysql_noblob mysql_documents mysql_order
    mysql_large mysql_partial mysql_partial_minimal
    mariadb_numbers mariadb_numbers_bare mariadb_times mariadb_strings mariadb_strings_bare
    mariadb_transactions mariadb_unchecked mariadb_minimal mariadb_noblob mariadb_order
    mariadb_internet
}

#[test]
fn mysql_tagged() {
    let events = replay("mysql_tagged");
    let gtids = gtids(&events);
    let [create, first, second, third] = &gtids[..] else { panic!("{gtids:?}") };
    let (source, _) = create.split_once(':').unwrap();
    let tagged = |gtid: &String| {
        let tail = gtid.strip_prefix(source).unwrap().strip_prefix(":my_tag:").unwrap();
        tail.parse::<u64>().unwrap()
    };
    assert_eq!(tagged(second), tagged(first) + 1);
    assert!(third.starts_with(source) && third.matches(':').count() == 1, "{third}");
    for event in &events {
        if let Event::Gtid(gtid) = &event.event {
            let commit = gtid.immediate_commit.unwrap();
            assert_eq!(gtid.original_commit, Some(commit));
            let seconds = commit / 1_000_000;
            assert!(seconds.abs_diff(u64::from(event.header.timestamp)) < 60);
            assert!(gtid.immediate_server_version.unwrap() >= 90_000);
            assert!(gtid.transaction_length.unwrap() > 100);
            assert!(gtid.sequence_number > gtid.last_committed && gtid.last_committed >= 0);
        }
    }
    let statements: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.event {
            Event::RowsQuery(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
            _ => None,
        })
        .collect();
    assert_eq!(statements[0], "INSERT INTO tagged VALUES (1)");
}

#[test]
fn mysql_compressed() {
    let events = replay("mysql_compressed");
    let payloads: Vec<u64> = events
        .iter()
        .filter_map(|event| match event.event {
            Event::TransactionPayload { uncompressed } => Some(uncompressed),
            _ => None,
        })
        .collect();
    assert_eq!(payloads.len(), 3);
    // What the server says is what came out.
    let inner: u64 = events.iter().filter(|e| e.inner).map(|e| u64::from(e.header.length)).sum();
    assert_eq!(inner, payloads.iter().sum::<u64>());
    let plain = replay("mysql_many");
    let rows = |events: &[LogEvent]| -> usize {
        events.iter().filter(|event| matches!(event.event, Event::Rows(_))).count()
    };
    assert_eq!(rows(&events), rows(&plain));
    replay("mysql_compressed_flow");
}

#[test]
fn mariadb_compressed() {
    let events = replay("mariadb_compressed");
    let kinds: Vec<u8> = events.iter().map(|event| event.header.kind).collect();
    for kind in [165, 166, 167, 168] {
        assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
    }
    assert!(events.iter().any(|event| matches!(&event.event, Event::Query(query)
        if query.text().unwrap().starts_with("CREATE TABLE many"))));
}

#[test]
fn a_transaction_of_each_server_begins_and_ends() {
    for name in ["mysql_transactions", "mariadb_transactions"] {
        let events = events(name);
        let count = |of: &dyn Fn(&Event) -> bool| events.iter().filter(|e| of(&e.event)).count();
        let queries: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.event {
                Event::Query(query) => Some(query),
                _ => None,
            })
            .collect();
        let began =
            |text: &str| queries.iter().filter(|q| q.text().unwrap().starts_with(text)).count();
        // MariaDB's GTID event stands for BEGIN.
        assert_eq!(began("BEGIN") >= 4, name.starts_with("mysql"), "{name}");
        assert!(count(&|event| matches!(event, Event::Xid(_))) >= 4, "{name}");
        assert_eq!(began("ALTER TABLE flow ADD"), 1);
        let create = queries.iter().find(|q| q.text().unwrap().contains("`tête`")).unwrap();
        assert_eq!((create.database.as_str(), create.error), ("rec", 0));
        assert_eq!(create.status.client.unwrap().charset(), "utf8mb4");
        assert!(create.status.sql_mode.is_some());
        let prepared: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.event {
                Event::XaPrepare(prepare) => Some(prepare),
                _ => None,
            })
            .collect();
        assert_eq!(prepared.len(), 1, "{name}");
        assert_eq!(prepared[0].xid.global, b"x1");
        assert_eq!((prepared[0].xid.branch.as_slice(), prepared[0].xid.format), (&b"y"[..], 7));
        assert!(!prepared[0].one_phase);
        assert!(matches!(&events.last().unwrap().event,
            Event::Rotate(rotate) if rotate.position == 4 && !rotate.artificial));
    }
}

#[test]
fn mariadb_says_what_its_transactions_are() {
    let events = events("mariadb_transactions");
    let flags: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.event {
            Event::Gtid(gtid) => gtid.mariadb.clone(),
            _ => None,
        })
        .collect();
    assert!(flags[0].ddl && flags[0].standalone && flags[0].xid.is_none());
    assert!(flags[1].transactional && !flags[1].standalone);
    let prepared = flags.iter().find(|flags| flags.prepared_xa).unwrap();
    assert_eq!(prepared.xid.as_ref().unwrap().global, b"x1");
    assert!(flags.iter().any(|flags| flags.completed_xa));
    let gtids = gtids(&events);
    let sequence = |gtid: &String| gtid.strip_prefix("0-1-").unwrap().parse::<u64>().unwrap();
    assert!(gtids.windows(2).all(|pair| sequence(&pair[1]) == sequence(&pair[0]) + 1));
    assert!(
        events
            .iter()
            .any(|event| matches!(&event.event, Event::GtidList(list) if !list.gtids.is_empty()))
    );
    assert!(events.iter().any(
        |event| matches!(&event.event, Event::BinlogCheckpoint(file) if file.starts_with("bin."))
    ));
    assert!(events.iter().any(|event| matches!(&event.event, Event::RowsQuery(text) if text.starts_with(b"INSERT INTO flow"))));
}

#[test]
fn the_table_is_described() {
    let events = events("mysql_order");
    let map = events
        .iter()
        .find_map(|event| match &event.event {
            Event::TableMap(map) => Some(map),
            _ => None,
        })
        .unwrap();
    assert_eq!((map.database.as_str(), map.table.as_str()), ("rec", "order"));
    assert_eq!(map.primary_key.as_deref(), Some(&[(0, 0)][..]));
    let column = |name: &str| map.columns.iter().find(|c| c.name.as_deref() == Some(name)).unwrap();
    assert_eq!((column("id").unsigned, column("id").nullable), (Some(false), false));
    assert_eq!((column("u").unsigned, column("u").nullable), (Some(true), true));
    assert_eq!(column("p").geometry, Some(1));
    assert_eq!(column("v").dimensions, Some(2));
    assert_eq!(column("l").collation.unwrap().charset(), "latin1");
    assert_eq!(column("e").members.as_deref(), Some(&[b"a".to_vec(), b"b".to_vec()][..]));
    assert_eq!(column("s").members.as_deref(), Some(&[b"\xe9".to_vec(), b"b".to_vec()][..]));
    assert!(map.columns.iter().all(|column| column.visible == Some(true)));
}

#[test]
fn dumps_begin_with_a_rotate_that_is_in_no_file() {
    for name in
        ["mysql_stream_crc32", "mysql_stream_none", "mariadb_stream_crc32", "mariadb_stream_none"]
    {
        let events = events(name);
        let Event::Rotate(rotate) = &events[0].event else { panic!("{:?}", events[0]) };
        assert!(rotate.artificial && rotate.position == 4, "{name}");
        assert!(rotate.file.starts_with("bin.") && rotate.file.len() == 10, "{name}: {rotate:?}");
        let Event::FormatDescription(format) = &events[1].event else { panic!("{:?}", events[1]) };
        assert_eq!(format.is_mariadb(), name.starts_with("mariadb"));
        let view = |event: &LogEvent| match &event.event {
            Event::Query(query) => query.text().unwrap().contains("VIEW"),
            _ => false,
        };
        assert!(events.iter().any(view), "{name}");
    }
}

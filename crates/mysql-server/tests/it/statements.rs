//! Statements in text and the small commands.

use std::time::Duration;

use pelorus_mysql_wire::auth::CACHING_SHA2;
use pelorus_mysql_wire::command::{self, Code};
use pelorus_mysql_wire::rows::Format;
use pelorus_mysql_wire::{Capabilities, ServerStatus, response};

use crate::client::{Client, Options};
use crate::scripted::Script;

async fn client() -> (std::sync::Arc<Script>, Client) {
    client_with(Options::new("open", "")).await
}

async fn client_with(options: Options) -> (std::sync::Arc<Script>, Client) {
    let script = Script::new();
    script.account("open", CACHING_SHA2, b"");
    let address = script.start().await;
    let client = Client::connect(address, options).await.unwrap();
    (script, client)
}

#[tokio::test]
async fn counts_and_errors_come_and_the_connection_goes_on() {
    let (_script, mut client) = client().await;
    let done = client.query("ok").await.unwrap().end;
    assert_eq!((done.affected_rows, done.last_insert_id, done.warnings), (3, 7, 1));
    assert_eq!(done.info, "Records: 3");
    assert!(done.status.has(ServerStatus::AUTOCOMMIT));
    let error = client.query("fail").await.unwrap_err();
    assert_eq!((error.errno(), error.sqlstate()), (1146, *b"42S02"));
    assert_eq!(client.query("rows 2").await.unwrap().rows, 2);
}

#[tokio::test]
async fn rows_come_whole_with_and_without_eof_packets() {
    for extra in [Capabilities::DEPRECATE_EOF, Capabilities::default()] {
        let (_script, mut client) = client_with(Options::new("open", "").extra(extra)).await;
        for count in [0, 1, 999, 100_000] {
            let answer = client.query(&format!("rows {count}")).await.unwrap();
            assert_eq!((answer.rows, answer.end.warnings), (count, 2));
            assert_eq!(answer.columns, crate::scripted::columns());
        }
        assert_eq!(client.query("relay 5000").await.unwrap().rows, 5000);
        let wide = client.query("wide 17000000").await.unwrap();
        assert_eq!(wide.batch.unwrap().column(1).len(), 1);
    }
}

#[tokio::test]
async fn results_that_break_end_in_an_error() {
    let (_script, mut client) = client().await;
    assert_eq!(client.query("break").await.unwrap_err().errno(), 1430);
    // A stream that just stops is never taken for a whole result.
    assert_eq!(client.query("stop").await.unwrap_err().errno(), 1105);
    client.query("ok").await.unwrap();
}

#[tokio::test]
async fn several_statements_give_several_results_up_to_the_first_error() {
    let (_script, mut client) = client().await;
    let first = client.query("ok; rows 3; fail; ok").await.unwrap();
    assert!(first.has_more());
    let second = client.answer(Format::Text).await.unwrap();
    assert!(second.has_more() && second.rows == 3);
    assert_eq!(client.answer(Format::Text).await.unwrap_err().errno(), 1146);
    assert!(!client.query("ok").await.unwrap().has_more());

    // Off again: the whole text is one statement.
    let ok = client.command(|out| command::put_set_option(out, 1)).await.unwrap();
    assert!(ok.status.has(ServerStatus::AUTOCOMMIT));
    assert_eq!(client.query("ok; ok").await.unwrap_err().errno(), 1235);
    client.command(|out| command::put_set_option(out, 0)).await.unwrap();
    assert!(client.query("ok; ok").await.unwrap().has_more());
    client.answer(Format::Text).await.unwrap();
    let error = client.command(|out| command::put_set_option(out, 5)).await.unwrap_err();
    assert_eq!(error.errno(), 1047);
}

#[tokio::test]
async fn results_do_not_wait_for_the_statement_behind() {
    let (_script, mut client) = client().await;
    for sql in ["ok; wait", "rows 3; ok; wait"] {
        let first = tokio::time::timeout(Duration::from_secs(20), client.query(sql)).await;
        assert!(first.expect("it waits for the next one").unwrap().has_more());
        client = client_with(Options::new("open", "")).await.1;
    }
}

#[tokio::test]
async fn clients_that_did_not_ask_get_no_several_statements() {
    let options = Options::new("open", "").extra(Capabilities::DEPRECATE_EOF);
    let (_script, mut client) = client_with(options).await;
    assert_eq!(client.query("ok; ok").await.unwrap_err().errno(), 1235);
}

#[tokio::test]
async fn small_commands_are_answered() {
    let (_script, mut client) = client().await;
    client.command(|out| command::put_plain(out, Code::Ping)).await.unwrap();
    client.command(|out| command::put_text(out, Code::InitDb, b"other")).await.unwrap();
    let answer = client.query("who").await.unwrap();
    assert!(format!("{:?}", answer.batch).contains("other"));
    client.command(|out| command::put_plain(out, Code::ResetConnection)).await.unwrap();

    client.send(|out| command::put_plain(out, Code::Statistics)).await.unwrap();
    assert_eq!(client.read().await.unwrap(), "Uptime: 1");

    client.send(|out| command::put_field_list(out, b"t", b"")).await.unwrap();
    for expected in crate::scripted::columns() {
        let payload = client.read().await.unwrap();
        assert_eq!(response::parse_column(&payload).unwrap(), expected);
        assert_eq!(payload.last(), Some(&0xFB));
    }
    client.read().await.unwrap();

    for code in [0x0A, 0x0D, 0x12, 0xFA] {
        let error = client.command(|out| out.extend_from_slice(&[code])).await.unwrap_err();
        assert_eq!((error.errno(), error.message()), (1047, "Unknown command"));
    }
    client.query("ok").await.unwrap();
    client.send(|out| command::put_plain(out, Code::Quit)).await.unwrap();
    assert!(client.read().await.is_err());
}

#[tokio::test]
async fn text_in_the_clients_charset_is_understood_and_other_text_is_an_error() {
    let (_script, mut utf8) = client().await;
    let error =
        utf8.command(|out| command::put_text(out, Code::Query, b"caf\xe9")).await.unwrap_err();
    assert_eq!(error.errno(), 1300);
    utf8.query("ok").await.unwrap();

    let options = Options { collation: 8, ..Options::new("open", "") };
    let (_script, mut latin1) = client_with(options).await;
    let error =
        latin1.command(|out| command::put_text(out, Code::Query, b"caf\xe9")).await.unwrap_err();
    assert!(error.message().contains("café"), "{}", error.message());

    // Its results come in its charset too.
    latin1.send(|out| command::put_text(out, Code::Query, b"cafe")).await.unwrap();
    let mut payloads = Vec::new();
    for _ in 0..5 {
        payloads.push(latin1.read().await.unwrap());
    }
    assert_eq!(response::parse_column(&payloads[2]).unwrap().ty.collation.0, 8);
    assert_eq!(payloads[3], &b"\x010\x04caf\xe9"[..]);
}

#[tokio::test]
async fn rows_arrive_while_the_next_ones_let_wait() {
    let (script, mut client) = client().await;
    client.send(|out| command::put_text(out, Code::Query, b"stall")).await.unwrap();
    // The number of columns, two columns, two rows.
    for _ in 0..5 {
        tokio::time::timeout(Duration::from_secs(5), client.read()).await.unwrap().unwrap();
    }
    assert_eq!(script.running(), 1);
    drop(client);
    script.wait_until_running(0).await;
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_statement() {
    let (script, mut client) = client().await;
    client.send(|out| command::put_text(out, Code::Query, b"wait")).await.unwrap();
    script.wait_until_running(1).await;
    drop(client);
    script.wait_until_running(0).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_up_its_rows() {
    let (script, mut client) = client().await;
    client.send(|out| command::put_text(out, Code::Query, b"rows 20000000")).await.unwrap();
    script.wait_until_running(1).await;
    // Until no more rows are made, which would be all of them if nothing held them up.
    let mut given = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = script.given.load(std::sync::atomic::Ordering::SeqCst);
        if now > 0 && now == given {
            break;
        }
        given = now;
    }
    assert!(given < 5_000_000, "{given} rows were made for nobody");
    assert_eq!(script.running(), 1);
    drop(client);
    script.wait_until_running(0).await;
}

#[tokio::test]
async fn commands_sent_ahead_are_answered_in_turn() {
    let (_script, mut client) = client().await;
    for _ in 0..3 {
        client.begin();
        client.writer.packet(|out| command::put_text(out, Code::Query, b"rows 10"));
    }
    client.flush().await.unwrap();
    for _ in 0..3 {
        client.expect_answer();
        assert_eq!(client.answer(Format::Text).await.unwrap().rows, 10);
    }
}

#[tokio::test]
async fn a_kill_ends_a_running_statement_and_an_idle_connection() {
    let (script, mut client) = client().await;
    client.send(|out| command::put_text(out, Code::Query, b"wait")).await.unwrap();
    script.wait_until_running(1).await;
    let id = client.greeting.connection_id;
    script.killed.send_replace(id.into());
    assert_eq!(client.answer(Format::Text).await.unwrap_err().errno(), 1317);
    script.wait_until_running(0).await;
    assert!(client.query("ok").await.is_err());
}

/// A client that has been asked for its file.
async fn loading() -> (std::sync::Arc<Script>, Client) {
    let extra = Capabilities::DEPRECATE_EOF.with(Capabilities::LOCAL_FILES);
    let (script, mut client) = client_with(Options::new("open", "").extra(extra)).await;
    client.send(|out| command::put_text(out, Code::Query, b"file")).await.unwrap();
    assert_eq!(client.read().await.unwrap(), &b"\xfbf"[..]);
    (script, client)
}

#[tokio::test]
async fn a_kill_ends_a_connection_whose_file_lets_wait() {
    let (script, mut client) = loading().await;
    client.writer.packet(|out| out.extend_from_slice(b"1,2\n"));
    client.flush().await.unwrap();
    while script.given.load(std::sync::atomic::Ordering::SeqCst) < 4 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    script.killed.send_replace(client.greeting.connection_id.into());
    // Not what a client is told that sends nothing for too long.
    assert!(client.read().await.is_err());
}

#[tokio::test]
async fn the_rest_of_a_file_is_read_behind_a_packet_that_is_too_large() {
    let (_script, mut client) = loading().await;
    client.writer.packet(|out| out.resize(21 << 20, b'x'));
    client.writer.packet(|out| out.extend_from_slice(b"more"));
    client.writer.packet(|_| {});
    client.flush().await.unwrap();
    assert_eq!(client.answer(Format::Text).await.unwrap_err().errno(), 1153);
    client.query("ok").await.unwrap();
}

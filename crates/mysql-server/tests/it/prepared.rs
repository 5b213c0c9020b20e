//! Prepared statements: parameters, long data, cursors.

use std::sync::Arc;

use pelorus_engine::api::Parameter;
use pelorus_mysql_wire::auth::CACHING_SHA2;
use pelorus_mysql_wire::command::{self, Code};
use pelorus_mysql_wire::prepared::{self, Value};
use pelorus_mysql_wire::rows::Format;
use pelorus_mysql_wire::{Capabilities, ServerStatus};

use crate::client::{Client, Options};
use crate::scripted::Script;

async fn client(extra: Capabilities) -> (Arc<Script>, Client) {
    let script = Script::new();
    script.account("open", CACHING_SHA2, b"");
    let address = script.start().await;
    let options = Options::new("open", "").extra(extra);
    let client = Client::connect(address, options).await.unwrap();
    (script, client)
}

#[tokio::test]
async fn statements_are_prepared_run_and_closed() {
    for extra in [Capabilities::DEPRECATE_EOF, Capabilities::default()] {
        let (script, mut client) = client(extra).await;
        let (ok, columns) = client.prepare("rows 7??").await.unwrap();
        assert_eq!((ok.parameters, ok.columns), (2, 2));
        assert_eq!(columns, crate::scripted::columns());
        let values = [Value::Int(-5), Value::Text("née".as_bytes())];
        assert_eq!(client.execute(ok.id, &values).await.unwrap().rows, 7);
        assert_eq!(
            *script.parameters.lock(),
            [Parameter::Int(-5), Parameter::Text("née".to_owned())]
        );
        client.command(|out| command::put_number(out, Code::StmtReset, ok.id)).await.unwrap();
        client.send(|out| command::put_number(out, Code::StmtClose, ok.id)).await.unwrap();
        let error = client.execute(ok.id, &values).await.unwrap_err();
        assert_eq!(error.errno(), 1243);
        assert_eq!(client.prepare("fail").await.unwrap_err().errno(), 1064);
        client.query("ok").await.unwrap();
    }
}

#[tokio::test]
async fn mariadbs_clients_can_mean_the_last_statement() {
    let (_script, mut client) = client(Capabilities::DEPRECATE_EOF).await;
    client.prepare("rows 4").await.unwrap();
    assert_eq!(client.execute(prepared::LAST_PREPARED, &[]).await.unwrap().rows, 4);
    // One that could not be prepared is not the one before.
    assert_eq!(client.prepare("fail").await.unwrap_err().errno(), 1064);
    let error = client.execute(prepared::LAST_PREPARED, &[]).await.unwrap_err();
    assert_eq!(error.errno(), 1243);
}

#[tokio::test]
async fn long_data_comes_in_pieces() {
    let (script, mut client) = client(Capabilities::DEPRECATE_EOF).await;
    let (ok, _) = client.prepare("ok?").await.unwrap();
    for piece in [&b"long "[..], b"data"] {
        client.send(|out| command::put_long_data(out, ok.id, 0, piece)).await.unwrap();
    }
    // The value itself is not sent then, only its type.
    let execute = |out: &mut bytes::BytesMut| {
        prepared::put_execute(out, ok.id, 0, &[Value::Null]);
        let end = out.len();
        out[end - 3..].copy_from_slice(&[1, 252, 0]);
        out[end - 4] = 0;
    };
    client.command(execute).await.unwrap();
    assert_eq!(*script.parameters.lock(), [Parameter::Bytes(b"long data".to_vec())]);

    let too_much = vec![0; 15 << 20];
    for _ in 0..2 {
        client.send(|out| command::put_long_data(out, ok.id, 0, &too_much)).await.unwrap();
    }
    assert_eq!(client.execute(ok.id, &[Value::Int(1)]).await.unwrap_err().errno(), 1105);
    client.execute(ok.id, &[Value::Int(1)]).await.unwrap();
    client.send(|out| command::put_long_data(out, ok.id, 9, b"x")).await.unwrap();
    assert_eq!(client.execute(ok.id, &[Value::Int(1)]).await.unwrap_err().errno(), 1210);
}

#[tokio::test]
async fn cursors_give_rows_by_the_portion() {
    for extra in [Capabilities::DEPRECATE_EOF, Capabilities::default()] {
        let (_script, mut client) = client(extra).await;
        let (ok, _) = client.prepare("rows 2500").await.unwrap();
        let (columns, end) = client.open(ok.id).await.unwrap();
        assert_eq!(columns.len(), 2);
        assert!(end.status.has(ServerStatus::CURSOR_EXISTS));
        let mut all = 0;
        loop {
            let portion = client.fetch(ok.id, 1000).await.unwrap();
            all += portion.rows;
            assert!(portion.end.status.has(ServerStatus::CURSOR_EXISTS));
            if portion.end.status.has(ServerStatus::LAST_ROW_SENT) {
                break;
            }
            assert_eq!(portion.rows, 1000);
        }
        assert_eq!(all, 2500);
        client.command(|out| command::put_number(out, Code::StmtReset, ok.id)).await.unwrap();
        assert_eq!(client.fetch(ok.id, 1).await.unwrap_err().errno(), 1421);
    }
}

#[tokio::test]
async fn other_statements_run_while_a_cursor_is_open() {
    let (script, mut client) = client(Capabilities::DEPRECATE_EOF).await;
    let (ok, _) = client.prepare("rows 5000").await.unwrap();
    client.open(ok.id).await.unwrap();
    assert_eq!(client.fetch(ok.id, 10).await.unwrap().rows, 10);
    client.query("ok").await.unwrap();
    // Its rows wait in memory, and what made them is free.
    assert_eq!(script.running(), 0);
    assert_eq!(client.fetch(ok.id, 10_000).await.unwrap().rows, 4990);
}

#[tokio::test]
async fn a_statement_without_rows_opens_no_cursor() {
    let (_script, mut client) = client(Capabilities::DEPRECATE_EOF).await;
    let (ok, _) = client.prepare("ok").await.unwrap();
    client
        .send(|out| prepared::put_execute(out, ok.id, command::CURSOR_READ_ONLY, &[]))
        .await
        .unwrap();
    assert_eq!(client.answer(Format::Binary).await.unwrap().end.affected_rows, 3);
}

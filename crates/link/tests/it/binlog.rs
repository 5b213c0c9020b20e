//! Positions in the binlogs of real servers, and following them.

mod failures;
mod following;
mod positions;

use std::time::Duration;

use bytes::Bytes;
use pelorus_env::Env;
use pelorus_link::binlog::server_id_of;
use pelorus_link::{FollowRequest, Follower, Link};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;

use crate::servers::{DATABASE, config, run, sources};

/// Types of events.
const ROTATE: u8 = 4;
const HEARTBEAT: u8 = 27;
/// Nothing here takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Binlogs are rotated and purged: one test at a time.
async fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::const_new(());
    ALONE.lock().await
}

/// Links to all sources that are given, with an empty table `name` of texts.
async fn links(name: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (_, endpoint) in sources() {
        let link = Link::open(config(&endpoint), Env::real()).await.unwrap();
        run(&link, &format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")).await;
        run(&link, &format!("DROP TABLE IF EXISTS {name}")).await;
        run(&link, &format!("CREATE TABLE {name} (v VARCHAR(100) PRIMARY KEY)")).await;
        links.push(link);
    }
    links
}

fn tables(name: &str) -> Vec<(String, String)> {
    vec![(DATABASE.to_owned(), name.to_owned())]
}

/// A row's text. It is long, so that no time stamp and no checksum of an event looks like it.
fn text_of(marker: &str) -> String {
    format!("the row of {marker};")
}

async fn insert(link: &Link, table: &str, marker: &str) {
    run(link, &format!("INSERT INTO {table} VALUES ('{}')", text_of(marker))).await;
}

/// Follows from a position with quick heartbeats.
fn request(position: pelorus_binlog::Position) -> FollowRequest {
    let id = server_id_of("tests of following");
    let heartbeat = Duration::from_millis(300);
    FollowRequest { heartbeat, ..FollowRequest::new(position, id) }
}

async fn next(follower: &mut Follower) -> Bytes {
    let event = timeout(PATIENCE, follower.next()).await.unwrap().unwrap().unwrap();
    let length = u32::from_le_bytes(event[9..13].try_into().unwrap());
    assert_eq!(length as usize, event.len(), "an event of type {}", event[4]);
    event
}

fn holds(event: &[u8], marker: &str) -> bool {
    let marker = text_of(marker);
    event.windows(marker.len()).any(|window| window == marker.as_bytes())
}

/// Reads up to the event that holds a marker; gives all events.
async fn until(follower: &mut Follower, marker: &str) -> Vec<Bytes> {
    let mut events = Vec::new();
    loop {
        let event = next(follower).await;
        let found = holds(&event, marker);
        events.push(event);
        if found {
            return events;
        }
    }
}

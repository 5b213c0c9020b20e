//! The commands of a replica: registration, and the binlog dump.

use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes};
use pelorus_binlog::GtidSet;
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::lenenc::malformed;
use pelorus_mysql_wire::response::{EOF, ERR, OK, parse_err};
use tokio::time::timeout;

use super::{Connection, Phase, command};

/// The start of a dump that does not start at a position in a file.
const FIRST_EVENT: u64 = 4;

/// Flag of a dump: a MariaDB sends the statements that rows come from.
const SEND_ANNOTATE_ROWS: u16 = 2;

/// Bytes that may wait in a socket without waking the reader.
const MUCH: i32 = 1 << 20;

/// Where a dump starts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From<'a> {
    /// After these transactions, on a MySQL.
    Set(&'a GtidSet),
    /// Where the session's `@slave_connect_state` says, on a MariaDB.
    State,
    /// In this file at this offset.
    Place(&'a str, u32),
}

/// The result of reading an event.
#[derive(Debug)]
pub(crate) enum Dumped {
    /// An event.
    Event(Bytes),
    /// The end of the binlog, which servers send only to replicas that do not wait.
    End,
    /// Nothing yet.
    Nothing,
}

impl Connection {
    /// Makes the server list this connection among its replicas.
    pub(crate) async fn register_replica(&mut self, server_id: u32) -> Result<()> {
        let mut rest = Vec::with_capacity(32);
        rest.put_u32_le(server_id);
        // The host that SHOW REPLICAS shows; neither user nor password, no port.
        rest.put_slice(b"\x07pelorus");
        rest.put_slice(&[0, 0]);
        rest.put_u16_le(0);
        // Rank and source, which no server reads any more.
        rest.put_u32_le(0);
        rest.put_u32_le(0);
        self.queue(command::REGISTER_REPLICA, &rest);
        self.flush().await?;
        self.done().await.map(|_| ())
    }

    /// Asks for the binlog. From now on the connection is of use for [`Self::dumped`] only, and
    /// silence is for its caller to judge. `statements`: with those that rows come from (MariaDB).
    pub(crate) async fn start_dump(
        &mut self,
        from: From<'_>,
        server_id: u32,
        statements: bool,
    ) -> Result<()> {
        let mut rest = Vec::new();
        match from {
            From::Set(set) => {
                let set = set.encode();
                let length = u32::try_from(set.len())
                    .map_err(|_| Error::new(Code::PacketTooLarge, "the GTID set is too large"))?;
                // No flags: go on for ever.
                rest.put_u16_le(0);
                rest.put_u32_le(server_id);
                rest.put_u32_le(0);
                rest.put_u64_le(FIRST_EVENT);
                rest.put_u32_le(length);
                rest.put_slice(&set);
                self.queue(command::BINLOG_DUMP_GTID, &rest);
            }
            From::State | From::Place(..) => {
                let (file, offset) = match from {
                    From::Place(file, offset) => (file, offset),
                    _ => ("", 4),
                };
                rest.put_u32_le(offset);
                rest.put_u16_le(if statements { SEND_ANNOTATE_ROWS } else { 0 });
                rest.put_u32_le(server_id);
                rest.put_slice(file.as_bytes());
                self.queue(command::BINLOG_DUMP, &rest);
            }
        }
        self.flush().await?;
        self.begin_answer();
        self.phase = Phase::Other;
        self.probe = None;
        Ok(())
    }

    /// The next event, waiting for at most `silence` between any two bytes. Cancel-safe: nothing is
    /// lost.
    ///
    /// # Errors
    /// The server's own; 1430 when it went away or is silent.
    pub(crate) async fn dumped(&mut self, silence: Duration) -> Result<Dumped> {
        loop {
            match self.dumped_already()? {
                Dumped::Nothing => {}
                found => return Ok(found),
            }
            match timeout(silence, self.fill()).await {
                Ok(filled) => filled?,
                Err(_) => {
                    let seconds = silence.as_secs_f64();
                    return Err(self.gone(format_args!("nothing came for {seconds:.0} s")));
                }
            }
        }
    }

    /// Sleeps, also through what arrives, if it is less than [`MUCH`].
    pub(crate) async fn sleep(&self, time: Duration) {
        self.stream.tell_from(MUCH);
        tokio::time::sleep(time).await;
        self.stream.tell_from(1);
    }

    /// The next event that has arrived as a whole, without waiting.
    pub(crate) fn dumped_already(&mut self) -> Result<Dumped> {
        let payload = self.reader.next_bytes().inspect_err(|_| self.broken = true)?;
        let Some(mut payload) = payload else { return Ok(Dumped::Nothing) };
        match payload.first() {
            Some(&OK) => {
                payload.advance(1);
                Ok(Dumped::Event(payload))
            }
            Some(&EOF) if payload.len() < 9 => {
                self.broken = true;
                Ok(Dumped::End)
            }
            Some(&ERR) => {
                self.broken = true;
                Err(parse_err(&payload))
            }
            _ => {
                self.broken = true;
                Err(malformed("no event"))
            }
        }
    }
}

//! [`Follower`]: a connection that reads the binlog as a replica does.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pelorus_binlog::Position;
use pelorus_error::{Code, Error};

use super::{FollowError, FollowFailure, FollowRequest};
use crate::connection::{Connection, Dumped, From};
use crate::server::Server;
use crate::split::quote_text;

/// Reads a server's binlog from a position on. Dropping it closes the connection.
#[derive(Debug)]
pub struct Follower {
    connection: Connection,
    /// The first event, which came when following began.
    first: Option<Bytes>,
    server_id: u32,
    silence: Duration,
    ended: bool,
}

impl Follower {
    /// Connects, registers, requests the binlog and waits for the first event.
    pub(super) async fn start(
        server: Arc<Server>,
        request: &FollowRequest,
    ) -> Result<Follower, FollowError> {
        let sort = |error| FollowError::sort(error, server.label(), request.server_id);
        let connection = server.make_apart().await.map_err(sort)?;
        let mut follower = Follower {
            connection,
            first: None,
            server_id: request.server_id,
            silence: request.silence,
            ended: false,
        };
        follower.introduce(request).await?;
        let from = start_of(&request.position, server.label())?;
        let connection = &mut follower.connection;
        connection.register_replica(request.server_id).await.map_err(sort)?;
        let dump = connection.start_dump(from, request.server_id, request.statements);
        dump.await.map_err(sort)?;
        // A source begins with the name of the file, or says why it cannot.
        follower.first = follower.next().await?;
        Ok(follower)
    }

    /// Sends the variables that a replica sets.
    async fn introduce(&mut self, request: &FollowRequest) -> Result<(), FollowError> {
        let is_mariadb = self.connection.version().is_mariadb;
        let set = introduction(request, is_mariadb);
        let answers = self.connection.rows_of_each(&["SELECT @@global.server_id", &set]).await;
        let mut answers = answers.map_err(|error| self.sort(error))?;
        answers.pop().transpose().map_err(|error| self.sort(error))?;
        let ids = answers.pop().transpose().map_err(|error| self.sort(error))?;
        let its = ids.as_ref().and_then(|rows| rows.single()).unwrap_or_default();
        if its == request.server_id.to_string() {
            let label = self.connection.label();
            let text = format!(
                "{label}: it has the server_id {its} itself; each replica needs one of its own"
            );
            let error = Error::new(Code::WrongArguments, text);
            return Err(FollowError::new(FollowFailure::Collision, error));
        }
        Ok(())
    }

    /// The next event, without the byte before it; `None` at the end of the binlog, which occurs
    /// only with sources that never wait. Waits for as long as heartbeats come. Cancel-safe: no
    /// event is lost.
    ///
    /// # Errors
    /// See [`FollowFailure`]. Following is over then.
    pub async fn next(&mut self) -> Result<Option<Bytes>, FollowError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        if self.ended {
            return Ok(None);
        }
        match self.connection.dumped(self.silence).await {
            Ok(Dumped::Event(event)) => Ok(Some(event)),
            Ok(Dumped::End | Dumped::Nothing) => {
                self.ended = true;
                Ok(None)
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// The next event if it has arrived, without waiting.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub fn arrived(&mut self) -> Result<Option<Bytes>, FollowError> {
        if self.first.is_some() || self.ended {
            return Ok(self.first.take());
        }
        match self.connection.dumped_already() {
            Ok(Dumped::Event(event)) => Ok(Some(event)),
            Ok(Dumped::Nothing) => Ok(None),
            Ok(Dumped::End) => {
                self.ended = true;
                Ok(None)
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Waits so long without reading arriving events, which saves a wake-up for each transaction.
    /// To be called again when it was dropped, or else events may come late.
    pub async fn sleep(&self, time: Duration) {
        self.connection.sleep(time).await;
    }

    /// The source's number of the connection, as its process list shows it.
    pub fn connection_id(&self) -> u32 {
        self.connection.id()
    }

    fn fail(&mut self, error: Error) -> FollowError {
        self.ended = true;
        self.sort(error)
    }

    fn sort(&self, error: Error) -> FollowError {
        FollowError::sort(error, self.connection.label(), self.server_id)
    }
}

/// Where the dump of a position starts.
fn start_of<'a>(position: &'a Position, label: &str) -> Result<From<'a>, FollowError> {
    match position {
        Position::MySql(set) => Ok(From::Set(set)),
        Position::MariaDb(_) => Ok(From::State),
        Position::File { file, offset } => {
            let offset = u32::try_from(*offset).map_err(|_| {
                let text = format!(
                    "{label}: no replica can ask for what lies beyond 4 GiB in a binlog file \
                     ({file}, {offset}); GTIDs would help"
                );
                FollowError::new(FollowFailure::Beyond, Error::new(Code::OutOfRange, text))
            })?;
            Ok(From::Place(file, offset))
        }
    }
}

/// The variables by which a replica tells what it understands and wants. Each has an old name and
/// a new one; a server looks at the one that it knows.
fn introduction(request: &FollowRequest, is_mariadb: bool) -> String {
    // In nanoseconds, as a number that every version reads.
    let heartbeat = request.heartbeat.as_nanos().min(4_000_000_000_000_000_000);
    // In the range of UUIDs of one's own making: our name, then the server_id. A source ends the
    // older of two connections of one UUID, which is ours from before a line broke.
    let uuid = format!("70656c6f-7275-7300-8000-0000{:08x}", request.server_id);
    let mut variables = Vec::new();
    for name in ["master", "source"] {
        variables.push(format!("@{name}_binlog_checksum = @@global.binlog_checksum"));
        variables.push(format!("@{name}_heartbeat_period = {heartbeat}"));
    }
    if is_mariadb {
        // GTIDs and all events that a MariaDB of version 10 knows.
        variables.push("@mariadb_slave_capability = 4".to_owned());
    } else {
        variables.push(format!("@slave_uuid = '{uuid}', @replica_uuid = '{uuid}'"));
    }
    if let Position::MariaDb(position) = &request.position {
        variables.push(format!("@slave_connect_state = {}", quote_text(&position.to_string())));
        variables.push("@slave_gtid_strict_mode = 0, @slave_gtid_ignore_duplicates = 0".to_owned());
    }
    format!("SET {}", variables.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_starts_below_4_gib() {
        let place = |offset| Position::File { file: "bin.000007".to_owned(), offset };
        let last = place(u64::from(u32::MAX));
        let found = start_of(&last, "server 'shop'").unwrap();
        assert!(matches!(found, From::Place("bin.000007", u32::MAX)));
        let error = start_of(&place(1 << 32), "server 'shop'").err().unwrap();
        assert_eq!(error.failure(), FollowFailure::Beyond);
        assert!(error.to_string().contains("bin.000007, 4294967296"), "{error}");
    }
}

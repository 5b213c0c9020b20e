//! Records of mirrors and sources, as values of the store.
//!
//! | key | value |
//! | --- | --- |
//! | `mirror/LINK/0DATABASE/0TABLE` (`/0` is a zero byte) | [`MirrorRecord`], JSON |
//! | `mirrored/LINK/0DATABASE` | a database all of whose tables are mirrored: [`DatabaseRecord`], JSON |
//! | `source/LINK` | [`SourceRecord`], JSON |
//! | `at/LINK` | the position up to which the stream has been applied, as text |
//! | `xa/LINK/0XID` | the tables that a prepared XA transaction has changed: `XaTables`, JSON |
//! | `whole/LINK` | when the copies were known to be complete, in microseconds since 1970, as text |
//!
//! The position is separate, because it is written with every batch of changes. (The engine keeps
//! `zone/LINK`, the server's time zone.)

use std::collections::BTreeSet;

use pelorus_error::{Code, Error, Result};
use pelorus_store::Database;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::model::foreign_key::ForeignKey;
use crate::model::name::MirrorName;

/// Where a mirror is on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waits for its server, or for its turn.
    #[default]
    Waiting,
    /// Its rows are read for the first time.
    Loading,
    /// All rows have been read; the changes of meanwhile are being applied.
    CatchingUp,
    /// It follows its table, and queries read it.
    Live,
    /// The user has paused it.
    Paused,
    /// It cannot continue without an intervention; `reason` explains why.
    Failed,
}

impl State {
    /// How people read it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Loading => "loading",
            Self::CatchingUp => "catching up",
            Self::Live => "live",
            Self::Paused => "paused",
            Self::Failed => "failed",
        }
    }

    /// Whether changes of the stream are applied to it.
    pub fn follows(self) -> bool {
        matches!(self, Self::Loading | Self::CatchingUp | Self::Live)
    }
}

/// A range of a table that is read on its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeRecord {
    /// The condition as `link` keeps it; `None` for all rows.
    pub condition: Option<String>,
    /// The partitions that it is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<String>,
    /// Rows, estimated.
    pub rows: u64,
    /// Whether its rows are in the copy.
    pub done: bool,
}

/// One mirrored table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirrorRecord {
    /// Where it is on its way.
    pub state: State,
    /// Why it failed, or why it was last read again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// It came with its database.
    #[serde(default)]
    pub of_database: bool,
    /// `PARTITION BY` and `SEGMENT BY` of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// `COLUMNS`, `EXCEPT COLUMNS` and `WHERE` of the user. The copy's definition has them, too, as
    /// of the same moment; this is for the next time that it is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// The copy has everything up to this position: earlier changes in the stream are passed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// While catching up: the position from which on the copy is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// While loading: the ranges that have been read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<RangeRecord>,
    /// Rows read by the latest load.
    #[serde(default)]
    pub rows_loaded: u64,
    /// How often it was read again.
    #[serde(default)]
    pub loads: u64,
    /// While loading: the definition is known to be the one from which the stream continues.
    #[serde(default)]
    pub settled: bool,
    /// The stream has not passed the end of the load yet. The definition was read after the
    /// position that the load began with, so statements about it that come may be in it already.
    #[serde(default)]
    pub early: bool,
    /// While loading: it waits until the others of a circle of foreign keys are followed. Nothing
    /// is read yet, and the rows of the copy are dropped when it continues.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gathering: bool,
    /// A foreign key has changed its rows since the reading began, while the copy had rows that may
    /// be later than that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cascaded: bool,
    /// Foreign keys that change its rows, and whose doings the binlog may not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
    /// The tables, by database and name, that are referred to by foreign keys with actions on its
    /// rows, whether the binlog has these or not. `None` if unknown: records of earlier versions,
    /// whose tables may have other names since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refers_to: Option<Vec<(String, String)>>,
    /// The definition that is about to be changed, and the previous one. When the statement is met
    /// once more, after a crash or a stop, it shows whether the change was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changing: Option<Changing>,
}

/// A change of a definition that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changing {
    /// The statement's position or GTID.
    pub event: String,
    /// The copy's number in the store.
    pub table: u64,
    /// The length and the checksum of its definition before the change: these outlive a restart,
    /// which generations do not. Records of earlier versions lack it.
    #[serde(default)]
    pub definition: Option<u64>,
    /// All that the statement does is in the copy and in the record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
}

/// A database all of whose tables are mirrored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseRecord {}

/// One linked server as a source of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// `@@server_uuid` of MySQL, `server_id` of MariaDB.
    pub identity: String,
    /// Whether its binlog has the changes of foreign key actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs_cascades: Option<bool>,
    /// The latest file of its binlog that was read, and when the server began it, in seconds since
    /// 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<(String, u32)>,
    /// The latest statement that has renamed copies, by its position or GTID, and how many of its
    /// renamings were executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed: Option<(String, usize)>,
    /// How far the stream was when it last went back for the sake of a mirror. Tables that came or got
    /// other names before that may be there under others, or no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<String>,
}

/// Tables that an XA transaction has changed: database, name, and whether it was mirrored then.
pub(crate) type XaTables = BTreeSet<(String, String, bool)>;

/// The key of a mirror.
pub(crate) fn mirror_key(name: &MirrorName) -> Vec<u8> {
    format!("mirror/{}\0{}\0{}", name.link, name.database, name.table).into_bytes()
}

/// The key of a mirrored database.
pub(crate) fn database_key(link: &str, database: &str) -> Vec<u8> {
    format!("mirrored/{link}\0{database}").into_bytes()
}

/// The key of a source.
pub(crate) fn source_key(link: &str) -> Vec<u8> {
    format!("source/{link}").into_bytes()
}

/// The key of a source's position.
pub(crate) fn position_key(link: &str) -> Vec<u8> {
    format!("at/{link}").into_bytes()
}

/// The key of an XA transaction that is prepared; without an identifier, the common prefix of a
/// source's keys.
pub(crate) fn xa_key(link: &str, xid: &str) -> Vec<u8> {
    format!("xa/{link}\0{xid}").into_bytes()
}

/// The key of the moment at which a source's copies were known to be complete.
pub(crate) fn whole_key(link: &str) -> Vec<u8> {
    format!("whole/{link}").into_bytes()
}

/// All mirrors.
///
/// # Errors
/// Values that cannot be read (1034).
pub(crate) fn mirrors(store: &Database) -> Result<Vec<(MirrorName, MirrorRecord)>> {
    let mut found = Vec::new();
    for (key, value) in store.values(b"mirror/") {
        let name = text(&key, "mirror/")?;
        let mut parts = name.split('\0').map(str::to_owned);
        if let (Some(link), Some(database), Some(table)) =
            (parts.next(), parts.next(), parts.next())
        {
            found.push((MirrorName { link, database, table }, decode(&value)?));
        }
    }
    Ok(found)
}

/// All mirrored databases, with their links.
///
/// # Errors
/// Values that cannot be read (1034).
pub(crate) fn databases(store: &Database) -> Result<Vec<(String, String)>> {
    let of = |(key, _): (Vec<u8>, Vec<u8>)| {
        let name = text(&key, "mirrored/")?;
        let pair = name.split_once('\0').map(|(link, name)| (link.to_owned(), name.to_owned()));
        pair.ok_or_else(damaged)
    };
    store.values(b"mirrored/").into_iter().map(of).collect()
}

/// A value in stored form.
///
/// # Errors
/// None in practice: records always have a JSON form.
pub(crate) fn encode<T: Serialize>(record: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(record)
        .map_err(|error| Error::internal("a mirror's record has no JSON form").caused_by(error))
}

/// Decodes a stored value.
///
/// # Errors
/// 1034.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| damaged().caused_by(error))
}

fn text(key: &[u8], prefix: &str) -> Result<String> {
    let rest = key.strip_prefix(prefix.as_bytes()).ok_or_else(damaged)?;
    String::from_utf8(rest.to_vec()).map_err(|error| damaged().caused_by(error))
}

fn damaged() -> Error {
    Error::new(Code::FileDamaged, "what is kept of a mirror cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let record = MirrorRecord {
            state: State::Loading,
            from: Some("a:1-5".to_owned()),
            ranges: vec![RangeRecord {
                condition: Some("\u{1}`id` < 5".to_owned()),
                partitions: Vec::new(),
                rows: 7,
                done: true,
            }],
            ..MirrorRecord::default()
        };
        let bytes = encode(&record).unwrap();
        assert_eq!(decode::<MirrorRecord>(&bytes).unwrap(), record);
        assert!(decode::<MirrorRecord>(b"{\"state\":\"x\"}").is_err());
    }
}

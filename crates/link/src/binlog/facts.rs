//! [`SourceFacts`]: the properties of a server that matter for following its binlog.

use std::collections::BTreeMap;
use std::sync::Arc;

use pelorus_error::{Code, Error, Result};

use crate::connection::TextRows;
use crate::link::Inner;
use crate::settings::SessionSettings;

/// The requested variables; a server omits those that it does not have.
const VARIABLES: &[&str] = &[
    "server_id",
    "server_uuid",
    "log_bin",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_metadata",
    "binlog_row_value_options",
    "binlog_checksum",
    "binlog_expire_logs_seconds",
    "expire_logs_days",
    "gtid_mode",
    "lower_case_table_names",
    "enforce_gtid_consistency",
    "log_slave_updates",
    "log_replica_updates",
];

/// The facts of a server that matter for following its binlog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFacts {
    /// How errors name the server.
    pub label: String,
    /// As in `@@version`.
    pub version: String,
    /// Whether it is a MariaDB (else a MySQL).
    pub is_mariadb: bool,
    /// Its `server_id`.
    pub server_id: u32,
    /// Its `server_uuid`; a MariaDB has none.
    pub server_uuid: Option<String>,
    /// Whether it writes a binlog.
    pub log_bin: bool,
    /// `ROW`, `STATEMENT` or `MIXED`.
    pub binlog_format: String,
    /// Names of databases and tables are case-insensitive: `lower_case_table_names` is not 0.
    pub folds_names: bool,
    /// `FULL`, `MINIMAL`, `NOBLOB` or (MariaDB) `FULL_NODUP`.
    pub binlog_row_image: String,
    /// `NO_LOG`, `MINIMAL` or `FULL`; empty for a server that does not have it.
    pub binlog_row_metadata: String,
    /// Empty or `PARTIAL_JSON`.
    pub binlog_row_value_options: String,
    /// `NONE` or `CRC32`.
    pub binlog_checksum: String,
    /// How long it keeps binlog files, in seconds; 0 means until they are purged by hand.
    pub binlog_expire_logs_seconds: u64,
    /// `gtid_mode`; empty for a MariaDB, whose GTIDs are always on.
    pub gtid_mode: String,
    /// `enforce_gtid_consistency`; empty for a MariaDB.
    pub enforce_gtid_consistency: String,
    /// Whether events from a server that it follows go into its own binlog.
    pub log_replica_updates: bool,
    /// Whether it follows another server; `None` when the account may not ask and nothing else tells.
    pub is_replica: Option<bool>,
    /// Whether the account may read the binlog (`REPLICATION SLAVE`).
    pub may_follow: bool,
    /// Whether the account may ask where the binlog ends and which databases are in it
    /// (`REPLICATION CLIENT`, on MariaDB `BINLOG MONITOR`). Otherwise the next two are empty, and
    /// [`Self::check`] refuses.
    pub may_see_position: bool,
    /// The only databases that go into the binlog; empty for all of them.
    pub binlog_do_db: Vec<String>,
    /// Databases that do not go into the binlog.
    pub binlog_ignore_db: Vec<String>,
}

/// Reads the facts in one round trip.
pub(super) async fn read(inner: &Arc<Inner>) -> Result<SourceFacts> {
    let mut lent = inner.lend(&SessionSettings::default()).await?;
    let version = Arc::clone(lent.version());
    let names: Vec<_> = VARIABLES.iter().map(|name| format!("'{name}'")).collect();
    let variables = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", names.join(", "));
    let ask = [&variables, version.binlog_status(), version.following(), version.right_to_follow()];
    let answers = lent.rows_of_each(&ask).await?;
    let Ok([variables, binlog, following, right]) = <[Result<TextRows>; 4]>::try_from(answers)
    else {
        return Err(Error::internal("an answer for each question"));
    };
    let mut facts = SourceFacts {
        label: lent.label().to_string(),
        version: version.text.clone(),
        is_mariadb: version.is_mariadb,
        ..SourceFacts::default()
    };
    facts.take_variables(&variables?);
    let binlog = unless_refused(binlog)?;
    facts.may_see_position = binlog.is_some();
    if let Some(row) = binlog.iter().flat_map(TextRows::iter).next() {
        facts.binlog_do_db = list(&row.text("Binlog_Do_DB"));
        facts.binlog_ignore_db = list(&row.text("Binlog_Ignore_DB"));
    }
    facts.is_replica = match unless_refused(following)? {
        Some(rows) => Some(!rows.rows.is_empty()),
        None if version.is_mariadb => {
            unless_refused(lent.rows(TRACES).await)?.as_ref().and_then(traces)
        }
        None => None,
    };
    facts.may_follow = match unless_refused(right)? {
        Some(rows) => !version.is_mariadb || is_granted(&rows),
        None => false,
    };
    Ok(facts)
}

/// The numbers with which servers refuse what they may answer a moment later: they shut down (1053), are
/// full (1040, 1203, 1226), or the statement took too long (1205, 1969, 3024) or was killed (1317).
const PASSING: [u16; 8] = [1040, 1053, 1203, 1205, 1226, 1317, 1969, 3024];

/// An answer; `None` where the server refuses to give one, and will do so again.
///
/// # Errors
/// What passes, a server that shuts down or a statement that was killed, and says nothing of the
/// server.
fn unless_refused(answer: Result<TextRows>) -> Result<Option<TextRows>> {
    match answer {
        Ok(rows) => Ok(Some(rows)),
        Err(error)
            if matches!(error.code(), Code::Remote(_)) && !PASSING.contains(&error.errno()) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// What everybody may ask a MariaDB: how many of its replication threads run, and whether it has ever
/// applied what another server has sent.
const TRACES: &str = "SELECT VARIABLE_VALUE, @@global.gtid_slave_pos \
     FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'SLAVES_RUNNING'";

/// Whether a MariaDB follows another server, as far as the traces tell: one that has followed, and
/// does not at the moment, may have been stopped for a while only.
fn traces(rows: &TextRows) -> Option<bool> {
    match rows.rows.first()?.as_slice() {
        [Some(running), Some(applied)] if running == "0" => applied.is_empty().then_some(false),
        [Some(_), Some(_)] => Some(true),
        _ => None,
    }
}

/// The names of a list with commas.
fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Whether `SHOW GRANTS` names the right to read the binlog.
fn is_granted(grants: &TextRows) -> bool {
    let mut lines = grants.rows.iter().flatten().flatten();
    lines.any(|line| {
        let Some((rights, object)) =
            line.strip_prefix("GRANT ").and_then(|line| line.split_once(" ON "))
        else {
            return false;
        };
        let named = ["REPLICATION SLAVE", "ALL PRIVILEGES"];
        object.starts_with("*.*") && rights.split(", ").any(|right| named.contains(&right))
    })
}

impl SourceFacts {
    fn take_variables(&mut self, rows: &TextRows) {
        let values: BTreeMap<String, String> = rows
            .iter()
            .map(|row| (row.text("Variable_name").to_ascii_lowercase(), row.text("Value")))
            .collect();
        let text = |name: &str| values.get(name).cloned().unwrap_or_default();
        let is_on = |name: &str| matches!(text(name).as_str(), "ON" | "1");
        self.server_id = text("server_id").parse().unwrap_or_default();
        self.server_uuid = values.get("server_uuid").cloned();
        self.log_bin = is_on("log_bin");
        self.binlog_format = text("binlog_format").to_ascii_uppercase();
        if self.binlog_format.is_empty() {
            // The only one that is left once the variable is gone.
            self.binlog_format = "ROW".to_owned();
        }
        self.binlog_row_image = text("binlog_row_image").to_ascii_uppercase();
        self.binlog_row_metadata = text("binlog_row_metadata").to_ascii_uppercase();
        self.binlog_row_value_options = text("binlog_row_value_options").to_ascii_uppercase();
        self.binlog_checksum = text("binlog_checksum").to_ascii_uppercase();
        self.gtid_mode = text("gtid_mode").to_ascii_uppercase();
        self.folds_names = !matches!(text("lower_case_table_names").as_str(), "" | "0");
        self.enforce_gtid_consistency = text("enforce_gtid_consistency").to_ascii_uppercase();
        self.log_replica_updates = is_on("log_replica_updates") || is_on("log_slave_updates");
        let seconds = text("binlog_expire_logs_seconds").parse().unwrap_or(0);
        let days: f64 = text("expire_logs_days").parse().unwrap_or(0.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few days")]
        let of_days = (days * 86_400.0) as u64;
        self.binlog_expire_logs_seconds = if seconds > 0 { seconds } else { of_days };
    }

    /// Whether its positions are GTIDs, which hold on another server that takes its place.
    pub fn has_gtids(&self) -> bool {
        self.is_mariadb || self.gtid_mode == "ON"
    }

    /// Whether changes of a database (by the server's name) go into the binlog, as far as the
    /// server's own filters tell.
    pub fn logs(&self, database: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|name| name == database);
        let kept = self.binlog_do_db.is_empty() || named(&self.binlog_do_db);
        kept && !named(&self.binlog_ignore_db)
    }

    /// The changes that the binlog omits, as text: the server filters statements by the current
    /// database of their session. `None` without such filters.
    pub fn leaves_out(&self) -> Option<String> {
        let (kept, ignored) = (&self.binlog_do_db, &self.binlog_ignore_db);
        let which = match (kept.as_slice(), ignored.as_slice()) {
            ([], []) => return None,
            ([], names) => format!("binlog_ignore_db = {}", names.join(", ")),
            (names, _) => format!("binlog_do_db = {}", names.join(", ")),
        };
        Some(format!(
            "{}: mirrors do not see definitions that are changed, tables that are emptied, and \
             changes that are logged as statements, by sessions whose current database the server \
             leaves out of its binlog ({which})",
            self.label
        ))
    }

    /// Whether it is known that changes do not go into the binlog. They are missing in it for good,
    /// also when later ones do. If this is unknown, [`Self::check`] refuses.
    pub fn loses_changes(&self) -> bool {
        !self.log_bin || (self.is_replica == Some(true) && !self.log_replica_updates)
    }

    /// All reasons against following the server exactly, one error each, with the setting or grant
    /// that helps; empty if there are none.
    pub fn check(&self) -> Vec<Error> {
        let label = &self.label;
        let mut errors = Vec::new();
        let mut setting = |wrong: bool, text: String| {
            if wrong {
                errors.push(Error::new(Code::OptionPreventsStatement, format!("{label}: {text}")));
            }
        };
        setting(!self.log_bin, "it writes no binlog; start it with log_bin".to_owned());
        setting(
            self.log_bin && self.binlog_format != "ROW",
            format!(
                "its binlog has statements instead of rows (binlog_format = {}); \
                 SET GLOBAL binlog_format = ROW, for sessions that are open, too",
                self.binlog_format
            ),
        );
        setting(
            self.is_replica == Some(true) && !self.log_replica_updates,
            "it follows another server and leaves what comes from there out of its binlog; \
             start it with log_replica_updates (log_slave_updates)"
                .to_owned(),
        );
        setting(self.server_id == 0, "it has no server_id; set one".to_owned());
        let denied = |right: &str, what: &str| {
            let text = format!("{label}: the account may not {what}; GRANT {right} ON *.* to it");
            Error::new(Code::SpecificAccessDenied, text)
        };
        if !self.may_follow {
            errors.push(denied("REPLICATION SLAVE", "read the binlog"));
        }
        if self.is_replica.is_none() && !self.log_replica_updates {
            // Without knowing it a mirror could stand still and look live.
            let right = if self.is_mariadb { "REPLICA MONITOR" } else { "REPLICATION CLIENT" };
            errors.push(denied(
                right,
                "ask whether it follows another server, which it would leave out of its binlog \
                 (log_slave_updates is OFF)",
            ));
        }
        if !self.may_see_position {
            // With GTIDs positions are in variables that everybody may read, but a mirror of a
            // database that is left out would look live, too.
            let right = if self.is_mariadb { "BINLOG MONITOR" } else { "REPLICATION CLIENT" };
            errors.push(denied(
                right,
                "ask where the binlog ends, and which databases the server leaves out of it \
                 (binlog_do_db, binlog_ignore_db)",
            ));
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> SourceFacts {
        SourceFacts {
            label: "server 'shop'".into(),
            server_id: 1,
            log_bin: true,
            binlog_format: "ROW".into(),
            binlog_row_image: "FULL".into(),
            gtid_mode: "ON".into(),
            log_replica_updates: true,
            may_follow: true,
            may_see_position: true,
            ..SourceFacts::default()
        }
    }

    #[test]
    fn each_thing_that_is_wrong_is_one_error_that_says_what_to_do() {
        assert!(good().check().is_empty() && !good().loses_changes());
        // Partial row images are completed by their reader.
        let mut parts = good();
        parts.binlog_row_image = "MINIMAL".into();
        parts.binlog_row_value_options = "PARTIAL_JSON".into();
        assert!(parts.check().is_empty());
        let cases: [(fn(&mut SourceFacts), u16, &str); 10] = [
            (|f| f.log_bin = false, 1290, "start it with log_bin"),
            (|f| f.binlog_format = "MIXED".into(), 1290, "SET GLOBAL binlog_format = ROW"),
            (
                |f| (f.is_replica, f.log_replica_updates) = (Some(true), false),
                1290,
                "log_replica_updates",
            ),
            // Not to know it is not to be sure.
            (|f| (f.is_replica, f.log_replica_updates) = (None, false), 1227, "REPLICATION CLIENT"),
            (
                |f| (f.is_replica, f.log_replica_updates, f.is_mariadb) = (None, false, true),
                1227,
                "GRANT REPLICA MONITOR ON *.*",
            ),
            (|f| f.server_id = 0, 1290, "server_id"),
            (|f| f.may_follow = false, 1227, "GRANT REPLICATION SLAVE ON *.*"),
            (
                |f| (f.may_see_position, f.gtid_mode) = (false, "OFF".into()),
                1227,
                "GRANT REPLICATION CLIENT ON *.*",
            ),
            // GTIDs do not say which databases are left out.
            (|f| f.may_see_position = false, 1227, "which databases the server leaves out of it"),
            (
                |f| (f.may_see_position, f.is_mariadb) = (false, true),
                1227,
                "GRANT BINLOG MONITOR ON *.*",
            ),
        ];
        for (spoil, errno, words) in cases {
            let mut facts = good();
            spoil(&mut facts);
            let errors = facts.check();
            assert_eq!(errors.len(), 1, "{words}: {errors:?}");
            assert_eq!(errors[0].errno(), errno);
            assert!(errors[0].message().contains(words), "{}", errors[0]);
            assert!(errors[0].message().starts_with("server 'shop': "), "{}", errors[0]);
            // What is known alone: copies are thrown away by it.
            let loses = ["start it with log_bin", "log_replica_updates"].contains(&words);
            assert_eq!(facts.loses_changes(), loses, "{words}");
        }
        let mut alone = good();
        (alone.is_replica, alone.log_replica_updates) = (Some(false), false);
        assert!(alone.check().is_empty() && !alone.loses_changes());
    }

    #[test]
    fn what_passes_says_nothing_of_a_server() {
        assert!(unless_refused(Ok(TextRows::default())).unwrap().is_some());
        for errno in [1227, 1142, 1064, 1201, 1235] {
            let refused = Error::remote(errno, *b"42000", "Access denied");
            assert!(unless_refused(Err(refused)).unwrap().is_none(), "{errno}");
        }
        for errno in [1053, 1317, 1205] {
            let error = Error::remote(errno, *b"08S01", "Server shutdown in progress");
            assert_eq!(unless_refused(Err(error)).unwrap_err().errno(), errno);
        }
        let lost = Error::new(Code::QueryOnForeign, "lost connection");
        unless_refused(Err(lost)).unwrap_err();
    }

    #[test]
    fn traces_tell_whether_a_mariadb_follows() {
        let found = |running: &str, applied: &str| {
            let mut rows = TextRows::default();
            rows.rows.push(vec![Some(running.to_owned()), Some(applied.to_owned())]);
            traces(&rows)
        };
        assert_eq!(found("0", ""), Some(false));
        assert_eq!(found("1", ""), Some(true));
        assert_eq!(found("1", "0-1-7"), Some(true));
        // It was promoted, or is stopped for a while.
        assert_eq!(found("0", "0-1-7"), None);
        assert_eq!(traces(&TextRows::default()), None);
    }

    #[test]
    fn filters_and_grants_are_read() {
        let mut facts = good();
        assert!(facts.logs("a") && facts.leaves_out().is_none());
        facts.binlog_ignore_db = list("b");
        assert!(facts.leaves_out().unwrap().contains("(binlog_ignore_db = b)"));
        facts.binlog_do_db = list("a, b,");
        assert!(facts.leaves_out().unwrap().contains("(binlog_do_db = a, b)"));
        assert!(facts.logs("a") && !facts.logs("b") && !facts.logs("c"));
        let grants = |line: &str| {
            let mut rows = TextRows::default();
            rows.rows.push(vec![Some(line.to_owned())]);
            is_granted(&rows)
        };
        assert!(grants("GRANT SELECT, REPLICATION SLAVE, RELOAD ON *.* TO `a`@`%`"));
        assert!(grants("GRANT ALL PRIVILEGES ON *.* TO `a`@`%`"));
        assert!(!grants("GRANT REPLICATION SLAVE ADMIN ON *.* TO `a`@`%`"));
        assert!(!grants("GRANT ALL PRIVILEGES ON `shop`.* TO `a`@`%`"));
        assert!(!grants("GRANT `REPLICATION SLAVE` TO `a`@`%`"));
    }
}

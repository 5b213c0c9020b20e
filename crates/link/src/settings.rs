//! The session settings that a statement needs on a server, and how they are set on a connection.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use pelorus_error::{Code, Error, Result};

/// The variable that a connection begins with at another value than the server's own.
const SELECT_LIMIT: &str = "sql_select_limit";
/// Other variables whose value at the beginning is not the global one, and that value: those that
/// sessions alone have.
const AT_FIRST: [(&str, &str); 3] =
    [(SELECT_LIMIT, "18446744073709551615"), ("insert_id", "0"), ("sql_log_bin", "1")];

/// Session state for a statement. A connection in another state is changed first. `None` means the
/// server's global value, except for `sql_select_limit`, which is then unlimited.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionSettings {
    /// `sql_mode`.
    pub sql_mode: Option<String>,
    /// `time_zone`.
    pub time_zone: Option<String>,
    /// `collation_connection`, a utf8mb4 collation that the server knows; literals have it.
    pub collation_connection: Option<String>,
    /// The current database, by the server's name. `None` leaves whichever the connection has:
    /// every name in the statement must then be qualified.
    pub database: Option<String>,
    /// The moment that `NOW()` gives, in seconds since 1970.
    pub timestamp: Option<f64>,
    /// Transactions, and statements outside of them, may only read: a write, also in stored
    /// functions, fails with error 1792.
    pub read_only: bool,
    /// Other session variables: name, and the value as SQL (`5`, `'text'`).
    pub others: BTreeMap<String, String>,
}

impl SessionSettings {
    /// A session that shows values as they are stored: in universal time, under an empty
    /// `sql_mode`.
    pub fn as_stored() -> Self {
        Self {
            sql_mode: Some(String::new()),
            time_zone: Some("+00:00".to_owned()),
            ..Self::default()
        }
    }

    /// The same for a query that the server is to end after so many rows, unless it says itself
    /// where it ends.
    #[must_use]
    pub fn with_select_limit(mut self, rows: Option<u64>) -> Self {
        self.others.extend(rows.map(|rows| (SELECT_LIMIT.to_owned(), rows.to_string())));
        self
    }
}

/// The state that a connection is in.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    settings: SessionSettings,
    /// Variables that the server does not know.
    left_out: BTreeSet<String>,
    /// The state is unknown; the connection cannot be used again.
    unknown: bool,
}

/// The changes from one state to another.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// A `SET` statement.
    pub(crate) set: Option<String>,
    /// A database to use.
    pub(crate) database: Option<String>,
}

impl Change {
    pub(crate) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// How many commands it takes.
    pub(crate) fn count(&self) -> usize {
        usize::from(self.set.is_some()) + usize::from(self.database.is_some())
    }
}

impl Applied {
    /// The changes from this state to another.
    ///
    /// # Errors
    /// If a value cannot be written in SQL safely.
    pub(crate) fn change(
        &self,
        wanted: &SessionSettings,
        read_only_variable: &str,
    ) -> Result<Change> {
        if self.unknown {
            return Err(Error::internal("a connection in an unknown state was used again"));
        }
        let now = &self.settings;
        let mut set = Assignments::default();
        set.text("sql_mode", &now.sql_mode, &wanted.sql_mode)?;
        set.text("time_zone", &now.time_zone, &wanted.time_zone)?;
        // DEFAULT would be the server's collation in whatever charset it has.
        if now.collation_connection != wanted.collation_connection {
            match &wanted.collation_connection {
                Some(name) => set.add("collation_connection", &quote(name)?),
                None => set.raw("NAMES utf8mb4"),
            }
        }
        if now.timestamp != wanted.timestamp {
            match wanted.timestamp {
                Some(at) if at.is_finite() => set.add("timestamp", &format!("{at:.6}")),
                _ => set.add("timestamp", "DEFAULT"),
            }
        }
        if now.read_only != wanted.read_only {
            let value = if wanted.read_only { "1" } else { "DEFAULT" };
            // Without a scope it would be that of the next transaction.
            set.add(&format!("@@SESSION.{read_only_variable}"), value);
        }
        let is_known = |name: &String| !self.left_out.contains(name);
        for (name, value) in wanted.others.iter().filter(|(name, _)| is_known(name)) {
            if now.others.get(name) != Some(value) {
                set.add(check_name(name)?, value);
            }
        }
        let gone = |name: &&String| is_known(name) && !wanted.others.contains_key(*name);
        for name in now.others.keys().filter(gone) {
            // Not DEFAULT: with MySQL that is 0 of foreign_key_checks and unique_checks.
            let first = AT_FIRST.iter().find(|(known, _)| known == name);
            let global = format!("@@GLOBAL.{name}");
            set.add(check_name(name)?, first.map_or(global.as_str(), |known| known.1));
        }
        let database = wanted.database.clone().filter(|name| now.database.as_ref() != Some(name));
        Ok(Change { set: set.finish(), database })
    }

    /// Records the server's answer: the accepted settings, their variables and their database. A
    /// `SET` that is refused sets nothing.
    pub(crate) fn answered(&mut self, settings: &SessionSettings, set: bool, database: bool) {
        let before = self.settings.database.take();
        if set {
            self.settings = settings.clone();
        }
        let now = settings.database.clone().filter(|_| database);
        self.settings.database = now.or(before);
        self.unknown = false;
    }

    /// The `sql_mode` that was set; `None` where it is the server's own.
    pub(crate) fn sql_mode(&self) -> Option<&str> {
        self.settings.sql_mode.as_deref()
    }

    /// Leaves variables out that the server does not know.
    pub(crate) fn leave_out<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        self.left_out.extend(names.cloned());
    }

    /// Whether the state is known.
    pub(crate) fn is_known(&self) -> bool {
        !self.unknown
    }

    /// Nothing is known of the state any more.
    pub(crate) fn forget(&mut self) {
        self.unknown = true;
    }

    /// How many settings differ, to find the connection that needs the least.
    pub(crate) fn distance(&self, wanted: &SessionSettings) -> usize {
        let now = &self.settings;
        usize::from(now.sql_mode != wanted.sql_mode)
            + usize::from(now.time_zone != wanted.time_zone)
            + usize::from(now.collation_connection != wanted.collation_connection)
            + usize::from(now.timestamp != wanted.timestamp)
            + usize::from(now.read_only != wanted.read_only)
            + usize::from(now.others != wanted.others)
            + usize::from(wanted.database.is_some() && now.database != wanted.database)
    }
}

#[derive(Default)]
struct Assignments(String);

impl Assignments {
    fn text(&mut self, name: &str, now: &Option<String>, wanted: &Option<String>) -> Result<()> {
        if now != wanted {
            match wanted {
                Some(value) => self.add(name, &quote(value)?),
                None => self.add(name, "DEFAULT"),
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, value: &str) {
        self.raw(&format!("{name}={value}"));
    }

    fn raw(&mut self, text: &str) {
        let start = if self.0.is_empty() { "SET " } else { ", " };
        // A `String` accepts every write.
        write!(self.0, "{start}{text}").ok();
    }

    fn finish(self) -> Option<String> {
        (!self.0.is_empty()).then_some(self.0)
    }
}

/// Quotes a value so that it means the same whether or not backslashes escape.
fn quote(value: &str) -> Result<String> {
    if value.contains(['\\', '\0']) {
        return Err(Error::new(
            Code::WrongValueForVariable,
            format!("value '{value}' has a backslash"),
        ));
    }
    Ok(format!("'{}'", value.replace('\'', "''")))
}

fn check_name(name: &str) -> Result<&str> {
    if !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        Ok(name)
    } else {
        Err(Error::internal(format!("'{name}' is no variable")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> SessionSettings {
        SessionSettings {
            sql_mode: Some("ANSI_QUOTES".into()),
            timestamp: Some(1.5),
            database: Some("shop".into()),
            others: [("div_precision_increment".to_owned(), "6".to_owned())].into(),
            ..SessionSettings::default()
        }
    }

    fn to(applied: &Applied, wanted: &SessionSettings) -> Result<Change> {
        applied.change(wanted, "tx_read_only")
    }

    #[test]
    fn only_differences_are_sent() {
        let mut applied = Applied::default();
        let change = to(&applied, &settings()).unwrap();
        assert_eq!(
            change.set.as_deref(),
            Some("SET sql_mode='ANSI_QUOTES', timestamp=1.500000, div_precision_increment=6")
        );
        assert_eq!(change.database.as_deref(), Some("shop"));
        applied.answered(&settings(), true, true);
        assert!(to(&applied, &settings()).unwrap().is_empty());
        assert_eq!(applied.distance(&settings()), 0);

        let change = to(&applied, &SessionSettings::default()).unwrap();
        assert_eq!(
            change.set.as_deref(),
            Some(
                "SET sql_mode=DEFAULT, timestamp=DEFAULT, \
                 div_precision_increment=@@GLOBAL.div_precision_increment"
            )
        );
        assert_eq!(change.database, None);
        applied.answered(&SessionSettings::default(), true, true);
        assert!(to(&applied, &settings()).unwrap().database.is_none());
    }

    #[test]
    fn sessions_that_only_read_do_not_stay_so() {
        let mut applied = Applied::default();
        let reads = SessionSettings { read_only: true, ..SessionSettings::default() };
        let set = to(&applied, &reads).unwrap().set;
        assert_eq!(set.as_deref(), Some("SET @@SESSION.tx_read_only=1"));
        assert_eq!(applied.distance(&reads), 1);
        applied.answered(&reads, true, true);
        let set = to(&applied, &SessionSettings::default()).unwrap().set;
        assert_eq!(set.as_deref(), Some("SET @@SESSION.tx_read_only=DEFAULT"));
    }

    #[test]
    fn what_the_server_does_not_know_is_left_out() {
        let mut applied = Applied::default();
        applied.leave_out(["div_precision_increment".to_owned()].iter());
        let set = to(&applied, &settings()).unwrap().set.unwrap();
        assert_eq!(set, "SET sql_mode='ANSI_QUOTES', timestamp=1.500000");
        applied.answered(&settings(), true, true);
        let set = to(&applied, &SessionSettings::default()).unwrap().set.unwrap();
        assert_eq!(set, "SET sql_mode=DEFAULT, timestamp=DEFAULT");
    }

    #[test]
    fn variables_of_sessions_alone_have_no_global_value() {
        let mut applied = Applied::default();
        let mut other = SessionSettings::default();
        other.others.insert("insert_id".into(), "7".into());
        other.others.insert("sql_log_bin".into(), "0".into());
        applied.answered(&other, true, true);
        let set = to(&applied, &SessionSettings::default()).unwrap().set;
        assert_eq!(set.as_deref(), Some("SET insert_id=0, sql_log_bin=1"));
    }

    #[test]
    fn the_limit_of_the_server_is_none_of_ours() {
        let mut applied = Applied::default();
        let limited = SessionSettings::default().with_select_limit(Some(3));
        assert_eq!(to(&applied, &limited).unwrap().set.unwrap(), "SET sql_select_limit=3");
        applied.answered(&limited, true, true);
        let change = to(&applied, &SessionSettings::default()).unwrap();
        assert_eq!(change.set.unwrap(), "SET sql_select_limit=18446744073709551615");
    }

    #[test]
    fn what_is_refused_changes_nothing() {
        let mut applied = Applied::default();
        applied.answered(&settings(), true, true);
        let mut other = settings();
        other.time_zone = Some("Nowhere".into());
        other.database = Some("stock".into());
        applied.forget();
        assert!(!applied.is_known() && to(&applied, &other).is_err());
        applied.answered(&other, false, true);
        assert!(applied.is_known());
        let change = to(&applied, &other).unwrap();
        assert_eq!(change.set.as_deref(), Some("SET time_zone='Nowhere'"));
        assert_eq!(change.database, None, "it was taken");
        other.database = Some("gone".into());
        applied.answered(&other, true, false);
        let change = to(&applied, &other).unwrap();
        assert_eq!((change.set, change.database.as_deref()), (None, Some("gone")));
        other.database = Some("stock".into());
        assert!(to(&applied, &other).unwrap().is_empty());
    }

    #[test]
    fn values_cannot_end_their_quotes() {
        let applied = Applied::default();
        let mut wanted =
            SessionSettings { time_zone: Some("a', x='b".into()), ..SessionSettings::default() };
        assert_eq!(
            to(&applied, &wanted).unwrap().set.as_deref(),
            Some("SET time_zone='a'', x=''b'")
        );
        wanted.time_zone = Some("\\".into());
        assert_eq!(to(&applied, &wanted).unwrap_err().errno(), 1231);
    }
}

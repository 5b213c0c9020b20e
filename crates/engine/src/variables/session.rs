//! The values of system variables: global values and the values of a session.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::RwLock;
use pelorus_error::{Code, Error, Result};

use crate::variables::{Change, Scope, TABLE, VarValue, Variable, check, find};

type Values = BTreeMap<&'static str, VarValue>;

/// The global values. Sessions share the map as it was when they began.
#[derive(Debug)]
pub(crate) struct Globals {
    values: RwLock<Arc<Values>>,
    /// The names that were set explicitly, in the configuration or by `SET GLOBAL`.
    chosen: RwLock<BTreeSet<&'static str>>,
}

impl Globals {
    /// The defaults of the table, then values that the engine computes at the start, then the
    /// configuration.
    pub(crate) fn new(
        computed: Vec<(&'static str, VarValue)>,
        configured: &[(String, String)],
    ) -> Result<Self> {
        let mut values = Values::new();
        for variable in TABLE {
            if let Some(default) = variable.default {
                let text = VarValue::Text(default.to_owned());
                values.insert(variable.name, check::convert(variable, &text)?.0);
            }
        }
        values.extend(computed);
        let values = RwLock::new(Arc::new(values));
        let globals = Self { values, chosen: RwLock::default() };
        for note in globals.configure(configured)? {
            tracing::warn!("in the configuration: {note}");
        }
        Ok(globals)
    }

    /// Sets the values of the configuration. Returns messages about values that were adjusted to
    /// their bounds.
    ///
    /// # Errors
    /// Those of [`Self::set`].
    pub(crate) fn configure(&self, configured: &[(String, String)]) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        for (name, value) in configured {
            let variable = find(name)?;
            let value = VarValue::Text(value.clone());
            let note = match variable.change {
                Change::AtStart => self.set_checked(variable, &value)?,
                _ => self.set(variable, &value)?,
            };
            let name = variable.name;
            notes.extend(note.map(|note| format!("{note}; it is {}", self.get(name).show())));
        }
        Ok(notes)
    }

    /// All values, as of now.
    pub(crate) fn snapshot(&self) -> Arc<Values> {
        self.values.read().clone()
    }

    /// One value; NULL for a variable of sessions only.
    pub(crate) fn get(&self, name: &str) -> VarValue {
        self.values.read().get(name).cloned().unwrap_or(VarValue::Null)
    }

    /// `SET GLOBAL`. Returns the text of a warning (1292) when the value was cut.
    ///
    /// # Errors
    /// Those of [`check::convert`] and [`check::allowed`], and 1228 for variables of sessions.
    pub(crate) fn set(
        &self,
        variable: &'static Variable,
        value: &VarValue,
    ) -> Result<Option<String>> {
        if variable.scope == Scope::Session {
            return Err(Error::new(
                Code::LocalVariable,
                format!(
                    "Variable '{}' is a SESSION variable and can't be used with SET GLOBAL",
                    variable.name
                ),
            ));
        }
        check::allowed(variable, &VarValue::Null, &VarValue::Null)?;
        let (converted, _) = check::convert(variable, value)?;
        check::allowed(variable, &self.get(variable.name), &converted)?;
        self.set_checked(variable, value)
    }

    /// Sets a variable that may be set, to a value of its kind.
    fn set_checked(&self, variable: &'static Variable, value: &VarValue) -> Result<Option<String>> {
        let (value, note) = check::convert(variable, value)?;
        self.chosen.write().insert(variable.name);
        Arc::make_mut(&mut self.values.write()).insert(variable.name, value);
        Ok(note)
    }

    /// Takes over the `sql_mode` of the linked servers, unless it was set explicitly: statements
    /// then have the same meaning here and there. Words that only MariaDB has are omitted.
    pub(crate) fn adopt_sql_mode(&self, mode: &str) {
        if self.chosen.read().contains("sql_mode") {
            return;
        }
        let known = |word: &&str| SQL_MODES.iter().any(|(name, _)| name.eq_ignore_ascii_case(word));
        let words: Vec<&str> = mode.split(',').map(str::trim).filter(known).collect();
        let value = VarValue::Text(words.join(","));
        if self.get("sql_mode") != value {
            Arc::make_mut(&mut self.values.write()).insert("sql_mode", value);
        }
    }
}

/// The values of a session: those that it has set, over the global ones of when it began.
#[derive(Clone, Debug)]
pub(crate) struct SessionVariables {
    base: Arc<Values>,
    own: Values,
}

impl SessionVariables {
    pub(crate) fn new(globals: &Globals) -> Self {
        Self { base: globals.snapshot(), own: Values::new() }
    }

    /// The session's value; NULL for a variable that is computed when it is read.
    pub(crate) fn get(&self, name: &str) -> VarValue {
        self.own.get(name).or_else(|| self.base.get(name)).cloned().unwrap_or(VarValue::Null)
    }

    /// Whether a switch is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.get(name).is_on()
    }

    /// A count; 0 for other values.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.get(name).count()
    }

    /// `SET SESSION`. Returns the text of a warning (1292) when the value was cut.
    ///
    /// # Errors
    /// Those of [`check::convert`] and [`check::allowed`], and 1229 for global variables.
    pub(crate) fn set(
        &mut self,
        variable: &'static Variable,
        value: &VarValue,
    ) -> Result<Option<String>> {
        check::allowed(variable, &VarValue::Null, &VarValue::Null)?;
        if variable.scope == Scope::Global || is_global_in_effect(variable.name) {
            return Err(global_only(variable.name));
        }
        let (value, note) = check::convert(variable, value)?;
        check::allowed(variable, &self.get(variable.name), &value)?;
        self.own.insert(variable.name, value);
        Ok(note)
    }

    /// Sets a value that needs no check.
    pub(crate) fn put(&mut self, name: &'static str, value: VarValue) {
        self.own.insert(name, value);
    }

    /// `SET name = DEFAULT`: the global value, or the table's for variables of sessions only.
    pub(crate) fn reset(&mut self, variable: &'static Variable, globals: &Globals) -> Result<()> {
        check::allowed(variable, &VarValue::Null, &VarValue::Null)?;
        if variable.scope == Scope::Global || is_global_in_effect(variable.name) {
            return Err(global_only(variable.name));
        }
        self.own.remove(variable.name);
        let global = globals.get(variable.name);
        if self.base.get(variable.name).is_some_and(|base| *base != global) {
            self.own.insert(variable.name, global);
        }
        Ok(())
    }

    /// The settings that linked servers receive: the variables of [`Change::Relayed`] that the
    /// session has set to a value other than the default, as SQL.
    pub(crate) fn relayed(&self) -> BTreeMap<String, String> {
        TABLE
            .iter()
            .filter(|variable| variable.change == Change::Relayed)
            .filter_map(|variable| {
                let value = self.get(variable.name);
                let default = VarValue::Text(variable.default?.to_owned());
                let (default, _) = check::convert(variable, &default).ok()?;
                (value != default).then(|| (variable.name.to_owned(), value.to_sql()))
            })
            .collect()
    }
}

/// Variables that MySQL shows in sessions but lets be set globally only.
fn is_global_in_effect(name: &str) -> bool {
    matches!(name, "max_allowed_packet" | "net_buffer_length")
}

fn global_only(name: &str) -> Error {
    if is_global_in_effect(name) {
        return Error::new(
            Code::ReadOnlyVariable,
            format!("SESSION variable '{name}' is read-only. Use SET GLOBAL to assign the value"),
        );
    }
    Error::new(
        Code::GlobalVariable,
        format!("Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL"),
    )
}

/// The words of `sql_mode` in the order in which MySQL shows them, with their bits.
const SQL_MODES: &[(&str, u8)] = &[
    ("REAL_AS_FLOAT", 0),
    ("PIPES_AS_CONCAT", 1),
    ("ANSI_QUOTES", 2),
    ("IGNORE_SPACE", 3),
    ("ONLY_FULL_GROUP_BY", 5),
    ("NO_UNSIGNED_SUBTRACTION", 6),
    ("NO_DIR_IN_CREATE", 7),
    ("ANSI", 18),
    ("NO_AUTO_VALUE_ON_ZERO", 19),
    ("NO_BACKSLASH_ESCAPES", 20),
    ("STRICT_TRANS_TABLES", 21),
    ("STRICT_ALL_TABLES", 22),
    ("NO_ZERO_IN_DATE", 23),
    ("NO_ZERO_DATE", 24),
    ("ALLOW_INVALID_DATES", 25),
    ("ERROR_FOR_DIVISION_BY_ZERO", 26),
    ("TRADITIONAL", 27),
    ("HIGH_NOT_PRECEDENCE", 29),
    ("NO_ENGINE_SUBSTITUTION", 30),
    ("PAD_CHAR_TO_FULL_LENGTH", 31),
    ("TIME_TRUNCATE_FRACTIONAL", 32),
];

/// The modes that `ANSI` and `TRADITIONAL` imply.
const ANSI: [&str; 5] =
    ["REAL_AS_FLOAT", "PIPES_AS_CONCAT", "ANSI_QUOTES", "IGNORE_SPACE", "ONLY_FULL_GROUP_BY"];
const TRADITIONAL: [&str; 6] = [
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "NO_ENGINE_SUBSTITUTION",
];

/// Reads `sql_mode` as a list of words or as bits and writes it as MySQL shows it.
pub(super) fn sql_mode(variable: &Variable, value: &VarValue) -> Result<String> {
    let mut bits: u64 = match value {
        VarValue::UInt(bits) => *bits,
        VarValue::Int(bits) => {
            u64::try_from(*bits).map_err(|_| check::wrong_value(variable, value))?
        }
        VarValue::Text(text) => text_bits(variable, text)?,
        _ => return Err(check::wrong_value(variable, value)),
    };
    let bit = |word: &str| {
        SQL_MODES.iter().find(|(name, _)| *name == word).map_or(0, |(_, bit)| 1_u64 << bit)
    };
    let known: u64 = SQL_MODES.iter().map(|(_, bit)| 1_u64 << bit).sum();
    if bits & !known != 0 {
        return Err(check::wrong_value(variable, value));
    }
    for (word, members) in [("ANSI", ANSI.as_slice()), ("TRADITIONAL", TRADITIONAL.as_slice())] {
        if bits & bit(word) != 0 {
            bits |= members.iter().map(|member| bit(member)).sum::<u64>();
        }
    }
    let words: Vec<&str> =
        SQL_MODES.iter().filter(|(_, bit)| bits & (1 << bit) != 0).map(|(name, _)| *name).collect();
    Ok(words.join(","))
}

fn text_bits(variable: &Variable, text: &str) -> Result<u64> {
    let mut bits = 0;
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        // Old dumps and drivers still name what MySQL 8 dropped without a substitute.
        if word.eq_ignore_ascii_case("NO_AUTO_CREATE_USER") {
            continue;
        }
        let found = SQL_MODES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        let (_, bit) =
            found.ok_or_else(|| check::wrong_value(variable, &VarValue::Text(word.to_owned())))?;
        bits |= 1_u64 << bit;
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> VarValue {
        VarValue::Text(text.to_owned())
    }

    fn globals() -> Globals {
        Globals::new(vec![("version", text("8"))], &[]).unwrap()
    }

    #[test]
    fn sessions_begin_with_the_global_values_and_go_their_own_way() {
        let globals = globals();
        let mut session = SessionVariables::new(&globals);
        let wait = find("wait_timeout").unwrap();
        globals.set(wait, &VarValue::Int(60)).unwrap();
        assert_eq!(session.get("wait_timeout"), VarValue::UInt(28_800));
        session.set(wait, &VarValue::Int(5)).unwrap();
        assert_eq!(session.count("wait_timeout"), 5);
        session.reset(wait, &globals).unwrap();
        assert_eq!(session.count("wait_timeout"), 60);
    }

    #[test]
    fn what_the_configuration_says_beyond_the_bounds_is_told() {
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let configured = [
            set("pelorus_block_cache", "-5"),
            set("max_connections", "0"),
            set("wait_timeout", "60"),
        ];
        let globals = globals();
        assert_eq!(
            globals.configure(&configured).unwrap(),
            [
                "Truncated incorrect pelorus_block_cache value: '-5'; it is 1048576",
                "Truncated incorrect max_connections value: '0'; it is 1",
            ]
        );
        assert_eq!(globals.get("max_connections"), VarValue::UInt(1));
        for (name, value, errno) in [
            ("nonsense", "5", 1193),
            ("pelorus_block_cache", "8GB", 1232),
            ("sql_mode", "FOO", 1231),
            ("version", "9", 1238),
        ] {
            let error = globals.configure(&[set(name, value)]).unwrap_err();
            assert_eq!(error.errno(), errno, "{name}");
            assert!(error.message().contains(&format!("'{name}'")), "{}", error.message());
        }
    }

    #[test]
    fn the_mode_of_the_servers_is_taken_over_until_one_is_chosen() {
        let globals = globals();
        let mode = |globals: &Globals| globals.get("sql_mode").text().to_owned();
        globals.adopt_sql_mode("STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION");
        assert_eq!(mode(&globals), "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION");
        globals.set(find("sql_mode").unwrap(), &text("ANSI_QUOTES")).unwrap();
        globals.adopt_sql_mode("STRICT_TRANS_TABLES");
        assert_eq!(mode(&globals), "ANSI_QUOTES");
    }

    #[test]
    fn only_what_was_changed_is_relayed() {
        let globals = globals();
        let mut session = SessionVariables::new(&globals);
        assert!(session.relayed().is_empty());
        session.set(find("group_concat_max_len").unwrap(), &VarValue::Int(5000)).unwrap();
        session.set(find("foreign_key_checks").unwrap(), &VarValue::Int(0)).unwrap();
        session.set(find("unique_checks").unwrap(), &VarValue::Int(1)).unwrap();
        let relayed: Vec<_> = session.relayed().into_iter().collect();
        let expected = [("foreign_key_checks", "0"), ("group_concat_max_len", "5000")];
        assert_eq!(relayed, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn variables_that_cannot_be_set_say_so() {
        let globals = globals();
        let mut session = SessionVariables::new(&globals);
        let one = VarValue::Int(1);
        let mut set = |name| session.set(find(name).unwrap(), &one).unwrap_err().errno();
        assert_eq!(set("version"), 1238);
        assert_eq!(set("max_connections"), 1229);
        assert_eq!(set("max_allowed_packet"), 1238);
        assert_eq!(set("sql_auto_is_null"), 1235);
        assert_eq!(globals.set(find("timestamp").unwrap(), &one).unwrap_err().errno(), 1228);
    }

    #[test]
    fn sql_modes_are_shown_in_the_order_of_mysql() {
        let variable = find("sql_mode").unwrap();
        let show = |value| sql_mode(variable, &value).unwrap();
        assert_eq!(show(text("no_zero_date, ansi_quotes,")), "ANSI_QUOTES,NO_ZERO_DATE");
        assert_eq!(
            show(text("ANSI")),
            "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI"
        );
        assert_eq!(show(VarValue::Int(4)), "ANSI_QUOTES");
        assert_eq!(show(text("")), "");
        let error = sql_mode(variable, &text("x")).unwrap_err();
        assert_eq!(error.message(), "Variable 'sql_mode' can't be set to the value of 'x'");
    }
}

//! Compatibility of `ALTER TABLE` with copies: actions whose result on the server a copy cannot
//! reproduce, and renames.

use pelorus_sql::Mode;
use pelorus_sql::ddl::{AlterAction, Base, ColumnDefault, ColumnDefinition};
use pelorus_sql::statement::TableName;

use crate::control::eligibility;
use crate::model::copies::{Absent, CopyColumn};
use crate::model::foreign_key::ForeignKey;
use crate::model::mirror::Mirror;

/// The renaming among the actions of an `ALTER TABLE`. A new name without a database is one of the
/// session's database, whichever the table comes from.
pub(crate) fn renames(table: &TableName, actions: &[AlterAction]) -> Vec<(TableName, TableName)> {
    let to = actions.iter().rev().find_map(|action| match action {
        AlterAction::Rename(to) => Some(to.clone()),
        _ => None,
    });
    to.map(|to| (table.clone(), to)).into_iter().collect()
}

/// The table that a MariaDB's `ALTER TABLE ... CONVERT PARTITION p TO TABLE name` makes.
pub(crate) fn converted_to(text: &str, mode: Mode) -> Option<TableName> {
    let tokens = pelorus_sql::tokens(text, mode);
    let is_word = |at: usize, word: &str| tokens.get(at).is_some_and(|it| it.is_word(text, word));
    let at = (0..tokens.len()).find(|&at| is_word(at, "TO") && is_word(at + 1, "TABLE"))? + 2;
    let name = |at: usize| tokens.get(at).and_then(|it| it.name(text));
    let is_qualified = tokens.get(at + 1).is_some_and(|it| it.is_symbol(text, "."));
    match is_qualified {
        true => Some(TableName { database: name(at), name: name(at + 2)? }),
        false => Some(TableName { database: None, name: name(at)? }),
    }
}

/// Whether an action gives one of some columns another name.
pub(crate) fn renames_one(action: &AlterAction, columns: &[String]) -> bool {
    let is_one = |name: &String| columns.iter().any(|it| it.eq_ignore_ascii_case(name));
    match action {
        AlterAction::ChangeColumn { from, column, .. } => {
            is_one(from) && !from.eq_ignore_ascii_case(&column.name)
        }
        AlterAction::RenameColumn(from, _) => is_one(from),
        _ => false,
    }
}

/// The same of the columns of a mirror's own foreign keys.
pub(crate) fn renamed_reference(mirror: &Mirror, actions: &[AlterAction]) -> Option<&'static str> {
    let keys = mirror.foreign_keys();
    let renames = |key: &ForeignKey| actions.iter().any(|it| renames_one(it, &key.columns));
    keys.iter().any(renames).then_some("a column of a foreign key was renamed")
}

/// The relevant properties of an altered table, and of the session that alters it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Altered {
    /// The copy has partitions of its own.
    has_layout: bool,
    /// Columns are computed from others.
    has_generated: bool,
    /// TIMESTAMP columns get defaults that are not written there.
    implicit_timestamps: bool,
}

impl Altered {
    pub(crate) fn of(mirror: &Mirror, implicit_timestamps: bool) -> Self {
        let is_generated = |column: &CopyColumn| column.absent == Absent::Generated;
        Self {
            has_layout: mirror.record().layout.is_some(),
            has_generated: mirror.copy().is_some_and(|it| it.columns().iter().any(is_generated)),
            implicit_timestamps,
        }
    }

    /// Why a column that is changed can have other values than the copy's own change of it makes.
    fn of_changed(self, column: &ColumnDefinition) -> Option<&'static str> {
        if column.generated.is_some() {
            return Some("a generated column was changed");
        }
        if self.has_generated {
            return Some("a column was changed that others may be computed from");
        }
        // Rows that have a zero there get numbers if it has not numbered rows before.
        column.auto_increment.then_some("a column that numbers rows was changed")
    }
}

/// Why an action cannot be executed on a copy with the server's result.
pub(crate) fn hazard(action: &AlterAction, altered: Altered) -> Option<&'static str> {
    let computed = |column: &ColumnDefinition| -> Option<&'static str> {
        if column.generated.is_some() {
            return Some("a generated column was added or changed");
        }
        if column.auto_increment || column.primary {
            return Some("a column that numbers rows was added or changed");
        }
        if column.has_large_default() {
            return Some("a large column with a default was added");
        }
        // A JSON of MariaDB is a text, and empty where that of MySQL is the document `null`.
        if column.data_type.base == Base::Json && column.nullable == Some(false) {
            return Some("a JSON column that cannot be NULL was added");
        }
        if has_fraction(column) {
            return Some("a column was added whose default has a fraction of a second");
        }
        // The moment depends on the session's time zone, which the binlog need not tell.
        matches!(
            column.default,
            Some(ColumnDefault::Expression(_) | ColumnDefault::CurrentTimestamp(_))
        )
        .then_some("a column with a computed default was added or changed")
    };
    match action {
        AlterAction::AddColumn { column, .. }
        | AlterAction::ModifyColumn { column, .. }
        | AlterAction::ChangeColumn { column, .. }
            if altered.implicit_timestamps && column.data_type.base == Base::Timestamp =>
        {
            Some("a TIMESTAMP column was defined under explicit_defaults_for_timestamp = OFF")
        }
        // MariaDB makes a foreign key of it.
        AlterAction::AddColumn { column, .. }
            if column.references.as_ref().is_some_and(eligibility::cascades) =>
        {
            Some("a foreign key was added that changes rows")
        }
        AlterAction::AddColumn { column, .. } => computed(column),
        AlterAction::ModifyColumn { column, .. } | AlterAction::ChangeColumn { column, .. } => {
            altered.of_changed(column)
        }
        AlterAction::AddForeignKey(key) if eligibility::cascades(&key.references) => {
            Some("a foreign key was added that changes rows")
        }
        AlterAction::ImportTablespace(_) => Some("a tablespace was exchanged"),
        AlterAction::Option(option)
            if option.name == "ENGINE" && !option.value.eq_ignore_ascii_case("innodb") =>
        {
            Some("its engine was changed")
        }
        AlterAction::ExchangePartition { .. } => Some("a partition was exchanged"),
        AlterAction::DropPartitions { .. } | AlterAction::TruncatePartitions(_)
            if altered.has_layout =>
        {
            Some("rows went with partitions that the copy does not have")
        }
        AlterAction::DropPrimaryKey => Some("the primary key was dropped"),
        AlterAction::Convert { .. } if altered.has_generated => {
            Some("columns were converted that others may be computed from")
        }
        AlterAction::Convert { charset: None, .. } => {
            Some("the table was converted to the charset of its database")
        }
        AlterAction::Option(option)
            if option.name == "CHARSET" && option.value.eq_ignore_ascii_case("default") =>
        {
            Some("the table has got the charset of its database")
        }
        _ => None,
    }
}

/// Whether the default of a column is a moment with a fraction: a MySQL rounds what the column has no
/// room for, a MariaDB cuts it off.
fn has_fraction(column: &ColumnDefinition) -> bool {
    let is_moment =
        matches!(column.data_type.base, Base::Date | Base::Time | Base::DateTime | Base::Timestamp);
    let default = column.default.as_ref();
    let is_broken =
        |it: &ColumnDefault| matches!(it, ColumnDefault::Literal(it) if it.text.contains('.'));
    is_moment && default.is_some_and(is_broken)
}

#[cfg(test)]
mod tests {
    use pelorus_sql::ddl::TableStatement;

    use super::*;

    const PLAIN: Altered =
        Altered { has_layout: false, has_generated: false, implicit_timestamps: false };

    fn has_hazard(sql: &str, altered: Altered) -> bool {
        match pelorus_sql::ddl::parse(sql, Mode::default()).unwrap() {
            TableStatement::Alter(alter) => {
                alter.actions.iter().any(|it| hazard(it, altered).is_some())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn engines_and_partitions_that_become_tables() {
        assert!(has_hazard("ALTER TABLE t ENGINE = BLACKHOLE", PLAIN));
        assert!(!has_hazard("ALTER TABLE t ENGINE=innodb", PLAIN));
        let to = |text| converted_to(text, Mode::default()).map(|it| (it.database, it.name));
        let name = |database: Option<&str>| Some((database.map(str::to_owned), "n".to_owned()));
        assert_eq!(to("ALTER TABLE t CONVERT PARTITION p TO TABLE n"), name(None));
        assert_eq!(to("ALTER TABLE t CONVERT PARTITION p TO TABLE `d`.`n`"), name(Some("d")));
        assert_eq!(to("ALTER TABLE t CONVERT TABLE n TO PARTITION p"), None);
        assert_eq!(to("ALTER TABLE t CONVERT PARTITION p TO TABLE"), None);
    }

    #[test]
    fn new_columns_that_servers_fill_in_ways_of_their_own() {
        for sql in [
            "ALTER TABLE t ADD d DATETIME(1) DEFAULT '2024-01-02 03:04:05.67'",
            "ALTER TABLE t ADD COLUMN (n INT, d TIME DEFAULT '1:2:3.4')",
            "ALTER TABLE t ADD j JSON NOT NULL",
        ] {
            assert!(has_hazard(sql, PLAIN), "{sql}");
        }
        for sql in [
            "ALTER TABLE t ADD d DATETIME(1) DEFAULT '2024-01-02 03:04:05'",
            "ALTER TABLE t ADD n DECIMAL(5,2) DEFAULT 1.005",
            "ALTER TABLE t ADD j JSON",
        ] {
            assert!(!has_hazard(sql, PLAIN), "{sql}");
        }
    }

    #[test]
    fn changed_columns_that_copies_cannot_follow() {
        let modify = "ALTER TABLE t MODIFY a DECIMAL(6,0)";
        assert!(!has_hazard(modify, PLAIN));
        let computed = Altered { has_generated: true, ..PLAIN };
        assert!(has_hazard(modify, computed));
        assert!(has_hazard("ALTER TABLE t CHANGE a b INT", computed));
        assert!(has_hazard("ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4", computed));
        assert!(!has_hazard("ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4", PLAIN));
        assert!(has_hazard("ALTER TABLE t MODIFY id INT AUTO_INCREMENT", PLAIN));
        let implicit = Altered { implicit_timestamps: true, ..PLAIN };
        for sql in ["ALTER TABLE t ADD ts TIMESTAMP", "ALTER TABLE t MODIFY ts TIMESTAMP(3)"] {
            assert!(has_hazard(sql, implicit) && !has_hazard(sql, PLAIN), "{sql}");
        }
        assert!(!has_hazard("ALTER TABLE t ADD d DATETIME", implicit));
    }
}

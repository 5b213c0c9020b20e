//! Rows of the information schema about this server.

use pelorus_error::{Error, Result};
use pelorus_result::result_table::{Cell, ResultTable};
use pelorus_types::{Collation, collation};

use crate::accounts::Account;
use crate::processlist::Activity;
use crate::session::statement_snapshot::View;

/// Adds the rows of a table whose rows do not come from linked servers.
pub(super) fn fill(view: &View, table: &str, grid: &mut ResultTable) -> Result<()> {
    match table {
        "CHARACTER_SETS" => character_sets(grid),
        "COLLATIONS" => collations(grid),
        "COLLATION_CHARACTER_SET_APPLICABILITY" => applicability(grid),
        "ENGINES" => engines(grid),
        "KEYWORDS" => keywords(grid),
        "PLUGINS" => plugins(grid),
        "PROCESSLIST" => {
            for (id, activity, seconds) in processlist(view) {
                grid.push(vec![
                    id.into(),
                    activity.user.into(),
                    activity.host.into(),
                    activity.database.into(),
                    activity.command.into(),
                    Cell::Int(seconds),
                    activity.state.into(),
                    activity.info.into(),
                ]);
            }
        }
        "USER_PRIVILEGES" => user_privileges(view, grid),
        // Rights on parts of the data and roles do not exist here yet.
        "SCHEMA_PRIVILEGES"
        | "TABLE_PRIVILEGES"
        | "COLUMN_PRIVILEGES"
        | "APPLICABLE_ROLES"
        | "ENABLED_ROLES"
        | "ADMINISTRABLE_ROLE_AUTHORIZATIONS"
        | "ROLE_TABLE_GRANTS"
        | "ROLE_COLUMN_GRANTS"
        | "ROLE_ROUTINE_GRANTS" => {}
        other => return Err(Error::internal(format!("no rows for {other}"))),
    }
    Ok(())
}

/// Sessions that this one may see, with the seconds that each has been at it.
pub(crate) fn processlist(view: &View) -> Vec<(u64, Activity, i64)> {
    let now = view.engine.env().clock.monotonic();
    view.engine
        .processes()
        .all()
        .into_iter()
        .map(|process| (process.handle.id(), process.activity()))
        .filter(|(_, activity)| !view.read_only || activity.account.as_ref() == Some(&view.account))
        .map(|(id, activity)| {
            let seconds = now.saturating_sub(activity.since).as_secs();
            (id, activity, i64::try_from(seconds).unwrap_or(i64::MAX))
        })
        .collect()
}

fn character_sets(grid: &mut ResultTable) {
    for line in include_str!("charsets.tsv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, collation, description, length] = fields.as_slice() else { continue };
        let length = length.parse().unwrap_or(1);
        grid.push(vec![
            (*name).into(),
            (*collation).into(),
            (*description).into(),
            Cell::UInt(length),
        ]);
    }
}

/// Collations of the charsets that are shown, MariaDB's own among them, because links use them.
fn shown_collations() -> Vec<&'static collation::Info> {
    let charsets: Vec<&str> =
        include_str!("charsets.tsv").lines().filter_map(|line| line.split('\t').next()).collect();
    let mut all: Vec<_> =
        Collation::all().into_iter().filter(|info| charsets.contains(&info.charset)).collect();
    all.sort_by_key(|info| info.name);
    all
}

fn collations(grid: &mut ResultTable) {
    for info in shown_collations() {
        let is_default = Collation::default_of(info.charset) == Some(info.id);
        grid.push(vec![
            info.name.into(),
            info.charset.into(),
            u64::from(info.id.0).into(),
            if is_default { "Yes" } else { "" }.into(),
            "Yes".into(),
            Cell::UInt(1),
            if info.no_pad { "NO PAD" } else { "PAD SPACE" }.into(),
        ]);
    }
}

fn applicability(grid: &mut ResultTable) {
    for info in shown_collations() {
        grid.push(vec![info.name.into(), info.charset.into()]);
    }
}

/// The engines for tables: native ones, and those of linked servers.
fn engines(grid: &mut ResultTable) {
    grid.push(vec![
        "Pelorus".into(),
        "DEFAULT".into(),
        "Native tables: updatable, versioned, partitioned columns".into(),
        "YES".into(),
        "NO".into(),
        "YES".into(),
    ]);
    grid.push(vec![
        "InnoDB".into(),
        "YES".into(),
        "Tables of linked servers".into(),
        "YES".into(),
        "NO".into(),
        "YES".into(),
    ]);
}

fn keywords(grid: &mut ResultTable) {
    for line in include_str!("keywords.tsv").lines().filter(|line| !line.starts_with('#')) {
        if let Some((word, reserved)) = line.split_once('\t') {
            grid.push(vec![word.into(), Cell::Int(reserved.parse().unwrap_or(0))]);
        }
    }
}

/// The ways to prove an identity are the only plugins.
fn plugins(grid: &mut ResultTable) {
    for name in ["caching_sha2_password", "mysql_native_password"] {
        let row = grid
            .columns
            .iter()
            .map(|column| match column.name.as_str() {
                "PLUGIN_NAME" => name.into(),
                "PLUGIN_VERSION" | "PLUGIN_TYPE_VERSION" => "1.0".into(),
                "PLUGIN_STATUS" => "ACTIVE".into(),
                "PLUGIN_TYPE" => "AUTHENTICATION".into(),
                "PLUGIN_LICENSE" => "Apache-2.0".into(),
                "PLUGIN_AUTHOR" => "Pelorus".into(),
                "LOAD_OPTION" => "FORCE".into(),
                _ if column.ty.is_nullable() => Cell::Null,
                _ => "".into(),
            })
            .collect();
        grid.push(row);
    }
}

/// Privileges of accounts, in MySQL's words.
pub(crate) const READ_PRIVILEGES: [&str; 3] = ["SELECT", "SHOW DATABASES", "SHOW VIEW"];
const ALL_PRIVILEGES: [&str; 27] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "RELOAD",
    "PROCESS",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "SHOW DATABASES",
    "SUPER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "CREATE USER",
    "EVENT",
    "TRIGGER",
    "CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SYSTEM_VARIABLES_ADMIN",
    "FLUSH_TABLES",
];

fn user_privileges(view: &View, grid: &mut ResultTable) {
    for account in view.engine.accounts().all().iter() {
        if view.read_only && account.name != view.account {
            continue;
        }
        for privilege in privileges(account) {
            grid.push(vec![
                account.name.to_string().into(),
                "def".into(),
                (*privilege).into(),
                if account.read_only { "NO" } else { "YES" }.into(),
            ]);
        }
    }
}

fn privileges(account: &Account) -> &'static [&'static str] {
    if account.read_only { &READ_PRIVILEGES } else { &ALL_PRIVILEGES }
}

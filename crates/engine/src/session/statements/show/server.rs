//! `SHOW` about this server: variables, counters, sessions, warnings, databases.

use std::sync::Arc;

use pelorus_error::Result;
use pelorus_query::InfoSchema;
use pelorus_result::diagnostics::{Diagnostics, Level};
use pelorus_result::result_table::{Cell, ResultTable, int, nullable_text, small_int, text, uint};
use pelorus_result::scalar::value_at;
use pelorus_sql::statement::ShowKind;
use pelorus_types::{Column, ColumnType, Flags};

use crate::engine::Engine;
use crate::info::{InfoTables, SCHEMAS};
use crate::session::context::ReadContext;
use crate::session::statement_snapshot::View;
use crate::variables::{Scope, TABLE};

/// Characters of a statement that `SHOW PROCESSLIST` shows without `FULL`.
const INFO_CHARS: usize = 100;

fn names_and_values() -> ResultTable {
    ResultTable::new(vec![text("Variable_name", 64), nullable_text("Value", 2048)])
}

/// `SHOW VARIABLES`.
pub(super) fn variables(view: &View, global: bool) -> ResultTable {
    let mut grid = names_and_values();
    for variable in TABLE {
        if global && variable.scope == Scope::Session {
            continue;
        }
        let value = if global { view.global_variable(variable) } else { view.variable(variable) };
        grid.push(vec![variable.name.into(), value.show().into()]);
    }
    grid
}

/// A number of `SHOW COUNT(*) WARNINGS`.
pub(super) fn one_count(name: &str, count: usize) -> ResultTable {
    let ty = ColumnType::bigint_unsigned();
    let mut grid = ResultTable::new(vec![Column::computed(name, ty)]);
    grid.push(vec![count.into()]);
    grid
}

/// `SHOW [FULL] PROCESSLIST`.
pub(super) fn processlist(view: &View, full: bool) -> ResultTable {
    let mut id = uint("Id");
    id.ty.length = 22;
    let mut grid = ResultTable::new(vec![
        id,
        text("User", 32),
        text("Host", 255),
        nullable_text("db", 64),
        text("Command", 16),
        small_int("Time", 8, false),
        nullable_text("State", 30),
        nullable_text("Info", if full { 65_535 } else { 100 }),
    ]);
    for (id, activity, seconds) in crate::info::processlist(view) {
        let info = activity
            .info
            .map(|info| if full { info } else { info.chars().take(INFO_CHARS).collect() });
        grid.push(vec![
            id.into(),
            activity.user.into(),
            activity.host.into(),
            activity.database.into(),
            activity.command.into(),
            Cell::Int(seconds),
            activity.state.into(),
            info.into(),
        ]);
    }
    grid
}

/// The rows of a table of the information schema, under the names that `SHOW` has.
pub(super) async fn info(view: &Arc<View>, table: &str) -> Result<ResultTable> {
    let names: &[(&str, &str)] = match table {
        "ENGINES" => &[
            ("ENGINE", "Engine"),
            ("SUPPORT", "Support"),
            ("COMMENT", "Comment"),
            ("TRANSACTIONS", "Transactions"),
            ("XA", "XA"),
            ("SAVEPOINTS", "Savepoints"),
        ],
        "CHARACTER_SETS" => &[
            ("CHARACTER_SET_NAME", "Charset"),
            ("DESCRIPTION", "Description"),
            ("DEFAULT_COLLATE_NAME", "Default collation"),
            ("MAXLEN", "Maxlen"),
        ],
        _ => &[
            ("COLLATION_NAME", "Collation"),
            ("CHARACTER_SET_NAME", "Charset"),
            ("ID", "Id"),
            ("IS_DEFAULT", "Default"),
            ("IS_COMPILED", "Compiled"),
            ("SORTLEN", "Sortlen"),
            ("PAD_ATTRIBUTE", "Pad_attribute"),
        ],
    };
    let Some(schema) = InfoTables::of("information_schema", view) else {
        return Ok(ResultTable::default());
    };
    let columns = schema.table(table).unwrap_or_default();
    let batch = schema.rows(table, &[]).await?;
    let picked: Vec<(usize, Column)> = names
        .iter()
        .filter_map(|(from, to)| {
            let at = columns.iter().position(|column| column.name == *from)?;
            Some((at, Column { name: (*to).to_owned(), ..columns[at].clone() }))
        })
        .collect();
    let mut grid = ResultTable::new(picked.iter().map(|(_, column)| column.clone()).collect());
    for row in 0..batch.num_rows() {
        let cells = picked
            .iter()
            .map(|(at, column)| Ok(cell(value_at(batch.column(*at), &column.ty, row)?)))
            .collect::<Result<_>>()?;
        grid.push(cells);
    }
    Ok(grid)
}

fn cell(value: pelorus_functions::Value) -> Cell {
    use pelorus_functions::Value;
    match value {
        Value::Int(value) => Cell::Int(value),
        Value::UInt(value) => Cell::UInt(value),
        Value::Double(value) => Cell::Double(value),
        Value::Text(text) => Cell::Text(text),
        _ => Cell::Null,
    }
}

/// `SHOW PLUGINS`.
pub(super) fn plugins() -> ResultTable {
    let mut grid = ResultTable::new(vec![
        text("Name", 64),
        text("Status", 10),
        text("Type", 80),
        nullable_text("Library", 64),
        nullable_text("License", 80),
    ]);
    for name in ["caching_sha2_password", "mysql_native_password"] {
        grid.push(vec![
            name.into(),
            "ACTIVE".into(),
            "AUTHENTICATION".into(),
            Cell::Null,
            "Apache-2.0".into(),
        ]);
    }
    grid
}

/// `SHOW PRIVILEGES`: the privileges that exist here.
pub(super) fn privileges() -> ResultTable {
    let mut grid =
        ResultTable::new(vec![text("Privilege", 10), text("Context", 15), text("Comment", 64)]);
    for (privilege, comment) in [
        ("Select", "To read all tables: every account"),
        ("All", "To do everything: accounts that are not READ ONLY"),
    ] {
        grid.push(vec![privilege.into(), "Server".into(), comment.into()]);
    }
    grid
}

/// `SHOW SERVERS`: every server of every link.
pub(super) fn servers(view: &View) -> ResultTable {
    let mut grid = ResultTable::new(vec![
        text("Link", 64),
        text("Address", 255),
        text("Role", 8),
        text("State", 16),
        nullable_text("Version", 64),
        int("Connections"),
        nullable_text("Error", 1024),
    ]);
    for link in view.engine.links().all() {
        for server in link.status().servers {
            grid.push(vec![
                link.name().into(),
                server.address.into(),
                if server.is_primary { "PRIMARY" } else { "REPLICA" }.into(),
                format!("{:?}", server.state).to_ascii_uppercase().into(),
                server.version.into(),
                Cell::UInt(server.connections as u64),
                server.last_error.into(),
            ]);
        }
    }
    grid
}

/// `SHOW STATUS`.
pub(crate) fn show_status(cx: ReadContext<'_>, global: bool) -> ResultTable {
    let mut all = cx.engine.status(global, cx.process);
    if !global {
        let cipher = if cx.identity.login().encrypted { "TLS" } else { "" };
        all.push(("Ssl_cipher".to_owned(), cipher.to_owned()));
    }
    all.sort();
    let mut grid = names_and_values();
    for (name, value) in all {
        grid.push(vec![name.into(), value.into()]);
    }
    grid
}

/// `SHOW WARNINGS` and `SHOW ERRORS`.
pub(crate) fn show_conditions(
    diagnostics: &Diagnostics,
    errors_only: bool,
    limit: Option<(u64, u64)>,
) -> ResultTable {
    let mut code = small_int("Code", 5, true);
    code.ty.flags = code.ty.flags.with(Flags::NOT_NULL);
    let mut grid = ResultTable::new(vec![text("Level", 7), code, text("Message", 512)]);
    let (offset, count) = limit.unwrap_or((0, u64::MAX));
    let bound = |value| usize::try_from(value).unwrap_or(usize::MAX);
    let conditions = diagnostics.conditions();
    let shown = conditions
        .into_iter()
        .filter(|condition| !errors_only || condition.level == Level::Error)
        .skip(bound(offset))
        .take(bound(count));
    for condition in shown {
        grid.push(vec![
            condition.level.word().into(),
            u64::from(condition.code).into(),
            condition.message.into(),
        ]);
    }
    grid
}

/// `SHOW DATABASES`.
pub(crate) async fn show_databases(engine: &Engine) -> ResultTable {
    engine.links().refresh().await;
    let mut names: Vec<String> = SCHEMAS.iter().map(|name| (*name).to_owned()).collect();
    let linked = engine.links().databases();
    names.extend(linked.into_iter().map(|database| database.local));
    names.extend(engine.native().databases().into_iter().map(|(name, _)| name));
    names.sort();
    names.dedup();
    let mut grid = ResultTable::new(vec![text("Database", 64)]);
    for name in names {
        grid.push(vec![name.into()]);
    }
    grid
}

/// `SHOW PROCEDURE STATUS` and `SHOW FUNCTION STATUS`, from the servers' information schemas.
pub(crate) async fn show_routines(view: &Arc<View>, kind: ShowKind) -> Result<ResultTable> {
    const SHOWN: [(&str, &str); 12] = [
        ("ROUTINE_SCHEMA", "Db"),
        ("ROUTINE_NAME", "Name"),
        ("ROUTINE_TYPE", "Type"),
        ("EXTERNAL_LANGUAGE", "Language"),
        ("DEFINER", "Definer"),
        ("LAST_ALTERED", "Modified"),
        ("CREATED", "Created"),
        ("SECURITY_TYPE", "Security_type"),
        ("ROUTINE_COMMENT", "Comment"),
        ("CHARACTER_SET_CLIENT", "character_set_client"),
        ("COLLATION_CONNECTION", "collation_connection"),
        ("DATABASE_COLLATION", "Database Collation"),
    ];
    let wanted = if kind == ShowKind::FunctionStatus { "FUNCTION" } else { "PROCEDURE" };
    let Some(schema) = InfoTables::of("information_schema", view) else {
        return Ok(ResultTable::default());
    };
    let columns = schema.table("ROUTINES").unwrap_or_default();
    let equals = [("ROUTINE_TYPE".to_owned(), wanted.to_owned())];
    let batch = schema.rows("ROUTINES", &equals).await?;
    let mut grid = ResultTable::default();
    let mut picked = Vec::new();
    for (from, to) in SHOWN {
        if let Some(at) = columns.iter().position(|column| column.name == from) {
            picked.push(at);
            // Moments are shown as text: a small result has no other form for them.
            let column = if columns[at].ty.is_date() {
                nullable_text(to, 19)
            } else {
                Column { name: to.to_owned(), ..columns[at].clone() }
            };
            grid.columns.push(column);
        }
    }
    for row in 0..batch.num_rows() {
        let cells: Vec<Cell> = picked
            .iter()
            .map(|at| {
                let ty = &columns[*at].ty;
                let value = value_at(batch.column(*at), ty, row)?;
                Ok(if value.is_null() {
                    Cell::Null
                } else {
                    Cell::Text(pelorus_result::scalar::text_of(&value, ty))
                })
            })
            .collect::<Result<_>>()?;
        if cells.get(2) == Some(&Cell::from(wanted)) {
            grid.push(cells);
        }
    }
    Ok(grid)
}

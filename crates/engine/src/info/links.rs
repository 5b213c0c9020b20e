//! Rows of the schemas `pelorus` and `mysql`: linked servers, variables, accounts, statistics.

use std::time::Duration;

use pelorus_error::{Code, Error, Result};
use pelorus_link::{ServerState, ServerStatus};
use pelorus_native::statistics::column_statistics;
use pelorus_result::result_table::{Cell, ResultTable};

use crate::mirror::status;
use crate::servers::{OPTIONS, Server};
use crate::session::statement_snapshot::View;
use crate::variables::{Change, Scope, TABLE};

/// Adds the rows of a table.
pub(super) fn fill(view: &View, table: &str, grid: &mut ResultTable) -> Result<()> {
    match table {
        "SERVERS" => servers(view, grid),
        "USER" => return users(view, grid),
        "LINKS" => links(view, grid),
        "LINK_SERVERS" => link_servers(view, grid),
        "COLUMN_STATISTICS" => column_statistics(view.engine.native(), grid),
        "MIRRORS" => {
            let all = status::rows(view.engine.mirrors(), view.engine.links(), None);
            all.into_iter().for_each(|row| grid.push(row));
        }
        "VARIABLES" => variables(view, grid),
        other => return Err(Error::internal(format!("no rows for {other}"))),
    }
    Ok(())
}

fn servers(view: &View, grid: &mut ResultTable) {
    for server in view.engine.servers().all() {
        let get = |option: &str| server.get(option).unwrap_or_default();
        let has_password = server.get("PASSWORD").is_some()
            || server.get("PASSWORD_ENV").is_some()
            || server.get("PASSWORD_FILE").is_some();
        grid.push(vec![
            server.name.clone().into(),
            server.host.clone().into(),
            server.databases_text().into(),
            server.user.clone().into(),
            if has_password { "***" } else { "" }.into(),
            u64::from(server.port).into(),
            get("SOCKET").into(),
            server.wrapper.clone().into(),
            server.owner.clone().into(),
        ]);
    }
}

/// Accounts; only accounts that may change accounts see the hashes, as in MySQL.
fn users(view: &View, grid: &mut ResultTable) -> Result<()> {
    if view.read_only {
        return Err(Error::new(
            Code::TableAccessDenied,
            format!("SELECT command denied to user {} for table 'user'", view.account),
        ));
    }
    for account in view.engine.accounts().all().iter() {
        let flag = |on: bool| Cell::from(if on { "Y" } else { "N" });
        grid.push(vec![
            account.name.host.clone().into(),
            account.name.user.clone().into(),
            account.plugin.clone().into(),
            String::from_utf8_lossy(&account.authentication).into_owned().into(),
            flag(account.locked),
            if account.require_ssl { "ANY" } else { "" }.into(),
            flag(account.read_only),
            account.password_changed.into(),
        ]);
    }
    Ok(())
}

fn milliseconds(time: Option<Duration>) -> Cell {
    time.map_or(Cell::Null, |time| Cell::Double(time.as_secs_f64() * 1000.0))
}

fn links(view: &View, grid: &mut ResultTable) {
    for server in view.engine.servers().all() {
        let link = view.engine.links().get(&server.name);
        let status = link.as_ref().map(pelorus_link::Link::status);
        let failure = view.engine.link_failure(&server.name);
        let state = match (&link, &failure) {
            (Some(_), None) => "UP",
            _ => "DOWN",
        };
        let connections = link.as_ref().map(|link| link.config().connections_per_server);
        grid.push(vec![
            server.name.clone().into(),
            state.into(),
            address(&server).into(),
            server.databases_text().into(),
            server.get("REPLICAS").unwrap_or_default().into(),
            connections.unwrap_or_default().into(),
            crate::servers::tls_text(server.tls_mode()).into(),
            status
                .as_ref()
                .and_then(|status| status.snapshot.as_ref())
                .map(|mode| format!("{mode:?}"))
                .into(),
            milliseconds(status.as_ref().and_then(|status| status.lock_held)),
            if server.configured { "YES" } else { "NO" }.into(),
            failure.into(),
        ]);
    }
}

fn address(server: &Server) -> String {
    let options: Vec<String> = OPTIONS
        .iter()
        .filter(|(name, _)| matches!(*name, "HOST" | "PORT" | "SOCKET"))
        .filter_map(|(name, _)| server.get(name))
        .collect();
    options.join(":")
}

fn link_servers(view: &View, grid: &mut ResultTable) {
    for link in view.engine.links().all() {
        let status = link.status();
        for server in status.servers {
            grid.push(server_row(&status.name, server));
        }
    }
}

fn server_row(link: &str, server: ServerStatus) -> Vec<Cell> {
    let state = match server.state {
        ServerState::Unknown => "UNKNOWN",
        ServerState::Up => "UP",
        ServerState::Down => "DOWN",
        ServerState::Lagging => "LAGGING",
    };
    vec![
        link.into(),
        server.address.into(),
        if server.is_primary { "PRIMARY" } else { "REPLICA" }.into(),
        state.into(),
        server.version.into(),
        milliseconds(server.latency),
        server.connections.into(),
        server.idle.into(),
        server.ranges.into(),
        server.rows.into(),
        server.speed.map_or(Cell::Null, Cell::Double),
        server.last_error.into(),
    ]
}

fn variables(view: &View, grid: &mut ResultTable) {
    for variable in TABLE {
        let scope = match variable.scope {
            Scope::Global => "GLOBAL",
            Scope::Both => "BOTH",
            Scope::Session => "SESSION",
        };
        let effect = match variable.change {
            Change::Here => "takes effect here",
            Change::Relayed => "handed to linked servers",
            Change::NoEffect => "no effect",
            Change::OnlyDefault => "only the default is supported",
            Change::AtStart => "in the configuration",
            Change::Never => "read only",
        };
        grid.push(vec![
            variable.name.into(),
            scope.into(),
            view.variable(variable).show().into(),
            variable.default.into(),
            effect.into(),
            variable.doc.into(),
        ]);
    }
}

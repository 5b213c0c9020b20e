//! Statements about linked servers: `CREATE`, `ALTER` and `DROP SERVER`.

use pelorus_error::{Code, Error, Result};
use pelorus_link::Link;
use pelorus_result::diagnostics::Diagnostics;
use pelorus_sql::statement::{AlterServer, CreateServer, DropServer};

use super::done;
use crate::api::Outcome;
use crate::engine::Engine;
use crate::links::is_own;
use crate::servers::Server;
use crate::session::state::primary_connections::PrimaryConnections;

/// Note that a server was there already, or was not.
const SERVER_EXISTS: u16 = 1476;
const SERVER_MISSING: u16 = 1477;

/// What statements about servers use. They close the session's own connection to a changed server.
pub(crate) struct ServerContext<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) diagnostics: &'a Diagnostics,
    pub(crate) connections: &'a mut PrimaryConnections,
}

/// `CREATE SERVER`. A connection is tried at once, so that a wrong host or password is reported
/// here and not in the first report.
pub(crate) async fn create_server(
    cx: &mut ServerContext<'_>,
    create: &CreateServer,
) -> Result<Outcome> {
    let servers = cx.engine.servers();
    let exists = servers.get(&create.name).is_ok();
    if exists && create.if_not_exists {
        let text = format!("server '{}' exists already", create.name);
        cx.diagnostics.note(SERVER_EXISTS, text);
        return Ok(done());
    }
    if exists && create.or_replace {
        servers.check_changeable(&create.name)?;
    } else if exists {
        return Err(Error::new(
            Code::ServerExists,
            format!(
                "The foreign server, {}, you are trying to create already exists.",
                create.name
            ),
        ));
    }
    let mut server = Server::new(&create.name, &create.wrapper)?;
    server.apply(&create.options)?;
    let link = open_checked(cx, &server).await?;
    if exists {
        servers.replace(server)?;
    } else {
        servers.create(server)?;
    }
    replace_link(cx, link).await;
    Ok(done())
}

/// `ALTER SERVER`: the new definition is tried before it takes the place of the old one.
pub(crate) async fn alter_server(
    cx: &mut ServerContext<'_>,
    alter: &AlterServer,
) -> Result<Outcome> {
    let before = cx.engine.servers().check_changeable(&alter.name)?;
    let mut server = before.clone();
    server.apply(&alter.options)?;
    server.check_password_given(&before, &alter.options)?;
    let link = open_checked(cx, &server).await?;
    cx.engine.servers().replace(server)?;
    replace_link(cx, link).await;
    Ok(done())
}

/// `DROP SERVER`.
pub(crate) async fn drop_server(cx: &mut ServerContext<'_>, drop: &DropServer) -> Result<Outcome> {
    let servers = cx.engine.servers();
    match servers.check_changeable(&drop.name) {
        Err(error) if drop.if_exists && error.code() == Code::NoSuchServer => {
            cx.diagnostics.note(SERVER_MISSING, error.message());
            return Ok(done());
        }
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    if cx.engine.mirrors().uses(&drop.name.to_lowercase()) {
        return Err(Error::new(
            Code::WrongArguments,
            format!("server '{}' has mirrors; UNMIRROR them first", drop.name),
        ));
    }
    servers.remove(&drop.name)?;
    if let Some(link) = cx.engine.links().remove(&drop.name) {
        leave_link(cx, &link);
        link.close().await;
    }
    Ok(done())
}

/// Opens a link and sees that the server lets us in and shows nothing that another link shows.
async fn open_checked(cx: &ServerContext<'_>, server: &Server) -> Result<Link> {
    let env = cx.engine.env();
    let config = server.link_config(env, cx.engine.cores(), cx.engine.secrets())?;
    let link = Link::open(config, env.clone()).await?;
    let result = check_link(cx, &link).await;
    if let Err(error) = result {
        link.close().await;
        return Err(error);
    }
    Ok(link)
}

async fn check_link(cx: &ServerContext<'_>, link: &Link) -> Result<()> {
    link.check().await?;
    let links = cx.engine.links();
    links.refresh().await;
    let others = links.databases();
    let shown = link.databases().await?;
    let warn = |text| cx.diagnostics.warn(Code::UnknownDatabase.errno(), text);
    for name in link.missing_databases().await? {
        warn(format!(
            "server '{}' has no database '{name}', or does not show it to the account",
            link.name()
        ));
    }
    if shown.iter().all(|name| is_own(name)) {
        warn(format!("server '{}' shows no databases to the account", link.name()));
    }
    for name in shown {
        let other = others.iter().find(|other| {
            other.local == name && !other.link.name().eq_ignore_ascii_case(link.name())
        });
        if let Some(other) = other.filter(|_| !is_own(&name)) {
            return Err(Error::new(
                Code::WrongArguments,
                format!(
                    "server '{}' has a database '{name}', and so has server '{}'; choose \
                     databases or other names with OPTIONS (DATABASES 'name_there AS \
                     name_here, ...')",
                    link.name(),
                    other.link.name()
                ),
            ));
        }
    }
    Ok(())
}

/// Puts a link in the place of the one of its name.
async fn replace_link(cx: &mut ServerContext<'_>, link: Link) {
    let old = cx.engine.links().insert(link);
    if let Some(old) = old {
        leave_link(cx, &old);
        cx.engine.mirrors().relink(&old.name().to_lowercase());
        old.close().await;
    }
    cx.engine.links().refresh().await;
}

/// Gives up the own connection to a link that goes away.
fn leave_link(cx: &mut ServerContext<'_>, link: &Link) {
    cx.engine.remote_info().forget(link.name());
    cx.connections.remove(link.name());
}

//! Statements about linked servers: `CREATE`, `ALTER` and `DROP SERVER`.

use pelorus_error::{Code, Error, Result};
use pelorus_link::Link;
use pelorus_sql::statement::{AlterServer, CreateServer, DropServer};

use super::Session;
use super::dispatch::done;
use crate::api::Outcome;
use crate::links::is_own;
use crate::servers::Server;

/// Note that a server was there already, or was not.
const SERVER_EXISTS: u16 = 1476;
const SERVER_MISSING: u16 = 1477;

impl Session {
    /// `CREATE SERVER`. A connection is tried at once, so that a wrong host or password is reported
    /// here and not in the first report.
    pub(super) async fn create_server(&mut self, create: &CreateServer) -> Result<Outcome> {
        let servers = self.engine.servers();
        let exists = servers.get(&create.name).is_ok();
        if exists && create.if_not_exists {
            let text = format!("server '{}' exists already", create.name);
            self.statement.diagnostics().note(SERVER_EXISTS, text);
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
        let link = self.open_checked(&server).await?;
        if exists {
            servers.replace(server)?;
        } else {
            servers.create(server)?;
        }
        self.replace_link(link).await;
        Ok(done())
    }

    /// `ALTER SERVER`: the new definition is tried before it takes the place of the old one.
    pub(super) async fn alter_server(&mut self, alter: &AlterServer) -> Result<Outcome> {
        let before = self.engine.servers().check_changeable(&alter.name)?;
        let mut server = before.clone();
        server.apply(&alter.options)?;
        server.check_password_given(&before, &alter.options)?;
        let link = self.open_checked(&server).await?;
        self.engine.servers().replace(server)?;
        self.replace_link(link).await;
        Ok(done())
    }

    /// `DROP SERVER`.
    pub(super) async fn drop_server(&mut self, drop: &DropServer) -> Result<Outcome> {
        let servers = self.engine.servers();
        match servers.check_changeable(&drop.name) {
            Err(error) if drop.if_exists && error.code() == Code::NoSuchServer => {
                self.statement.diagnostics().note(SERVER_MISSING, error.message());
                return Ok(done());
            }
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        if self.engine.mirrors().uses(&drop.name.to_lowercase()) {
            return Err(Error::new(
                Code::WrongArguments,
                format!("server '{}' has mirrors; UNMIRROR them first", drop.name),
            ));
        }
        servers.remove(&drop.name)?;
        if let Some(link) = self.engine.links().remove(&drop.name) {
            self.leave_link(&link);
            link.close().await;
        }
        Ok(done())
    }

    /// Opens a link and sees that the server lets us in and shows nothing that another link shows.
    async fn open_checked(&self, server: &Server) -> Result<Link> {
        let env = self.engine.env();
        let config = server.link_config(env, self.engine.cores(), self.engine.secrets())?;
        let link = Link::open(config, env.clone()).await?;
        let result = self.check_link(&link).await;
        if let Err(error) = result {
            link.close().await;
            return Err(error);
        }
        Ok(link)
    }

    async fn check_link(&self, link: &Link) -> Result<()> {
        link.check().await?;
        let links = self.engine.links();
        links.refresh().await;
        let others = links.databases();
        let shown = link.databases().await?;
        let warn = |text| self.statement.diagnostics().warn(Code::UnknownDatabase.errno(), text);
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
    async fn replace_link(&mut self, link: Link) {
        let old = self.engine.links().insert(link);
        if let Some(old) = old {
            self.leave_link(&old);
            self.engine.mirrors().relink(&old.name().to_lowercase());
            old.close().await;
        }
        self.engine.links().refresh().await;
    }

    /// Gives up the own connection to a link that goes away.
    fn leave_link(&mut self, link: &Link) {
        self.engine.remote_info().forget(link.name());
        self.transaction.pinned.remove(link.name());
    }
}

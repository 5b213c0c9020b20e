//! The known definitions of linked servers; those made by SQL are stored on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parking_lot::RwLock;
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};

use crate::config::LinkSpec;
use crate::secret_store::Seal;
use crate::servers::{Server, format};

/// All definitions, by name in lower case: MySQL tells server names apart without case.
#[derive(Debug)]
pub(crate) struct Servers {
    env: Env,
    path: PathBuf,
    seal: Seal,
    all: RwLock<BTreeMap<String, Server>>,
}

impl Servers {
    /// Reads the stored definitions and adds those of the configuration. A configured server
    /// replaces a stored one of the same name for this run.
    pub(crate) fn open(env: &Env, folder: &Path, configured: &[LinkSpec]) -> Result<Self> {
        let seal = Seal::open(env, folder)?;
        let path = folder.join("servers.json");
        let bytes = env.files.read(&path).map_err(|error| {
            Error::internal(format!("cannot read {}", path.display())).caused_by(error)
        })?;
        let help =
            "restore it from a copy, together with key.json; without it, no server is linked";
        let stored = bytes.map(|bytes| format::decode(&bytes, &seal)).transpose();
        let stored = stored.map_err(|error| crate::files::unusable(&path, help, error))?;
        let mut all: BTreeMap<String, Server> =
            stored.into_iter().flatten().map(|server| (key(&server.name), server)).collect();
        for spec in configured {
            let mut server = Server::new(&spec.name, "mysql")?;
            for (name, value) in &spec.options {
                server.set(name, value)?;
            }
            server.configured = true;
            if let Some(old) = all.insert(key(&server.name), server) {
                if old.configured {
                    return Err(Error::new(
                        Code::ServerExists,
                        format!(
                            "the configuration links two servers under the name '{}'",
                            old.name
                        ),
                    ));
                }
                tracing::warn!(server = old.name, "configuration replaces a stored server");
            }
        }
        Ok(Self { env: env.clone(), path, seal, all: RwLock::new(all) })
    }

    /// All definitions, by name.
    pub(crate) fn all(&self) -> Vec<Server> {
        self.all.read().values().cloned().collect()
    }

    /// A definition by name, in any case.
    ///
    /// # Errors
    /// When there is none (1477).
    pub(crate) fn get(&self, name: &str) -> Result<Server> {
        self.all.read().get(&key(name)).cloned().ok_or_else(|| no_such(name))
    }

    /// Stores a new definition.
    ///
    /// # Errors
    /// When the name is taken (1476).
    pub(crate) fn create(&self, server: Server) -> Result<()> {
        self.change(|all| {
            if all.contains_key(&key(&server.name)) {
                return Err(Error::new(
                    Code::ServerExists,
                    format!(
                        "The foreign server, {}, you are trying to create already exists.",
                        server.name
                    ),
                ));
            }
            all.insert(key(&server.name), server);
            Ok(())
        })
    }

    /// Replaces the definition under an existing name.
    pub(crate) fn replace(&self, server: Server) -> Result<()> {
        self.change(|all| {
            all.insert(key(&server.name), server);
            Ok(())
        })
    }

    /// Forgets a definition.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        self.change(|all| all.remove(&key(name)).map(|_| ()).ok_or_else(|| no_such(name)))
    }

    /// Refuses changes that the configuration would undo at the next start.
    pub(crate) fn check_changeable(&self, name: &str) -> Result<Server> {
        let server = self.get(name)?;
        if server.configured {
            return Err(Error::new(
                Code::OptionPreventsStatement,
                format!("server '{}' comes from the configuration; change it there", server.name),
            ));
        }
        Ok(server)
    }

    /// Changes a copy, writes it, then shows it.
    fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, Server>) -> Result<()>,
    ) -> Result<()> {
        let mut guard = self.all.write();
        let mut all = guard.clone();
        change(&mut all)?;
        let stored = all.values().filter(|server| !server.configured);
        let bytes = format::encode(stored, &self.seal)?;
        self.env
            .files
            .replace(&self.path, &bytes)
            .map_err(|error| crate::files::write_error(&self.path, error))?;
        *guard = all;
        Ok(())
    }
}

fn key(name: &str) -> String {
    name.to_lowercase()
}

fn no_such(name: &str) -> Error {
    Error::new(
        Code::NoSuchServer,
        format!(
            "The foreign server name you are trying to reference does not exist. Data source \
             error:  {name}"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str) -> Server {
        let mut server = Server::new(name, "mysql").unwrap();
        server.set("HOST", "db").unwrap();
        server
    }

    #[test]
    fn definitions_survive_a_restart_and_configured_ones_are_not_stored() {
        let env = Env::in_memory(1);
        let open = |links: &[LinkSpec]| Servers::open(&env, Path::new("/data"), links);
        let spec = LinkSpec { name: "conf".into(), options: vec![("HOST".into(), "x".into())] };
        let servers = open(std::slice::from_ref(&spec)).unwrap();
        servers.create(server("Shop")).unwrap();
        assert_eq!(servers.create(server("shop")).unwrap_err().errno(), 1476);
        assert_eq!(servers.check_changeable("conf").unwrap_err().errno(), 1290);
        let names: Vec<_> = open(&[]).unwrap().all().into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["Shop"]);
        let servers = open(&[]).unwrap();
        servers.remove("SHOP").unwrap();
        assert_eq!(servers.remove("shop").unwrap_err().errno(), 1477);
        assert_eq!(open(&[spec.clone(), spec]).unwrap_err().errno(), 1476);
    }
}

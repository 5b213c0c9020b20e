//! Accounts: who may log in, from where, and whether they may change anything.
//!
//! Until rights come in full, an account may do everything or only read. Passwords are kept as the
//! hashes of their plugins.

mod first;
pub(crate) mod format;
mod hash;
mod name;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::RwLock;
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};

use crate::api::Credential;
use crate::config::RootPassword;

pub use first::reset_password;
pub(crate) use hash::{DEFAULT_PLUGIN, Proof};
pub(crate) use name::AccountName;

/// One account.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Account {
    /// Its name.
    pub(crate) name: AccountName,
    /// The authentication plugin.
    pub(crate) plugin: String,
    /// What the plugin stores; empty means no password.
    pub(crate) authentication: Vec<u8>,
    /// It may only read.
    pub(crate) read_only: bool,
    /// It may not log in.
    pub(crate) locked: bool,
    /// Its connections must be encrypted.
    pub(crate) require_ssl: bool,
    /// When the password was set, in seconds since 1970.
    pub(crate) password_changed: u64,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What `CREATE USER` and `ALTER USER` say of an account; `None` leaves it as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) proof: Option<Proof>,
    pub(crate) read_only: Option<bool>,
    pub(crate) locked: Option<bool>,
    pub(crate) require_ssl: Option<bool>,
}

/// The accounts of one server; every change is on disk before it counts.
#[derive(Debug)]
pub(crate) struct Accounts {
    env: Env,
    path: PathBuf,
    all: RwLock<Arc<Vec<Account>>>,
    /// The first login is still to come.
    unused: AtomicBool,
}

impl Accounts {
    /// Reads the accounts, or makes `root` before the first login: for `localhost`, and for
    /// `hosts` with the same password. The second value is the password of `root` when one was made
    /// up.
    pub(crate) fn open(
        env: &Env,
        folder: &Path,
        root: &RootPassword,
        hosts: &[String],
    ) -> Result<(Self, Option<String>)> {
        let path = folder.join("accounts.json");
        let this = |all, unused| Self {
            env: env.clone(),
            path: path.clone(),
            all: RwLock::new(Arc::new(all)),
            unused: AtomicBool::new(unused),
        };
        let bytes = env.files.read(&path).map_err(|error| {
            Error::internal(format!("cannot read {}", path.display())).caused_by(error)
        })?;
        if let Some(bytes) = bytes {
            let help = "restore it from a copy; without it, a start makes root with a new password";
            let (accounts, unused) = format::decode(&bytes)
                .map_err(|error| crate::files::unusable(&path, help, error))?;
            if !unused {
                return Ok((this(accounts, false), None));
            }
        }
        let accounts = this(Vec::new(), true);
        let generated = accounts.make_first(root, hosts)?;
        Ok((accounts, generated))
    }

    /// All accounts, sorted as they are tried at login.
    pub(crate) fn all(&self) -> Arc<Vec<Account>> {
        self.all.read().clone()
    }

    /// The account under which this user from this address works.
    pub(crate) fn find(&self, user: &str, peer: Option<IpAddr>) -> Option<Account> {
        let all = self.all();
        all.iter().find(|account| account.name.user == user && account.name.admits(peer)).cloned()
    }

    /// The account of exactly this name.
    pub(crate) fn get(&self, name: &AccountName) -> Option<Account> {
        self.all().iter().find(|account| account.name == *name).cloned()
    }

    /// `CREATE USER`: all or none. Returns the names that were there already, which is an error
    /// unless `if_not_exists`.
    pub(crate) fn create(
        &self,
        new: &[(AccountName, Change)],
        if_not_exists: bool,
    ) -> Result<Vec<AccountName>> {
        self.change("CREATE USER", if_not_exists, |accounts, skipped| {
            for (name, change) in new {
                if accounts.iter().any(|account| account.name == *name) {
                    skipped.push(name.clone());
                    continue;
                }
                let mut account = Account {
                    name: name.clone(),
                    plugin: DEFAULT_PLUGIN.to_owned(),
                    authentication: Vec::new(),
                    read_only: false,
                    locked: false,
                    require_ssl: false,
                    password_changed: self.env.clock.since_epoch().as_secs(),
                };
                self.apply(&mut account, change)?;
                accounts.push(account);
            }
            Ok(())
        })
    }

    /// `ALTER USER` and `SET PASSWORD`.
    pub(crate) fn alter(
        &self,
        changes: &[(AccountName, Change)],
        if_exists: bool,
    ) -> Result<Vec<AccountName>> {
        self.change("ALTER USER", if_exists, |accounts, skipped| {
            for (name, change) in changes {
                match accounts.iter_mut().find(|account| account.name == *name) {
                    Some(account) => self.apply(account, change)?,
                    None => skipped.push(name.clone()),
                }
            }
            Ok(())
        })
    }

    /// `DROP USER`.
    pub(crate) fn drop(&self, names: &[AccountName], if_exists: bool) -> Result<Vec<AccountName>> {
        self.change("DROP USER", if_exists, |accounts, skipped| {
            for name in names {
                let before = accounts.len();
                accounts.retain(|account| account.name != *name);
                if accounts.len() == before {
                    skipped.push(name.clone());
                }
            }
            if accounts.iter().all(|account| account.read_only) {
                return Err(Error::new(
                    Code::CannotUser,
                    "Operation DROP USER failed: the last account that may change accounts must \
                     stay",
                ));
            }
            Ok(())
        })
    }

    /// `RENAME USER`.
    pub(crate) fn rename(&self, pairs: &[(AccountName, AccountName)]) -> Result<()> {
        self.change("RENAME USER", false, |accounts, skipped| {
            for (from, to) in pairs {
                let taken = accounts.iter().any(|account| account.name == *to);
                match accounts.iter_mut().find(|account| account.name == *from) {
                    Some(account) if !taken => account.name = to.clone(),
                    _ => skipped.push(from.clone()),
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    fn apply(&self, account: &mut Account, change: &Change) -> Result<()> {
        if let Some(proof) = &change.proof {
            let (plugin, authentication) = proof.stored(&self.env, &account.plugin)?;
            account.plugin = plugin;
            account.authentication = authentication;
            account.password_changed = self.env.clock.since_epoch().as_secs();
        }
        account.read_only = change.read_only.unwrap_or(account.read_only);
        account.locked = change.locked.unwrap_or(account.locked);
        account.require_ssl = change.require_ssl.unwrap_or(account.require_ssl);
        Ok(())
    }

    /// Changes a copy, writes it, then shows it. Names that could not be handled are an error
    /// unless `tolerant`.
    fn change(
        &self,
        operation: &str,
        tolerant: bool,
        change: impl FnOnce(&mut Vec<Account>, &mut Vec<AccountName>) -> Result<()>,
    ) -> Result<Vec<AccountName>> {
        let mut guard = self.all.write();
        let mut accounts = Vec::clone(&guard);
        let mut skipped = Vec::new();
        change(&mut accounts, &mut skipped)?;
        if !tolerant && !skipped.is_empty() {
            let names: Vec<String> = skipped.iter().map(ToString::to_string).collect();
            return Err(Error::new(
                Code::CannotUser,
                format!("Operation {operation} failed for {}", names.join(",")),
            ));
        }
        accounts
            .sort_by(|a, b| (a.name.specificity(), &a.name).cmp(&(b.name.specificity(), &b.name)));
        self.env
            .files
            .replace(&self.path, &format::encode(&accounts, self.is_unused())?)
            .map_err(|error| crate::files::write_error(&self.path, error))?;
        *guard = Arc::new(accounts);
        Ok(skipped)
    }
}

impl From<Account> for Credential {
    fn from(account: Account) -> Self {
        Credential {
            plugin: account.plugin,
            authentication: account.authentication,
            locked: account.locked,
            require_ssl: account.require_ssl,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(env: &Env) -> Accounts {
        Accounts::open(env, Path::new("/data"), &RootPassword::Given("s3cret".into()), &[])
            .unwrap()
            .0
    }

    fn name(user: &str, host: &str) -> AccountName {
        AccountName::new(user, host).unwrap()
    }

    fn password(text: &str) -> Change {
        Change { proof: Some(Proof::Password(text.into(), None)), ..Change::default() }
    }

    #[test]
    fn a_damaged_file_is_named_with_what_helps() {
        let env = Env::in_memory(1);
        env.files.replace(Path::new("/data/accounts.json"), b"{").unwrap();
        let error =
            Accounts::open(&env, Path::new("/data"), &RootPassword::Generate, &[]).unwrap_err();
        let text = pelorus_error::display_chain(&error);
        assert!(text.starts_with("cannot use /data/accounts.json (restore it"), "{text}");
        assert!(text.contains("the accounts file is damaged"), "{text}");
    }

    #[test]
    fn accounts_come_change_and_go() {
        let env = Env::in_memory(2);
        let accounts = open(&env);
        accounts.note_login().unwrap();
        accounts.create(&[(name("ann", "%"), password("a"))], false).unwrap();
        let error = accounts.create(&[(name("ann", "%"), password("b"))], false).unwrap_err();
        assert_eq!(error.errno(), 1396);
        assert_eq!(error.message(), "Operation CREATE USER failed for 'ann'@'%'");
        let skipped = accounts.create(&[(name("ann", "%"), password("b"))], true).unwrap();
        assert_eq!(skipped, [name("ann", "%")]);
        let before = accounts.get(&name("ann", "%")).unwrap();
        let read_only = Change { read_only: Some(true), ..Change::default() };
        accounts.alter(&[(name("ann", "%"), read_only)], false).unwrap();
        let after = accounts.get(&name("ann", "%")).unwrap();
        assert!(after.read_only && after.authentication == before.authentication);
        accounts.rename(&[(name("ann", "%"), name("eve", "localhost"))]).unwrap();
        assert_eq!(open(&env).all(), accounts.all());
        accounts.drop(&[name("eve", "localhost")], false).unwrap();
        assert_eq!(accounts.drop(&[name("eve", "localhost")], false).unwrap_err().errno(), 1396);
        assert_eq!(accounts.drop(&[name("root", "localhost")], false).unwrap_err().errno(), 1396);
    }

    #[test]
    fn passwords_that_nobody_could_log_in_with_are_refused() {
        let env = Env::in_memory(4);
        let root = RootPassword::Given("x".repeat(1 << 20));
        let refused = Accounts::open(&env, Path::new("/other"), &root, &[]).unwrap_err();
        assert_eq!(refused.errno(), 1819);
        let accounts = open(&env);
        accounts.create(&[(name("ann", "%"), password(&"x".repeat(256)))], false).unwrap();
        let change = password(&"x".repeat(257));
        assert_eq!(accounts.alter(&[(name("ann", "%"), change)], false).unwrap_err().errno(), 1819);
    }

    #[test]
    fn the_most_specific_account_is_used() {
        let env = Env::in_memory(3);
        let accounts = open(&env);
        accounts
            .create(
                &[
                    (name("ann", "%"), password("a")),
                    (name("ann", "10.0.%"), password("b")),
                    (name("ann", "localhost"), password("c")),
                ],
                false,
            )
            .unwrap();
        let host = |peer: &str| {
            accounts.find("ann", Some(peer.parse().unwrap())).map(|account| account.name.host)
        };
        assert_eq!(host("127.0.0.1").as_deref(), Some("localhost"));
        assert_eq!(host("10.0.3.4").as_deref(), Some("10.0.%"));
        assert_eq!(host("10.9.3.4").as_deref(), Some("%"));
        assert!(accounts.find("Ann", None).is_none());
    }
}

//! Accounts: user names, host patterns, password hashes, and whether an account may only read.
//!
//! Privileges are not finer than that: an account may do everything or only read. A password is
//! stored as the hash of its authentication plugin.

mod account;
mod failures;
mod first;
pub(crate) mod format;
mod hash;
pub(crate) mod name;
mod reach;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};
use pelorus_sql::statement::LockTime;

use crate::api::Credential;
use crate::config::RootPassword;

pub(crate) use account::{Account, Change};
pub use first::reset_password;
pub(crate) use hash::{DEFAULT_PLUGIN, Proof};
pub(crate) use name::AccountName;
pub(crate) use reach::Reach;

use failures::Failures;

/// The accounts of one server; every change is on disk before it counts.
#[derive(Debug)]
pub(crate) struct Accounts {
    env: Env,
    path: PathBuf,
    /// From where clients can come.
    reach: Reach,
    /// As if every account had `REQUIRE SSL`.
    secure_only: AtomicBool,
    all: RwLock<Arc<Vec<Account>>>,
    /// The first login is still to come.
    unused: AtomicBool,
    failures: Failures,
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
        reach: Reach,
    ) -> Result<(Self, Option<String>)> {
        let path = folder.join("accounts.json");
        let this = |all, unused| Self {
            env: env.clone(),
            path: path.clone(),
            reach: reach.clone(),
            secure_only: AtomicBool::new(false),
            all: RwLock::new(Arc::new(all)),
            unused: AtomicBool::new(unused),
            failures: Failures::default(),
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
                    failed_login_attempts: 0,
                    password_lock_time: LockTime::default(),
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
        .inspect(|_| {
            for (name, _) in changes.iter().filter(|(_, change)| change.forgets_failures()) {
                self.failures.forget(name);
            }
        })
    }

    /// Counts the result of a login of an account; unknown users change nothing.
    ///
    /// # Errors
    /// The account is locked for its failed logins (3955), whatever the result of this one.
    pub(crate) fn login_ended(
        &self,
        user: &str,
        peer: Option<IpAddr>,
        is_proven: bool,
    ) -> Result<()> {
        let Some(account) = self.find(user, peer) else { return Ok(()) };
        let now = self.env.clock.since_epoch();
        self.failures.count(&account, is_proven, now).map_err(|blocked| {
            let host = peer.map_or_else(|| "localhost".to_owned(), |ip| ip.to_string());
            blocked.error(user, &host)
        })
    }

    /// `FLUSH PRIVILEGES`: no account is locked for failed logins any more.
    pub(crate) fn forget_failures(&self) {
        self.failures.forget_all();
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
            Ok(())
        })
        .inspect(|_| names.iter().for_each(|name| self.failures.forget(name)))
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
        pairs.iter().for_each(|(from, _)| self.failures.forget(from));
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
        account.failed_login_attempts =
            change.failed_login_attempts.unwrap_or(account.failed_login_attempts);
        account.password_lock_time =
            change.password_lock_time.unwrap_or(account.password_lock_time);
        Ok(())
    }

    /// Whether there is an account that is not locked and may change accounts, and one that can be
    /// used from where clients can come.
    fn administration(&self, accounts: &[Account]) -> (bool, bool) {
        // Ordering: nothing else hangs on it.
        let secure_only = self.secure_only.load(Ordering::Relaxed);
        let mut able = accounts.iter().filter(|account| !account.read_only && !account.locked);
        let is_usable = |account: &Account| {
            self.reach.includes(&account.name, !secure_only && !account.require_ssl)
        };
        (able.clone().next().is_some(), able.any(is_usable))
    }

    /// `require_secure_transport` at the start.
    pub(crate) fn begin_secure(&self, secure_only: bool) {
        // Ordering: no other thread looks at it yet.
        self.secure_only.store(secure_only, Ordering::Relaxed);
    }

    /// `require_secure_transport`: from now on all connections must be encrypted, or need not.
    ///
    /// # Errors
    /// 3160 where no account could change accounts any more then.
    pub(crate) fn require_secure(&self, secure_only: bool) -> Result<()> {
        let guard = self.all.write();
        let before = self.administration(&guard);
        // Ordering: nothing else hangs on it; the lock orders those who look.
        let old = self.secure_only.swap(secure_only, Ordering::Relaxed);
        if self.administration(&guard) < before {
            self.secure_only.store(old, Ordering::Relaxed);
            return Err(Error::new(
                Code::NoSecureTransports,
                "No secure transports (SSL or Shared Memory) are configured, unable to set \
                 --require_secure_transport=ON.",
            ));
        }
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
        if self.administration(&accounts) < self.administration(&guard) {
            return Err(Error::new(
                Code::CannotUser,
                format!(
                    "Operation {operation} failed: an account must stay that may change accounts, \
                     is not locked, and can log in from where this server listens, encrypted if it must \
                     be"
                ),
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
        let root = RootPassword::Given("s3cret".into());
        Accounts::open(env, Path::new("/data"), &root, &[], Reach::default()).unwrap().0
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
        let error = Accounts::open(
            &env,
            Path::new("/data"),
            &RootPassword::Generate,
            &[],
            Reach::default(),
        )
        .unwrap_err();
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
    fn an_account_that_can_administrate_stays() {
        let env = Env::in_memory(5);
        let accounts = open(&env);
        let root = || name("root", "localhost");
        let locked = Change { locked: Some(true), ..Change::default() };
        let read_only = Change { read_only: Some(true), ..Change::default() };
        let refused = |accounts: &Accounts| {
            let before = accounts.all();
            let away = name("root", "224.0.0.1");
            for error in [
                accounts.drop(&[root()], false).unwrap_err(),
                accounts.rename(&[(root(), away)]).unwrap_err(),
                accounts.alter(&[(root(), locked.clone())], false).unwrap_err(),
                accounts.alter(&[(root(), read_only.clone())], false).unwrap_err(),
            ] {
                assert_eq!(error.errno(), 1396);
                assert!(error.message().contains("must stay"), "{error}");
            }
            assert_eq!(accounts.all(), before);
        };
        refused(&accounts);
        // Accounts that cannot administrate do not help.
        let new = [(name("ann", "%"), read_only.clone()), (name("bob", "%"), locked.clone())];
        accounts.create(&new, false).unwrap();
        refused(&accounts);
        accounts.create(&[(name("eve", "%"), password("e"))], false).unwrap();
        accounts.alter(&[(root(), locked.clone())], false).unwrap();
        accounts.drop(&[root()], false).unwrap();
        let unlocked = Change { locked: Some(false), ..Change::default() };
        let both = [(name("eve", "%"), locked.clone()), (name("bob", "%"), unlocked)];
        accounts.alter(&both, false).unwrap();
    }

    #[test]
    fn an_administrator_counts_only_if_it_can_be_encrypted_as_it_must_be() {
        let env = Env::in_memory(6);
        let with = |reach: Reach| {
            let root = RootPassword::Given("root-Passw0rd".to_owned());
            Accounts::open(&env, Path::new("/data"), &root, &[], reach).unwrap().0
        };
        let secret = Change { require_ssl: Some(true), ..password("a") };
        let plain = Reach { tls: false, socket: false, ..Reach::default() };
        let accounts = with(plain.clone());
        accounts.note_login().unwrap();
        accounts.create(&[(name("ann", "%"), secret)], false).unwrap();
        let refused = |accounts: &Accounts| {
            let root = || name("root", "localhost");
            let secret = Change { require_ssl: Some(true), ..Change::default() };
            assert_eq!(accounts.drop(&[root()], false).unwrap_err().errno(), 1396);
            assert_eq!(accounts.alter(&[(root(), secret)], false).unwrap_err().errno(), 1396);
            assert_eq!(accounts.require_secure(true).unwrap_err().errno(), 3160);
        };
        refused(&accounts);
        accounts.require_secure(false).unwrap();
        refused(&accounts);
        // With TLS, or on a local socket, it can log in.
        for reach in [Reach::default(), Reach { socket: true, ..plain }] {
            let accounts = with(reach);
            accounts.require_secure(true).unwrap();
            accounts.drop(&[name("root", "localhost")], false).unwrap();
            let kept = accounts.drop(&[name("ann", "%")], false).unwrap_err();
            assert_eq!(kept.errno(), 1396);
            accounts.create(&[(name("root", "localhost"), password("r"))], false).unwrap();
        }
    }

    #[test]
    fn passwords_that_nobody_could_log_in_with_are_refused() {
        let env = Env::in_memory(4);
        let root = RootPassword::Given("x".repeat(1 << 20));
        let refused =
            Accounts::open(&env, Path::new("/other"), &root, &[], Reach::default()).unwrap_err();
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

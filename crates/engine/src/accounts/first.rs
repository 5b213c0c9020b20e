//! The accounts of the first start, and the reset of a lost password.
//!
//! Before the first login, every start creates `root` again and prints its generated password. A
//! start that fails, or whose output is lost, can simply be repeated.

use std::path::Path;
use std::sync::atomic::Ordering;

use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};

use super::{AccountName, Accounts, Change, Proof, Reach, format, hash};
use crate::config::RootPassword;

impl Accounts {
    /// Creates `root` for `localhost` and for some hosts. Returns the password if it was generated.
    pub(super) fn make_first(
        &self,
        root: &RootPassword,
        hosts: &[String],
    ) -> Result<Option<String>> {
        let (password, generated) = settle(&self.env, root);
        let mut first: Vec<(AccountName, Change)> = Vec::new();
        for host in std::iter::once("localhost").chain(hosts.iter().map(String::as_str)) {
            let name = AccountName::new("root", host)?;
            if first.iter().all(|(other, _)| *other != name) {
                let proof = Some(Proof::Password(password.clone(), None));
                first.push((name, Change { proof, ..Change::default() }));
            }
        }
        self.create(&first, false)?;
        Ok(generated)
    }

    /// Whether the first login is still to come.
    pub(crate) fn is_unused(&self) -> bool {
        // Ordering: what it says is written under the lock of the accounts.
        self.unused.load(Ordering::Relaxed)
    }

    /// Notes a login: the accounts stay from now on.
    ///
    /// # Errors
    /// I/O errors; the next login tries again.
    pub(crate) fn note_login(&self) -> Result<()> {
        if !self.is_unused() {
            return Ok(());
        }
        let accounts = self.all.write();
        self.env
            .files
            .replace(&self.path, &format::encode(&accounts, false)?)
            .map_err(|error| crate::files::write_error(&self.path, error))?;
        self.unused.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Whether an account lets clients of other machines in.
    pub(crate) fn admits_others(&self) -> bool {
        let is_here = |host: &str| {
            host == "localhost"
                || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        };
        self.all().iter().any(|account| !account.locked && !is_here(&account.name.host))
    }
}

/// The password that was given, or a new one, which is given back too.
fn settle(env: &Env, password: &RootPassword) -> (String, Option<String>) {
    match password {
        RootPassword::Given(password) => (password.clone(), None),
        RootPassword::Generate => {
            let password = hash::random_password(env);
            (password.clone(), Some(password))
        }
    }
}

/// Resets the password of an account of a stopped server, and gives the account all privileges;
/// creates the account if necessary. Returns the password if it was generated.
///
/// # Errors
/// A folder without accounts, an invalid account name, and I/O errors.
pub fn reset_password(
    env: &Env,
    folder: &Path,
    (user, host): (&str, &str),
    password: &RootPassword,
) -> Result<Option<String>> {
    let path = folder.join("accounts.json");
    let found = env.files.read(&path).map_err(|error| {
        Error::internal(format!("cannot read {}", path.display())).caused_by(error)
    })?;
    if found.is_none() {
        let text = format!(
            "{} has no accounts yet: the next start makes root and shows its password",
            folder.display()
        );
        return Err(Error::new(Code::WrongArguments, text));
    }
    let name = AccountName::new(user, host)?;
    // Accounts before the first login would be made again by the next start.
    let (accounts, _) = Accounts::open(env, folder, password, &[], Reach::default())?;
    accounts.note_login()?;
    let (password, generated) = settle(env, password);
    let change = Change {
        proof: Some(Proof::Password(password, None)),
        read_only: Some(false),
        locked: Some(false),
        ..Change::default()
    };
    accounts.create(&[(name.clone(), Change::default())], true)?;
    accounts.alter(&[(name, change)], false)?;
    Ok(generated)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(env: &Env, hosts: &[&str]) -> (Accounts, Option<String>) {
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        Accounts::open(env, Path::new("/data"), &RootPassword::Generate, &hosts, Reach::default())
            .unwrap()
    }

    fn root_of(accounts: &Accounts, peer: Option<&str>) -> Option<Vec<u8>> {
        let peer = peer.map(|peer| peer.parse().unwrap());
        accounts.find("root", peer).map(|account| account.authentication)
    }

    #[test]
    fn starts_make_root_until_the_first_login() {
        let env = Env::in_memory(1);
        let (accounts, first) = open(&env, &[]);
        let first = first.unwrap();
        assert!(first.len() >= 16);
        assert!(root_of(&accounts, None).unwrap().starts_with(b"$A$005$"));
        assert!(root_of(&accounts, Some("10.1.1.1")).is_none() && !accounts.admits_others());
        // The first start has failed, or its output was lost.
        let (accounts, second) = open(&env, &["10.0.0.0/8"]);
        assert!(second.is_some_and(|second| second != first));
        assert!(root_of(&accounts, Some("10.1.1.1")).is_some() && accounts.admits_others());
        assert!(root_of(&accounts, Some("11.1.1.1")).is_none());
        accounts.note_login().unwrap();
        let (again, third) = open(&env, &["%"]);
        assert_eq!((third, again.all()), (None, accounts.all()));
    }

    #[test]
    fn a_host_that_is_given_twice_is_one() {
        let (accounts, _) = open(&Env::in_memory(1), &["localhost", "%", "%"]);
        assert_eq!(accounts.all().len(), 2);
    }

    #[test]
    fn lost_passwords_are_reset() {
        let (env, data) = (Env::in_memory(1), Path::new("/data"));
        let reset = |name, password: &str| {
            reset_password(&env, data, name, &RootPassword::Given(password.to_owned()))
        };
        let none = reset(("root", "localhost"), "x").unwrap_err();
        assert!(none.message().contains("has no accounts yet"), "{none}");
        let (accounts, _) = open(&env, &[]);
        let old = root_of(&accounts, None);
        assert_eq!(reset(("root", "localhost"), "new").unwrap(), None);
        let (accounts, generated) = open(&env, &[]);
        assert_eq!(generated, None, "the next start leaves it");
        assert_ne!(root_of(&accounts, None), old);
        let root = AccountName::new("root", "localhost").unwrap();
        let eve = AccountName::new("eve", "%").unwrap();
        accounts.create(&[(eve, Change::default())], false).unwrap();
        let locked = Change { locked: Some(true), read_only: Some(true), ..Change::default() };
        accounts.alter(&[(root.clone(), locked)], false).unwrap();
        let made_up = reset_password(&env, data, ("root", "localhost"), &RootPassword::Generate);
        assert!(made_up.unwrap().is_some());
        reset(("root", "%"), "new").unwrap();
        let (accounts, _) = open(&env, &[]);
        let root = accounts.get(&root).unwrap();
        assert!(!root.locked && !root.read_only);
        assert!(root_of(&accounts, Some("10.1.1.1")).is_some());
        assert_eq!(accounts.all().len(), 3);
        assert!(reset(("root", "db.example.com"), "new").is_err());
    }
}

//! The accounts file: JSON with a format number. A change of meaning takes a new number, and the
//! new version still reads the old number.

use pelorus_error::{Code, Error, Result};
use pelorus_sql::statement::LockTime;
use serde::{Deserialize, Serialize};

use super::account::Account;
use super::name::AccountName;

/// The format that is written.
const FORMAT: u32 = 2;
/// The oldest that is read. Format 2 added what locks accounts after failed logins.
const OLDEST: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    /// The first login is still to come: the accounts are those that the first start makes, and the next
    /// start makes them again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unused: bool,
    accounts: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    user: String,
    host: String,
    plugin: String,
    /// The plugin's hash in hexadecimal digits: `caching_sha2_password` salts are any bytes.
    authentication: String,
    read_only: bool,
    locked: bool,
    require_ssl: bool,
    /// Failed logins that lock the account; 0 is no limit.
    #[serde(default)]
    failed_login_attempts: u16,
    /// Days of the lock; `null` is without end.
    #[serde(default = "no_days")]
    password_lock_time: Option<u16>,
    /// Seconds since 1970.
    password_changed: u64,
}

/// The values of accounts in format 1.
fn no_days() -> Option<u16> {
    Some(0)
}

#[derive(Deserialize)]
struct Version {
    format: u32,
}

/// Writes the file. `unused` says that the first login is still to come.
pub(crate) fn encode(accounts: &[Account], unused: bool) -> Result<Vec<u8>> {
    let accounts = accounts
        .iter()
        .map(|account| Entry {
            user: account.name.user.clone(),
            host: account.name.host.clone(),
            plugin: account.plugin.clone(),
            authentication: crate::hex::encode(&account.authentication),
            read_only: account.read_only,
            locked: account.locked,
            require_ssl: account.require_ssl,
            failed_login_attempts: account.failed_login_attempts,
            password_lock_time: match account.password_lock_time {
                LockTime::Days(days) => Some(days),
                LockTime::Unbounded => None,
            },
            password_changed: account.password_changed,
        })
        .collect();
    let mut bytes = serde_json::to_vec_pretty(&File { format: FORMAT, unused, accounts })
        .map_err(|error| Error::internal("cannot write accounts").caused_by(error))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads the file: the accounts, and whether the first login is still to come.
///
/// # Errors
/// When it is damaged or of a newer format.
pub(crate) fn decode(bytes: &[u8]) -> Result<(Vec<Account>, bool)> {
    let damaged = |error: serde_json::Error| {
        Error::new(Code::Internal, format!("the accounts file is damaged: {error}"))
            .caused_by(error)
    };
    let Version { format } = serde_json::from_slice(bytes).map_err(damaged)?;
    if !(OLDEST..=FORMAT).contains(&format) {
        return Err(Error::internal(format!(
            "the accounts file has format {format}; this version reads formats {OLDEST} to {FORMAT}"
        )));
    }
    let file: File = serde_json::from_slice(bytes).map_err(damaged)?;
    let unused = file.unused;
    let accounts: Result<_> = file
        .accounts
        .into_iter()
        .map(|entry| {
            Ok(Account {
                name: AccountName::new(&entry.user, &entry.host)?,
                plugin: entry.plugin,
                authentication: crate::hex::decode(&entry.authentication)
                    .ok_or_else(|| Error::internal("the accounts file is damaged: a hash"))?,
                read_only: entry.read_only,
                locked: entry.locked,
                require_ssl: entry.require_ssl,
                failed_login_attempts: entry.failed_login_attempts,
                password_lock_time: entry
                    .password_lock_time
                    .map_or(LockTime::Unbounded, LockTime::Days),
                password_changed: entry.password_changed,
            })
        })
        .collect();
    Ok((accounts?, unused))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Account> {
        vec![
            Account {
                name: AccountName::new("root", "localhost").unwrap(),
                plugin: "caching_sha2_password".into(),
                authentication: b"$A$005$\x01salt".to_vec(),
                read_only: false,
                locked: false,
                require_ssl: false,
                failed_login_attempts: 3,
                password_lock_time: LockTime::Unbounded,
                password_changed: 1_700_000_000,
            },
            Account {
                name: AccountName::new("report", "10.%").unwrap(),
                plugin: "mysql_native_password".into(),
                authentication: b"*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19".to_vec(),
                read_only: true,
                locked: false,
                require_ssl: true,
                failed_login_attempts: 0,
                password_lock_time: LockTime::Days(5),
                password_changed: 1_700_000_001,
            },
        ]
    }

    #[test]
    fn the_golden_file_reads_and_is_written_again() {
        let golden = include_bytes!("../../golden/accounts-2.json");
        assert_eq!(decode(golden).unwrap(), (sample(), false));
        assert_eq!(encode(&sample(), false).unwrap(), golden);
        let unused = encode(&sample(), true).unwrap();
        assert_eq!(decode(&unused).unwrap(), (sample(), true));
    }

    #[test]
    fn the_file_of_format_1_reads() {
        let mut accounts = sample();
        for account in &mut accounts {
            account.failed_login_attempts = 0;
            account.password_lock_time = LockTime::Days(0);
        }
        let golden = include_bytes!("../../golden/accounts-1.json");
        assert_eq!(decode(golden).unwrap(), (accounts, false));
    }

    #[test]
    fn damage_and_newer_formats_are_named() {
        let error = decode(b"{\"format\": 99, \"whatever\": 1}").unwrap_err();
        assert!(error.message().contains("format 99"), "{error}");
        assert!(decode(b"{").unwrap_err().message().contains("damaged"));
        assert!(decode(b"{\"format\":1,\"accounts\":[{}]}").is_err());
    }
}

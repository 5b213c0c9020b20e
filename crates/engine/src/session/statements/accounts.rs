//! Statements about accounts: `CREATE`, `ALTER`, `DROP` and `RENAME USER`, and `SET PASSWORD`.

use pelorus_error::{Code, Error, Result};
use pelorus_result::diagnostics::Diagnostics;
use pelorus_sql::statement::{
    AlterUser, Authentication, CreateUser, DropUser, Method, Require, SetPassword, UserName,
    UserOptions, UserSpec,
};

use super::done;
use crate::accounts::{AccountName, Change, Proof};
use crate::api::Outcome;
use crate::engine::Engine;
use crate::processlist::Process;
use crate::session::context::show_client;
use crate::session::state::client_settings::ClientSettings;
use crate::session::state::identity::Identity;

/// Note that an account was there already, or was not.
const USER_EXISTS: u16 = 3163;
const USER_MISSING: u16 = 3162;

/// Options that say what holds here anyway; MySQL's `SHOW CREATE USER` prints them.
const DEFAULTS: [&str; 6] = [
    "PASSWORD EXPIRE DEFAULT",
    "PASSWORD EXPIRE NEVER",
    "PASSWORD HISTORY DEFAULT",
    "PASSWORD REUSE INTERVAL DEFAULT",
    "PASSWORD REQUIRE CURRENT DEFAULT",
    "PASSWORD REQUIRE CURRENT OPTIONAL",
];

/// What statements about accounts use. `RENAME USER` may rename the account of the client itself.
pub(crate) struct AccountContext<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) process: &'a Process,
    pub(crate) identity: &'a mut Identity,
    pub(crate) settings: &'a ClientSettings,
    pub(crate) diagnostics: &'a Diagnostics,
}

pub(crate) fn create_user(cx: &mut AccountContext<'_>, create: &CreateUser) -> Result<Outcome> {
    if create.or_replace {
        return Err(Error::unsupported("CREATE OR REPLACE USER"));
    }
    let new = changes(cx.identity, &create.users, &create.options)?;
    for name in cx.engine.accounts().create(&new, create.if_not_exists)? {
        cx.diagnostics.note(USER_EXISTS, format!("Authorization ID {name} already exists."));
    }
    Ok(done())
}

pub(crate) fn alter_user(cx: &mut AccountContext<'_>, alter: &AlterUser) -> Result<Outcome> {
    let changes = changes(cx.identity, &alter.users, &alter.options)?;
    for (name, change) in &changes {
        let locks_out = change.locked == Some(true) || change.read_only == Some(true);
        if *name == *cx.identity.account() && locks_out {
            return Err(Error::new(
                Code::CannotUser,
                format!(
                    "Operation ALTER USER failed for {name}: an account cannot lock itself out"
                ),
            ));
        }
    }
    for name in cx.engine.accounts().alter(&changes, alter.if_exists)? {
        let text = format!("Authorization ID {name} does not exist.");
        cx.diagnostics.note(USER_MISSING, text);
    }
    Ok(done())
}

pub(crate) fn drop_user(cx: &mut AccountContext<'_>, drop: &DropUser) -> Result<Outcome> {
    let names = drop
        .users
        .iter()
        .map(|user| cx.identity.account_named(user))
        .collect::<Result<Vec<_>>>()?;
    for name in cx.engine.accounts().drop(&names, drop.if_exists)? {
        let text = format!("Authorization ID {name} does not exist.");
        cx.diagnostics.note(USER_MISSING, text);
    }
    Ok(done())
}

pub(crate) fn rename_user(
    cx: &mut AccountContext<'_>,
    pairs: &[(UserName, UserName)],
) -> Result<Outcome> {
    let pairs = pairs
        .iter()
        .map(|(from, to)| Ok((cx.identity.account_named(from)?, cx.identity.account_named(to)?)))
        .collect::<Result<Vec<_>>>()?;
    cx.engine.accounts().rename(&pairs)?;
    if let Some((_, to)) = pairs.iter().find(|(from, _)| *from == *cx.identity.account()) {
        cx.identity.rename_account(to.clone());
        show_client(cx.process, cx.identity, cx.settings);
    }
    Ok(done())
}

pub(crate) fn set_password(cx: &mut AccountContext<'_>, set: &SetPassword) -> Result<Outcome> {
    if set.function {
        return Err(Error::unsupported("SET PASSWORD to a hash"));
    }
    let Some(password) = &set.password else {
        return Err(Error::unsupported("SET PASSWORD TO RANDOM"));
    };
    let name = cx.identity.account_named(&set.user)?;
    if cx.engine.accounts().get(&name).is_none() {
        return Err(Error::new(
            Code::PasswordNoMatch,
            "Can't find any matching row in the user table",
        ));
    }
    let proof = Proof::Password(password.expose().to_owned(), None);
    let change = Change { proof: Some(proof), ..Change::default() };
    cx.engine.accounts().alter(&[(name, change)], false)?;
    Ok(done())
}

fn changes(
    identity: &Identity,
    users: &[UserSpec],
    options: &UserOptions,
) -> Result<Vec<(AccountName, Change)>> {
    let others = |option: &&String| !DEFAULTS.contains(&option.as_str());
    if let Some(other) = options.others.iter().find(others) {
        return Err(Error::unsupported(format_args!("account option {other}")));
    }
    let require_ssl = match &options.require {
        None => None,
        Some(Require::None) => Some(false),
        Some(Require::Ssl) => Some(true),
        Some(Require::Other(words)) => {
            return Err(Error::unsupported(format_args!("REQUIRE {words}")));
        }
    };
    users
        .iter()
        .map(|spec| {
            let change = Change {
                proof: spec.authentication.as_ref().map(proof).transpose()?,
                read_only: options.read_only,
                locked: options.locked,
                require_ssl,
                failed_login_attempts: options.failed_login_attempts,
                password_lock_time: options.password_lock_time,
            };
            Ok((identity.account_named(&spec.user)?, change))
        })
        .collect()
}

fn proof(authentication: &Authentication) -> Result<Proof> {
    let plugin = authentication.plugin.clone();
    match &authentication.method {
        Method::Password(password) => Ok(Proof::Password(password.expose().to_owned(), plugin)),
        Method::Hash(hash) => {
            let bytes = hash.bytes();
            let guess = if bytes.starts_with(b"*") {
                "mysql_native_password"
            } else {
                crate::accounts::DEFAULT_PLUGIN
            };
            Ok(Proof::Hash(bytes, plugin.unwrap_or_else(|| guess.to_owned())))
        }
        Method::Plugin => Ok(Proof::Password(String::new(), plugin)),
        Method::Random => Err(Error::unsupported("IDENTIFIED BY RANDOM PASSWORD")),
    }
}

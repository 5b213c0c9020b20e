//! Password hashes: from an `IDENTIFIED ...` clause to the stored plugin and bytes.

use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::auth;

/// The plugin of accounts for which none is named.
pub(crate) const DEFAULT_PLUGIN: &str = SHA2;

const SHA2: &str = "caching_sha2_password";
const NATIVE: &str = "mysql_native_password";

/// The content of an `IDENTIFIED` clause.
#[derive(Clone)]
pub(crate) enum Proof {
    /// `[WITH plugin] BY 'password'`.
    Password(String, Option<String>),
    /// `WITH plugin AS 'hash'`.
    Hash(Vec<u8>, String),
}

impl std::fmt::Debug for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proof(***)")
    }
}

impl Proof {
    /// The plugin and the bytes to store; `current` is the plugin when the clause names none.
    pub(crate) fn stored(&self, env: &Env, current: &str) -> Result<(String, Vec<u8>)> {
        match self {
            Proof::Password(password, plugin) => {
                let plugin = known_plugin(plugin.as_deref().unwrap_or(current))?;
                check_length(plugin, password)?;
                Ok((plugin.to_owned(), hash(env, plugin, password)))
            }
            Proof::Hash(hash, plugin) => {
                let plugin = known_plugin(plugin)?;
                if !hash.is_empty() && !is_hash(plugin, hash) {
                    return Err(Error::new(
                        Code::PasswordFormat,
                        "The password hash doesn't have the expected format.",
                    ));
                }
                Ok((plugin.to_owned(), hash.clone()))
            }
        }
    }
}

fn known_plugin(name: &str) -> Result<&'static str> {
    [SHA2, NATIVE]
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(name))
        .ok_or_else(|| Error::new(Code::PluginNotLoaded, format!("Plugin '{name}' is not loaded")))
}

/// Refuses passwords with which no client could log in. Hashing takes time with the square of their
/// length, but for `mysql_native_password`.
fn check_length(plugin: &str, password: &str) -> Result<()> {
    if plugin == NATIVE || password.len() <= auth::MAX_PASSWORD {
        return Ok(());
    }
    Err(Error::new(
        Code::NotValidPassword,
        format!("a password has at most {} bytes, not {}", auth::MAX_PASSWORD, password.len()),
    ))
}

fn hash(env: &Env, plugin: &str, password: &str) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    if plugin == NATIVE {
        return auth::native_hash(password.as_bytes()).into_bytes();
    }
    auth::sha2_hash(password.as_bytes(), env.random.as_ref())
}

fn is_hash(plugin: &str, hash: &[u8]) -> bool {
    if plugin == NATIVE { auth::is_native_hash(hash) } else { auth::is_sha2_hash(hash) }
}

/// A password of 120 random bits in letters that no shell minds.
pub(crate) fn random_password(env: &Env) -> String {
    const LETTERS: &[u8; 64] = b"+-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut bytes = [0; 20];
    env.random.fill(&mut bytes);
    bytes.into_iter().map(|byte| char::from(LETTERS[usize::from(byte & 63)])).collect()
}

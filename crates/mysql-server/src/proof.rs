//! Authentication: the exchanges of the authentication plugins.
//!
//! An account that does not exist takes the same steps and the same time as one whose password was
//! wrong, so that a client cannot find out which accounts exist.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use pelorus_engine::api::Credential;
use pelorus_env::{Env, Random};
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::Capabilities;
use pelorus_mysql_wire::auth::{self, CACHING_SHA2, CLEAR, FastKey, NATIVE, SCRAMBLE};
use pelorus_mysql_wire::handshake::{put_auth_switch, put_more_data};
use tokio::sync::Semaphore;

use crate::channel::{Channel, Gone};
use crate::keys::RsaStore;

/// The authentication state that all connections share.
pub(crate) struct Guard {
    env: Env,
    rsa: RsaStore,
    fast: Mutex<HashMap<Vec<u8>, FastKey>>,
    /// An account with the older plugin was seen: unknown users may pretend to have it too.
    native_seen: AtomicBool,
    /// Chooses which unknown users do, always the same ones.
    secret: [u8; 16],
    /// Checks of passwords at a time: no crowd of strangers shall take all cores.
    checks: Semaphore,
}

/// The memory of proven passwords holds this many accounts.
const FAST_ACCOUNTS: usize = 10_000;

/// Checks of passwords at a time. Each takes some milliseconds of a core.
const CHECKS: usize = 2;

/// The credentials that a client has sent so far.
pub(crate) struct Claim {
    /// The plugin that `proof` is for.
    pub(crate) plugin: String,
    /// The answer to `scramble`.
    pub(crate) proof: Vec<u8>,
    /// The challenge that was sent.
    pub(crate) scramble: [u8; SCRAMBLE],
    /// Whether the line cannot be listened to: encrypted, or a local socket.
    pub(crate) secure: bool,
    /// Ask again with a new challenge, whatever was given.
    pub(crate) ask_anew: bool,
}

/// How it came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The client is authenticated.
    Proven,
    /// It is not; a password was given, or none was.
    Refused {
        /// Whether a password was given.
        with_password: bool,
    },
}

impl Guard {
    pub(crate) fn new(env: Env, rsa: RsaStore) -> Self {
        let mut secret = [0; 16];
        env.random.fill(&mut secret);
        Self {
            env,
            rsa,
            fast: Mutex::default(),
            native_seen: AtomicBool::new(false),
            secret,
            checks: Semaphore::new(CHECKS),
        }
    }

    /// Executes slow preparations in advance.
    pub(crate) async fn prepare(&self) {
        if let Err(error) = self.rsa.keys().await {
            tracing::warn!("{}", pelorus_error::display_chain(&error));
        }
    }

    pub(crate) fn random(&self) -> &dyn Random {
        self.env.random.as_ref()
    }

    /// Exchanges packets with the client until it is authenticated or refused.
    pub(crate) async fn examine(
        &self,
        channel: &mut Channel,
        user: &str,
        credential: Option<&Credential>,
        mut claim: Claim,
    ) -> Result<Verdict, Gone> {
        let plugin = self.plugin_of(user, credential);
        let stored = credential.map(|credential| credential.authentication.as_slice());
        if claim.plugin == CLEAR && claim.secure && !claim.ask_anew {
            let password = auth::strip_zero(&claim.proof).to_vec();
            return self.check_password(plugin, stored, password).await;
        }
        if claim.plugin != plugin || claim.ask_anew {
            self.switch(channel, plugin, &mut claim).await?;
        }
        if plugin == NATIVE {
            let right = match stored {
                None => false,
                Some([]) => claim.proof.is_empty(),
                Some(stored) => auth::native_verify(stored, &claim.scramble, &claim.proof),
            };
            return Ok(verdict(right, !claim.proof.is_empty()));
        }
        self.examine_sha2(channel, stored, claim).await
    }

    fn plugin_of(&self, user: &str, credential: Option<&Credential>) -> &'static str {
        match credential {
            Some(credential) if credential.plugin == NATIVE => {
                // Ordering: a hint that may be seen late.
                self.native_seen.store(true, Ordering::Relaxed);
                NATIVE
            }
            Some(_) => CACHING_SHA2,
            None if self.native_seen.load(Ordering::Relaxed) && self.pretends_native(user) => {
                NATIVE
            }
            None => CACHING_SHA2,
        }
    }

    fn pretends_native(&self, user: &str) -> bool {
        let key = auth::sha2_fast_key(&[&self.secret, user.as_bytes()].concat());
        key[0] & 1 == 0
    }

    async fn switch(
        &self,
        channel: &mut Channel,
        plugin: &str,
        claim: &mut Claim,
    ) -> Result<(), Gone> {
        if !channel.capabilities.has(Capabilities::PLUGIN_AUTH) {
            return Err(Gone::Because(Error::new(
                Code::AuthPluginNotSupported,
                "Client does not support authentication protocol requested by server; consider \
                 upgrading MySQL client",
            )));
        }
        claim.scramble = auth::new_scramble(self.random());
        channel.writer.packet(|out| put_auth_switch(out, plugin, &claim.scramble));
        claim.proof = answer(channel).await?.to_vec();
        Ok(())
    }

    async fn examine_sha2(
        &self,
        channel: &mut Channel,
        stored: Option<&[u8]>,
        claim: Claim,
    ) -> Result<Verdict, Gone> {
        // Without a password clients send nothing, or a lonely zero.
        if claim.proof.is_empty() || claim.proof == [0] {
            return Ok(verdict(stored == Some(&[]), false));
        }
        if stored == Some(&[]) {
            return Ok(verdict(false, true));
        }
        let fast = stored.and_then(|stored| self.fast.lock().get(stored).copied());
        if let Some(key) = fast
            && auth::sha2_verify_fast(&key, &claim.scramble, &claim.proof)
        {
            channel.writer.packet(|out| put_more_data(out, &[auth::FAST_OK]));
            return Ok(Verdict::Proven);
        }
        channel.writer.packet(|out| put_more_data(out, &[auth::FULL_AUTH]));
        let reply = answer(channel).await?;
        let password = if claim.secure {
            Some(auth::strip_zero(&reply).to_vec())
        } else {
            self.open_envelope(channel, reply, &claim.scramble).await?
        };
        match password {
            Some(password) => self.check_password(CACHING_SHA2, stored, password).await,
            None => Ok(verdict(false, true)),
        }
    }

    /// A password that came encrypted with our public key, which the client may ask for first.
    async fn open_envelope(
        &self,
        channel: &mut Channel,
        reply: Bytes,
        scramble: &[u8; SCRAMBLE],
    ) -> Result<Option<Vec<u8>>, Gone> {
        let keys = self.rsa.keys().await.map_err(Gone::Because)?;
        let sealed = if *reply == [auth::REQUEST_KEY] {
            channel.writer.packet(|out| put_more_data(out, keys.public_pem().as_bytes()));
            answer(channel).await?
        } else {
            reply
        };
        let (scramble, env) = (*scramble, self.env.clone());
        self.apart(move || keys.decrypt(&sealed, &scramble, env.random.as_ref())).await
    }

    /// Checks a password against what is stored, and remembers it for fast proofs.
    async fn check_password(
        &self,
        plugin: &str,
        stored: Option<&[u8]>,
        password: Vec<u8>,
    ) -> Result<Verdict, Gone> {
        let with_password = !password.is_empty();
        if stored == Some(&[]) || !with_password {
            return Ok(verdict(stored == Some(&[]) && !with_password, with_password));
        }
        let known = stored.map(<[u8]>::to_vec);
        let native = plugin == NATIVE;
        let right = self
            .apart(move || {
                let stored = known.unwrap_or_default();
                let right = if native {
                    auth::native_hash(&password).as_bytes() == stored
                } else {
                    auth::sha2_verify(&stored, &password)
                };
                right.then(|| (stored, auth::sha2_fast_key(&password)))
            })
            .await?;
        if let Some((stored, key)) = &right
            && !native
        {
            self.remember(stored.clone(), *key);
        }
        Ok(verdict(right.is_some(), with_password))
    }

    /// Runs work that takes milliseconds on a thread where it blocks no other connection.
    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Gone> {
        // The semaphore is never closed; without a permit the work would only be early.
        let _permit = self.checks.acquire().await.ok();
        tokio::task::spawn_blocking(work).await.map_err(|error| {
            Gone::Because(Error::internal("the check of a password failed").caused_by(error))
        })
    }

    /// The memory goes by what is stored, which is salted: a new password makes a new entry, and
    /// the old one is never asked again.
    fn remember(&self, stored: Vec<u8>, key: FastKey) {
        let mut fast = self.fast.lock();
        if fast.len() >= FAST_ACCOUNTS {
            fast.clear();
        }
        fast.insert(stored, key);
    }
}

fn verdict(right: bool, with_password: bool) -> Verdict {
    if right { Verdict::Proven } else { Verdict::Refused { with_password } }
}

/// Sends what waits and reads the client's answer.
async fn answer(channel: &mut Channel) -> Result<Bytes, Gone> {
    channel.expect_answer();
    channel.flush().await?;
    let limit = channel.read_timeout;
    channel.read(limit).await?.map_err(Gone::Because)
}

/// MySQL's refusal of a login (error 1045).
pub(crate) fn access_denied(user: &str, host: &str, with_password: bool) -> Error {
    let using = if with_password { "YES" } else { "NO" };
    Error::new(
        Code::AccessDenied,
        format!("Access denied for user '{user}'@'{host}' (using password: {using})"),
    )
}

/// Shares the guard between connections.
pub(crate) type SharedGuard = Arc<Guard>;

//! The certificate for TLS and the RSA key pair for passwords on unencrypted connections. Both are
//! created once, stored in the data folder, and unchanged by restarts so that clients can pin them.

use std::path::Path;
use std::sync::Arc;

use pelorus_env::{Clock, Env};
use pelorus_error::{Error, Result};
use pelorus_mysql_wire::auth::RsaKeys;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::time_provider::TimeProvider;
use tokio::sync::OnceCell;
use tokio_rustls::TlsAcceptor;

use crate::config::{EdgeConfig, TlsMode};

const CERTIFICATE: &str = "server-cert.pem";
const PAIR: &str = "server-cert-and-key.pem";
const RSA_KEY: &str = "private_key.pem";

/// The clock of an [`Env`] for TLS. A moment before 1970 is none: handshakes fail then.
#[derive(Debug)]
struct TlsClock(Arc<dyn Clock>);

impl TimeProvider for TlsClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(self.0.after_1970()?))
    }
}

/// Reads or generates the certificate for TLS; `None` if TLS is off.
pub(crate) fn acceptor(config: &EdgeConfig, env: &Env) -> Result<Option<TlsAcceptor>> {
    let own = config.data.join(PAIR);
    let (certificate_path, key_path, help) = match &config.tls {
        TlsMode::Off => return Ok(None),
        TlsMode::Own => {
            own_certificate(&config.data, env)?;
            (&own, &own, "restore the file from a copy, or remove it: a start makes a new one")
        }
        TlsMode::Files { certificate, key } => (certificate, key, "it must be a PEM file"),
    };
    let (certificate, key) = (must_read(certificate_path, env)?, must_read(key_path, env)?);
    let bad = |what: &str, path: &Path, error: String| {
        Error::internal(format!("cannot use the {what} {}: {error}; {help}", path.display()))
    };
    let chain = CertificateDer::pem_slice_iter(&certificate)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| bad("TLS certificate", certificate_path, error.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(&key)
        .map_err(|error| bad("TLS key", key_path, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let clock = Arc::new(TlsClock(Arc::clone(&env.clock)));
    let server = ServerConfig::builder_with_details(provider, clock)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| bad("TLS certificate", certificate_path, error.to_string()))?;
    Ok(Some(TlsAcceptor::from(Arc::new(server))))
}

fn must_read(path: &Path, env: &Env) -> Result<Vec<u8>> {
    let failed =
        |cause: String| Error::internal(format!("cannot read {}: {cause}", path.display()));
    env.files
        .read(path)
        .map_err(|error| failed(pelorus_error::plain(error)))?
        .ok_or_else(|| failed("no such file".to_owned()))
}

/// Certificate and key are one file, so that they always belong together; the certificate is
/// also a file of its own, to be given to clients.
fn own_certificate(folder: &Path, env: &Env) -> Result<()> {
    let stored = env.files.read(&folder.join(PAIR)).map_err(|error| {
        Error::internal(format!("cannot read {PAIR} in the data folder")).caused_by(error)
    })?;
    if stored.is_some() {
        return Ok(());
    }
    let names = vec!["pelorus".to_owned(), "localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names)
        .map_err(|error| Error::internal("cannot make a TLS certificate").caused_by(error))?;
    let certificate = made.cert.pem();
    let pair = format!("{certificate}{}", made.signing_key.serialize_pem()).into_bytes();
    keep(folder, PAIR, &pair, env)?;
    keep(folder, CERTIFICATE, certificate.as_bytes(), env)
}

fn keep(folder: &Path, name: &str, bytes: &[u8], env: &Env) -> Result<()> {
    env.files
        .create_folder(folder)
        .and_then(|()| env.files.replace(&folder.join(name), bytes))
        .map_err(|error| {
            Error::internal(format!("cannot write {name} in the data folder")).caused_by(error)
        })
}

/// The RSA key pair, generated at its first use, which takes up to some seconds.
#[derive(Clone, Debug)]
pub(crate) struct RsaStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    folder: std::path::PathBuf,
    env: Env,
    keys: OnceCell<Arc<RsaKeys>>,
}

impl RsaStore {
    pub(crate) fn new(config: &EdgeConfig, env: &Env) -> Self {
        let (folder, env) = (config.data.clone(), env.clone());
        Self { inner: Arc::new(Inner { folder, env, keys: OnceCell::new() }) }
    }

    /// The key pair: from memory, from the data folder, or newly generated and stored there.
    pub(crate) async fn keys(&self) -> Result<Arc<RsaKeys>> {
        if let Some(keys) = self.inner.keys.get() {
            return Ok(keys.clone());
        }
        // A task of its own: a client that leaves meanwhile must not stop it half-way.
        let inner = self.inner.clone();
        tokio::spawn(async move { inner.keys.get_or_try_init(|| inner.load()).await.cloned() })
            .await
            .map_err(no_key)?
    }
}

impl Inner {
    async fn load(&self) -> Result<Arc<RsaKeys>> {
        let (folder, env) = (self.folder.clone(), self.env.clone());
        tokio::task::spawn_blocking(move || load_or_make(&folder, &env).map(Arc::new))
            .await
            .map_err(no_key)?
    }
}

fn no_key(error: tokio::task::JoinError) -> Error {
    Error::internal("cannot make an RSA key").caused_by(error)
}

fn load_or_make(folder: &Path, env: &Env) -> Result<RsaKeys> {
    let stored = env.files.read(&folder.join(RSA_KEY)).map_err(|error| {
        Error::internal("cannot read the RSA key in the data folder").caused_by(error)
    })?;
    if let Some(pem) = stored {
        return RsaKeys::from_pem(&String::from_utf8_lossy(&pem));
    }
    let keys = RsaKeys::generate(env.random.as_ref())?;
    keep(folder, RSA_KEY, keys.to_pem()?.as_bytes(), env)?;
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keys_are_made_once_and_kept() {
        let env = Env::in_memory(1);
        let config = EdgeConfig::new("data");
        let first = RsaStore::new(&config, &env).keys().await.unwrap();
        let second = RsaStore::new(&config, &env).keys().await.unwrap();
        assert_eq!(first.public_pem(), second.public_pem());
        assert!(acceptor(&config, &env).unwrap().is_some());
        let certificate = env.files.read(&config.data.join(CERTIFICATE)).unwrap();
        assert!(acceptor(&config, &env).unwrap().is_some());
        assert_eq!(env.files.read(&config.data.join(CERTIFICATE)).unwrap(), certificate);
    }

    /// A clock that shows a time before 1970.
    #[derive(Debug)]
    struct Early;

    impl Clock for Early {
        fn monotonic(&self) -> std::time::Duration {
            std::time::Duration::ZERO
        }

        fn since_epoch(&self) -> std::time::Duration {
            std::time::Duration::ZERO
        }
    }

    #[test]
    fn there_is_no_time_before_1970() {
        let time = |env: &Env| {
            let acceptor = acceptor(&EdgeConfig::new("data"), env).unwrap().unwrap();
            acceptor.config().time_provider.current_time()
        };
        assert_eq!(time(&Env { clock: Arc::new(Early), ..Env::in_memory(1) }), None);
        assert!(time(&Env::in_memory(1)).is_some_and(|it| it.as_secs() > 0));
    }

    #[test]
    fn a_damaged_certificate_is_named_with_what_helps() {
        let env = Env::in_memory(1);
        let config = EdgeConfig::new("data");
        let path = config.data.join(PAIR);
        acceptor(&config, &env).unwrap();
        let mut pem = env.files.read(&path).unwrap().unwrap();
        pem[40] = b'!';
        env.files.replace(&path, &pem).unwrap();
        let Err(error) = acceptor(&config, &env) else { panic!("it is taken") };
        let text = error.message();
        assert!(text.starts_with("cannot use the TLS certificate data/server-cert-and-key.pem: "));
        assert!(text.ends_with("or remove it: a start makes a new one"), "{text}");
    }

    #[test]
    fn files_that_are_missing_are_named() {
        let config = EdgeConfig {
            tls: TlsMode::Files { certificate: "a.pem".into(), key: "b.pem".into() },
            ..EdgeConfig::new("data")
        };
        let Err(error) = acceptor(&config, &Env::in_memory(1)) else { panic!("it read nothing") };
        assert!(error.message().contains("a.pem"), "{error}");
    }
}

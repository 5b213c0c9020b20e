//! TLS for connections to linked servers.

use std::sync::Arc;

use pelorus_env::{Clock, Env};
use pelorus_error::{Code, Error, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use crate::config::{LinkConfig, TlsMode};

/// Where Debian and similar keep the certificates that everybody trusts.
const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The clock of an [`Env`] for TLS. A moment before 1970 is none: handshakes fail then.
#[derive(Debug)]
struct TlsClock(Arc<dyn Clock>);

impl TimeProvider for TlsClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(self.0.after_1970()?))
    }
}

/// How to start TLS for a link; `None` when it is never started.
pub(crate) fn client_config(config: &LinkConfig, env: &Env) -> Result<Option<Arc<ClientConfig>>> {
    let provider = Arc::new(ring::default_provider());
    let clock = Arc::new(TlsClock(Arc::clone(&env.clock)));
    let builder = ClientConfig::builder_with_details(Arc::clone(&provider), clock)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal("TLS cannot be set up").caused_by(error))?;
    let client = match config.tls {
        TlsMode::Disabled => return Ok(None),
        TlsMode::Preferred | TlsMode::Required => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate { provider }))
            .with_no_client_auth(),
        TlsMode::Verify => {
            builder.with_root_certificates(roots(config, env)?).with_no_client_auth()
        }
    };
    Ok(Some(Arc::new(client)))
}

fn roots(config: &LinkConfig, env: &Env) -> Result<RootCertStore> {
    let wrong = |what: &str| {
        Error::new(
            Code::ConnectToForeign,
            format!("certificates for server '{}': {what}", config.name),
        )
    };
    let pem = match &config.tls_ca {
        Some(text) => text.clone().into_bytes(),
        None => env
            .files
            .read(SYSTEM_ROOTS.as_ref())
            .ok()
            .flatten()
            .ok_or_else(|| wrong("none are given and the system has none"))?,
    };
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|_| wrong("not in PEM form"))?;
        store.add(certificate).map_err(|error| wrong("not usable").caused_by(error))?;
    }
    if store.is_empty() { Err(wrong("none found")) } else { Ok(store) }
}

/// Why TLS was not made, in words for people.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let text = match inner {
        None => return format!("TLS: {}", pelorus_error::plain(error)),
        Some(rustls::Error::InvalidCertificate(why)) => match why {
            CertificateError::UnknownIssuer => {
                "the server's certificate is signed by none of the authorities of TLS_CA"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the server's certificate is for another host name"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the server's certificate has expired"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the server's certificate is not valid yet"
            }
            CertificateError::Revoked => "the server's certificate was revoked",
            _ => "the server's certificate cannot be verified",
        },
        Some(rustls::Error::FailedToGetCurrentTime) => {
            "the clock of this machine shows a time before 1970"
        }
        Some(rustls::Error::AlertReceived(_)) => "the server ended the handshake",
        Some(rustls::Error::PeerIncompatible(_)) => "the server has no version or cipher of ours",
        Some(_) => "the handshake failed",
    };
    format!("TLS: {text}")
}

/// Takes whatever certificate comes, as the modes say that do not verify: against those who only
/// listen. MySQL's own generated certificates name no host and have no known signer.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

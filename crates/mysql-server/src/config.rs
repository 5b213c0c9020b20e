//! The configuration of the edge.

use std::path::PathBuf;
use std::time::Duration;

use tokio::runtime::Handle;

/// The configuration of the edge. Limits that `SET GLOBAL` can change come from the engine.
#[derive(Clone, Debug)]
pub struct EdgeConfig {
    /// The folder for a certificate and keys of the edge's own.
    pub data: PathBuf,
    /// How connections are encrypted.
    pub tls: TlsMode,
    /// How long running statements may continue after the server stops.
    pub shutdown_grace: Duration,
    /// The runtime on which commands run that may take long; `None` is the one that listens.
    pub serving: Option<Handle>,
}

impl EdgeConfig {
    /// Own certificate, stored in `data`; ten seconds of grace.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            tls: TlsMode::Own,
            shutdown_grace: Duration::from_secs(10),
            serving: None,
        }
    }
}

/// How connections are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsMode {
    /// Not at all.
    Off,
    /// With a certificate that the server makes for itself once and keeps in its data folder.
    Own,
    /// With files of the operator's, in PEM.
    Files {
        /// The certificate and the chain that leads to its root.
        certificate: PathBuf,
        /// The private key.
        key: PathBuf,
    },
}

//! The certificate of a TLS server: from files that somebody else maintains, or generated and kept in memory.

use std::io::{Error, ErrorKind, Result};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

#[cfg(feature = "webhook")]
use prometheus_client::metrics::gauge::Gauge;
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

#[cfg(feature = "webhook")]
use super::validity;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Validity of a generated certificate. It is used for two thirds of that.
const VALID: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// A certificate that is renewed or reloaded while the server runs.
pub(crate) struct Certificate {
    state: Mutex<CertificateState>,
}

struct CertificateState {
    source: CertificateSource,
    config: Arc<ServerConfig>,
    /// End of the validity, in seconds since 1970; 0 if unknown.
    #[cfg(feature = "webhook")]
    end: i64,
    #[cfg(feature = "webhook")]
    shown: Gauge,
}

enum CertificateSource {
    /// Self-signed. It encrypts the traffic, but clients cannot verify the server.
    Own { in_use: Range<SystemTime> },
    /// Set and renewed by another part of this process.
    #[cfg(feature = "webhook")]
    Kept,
    /// Files, usually from a mounted Secret.
    Files {
        certificate: PathBuf,
        key: PathBuf,
        /// The last content of the files, valid or not; `None` if they could not be read.
        seen: Option<[Vec<u8>; 2]>,
    },
}

impl Certificate {
    pub(crate) fn own(now: SystemTime) -> Result<Self> {
        let (config, in_use) = own(now)?;
        Ok(Self::new(CertificateSource::Own { in_use }, config))
    }

    /// Reads two PEM files: the certificate chain and the key.
    pub(crate) fn files(certificate: PathBuf, key: PathBuf) -> Result<Self> {
        let pair = read(&certificate, &key)?;
        let config = given(&pair, &certificate, &key)?;
        let source = CertificateSource::Files {
            certificate,
            key,
            seen: Some(pair),
        };
        let certificate = Self::new(source, config);
        #[cfg(feature = "webhook")]
        certificate.lock().read_end();
        Ok(certificate)
    }

    /// Makes a certificate that is valid until it is replaced. `end` is in seconds since 1970.
    #[cfg(feature = "webhook")]
    pub(crate) fn kept(config: Arc<ServerConfig>, end: i64) -> Self {
        let certificate = Self::new(CertificateSource::Kept, config);
        certificate.lock().end = end;
        certificate
    }

    /// Keeps a gauge at the end of the validity, in seconds since 1970.
    #[cfg(feature = "webhook")]
    pub(crate) fn show_end(&self, gauge: Gauge) {
        let mut state = self.lock();
        gauge.set(state.end);
        state.shown = gauge;
    }

    #[cfg(feature = "webhook")]
    pub(crate) fn replace(&self, config: Arc<ServerConfig>, end: i64) {
        let mut state = self.lock();
        state.config = config;
        state.end = end;
        state.shown.set(end);
    }

    fn lock(&self) -> MutexGuard<'_, CertificateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new(source: CertificateSource, config: Arc<ServerConfig>) -> Self {
        Self {
            state: Mutex::new(CertificateState {
                source,
                config,
                #[cfg(feature = "webhook")]
                end: 0,
                #[cfg(feature = "webhook")]
                shown: Gauge::default(),
            }),
        }
    }

    /// Returns the current configuration for a new connection. Reads the files, if there are any. A valid new pair
    /// replaces the current one; an invalid pair is ignored. May block.
    pub(crate) fn current(&self, now: SystemTime) -> Arc<ServerConfig> {
        let mut state = self.lock();
        match state.renewed(now) {
            Ok(None) => {}
            Ok(Some(config)) => {
                tracing::info!("the certificate is a new one");
                state.config = config;
                #[cfg(feature = "webhook")]
                state.read_end();
            }
            Err(error) => {
                tracing::error!(%error, "the certificate can't be renewed, the old one stays")
            }
        }
        state.config.clone()
    }
}

impl CertificateState {
    #[cfg(feature = "webhook")]
    fn read_end(&mut self) {
        if let CertificateSource::Files {
            seen: Some([chain, _]),
            ..
        } = &self.source
        {
            self.end = validity::end(chain).unwrap_or_default();
            self.shown.set(self.end);
        }
    }

    /// Returns a new configuration if the certificate has to change. Returns each failure once.
    fn renewed(&mut self, now: SystemTime) -> Result<Option<Arc<ServerConfig>>> {
        match &mut self.source {
            #[cfg(feature = "webhook")]
            CertificateSource::Kept => Ok(None),
            CertificateSource::Own { in_use } if in_use.contains(&now) => Ok(None),
            CertificateSource::Own { in_use } => {
                let (config, until) = own(now)?;
                *in_use = until;
                Ok(Some(config))
            }
            CertificateSource::Files {
                certificate,
                key,
                seen,
            } => match read(certificate, key) {
                Ok(pair) if seen.as_ref() == Some(&pair) => Ok(None),
                Ok(pair) => {
                    let config = given(&pair, certificate, key);
                    *seen = Some(pair);
                    config.map(Some)
                }
                Err(_) if seen.is_none() => Ok(None),
                Err(error) => {
                    *seen = None;
                    Err(error)
                }
            },
        }
    }
}

/// Generates a certificate. Returns it with its time of use. It is valid from a day ago, for clocks that are slow.
fn own(now: SystemTime) -> Result<(Arc<ServerConfig>, Range<SystemTime>)> {
    let key = KeyPair::generate().map_err(Error::other)?;
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let mut params = CertificateParams::new(names).map_err(Error::other)?;
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "localhost");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let start = now - DAY;
    params.not_before = start.into();
    params.not_after = (now + VALID).into();
    let certificate = params.self_signed(&key).map_err(Error::other)?;
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let config = config(vec![certificate.der().clone()], key)?;
    Ok((config, start..now + VALID * 2 / 3))
}

fn read(certificate: &Path, key: &Path) -> Result<[Vec<u8>; 2]> {
    let file = |path| std::fs::read(path).map_err(|error| of(path, error.kind(), &error));
    Ok([file(certificate)?, file(key)?])
}

fn given(
    [chain, private]: &[Vec<u8>; 2],
    certificate: &Path,
    key: &Path,
) -> Result<Arc<ServerConfig>> {
    let chain: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
    let chain = chain.map_err(|error| of(certificate, ErrorKind::InvalidData, &error))?;
    let private = PrivateKeyDer::from_pem_slice(private);
    let private = private.map_err(|error| of(key, ErrorKind::InvalidData, &error))?;
    config(chain, private).map_err(|error| of(certificate, error.kind(), &error))
}

fn of(path: &Path, kind: ErrorKind, error: &dyn std::error::Error) -> Error {
    Error::new(kind, format!("{}: {error}", path.display()))
}

#[cfg(feature = "webhook")]
pub(crate) fn from_pem(chain: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>> {
    let chain = CertificateDer::pem_slice_iter(chain).collect::<std::result::Result<_, _>>();
    let key = PrivateKeyDer::from_pem_slice(key).map_err(Error::other)?;
    config(chain.map_err(Error::other)?, key)
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>> {
    let invalid = |error| Error::new(ErrorKind::InvalidData, error);
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(invalid)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(invalid)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_certificate_is_renewed_before_it_ends() {
        let start = SystemTime::now();
        let certificate = Certificate::own(start).unwrap();
        let first = certificate.current(start);
        let same = |days, other: &Arc<ServerConfig>| {
            Arc::ptr_eq(&certificate.current(start + DAY * days), other)
        };
        assert!(same(59, &first));
        let second = certificate.current(start + DAY * 60);
        assert!(!Arc::ptr_eq(&second, &first));
        assert!(same(119, &second));
        assert!(!same(120, &second));
        // A wrong clock was corrected.
        let third = certificate.current(start);
        assert!(!same(120, &third));
    }
}

//! A certificate of the webhook server with its authority.

use std::io::{Error, Result};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use tokio_rustls::rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::http::{certificate, validity};

/// Time before the generation from which a pair is valid, for clocks that are slow.
const BEFORE: Duration = Duration::from_secs(24 * 60 * 60);

/// A certificate with its key and its authority, all as PEM.
///
/// Both expire at the same time. The key of the authority is dropped after signing, so that nobody can use it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// The certificate, followed by the authority.
    pub(super) chain: String,
    pub(super) key: String,
}

impl Pair {
    pub(super) fn new(names: &[String], now: SystemTime, life: Duration) -> Result<Self> {
        let params = |names: &[String], common_name: String| -> Result<CertificateParams> {
            let mut params = CertificateParams::new(names).map_err(Error::other)?;
            params.distinguished_name = DistinguishedName::new();
            params
                .distinguished_name
                .push(DnType::CommonName, common_name);
            params.not_before = (now - BEFORE).into();
            params.not_after = (now + life).into();
            Ok(params)
        };
        let since = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let mut authority = params(&[], format!("webhook authority {}", since.as_millis()))?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let signing = KeyPair::generate().map_err(Error::other)?;
        let root = authority.self_signed(&signing).map_err(Error::other)?;

        let mut leaf = params(names, "webhook server".to_owned())?;
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(Error::other)?;
        let issuer = Issuer::new(authority, signing);
        let leaf = leaf.signed_by(&key, &issuer).map_err(Error::other)?;
        Ok(Self {
            chain: leaf.pem() + &root.pem(),
            key: key.serialize_pem(),
        })
    }

    pub(super) fn config(&self) -> Result<Arc<ServerConfig>> {
        certificate::from_pem(self.chain.as_bytes(), self.key.as_bytes())
    }

    pub(super) fn end(&self) -> i64 {
        validity::end(self.chain.as_bytes()).unwrap_or_default()
    }

    /// Returns the authority; empty if there is none.
    pub(super) fn authority(&self) -> String {
        let begins = self.chain.rfind(BEGIN).unwrap_or_default();
        self.chain[begins..].to_owned()
    }

    /// Returns true if a client that knows the authority trusts a server with these names at that time.
    pub(super) fn is_trusted(&self, names: &[String], at: SystemTime) -> bool {
        self.config().is_ok() && self.trusted(names, at).is_some()
    }

    fn trusted(&self, names: &[String], at: SystemTime) -> Option<()> {
        let chain = CertificateDer::pem_slice_iter(self.chain.as_bytes());
        let chain: Vec<_> = chain.collect::<std::result::Result<_, _>>().ok()?;
        let [leaf, root] = chain.as_slice() else {
            return None;
        };
        let mut roots = RootCertStore::empty();
        roots.add(root.clone()).ok()?;
        let leaf = ParsedCertificate::try_from(leaf).ok()?;
        let at = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let algorithms = ring::default_provider()
            .signature_verification_algorithms
            .all;
        let at = UnixTime::since_unix_epoch(at);
        verify_server_cert_signed_by_trust_anchor(&leaf, &roots, &[], at, algorithms).ok()?;
        names.iter().try_for_each(|name| {
            let name = ServerName::try_from(name.as_str()).ok()?;
            verify_server_name(&leaf, &name).ok()
        })
    }
}

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";

pub(super) fn split(bundle: &str) -> impl Iterator<Item = String> {
    bundle
        .split(BEGIN)
        .skip(1)
        .map(|text| format!("{BEGIN}{text}"))
}

/// Returns true for a PEM certificate that has not expired. The API server refuses a bundle with anything else.
pub(super) fn is_valid(certificate: &str, now: SystemTime) -> bool {
    let mut roots = RootCertStore::empty();
    let der = CertificateDer::from_pem_slice(certificate.as_bytes());
    let since = now.duration_since(SystemTime::UNIX_EPOCH);
    let now = i64::try_from(since.unwrap_or_default().as_secs()).unwrap_or(i64::MAX);
    der.is_ok_and(|der| roots.add(der).is_ok())
        && validity::end(certificate.as_bytes()).is_some_and(|end| now < end)
}

//! The certificates of the webhook server, each with its authority, and their rotation in a Secret.
//!
//! A rotation has three steps, so that no certificate is used before everybody trusts it:
//!
//! 1. After two thirds of the validity, the next pair is generated, and its authority published beside the current one.
//! 2. When all servers have had time to see it, the next pair becomes the current one.
//! 3. After a third of its validity, the previous certificate has expired, and its authority is removed.

use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use k8s_openapi::ByteString;
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

pub(super) type Data = BTreeMap<String, ByteString>;

/// Maximum number of published authorities: current, next and previous, and some that other replicas still serve.
const AUTHORITIES: usize = 8;

const CURRENT: [&str; 2] = ["tls.crt", "tls.key"];
const NEXT: [&str; 2] = ["next.crt", "next.key"];
const AUTHORITY: &str = "ca.crt";

pub(super) struct CertificateRules {
    pub(super) names: Vec<String>,
    pub(super) life: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct HeldPairs {
    pub(super) current: Pair,
    pub(super) next: Option<Pair>,
    /// All trusted authorities, as one PEM.
    pub(super) authorities: String,
}

/// Knowledge of a replica beyond the Secret.
#[derive(Default)]
pub(super) struct KnownPairs<'a> {
    pub(super) before: Option<&'a HeldPairs>,
    pub(super) served: Option<&'a Pair>,
    /// The authorities that all servers have had time to see.
    pub(super) published: &'a str,
    /// The authorities in the `caBundle`s. Other replicas may serve certificates of them.
    pub(super) found: &'a str,
}

impl HeldPairs {
    /// Writes the pairs and authorities to the data of the Secret. Other keys stay.
    pub(super) fn into_data(self, mut data: Data) -> Data {
        let mut put = |[certificate, key]: [&str; 2], pair: Option<Pair>| match pair {
            Some(pair) => {
                data.insert(certificate.to_owned(), ByteString(pair.chain.into_bytes()));
                data.insert(key.to_owned(), ByteString(pair.key.into_bytes()));
            }
            None => {
                data.remove(certificate);
                data.remove(key);
            }
        };
        put(CURRENT, Some(self.current));
        put(NEXT, self.next);
        let authorities = ByteString(self.authorities.into_bytes());
        data.insert(AUTHORITY.to_owned(), authorities);
        data
    }
}

impl CertificateRules {
    /// Returns the desired content of the Secret. If the Secret is missing or not valid, the replica continues with
    /// what it knows. The authority of each served certificate stays.
    pub(super) fn due(
        &self,
        data: &Data,
        known: &KnownPairs<'_>,
        now: SystemTime,
    ) -> Result<HeldPairs> {
        let make = || Pair::new(&self.names, now, self.life);
        let usable = |pair: &&Pair| pair.is_trusted(&self.names, now);
        let lasts = |pair: &Pair, time| pair.is_trusted(&self.names, now + time);
        let secret = self.read(data, CURRENT, now);
        let is_replaced = secret.is_none();
        let mut trusted = vec![text(data, AUTHORITY).unwrap_or_default()];
        let mut next = self.read(data, NEXT, now);
        let mut current = secret;
        if let Some(before) = known.before.filter(|_| is_replaced) {
            trusted.insert(0, before.authorities.clone());
            next = next.or_else(|| before.next.as_ref().filter(usable).cloned());
            current = Some(&before.current).filter(usable).cloned();
        }
        trusted.push(known.found.to_owned());
        let is_new = current.is_none();
        let mut current = match current {
            Some(pair) => pair,
            None => make()?,
        };
        next = next.filter(|next| *next != current);
        // A shorter validity also applies to the current certificate.
        let has_changed = lasts(&current, self.life * 2);
        let is_due = is_replaced && !is_new || has_changed || !lasts(&current, self.life / 3);
        if next.is_none() && is_due {
            next = Some(make()?);
        }
        let mut authorities = vec![current.authority()];
        if let Some(pair) = next.take() {
            authorities.insert(0, pair.authority());
            if known.published.contains(&*pair.authority()) && !is_replaced {
                current = pair;
            } else {
                next = Some(pair);
            }
        }
        let served = known.served.filter(usable);
        authorities.extend(served.map(Pair::authority));
        if lasts(&current, self.life * 2 / 3) || next.is_some() {
            let trusted = trusted.iter().flat_map(|text| split(text));
            authorities.extend(trusted.filter(|authority| is_valid(authority, now)));
        }
        let mut unique = Vec::<String>::new();
        for authority in authorities {
            if unique.len() < AUTHORITIES && !unique.contains(&authority) {
                unique.push(authority);
            }
        }
        Ok(HeldPairs {
            current,
            next,
            authorities: unique.concat(),
        })
    }

    pub(super) fn is_empty(&self, data: &Data, now: SystemTime) -> bool {
        self.read(data, CURRENT, now).is_none()
    }

    /// Returns true if clients that know its authority trust the pair.
    pub(super) fn is_usable(&self, pair: &Pair, now: SystemTime) -> bool {
        pair.is_trusted(&self.names, now)
    }

    fn read(&self, data: &Data, [certificate, key]: [&str; 2], now: SystemTime) -> Option<Pair> {
        let pair = Pair {
            chain: text(data, certificate)?,
            key: text(data, key)?,
        };
        pair.is_trusted(&self.names, now).then_some(pair)
    }
}

fn text(data: &Data, key: &str) -> Option<String> {
    String::from_utf8(data.get(key)?.0.clone()).ok()
}

//! The current and the desired content of the Secret with the certificates.
//!
//! A rotation has three steps, so that no certificate is used before everybody trusts it:
//!
//! 1. After two thirds of the validity, the next pair is generated, and its authority published beside the current one.
//! 2. When all servers have had time to see it, the next pair becomes the current one.
//! 3. After a third of its validity, the previous certificate has expired, and its authority is removed.

use std::collections::BTreeMap;
use std::io::Result;
use std::time::{Duration, SystemTime};

use k8s_openapi::ByteString;

use super::pair::{self, Pair, split};

pub(super) type Data = BTreeMap<String, ByteString>;

/// Maximum number of published authorities: current, next and previous, and some that other replicas still serve.
const AUTHORITIES: usize = 8;

const CURRENT: [&str; 2] = ["tls.crt", "tls.key"];
const NEXT: [&str; 2] = ["next.crt", "next.key"];
const AUTHORITY: &str = "ca.crt";

pub(super) struct Rules {
    pub(super) names: Vec<String>,
    pub(super) life: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) current: Pair,
    pub(super) next: Option<Pair>,
    /// All trusted authorities, as one PEM.
    pub(super) authorities: String,
}

/// Knowledge of a replica beyond the Secret.
#[derive(Default)]
pub(super) struct Known<'a> {
    pub(super) before: Option<&'a Held>,
    pub(super) served: Option<&'a Pair>,
    /// The authorities that all servers have had time to see.
    pub(super) published: &'a str,
    /// The authorities in the `caBundle`s. Other replicas may serve certificates of them.
    pub(super) found: &'a str,
}

impl Held {
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

impl Rules {
    /// Returns the desired content of the Secret. If the Secret is missing or not valid, the replica continues with
    /// what it knows. The authority of each served certificate stays.
    pub(super) fn due(&self, data: &Data, known: &Known<'_>, now: SystemTime) -> Result<Held> {
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
            authorities.extend(trusted.filter(|authority| pair::is_valid(authority, now)));
        }
        let mut unique = Vec::<String>::new();
        for authority in authorities {
            if unique.len() < AUTHORITIES && !unique.contains(&authority) {
                unique.push(authority);
            }
        }
        Ok(Held {
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

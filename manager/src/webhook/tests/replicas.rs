//! Replicas whose Secret is deleted. The API server trusts the certificate of each replica at each step.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::certificates::{Replica, SECRET, advance, server};
use super::reviews::Random;

#[derive(Clone, Copy, Debug)]
enum Step {
    Delete,
    Round(usize),
    Start,
    /// Time passes, and all replicas run their checks.
    Wait(u64),
}

use Step::{Delete, Round, Start, Wait};

/// Returns true if a client with this bundle accepts the replica.
async fn accepts(bundle: &str, replica: &Replica) -> bool {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(authority.unwrap()).unwrap();
    }
    let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("svc.default.svc").unwrap();
    let (here, there) = tokio::io::duplex(1 << 16);
    let server = TlsAcceptor::from(replica.certificate.current(SystemTime::now()));
    let connecting = TlsConnector::from(Arc::new(client)).connect(name, here);
    tokio::join!(connecting, server.accept(there)).0.is_ok()
}

/// Runs the steps with two replicas. Returns the first step after which a request would fail, and the reason.
async fn first_failure(steps: &[Step]) -> Option<String> {
    let server = server();
    let mut replicas = Vec::new();
    for _ in 0..2 {
        replicas.push(Replica::start(&server).await);
    }
    for (index, step) in steps.iter().enumerate() {
        let failure = |text: String| Some(format!("step {index}, {step:?}: {text}"));
        let before = server.bundles();
        let running = replicas.len();
        match *step {
            Delete => server.delete(SECRET),
            Round(number) => drop(replicas[number % running].round().await),
            Start => replicas.push(Replica::start(&server).await),
            Wait(seconds) => {
                advance(seconds).await;
                for replica in &mut replicas {
                    replica.round().await;
                    if let Some(text) =
                        refused(&server.bundles(), std::slice::from_ref(replica)).await
                    {
                        return failure(text);
                    }
                }
            }
        }
        if let Some(text) = refused(&server.bundles(), &replicas).await {
            return failure(text);
        }
        // The API server may not have seen the last change yet. A new replica gets no requests until it is ready.
        if let Some(text) = refused(&before, &replicas[..running]).await {
            return failure(format!("before the change was seen, {text}"));
        }
    }
    None
}

async fn refused(bundles: &[String], replicas: &[Replica]) -> Option<String> {
    let bundles: BTreeSet<&String> = bundles.iter().collect();
    for bundle in bundles {
        for (number, replica) in replicas.iter().enumerate() {
            if !accepts(bundle, replica).await {
                return Some(format!("replica {number} is not trusted"));
            }
        }
    }
    None
}

#[tokio::test(start_paused = true)]
async fn a_deleted_secret_fails_no_request() {
    let cases: [(&str, &[Step]); 5] = [
        (
            "one looks after the other",
            &[Delete, Round(0), Round(1), Wait(61), Wait(61)],
        ),
        (
            "a newcomer is faster",
            &[
                Delete,
                Start,
                Round(0),
                Round(1),
                Wait(30),
                Wait(31),
                Wait(31),
                Wait(400),
            ],
        ),
        (
            "again before the other has seen it",
            &[
                Delete,
                Round(0),
                Delete,
                Round(1),
                Round(0),
                Wait(61),
                Wait(61),
            ],
        ),
        (
            "a newcomer, and again",
            &[
                Delete,
                Start,
                Delete,
                Round(0),
                Delete,
                Start,
                Delete,
                Round(1),
                Wait(61),
                Wait(61),
            ],
        ),
        (
            "while the next certificate is due",
            &[
                Wait(800),
                Delete,
                Start,
                Delete,
                Round(1),
                Wait(61),
                Delete,
                Round(0),
                Wait(61),
            ],
        ),
    ];
    let mut failures = Vec::new();
    for (what, steps) in cases {
        failures.extend(
            first_failure(steps)
                .await
                .map(|failure| format!("{what}: {failure}")),
        );
    }
    for seed in 1..=15 {
        let mut random = Random(seed);
        let mut steps = Vec::new();
        let mut starts = 0;
        for _ in 0..20 {
            steps.push(match random.below(10) {
                0..3 => Delete,
                3..7 => Round(random.below(4)),
                7 if starts < 2 => {
                    starts += 1;
                    Start
                }
                7 | 8 => Wait(7),
                _ => Wait(31),
            });
        }
        failures.extend(
            first_failure(&steps)
                .await
                .map(|failure| format!("seed {seed}: {failure} of {steps:?}")),
        );
    }
    assert_eq!(failures, [""; 0], "{}", failures.join("\n"));
}

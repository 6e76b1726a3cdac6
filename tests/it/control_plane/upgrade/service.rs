//! The webhook Service: a local port that routes to replicas whose `/readyz` returns 200, round robin. One thread
//! stands for the kubelet, the endpoint controller and kube-proxy.

use std::io::Write as _;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::{http, wait};

/// The readiness probe's `periodSeconds`, shortened.
const PERIOD: Duration = Duration::from_millis(200);

struct Endpoint {
    probes: u16,
    webhooks: u16,
    ready: bool,
}

pub(in crate::control_plane) struct Service {
    endpoints: Arc<Mutex<Vec<Endpoint>>>,
    rounds: Arc<AtomicUsize>,
    ended: Arc<AtomicBool>,
    port: u16,
}

impl Service {
    pub(in crate::control_plane) fn start() -> Self {
        let endpoints = Arc::new(Mutex::new(Vec::<Endpoint>::new()));
        let (rounds, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn({
            let (endpoints, rounds, ended) = (endpoints.clone(), rounds.clone(), ended.clone());
            move || {
                while !ended.load(Ordering::SeqCst) {
                    probe(&endpoints);
                    rounds.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(PERIOD);
                }
            }
        });
        std::thread::spawn({
            let (endpoints, ended) = (endpoints.clone(), ended.clone());
            move || {
                for (turn, client) in listener.incoming().enumerate() {
                    if ended.load(Ordering::SeqCst) {
                        return;
                    }
                    if let (Ok(client), Some(port)) = (client, chosen(&endpoints, turn)) {
                        std::thread::spawn(move || forward(client, port));
                    }
                }
            }
        });
        Self { endpoints, rounds, ended, port }
    }

    pub(in crate::control_plane) fn port(&self) -> u16 {
        self.port
    }

    pub(in crate::control_plane) fn add(&self, probes: u16, webhooks: u16) {
        self.endpoints.lock().unwrap().push(Endpoint { probes, webhooks, ready: false });
    }

    /// Removes a terminating pod: it gets no new connection.
    pub(in crate::control_plane) fn remove(&self, webhooks: u16) {
        self.endpoints.lock().unwrap().retain(|endpoint| endpoint.webhooks != webhooks);
    }

    /// Waits for another probe of all replicas.
    pub(in crate::control_plane) fn synced(&self) {
        let before = self.rounds.load(Ordering::SeqCst);
        let done = || self.rounds.load(Ordering::SeqCst) > before + 1;
        wait::until(Duration::from_secs(60), || if done() { Ok(()) } else { Err("no probe".to_owned()) }).unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes the listener, so that it ends.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn probe(endpoints: &Mutex<Vec<Endpoint>>) {
    let all: Vec<u16> = endpoints.lock().unwrap().iter().map(|endpoint| endpoint.probes).collect();
    for probes in all {
        let ready = http::get(probes, "/readyz").is_ok();
        let mut endpoints = endpoints.lock().unwrap();
        if let Some(endpoint) = endpoints.iter_mut().find(|endpoint| endpoint.probes == probes) {
            endpoint.ready = ready;
        }
    }
}

fn chosen(endpoints: &Mutex<Vec<Endpoint>>, turn: usize) -> Option<u16> {
    let endpoints = endpoints.lock().unwrap();
    let ready: Vec<u16> =
        endpoints.iter().filter(|endpoint| endpoint.ready).map(|endpoint| endpoint.webhooks).collect();
    ready.get(turn % ready.len().max(1)).copied()
}

fn forward(client: TcpStream, port: u16) {
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return };
    let copies = [(&client, &server), (&server, &client)].map(|(from, to)| (from.try_clone(), to.try_clone()));
    for (from, to) in copies {
        let (Ok(mut from), Ok(mut to)) = (from, to) else { return };
        std::thread::spawn(move || {
            // The end or an error of one side closes the other.
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.flush();
            let _ = to.shutdown(Shutdown::Write);
        });
    }
}

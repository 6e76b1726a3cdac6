//! A TCP proxy on loopback that can refuse or stall connections.

use std::collections::BTreeMap;
use std::io::{Read, Result, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::control_plane) enum Network {
    Open,
    /// Closes existing connections and refuses new ones.
    Refused,
    /// Holds all bytes in both directions; they arrive after the proxy is open again.
    Stalled,
}

/// Forwards bytes between clients and a server until it is dropped.
pub(in crate::control_plane) struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    acceptor: Option<JoinHandle<()>>,
}

struct State {
    network: Mutex<Network>,
    changed: Condvar,
    /// Connections with a lower number are stalled permanently.
    oldest: AtomicUsize,
    made: AtomicUsize,
    /// Both streams of each connection by client address.
    connections: Mutex<BTreeMap<SocketAddr, [TcpStream; 2]>>,
    ended: Mutex<bool>,
}

impl Proxy {
    pub(in crate::control_plane) fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            network: Mutex::new(Network::Open),
            changed: Condvar::new(),
            oldest: AtomicUsize::new(0),
            made: AtomicUsize::new(0),
            connections: Mutex::default(),
            ended: Mutex::new(false),
        });
        let shared = state.clone();
        let acceptor = std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if *shared.ended.lock().unwrap() {
                    break;
                }
                let state = shared.clone();
                std::thread::spawn(move || state.carry(client, server));
            }
        });
        Self { address, state, acceptor: Some(acceptor) }
    }

    pub(in crate::control_plane) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(in crate::control_plane) fn set(&self, network: Network) {
        *self.state.network.lock().unwrap() = network;
        if network == Network::Refused {
            self.state.cut();
        }
        self.state.changed.notify_all();
    }

    /// Stalls all existing connections without closing them, like a failover of a load balancer.
    pub(in crate::control_plane) fn stall_old(&self) {
        self.state.oldest.store(self.state.made.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        *self.state.ended.lock().unwrap() = true;
        self.set(Network::Refused);
        // This connection wakes the listener, which then sees the end.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

impl State {
    /// Waits while the network or this connection is stalled. Returns false if the network refuses.
    fn carries(&self, number: usize) -> bool {
        let stalled = |network: Network| {
            let old = number < self.oldest.load(Ordering::SeqCst);
            network == Network::Stalled || (old && network != Network::Refused)
        };
        let network = self.network.lock().unwrap();
        let network = self.changed.wait_while(network, |network| stalled(*network)).unwrap();
        *network == Network::Open
    }

    fn cut(&self) {
        for connection in self.connections.lock().unwrap().values().flatten() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    fn carry(&self, client: TcpStream, server: SocketAddr) -> Result<()> {
        let number = self.made.fetch_add(1, Ordering::SeqCst);
        if !self.carries(number) {
            return Ok(());
        }
        let server = TcpStream::connect(server)?;
        let address = client.peer_addr()?;
        let ends = [client.try_clone()?, server.try_clone()?];
        let (from_server, to_client) = (server.try_clone()?, client.try_clone()?);
        self.connections.lock().unwrap().insert(address, ends);
        std::thread::scope(|scope| {
            scope.spawn(|| self.pump(number, from_server, to_client));
            self.pump(number, client, server);
        });
        self.connections.lock().unwrap().remove(&address);
        Ok(())
    }

    /// Copies one direction, including its end.
    fn pump(&self, number: usize, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if !self.carries(number) || to.write_all(&buffer[..length]).is_err() {
                let _ = from.shutdown(Shutdown::Both);
                break;
            }
        }
        let _ = self.carries(number);
        let _ = to.shutdown(Shutdown::Write);
    }
}

mod tests {
    use std::time::Duration;

    use super::*;

    fn echo() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || std::io::copy(&mut stream.try_clone().unwrap(), &mut &stream));
            }
        });
        address
    }

    /// Returns the echo within `limit`; nothing if the connection was closed.
    fn answer(stream: &mut TcpStream, limit: Duration) -> Option<Vec<u8>> {
        stream.set_read_timeout(Some(limit)).unwrap();
        let mut buffer = [0; 16];
        match stream.read(&mut buffer) {
            Ok(length) => Some(buffer[..length].to_vec()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Some(Vec::new()),
            Err(_) => None,
        }
    }

    #[test]
    fn the_network_can_be_stalled_and_refused() {
        let (soon, never) = (Duration::from_secs(60), Duration::from_millis(200));
        let proxy = Proxy::start(echo());
        let connect = || TcpStream::connect(proxy.address()).unwrap();
        let mut stream = connect();
        stream.write_all(b"a").unwrap();
        assert_eq!(answer(&mut stream, soon).as_deref(), Some(&b"a"[..]));

        proxy.set(Network::Stalled);
        stream.write_all(b"b").unwrap();
        assert_eq!(answer(&mut stream, never), None);
        proxy.set(Network::Open);
        assert_eq!(answer(&mut stream, soon).as_deref(), Some(&b"b"[..]), "what was held back arrives");

        proxy.stall_old();
        let mut old = stream;
        let mut stream = connect();
        for stream in [&mut old, &mut stream] {
            stream.write_all(b"d").unwrap();
        }
        assert_eq!(answer(&mut old, never), None);
        assert_eq!(answer(&mut stream, soon).as_deref(), Some(&b"d"[..]), "made later");

        proxy.set(Network::Refused);
        assert_eq!(answer(&mut stream, soon).as_deref(), Some(&b""[..]), "cut");
        assert_eq!(answer(&mut connect(), soon).as_deref(), Some(&b""[..]), "refused");
        proxy.set(Network::Open);
        let mut stream = connect();
        stream.write_all(b"c").unwrap();
        assert_eq!(answer(&mut stream, soon).as_deref(), Some(&b"c"[..]));
    }
}

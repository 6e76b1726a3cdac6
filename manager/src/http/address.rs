//! Addresses to serve on, in the notation of Go: `:8081`, `127.0.0.1:8081`, or `0` to disable.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use tokio::net::TcpListener;

/// The addresses to try in turn. An empty list disables the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BindAddress(Vec<SocketAddr>);

impl BindAddress {
    pub(crate) async fn listen(&self) -> std::io::Result<Option<TcpListener>> {
        match self.0.as_slice() {
            [] => Ok(None),
            addresses => TcpListener::bind(addresses).await.map(Some),
        }
    }
}

impl FromStr for BindAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() || text == "0" {
            return Ok(Self(Vec::new()));
        }
        if let Some(port) = text.strip_prefix(':') {
            let port = port
                .parse()
                .map_err(|_| format!("`{port}` is not a port"))?;
            return Ok(Self(vec![
                (Ipv6Addr::UNSPECIFIED, port).into(),
                (Ipv4Addr::UNSPECIFIED, port).into(),
            ]));
        }
        let address = text
            .parse()
            .map_err(|_| "write `:PORT`, `IP:PORT`, or `0` for none".to_owned())?;
        Ok(Self(vec![address]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_in_go() {
        let count = |text: &str| text.parse::<BindAddress>().map(|address| address.0.len());
        assert_eq!(count("0"), Ok(0));
        assert_eq!(count(""), Ok(0));
        assert_eq!(count(":8081"), Ok(2));
        assert_eq!(count("127.0.0.1:0"), Ok(1));
        assert!(count(":http").is_err());
        assert!(count("8081").is_err());
    }
}

//! A minimal HTTP client for loopback servers.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// Read timeout of `get` and `post`.
const LIMIT: Duration = Duration::from_secs(60);

/// Returns the body of a 200 response. Any other response is an error.
pub(crate) fn get(port: u16, path: &str) -> Result<String, String> {
    match send(on(port), LIMIT, "GET", path, "")? {
        (head, text) if code(&head) == "200" => Ok(text),
        (head, text) => Err(format!("{head}\r\n\r\n{text}")),
    }
}

/// Posts JSON. Returns head and body with any status.
pub(crate) fn post(port: u16, path: &str, json: &str) -> Result<(String, String), String> {
    send(on(port), LIMIT, "POST", path, json)
}

/// Sends a JSON document, with PATCH as a merge patch. Returns head and body with any status.
pub(crate) fn send(
    address: SocketAddr,
    limit: Duration,
    method: &str,
    path: &str,
    document: &str,
) -> Result<(String, String), String> {
    let kind = if method == "PATCH" { "merge-patch+json" } else { "json" };
    let exchange = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(limit))?;
        // HTTP 1.0 has no chunks, and the response ends with the connection.
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/{kind}\r\nContent-Length: {}\r\n\r\n{document}",
            document.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = exchange().map_err(|error| error.to_string())?;
    answer.split_once("\r\n\r\n").map(|(head, text)| (head.to_owned(), text.to_owned())).ok_or(answer.clone())
}

pub(crate) fn code(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or_default()
}

fn on(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

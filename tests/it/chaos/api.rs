//! The API server as the driver and the judge ask it: often, and without a process for each question.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longer than any outage of these tests.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Plain HTTP to `kubectl proxy`. In version 1.0 an answer ends with its connection: there is nothing to decode.
#[derive(Clone, Copy)]
pub(super) struct Api(pub(super) SocketAddr);

impl Api {
    pub(super) fn get(self, path: &str) -> Result<Value, String> {
        self.send("GET", path, "")
    }

    /// Sends a document, as a merge patch where it is a patch: the answer, or what is wrong.
    pub(super) fn send(self, method: &str, path: &str, document: &str) -> Result<Value, String> {
        let answer = self.exchange(method, path, document).map_err(|error| format!("{method} {path}: {error}"))?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| format!("{method} {path}: {answer:?}"))?;
        let code = head.split(' ').nth(1).unwrap_or_default();
        if code.starts_with('2') {
            // Health is told in a word.
            Ok(serde_json::from_str(body).unwrap_or(Value::Null))
        } else {
            Err(format!("{method} {path}: {head}\n{body}"))
        }
    }

    fn exchange(self, method: &str, path: &str, document: &str) -> std::io::Result<String> {
        let kind = if method == "PATCH" { "merge-patch+json" } else { "json" };
        let mut stream = TcpStream::connect(self.0)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/{kind}\r\nContent-Length: {}\r\n\r\n{document}",
            document.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

//! One request to a server on the loopback interface.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// The text of an answer with status code 200; the whole answer otherwise, or why there is none.
pub(crate) fn get(port: u16, path: &str) -> Result<String, String> {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        // Of this version, answers are not sent in chunks.
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().map_err(|error| error.to_string())?;
    match answer.split_once("\r\n\r\n") {
        Some((head, text)) if head.split(' ').nth(1) == Some("200") => Ok(text.to_owned()),
        _ => Err(answer),
    }
}

//! One request to a server on the loopback interface.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// The text of an answer with status code 200; the whole answer otherwise, or why there is none.
pub(crate) fn get(port: u16, path: &str) -> Result<String, String> {
    match ask(port, &format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n"))? {
        (head, text) if head.split(' ').nth(1) == Some("200") => Ok(text),
        (head, text) => Err(format!("{head}\r\n\r\n{text}")),
    }
}

/// The head and the text of the answer to some JSON, whatever it is.
pub(crate) fn post(port: u16, path: &str, json: &str) -> Result<(String, String), String> {
    let head = format!("POST {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    ask(port, &format!("{head}Content-Length: {}\r\n\r\n{json}", json.len()))
}

fn ask(port: u16, request: &str) -> Result<(String, String), String> {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        // Of HTTP 1.0, answers are not sent in chunks.
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().map_err(|error| error.to_string())?;
    answer.split_once("\r\n\r\n").map(|(head, text)| (head.to_owned(), text.to_owned())).ok_or(answer.clone())
}

//! An HTTP client over a real socket.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A response: the status and the body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Came {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Sends these bytes and reads until the other end closes.
pub(crate) fn send(address: SocketAddr, request: &str) -> io::Result<Came> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(request.as_bytes())?;
    answer(&mut stream)
}

/// Reads a response until the other end closes.
pub(crate) fn answer(stream: &mut TcpStream) -> io::Result<Came> {
    let mut text = Vec::new();
    stream.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("no answer: {text:?}")))?;
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    Ok(Came { status, body: body.unwrap_or_default() })
}

/// Socket address and path of a URL.
pub(crate) fn parts(url: &str) -> (SocketAddr, String) {
    let rest = url.strip_prefix("http://").expect("http");
    let (authority, path) = rest.split_once('/').expect("a path");
    (authority.parse().expect("an address"), format!("/{path}"))
}

/// A GET.
pub(crate) fn get(url: &str) -> io::Result<Came> {
    let (address, path) = parts(url);
    send(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"))
}

/// A POST with a JSON body.
pub(crate) fn post(url: &str, body: &str) -> io::Result<Came> {
    let (address, path) = parts(url);
    send(address, &post_text(&path, address, body))
}

/// The bytes of such a POST.
pub(crate) fn post_text(path: &str, address: SocketAddr, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

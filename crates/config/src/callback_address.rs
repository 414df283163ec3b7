//! `callback:`: where the program listens for people's answers.

use std::net::IpAddr;

use super::node::Node;
use super::notes::Notes;

/// Where the program listens for people's answers, as far as files set it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallbackAddress {
    /// The address of this machine to listen at.
    pub bind: Option<IpAddr>,
    /// The port; 0 is any free one.
    pub port: Option<u16>,
    /// The beginning of people's links, without a slash at its end.
    pub public_url: Option<String>,
}

impl CallbackAddress {
    /// Sets from `other` what is not set yet, so that the first file wins.
    pub(super) fn fill_from(&mut self, other: &Self) {
        self.bind = self.bind.or(other.bind);
        self.port = self.port.or(other.port);
        if self.public_url.is_none() {
            self.public_url.clone_from(&other.public_url);
        }
    }
}

/// Reads the value of `callback:`.
pub(super) fn read(node: &Node, notes: &mut Notes<'_>) -> CallbackAddress {
    const KEYS: &[&str] = &["bind", "port", "public_url"];
    let mut callback = CallbackAddress::default();
    for field in notes.map(node, "a map with bind, port, public_url").unwrap_or_default() {
        let value = &field.value;
        match &*field.key {
            "bind" => callback.bind = bind(value, notes),
            "port" => {
                let port = notes.whole_number(value, 0..=65535, "a port from 0 to 65535");
                callback.port = port.and_then(|port| u16::try_from(port).ok());
            }
            "public_url" => callback.public_url = public_url(value, notes),
            key => notes.unknown_key(field.at, key, KEYS),
        }
    }
    callback
}

fn bind(node: &Node, notes: &mut Notes<'_>) -> Option<IpAddr> {
    const EXPECTED: &str = "an address of this machine like 127.0.0.1 or 0.0.0.0";
    let text = notes.text(node, EXPECTED)?.trim();
    let read = if text == "localhost" { "127.0.0.1" } else { text }.parse().ok();
    if read.is_none() {
        notes.bad_value(node.at, text, EXPECTED);
    }
    read
}

fn public_url(node: &Node, notes: &mut Notes<'_>) -> Option<String> {
    const EXPECTED: &str = "an address like https://hooks.example.org";
    let text = notes.text(node, EXPECTED)?.trim();
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let is_plain = |letter: char| letter.is_ascii_graphic() && !"?#@\\\"'<>`{}|^".contains(letter);
    if host.is_empty() || host.starts_with(':') || !text.chars().all(is_plain) {
        notes.bad_value(node.at, text, EXPECTED);
        return None;
    }
    Some(text.trim_end_matches('/').to_owned())
}

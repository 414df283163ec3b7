//! [`Redaction`]: removes the values of secrets from texts and streams.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, Input, MatchKind};
use hookwright_process::OutputFilter;
use serde_json::{Map, Value};

use super::forms::forms;

/// Finds every form of every secret. If several begin at one place, the longest counts.
pub(crate) struct Redaction {
    search: AhoCorasick,
    /// Finds the forms as they are written within a JSON text. Made for the first one.
    search_in_json: OnceLock<AhoCorasick>,
    patterns: Vec<SecretPattern>,
    /// The first bytes of all forms.
    first_bytes: [bool; 256],
    bytes_max: usize,
}

/// Whether more bytes will follow.
#[derive(Clone, Copy)]
enum Rest {
    MayCome,
    None,
}

struct SecretPattern {
    form: String,
    shown_as: String,
}

impl Redaction {
    pub(super) fn new(secrets: &[(String, String)]) -> Self {
        Self::showing(secrets.iter().map(|(name, value)| (&**value, format!("[secret {name}]"))))
    }

    /// Hides these values, each behind its replacement.
    pub(super) fn showing<'a>(values: impl Iterator<Item = (&'a str, String)>) -> Self {
        let patterns: Vec<SecretPattern> = values
            .filter(|(value, _)| !value.is_empty())
            .flat_map(|(value, shown_as)| {
                forms(value)
                    .into_iter()
                    .map(move |form| SecretPattern { form, shown_as: shown_as.clone() })
            })
            .collect();
        let mut first_bytes = [false; 256];
        for pattern in &patterns {
            first_bytes[usize::from(pattern.form.as_bytes()[0])] = true;
        }
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(patterns.iter().map(|pattern| &pattern.form))
            .expect("secrets have less than two billion bytes");
        let bytes_max = patterns.iter().map(|pattern| pattern.form.len()).max().unwrap_or(0);
        Self { search, search_in_json: OnceLock::new(), patterns, first_bytes, bytes_max }
    }

    /// A filter for one stream.
    #[cfg(feature = "http")]
    pub(crate) fn stream(hidden: &Arc<Self>) -> impl OutputFilter + use<> {
        RedactedStream::new(Arc::clone(hidden))
    }

    /// What is shown in place of the first secret in these bytes.
    pub(super) fn first_in(&self, bytes: &[u8]) -> Option<&str> {
        let found = self.search.find(bytes)?;
        Some(&self.patterns[found.pattern()].shown_as)
    }

    /// The length of the longest form.
    pub(super) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// The redacted text.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !self.search.is_match(text) {
            return Cow::Borrowed(text);
        }
        let mut out = Vec::with_capacity(text.len());
        self.pass(text.as_bytes(), &mut out, Rest::None);
        Cow::Owned(String::from_utf8_lossy(&out).into_owned())
    }

    /// Whether a text or a key of a JSON document may contain a secret. `json` was written by
    /// `serde_json`, which escapes each character by itself: a secret within a text is there as its
    /// own escaped form.
    pub(super) fn may_be_in_json(&self, json: &str) -> bool {
        let search = self.search_in_json.get_or_init(|| {
            let escaped = self.patterns.iter().map(|pattern| {
                let quoted = Value::from(pattern.form.as_str()).to_string();
                quoted[1..quoted.len() - 1].to_owned()
            });
            AhoCorasick::new(escaped).expect("secrets have less than two billion bytes")
        });
        search.is_match(json)
    }

    pub(super) fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(hidden) = self.text(text) {
                    *text = hidden;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => {
                for (key, mut value) in std::mem::take(map) {
                    self.value(&mut value);
                    let key = self.text(&key).into_owned();
                    insert(map, key, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Appends the part of `bytes` that is decided to `out`, and returns where it ends. The bytes
    /// after that may be the beginning of a secret.
    fn pass(&self, bytes: &[u8], out: &mut Vec<u8>, rest: Rest) -> usize {
        let mut at = 0;
        loop {
            let open = match rest {
                Rest::None => bytes.len(),
                Rest::MayCome => self.open_from(bytes, at),
            };
            match self.search.find(Input::new(bytes).range(at..)) {
                // A longer one could begin at the same place.
                Some(found) if found.start() < open => {
                    out.extend_from_slice(&bytes[at..found.start()]);
                    out.extend_from_slice(self.patterns[found.pattern()].shown_as.as_bytes());
                    at = found.end();
                }
                Some(_) | None => {
                    out.extend_from_slice(&bytes[at..open]);
                    return open;
                }
            }
        }
    }

    /// The first place from which all remaining bytes are the beginning of some form.
    fn open_from(&self, bytes: &[u8], at: usize) -> usize {
        let from = at.max(bytes.len().saturating_sub(self.bytes_max.saturating_sub(1)));
        let is_open = |place: &usize| {
            let rest = &bytes[*place..];
            self.first_bytes[usize::from(rest[0])]
                && self.patterns.iter().any(|pattern| {
                    pattern.form.len() > rest.len() && pattern.form.as_bytes().starts_with(rest)
                })
        };
        (from..bytes.len()).find(is_open).unwrap_or(bytes.len())
    }
}

/// Two keys that are equal after redaction must both be kept.
fn insert(map: &mut Map<String, Value>, key: String, value: Value) {
    let mut free = key.clone();
    let mut number = 2;
    while map.contains_key(&free) {
        free = format!("{key} {number}");
        number += 1;
    }
    map.insert(free, value);
}

/// Redacts output that comes in pieces: a secret that is split between two reads is found.
pub(super) struct RedactedStream {
    redaction: Arc<Redaction>,
    /// Bytes that could be the beginning of a secret.
    held: Vec<u8>,
}

impl RedactedStream {
    pub(super) fn new(redaction: Arc<Redaction>) -> Self {
        Self { redaction, held: Vec::new() }
    }
}

impl OutputFilter for RedactedStream {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.held.extend_from_slice(bytes);
        let open = self.redaction.pass(&self.held, out, Rest::MayCome);
        self.held.drain(..open);
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        self.redaction.pass(&held, out, Rest::None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redaction(secrets: &[(&str, &str)]) -> Arc<Redaction> {
        let owned: Vec<(String, String)> =
            secrets.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Arc::new(Redaction::new(&owned))
    }

    fn in_pieces(redaction: &Arc<Redaction>, pieces: &[&[u8]]) -> String {
        let mut stream = RedactedStream::new(Arc::clone(redaction));
        let mut out = Vec::new();
        for piece in pieces {
            stream.push(piece, &mut out);
        }
        stream.finish(&mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn secrets_are_redacted_however_the_reads_split_them() {
        let redaction =
            redaction(&[("A", "hunter22"), ("B", "hunter2222/x y"), ("C", "aabaabaac")]);
        let text = "a hunter22 hunter2222/x y hunter2222%2Fx%20y aaabaabaabaac hunter2";
        let hidden = "a [secret A] [secret B] [secret B] aaab[secret C] hunter2";
        assert_eq!(redaction.text(text), hidden);
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let bytes = text.as_bytes();
                let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(in_pieces(&redaction, &pieces), hidden, "{first} {second}");
            }
        }
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(in_pieces(&redaction, &single), hidden);
    }

    #[test]
    fn text_that_begins_like_a_secret_is_released_once_it_differs() {
        let mut stream = RedactedStream::new(redaction(&[("A", "hunter22")]));
        let mut out = Vec::new();
        stream.push(b"x hunter", &mut out);
        assert_eq!(out, b"x ");
        stream.push(b"s\n", &mut out);
        assert_eq!(out, b"x hunters\n");
    }

    #[test]
    fn a_json_document_with_a_secret_is_known_by_its_text() {
        let secrets = [("A", "hunter22"), ("B", "\"a\\b\"\n\u{1}é/<"), ("C", "\":1,\"")];
        let redaction = redaction(&secrets);
        for (_, secret) in secrets {
            for value in [
                serde_json::json!(format!("x{secret}x")),
                serde_json::json!([1, { "k": secret }]),
                serde_json::json!({ secret: 1 }),
                serde_json::json!({ "k": [serde_json::json!(secret).to_string()] }),
            ] {
                let mut hidden = value.clone();
                redaction.value(&mut hidden);
                assert_ne!(hidden, value);
                assert!(redaction.may_be_in_json(&value.to_string()), "{value}");
                assert!(!redaction.may_be_in_json(&hidden.to_string()), "{hidden}");
            }
        }
        assert!(!redaction.may_be_in_json(r#"{"hunter2":["2",{"a":1,"b":2}]}"#));
    }

    #[test]
    fn in_json_every_text_and_key_is_redacted_and_none_is_lost() {
        let redaction = redaction(&[("A", "hunter22"), ("B", "\"quoted\"")]);
        let mut value = serde_json::json!({
            "hunter22": ["hunter22", 1], "x hunter22": { "k": "\"quoted\"" }, "[secret A]": null
        });
        redaction.value(&mut value);
        let expected = serde_json::json!({
            "[secret A]": ["[secret A]", 1], "x [secret A]": { "k": "[secret B]" },
            "[secret A] 2": null
        });
        assert_eq!(value, expected);
    }
}

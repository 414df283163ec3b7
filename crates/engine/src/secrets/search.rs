//! [`SecretSearch`]: finds secrets in bytes that come in pieces, without keeping them.

use std::sync::Arc;

use super::Redaction;

/// Searches one stream of bytes for secrets, in all forms that are hidden elsewhere.
pub struct SecretSearch {
    redaction: Arc<Redaction>,
    /// The last bytes, in which a secret may have begun.
    held: Vec<u8>,
}

impl SecretSearch {
    pub(super) fn new(redaction: Arc<Redaction>) -> Self {
        Self { redaction, held: Vec::new() }
    }

    /// Searches the next bytes. Returns the placeholder of a secret that is in them, or that began
    /// before them.
    pub fn push(&mut self, bytes: &[u8]) -> Option<&str> {
        let kept = self.redaction.bytes_max().saturating_sub(1);
        self.held.extend_from_slice(bytes);
        let found = self.redaction.first_in(&self.held);
        let done = match found {
            Some(_) => self.held.len(),
            None => self.held.len().saturating_sub(kept),
        };
        self.held.drain(..done);
        found
    }

    /// Begins another stream.
    pub fn restart(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use crate::Secrets;

    #[test]
    fn a_secret_is_found_however_the_bytes_are_split_but_not_across_two_streams() {
        let secrets = Secrets::new(vec![("KEY".into(), "hunter22/x".into())]);
        for text in ["a hunter22/x b", "a hunter22%2Fx b"] {
            for at in 0..=text.len() {
                let mut search = secrets.search().expect("there are secrets");
                let halves = [&text.as_bytes()[..at], &text.as_bytes()[at..]];
                let found: Vec<String> =
                    halves.iter().filter_map(|half| search.push(half).map(str::to_owned)).collect();
                assert_eq!(found.last().map(String::as_str), Some("[secret KEY]"), "{at}");
                assert_eq!(search.push(b"nothing"), None);
            }
        }
        let mut search = secrets.search().expect("there are secrets");
        assert_eq!(search.push(b"hunter"), None);
        search.restart();
        assert_eq!(search.push(b"22/x"), None);
        assert!(Secrets::default().search().is_none());
    }
}

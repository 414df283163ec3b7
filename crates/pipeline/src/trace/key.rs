//! [`TraceKey`]: names a trace.
//!
//! The agent chooses the id of its session, which may be anything: `../x`, a megabyte, control
//! characters. So files and names are made from a digest of it. A name contains a character that no
//! name of our own sessions has, so the two cannot collide.

/// Characters of the digest. Two sessions of one agent with the same digest would share a trace.
const DIGEST_CHARS: usize = 12;

/// Characters of an agent's name.
const AGENT_CHARS_MAX: usize = 32;

/// Between agent and digest. [`SessionName`](crate::folder::SessionName) does not allow it.
const SEPARATOR: char = ':';

/// The end of a file's name.
pub(super) const EXTENSION: &str = ".jsonl";

/// The end of the name of the file with the older half of a long trace.
pub(super) const OLD_EXTENSION: &str = ".old.jsonl";

/// An agent and a digest of its session's id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceKey {
    agent: String,
    digest: String,
}

impl TraceKey {
    /// The trace of this agent's session. `agent` is the name of the host.
    pub fn new(agent: &str, session: &str) -> Self {
        let digest = hmac_sha256::Hash::hash(session.as_bytes());
        let digest = digest.iter().take(DIGEST_CHARS / 2).map(|byte| format!("{byte:02x}"));
        Self { agent: agent.to_owned(), digest: digest.collect() }
    }

    /// Reads a name, like `codex:0f3a5c7e9b1d`.
    pub fn parse(name: &str) -> Option<Self> {
        let (agent, digest) = name.split_once(SEPARATOR)?;
        Self::checked(agent, digest)
    }

    /// Whether a text is a name or the beginning of one that contains the agent.
    pub fn may_begin_with(text: &str) -> bool {
        text.split_once(SEPARATOR).is_some_and(|(agent, digest)| {
            is_agent(agent) && digest.len() <= DIGEST_CHARS && is_hexadecimal(digest)
        })
    }

    /// The name in lists and commands.
    pub fn name(&self) -> String {
        format!("{}{SEPARATOR}{}", self.agent, self.digest)
    }

    /// The agent's name on the command line.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    pub(super) fn file_name(&self) -> String {
        format!("{}-{}{EXTENSION}", self.agent, self.digest)
    }

    pub(super) fn old_file_name(&self) -> String {
        format!("{}-{}{OLD_EXTENSION}", self.agent, self.digest)
    }

    /// The key of a file; `None` for a file that is no trace or the older half of one.
    pub(super) fn from_file_name(name: &str) -> Option<Self> {
        let (agent, digest) = name.strip_suffix(EXTENSION)?.rsplit_once('-')?;
        Self::checked(agent, digest)
    }

    /// Orders traces that began in the same millisecond.
    pub(super) fn number(&self) -> u64 {
        u64::from_str_radix(&self.digest, 16).unwrap_or_default()
    }

    fn checked(agent: &str, digest: &str) -> Option<Self> {
        let is_one = is_agent(agent) && digest.len() == DIGEST_CHARS && is_hexadecimal(digest);
        is_one.then(|| Self { agent: agent.to_owned(), digest: digest.to_owned() })
    }
}

fn is_agent(text: &str) -> bool {
    let is_short = !text.is_empty() && text.len() <= AGENT_CHARS_MAX;
    is_short && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::SessionName;

    #[test]
    fn whatever_an_agent_calls_its_session_the_file_is_in_the_folder() {
        let long = "x".repeat(1_000_000);
        for session in ["", ".", "../../etc/passwd", "a\0b", "\u{1b}[2J", "é", &long] {
            let key = TraceKey::new("codex", session);
            for file in [key.file_name(), key.old_file_name()] {
                assert!(file.len() < 64, "{file}");
                let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
                assert!(file.chars().all(is_plain) && !file.contains(".."), "{file}");
            }
            assert_eq!(TraceKey::parse(&key.name()), Some(key.clone()));
            assert_eq!(TraceKey::from_file_name(&key.file_name()), Some(key.clone()));
            assert_eq!(TraceKey::from_file_name(&key.old_file_name()), None);
        }
        assert_ne!(TraceKey::new("codex", "a"), TraceKey::new("codex", "b"));
        assert_ne!(TraceKey::new("codex", "a"), TraceKey::new("gemini", "a"));
    }

    #[test]
    fn no_session_of_ours_can_have_the_name_of_a_trace() {
        let name = TraceKey::new("codex", "a").name();
        assert!(name.parse::<SessionName>().is_err(), "{name}");
    }

    #[test]
    fn nothing_else_is_a_name() {
        for other in [
            "codex",
            "codex:",
            "codex:0f",
            ":0f3a5c7e9b1d",
            "codex:0F3A5C7E9B1D",
            "../x:0f3a5c7e9b1d",
        ] {
            assert_eq!(TraceKey::parse(other), None, "{other}");
        }
        for (text, may_be) in [
            ("codex:", true),
            ("codex:0f", true),
            ("codex", false),
            ("a b:0", false),
            ("codex:x", false),
        ] {
            assert_eq!(TraceKey::may_begin_with(text), may_be, "{text}");
        }
    }
}

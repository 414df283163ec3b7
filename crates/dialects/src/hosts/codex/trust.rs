//! Codex's trust: a hook of the user's runs only if `config.toml` has the digest of its definition.
//! Codex skips all others without a message. Measured with 0.166.0, whose `hooks/list` gives the same
//! digests.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::hosts::OwnEntry;

/// The timeout of an entry that names none.
const TIMEOUT_SECONDS: u64 = 600;

/// Codex's trust of hooks, as its `config.toml` has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodexTrust {
    /// By the hook's key.
    hooks: BTreeMap<String, TrustedHook>,
    /// Whether hooks are switched off as a whole.
    pub is_off: bool,
}

/// What is stored of one hook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct TrustedHook {
    digest: Option<String>,
    is_disabled: bool,
}

/// Whether Codex runs a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookTrust {
    /// It runs.
    Trusted,
    /// It was never trusted.
    Untrusted,
    /// It was trusted with another definition.
    Changed,
    /// It is switched off.
    Disabled,
}

impl CodexTrust {
    /// Reads `config.toml`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let get = |path: [&str; 2]| table.get(path[0])?.get(path[1]);
        let state = get(["hooks", "state"]).and_then(toml::Value::as_table);
        let hooks = state.into_iter().flatten().map(|(key, value)| {
            let digest = value.get("trusted_hash").and_then(toml::Value::as_str);
            let is_disabled = value.get("enabled").and_then(toml::Value::as_bool) == Some(false);
            (key.clone(), TrustedHook { digest: digest.map(str::to_owned), is_disabled })
        });
        let is_false =
            |value: Option<&toml::Value>| value.and_then(toml::Value::as_bool) == Some(false);
        let names = ["hooks", "codex_hooks"];
        let is_off = names.iter().any(|name| is_false(get(["features", name])));
        Ok(Self { hooks: hooks.collect(), is_off })
    }

    /// Whether Codex runs this entry of the file at `path`. `digest` is SHA-256 in lower-case
    /// hexadecimal digits.
    pub fn of_entry(
        &self,
        path: &Path,
        entry: &OwnEntry,
        digest: impl Fn(&[u8]) -> String,
    ) -> HookTrust {
        let known = key(path, entry).and_then(|key| self.hooks.get(&key));
        let (Some(known), Some(definition)) = (known, definition(entry)) else {
            return HookTrust::Untrusted;
        };
        let expected = format!("sha256:{}", digest(definition.as_bytes()));
        match &known.digest {
            _ if known.is_disabled => HookTrust::Disabled,
            Some(trusted) if *trusted == expected => HookTrust::Trusted,
            Some(_) => HookTrust::Changed,
            None => HookTrust::Untrusted,
        }
    }

    /// The part of `config.toml` that has this trust, for hooks of the file at `from`, which is at
    /// `to` now.
    pub fn moved(&self, from: &Path, to: &Path) -> String {
        let mut text = String::new();
        if self.is_off {
            text.push_str("[features]\nhooks = false\n");
        }
        let (from, to) = (from.to_string_lossy(), to.to_string_lossy());
        for (key, hook) in &self.hooks {
            let Some(rest) = key.strip_prefix(&*from) else { continue };
            text.push_str(&format!("[hooks.state.{}]\n", Value::from(format!("{to}{rest}"))));
            if let Some(digest) = &hook.digest {
                text.push_str(&format!("trusted_hash = {}\n", Value::from(&**digest)));
            }
            if hook.is_disabled {
                text.push_str("enabled = false\n");
            }
        }
        text
    }
}

/// The key of an entry: its file, its event and its place there.
fn key(path: &Path, entry: &OwnEntry) -> Option<String> {
    let written = entry.written.as_ref()?;
    let event = snake_case(&entry.event);
    Some(format!("{}:{event}:{}:{}", path.display(), written.group, written.number))
}

/// The text whose digest Codex trusts: the definition as JSON, its keys sorted.
fn definition(entry: &OwnEntry) -> Option<String> {
    let written = entry.written.as_ref()?;
    let field = |name: &str| written.entry.get(name);
    let mut hook = Map::from_iter([
        ("async".to_owned(), field("async").cloned().unwrap_or(Value::Bool(false))),
        ("command".to_owned(), field("command")?.clone()),
    ]);
    // In this order, because the keys have to be sorted.
    hook.extend(field("statusMessage").map(|text| ("statusMessage".to_owned(), text.clone())));
    let timeout = field("timeout").cloned().unwrap_or(TIMEOUT_SECONDS.into());
    hook.insert("timeout".to_owned(), timeout);
    hook.insert("type".to_owned(), "command".into());
    let event = snake_case(&entry.event);
    let mut whole = Map::from_iter([
        ("event_name".to_owned(), Value::from(&*event)),
        ("hooks".to_owned(), json!([hook])),
    ]);
    // Other events have no matcher.
    if matches!(&*event, "pre_tool_use" | "post_tool_use" | "permission_request")
        && let Some(matcher) = &written.matcher
    {
        whole.insert("matcher".to_owned(), Value::from(&**matcher));
    }
    Some(Value::Object(whole).to_string())
}

fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts;

    const HOOKS: &str = r#"{"hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": "command", "command": "true"},
            {"type": "command", "command": "hookwright hook codex", "timeout": 60}]}],
        "SessionStart": [{"hooks": [{"type": "command", "command": "hookwright hook codex"}]}]}}"#;

    fn entries(text: &str) -> Vec<OwnEntry> {
        let host = hosts::named("codex").expect("a host");
        hosts::own_entries(host, Path::new("hooks.json"), text).expect("readable")
    }

    #[test]
    fn an_entry_is_trusted_changed_disabled_or_none_of_these() {
        let path = Path::new("/home/me/.codex/hooks.json");
        let entries = entries(HOOKS);
        let digest = |bytes: &[u8]| bytes.len().to_string();
        let of = |text: &str| {
            let trust = CodexTrust::parse(text).expect("TOML");
            trust.of_entry(path, &entries[0], digest)
        };
        let table = "[hooks.state.\"/home/me/.codex/hooks.json:pre_tool_use:0:1\"]\n";
        let length = definition(&entries[0]).expect("JSON").len();
        assert_eq!(of(""), HookTrust::Untrusted);
        assert_eq!(of(&format!("{table}trusted_hash = \"sha256:{length}\"\n")), HookTrust::Trusted);
        assert_eq!(of(&format!("{table}trusted_hash = \"sha256:0\"\n")), HookTrust::Changed);
        let disabled = format!("{table}trusted_hash = \"sha256:{length}\"\nenabled = false\n");
        assert_eq!(of(&disabled), HookTrust::Disabled);
        let moved =
            CodexTrust::parse(&disabled).expect("TOML").moved(path, Path::new("/tmp/hooks.json"));
        let there = CodexTrust::parse(&moved).expect("TOML");
        assert_eq!(
            there.of_entry(Path::new("/tmp/hooks.json"), &entries[0], digest),
            HookTrust::Disabled
        );
        assert!(CodexTrust::parse("[features]\nhooks = false\n").expect("TOML").is_off);
        assert!(CodexTrust::parse("[").is_err());
    }
}

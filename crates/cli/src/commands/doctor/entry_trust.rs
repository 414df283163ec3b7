//! Entries that Codex skips because it does not trust them.

use hookwright_dialects::hosts::Host;
use hookwright_dialects::hosts::codex::{CodexTrust, HookTrust};

use super::agent::how_to_connect;
use super::finding::Finding;
use super::settings::{CheckedFile, text_of};
use crate::error::advice;
use crate::text::visible_path;
use crate::trust::Sha256;

/// What Codex skips of a file of settings.
pub(super) fn findings(host: &Host, file: &CheckedFile) -> Vec<Finding> {
    let config = file.path.with_file_name("config.toml");
    let text = match text_of(&config) {
        Some(Ok(text)) => text,
        Some(Err(fault)) => {
            let text = format!("{}: {}", visible_path(&config), advice(&fault).heading);
            return vec![Finding::open("trust", text, "make the file readable")];
        }
        None => String::new(),
    };
    let trust = match CodexTrust::parse(&text) {
        Ok(trust) => trust,
        Err(cause) => {
            let cause = cause.lines().next().unwrap_or_default().to_owned();
            let text = format!("{}: {cause}", visible_path(&config));
            return vec![Finding::open("trust", text, "repair the file")];
        }
    };
    if trust.is_off {
        let text = format!("{} switches hooks off (`features`)", visible_path(&config));
        return vec![Finding::open("trust", text, "remove `hooks = false` from it")];
    }
    let digest = |bytes: &[u8]| Sha256::digest(bytes).to_hex();
    let mut skipped: Vec<(HookTrust, &str)> = Vec::new();
    for entry in file.read.iter().flatten() {
        let standing = trust.of_entry(&file.path, entry, digest);
        if standing != HookTrust::Trusted {
            skipped.push((standing, &entry.event));
        }
    }
    let Some((standing, _)) = skipped.first() else { return Vec::new() };
    let why = match standing {
        HookTrust::Changed => "they have changed since they were trusted",
        HookTrust::Disabled => "they are switched off",
        HookTrust::Untrusted | HookTrust::Trusted => "they are not trusted",
    };
    let names: Vec<&str> = skipped.iter().map(|(_, event)| *event).collect();
    let text = format!("Codex skips hookwright at {} and says nothing: {why}", names.join(", "));
    let help = format!("{}, or trust them in Codex: /hooks", how_to_connect(host));
    vec![Finding::open("trust", text, help)]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hookwright_dialects::hosts;

    use super::*;

    /// What `codex app-server` 0.166.0 answered to `hooks/list` for these hooks.
    #[test]
    fn our_digest_of_a_hook_is_the_one_that_codex_names() {
        let hooks = r#"{"hooks": {
            "PreToolUse": [{"hooks": [{"type": "command", "timeout": 60,
                "command": "/bin/hookwright hook codex --deadline 60 || exit 2"}]}]}}"#;
        let digest = "1d2b767f0f5fc4a3b92b3683f24bae4fb91300e53cec2e5114d6e475c71a9956";
        let path = Path::new("/home/user/.codex/hooks.json");
        let host = hosts::named("codex").expect("a host");
        let entry = hosts::own_entries(host, path, hooks).expect("readable").remove(0);
        let text = format!(
            "[hooks.state.\"{}:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:{digest}\"\n",
            path.display()
        );
        let trust = CodexTrust::parse(&text).expect("TOML");
        let ours = |bytes: &[u8]| Sha256::digest(bytes).to_hex();
        assert_eq!(trust.of_entry(path, &entry, ours), HookTrust::Trusted);
    }
}

//! The trust of Codex: `codex app-server`, measured with Codex 0.166.0.
//!
//! Codex runs a hook only if `hooks.state` in its `config.toml` has the hook's current digest. In
//! `codex exec` it skips any other without a message.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::hosts::{HostRequest, ListedHook, TrustDialogue};
use crate::own_call;

pub(super) const TRUST: TrustDialogue = TrustDialogue {
    arguments: &["app-server"],
    file: "config.toml",
    hello,
    ready: || json!({ "method": "initialized" }),
    list,
    listed,
    trust,
    forget,
};

fn request(id: u64, method: &str, params: &Value) -> HostRequest {
    HostRequest { id, message: json!({ "id": id, "method": method, "params": params }) }
}

fn hello() -> HostRequest {
    let version = env!("CARGO_PKG_VERSION");
    let us = json!({ "name": "hookwright", "title": "Hookwright", "version": version });
    request(1, "initialize", &json!({ "clientInfo": us }))
}

fn list(folder: &Path) -> HostRequest {
    request(2, "hooks/list", &json!({ "cwds": [folder] }))
}

fn listed(answer: &Value) -> Result<Vec<ListedHook>, String> {
    let mut hooks = Vec::new();
    for folder in answer["data"].as_array().into_iter().flatten() {
        let problems = ["warnings", "errors"].into_iter();
        let problem = problems.flat_map(|key| folder[key].as_array().into_iter().flatten()).next();
        if let Some(problem) = problem {
            return Err(problem.as_str().map_or_else(|| problem.to_string(), str::to_owned));
        }
        for hook in folder["hooks"].as_array().into_iter().flatten() {
            let text = |key: &str| hook[key].as_str().map(str::to_owned);
            // A hook of another kind has no command.
            let Some(command) = text("command") else { continue };
            let found = (text("key"), text("sourcePath"), text("currentHash"));
            let (Some(name), Some(file), Some(digest)) = found else {
                return Err("its list of hooks has an unknown form".to_owned());
            };
            let is_trusted = hook["trustStatus"] == "trusted";
            let is_ours = own_call::is_command("codex", &command);
            let file = file.into();
            hooks.push(ListedHook { name, file, command, digest, is_trusted, is_ours });
        }
    }
    Ok(hooks)
}

fn trust(hooks: &[ListedHook]) -> HostRequest {
    let state =
        hooks.iter().map(|hook| (hook.name.clone(), json!({ "trusted_hash": hook.digest })));
    let state: Map<String, Value> = state.collect();
    let edit = json!({ "keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert" });
    request(3, "config/batchWrite", &json!({ "edits": [edit] }))
}

fn forget(names: &[String]) -> HostRequest {
    let edits = names.iter().map(|name| {
        let key = format!("hooks.state.{}", Value::from(name.as_str()));
        json!({ "keyPath": key, "value": null, "mergeStrategy": "replace" })
    });
    request(4, "config/batchWrite", &json!({ "edits": edits.collect::<Vec<_>>() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_codex_is_read_as_it_sends_it() {
        let answer = json!({ "data": [{ "cwd": "/", "warnings": [], "errors": [], "hooks": [{
            "key": "/home/user/.codex/hooks.json:stop:0:0", "eventName": "stop",
            "handlerType": "command", "command": "/opt/hookwright hook codex --deadline 60",
            "timeoutSec": 60, "sourcePath": "/home/user/.codex/hooks.json", "source": "user",
            "currentHash": "sha256:28660a", "trustStatus": "untrusted" }] }] });
        let hooks = listed(&answer).unwrap();
        assert_eq!(
            hooks,
            [ListedHook {
                name: "/home/user/.codex/hooks.json:stop:0:0".into(),
                file: "/home/user/.codex/hooks.json".into(),
                command: "/opt/hookwright hook codex --deadline 60".into(),
                digest: "sha256:28660a".into(),
                is_trusted: false,
                is_ours: true,
            }]
        );
        let state = &trust(&hooks).message["params"]["edits"][0]["value"];
        let expected = json!({
            "/home/user/.codex/hooks.json:stop:0:0": { "trusted_hash": "sha256:28660a" }
        });
        assert_eq!(*state, expected);
        let forgotten = &forget(&["/a b:stop:0:0".to_owned()]).message["params"]["edits"][0];
        assert_eq!(forgotten["keyPath"], "hooks.state.\"/a b:stop:0:0\"");
    }

    #[test]
    fn settings_that_codex_cannot_read_are_no_empty_list() {
        let warning = "failed to parse hooks config /home/user/.codex/hooks.json";
        let answer = json!({ "data": [{ "hooks": [], "warnings": [warning], "errors": [] }] });
        assert_eq!(listed(&answer), Err(warning.to_owned()));
    }
}

//! [`OwnEntry`]: an entry of a host's settings that calls us, with everything that decides whether
//! it guards. For `doctor`, which checks it, and for its probe, which takes over nothing else.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hookwright_config::tree::{Node, Raw, parse};
use hookwright_config::{Fault, SourceFile, parse_duration};
use hookwright_events::EventName;
use serde_json::{Map, Value, json};

use super::{Host, HostFile};
use crate::own_call::{self, OwnCall};

/// An entry that calls us.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnEntry {
    /// The host's name of the event, as it is written.
    pub event: String,
    /// The event.
    pub native: Option<EventName>,
    /// The program, as it is written.
    pub program: String,
    /// What the entry tells us about the host's timeout.
    pub deadline: Option<Duration>,
    /// The host's timeout.
    pub timeout: Option<Duration>,
    /// Whether a tool call is blocked if the program is missing or crashes.
    pub blocks_otherwise: bool,
    /// The entry itself, if the file is JSON.
    pub written: Option<WrittenEntry>,
}

/// An entry as it is written in a file of JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenEntry {
    /// The number of its group in the event's list, from 0.
    pub group: usize,
    /// Its number in the group, from 0.
    pub number: usize,
    /// The group's matcher.
    pub matcher: Option<String>,
    /// The entry.
    pub entry: Map<String, Value>,
}

/// The placeholder for our program in a generated file.
const PROGRAM: &str = "/HOOKWRIGHT-PROGRAM/hookwright";

/// A command in place of one that is not ours, so that the others keep their numbers.
const NOTHING: &str = "true";

/// The entries of a settings file that call us.
pub fn own_entries(host: &Host, path: &Path, text: &str) -> Result<Vec<OwnEntry>, Fault> {
    match host.files(PROGRAM).first() {
        Some(file) if !is_json(file.path) => Ok(in_generated(host, path, text)),
        _ => Ok(in_json(host, &value_of(path, text)?)),
    }
}

/// The same file with our entries and these top-level keys, and nothing else. `None` if nothing is
/// left.
pub fn own_settings(
    host: &Host,
    path: &Path,
    text: &str,
    keys: &[&str],
) -> Result<Option<String>, Fault> {
    match host.files(PROGRAM).first() {
        Some(file) if !is_json(file.path) => {
            // A generated file is ours as a whole or not at all.
            let is_ours = !in_generated(host, path, text).is_empty();
            Ok(is_ours.then(|| text.to_owned()))
        }
        _ => {
            let mut whole = value_of(path, text)?;
            let is_map = !whole.get("hooks").is_some_and(Value::is_object);
            let mut kept = Map::new();
            for key in keys {
                if let Some(value) = whole.get(*key) {
                    kept.insert((*key).to_owned(), value.clone());
                }
            }
            let hooks = if is_map { Some(&mut whole) } else { whole.get_mut("hooks") };
            if let Some(hooks) = hooks.and_then(Value::as_object_mut) {
                keep_own(host, hooks);
                if !hooks.is_empty() && is_map {
                    kept.extend(std::mem::take(hooks));
                } else if !hooks.is_empty() {
                    kept.insert("hooks".to_owned(), Value::Object(std::mem::take(hooks)));
                    kept.extend(whole.get("version").map(|it| ("version".to_owned(), it.clone())));
                }
            }
            Ok((!kept.is_empty()).then(|| Value::Object(kept).to_string()))
        }
    }
}

fn is_json(path: &str) -> bool {
    Path::new(path).extension() == Some(OsStr::new("json"))
}

/// A generated file is ours if it is what we generate now, for whatever program.
fn in_generated(host: &Host, path: &Path, text: &str) -> Vec<OwnEntry> {
    let generated = host.files(PROGRAM);
    let name = path.file_name();
    let Some(file) = generated.iter().find(|file| Path::new(file.path).file_name() == name) else {
        return Vec::new();
    };
    let Some(program) = program_in(file, text) else { return Vec::new() };
    let events = host.capabilities.iter();
    let named =
        |event: &&super::Capability| !file.is_program || Some(OsStr::new(event.event)) == name;
    let entry = |event: &super::Capability| OwnEntry {
        event: event.event.to_owned(),
        native: EventName::resolve(event.native),
        program: program.to_owned(),
        deadline: None,
        timeout: None,
        blocks_otherwise: true,
        written: None,
    };
    events.filter(named).map(entry).collect()
}

/// The program in a text that is otherwise the generated one.
fn program_in<'a>(file: &HostFile, text: &'a str) -> Option<&'a str> {
    let (before, after) = file.text.split_once(PROGRAM)?;
    text.strip_prefix(before)?.strip_suffix(after)
}

fn in_json(host: &Host, whole: &Value) -> Vec<OwnEntry> {
    let unit = timeout_unit(host);
    let hooks = whole.get("hooks").filter(|hooks| hooks.is_object()).unwrap_or(whole);
    let mut all = Vec::new();
    for (event, groups) in hooks.as_object().into_iter().flatten() {
        for (group_number, group) in groups.as_array().into_iter().flatten().enumerate() {
            let inner = group.get("hooks").and_then(Value::as_array);
            let entries = inner.map_or(std::slice::from_ref(group), Vec::as_slice);
            for (number, entry) in entries.iter().enumerate() {
                let (Some(fields), Some(call)) = (entry.as_object(), call_of(host, entry)) else {
                    continue;
                };
                let known = host.capabilities.iter();
                let native = known
                    .filter(|known| known.event.eq_ignore_ascii_case(event))
                    .find_map(|known| EventName::resolve(known.native));
                let timeout = ["timeout", "timeoutSec"].iter().find_map(|key| fields.get(*key));
                let timeout = timeout.and_then(Value::as_f64).map(|number| number / unit);
                all.push(OwnEntry {
                    event: event.clone(),
                    native,
                    program: call.program.to_owned(),
                    deadline: call.deadline.and_then(seconds),
                    timeout: timeout.and_then(|it| Duration::try_from_secs_f64(it).ok()),
                    blocks_otherwise: call.blocks_otherwise
                        || fields.get("onFailure").is_some_and(|value| value == "block"),
                    written: Some(WrittenEntry {
                        group: group_number,
                        number,
                        matcher: group.get("matcher").and_then(Value::as_str).map(str::to_owned),
                        entry: fields.clone(),
                    }),
                });
            }
        }
    }
    all
}

/// The call that an entry makes, if it is one of ours.
fn call_of<'a>(host: &Host, entry: &'a Value) -> Option<OwnCall<'a>> {
    let command = ["command", "bash"].iter().find_map(|key| entry.get(*key)?.as_str())?;
    match entry.get("args").and_then(Value::as_array) {
        Some(args) => {
            let args: Option<Vec<&str>> = args.iter().map(Value::as_str).collect();
            own_call::with_args(host.name, command, &args?)
        }
        None => own_call::in_command(host.name, command),
    }
}

/// How many of the host's units of a timeout are one second: what we generate names both.
fn timeout_unit(host: &Host) -> f64 {
    let generated = host.files(PROGRAM);
    let text = generated.first().map_or("", |file| file.text.as_str());
    if text.contains("--deadline 60") && text.contains("60000") { 1000.0 } else { 1.0 }
}

fn seconds(deadline: &str) -> Option<Duration> {
    parse_duration(deadline)
}

/// Leaves our entries, each at its place.
fn keep_own(host: &Host, hooks: &mut Map<String, Value>) {
    hooks.retain(|_, groups| {
        let Some(groups) = groups.as_array_mut() else { return false };
        let mut is_any = false;
        for group in groups {
            let inner = group.get_mut("hooks").and_then(Value::as_array_mut);
            match inner {
                Some(entries) => entries.iter_mut().for_each(|it| is_any |= keep_entry(host, it)),
                None => is_any |= keep_entry(host, group),
            }
        }
        is_any
    });
}

/// Whether it is ours; otherwise it becomes one that does nothing.
fn keep_entry(host: &Host, entry: &mut Value) -> bool {
    let is_ours = call_of(host, entry).is_some();
    if !is_ours {
        *entry = json!({ "type": "command", "command": NOTHING, "bash": NOTHING });
    }
    is_ours
}

/// A file of JSON, read as tolerantly as our own files.
fn value_of(path: &Path, text: &str) -> Result<Value, Fault> {
    let source = Arc::new(SourceFile { path: path.to_owned(), text: text.into() });
    Ok(value(&parse(&source)?))
}

fn value(node: &Node) -> Value {
    match &node.raw {
        Raw::Null => Value::Null,
        Raw::Bool(value) => Value::Bool(*value),
        Raw::Int(value) => (*value).into(),
        Raw::Float(value) => (*value).into(),
        Raw::Text(text) => Value::from(&**text),
        Raw::List(nodes) => nodes.iter().map(value).collect(),
        Raw::Map(fields) => {
            fields.iter().map(|field| (field.key.to_string(), value(&field.value))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts;

    fn host(name: &str) -> &'static Host {
        hosts::named(name).expect("a host")
    }

    #[test]
    fn what_we_generate_has_an_entry_for_every_event_and_none_is_lost() {
        for host in hosts::all() {
            for file in host.files("/opt/bin/hookwright") {
                let path = Path::new("/home/me").join(file.path);
                let entries = own_entries(host, &path, &file.text).expect("readable");
                assert!(!entries.is_empty(), "{}: {}", host.name, file.path);
                for entry in &entries {
                    assert!(entry.native.is_some(), "{}: {entry:?}", host.name);
                    assert!(entry.program.ends_with("/opt/bin/hookwright"), "{entry:?}");
                    let is_guard =
                        entry.native.as_ref().is_some_and(|it| it.as_str() == "tool:pre_execute");
                    // Copilot CLI blocks by itself.
                    assert!(
                        !is_guard || entry.blocks_otherwise || host.name == "copilot",
                        "{entry:?}"
                    );
                    assert_eq!(entry.deadline, entry.timeout, "{}: {entry:?}", host.name);
                }
                let kept = own_settings(host, &path, &file.text, &[]).expect("readable");
                let kept = kept.expect("something is left");
                assert_eq!(own_entries(host, &path, &kept).expect("readable"), entries);
            }
        }
    }

    #[test]
    fn settings_keep_our_entries_and_switches_at_their_places_and_nothing_else() {
        let text = r#"{
            // A comment.
            "env": {"TOKEN": "secret"}, "apiKeyHelper": "./key.sh", "disableAllHooks": true,
            "mcpServers": {"a": {"command": "b"}},
            "hooks": {
                "PreToolUse": [{"matcher": "Bash", "hooks": [
                    {"type": "command", "command": "./their.sh"},
                    {"type": "command", "command": "hookwright", "args": ["hook", "claude"]}]}],
                "Stop": [{"hooks": [{"type": "command", "command": "./their.sh"}]}]
            }}"#;
        let kept =
            own_settings(host("claude"), Path::new("settings.json"), text, &["disableAllHooks"]);
        let kept: Value =
            serde_json::from_str(&kept.expect("readable").expect("left")).expect("JSON");
        let nothing = json!({ "type": "command", "command": "true", "bash": "true" });
        let ours =
            json!({ "type": "command", "command": "hookwright", "args": ["hook", "claude"] });
        let group = json!([{ "matcher": "Bash", "hooks": [nothing, ours] }]);
        let expected = json!({ "disableAllHooks": true, "hooks": { "PreToolUse": group } });
        assert_eq!(kept, expected);
        let nothing =
            own_settings(host("claude"), Path::new("settings.json"), "{\"env\": {}}", &[]);
        assert_eq!(nothing.expect("readable"), None);
    }

    #[test]
    fn a_generated_file_that_someone_changed_is_not_ours() {
        for name in ["opencode", "cline"] {
            let file = host(name).files("/bin/hookwright").remove(0);
            let path = Path::new(file.path);
            let changed = format!("{}\n// more", file.text);
            assert_eq!(own_entries(host(name), path, &changed).expect("readable"), []);
            assert_eq!(own_settings(host(name), path, &changed, &[]).expect("readable"), None);
        }
    }

    #[test]
    fn times_are_read_in_the_hosts_unit() {
        let entry = |text: &str| {
            let all = own_entries(host("gemini"), Path::new("settings.json"), text);
            all.expect("readable").remove(0)
        };
        let found = entry(
            r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "timeout": 5000,
                "command": "/usr/bin/hookwright hook gemini --deadline 30 || exit 2"}]}]}}"#,
        );
        assert_eq!(found.timeout, Some(Duration::from_secs(5)));
        assert_eq!(found.deadline, Some(Duration::from_secs(30)));
        assert!(found.blocks_otherwise);
    }
}

//! What a hook does: its type, and the fields that are that type's own.

use std::path::PathBuf;

use hookwright_engine::hook::{
    ACTION_TYPE_NAMES, ACTION_TYPES, Action, ActionKey, ActionType, Body, Exhausted, GitCommit,
    GitPush, Shell, Spawn, SpawnDir, Webhook,
};
use hookwright_engine::nearest;
use hookwright_engine::policy::Wire;
use hookwright_engine::template::{JsonTemplate, TextTemplate};
use serde_json::{Map, Value};

use super::node::{Field, Node, Raw};
use super::notes::Notes;
use super::{ExpectedValue, FaultKind, MissingKey};

/// Fields that hooks of every type have.
pub(super) const COMMON_KEYS: &[&str] = &[
    "event",
    "type",
    "id",
    "description",
    "enabled",
    "matcher",
    "host",
    "when",
    "await",
    "timeout",
    "on_failure",
    "retries",
    "retry_delay",
    "on_exhausted",
    "pipe_output",
    "once",
    "dialect",
];

type ReadAction = fn(&ActionFields<'_>, &mut Notes<'_>) -> Option<Action>;

/// The reader of the fields of each type.
const READERS: [(&str, ReadAction); ACTION_TYPES.len()] = [
    ("shell", shell),
    ("webhook", webhook),
    ("spawn", spawn),
    ("git-commit", git_commit),
    ("git-push", git_push),
];

/// Every key that belongs to some type of hook.
pub(super) fn keys_of_all_types() -> impl Iterator<Item = &'static ActionKey> {
    ACTION_TYPES.iter().flat_map(|kind| kind.keys)
}

/// Reads what the hook does, and notes every key that does not belong to a hook of its type.
pub(super) fn read(
    node: &Node,
    fields: &[Field],
    wire: &dyn Wire,
    notes: &mut Notes<'_>,
) -> Option<Action> {
    let kind = type_of(node, fields, notes)?;
    for field in fields {
        check_key(field, kind, notes);
    }
    let (_, read) = READERS.iter().find(|(name, _)| *name == kind.name)?;
    read(&ActionFields { node, fields, wire }, notes)
}

fn type_of(node: &Node, fields: &[Field], notes: &mut Notes<'_>) -> Option<&'static ActionType> {
    let has = |key: &str| fields.iter().any(|field| &*field.key == key);
    if let Some(field) = fields.iter().find(|field| &*field.key == "type") {
        return notes.word(&field.value, ACTION_TYPE_NAMES, ACTION_TYPES);
    }
    let found = ACTION_TYPES.iter().find(|kind| kind.implied_by.is_some_and(has)).copied();
    if found.is_none() {
        // A misspelt key often is the one that decides the type. Check every key, so that all
        // faults are noted.
        let slips = fields.iter().filter(|field| check_key_of_any(field, notes)).count();
        if slips == 0 {
            notes.missing(node.at, MissingKey::Action);
        }
    }
    found
}

fn check_key(field: &Field, kind: &'static ActionType, notes: &mut Notes<'_>) {
    let key = &*field.key;
    let has_key = |kind: &ActionType| kind.keys.iter().any(|known| known.0 == key);
    if COMMON_KEYS.contains(&key) || has_key(kind) {
        return;
    }
    let owner = ACTION_TYPES.iter().find(|other| has_key(other));
    let own = kind.keys.iter().map(|known| known.0);
    let known: Vec<&'static str> = own.chain(COMMON_KEYS.iter().copied()).collect();
    let fault = match owner {
        Some(owner) => {
            FaultKind::KeyOfOtherType { key: key.into(), belongs_to: owner.name, found: kind.name }
        }
        None => FaultKind::UnknownKey {
            key: key.into(),
            nearest: nearest(key, known.iter().copied()),
            known,
        },
    };
    notes.note(field.at, fault);
}

/// Notes a key that no type of hook has. Returns `true` if it resembles a key that decides the
/// type; then the type need not be reported as missing.
fn check_key_of_any(field: &Field, notes: &mut Notes<'_>) -> bool {
    let key = &*field.key;
    let all = || keys_of_all_types().map(|known| known.0).chain(COMMON_KEYS.iter().copied());
    if all().any(|known| known == key) {
        return false;
    }
    let mut known: Vec<&'static str> = all().collect();
    known.sort_unstable();
    known.dedup();
    let nearest = nearest(key, known.iter().copied());
    notes.note(field.at, FaultKind::UnknownKey { key: key.into(), known, nearest });
    nearest.is_some_and(|nearest| {
        nearest == "type" || ACTION_TYPES.iter().any(|kind| kind.implied_by == Some(nearest))
    })
}

/// A hook's fields, looked up by name.
struct ActionFields<'a> {
    node: &'a Node,
    fields: &'a [Field],
    wire: &'a dyn Wire,
}

impl<'a> ActionFields<'a> {
    fn get(&self, key: &str) -> Option<&'a Node> {
        self.fields.iter().find(|field| &*field.key == key).map(|field| &field.value)
    }

    fn required(&self, key: &str, missing: MissingKey, notes: &mut Notes<'_>) -> Option<&'a Node> {
        let found = self.get(key);
        if found.is_none() {
            notes.missing(self.node.at, missing);
        }
        found
    }

    fn text(&self, key: &str, notes: &mut Notes<'_>) -> Option<String> {
        self.get(key).and_then(|node| notes.text(node, ExpectedValue::String)).map(str::to_owned)
    }

    fn template(&self, key: &str, notes: &mut Notes<'_>) -> Option<TextTemplate> {
        let text = self.text(key, notes)?;
        let of_dialect = TextTemplate::of_dialect(&text, self.wire);
        Some(if of_dialect.is_constant() { TextTemplate::new(&text) } else { of_dialect })
    }

    /// A map from names to texts with values in them.
    fn templates(&self, key: &str, notes: &mut Notes<'_>) -> Vec<(String, TextTemplate)> {
        let Some(node) = self.get(key) else { return Vec::new() };
        templates(notes.texts(node, ExpectedValue::NamedStrings))
    }

    fn bool(&self, key: &str, notes: &mut Notes<'_>) -> bool {
        self.get(key).and_then(|node| notes.bool(node)).unwrap_or_default()
    }
}

fn shell(own: &ActionFields<'_>, notes: &mut Notes<'_>) -> Option<Action> {
    let node = own.required("command", MissingKey::Command, notes)?;
    let command = notes.command(node, own.wire)?;
    Some(Action::Shell(Shell {
        exec: None,
        command,
        env: own.get("env").map(|node| templates(env(node, notes))).unwrap_or_default(),
        working_dir: own.text("working_dir", notes).map(PathBuf::from),
        shell: own.text("shell", notes),
        kill_grace: own.get("kill_grace").and_then(|node| notes.duration(node)),
    }))
}

fn templates(texts: Vec<(String, String)>) -> Vec<(String, TextTemplate)> {
    texts.into_iter().map(|(name, text)| (name, TextTemplate::new(&text))).collect()
}

/// Variables for a command, and the rules of their names.
pub(super) fn env(node: &Node, notes: &mut Notes<'_>) -> Vec<(String, String)> {
    let pairs = notes.texts(node, ExpectedValue::NamedStrings);
    for (name, value) in &pairs {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let expected = "a variable's name and a value without NUL bytes";
            notes.bad_value(node.at, name.replace('\0', "\\0"), expected);
        }
    }
    pairs
}

fn webhook(own: &ActionFields<'_>, notes: &mut Notes<'_>) -> Option<Action> {
    let allow_http = own.bool("allow_http", notes);
    let asks = own.get("await").is_some_and(|node| matches!(node.raw, Raw::Bool(true)));
    // A question without an address appears on the page, in the terminal and in the list.
    let url = if asks && own.get("url").is_none() {
        None
    } else {
        let node = own.required("url", MissingKey::Url, notes)?;
        let url = notes.text(node, "an address")?;
        check_url(url, allow_http, node, notes);
        Some(TextTemplate::new(url))
    };
    let method =
        own.get("method").and_then(|node| notes.word(node, Webhook::METHODS, Webhook::METHODS));
    let words = |key: &str, notes: &mut Notes<'_>| {
        own.get(key).and_then(|node| notes.word(node, Exhausted::WORDS, &Exhausted::ALL))
    };
    let body = own.get("body").map_or_else(|| Value::Object(Map::new()), Node::to_json);
    Some(Action::Webhook(Box::new(Webhook {
        url,
        method: method.map(str::to_owned),
        headers: own.templates("headers", notes),
        body: Body::Json(JsonTemplate::new(&body)),
        callback_port: own
            .get("callback_port")
            .and_then(|node| notes.whole_number(node, 0..=65535, "a port from 0 to 65535"))
            .and_then(|port| u16::try_from(port).ok()),
        on_timeout: words("on_timeout", notes),
        on_reject: words("on_reject", notes),
        secret: own.template("secret", notes),
        allow_http,
    })))
}

/// Accepts https, http to this machine, http if the hook allows it, and an address from a variable.
fn check_url(url: &str, allow_http: bool, node: &Node, notes: &mut Notes<'_>) {
    let http_host = url.strip_prefix("http://").map(|rest| {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let host = &rest[..end];
        host.rsplit_once('@').map_or(host, |(_, host)| host)
    });
    let loopback = |host: &str| {
        let name =
            if host.starts_with('[') { host } else { host.split(':').next().unwrap_or(host) };
        name == "localhost" || name.starts_with("127.") || name.starts_with("[::1]")
    };
    let fine = url.starts_with("https://")
        || url.starts_with("${")
        || http_host.is_some_and(|host| allow_http || loopback(host));
    if !fine {
        notes.bad_value(node.at, url, ExpectedValue::SafeAddress);
    }
}

fn spawn(own: &ActionFields<'_>, notes: &mut Notes<'_>) -> Option<Action> {
    const DIRS: &[&str] = &["project", "session"];
    let node = own.required("pipeline", MissingKey::Pipeline, notes)?;
    let pipeline = notes.text(node, "the name of a pipeline")?.to_owned();
    let place = node.at.place(notes.source);
    let inputs = own.get("inputs").and_then(|node| {
        notes.map(node, "a map of inputs")?;
        Some(node.to_json())
    });
    let inputs = inputs.unwrap_or_else(|| Value::Object(Map::new()));
    let working_dir = own
        .get("working_dir")
        .and_then(|node| notes.word(node, DIRS, &[SpawnDir::Project, SpawnDir::Session]))
        .unwrap_or(SpawnDir::Project);
    let inputs = JsonTemplate::new(&inputs);
    Some(Action::Spawn(Box::new(Spawn { pipeline, place, inputs, working_dir })))
}

fn git_commit(own: &ActionFields<'_>, notes: &mut Notes<'_>) -> Option<Action> {
    Some(Action::GitCommit(GitCommit {
        message: own.template("message", notes),
        no_verify: own.bool("no_verify", notes),
    }))
}

fn git_push(own: &ActionFields<'_>, notes: &mut Notes<'_>) -> Option<Action> {
    Some(Action::GitPush(GitPush {
        remote: own.text("remote", notes),
        branch: own.text("branch", notes),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_action_has_its_reader() {
        assert_eq!(READERS.map(|(name, _)| name), ACTION_TYPE_NAMES);
    }
}

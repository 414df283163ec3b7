//! What a hook does: its type, and the fields that are that type's own.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::FaultKind;
use super::entry::{COMMON_KEYS, EXHAUSTED, EXHAUSTED_WORDS};
use super::node::{Field, Node, Raw};
use super::notes::Notes;
use hookwright_engine::hook::{Action, Body, GitCommit, GitPush, Shell, Spawn, SpawnDir, Webhook};
use hookwright_engine::nearest::nearest;
use hookwright_engine::policy::Wire;
use hookwright_engine::template::{JsonTemplate, TextTemplate};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Shell,
    Webhook,
    Spawn,
    GitCommit,
    GitPush,
}

/// The words for the types.
pub(super) const TYPE_WORDS: &[&str] = &["shell", "webhook", "spawn", "git-commit", "git-push"];
const TYPES: [Type; 5] = [Type::Shell, Type::Webhook, Type::Spawn, Type::GitCommit, Type::GitPush];

impl Type {
    fn word(self) -> &'static str {
        match self {
            Type::Shell => "shell",
            Type::Webhook => "webhook",
            Type::Spawn => "spawn",
            Type::GitCommit => "git-commit",
            Type::GitPush => "git-push",
        }
    }

    /// Fields beside the common ones.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Type::Shell => &["command", "env", "working_dir", "shell", "kill_grace"],
            Type::Webhook => &[
                "url",
                "method",
                "headers",
                "body",
                "callback_port",
                "on_timeout",
                "on_reject",
                "secret",
                "allow_http",
            ],
            Type::Spawn => &["pipeline", "inputs", "working_dir"],
            Type::GitCommit => &["message", "no_verify"],
            Type::GitPush => &["remote", "branch"],
        }
    }
}

/// Every key that belongs to some type of hook.
pub(super) fn keys_of_all_types() -> impl Iterator<Item = &'static str> {
    TYPES.iter().flat_map(|kind| kind.keys()).copied()
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
    let own = Own { node, fields, wire };
    match kind {
        Type::Shell => shell(&own, notes).map(Action::Shell),
        Type::Webhook => webhook(&own, notes).map(|webhook| Action::Webhook(Box::new(webhook))),
        Type::Spawn => spawn(&own, notes).map(|spawn| Action::Spawn(Box::new(spawn))),
        Type::GitCommit => Some(Action::GitCommit(GitCommit {
            message: own.template("message", notes),
            no_verify: own.bool("no_verify", notes),
        })),
        Type::GitPush => Some(Action::GitPush(GitPush {
            remote: own.text("remote", notes),
            branch: own.text("branch", notes),
        })),
    }
}

fn type_of(node: &Node, fields: &[Field], notes: &mut Notes<'_>) -> Option<Type> {
    let has = |key: &str| fields.iter().any(|field| &*field.key == key);
    if let Some(field) = fields.iter().find(|field| &*field.key == "type") {
        return notes.word(&field.value, TYPE_WORDS, &TYPES);
    }
    let clear = [("command", Type::Shell), ("url", Type::Webhook), ("pipeline", Type::Spawn)];
    let found = clear.iter().find(|(key, _)| has(key)).map(|(_, kind)| *kind);
    if found.is_none() {
        // The slip is often in the key that would have told the type.
        // Every key is looked at, so that all of them are noted.
        let slips = fields.iter().filter(|field| check_key_of_any(field, notes)).count();
        if slips == 0 {
            let missing = "`command`, `url` or `pipeline`, or a `type` that needs none of them";
            notes.note(node.at, FaultKind::Missing { missing });
        }
    }
    found
}

fn check_key(field: &Field, kind: Type, notes: &mut Notes<'_>) {
    let key = &*field.key;
    if COMMON_KEYS.contains(&key) || kind.keys().contains(&key) {
        return;
    }
    let owner = TYPES.iter().find(|other| other.keys().contains(&key));
    let known: Vec<&'static str> = kind.keys().iter().chain(COMMON_KEYS).copied().collect();
    let fault = match owner {
        Some(owner) => FaultKind::KeyOfOtherType {
            key: key.into(),
            belongs_to: owner.word(),
            found: kind.word(),
        },
        None => FaultKind::UnknownKey {
            key: key.into(),
            nearest: nearest(key, known.iter().copied()),
            known,
        },
    };
    notes.note(field.at, fault);
}

/// Notes a key that belongs to no hook at all; `true` if it is close to one that would have told the
/// type, which then need not be said to be missing.
fn check_key_of_any(field: &Field, notes: &mut Notes<'_>) -> bool {
    let key = &*field.key;
    let all = || TYPES.iter().flat_map(|kind| kind.keys()).chain(COMMON_KEYS).copied();
    if all().any(|known| known == key) {
        return false;
    }
    let mut known: Vec<&'static str> = all().collect();
    known.sort_unstable();
    known.dedup();
    let nearest = nearest(key, known.iter().copied());
    notes.note(field.at, FaultKind::UnknownKey { key: key.into(), known, nearest });
    matches!(nearest, Some("command" | "url" | "pipeline" | "type"))
}

/// A hook's fields, asked for by name.
struct Own<'a> {
    node: &'a Node,
    fields: &'a [Field],
    wire: &'a dyn Wire,
}

impl<'a> Own<'a> {
    fn get(&self, key: &str) -> Option<&'a Node> {
        self.fields.iter().find(|field| &*field.key == key).map(|field| &field.value)
    }

    fn required(
        &self,
        key: &str,
        missing: &'static str,
        notes: &mut Notes<'_>,
    ) -> Option<&'a Node> {
        let found = self.get(key);
        if found.is_none() {
            notes.note(self.node.at, FaultKind::Missing { missing });
        }
        found
    }

    fn text(&self, key: &str, notes: &mut Notes<'_>) -> Option<String> {
        self.get(key).and_then(|node| notes.text(node, "a text")).map(str::to_owned)
    }

    fn template(&self, key: &str, notes: &mut Notes<'_>) -> Option<TextTemplate> {
        let text = self.text(key, notes)?;
        let of_dialect = TextTemplate::of_dialect(&text, self.wire);
        Some(if of_dialect.is_constant() { TextTemplate::new(&text) } else { of_dialect })
    }

    /// A map from names to texts with values in them.
    fn templates(&self, key: &str, notes: &mut Notes<'_>) -> Vec<(String, TextTemplate)> {
        let Some(node) = self.get(key) else { return Vec::new() };
        templates(notes.texts(node, "a map from names to texts"))
    }

    fn bool(&self, key: &str, notes: &mut Notes<'_>) -> bool {
        self.get(key).and_then(|node| notes.bool(node)).unwrap_or_default()
    }
}

fn shell(own: &Own<'_>, notes: &mut Notes<'_>) -> Option<Shell> {
    let node = own.required("command", "`command`", notes)?;
    let command = notes.command(node, own.wire)?;
    Some(Shell {
        exec: None,
        command,
        env: own.get("env").map(|node| templates(env(node, notes))).unwrap_or_default(),
        working_dir: own.text("working_dir", notes).map(PathBuf::from),
        shell: own.text("shell", notes),
        kill_grace: own.get("kill_grace").and_then(|node| notes.duration(node)),
    })
}

fn templates(texts: Vec<(String, String)>) -> Vec<(String, TextTemplate)> {
    texts.into_iter().map(|(name, text)| (name, TextTemplate::new(&text))).collect()
}

/// Variables for a command, and the rules of their names.
pub(super) fn env(node: &Node, notes: &mut Notes<'_>) -> Vec<(String, String)> {
    let pairs = notes.texts(node, "a map from names to texts");
    for (name, value) in &pairs {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let expected = "a variable's name and a value without NUL bytes";
            notes.note(node.at, FaultKind::BadValue { found: name.replace('\0', "\\0"), expected });
        }
    }
    pairs
}

fn webhook(own: &Own<'_>, notes: &mut Notes<'_>) -> Option<Webhook> {
    const METHODS: &[&str] = &["POST", "PUT", "PATCH", "GET", "DELETE"];
    let allow_http = own.bool("allow_http", notes);
    let asks = own.get("await").is_some_and(|node| matches!(node.raw, Raw::Bool(true)));
    let url = match own.get("url") {
        // A question that nobody is sent stands on the page, in the terminal, and in the list.
        None if asks => None,
        None => {
            notes.note(own.node.at, FaultKind::Missing { missing: "`url`" });
            return None;
        }
        Some(node) => {
            let url = notes.text(node, "an address")?;
            check_url(url, allow_http, node, notes);
            Some(TextTemplate::new(url))
        }
    };
    let method = own.get("method").and_then(|node| notes.word(node, METHODS, METHODS));
    let words = |key: &str, notes: &mut Notes<'_>| {
        own.get(key).and_then(|node| notes.word(node, EXHAUSTED_WORDS, &EXHAUSTED))
    };
    let body = own.get("body").map_or_else(|| Value::Object(Map::new()), Node::to_json);
    Some(Webhook {
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
    })
}

/// https, http to this machine, http where it is allowed, or an address that a variable holds.
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
        let expected = "an https address, http to this machine, or `allow_http: true` beside it";
        notes.note(node.at, FaultKind::BadValue { found: url.into(), expected });
    }
}

fn spawn(own: &Own<'_>, notes: &mut Notes<'_>) -> Option<Spawn> {
    const DIRS: &[&str] = &["project", "session"];
    let node = own.required("pipeline", "`pipeline`", notes)?;
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
    Some(Spawn { pipeline, place, inputs: JsonTemplate::new(&inputs), working_dir })
}

//! `.autoagent/config.json`: its `hooks`, and the old keys that hooks replace. Everything else in
//! the file is AutoAgent's own.
//!
//! If the project's file has `hooks`, those of the user's file count only at events that can be
//! blocked. AutoAgent itself overlays the files key by key, but a repository must not be able to
//! remove the user's guards. An entry that cannot be used is skipped, and the others stay.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hookwright_config::tree::{Field, Node, Notes, Raw, parse};
use hookwright_config::{
    ExpectedValue, Fault, FaultKind, ForeignFile, Loaded, MissingKey, SourceFile,
};
use hookwright_engine::hook::{
    Action, GitCommit, GitPush, Hook, HookOrigin, HookSource, Layer, Shell,
};
use hookwright_engine::limits::WAIT_MAX;
use hookwright_engine::nearest;
use hookwright_engine::pattern::{Pattern, PatternError};
use hookwright_engine::policy::{Policy, Wire};
use hookwright_engine::template::{CommandText, TextTemplate};
use hookwright_engine::variables::Environment;

use super::event::POINTS;
use super::{NAME, policy};

/// Old keys, and the hooks that replace them.
const SUPERSEDED: &[(&str, &str)] = &[
    ("gitAutoCommit", COMMIT_HOOK),
    ("autoCommit", COMMIT_HOOK),
    (
        "gitAutoPush",
        "a `git-push` hook at PostExecutionEnd: `hookwright config set-auto-push true`",
    ),
];
const COMMIT_HOOK: &str =
    "a `git-commit` hook at PostExecutionEnd: `hookwright config set-auto-commit true`";

/// The fields of a hook.
const KEYS: &[&str] =
    &["type", "command", "timeout", "blocking", "message", "noVerify", "remote", "branch"];

#[derive(Clone, Copy)]
enum HookType {
    Command,
    GitCommit,
    GitPush,
}

const TYPE_WORDS: &[&str] = &["command", "git-commit", "git-push"];
const TYPES: [HookType; 3] = [HookType::Command, HookType::GitCommit, HookType::GitPush];

/// Reads the existing files.
pub(super) fn read(files: &[ForeignFile<'_>], environment: &Environment, loaded: &mut Loaded) {
    let mut of_project = false;
    let mut trees = Vec::new();
    for file in files {
        let text = file.text.as_ref().map_err(Fault::clone);
        match text.and_then(|source| parse(source).map(|root| (source, root))) {
            Ok((source, root)) => {
                of_project |= file.file.layer != Layer::Global && field(&root, "hooks").is_some();
                trees.push((file, source, root));
            }
            Err(fault) => loaded.leave_out([fault]),
        }
    }
    for (file, source, root) in &trees {
        let mut notes = Notes::new(source);
        let replaced = file.file.layer == Layer::Global && of_project;
        let mut reading = FileReader {
            stem: loaded.unused_stem(NAME),
            shown_as: file.file.shown_as.as_path().into(),
            path: file.file.path.as_path().into(),
            layer: file.file.layer,
            guards_only: replaced,
            source,
            environment,
            loaded,
        };
        reading.file(root, &mut notes);
        loaded.leave_out(notes.faults);
    }
}

/// Reads one file.
struct FileReader<'a> {
    stem: String,
    shown_as: Arc<Path>,
    path: Arc<Path>,
    layer: Layer,
    /// Another file's `hooks` replace those of this one, except at events that can be blocked.
    guards_only: bool,
    source: &'a Arc<SourceFile>,
    environment: &'a Environment,
    loaded: &'a mut Loaded,
}

impl FileReader<'_> {
    fn file(&mut self, root: &Node, notes: &mut Notes<'_>) {
        if matches!(root.raw, Raw::Null) {
            let source = Arc::clone(self.source);
            return notes.faults.push(Fault { source, place: None, kind: FaultKind::Empty });
        }
        let Some(fields) = notes.map(root, ExpectedValue::HooksKey) else { return };
        for field in fields {
            let old = SUPERSEDED.iter().find(|(key, _)| *key == &*field.key);
            if let Some((key, successor)) = old {
                let key = (*key).to_owned();
                notes.note(field.at, FaultKind::Superseded { key, successor });
            } else if &*field.key == "hooks" {
                self.hooks(&field.value, notes);
            }
        }
    }

    fn hooks(&mut self, hooks: &Node, notes: &mut Notes<'_>) {
        if matches!(hooks.raw, Raw::Null) {
            return;
        }
        let Some(points) = notes.map(hooks, "a map from points to lists of hooks") else { return };
        for point in points {
            let Some(pattern) = pattern(point, notes) else { continue };
            if self.guards_only && !pattern.any(|event| event.power.can_block()) {
                continue;
            }
            let Some(entries) = notes.list(&point.value, ExpectedValue::HookList) else { continue };
            let event: Arc<str> = (&*point.key).into();
            for (number, entry) in entries.iter().enumerate() {
                self.entry(entry, number, &event, &pattern, notes);
            }
        }
    }

    fn entry(
        &mut self,
        node: &Node,
        number: usize,
        event: &Arc<str>,
        pattern: &Pattern,
        notes: &mut Notes<'_>,
    ) {
        let faults_before = notes.faults.len();
        let Some(fields) = notes.map(node, ExpectedValue::Hook("`type`")) else { return };
        let entry = AutoAgentHook { node, fields };
        let blocking = entry.get("blocking").and_then(|node| notes.bool(node));
        let timeout = entry.get("timeout").and_then(|node| milliseconds(node, notes));
        let policy = policy(blocking);
        let action = entry.action(policy, notes);
        let is_usable = notes.faults.len() == faults_before;
        entry.note_slips(notes);
        let Some(action) = action.filter(|_| is_usable) else { return };
        let origin = HookOrigin {
            id: format!("{}/{event}#{number}", self.stem),
            source: HookSource {
                file: Arc::clone(&self.shown_as),
                path: Arc::clone(&self.path),
                line: node.at.place(self.source).line,
            },
            layer: self.layer,
            event: Arc::clone(event),
        };
        let hook = Hook { timeout, ..Hook::new(origin, pattern.clone(), action, policy) };
        self.loaded.warn_about(&hook, node, self.source, self.environment);
        if self.loaded.add(hook).is_err() {
            self.loaded.block_over_hook_limit(pattern.clone(), node, self.source);
        }
    }
}

/// The events of the hooks under a key.
fn pattern(point: &Field, notes: &mut Notes<'_>) -> Option<Pattern> {
    let key = &*point.key;
    let Some((_, ours)) = POINTS.iter().find(|(name, _)| *name == key) else {
        let nearest = nearest(key, POINTS.iter().map(|(name, _)| *name));
        let unknown = PatternError::UnknownEvent { name: key.to_owned(), nearest };
        notes.note(point.at, FaultKind::Pattern(unknown));
        return None;
    };
    Some(Pattern::parse(ours.as_str()).expect("the event is in the table"))
}

/// The fields of one hook.
struct AutoAgentHook<'a> {
    node: &'a Node,
    fields: &'a [Field],
}

impl<'a> AutoAgentHook<'a> {
    /// The value of a field; `null` counts as missing.
    fn get(&self, key: &str) -> Option<&'a Node> {
        let found = self.fields.iter().find(|field| &*field.key == key)?;
        Some(&found.value).filter(|value| !matches!(value.raw, Raw::Null))
    }

    fn action(&self, policy: &Policy, notes: &mut Notes<'_>) -> Option<Action> {
        let Some(kind) = self.get("type") else {
            notes.missing(self.node.at, MissingKey::HookType);
            return None;
        };
        match notes.word(kind, TYPE_WORDS, &TYPES)? {
            HookType::Command => {
                self.command(policy.wire, notes).map(|command| Action::Shell(Shell::new(command)))
            }
            HookType::GitCommit => {
                let message = self.text("message", notes);
                let no_verify = self.get("noVerify").and_then(|node| notes.bool(node));
                Some(Action::GitCommit(GitCommit {
                    message: message.map(|text| TextTemplate::of_dialect(text, policy.wire)),
                    no_verify: no_verify.unwrap_or_default(),
                }))
            }
            HookType::GitPush => Some(Action::GitPush(GitPush {
                remote: self.text("remote", notes).map(str::to_owned),
                branch: self.text("branch", notes).map(str::to_owned),
            })),
        }
    }

    fn command(&self, wire: &dyn Wire, notes: &mut Notes<'_>) -> Option<CommandText> {
        let Some(node) = self.get("command") else {
            notes.missing(self.node.at, MissingKey::Command);
            return None;
        };
        notes.command(node, wire)
    }

    /// A non-empty text; an empty one means the default, as in AutoAgent.
    fn text(&self, key: &str, notes: &mut Notes<'_>) -> Option<&'a str> {
        match &self.get(key)?.raw {
            Raw::Text(text) => Some(&**text).filter(|text| !text.is_empty()),
            _ => {
                notes.wrong_kind(self.get(key)?, ExpectedValue::String);
                None
            }
        }
    }

    /// AutoAgent ignores unknown fields. A probable typo is reported, since a guard may depend on
    /// it.
    fn note_slips(&self, notes: &mut Notes<'_>) {
        let slips = self.fields.iter().filter(|field| !KEYS.contains(&&*field.key));
        for field in slips {
            let is_free = |known: &&str| self.get(known).is_none();
            if nearest(&field.key, KEYS.iter().copied().filter(is_free)).is_some() {
                notes.unknown_key(field.at, &field.key, KEYS);
            }
        }
    }
}

/// A timeout in whole milliseconds.
fn milliseconds(node: &Node, notes: &mut Notes<'_>) -> Option<Duration> {
    const EXPECTED: &str = "a whole number of milliseconds from 1 to 2592000000 (30 days)";
    debug_assert_eq!(WAIT_MAX, Duration::from_millis(2_592_000_000));
    let read = match node.raw {
        Raw::Int(number) => u64::try_from(number).ok().map(Duration::from_millis),
        // `6e4` is a whole number too.
        Raw::Float(number) if number.fract() == 0.0 && number > 0.0 => {
            Some(Duration::from_millis(number as u64))
        }
        Raw::Float(_) => None,
        _ => {
            notes.wrong_kind(node, EXPECTED);
            return None;
        }
    };
    let read = read.filter(|timeout| !timeout.is_zero() && *timeout <= WAIT_MAX);
    if read.is_none() {
        notes.bad_value(node.at, notes.written(node).unwrap_or_default(), EXPECTED);
    }
    read
}

fn field<'n>(root: &'n Node, key: &str) -> Option<&'n Field> {
    match &root.raw {
        Raw::Map(fields) => fields.iter().find(|field| &*field.key == key),
        _ => None,
    }
}

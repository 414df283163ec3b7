//! One hook: its common fields, and the rules between them.

use std::path::Path;
use std::sync::Arc;

use super::node::{Field, Mark, Node, Raw};
use super::notes::Notes;
use super::{Conflict, Dialect, FaultKind, KnownSystems, action};
use hookwright_engine::condition::{Condition, ConditionError};
use hookwright_engine::hook::{
    Action, Exhausted, GitPush, Hook, Layer, OnFailure, Origin, RETRIES_EXPECTED, Source,
};
use hookwright_engine::limits::RETRIES_MAX;
use hookwright_engine::matcher::{Matcher, SubjectOf};
use hookwright_engine::native::NATIVE;
use hookwright_engine::nearest::nearest;
use hookwright_engine::pattern::Pattern;
use hookwright_engine::policy::Policy;
use hookwright_engine::variables::{self, Environment};

/// Where an entry stands.
pub(super) struct Place<'a> {
    pub(super) event: &'a Arc<str>,
    pub(super) event_at: Mark,
    pub(super) pattern: &'a Pattern,
    pub(super) id: String,
    pub(super) file: &'a Arc<Path>,
    pub(super) path: &'a Arc<Path>,
    /// The entry has to name its event itself.
    pub(super) in_a_list: bool,
    pub(super) layer: Layer,
    /// The systems it may name.
    pub(super) known: KnownSystems,
    pub(super) environment: &'a Environment,
}

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

pub(super) const EXHAUSTED_WORDS: &[&str] = &["continue", "abort", "block"];
pub(super) const EXHAUSTED: [Exhausted; 3] =
    [Exhausted::Continue, Exhausted::Abort, Exhausted::Block];

/// Reads one hook. `None`, or noted faults, or both, when it cannot be used.
pub(super) fn read(node: &Node, place: Place<'_>, notes: &mut Notes<'_>) -> Option<Hook> {
    let fields = notes.map(node, "a hook, a map with `command`, `url` or `pipeline`")?;
    let policy = policy(fields, place.known.dialects, notes);
    let action = action::read(node, fields, policy.wire, notes);
    let has_action = action.is_some();
    let origin = Origin {
        id: place.id.clone(),
        source: Source {
            file: Arc::clone(place.file),
            path: Arc::clone(place.path),
            line: node.at.line,
        },
        layer: place.layer,
        event: Arc::clone(place.event),
    };
    // Without an action the hook is not used, but its other fields are checked all the same.
    let action = action.unwrap_or(Action::GitPush(GitPush { remote: None, branch: None }));
    let mut hook = Hook::new(origin, place.pattern.clone(), action, policy);
    for field in fields {
        read_field(&mut hook, field, &place, notes);
    }
    if !place.in_a_list
        && let Some(field) = fields.iter().find(|field| &*field.key == "event")
    {
        notes.note(field.at, FaultKind::Conflict(Conflict::EventTwice));
    }
    if !has_action {
        return None;
    }
    check_together(&hook, fields, &place, notes);
    Some(hook)
}

/// Whose rules the hook follows.
fn policy(
    fields: &[Field],
    known: &'static [&'static dyn Dialect],
    notes: &mut Notes<'_>,
) -> &'static Policy {
    let Some(field) = fields.iter().find(|field| &*field.key == "dialect") else { return &NATIVE };
    let name = notes.text(&field.value, "the name of a dialect").unwrap_or(NATIVE.dialect);
    if name == NATIVE.dialect {
        return &NATIVE;
    }
    match known.iter().find(|dialect| dialect.name() == name) {
        Some(dialect) => dialect.policy(),
        None => {
            let names = || known.iter().map(|dialect| dialect.name()).chain([NATIVE.dialect]);
            let (name, nearest) = (name.to_owned(), nearest(name, names()));
            let kind = FaultKind::UnknownDialect { name, known: names().collect(), nearest };
            notes.note(field.value.at, kind);
            &NATIVE
        }
    }
}

fn read_field(hook: &mut Hook, field: &Field, place: &Place<'_>, notes: &mut Notes<'_>) {
    let value = &field.value;
    match &*field.key {
        "id" => {
            if let Some(id) = notes.text(value, "an id") {
                hook.id = id.to_owned();
            }
        }
        "description" => {
            hook.description = notes.text(value, "a description").map(str::to_owned);
        }
        "enabled" => hook.enabled = notes.bool(value).unwrap_or(true),
        "matcher" => {
            let Some(text) = notes.text(value, "a name, A|B, a glob or /a regular expression/")
            else {
                return;
            };
            let events = place.pattern.points.iter().map(|point| point.event);
            match Matcher::parse(text, SubjectOf::events(events)) {
                Ok(matcher) => {
                    hook.matcher = matcher;
                    hook.matcher_text = Some(text.into());
                }
                Err(error) => notes.note(value.at, FaultKind::Matcher(error)),
            }
        }
        "host" => hook.hosts = hosts(value, place.known.hosts, notes),
        "when" => hook.when = condition(value, place.environment, notes),
        "await" => hook.awaits = notes.bool(value),
        "timeout" => {
            hook.timeout = notes.duration(value);
            if hook.timeout.is_some_and(|timeout| timeout.is_zero()) {
                let expected = "a timeout longer than 0";
                notes.note(value.at, FaultKind::BadValue { found: "0".into(), expected });
            }
        }
        "on_failure" => {
            hook.on_failure = notes.word(value, OnFailure::WORDS, &OnFailure::ALL);
        }
        "retries" => {
            hook.retries = notes.whole_number(value, 0..=RETRIES_MAX, RETRIES_EXPECTED);
        }
        "retry_delay" => hook.retry_delay = notes.duration(value),
        "on_exhausted" => hook.on_exhausted = notes.word(value, EXHAUSTED_WORDS, &EXHAUSTED),
        "pipe_output" => hook.pipe_output = notes.bool(value).unwrap_or_default(),
        "once" => hook.once = notes.bool(value).unwrap_or_default(),
        // `event`, `type` and `dialect` were read before, the rest is the action's.
        _ => {}
    }
}

/// The host that runs sessions: this program.
const RUNNER: &str = "run";

/// Who has to fire an event for the hook to run: one name, or a list of names.
fn hosts(node: &Node, agents: &[&'static str], notes: &mut Notes<'_>) -> Vec<Box<str>> {
    let names = match &node.raw {
        Raw::List(names) => names.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let known: Vec<&'static str> = [&[RUNNER], agents].concat();
    let mut hosts = Vec::with_capacity(names.len());
    for node in names {
        let Some(name) = notes.text(node, "the name of a host") else { continue };
        if known.contains(&name) {
            hosts.push(name.into());
        } else {
            let nearest = nearest(name, known.iter().copied());
            let (name, known) = (name.to_owned(), known.clone());
            notes.note(node.at, FaultKind::UnknownHost { name, known, nearest });
        }
    }
    hosts
}

fn condition(node: &Node, environment: &Environment, notes: &mut Notes<'_>) -> Option<Condition> {
    // `when: true` is a condition too.
    let text = match &node.raw {
        super::node::Raw::Bool(value) => {
            if *value {
                "true"
            } else {
                "false"
            }
        }
        _ => notes.text(node, "a condition")?,
    };
    let known = |name: &str| variables::is_ours(name) || environment.get(name).is_some();
    let names = || {
        let ours = variables::names().map(str::to_owned);
        ours.chain(environment.names().map(str::to_owned)).collect()
    };
    match Condition::parse(text, &known, &names) {
        Ok(condition) => Some(condition),
        Err(error) => {
            let at: std::ops::Range<usize> = ConditionError::at(&error);
            notes.note_within(node, at, FaultKind::Condition(error));
            None
        }
    }
}

/// The rules between fields, and between a field and the events it is for.
fn check_together(hook: &Hook, fields: &[Field], place: &Place<'_>, notes: &mut Notes<'_>) {
    for (key, conflict) in hook.conflicts() {
        let field = fields.iter().find(|field| &*field.key == key);
        let at = field.map_or(place.event_at, |field| field.at);
        notes.note(at, FaultKind::HookConflict(conflict));
    }
}

//! One hook: its common fields, and the rules between them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::condition::{Condition, ConditionError};
use hookwright_engine::hook::{Exhausted, Hook, HookSource, Layer, OnFailure, RETRIES_EXPECTED};
use hookwright_engine::limits::RETRIES_MAX;
use hookwright_engine::matcher::{Matcher, SubjectOf};
use hookwright_engine::pattern::Pattern;
use hookwright_engine::policy::Policy;
use hookwright_engine::variables::{self, Environment};
use hookwright_engine::{NATIVE, nearest};

use super::node::{Field, Mark, Node, Raw};
use super::notes::Notes;
use super::{Conflict, Dialect, ExpectedValue, FaultKind, KnownSystems, action};

/// The position of an entry.
pub(super) struct EntryPlace<'a> {
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

/// The fields that hooks of every type have. They are read even if the action cannot be read.
#[derive(Default)]
struct HookFields {
    id: Option<String>,
    description: Option<String>,
    is_disabled: bool,
    matcher: Matcher,
    matcher_text: Option<Box<str>>,
    hosts: Vec<Box<str>>,
    when: Option<Condition>,
    awaits: Option<bool>,
    timeout: Option<Duration>,
    on_failure: Option<OnFailure>,
    retries: Option<u32>,
    retry_delay: Option<Duration>,
    on_exhausted: Option<Exhausted>,
    pipe_output: bool,
    once: bool,
}

/// Reads one hook. If it cannot be used, returns `None`, notes faults, or both.
pub(super) fn read(node: &Node, place: EntryPlace<'_>, notes: &mut Notes<'_>) -> Option<Hook> {
    let fields = notes.map(node, ExpectedValue::Hook("`command`, `url` or `pipeline`"))?;
    let policy = policy(fields, place.known.dialects, notes);
    let action = action::read(node, fields, policy.wire, notes);
    let common = HookFields::read(fields, &place, notes);
    if !place.in_a_list
        && let Some(field) = fields.iter().find(|field| &*field.key == "event")
    {
        notes.note(field.at, FaultKind::Conflict(Conflict::EventTwice));
    }
    let hook = Hook {
        id: common.id.unwrap_or_else(|| place.id.clone()),
        description: common.description,
        source: HookSource {
            file: Arc::clone(place.file),
            path: Arc::clone(place.path),
            line: node.at.line,
        },
        layer: place.layer,
        event: Arc::clone(place.event),
        pattern: place.pattern.clone(),
        matcher: common.matcher,
        matcher_text: common.matcher_text,
        enabled: !common.is_disabled,
        hosts: common.hosts,
        when: common.when,
        action: action?,
        awaits: common.awaits,
        timeout: common.timeout,
        on_failure: common.on_failure,
        retries: common.retries,
        retry_delay: common.retry_delay,
        on_exhausted: common.on_exhausted,
        pipe_output: common.pipe_output,
        once: common.once,
        twin: None,
        policy,
    };
    check_together(&hook, fields, &place, notes);
    Some(hook)
}

/// The rules that the hook follows.
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

impl HookFields {
    fn read(fields: &[Field], place: &EntryPlace<'_>, notes: &mut Notes<'_>) -> Self {
        let mut common = Self::default();
        for field in fields {
            common.read_field(field, place, notes);
        }
        common
    }

    fn read_field(&mut self, field: &Field, place: &EntryPlace<'_>, notes: &mut Notes<'_>) {
        let value = &field.value;
        match &*field.key {
            "id" => self.id = notes.text(value, "an id").map(str::to_owned),
            "description" => {
                self.description = notes.text(value, "a description").map(str::to_owned);
            }
            "enabled" => self.is_disabled = notes.bool(value) == Some(false),
            "matcher" => {
                let Some(text) = notes.text(value, "a name, A|B, a glob or /a regular expression/")
                else {
                    return;
                };
                let events = place.pattern.points.iter().map(|point| point.event);
                match Matcher::parse(text, SubjectOf::events(events)) {
                    Ok(matcher) => {
                        self.matcher = matcher;
                        self.matcher_text = Some(text.into());
                    }
                    Err(error) => notes.note(value.at, FaultKind::Matcher(error)),
                }
            }
            "host" => self.hosts = hosts(value, place.known.hosts, notes),
            "when" => self.when = condition(value, place.environment, notes),
            "await" => self.awaits = notes.bool(value),
            "timeout" => {
                self.timeout = notes.duration(value);
                if self.timeout.is_some_and(|timeout| timeout.is_zero()) {
                    notes.bad_value(value.at, "0", "a timeout longer than 0");
                }
            }
            "on_failure" => {
                self.on_failure = notes.word(value, OnFailure::WORDS, &OnFailure::ALL);
            }
            "retries" => {
                self.retries = notes.whole_number(value, 0..=RETRIES_MAX, RETRIES_EXPECTED);
            }
            "retry_delay" => self.retry_delay = notes.duration(value),
            "on_exhausted" => {
                self.on_exhausted = notes.word(value, Exhausted::WORDS, &Exhausted::ALL)
            }
            "pipe_output" => self.pipe_output = notes.bool(value).unwrap_or_default(),
            "once" => self.once = notes.bool(value).unwrap_or_default(),
            // `event`, `type` and `dialect` were read before, and the rest belongs to the action.
            _ => {}
        }
    }
}

/// The host that runs sessions: this program.
const RUNNER: &str = "run";

/// The hosts at whose events the hook runs: one name or a list of names.
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
        Raw::Bool(true) => "true",
        Raw::Bool(false) => "false",
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

/// Checks fields against each other, and against the events of the hook.
fn check_together(hook: &Hook, fields: &[Field], place: &EntryPlace<'_>, notes: &mut Notes<'_>) {
    for (key, conflict) in hook.conflicts() {
        let field = fields.iter().find(|field| &*field.key == key);
        let at = field.map_or(place.event_at, |field| field.at);
        notes.note(at, FaultKind::HookConflict(conflict));
    }
}

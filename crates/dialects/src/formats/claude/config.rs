//! Reads Claude Code's settings as native hooks.
//!
//! The hooks of all files count. An entry that cannot be used is skipped with a warning, and what
//! it would have guarded is blocked until it is fixed, except where a block would keep an agent
//! from stopping. Claude Code itself drops the whole file, or the guard without a message.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use hookwright_config::tree::{Field, Node, Notes, Raw, parse};
use hookwright_config::{
    ExpectedValue, Fault, FaultKind, ForeignFile, Loaded, MissingKey, SourceFile,
};
use hookwright_engine::limits::HOOKS_MAX;
use hookwright_engine::matcher::{Matcher as Subjects, MatcherError};
use hookwright_engine::pattern::{Pattern, PatternError, PatternPoint};
use hookwright_engine::variables::Environment;
use hookwright_engine::{Glob, nearest};
use hookwright_events::{EventName, Power};

use super::event::{event_named, known_names};
use super::handler::{Handler, ReadHandler, Where};
use super::limits::{SESSION_END_TIMEOUT, SESSION_END_TIMEOUT_MAX};
use super::matcher::{GroupMatcher, Waking};
use super::switch::{self, Switch};

/// Reads all settings. Returns the events, with their subjects, for which they call this program.
pub(crate) fn read(
    files: &[ForeignFile<'_>],
    environment: &Environment,
    loaded: &mut Loaded,
) -> Vec<(EventName, Subjects)> {
    let mut all = Vec::with_capacity(files.len());
    for file in files {
        let tree = file.text.as_ref().map_err(Fault::clone);
        let tree = tree.and_then(|source| Ok((source, parse(source)?)));
        match tree {
            Ok((source, root)) => all.push(Settings { file, source, root }),
            // The file may have contained a guard for any event.
            Err(fault) => loaded.block_until_fixed(None, [fault]),
        }
    }
    let switches = all.iter().map(|settings| settings.switch(loaded)).collect::<Vec<_>>();
    let session_end = session_end_timeout(&all);
    let environment = with_its_own(environment);
    let mut calls = Vec::new();
    let mut is_off = false;
    for (settings, own) in all.iter().zip(&switches) {
        let off = switch::effective(&switches, own);
        is_off |= off != switch::Off::No;
        let stem = settings.file.file.path.file_stem().unwrap_or_default().to_string_lossy();
        let mut reading = SettingsReader {
            stem: loaded.unused_stem(&stem),
            settings,
            environment: &environment,
            session_end,
            off,
            matchers: Matchers::default(),
            calls: &mut calls,
            loaded,
        };
        reading.hooks();
    }
    // Claude Code itself then drops all hooks, including the user's.
    if is_off {
        calls.clear();
    }
    calls
}

/// A parsed file.
pub(super) struct Settings<'a> {
    pub(super) file: &'a ForeignFile<'a>,
    pub(super) source: &'a Arc<SourceFile>,
    pub(super) root: Node,
}

impl Settings<'_> {
    fn get(&self, key: &str) -> Option<&Field> {
        match &self.root.raw {
            Raw::Map(fields) => fields.iter().find(|field| *field.key == *key),
            _ => None,
        }
    }

    fn switch(&self, loaded: &mut Loaded) -> Switch {
        let mut notes = Notes::new(self.source);
        let says = self.get("disableAllHooks").and_then(|field| notes.bool(&field.value));
        // An unreadable value switches nothing off.
        loaded.leave_out(notes.faults);
        Switch::new(self.file.file, says)
    }
}

/// Adds the hooks of one file to the set.
struct SettingsReader<'a> {
    stem: String,
    settings: &'a Settings<'a>,
    environment: &'a Environment,
    session_end: Duration,
    off: switch::Off,
    matchers: Matchers,
    calls: &'a mut Vec<(EventName, Subjects)>,
    loaded: &'a mut Loaded,
}

/// An event's key in the file.
struct EventKey {
    claudes: &'static str,
    name: EventName,
}

impl SettingsReader<'_> {
    fn hooks(&mut self) {
        let settings = self.settings;
        let mut notes = Notes::new(settings.source);
        let events = match (&settings.root.raw, settings.get("hooks")) {
            (Raw::Map(_), None) => return,
            // An empty file.
            (Raw::Null, None) => return,
            (Raw::Map(_), Some(hooks)) => notes.map(&hooks.value, "a map from events to lists"),
            _ => notes.map(&settings.root, ExpectedValue::HooksKey),
        };
        if !notes.faults.is_empty() {
            self.loaded.block_until_fixed(None, notes.faults);
        }
        for event in events.unwrap_or_default() {
            self.event(event);
        }
    }

    fn event(&mut self, field: &Field) {
        let claudes = &*field.key;
        let known = known_names().find(|known| *known == claudes);
        let Some((claudes, name)) = known.zip(event_named(claudes)) else {
            let nearest = nearest(claudes, known_names());
            let mut notes = Notes::new(self.settings.source);
            let unknown = PatternError::UnknownEvent { name: claudes.to_owned(), nearest };
            notes.note(field.at, FaultKind::Pattern(unknown));
            return self.loaded.leave_out(notes.faults);
        };
        let event = EventKey { claudes, name };
        let mut notes = Notes::new(self.settings.source);
        let groups = notes.list(&field.value, "a list of matcher groups");
        self.give_up(&event, &GroupMatcher::All, notes.faults);
        let mut number = 0;
        for group in groups.unwrap_or_default() {
            self.group(&event, group, &mut number);
        }
    }

    fn group(&mut self, event: &EventKey, group: &Node, number: &mut usize) {
        let mut notes = Notes::new(self.settings.source);
        let Some(fields) = notes.map(group, "a matcher group, `{matcher, hooks}`") else {
            return self.give_up(event, &GroupMatcher::All, notes.faults);
        };
        let get = |key: &str| fields.iter().find(|field| *field.key == *key);
        let matcher = self.matchers.of_group(get("matcher"), event.claudes, &mut notes);
        // An unreadable matcher might have matched anything.
        let looks_at = matcher.clone().unwrap_or(GroupMatcher::All);
        let handlers = match get("hooks") {
            Some(field) => notes.list(&field.value, "a list of handlers"),
            None => {
                notes.missing(group.at, MissingKey::Handlers);
                None
            }
        };
        let readable = notes.faults.is_empty();
        self.give_up(event, &looks_at, notes.faults);
        if !readable {
            return;
        }
        for handler in handlers.unwrap_or_default() {
            self.handler(event, &looks_at, get("matcher"), handler, *number);
            *number += 1;
        }
    }

    fn handler(
        &mut self,
        event: &EventKey,
        matcher: &GroupMatcher,
        written: Option<&Field>,
        node: &Node,
        number: usize,
    ) {
        let file = self.settings.file.file;
        if self.off.drops(file.layer, event.name.power()) {
            return;
        }
        let mut notes = Notes::new(self.settings.source);
        let place = Where {
            claudes: event.claudes,
            name: &event.name,
            source: self.settings.source,
            file,
            id: format!("{}/{}#{number}", self.stem, event.claudes),
            session_end: self.session_end,
            environment: self.environment,
        };
        match Handler::read(node, &place, &mut notes) {
            Ok(ReadHandler::CallsThisProgram) => {
                self.calls.push((event.name.clone(), looks_at(matcher)));
            }
            Ok(ReadHandler::Handler(handler)) => {
                let (rule, action) = handler.split();
                let waking = Waking { matcher: matcher.clone(), rule };
                let written = written.and_then(|field| match &field.value.raw {
                    Raw::Text(text) if !text.is_empty() => Some(text.clone()),
                    _ => None,
                });
                let hook =
                    action.hook(&place, waking, written, node, pattern(event, Subjects::All));
                self.loaded.warn_about(&hook, node, self.settings.source, self.environment);
                if self.loaded.add(hook).is_err() {
                    notes.note(node.at, FaultKind::TooManyHooks { hooks_max: HOOKS_MAX });
                    self.give_up(event, matcher, notes.faults);
                }
            }
            // Claude Code ignores it as well.
            Ok(ReadHandler::PassedOver) => self.loaded.leave_out(notes.faults),
            Err(()) => self.give_up(event, matcher, notes.faults),
        }
    }

    /// Skips an unusable entry, and blocks what it may have guarded.
    fn give_up(&mut self, event: &EventKey, matcher: &GroupMatcher, faults: Vec<Fault>) {
        let power = event.name.power();
        if power != Power::Blocks || self.off.drops(self.settings.file.file.layer, power) {
            return self.loaded.leave_out(faults);
        }
        self.loaded.block_until_fixed(Some(pattern(event, looks_at(matcher))), faults);
    }
}

/// The subjects that a group matches, whatever its handlers' `if` says.
fn looks_at(matcher: &GroupMatcher) -> Subjects {
    match matcher {
        GroupMatcher::All => Subjects::All,
        matcher => Subjects::Foreign(Arc::new(Waking { matcher: matcher.clone(), rule: None })),
    }
}

/// The matchers of a file, each parsed once: most groups share a few, and parsing a regular
/// expression costs more than the rest of its group.
#[derive(Default)]
struct Matchers {
    read: HashMap<(String, String), GroupMatcher>,
}

impl Matchers {
    /// The group's matcher; `None` if it is invalid.
    fn of_group(
        &mut self,
        field: Option<&Field>,
        event: &str,
        notes: &mut Notes<'_>,
    ) -> Option<GroupMatcher> {
        let Some(field) = field else { return Some(GroupMatcher::All) };
        let Raw::Text(text) = &field.value.raw else {
            notes.wrong_kind(&field.value, "a name, `A|B` or a regular expression");
            return None;
        };
        let key = (text.to_string(), event.to_owned());
        if let Some(known) = self.read.get(&key) {
            return Some(known.clone());
        }
        match GroupMatcher::parse(text, event) {
            Ok(matcher) => {
                self.read.insert(key, matcher.clone());
                Some(matcher)
            }
            Err(cause) => {
                let error = MatcherError::BadRegex { cause };
                notes.note(field.value.at, FaultKind::Matcher(error));
                None
            }
        }
    }
}

fn pattern(event: &EventKey, subjects: Subjects) -> Pattern {
    match event.name.spec() {
        Some(spec) => {
            let point = PatternPoint { event: spec, subjects, only_reasons: &[] };
            Pattern { points: vec![point], open: Vec::new() }
        }
        None => Pattern { points: Vec::new(), open: vec![Glob::new(event.name.as_str())] },
    }
}

/// The time limit that all hooks of `SessionEnd` share: the longest timeout among them.
fn session_end_timeout(all: &[Settings<'_>]) -> Duration {
    let seconds = |handler: &Node| match in_map(handler, "timeout")?.raw {
        Raw::Int(seconds) => Some(seconds as f64),
        Raw::Float(seconds) => Some(seconds),
        _ => None,
    };
    all.iter()
        .filter_map(|settings| in_map(&settings.get("hooks")?.value, "SessionEnd"))
        .flat_map(items)
        .filter_map(|group| in_map(group, "hooks"))
        .flat_map(items)
        .filter_map(seconds)
        .map(|asked| asked.clamp(0.0, SESSION_END_TIMEOUT_MAX.as_secs_f64()))
        .map(Duration::from_secs_f64)
        .fold(SESSION_END_TIMEOUT, Duration::max)
}

fn items(node: &Node) -> &[Node] {
    match &node.raw {
        Raw::List(items) => items,
        _ => &[],
    }
}

fn in_map<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    match &node.raw {
        Raw::Map(fields) => {
            fields.iter().find(|field| *field.key == *key).map(|field| &field.value)
        }
        _ => None,
    }
}

/// The environment with the names of the variables that a hook gets, so that they count as known.
fn with_its_own(environment: &Environment) -> Environment {
    let own = ["CLAUDE_PROJECT_DIR", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_ENV_FILE"];
    let inherited = environment
        .names()
        .filter_map(|name| Some((OsString::from(name), environment.get(name)?.to_owned())));
    Environment::new(inherited.chain(own.map(|name| (name.into(), OsString::new()))))
}

//! [`HookSet`]: hooks from all files, and an index from events to hooks.
//!
//! Patterns are resolved when a hook is added. Firing an event then reads one list, the hooks of
//! that event, with literal subjects in a hash map. Adding a hook costs the same however many there
//! are.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hookwright_events::table::EVENTS;
use hookwright_events::{Event, EventName, EventSpec, Power, tool};

use crate::glob::Glob;
use crate::hook::{Hook, Layer};
use crate::limits::HOOKS_MAX;
use crate::matcher::{Matcher, Subject};
use crate::pattern::{Pattern, PatternPoint};

/// Checked hooks from all files.
#[derive(Debug, Clone)]
pub struct HookSet {
    hooks: Vec<Arc<Hook>>,
    by_event: Vec<EventIndex>,
    open: Vec<(u32, Glob)>,
    broken: Vec<Broken>,
    global_disabled: bool,
}

/// The hooks of one event.
#[derive(Debug, Clone, Default)]
struct EventIndex {
    /// Hooks for every subject.
    always: Vec<u32>,
    /// Hooks for one subject, by its key.
    by_subject: HashMap<Box<str>, Vec<u32>>,
    /// Hooks for one subject that have further matchers to evaluate.
    asked_by_subject: HashMap<Box<str>, Vec<AskedHook>>,
    /// Hooks whose matchers have to be evaluated.
    asked: Vec<AskedHook>,
}

#[derive(Debug, Clone)]
struct AskedHook {
    hook: u32,
    subjects: Matcher,
    only_reasons: &'static [&'static str],
}

/// Why an entry is invalid. Each reader of files has its own type for that.
pub type ReadError = dyn std::error::Error + Send + Sync;

/// An invalid entry. At events that can be blocked, it blocks: a typo must not remove a guard.
#[derive(Debug, Clone)]
pub struct Broken {
    /// The events that it would match; `None` if the pattern is invalid too.
    pub pattern: Option<Pattern>,
    /// What is wrong, according to its reader.
    pub fault: Arc<ReadError>,
}

/// There are more hooks than [`HOOKS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {HOOKS_MAX} hooks")]
pub struct Full;

impl Default for HookSet {
    fn default() -> Self {
        Self {
            hooks: Vec::new(),
            by_event: vec![EventIndex::default(); EVENTS.len()],
            open: Vec::new(),
            broken: Vec::new(),
            global_disabled: false,
        }
    }
}

impl HookSet {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a hook after the others of its layer.
    pub fn add(&mut self, hook: Hook) -> Result<(), Full> {
        if self.hooks.len() >= HOOKS_MAX {
            return Err(Full);
        }
        let number = u32::try_from(self.hooks.len()).map_err(|_| Full)?;
        for point in &hook.pattern.points {
            self.by_event[position(point.event)].add(number, point, &hook.matcher);
        }
        self.open.extend(hook.pattern.open.iter().map(|glob| (number, glob.clone())));
        self.hooks.push(Arc::new(hook));
        Ok(())
    }

    /// Adds an invalid entry.
    pub fn add_broken(&mut self, broken: Broken) {
        self.broken.push(broken);
    }

    /// Drops global hooks, except at events that can be blocked: a cloned repository must not
    /// disable a user's guards.
    pub fn disable_global(&mut self) {
        self.global_disabled = true;
    }

    /// Whether the project's file disables global hooks at events that cannot be blocked.
    pub fn global_is_disabled(&self) -> bool {
        self.global_disabled
    }

    /// The same hooks with unique ids, by which a journal knows them. If two files use one id, the
    /// hook of the second is called `id~2`.
    #[must_use]
    pub fn with_unique_ids(self) -> Self {
        let mut taken: HashSet<String> = HashSet::with_capacity(self.hooks.len());
        if self.hooks.iter().all(|hook| taken.insert(hook.id.clone())) {
            return self;
        }
        taken.clear();
        let mut unique =
            Self { broken: self.broken, global_disabled: self.global_disabled, ..Self::default() };
        for hook in self.hooks {
            let mut hook = Arc::unwrap_or_clone(hook);
            let id = hook.id.clone();
            let mut number = 2;
            while !taken.insert(hook.id.clone()) {
                hook.id = format!("{id}~{number}");
                number += 1;
            }
            // Adding cannot fail: the number of hooks is the same as before.
            let _ = unique.add(hook);
        }
        unique
    }

    /// Splits off the hooks whose policy runs them at this event only after the fact. The second
    /// set is `None` if there are none.
    pub fn split_after_the_fact(&self, event: &EventName) -> (Self, Option<Self>) {
        let comes_after = |hook: &&Arc<Hook>| {
            hook.policy.after_the_fact_at.contains(event)
                && hook.pattern.any(|spec| *event == spec.into())
        };
        let part = |is_wanted: &dyn Fn(&&Arc<Hook>) -> bool, broken: Vec<Broken>| {
            let global_disabled = self.global_disabled;
            let mut part = Self { broken, global_disabled, ..Self::default() };
            for hook in self.hooks.iter().filter(|hook| is_wanted(hook)) {
                // Adding cannot fail: the number of hooks is not larger than before.
                let _ = part.add(Hook::clone(hook));
            }
            part
        };
        if !self.hooks.iter().any(|hook| comes_after(&hook)) {
            return (self.clone(), None);
        }
        let before = part(&|hook| !comes_after(hook), self.broken.clone());
        (before, Some(part(&comes_after, Vec::new())))
    }

    /// Every hook, in the order of the files.
    pub fn hooks(&self) -> &[Arc<Hook>] {
        &self.hooks
    }

    /// The matching hooks, in the order in which they run.
    pub fn woken(&self, event: &Event) -> Vec<Arc<Hook>> {
        let mut numbers = Vec::new();
        match event.name.spec() {
            Some(spec) => self.by_event[position(spec)].woken(event, &mut numbers),
            None => {
                let subject = Subject::from_event(event);
                // As in the table: if the tool is unknown, every guard runs.
                let looks_at_all = looks_at_all(event);
                numbers.extend(
                    self.open
                        .iter()
                        .filter(|(_, glob)| glob.matches(event.name.as_str()))
                        .map(|(number, _)| *number)
                        .filter(|number| {
                            looks_at_all || self.hook(*number).matcher.wakes(&subject)
                        }),
                );
            }
        }
        if numbers.is_empty() {
            return Vec::new();
        }
        numbers.sort_unstable();
        numbers.dedup();
        let guards = event.name.power().can_block();
        let mut hooks: Vec<Arc<Hook>> = numbers
            .into_iter()
            .map(|number| Arc::clone(self.hook(number)))
            .filter(|hook| guards || !self.global_disabled || hook.layer != Layer::Global)
            .collect();
        // A stable sort keeps the order of the files within a layer.
        hooks.sort_by_key(|hook| match hook.layer {
            Layer::Program => 0,
            Layer::Global if guards || hook.policy.global_first => 1,
            Layer::Loop => 2,
            Layer::Pipeline => 3,
            Layer::Project => 4,
            Layer::Global => 5,
        });
        hooks
    }

    /// Whether a hook or an invalid entry may match an event of this name, whatever its data are.
    pub fn hears(&self, event: &EventName) -> bool {
        let has_hooks = match event.spec() {
            Some(spec) => !self.by_event[position(spec)].is_empty(),
            None => self.open.iter().any(|(_, glob)| glob.matches(event.as_str())),
        };
        has_hooks || !self.broken.is_empty()
    }

    /// Invalid entries that would match this event.
    pub fn broken_for<'a>(&'a self, event: &'a Event) -> impl Iterator<Item = &'a ReadError> {
        let subject = Subject::from_event(event);
        let looks_at_all = looks_at_all(event);
        self.broken
            .iter()
            .filter(move |broken| match (&broken.pattern, event.name.spec()) {
                (None, _) => true,
                (Some(pattern), Some(spec)) => pattern
                    .points
                    .iter()
                    .filter(|point| std::ptr::eq(point.event, spec))
                    .any(|point| looks_at_all || point.is_awake(event, &subject)),
                (Some(pattern), None) => {
                    pattern.open.iter().any(|glob| glob.matches(event.name.as_str()))
                }
            })
            .map(|broken| broken.fault.as_ref())
    }

    fn hook(&self, number: u32) -> &Arc<Hook> {
        &self.hooks[number as usize]
    }
}

/// Whether the tool is unknown, so that every guard of the event runs.
fn looks_at_all(event: &Event) -> bool {
    event.subject().is_none()
        && event.name.subject_field().is_some()
        && event.name.power() == Power::Blocks
}

fn position(spec: &'static EventSpec) -> usize {
    EVENTS
        .iter()
        .position(|known| std::ptr::eq(known, spec))
        .expect("every EventSpec is a row of the table")
}

impl EventIndex {
    fn is_empty(&self) -> bool {
        let Self { always, by_subject, asked, asked_by_subject } = self;
        always.is_empty()
            && by_subject.is_empty()
            && asked.is_empty()
            && asked_by_subject.is_empty()
    }

    fn add(&mut self, hook: u32, point: &PatternPoint, matcher: &Matcher) {
        let always_awake = point.only_reasons.is_empty();
        match (&point.subjects, matcher) {
            (Matcher::All, Matcher::All) if always_awake => self.always.push(hook),
            (Matcher::All, Matcher::Named(names)) | (Matcher::Named(names), Matcher::All)
                if always_awake =>
            {
                for name in names {
                    self.by_subject.entry(key(point.event, name)).or_default().push(hook);
                }
            }
            (subjects, matcher) => {
                // Both must match; the pattern's subject is checked only if it has one.
                let only_reasons = point.only_reasons;
                let narrowed = match (subjects, matcher) {
                    (Matcher::All, matcher) => matcher.clone(),
                    (subjects, Matcher::All) => subjects.clone(),
                    (subjects, matcher) => {
                        Matcher::Both(Box::new((subjects.clone(), matcher.clone())))
                    }
                };
                self.ask(point.event, AskedHook { hook, subjects: narrowed, only_reasons });
            }
        }
    }

    /// Adds a hook whose matcher has to be evaluated; to the hash map if it names its subjects as
    /// well.
    fn ask(&mut self, event: &EventSpec, asked: AskedHook) {
        let names = match &asked.subjects {
            Matcher::Both(both) => match &both.0 {
                Matcher::Named(names) => names.clone(),
                _ => return self.asked.push(asked),
            },
            _ => return self.asked.push(asked),
        };
        for name in &names {
            self.asked_by_subject.entry(key(event, name)).or_default().push(asked.clone());
        }
    }

    fn woken(&self, event: &Event, numbers: &mut Vec<u32>) {
        numbers.extend(&self.always);
        let no_subjects = self.by_subject.is_empty() && self.asked_by_subject.is_empty();
        if no_subjects && self.asked.is_empty() {
            return;
        }
        if looks_at_all(event) {
            let asked_by_subject = self.asked_by_subject.values().flatten();
            numbers.extend(self.by_subject.values().flatten());
            numbers.extend(self.asked.iter().chain(asked_by_subject).map(|asked| asked.hook));
            return;
        }
        let subject = event.subject().map(lower);
        let subject = subject.as_deref();
        numbers.extend(subject.and_then(|name| self.by_subject.get(name)).into_iter().flatten());
        let by_subject = subject.and_then(|name| self.asked_by_subject.get(name));
        if self.asked.is_empty() && by_subject.is_none() {
            return;
        }
        let subject = Subject::from_event(event);
        let reason = event.text("reason").unwrap_or_default();
        numbers.extend(
            self.asked
                .iter()
                .chain(by_subject.into_iter().flatten())
                .filter(|asked| {
                    asked.only_reasons.is_empty() || asked.only_reasons.contains(&reason)
                })
                .filter(|asked| asked.subjects.wakes(&subject))
                .map(|asked| asked.hook),
        );
    }
}

/// The key of a literal subject: the built-in name for a tool, in lower case.
fn key(event: &EventSpec, name: &str) -> Box<str> {
    let name = if event.subject == Some("tool_name") { tool::canonical(name) } else { name };
    lower(name).into()
}

/// The name in lower case; nearly all names already are.
fn lower(name: &str) -> Cow<'_, str> {
    match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(name.to_ascii_lowercase()),
        false => Cow::Borrowed(name),
    }
}

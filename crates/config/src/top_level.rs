//! The keys of a whole file: `hookwright.yaml`, the global `hooks.yaml`, `loop.yaml`,
//! `pipeline.yaml`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use hookwright_engine::hook::Layer;
use hookwright_engine::limits::HOOKS_MAX;
use hookwright_engine::pattern::Pattern;
use hookwright_engine::variables::Environment;

use super::agent_settings::{AgentSettings, WrittenRule};
use super::keys::{GLOBAL_FILE_KEYS, HOOK_FILE_KEYS, LOOP_KEYS, PIPELINE_KEYS, check_key};
use super::node::{Field, Mark, Node, Raw, parse};
use super::notes::Notes;
use super::{
    ConfigFile, ExpectedValue, Fault, FaultKind, KnownSystems, Loaded, MissingKey, Scope,
    SourceFile, entry,
};
use super::{
    agent, callback_address, loop_file, mcp_server, pipeline_file, project_name, warning,
    worker_settings,
};

/// Reads a whole file into `loaded`.
pub(super) fn read(
    source: &Arc<SourceFile>,
    file: &ConfigFile,
    environment: &Environment,
    scope: Scope<'_>,
    loaded: &mut Loaded,
) {
    let root = match parse(source) {
        Ok(root) => root,
        Err(fault) => return loaded.mark_file_broken(fault),
    };
    let mut notes = Notes::new(source);
    let fields = match &root.raw {
        Raw::Null => {
            let empty = Fault { source: Arc::clone(source), place: None, kind: FaultKind::Empty };
            return loaded.mark_file_broken(empty);
        }
        _ => notes.map(&root, ExpectedValue::HooksKey),
    };
    let Some(fields) = fields else {
        return loaded.mark_entry_broken(None, notes.faults);
    };
    let known = match file.layer {
        Layer::Loop => LOOP_KEYS,
        Layer::Pipeline => PIPELINE_KEYS,
        Layer::Program | Layer::Project => HOOK_FILE_KEYS,
        Layer::Global => GLOBAL_FILE_KEYS,
    };
    for field in fields {
        read_key(field, file.layer, known, &mut notes, loaded);
    }
    let mut inline = Vec::new();
    match file.layer {
        Layer::Loop => {
            let read = loop_file::read(fields, &mut notes);
            loaded.loops.push((file.path.clone(), read));
        }
        Layer::Pipeline => {
            let read = pipeline_file::read(fields, &root, &mut notes, &mut inline);
            loaded.pipelines.push((file.path.clone(), read));
        }
        Layer::Project | Layer::Global | Layer::Program => {
            if let Some(field) = fields.iter().find(|field| &*field.key == "agent") {
                let agents = agent::agents(&field.value, &mut notes);
                loaded.agents.push((file.path.clone(), agents));
            }
        }
    }
    // After a fault outside of the entries, it is unknown what the file was meant to guard.
    if !notes.faults.is_empty() {
        loaded.mark_entry_broken(None, std::mem::take(&mut notes.faults));
    }
    let stem = file.path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into());
    let mut reading = HookReading {
        stem: loaded.unused_stem(&stem),
        shown_as: file.shown_as.as_path().into(),
        path: file.path.as_path().into(),
        layer: file.layer,
        known: file.known,
        source,
        environment,
        ids: HashMap::new(),
        loaded,
    };
    if let Some(hooks) = fields.iter().find(|field| &*field.key == "hooks") {
        reading.hooks(&hooks.value);
    }
    reading.layer = Layer::Loop;
    for (stage, fields) in inline.into_iter().filter(|(stage, _)| scope.has(stage)) {
        reading.stem = stage;
        reading.inline(fields);
    }
}

fn read_key(
    field: &Field,
    layer: Layer,
    known: &'static [&'static str],
    notes: &mut Notes<'_>,
    loaded: &mut Loaded,
) {
    if !check_key(field, known, notes) {
        return;
    }
    let value = &field.value;
    match &*field.key {
        "version" if !matches!(value.raw, Raw::Int(1)) => {
            notes.note(value.at, FaultKind::UnknownVersion { found: value.to_json().to_string() });
        }
        "disable_global_hooks" if notes.bool(value) == Some(true) => loaded.hooks.disable_global(),
        "callback" => loaded.callback.fill_from(&callback_address::read(value, notes)),
        "trace" => loaded.untraced |= notes.bool(value) == Some(false),
        "permissions" => {
            permissions(value, notes, &mut loaded.agent_settings);
            if let Some(warnings) = &mut loaded.warnings {
                warnings.found.extend(warning::permission_warning(field, notes.source));
            }
        }
        "mcp_servers" => {
            for server in mcp_server::read(value, notes) {
                loaded.agent_settings.add_server(layer, server);
            }
        }
        "model" => {
            if let Some(name) = notes.text(value, "the name of a model") {
                loaded.agent_settings.set_model(layer, name);
            }
        }
        // Only checked here: `project_name.rs` returns the name.
        "project" => drop(project_name::read(value, notes)),
        // Likewise `worker_settings.rs`.
        "worker" => drop(worker_settings::read(value, notes)),
        // The other keys belong to the runner and the agent.
        _ => {}
    }
}

fn permissions(node: &Node, notes: &mut Notes<'_>, settings: &mut AgentSettings) {
    const KEYS: &[&str] = &["allow", "ask", "deny"];
    for field in notes.map(node, "a map with allow, ask, deny").unwrap_or_default() {
        if !KEYS.contains(&&*field.key) {
            notes.unknown_key(field.at, &field.key, KEYS);
            continue;
        }
        for rule in notes.list(&field.value, "a list of rules").unwrap_or_default() {
            let Some(text) = notes.text(rule, "a rule like bash(git push *)") else { continue };
            let (text, source) = (text.to_owned(), Arc::clone(notes.source));
            let place = rule.at.place(&source);
            let rules = match &*field.key {
                "allow" => &mut settings.allow,
                "ask" => &mut settings.ask,
                _ => &mut settings.deny,
            };
            rules.push(WrittenRule { text, source, place });
        }
    }
}

/// Adds the `hooks:` of one file to the set.
struct HookReading<'a> {
    stem: String,
    shown_as: Arc<Path>,
    path: Arc<Path>,
    layer: Layer,
    known: KnownSystems,
    source: &'a Arc<SourceFile>,
    environment: &'a Environment,
    ids: HashMap<String, u32>,
    loaded: &'a mut Loaded,
}

/// The event of an entry, and the place where it is written.
struct EntryEvent<'a> {
    event: &'a Arc<str>,
    at: Mark,
    pattern: Pattern,
    in_a_list: bool,
}

impl HookReading<'_> {
    /// A loop that is written in its pipeline's file.
    fn inline(&mut self, fields: &[Field]) {
        for field in fields {
            match (&*field.key, &field.value.raw) {
                ("hooks", _) => self.hooks(&field.value),
                ("disable_global_hooks", Raw::Bool(true)) => self.loaded.hooks.disable_global(),
                _ => {}
            }
        }
    }

    fn hooks(&mut self, node: &Node) {
        match &node.raw {
            Raw::Null => {}
            Raw::Map(events) => {
                for event in events {
                    self.event(event);
                }
            }
            // The other form: a list whose entries name their event themselves.
            Raw::List(entries) => {
                for (number, entry) in entries.iter().enumerate() {
                    self.entry_with_event(entry, number);
                }
            }
            _ => {
                let mut notes = Notes::new(self.source);
                notes.wrong_kind(node, ExpectedValue::HooksByEvent);
                self.loaded.mark_entry_broken(None, notes.faults);
            }
        }
    }

    fn event(&mut self, event: &Field) {
        let (name, at): (Arc<str>, Mark) = ((*event.key).into(), event.at);
        let mut notes = Notes::new(self.source);
        let entries = match event.value.raw {
            Raw::Null => &[],
            _ => notes.list(&event.value, ExpectedValue::HookList).unwrap_or_default(),
        };
        match Pattern::parse(&event.key) {
            Ok(pattern) => {
                self.loaded.mark_entry_broken(Some(pattern.clone()), notes.faults);
                for (number, entry) in entries.iter().enumerate() {
                    let pattern = pattern.clone();
                    let event = EntryEvent { event: &name, at, pattern, in_a_list: false };
                    self.entry(entry, event, number);
                }
            }
            Err(error) => {
                notes.note(at, FaultKind::Pattern(error));
                notes.faults.rotate_right(1);
                self.at_no_event(entries, false, notes);
            }
        }
    }

    /// Entries under an unknown event. They cannot run, so only their faults are noted, after the
    /// fault of the event.
    fn at_no_event(&mut self, entries: &[Node], in_a_list: bool, mut notes: Notes<'_>) {
        for entry in entries {
            // Rules that depend on the event are met by one of these; a matcher is least strict at
            // them.
            let mut pattern = Pattern::parse("*").unwrap_or_default();
            pattern.points.retain(|point| point.event.subject != Some("tool_name"));
            let event = EntryEvent { event: &"*".into(), at: entry.at, pattern, in_a_list };
            entry::read(entry, self.place(&event, 0), &mut notes);
        }
        self.loaded.mark_entry_broken(None, notes.faults);
    }

    fn entry_with_event(&mut self, entry: &Node, number: usize) {
        let mut notes = Notes::new(self.source);
        let event =
            notes.map(entry, ExpectedValue::Hook("`event` and `command`")).and_then(|fields| {
                let found = fields.iter().find(|field| &*field.key == "event");
                if found.is_none() {
                    notes.missing(entry.at, MissingKey::Event);
                }
                found
            });
        let read = event.and_then(|field| {
            let text = notes.text(&field.value, "the name of an event")?;
            match Pattern::parse(text) {
                Ok(pattern) => Some((Arc::<str>::from(text), field.value.at, pattern)),
                Err(error) => {
                    notes.note(field.value.at, FaultKind::Pattern(error));
                    None
                }
            }
        });
        match read {
            Some((name, at, pattern)) => {
                self.entry(
                    entry,
                    EntryEvent { event: &name, at, pattern, in_a_list: true },
                    number,
                );
            }
            // An entry that is not even a map was already reported as such.
            None if matches!(entry.raw, Raw::Map(_)) => {
                self.at_no_event(std::slice::from_ref(entry), true, notes);
            }
            None => self.loaded.mark_entry_broken(None, notes.faults),
        }
    }

    fn place<'p>(&'p self, event: &'p EntryEvent<'p>, number: usize) -> entry::EntryPlace<'p> {
        entry::EntryPlace {
            event: event.event,
            event_at: event.at,
            pattern: &event.pattern,
            id: format!("{}/{}#{number}", self.stem, event.event),
            file: &self.shown_as,
            path: &self.path,
            in_a_list: event.in_a_list,
            layer: self.layer,
            known: self.known,
            environment: self.environment,
        }
    }

    fn entry(&mut self, node: &Node, event: EntryEvent<'_>, number: usize) {
        let mut notes = Notes::new(self.source);
        let hook = entry::read(node, self.place(&event, number), &mut notes);
        if let (Some(hook), Some(warnings)) = (&hook, &mut self.loaded.warnings) {
            warnings.check_hook(node, hook, Some(event.at), self.source, self.environment);
            // Its faults come first.
            if notes.faults.is_empty() {
                warnings.check_program(node, hook, self.source, self.environment);
            }
        }
        if let (Some(hook), true) = (hook, notes.faults.is_empty()) {
            if let Some(first_line) = self.ids.insert(hook.id.clone(), node.at.line) {
                let id = hook.id.clone();
                notes.note(node.at, FaultKind::DuplicateId { id, first_line });
            } else if self.loaded.hooks.add(hook).is_err() {
                notes.note(node.at, FaultKind::TooManyHooks { hooks_max: HOOKS_MAX });
            }
        }
        if !notes.faults.is_empty() {
            self.loaded.mark_entry_broken(Some(event.pattern), notes.faults);
        }
    }
}

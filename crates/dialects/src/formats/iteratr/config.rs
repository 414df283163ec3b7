//! Reads `.iteratr.hooks.yml`: six points under `hooks`, each a list of commands.
//!
//! iteratr reads the whole file or nothing, so a value of the wrong type anywhere skips the file,
//! with a warning. Unknown keys and `version` are ignored. A command in which the shell would
//! evaluate a value as code is skipped alone, although iteratr would run it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hookwright_config::tree::{Field, Node, Notes, Raw, parse};
use hookwright_config::{ConfigFile, ExpectedValue, ForeignFile, Loaded, SourceFile};
use hookwright_engine::hook::{Action, Hook, HookOrigin, HookSource, Shell};
use hookwright_engine::limits::WAIT_MAX;
use hookwright_engine::pattern::Pattern;
use hookwright_engine::template::CommandText;
use hookwright_engine::variables::Environment;

use super::POLICY;

/// The six points, which are aliases of our events.
const POINTS: [&str; 6] = [
    "session_start",
    "pre_iteration",
    "post_iteration",
    "session_end",
    "on_task_complete",
    "on_error",
];

/// At this point no agent is left to read piped output.
const LAST_POINT: &str = "session_end";

/// Prefix of its hooks' ids.
const STEM: &str = "iteratr";

/// One command of the file.
struct CommandFields<'n> {
    node: &'n Node,
    /// Its index in the list of its point.
    number: usize,
    /// A non-empty text.
    command: Node,
    timeout: Option<Duration>,
    pipe_output: bool,
}

/// Reads the file into `loaded`.
pub(super) fn read(file: &ForeignFile<'_>, environment: &Environment, loaded: &mut Loaded) {
    let source = match &file.text {
        Ok(source) => source,
        Err(fault) => return loaded.leave_out([fault.clone()]),
    };
    let root = match parse(source) {
        Ok(root) => root,
        Err(fault) => return loaded.leave_out([fault]),
    };
    let mut notes = Notes::new(source);
    let points = points(&root, &mut notes);
    if !notes.faults.is_empty() {
        return loaded.leave_out(notes.faults);
    }
    let mut adding = Adding::new(file.file, source, environment, loaded);
    for (point, entries) in points {
        for entry in entries {
            adding.add(point, entry);
        }
    }
}

/// Every point that has commands. Null counts as missing.
fn points<'n>(
    root: &'n Node,
    notes: &mut Notes<'_>,
) -> Vec<(&'static str, Vec<CommandFields<'n>>)> {
    let top = fields(root, "a map with the key `hooks`", notes);
    let Some(hooks) = field(top, "hooks") else { return Vec::new() };
    let lists = fields(hooks, "a map from points to lists of hooks", notes);
    let of_point = |point: &'static str| {
        let list = field(lists, point).filter(|list| !matches!(list.raw, Raw::Null))?;
        let items = notes.list(list, ExpectedValue::HookList)?;
        let numbered = items.iter().enumerate();
        Some((point, numbered.filter_map(|(number, node)| entry(node, number, notes)).collect()))
    };
    POINTS.into_iter().filter_map(of_point).collect()
}

/// One command; `None` if there is nothing to run.
fn entry<'n>(node: &'n Node, number: usize, notes: &mut Notes<'_>) -> Option<CommandFields<'n>> {
    let fields = fields(node, ExpectedValue::Hook("`command`"), notes);
    let timeout = field(fields, "timeout").and_then(|node| timeout(node, notes));
    let pipe_output = field(fields, "pipe_output").is_some_and(|node| yes(node, notes));
    let command = command(field(fields, "command")?, notes)?;
    Some(CommandFields { node, number, command, timeout, pipe_output })
}

fn fields<'n>(
    node: &'n Node,
    expected: impl Into<ExpectedValue>,
    notes: &mut Notes<'_>,
) -> &'n [Field] {
    match node.raw {
        Raw::Null => &[],
        _ => notes.map(node, expected).unwrap_or_default(),
    }
}

fn field<'n>(fields: &'n [Field], key: &str) -> Option<&'n Node> {
    fields.iter().find(|field| &*field.key == key).map(|field| &field.value)
}

/// Whole seconds; fractions are dropped. Zero and less mean the default.
fn timeout(node: &Node, notes: &mut Notes<'_>) -> Option<Duration> {
    let seconds = match node.raw {
        Raw::Null => 0,
        Raw::Int(seconds) => seconds,
        Raw::Float(seconds) => seconds as i64,
        _ => {
            notes.wrong_kind(node, "a whole number of seconds");
            0
        }
    };
    let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0)?;
    Some(Duration::from_secs(seconds).min(WAIT_MAX))
}

/// `true`, or one of its synonyms in older YAML, which iteratr's parser accepts.
fn yes(node: &Node, notes: &mut Notes<'_>) -> bool {
    match &node.raw {
        Raw::Null => false,
        Raw::Text(text) if ["y", "Y", "yes", "on"].contains(&&**text) => true,
        Raw::Text(text) if ["n", "N", "no", "off"].contains(&&**text) => false,
        _ => notes.bool(node).unwrap_or_default(),
    }
}

/// A text; `true` and `7` are commands as well. An empty or blank text runs nothing.
fn command(node: &Node, notes: &mut Notes<'_>) -> Option<Node> {
    if matches!(node.raw, Raw::Null) {
        return None;
    }
    let Some(text) = notes.written(node) else {
        notes.wrong_kind(node, "a command");
        return None;
    };
    (!text.trim().is_empty()).then(|| Node { at: node.at, raw: Raw::Text(text.into()) })
}

/// Turns entries into hooks.
struct Adding<'a> {
    file: Arc<Path>,
    path: Arc<Path>,
    config: &'a ConfigFile,
    source: &'a Arc<SourceFile>,
    environment: &'a Environment,
    stem: String,
    loaded: &'a mut Loaded,
}

impl<'a> Adding<'a> {
    fn new(
        config: &'a ConfigFile,
        source: &'a Arc<SourceFile>,
        environment: &'a Environment,
        loaded: &'a mut Loaded,
    ) -> Self {
        let (file, path) = (config.shown_as.as_path().into(), config.path.as_path().into());
        let stem = loaded.unused_stem(STEM);
        Self { file, path, config, source, environment, stem, loaded }
    }

    fn add(&mut self, point: &'static str, entry: CommandFields<'_>) {
        let mut notes = Notes::new(self.source);
        if let Some(command) = notes.command(&entry.command, POLICY.wire) {
            let hook = self.hook(point, &entry, command);
            self.loaded.warn_about(&hook, entry.node, self.source, self.environment);
            let pattern = hook.pattern.clone();
            if self.loaded.add(hook).is_err() {
                self.loaded.block_over_hook_limit(pattern, entry.node, self.source);
            }
        }
        self.loaded.leave_out(notes.faults);
    }

    fn hook(&self, point: &'static str, entry: &CommandFields<'_>, command: CommandText) -> Hook {
        let line = entry.node.at.place(self.source).line;
        let origin = HookOrigin {
            id: format!("{}/{point}#{}", self.stem, entry.number),
            source: HookSource { file: Arc::clone(&self.file), path: Arc::clone(&self.path), line },
            layer: self.config.layer,
            event: point.into(),
        };
        let pattern = Pattern::parse(point).expect("the points are aliases of events");
        Hook {
            timeout: entry.timeout,
            pipe_output: entry.pipe_output && point != LAST_POINT,
            ..Hook::new(origin, pattern, Action::Shell(Shell::new(command)), &POLICY)
        }
    }
}

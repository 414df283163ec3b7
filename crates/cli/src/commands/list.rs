//! `hookwright list`: every hook, what it does, and where it comes from.

use clap::Args;
use hookwright_engine::HookSet;
use hookwright_engine::hook::{Hook, Layer};
use hookwright_engine::policy::Policy;
use serde_json::{Map, Value, json};

use crate::config_files::ConfigOptions;
use crate::configuration::Configuration;
use crate::error::Failure;
use crate::render::Table;
use crate::screen::Screen;
use crate::text::{count, one_line};

/// Characters of an id or an event in the table.
const NAME_CHARS_MAX: usize = 80;

/// Characters of an action in the table.
const ACTION_CHARS_MAX: usize = 40;

/// Characters of a condition or matcher in the table.
const FLAG_CHARS_MAX: usize = 40;

/// List every hook with what it does and where it comes from
///
/// Hooks of the project's loops and pipelines come first, as in a run. The columns are the hook's id, its
/// event as written, its type, what it does, its file and line, and its other settings: `disabled`,
/// `once`, `matcher`, `when`, `await`, `on_failure`, `pipe_output`. With a faulty configuration the hooks
/// that could be read are listed, the faults are shown on standard error, and the exit code is 1.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Print one JSON value on standard output instead of a table
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    options: ConfigOptions,
}

pub(crate) fn list(arguments: &ListArguments, screen: &Screen) -> Result<u8, Failure> {
    let mut configuration = Configuration::read(&arguments.options)?;
    let runs = configuration.read_runs(&arguments.options)?;
    let sets = || runs.iter().chain([&configuration.loaded.hooks]);
    let hooks: usize = sets().map(|set| set.hooks().len()).sum();
    if arguments.json {
        screen.json(&as_json(&configuration, sets()))?;
    } else if configuration.found.files.is_empty() {
        configuration.say_nothing_was_found(screen);
    } else {
        if hooks > 0 {
            screen.result(&table(sets()).to_string())?;
        }
        configuration.show_left_out(screen);
        configuration.show_faults(screen);
        let files = count(configuration.found.files.len(), "file");
        screen.talk(&format!("{} in {files}\n", count(hooks, "hook")));
    }
    Ok(configuration.exit_code())
}

fn table<'s>(sets: impl Iterator<Item = &'s HookSet>) -> Table {
    let cut = |text: &str| one_line(text, FLAG_CHARS_MAX);
    let mut table = Table::with_headings(&["id", "event", "type", "action", "source", "flags"]);
    for (set, hook) in sets.flat_map(|set| set.hooks().iter().map(move |hook| (set, hook))) {
        table.row([
            &one_line(&hook.id, NAME_CHARS_MAX),
            &one_line(&hook.event, NAME_CHARS_MAX),
            &hook.action.kind().to_owned(),
            &one_line(hook.action.summary(), ACTION_CHARS_MAX),
            &hook.source.to_string(),
            &flags(hook, set.global_is_disabled(), cut).join(", "),
        ]);
    }
    table
}

/// The other settings of a hook, as written; long texts shortened by `cut`.
pub(super) fn flags(
    hook: &Hook,
    global_is_disabled: bool,
    cut: impl Fn(&str) -> String,
) -> Vec<String> {
    let mut flags = Vec::new();
    if global_is_disabled && hook.layer == Layer::Global {
        flags.push("only where it can block (disable_global_hooks)".to_owned());
    }
    if !hook.enabled {
        flags.push("disabled".to_owned());
    }
    if hook.once {
        flags.push("once".to_owned());
    }
    if hook.pipe_output {
        flags.push("pipe_output".to_owned());
    }
    if hook.policy.dialect != Policy::NATIVE.dialect {
        flags.push(format!("dialect: {}", hook.policy.dialect));
    }
    if let Some(awaits) = hook.awaits {
        flags.push(format!("await: {awaits}"));
    }
    if let Some(on_failure) = hook.on_failure {
        flags.push(format!("on_failure: {}", on_failure.as_str()));
    }
    if let Some(matcher) = &hook.matcher_text {
        flags.push(format!("matcher: {}", cut(matcher)));
    }
    if !hook.hosts.is_empty() {
        flags.push(format!("host: {}", hook.hosts.join(", ")));
    }
    if let Some(when) = &hook.when {
        flags.push(format!("when: {}", cut(when.source())));
    }
    flags
}

fn as_json<'s>(configuration: &Configuration, sets: impl Iterator<Item = &'s HookSet>) -> Value {
    let hooks = sets.flat_map(HookSet::hooks);
    let hooks: Vec<Value> = hooks.map(|hook| hook_json(hook)).collect();
    json!({
        "version": 1,
        "hooks": hooks,
        "faults": configuration.faults_json(),
        "left_out": configuration.left_out_json(),
    })
}

/// A hook as written: fields that the file omits are omitted here, since their default depends on
/// the event.
pub(super) fn hook_json(hook: &Hook) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("id", json!(hook.id));
    put("event", json!(&*hook.event));
    put("events", json!(hook.pattern.events()));
    put("type", json!(hook.action.kind()));
    put("action", json!(hook.action.summary()));
    let file = hook.source.file.display().to_string();
    put("source", json!({ "file": file, "line": hook.source.line }));
    put("layer", json!(layer_word(hook.layer)));
    put("dialect", json!(hook.policy.dialect));
    put("enabled", json!(hook.enabled));
    if let Some(matcher) = &hook.matcher_text {
        put("matcher", json!(matcher));
    }
    if !hook.hosts.is_empty() {
        put("host", json!(hook.hosts));
    }
    if let Some(when) = &hook.when {
        put("when", json!(when.source()));
    }
    if let Some(awaits) = hook.awaits {
        put("await", json!(awaits));
    }
    if let Some(timeout) = hook.timeout {
        put("timeout_ms", json!(timeout.as_millis()));
    }
    if let Some(on_failure) = hook.on_failure {
        put("on_failure", json!(on_failure.as_str()));
    }
    if let Some(retries) = hook.retries {
        put("retries", json!(retries));
    }
    put("pipe_output", json!(hook.pipe_output));
    put("once", json!(hook.once));
    put("description", json!(hook.description));
    Value::Object(object)
}

fn layer_word(layer: Layer) -> &'static str {
    match layer {
        Layer::Program => "program",
        Layer::Loop => "loop",
        Layer::Pipeline => "pipeline",
        Layer::Project => "project",
        Layer::Global => "global",
    }
}

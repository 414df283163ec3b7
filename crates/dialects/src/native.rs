//! Converts a foreign hook to the native format, for migration.
//!
//! If native hooks lack a feature of it, the hook keeps its dialect (`dialect: NAME`) and its
//! behaviour, and each such difference is listed. A hook that even that cannot express is not
//! converted.

use std::time::Duration;

use hookwright_engine::hook::{Action, Exhausted, GitCommit, GitPush, Hook, Shell};
use hookwright_engine::pattern::Pattern;
use hookwright_engine::policy::Policy;
use hookwright_engine::template::TextTemplate;
use hookwright_events::table::OPEN_EVENTS;
use hookwright_events::{EventName, EventSpec};
use serde_json::{Map, Value, json};

use crate::Foreign;

/// A hook in the native format.
#[derive(Debug, Clone, PartialEq)]
pub struct NativeHook {
    /// The key below `hooks:`.
    pub event: String,
    /// The fields of the entry.
    pub fields: Map<String, Value>,
    /// Features that native hooks lack; then the hook keeps its dialect.
    pub differences: Vec<&'static str>,
}

/// Converts a hook; the error says why that is not possible.
pub fn said(foreign: &dyn Foreign, hook: &Hook) -> Result<NativeHook, &'static str> {
    let event = event_of(hook).ok_or("its pattern has no native form")?;
    let mut differences = foreign.differences(hook);
    let action = match fields_of(foreign, hook, differences.is_empty()) {
        Some(fields) => fields,
        None if differences.is_empty() => {
            differences.push("its `{{…}}` have values that no native variable has there");
            fields_of(foreign, hook, false).ok_or("its action has no native form")?
        }
        None => return Err("its action has no native form"),
    };
    let is_native = differences.is_empty();
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    if let Some(description) = hook.description.as_ref().filter(|text| !text.trim().is_empty()) {
        put("description", json!(description));
    }
    if !hook.enabled {
        put("enabled", json!(false));
    }
    if let Some(matcher) = foreign.native_matcher(hook) {
        put("matcher", json!(matcher));
    }
    for (name, value) in action {
        put(&name, value);
    }
    // Without its dialect, the hook must state the dialect's defaults.
    let policy = if is_native { hook.policy } else { &Policy::NATIVE };
    if let Some(awaits) = hook.awaits.or(policy.awaits) {
        put("await", json!(awaits));
    }
    if let Some(timeout) = hook.timeout.or(policy.timeout) {
        put("timeout", duration(timeout));
    }
    let written = hook.on_failure.map(|on_failure| on_failure.as_str());
    if let Some(word) = written.or(policy.on_failure.map(Exhausted::as_str)) {
        put("on_failure", json!(word));
    }
    if hook.pipe_output {
        put("pipe_output", json!(true));
    }
    if hook.once {
        put("once", json!(true));
    }
    if !is_native {
        put("dialect", json!(foreign.name()));
    }
    Ok(NativeHook { event, fields, differences })
}

/// The native key: the canonical name if it is one event.
fn event_of(hook: &Hook) -> Option<String> {
    if let Some(name) = EventName::resolve(&hook.event) {
        return Some(name.to_string());
    }
    if Pattern::parse(&hook.event).is_ok() {
        return Some(hook.event.to_string());
    }
    let points = hook.pattern.points.iter().map(|point| point.event.name);
    let open = OPEN_EVENTS.iter().map(|open| open.name);
    let open = open.filter(|name| hook.pattern.open.iter().any(|glob| glob.matches(name)));
    let names: Vec<&str> = points.chain(open).collect();
    (!names.is_empty()).then(|| names.join(","))
}

fn fields_of(foreign: &dyn Foreign, hook: &Hook, is_native: bool) -> Option<Map<String, Value>> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    match &hook.action {
        // Its arguments are not shell text.
        Action::Shell(Shell { exec: Some(_), .. }) => return None,
        Action::Shell(shell) => {
            put("command", json!(command(foreign, hook, shell, is_native)?));
            let by_policy = hook.policy.shells.first().copied();
            let by_policy = by_policy.filter(|_| is_native && hook.policy.shells != ["bash"]);
            if let Some(name) = shell.shell.as_deref().or(by_policy) {
                put("shell", json!(name));
            }
            if let Some(folder) = &shell.working_dir {
                put("working_dir", json!(folder));
            }
            if !shell.env.is_empty() {
                let pairs = shell.env.iter();
                let pairs = pairs.map(|(name, value)| (name.clone(), json!(value.source())));
                put("env", Value::Object(pairs.collect()));
            }
        }
        Action::GitCommit(GitCommit { message, no_verify }) => {
            put("type", json!(hook.action.kind()));
            if let Some(message) = message {
                put("message", json!(text(foreign, hook, message, is_native)?));
            }
            if *no_verify {
                put("no_verify", json!(true));
            }
        }
        Action::GitPush(GitPush { remote, branch }) => {
            put("type", json!(hook.action.kind()));
            if let Some(remote) = remote {
                put("remote", json!(remote));
            }
            if let Some(branch) = branch {
                put("branch", json!(branch));
            }
        }
        _ => return None,
    }
    Some(fields)
}

fn command(foreign: &dyn Foreign, hook: &Hook, shell: &Shell, is_native: bool) -> Option<String> {
    match is_native {
        true => shell.command.with_variables(&|name| variable(foreign, hook, name)),
        false => Some(shell.command.source().to_owned()),
    }
}

fn text(
    foreign: &dyn Foreign,
    hook: &Hook,
    template: &TextTemplate,
    is_native: bool,
) -> Option<String> {
    match is_native {
        true => template.with_variables(&|name| variable(foreign, hook, name)),
        false => Some(template.source().to_owned()),
    }
}

/// The native variable for `{{name}}` that works at every event of the hook.
fn variable(foreign: &dyn Foreign, hook: &Hook, name: &str) -> Option<&'static str> {
    let mut events = hook.pattern.points.iter().map(|point| point.event);
    let of = |event: &'static EventSpec| foreign.variable(name, event);
    let first = events.next().and_then(of)?;
    events.all(|event| of(event) == Some(first)).then_some(first)
}

/// Seconds, as an integer if they are whole.
fn duration(duration: Duration) -> Value {
    match duration.subsec_nanos() {
        0 => json!(duration.as_secs()),
        _ => json!(duration.as_secs_f64()),
    }
}

//! [`Handler`]: one handler of a matcher group, and the hook that it becomes.

mod header;

use std::sync::Arc;
use std::time::Duration;

use hookwright_config::tree::{Field, Node, Notes, Raw};
use hookwright_config::{ConfigFile, ExpectedValue, FaultKind, MissingKey, SourceFile};
use hookwright_engine::hook::{
    Action, Body, Hook, HookOrigin, HookSource, OnFailure, Shell, Webhook,
};
use hookwright_engine::matcher::Matcher as Subjects;
use hookwright_engine::pattern::Pattern;
use hookwright_engine::template::{CommandText, TextTemplate};
use hookwright_engine::variables::Environment;
use hookwright_events::{EventName, Power};

use super::limits::{SESSION_END_TIMEOUT_MAX, TIMEOUT_MAX, default_timeout};
use super::matcher::Waking;
use super::rule::Rule;
use super::{POLICY, STRICT_POLICY, SYSTEM};
use crate::own_call;

/// The context of a handler.
pub(super) struct Where<'a> {
    /// Claude Code's name of its event.
    pub(super) claudes: &'static str,
    /// The native name of its event.
    pub(super) name: &'a EventName,
    pub(super) source: &'a Arc<SourceFile>,
    pub(super) file: &'a ConfigFile,
    /// The id of its hook.
    pub(super) id: String,
    /// The time limit that all hooks of `SessionEnd` share.
    pub(super) session_end: Duration,
    /// The environment of its hook.
    pub(super) environment: &'a Environment,
}

/// A usable handler.
pub(super) struct Handler {
    rule: Option<Rule>,
    ready: HookParts,
}

/// Result of reading a valid handler.
pub(super) enum ReadHandler {
    /// A hook.
    Handler(Box<Handler>),
    /// A call of this program, which runs native hooks.
    CallsThisProgram,
    /// Nothing: Claude Code ignores it too.
    PassedOver,
}

/// The parts of a handler's hook.
pub(super) struct HookParts {
    action: Action,
    twin: String,
    background: bool,
    shared: CommonFields,
}

const TYPES: &[&str] = &["command", "http", "mcp_tool", "prompt", "agent"];

/// The handler types that an event supports.
fn types_at(event: &str) -> &'static [&'static str] {
    match event {
        "Setup" => &["command"],
        "SessionStart" => &["command", "mcp_tool"],
        "PermissionRequest" => &["command", "http", "mcp_tool", "prompt"],
        "PermissionDenied"
        | "PostToolBatch"
        | "PostToolUse"
        | "PostToolUseFailure"
        | "PreToolUse"
        | "Stop"
        | "SubagentStop"
        | "TaskCompleted"
        | "TaskCreated"
        | "TeammateIdle"
        | "UserPromptExpansion"
        | "UserPromptSubmit" => TYPES,
        _ => &["command", "http", "mcp_tool"],
    }
}

/// Events whose handlers may have an `if`.
const WITH_RULE: &[&str] =
    &["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"];

impl Handler {
    /// Reads a handler. `Err` means that it is unusable. The notes say why, or why it is ignored.
    pub(super) fn read(
        node: &Node,
        place: &Where<'_>,
        notes: &mut Notes<'_>,
    ) -> Result<ReadHandler, ()> {
        let Some(fields) = notes.map(node, "a handler, `{type, command}`") else { return Err(()) };
        let own = HandlerFields { fields, node };
        let kind = own.word("type", TYPES, notes)?;
        let types = types_at(place.claudes);
        if !types.contains(&kind) {
            let unfit =
                FaultKind::UnknownWord { found: kind.into(), expected: types, nearest: None };
            notes.note(own.at("type"), unfit);
            return Ok(ReadHandler::PassedOver);
        }
        if !matches!(kind, "command" | "http") {
            notes.note(own.at("type"), FaultKind::NotYet { what: format!("type: {kind}") });
            return Err(());
        }
        if own.calls_this_program() {
            return Ok(ReadHandler::CallsThisProgram);
        }
        let rule = match own.rule(place, notes)? {
            Some(_) if !WITH_RULE.contains(&place.claudes) => {
                let (belongs_to, found) = ("tool", place.claudes);
                let key = "if".to_owned();
                notes.note(own.at("if"), FaultKind::KeyOfOtherType { key, belongs_to, found });
                return Ok(ReadHandler::PassedOver);
            }
            rule => rule,
        };
        let ready = match kind {
            "http" => http(&own, place, notes),
            _ => command(&own, place, notes),
        };
        match ready.filter(|_| notes.faults.is_empty()) {
            Some(ready) => Ok(ReadHandler::Handler(Box::new(Self { rule, ready }))),
            None => Err(()),
        }
    }

    /// Its `if`, and the parts of its hook.
    pub(super) fn split(self) -> (Option<Rule>, HookParts) {
        (self.rule, self.ready)
    }
}

fn command(own: &HandlerFields<'_>, place: &Where<'_>, notes: &mut Notes<'_>) -> Option<HookParts> {
    let text = match own.get("command") {
        Some(node) => notes.text(node, "a command"),
        None => {
            notes.missing(own.node.at, MissingKey::Command);
            None
        }
    };
    let args = own.texts("args", notes);
    let shell = own.shell(notes);
    let asks_async = own.flag("async", notes);
    own.flag("asyncRewake", notes);
    let shared = CommonFields::read(own, place, notes);
    let text = text?;
    let shown = std::iter::once(text).chain(args.iter().flatten().map(String::as_str));
    let shown = shown.collect::<Vec<_>>().join(" ");
    let exec = args.map(|args| std::iter::once(text.to_owned()).chain(args).collect::<Vec<_>>());
    let twin = place.twin(&format!("{text}\n{exec:?}"), own);
    Some(HookParts {
        action: Action::Shell(Shell {
            command: CommandText::literal(&shown),
            exec,
            env: Vec::new(),
            working_dir: None,
            shell,
            kill_grace: None,
        }),
        twin,
        background: asks_async == Some(true),
        shared,
    })
}

fn http(own: &HandlerFields<'_>, place: &Where<'_>, notes: &mut Notes<'_>) -> Option<HookParts> {
    let url = match own.get("url") {
        Some(node) => notes.text(node, "an address"),
        None => {
            notes.missing(own.node.at, MissingKey::Url);
            None
        }
    };
    let allowed = own.texts("allowedEnvVars", notes).unwrap_or_default();
    let headers = match own.get("headers") {
        Some(node) => notes.texts(node, ExpectedValue::NamedStrings),
        None => Vec::new(),
    };
    let shared = CommonFields::read(own, place, notes);
    let url = url?;
    let headers = headers.into_iter().map(|(name, value)| {
        let value = header::text(&value, &allowed, place.environment);
        (name, TextTemplate::new(&value))
    });
    Some(HookParts {
        action: Action::Webhook(Box::new(Webhook {
            // An address has no templates.
            url: Some(TextTemplate::of_dialect(url, POLICY.wire)),
            method: None,
            headers: headers.collect(),
            body: Body::Event,
            callback_port: None,
            on_timeout: None,
            on_reject: None,
            secret: None,
            // Claude Code sends to any address.
            allow_http: true,
        })),
        twin: place.twin(url, own),
        background: false,
        shared,
    })
}

/// The fields of every handler type.
struct CommonFields {
    timeout: Duration,
    is_strict: bool,
    description: Option<String>,
}

impl CommonFields {
    fn read(own: &HandlerFields<'_>, place: &Where<'_>, notes: &mut Notes<'_>) -> Self {
        own.flag("once", notes);
        Self {
            timeout: limited(own.timeout(notes), place),
            is_strict: own.is_strict(notes) && place.name.power() != Power::BlocksOnPurpose,
            description: own.text("statusMessage", notes),
        }
    }
}

impl Where<'_> {
    /// A key that is equal for every copy of a handler. Of the copies in several settings one runs;
    /// a plugin's copy counts separately.
    fn twin(&self, what: &str, own: &HandlerFields<'_>) -> String {
        let is_plugin = self.file.path.file_name().is_some_and(|name| name == "hooks.json");
        let whose = match is_plugin {
            true => self.file.path.to_string_lossy(),
            false => "settings".into(),
        };
        let rule = own.get("if").map(|node| node.to_json().to_string()).unwrap_or_default();
        format!("{whose}\n{}\n{what}\n{rule}", self.claudes)
    }
}

/// Whether a hook comes from a handler with an `if`: its twin key ends with it.
pub(super) fn has_rule(hook: &Hook) -> bool {
    hook.twin.as_deref().is_some_and(|twin| !twin.ends_with('\n'))
}

/// Its time limit at its event.
fn limited(written: Option<Duration>, place: &Where<'_>) -> Duration {
    match place.claudes {
        "SessionEnd" => written.unwrap_or(place.session_end).min(SESSION_END_TIMEOUT_MAX),
        event => written.unwrap_or_else(|| default_timeout(event)),
    }
}

impl HookParts {
    /// The hook.
    pub(super) fn hook(
        self,
        place: &Where<'_>,
        waking: Waking,
        matcher_text: Option<Box<str>>,
        node: &Node,
        pattern: Pattern,
    ) -> Hook {
        let all =
            matches!(waking, Waking { matcher: super::matcher::GroupMatcher::All, rule: None });
        let blocks = self.shared.is_strict && !self.background;
        // An awaited request without more would be a question to a person.
        let is_request = matches!(self.action, Action::Webhook(_));
        let origin = HookOrigin {
            id: place.id.clone(),
            source: HookSource {
                file: Arc::from(place.file.shown_as.as_path()),
                path: Arc::from(place.file.path.as_path()),
                line: node.at.place(place.source).line,
            },
            layer: place.file.layer,
            event: Arc::from(place.claudes),
        };
        let policy = if blocks { &STRICT_POLICY } else { &POLICY };
        Hook {
            description: self.shared.description,
            matcher: if all { Subjects::All } else { Subjects::Foreign(Arc::new(waking)) },
            matcher_text,
            awaits: (!is_request).then_some(!self.background),
            timeout: Some(self.shared.timeout),
            on_failure: blocks.then_some(OnFailure::Block),
            retries: is_request.then_some(0),
            twin: Some(self.twin.into()),
            ..Hook::new(origin, pattern, self.action, policy)
        }
    }
}

/// A handler's own fields. Unknown ones are ignored, as in Claude Code.
struct HandlerFields<'n> {
    fields: &'n [Field],
    node: &'n Node,
}

impl<'n> HandlerFields<'n> {
    fn get(&self, key: &str) -> Option<&'n Node> {
        self.fields.iter().find(|field| *field.key == *key).map(|field| &field.value)
    }

    /// Whether it is the entry by which Claude Code calls this program, whose hooks run anyway.
    fn calls_this_program(&self) -> bool {
        let text = |node: &'n Node| match &node.raw {
            Raw::Text(text) => Some(&**text),
            _ => None,
        };
        let Some(command) = self.get("command").and_then(text) else { return false };
        match self.get("args").map(|node| &node.raw) {
            Some(Raw::List(items)) => {
                let args: Option<Vec<&str>> = items.iter().map(text).collect();
                args.is_some_and(|args| own_call::is_program_with(SYSTEM, command, &args))
            }
            _ => own_call::is_command(SYSTEM, command),
        }
    }

    /// The place of a field's value, or of the handler if the field is missing.
    fn at(&self, key: &str) -> hookwright_config::tree::Mark {
        self.get(key).map_or(self.node.at, |node| node.at)
    }

    fn word(
        &self,
        key: &'static str,
        words: &'static [&'static str],
        notes: &mut Notes<'_>,
    ) -> Result<&'static str, ()> {
        match self.get(key) {
            Some(node) => notes.word(node, words, words).ok_or(()),
            None => {
                notes.missing(self.node.at, MissingKey::HookType);
                Err(())
            }
        }
    }

    fn rule(&self, place: &Where<'_>, notes: &mut Notes<'_>) -> Result<Option<Rule>, ()> {
        const EXPECTED: &str = "a permission rule like Bash(git *)";
        let Some(node) = self.get("if") else { return Ok(None) };
        let Raw::Text(text) = &node.raw else {
            notes.wrong_kind(node, EXPECTED);
            return Err(());
        };
        let rule = Rule::parse(text, place.environment.text("HOME"));
        if rule.is_none() {
            notes.bad_value(node.at, &**text, EXPECTED);
        }
        rule.map(Some).ok_or(())
    }

    fn text(&self, key: &str, notes: &mut Notes<'_>) -> Option<String> {
        let node = self.get(key)?;
        match &node.raw {
            Raw::Text(text) => Some(text.to_string()).filter(|text| !text.is_empty()),
            _ => {
                notes.wrong_kind(node, ExpectedValue::String);
                None
            }
        }
    }

    fn texts(&self, key: &str, notes: &mut Notes<'_>) -> Option<Vec<String>> {
        let items = notes.list(self.get(key)?, "a list of strings")?;
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match &item.raw {
                Raw::Text(text) => texts.push(text.to_string()),
                _ => notes.wrong_kind(item, ExpectedValue::String),
            }
        }
        Some(texts)
    }

    fn flag(&self, key: &str, notes: &mut Notes<'_>) -> Option<bool> {
        notes.bool(self.get(key)?)
    }

    fn is_strict(&self, notes: &mut Notes<'_>) -> bool {
        let words = &["continue", "block"];
        let node = self.get("onFailure");
        node.and_then(|node| notes.word(node, words, &[false, true])).unwrap_or(false)
    }

    fn shell(&self, notes: &mut Notes<'_>) -> Option<String> {
        let node = self.get("shell")?;
        let word = notes.word(node, &["bash", "powershell"], &["bash", "powershell"])?;
        if word == "powershell" {
            notes.note(node.at, FaultKind::NotYet { what: "shell: powershell".into() });
        }
        Some(word.to_owned())
    }

    fn timeout(&self, notes: &mut Notes<'_>) -> Option<Duration> {
        const EXPECTED: &str = "seconds, a number over 0";
        let node = self.get("timeout")?;
        let seconds = match node.raw {
            Raw::Int(seconds) => seconds as f64,
            Raw::Float(seconds) => seconds,
            _ => {
                notes.wrong_kind(node, EXPECTED);
                return None;
            }
        };
        if seconds > 0.0 {
            return Some(Duration::from_secs_f64(seconds.min(TIMEOUT_MAX.as_secs_f64())));
        }
        notes.bad_value(node.at, node.to_json().to_string(), EXPECTED);
        None
    }
}

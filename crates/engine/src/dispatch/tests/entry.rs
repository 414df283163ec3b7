//! Hooks in tests: one line per hook, with the keys of a file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::condition::Condition;
use crate::hook::{
    Action, Body, Exhausted, FilePlace, Hook, HookOrigin, HookSource, Layer, OnFailure, Shell,
    Spawn, SpawnDir, Webhook,
};
use crate::matcher::{Matcher, SubjectOf};
use crate::native::NATIVE;
use crate::pattern::Pattern;
use crate::template::{CommandText, JsonTemplate, TextTemplate};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: Option<String>,
    command: Option<String>,
    url: Option<String>,
    pipeline: Option<String>,
    enabled: Option<bool>,
    matcher: Option<String>,
    host: Option<Value>,
    when: Option<String>,
    #[serde(rename = "await")]
    awaits: Option<bool>,
    on_failure: Option<String>,
    retries: Option<u32>,
    retry_delay: Option<String>,
    on_exhausted: Option<String>,
    on_timeout: Option<String>,
    on_reject: Option<String>,
    pipe_output: Option<bool>,
    once: Option<bool>,
}

/// Parses the hook of one line, the `number`th of its event.
pub(super) fn read(event: &str, number: usize, line: &str) -> Hook {
    let entry: Entry = serde_saphyr::from_str(&format!("{{{line}}}")).expect(line);
    let file: Arc<Path> = Path::new("hookwright.yaml").into();
    let line = u32::try_from(number).expect("a few hooks") + 4;
    let origin = HookOrigin {
        id: entry.id.clone().unwrap_or_else(|| format!("hookwright/{event}#{number}")),
        source: HookSource { path: Arc::clone(&file), file, line },
        layer: Layer::Project,
        event: event.into(),
    };
    let pattern = Pattern::parse(event).expect("a pattern");
    let mut hook = Hook::new(origin, pattern, action(&entry), &NATIVE);
    if let Some(matcher) = &entry.matcher {
        let events = hook.pattern.points.iter().map(|point| point.event);
        hook.matcher = Matcher::parse(matcher, SubjectOf::events(events)).expect("a matcher");
        hook.matcher_text = Some(matcher.as_str().into());
    }
    hook.enabled = entry.enabled.unwrap_or(true);
    hook.hosts = match entry.host {
        Some(Value::String(host)) => vec![host.into()],
        Some(hosts) => serde_json::from_value(hosts).expect("names of hosts"),
        None => Vec::new(),
    };
    let condition = |text: &str| Condition::parse(text, &|_| true, &Vec::new).expect("a condition");
    hook.when = entry.when.as_deref().map(condition);
    hook.awaits = entry.awaits;
    hook.on_failure = entry.on_failure.map(|word| {
        let position = OnFailure::WORDS.iter().position(|known| *known == word);
        OnFailure::ALL[position.expect("a word of on_failure")]
    });
    hook.retries = entry.retries;
    hook.retry_delay = entry.retry_delay.as_deref().map(delay);
    hook.on_exhausted = entry.on_exhausted.as_deref().map(exhausted);
    hook.pipe_output = entry.pipe_output.unwrap_or_default();
    hook.once = entry.once.unwrap_or_default();
    assert_eq!(hook.conflicts(), []);
    hook
}

fn action(entry: &Entry) -> Action {
    match (&entry.command, &entry.url, &entry.pipeline) {
        (Some(command), ..) => Action::Shell(Shell::new(CommandText::literal(command))),
        (None, Some(url), _) => Action::Webhook(Box::new(Webhook {
            url: Some(TextTemplate::new(url)),
            method: None,
            headers: Vec::new(),
            body: Body::Event,
            callback_port: None,
            on_timeout: entry.on_timeout.as_deref().map(exhausted),
            on_reject: entry.on_reject.as_deref().map(exhausted),
            secret: None,
            allow_http: false,
        })),
        (None, None, Some(pipeline)) => Action::Spawn(Box::new(Spawn {
            pipeline: pipeline.clone(),
            place: FilePlace { line: 1, column: 1, range: 0..0 },
            inputs: JsonTemplate::new(&json!({})),
            working_dir: SpawnDir::Project,
        })),
        (None, None, None) => panic!("a hook does something"),
    }
}

fn exhausted(word: &str) -> Exhausted {
    match word {
        "continue" => Exhausted::Continue,
        "abort" => Exhausted::Abort,
        "block" => Exhausted::Block,
        other => panic!("`{other}` says nothing about a failure"),
    }
}

fn delay(text: &str) -> Duration {
    let millis = text.strip_suffix("ms").map(|number| number.parse().map(Duration::from_millis));
    let seconds = text.strip_suffix('s').map(|number| number.parse().map(Duration::from_secs));
    millis.or(seconds).expect("ms or s").expect("a number")
}

//! The question for a person: its text, and the answers that the hook itself offers.

use hookwright_events::Event;
use serde_json::Value;

use super::rendered::Rendered;
use crate::actions::HookAttempt;
use crate::hook::{Body, Webhook};
use crate::ports::{NewWait, WaitKey};
use crate::template::{JsonTemplate, TextTemplate};

/// How an address offers an answer.
const OFFER: &str = "?action=";

/// The wait for this attempt's answer.
pub(super) fn wait(attempt: &HookAttempt, webhook: &Webhook, rendered: &Rendered) -> NewWait {
    let (event, hook) = (&attempt.event, &attempt.hook);
    // Everything here is stored and shown.
    let secrets = &attempt.surroundings.secrets;
    let hidden = |text: &str| secrets.hide(text).into_owned();
    let field = |name: &str| event.text(name).map(hidden);
    let paths = |name: &str| paths(event, name).map(hidden).collect();
    let session = Some(attempt.place.session.clone()).filter(|name| !name.is_empty());
    NewWait {
        key: key(attempt),
        session,
        hook: hook.id.clone(),
        event: event.name.to_string(),
        subject: event.subject().map(hidden),
        stage: field("stage"),
        iteration: event.data.get("iteration").and_then(Value::as_u64),
        pipeline: field("pipeline"),
        question: text(attempt, rendered),
        offered: offered(webhook),
        changed_files: paths("changed_files"),
        stage_outputs: paths("stage_outputs"),
        timeout: attempt.terms.timeout,
        port: webhook.callback_port,
        request: serde_json::to_value(rendered).unwrap_or_default(),
    }
}

/// The key by which the wait is found again; `None` if the firing is not resumable.
pub(super) fn key(attempt: &HookAttempt) -> Option<WaitKey> {
    let place = &attempt.place;
    place.is_kept.then(|| WaitKey {
        session: place.session.clone(),
        firing: place.firing.clone(),
        hook: attempt.hook.id.clone(),
        digest: attempt.hook.digest(),
    })
}

/// The question as people read it.
pub(super) fn text(attempt: &HookAttempt, rendered: &Rendered) -> String {
    let hook = &attempt.hook;
    let text = rendered.text().map(|text| without_address(&text));
    let text = text.filter(|text| !text.is_empty()).or_else(|| hook.description.clone());
    let text = text.unwrap_or_else(|| hook.id.clone());
    attempt.surroundings.secrets.hide(&text).into_owned()
}

/// Removes the address: readers of the question already have it, or must not see it.
fn without_address(text: &str) -> String {
    let is_address = |word: &&str| !word.contains("${CALLBACK_URL}");
    let lines = text.lines().map(|line| match line.contains("${CALLBACK_URL}") {
        true => line.split(' ').filter(is_address).collect::<Vec<_>>().join(" "),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n").trim().trim_end_matches(':').to_owned()
}

/// The words that the hook's own texts offer, normalised: lower case, each once.
fn offered(webhook: &Webhook) -> Vec<String> {
    let mut words = Vec::new();
    let mut add = |text: &str| {
        for rest in text.split(OFFER).skip(1) {
            let is_of_word = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
            let word = rest.chars().take_while(is_of_word).collect::<String>().to_lowercase();
            if !word.is_empty() && !words.contains(&word) {
                words.push(word);
            }
        }
    };
    webhook.url.iter().for_each(|url| add(url.source()));
    match &webhook.body {
        Body::Json(body) => texts(body, &mut add),
        Body::Event => {}
    }
    words
}

/// Every text of the body that can contain the address.
fn texts(body: &JsonTemplate, add: &mut dyn FnMut(&str)) {
    match body {
        JsonTemplate::Constant(_) => {}
        JsonTemplate::Text(text) => add(TextTemplate::source(text)),
        JsonTemplate::List(items) => items.iter().for_each(|item| texts(item, add)),
        JsonTemplate::Object(map) => map.iter().for_each(|(_, value)| texts(value, add)),
    }
}

fn paths<'e>(event: &'e Event, field: &str) -> Box<dyn Iterator<Item = &'e str> + 'e> {
    match event.data.get(field) {
        Some(Value::Array(items)) => Box::new(items.iter().filter_map(Value::as_str)),
        Some(Value::String(lines)) => Box::new(lines.lines()),
        _ => Box::new(std::iter::empty()),
    }
}

//! A set of hooks as text: the hooks and their policies.

use std::fmt::Write;

use hookwright_config::Loaded;
use hookwright_engine::hook::{Action, Hook};
use hookwright_engine::limits::RETRIES;
use hookwright_events::Power;

/// Every hook, a few lines each.
pub(crate) fn of(loaded: &Loaded) -> String {
    let mut text = String::new();
    for hook in loaded.hooks.hooks() {
        hook_lines(hook, &mut text);
    }
    text
}

fn hook_lines(hook: &Hook, text: &mut String) {
    let mut line = |what: std::fmt::Arguments<'_>| writeln!(text, "{what}").expect("a text");
    line(format_args!("{} ({})", hook.id, hook.source));
    let matcher = hook.matcher_text.as_ref().map_or(String::new(), |text| format!(" ~ {text}"));
    line(format_args!("  at    {}{matcher}", hook.event));
    line(format_args!("  wakes {}", hook.pattern.events().join(", ")));
    line(format_args!("  runs  {}: {}", hook.action.kind(), hook.action.summary()));
    match &hook.action {
        Action::Shell(shell) => {
            for (name, value) in &shell.env {
                line(format_args!("        env {name}={}", value.source()));
            }
            if let Some(folder) = &shell.working_dir {
                line(format_args!("        in {}", folder.display()));
            }
        }
        Action::Webhook(webhook) => {
            let method = webhook.method.as_deref().unwrap_or("POST, as always");
            line(format_args!("        method {method}"));
            for (name, value) in &webhook.headers {
                line(format_args!("        header {name}: {}", value.source()));
            }
            line(format_args!("        body {}", webhook.body.source()));
            if let Some(port) = webhook.callback_port {
                line(format_args!("        port {port}"));
            }
            line(format_args!("        sent up to {} times more", hook.retries.unwrap_or(RETRIES)));
            if let Some(then) = webhook.on_timeout {
                line(format_args!("        when no answer arrives in time: {}", then.as_str()));
            }
        }
        Action::Spawn(spawn) => line(format_args!("        inputs {}", spawn.inputs.source())),
        Action::GitCommit(_) | Action::GitPush(_) | Action::Callback(_) => {}
    }
    if let Some(when) = &hook.when {
        line(format_args!("  when  {}", when.source()));
    }
    let power = hook.pattern.points.first().map_or(Power::Observes, |point| point.event.power);
    let terms = hook.terms(power);
    line(format_args!(
        "  terms {}, timeout {:?}, on failure {}{}{}{}",
        if terms.awaited { "awaited" } else { "in the background" },
        terms.timeout,
        terms.on_failure.as_str(),
        if hook.pipe_output { ", pipes its output" } else { "" },
        if hook.once { ", once" } else { "" },
        if hook.enabled { "" } else { ", switched off" },
    ));
    let is_webhook = matches!(hook.action, Action::Webhook(_));
    if terms.retries > 0 && !is_webhook {
        let (retries, delay) = (terms.retries, terms.retry_delay);
        line(format_args!("  tries {retries} more times, {delay:?} apart"));
    }
    if hook.awaits == Some(true) && is_webhook {
        line(format_args!("  waits for a person"));
    }
    if let Some(description) = &hook.description {
        line(format_args!("  about {description}"));
    }
}

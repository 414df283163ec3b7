//! A set of hooks as text: what was read, and under which rules it runs.

use std::fmt::Write;

use hookwright_engine::config::Loaded;
use hookwright_engine::hook::{Action, Hook};
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
    if let Action::Shell(shell) = &hook.action {
        for (name, value) in &shell.env {
            line(format_args!("        env {name}={}", value.source()));
        }
        if let Some(folder) = &shell.working_dir {
            line(format_args!("        in {}", folder.display()));
        }
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
    if let Some(description) = &hook.description {
        line(format_args!("  about {description}"));
    }
}

//! `hookwright explain`: what would run at an event, and why, without running it.

use clap::Args;
use hookwright_config::{self as config, ConfigFile, Loaded};
use hookwright_engine::can_block;
use hookwright_engine::explain::{
    ExplainOptions, Explained, Fate, MissReason, explain as explain_hooks,
};
use hookwright_engine::hook::Terms;
use hookwright_events::Event;
use serde_json::{Value, json};

use super::event_data::{EventArguments, warn_of_unknown_keys};
use crate::chain_above::chain_above;
use crate::config_files::{ConfigFiles, ConfigOptions, process_environment};
use crate::configuration::runs_of_project;
use crate::error::{Failure, fault_json};
use crate::exit_code;
use crate::hook_switches::HookSwitches;
use crate::render::{Table, human};
use crate::screen::Screen;
use crate::text::{count, visible};

/// Show what would run at an event and why, without running anything
///
/// Lists the hooks that match, in the order in which they would run and with their rules, then the
/// others with the reason why they would not run. If a condition depends on the result of an
/// earlier hook, that hook is named. For every loop and pipeline of the project that has a matching
/// hook of its own, the same is shown for a run of it.
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    event: EventArguments,

    /// Print one JSON value on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    switches: HookSwitches,

    #[command(flatten)]
    options: ConfigOptions,
}

pub(crate) fn explain(arguments: &ExplainArguments, screen: &Screen) -> Result<u8, Failure> {
    let event = arguments.event.event(arguments.options.cwd.as_deref())?;
    warn_of_unknown_keys(&event, screen);
    let found = ConfigFiles::find(&arguments.options)?;
    let environment = process_environment();
    let (loaded, _) = found.load(&environment);
    arguments.switches.warn_of_unknown(&loaded.hooks, screen);
    let all_off = arguments.switches.all_off();
    let chain = chain_above();
    let skip = &arguments.switches.skip;
    let asked = ExplainOptions { skip, chain: &chain, environment: &environment };
    let hooks = explain_hooks(&loaded.hooks, &event, asked);
    let blocked_by = unreadable(&loaded, &event);
    let mut runs = Vec::new();
    let found = found.without_hooks_of_agents();
    for run in runs_of_project(&arguments.options)? {
        let files: Vec<ConfigFile> = std::iter::once(&run).chain(&found.files).cloned().collect();
        let of_run = config::load(&files, &environment);
        let fits = |explained: &Explained| {
            explained.hook.source.path.as_ref() == run.path && is_fitting(explained)
        };
        let hooks = explain_hooks(&of_run.hooks, &event, asked);
        let faults = of_run.faults.iter().filter(|fault| fault.source.path == run.shown_as).count();
        if faults > 0 || hooks.iter().any(fits) {
            runs.push(InRun { file: run.shown_as.display().to_string(), hooks, faults });
        }
    }
    if arguments.json {
        let faults: Vec<Value> = loaded.faults.iter().map(|fault| fault_json(fault)).collect();
        screen.json(&json!({
            "version": 1,
            "event": event.name,
            "subject": event.subject(),
            "can_block": can_block(&event),
            "switched_off": all_off,
            "hooks": hooks.iter().map(as_json).collect::<Vec<_>>(),
            "runs": runs.iter().map(run_json).collect::<Vec<_>>(),
            "blocked_by": blocked_by,
            "faults": faults,
            "left_out": loaded.left_out.iter().map(|fault| fault_json(fault)).collect::<Vec<_>>(),
        }))?;
    } else {
        screen.left_out(&loaded.left_out);
        screen.faults(loaded.faults.iter().map(AsRef::as_ref));
        let subject = event.subject().map(|subject| format!(" ({subject})")).unwrap_or_default();
        screen.result(&as_text(&format!("{}{subject}", event.name), &hooks))?;
        for InRun { file, hooks, faults } in &runs {
            if *faults > 0 {
                let faults = count(*faults, "fault");
                let text = format!(
                    "in runs of {file}: nothing, it has {faults}; run `hookwright check`\n"
                );
                screen.result(&visible(&text))?;
            } else {
                screen.result(&as_text(&format!("in runs of {file}"), hooks))?;
            }
        }
        for entry in &blocked_by {
            let line =
                format!("blocked: an entry cannot be read, and it may be a guard: {entry}\n");
            screen.result(&visible(&line))?;
        }
    }
    if let Some(why) = all_off {
        screen.talk(&format!("hooks are switched off ({why}): no hook would run\n"));
    }
    if loaded.faults.is_empty() {
        return Ok(exit_code::GO_ON);
    }
    screen.talk(if can_block(&event) {
        "with these faults nothing would run, and the event would be blocked\n"
    } else {
        "with these faults nothing would run\n"
    });
    Ok(exit_code::OUR_FAULT)
}

/// What would happen in a run of a loop or a pipeline with matching hooks of its own.
struct InRun {
    file: String,
    hooks: Vec<Explained>,
    /// With faults it does not run.
    faults: usize,
}

/// Unreadable entries of foreign files that block this event. With a fault in a native file nothing
/// runs anyway.
fn unreadable(loaded: &Loaded, event: &Event) -> Vec<String> {
    match loaded.faults.is_empty() && can_block(event) {
        true => loaded.hooks.broken_for(event).map(ToString::to_string).collect(),
        false => Vec::new(),
    }
}

fn is_fitting(explained: &Explained) -> bool {
    !matches!(explained.fate, Fate::Missed { .. })
}

fn as_text(heading: &str, hooks: &[Explained]) -> String {
    let mut table = Table::default().with_outcomes_in(2);
    let (fitting, others): (Vec<&Explained>, Vec<&Explained>) =
        hooks.iter().partition(|explained| is_fitting(explained));
    for (number, explained) in fitting.iter().chain(&others).enumerate() {
        let (word, why) = in_words(&explained.fate);
        let number = if number < fitting.len() { (number + 1).to_string() } else { "-".to_owned() };
        let source = explained.hook.source.to_string();
        table.row([number.as_str(), &explained.hook.id, word, &why, &source]);
    }
    let heading = format!("{heading}: {} of {}\n", fitting.len(), count(hooks.len(), "hook"));
    format!("{}{table}", visible(&heading))
}

fn in_words(fate: &Fate) -> (&'static str, String) {
    match fate {
        Fate::Runs { terms } => ("runs", rules(terms)),
        Fate::Depends { terms, on } => {
            ("depends", format!("on the result of {on}; {}", rules(terms)))
        }
        Fate::Skipped { reason } => ("skipped", reason.clone()),
        Fate::Fails { terms, reason } => {
            ("fails", format!("cannot start: {reason}; {}", rules(terms)))
        }
        Fate::Missed { why } => ("no", why_missed(why)),
    }
}

fn why_missed(why: &MissReason) -> String {
    match why {
        MissReason::Event => "listens to another event".into(),
        MissReason::Subject { subject: Some(subject) } => {
            format!("matches other subjects than `{subject}`")
        }
        MissReason::Subject { subject: None } => {
            "matches a subject, but this event has none".into()
        }
        MissReason::Reason { only } => format!("runs only for the reasons {}", only.join(" and ")),
        MissReason::GlobalDisabled => {
            "global hooks are switched off here (disable_global_hooks)".into()
        }
    }
}

fn rules(terms: &Terms) -> String {
    let timeout = human::duration(terms.timeout.as_secs_f64() * 1000.0);
    let waits = if terms.awaited { "awaited" } else { "in the background" };
    let retries = match terms.retries {
        0 => String::new(),
        retries => format!(", {retries} retries"),
    };
    format!("{waits}, at most {timeout}{retries}, on failure {}", terms.on_failure.as_str())
}

fn run_json(run: &InRun) -> Value {
    let hooks: Vec<Value> = run.hooks.iter().map(as_json).collect();
    json!({ "file": run.file, "faults": run.faults, "hooks": hooks })
}

fn as_json(explained: &Explained) -> Value {
    let (word, why) = in_words(&explained.fate);
    let terms = match &explained.fate {
        Fate::Runs { terms } | Fate::Depends { terms, .. } | Fate::Fails { terms, .. } => json!({
            "await": terms.awaited,
            "timeout_ms": terms.timeout.as_millis(),
            "retries": terms.retries,
            "on_failure": terms.on_failure.as_str(),
        }),
        Fate::Skipped { .. } | Fate::Missed { .. } => Value::Null,
    };
    let depends_on = match &explained.fate {
        Fate::Depends { on, .. } => Some(on),
        _ => None,
    };
    json!({
        "id": explained.hook.id,
        "source": explained.hook.source.to_string(),
        "fate": word,
        "why": why,
        "depends_on": depends_on,
        "terms": terms,
    })
}

//! The texts of a timeline, for iterations, hooks, pauses and answers.

use hookwright_events::{PauseCause, TurnResult, Usage, WorkItem};
use hookwright_pipeline::timeline::{HookRun, Iteration, IterationState, TimelineEvent};

use super::page::{TimelinePage, WORDS_MAX, Words};
use crate::render::human;
use crate::text::{Paint, count, local, one_line, visible};

/// Columns beside a hook's id in its line: event, status, duration.
const BESIDE_ID: usize = 20 + 2 + 2 + 9 + 2 + 7;

/// Characters of a call's tool and of what it does.
const CALL_MAX: usize = 60;

/// One iteration in a line.
pub(super) fn of_iteration(
    page: TimelinePage,
    branch: &str,
    trunk: &str,
    one: &Iteration,
) -> String {
    let name = match one.iteration {
        0 => "final delivery".to_owned(),
        number if one.is_final => format!("iteration {number}, final delivery"),
        number => format!("iteration {number}"),
    };
    let attempt = match one.attempt {
        0 | 1 => String::new(),
        attempt => format!(" (attempt {attempt})"),
    };
    let state = match one.state {
        IterationState::NotStarted => "the agent was not started".to_owned(),
        IterationState::Running => match &one.agent {
            Some(agent) => format!("agent {} works", one_line(agent, WORDS_MAX)),
            None => "the agent works".to_owned(),
        },
        IterationState::CutOff => "cut off".to_owned(),
        IterationState::Ended => ended(one),
    };
    let what = format!("{name}{attempt}: {state}");
    let said = one.result.as_ref().map_or("", said);
    match one.result.as_ref().and_then(|result| result.usage) {
        Some(usage) if said.is_empty() => {
            page.line(branch, trunk, &what, Words::after_comma(&human::usage(usage)))
        }
        Some(usage) => {
            let words = format!("{}: {}", human::usage(usage), said.trim());
            page.line(branch, trunk, &what, Words::after_comma(&words))
        }
        None => page.line(branch, trunk, &what, Words::after_colon(said)),
    }
}

fn ended(iteration: &Iteration) -> String {
    let Some(result) = &iteration.result else { return "ended".to_owned() };
    let took = iteration.duration_ms.map(human::duration).unwrap_or_default();
    let agent = result.agent.as_deref().map(|agent| format!(" by {}", one_line(agent, WORDS_MAX)));
    let changed = match result.changed_files.len() {
        0 => String::new(),
        number => format!(", {} changed", count(number, "file")),
    };
    let (paint, decision) = (Paint::of_results(), visible(&result.decision));
    let (decision, failed) = match iteration.failed_hooks() {
        0 => (paint.outcome(&decision), String::new()),
        number => {
            let failed = format!("{} failed", count(number, "hook"));
            (decision.into_owned(), format!(", {}", paint.wrong(&failed)))
        }
    };
    format!("{decision}, {took}{}{changed}{failed}", agent.unwrap_or_default())
}

/// The agent's summary of its turn, or why it failed.
fn said(result: &TurnResult) -> &str {
    match &result.error {
        Some(error) => error,
        None if result.summary.is_empty() => &result.reason,
        None => &result.summary,
    }
}

/// `, 1.2k tokens, $0.04`, or empty.
pub(super) fn used(usage: Option<Usage>) -> String {
    usage.map(|usage| format!(", {}", human::usage(usage))).unwrap_or_default()
}

/// `issue 3: Parser`, or the text of a line.
pub(super) fn of_item(item: &WorkItem) -> String {
    let (name, title) = (one_line(&item.name(), WORDS_MAX), one_line(&item.title, WORDS_MAX));
    if name == title { title } else { format!("{name}: {title}") }
}

/// One deed in a line, or in two on a narrow page.
pub(super) fn of_deed(page: TimelinePage, trunk: &str, deed: &TimelineEvent) -> String {
    let line = |what: &str, words: Words<'_>| page.line(trunk, trunk, what, words);
    match deed {
        TimelineEvent::Hook(run) => of_hook(page, trunk, run),
        TimelineEvent::Decision { event, verdict, reason } => {
            line(&format!("{event:<20}  decision: {verdict}"), Words::after_colon(reason))
        }
        TimelineEvent::Question { hook, question, state, message, by, duration_ms, .. } => {
            let (id, _) = page.id(trunk, hook, BESIDE_ID);
            let mut what = format!("asked by {id}: {}", state.as_str());
            if let Some(by) = by {
                what.push_str(&format!(" by {}", one_line(by, WORDS_MAX)));
            }
            if let Some(took) = duration_ms {
                what.push_str(&format!(" after {}", human::duration(*took)));
            }
            let mut text = line(&what, Words::after_colon(question));
            if let Some(message) = message {
                text.push_str(&line("  with the message", Words::after_colon(message)));
            }
            text
        }
        TimelineEvent::Child { event, session, pipeline, .. } => {
            let pipeline = one_line(pipeline, WORDS_MAX);
            line(&format!("{event:<20}  {pipeline} as session {}", visible(session)), Words::NONE)
        }
        TimelineEvent::GivenUp { agent, cause, reason, duration_ms } => {
            let (agent, cause) = (one_line(agent, WORDS_MAX), cause.as_str().replace('_', " "));
            let took = human::duration(*duration_ms);
            line(&format!("{agent} could not work ({cause}), {took}"), Words::after_colon(reason))
        }
        TimelineEvent::AgentChanged { from, to, reason } => {
            let (from, to) = (one_line(from, WORDS_MAX), one_line(to, WORDS_MAX));
            line(&format!("{to} takes over from {from}"), Words::after_colon(reason))
        }
        TimelineEvent::Call { tool, what, status, reason, duration_ms } => {
            let took = duration_ms.map(human::duration).unwrap_or_default();
            let status = Paint::of_results().outcome(&format!("{:<9}", status.replace('_', " ")));
            let what = one_line(what, CALL_MAX);
            let words = one_line(reason.as_deref().unwrap_or_default(), WORDS_MAX);
            let what = format!("{:<20}  {what}  {status}  {took:>7}", one_line(tool, CALL_MAX));
            line(what.trim_end(), Words::in_column(&words))
        }
        TimelineEvent::CallQuestion { tool, what, allowed, words } => {
            let answer = match allowed {
                Some(true) => "allowed",
                Some(false) => "not allowed",
                None => "no answer",
            };
            let (tool, what) = (one_line(tool, CALL_MAX), one_line(what, CALL_MAX));
            let words = words.as_deref().unwrap_or_default();
            let what = format!("{tool:<20}  the user was asked: {what}: {answer}");
            line(&what, Words::after_colon(words))
        }
        TimelineEvent::RequestFailed { attempt, error, duration_ms } => {
            let took = human::duration(*duration_ms);
            let what = format!("{:<20}  attempt {attempt} failed, {took}", "model");
            line(&what, Words::after_colon(error))
        }
        TimelineEvent::Pause { cause, reason, until, duration_ms, .. } => {
            let (cause, long) = (of_cause(*cause), duration_ms.map(human::duration));
            let what = match (long, until) {
                (Some(long), _) => format!("paused ({cause}) for {long}"),
                (None, Some(until)) => format!("paused ({cause}) until {}", local(until)),
                (None, None) => format!("paused ({cause})"),
            };
            line(&what, Words::after_colon(reason))
        }
        TimelineEvent::Note { note } => line("note", Words::note(note)),
    }
}

/// A hook's run, with the last lines that it printed.
fn of_hook(page: TimelinePage, trunk: &str, run: &HookRun) -> String {
    let line = |what: &str, words: Words<'_>| page.line(trunk, trunk, what, words);
    let (id, most) = page.id(trunk, &run.hook, BESIDE_ID);
    let took = run.duration_ms.map(human::duration).unwrap_or_default();
    let mut words = one_line(run.reason.as_deref().unwrap_or_default(), WORDS_MAX);
    if run.attempts > 1 {
        words.push_str(&format!("  ({} attempts)", run.attempts));
    }
    if let Some(number) = run.of_iteration {
        words.push_str(&format!("  (of iteration {number})"));
    }
    let status = Paint::of_results().outcome(&format!("{:<9}", run.status.replace('_', " ")));
    let what = format!("{:<20}  {id:<most$}  {status}  {took:>7}", run.event);
    let mut text = line(&what, Words::in_column(words.trim_start()));
    for printed in &run.last_lines {
        text.push_str(&line(&format!("    {}", visible(printed)), Words::NONE));
    }
    text
}

/// Why a session waits, in a word or two.
fn of_cause(cause: PauseCause) -> &'static str {
    match cause {
        PauseCause::RateLimit => "rate limit",
        PauseCause::Quota => "quota",
        PauseCause::Outage => "outage",
        PauseCause::Cost => "cost",
        PauseCause::Person => "a person",
    }
}

//! What a session waits for, in words.

use hookwright_events::PauseCause;
use hookwright_pipeline::session_state::RunningHook;
use hookwright_server::approvals::iso;

use crate::session_waits::{SessionWait, answers};
use crate::text::{Paint, count, local, one_line, visible};
use crate::view::drawing::span;

/// Lines per session; `--json` has all.
const LINES_MAX: usize = 8;

/// Characters of a reason or a question.
const WORDS_MAX: usize = 120;

/// A line for each wait, with the name of its session.
pub(super) fn lines(waits: &[(String, SessionWait)], now_ms: i64) -> String {
    let shown = &waits[..waits.len().min(LINES_MAX)];
    let mut text = String::new();
    for (session, wait) in shown {
        let is_other = |(of, other): &(String, SessionWait)| {
            of == session && !matches!(other, SessionWait::Hook(hook) if !hook.awaited)
        };
        // Background hooks are shown only if the session waits for nothing else.
        let is_idle = !waits.iter().any(is_other);
        text.push_str(&line(&visible(session), wait, is_idle, now_ms));
    }
    if waits.len() > shown.len() {
        let more = count(waits.len() - shown.len(), "wait");
        text.push_str(&format!("  and {more} more; `--json` shows all\n"));
    }
    text
}

fn line(session: &str, wait: &SessionWait, is_idle: bool, now_ms: i64) -> String {
    let waits = Paint::of_results().odd("waits");
    match wait {
        SessionWait::Answer(wait) => {
            let (hook, left) = (visible(&wait.hook), span(wait.until_ms - now_ms));
            let question = one_line(&wait.question, WORDS_MAX);
            let answers = answers(wait).join(", or ");
            format!(
                "  {session} {waits} for an answer to hook {hook} ({left} left): {question}\n    {answers}\n"
            )
        }
        SessionWait::Pause { cause, reason, until_ms } => {
            let until = until_ms.map(|until| format!(" until {}", local(&iso(until))));
            let cause = cause.map(|cause| format!(" ({})", cause_in_words(cause)));
            let (until, cause) = (until.unwrap_or_default(), cause.unwrap_or_default());
            format!("  {session} {waits}{until}{cause}: {}\n", one_line(reason, WORDS_MAX))
        }
        SessionWait::TaskLock { task, pid } => {
            format!("  {session} {waits} for process {pid}, which is completing task {task}\n")
        }
        SessionWait::Hook(hook) if hook.awaited || is_idle => {
            format!("  {session} {waits} for {}\n", hook_in_words(hook, now_ms))
        }
        SessionWait::Hook(hook) => format!("  {session} runs {}\n", hook_in_words(hook, now_ms)),
        SessionWait::Agent(agent) => {
            let took = span(now_ms - agent.since_ms());
            format!(
                "  {session} {waits} for agent {} ({took})\n",
                visible(agent.name.as_deref().unwrap_or_default())
            )
        }
    }
}

/// `hook tests at iteration:complete, in the background (35s), attempt 2 in 4s: exit code 1`
fn hook_in_words(hook: &RunningHook, now_ms: i64) -> String {
    let mut words = format!("hook {}", visible(&hook.id));
    if let Some(event) = &hook.event {
        words.push_str(&format!(" at {}", visible(event.as_str())));
    }
    if !hook.awaited {
        words.push_str(", in the background");
    }
    words.push_str(&format!(" ({})", span(now_ms - hook.since_ms())));
    if let Some(child) = &hook.child {
        words.push_str(&format!(", session {}", visible(child)));
    }
    match &hook.retry {
        Some(retry) => {
            let (attempt, reason) = (hook.attempt, one_line(&retry.reason, WORDS_MAX));
            let wait = span(retry.at_ms() - now_ms);
            words.push_str(&format!(", attempt {attempt} in {wait}: {reason}"));
        }
        None if hook.attempt > 1 => words.push_str(&format!(", attempt {}", hook.attempt)),
        None => {}
    }
    words
}

fn cause_in_words(cause: PauseCause) -> &'static str {
    match cause {
        PauseCause::RateLimit => "rate limit",
        PauseCause::Quota => "out of quota",
        PauseCause::Outage => "outage",
        PauseCause::Cost => "max_cost",
        PauseCause::Person => "paused by a person",
    }
}

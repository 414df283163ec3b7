//! One iteration: its result in a line, and below it the agent and the hooks as bars.

use hookwright_pipeline::timeline::{Iteration, IterationState, TimelineEvent};
use maud::{Markup, html};

use super::timeline::TimelineDrawing;
use super::words::{StateMark, bar, duration, moment, shortened, since, used_in_full};
use crate::limits;
use crate::page::parts::count;

/// Changed files that are listed.
const PATHS_SHOWN_MAX: usize = 12;

impl TimelineDrawing<'_> {
    pub(super) fn iteration(
        &self,
        id: &str,
        iteration: &Iteration,
        reports: &[Option<u64>],
        is_unfolded: bool,
    ) -> Markup {
        let mark = mark_of(iteration);
        let result = iteration.result.as_ref();
        let whole = whole_in(iteration);
        html! {
            details id={ (id) "-more" } open[is_unfolded || iteration.is_trouble()] {
                summary {
                    (mark.sign())
                    span.what { (name_of(iteration)) }
                    span.says { (in_short(iteration)) }
                    @match iteration.duration_ms {
                        Some(took) => { (bar(took, self.whole, mark)) span.took { (duration(took)) } }
                        None => {
                            span.bar {}
                            @if iteration.state == IterationState::Running { span.took { (since(&iteration.at)) } }
                            @else { span.took {} }
                        }
                    }
                }
                div.inside {
                    p.quiet {
                        "began " (moment(&iteration.at))
                        @if let Some(agent) = result.and_then(|result| result.agent.as_ref()).or(iteration.agent.as_ref()) {
                            " · " (shortened(agent))
                        }
                        @if let Some(used) = used_in_full(result.and_then(|result| result.usage)) { " · " (used) }
                        @if iteration.attempt > 0 { " · " a href=(self.turn_path(iteration)) { "prompt and output of the agent" } }
                    }
                    @if let Some(result) = result {
                        @if let Some(error) = &result.error { p.why { (shortened(error)) } }
                        @if !result.reason.is_empty() { p { (shortened(&result.reason)) } }
                        (paths(&result.changed_files))
                    }
                    @if let (Some(whole), Some(took)) = (whole, iteration.duration_ms) {
                        @let agent = mark_of_agent(iteration);
                        div.deed { (agent.sign()) span.event { "agent" } span.what { (word_of(iteration)) }
                            (bar(took, whole, agent)) span.took { (duration(took)) } }
                    }
                    @for (deed, report) in iteration.deeds.iter().zip(reports).take(limits::DEEDS_SHOWN_MAX) {
                        (self.deed(deed, *report, whole))
                    }
                    @if let Some(more) = deeds_not_shown(iteration) {
                        p.quiet {
                            "and " (more) " more: "
                            code { "hookwright sessions show " (self.story.session.record.name) " --all" }
                        }
                    }
                }
            }
        }
    }
}

impl TimelineDrawing<'_> {
    fn turn_path(&self, iteration: &Iteration) -> String {
        let record = &self.story.session.record;
        let query = self.context.query(record.project(), None);
        let Iteration { stage, iteration, .. } = iteration;
        format!("/sessions/{}/turns/{stage}-{iteration}{query}", record.name)
    }
}

/// How many hooks, decisions and notes of an iteration are left out, if any.
fn deeds_not_shown(iteration: &Iteration) -> Option<u64> {
    let more = iteration.deeds.len().saturating_sub(limits::DEEDS_SHOWN_MAX) as u64;
    Some(more + iteration.deeds_left_out).filter(|more| *more > 0)
}

/// How an iteration went, its hooks included.
fn mark_of(iteration: &Iteration) -> StateMark {
    match mark_of_agent(iteration) {
        StateMark::Good if iteration.failed_hooks() > 0 => StateMark::Warn,
        mark => mark,
    }
}

/// How the agent's turn went.
fn mark_of_agent(iteration: &Iteration) -> StateMark {
    match iteration.state {
        IterationState::Running => StateMark::Runs,
        IterationState::NotStarted | IterationState::CutOff => StateMark::Warn,
        IterationState::Ended => {
            let failed = iteration.result.as_ref().is_some_and(|result| result.error.is_some());
            if failed { StateMark::Bad } else { StateMark::Good }
        }
    }
}

fn name_of(iteration: &Iteration) -> String {
    let name = match iteration.iteration {
        0 => "Final delivery".to_owned(),
        number if iteration.is_final => format!("Iteration {number}, final delivery"),
        number => format!("Iteration {number}"),
    };
    if iteration.attempt > 1 { format!("{name}, attempt {}", iteration.attempt) } else { name }
}

/// An iteration's status in one word.
fn word_of(iteration: &Iteration) -> String {
    match iteration.state {
        IterationState::NotStarted => "the agent was not started".to_owned(),
        IterationState::Running => match &iteration.agent {
            Some(agent) => format!("agent {} works", shortened(agent)),
            None => "the agent works".to_owned(),
        },
        IterationState::CutOff => "cut off".to_owned(),
        IterationState::Ended => match &iteration.result {
            Some(result) => shortened(&result.decision),
            None => "ended".to_owned(),
        },
    }
}

/// An iteration's result in one line.
fn in_short(iteration: &Iteration) -> String {
    let Some(result) = &iteration.result else { return word_of(iteration) };
    let words = match &result.error {
        Some(error) => error,
        None if result.summary.is_empty() => &result.decision,
        None => &result.summary,
    };
    let first = words.trim().lines().next().unwrap_or_default();
    let changed = match result.changed_files.len() {
        0 => String::new(),
        number => format!(" · {} changed", count(number, "file")),
    };
    let failed = match iteration.failed_hooks() {
        0 => String::new(),
        number => format!("{} failed · ", count(number, "hook")),
    };
    // A long line is cut at its end, so the failure, which matters most, comes first.
    format!("{failed}{}{changed}", shortened(first))
}

/// Length of a full bar in an iteration: the longest of agent and hooks.
fn whole_in(iteration: &Iteration) -> Option<f64> {
    let hooks = iteration.deeds.iter().filter_map(|deed| match deed {
        TimelineEvent::Hook(run) => run.duration_ms,
        _ => None,
    });
    let longest = hooks.chain(iteration.duration_ms).fold(0.0, f64::max);
    (longest > 0.0).then_some(longest)
}

fn paths(changed: &[String]) -> Markup {
    html! {
        @if !changed.is_empty() {
            ul.paths {
                @for path in changed.iter().take(PATHS_SHOWN_MAX) { li { (shortened(path)) } }
                @if changed.len() > PATHS_SHOWN_MAX {
                    li.quiet { "and " (changed.len() - PATHS_SHOWN_MAX) " more" }
                }
            }
        }
    }
}

//! What happened: hooks, decisions, questions, children, pauses, notes.

use hookwright_events::visible_text::visible;
use hookwright_pipeline::timeline::{HookRun, QuestionState, TimelineEvent};
use maud::{Markup, html};

use super::timeline::TimelineDrawing;
use super::words::{StateMark, bar, duration, moment, shortened, since, spaced, status_text};

impl TimelineDrawing<'_> {
    pub(super) fn deed(
        &self,
        deed: &TimelineEvent,
        report: Option<u64>,
        whole: Option<f64>,
    ) -> Markup {
        match deed {
            TimelineEvent::Hook(run) => self.hook(run, report, whole),
            TimelineEvent::Decision { event, verdict, reason } => line(
                StateMark::Warn,
                event,
                html! {
                    "decision: " strong { (verdict) }
                    @if !reason.is_empty() { ": " (shortened(reason)) }
                },
            ),
            TimelineEvent::Question { .. } => question(deed),
            TimelineEvent::Child { event, hook, session, pipeline } => {
                self.child(event, hook, session, pipeline)
            }
            TimelineEvent::GivenUp { agent, cause, reason, duration_ms } => line(
                StateMark::Warn,
                "agent",
                html! {
                    (shortened(agent)) " could not work (" (spaced(cause.as_str())) "): " (shortened(reason))
                    span.quiet { " · " (duration(*duration_ms)) }
                },
            ),
            TimelineEvent::AgentChanged { from, to, reason } => line(
                StateMark::Warn,
                "agent",
                html! { (shortened(to)) " took over from " (shortened(from)) ": " (shortened(reason)) },
            ),
            TimelineEvent::Call { tool, what, status, reason, duration_ms } => line(
                StateMark::of_call(status),
                tool,
                html! {
                    (shortened(what)) " " strong { (spaced(status)) }
                    @if let Some(took) = duration_ms { span.quiet { " · " (duration(*took)) } }
                    @if let Some(reason) = reason { p.reason { (shortened(reason)) } }
                },
            ),
            TimelineEvent::CallQuestion { tool, what, allowed, words } => line(
                match allowed {
                    Some(true) => StateMark::Good,
                    Some(false) => StateMark::Warn,
                    None => StateMark::Waits,
                },
                tool,
                html! {
                    "the user was asked: " (shortened(what)) " "
                    strong { (match allowed {
                        Some(true) => "allowed",
                        Some(false) => "not allowed",
                        None => "no answer",
                    }) }
                    @if let Some(words) = words { p.reason { (shortened(words)) } }
                },
            ),
            TimelineEvent::RequestFailed { attempt, error, duration_ms } => line(
                StateMark::Warn,
                "model",
                html! {
                    "attempt " (attempt) " failed: " (shortened(error))
                    span.quiet { " · " (duration(*duration_ms)) }
                },
            ),
            TimelineEvent::Pause { at, reason, until, duration_ms, .. } => line(
                StateMark::Waits,
                "pause",
                html! {
                    (shortened(reason))
                    @match duration_ms {
                        Some(took) => span.quiet { " · " (duration(*took)) },
                        None => { " " (since(at)) @if let Some(until) = until { ", until " (moment(until)) } }
                    }
                },
            ),
            TimelineEvent::Note { note } => {
                line(StateMark::Quiet, "note", html! { (shortened(note)) })
            }
        }
    }

    fn hook(&self, run: &HookRun, report: Option<u64>, whole: Option<f64>) -> Markup {
        let HookRun { at, event, hook, status, reason, attempts, duration_ms, .. } = run;
        let mark = StateMark::of_hook(status);
        html! {
            div.deed {
                (mark.sign())
                span.event { (shortened(event)) }
                span.what {
                    @match report {
                        Some(report) => a href=(self.report_path(report)) { (shortened(hook)) },
                        None => (shortened(hook)),
                    }
                    " " span class={ "status " (mark.class()) } { (spaced(status)) }
                    @if *attempts > 1 { span.quiet { " · " (attempts) " attempts" } }
                    @if let Some(of) = run.of_iteration { span.quiet { " · of iteration " (of) } }
                }
                @match (duration_ms, whole) {
                    (Some(took), Some(whole)) => (bar(*took, whole, mark)),
                    _ => span.bar {},
                }
                span.took {
                    @match (duration_ms, at) {
                        (Some(took), _) => (duration(*took)),
                        (None, Some(at)) if *status == "running" => (since(at)),
                        _ => "",
                    }
                }
                @if let Some(reason) = reason { p.reason { (shortened(reason)) } }
                @if !run.last_lines.is_empty() {
                    pre.excerpt tabindex="0" { (visible(&run.last_lines.join("\n"))) }
                }
            }
        }
    }

    /// A session that a hook started, with its current status.
    fn child(&self, event: &str, hook: &str, name: &str, pipeline: &str) -> Markup {
        let path = self.context.session_path(name, self.story.session.record.project());
        let child = self.story.children.get(name);
        let mark = child.map_or(StateMark::Quiet, |child| StateMark::of_session(child.status));
        let took = child.and_then(|child| child.record.metadata.total_duration);
        line(
            mark,
            event,
            html! {
                (shortened(hook)) " started " a href=(path) { (shortened(name)) } " · " (shortened(pipeline)) " "
                @if let Some(child) = child {
                    span class={ "status " (mark.class()) } { (status_text(child.status)) }
                }
                @if let Some(took) = took { span.quiet { " · " (duration(took as f64)) } }
            },
        )
    }

    fn report_path(&self, sequence: u64) -> String {
        let record = &self.story.session.record;
        let query = self.context.query(record.project(), None);
        format!("/sessions/{}/reports/{sequence}{query}", record.name)
    }
}

/// A question to a person, and its result.
fn question(deed: &TimelineEvent) -> Markup {
    let TimelineEvent::Question {
        event,
        hook,
        question,
        since: at,
        state,
        action,
        message,
        by,
        duration_ms,
        ..
    } = deed
    else {
        return html! {};
    };
    let mark = match state {
        QuestionState::Approved => StateMark::Good,
        QuestionState::Waiting => StateMark::Waits,
        _ => StateMark::Warn,
    };
    line(
        mark,
        event,
        html! {
            (shortened(hook)) " asked: " (shortened(question)) " "
            strong { (answer_of(*state)) }
            @if let Some(action) = action { " with " (shortened(action)) }
            @if let Some(by) = by { " by " (shortened(by)) }
            @if let Some(took) = duration_ms { span.quiet { " after " (duration(*took)) } }
            @if *state == QuestionState::Waiting { " " (since(at)) }
            @if let Some(message) = message { p.reason { (shortened(message)) } }
        },
    )
}

/// A line of text with its mark.
fn line(mark: StateMark, event: &str, words: Markup) -> Markup {
    html! { div.deed.words { (mark.sign()) span.event { (shortened(event)) } div.what { (words) } } }
}

fn answer_of(state: QuestionState) -> &'static str {
    match state {
        QuestionState::Waiting => "no answer yet",
        QuestionState::Approved => "approved",
        QuestionState::Rejected => "rejected",
        QuestionState::Unanswered => "no answer in time",
        QuestionState::CutOff => "cut off",
        QuestionState::Withdrawn => "withdrawn",
    }
}

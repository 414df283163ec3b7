//! What happened: hooks, decisions, questions, children, pauses, notes.

use hookwright_events::visible_text::visible;
use hookwright_pipeline::timeline::{Deed, HookRun, QuestionState};
use maud::{Markup, html};

use super::timeline::TimelineDrawing;
use super::words::{StateMark, bar, duration, moment, said, since, status_text, word};

impl TimelineDrawing<'_> {
    pub(super) fn deed(&self, deed: &Deed, report: Option<u64>, whole: Option<f64>) -> Markup {
        match deed {
            Deed::Hook(run) => self.hook(run, report, whole),
            Deed::Decision { event, verdict, reason } => told(
                StateMark::Warn,
                event,
                html! {
                    "decision: " strong { (verdict) }
                    @if !reason.is_empty() { ": " (said(reason)) }
                },
            ),
            Deed::Question { .. } => question(deed),
            Deed::Child { event, hook, session, pipeline } => {
                self.child(event, hook, session, pipeline)
            }
            Deed::GivenUp { agent, cause, reason, duration_ms } => told(
                StateMark::Warn,
                "agent",
                html! {
                    (said(agent)) " could not work (" (word(cause.as_str())) "): " (said(reason))
                    span.quiet { " · " (duration(*duration_ms)) }
                },
            ),
            Deed::AgentChanged { from, to, reason } => told(
                StateMark::Warn,
                "agent",
                html! { (said(to)) " took over from " (said(from)) ": " (said(reason)) },
            ),
            Deed::Call { tool, what, status, reason, duration_ms } => told(
                StateMark::of_call(status),
                tool,
                html! {
                    (said(what)) " " strong { (word(status)) }
                    @if let Some(took) = duration_ms { span.quiet { " · " (duration(*took)) } }
                    @if let Some(reason) = reason { p.reason { (said(reason)) } }
                },
            ),
            Deed::CallQuestion { tool, what, allowed, words } => told(
                match allowed {
                    Some(true) => StateMark::Good,
                    Some(false) => StateMark::Warn,
                    None => StateMark::Waits,
                },
                tool,
                html! {
                    "the user was asked: " (said(what)) " "
                    strong { (match allowed {
                        Some(true) => "allowed",
                        Some(false) => "not allowed",
                        None => "no answer",
                    }) }
                    @if let Some(words) = words { p.reason { (said(words)) } }
                },
            ),
            Deed::RequestFailed { attempt, error, duration_ms } => told(
                StateMark::Warn,
                "model",
                html! {
                    "attempt " (attempt) " failed: " (said(error))
                    span.quiet { " · " (duration(*duration_ms)) }
                },
            ),
            Deed::Pause { at, reason, until, duration_ms, .. } => told(
                StateMark::Waits,
                "pause",
                html! {
                    (said(reason))
                    @match duration_ms {
                        Some(took) => span.quiet { " · " (duration(*took)) },
                        None => { " " (since(at)) @if let Some(until) = until { ", until " (moment(until)) } }
                    }
                },
            ),
            Deed::Note { note } => told(StateMark::Quiet, "note", html! { (said(note)) }),
        }
    }

    fn hook(&self, run: &HookRun, report: Option<u64>, whole: Option<f64>) -> Markup {
        let HookRun { at, event, hook, status, reason, attempts, duration_ms, .. } = run;
        let mark = StateMark::of_hook(status);
        html! {
            div.deed {
                (mark.sign())
                span.event { (said(event)) }
                span.what {
                    @match report {
                        Some(report) => a href=(self.report_path(report)) { (said(hook)) },
                        None => (said(hook)),
                    }
                    " " span class={ "status " (mark.class()) } { (word(status)) }
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
                @if let Some(reason) = reason { p.reason { (said(reason)) } }
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
        told(
            mark,
            event,
            html! {
                (said(hook)) " started " a href=(path) { (said(name)) } " · " (said(pipeline)) " "
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
fn question(deed: &Deed) -> Markup {
    let Deed::Question {
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
    told(
        mark,
        event,
        html! {
            (said(hook)) " asked: " (said(question)) " "
            strong { (answer_of(*state)) }
            @if let Some(action) = action { " with " (said(action)) }
            @if let Some(by) = by { " by " (said(by)) }
            @if let Some(took) = duration_ms { span.quiet { " after " (duration(*took)) } }
            @if *state == QuestionState::Waiting { " " (since(at)) }
            @if let Some(message) = message { p.reason { (said(message)) } }
        },
    )
}

/// A line of text with its mark.
fn told(mark: StateMark, event: &str, words: Markup) -> Markup {
    html! { div.deed.words { (mark.sign()) span.event { (said(event)) } div.what { (words) } } }
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

//! All sessions, newest first.

use hookwright_events::SessionStatus;
use hookwright_events::Usage;
use hookwright_pipeline::trace::TraceKey;
use hookwright_store::RecordPosition;
use maud::{Markup, html};

use super::super::regions::{Fragment, Region};
use super::super::{Overview, SeenSession};
use super::question;
use super::words::{StateMark, duration, moment, shortened, since, status_text, used};
use super::{PageContext, element};
use crate::page::parts::count;

/// The regions that are kept up to date.
pub(crate) fn regions(seen: &Overview, context: &PageContext<'_>) -> Vec<Region> {
    let questions = question::region(&seen.questions, context, question::QuestionPage::Overview);
    let mut sessions: Vec<Fragment> =
        seen.sessions.iter().map(|session| row(session, context)).collect();
    if sessions.is_empty() {
        let html = html! {
            li #none .none {
                "No sessions yet. " code { "hookwright run FILE" } " starts one, and it appears here."
            }
        };
        sessions.push(Fragment::new("none", html));
    }
    vec![questions, Region { name: "sessions", fragments: sessions }]
}

pub(super) fn content(
    regions: &[Region],
    seen: &Overview,
    before: Option<RecordPosition>,
) -> Markup {
    html! {
        h1 { "Sessions" }
        section #questions aria-label="Questions for you" aria-live="polite" {
            (element(regions, "questions"))
        }
        ol #sessions { (element(regions, "sessions")) }
        nav.pages aria-label="Pages" {
            @if before.is_some() { a href="/" { "Newest" } }
            @if let (true, Some(last)) = (seen.are_more, seen.sessions.last()) {
                @let RecordPosition { created_at_ms, inserted } = last.place;
                a href={ "/?before=" (created_at_ms) "-" (inserted) } { "Older sessions" }
            }
        }
    }
}

fn row(session: &SeenSession, context: &PageContext<'_>) -> Fragment {
    let SeenSession { record, status, process, place, .. } = session;
    let mark = StateMark::of_session(*status);
    let id = format!("session-{}-{}", place.created_at_ms, place.inserted);
    let stage = record.stages.get((record.stage as usize).wrapping_sub(1));
    let took = record.metadata.total_duration.filter(|_| *status != SessionStatus::CutOff);
    let html = html! {
        li.session id=(id) {
            (mark.sign())
            p.name { a href=(context.session_path(&record.name, record.project())) { (record.name) } }
            p class={ "status " (mark.class()) } { (status_text(*status)) }
            p.plan {
                (shortened(&record.plan))
                @if let Some(stage) = stage.filter(|_| record.stages.len() > 1) {
                    span.quiet { " · " (shortened(stage)) " (" (record.stage) " of " (record.stages.len()) ")" }
                }
                span.quiet {
                    @if TraceKey::parse(&record.name).is_none() {
                        " · " (count(record.iterations as usize, "iteration"))
                    }
                    @if let Some(used) = used(record.usage.map(Usage::from)) { " · " (used) }
                }
            }
            p.when {
                @if process.is_some() {
                    (since(&record.start_time))
                } @else {
                    (moment(&record.start_time))
                    @if let Some(took) = took { " · " (duration(took as f64)) }
                }
            }
            @if !record.reason.is_empty() && record.reason != status.as_str() { p.why { (shortened(&record.reason)) } }
            @if context.is_of_all { p.project { (shortened(record.project())) } }
        }
    };
    Fragment::new(id, html)
}

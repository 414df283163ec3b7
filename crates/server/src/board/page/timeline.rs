//! A session's history: stages, work items, iterations, and the hooks at each, newest first. Each
//! row is one fragment, so that only changes are sent.

use hookwright_config::limits::ITERATIONS_MAX;
use hookwright_events::ItemState;
use hookwright_pipeline::timeline::Milestone;
use maud::{Markup, html};

use super::super::Story;
use super::super::regions::Fragment;
use super::super::rows::{Row, RowContent};
use super::PageContext;
use super::chapters::{Chapter, ChapterKind, StageChapters, chapters, stages_newest_first};
use super::words::{
    StateMark, duration, moment, shortened, since, spaced, status_text, used, used_in_full,
    whole_of,
};
use crate::page::parts::{capitalised, count};

/// How many of the newest iterations are unfolded.
const UNFOLDED: usize = 3;

/// The data that rows are drawn with.
pub(super) struct TimelineDrawing<'s> {
    pub(super) story: &'s Story,
    pub(super) context: &'s PageContext<'s>,
    /// Length of a full bar.
    pub(super) whole: f64,
}

/// The rows, newest first, each stage and work item with its heading above.
pub(super) fn fragments(story: &Story, context: &PageContext<'_>) -> Vec<Fragment> {
    let rows = &story.told.rows;
    let longest = rows.iter().filter_map(|row| agent_took(&row.what)).fold(0.0, f64::max);
    let drawing = TimelineDrawing { story, context, whole: whole_of(longest) };
    let chapters = chapters(rows);
    let mut fragments = Vec::new();
    let mut unfolded = 0;
    // The newest stage first, but its heading above its rows.
    for StageChapters { own, within } in stages_newest_first(&chapters) {
        fragments.extend(drawing.heading(own));
        for chapter in within.into_iter().chain([own]) {
            if chapter.kind == ChapterKind::Item {
                fragments.extend(drawing.heading(chapter));
            }
            for row in chapter.rows.iter().rev() {
                unfolded += usize::from(matches!(row.what, RowContent::Iteration(..)));
                fragments.push(drawing.row(row, chapter.kind, unfolded <= UNFOLDED));
            }
        }
    }
    fragments
}

fn agent_took(what: &RowContent) -> Option<f64> {
    match what {
        RowContent::Iteration(iteration, _) => iteration.duration_ms,
        RowContent::Milestone(_) | RowContent::TimelineEvent(..) => None,
    }
}

impl TimelineDrawing<'_> {
    fn heading(&self, chapter: &Chapter<'_>) -> Option<Fragment> {
        let began = chapter.began?;
        let id = began.id.clone();
        let runs = self.story.session.process.is_some();
        let ended = chapter.ended.map(|row| &row.what);
        let html = match &began.what {
            RowContent::Milestone(Milestone::StageBegan { at, stage, index, iterations_max }) => {
                let stages = self.story.session.record.stages.len();
                html! {
                    li.stage id=(id) {
                        h3 { "Stage " (index) " of " (stages) ": " (shortened(stage)) }
                        p.quiet { (end_of_stage(ended, at, *iterations_max, runs)) }
                    }
                }
            }
            RowContent::Milestone(Milestone::ItemBegan { at, item, goes_on, .. }) => html! {
                li.item id=(id) {
                    h4 { (shortened(&capitalised(&item.name()))) @if item.name() != item.title { ": " (shortened(&item.title)) } }
                    p.quiet { (end_of_item(ended, at, *goes_on, runs)) }
                }
            },
            RowContent::Milestone(_)
            | RowContent::Iteration(..)
            | RowContent::TimelineEvent(..) => {
                return None;
            }
        };
        Some(Fragment::new(id, html))
    }

    fn row(&self, row: &Row, kind: ChapterKind, is_unfolded: bool) -> Fragment {
        let id = &row.id;
        let depth = match kind {
            ChapterKind::Outside => "row",
            ChapterKind::Stage | ChapterKind::WithinStage => "row in-stage",
            ChapterKind::Item => "row in-item",
        };
        let html = match &row.what {
            RowContent::Iteration(iteration, reports) => html! {
                li class=(depth) id=(id) { (self.iteration(id, iteration, reports, is_unfolded)) }
            },
            RowContent::TimelineEvent(deed, report) => html! {
                li class=(depth) id=(id) { (self.deed(deed, *report, None)) }
            },
            RowContent::Milestone(milestone) => html! {
                li class={ (depth) " milestone" } id=(id) { (self.milestone(milestone)) }
            },
        };
        Fragment::new(id.clone(), html)
    }

    fn milestone(&self, milestone: &Milestone) -> Markup {
        match milestone {
            Milestone::SessionResumed { at, time } => html! {
                p { (StateMark::Runs.sign()) "resumed, " (moment(at)) @if *time > 1 { " (" (time) " times now)" } }
            },
            Milestone::SessionEnded { at, status, reason, usage } => html! {
                p {
                    (StateMark::of_session(*status).sign()) strong { (status_text(*status)) } ", " (moment(at))
                    @if reason != status.as_str() && !reason.is_empty() { ": " (shortened(reason)) }
                    @if let Some(used) = used_in_full(*usage) { span.quiet { " · " (used) } }
                }
            },
            // These are headings, or part of the page's header.
            Milestone::SessionBegan { .. }
            | Milestone::StageBegan { .. }
            | Milestone::StageEnded { .. }
            | Milestone::ItemBegan { .. }
            | Milestone::ItemEnded { .. }
            | Milestone::Iteration(_) => html! {},
        }
    }
}

fn end_of_stage(ended: Option<&RowContent>, at: &str, most: Option<u32>, runs: bool) -> Markup {
    match ended {
        Some(RowContent::Milestone(Milestone::StageEnded {
            reason,
            iterations,
            duration_ms,
            usage,
            ..
        })) => html! {
            @match (reason, iterations) {
                (Some(reason), Some(iterations)) => {
                    (spaced(reason)) " after " (count(*iterations as usize, "iteration"))
                }
                _ => "left unfinished",
            }
            @if let Some(took) = duration_ms { " · " (duration(*took)) }
            @if let Some(used) = used(*usage) { " · " (used) }
        },
        _ => html! {
            @match most {
                Some(ITERATIONS_MAX..) => "until the work is done",
                Some(most) => { "at most " (count(most as usize, "iteration")) }
                None => "continues",
            }
            " · " @if runs { (since(at)) } @else { "began " (moment(at)) }
        },
    }
}

fn end_of_item(ended: Option<&RowContent>, at: &str, goes_on: bool, runs: bool) -> Markup {
    match ended {
        Some(RowContent::Milestone(Milestone::ItemEnded {
            state,
            reason,
            iterations,
            duration_ms,
            usage,
            ..
        })) => {
            let mark = match state {
                Some(ItemState::Done) => StateMark::Good,
                Some(ItemState::Failed) => StateMark::Bad,
                Some(ItemState::Blocked | ItemState::Open) | None => StateMark::Warn,
            };
            html! {
                (mark.sign())
                (state.map_or("left unfinished", ItemState::as_str))
                @if let Some(iterations) = iterations { " after " (count(*iterations as usize, "iteration")) }
                @if let Some(took) = duration_ms { " · " (duration(*took)) }
                @if let Some(used) = used(*usage) { " · " (used) }
                @if let Some(reason) = reason { ": " (shortened(reason)) }
            }
        }
        _ => html! {
            @if goes_on { "continues, " }
            @if runs { (since(at)) } @else { "began " (moment(at)) }
        },
    }
}

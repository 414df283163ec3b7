//! One session: its status, what runs now, its stages, and its history, newest first.

use hookwright_config::limits::ITERATIONS_MAX;
use hookwright_events::visible_text::visible;
use hookwright_events::{SessionStatus, Usage};
use hookwright_pipeline::record::{IssueCounts, SessionRecord};
use hookwright_pipeline::timeline::{
    HookRun, Iteration, IterationState, QuestionState, TimelineEvent,
};
use hookwright_pipeline::trace::TraceKey;
use maud::{Markup, html};

use super::super::regions::{Fragment, Region};
use super::super::rows::{RowContent, Rows, StageSum};
use super::super::{SeenSession, Story, StorySelection};
use super::words::{
    StateMark, bar, duration, moment, shortened, since, spaced, status_text, used, used_in_full,
};
use super::{PageContext, element, question, timeline};
use crate::page::parts::count;

/// Characters of a commit.
const COMMIT_CHARS: usize = 10;

/// The regions that are kept up to date.
pub(crate) fn regions(
    story: &Story,
    which: &StorySelection,
    context: &PageContext<'_>,
) -> Vec<Region> {
    let Story { session, told, questions, .. } = story;
    let head = vec![
        Fragment::new("facts", facts(story, context)),
        Fragment::new("now", html! { div #now { (now(session, &told.rows)) } }),
    ];
    let timeline = timeline::fragments(story, context);
    vec![
        question::region(questions, context, question::QuestionPage::Session(&session.record.name)),
        Region { name: "head", fragments: head },
        Region { name: "stages", fragments: stages(session, &told.rows) },
        Region { name: "timeline", fragments: timeline },
        Region { name: "older", fragments: vec![older(story, which, context)] },
    ]
}

pub(super) fn content(
    regions: &[Region],
    story: &Story,
    which: &StorySelection,
    context: &PageContext<'_>,
) -> Markup {
    let record = &story.session.record;
    html! {
        h1 { (record.name) }
        section #questions aria-label="Questions for you" aria-live="polite" {
            (element(regions, "questions"))
        }
        section #head aria-label="Status" { (element(regions, "head")) }
        ol #stages aria-label="Stages" { (element(regions, "stages")) }
        h2 { "Timeline " span.quiet { "newest first" } }
        @if which.before.is_some() {
            nav.pages aria-label="Newer" {
                a href=(context.session_path(&record.name, record.project())) { "Back to the newest" }
                @if let Some(newer) = story.told.rows.newer() {
                    a href={ "/sessions/" (which.name) (context.query(record.project(), Some(newer))) } { "Newer" }
                }
            }
        }
        ol #timeline { (element(regions, "timeline")) }
        nav #older aria-label="Older" { (element(regions, "older")) }
    }
}

fn facts(story: &Story, context: &PageContext<'_>) -> Markup {
    let Story { session, told, .. } = story;
    let SeenSession { record, status, process, .. } = session;
    let mark = StateMark::of_session(*status);
    let took = record
        .metadata
        .total_duration
        .filter(|_| process.is_none() && *status != SessionStatus::CutOff);
    let commit = record.metadata.git_commit.as_deref().unwrap_or_default();
    let commit: String = commit.chars().take(COMMIT_CHARS).collect();
    let is_trace = TraceKey::parse(&record.name).is_some();
    html! {
        div #facts {
            p class={ "status " (mark.class()) } {
                (mark.sign()) (status_text(*status))
                @if !record.reason.is_empty() && record.reason != status.as_str() {
                    span.why { (shortened(&record.reason)) }
                }
            }
            dl.facts {
                @if is_trace {
                    div { dt { "Hooks inside" } dd { (shortened(&record.plan)) } }
                } @else {
                    div { dt { "Plan" } dd { (shortened(&record.plan)) } }
                    div { dt { "Agent" } dd { (shortened(&record.provider)) } }
                }
                div { dt { "Began" } dd { (moment(&record.start_time)) } }
                @if let Some(took) = took { div { dt { "Took" } dd { (duration(took as f64)) } } }
                @if process.is_some() {
                    div { dt { "Runs" } dd { (since(&record.start_time)) } }
                }
                @if is_trace {
                    @if let Some(known) = record.agent_sessions.first() {
                        div { dt { "Its session" } dd { (shortened(&known.session)) } }
                    }
                } @else {
                    div { dt { "Iterations" } dd { (record.iterations) } }
                }
                @if record.issue_counts().planned > 0 {
                    div { dt { "Issues" } dd { (issues(record)) } }
                }
                @if let Some(all) = used_in_full(told.used) {
                    div {
                        dt { "Used" }
                        dd { (all) @if let Some(used) = used(record.usage_of_children.map(Usage::from)) { " (children: " (used) ")" } }
                    }
                }
                @if let Some(branch) = &record.metadata.git_branch {
                    div { dt { "Branch" } dd { (shortened(branch)) @if !commit.is_empty() { " at " code { (visible(&commit)) } } } }
                }
                @if context.is_of_all { div { dt { "Project" } dd { (shortened(record.project())) } } }
                @if let Some(parent) = &record.parent {
                    div {
                        dt { "Started by" }
                        dd {
                            a href=(context.session_path(&parent.session, record.project())) { (shortened(&parent.session)) }
                            " · " (shortened(&parent.hook))
                        }
                    }
                }
                @if let Some(pid) = process { div { dt { "Process" } dd { (pid) } } }
            }
            @if let Some(command) = record.resume_command(*status) {
                p.quiet { "Resume with " code { (command) } }
            }
        }
    }
}

/// Progress of a queue of issues.
fn issues(record: &SessionRecord) -> String {
    let IssueCounts { planned, completed, failed } = record.issue_counts();
    let failed = if failed == 0 { String::new() } else { format!(", {failed} failed") };
    format!("{completed} of {planned} done{failed}")
}

/// What runs now, since when, and what the session waits for.
fn now(session: &SeenSession, rows: &Rows) -> Markup {
    let steps: Vec<Markup> = rows.under_way().flat_map(|row| under_way(&row.what)).collect();
    html! {
        @if session.process.is_some() {
            h2 { "Now" }
            ul.now {
                @for step in &steps { li { (step) } }
                @if steps.is_empty() { li.quiet { (StateMark::Runs.sign()) "between two steps" } }
            }
        }
    }
}

fn under_way(what: &RowContent) -> Vec<Markup> {
    match what {
        RowContent::Iteration(iteration, _) => {
            let mut steps: Vec<Markup> = agent_at_work(iteration).into_iter().collect();
            steps.extend(iteration.deeds.iter().filter_map(deed_under_way));
            steps
        }
        RowContent::TimelineEvent(deed, _) => deed_under_way(deed).into_iter().collect(),
        RowContent::Milestone(_) => Vec::new(),
    }
}

fn agent_at_work(iteration: &Iteration) -> Option<Markup> {
    let works = iteration.state == IterationState::Running;
    works.then(|| {
        html! {
            (StateMark::Runs.sign())
            @match &iteration.agent {
                Some(agent) => { "agent " (shortened(agent)) },
                None => "the agent",
            }
            " works on "
            @match iteration.iteration {
                0 => "the final delivery",
                number if iteration.is_final => { "iteration " (number) ", the final delivery" },
                number => { "iteration " (number) },
            }
            " " (since(&iteration.at))
        }
    })
}

fn deed_under_way(deed: &TimelineEvent) -> Option<Markup> {
    match deed {
        TimelineEvent::Hook(HookRun { at, event, hook, status: "running", .. }) => Some(html! {
            (StateMark::Runs.sign()) "hook " code { (shortened(hook)) } " at " (shortened(event)) " "
            @if let Some(at) = at { (since(at)) }
        }),
        TimelineEvent::Question { question, since: at, state: QuestionState::Waiting, .. } => {
            Some(html! {
                (StateMark::Waits.sign()) "waits for a person: " (shortened(question)) " " (since(at))
            })
        }
        TimelineEvent::Pause { at, reason, until, duration_ms: None, .. } => Some(html! {
            (StateMark::Waits.sign()) "paused: " (shortened(reason))
            @if let Some(until) = until { ", until " (moment(until)) }
            " " (since(at))
        }),
        _ => None,
    }
}

/// The stages side by side, each with its progress.
fn stages(session: &SeenSession, rows: &Rows) -> Vec<Fragment> {
    let names = &session.record.stages;
    let numbers = (1..).zip(names);
    let runs = session.process.is_some();
    numbers
        .map(|(index, name): (u32, &String)| {
            let id = format!("stage-{index}");
            let html = stage(&id, name, rows.stages().get(&index), runs);
            Fragment::new(id, html)
        })
        .collect()
}

fn stage(id: &str, name: &str, sum: Option<&StageSum>, runs: bool) -> Markup {
    let (mark, state) = match sum {
        None => (StateMark::Quiet, "not started".to_owned()),
        Some(StageSum { reason: Some(reason), .. }) => {
            (if reason == "failed" { StateMark::Bad } else { StateMark::Good }, spaced(reason))
        }
        Some(StageSum { was_left: true, .. }) => (StateMark::Warn, "left unfinished".to_owned()),
        Some(_) if runs => (StateMark::Runs, "running".to_owned()),
        Some(_) => (StateMark::Warn, "left unfinished".to_owned()),
    };
    html! {
        li.chip id=(id) {
            p { (mark.sign()) strong { (shortened(name)) } }
            p.quiet { (state) }
            @if let Some(sum) = sum {
                p.quiet {
                    @match sum.iterations_max {
                        None | Some(ITERATIONS_MAX..) => (count(sum.iterations as usize, "iteration")),
                        Some(most) => { (sum.iterations) " of at most " (count(most as usize, "iteration")) }
                    }
                    @if let Some(used) = used(sum.usage) { " · " (used) }
                }
                @if let Some(took) = sum.duration_ms {
                    p.quiet { (duration(took)) }
                } @else if mark == StateMark::Runs {
                    p.quiet { (since(&sum.at)) }
                }
                @if let Some(share) = share_done(sum) { (bar(share, 1.0, mark)) }
            }
        }
    }
}

/// How much of a stage is done; `None` if that is unknown. A completed stage is done, even if it
/// did not need all its iterations.
fn share_done(sum: &StageSum) -> Option<f64> {
    match (sum.reason.as_deref(), sum.iterations_max) {
        (Some("completed" | "max_iterations"), _) => Some(1.0),
        (_, None | Some(0 | ITERATIONS_MAX..)) => None,
        (_, Some(most)) => Some(f64::from(sum.iterations) / f64::from(most)),
    }
}

/// The link to earlier rows, and the number of entries left out.
fn older(story: &Story, which: &StorySelection, context: &PageContext<'_>) -> Fragment {
    let record = &story.session.record;
    let older = story.told.rows.older();
    let html = html! {
        div #further {
            @if older > 0 {
                a href={ "/sessions/" (which.name) (context.query(record.project(), Some(older))) } {
                    "Older: " (older) " more"
                }
            }
            @if story.told.not_understood > 0 {
                p.quiet {
                    (count(usize::try_from(story.told.not_understood).unwrap_or(usize::MAX), "line"))
                    " of the journal, by a newer hookwright, not shown"
                }
            }
        }
    };
    Fragment::new("further", html)
}

//! `hookwright reopen`: reopens an issue or a task that failed, was blocked or is done.

use clap::Args;
use hookwright_engine::ports::Clock;
use hookwright_events::task::{Task, TaskState};
use hookwright_pipeline::lease;
use hookwright_pipeline::queue::{IssueState, IssueStates};
use hookwright_store::KeptTasks;
use serde_json::json;

use crate::error::{Failure, WorkFailure};
use crate::known_session::{ProjectOption, Sessions};
use crate::known_work::{KnownIssue, KnownWork};
use crate::screen::Screen;
use crate::store_time;
use crate::store_time::StoreTime;
use crate::text::{one_line, visible};
use crate::{exit_code, state, tasks};

/// Characters of a title that are shown.
const TITLE_CHARS_MAX: usize = 120;

/// Reopen an issue or a task, so that the next run works on it
///
/// Issues that failed, were blocked or are done keep that state until you reopen them. Their files
/// are not touched. `hookwright status` lists them.
#[derive(Debug, Args)]
pub(crate) struct ReopenArguments {
    /// An issue's number or a task's id, like 7 or TAS-3
    #[arg(value_name = "ITEM", required = true)]
    items: Vec<String>,

    /// The folder of the issue, if several have one with that number
    #[arg(long, value_name = "DIR")]
    folder: Option<String>,

    /// Print one JSON value on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectOption,
}

pub(crate) fn reopen(arguments: &ReopenArguments, screen: &Screen) -> Result<u8, Failure> {
    let sessions = Sessions::find(&arguments.project)?;
    let work = KnownWork::find(&sessions)?;
    let mut reopened = Vec::new();
    for item in &arguments.items {
        let (name, was, title) = match item.parse::<u64>() {
            Ok(number) => issue(&work, number, arguments, &sessions.project)?,
            Err(_) => task(item, &sessions.project)?,
        };
        if !arguments.json {
            let title = one_line(&title, TITLE_CHARS_MAX);
            screen.result(&match was {
                "open" => format!("{name} is open: {title}\n"),
                was => format!("{name} is open again, it was {was}: {title}\n"),
            })?;
        }
        reopened.push(json!({ "item": name, "was": was, "title": title }));
    }
    if arguments.json {
        screen.json(&json!({ "version": 1, "reopened": reopened }))?;
    }
    Ok(exit_code::GO_ON)
}

/// Reopens an issue; returns its name, its previous state, and its title.
fn issue(
    work: &KnownWork,
    number: u64,
    arguments: &ReopenArguments,
    project: &str,
) -> Result<(String, &'static str, String), Failure> {
    let folder = arguments.folder.as_deref();
    let folder = folder.map(|folder| folder.trim_start_matches("./").trim_end_matches('/'));
    let is_meant = |issue: &&KnownIssue| {
        issue.number == number && folder.is_none_or(|folder| folder == issue.folder)
    };
    let found: Vec<&KnownIssue> = work.issues.iter().filter(is_meant).collect();
    let issue = match found[..] {
        [issue] => issue,
        [] => {
            if let Some(problem) = work.problems.first() {
                let problem = problem.clone();
                return Err(Failure::Work(WorkFailure::Unreadable { problem }));
            }
            let known = work.issues.iter().map(|issue| issue.number).collect();
            return Err(Failure::Work(WorkFailure::NoSuchIssue { number, known }));
        }
        _ => {
            let folders = found.iter().map(|issue| issue.folder.clone()).collect();
            return Err(Failure::Work(WorkFailure::ManyIssues { number, folders }));
        }
    };
    let name = format!("issue {number}");
    match (issue.state, &issue.kept) {
        (IssueState::Active, Some(kept)) => {
            let session = visible(&kept.record.session).into_owned();
            return Err(Failure::Work(WorkFailure::InWork { name, session }));
        }
        (IssueState::Open, _) | (_, None) => {}
        (_, Some(kept)) => {
            let states = IssueStates::new(state::store()?, project);
            states.reopen(kept, &StoreTime.now()).map_err(Failure::Store)?;
        }
    }
    Ok((name, issue.state.as_str(), issue.title.clone()))
}

/// Reopens a task; returns its name, its previous state, and its text.
fn task(id: &str, project: &str) -> Result<(String, &'static str, String), Failure> {
    let unknown = || Failure::Work(WorkFailure::NoSuchItem { item: id.to_owned() });
    let store = state::existing_store()?.ok_or_else(unknown)?;
    let kept = KeptTasks::new(store, project);
    let Task { id, state: was, session, content, .. } =
        kept.get(id).map_err(tasks::task_failure)?.task;
    let name = format!("task {id}");
    if let (TaskState::InProgress, Some(session)) = (was, session) {
        let lease = lease::name_of(project, &session);
        if lease::holder(kept.store(), &lease).map_err(Failure::Store)?.is_some() {
            let session = visible(&session).into_owned();
            return Err(Failure::Work(WorkFailure::InWork { name, session }));
        }
    }
    if was != TaskState::Open {
        kept.set_state(id, TaskState::Open, store_time::now_ms()).map_err(tasks::task_failure)?;
    }
    Ok((name, was.as_str(), content))
}

//! `run --on workers`: stores sessions that workers take, instead of running one here.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use hookwright_agents::presets;
use hookwright_engine::Secrets;
use hookwright_events::SessionStatus;
use hookwright_pipeline::folder::SessionName;
use hookwright_pipeline::record::SessionRecord;
use hookwright_pipeline::submission::{Needs, Submission, Submitter};
use hookwright_store::{Store, StoreError};

use crate::carried_session::SubmittedWork;
use crate::commands::run::taken;
use crate::config_files::process_environment;
use crate::error::{Failure, SessionFailure, WorkerFailure};
use crate::exit_code;
use crate::following::{self, Followed};
use crate::known_session::Sessions;
use crate::known_workers::KnownWorkers;
use crate::runner::{self, Prepared, ProjectRunner};
use crate::screen::Screen;
use crate::session_options::SessionOptions;
use crate::store_time::StoreTime;
use crate::text::{count, visible};
use crate::{project, state};

/// Sessions that one command submits.
const SESSIONS_AT_ONCE_MAX: i64 = 1_000;

/// Characters of a label.
const LABEL_CHARS_MAX: usize = 64;

/// Attempts to find a name that no other session gets at the same moment.
const NAMES_TRIED_MAX: usize = 8;

/// Options of `run` for sessions on other machines.
#[derive(Debug, Args)]
pub(crate) struct SubmitOptions {
    /// Where to run: `workers` leaves the session to a worker on any machine
    #[arg(long, value_name = "WHERE", value_enum)]
    on: Option<RunsOn>,

    /// Submit N sessions, each with a generated name
    #[arg(long, value_name = "N", requires = "on", conflicts_with = "session")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=SESSIONS_AT_ONCE_MAX))]
    sessions: Option<u32>,

    /// Let only workers with this label run it; may be given more than once
    #[arg(long, value_name = "LABEL", requires = "on", value_parser = label)]
    label: Vec<String>,

    /// Print what happens in the submitted sessions until all have ended; interrupting this ends
    /// no session
    #[arg(long, requires = "on")]
    follow: bool,
}

/// Where a session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RunsOn {
    /// On any machine with a worker of this project
    Workers,
}

impl SubmitOptions {
    pub(crate) fn is_given(&self) -> bool {
        self.on.is_some()
    }
}

/// Parses a label of a worker.
pub(crate) fn label(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    if text.is_empty() || text.len() > LABEL_CHARS_MAX || !text.chars().all(is_plain) {
        return Err(format!(
            "expected at most {LABEL_CHARS_MAX} letters, digits, `_`, `-` and `.`"
        ));
    }
    Ok(text.to_owned())
}

/// Submits sessions of this plan.
pub(crate) fn submit(
    place: &ProjectRunner,
    prepared: Prepared,
    name: Option<&str>,
    asked: &SubmitOptions,
    how: &SessionOptions,
    screen: &Screen,
) -> Result<u8, Failure> {
    if how.switches.no_hooks || !how.switches.skip.is_empty() {
        return Err(WorkerFailure::SwitchesOnWorkers.into());
    }
    let store = database(place)?;
    screen.left_out(&prepared.plan.left_out);
    runner::warn_of_unfired_hooks(&how.switches, &prepared.plan, screen);
    let root = &place.found.project_root;
    let work = SubmittedWork::find(root, &process_environment(), screen)?;
    let settings = project::worker_settings(root)?;
    let folder = settings.folder.clone().unwrap_or_else(|| root.clone());
    let needs = needs(&prepared, &asked.label, folder);
    let submission = Submission {
        needs,
        folder: settings.folder,
        setup: settings.setup,
        max_cost: how.max_cost,
        ..Submission::default()
    };
    let mut names = Vec::new();
    for _ in 0..asked.sessions.unwrap_or(1) {
        names.push(submit_one(place, &store, &prepared, &work, name, &submission)?);
    }
    let followed = Followed { store: Arc::clone(&store), project: place.project(), names };
    if asked.follow {
        for name in &followed.names {
            screen.talk(&format!("session {name} is queued\n"));
        }
        tell_what_is_missing(&followed, &submission, screen)?;
        return following::follow(&followed, &how.shown, screen);
    }
    say(&followed, &submission, how, screen)?;
    Ok(exit_code::GO_ON)
}

/// The store, which workers on other machines have to reach.
fn database(place: &ProjectRunner) -> Result<Arc<dyn Store>, Failure> {
    let store = state::store()?;
    if !store.is_remote() {
        return Err(WorkerFailure::NoDatabase.into());
    }
    place.bind_name(&store)?;
    Ok(store)
}

/// What a worker has to offer for this plan.
fn needs(prepared: &Prepared, labels: &[String], folder: PathBuf) -> Needs {
    let Prepared { sources, plan, secrets } = prepared;
    let of_children = sources.children.iter().flat_map(|child| &child.all);
    let texts: Vec<&str> =
        sources.all.iter().chain(of_children).map(|source| source.text.as_str()).collect();
    let is_named = |name: &&str| texts.iter().any(|text| has_word(text, name));
    let named = secrets.names().filter(|name| *name != Secrets::STORE_PASSWORD).filter(is_named);
    let mut labels = labels.to_vec();
    labels.sort_unstable();
    labels.dedup();
    Needs {
        labels,
        agents: plan
            .agent_kinds
            .iter()
            .filter(|kind| presets::preset(kind).is_some())
            .cloned()
            .collect(),
        secrets: named.map(str::to_owned).collect(),
        folder: Some(folder),
    }
}

/// Whether a text has this word, not only as a part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, found)| {
        !text[..at].ends_with(is_part) && !text[at + found.len()..].starts_with(is_part)
    })
}

fn submit_one(
    place: &ProjectRunner,
    store: &Arc<dyn Store>,
    prepared: &Prepared,
    work: &SubmittedWork,
    given: Option<&str>,
    submission: &Submission,
) -> Result<String, Failure> {
    let Prepared { sources, plan, secrets } = prepared;
    let given = given.map(str::parse::<SessionName>).transpose().map_err(SessionFailure::Name)?;
    for _ in 0..NAMES_TRIED_MAX {
        let name = match &given {
            Some(name) => name.clone(),
            None => place.new_name(&**store)?,
        };
        let new = place.new_record(&name, plan, secrets);
        let record = SessionRecord {
            status: SessionStatus::Queued,
            plan: plan.name.clone(),
            stages: plan.stages.iter().map(|stage| stage.name.clone()).collect(),
            submission: Some(submission.clone()),
            carried: Some(work.send(&name, &new.id, secrets)?),
            ..new
        };
        let submitter = Submitter { store: &**store, secrets, clock: &StoreTime };
        match submitter.submit(&record, serde_json::to_value(sources).unwrap_or_default()) {
            Ok(()) => return Ok(record.name),
            Err(StoreError::RecordConflict { .. } | StoreError::JournalConflict { .. }) => {}
            Err(error) => return Err(Failure::Store(error)),
        }
        if given.is_some()
            && let Some(known) = state::session(&**store, &place.project(), name.as_str())?
        {
            return Err(taken(known).into());
        }
    }
    Err(WorkerFailure::NoNameIsFree.into())
}

/// Prints what was submitted.
fn say(
    followed: &Followed,
    submission: &Submission,
    how: &SessionOptions,
    screen: &Screen,
) -> Result<(), Failure> {
    if how.shown.json {
        let sessions = Sessions::of_project(followed.project.clone(), &how.options)?;
        let list = followed.names.iter().map(|name| Ok(sessions.named(name)?.1.json()));
        let list = list.collect::<Result<Vec<_>, Failure>>()?;
        return screen.json(&serde_json::json!({ "version": 1, "sessions": list }));
    }
    for name in &followed.names {
        screen.result(&format!("session {} is queued\n", visible(name)))?;
    }
    tell_what_is_missing(followed, submission, screen)?;
    if let [name] = &followed.names[..] {
        let name = visible(name);
        screen.talk(&format!("follow it with: hookwright sessions log {name} --follow\n"));
    }
    Ok(())
}

/// Tells the user at once if no worker takes the sessions.
fn tell_what_is_missing(
    followed: &Followed,
    submission: &Submission,
    screen: &Screen,
) -> Result<(), Failure> {
    let workers = KnownWorkers::read(&*followed.store)?;
    let Some(missing) = workers.missing(&followed.project, submission) else { return Ok(()) };
    let who = match &followed.names[..] {
        [name] => format!("session {} waits", visible(name)),
        names => format!("{} wait", count(names.len(), "session")),
    };
    screen.talk(&format!("note: {who}: {}\n", visible(&missing)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_needed_where_its_whole_name_occurs() {
        assert!(has_word("curl -H \"$TOKEN\"", "TOKEN"));
        assert!(has_word("TOKEN", "TOKEN"));
        assert!(has_word("$MY_TOKEN ${TOKEN}", "TOKEN"));
        assert!(!has_word("$MY_TOKEN TOKENS", "TOKEN"));
    }

    #[test]
    fn labels_are_plain_words() {
        assert_eq!(label("gpu-1.2_x").as_deref(), Ok("gpu-1.2_x"));
        for text in ["", "two words", "a/b", "é", &"x".repeat(65)] {
            assert!(label(text).is_err(), "{text}");
        }
    }
}

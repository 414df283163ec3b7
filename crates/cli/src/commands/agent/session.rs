//! The session of an agent in the store: a new one, or one that is continued.
//!
//! A store that cannot be opened is a failure, and nothing starts: a session that is not recorded could
//! not be listed, stopped or continued, and what a crash leaves running could not be found.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hookwright_agent::hooks::FireEvents;
use hookwright_agent::journal::AgentJournal;
use hookwright_agent::transcript::{
    ContinuedTranscript, Transcript, TranscriptFacts, TranscriptMark,
};
use hookwright_engine::ports::{Clock, Promise};
use hookwright_engine::{Engine, Secrets};
use hookwright_events::{Decision, Event, EventName, SessionStatus, TurnEvent};
use hookwright_pipeline::history::History;
use hookwright_pipeline::lease::{self, LeaseError};
use hookwright_pipeline::prompted_session::{PromptedParts, PromptedSession};
use hookwright_pipeline::record::{AGENT_COMMAND, SessionRecord};
use hookwright_pipeline::session_id;
use hookwright_pipeline::store_calls::{StoreCall, StoreCalls};
use hookwright_pipeline::stored_session::stored_status;
use hookwright_server::Wakes;
use hookwright_store::{Fence, Filter, JournalKey, Kind, Record, Store, StoreError, records};

use super::output::AgentOutput;
use crate::error::{AgentFailure, Failure, SessionFailure};
use crate::membership::Membership;
use crate::{absence, project, runner, session_choice, state};

/// Sessions that are looked at to find the newest of the agent.
const LOOKED_AT_MAX: usize = 1_000;

/// Characters of an argument that the record keeps; a prompt may be very long.
const ARGUMENT_CHARS_MAX: usize = 500;

/// Which session the user wants.
#[derive(Debug, Clone, Copy)]
pub(super) enum WantedSession<'a> {
    New,
    /// The one with this name or id, or the beginning of one.
    Named(&'a str),
    /// The newest of this project.
    Newest,
}

/// A session whose lease this process holds.
pub(super) struct OpenSession {
    pub(super) session: Arc<PromptedSession>,
    /// Its id.
    pub(super) id: String,
    /// What its journal knows of the transcript; `None` for a new session.
    marks: Option<Vec<TranscriptMark>>,
    /// The store, if other machines share it.
    shared: Option<Arc<dyn Store>>,
    /// This process among those that share the store.
    pub(super) membership: Membership,
}

impl OpenSession {
    /// Makes a session in the store, or takes the lease of the one that is continued.
    pub(super) fn open(
        wanted: WantedSession<'_>,
        root: &Path,
        secrets: &Secrets,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, Failure> {
        let (store, patience) = absence::store_of_session()?;
        let project = project::bound(root, &store)?;
        let no_wait = move || {
            patience.iter().for_each(|patience| patience.set_limit(Duration::ZERO));
        };
        let membership = Membership::join_as_agent(&*store, no_wait)?;
        let shared = store.is_remote().then(|| Arc::clone(&store));
        let found = match wanted {
            WantedSession::New => {
                let (session, id) = new(&membership, store, root, project, secrets, clock)?;
                return Ok(Self { session, id, marks: None, shared, membership });
            }
            WantedSession::Named(text) => session_choice::in_project(&*store, &project, text)?,
            WantedSession::Newest => newest(&*store, &project, root)?,
        };
        let name = found.key.name;
        // From here on this process holds the lease, so the stored state does not change.
        let fence = take(&membership, &*store, &project, &name)?;
        let unknown = || SessionFailure::Unknown { name: name.clone() };
        let known = state::session(&*store, &project, &name)?.ok_or_else(unknown)?;
        let mut record: SessionRecord = serde_json::from_str(&known.value).unwrap_or_default();
        let refused = match stored_status(&known.status) {
            SessionStatus::Deleting => {
                Some(SessionFailure::HalfDeleted { name: name.clone() }.into())
            }
            _ if record.command != AGENT_COMMAND => {
                Some(AgentFailure::OtherSession { name: name.clone() }.into())
            }
            // The conversation is about the files of the checkout in which it began.
            _ if !is_of_checkout(&mut record, &project, root) => {
                let (name, root) = (name.clone(), record.workspace.clone());
                Some(AgentFailure::OtherCheckout { name, root }.into())
            }
            _ => None,
        };
        if let Some(refused) = refused {
            membership.release(&*store, &fence);
            return Err(refused);
        }
        let journal = JournalKey { project, session: name.clone() };
        let mut history = History::read(&*store, &journal).map_err(SessionFailure::History)?;
        record.name = name;
        record.iterations = history.iterations();
        record.hooks.clone_from(&history.hooks);
        record.usage = history.usage().map(Into::into);
        let marks = std::mem::take(&mut history.transcript_marks).into_iter();
        let marks = marks.map(|(bytes, digest)| TranscriptMark { bytes, digest }).collect();
        let id = record.id.clone();
        let session = PromptedSession::new(PromptedParts {
            store: StoreCalls::new(store).map_err(Failure::Store)?,
            fence,
            secrets: secrets.clone(),
            record,
            version: Some(known.version),
            history,
            clock: Arc::clone(clock),
        });
        Ok(Self { session: Arc::new(session), id, marks: Some(marks), shared, membership })
    }

    /// The store and what wakes this process, for questions to people.
    pub(super) fn shared(&self) -> Option<(Arc<dyn Store>, Wakes)> {
        let store = self.shared.clone()?;
        Some((store, self.membership.orders().wakes()))
    }

    /// Its transcript: a new one, or the one so far with the conversation in it.
    pub(super) fn transcript(
        &self,
        path: &Path,
        facts: TranscriptFacts,
    ) -> Result<ContinuedTranscript, Failure> {
        let Some(marks) = &self.marks else {
            let failed = |cause| AgentFailure::Transcript { path: path.to_owned(), cause };
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(failed)?;
            }
            return Ok(Transcript::create(path, facts).map_err(failed)?.into());
        };
        let reopened = Transcript::reopen(path, facts, marks);
        Ok(reopened.map_err(|cause| {
            let name = self.session.name().to_owned();
            AgentFailure::NotContinued { name, path: path.to_owned(), cause }
        })?)
    }

    /// Whether it is continued.
    pub(super) fn is_continued(&self) -> bool {
        self.marks.is_some()
    }
}

/// A new session, and its id.
fn new(
    membership: &Membership,
    store: Arc<dyn Store>,
    root: &Path,
    project: String,
    secrets: &Secrets,
    clock: &Arc<dyn Clock>,
) -> Result<(Arc<PromptedSession>, String), Failure> {
    let name = runner::new_session_name(&*store, root)?.as_str().to_owned();
    let fence = take(membership, &*store, &project, &name)?;
    let start_time = clock.now();
    let id = session_id::generate(&start_time);
    let args = std::env::args_os().skip(2);
    let args = args.map(|word| shortened(&secrets.hide(&word.to_string_lossy())));
    let mut record = SessionRecord {
        id: id.clone(),
        name,
        start_time,
        workspace: root.to_string_lossy().into_owned(),
        command: AGENT_COMMAND.to_owned(),
        args: args.collect(),
        provider: "builtin".to_owned(),
        status: SessionStatus::Active,
        ..SessionRecord::default()
    };
    record.set_project(project);
    let session = PromptedSession::new(PromptedParts {
        store: StoreCalls::new(store).map_err(Failure::Store)?,
        fence,
        secrets: secrets.clone(),
        record,
        version: None,
        history: History::default(),
        clock: Arc::clone(clock),
    });
    Ok((Arc::new(session), id))
}

/// Whether a session of this project began in this checkout of it.
fn is_of_checkout(record: &mut SessionRecord, project: &str, root: &Path) -> bool {
    record.set_project(project.to_owned());
    record.workspace == root.to_string_lossy()
}

/// The newest session of the agent in this checkout of the project.
fn newest(store: &dyn Store, project: &str, root: &Path) -> Result<Record, Failure> {
    let filter = Filter { project: Some(project.to_owned()), ..Filter::newest(LOOKED_AT_MAX) };
    for record in records(store, Kind::Session, filter).take(LOOKED_AT_MAX) {
        let record = record.map_err(Failure::Store)?;
        let parsed = serde_json::from_str::<SessionRecord>(&record.value);
        if parsed.is_ok_and(|mut session| {
            session.command == AGENT_COMMAND && is_of_checkout(&mut session, project, root)
        }) {
            return Ok(record);
        }
    }
    Err(AgentFailure::NoneToContinue.into())
}

fn take(
    membership: &Membership,
    store: &dyn Store,
    project: &str,
    name: &str,
) -> Result<Fence, Failure> {
    let name = name.to_owned();
    membership.take(store, &lease::name_of(project, &name), &name).map_err(|error| match error {
        LeaseError::Runs { holder } if holder.machine.is_this() => {
            SessionFailure::Runs { name, pid: holder.pid }.into()
        }
        LeaseError::Runs { holder } => {
            let (pid, host) = (holder.pid, holder.machine.host.clone());
            AgentFailure::RunsElsewhere { name, pid, host }.into()
        }
        LeaseError::Store(error) => Failure::Store(error),
    })
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(ARGUMENT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Fires the agent's events within its session.
pub(super) struct SessionEvents {
    pub(super) engine: Engine,
    pub(super) session: Arc<PromptedSession>,
}

impl FireEvents for SessionEvents {
    fn hears(&self, event: &EventName) -> bool {
        self.session.hears(&self.engine, event)
    }

    fn fire(&self, event: Event) -> Promise<'_, Decision> {
        Box::pin(self.session.fire(&self.engine, event))
    }
}

/// Records what the agent does in its session's journal, and with each request how far the transcript
/// is.
pub(super) struct RecordedAgent {
    pub(super) session: Arc<PromptedSession>,
    pub(super) output: AgentOutput,
}

fn recorded<'a>(written: StoreCall<Result<(), StoreError>>) -> Promise<'a, io::Result<()>> {
    Box::pin(async move { written.await.map_err(io::Error::other) })
}

impl AgentJournal for RecordedAgent {
    fn record(&self, happened: TurnEvent) -> Promise<'_, io::Result<()>> {
        let written = match happened {
            TurnEvent::RequestSending { .. } => {
                self.session.write([self.output.transcript_written().into(), happened.into()])
            }
            happened => self.session.write([happened.into()]),
        };
        recorded(written)
    }

    fn record_with_next(&self, happened: TurnEvent) -> Promise<'_, io::Result<()>> {
        recorded(self.session.write_with_next(happened))
    }

    fn record_waiting(&self) -> Promise<'_, io::Result<()>> {
        recorded(self.session.write_waiting())
    }

    fn failure(&self) -> Option<String> {
        self.session.failure().map(|error| error.to_string())
    }
}

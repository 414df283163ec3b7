//! [`Board`]: reads the data of the sessions page from the store.
//!
//! The board belongs to no session: every process writes into the store, and the board reads it
//! there. `gate.rs` controls access, `routes.rs` handles requests, `page.rs` renders.

mod checkpoints;
mod chronicle;
mod chronicles;
mod feed;
mod feeds;
mod gate;
mod page;
mod regions;
mod routes;
mod rows;
pub mod serving;
mod stream;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError};

use hookwright_events::{FiringEvent, Output, Report, RunEvent, RunEventKind, SessionStatus, Wait};
use hookwright_pipeline::folder::{
    IterationAt, SessionFolder, StageAt, TurnAt, TurnKind, TurnTexts,
};
use hookwright_pipeline::record::SessionRecord;
use hookwright_pipeline::stored_session::StoredSession;
use hookwright_pipeline::timeline::{QuestionState, TimelineEvent};
use hookwright_store::{
    Filter, JournalKey, Kind, Record, RecordKey, RecordPosition, Store, StoreError, WaitError,
    records,
};

use self::chronicle::JournalContent;
use self::chronicles::Chronicles;
use self::rows::RowContent;
use crate::approvals::Approvals;
use crate::limits;

/// Entries per read when the board searches a journal.
const ENTRIES_AT_ONCE: u64 = 64;

/// The data of the sessions page.
pub struct Board {
    store: Arc<dyn Store>,
    approvals: Arc<Approvals>,
    /// Only this project's sessions; `None` for all.
    project: Option<String>,
    chronicles: Chronicles,
}

/// A session, as stored.
pub(crate) struct SeenSession {
    pub(crate) record: SessionRecord,
    /// The record's status, or `cut_off` for a session that has not ended but has no process.
    pub(crate) status: SessionStatus,
    /// The process that runs it.
    pub(crate) process: Option<u32>,
    pub(crate) place: RecordPosition,
    /// Version of the record.
    version: u64,
}

impl SeenSession {
    /// Everything that the session's display depends on.
    fn facts(&self) -> impl Hash {
        let SeenSession { record, status, process, version, .. } = self;
        (record.project(), &record.name, &record.start_time, version, status, process)
    }
}

/// The conversation of one turn of an agent.
pub(crate) struct SeenTurn {
    pub(crate) session: SeenSession,
    /// Number from 1.
    pub(crate) stage: u32,
    pub(crate) stage_name: String,
    /// Number from 1; 0 is the delivery of raw output after the last iteration.
    pub(crate) iteration: u32,
    pub(crate) texts: TurnTexts,
}

/// Content of the first page.
pub(crate) struct Overview {
    pub(crate) sessions: Vec<SeenSession>,
    /// Whether there are older sessions.
    pub(crate) are_more: bool,
    pub(crate) questions: Vec<Question>,
}

/// Content of a session's page.
pub(crate) struct Story {
    pub(crate) session: SeenSession,
    pub(crate) told: JournalContent,
    /// The session's questions, and those of the sessions that its hooks started.
    pub(crate) questions: Vec<Question>,
    /// The sessions that its hooks started, by name.
    pub(crate) children: HashMap<String, SeenSession>,
}

impl Story {
    /// A hash of everything that the page depends on: an equal hash means an equal page.
    pub(crate) fn facts(&self) -> u64 {
        let Self { session, told, questions, children } = self;
        let mut hasher = DefaultHasher::new();
        (session.facts(), told.last).hash(&mut hasher);
        for Question { wait, is_attended } in questions {
            let wait = serde_json::to_string(wait).unwrap_or_default();
            (wait, is_attended).hash(&mut hasher);
        }
        let mut children: Vec<&SeenSession> = children.values().collect();
        children.sort_by_key(|child| &child.record.name);
        children.iter().for_each(|child| child.facts().hash(&mut hasher));
        hasher.finish()
    }
}

/// A question to a person, open or answered.
pub(crate) struct Question {
    pub(crate) wait: Wait,
    /// Whether a running process would use an answer at once.
    pub(crate) is_attended: bool,
}

/// Selects a session and some of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StorySelection {
    pub(crate) name: String,
    /// Set if the board shows all projects.
    pub(crate) project: Option<String>,
    /// Only rows before this one.
    pub(crate) before: Option<u64>,
}

impl Board {
    /// A board of this store, for one project or for all.
    pub fn new(store: Arc<dyn Store>, approvals: Approvals, project: Option<String>) -> Self {
        let chronicles = Chronicles::default();
        Self { store, approvals: Arc::new(approvals), project, chronicles }
    }

    /// Whether the board shows all projects.
    pub(crate) fn is_of_all(&self) -> bool {
        self.project.is_none()
    }

    pub(crate) fn changes(&self) -> Result<u64, StoreError> {
        self.store.changes()
    }

    /// The sessions before this position, newest first.
    pub(crate) fn overview(&self, before: Option<RecordPosition>) -> Result<Overview, WaitError> {
        let limit = limits::SESSIONS_ON_PAGE_MAX;
        let project = self.project.clone();
        let filter = Filter { project, before, ..Filter::newest(limit) };
        let mut sessions = Vec::new();
        for record in records(&*self.store, Kind::Session, filter) {
            let session = self.seen(record?)?;
            // Sessions that hooks started are shown on their parent's page.
            if session.record.parent.is_none() {
                sessions.push(session);
            }
            // One more than fits: there are older ones.
            if sessions.len() > limit {
                break;
            }
        }
        let are_more = sessions.len() > limit;
        sessions.truncate(limit);
        Ok(Overview { sessions, are_more, questions: self.questions(|_| true)? })
    }

    /// A session and its story.
    pub(crate) fn story(&self, which: &StorySelection) -> Result<Option<Story>, WaitError> {
        let Some(session) = self.session(which)? else { return Ok(None) };
        let runs = session.process.is_some();
        let told = self.journal_content(&session, which.before, runs)?;
        let children = self.children(&session, &told)?;
        let record = &session.record;
        let concerns = |name: &String| *name == record.name || children.contains_key(name);
        let mut questions = self.questions(|wait| {
            wait.project == record.project() && wait.session.as_ref().is_some_and(concerns)
        })?;
        questions.extend(self.answered(&told)?);
        Ok(Some(Story { session, told, questions, children }))
    }

    /// The sessions that hooks started, for the visible rows.
    fn children(
        &self,
        session: &SeenSession,
        told: &JournalContent,
    ) -> Result<HashMap<String, SeenSession>, StoreError> {
        let project = session.record.project();
        let mut children = HashMap::new();
        for name in told.rows.iter().flat_map(|row| children_in(&row.what)) {
            let (project, name) = (project.to_owned(), name.to_owned());
            if let Some(record) = self.store.get(Kind::Session, &RecordKey { project, name })? {
                children.insert(record.key.name.clone(), self.seen(record)?);
            }
        }
        Ok(children)
    }

    fn journal_content(
        &self,
        session: &SeenSession,
        before: Option<u64>,
        runs: bool,
    ) -> Result<JournalContent, StoreError> {
        let record = &session.record;
        let (project, name) = (record.project().to_owned(), record.name.clone());
        let journal = JournalKey { project, session: name };
        let chronicle = self.chronicles.get(journal, &record.start_time);
        let mut chronicle = chronicle.lock().unwrap_or_else(PoisonError::into_inner);
        chronicle.read_on(&*self.store)?;
        chronicle.content(&*self.store, before, runs)
    }

    /// The report in this entry of a session's journal, with the hook's output.
    pub(crate) fn report(
        &self,
        which: &StorySelection,
        sequence: u64,
    ) -> Result<Option<(SeenSession, Report)>, WaitError> {
        let Some(session) = self.session(which)? else { return Ok(None) };
        let (project, name) = (session.record.project().to_owned(), session.record.name.clone());
        let journal = JournalKey { project, session: name };
        let Some(after) = sequence.checked_sub(1) else { return Ok(None) };
        let entry = self.store.journal(&journal, after, 1)?.pop();
        let event = entry.and_then(|entry| RunEvent::from_json(&entry.value).ok());
        let Some(RunEvent {
            firing,
            kind: RunEventKind::Firing(FiringEvent::HookReported { mut report }),
            ..
        }) = event
        else {
            return Ok(None);
        };
        if !report.hides_output
            && let Some(output) = self.output_before(&journal, sequence, firing, &report.id)?
        {
            (report.stdout, report.stderr) = (output.stdout, output.stderr);
        }
        Ok(Some((session, report)))
    }

    /// The conversation of this turn: stage and iteration count from 1; iteration 0 is the delivery
    /// of raw output after the last one.
    pub(crate) fn turn(
        &self,
        which: &StorySelection,
        stage: u32,
        iteration: u32,
    ) -> Result<Option<SeenTurn>, WaitError> {
        let Some(session) = self.session(which)? else { return Ok(None) };
        let stages = &session.record.stages;
        let last = u32::try_from(stages.len()).unwrap_or(u32::MAX);
        let kind = if iteration == 0 { TurnKind::RawDelivery } else { TurnKind::Iteration };
        let number = if kind == TurnKind::RawDelivery { last } else { stage };
        let index = number.checked_sub(1).map(|index| index as usize);
        let Some((index, name)) = index.and_then(|index| Some((index, stages.get(index)?.clone())))
        else {
            return Ok(None);
        };
        let at = StageAt { index, name: &name };
        let texts = SessionFolder::of_record(&session.record).map(|folder| {
            let iteration = match kind {
                TurnKind::RawDelivery => folder.last_iteration(at)?,
                TurnKind::Iteration => iteration,
            };
            folder.read_turn(TurnAt { iteration: IterationAt { stage: at, iteration }, kind })
        });
        // For an unreadable file the page says that the text is not kept.
        let texts = texts.transpose().ok().flatten().unwrap_or_default();
        Ok(Some(SeenTurn { session, stage: number, stage_name: name, iteration, texts }))
    }

    /// The output of the hook whose report is in this entry, from the end of its last attempt.
    fn output_before(
        &self,
        journal: &JournalKey,
        sequence: u64,
        firing: u64,
        hook: &str,
    ) -> Result<Option<Output>, StoreError> {
        let oldest = sequence.saturating_sub(limits::OUTPUT_LOOK_BACK_MAX);
        let mut before = sequence;
        while before > oldest + 1 {
            let after = before.saturating_sub(1 + ENTRIES_AT_ONCE).max(oldest);
            let most = usize::try_from(before - 1 - after).unwrap_or_default();
            for entry in self.store.journal(journal, after, most)?.iter().rev() {
                let Ok(event) = RunEvent::from_json(&entry.value) else { continue };
                if let RunEventKind::Firing(FiringEvent::HookEnded { hook: of, outcome, .. }) =
                    event.kind
                    && (event.firing, of.as_str()) == (firing, hook)
                {
                    return Ok(outcome.output().cloned());
                }
            }
            before = after + 1;
        }
        Ok(None)
    }

    /// The wait with this id, if the board shows it.
    pub(crate) fn wait(&self, id: &str) -> Result<Option<Wait>, WaitError> {
        Ok(self.approvals.get(id)?.filter(|wait| self.shows(wait)))
    }

    fn shows(&self, wait: &Wait) -> bool {
        self.project.as_ref().is_none_or(|project| *project == wait.project)
    }

    fn questions(&self, which: impl Fn(&Wait) -> bool) -> Result<Vec<Question>, WaitError> {
        let mut waiting = self.approvals.waiting()?;
        waiting.retain(|wait| self.shows(wait) && which(wait));
        waiting.truncate(limits::QUESTIONS_SHOWN_MAX);
        Ok(waiting.into_iter().map(|wait| self.question(wait)).collect())
    }

    /// Questions that are answered but whose session has not continued yet.
    fn answered(&self, told: &JournalContent) -> Result<Vec<Question>, WaitError> {
        let mut answered = Vec::new();
        for id in told.rows.under_way().flat_map(|row| open_questions(&row.what)) {
            let wait = self.approvals.get(id)?;
            answered.extend(wait.filter(|wait| wait.state.decision().is_some()));
        }
        Ok(answered.into_iter().map(|wait| self.question(wait)).collect())
    }

    fn question(&self, wait: Wait) -> Question {
        Question { is_attended: self.approvals.is_attended(&wait), wait }
    }

    fn session(&self, which: &StorySelection) -> Result<Option<SeenSession>, StoreError> {
        let record = match self.project.as_ref().or(which.project.as_ref()) {
            Some(project) => {
                let key = RecordKey { project: project.clone(), name: which.name.clone() };
                self.store.get(Kind::Session, &key)?
            }
            None => {
                let name_prefix = Some(which.name.clone());
                let filter = Filter { name_prefix, ..Filter::newest(limits::SESSIONS_ON_PAGE_MAX) };
                let is_it = |record: &Record| record.key.name == which.name;
                let mut found = records(&*self.store, Kind::Session, filter);
                found.find(|record| record.as_ref().map_or(true, is_it)).transpose()?
            }
        };
        record.map(|record| self.seen(record)).transpose()
    }

    fn seen(&self, stored: Record) -> Result<SeenSession, StoreError> {
        let StoredSession { record, status, holder, place, version } =
            StoredSession::read(&*self.store, stored)?;
        let process = holder.map(|holder| holder.pid);
        Ok(SeenSession { record, status, process, place, version })
    }
}

/// The sessions that hooks started in this row.
fn children_in(what: &RowContent) -> impl Iterator<Item = &str> {
    what.deeds().iter().filter_map(|deed| match deed {
        TimelineEvent::Child { session, .. } => Some(session.as_str()),
        _ => None,
    })
}

/// The waits of this row whose answers have not been used.
fn open_questions(what: &RowContent) -> impl Iterator<Item = &str> {
    what.deeds().iter().filter_map(|deed| match deed {
        TimelineEvent::Question {
            wait,
            state: QuestionState::Waiting | QuestionState::CutOff,
            ..
        } => Some(wait.as_str()),
        _ => None,
    })
}

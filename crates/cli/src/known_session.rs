//! Sessions for the commands about them: the stored record, and the process that runs it.
//!
//! Reading creates nothing: without a store there are no sessions.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_dialects::hosts;
use hookwright_events::SessionStatus;
use hookwright_pipeline::folder::SessionName;
use hookwright_pipeline::lease::LeaseOwner;
use hookwright_pipeline::record::{AGENT_COMMAND, SessionRecord};
use hookwright_pipeline::session_issues::read_issues;
use hookwright_pipeline::stored_session::StoredSession;
use hookwright_pipeline::trace::TraceKey;
use hookwright_store::{Filter, JournalKey, Kind, Record, Store, records};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use crate::config_files::{ConfigFiles, ConfigOptions};
use crate::error::{CANDIDATES_MAX, Failure, SessionFailure};
use crate::{project, session_choice, state};

/// The project of a command.
#[derive(Debug, clap::Args)]
pub(crate) struct ProjectOption {
    /// Act as if started in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// What a list can be narrowed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StatusWord {
    /// A process is running it
    Active,
    /// It has not ended, but its process is gone
    #[value(aliases = ["cut off", "cut_off"])]
    CutOff,
    /// It waits for a worker that takes it
    Queued,
    /// It has done all its work
    Completed,
    /// A person ended it
    Interrupted,
    /// It failed
    Failed,
    /// A hook ended it
    Aborted,
    /// It waits for a person
    Paused,
    /// A prune began to delete it but was killed, or could not remove its folder
    Deleting,
}

impl From<StatusWord> for SessionStatus {
    fn from(word: StatusWord) -> Self {
        match word {
            StatusWord::Active => Self::Active,
            StatusWord::CutOff => Self::CutOff,
            StatusWord::Queued => Self::Queued,
            StatusWord::Completed => Self::Completed,
            StatusWord::Interrupted => Self::Interrupted,
            StatusWord::Failed => Self::Failed,
            StatusWord::Aborted => Self::Aborted,
            StatusWord::Paused => Self::Paused,
            StatusWord::Deleting => Self::Deleting,
        }
    }
}

/// The default session of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionChoice {
    /// The only resumable one.
    Resume,
    /// The only running one.
    Stop,
    /// The only running one, else the only one. Contains the command's name.
    Show(&'static str),
}

impl SessionChoice {
    /// The command, and what its session does, to follow "a session that".
    fn words(self) -> (&'static str, &'static str) {
        match self {
            SessionChoice::Resume => ("resume", "can be resumed"),
            SessionChoice::Stop => ("stop", "is running"),
            SessionChoice::Show(command) => (command, "could be shown"),
        }
    }
}

/// Selects sessions, newest first.
#[derive(Debug, Default)]
pub(crate) struct Query<'a> {
    /// Only sessions with one of these statuses; all if empty.
    pub(crate) statuses: Vec<SessionStatus>,
    pub(crate) all_projects: bool,
    /// Include sessions that hooks started.
    pub(crate) children: bool,
    pub(crate) name_prefix: Option<&'a str>,
    /// At most this many; `None` for all.
    pub(crate) limit: Option<usize>,
}

impl Query<'_> {
    /// Only sessions with one of these statuses.
    pub(crate) fn with_statuses<S: Into<SessionStatus>>(
        statuses: impl IntoIterator<Item = S>,
    ) -> Self {
        let statuses = statuses.into_iter().map(Into::into).collect();
        Self { statuses, ..Self::default() }
    }

    /// Only sessions that can be resumed.
    pub(crate) fn resumable() -> Self {
        let all = SessionStatus::ALL.into_iter();
        Self::with_statuses(all.filter(|status| status.is_resumable()))
    }
}

/// A session of the store.
#[derive(Debug)]
pub(crate) struct KnownSession {
    pub(crate) record: SessionRecord,
    /// The record's version in the store.
    pub(crate) version: u64,
    /// The record's status, or [`SessionStatus::CutOff`].
    pub(crate) status: SessionStatus,
    /// The process that runs it.
    pub(crate) holder: Option<LeaseOwner>,
}

/// Every field under its JSON name, `null` without a value. Serialized directly, not through a tree
/// of values, since lists may be long.
impl Serialize for KnownSession {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = &self.record;
        let metadata = &record.metadata;
        let process = self
            .holder
            .as_ref()
            .map(|holder| json!({ "pid": holder.pid, "host": holder.machine.host }));
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("id", &record.id)?;
        fields.serialize_entry("name", &record.name)?;
        fields.serialize_entry("startTime", &record.start_time)?;
        fields.serialize_entry("endTime", &record.end_time)?;
        fields.serialize_entry("workspace", &record.workspace)?;
        fields.serialize_entry("project", record.project())?;
        fields.serialize_entry("command", &record.command)?;
        fields.serialize_entry("args", &record.args)?;
        fields.serialize_entry("issuesPlanned", &record.issues_planned)?;
        fields.serialize_entry("issuesCompleted", &record.issues_completed)?;
        fields.serialize_entry("issuesFailed", &record.issues_failed)?;
        fields.serialize_entry("currentIssue", &record.current_issue)?;
        fields.serialize_entry("status", &self.status)?;
        fields.serialize_entry("provider", &record.provider)?;
        fields.serialize_entry(
            "metadata",
            &json!({
                "gitBranch": metadata.git_branch,
                "gitCommit": metadata.git_commit,
                "totalDuration": metadata.total_duration,
            }),
        )?;
        fields.serialize_entry("plan", &record.plan)?;
        fields.serialize_entry("stages", &record.stages)?;
        fields.serialize_entry("stage", &record.stage)?;
        fields.serialize_entry("iterations", &record.iterations)?;
        fields.serialize_entry("reason", &record.reason)?;
        fields.serialize_entry("work", &record.work)?;
        fields.serialize_entry("hooks", &record.hooks)?;
        fields.serialize_entry("resumes", &record.resumes)?;
        fields.serialize_entry("usage", &record.usage)?;
        fields.serialize_entry("usageOfChildren", &record.usage_of_children)?;
        fields.serialize_entry("agentSessions", &record.agent_sessions)?;
        fields.serialize_entry("pause", &record.pause)?;
        fields.serialize_entry("pausedFor", &record.paused_for)?;
        fields.serialize_entry("submission", &record.submission)?;
        fields.serialize_entry("parent", &record.parent)?;
        fields.serialize_entry("folder", &session_folder(record))?;
        fields.serialize_entry("process", &process)?;
        fields.end()
    }
}

/// A session's folder, relative to the project root; `None` for a session of another agent.
fn session_folder(record: &SessionRecord) -> Option<String> {
    if TraceKey::parse(&record.name).is_some() {
        return None;
    }
    let usual = || format!(".hookwright/sessions/{}", record.name);
    Some(record.folder.clone().unwrap_or_else(usual))
}

impl KnownSession {
    pub(crate) fn name(&self) -> &str {
        &self.record.name
    }

    pub(crate) fn runs(&self) -> bool {
        self.holder.is_some()
    }

    /// Whether it runs, or goes on without anyone doing something: workers take it.
    pub(crate) fn goes_on(&self) -> bool {
        let is_on_workers = self.record.submission.is_some();
        match self.status {
            SessionStatus::Queued => true,
            SessionStatus::CutOff => is_on_workers,
            _ => self.runs(),
        }
    }

    /// The trace, if it is a session of another agent.
    pub(crate) fn trace(&self) -> Option<TraceKey> {
        TraceKey::parse(&self.record.name)
    }

    pub(crate) fn can_be_resumed(&self) -> bool {
        self.record.can_be_resumed(self.status)
    }

    /// The command that resumes it, if it can be resumed.
    pub(crate) fn resume_command(&self) -> Option<String> {
        self.record.resume_command(self.status)
    }

    /// The time from its beginning to its end or until now; `None` if it was cut off at an unknown
    /// time.
    pub(crate) fn duration_ms(&self, now_ms: i64) -> Option<i64> {
        if self.runs() {
            return Some((now_ms - self.record.created_at_ms()).max(0));
        }
        self.record.metadata.total_duration.filter(|_| self.status != SessionStatus::CutOff)
    }

    pub(crate) fn journal(&self) -> JournalKey {
        let (project, session) = (self.record.project().to_owned(), self.record.name.clone());
        JournalKey { project, session }
    }

    /// Every field, including those without a value.
    pub(crate) fn json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The sessions, seen from one project.
pub(crate) struct Sessions {
    /// `None` before the first session.
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) found: ConfigFiles,
    /// The project's name, else its path.
    pub(crate) project: String,
}

impl Sessions {
    pub(crate) fn find(option: &ProjectOption) -> Result<Self, Failure> {
        let cwd = option.cwd.clone();
        let options =
            ConfigOptions { config: Vec::new(), dialect: None, cwd, no_global_hooks: true };
        let found = ConfigFiles::find(&options)?;
        let store = state::existing_store()?;
        let project = project::known(&found.project_root, store.as_ref())?;
        Ok(Self { store, found, project })
    }

    /// The same with the sessions of other agents, which can only be looked at and deleted.
    pub(crate) fn find_with_traces(option: &ProjectOption) -> Result<Self, Failure> {
        let mut sessions = Self::find(option)?;
        let (root, project) = (&sessions.found.project_root, &sessions.project);
        sessions.store = Some(state::with_traces(sessions.store.take(), root, project)?);
        Ok(sessions)
    }

    /// The sessions of a known project.
    pub(crate) fn of_project(project: String, options: &ConfigOptions) -> Result<Self, Failure> {
        let found = ConfigFiles::find(&options.searching())?;
        Ok(Self { store: state::existing_store()?, found, project })
    }

    /// The session that the user means, and its store.
    pub(crate) fn chosen(
        &self,
        text: Option<&str>,
        choice: SessionChoice,
    ) -> Result<(&dyn Store, KnownSession), Failure> {
        let Some(text) = text else { return self.only(choice) };
        let may_be_trace = TraceKey::may_begin_with(text);
        match choice {
            SessionChoice::Show(_) if may_be_trace => {}
            SessionChoice::Resume | SessionChoice::Stop if may_be_trace => {
                return Err(SessionFailure::InAgent { name: text.to_owned() }.into());
            }
            SessionChoice::Resume | SessionChoice::Stop | SessionChoice::Show(_) => {
                text.parse::<SessionName>().map_err(SessionFailure::Name)?;
            }
        }
        let missing = || SessionFailure::Unknown { name: text.to_owned() };
        let store = self.store.as_deref().ok_or_else(missing)?;
        let record = match session_choice::in_project(store, &self.project, text) {
            Err(Failure::Session(SessionFailure::Unknown { name })) => {
                let named = self.named_by_agent(store, text)?;
                named.ok_or(SessionFailure::Unknown { name })?
            }
            record => record?,
        };
        Ok((store, known(store, record)?))
    }

    /// The session of another agent that the agent itself calls like this.
    fn named_by_agent(&self, store: &dyn Store, id: &str) -> Result<Option<Record>, Failure> {
        for host in hosts::all() {
            let name = TraceKey::new(host.name, id).name();
            if let Some(record) = state::session(store, &self.project, &name)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// The only session that can be meant.
    fn only(&self, choice: SessionChoice) -> Result<(&dyn Store, KnownSession), Failure> {
        let (command, which) = choice.words();
        let limit = Some(CANDIDATES_MAX + 1);
        let list = |query: Query<'_>| self.list(&Query { limit, ..query });
        let mut found = match choice {
            SessionChoice::Resume => list(Query::resumable())?,
            SessionChoice::Stop => {
                list(Query::with_statuses([SessionStatus::Active, SessionStatus::Queued]))?
            }
            SessionChoice::Show(_) => match list(Query::with_statuses([SessionStatus::Active]))? {
                running if running.len() == 1 => running,
                _ => list(Query::default())?,
            },
        };
        if choice == SessionChoice::Resume {
            // Those need a prompt, and have a command of their own.
            found.retain(|session| session.record.command != AGENT_COMMAND);
        }
        let names = || found.iter().map(|session| session.name().to_owned()).collect();
        match (found.len(), self.store.as_deref()) {
            (1, Some(store)) => Ok((store, found.swap_remove(0))),
            (0, _) | (_, None) => Err(SessionFailure::NoneToChoose { command, which }.into()),
            _ => Err(SessionFailure::SeveralToChoose { command, which, names: names() }.into()),
        }
    }

    /// The session of this name in this project, and its store.
    pub(crate) fn named(&self, name: &str) -> Result<(&dyn Store, KnownSession), Failure> {
        if TraceKey::parse(name).is_none() {
            name.parse::<SessionName>().map_err(SessionFailure::Name)?;
        }
        let missing = || SessionFailure::Unknown { name: name.to_owned() };
        let store = self.store.as_deref().ok_or_else(missing)?;
        let record = state::session(store, &self.project, name)?.ok_or_else(missing)?;
        Ok((store, known(store, record)?))
    }

    /// Reads the sessions' lists of issues, which are not part of their records and only printed as
    /// JSON.
    pub(crate) fn read_issues(&self, list: &mut [KnownSession]) -> Result<(), Failure> {
        let Some(store) = self.store.as_deref() else { return Ok(()) };
        for session in list {
            read_issues(store, &mut session.record).map_err(Failure::Store)?;
        }
        Ok(())
    }

    /// The name of the session at the root of this one's ancestors, which a person started.
    pub(crate) fn root_of(&self, session: &KnownSession) -> Result<String, Failure> {
        let origin = self.origin_of(session)?;
        Ok(origin.as_ref().unwrap_or(session).name().to_owned())
    }

    /// The root session of one that a hook started.
    pub(crate) fn origin_of(
        &self,
        session: &KnownSession,
    ) -> Result<Option<KnownSession>, Failure> {
        let mut origin = None;
        let mut parent = session.record.parent.clone();
        while let Some(above) = parent {
            let (_, found) = self.named(&above.session)?;
            parent = found.record.parent.clone();
            origin = Some(found);
        }
        Ok(origin)
    }

    /// The selected sessions, newest first.
    pub(crate) fn list(&self, query: &Query<'_>) -> Result<Vec<KnownSession>, Failure> {
        let Some(store) = self.store.as_deref() else {
            return Ok(Vec::new());
        };
        let limit = query.limit.unwrap_or(usize::MAX);
        let filter = Filter {
            project: (!query.all_projects).then(|| self.project.clone()),
            statuses: in_the_store(&query.statuses),
            name_prefix: query.name_prefix.map(str::to_owned),
            before: None,
            limit,
        };
        let mut list = Vec::new();
        for record in records(store, Kind::Session, filter) {
            let session = known(store, record.map_err(Failure::Store)?)?;
            let is_asked_for =
                query.statuses.is_empty() || query.statuses.contains(&session.status);
            if is_asked_for && (query.children || session.record.parent.is_none()) {
                list.push(session);
            }
            if list.len() >= limit {
                break;
            }
        }
        Ok(list)
    }
}

/// The names of these statuses in the store's index.
fn in_the_store(statuses: &[SessionStatus]) -> Vec<String> {
    let mut names: Vec<String> = statuses
        .iter()
        .map(|status| match status {
            // The lease distinguishes it from a running one.
            SessionStatus::CutOff => SessionStatus::Active.to_string(),
            status => status.to_string(),
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn known(store: &dyn Store, stored: Record) -> Result<KnownSession, Failure> {
    let stored = StoredSession::read(store, stored).map_err(Failure::Store)?;
    let StoredSession { record, version, status, holder, .. } = stored;
    Ok(KnownSession { record, version, status, holder })
}

//! [`BuiltInDriver`]: the built-in agent as an agent of loops and pipelines, `agent: builtin`.
//!
//! Its turn is one life of the agent: output that hooks pipe is the first block of the first message, the
//! prompt the second. Its events fire through the session ([`TurnPorts::events`]), with the hooks of the
//! stage, and requests, calls and questions are in the session's journal. Inside a turn `agent:start`
//! and `agent:stop` (subject `iteration`) take the place of `session:start`, `session:stop` and
//! `session:end`, which are the session's own.
//!
//! MCP servers belong to a turn: they start before its first event and end after its last. Each of
//! their processes carries the turn's marker, by which what a killed turn left is found.
//!
//! The terminal belongs to the live view, so no one is asked about a call: it is denied, unless a hook at
//! `permission:prompt` answers. Such a hook can ask a person, as a webhook with `await: true` does.

mod output;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use hookwright_agent::agent::{
    AgentEnd, AgentNews, AgentStart, AgentStatus, AskUser, Audience, BuiltInAgent, CallQuestion,
    UserReply,
};
use hookwright_agent::hooks::{AgentHooks, FireEvents, SessionFacts, SubagentFacts};
use hookwright_agent::journal::AgentJournal;
use hookwright_agent::mcp::{McpNotices, StartedServers};
use hookwright_agent::model::{Model, ModelError, ModelErrorKind, RetryAfter};
use hookwright_agent::permissions::{PermissionMode, PermissionRule, Permissions};
use hookwright_agent::tool::Tool;
use hookwright_agent::tools::{ToolSettings, built_in_tools};
use hookwright_agent::transcript::{Transcript, TranscriptFacts, make_whole};
use hookwright_agent::workspace::{ProtectedFiles, Workspace};
use hookwright_agents::factory::MadeAgent;
use hookwright_agents::presets::{AgentReport, ReportedFailure as AgentFailed, Reset};
use hookwright_agents::{Agent, AgentRequest, Turn, TurnEnd, TurnEvents, TurnPorts};
use hookwright_config::{FaultKind, McpServerSpec, WrittenRule};
use hookwright_engine::Secrets;
use hookwright_engine::ports::Promise;
use hookwright_engine::variables::Environment;
use hookwright_events::{Decision, Event, FailureCause, Output, ProcessOutcome, TurnEvent};
use hookwright_process::MARKER;

use self::output::{TurnAudience, TurnOutput};
use crate::config_files::{ConfigFiles, PROTECTED_ENDINGS};
use crate::mcp_servers::{NamedServers, ServerSurroundings};
use crate::model_choice::{ANSWER_TOKENS_MAX, ChosenModel, KEYS, SYSTEM};
use crate::state;
use crate::text::visible_path;
use crate::trust::{self, Standing, Trust};
use crate::user_folders::UserFolders;

/// The kind of this agent.
pub(crate) const KIND: &str = "builtin";

/// Requests to the model in one turn without `max_turns`.
const TURNS_MAX: u32 = 200;

/// Files of an iteration that are looked at: an attempt adds one or two, and the agent may add any number.
const TURN_FILES_MAX: usize = 1000;

/// Drives the built-in agent.
pub(crate) struct BuiltInDriver {
    model_name: Option<String>,
    /// The process's environment, which has the keys of models.
    environment: Environment,
    secrets: Secrets,
    /// Made for the first turn.
    model: OnceLock<Arc<dyn Model>>,
    permissions: Permissions,
    max_turns: u32,
    /// Files that its tools must not change.
    protected: Vec<PathBuf>,
    servers: Vec<McpServerSpec>,
    /// Servers that are not started, and why.
    untrusted_servers: Vec<(String, String)>,
}

/// Makes the driver of an agent that a file defines.
pub(crate) fn make(
    request: &AgentRequest<'_>,
    found: &ConfigFiles,
    environment: &Environment,
    secrets: &Secrets,
) -> MadeAgent {
    let AgentRequest { definition, settings, working_dir, .. } = request;
    let home = UserFolders::current().home.clone();
    let mut faults = Vec::new();
    let own = definition.rules();
    let mut read = |own: &[String], of_files: &[WrittenRule]| -> Vec<PermissionRule> {
        let texts = own.iter().chain(of_files.iter().map(|rule| &rule.text));
        let rules = texts.map(|text| {
            PermissionRule::parse(text, home.as_deref()).map_err(|_| FaultKind::BadValue {
                found: text.clone(),
                expected: "a permission rule: a tool, or a tool with a pattern, like \
                           bash(git push *)"
                    .into(),
            })
        });
        rules
            .filter_map(|rule| rule.map_err(|kind| faults.push((request.fault)(kind))).ok())
            .collect()
    };
    let allow = read(&own.allow, &settings.allow);
    let ask = read(&own.ask, &settings.ask);
    let deny = read(&own.deny, &settings.deny);
    if !faults.is_empty() {
        return Err(faults);
    }
    let mode = definition.text("permission_mode").and_then(PermissionMode::named);
    let permissions = Permissions {
        mode: mode.unwrap_or_default(),
        allow,
        ask,
        deny,
        workspace: std::fs::canonicalize(working_dir).unwrap_or_else(|_| working_dir.to_path_buf()),
    };
    let mut protected = request.session_files.to_vec();
    protected.extend(state::folder().ok());
    protected.extend(UserFolders::current().config());
    let (servers, untrusted_servers) = trusted_servers(settings.mcp_servers(), found);
    Ok(Arc::new(BuiltInDriver {
        model_name: definition.text("model").or(settings.model()).map(str::to_owned),
        environment: environment.clone(),
        secrets: secrets.clone(),
        model: OnceLock::new(),
        permissions,
        max_turns: definition.count("max_turns").unwrap_or(TURNS_MAX),
        protected,
        servers,
        untrusted_servers,
    }))
}

/// The servers that may be started, and for each other one its name and the reason.
///
/// What the project's own files name is started by who runs the loop, as its hooks are. `.mcp.json` is a
/// file of other programs, and they ask before they start its servers: a cloned repository must not start
/// them because someone runs a loop in it.
fn trusted_servers<'a>(
    specs: impl Iterator<Item = &'a McpServerSpec>,
    found: &ConfigFiles,
) -> (Vec<McpServerSpec>, Vec<(String, String)>) {
    let (mut trusted, mut untrusted) = (Vec::new(), Vec::new());
    let mut trust = None;
    for spec in specs.filter(|spec| spec.enabled) {
        let path = spec.foreign_file.as_deref().filter(|path| !found.is_named(path));
        let Some(path) = path else {
            trusted.push(spec.clone());
            continue;
        };
        let trust = trust.get_or_insert_with(Trust::of_user);
        let how = match trust.standing_at(path, spec.source.text.as_bytes()) {
            Standing::Trusted => {
                trusted.push(spec.clone());
                continue;
            }
            Standing::Changed => "has changed since it was trusted",
            Standing::Unknown => "is not trusted",
        };
        let (shown, place) = (visible_path(&spec.source.path).to_string(), trust::place(path));
        let command = trust::command_to_type([&*place], false);
        let why = format!("{shown} {how}; to review and trust it, run in a terminal: {command}");
        untrusted.push((spec.name.clone(), why));
    }
    (trusted, untrusted)
}

impl Agent for BuiltInDriver {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn is_host(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, turn: &'a Turn, ports: TurnPorts<'a>) -> Promise<'a, TurnEnd> {
        Box::pin(async move {
            let began = Instant::now();
            let (outcome, said) = match self.prepare(turn, &ports) {
                Ok(prepared) => self.drive(prepared, turn, ports).await,
                Err(cannot) => cannot.into_end(),
            };
            TurnEnd { outcome, took: began.elapsed(), report: Some(said) }
        })
    }
}

/// The agent of a turn, before its servers run.
struct PreparedTurn {
    agent: BuiltInAgent,
    audience: TurnAudience,
    output: TurnOutput,
    servers: NamedServers,
}

/// Why a turn cannot begin.
struct CannotBegin {
    cause: Option<FailureCause>,
    reason: String,
}

impl CannotBegin {
    fn because(reason: impl ToString) -> Self {
        Self { cause: None, reason: reason.to_string() }
    }

    fn into_end(self) -> (ProcessOutcome, AgentReport) {
        let failure = self.cause.map(|cause| AgentFailed {
            cause,
            reason: self.reason.clone(),
            resets: None,
        });
        (exited(1, "", &self.reason), AgentReport { failure, ..AgentReport::default() })
    }
}

impl BuiltInDriver {
    /// Puts the agent of a turn together.
    fn prepare(&self, turn: &Turn, ports: &TurnPorts<'_>) -> Result<PreparedTurn, CannotBegin> {
        let model = self.model().map_err(|reason| CannotBegin {
            // Another agent of the list may have what this one lacks.
            cause: Some(FailureCause::Auth),
            reason,
        })?;
        let path = transcript_path(turn);
        make_earlier_whole(&path);
        let cwd = turn.working_dir.to_string_lossy().into_owned();
        let facts = TranscriptFacts {
            session_id: turn.run_id.clone(),
            cwd: cwd.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            agent_id: None,
        };
        let transcript = Transcript::create(&path, facts).map_err(|error| {
            CannotBegin::because(format!(
                "{}: cannot create the transcript: {error}",
                path.display()
            ))
        })?;
        let tools = self.tools(turn, &path)?;
        let transcript_path = path.to_string_lossy().into_owned();
        let facts = SessionFacts {
            session_id: turn.run_id.clone(),
            transcript_path: transcript_path.clone(),
            cwd,
            permission_mode: self.permissions.mode.name().to_owned(),
        };
        let iteration = SubagentFacts {
            id: turn.run_id.clone(),
            kind: "iteration".to_owned(),
            description: format!("iteration {} of {}", turn.iteration, turn.stage),
            call: String::new(),
            transcript_path,
        };
        let events = Arc::clone(&ports.events);
        let hooks = AgentHooks::new(FiredInTurn(Arc::clone(&events)), facts);
        let (audience, output) = TurnAudience::new(transcript);
        let context_tokens = model.context_tokens();
        let agent = BuiltInAgent {
            model,
            tools,
            hooks: hooks.for_subagent(Arc::new(iteration)),
            permissions: self.permissions.clone().into(),
            user: Arc::new(NoUser),
            audience: Arc::new(audience.clone()),
            journal: Arc::new(RecordedInTurn(events)),
            system: SYSTEM.into(),
            subagents: true,
            max_turns: self.max_turns,
            max_tokens: ANSWER_TOKENS_MAX,
            context_tokens,
        };
        Ok(PreparedTurn { agent, audience, output, servers: self.servers(turn) })
    }

    /// The servers of a turn.
    fn servers(&self, turn: &Turn) -> NamedServers {
        let environment = Environment::new(turn.shared_env.iter().cloned()).without(KEYS);
        let mut env = turn.env.clone();
        env.push((MARKER.into(), marker(turn)));
        let surroundings = ServerSurroundings {
            given: &self.environment,
            environment: &environment,
            env: &env,
            secrets: &self.secrets,
            working_dir: &turn.working_dir,
        };
        let name = format!("{}-mcp", turn.run_id);
        let mut servers = NamedServers::new(self.servers.iter(), &surroundings, &name);
        for (name, why) in &self.untrusted_servers {
            servers.refuse(name, why.clone());
        }
        servers
    }

    fn model(&self) -> Result<Arc<dyn Model>, String> {
        if let Some(model) = self.model.get() {
            return Ok(Arc::clone(model));
        }
        let name = self.model_name.as_deref();
        let made = ChosenModel::choose(name, &self.environment, &self.secrets);
        let made = made.map_err(|failure| failure.message().heading)?.model;
        Ok(Arc::clone(self.model.get_or_init(|| made)))
    }

    fn tools(&self, turn: &Turn, transcript: &Path) -> Result<Vec<Arc<dyn Tool>>, CannotBegin> {
        let mut protected = self.protected.clone();
        protected.push(transcript.to_owned());
        let protected =
            ProtectedFiles::new(protected, PROTECTED_ENDINGS).map_err(CannotBegin::because)?;
        let outside = self.permissions.allow.iter().filter_map(PermissionRule::outside_folder);
        let outside: Vec<PathBuf> =
            outside.filter(|path| path.is_dir()).map(Path::to_owned).collect();
        let workspace = Workspace::open(&turn.working_dir, &outside, protected)
            .map_err(CannotBegin::because)?;
        let shell =
            ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists());
        Ok(built_in_tools(ToolSettings {
            workspace,
            shell: shell.unwrap_or("/bin/sh").into(),
            environment: environment_of_tools(turn),
        }))
    }

    /// Runs the agent to its end, and its servers beside it.
    async fn drive(
        &self,
        prepared: PreparedTurn,
        turn: &Turn,
        ports: TurnPorts<'_>,
    ) -> (ProcessOutcome, AgentReport) {
        let PreparedTurn { mut agent, audience, mut output, servers } = prepared;
        let cancel = ports.cancel.child_token();
        let (prompt, before) = match turn.prompt.split_last() {
            Some((prompt, before)) => (prompt.as_str(), before),
            None => ("", &[] as &[String]),
        };
        let start = AgentStart { prompt, before, setup: None, earlier: None, compact: None };
        let mut working = std::pin::pin!(async {
            let later = audience.clone();
            let news: McpNotices = Arc::new(move |text| later.see(AgentNews::Notice(text)));
            let StartedServers { servers, tools, notices, .. } = servers.start(news, &cancel).await;
            for notice in &notices {
                audience.see(AgentNews::Notice(notice));
            }
            agent.tools.extend(tools);
            let end = agent.run(start, &cancel).await;
            servers.end().await;
            end
        });
        let mut deadline = std::pin::pin!(tokio::time::sleep(turn.timeout));
        let mut is_late = false;
        let end = loop {
            tokio::select! {
                biased;
                Some((stream, text)) = output.next() => ports.watch.output(stream, text.as_bytes()),
                end = &mut working => break end,
                () = &mut deadline, if !is_late => {
                    is_late = true;
                    cancel.cancel();
                }
            }
        };
        while let Some((stream, text)) = output.waiting() {
            ports.watch.output(stream, text.as_bytes());
        }
        let said = AgentReport {
            text: end.text.clone(),
            session: Some(turn.run_id.clone()),
            usage: Some(end.usage.into()),
            failure: failure(&end.status),
        };
        (outcome(&end, is_late, turn), said)
    }
}

fn outcome(end: &AgentEnd, is_late: bool, turn: &Turn) -> ProcessOutcome {
    let error = end.status.error().unwrap_or_default();
    match &end.status {
        AgentStatus::Interrupted if is_late => ProcessOutcome::TimedOut {
            after_ms: u64::try_from(turn.timeout.as_millis()).unwrap_or(u64::MAX),
            output: printed(&end.text, ""),
        },
        AgentStatus::Interrupted => ProcessOutcome::Interrupted { output: printed(&end.text, "") },
        // A hook that ends the turn does not say that it has failed.
        AgentStatus::Completed | AgentStatus::EndedByHook(_) => exited(0, &end.text, &error),
        AgentStatus::PromptBlocked(_) | AgentStatus::RequestBlocked(_) => {
            exited(2, &end.text, &format!("a hook blocked it: {error}"))
        }
        AgentStatus::ModelFailed(_) | AgentStatus::MaxTurns | AgentStatus::JournalFailed(_) => {
            exited(1, &end.text, &error)
        }
    }
}

fn exited(code: i32, text: &str, error: &str) -> ProcessOutcome {
    ProcessOutcome::Exited { code, output: printed(text, error) }
}

fn printed(text: &str, error: &str) -> Output {
    Output { stdout: text.to_owned(), stderr: error.to_owned(), ..Output::default() }
}

/// Why the agent could not work, through no fault of the work.
fn failure(status: &AgentStatus) -> Option<AgentFailed> {
    let AgentStatus::ModelFailed(ModelError { kind, reason, retry, .. }) = status else {
        return None;
    };
    let cause = match kind {
        ModelErrorKind::RateLimited => FailureCause::RateLimit,
        ModelErrorKind::NoKey | ModelErrorKind::Unauthorised => FailureCause::Auth,
        ModelErrorKind::Unreachable | ModelErrorKind::Overloaded | ModelErrorKind::Tls => {
            FailureCause::Outage
        }
        // Servers that have no credit left refuse the request.
        ModelErrorKind::Refused if is_about_quota(reason) => FailureCause::Quota,
        ModelErrorKind::BadAddress
        | ModelErrorKind::UnknownModel
        | ModelErrorKind::Refused
        | ModelErrorKind::NotUnderstood
        | ModelErrorKind::ContextTooLong
        | ModelErrorKind::NoTools
        | ModelErrorKind::TooLarge => FailureCause::Crash,
    };
    let resets = match retry {
        Some(RetryAfter::Named(time)) => Some(Reset::After(*time)),
        Some(RetryAfter::Backoff) | None => None,
    };
    Some(AgentFailed { cause, reason: reason.clone(), resets })
}

fn is_about_quota(reason: &str) -> bool {
    let reason = reason.to_lowercase();
    ["credit balance", "quota", "billing"].iter().any(|word| reason.contains(word))
}

/// Beside the files of the iteration: it is removed with them. A turn that is repeated has another one.
fn transcript_path(turn: &Turn) -> PathBuf {
    let folder = turn.status_file.parent().unwrap_or(&turn.working_dir);
    folder.join(format!("transcript-{}.jsonl", turn.run_id))
}

/// Takes back the half lines of attempts at this turn whose process was killed.
fn make_earlier_whole(transcript: &Path) {
    let Some(Ok(entries)) = transcript.parent().map(std::fs::read_dir) else { return };
    let is_transcript = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("transcript-") && name.ends_with(".jsonl")
    };
    let paths = entries.take(TURN_FILES_MAX).flatten().map(|entry| entry.path());
    paths.filter(is_transcript).for_each(|path| make_whole(&path));
}

/// What the agent's environment is, without the keys of models; everything in it carries the turn's
/// marker.
fn environment_of_tools(turn: &Turn) -> Arc<[(OsString, OsString)]> {
    let is_key = |name: &OsString| KEYS.iter().any(|key| name == key);
    let all = turn.shared_env.iter().chain(&turn.env);
    let mut environment: Vec<(OsString, OsString)> =
        all.filter(|(name, _)| !is_key(name)).cloned().collect();
    environment.push((MARKER.into(), marker(turn)));
    environment.into()
}

/// The marker of everything that the turn starts, after the one that the turn itself has.
fn marker(turn: &Turn) -> OsString {
    let all = turn.env.iter().rev().chain(turn.shared_env.iter().rev());
    let outer = all.into_iter().find(|(name, _)| name == MARKER).map(|(_, outer)| outer);
    match outer.filter(|outer| !outer.is_empty()) {
        Some(outer) => {
            let mut chain = outer.clone();
            chain.push(":");
            chain.push(&turn.run_id);
            chain
        }
        None => OsString::from(&turn.run_id),
    }
}

/// Fires the agent's events within its session.
struct FiredInTurn(Arc<dyn TurnEvents>);

impl FireEvents for FiredInTurn {
    fn fire(&self, event: Event) -> Promise<'_, Decision> {
        let mut data = event.data;
        // The session's own count.
        data.remove("session_id");
        self.0.fire(event.name, data)
    }
}

struct RecordedInTurn(Arc<dyn TurnEvents>);

impl AgentJournal for RecordedInTurn {
    fn record(&self, happened: TurnEvent) -> Promise<'_, io::Result<()>> {
        self.0.record(happened)
    }
}

/// No one can be asked.
struct NoUser;

impl AskUser for NoUser {
    fn may_run<'a>(&'a self, _: CallQuestion<'a>) -> Promise<'a, Option<UserReply>> {
        Box::pin(std::future::ready(None))
    }

    fn is_there(&self) -> bool {
        false
    }
}

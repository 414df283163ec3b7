//! [`AssembledAgent`]: everything that a session of the built-in agent is made of, put together from
//! files, environment and arguments.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_agent::agent::BuiltInAgent;
use hookwright_agent::hooks::{AgentHooks, SessionFacts};
use hookwright_agent::message::{Block, Message};
use hookwright_agent::permissions::{PermissionRule, Permissions};
use hookwright_agent::tool::Tool;
use hookwright_agent::tools::{ToolSettings, built_in_tools};
use hookwright_agent::transcript::{ContinuedTranscript, TranscriptFacts};
use hookwright_agent::workspace::{ProtectedFiles, Workspace};
use hookwright_config::{AgentSettings, WrittenRule};
use hookwright_engine::ports::Clock;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Engine, Interest};
use hookwright_pipeline::prompted_session::PromptedSession;
use hookwright_process::MARKER;

use super::files_at_start::FilesAtStart;
use super::left_servers::LeftServers;
use super::output::{AgentOutput, StreamFacts};
use super::session::{OpenSession, RecordedAgent, SessionEvents, WantedSession};
use super::session_servers::SessionServers;
use super::terminal_user::TerminalUser;
use super::{AgentArguments, OutputFormat};
use crate::config_files::{ConfigFiles, PROTECTED_ENDINGS, process_environment};
use crate::error::{AgentFailure, Failure};
use crate::exit_code;
use crate::host::{EngineOptions, MayRun, ProjectHooks};
use crate::mcp_servers::{NamedServers, ServerSurroundings};
use crate::membership::Membership;
use crate::model_choice::{ANSWER_TOKENS_MAX, ChosenModel, KEYS, SYSTEM};
use crate::model_service::ModelService;
use crate::screen::Screen;
use crate::store_time::StoreTime;
use crate::user_folders::UserFolders;
use crate::{program_file, state, tasks};

/// A session that can run.
pub(super) struct AssembledAgent {
    pub(super) agent: BuiltInAgent,
    pub(super) engine: Engine,
    pub(super) output: AgentOutput,
    /// What the model runs on, for advice.
    pub(super) service: ModelService,
    pub(super) session: Arc<PromptedSession>,
    /// The conversation that goes on, the results of calls that were cut off, and notices.
    pub(super) earlier: Option<(Vec<Message>, Vec<Block>, Vec<String>)>,
    pub(super) servers: SessionServers,
    /// To be dropped after the session's end.
    pub(super) membership: Membership,
}

impl AssembledAgent {
    /// Puts a session together; an exit code where what is wrong has been said already.
    pub(super) fn assemble(
        arguments: &AgentArguments,
        screen: &Screen,
    ) -> Result<Result<Self, u8>, Failure> {
        let given = process_environment();
        let environment = Environment::new(given.for_agents().iter().cloned()).without(KEYS);
        let environment = match program_file::path() {
            Ok(program) => environment.with(tasks::PROGRAM, program),
            Err(_) => environment,
        };
        let read = || -> Result<ProjectHooks, Failure> {
            let found = ConfigFiles::find(&arguments.options)?;
            Ok(ProjectHooks::read(found, environment.clone(), MayRun::TrustedFiles))
        };
        let mut hooks = read()?;
        if hooks.refusal.is_some() && super::super::trust::ask(&arguments.options, screen)? {
            hooks = read()?;
        }
        if let Some(refusal) = hooks.refusal.take() {
            return Err(AgentFailure::NotTrusted { refusal }.into());
        }
        if !hooks.loaded.faults.is_empty() {
            screen.faults(hooks.loaded.faults.iter().map(AsRef::as_ref));
            return Ok(Err(exit_code::OUR_FAULT));
        }
        screen.left_out(&hooks.loaded.left_out);
        hooks.secrets = hooks.secrets.with_variables(&given, KEYS);
        let settings = std::mem::take(&mut hooks.loaded.agent_settings);
        let name = arguments.model.as_deref().or(settings.model());
        let ChosenModel { model, service } = ChosenModel::choose(name, &given, &hooks.secrets)?;
        let context_tokens = arguments.context_tokens.unwrap_or(model.context_tokens());
        let clock: Arc<dyn Clock> = Arc::new(StoreTime);
        let permissions = permissions(arguments, &settings, &hooks)?;
        let wanted = match &arguments.resume {
            Some(text) => WantedSession::Named(text),
            None if arguments.latest => WantedSession::Newest,
            None => WantedSession::New,
        };
        let opened = OpenSession::open(wanted, &hooks.root, &hooks.secrets, &clock)?;
        hooks.environment = opened.membership.marked(std::mem::take(&mut hooks.environment));
        let session_id = opened.id.clone();
        let transcript_path = state::transcript(&session_id)?;
        let tools = tools(&hooks, &permissions, &transcript_path, opened.session.run_id())?;
        let left = LeftServers::new(&state::folder()?);
        let surroundings = ServerSurroundings {
            given: &given,
            environment: &marked(&hooks.environment, opened.session.run_id()),
            env: &[],
            secrets: &hooks.secrets,
            working_dir: &hooks.root,
        };
        let name = format!("mcp-{session_id}");
        let named = NamedServers::new(settings.mcp_servers(), &surroundings, &name);
        let servers = SessionServers { named, left, session_id: session_id.clone() };
        let cwd = hooks.root.to_string_lossy().into_owned();
        let transcript_facts = TranscriptFacts {
            session_id: session_id.clone(),
            cwd: cwd.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            agent_id: None,
        };
        let continued = opened.transcript(&transcript_path, transcript_facts)?;
        let ContinuedTranscript { transcript, messages, cut_off, notices } = continued;
        let earlier = opened.is_continued().then_some((messages, cut_off, notices));
        let shared = opened.shared();
        let OpenSession { session, membership, .. } = opened;
        let transcript_path = transcript_path.to_string_lossy().into_owned();
        let facts = SessionFacts {
            session_id: session_id.clone(),
            transcript_path: transcript_path.clone(),
            cwd: cwd.clone(),
            permission_mode: permissions.mode.name().to_owned(),
        };
        let task = Some("task".to_owned());
        let stream_facts = StreamFacts {
            session_id,
            cwd,
            model: model.name().to_owned(),
            permission_mode: permissions.mode.name(),
            tools: tools.iter().map(|tool| tool.spec().name.clone()).chain(task).collect(),
            mcp_servers: Vec::new(),
            transcript_path,
        };
        let engine = hooks.engine(EngineOptions {
            memory: Some(session.memory()),
            journal: Some((session.journal(), session.firings())),
            shared,
            ..EngineOptions::default()
        });
        let files = FilesAtStart::new(&hooks.files);
        let output = AgentOutput::new(arguments.output, stream_facts, transcript, files, clock);
        // An engine without an observer creates no run events.
        if arguments.output == OutputFormat::StreamJson {
            let observer = output.clone();
            let observer = move |event: &hookwright_events::RunEvent| observer.see_run_event(event);
            engine.observe(Interest::Everything, Arc::new(observer));
        }
        let events = SessionEvents { engine: engine.clone(), session: Arc::clone(&session) };
        let journal = RecordedAgent { session: Arc::clone(&session), output: output.clone() };
        let agent = BuiltInAgent {
            model,
            tools,
            hooks: AgentHooks::new(events, facts),
            permissions: permissions.into(),
            user: Arc::new(TerminalUser::find()),
            audience: Arc::new(output.clone()),
            journal: Arc::new(journal),
            system: SYSTEM.into(),
            subagents: true,
            max_turns: arguments.max_turns,
            max_tokens: ANSWER_TOKENS_MAX,
            context_tokens,
        };
        Ok(Ok(Self { agent, engine, output, service, session, earlier, servers, membership }))
    }
}

fn permissions(
    arguments: &AgentArguments,
    settings: &AgentSettings,
    hooks: &ProjectHooks,
) -> Result<Permissions, Failure> {
    let home = UserFolders::current().home.clone();
    let read = |rules: &[WrittenRule]| -> Result<Vec<PermissionRule>, Failure> {
        let rules = rules.iter().map(|rule| {
            PermissionRule::parse(&rule.text, home.as_deref()).map_err(|cause| {
                let place = format!("{}:{}", rule.source.path.display(), rule.place.line);
                AgentFailure::Rule { place, rule: rule.text.clone(), cause }.into()
            })
        });
        rules.collect()
    };
    Ok(Permissions {
        mode: arguments.permission_mode,
        allow: read(&settings.allow)?,
        ask: read(&settings.ask)?,
        deny: read(&settings.deny)?,
        workspace: fs::canonicalize(&hooks.root).unwrap_or_else(|_| hooks.root.clone()),
    })
}

fn tools(
    hooks: &ProjectHooks,
    permissions: &Permissions,
    transcript: &Path,
    run_id: &str,
) -> Result<Vec<Arc<dyn Tool>>, Failure> {
    let not_there = |cause: String| Failure::NoSuchFolder {
        folder: hooks.root.clone(),
        cause: std::io::Error::other(cause),
    };
    let mut protected: Vec<PathBuf> =
        hooks.files.iter().map(|file| file.file().path.clone()).collect();
    protected.push(transcript.to_owned());
    protected.push(state::folder()?);
    protected.extend(UserFolders::current().config());
    let protected = ProtectedFiles::new(protected, PROTECTED_ENDINGS)
        .map_err(|error| not_there(error.to_string()))?;
    // A rule that permits a path outside of the workspace makes its folder reachable.
    let outside = permissions.allow.iter().filter_map(PermissionRule::outside_folder);
    let outside: Vec<PathBuf> = outside.filter(|path| path.is_dir()).map(Path::to_owned).collect();
    let workspace = Workspace::open(&hooks.root, &outside, protected)
        .map_err(|error| not_there(error.to_string()))?;
    let shell = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists());
    let settings = ToolSettings {
        workspace,
        shell: shell.unwrap_or("/bin/sh").into(),
        environment: Arc::clone(marked(&hooks.environment, run_id).for_agents()),
    };
    Ok(built_in_tools(settings))
}

/// The environment of tools: everything that they start carries the marker of the turn.
fn marked(environment: &Environment, run_id: &str) -> Environment {
    let marker = match environment.text(MARKER).filter(|outer| !outer.is_empty()) {
        Some(outer) => format!("{outer}:{run_id}"),
        None => run_id.to_owned(),
    };
    environment.with(MARKER, marker)
}

//! `hookwright agent`: the built-in agent, in which every hook of an agent's life fires and is obeyed.
//!
//! | module | does |
//! |---|---|
//! | `assembly` | puts the session together: hooks, model, tools, permissions |
//! | `files_at_start` | notices when a hook file is no longer as the session read it |
//! | `session` | the session in the store: a new one, or one that is continued |
//! | `left_servers` | ends MCP servers of sessions whose program was killed |
//! | `output` | what leaves on standard output, in one of three formats |
//! | `session_servers` | the MCP servers of the session |
//! | `stream_lines` | lines on their way to a reader, which may be slow |
//! | `terminal_user` | asks a person on the terminal |

mod assembly;
mod files_at_start;
mod left_servers;
mod output;
mod session;
mod session_servers;
mod stream_lines;
mod terminal_user;

use std::io::{self, IsTerminal, Read};

use clap::{Args, ValueEnum};
use hookwright_agent::agent::{
    AgentEnd, AgentNews, AgentStart, AgentStatus, Audience, EarlierConversation, ManualCompaction,
};
use hookwright_agent::limits::CONTEXT_TOKENS_MIN;
use hookwright_agent::permissions::PermissionMode;
use hookwright_events::{SessionStatus, TurnResult};
use tokio_util::sync::CancellationToken;

use self::assembly::AssembledAgent;
use crate::config_files::ConfigOptions;
use crate::error::{AgentFailure, Failure, model_help};
use crate::exit_code;
use crate::host::runtime;
use crate::interrupts::Interrupts;
use crate::model_service::ModelService;
use crate::screen::Screen;
use crate::text::{one_line, visible};

/// A prompt that is longer is no prompt but a file, which the agent can read itself.
const PROMPT_BYTES_MAX: u64 = 1024 * 1024;

/// Requests to the model without `--max-turns`. An agent that needs more has lost its way.
const TURNS_MAX: u32 = 200;

/// Characters of the model's last words that the journal keeps.
const SUMMARY_CHARS_MAX: usize = 300;

/// Run the built-in agent: every hook of an agent's life fires and is obeyed
///
/// Sends the prompt to a model and runs the tools that it calls, until it has finished. Hooks of all
/// files that are found run at every event (`hookwright events`); the files have to be trusted first
/// (`hookwright trust`). Rules under `permissions:` decide what the tools may do. The model is
/// Anthropic's if ANTHROPIC_API_KEY is set, else that of a server of chat completions
/// (OPENAI_API_KEY, OPENAI_BASE_URL); `anthropic:NAME` and `openai:NAME` choose. With
/// `--model scripted:FILE` no key is needed: the file says what the model answers. Exits with 0 when
/// the work is done, 2 if a hook blocked the prompt or a request, 3 if a hook ended the session, 5 if
/// the model failed or a limit was reached, 130 if it was interrupted, and 1 otherwise. Each run is a
/// session: `hookwright sessions` lists it, `hookwright stop` ends it, and `--resume` or `--continue`
/// goes on with its conversation.
#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// What the agent is to do; without it, standard input is read
    #[arg(short, long, value_name = "PROMPT")]
    prompt: Option<String>,

    /// The model: a name, anthropic:NAME, openai:NAME, or scripted:FILE
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// What is printed on standard output
    #[arg(long = "output-format", visible_alias = "output", value_enum, default_value_t)]
    output: OutputFormat,

    /// How calls are judged that no rule decides
    #[arg(long, value_name = "MODE", default_value = "default", value_parser = modes())]
    permission_mode: PermissionMode,

    /// Requests to the model, at most
    #[arg(long, value_name = "NUMBER", default_value_t = TURNS_MAX)]
    max_turns: u32,

    /// Continue this session of the agent: its name or id, or the beginning of one
    #[arg(long, value_name = "SESSION", conflicts_with = "latest")]
    resume: Option<String>,

    /// Continue the newest session of the agent in this project
    #[arg(long = "continue")]
    latest: bool,

    /// Tokens that the model has room for; a conversation that nearly fills them is compacted
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(CONTEXT_TOKENS_MIN..))]
    context_tokens: Option<u64>,

    /// Compact the conversation as soon as there is one; INSTRUCTIONS say what to keep
    #[arg(long, value_name = "INSTRUCTIONS", num_args = 0..=1, default_missing_value = "")]
    compact: Option<String>,

    /// Fire session:setup first, with the trigger init
    #[arg(long, conflicts_with = "maintenance")]
    init: bool,

    /// Fire session:setup first, with the trigger maintenance
    #[arg(long)]
    maintenance: bool,

    #[command(flatten)]
    options: ConfigOptions,
}

/// What is printed on standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// What the model said last
    #[default]
    Text,
    /// One JSON value at the end
    Json,
    /// One JSON value a line, while it happens
    StreamJson,
}

fn modes() -> impl clap::builder::TypedValueParser<Value = PermissionMode> {
    use clap::builder::TypedValueParser as _;
    clap::builder::PossibleValuesParser::new(PermissionMode::ALL.map(PermissionMode::name))
        .map(|name| PermissionMode::named(&name).expect("clap lets no other name pass"))
}

pub(crate) fn agent(arguments: &AgentArguments, screen: &Screen) -> Result<u8, Failure> {
    run_session(arguments, screen).map_err(AgentFailure::of_command)
}

fn run_session(arguments: &AgentArguments, screen: &Screen) -> Result<u8, Failure> {
    let prompt = match &arguments.prompt {
        Some(prompt) => prompt.clone(),
        None => read_prompt()?,
    };
    if prompt.trim().is_empty() {
        return Err(AgentFailure::NoPrompt.into());
    }
    let session = match AssembledAgent::assemble(arguments, screen)? {
        Ok(session) => session,
        Err(code) => return Ok(code),
    };
    let setup = match (arguments.init, arguments.maintenance) {
        (true, _) => Some("init"),
        (_, true) => Some("maintenance"),
        _ => None,
    };
    let compact = arguments.compact.as_deref().map(|instructions| ManualCompaction {
        instructions: Some(instructions).filter(|text| !text.trim().is_empty()),
    });
    let start = AgentStart { prompt: &prompt, before: &[], setup, earlier: None, compact };
    let runtime = runtime()?;
    runtime.block_on(run(session, start, screen))
}

fn read_prompt() -> Result<String, AgentFailure> {
    if io::stdin().is_terminal() {
        return Err(AgentFailure::NoPrompt);
    }
    let mut prompt = String::new();
    let read = io::stdin().lock().take(PROMPT_BYTES_MAX + 1).read_to_string(&mut prompt);
    match read {
        Ok(bytes) if bytes as u64 > PROMPT_BYTES_MAX => {
            let cause = io::Error::other("it is longer than 1 MiB");
            Err(AgentFailure::PromptUnreadable { cause })
        }
        Ok(_) => Ok(prompt),
        Err(cause) => Err(AgentFailure::PromptUnreadable { cause }),
    }
}

async fn run(
    assembled: AssembledAgent,
    start: AgentStart<'_>,
    screen: &Screen,
) -> Result<u8, Failure> {
    let AssembledAgent {
        mut agent,
        engine,
        output,
        service,
        session,
        earlier,
        servers,
        membership,
    } = assembled;
    let earlier = earlier.as_ref().map(|(messages, cut_off, notices)| EarlierConversation {
        messages,
        cut_off,
        notices,
    });
    let start = AgentStart { earlier, ..start };
    let cancel = CancellationToken::new();
    let mut interrupts = Interrupts::new().map_err(|cause| Failure::NoRuntime { cause })?;
    let first = || {
        screen.talk("interrupted: ending the agent (interrupt again to exit at once)\n");
        cancel.cancel();
    };
    session.end_survivors().await;
    session.begin().await.map_err(Failure::Store)?;
    let starting = servers.start(&output, &cancel);
    let (servers, added) = interrupts.or_else(&first, starting).await;
    output.add_servers(&added.tools, &added.reports);
    output.begin();
    for notice in &added.notices {
        output.see(AgentNews::Notice(notice));
    }
    agent.tools.extend(added.tools);
    let end = interrupts.or_else(&first, agent.run(start, &cancel)).await;
    interrupts.or_else(&|| {}, servers.end()).await;
    let waiting_for = engine.in_background();
    if !waiting_for.is_empty() {
        screen.talk(&crate::render::human::waiting_for(&waiting_for));
        interrupts.or_else(&|| engine.interrupt(), engine.settle()).await;
    }
    output.compare_files();
    membership.let_go(session.fence());
    let ended = session.end(
        result_of(&end),
        session_status(&end.status),
        Some(output.transcript_written()),
    );
    if let Err(error) = ended.await
        && !matches!(end.status, AgentStatus::JournalFailed(_))
    {
        screen.talk(&format!("warning: the end of the session cannot be recorded: {error}\n"));
    }
    // Only now: a reader may be slow, and the session has ended.
    let given_up = CancellationToken::new();
    let printed = output.end(&end, &given_up);
    let printed = interrupts.or_else(&|| given_up.cancel(), printed).await;
    printed?;
    say_why(&end.status, service, screen);
    Ok(exit_code_of(&end))
}

/// Says on the screen why the session ended, unless its work is done.
fn say_why(status: &AgentStatus, service: ModelService, screen: &Screen) {
    let text = match status {
        AgentStatus::Completed | AgentStatus::Interrupted => return,
        AgentStatus::PromptBlocked(reason) => format!("a hook blocked the prompt: {reason}"),
        AgentStatus::RequestBlocked(reason) => format!("a hook blocked a request: {reason}"),
        AgentStatus::EndedByHook(reason) => format!("a hook ended the session: {reason}"),
        AgentStatus::ModelFailed(error) => {
            let help = model_help(error.kind, service);
            format!("the model failed: {}\nhelp: {help}", error.reason)
        }
        AgentStatus::JournalFailed(reason) => format!(
            "the session cannot be recorded, so nothing more was done: {reason}\nhelp: check the \
             disk, then continue with `--continue`"
        ),
        AgentStatus::MaxTurns => {
            "the limit on turns was reached\nhelp: raise it with `--max-turns`".to_owned()
        }
    };
    screen.talk(&format!("{}\n", visible(&text)));
}

/// What the journal says of the prompt's work.
fn result_of(end: &AgentEnd) -> TurnResult {
    let error = match end.status {
        AgentStatus::Interrupted => Some("interrupted".to_owned()),
        _ => end.status.error(),
    };
    let decision = if error.is_some() { "error" } else { "stop" };
    TurnResult {
        decision: decision.to_owned(),
        summary: one_line(&end.text, SUMMARY_CHARS_MAX),
        error,
        usage: Some(end.usage.into()),
        ..TurnResult::default()
    }
}

fn session_status(status: &AgentStatus) -> SessionStatus {
    match status {
        AgentStatus::Completed => SessionStatus::Completed,
        AgentStatus::Interrupted => SessionStatus::Interrupted,
        AgentStatus::EndedByHook(_) => SessionStatus::Aborted,
        AgentStatus::PromptBlocked(_)
        | AgentStatus::RequestBlocked(_)
        | AgentStatus::ModelFailed(_)
        | AgentStatus::MaxTurns
        | AgentStatus::JournalFailed(_) => SessionStatus::Failed,
    }
}

fn exit_code_of(end: &AgentEnd) -> u8 {
    match end.status {
        AgentStatus::Completed => exit_code::GO_ON,
        AgentStatus::PromptBlocked(_) | AgentStatus::RequestBlocked(_) => exit_code::BLOCK,
        AgentStatus::EndedByHook(_) => exit_code::ABORT,
        AgentStatus::ModelFailed(_) | AgentStatus::MaxTurns => exit_code::FAILED,
        AgentStatus::Interrupted => exit_code::INTERRUPTED,
        AgentStatus::JournalFailed(_) => exit_code::OUR_FAULT,
    }
}

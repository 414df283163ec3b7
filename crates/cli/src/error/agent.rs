//! Errors of the built-in agent, with advice.

use std::io;
use std::path::PathBuf;

use hookwright_agent::model::{ModelError, ModelErrorKind};
use hookwright_agent::permissions::RuleError;
use hookwright_agent::transcript::TranscriptError;
use hookwright_store::StoreError;

use super::storage::of_agents_store;
use super::{Failure, Message};
use crate::model_service::ModelService;

/// Why `hookwright agent` cannot start.
#[derive(Debug)]
pub(crate) enum AgentFailure {
    /// There is no prompt.
    NoPrompt,
    /// The prompt cannot be read.
    PromptUnreadable { cause: io::Error },
    /// Files are not trusted, and there is no terminal to ask. The text names the files and the
    /// command to type.
    NotTrusted { refusal: String },
    /// No model is set, and there is no key.
    NoModel,
    /// A service is set, but none of its models.
    NoModelName { service: ModelService },
    /// The script of a scripted model cannot be used.
    Script { path: PathBuf, cause: String },
    /// The client for the model cannot be created.
    Client { error: ModelError, service: ModelService },
    /// A permission rule cannot be read.
    Rule { place: String, rule: String, cause: RuleError },
    /// The transcript cannot be written.
    Transcript { path: PathBuf, cause: io::Error },
    /// The transcript of a session cannot be continued.
    NotContinued { name: String, path: PathBuf, cause: TranscriptError },
    /// The session does not belong to the agent.
    OtherSession { name: String },
    /// The project has no session of the agent.
    NoneToContinue,
    /// Another machine runs the session.
    RunsElsewhere { name: String, pid: u32, host: String },
    /// The session began in another checkout of the project.
    OtherCheckout { name: String, root: String },
    /// The session cannot be stored.
    Store(StoreError),
}

impl From<AgentFailure> for Failure {
    fn from(failure: AgentFailure) -> Self {
        Failure::Agent(failure)
    }
}

impl AgentFailure {
    /// A failure of `hookwright agent`: its sessions are not continued as those of a pipeline are.
    pub(crate) fn of_command(failure: Failure) -> Failure {
        match failure {
            Failure::Store(error) => AgentFailure::Store(error).into(),
            other => other,
        }
    }

    /// The message for the user.
    pub(super) fn message(&self) -> Message {
        let (heading, place, help) = match self {
            AgentFailure::NoPrompt => (
                "there is no prompt".to_owned(),
                None,
                "name one with `-p PROMPT`, or write it to standard input".to_owned(),
            ),
            AgentFailure::PromptUnreadable { cause } => (
                format!("cannot read the prompt from standard input: {cause}"),
                None,
                "name it with `-p PROMPT`; a prompt is UTF-8 text of at most 1 MiB".to_owned(),
            ),
            AgentFailure::NotTrusted { refusal } => (
                refusal.clone(),
                None,
                "nothing was started: review the files and trust them first".to_owned(),
            ),
            AgentFailure::NoModel => (
                "no model is named, and there is no key for one".to_owned(),
                None,
                "set ANTHROPIC_API_KEY or OPENAI_API_KEY, here or in secrets.env, or try the agent \
                 without a key: `--model scripted:FILE`"
                    .to_owned(),
            ),
            AgentFailure::NoModelName { service } => (
                format!("no model of the {} server is named", service.protocol().name()),
                None,
                format!(
                    "name one that the server has: `--model {}NAME`, or `model:` in hookwright.yaml",
                    service.prefix()
                ),
            ),
            AgentFailure::Script { path, cause } => (
                format!("the script of the model cannot be used: {cause}"),
                Some(path.display().to_string()),
                "docs/models.md shows what a script looks like".to_owned(),
            ),
            AgentFailure::Client { error, service } => {
                (error.reason.clone(), None, model_help(error.kind, *service))
            }
            AgentFailure::Rule { place, rule, cause } => (
                format!("the permission rule `{rule}` cannot be read: {cause}"),
                Some(place.clone()),
                "write a tool, or a tool with a pattern: `bash(git push *)`, `edit(src/**)`"
                    .to_owned(),
            ),
            AgentFailure::Transcript { path, cause } => (
                format!("cannot create the transcript: {cause}"),
                Some(path.display().to_string()),
                "free disk space or fix the folder's permissions".to_owned(),
            ),
            AgentFailure::NotContinued { name, path, cause } => (
                format!(
                    "session `{name}` cannot be continued: its transcript is unusable: {cause}"
                ),
                Some(path.display().to_string()),
                "nothing was started: restore the file, or begin a new session without `--resume` \
                 and `--continue`"
                    .to_owned(),
            ),
            AgentFailure::OtherSession { name } => (
                format!("session `{name}` is not a session of `hookwright agent`"),
                None,
                format!("resume it: `hookwright resume {name}`"),
            ),
            AgentFailure::NoneToContinue => (
                "this project has no session of the agent to continue".to_owned(),
                None,
                "begin one: leave out `--continue`".to_owned(),
            ),
            AgentFailure::OtherCheckout { name, root } => (
                format!("the session `{name}` began in another checkout of this project"),
                Some(root.clone()),
                format!("continue it there: `hookwright agent --resume {name} --cwd DIR`"),
            ),
            AgentFailure::RunsElsewhere { name, pid, host } => (
                format!("process {pid} on {host} is running session `{name}`"),
                None,
                format!("stop it there: `hookwright stop {name}`"),
            ),
            AgentFailure::Store(error) => return of_agents_store(error),
        };
        Message { heading, place, help }
    }
}

/// Advice if a model does not answer.
pub(crate) fn model_help(kind: ModelErrorKind, service: ModelService) -> String {
    let (key, url) = (service.key_variable(), service.url_variable());
    match kind {
        ModelErrorKind::NoKey => format!("set {key}, here or in secrets.env"),
        ModelErrorKind::Unauthorised => format!("check {key}: the server refuses it"),
        ModelErrorKind::UnknownModel => {
            "check `--model` and `model:` in hookwright.yaml; `anthropic:NAME` and `openai:NAME` \
             choose the server"
                .to_owned()
        }
        ModelErrorKind::Unreachable => format!("check the network and {url}, and try again"),
        ModelErrorKind::Tls => format!(
            "check {url}: the server has no TLS, or no certificate that this machine trusts"
        ),
        ModelErrorKind::BadAddress => format!("fix {url}, or unset it"),
        ModelErrorKind::RateLimited => "wait, or use a key with a higher limit".to_owned(),
        ModelErrorKind::Overloaded => "the server has too much to do: try again later".to_owned(),
        ModelErrorKind::ContextTooLong => {
            "start a new session with a smaller task, use a model with a larger context, or set \
             `--context-tokens` to what this one has room for"
                .to_owned()
        }
        ModelErrorKind::NoTools => {
            "use a model that can call tools, or tell its server to let it".to_owned()
        }
        ModelErrorKind::Refused => "the server's words say what it refuses; fix that".to_owned(),
        ModelErrorKind::NotUnderstood => format!(
            "check {url}: what answers there does not speak the {} API",
            service.protocol().name()
        ),
        ModelErrorKind::TooLarge => "the answer is larger than the limit: ask for less".to_owned(),
    }
}

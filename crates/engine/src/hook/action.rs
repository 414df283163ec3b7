//! What a hook does, once it has been checked. How it is done is in `actions/`.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::{Callback, Exhausted, Place};
use crate::template::{CommandText, JsonTemplate, TextTemplate};

/// What a hook does.
#[derive(Debug, Clone)]
pub enum Action {
    /// Runs a command.
    Shell(Shell),
    /// Sends a request, and may wait for a person.
    Webhook(Box<Webhook>),
    /// Runs a pipeline or loop.
    Spawn(Box<Spawn>),
    /// Commits all changes.
    GitCommit(GitCommit),
    /// Pushes commits.
    GitPush(GitPush),
    /// Calls a function of the host's program.
    Callback(Callback),
}

impl Action {
    /// The word for it in configurations and reports. A callback stands in no file.
    pub fn kind(&self) -> &'static str {
        match self {
            Action::Shell(_) => "shell",
            Action::Webhook(_) => "webhook",
            Action::Spawn(_) => "spawn",
            Action::GitCommit(_) => "git-commit",
            Action::GitPush(_) => "git-push",
            Action::Callback(_) => "callback",
        }
    }

    /// What it does, in one line, for lists.
    pub fn summary(&self) -> &str {
        match self {
            Action::Shell(shell) => shell.command.source(),
            Action::Webhook(webhook) => {
                webhook.url.as_ref().map_or("ask a person", TextTemplate::source)
            }
            Action::Spawn(spawn) => &spawn.pipeline,
            Action::GitCommit(commit) => {
                commit.message.as_ref().map_or("commit all changes", TextTemplate::source)
            }
            Action::GitPush(push) => push.remote.as_deref().unwrap_or("origin"),
            Action::Callback(callback) => callback.name(),
        }
    }
}

/// Runs a command in a shell, or a program without one.
#[derive(Debug, Clone)]
pub struct Shell {
    /// The command, its text untouched except for references into JSON values.
    pub command: CommandText,
    /// A program and its arguments, run as they are in place of the command, which then only says
    /// what they are. `${NAME}` in them stands for a variable that the hook's dialect adds.
    pub exec: Option<Vec<String>>,
    /// Variables that the author sets.
    pub env: Vec<(String, TextTemplate)>,
    /// Where it runs; relative to the project root.
    pub working_dir: Option<PathBuf>,
    /// The shell, a name or a path.
    pub shell: Option<String>,
    /// Between SIGTERM and SIGKILL.
    pub kill_grace: Option<Duration>,
}

impl Shell {
    /// A command about which nothing else is said.
    pub fn of(command: CommandText) -> Self {
        Self {
            command,
            exec: None,
            env: Vec::new(),
            working_dir: None,
            shell: None,
            kill_grace: None,
        }
    }
}

/// Sends a request, and may wait for a person.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// Where to. A question may be sent nowhere: people find it by themselves.
    pub url: Option<TextTemplate>,
    /// `POST` if not written.
    pub method: Option<String>,
    /// Headers.
    pub headers: Vec<(String, TextTemplate)>,
    /// What is sent.
    pub body: Body,
    /// Port of the callback listener.
    pub callback_port: Option<u16>,
    /// When nobody answers in time.
    pub on_timeout: Option<Exhausted>,
    /// When the answer is no.
    pub on_reject: Option<Exhausted>,
    /// Signs the request.
    pub secret: Option<TextTemplate>,
    /// Plain http beyond this machine.
    pub allow_http: bool,
}

/// What a request carries.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// JSON with values in it.
    Json(JsonTemplate),
    /// The event as the hook's wire writes it.
    Event,
}

impl Body {
    /// The JSON as its author wrote it; null where it is the event.
    pub fn source(&self) -> Value {
        match self {
            Body::Json(template) => template.source(),
            Body::Event => Value::Null,
        }
    }
}

/// Runs a pipeline or loop.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// Its name.
    pub pipeline: String,
    /// Where that name stands in the hook's file.
    pub place: Place,
    /// What it is given.
    pub inputs: JsonTemplate,
    /// Where its agent works.
    pub working_dir: SpawnDir,
}

/// Where a child pipeline's agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpawnDir {
    /// In the project root: a review must see the code.
    Project,
    /// In the child's own folder.
    Session,
}

/// Commits all changes.
#[derive(Debug, Clone)]
pub struct GitCommit {
    /// The commit's message.
    pub message: Option<TextTemplate>,
    /// Leaves git's own hooks out.
    pub no_verify: bool,
}

/// Pushes commits.
#[derive(Debug, Clone)]
pub struct GitPush {
    /// Where to; `origin` if not written.
    pub remote: Option<String>,
    /// What; the current branch if not written.
    pub branch: Option<String>,
}

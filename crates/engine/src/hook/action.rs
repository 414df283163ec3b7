//! The types of actions, once checked: one struct each, with its row of facts. `actions/` runs
//! them; the crate `config` reads them from files.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::action_type::KeyValue::{self, Json, Map, Port, Switch, Text, Texts, Words};
use super::action_type::{ActionKey, ActionType};
use super::{Callback, Exhausted, FilePlace};
use crate::limits::{PATIENT_TIMEOUT, SEND_TIMEOUT};
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
    /// Its row in the table of types.
    pub fn action_type(&self) -> &'static ActionType {
        match self {
            Action::Shell(_) => &Shell::TYPE,
            Action::Webhook(_) => &Webhook::TYPE,
            Action::Spawn(_) => &Spawn::TYPE,
            Action::GitCommit(_) => &GitCommit::TYPE,
            Action::GitPush(_) => &GitPush::TYPE,
            Action::Callback(_) => &Callback::TYPE,
        }
    }

    /// The word in configurations and reports. A callback occurs in no file.
    pub fn kind(&self) -> &'static str {
        self.action_type().name
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

    /// What else determines what is run or sent, for people who decide whether to trust it.
    pub fn details(&self) -> Vec<(&'static str, String)> {
        let all = match self {
            Action::Shell(shell) => shell.details(),
            Action::Webhook(webhook) => webhook.details(),
            Action::Spawn(spawn) => {
                let in_session = spawn.working_dir == SpawnDir::Session;
                let working_dir = in_session.then(|| "session".to_owned());
                let inputs = Some(spawn.inputs.source().to_string());
                vec![("inputs", inputs), ("working_dir", working_dir)]
            }
            Action::GitCommit(commit) => {
                vec![("no_verify", commit.no_verify.then(|| "true".to_owned()))]
            }
            Action::GitPush(push) => vec![("branch", push.branch.clone())],
            Action::Callback(_) => Vec::new(),
        };
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// A setting that determines what is run or sent; `None` if it is not written.
type Detail = (&'static str, Option<String>);

/// The types that files can use, in the order of messages.
pub const ACTION_TYPES: &[&ActionType] =
    &[&Shell::TYPE, &Webhook::TYPE, &Spawn::TYPE, &GitCommit::TYPE, &GitPush::TYPE];

/// The names of [`ACTION_TYPES`], in the same order.
pub const ACTION_TYPE_NAMES: &[&str] = &{
    let mut names = [""; ACTION_TYPES.len()];
    let mut number = 0;
    while number < names.len() {
        names[number] = ACTION_TYPES[number].name;
        number += 1;
    }
    names
};

/// Runs a command in a shell, or a program without one.
#[derive(Debug, Clone)]
pub struct Shell {
    /// The command. Only references into JSON values were replaced in its text.
    pub command: CommandText,
    /// A program and its arguments, run without a shell. The command is then only a description of
    /// them. `${NAME}` in them refers to a variable that the hook's dialect adds.
    pub exec: Option<Vec<String>>,
    /// Environment variables set in the configuration.
    pub env: Vec<(String, TextTemplate)>,
    /// The working directory; relative to the project root.
    pub working_dir: Option<PathBuf>,
    /// The shell, a name or a path.
    pub shell: Option<String>,
    /// The time between SIGTERM and SIGKILL.
    pub kill_grace: Option<Duration>,
}

impl Shell {
    const TYPE: ActionType = ActionType {
        keys: &[
            ActionKey("command", Text, "shell command; it reads values from its environment"),
            ActionKey("env", Texts, "environment variables for the command, used literally"),
            ActionKey(
                "working_dir",
                Text,
                "working directory; for a spawned pipeline: project or session",
            ),
            ActionKey("shell", Text, "the shell, by name or path; default: bash"),
            ActionKey("kill_grace", KeyValue::Duration, "time between SIGTERM and SIGKILL"),
        ],
        implied_by: Some("command"),
        ..ActionType::COMMAND
    };

    /// A command with defaults for the rest.
    pub fn new(command: CommandText) -> Self {
        Self {
            command,
            exec: None,
            env: Vec::new(),
            working_dir: None,
            shell: None,
            kill_grace: None,
        }
    }

    fn details(&self) -> Vec<Detail> {
        let working_dir = self.working_dir.as_ref().map(|dir| dir.display().to_string());
        let mut details = vec![("shell", self.shell.clone()), ("working_dir", working_dir)];
        for (name, value) in &self.env {
            details.push(("env", Some(format!("{name}={}", value.source()))));
        }
        details
    }
}

/// Sends a request, and may wait for a person.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// The address. It may be missing for a question: people find it in the list of approvals.
    pub url: Option<TextTemplate>,
    /// `POST` by default.
    pub method: Option<String>,
    /// Request headers.
    pub headers: Vec<(String, TextTemplate)>,
    /// What is sent.
    pub body: Body,
    /// Port of the callback listener.
    pub callback_port: Option<u16>,
    /// What follows if no person answers in time.
    pub on_timeout: Option<Exhausted>,
    /// What follows if a person rejects.
    pub on_reject: Option<Exhausted>,
    /// The key that signs the request.
    pub secret: Option<TextTemplate>,
    /// Allows plain http to other machines.
    pub allow_http: bool,
}

impl Webhook {
    /// The supported request methods.
    pub const METHODS: &'static [&'static str] = &["POST", "PUT", "PATCH", "GET", "DELETE"];

    const TYPE: ActionType = ActionType {
        name: "webhook",
        keys: &[
            ActionKey(
                "url",
                Text,
                "address of the request: https, or http to this machine; optional for a question",
            ),
            ActionKey("method", Words(Self::METHODS), "HTTP method; default: POST"),
            ActionKey("headers", Texts, "headers of the request"),
            ActionKey("body", Json, "the request's JSON"),
            ActionKey("callback_port", Port, ""),
            ActionKey(
                "on_timeout",
                Words(Exhausted::WORDS),
                "what to do when no answer arrives in time",
            ),
            ActionKey("on_reject", Words(Exhausted::WORDS), "what to do when the answer is no"),
            ActionKey("secret", Text, "signs the request"),
            ActionKey("allow_http", Switch, "allow plain http to other machines"),
        ],
        implied_by: Some("url"),
        timeout: SEND_TIMEOUT,
        awaited_timeout: PATIENT_TIMEOUT,
        is_request: true,
        way_out: "make its receiver answer, or set on_failure: continue",
        missing: if cfg!(feature = "http") {
            None
        } else {
            Some("this program was built without HTTP")
        },
        ..ActionType::COMMAND
    };

    fn details(&self) -> Vec<Detail> {
        let mut details = vec![("method", self.method.clone())];
        for (name, value) in &self.headers {
            details.push(("header", Some(format!("{name}: {}", value.source()))));
        }
        details.push(("body", Some(self.body.source().to_string())));
        details.push(("secret", self.secret.as_ref().map(|secret| secret.source().to_owned())));
        details.push(("allow_http", self.allow_http.then(|| "true".to_owned())));
        details
    }
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// JSON with values filled in.
    Json(JsonTemplate),
    /// The event in the hook's wire format.
    Event,
}

impl Body {
    /// The JSON as configured; null for the event.
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
    /// The pipeline's name.
    pub pipeline: String,
    /// The place of that name in the hook's file.
    pub place: FilePlace,
    /// The inputs for the child pipeline.
    pub inputs: JsonTemplate,
    /// Where the child's agent works.
    pub working_dir: SpawnDir,
}

impl Spawn {
    const TYPE: ActionType = ActionType {
        name: "spawn",
        keys: &[
            ActionKey("pipeline", Text, "the pipeline or loop to run"),
            ActionKey("inputs", Map, "inputs of the pipeline"),
            ActionKey(
                "working_dir",
                Text,
                "working directory; for a spawned pipeline: project or session",
            ),
        ],
        implied_by: Some("pipeline"),
        timeout: PATIENT_TIMEOUT,
        awaited_timeout: PATIENT_TIMEOUT,
        retries: 0,
        starts_session: true,
        way_out: "make its pipeline complete, or set on_failure: continue",
        ..ActionType::COMMAND
    };
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
    /// The commit message.
    pub message: Option<TextTemplate>,
    /// Skips git's own hooks.
    pub no_verify: bool,
}

impl GitCommit {
    const TYPE: ActionType = ActionType {
        name: "git-commit",
        keys: &[
            ActionKey("message", Text, "the commit's message"),
            ActionKey("no_verify", Switch, "skip git's own hooks"),
        ],
        ..ActionType::COMMAND
    };
}

/// Pushes commits.
#[derive(Debug, Clone)]
pub struct GitPush {
    /// The remote; `origin` by default.
    pub remote: Option<String>,
    /// The branch; the current one by default.
    pub branch: Option<String>,
}

impl GitPush {
    const TYPE: ActionType = ActionType {
        name: "git-push",
        keys: &[
            ActionKey("remote", Text, "remote to push to; default: origin"),
            ActionKey("branch", Text, "branch to push; default: the current branch"),
        ],
        ..ActionType::COMMAND
    };
}

impl Callback {
    const TYPE: ActionType = ActionType {
        name: "callback",
        way_out: "make it return an answer, or set its on_failure to continue",
        ..ActionType::COMMAND
    };
}

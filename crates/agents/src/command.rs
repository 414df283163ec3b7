//! [`CommandAgent`]: any program as an agent. It gets its prompt on standard input or as an
//! argument and works in the project root. Its output is kept up to a limit.
//!
//! `prompt_place.rs` decides where a command takes a prompt as an argument.

mod prompt_place;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use hookwright_config::FaultKind;
use hookwright_config::first_program;
use hookwright_engine::ports::Promise;
pub use prompt_place::PromptPlaceError;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, AgentWatch, Turn, TurnEnd, TurnPorts};
use crate::factory::{AgentRequest, MadeAgent};
use crate::limits::PROMPT_ARGUMENT_BYTES_MAX;
use crate::presets;
use crate::shell_run::{self, ShellRun};

/// How a program receives its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptBy {
    /// On standard input.
    Stdin,
    /// As its last argument.
    Argument,
}

/// A command of the shell that is an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandAgent {
    /// The shell text. With a prompt as an argument, it contains the argument's place.
    text: String,
    prompt: PromptBy,
}

pub(crate) fn make(request: &AgentRequest<'_>) -> MadeAgent {
    let AgentRequest { definition, environment, working_dir, .. } = request;
    let prompt = match definition.text("prompt") {
        Some("argument") => PromptBy::Argument,
        Some(_) | None => PromptBy::Stdin,
    };
    let agent = match CommandAgent::new(definition.text("command").unwrap_or_default(), prompt) {
        Ok(agent) => agent,
        Err(error) => {
            return request.refused(FaultKind::NoPlaceForPrompt { problem: error.to_string() });
        }
    };
    match agent.missing_program(environment, working_dir).map(str::to_owned) {
        Some(program) => request.refused(FaultKind::NoProgram { program }),
        None => Ok(Arc::new(agent)),
    }
}

impl CommandAgent {
    /// Checks that the command has a place for the prompt. With [`PromptBy::Argument`] the shell
    /// knows the prompt as `"$1"`. It is used where the command writes it, or otherwise appended as
    /// the last argument of the last program.
    pub fn new(command: &str, prompt: PromptBy) -> Result<Self, PromptPlaceError> {
        let text = match prompt {
            PromptBy::Stdin => command.to_owned(),
            PromptBy::Argument => prompt_place::with_place(command)?,
        };
        Ok(Self { text, prompt })
    }

    /// The first program of the command, if it certainly does not exist in this environment. If the
    /// command does not begin with a plain name, only the shell can decide that.
    pub fn missing_program<'a>(
        &'a self,
        env: &[(OsString, OsString)],
        working_dir: &Path,
    ) -> Option<&'a str> {
        first_program::missing(&self.text, env, working_dir)
    }

    async fn run_turn(
        &self,
        turn: &Turn,
        watch: &mut dyn AgentWatch,
        cancel: &CancellationToken,
    ) -> TurnEnd {
        let prompt = turn.prompt_text();
        let (stdin, argument) = match self.prompt {
            PromptBy::Stdin => (prompt.into_bytes(), None),
            PromptBy::Argument => match no_argument(&prompt) {
                Some(cause) => return shell_run::not_started(cause),
                None => (Vec::new(), Some(prompt)),
            },
        };
        let what = ShellRun { text: &self.text, argument, stdin, timeout: turn.timeout };
        shell_run::run(turn, what, watch, cancel).await
    }
}

impl Agent for CommandAgent {
    fn kind(&self) -> &'static str {
        "command"
    }

    fn may_start(&self, preset: &str) -> bool {
        presets::preset(preset).is_some_and(|preset| preset.is_named_in(&self.text))
    }

    fn run<'a>(&'a self, turn: &'a Turn, ports: TurnPorts<'a>) -> Promise<'a, TurnEnd> {
        Box::pin(self.run_turn(turn, ports.watch, ports.cancel))
    }
}

/// Why a prompt cannot be an argument.
fn no_argument(prompt: &str) -> Option<String> {
    if prompt.len() > PROMPT_ARGUMENT_BYTES_MAX {
        let bytes = prompt.len();
        return Some(format!(
            "the prompt has {bytes} bytes, an argument at most {PROMPT_ARGUMENT_BYTES_MAX}; \
             use prompt: stdin"
        ));
    }
    prompt.contains('\0').then(|| {
        "the prompt contains a NUL byte, which no argument can contain; use prompt: stdin"
            .to_owned()
    })
}

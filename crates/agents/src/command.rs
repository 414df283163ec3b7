//! [`CommandAgent`]: any program is an agent. Its prompt comes by standard input or as an argument;
//! it works in the project root, and what it prints is kept within a bound.
//!
//! `prompt_place.rs` decides where a prompt goes that is passed as an argument.

mod prompt_place;

use std::ffi::OsString;
use std::path::Path;

use hookwright_config::PromptBy;
use hookwright_engine::first_program;
pub use prompt_place::PromptPlaceError;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, AgentWatch, Promise, Turn, TurnEnd};
use crate::limits::PROMPT_ARGUMENT_BYTES_MAX;
use crate::presets;
use crate::shell_run::{self, ShellRun};

/// A command of the shell that is an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandAgent {
    /// For the shell; a prompt by argument has its place in it.
    text: String,
    prompt: PromptBy,
}

impl CommandAgent {
    /// Checks that the prompt has a place in the command. By [`PromptBy::Argument`] it is what the
    /// shell knows as `"$1"`: where the command says so itself, and otherwise behind its end, as the
    /// last argument of its last program.
    pub fn new(command: &str, prompt: PromptBy) -> Result<Self, PromptPlaceError> {
        let text = match prompt {
            PromptBy::Stdin => command.to_owned(),
            PromptBy::Argument => prompt_place::with_place(command)?,
        };
        Ok(Self { text, prompt })
    }

    /// The program that the command begins with, if it is certain that there is none of that name
    /// in this environment. Where the command begins with anything but a plain name, the shell alone
    /// can tell.
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

    fn run<'a>(
        &'a self,
        turn: &'a Turn,
        watch: &'a mut dyn AgentWatch,
        cancel: &'a CancellationToken,
    ) -> Promise<'a, TurnEnd> {
        Box::pin(self.run_turn(turn, watch, cancel))
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
    prompt
        .contains('\0')
        .then(|| "the prompt holds a NUL byte, which no argument can; use prompt: stdin".to_owned())
}

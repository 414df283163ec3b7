//! bash: runs one shell command to its end, with everything that it starts in the foreground.
//!
//! Every command starts in the workspace: a `cd` ends with its command. What a command leaves in the
//! background goes on, unless the command is ended by its timeout or by the user; then all of it goes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::ports::Promise;
use hookwright_process::{Ended, How, Launch};
use serde_json::json;

use super::{Input, ToolFailure, ToolOutput, ended, input, spec};
use crate::limits::{
    SHELL_COMMAND_BYTES_MAX, SHELL_KILL_GRACE, SHELL_LINGER, SHELL_OUTPUT_BYTES_MAX, SHELL_TIMEOUT,
    SHELL_TIMEOUT_MAX,
};
use crate::tool::{Tool, ToolCall, ToolEnd, ToolSpec, Touches};

pub(super) struct BashTool {
    spec: ToolSpec,
    folder: PathBuf,
    shell: PathBuf,
    environment: Arc<[(OsString, OsString)]>,
}

impl BashTool {
    pub(super) fn new(
        folder: PathBuf,
        shell: PathBuf,
        environment: Arc<[(OsString, OsString)]>,
    ) -> Self {
        let longest = SHELL_TIMEOUT_MAX.as_millis();
        let spec = spec(
            "bash",
            "Runs a shell command and returns its output and exit code. Every command starts in the \
             workspace. It has no terminal and no input. Use read, write, edit, glob and grep for \
             files where they can do the work.",
            &["command"],
            json!({
                "command": { "type": "string", "minLength": 1, "description": "The command." },
                "timeout": {
                    "type": "number", "minimum": 1, "maximum": u64::try_from(longest).unwrap_or(u64::MAX),
                    "description": "Milliseconds that it may run; 120000 if not given.",
                },
                "description": {
                    "type": "string",
                    "description": "What the command does, in a few words for the user.",
                },
                "run_in_background": {
                    "type": "boolean", "enum": [false],
                    "description": "Background commands are not supported: every command runs to its end.",
                },
            }),
        );
        Self { spec, folder, shell, environment }
    }

    async fn call(&self, call: &ToolCall<'_>) -> (Result<ToolOutput, ToolFailure>, Duration) {
        let refused = |reason: &str| (Err(ToolFailure::Because(reason.to_owned())), Duration::ZERO);
        let command = match input::needed(call.input, "command") {
            Ok(command) => command,
            Err(failure) => return (Err(failure), Duration::ZERO),
        };
        if input::flag(call.input, "run_in_background") == Some(true) {
            return refused("background commands are not supported: every command runs to its end");
        }
        if command.contains('\0') {
            return refused("the command contains a NUL character, which no shell can read");
        }
        if command.len() > SHELL_COMMAND_BYTES_MAX {
            return refused(&format!(
                "the command has {} bytes, and the system accepts {SHELL_COMMAND_BYTES_MAX}: write \
                 it to a file, then run that",
                command.len()
            ));
        }
        let timeout = input::number(call.input, "timeout").map(Duration::from_millis);
        let launch = Launch {
            program: self.shell.clone(),
            args: vec!["-c".into(), command.into()],
            shared_env: Arc::clone(&self.environment),
            env: Vec::new(),
            working_dir: self.folder.clone(),
            stdin: Vec::new(),
            timeout: timeout.unwrap_or(SHELL_TIMEOUT).min(SHELL_TIMEOUT_MAX),
            kill_grace: SHELL_KILL_GRACE,
            linger: SHELL_LINGER,
            output_bytes_max: SHELL_OUTPUT_BYTES_MAX,
            run_id: call.run_id.to_owned(),
        };
        let run = hookwright_process::run(launch, &mut (), call.cancel).await;
        let took = run.duration;
        (report(&run), took)
    }
}

impl Tool for BashTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, input: &Input) -> Touches {
        match input::needed(input, "command") {
            Ok(command) => Touches::Command(command.to_owned()),
            Err(_) => Touches::Refused("the field `command` is missing".to_owned()),
        }
    }

    fn run<'a>(&'a self, call: ToolCall<'a>) -> Promise<'a, ToolEnd> {
        Box::pin(async move {
            let (result, took) = self.call(&call).await;
            ended(result, took)
        })
    }
}

fn report(run: &Ended) -> Result<ToolOutput, ToolFailure> {
    let (stdout, stderr) = (run.stdout.text(), run.stderr.text());
    let mut parts = Vec::new();
    let (code, note) = match &run.how {
        How::Exited { code: 0 } => (0, None),
        How::Exited { code } => (*code, Some(format!("exit code {code}"))),
        // As shells count it.
        How::Killed { signal } => (128 + signal, Some(format!("ended by signal {signal}"))),
        How::Cancelled => return Err(ToolFailure::Interrupted),
        How::NotStarted { cause } => {
            return Err(ToolFailure::Because(format!("the shell did not start: {cause}")));
        }
        How::TimedOut { after } => {
            parts.push(format!(
                "the command was ended with everything it had started: it ran longer than {} ms. \
                 Set `timeout` (at most {} ms) if it needs more time",
                after.as_millis(),
                SHELL_TIMEOUT_MAX.as_millis()
            ));
            parts.extend([&stdout, &stderr].map(|output| output.trim_end().to_owned()));
            return Err(ToolFailure::Because(joined(parts)));
        }
        How::WantedTerminal => {
            parts.push(
                "the command was ended: it waited for a terminal, and there is none. Use an option \
                 that asks no questions"
                    .to_owned(),
            );
            parts.extend([&stdout, &stderr].map(|output| output.trim_end().to_owned()));
            return Err(ToolFailure::Because(joined(parts)));
        }
    };
    parts.extend(note);
    parts.extend([&stdout, &stderr].map(|output| output.trim_end().to_owned()));
    if run.output_held {
        parts.push(
            "(a background process still holds the output; what it prints is lost)".to_owned(),
        );
    }
    let response = json!({
        "stdout": stdout.trim_end(),
        "stderr": stderr.trim_end(),
        "interrupted": false,
        "isImage": false,
        "noOutputExpected": false,
        "exitCode": code,
    });
    let text = joined(parts);
    let text = if text.is_empty() { "(no output)".to_owned() } else { text };
    Ok(ToolOutput { response, text })
}

fn joined(parts: Vec<String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

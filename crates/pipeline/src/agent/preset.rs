//! [`PresetAgent`]: a program whose output we understand. It gets its prompt on standard input; who
//! watches reads its messages and tool calls, and its last words become the turn's output.
//!
//! What its lines mean is the preset's to say (`hookwright_dialects::agents`). Lines are put together in
//! `preset/lines.rs`; what it wrote down of its session is found in `preset/session_file.rs`.

mod lines;
mod session_file;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use hookwright_dialects::agents::{Listener, Preset, Said};
use hookwright_events::{Outcome, Output};
use hookwright_process::{How, Leader, Stream, Watch, find_program};
use tokio_util::sync::CancellationToken;

use self::lines::Lines;
use super::shell_run::{launch, not_started, outcome_of, program};
use super::{Agent, AgentWatch, Promise, Turn, TurnEnd};

/// An agent that is known by name.
#[derive(Debug, Clone)]
pub struct PresetAgent {
    preset: &'static Preset,
    arguments: Vec<OsString>,
}

impl PresetAgent {
    /// The preset's agent with this model, if one is asked for, and these arguments behind its own.
    pub fn new(preset: &'static Preset, model: Option<&str>, more: &[String]) -> Self {
        let model = model.into_iter().flat_map(|model| [preset.model_flag, model]);
        let arguments = preset.arguments.iter().copied().chain(model);
        let arguments = arguments.chain(more.iter().map(String::as_str)).map(OsString::from);
        Self { preset, arguments: arguments.collect() }
    }

    /// Whether its program is there in this environment.
    pub fn is_installed(&self, env: &[(OsString, OsString)], working_dir: &Path) -> bool {
        let path = env.iter().rev().find(|(name, _)| name == "PATH");
        path.is_some_and(|(_, path)| {
            find_program(OsStr::new(self.preset.program), path, working_dir).is_some()
        })
    }

    async fn run_turn(
        &self,
        turn: &Turn,
        watch: &mut dyn AgentWatch,
        cancel: &CancellationToken,
    ) -> TurnEnd {
        let Some(program) = program(turn, self.preset.program) else {
            return not_started(format!("the program `{}` is not found", self.preset.program));
        };
        let launch = launch(turn, program, self.arguments.clone(), turn.prompt_text().into_bytes());
        let mut hearing = Hearing::new(self.preset.listener(), watch);
        let ended = hookwright_process::run(launch, &mut hearing, cancel).await;
        let mut listener = hearing.finish();
        let exit_code = match ended.how {
            How::Exited { code } => Some(code),
            How::Killed { .. }
            | How::TimedOut { .. }
            | How::Cancelled
            | How::WantedTerminal
            | How::NotStarted { .. } => None,
        };
        if exit_code != Some(0)
            && let (Some(files), Some(session)) = (self.preset.session_files, listener.session())
        {
            let lines = session_file::last_lines(files, session, &|name| turn.env(name));
            lines.iter().for_each(|line| listener.hear_session_file(line));
        }
        let said = listener.conclude(exit_code);
        let took = ended.duration;
        TurnEnd { outcome: in_words(outcome_of(ended, false), &said), took, said: Some(said) }
    }
}

impl Agent for PresetAgent {
    fn kind(&self) -> &'static str {
        self.preset.name
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

/// What it printed was for programs; what it said takes that place.
fn in_words(mut outcome: Outcome, said: &Said) -> Outcome {
    let output = match &mut outcome {
        Outcome::Exited { output, .. }
        | Outcome::Killed { output, .. }
        | Outcome::TimedOut { output, .. }
        | Outcome::Interrupted { output }
        | Outcome::WantedTerminal { output } => output,
        _ => return outcome,
    };
    let text = said.text.trim_end();
    let stdout = if text.is_empty() { String::new() } else { format!("{text}\n") };
    *output = Output { stdout, stdout_left_out: 0, ..std::mem::take(output) };
    outcome
}

/// Passes lines to the preset, and what a person reads of them to whoever watches.
struct Hearing<'a> {
    listener: Box<dyn Listener>,
    watch: &'a mut dyn AgentWatch,
    stdout: Lines,
    stderr: Lines,
}

impl<'a> Hearing<'a> {
    fn new(listener: Box<dyn Listener>, watch: &'a mut dyn AgentWatch) -> Self {
        Self { listener, watch, stdout: Lines::default(), stderr: Lines::default() }
    }

    fn hear(&mut self, line: &str) {
        if let Some(said) = self.listener.hear(line) {
            self.watch.output(Stream::Stdout, format!("{said}\n").as_bytes());
        }
    }

    /// Nothing more comes.
    fn finish(mut self) -> Box<dyn Listener> {
        if let Some(line) = self.stdout.rest() {
            self.hear(&line);
        }
        if let Some(line) = self.stderr.rest() {
            self.listener.hear_error(&line);
        }
        self.listener
    }
}

impl Watch for Hearing<'_> {
    fn started(&mut self, leader: &Leader) {
        self.watch.running(leader);
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Option<Duration> {
        match stream {
            Stream::Stdout => {
                for line in self.stdout.push(bytes) {
                    self.hear(&line);
                }
            }
            Stream::Stderr => {
                for line in self.stderr.push(bytes) {
                    self.listener.hear_error(&line);
                }
                self.watch.output(stream, bytes);
            }
        }
        None
    }
}

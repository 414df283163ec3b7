//! [`PresetAgent`]: a program whose output we can parse. It gets its prompt on standard input.
//! Observers see its messages and tool calls, and its last message becomes the turn's output.
//!
//! The preset (`crate::presets`) defines the meaning of the lines. `preset/lines.rs` splits the
//! output into lines, and `preset/session_file.rs` finds the agent's own record of its session.

mod lines;
mod session_file;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::presets::{AgentReport, OutputParser, Preset, ReportedFailure};
use hookwright_config::FaultKind;
use hookwright_engine::ports::Promise;
use hookwright_events::{FailureCause, Output, ProcessOutcome};
use hookwright_process::{How, Leader, Stream, Watch, find_program};
use tokio_util::sync::CancellationToken;

use self::lines::Lines;
use crate::agent::{Agent, AgentWatch, Turn, TurnEnd, TurnPorts};
use crate::factory::{AgentRequest, MadeAgent};
use crate::limits::{OUT_OF_REACH_MAX, TURN_TIMEOUT};
use crate::shell_run::{launch, not_started, outcome_of, program};

/// An agent with a preset.
#[derive(Debug, Clone)]
pub struct PresetAgent {
    preset: &'static Preset,
    arguments: Vec<OsString>,
    out_of_reach_max: Duration,
}

pub(crate) fn make(preset: &'static Preset, request: &AgentRequest<'_>) -> MadeAgent {
    let AgentRequest { definition, environment, working_dir, .. } = request;
    let agent = PresetAgent::new(preset, definition.text("model"), definition.texts("args"));
    if !agent.is_installed(environment, working_dir) {
        let Preset { name, program, package, .. } = preset;
        return request.refused(FaultKind::AgentNotInstalled { name, program, package });
    }
    Ok(Arc::new(agent))
}

impl PresetAgent {
    /// The preset's agent, with a model if one is set, and with these arguments after its own.
    pub fn new(preset: &'static Preset, model: Option<&str>, more: &[String]) -> Self {
        let model = model.into_iter().flat_map(|model| [preset.model_flag, model]);
        let arguments = preset.arguments.iter().copied().chain(model);
        let arguments = arguments.chain(more.iter().map(String::as_str)).map(OsString::from);
        let out_of_reach_max = OUT_OF_REACH_MAX;
        Self { preset, arguments: arguments.collect(), out_of_reach_max }
    }

    /// The same agent, with another limit on how long it may try to reach its model.
    #[must_use]
    pub fn with_out_of_reach_max(self, out_of_reach_max: Duration) -> Self {
        Self { out_of_reach_max, ..self }
    }

    /// Whether its program exists in this environment.
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
            return not_started(format!("cannot find the program `{}`", self.preset.program));
        };
        let launch = launch(turn, program, self.arguments.clone(), turn.prompt_text().into_bytes());
        let patience = Patience::new(turn.timeout, self.out_of_reach_max);
        let mut hearing = PresetOutput::new(self.preset.parser(), watch, patience);
        let ended = hookwright_process::run(launch, &mut hearing, cancel).await;
        let is_cut_short = hearing.patience.is_short && matches!(ended.how, How::TimedOut { .. });
        let mut parser = hearing.finish();
        let exit_code = match ended.how {
            How::Exited { code } => Some(code),
            How::Killed { .. }
            | How::TimedOut { .. }
            | How::Cancelled
            | How::WantedTerminal
            | How::NotStarted { .. } => None,
        };
        if exit_code != Some(0)
            && let (Some(files), Some(session)) = (self.preset.session_files, parser.session())
        {
            let lines = session_file::last_lines(files, session, &|name| turn.env(name));
            lines.iter().for_each(|line| parser.parse_session_line(line));
        }
        let mut report = parser.report(exit_code);
        if is_cut_short {
            report.failure =
                report.failure.map(|failure| out_of_reach(failure, self.out_of_reach_max));
        }
        let took = ended.duration;
        TurnEnd { outcome: in_words(outcome_of(ended, false), &report), took, report: Some(report) }
    }
}

impl Agent for PresetAgent {
    fn kind(&self) -> &'static str {
        self.preset.name
    }

    fn may_start(&self, preset: &str) -> bool {
        self.preset.name == preset
    }

    fn run<'a>(&'a self, turn: &'a Turn, ports: TurnPorts<'a>) -> Promise<'a, TurnEnd> {
        Box::pin(self.run_turn(turn, ports.watch, ports.cancel))
    }
}

/// Replaces the printed output, which is meant for programs, by the agent's message.
fn in_words(mut outcome: ProcessOutcome, report: &AgentReport) -> ProcessOutcome {
    let output = match &mut outcome {
        ProcessOutcome::Exited { output, .. }
        | ProcessOutcome::Killed { output, .. }
        | ProcessOutcome::TimedOut { output, .. }
        | ProcessOutcome::Interrupted { output }
        | ProcessOutcome::WantedTerminal { output } => output,
        ProcessOutcome::NotStarted { .. } => return outcome,
    };
    let text = report.text.trim_end();
    let stdout = if text.is_empty() { String::new() } else { format!("{text}\n") };
    *output = Output { stdout, stdout_left_out: 0, ..std::mem::take(output) };
    outcome
}

/// The failure of an agent that was ended because it only retried to reach its model.
fn out_of_reach(failure: ReportedFailure, tried: Duration) -> ReportedFailure {
    let reason =
        format!("it could not reach its model for {} s: {}", tried.as_secs(), failure.reason);
    ReportedFailure { cause: FailureCause::Outage, reason, ..failure }
}

/// The time limit of an agent: that of its turn, but a shorter one while it cannot reach its model.
struct Patience {
    until: Instant,
    out_of_reach_max: Duration,
    is_out_of_reach: bool,
    /// Less time is left than the turn has.
    is_short: bool,
}

impl Patience {
    fn new(timeout: Duration, out_of_reach_max: Duration) -> Self {
        // If the clock cannot represent that time, the turn's own timeout applies.
        let now = Instant::now();
        let until = now.checked_add(timeout).unwrap_or(now + TURN_TIMEOUT);
        Self { until, out_of_reach_max, is_out_of_reach: false, is_short: false }
    }

    /// Notes whether it can reach its model now. Returns the remaining time if that has changed.
    fn note(&mut self, is_out_of_reach: bool) -> Option<Duration> {
        if is_out_of_reach == std::mem::replace(&mut self.is_out_of_reach, is_out_of_reach) {
            return None;
        }
        let left = self.until.saturating_duration_since(Instant::now());
        let was_short = std::mem::take(&mut self.is_short);
        self.is_short = is_out_of_reach && left > self.out_of_reach_max;
        match self.is_short {
            true => Some(self.out_of_reach_max),
            false => was_short.then_some(left),
        }
    }
}

/// Passes lines to the preset, and their readable form to the observers.
struct PresetOutput<'a> {
    parser: Box<dyn OutputParser>,
    watch: &'a mut dyn AgentWatch,
    patience: Patience,
    stdout: Lines,
    stderr: Lines,
}

impl<'a> PresetOutput<'a> {
    fn new(
        parser: Box<dyn OutputParser>,
        watch: &'a mut dyn AgentWatch,
        patience: Patience,
    ) -> Self {
        Self { parser, watch, patience, stdout: Lines::default(), stderr: Lines::default() }
    }

    fn parse_line(&mut self, line: &str) {
        if let Some(report) = self.parser.parse_line(line) {
            self.watch.output(Stream::Stdout, format!("{report}\n").as_bytes());
        }
    }

    /// Handles the end of the output.
    fn finish(mut self) -> Box<dyn OutputParser> {
        if let Some(line) = self.stdout.rest() {
            self.parse_line(&line);
        }
        if let Some(line) = self.stderr.rest() {
            self.parser.parse_error_line(&line);
        }
        self.parser
    }
}

impl Watch for PresetOutput<'_> {
    fn started(&mut self, leader: &Leader) {
        self.watch.running(leader);
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Option<Duration> {
        match stream {
            Stream::Stdout => {
                for line in self.stdout.push(bytes) {
                    self.parse_line(&line);
                }
            }
            Stream::Stderr => {
                for line in self.stderr.push(bytes) {
                    self.parser.parse_error_line(&line);
                }
                self.watch.output(stream, bytes);
            }
        }
        self.patience.note(self.parser.is_out_of_reach())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_short_only_while_the_model_is_out_of_reach() {
        let (turn, short) = (Duration::from_secs(1000), Duration::from_secs(10));
        let mut patience = Patience::new(turn, short);
        assert_eq!(patience.note(false), None);
        assert_eq!(patience.note(true), Some(short));
        // The time is counted from the first such line.
        assert_eq!(patience.note(true), None);
        let left = patience.note(false).expect("it is reached again");
        assert!(left > short && left <= turn, "{left:?}");
        assert_eq!(patience.note(false), None);
    }

    #[test]
    fn the_time_limit_of_a_turn_is_never_extended() {
        let mut patience = Patience::new(Duration::from_secs(1), Duration::from_secs(10));
        assert_eq!((patience.note(true), patience.is_short), (None, false));
        assert_eq!(patience.note(false), None);
    }
}

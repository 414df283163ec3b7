//! [`Agent`]: the driver of an agent. It takes a prompt; the agent changes the work tree and prints
//! output.
//!
//! A driver decides nothing: it runs one turn to its end and reports how it ended.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::ports::Promise;
use hookwright_events::{Decision, EventName, ProcessOutcome, TurnEvent};
use hookwright_process::{Leader, Stream};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::presets::AgentReport;

/// Drives an agent.
pub trait Agent: Send + Sync {
    /// Its name in records: `command`, `scripted`, or the name of a preset.
    fn kind(&self) -> &'static str;

    /// Whether it may start the program of this preset, an agent with settings of its own.
    fn may_start(&self, preset: &str) -> bool {
        let _ = preset;
        false
    }

    /// Whether it fires the events of an agent's life through [`TurnPorts::events`] and obeys their
    /// decisions. Hooks at these events run, including those in settings that another agent would
    /// read itself.
    fn is_host(&self) -> bool {
        false
    }

    /// Runs one turn to its end. When [`TurnPorts::cancel`] is cancelled, the driver requests the
    /// agent's end, and the turn ends as [`ProcessOutcome::Interrupted`].
    fn run<'a>(&'a self, turn: &'a Turn, ports: TurnPorts<'a>) -> Promise<'a, TurnEnd>;
}

/// What a session lends a driver for one turn.
pub struct TurnPorts<'a> {
    /// Receives what the agent prints.
    pub watch: &'a mut dyn AgentWatch,
    /// Fires events of the turn, and records what the agent does.
    pub events: Arc<dyn TurnEvents>,
    /// Requests an early end of the agent.
    pub cancel: &'a CancellationToken,
}

/// Fires events within a turn, for a driver that knows when its agent is about to run a tool or to
/// call its model.
pub trait TurnEvents: Send + Sync {
    /// Fires an event with these data, added to those of the iteration, and runs the hooks of the
    /// stage. The driver may have several firings at once.
    ///
    /// The driver obeys the decision and passes on the hooks' messages to the agent; none of them
    /// waits for the next prompt. An abort also cancels the turn and ends the session. If the event
    /// cannot be recorded, or the session is ending, the decision is an abort.
    fn fire(&self, event: EventName, data: Map<String, Value>) -> Promise<'_, Decision>;

    /// Records what the agent is about to do or has done. An announced effect may begin only after
    /// this has returned `Ok`.
    fn record(&self, happened: TurnEvent) -> Promise<'_, io::Result<()>> {
        let _ = happened;
        Box::pin(std::future::ready(Ok(())))
    }
}

/// One turn.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The prompt, in blocks: output of hooks before the prompt itself. An agent without blocks
    /// gets them joined by an empty line, see [`Turn::prompt_text`].
    pub prompt: Vec<String>,
    /// What the host's environment gives.
    pub shared_env: Arc<[(OsString, OsString)]>,
    /// Variables to set in addition: our own.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory: the project root.
    pub working_dir: PathBuf,
    /// The stage's name.
    pub stage: String,
    /// The iteration within its stage, from 1; 0 delivers raw output of hooks after the last one.
    pub iteration: u32,
    /// It delivers what hooks reported after the last iteration.
    pub is_final_delivery: bool,
    /// 1, or more if an earlier attempt of this turn was cut off by a crash.
    pub attempt: u32,
    /// The file to which the agent writes its status.
    pub status_file: PathBuf,
    /// The longest duration of the turn.
    pub timeout: Duration,
    /// The unique name of this run, which all its processes carry.
    pub run_id: String,
}

impl Turn {
    /// The prompt as one text: its blocks, with an empty line between them. A single block is
    /// unchanged.
    pub fn prompt_text(&self) -> String {
        joined(&self.prompt)
    }

    /// A variable of the environment that the agent gets.
    pub(crate) fn env(&self, name: &str) -> Option<&OsStr> {
        let mut strings = self.env.iter().rev().chain(self.shared_env.iter().rev());
        strings.find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }
}

/// How a turn ended, and how long it took.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// The outcome.
    pub outcome: ProcessOutcome,
    /// The duration.
    pub took: Duration,
    /// The result according to the agent's own output, if that can be parsed.
    pub report: Option<AgentReport>,
}

/// The blocks of a prompt as one text.
pub fn joined(blocks: &[String]) -> String {
    let mut text = String::new();
    for (number, block) in blocks.iter().enumerate() {
        if number > 0 {
            text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
        }
        text.push_str(block);
    }
    text
}

/// Looks on while an agent works.
pub trait AgentWatch: Send {
    /// A process of the agent runs: called once for a command, once for each `run` of a script. It
    /// is called immediately after the start. A crash may come in between; [`Turn::run_id`], which
    /// is known before, then finds the process.
    fn running(&mut self, leader: &Leader);

    /// The agent has printed something. All of its output passes here, even output that is too long
    /// to be kept.
    fn output(&mut self, stream: Stream, bytes: &[u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(prompt: &[&str]) -> Turn {
        Turn {
            prompt: prompt.iter().map(|block| (*block).to_owned()).collect(),
            shared_env: Arc::new([("A".into(), "1".into()), ("B".into(), "1".into())]),
            env: vec![("B".into(), "2".into()), ("B".into(), "3".into())],
            working_dir: "/".into(),
            stage: "work".to_owned(),
            iteration: 1,
            is_final_delivery: false,
            attempt: 1,
            status_file: "/status.json".into(),
            timeout: Duration::from_secs(1),
            run_id: "run-1".to_owned(),
        }
    }

    #[test]
    fn blocks_of_a_prompt_are_joined_by_one_empty_line() {
        for (blocks, text) in [
            (&[] as &[&str], ""),
            (&[" as it is \n\n"], " as it is \n\n"),
            (&["tests failed", "fix it"], "tests failed\n\nfix it"),
            (&["tests failed\n", "fix it\n"], "tests failed\n\nfix it\n"),
        ] {
            assert_eq!(turn(blocks).prompt_text(), text);
        }
    }

    #[test]
    fn added_variables_override_the_environment() {
        let turn = turn(&[]);
        let found = ["A", "B", "C"].map(|name| turn.env(name).and_then(OsStr::to_str));
        assert_eq!(found, [Some("1"), Some("3"), None]);
    }
}

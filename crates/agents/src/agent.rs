//! [`Agent`]: the driver of an agent. A prompt goes in, the work tree changes, output comes out.
//!
//! A driver decides nothing: it runs one turn to its end and says how it ended.

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

use crate::presets::Said;

/// Drives an agent.
pub trait Agent: Send + Sync {
    /// What it is called in records: `command`, `scripted`, or the name of a preset.
    fn kind(&self) -> &'static str;

    /// Whether it may start the program of this preset, an agent with settings of its own.
    fn may_start(&self, preset: &str) -> bool {
        let _ = preset;
        false
    }

    /// Whether it fires the events of an agent's life through [`TurnPorts::events`] and obeys them: hooks
    /// at these events run, also those of settings that another agent would read itself.
    fn is_host(&self) -> bool {
        false
    }

    /// Runs one turn to its end. When [`TurnPorts::cancel`] is cancelled, the agent is asked to end, and
    /// the turn ends as [`ProcessOutcome::Interrupted`].
    fn run<'a>(&'a self, turn: &'a Turn, ports: TurnPorts<'a>) -> Promise<'a, TurnEnd>;
}

/// What a session lends a driver for one turn.
pub struct TurnPorts<'a> {
    /// Is shown what the agent does.
    pub watch: &'a mut dyn AgentWatch,
    /// Fires events of the turn, and records what the agent does.
    pub events: Arc<dyn TurnEvents>,
    /// Asks the agent to end early.
    pub cancel: &'a CancellationToken,
}

/// Fires events within a turn, for a driver that knows what its agent does: a tool is about to run, a model
/// is about to be asked.
pub trait TurnEvents: Send + Sync {
    /// Fires an event with these data, added to those of the iteration. The hooks of the stage run, several
    /// firings at once if the driver wants that.
    ///
    /// The driver obeys the decision, and gives the agent what the hooks had to say: none of it waits for the
    /// next prompt. An abort also cancels the turn, and ends the session. If the event cannot be recorded, or
    /// the session is being ended, the decision is an abort.
    fn fire(&self, event: EventName, data: Map<String, Value>) -> Promise<'_, Decision>;

    /// Records what the agent is about to do or has done. Only when this has returned `Ok` does an
    /// announced effect begin.
    fn record(&self, happened: TurnEvent) -> io::Result<()> {
        let _ = happened;
        Ok(())
    }
}

/// One turn.
#[derive(Debug, Clone)]
pub struct Turn {
    /// What the agent is told, in blocks: output of hooks before the prompt itself. An agent without
    /// blocks gets them joined by an empty line, see [`Turn::prompt_text`].
    pub prompt: Vec<String>,
    /// What the host's environment gives.
    pub shared_env: Arc<[(OsString, OsString)]>,
    /// What is set on top of that: our variables.
    pub env: Vec<(OsString, OsString)>,
    /// Where it works: the project root.
    pub working_dir: PathBuf,
    /// The stage's name.
    pub stage: String,
    /// The iteration within its stage, from 1; 0 delivers raw output of hooks after the last one.
    pub iteration: u32,
    /// It delivers what hooks reported after the last iteration.
    pub is_final_delivery: bool,
    /// 1, or more if an earlier attempt of this turn was cut off by a crash.
    pub attempt: u32,
    /// Where the agent writes how it went.
    pub status_file: PathBuf,
    /// How long it may take.
    pub timeout: Duration,
    /// The unique name of this run, which every process of it carries.
    pub run_id: String,
}

impl Turn {
    /// The prompt as one text: its blocks, an empty line between each two. One block is as it is.
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
    /// How.
    pub outcome: ProcessOutcome,
    /// How long.
    pub took: Duration,
    /// What its own output says of it, if that can be understood.
    pub said: Option<Said>,
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
    /// A process of it runs: once for a command, once for each `run` of a script. Called at once,
    /// but it runs already. To find it after a crash that came in between, look for
    /// [`Turn::run_id`], which was known before.
    fn running(&mut self, leader: &Leader);

    /// It has printed something: everything comes by here, also what is too much to be kept.
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
    fn what_stands_on_top_of_the_environment_wins() {
        let turn = turn(&[]);
        let found = ["A", "B", "C"].map(|name| turn.env(name).and_then(OsStr::to_str));
        assert_eq!(found, [Some("1"), Some("3"), None]);
    }
}

//! Plays one turn of a script, action after action. It checks the turn's deadline and its token
//! before each action, and during those that wait.

use std::borrow::Cow;
use std::future::Future;
use std::io;

use hookwright_engine::limits::WAIT_MAX;
use hookwright_engine::process_outcome::timed_out;
use hookwright_events::ProcessOutcome;
use hookwright_process::{Leader, Stream};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::printed::ScriptOutput;
use super::script::ScriptAction;
use super::work_tree::ScriptWorkTree;
use crate::agent::{AgentWatch, Turn, TurnEnd};
use crate::limits::WAIT_FOR_PAUSE;
use crate::shell_run::{self, ShellRun};

/// A turn that is being played.
pub(super) struct Performance<'a> {
    turn: &'a Turn,
    /// The prompt as one text, for `if_prompt`.
    prompt: String,
    work_tree: ScriptWorkTree<'a>,
    voice: Voice<'a>,
    cancel: &'a CancellationToken,
    started: Instant,
    deadline: Instant,
}

/// How a turn ends.
enum ActionEnd {
    Exited(i32),
    Killed(i32),
    TimedOut,
    Cancelled,
    WantedTerminal,
}

impl<'a> Performance<'a> {
    pub(super) fn new(
        turn: &'a Turn,
        watch: &'a mut dyn AgentWatch,
        cancel: &'a CancellationToken,
    ) -> Self {
        let started = Instant::now();
        Self {
            turn,
            prompt: turn.prompt_text(),
            work_tree: ScriptWorkTree::of(turn),
            voice: Voice { watch, printed: ScriptOutput::default() },
            cancel,
            started,
            // A configured timeout is never longer, and a longer one might overflow the clock.
            deadline: started + turn.timeout.min(WAIT_MAX),
        }
    }

    /// Plays the actions to their end.
    pub(super) async fn play(mut self, actions: &[ScriptAction]) -> TurnEnd {
        let end = match self.play_all(actions).await {
            Ok(()) => ActionEnd::Exited(0),
            Err(end) => end,
        };
        let output = self.voice.printed.into_output();
        let outcome = match end {
            ActionEnd::Exited(code) => ProcessOutcome::Exited { code, output },
            ActionEnd::Killed(signal) => ProcessOutcome::Killed { signal, output },
            ActionEnd::TimedOut => timed_out(self.turn.timeout, output),
            ActionEnd::Cancelled => ProcessOutcome::Interrupted { output },
            ActionEnd::WantedTerminal => ProcessOutcome::WantedTerminal { output },
        };
        TurnEnd { outcome, took: self.started.elapsed(), report: None }
    }

    async fn play_all(&mut self, actions: &[ScriptAction]) -> Result<(), ActionEnd> {
        let mut open = vec![actions.iter()];
        while let Some(list) = open.last_mut() {
            let Some(action) = list.next() else {
                open.pop();
                continue;
            };
            // Actions that never wait would otherwise keep the runtime from noticing a cancelled
            // token.
            tokio::task::yield_now().await;
            if self.cancel.is_cancelled() {
                return Err(ActionEnd::Cancelled);
            }
            if Instant::now() >= self.deadline {
                return Err(ActionEnd::TimedOut);
            }
            let next = self.perform(action).await?;
            open.push(next.iter());
        }
        Ok(())
    }

    /// Does the action, and returns the actions to do next, before those that follow it.
    async fn perform<'d>(
        &mut self,
        action: &'d ScriptAction,
    ) -> Result<&'d [ScriptAction], ActionEnd> {
        match action {
            ScriptAction::Say(text) => self.say(Stream::Stdout, text),
            ScriptAction::Complain(text) => self.say(Stream::Stderr, text),
            ScriptAction::Write(files) => {
                for (path, text) in files {
                    let (path, text) = (self.fill(path), self.fill(text));
                    let done = self.work_tree.write(&path, &text);
                    self.check(&format!("write `{path}`"), done)?;
                }
            }
            ScriptAction::Append(files) => {
                for (path, text) in files {
                    let (path, text) = (self.fill(path), self.fill(text));
                    let done = self.work_tree.append(&path, &text);
                    self.check(&format!("append to `{path}`"), done)?;
                }
            }
            ScriptAction::Delete(paths) => {
                for path in paths {
                    let path = self.fill(path);
                    let done = self.work_tree.delete(&path);
                    self.check(&format!("delete `{path}`"), done)?;
                }
            }
            ScriptAction::Status(status) => {
                let text = format!("{:#}\n", Value::Object(self.fill_object(status)));
                let done = self.work_tree.write_status(&text);
                self.check("write the status", done)?;
            }
            ScriptAction::RawStatus(text) => {
                let done = self.work_tree.write_status(&self.fill(text));
                self.check("write the status", done)?;
            }
            ScriptAction::Fail(text) => {
                self.say(Stream::Stderr, text);
                return Err(ActionEnd::Exited(1));
            }
            ScriptAction::Exit(code) => return Err(ActionEnd::Exited(*code)),
            ScriptAction::Sleep(duration) => self.wait(sleep(*duration)).await?,
            ScriptAction::WaitFor(path) => self.wait_for(path).await?,
            ScriptAction::Run(text) => self.run(text).await?,
            ScriptAction::IfPrompt { contains, then, otherwise } => {
                let is_so = self.prompt.contains(&*self.fill(contains));
                return Ok(if is_so { then } else { otherwise });
            }
        }
        Ok(&[])
    }

    fn say(&mut self, stream: Stream, text: &str) {
        let mut text = fill(text, self.turn).into_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        self.voice.output(stream, text.as_bytes());
    }

    /// Ends the turn if the action failed.
    fn check<T>(&mut self, what: &str, done: io::Result<T>) -> Result<T, ActionEnd> {
        done.map_err(|error| {
            let text = format!("cannot {what}: {error}\n");
            self.voice.output(Stream::Stderr, text.as_bytes());
            ActionEnd::Exited(1)
        })
    }

    async fn wait_for(&mut self, path: &str) -> Result<(), ActionEnd> {
        let path = self.fill(path);
        let place = self.work_tree.place(&path);
        let place = self.check(&format!("wait for `{path}`"), place)?;
        // Not every system can report a new file, so the agent polls.
        while !place.exists() {
            self.wait(sleep(WAIT_FOR_PAUSE)).await?;
        }
        Ok(())
    }

    async fn wait(&mut self, until: impl Future<Output = ()>) -> Result<(), ActionEnd> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(ActionEnd::Cancelled),
            () = sleep_until(self.deadline) => Err(ActionEnd::TimedOut),
            () = until => Ok(()),
        }
    }

    async fn run(&mut self, text: &str) -> Result<(), ActionEnd> {
        let timeout = self.deadline.saturating_duration_since(Instant::now());
        let what = ShellRun { text, argument: None, stdin: Vec::new(), timeout };
        let ended = shell_run::run(self.turn, what, &mut self.voice, self.cancel).await;
        self.voice.printed.held |= ended.outcome.output().is_some_and(|output| output.held);
        match ended.outcome {
            ProcessOutcome::Exited { code: 0, .. } => Ok(()),
            ProcessOutcome::Exited { code, .. } => Err(ActionEnd::Exited(code)),
            ProcessOutcome::Killed { signal, .. } => Err(ActionEnd::Killed(signal)),
            ProcessOutcome::TimedOut { .. } => Err(ActionEnd::TimedOut),
            ProcessOutcome::Interrupted { .. } => Err(ActionEnd::Cancelled),
            ProcessOutcome::WantedTerminal { .. } => Err(ActionEnd::WantedTerminal),
            ProcessOutcome::NotStarted { cause } => {
                self.check("run a command", Err(io::Error::other(cause)))
            }
        }
    }

    fn fill<'t>(&self, text: &'t str) -> Cow<'t, str> {
        fill(text, self.turn)
    }

    fn fill_object(&self, object: &Map<String, Value>) -> Map<String, Value> {
        object.iter().map(|(key, value)| (key.clone(), self.fill_value(value))).collect()
    }

    fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text).into_owned()),
            Value::Array(items) => items.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(object) => Value::Object(self.fill_object(object)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// Keeps printed text, and passes it on.
struct Voice<'a> {
    watch: &'a mut dyn AgentWatch,
    printed: ScriptOutput,
}

impl AgentWatch for Voice<'_> {
    fn running(&mut self, leader: &Leader) {
        self.watch.running(leader);
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        self.printed.push(stream, bytes);
        self.watch.output(stream, bytes);
    }
}

/// The text with the turn's values; each reference is replaced once.
fn fill<'t>(text: &'t str, turn: &Turn) -> Cow<'t, str> {
    if !text.contains("${") {
        return Cow::Borrowed(text);
    }
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = [
            ("${STAGE}", turn.stage.clone()),
            ("${ITERATION}", turn.iteration.to_string()),
            ("${ATTEMPT}", turn.attempt.to_string()),
        ];
        match known.iter().find(|(reference, _)| rest.starts_with(reference)) {
            Some((reference, value)) => {
                filled.push_str(value);
                rest = &rest[reference.len()..];
            }
            None => {
                filled.push_str("${");
                rest = &rest["${".len()..];
            }
        }
    }
    filled.push_str(rest);
    Cow::Owned(filled)
}

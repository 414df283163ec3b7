//! One turn of an agent: its prompt and its files, the agent itself, its result.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hookwright_agents::TurnEnd;
use hookwright_config::Select;
use hookwright_engine::Secrets;
use hookwright_engine::variables::{ChildEnvironment, Variables};
use hookwright_events::{Event, EventName, ProcessOutcome, RunEventKind, TurnEvent, TurnResult};
use hookwright_process::MARKER;
use serde_json::json;

use super::drive::Done;
use super::{Halt, Session};
use crate::changed_files::Snapshot;
use crate::course::{Happening, TurnTask};
use crate::folder::{
    Context, ContextInputs, ContextLimits, ContextStage, IterationAt, OpenIteration, StageAt,
    StatusDecision, StatusFile,
};
use crate::limits::LAST_WORDS_CHARS_MAX;
use crate::plan::Until;
use crate::prompt::{self, Extra, Given};

/// A turn in progress.
pub(super) struct OpenTurn {
    pub(super) task: TurnTask,
    /// The agent's variables.
    pub(super) event: Arc<Event>,
    /// The folder of its iteration, while it is open.
    pub(super) folder: Option<OpenIteration>,
    /// The prompt, once it is built.
    pub(super) prompt: Vec<String>,
    /// How many parts of the prompt are output of hooks.
    pub(super) said: usize,
    /// Outputs of the earlier stage that the stage requests.
    pub(super) inputs: Vec<(String, Vec<String>)>,
    /// The project's files before it, if the changed files are reported.
    before: Option<Snapshot>,
    /// The last finished attempt.
    pub(super) done: Option<Done>,
}

impl Session {
    /// Prepares the files of a turn.
    pub(super) async fn prepare_turn(&mut self, task: TurnTask) -> Result<(), Halt> {
        let more = json!({ "timestamp": self.recorder.clock.now() });
        let event = Event::new(EventName::ITERATION_START, self.data_of_iteration(more));
        let mut turn = OpenTurn {
            task,
            event: Arc::new(event),
            folder: None,
            prompt: Vec::new(),
            said: 0,
            inputs: Vec::new(),
            before: None,
            done: None,
        };
        if turn.task.name.iteration > 0 {
            let folder = self.folder.make_iteration(self.current_iteration())?;
            folder.forget_status()?;
            folder.forget_output()?;
            turn.inputs = self.inputs()?;
            folder.write_context(&self.context(turn.task.time_left, &turn.inputs))?;
            turn.folder = Some(folder);
            turn.before = Some(Snapshot::take(&self.workplace.work_tree).await);
        }
        self.turn = Some(turn);
        Ok(())
    }

    /// Reads the result of a turn.
    pub(super) async fn end_turn(&mut self) -> Result<Happening, Halt> {
        let turn = self.turn.take().expect("a turn was begun before it ends");
        let mut done = turn.done.expect("a turn ends after an attempt");
        let took = done.ended.took.as_secs_f64();
        let (mut result, duration_ms) = match turn.before {
            Some(before) => {
                let folder = match done.folder.take() {
                    Some(folder) => folder,
                    None => self.folder.make_iteration(self.current_iteration())?,
                };
                self.keep_output(&folder, &done.ended)?;
                let changed = before.changed_since().await;
                if let Some(note) = changed.note {
                    let note = format!("CHANGED_FILES: {note}");
                    self.recorder.note(note).await?;
                }
                let mut result = self.result_of(&turn.task, &done);
                // Without `max_runtime` it is an agent that hangs.
                if turn.task.time_left.is_some()
                    && matches!(done.ended.outcome, ProcessOutcome::TimedOut { .. })
                {
                    result.out_of_time = true;
                    result.error = Some("the agent was stopped: max_runtime is reached".to_owned());
                }
                result.changed_files = changed.paths;
                (result, (took * 1_000_000.0).round() / 1000.0)
            }
            None => {
                let error = self.failure_in_words(&done.ended);
                let decision = if error.is_none() { "continue" } else { "error" }.to_owned();
                (TurnResult { decision, error, ..TurnResult::default() }, took * 1000.0)
            }
        };
        (result.agent, result.agent_session, result.usage) =
            (done.agent, done.agent_session, done.usage);
        let (turn, attempt) = (turn.task.name, done.attempt);
        let record = RunEventKind::Turn(TurnEvent::TurnEnded {
            turn,
            attempt,
            result: result.clone(),
            duration_ms,
        });
        Ok(Happening::TurnEnded { result: Box::new(result), record: Box::new(record) })
    }

    /// Builds the prompt.
    pub(super) fn prompt(&self, turn: &OpenTurn) -> Vec<String> {
        let position = self.course.position();
        if turn.task.name.iteration == 0 {
            let error = turn.task.error.as_deref().map(prompt::last_turn_failed);
            return self.pending.lock().raw_block().into_iter().chain(error).collect();
        }
        let at = self.current_iteration();
        if turn.task.is_final_delivery {
            return self.prompt_of_delivery(at);
        }
        let template = &self.plan.stages[position.index()].prompt;
        let output = self.folder.output(at).to_string_lossy().into_owned();
        let carried = self.memory.carried(&self.recorder.session);
        let (event, environment) = (&turn.event, &self.workplace.environment);
        let variables = Variables { event, carried: &carried, environment };
        let file = self.folder.inputs().to_string_lossy().into_owned();
        let given = self.workplace.inputs.as_ref().map(|inputs| Given { file: &file, inputs });
        let extra = Extra { output: &output, inputs: &turn.inputs, given };
        let mut task = prompt::filled(template, &variables, &extra);
        if let Some(item) = &position.item
            && !template.names().any(prompt::names_item)
        {
            task = format!("{}\n\n{}", task.trim_end(), prompt::about_item(item));
        }
        if !template.names().any(|name| matches!(name, "STATUS" | "HOOKWRIGHT_STATUS")) {
            let status = self.folder.status(at).to_string_lossy().into_owned();
            task = format!("{}\n\n{}", task.trim_end(), prompt::about_status(&status));
        }
        let said = self.pending.lock().block();
        // Hooks that let a session continue without a message have nothing to say to the agent, and
        // the turn is a normal one; but a repeated one is told why.
        let is_told = said.is_some() || turn.task.is_again;
        let error = position.error.as_deref().filter(|_| is_told);
        let error = error.map(|error| prompt::about_error(error, said.is_some()));
        said.into_iter().chain(error).chain([task]).collect()
    }

    /// Outputs of the earlier stage that this one requests.
    fn inputs(&self) -> Result<Vec<(String, Vec<String>)>, Halt> {
        let stage = &self.plan.stages[self.course.position().index()];
        let Some(inputs) = &stage.inputs else { return Ok(Vec::new()) };
        let stages = self.plan.stages.iter();
        let from = stages.enumerate().find(|(_, stage)| stage.name == inputs.from);
        let Some((from, stage)) = from else { return Ok(Vec::new()) };
        let outputs = self.folder.stage_outputs(StageAt { index: from, name: &stage.name })?;
        let outputs = match inputs.select {
            Select::All => &outputs[..],
            Select::Latest => &outputs[outputs.len().saturating_sub(1)..],
        };
        let outputs = outputs.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        Ok(vec![(inputs.from.clone(), outputs)])
    }

    fn context(&self, left: Option<Duration>, inputs: &[(String, Vec<String>)]) -> Context {
        let position = self.course.position();
        let index = position.index();
        let stage = &self.plan.stages[index];
        let at = self.current_iteration();
        // Every finished iteration has one; checking each would cost more than all the rest.
        let earlier = self.folder.outputs(at.stage, &position.outputs);
        let from_stage: BTreeMap<String, Vec<String>> = inputs.iter().cloned().collect();
        Context {
            version: Context::VERSION,
            session: self.recorder.session.clone(),
            pipeline: self.plan.name.clone(),
            stage: ContextStage { id: stage.name.clone(), index, template: stage.template.clone() },
            iteration: position.iteration,
            item: position.item.clone(),
            paths: self.folder.context_paths(at),
            inputs: ContextInputs {
                from_stage,
                from_previous_iterations: earlier,
                from_parent: self
                    .workplace
                    .inputs
                    .as_ref()
                    .map(|_| self.folder.inputs().to_string_lossy().into_owned()),
            },
            limits: ContextLimits {
                max_iterations: stage.bound(),
                remaining_seconds: left.map(|left| left.as_secs()),
            },
        }
    }

    /// The built-in variables. No secrets: agents get none.
    pub(super) fn environment_of(&self, event: &Event) -> ChildEnvironment {
        let carried = self.memory.carried(&self.recorder.session);
        let variables =
            Variables { event, carried: &carried, environment: &self.workplace.environment };
        ChildEnvironment::new(&variables, &[], &[], &[])
    }

    /// Puts values that do not fit into an environment into files, as for hooks: `<NAME>_FILE`
    /// names one.
    pub(super) async fn place_left_out(
        &self,
        environment: &mut ChildEnvironment,
    ) -> Result<Option<tempfile::TempDir>, Halt> {
        match environment.place_left_out(&self.workplace.environment) {
            Ok(folder) => Ok(folder),
            Err(error) => {
                let note = format!("a value cannot be written to a file: {error}");
                self.recorder.note(note).await?;
                Ok(None)
            }
        }
    }

    /// The built-in variables, and the paths for the agent's files.
    pub(super) fn agent_environment(
        &self,
        event: &Event,
        at: IterationAt<'_>,
        attempt: u32,
    ) -> ChildEnvironment {
        let mut environment = self.environment_of(event);
        environment.set("OUTPUT", self.folder.output(at));
        environment.set("HOOKWRIGHT_OUTPUT", self.folder.output(at));
        environment.set("HOOKWRIGHT_ATTEMPT", attempt.to_string());
        if self.workplace.inputs.is_some() {
            environment.set("INPUTS", self.folder.inputs());
            environment.set("HOOKWRIGHT_INPUTS", self.folder.inputs());
        }
        if let Some(outer) = self.outer_marker() {
            environment.set(MARKER, outer.to_owned());
        }
        environment
    }

    /// Stores what the agent printed as its output, unless it wrote one itself.
    fn keep_output(&self, folder: &OpenIteration, ended: &TurnEnd) -> Result<(), Halt> {
        if folder.has_output()? {
            return Ok(());
        }
        let printed = printed(ended, &self.workplace.secrets);
        Ok(folder.write_output(printed.as_bytes())?)
    }

    fn result_of(&self, task: &TurnTask, done: &Done) -> TurnResult {
        let ended = &done.ended;
        let hide = |text: &str| self.workplace.hide(text);
        let failed = |error: String| TurnResult {
            decision: "error".to_owned(),
            error: Some(hide(&error)),
            ..TurnResult::default()
        };
        if let Some(failure) = self.failure_in_words(ended) {
            return failed(failure);
        }
        // A delivery after the last iteration decides nothing.
        let stage = &self.plan.stages[self.course.position().index()];
        let needs_status = matches!(stage.until, Until::Judgment { .. }) && !task.is_final_delivery;
        match &done.status {
            StatusFile::Missing if needs_status => {
                let complaint = ended.outcome.output().map_or("", |output| &output.stderr);
                let words = last_words(&printed(ended, &self.workplace.secrets));
                let words = words.or_else(|| last_words(complaint));
                let words =
                    words.map_or_else(String::new, |words| format!("; it said last: {words}"));
                failed(format!(
                    "the agent wrote no status.json, and this loop ends by its judgment{words}"
                ))
            }
            StatusFile::Missing => {
                TurnResult { decision: "continue".to_owned(), ..TurnResult::default() }
            }
            StatusFile::Broken(why) => failed(why.to_string()),
            StatusFile::Read(status) => {
                let said = if status.reason.is_empty() { &status.summary } else { &status.reason };
                let error =
                    (status.decision == StatusDecision::Error).then(|| match said.as_str() {
                        "" => "the agent says that it failed".to_owned(),
                        said => hide(said),
                    });
                TurnResult {
                    decision: status.decision.to_string(),
                    reason: hide(&status.reason),
                    summary: hide(&status.summary),
                    error,
                    ..TurnResult::default()
                }
            }
        }
    }
}

/// What the agent printed, with secrets redacted.
fn printed<'a>(ended: &'a TurnEnd, secrets: &Secrets) -> Cow<'a, str> {
    ended.outcome.output().map_or(Cow::Borrowed(""), |output| secrets.hide(&output.stdout))
}

/// The last line that is not blank.
fn last_words(printed: &str) -> Option<String> {
    let line = printed.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    let mut words: String = line.chars().take(LAST_WORDS_CHARS_MAX).collect();
    if words.len() < line.len() {
        words.push('…');
    }
    Some(words)
}

/// Describes how an agent, or another command, failed; `None` if it did not.
pub(super) fn failure_of(who: &str, outcome: &ProcessOutcome) -> Option<String> {
    let last_line = outcome.output().and_then(|output| {
        output.stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    });
    let said = last_line.map(|line| format!(": {line}")).unwrap_or_default();
    match outcome {
        ProcessOutcome::Exited { code: 0, .. } => None,
        ProcessOutcome::Exited { code, .. } => Some(format!("{who} exited with {code}{said}")),
        ProcessOutcome::TimedOut { after_ms, .. } => Some(format!(
            "{who} was stopped after {} s: it reached its time limit",
            after_ms / 1000
        )),
        ProcessOutcome::Killed { signal, .. } => {
            Some(format!("{who} was killed by signal {signal}{said}"))
        }
        ProcessOutcome::Interrupted { .. } => Some(format!("{who} was interrupted")),
        ProcessOutcome::WantedTerminal { .. } => Some(format!(
            "{who} was stopped because it tried to read the terminal, which it does \
                 not have"
        )),
        ProcessOutcome::NotStarted { cause } => {
            Some(format!("{who} could not be started: {cause}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_the_last_line_that_says_anything_and_say_where_they_are_cut() {
        assert_eq!(last_words("one\n  two \n\n"), Some("two".to_owned()));
        assert_eq!(last_words(" \n"), None);
        let whole = "é".repeat(LAST_WORDS_CHARS_MAX);
        assert_eq!(last_words(&whole), Some(whole.clone()));
        assert_eq!(last_words(&format!("{whole}x")), Some(format!("{whole}…")));
    }
}

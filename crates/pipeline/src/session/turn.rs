//! One turn of an agent: its prompt and its files, the agent itself, what came of it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hookwright_agents::TurnEnd;
use hookwright_config::Select;
use hookwright_engine::secrets::Secrets;
use hookwright_engine::variables::{ChildEnvironment, Variables};
use hookwright_events::{Event, EventName, Outcome, RunEventKind, TurnResult};
use hookwright_process::MARKER;
use serde_json::json;

use super::drive::{Done, Task};
use super::stage::{Course, turn_name};
use super::{Leave, Session};
use crate::changed_files::Snapshot;
use crate::folder::{
    Context, ContextInputs, ContextLimits, ContextStage, Decision, IterationAt, Keep,
    OpenIteration, StageAt, StatusFile,
};
use crate::limits::LAST_WORDS_CHARS_MAX;
use crate::plan::Until;
use crate::prompt::{self, Extra, Given};

impl Session {
    /// Runs the agent for an iteration. Returns what came of it, and the record of that, which has
    /// still to be written together with what follows.
    pub(super) async fn turn(
        &mut self,
        index: usize,
        course: &Course,
        started: Instant,
    ) -> Result<(TurnResult, Vec<RunEventKind>), Leave> {
        self.pass_gate().await?;
        let name = turn_name(index, course.iteration);
        let at = self.iteration_at(index, course.iteration);
        let folder = self.folder.make_iteration(at)?;
        folder.forget_status()?;
        folder.forget_output()?;
        let left = self.time_left(index, course, started);
        let inputs = self.inputs(index)?;
        folder.write_context(&self.context(index, course, left, &inputs)?)?;
        let event = self.event_of_turn(index, course);
        let before = Snapshot::take(&self.work_tree).await;
        let by = self.available(index).await?;
        // From here until the beginning is recorded nothing is awaited: what hooks say meanwhile would
        // neither be in this prompt nor wait for the next.
        let prompt = self.prompt(index, course, &event, &inputs);
        let folder = Some(folder);
        let task = Task { name: &name, folder, by, prompt, event: &event, left };
        let mut done = self.drive(index, task).await?;
        let folder = match done.folder.take() {
            Some(folder) => folder,
            None => self.folder.make_iteration(self.iteration_at(index, course.iteration))?,
        };
        self.keep_output(&folder, &done.ended)?;
        let changed = before.changed_since().await;
        if let Some(note) = changed.note {
            self.write(vec![RunEventKind::Noted { note: format!("CHANGED_FILES: {note}") }])?;
        }
        let mut result = self.result_of(index, course.iteration, &done);
        done.note_in(&mut result);
        let ended = &done.ended;
        // Without `max_runtime` it is an agent that hangs.
        if left.is_some() && matches!(ended.outcome, Outcome::TimedOut { .. }) {
            result.out_of_time = true;
            result.error = Some("the agent was ended: max_runtime is over".to_owned());
        }
        result.changed_files = changed.paths;
        let attempt = self.attempt_of(&name);
        let duration_ms = (ended.took.as_secs_f64() * 1_000_000.0).round() / 1000.0;
        let record =
            RunEventKind::TurnEnded { turn: name, attempt, result: result.clone(), duration_ms };
        Ok((result, vec![record]))
    }

    pub(super) fn iteration_at(&self, index: usize, iteration: u32) -> IterationAt<'_> {
        IterationAt { stage: self.stage_at(index), iteration }
    }

    /// What the agent knows of its iteration, as variables.
    pub(super) fn event_of_turn(&self, index: usize, course: &Course) -> Event {
        let more = json!({ "stage_outputs": course.outputs, "timestamp": self.clock.now() });
        Event::new(EventName::ITERATION_START, self.data_of_iteration(index, course, more))
    }

    fn prompt(
        &self,
        index: usize,
        course: &Course,
        event: &Event,
        inputs: &[(String, Vec<String>)],
    ) -> Vec<String> {
        let at = self.iteration_at(index, course.iteration);
        let template = &self.plan.stages[index].prompt;
        let name = turn_name(index, course.iteration);
        if self.history.is_final_delivery(&name) {
            return self.prompt_of_delivery(at, course);
        }
        let output = self.folder.output(at).to_string_lossy().into_owned();
        let carried = self.memory.carried(&self.name);
        let variables = Variables { event, carried: &carried, environment: &self.environment };
        let file = self.folder.inputs().to_string_lossy().into_owned();
        let given = self.inputs.as_ref().map(|inputs| Given { file: &file, inputs });
        let extra = Extra { output: &output, inputs, given };
        let mut task = prompt::filled(template, &variables, &extra);
        if let Some(item) = &self.item
            && !template.names().any(prompt::names_item)
        {
            task = format!("{}\n\n{}", task.trim_end(), prompt::about_item(item));
        }
        if !template.names().any(|name| matches!(name, "STATUS" | "HOOKWRIGHT_STATUS")) {
            let status = self.folder.status(at).to_string_lossy().into_owned();
            task = format!("{}\n\n{}", task.trim_end(), prompt::about_status(&status));
        }
        let said = self.pending.block();
        // Hooks that let a session go on without a word have nothing to say to the agent, and the turn
        // is one like any other; but one that is done again is told why.
        let is_again = self.history.failed_before(&name).is_some();
        let error = course.error.as_deref().filter(|_| said.is_some() || is_again);
        let error = error.map(|error| prompt::about_error(error, said.is_some()));
        said.into_iter().chain(error).chain([task]).collect()
    }

    /// Outputs of the earlier stage that this one asks for.
    fn inputs(&self, index: usize) -> Result<Vec<(String, Vec<String>)>, Leave> {
        let Some(inputs) = &self.plan.stages[index].inputs else { return Ok(Vec::new()) };
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

    fn context(
        &self,
        index: usize,
        course: &Course,
        left: Option<Duration>,
        inputs: &[(String, Vec<String>)],
    ) -> Result<Context, Leave> {
        let stage = &self.plan.stages[index];
        let at = self.iteration_at(index, course.iteration);
        // Every iteration that ended has one; to look for them would cost more than all the rest.
        let earlier = course.outputs.iter().map(|output| self.root.join(output));
        let from_stage: BTreeMap<String, Vec<String>> = inputs.iter().cloned().collect();
        Ok(Context {
            version: Context::VERSION,
            session: self.name.clone(),
            pipeline: self.plan.name.clone(),
            stage: ContextStage { id: stage.name.clone(), index, template: stage.template.clone() },
            iteration: course.iteration,
            item: self.item.clone(),
            paths: self.folder.context_paths(at),
            inputs: ContextInputs {
                from_stage,
                from_previous_iterations: earlier
                    .map(|path| path.to_string_lossy().into_owned())
                    .collect(),
                from_parent: self
                    .inputs
                    .as_ref()
                    .map(|_| self.folder.inputs().to_string_lossy().into_owned()),
            },
            limits: ContextLimits {
                max_iterations: stage.bound(),
                remaining_seconds: left.map(|left| left.as_secs()),
            },
        })
    }

    /// Our variables. No secrets: agents get none.
    pub(super) fn environment_of(&self, event: &Event) -> ChildEnvironment {
        let carried = self.memory.carried(&self.name);
        let variables = Variables { event, carried: &carried, environment: &self.environment };
        ChildEnvironment::new(&variables, &[], &[], &[])
    }

    /// Puts what does not fit into an environment into files, as for hooks: `<NAME>_FILE` names one.
    pub(super) fn place_left_out(
        &self,
        environment: &mut ChildEnvironment,
    ) -> Result<Option<tempfile::TempDir>, Leave> {
        match environment.place_left_out(&self.environment) {
            Ok(folder) => Ok(folder),
            Err(error) => {
                let note = format!("a value cannot be written to a file: {error}");
                self.write(vec![RunEventKind::Noted { note }])?;
                Ok(None)
            }
        }
    }

    /// Our variables, and where the agent may write.
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
        if self.inputs.is_some() {
            environment.set("INPUTS", self.folder.inputs());
            environment.set("HOOKWRIGHT_INPUTS", self.folder.inputs());
        }
        if let Some(outer) = self.outer_marker() {
            environment.set(MARKER, outer.to_owned());
        }
        environment
    }

    /// What the agent printed becomes its output, unless it wrote one itself.
    fn keep_output(&self, folder: &OpenIteration, ended: &TurnEnd) -> Result<(), Leave> {
        if folder.has_output()? {
            return Ok(());
        }
        let printed = printed(ended, &self.secrets);
        Ok(folder.write_output(printed.as_bytes(), Keep::ThroughCrash)?)
    }

    fn result_of(&self, index: usize, iteration: u32, done: &Done) -> TurnResult {
        let ended = &done.ended;
        let hide = |text: &str| self.secrets.hide(text).into_owned();
        let failed = |error: String| TurnResult {
            decision: "error".to_owned(),
            error: Some(hide(&error)),
            ..TurnResult::default()
        };
        if let Some(failure) = self.failure_in_words(ended) {
            return failed(failure);
        }
        // What is delivered after the last iteration judges nothing any more.
        let needs_status = matches!(self.plan.stages[index].until, Until::Judgment { .. })
            && !self.history.is_final_delivery(&turn_name(index, iteration));
        match &done.status {
            StatusFile::Missing if needs_status => {
                let complaint = ended.outcome.output().map_or("", |output| &output.stderr);
                let words = last_words(&printed(ended, &self.secrets));
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
                let error = (status.decision == Decision::Error).then(|| match said.as_str() {
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

/// What the agent printed, without secrets.
fn printed<'a>(ended: &'a TurnEnd, secrets: &Secrets) -> Cow<'a, str> {
    ended.outcome.output().map_or(Cow::Borrowed(""), |output| secrets.hide(&output.stdout))
}

/// The last line that says anything.
fn last_words(printed: &str) -> Option<String> {
    let line = printed.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    let mut words: String = line.chars().take(LAST_WORDS_CHARS_MAX).collect();
    if words.len() < line.len() {
        words.push('…');
    }
    Some(words)
}

/// What the end of an agent, or of another command, means in words; `None` if it did what it should.
pub(super) fn failure_of(who: &str, outcome: &Outcome) -> Option<String> {
    let last_line = outcome.output().and_then(|output| {
        output.stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    });
    let said = last_line.map(|line| format!(": {line}")).unwrap_or_default();
    match outcome {
        Outcome::Exited { code: 0, .. } | Outcome::Done { .. } | Outcome::Answered { .. } => None,
        Outcome::Exited { code, .. } => Some(format!("{who} exited with {code}{said}")),
        Outcome::TimedOut { after_ms, .. } => {
            Some(format!("{who} was ended after {} s, its time was over", after_ms / 1000))
        }
        Outcome::Killed { signal, .. } => Some(format!("{who} was ended by signal {signal}{said}")),
        Outcome::Interrupted { .. } => Some(format!("{who} was interrupted")),
        Outcome::WantedTerminal { .. } => {
            Some(format!("{who} stopped to read the terminal, which it does not have"))
        }
        Outcome::NotStarted { cause } => Some(format!("{who} could not be started: {cause}")),
        Outcome::Failed { cause, .. } => Some(cause.clone()),
        Outcome::Responded { .. } | Outcome::Decided { .. } | Outcome::Unanswered { .. } => {
            unreachable!("an agent is neither a request nor a person")
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

//! A running session: one line per event, and a summary at the end.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use hookwright_config::limits::ITERATIONS_MAX;
use hookwright_events::TurnResult;
use hookwright_events::{
    EventName, FiringEvent, RunEvent, RunEventKind, SessionEvent, Status, TaskId, TurnEvent,
    TurnName,
};
use hookwright_pipeline::plan::{Plan, Until};
use hookwright_pipeline::queue::Queue;
use hookwright_pipeline::record::SessionRecord;
use hookwright_pipeline::session::SessionOutcome;
use hookwright_pipeline::session_state::SessionState;
use serde_json::{Value, json};

use super::agent_lines::AgentLines;
use super::{at_most, human};
use crate::text::{Paint, count, escaped, local, one_line, visible};

/// Characters of an agent's words that a line shows.
const WORDS_MAX: usize = 120;

/// Characters of a note, which may name many hooks.
const NOTE_MAX: usize = 1000;

/// Minimum delay before a retry that is worth a line.
const DELAY_SHOWN_MS: u64 = 1_000;

/// Indentation of the lines of a child session, once for each depth.
const CHILD_INDENT: &str = "    ";

/// Turns run events into lines.
pub(crate) struct SessionScreen {
    json: bool,
    agent_output: bool,
    /// The session itself; others are its children.
    main: Option<String>,
    /// The depth of child sessions.
    depths: HashMap<String, usize>,
    /// The state of each session.
    states: HashMap<Option<String>, SessionState>,
    /// Unfinished lines, by session.
    printed: HashMap<Option<String>, AgentLines>,
}

impl SessionScreen {
    pub(crate) fn new(json: bool, agent_output: bool) -> Self {
        Self {
            json,
            agent_output,
            main: None,
            depths: HashMap::new(),
            states: HashMap::new(),
            printed: HashMap::new(),
        }
    }

    /// The text for an event, if it has any.
    pub(crate) fn line(&mut self, event: &RunEvent) -> Option<String> {
        if self.json {
            let value = serde_json::to_value(event).ok()?;
            return Some(format!("{}\n", escaped(&value.to_string())));
        }
        let depth = self.depth(event);
        let text = self.text(event);
        // The names of what this event ends are needed above.
        self.states.entry(event.session.clone()).or_default().apply(event);
        if depth > 0 && is_end(event) {
            self.states.remove(&event.session);
        }
        let text = text?;
        if depth == 0 {
            return Some(text);
        }
        let indent = CHILD_INDENT.repeat(depth);
        Some(text.lines().map(|line| format!("{indent}{line}\n")).collect())
    }

    /// The depth of the event's session below the one that a person started.
    fn depth(&mut self, event: &RunEvent) -> usize {
        let Some(session) = &event.session else { return 0 };
        if self.main.get_or_insert_with(|| session.clone()) == session {
            return self.below(event, 0);
        }
        // An earlier process printed the beginning of a resumed child.
        let depth = self.depths.get(session).copied().unwrap_or(1);
        if is_end(event) {
            self.depths.remove(session);
        }
        self.below(event, depth)
    }

    fn below(&mut self, event: &RunEvent, depth: usize) -> usize {
        if let RunEventKind::Firing(FiringEvent::HookSpawned { session, .. }) = &event.kind {
            self.depths.insert(session.clone(), depth + 1);
        }
        depth
    }

    fn text(&mut self, event: &RunEvent) -> Option<String> {
        let text = match &event.kind {
            RunEventKind::Session(SessionEvent::SessionStarted { plan, stages, .. }) => {
                let name = event.session.as_deref().unwrap_or_default();
                let stages = visible(&stages.join(", ")).into_owned();
                let session = Paint::of_results().strong(&format!("session {name}"));
                format!("{session}: {} ({stages})", one_line(plan, WORDS_MAX))
            }
            RunEventKind::Session(SessionEvent::SessionResumed { time, sources }) => {
                let name = event.session.as_deref().unwrap_or_default();
                let anew = if sources.is_some() { ", configuration reloaded" } else { "" };
                format!("session {name}: resumed for the {}{anew}", ordinal(*time))
            }
            RunEventKind::Session(SessionEvent::StageStarted { stage, index, iterations_max }) => {
                format!("stage {index} {}: {}", visible(stage), at_most(*iterations_max))
            }
            RunEventKind::Turn(TurnEvent::FinalDelivery { turn }) => format!(
                "  final delivery: {} passes on what hooks reported after the last one",
                of_turn(turn)
            ),
            RunEventKind::Turn(TurnEvent::TurnStarting { turn, attempt, agent, .. }) => {
                let again = match attempt {
                    1 => String::new(),
                    more => format!(" (attempt {more})"),
                };
                let agent = agent.as_deref().map(|agent| format!("agent {}", visible(agent)));
                let agent = agent.as_deref().unwrap_or("the agent");
                format!("  {}: {agent} works{again}", of_turn(turn))
            }
            RunEventKind::Turn(TurnEvent::TurnEnded { turn, result, duration_ms, .. }) => {
                let rest = self.printed.remove(&event.session).map(AgentLines::finish);
                let rest = rest.unwrap_or_default();
                format!("{rest}  {}: {}", of_turn(turn), of_result(result, *duration_ms))
            }
            RunEventKind::Session(SessionEvent::StageEnded {
                stage,
                index,
                reason,
                iterations,
            }) => {
                let iterations = count(*iterations as usize, "iteration");
                let reason = Paint::of_results().outcome(reason);
                format!("stage {index} {}: {reason} after {iterations}", visible(stage))
            }
            RunEventKind::Session(SessionEvent::ItemStarted { item, .. }) => {
                let (name, title) = (item.name(), &item.title);
                match name == *title {
                    true => format!("  {}", one_line(title, WORDS_MAX)),
                    false => {
                        format!("  {}: {}", one_line(&name, WORDS_MAX), one_line(title, WORDS_MAX))
                    }
                }
            }
            RunEventKind::Session(SessionEvent::ItemEnded {
                key,
                state,
                reason,
                duration_ms,
                ..
            }) => {
                let reason = reason.as_deref().map(|why| format!(": {}", one_line(why, WORDS_MAX)));
                // If the session was resumed in the middle of it, its beginning was not seen.
                let name = self.item_of(event).unwrap_or_else(|| match key {
                    key if key.parse::<u64>().is_ok() => format!("issue {key}"),
                    key if TaskId::typed(key).is_some() => format!("task {key}"),
                    key => key.clone(),
                });
                format!(
                    "  {}: {} after {}{}",
                    one_line(&name, WORDS_MAX),
                    Paint::of_results().outcome(state.as_str()),
                    human::duration(*duration_ms),
                    reason.unwrap_or_default()
                )
            }
            RunEventKind::Firing(FiringEvent::HookSpawned { session, pipeline, .. }) => {
                format!("    {} as session {}", one_line(pipeline, WORDS_MAX), visible(session))
            }
            RunEventKind::Turn(TurnEvent::TurnGivenUp { agent, cause, reason, .. }) => {
                let (agent, cause) = (visible(agent), cause.as_str());
                format!("  {agent} cannot work ({cause}): {}", one_line(reason, WORDS_MAX))
            }
            RunEventKind::Turn(TurnEvent::AgentChanged { from, to, reason }) => {
                let (from, to) = (visible(from), visible(to));
                format!("  {to} takes over from {from}: {}", one_line(reason, WORDS_MAX))
            }
            RunEventKind::Turn(TurnEvent::CallEnded {
                tool,
                what,
                outcome,
                reason,
                duration_ms,
                ..
            }) => {
                let (tool, what) = (visible(tool), one_line(what, WORDS_MAX));
                let outcome = Paint::of_results().outcome(&outcome.as_str().replace('_', " "));
                let why = reason.as_deref().map(|why| format!(": {}", one_line(why, WORDS_MAX)));
                let (took, why) = (human::duration(*duration_ms), why.unwrap_or_default());
                format!("    {tool}: {what}: {outcome} after {took}{why}")
            }
            RunEventKind::Turn(TurnEvent::RequestEnded { attempt, error: Some(error), .. }) => {
                format!("    model: attempt {attempt} failed: {}", one_line(error, WORDS_MAX))
            }
            RunEventKind::Session(SessionEvent::Paused { reason, until, .. }) => {
                let until = until.as_deref().map(|until| format!(" until {}", local(until)));
                let paused = Paint::of_results().odd("paused");
                format!("{paused}{}: {}", until.unwrap_or_default(), one_line(reason, NOTE_MAX))
            }
            RunEventKind::Session(SessionEvent::Continued {}) => "continues".to_owned(),
            RunEventKind::Session(SessionEvent::Noted { note }) => {
                format!("{}: {}", Paint::of_results().strong("note"), one_line(note, NOTE_MAX))
            }
            RunEventKind::Turn(TurnEvent::AgentOutput { stream, text }) if self.agent_output => {
                let lines = self.printed.entry(event.session.clone()).or_default();
                return Some(lines.push(stream, text)).filter(|text| !text.is_empty());
            }
            RunEventKind::Firing(FiringEvent::HookWaiting { .. }) => {
                return human::waiting(&event.kind).map(|text| format!("    {text}"));
            }
            RunEventKind::Firing(FiringEvent::HookReported { report })
                if report.status != Status::Skipped =>
            {
                return Some(format!("    {}", human::report(self.event_of(event)?, report)));
            }
            RunEventKind::Firing(FiringEvent::HookRetrying { hook, attempt, after_ms, reason })
                if *after_ms >= DELAY_SHOWN_MS =>
            {
                let name = self.event_of(event)?;
                let text = human::retrying(name, hook, *attempt, *after_ms, reason);
                return Some(format!("    {text}"));
            }
            RunEventKind::Firing(FiringEvent::Decided { decision }) => {
                let messages = decision["system_messages"].as_array()?;
                let said = messages.iter().filter_map(serde_json::Value::as_str);
                let lines = said.flat_map(str::lines);
                let lines: String =
                    lines.map(|text| format!("    message: {}\n", visible(text))).collect();
                return (!lines.is_empty()).then_some(lines);
            }
            _ => return None,
        };
        Some(format!("{text}\n"))
    }

    /// The event of this firing.
    fn event_of(&self, event: &RunEvent) -> Option<&EventName> {
        self.states.get(&event.session)?.event_of(event.firing)
    }

    /// The name of the session's current work item.
    fn item_of(&self, event: &RunEvent) -> Option<String> {
        Some(self.states.get(&event.session)?.item.as_ref()?.name())
    }

    /// The summary at the end. `hooks` is the session's number of hooks.
    pub(crate) fn summary(
        &self,
        ended: &SessionOutcome,
        record: &SessionRecord,
        folder: &Path,
        hooks: usize,
    ) -> String {
        let paint = Paint::of_results();
        let session = paint.strong(&format!("session {}", record.name));
        let mut text = format!("{session}: {}", paint.outcome(ended.status.in_words()));
        if ended.reason != ended.status.as_str() {
            text.push_str(&format!(" ({})", one_line(&ended.reason, 2 * WORDS_MAX)));
        }
        let iterations = count(record.iterations as usize, "iteration");
        let took = record.metadata.total_duration.unwrap_or(0);
        let work = match counts(&record.work) {
            None => String::new(),
            Some(counts) => format!(", work: {counts}"),
        };
        let hooks = match counts(&record.hooks) {
            None if hooks == 0 => "no hooks".to_owned(),
            None => format!("none of {} ran", count(hooks, "hook")),
            Some(counts) => format!("hooks: {counts}"),
        };
        let (used, seconds) = (used(record), took as f64 / 1000.0);
        text.push_str(&format!("\n  {iterations}{work}, {hooks}, {seconds:.1} s{used}\n"));
        let folder = folder.display().to_string();
        text.push_str(&format!("  files: {}\n", visible(&folder)));
        if let Some(command) = record.resume_command(ended.status) {
            text.push_str(&format!("  resume with: {command}\n"));
        }
        if let Some(hook) = &ended.question {
            let (id, hook) = (&record.name, visible(hook));
            text.push_str(&format!(
                "  the hook will ask again; to skip its question: hookwright resume {id} \
                 --skip-gate {hook}\n"
            ));
        }
        text
    }
}

fn is_end(event: &RunEvent) -> bool {
    matches!(event.kind, RunEventKind::Session(SessionEvent::SessionEnded { .. }))
}

/// The total usage of agents, and the children's share of it.
fn used(record: &SessionRecord) -> String {
    let Some(all) = record.usage else { return String::new() };
    let of_children = record.usage_of_children.map(|used| human::usage(used.into()));
    let of_children = of_children.map(|used| format!(" (children: {used})"));
    format!(", {}{}", human::usage(all.into()), of_children.unwrap_or_default())
}

/// `1 blocked, 2 done`.
fn counts(of: &BTreeMap<String, u32>) -> Option<String> {
    let words = of.iter().map(|(word, number)| format!("{number} {}", word.replace('_', " ")));
    (!of.is_empty()).then(|| words.collect::<Vec<_>>().join(", "))
}

/// The output of `run --dry-run`.
pub(crate) fn plan(plan: &Plan) -> String {
    let name = one_line(&plan.name, WORDS_MAX);
    let mut text = format!("{name}: {}\n", count(plan.stages.len(), "stage"));
    for (index, stage) in plan.stages.iter().enumerate() {
        let until = match &stage.until {
            Until::Fixed => count(stage.iterations_max as usize, "iteration"),
            Until::Judgment { consensus, min_iterations } => format!(
                "until the agent says stop {} in a row, from {} to {}",
                count(*consensus as usize, "time"),
                min_iterations,
                count(stage.iterations_max as usize, "iteration"),
            ),
            Until::Queue { queue, per_item } => {
                let each = count(*per_item as usize, "iteration");
                let in_all = match stage.iterations_max {
                    ITERATIONS_MAX.. => String::new(),
                    most => format!(", {} in all", count(most as usize, "iteration")),
                };
                format!("until {}, at most {each} each{in_all}", visible(&queue.name()))
            }
        };
        let hooks = count(stage.hooks.hooks().len(), "hook");
        let hooks = match plan.unfired_of(stage).count() {
            0 => hooks,
            unfired => format!("{hooks} ({unfired} that nothing here fires)"),
        };
        let (number, name) = (index + 1, visible(&stage.name));
        let names: Vec<&str> = match &stage.agents[..] {
            [only] => vec![only.shown_name()],
            several => several.iter().map(|agent| agent.name.as_str()).collect(),
        };
        let agent = names.join(", then ");
        text.push_str(&format!("  {number} {name}: {until}, agent: {agent}, {hooks}\n"));
        if let Some(inputs) = &stage.inputs {
            text.push_str(&format!("      reads the outputs of {}\n", visible(&inputs.from)));
        }
    }
    text
}

/// The same as JSON.
pub(crate) fn plan_json(plan: &Plan) -> Value {
    let stages = plan.stages.iter().map(|stage| {
        let termination = match &stage.until {
            Until::Fixed => json!({ "type": "fixed" }),
            Until::Judgment { consensus, min_iterations } => json!({
                "type": "judgment", "consensus": consensus, "min_iterations": min_iterations
            }),
            Until::Queue { queue, per_item } => {
                let source = match queue {
                    Queue::Command(command) => json!({ "command": command }),
                    Queue::Issues(folder) => json!({ "issues": folder.shown() }),
                    Queue::Tasks => json!({ "tasks": true }),
                };
                json!({ "type": "queue", "source": source, "per_item": per_item })
            }
        };
        let hooks: Vec<&str> = stage.hooks.hooks().iter().map(|hook| hook.id.as_str()).collect();
        json!({
            "name": stage.name,
            "loop": stage.template,
            "agent": stage.first_agent(),
            "agents": stage.agents.iter().map(|agent| &agent.name).collect::<Vec<_>>(),
            "max_cost": stage.max_cost,
            "termination": termination,
            "iterations_max": stage.iterations_max,
            "max_runtime_ms": stage.max_runtime.map(|most| most.as_millis() as u64),
            "delay_ms": stage.delay.as_millis() as u64,
            "inputs_from": stage.inputs.as_ref().map(|inputs| &inputs.from),
            "hooks": hooks,
            "unfired": plan.unfired_of(stage).map(|hook| &hook.id).collect::<Vec<_>>(),
        })
    });
    json!({
        "version": 1,
        "name": plan.name,
        "max_cost": plan.max_cost,
        "stages": stages.collect::<Vec<_>>(),
    })
}

fn of_turn(turn: &TurnName) -> String {
    match turn.iteration {
        0 => "final delivery".to_owned(),
        number => format!("iteration {number}"),
    }
}

fn of_result(result: &TurnResult, duration_ms: f64) -> String {
    let words = match &result.error {
        Some(error) => error,
        None if result.summary.is_empty() => &result.reason,
        None => &result.summary,
    };
    let changed = match result.changed_files.len() {
        0 => String::new(),
        number => format!(", {} changed", count(number, "file")),
    };
    let words = one_line(words, WORDS_MAX);
    let words = if words.is_empty() { words } else { format!(": {words}") };
    let decision = Paint::of_results().outcome(&result.decision);
    format!("{decision} after {:.1} s{changed}{words}", duration_ms / 1000.0)
}

fn ordinal(number: u32) -> String {
    match number {
        1 => "1st time".to_owned(),
        2 => "2nd time".to_owned(),
        3 => "3rd time".to_owned(),
        more => format!("{more}th time"),
    }
}

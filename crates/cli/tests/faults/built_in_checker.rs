//! [`BuiltInChecker`]: compares the journal of a session of the built-in agent with its transcripts and
//! with the log of what really ran.
//!
//! Calls and hooks of a prompt or a turn that was cut off need not come to an end: they are not taken
//! up. But what is recorded as ended has happened, once, and everything that happened was recorded before.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use hookwright_events::{
    CallOutcome, FiringEvent, Outcome, ProcessOutcome, RunEvent, RunEventKind, SessionEvent,
    SessionStatus, TurnEvent,
};
use serde_json::Value;

use super::built_in::{AgentUse, Workplace};
use super::defect::{Defect, Found};

/// What the model reads of a call whose end is unknown.
const CUT_OFF: &str = "This call was cut off";

/// Checks one workplace.
#[derive(Default)]
pub(crate) struct BuiltInChecker {
    pub(crate) found: Found,
    /// The journal at the last check.
    journal: Vec<RunEvent>,
}

/// A call, by its subagent and its id.
type CallName = (Option<String>, String);

/// What a journal says.
#[derive(Default)]
struct Recorded {
    /// The markers of runs that were about to start, and the hook or call.
    starting: BTreeMap<String, String>,
    /// Runs that are recorded as ended by themselves.
    ended: BTreeSet<String>,
    /// Calls that have their result.
    results: BTreeMap<CallName, CallOutcome>,
}

impl BuiltInChecker {
    pub(crate) fn defect(&mut self, defect: Defect, what: impl Into<String>) {
        self.found.push((defect, what.into()));
    }

    /// Called when a process has died or ended: nothing recorded is lost, and nothing ran twice or
    /// without a record.
    pub(crate) fn look(&mut self, workplace: &Workplace) {
        let journal = workplace.journal();
        if !journal.starts_with(&self.journal) {
            self.defect(Defect::CompletionLost, "the journal has changed behind its end");
        }
        let recorded = self.recorded(&journal);
        self.look_at_log(workplace, &recorded);
        let transcripts: Vec<Transcribed> =
            workplace.transcripts().iter().map(|path| Transcribed::read(path)).collect();
        self.look_at_results(workplace, &recorded, &transcripts);
        self.journal = journal;
    }

    /// Called when the session has ended.
    pub(crate) fn look_at_end(&mut self, workplace: &Workplace) {
        let journal = std::mem::take(&mut self.journal);
        self.look_at_session(workplace, &journal);
        let is_cut_off = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with("agent-") || cut_off_attempts(&journal).any(|id| name.contains(&id))
        };
        for path in workplace.transcripts() {
            let transcribed = Transcribed::read(&path);
            if let Some(rest) = &transcribed.rest {
                self.defect(Defect::HalfWrittenFile, format!("{}: {rest}", path.display()));
            }
            for fault in &transcribed.faults {
                self.defect(Defect::HalfWrittenFile, format!("{}: {fault}", path.display()));
            }
            for (call, results) in transcribed.unpaired {
                // An agent that was cut off for good has no result for its last calls.
                if results != 0 || !is_cut_off(&path) {
                    let what = format!("{}: {call} has {results} results", path.display());
                    self.defect(Defect::CompletionLost, what);
                }
            }
        }
        for process in workplace.processes() {
            self.defect(Defect::SecondAgent, format!("left behind: {process}"));
        }
    }

    /// Reads a journal. Nothing starts or ends twice in it.
    fn recorded(&mut self, journal: &[RunEvent]) -> Recorded {
        let mut recorded = Recorded::default();
        let mut calls: BTreeMap<CallName, String> = BTreeMap::new();
        let mut hooks: BTreeMap<(u64, String), String> = BTreeMap::new();
        let (mut keys, mut reported) = (BTreeSet::new(), BTreeSet::new());
        for event in journal {
            match &event.kind {
                RunEventKind::Turn(TurnEvent::CallStarting {
                    call,
                    tool,
                    run_id,
                    agent_id,
                    ..
                }) => {
                    let run_id = run_id.clone().unwrap_or_default();
                    let name = (agent_id.clone(), call.clone());
                    if recorded.results.contains_key(&name)
                        || calls.insert(name.clone(), run_id.clone()).is_some()
                    {
                        self.defect(Defect::RunAfterCompletion, format!("{name:?} starts again"));
                    }
                    recorded.starting.insert(run_id, tool.clone());
                }
                RunEventKind::Turn(TurnEvent::CallEnded {
                    call, tool, outcome, agent_id, ..
                }) => {
                    let name = (agent_id.clone(), call.clone());
                    if *outcome == CallOutcome::Ran
                        && tool == "bash"
                        && let Some(run_id) = calls.get(&name)
                    {
                        recorded.ended.insert(run_id.clone());
                    }
                    if recorded.results.insert(name.clone(), *outcome).is_some() {
                        self.defect(Defect::RunAfterCompletion, format!("{name:?} ended twice"));
                    }
                }
                RunEventKind::Firing(FiringEvent::Fired { key: Some(key), .. })
                    if !keys.insert(key.clone()) =>
                {
                    self.defect(Defect::RunAfterCompletion, format!("{key} fired twice"));
                }
                RunEventKind::Firing(FiringEvent::HookStarting {
                    hook,
                    run_id: Some(run_id),
                    ..
                }) => {
                    let name = (event.firing, hook.clone());
                    if reported.contains(&name) {
                        self.defect(Defect::RunAfterCompletion, format!("{name:?} starts again"));
                    }
                    hooks.insert(name, run_id.clone());
                    if recorded.starting.insert(run_id.clone(), hook.clone()).is_some() {
                        self.defect(Defect::SameAttemptTwice, format!("{hook} {run_id}"));
                    }
                }
                RunEventKind::Firing(FiringEvent::HookEnded {
                    hook,
                    outcome: Outcome::Process(ProcessOutcome::Exited { .. }),
                    ..
                }) => {
                    recorded.ended.extend(hooks.get(&(event.firing, hook.clone())).cloned());
                }
                RunEventKind::Firing(FiringEvent::HookReported { report })
                    if !reported.insert((event.firing, report.id.clone())) =>
                {
                    let what = format!("{} of {} reported twice", report.id, event.firing);
                    self.defect(Defect::RunAfterCompletion, what);
                }
                _ => {}
            }
        }
        recorded
    }

    /// What really ran was recorded before, and what is recorded as ended really ran to its end, once.
    fn look_at_log(&mut self, workplace: &Workplace, recorded: &Recorded) {
        let mut times: BTreeMap<(String, String), u32> = BTreeMap::new();
        for line in workplace.log() {
            if line.kind == "survivor" {
                self.defect(Defect::SecondAgent, format!("{line:?}"));
                continue;
            }
            if line.name == "FORBIDDEN" {
                self.defect(Defect::GuardPassed, format!("{line:?}"));
            }
            if !recorded.starting.contains_key(&line.run_id) {
                self.defect(Defect::RunWithoutRecord, format!("{line:?}"));
            }
            *times.entry((line.run_id.clone(), line.what.clone())).or_default() += 1;
        }
        for ((run_id, what), times) in times.iter().filter(|(_, times)| **times > 1) {
            let name = recorded.starting.get(run_id);
            self.defect(Defect::SameAttemptTwice, format!("{name:?} {run_id}: {times} {what}"));
        }
        for run_id in &recorded.ended {
            for what in ["start", "end"] {
                if !times.contains_key(&(run_id.clone(), what.to_owned())) {
                    let name = recorded.starting.get(run_id);
                    let told = format!("{name:?} {run_id} is recorded as ended, and has no {what}");
                    self.defect(Defect::CompletionLost, told);
                }
            }
        }
    }

    /// A recorded end of a call is never without its result.
    fn look_at_results(
        &mut self,
        workplace: &Workplace,
        recorded: &Recorded,
        transcripts: &[Transcribed],
    ) {
        let all = || transcripts.iter().flat_map(|transcript| &transcript.results);
        for ((agent_id, call), outcome) in &recorded.results {
            // Subagents have no transcripts in pipelines.
            if workplace.how == AgentUse::InLoop && agent_id.is_some() {
                continue;
            }
            let told: Vec<&str> =
                all().filter(|(id, _)| id == call).map(|(_, text)| text.as_str()).collect();
            if told.is_empty() || told.iter().any(|text| text.contains(CUT_OFF)) {
                let what = format!("{call} ended ({outcome:?}), and the model reads {told:?}");
                self.defect(Defect::CompletionLost, what);
            }
        }
    }

    /// The session is completed, and all of its own hooks are accounted for.
    fn look_at_session(&mut self, workplace: &Workplace, journal: &[RunEvent]) {
        let is_done = journal.last().is_some_and(|event| match &event.kind {
            RunEventKind::Session(SessionEvent::SessionEnded { status, .. }) => {
                *status == SessionStatus::Completed
            }
            _ => false,
        });
        if !is_done || !workplace.is_session_completed() {
            self.defect(Defect::NotFinished, format!("{:?}", journal.last()));
        }
        if workplace.how == AgentUse::Alone {
            return;
        }
        let mut open: BTreeMap<u64, String> = BTreeMap::new();
        let mut turns = BTreeSet::new();
        for event in journal {
            match &event.kind {
                RunEventKind::Firing(FiringEvent::Fired { key: Some(key), .. })
                    if !key.starts_with("turn/") =>
                {
                    open.insert(event.firing, key.clone());
                }
                RunEventKind::Firing(FiringEvent::Decided { .. }) => {
                    open.remove(&event.firing);
                }
                RunEventKind::Turn(TurnEvent::TurnEnded { turn, .. })
                    if !turns.insert(turn.clone()) =>
                {
                    self.defect(Defect::RunAfterCompletion, format!("{turn:?} ended twice"));
                }
                _ => {}
            }
        }
        for (firing, key) in open {
            self.defect(Defect::Unaccounted, format!("firing {firing} ({key}) was never decided"));
        }
        if turns.len() != 2 {
            self.defect(Defect::NotFinished, format!("other turns than two: {turns:?}"));
        }
    }
}

/// The markers of attempts at a turn that have no recorded end.
fn cut_off_attempts(journal: &[RunEvent]) -> impl Iterator<Item = String> {
    let mut attempts = BTreeMap::new();
    for event in journal {
        match &event.kind {
            RunEventKind::Turn(TurnEvent::TurnStarting { turn, attempt, run_id, .. }) => {
                attempts.insert((turn.clone(), *attempt), run_id.clone());
            }
            RunEventKind::Turn(TurnEvent::TurnEnded { turn, attempt, .. }) => {
                attempts.remove(&(turn.clone(), *attempt));
            }
            _ => {}
        }
    }
    attempts.into_values()
}

/// A transcript.
#[derive(Default)]
struct Transcribed {
    /// Results of calls: the call's id, and what the model reads.
    results: Vec<(String, String)>,
    /// Calls that do not have exactly one result, and how many they have.
    unpaired: Vec<(String, usize)>,
    /// Lines that are no JSON, or that do not follow the line before them.
    faults: Vec<String>,
    /// Half a line at the end.
    rest: Option<String>,
}

impl Transcribed {
    fn read(path: &Path) -> Self {
        let mut transcribed = Self::default();
        let text = fs::read_to_string(path).expect("a transcript");
        let mut calls: BTreeMap<String, usize> = BTreeMap::new();
        let (mut last, mut behind) = (Value::Null, 0);
        for line in text.split_inclusive('\n') {
            if !line.ends_with('\n') {
                transcribed.rest = Some(line.to_owned());
                break;
            }
            let Ok(value) = serde_json::from_str::<Value>(line) else {
                transcribed.faults.push(line.to_owned());
                continue;
            };
            let is_boundary = value["subtype"] == "compact_boundary";
            let before = if is_boundary { "logicalParentUuid" } else { "parentUuid" };
            if value[before] != last {
                transcribed.faults.push(format!("it does not follow {last}: {line}"));
            }
            last = value["uuid"].clone();
            if behind > 0 && !value["message"].is_object() {
                transcribed.faults.push(format!("{behind} messages of a summary are missing"));
            }
            behind = u64::saturating_sub(behind, 1);
            if is_boundary {
                behind = value["messagesBehind"].as_u64().unwrap_or(0);
                // Behind it the last calls come again.
                transcribed.unpaired.extend(unpaired(&mut calls));
            }
            let blocks = value["message"]["content"].as_array().into_iter().flatten();
            for block in blocks {
                let text = |field: &str| block[field].as_str().unwrap_or_default().to_owned();
                match block["type"].as_str() {
                    Some("tool_use") => {
                        calls.entry(text("id")).or_default();
                    }
                    Some("tool_result") => {
                        let call = text("tool_use_id");
                        *calls.entry(call.clone()).or_default() += 1;
                        transcribed.results.push((call, block["content"].to_string()));
                    }
                    _ => {}
                }
            }
        }
        transcribed.unpaired.extend(unpaired(&mut calls));
        if behind > 0 && transcribed.rest.is_none() {
            transcribed.faults.push(format!("{behind} messages of a summary are missing"));
        }
        transcribed
    }
}

fn unpaired(calls: &mut BTreeMap<String, usize>) -> Vec<(String, usize)> {
    std::mem::take(calls).into_iter().filter(|(_, results)| *results != 1).collect()
}

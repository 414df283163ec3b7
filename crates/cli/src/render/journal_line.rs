//! One journal entry as one line.

use hookwright_events::{
    Decision, FiringEvent, FunctionOutcome, Outcome, PersonOutcome, ProcessOutcome, RequestOutcome,
    RunEvent, RunEventKind, SessionEvent, TurnEvent, Verdict, WorkOutcome,
};

use serde_json::{Map, Value};

use super::{at_most, human};
use crate::text::{count, local_to_the_millisecond, one_line};

/// Characters of words and reasons.
const WORDS_MAX: usize = 200;

/// Characters of notes and of reasons why a session ended. Their end may say what to do.
const NOTE_MAX: usize = 1_000;

/// The entry's number, its time, and what happened.
pub(crate) fn of(sequence: u64, event: &RunEvent) -> String {
    let firing = match event.firing {
        0 => String::new(),
        number => format!("#{number}"),
    };
    let at = local_to_the_millisecond(&event.at);
    format!("{sequence:>6}  {at}  {firing:<5}  {}\n", what(&event.kind).trim_end())
}

/// An entry that this version cannot parse.
pub(crate) fn not_understood(sequence: u64) -> String {
    format!("{sequence:>6}  an entry of another version; `--json` shows it\n")
}

fn what(kind: &RunEventKind) -> String {
    let said = |text: &str| one_line(text, WORDS_MAX);
    match kind {
        RunEventKind::Firing(FiringEvent::Fired { event, subject, key, data, .. }) => {
            let subject = subject.as_deref().map(|subject| format!(" ({})", said(subject)));
            let key = key.as_deref().map(|key| format!(", {}", said(key)));
            let (subject, key) = (subject.unwrap_or_default(), key.unwrap_or_default());
            let call = data.as_ref().and_then(of_call).map(|call| format!(": {}", said(call)));
            format!("fired {event}{subject}{key}{}", call.unwrap_or_default())
        }
        RunEventKind::Firing(FiringEvent::TakenUp { event, .. }) => {
            format!("{event} resumed")
        }
        RunEventKind::Firing(FiringEvent::HookSkipped { hook, reason, .. }) => {
            format!("hook {} skipped: {}", said(hook), said(reason))
        }
        RunEventKind::Firing(FiringEvent::HookStarting { hook, attempt, awaited, .. }) => {
            let awaited = if *awaited { "" } else { ", in the background" };
            format!("hook {} starts, attempt {attempt}{awaited}", said(hook))
        }
        RunEventKind::Firing(FiringEvent::HookRunning { hook, pid, .. }) => {
            format!("hook {} runs, process {pid}", said(hook))
        }
        RunEventKind::Firing(FiringEvent::HookWaiting { hook, wait, question, until, .. }) => {
            let (hook, question) = (said(hook), said(question));
            format!("hook {hook} waits for a person until {until} ({wait}): {question}")
        }
        RunEventKind::Firing(FiringEvent::HookOutput { hook, text, .. }) => {
            format!("hook {} prints: {}", said(hook), said(text))
        }
        RunEventKind::Firing(FiringEvent::HookEnded { hook, attempt, outcome, duration_ms }) => {
            format!(
                "hook {} ended, attempt {attempt}, {}: {}",
                said(hook),
                human::duration(*duration_ms),
                of_outcome(outcome)
            )
        }
        RunEventKind::Firing(FiringEvent::HookRetrying { hook, attempt, after_ms, reason }) => {
            let (hook, reason) = (said(hook), said(reason));
            format!("hook {hook} retries, attempt {attempt} after {after_ms} ms: {reason}")
        }
        RunEventKind::Firing(FiringEvent::HookWentAsync { hook, .. }) => {
            format!("hook {} continues in the background", said(hook))
        }
        RunEventKind::Firing(FiringEvent::LateAnswer { hook, .. }) => {
            format!("hook {} answers late", said(hook))
        }
        RunEventKind::Firing(FiringEvent::HookReported { report }) => {
            let reason = report.reason.as_deref().map(|reason| format!(": {}", said(reason)));
            format!(
                "hook {}: {} after {}{}",
                said(&report.id),
                report.status.as_str().replace('_', " "),
                human::duration(report.duration_ms),
                reason.unwrap_or_default()
            )
        }
        RunEventKind::Firing(FiringEvent::Decided { decision }) => {
            of_verdict(&Decision::from_record(decision).verdict)
        }
        RunEventKind::Firing(FiringEvent::Remembered { what }) => {
            format!("remembered {}", said(&what.to_string()))
        }
        RunEventKind::Session(SessionEvent::SessionStarted { plan, stages, .. }) => {
            let stages = Some(stages.join(", ")).filter(|stages| !stages.is_empty());
            let stages = stages.map(|stages| format!(" ({})", said(&stages)));
            format!("session started: {}{}", said(plan), stages.unwrap_or_default())
        }
        RunEventKind::Session(SessionEvent::SessionSubmitted { plan, .. }) => {
            format!("session submitted to workers: {}", said(plan))
        }
        RunEventKind::Session(SessionEvent::SessionResumed { time, .. }) => {
            format!("session resumed, time {time}")
        }
        RunEventKind::Session(SessionEvent::StageStarted { stage, index, iterations_max }) => {
            format!("stage {index} {} started: {}", said(stage), at_most(*iterations_max))
        }
        RunEventKind::Turn(TurnEvent::FinalDelivery { turn }) => {
            format!("final delivery: stage {}, iteration {}", turn.stage, turn.iteration)
        }
        RunEventKind::Turn(TurnEvent::TurnStarting { turn, attempt, agent, .. }) => format!(
            "turn starts: stage {}, iteration {}, attempt {attempt}{}",
            turn.stage,
            turn.iteration,
            agent.as_deref().map(|agent| format!(", agent {}", said(agent))).unwrap_or_default()
        ),
        RunEventKind::Turn(TurnEvent::AgentRunning { pid, .. }) => {
            format!("agent runs, process {pid}")
        }
        RunEventKind::Turn(TurnEvent::AgentPrompted { prompt, .. }) => {
            format!("agent gets: {}", said(prompt))
        }
        RunEventKind::Turn(TurnEvent::AgentOutput { text, .. }) => {
            format!("agent prints: {}", said(text))
        }
        RunEventKind::Turn(TurnEvent::TurnEnded { turn, result, duration_ms, .. }) => format!(
            "turn ended: stage {}, iteration {}, {}, {}{}",
            turn.stage,
            turn.iteration,
            human::duration(*duration_ms),
            said(&result.decision),
            result.error.as_deref().map(|error| format!(": {}", said(error))).unwrap_or_default()
        ),
        RunEventKind::Session(SessionEvent::ItemStarted { stage, item, .. }) => {
            format!("stage {stage} takes {}: {}", said(&item.name()), said(&item.title))
        }
        RunEventKind::Session(SessionEvent::ItemEnded {
            stage,
            key,
            state,
            reason,
            iterations,
            duration_ms,
            ..
        }) => {
            let iterations = count(*iterations as usize, "iteration");
            let reason = reason.as_deref().map(|reason| format!(": {}", said(reason)));
            format!(
                "stage {stage}, {}: {} after {iterations}, {}{}",
                said(key),
                state.as_str(),
                human::duration(*duration_ms),
                reason.unwrap_or_default()
            )
        }
        RunEventKind::Firing(FiringEvent::HookSpawned { hook, session, pipeline }) => {
            format!("hook {} starts {} as session {}", said(hook), said(pipeline), said(session))
        }
        RunEventKind::Firing(FiringEvent::HookCommitting { hook, head, .. }) => {
            let head = head.as_deref().map(|head| format!(" on {}", said(head)));
            format!("hook {} commits{}", said(hook), head.unwrap_or_default())
        }
        RunEventKind::Firing(FiringEvent::ChildUsed { session, usage, .. }) => {
            format!("session {} has used {} more", said(session), human::usage(*usage))
        }
        RunEventKind::Turn(TurnEvent::TurnGivenUp { agent, cause, reason, .. }) => {
            format!("agent {} cannot work ({}): {}", said(agent), cause.as_str(), said(reason))
        }
        RunEventKind::Turn(TurnEvent::AgentChanged { from, to, reason }) => {
            format!("agent {} takes over from {}: {}", said(to), said(from), said(reason))
        }
        RunEventKind::Turn(TurnEvent::RequestSending { request, attempt, model, .. }) => {
            format!("request {request} is sent, attempt {attempt}: {}", said(model))
        }
        RunEventKind::Turn(TurnEvent::RequestEnded {
            request, usage, error, duration_ms, ..
        }) => {
            let how = match (error, usage) {
                (Some(error), _) => format!("failed: {}", said(error)),
                (None, Some(usage)) => format!("answered, {}", human::usage(*usage)),
                (None, None) => "answered".to_owned(),
            };
            format!("request {request}, {}: {how}", human::duration(*duration_ms))
        }
        RunEventKind::Turn(TurnEvent::CallStarting { call, tool, what, .. }) => {
            format!("call {} starts: {}: {}", said(call), said(tool), said(what))
        }
        RunEventKind::Turn(TurnEvent::CallEnded {
            call,
            tool,
            outcome,
            reason,
            duration_ms,
            ..
        }) => format!(
            "call {} ended: {}, {}, {}{}",
            said(call),
            said(tool),
            outcome.as_str().replace('_', " "),
            human::duration(*duration_ms),
            reason.as_deref().map(|reason| format!(": {}", said(reason))).unwrap_or_default()
        ),
        RunEventKind::Turn(TurnEvent::QuestionAsked { call, tool, what, .. }) => {
            format!("the user is asked about call {}: {}: {}", said(call), said(tool), said(what))
        }
        RunEventKind::Turn(TurnEvent::QuestionAnswered { call, allowed, words, .. }) => {
            let answer = if *allowed { "allows" } else { "does not allow" };
            let words = words.as_deref().map(|words| format!(": {}", said(words)));
            format!("the user {answer} call {}{}", said(call), words.unwrap_or_default())
        }
        RunEventKind::Turn(TurnEvent::TranscriptWritten { bytes, .. }) => {
            format!("transcript: {bytes} bytes")
        }
        RunEventKind::Session(SessionEvent::Paused { reason, until, .. }) => {
            let until = until.as_deref().map(|until| format!(" until {}", said(until)));
            format!("paused{}: {}", until.unwrap_or_default(), said(reason))
        }
        RunEventKind::Session(SessionEvent::Continued {}) => "continues".to_owned(),
        RunEventKind::Session(SessionEvent::StageEnded { stage, index, reason, iterations }) => {
            let iterations = count(*iterations as usize, "iteration");
            format!("stage {index} {} ended: {} after {iterations}", said(stage), said(reason))
        }
        RunEventKind::Session(SessionEvent::SessionEnded { status, reason }) => {
            format!("session ended: {status}, {}", one_line(reason, NOTE_MAX))
        }
        RunEventKind::Session(SessionEvent::TreeKept { tree }) => {
            format!("saved the work tree as {}", said(tree))
        }
        RunEventKind::Session(SessionEvent::Noted { note }) => {
            format!("note: {}", one_line(note, NOTE_MAX))
        }
    }
}

/// What a tool is called with: its command or its file.
fn of_call(data: &Map<String, Value>) -> Option<&str> {
    let input = data.get("tool_input")?;
    ["command", "file_path"].iter().find_map(|field| input[field].as_str())
}

fn of_outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Process(ProcessOutcome::Exited { code, .. }) => format!("exit code {code}"),
        Outcome::Process(ProcessOutcome::TimedOut { after_ms, .. }) => {
            format!("timed out after {after_ms} ms")
        }
        Outcome::Process(ProcessOutcome::Killed { signal, .. }) => {
            format!("ended by signal {signal}")
        }
        Outcome::Process(ProcessOutcome::Interrupted { .. }) => "interrupted".to_owned(),
        Outcome::Process(ProcessOutcome::WantedTerminal { .. }) => {
            "tried to use the terminal".to_owned()
        }
        Outcome::Process(ProcessOutcome::NotStarted { cause }) => {
            format!("not started: {}", one_line(cause, WORDS_MAX))
        }
        Outcome::Work(WorkOutcome::Done { what, .. }) => one_line(what, WORDS_MAX),
        Outcome::Work(WorkOutcome::Failed { cause, .. }) => one_line(cause, WORDS_MAX),
        Outcome::Function(FunctionOutcome::Answered { .. }) => "answered".to_owned(),
        Outcome::Request(RequestOutcome::Responded { status, .. }) => format!("status {status}"),
        Outcome::Person(PersonOutcome::Decided { response, by, .. }) => {
            let action = response["action"].as_str().unwrap_or("decided");
            format!("{} by {}", one_line(action, WORDS_MAX), one_line(by, WORDS_MAX))
        }
        Outcome::Person(PersonOutcome::Unanswered { after_ms }) => {
            format!("no answer within {after_ms} ms")
        }
    }
}

fn of_verdict(verdict: &Verdict) -> String {
    let (word, reason) = match verdict {
        Verdict::Proceed { .. } => ("continue", None),
        Verdict::Allow { reason, .. } => ("allow", reason.as_deref()),
        Verdict::Ask { reason, .. } => ("ask", reason.as_deref()),
        Verdict::Block { reason } => ("block", Some(reason.as_str())),
        Verdict::Stop { reason } => ("stop", Some(reason.as_str())),
        Verdict::Abort { reason } => ("abort", Some(reason.as_str())),
    };
    match reason {
        Some(reason) if !reason.is_empty() => {
            format!("decided: {word}: {}", one_line(reason, WORDS_MAX))
        }
        _ => format!("decided: {word}"),
    }
}

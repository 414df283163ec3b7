//! [`TraceFold`]: a trace as the record of a session, read on as it grows.
//!
//! The state is the one fold of run events, [`SessionState`]. What a trace lacks is added here: an
//! agent does not always say that its session has ended, so its process tells.

use hookwright_events::{
    FiringEvent, RunEvent, RunEventKind, SessionEvent, SessionStatus, TurnEvent,
};
use hookwright_process::Leader;

use super::file::TraceHead;
use super::key::TraceKey;
use crate::lease::LeaseOwner;
use crate::record::{AgentSession, SessionRecord, milliseconds};
use crate::session_state::SessionState;
use crate::timeline::read_entry;

/// The beginning of the lines that name the agent's process. Every call adds one.
const PROCESS: &str = "\"kind\":\"agent_running\"";

/// Bytes of a line in which its kind is.
const HEAD_BYTES: usize = 512;

/// What is known of a trace after some of its lines.
#[derive(Debug, Clone)]
pub(super) struct TraceFold {
    pub(super) head: TraceHead,
    state: SessionState,
    process: Option<AgentProcess>,
    ended: Option<(String, String)>,
    last_at: String,
}

/// The agent's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AgentProcess {
    pid: u32,
    start_time: Option<u64>,
}

impl TraceFold {
    pub(super) fn new(key: &TraceKey, head: TraceHead) -> Self {
        let agent = key.agent().to_owned();
        let record = SessionRecord {
            id: key.name(),
            name: key.name(),
            start_time: head.at.clone(),
            workspace: head.project.clone(),
            command: format!("hook {agent}"),
            plan: head.agent.clone(),
            agent_sessions: vec![AgentSession {
                agent: agent.clone(),
                session: head.agent_session.clone(),
            }],
            provider: agent,
            ..SessionRecord::default()
        };
        let (state, last_at) = (SessionState::new(record), head.at.clone());
        Self { head, state, process: None, ended: None, last_at }
    }

    /// Reads further lines. A line that is no run event is passed over.
    pub(super) fn read_on(&mut self, lines: &str) {
        for event in lines.lines().filter_map(|line| read_entry(line).ok()) {
            self.see(&event);
        }
    }

    fn see(&mut self, event: &RunEvent) {
        match &event.kind {
            RunEventKind::Turn(TurnEvent::AgentRunning { pid, start_time }) => {
                self.process = Some(AgentProcess { pid: *pid, start_time: *start_time });
            }
            RunEventKind::Session(SessionEvent::SessionEnded { reason, .. }) => {
                self.ended = Some((event.at.clone(), reason.clone()));
            }
            // It was continued.
            RunEventKind::Firing(FiringEvent::Fired { .. }) => self.ended = None,
            _ => {}
        }
        self.last_at.clone_from(&event.at);
        let _ = self.state.apply(event);
    }

    /// The record, and the process that runs the session now.
    pub(super) fn session(&self) -> (SessionRecord, Option<LeaseOwner>) {
        let mut record = self.state.record.clone();
        let runs = self.process.filter(|process| self.ended.is_none() && process.runs());
        let (ended_at, reason) = match (&self.ended, runs) {
            (Some((at, reason)), _) => (Some(at), reason.clone()),
            (None, Some(_)) => (None, String::new()),
            (None, None) => (Some(&self.last_at), "the agent's process has ended".to_owned()),
        };
        let duration = |end: &String| Some(milliseconds(end)? - record.created_at_ms());
        record.metadata.total_duration = ended_at.and_then(duration).map(|took| took.max(0));
        record.end_time = ended_at.cloned();
        record.reason = reason;
        record.status = match runs {
            Some(_) => SessionStatus::Active,
            None => SessionStatus::Completed,
        };
        let holder = runs.map(|process| {
            let AgentProcess { pid, start_time } = process;
            LeaseOwner { pid, start_time, ..LeaseOwner::this() }
        });
        (record, holder)
    }
}

impl AgentProcess {
    fn runs(self) -> bool {
        self.start_time.is_some_and(|then| Leader { pid: self.pid }.runs_since(then))
    }
}

/// The lines of a trace that are entries, with their numbers: without the head of the newer half, and
/// of the lines about the agent's process only those that are news.
pub(super) fn entries<'t>(
    older: Option<&'t str>,
    newer: &'t str,
) -> impl Iterator<Item = (u64, &'t str)> {
    let has_older = older.is_some_and(|text| !text.is_empty());
    let halves = older.into_iter().filter(|text| !text.is_empty()).chain([newer]);
    let numbered = halves.enumerate().flat_map(move |(half, text)| {
        let first = text.lines().next().unwrap_or_default();
        let before = TraceHead::parse(first).map_or(0, |head| head.before);
        let is_told = has_older && half == 1;
        (before + 1..).zip(text.lines()).skip(usize::from(is_told))
    });
    let mut process = "";
    numbered.filter(move |(_, line)| {
        let head = &line.as_bytes()[..line.len().min(HEAD_BYTES)];
        let at = head.windows(PROCESS.len()).position(|window| window == PROCESS.as_bytes());
        let Some(about) = at.and_then(|at| line.get(at..)) else { return true };
        let is_news = about != process;
        process = about;
        is_news
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: &str, rest: &str) -> String {
        format!("{{\"version\":1,\"firing\":0,\"at\":\"{at}\",\"session\":\"codex:0\",{rest}}}\n")
    }

    fn head(before: u64) -> String {
        let sources = format!("{{\"agent_session\":\"s\",\"project\":\"/p\",\"before\":{before}}}");
        let rest = "\"kind\":\"session_started\",\"plan\":\"Codex\",\"stages\":[],\"sources\":";
        line("2026-01-02T03:04:05.000Z", &format!("{rest}{sources}"))
    }

    fn process(pid: u32, start_time: u64) -> String {
        let rest = format!("\"kind\":\"agent_running\",\"pid\":{pid},\"start_time\":{start_time}");
        line("2026-01-02T03:04:06.000Z", &rest)
    }

    fn fold(lines: &str) -> (SessionRecord, Option<LeaseOwner>) {
        let head = TraceHead::parse(head(0).trim_end()).expect("a head");
        let mut fold = TraceFold::new(&TraceKey::new("codex", "s"), head);
        fold.read_on(lines);
        fold.session()
    }

    #[test]
    fn a_session_runs_as_long_as_the_agents_process_and_no_end_is_recorded() {
        let pid = std::process::id();
        let start_time = Leader { pid }.start_time().expect("this system tells it");
        let ended = line(
            "2026-01-02T03:04:07.500Z",
            "\"kind\":\"session_ended\",\"status\":\"completed\",\"reason\":\"logout\"",
        );
        let fired = line(
            "2026-01-02T03:04:09.000Z",
            "\"kind\":\"fired\",\"event\":\"session:start\",\"subject\":null",
        );
        let runs = process(pid, start_time);
        let gone = process(pid, start_time + 1);
        for (lines, status, took, reason) in [
            (runs.clone(), SessionStatus::Active, None, ""),
            (gone, SessionStatus::Completed, Some(1000), "the agent's process has ended"),
            (format!("{runs}{ended}"), SessionStatus::Completed, Some(2500), "logout"),
            (format!("{runs}{ended}{runs}{fired}"), SessionStatus::Active, None, ""),
            // What a hook in the background reports does not continue a session.
            (format!("{ended}{runs}"), SessionStatus::Completed, Some(2500), "logout"),
        ] {
            let (record, holder) = fold(&lines);
            let found = (record.status, record.metadata.total_duration, &*record.reason);
            assert_eq!(found, (status, took, reason), "{lines}");
            assert_eq!(holder.map(|by| by.pid), (status == SessionStatus::Active).then_some(pid));
        }
    }

    #[test]
    fn nothing_in_a_trace_changes_its_name_its_project_or_its_agent() {
        let forged = line(
            "2026-01-02T03:04:06.000Z",
            "\"kind\":\"session_started\",\"plan\":\"x\",\"stages\":[\"a\"],\"sources\":null",
        );
        let (record, _) = fold(&format!("no run event\n\n{forged}"));
        assert_eq!(record.name, TraceKey::new("codex", "s").name());
        let found = (&*record.workspace, &*record.provider, &*record.command);
        assert_eq!(found, ("/p", "codex", "hook codex"));
    }

    #[test]
    fn entries_keep_their_numbers_when_the_older_half_is_deleted() {
        let note = |n: u32| line("", &format!("\"kind\":\"noted\",\"note\":\"{n}\""));
        let runs = process(1, 1);
        let first = [head(0), runs.clone(), note(3), runs.clone(), note(5)].concat();
        let second = [head(5), runs.clone(), note(8)].concat();
        let third = [head(8), runs, note(11)].concat();
        let numbers = |older: Option<&str>, newer: &str| -> Vec<u64> {
            entries(older, newer).map(|(number, _)| number).collect()
        };
        assert_eq!(numbers(None, &first), [1, 2, 3, 5]);
        assert_eq!(numbers(Some(&first), &second), [1, 2, 3, 5, 8]);
        assert_eq!(numbers(Some(&second), &third), [6, 7, 8, 11]);
    }
}

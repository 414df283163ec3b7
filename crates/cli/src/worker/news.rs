//! What a worker prints: a line for each session that begins or ends, or one JSON value a line.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;

use hookwright_events::SessionStatus;
use hookwright_pipeline::submission::{Return, Returned};
use hookwright_server::approvals::{iso, now_ms};
use hookwright_store::RecordKey;
use serde_json::{Value, json};

use super::obstacle::Obstacle;
use super::session_process::EndOfProcess;
use super::{LOSSES_MAX, WorkerSetup};
use crate::error::{Failure, without_number};
use crate::screen::Screen;
use crate::text::{count, local, visible};

pub(super) struct WorkerNews {
    json: bool,
    /// Those that were told.
    obstacles: RefCell<BTreeSet<Obstacle>>,
}

impl WorkerNews {
    pub(super) fn new(json: bool) -> Self {
        Self { json, obstacles: RefCell::default() }
    }

    /// Prints a line, or the same for programs.
    fn say(&self, text: &str, value: Value, screen: &Screen) -> Result<(), Failure> {
        let at = iso(now_ms());
        if self.json {
            let mut value = value;
            value["version"] = 1.into();
            value["at"] = at.into();
            return screen.json_line(&value);
        }
        screen.result(&format!("{} {text}\n", local(&at)))
    }

    fn of_session(
        &self,
        key: &RecordKey,
        word: &str,
        text: &str,
        mut value: Value,
        screen: &Screen,
    ) -> Result<(), Failure> {
        value["event"] = word.into();
        value["project"] = key.project.clone().into();
        value["session"] = key.name.clone().into();
        self.say(&format!("session {}: {text}", visible(&key.name)), value, screen)
    }

    pub(super) fn joined(
        &self,
        setup: &WorkerSetup,
        id: &str,
        ended: usize,
        screen: &Screen,
    ) -> Result<(), Failure> {
        if ended > 0 {
            let noun = if ended == 1 { "process" } else { "processes" };
            let text = format!("ended {ended} {noun} that an earlier worker left running");
            self.say(&text, json!({ "event": "ended_leftovers", "processes": ended }), screen)?;
        }
        let projects: Vec<&str> =
            setup.projects.iter().map(|project| project.key.as_str()).collect();
        let at_once = setup.offer.at_once;
        let labels = match setup.offer.labels.is_empty() {
            true => String::new(),
            false => format!(", labels {}", setup.offer.labels.join(", ")),
        };
        let text = format!(
            "worker {} takes sessions of {}, {at_once} at once{labels}",
            short_id(id),
            visible(&projects.join(", "))
        );
        let value = json!({
            "event": "joined",
            "worker": id,
            "projects": projects,
            "labels": setup.offer.labels,
            "atOnce": at_once,
        });
        self.say(&text, value, screen)
    }

    pub(super) fn removed_trees(&self, trees: usize, screen: &Screen) -> Result<(), Failure> {
        if trees == 0 {
            return Ok(());
        }
        let text = format!("removed {} left by killed sessions", count(trees, "work tree"));
        self.say(&text, json!({ "event": "removed_trees", "trees": trees }), screen)
    }

    pub(super) fn started(
        &self,
        key: &RecordKey,
        pid: u32,
        screen: &Screen,
    ) -> Result<(), Failure> {
        let text = format!("started in process {pid}");
        self.of_session(key, "started", &text, json!({ "pid": pid }), screen)
    }

    pub(super) fn ended(
        &self,
        key: &RecordKey,
        returned: &Returned,
        why: &Return,
        status: Option<&str>,
        end: &EndOfProcess,
        screen: &Screen,
    ) -> Result<(), Failure> {
        match (returned, why) {
            (Returned::Queued, Return::GivenBack) => {
                self.of_session(key, "given_back", "given back", json!({}), screen)
            }
            (Returned::Queued, Return::Lost | Return::Stopped) => {
                let how = end.in_words();
                let text = format!("its process ended ({how}); the session is queued again");
                self.of_session(key, "lost", &text, json!({ "reason": how }), screen)
            }
            (Returned::Queued, Return::Refused { reason }) => {
                let text = format!("cannot run here: {}", visible(reason));
                self.of_session(key, "refused", &text, json!({ "reason": reason }), screen)
            }
            (Returned::Paused { reason }, _) => self.paused(key, reason, screen),
            (Returned::Untouched | Returned::Stopped, _) => {
                let words = match status.and_then(SessionStatus::parse) {
                    // Another worker has it.
                    Some(SessionStatus::Active | SessionStatus::Queued) => "lost to another worker",
                    Some(status) => status.in_words(),
                    None => "deleted",
                };
                self.of_session(key, "ended", words, json!({ "status": status }), screen)
            }
        }
    }

    fn paused(&self, key: &RecordKey, reason: &str, screen: &Screen) -> Result<(), Failure> {
        let text = format!("paused: {}", visible(reason));
        let value = json!({ "reason": reason, "losses": LOSSES_MAX });
        self.of_session(key, "paused", &text, value, screen)
    }

    pub(super) fn recovered(
        &self,
        key: &RecordKey,
        returned: &Returned,
        screen: &Screen,
    ) -> Result<(), Failure> {
        match returned {
            Returned::Queued => {
                let text = "its worker has ended; the session is queued again";
                self.of_session(key, "recovered", text, json!({}), screen)
            }
            Returned::Paused { reason } => self.paused(key, reason, screen),
            Returned::Untouched | Returned::Stopped => Ok(()),
        }
    }

    pub(super) fn ending(&self, sessions: usize, screen: &Screen) -> Result<(), Failure> {
        let text = format!(
            "ending: giving back {} (interrupt again to end at once)",
            count(sessions, "session")
        );
        self.say(&text, json!({ "event": "ending", "sessions": sessions }), screen)
    }

    pub(super) fn declared_dead(&self, screen: &Screen) -> Result<(), Failure> {
        let text = "other machines have declared this worker dead; joining again";
        self.say(text, json!({ "event": "declared_dead" }), screen)
    }

    /// No sessions are taken. Told once.
    pub(super) fn hindered(
        &self,
        by: Obstacle,
        reason: &str,
        screen: &Screen,
    ) -> Result<(), Failure> {
        if !self.obstacles.borrow_mut().insert(by) {
            return Ok(());
        }
        let event = match by {
            Obstacle::StoreIsAway | Obstacle::StoreTakesNothing | Obstacle::BeatsAreLost => "away",
            Obstacle::NoProcess => "no_process",
        };
        let text = format!("no sessions are taken: {}", visible(reason));
        self.say(&text, json!({ "event": event, "reason": reason }), screen)
    }

    pub(super) fn no_process(&self, cause: &io::Error, screen: &Screen) -> Result<(), Failure> {
        let reason = format!("cannot start a process for a session: {}", without_number(cause));
        self.hindered(Obstacle::NoProcess, &reason, screen)
    }

    /// Whether the store is known to be away, or to take nothing.
    pub(super) fn lacks_store(&self) -> bool {
        let obstacles = self.obstacles.borrow();
        let of_store = [Obstacle::StoreIsAway, Obstacle::StoreTakesNothing];
        of_store.iter().any(|obstacle| obstacles.contains(obstacle))
    }

    /// This obstacle is there no longer. Told if it was.
    pub(super) fn relieved(&self, of: Obstacle, screen: &Screen) -> Result<(), Failure> {
        if !self.obstacles.borrow_mut().remove(&of) {
            return Ok(());
        }
        let text = match of {
            Obstacle::StoreIsAway => "the store is back",
            Obstacle::StoreTakesNothing => "the store can be written again",
            Obstacle::BeatsAreLost => "the store gets signs of life again",
            Obstacle::NoProcess => "processes can be started again",
        };
        self.say(text, json!({ "event": "back" }), screen)
    }
}

/// The beginning of a worker's id, for people.
pub(crate) fn short_id(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

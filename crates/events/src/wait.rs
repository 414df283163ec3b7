//! [`Wait`]: a question to a person as it is kept, and the words that answer it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A question to a person, from before it is asked until long after it was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// Names it: short enough to be typed, one of a kind in the whole store.
    pub id: String,
    /// The project's path as text.
    pub project: String,
    /// The session's name, if there is one.
    pub session: Option<String>,
    /// By what it is found again after a crash; `None` where nobody would take it up.
    pub key: Option<WaitKey>,
    /// The process that asks, in words that tell whether it still runs.
    pub keeper: String,
    /// How that process is told of an answer; empty where it looks by itself now and then.
    #[serde(default)]
    pub bell: String,
    /// The hook's id.
    pub hook: String,
    /// The event's canonical name.
    pub event: String,
    /// What the event is about.
    pub subject: Option<String>,
    /// The loop's or pipeline's name.
    pub pipeline: Option<String>,
    /// The stage, within a pipeline.
    pub stage: Option<String>,
    /// The iteration, within a stage.
    pub iteration: Option<u64>,
    /// What is asked, in words for people; without secrets.
    pub question: String,
    /// Words that the hook's own texts offer, lower case.
    pub offered: Vec<String>,
    /// What changed.
    pub changed_files: Paths,
    /// What the stage has put out.
    pub stage_outputs: Paths,
    /// Since when it waits, in milliseconds since 1970.
    pub since_ms: i64,
    /// Until when.
    pub until_ms: i64,
    /// Where people reach it: what stands before `/callback/` in its address.
    pub base_url: String,
    /// The port on which it is listened for.
    pub port: u16,
    /// The rendered request, which only its sender understands.
    pub request: Value,
    /// The request has arrived at its receiver.
    pub sent: bool,
    /// What became of it.
    pub state: WaitState,
}

impl Wait {
    /// The session that would take it up again, if one would.
    pub fn resumable_session(&self) -> Option<&str> {
        self.session.as_deref().filter(|_| self.key.is_some())
    }
}

/// By what a wait is found again after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WaitKey {
    /// The session's name.
    pub session: String,
    /// The firing within the session: its number, and for one that an action fired the way to it.
    pub firing: String,
    /// The hook's id.
    pub hook: String,
    /// Tells the hook from another that later has its id.
    pub digest: String,
}

/// The first of many paths, and how many there are beyond them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    /// The first ones.
    pub first: Vec<String>,
    /// How many more there are.
    pub more: usize,
}

impl Paths {
    /// At most so many of them.
    pub fn at_most(mut all: Vec<String>, paths_max: usize) -> Self {
        let more = all.len().saturating_sub(paths_max);
        all.truncate(paths_max);
        Self { first: all, more }
    }
}

/// What became of a wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitState {
    /// Nobody has answered yet.
    Waiting,
    /// Somebody has, and whoever asked does not know it yet.
    Decided(PersonsDecision),
    /// Somebody has, and whoever asked went on with it.
    Used(PersonsDecision),
    /// The time is over.
    Expired,
    /// Whoever asked is gone, and nobody will take the wait up.
    Abandoned,
}

/// What a person has decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PersonsDecision {
    /// The word, trimmed and in lower case.
    pub action: String,
    /// What it means.
    pub word: Word,
    /// What the person wanted to say with it.
    pub message: Option<String>,
    /// Who, as far as that is known.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The whole answer, for later hooks.
    pub response: Value,
}

impl WaitState {
    /// Its word in lists.
    pub fn as_str(&self) -> &'static str {
        match self {
            WaitState::Waiting => "waiting",
            WaitState::Decided(_) => "decided",
            WaitState::Used(_) => "used",
            WaitState::Expired => "expired",
            WaitState::Abandoned => "abandoned",
        }
    }

    /// What was decided, if anything was.
    pub fn decision(&self) -> Option<&PersonsDecision> {
        match self {
            WaitState::Decided(decision) | WaitState::Used(decision) => Some(decision),
            WaitState::Waiting | WaitState::Expired | WaitState::Abandoned => None,
        }
    }
}

/// What the action of an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Go on.
    Yes,
    /// What `on_reject` says.
    No,
    /// A word that the hook offers itself: go on.
    Offered,
}

/// Words that go on.
const YES: &[&str] = &["approve", "approved", "continue", "yes", "ok"];

/// Words that do what `on_reject` says.
const NO: &[&str] = &["reject", "rejected", "deny", "abort", "stop", "no", "cancel"];

impl Word {
    /// What an action means, trimmed and in any case; `None` for a word that neither stands for yes
    /// or no nor is offered.
    pub fn of(action: &str, offered: &[String]) -> Option<Self> {
        let word = action.trim().to_lowercase();
        if YES.contains(&word.as_str()) {
            return Some(Word::Yes);
        }
        if NO.contains(&word.as_str()) {
            return Some(Word::No);
        }
        offered.contains(&word).then_some(Word::Offered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_words_go_on_no_words_reject_and_offered_ones_go_on() {
        let offered = ["later".to_owned()];
        for word in ["approve", "approved", "continue", "yes", "ok", " OK\n", "Approve"] {
            assert_eq!(Word::of(word, &offered), Some(Word::Yes), "{word}");
        }
        for word in ["reject", "rejected", "deny", "abort", "stop", "no", "cancel", "NO "] {
            assert_eq!(Word::of(word, &offered), Some(Word::No), "{word}");
        }
        assert_eq!(Word::of("Later", &offered), Some(Word::Offered));
        for word in ["later!", "", "maybe"] {
            assert_eq!(Word::of(word, &offered), None, "{word}");
        }
    }
}

//! [`Wait`]: a stored question to a person, and the words that answer it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A question to a person, from before it is asked until long after it was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The id: short enough to be typed, unique in the whole store.
    pub id: String,
    /// The project's name, else its path as text.
    pub project: String,
    /// The project's path, if it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The session's name, if there is one.
    pub session: Option<String>,
    /// The key by which a resumed session finds it again; `None` if it is not resumable.
    pub key: Option<WaitKey>,
    /// The process that asks, described so that others can tell whether it still runs.
    pub keeper: String,
    /// How that process is notified of an answer; empty if it polls.
    #[serde(default)]
    pub bell: String,
    /// The hook's id.
    pub hook: String,
    /// The event's canonical name.
    pub event: String,
    /// The event's subject.
    pub subject: Option<String>,
    /// The loop's or pipeline's name.
    pub pipeline: Option<String>,
    /// The stage, within a pipeline.
    pub stage: Option<String>,
    /// The iteration, within a stage.
    pub iteration: Option<u64>,
    /// The question for people; without secrets.
    pub question: String,
    /// Words that the hook's own texts offer, lower case.
    pub offered: Vec<String>,
    /// The files that changed.
    pub changed_files: Paths,
    /// The outputs of the stage.
    pub stage_outputs: Paths,
    /// The time it was opened, in milliseconds since 1970.
    pub since_ms: i64,
    /// The deadline, in milliseconds since 1970.
    pub until_ms: i64,
    /// The address up to `/callback/`.
    pub base_url: String,
    /// The port of its listener.
    pub port: u16,
    /// The rendered request, opaque to all but its sender.
    pub request: Value,
    /// The request has arrived at its receiver.
    pub sent: bool,
    /// The wait's state.
    pub state: WaitState,
}

impl Wait {
    /// The path of the project.
    pub fn project_root(&self) -> &str {
        self.root.as_deref().unwrap_or(&self.project)
    }

    /// The session that would resume it, if there is one.
    pub fn resumable_session(&self) -> Option<&str> {
        self.session.as_deref().filter(|_| self.key.is_some())
    }
}

/// The key by which a resumed session finds its wait again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WaitKey {
    /// The session's name.
    pub session: String,
    /// Identifies the firing within the session: its number, and the key path if an action fired
    /// it.
    pub firing: String,
    /// The hook's id.
    pub hook: String,
    /// Distinguishes the hook from a later one with the same id.
    pub digest: String,
}

/// The first of many paths, and how many more there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    /// The first paths.
    pub first: Vec<String>,
    /// How many more there are.
    pub more: usize,
}

impl Paths {
    /// Keeps at most `paths_max` paths.
    pub fn at_most(mut all: Vec<String>, paths_max: usize) -> Self {
        let more = all.len().saturating_sub(paths_max);
        all.truncate(paths_max);
        Self { first: all, more }
    }
}

/// The state of a wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitState {
    /// No person has answered yet.
    Waiting,
    /// A person has decided, and the asking process does not know it yet.
    Decided(PersonsDecision),
    /// A person has decided, and the asking process has used the answer.
    Used(PersonsDecision),
    /// The deadline has passed.
    Expired,
    /// The asking process is gone, and the wait will not be resumed.
    Abandoned,
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PersonsDecision {
    /// What the person chose, trimmed and in lower case: `approve`.
    pub action: String,
    /// The meaning of `action`.
    pub word: AnswerMeaning,
    /// The person's message.
    pub message: Option<String>,
    /// Who decided, if known.
    pub by: String,
    /// The time, in milliseconds since 1970.
    pub at_ms: i64,
    /// The whole answer, for later hooks.
    pub response: Value,
}

impl WaitState {
    /// The state's name in lists.
    pub fn as_str(&self) -> &'static str {
        match self {
            WaitState::Waiting => "waiting",
            WaitState::Decided(_) => "decided",
            WaitState::Used(_) => "used",
            WaitState::Expired => "expired",
            WaitState::Abandoned => "abandoned",
        }
    }

    /// The decision, if there is one.
    pub fn decision(&self) -> Option<&PersonsDecision> {
        match self {
            WaitState::Decided(decision) | WaitState::Used(decision) => Some(decision),
            WaitState::Waiting | WaitState::Expired | WaitState::Abandoned => None,
        }
    }
}

/// What a person's answer means to the hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerMeaning {
    /// Continue.
    Yes,
    /// Do what `on_reject` says.
    No,
    /// A word that the hook offers itself: continue.
    Offered,
}

/// Words that mean yes.
const YES: &[&str] = &["approve", "approved", "continue", "yes", "ok"];

/// Words that mean no.
const NO: &[&str] = &["reject", "rejected", "deny", "abort", "stop", "no", "cancel"];

impl AnswerMeaning {
    /// Parses an action, trimmed and in any case; `None` for a word that means neither yes nor no
    /// and that the hook does not offer.
    pub fn parse(action: &str, offered: &[String]) -> Option<Self> {
        let word = action.trim().to_lowercase();
        if YES.contains(&word.as_str()) {
            return Some(AnswerMeaning::Yes);
        }
        if NO.contains(&word.as_str()) {
            return Some(AnswerMeaning::No);
        }
        offered.contains(&word).then_some(AnswerMeaning::Offered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_word_or_an_offered_word_continues_and_a_no_word_rejects() {
        let offered = ["later".to_owned()];
        for word in ["approve", "approved", "continue", "yes", "ok", " OK\n", "Approve"] {
            assert_eq!(AnswerMeaning::parse(word, &offered), Some(AnswerMeaning::Yes), "{word}");
        }
        for word in ["reject", "rejected", "deny", "abort", "stop", "no", "cancel", "NO "] {
            assert_eq!(AnswerMeaning::parse(word, &offered), Some(AnswerMeaning::No), "{word}");
        }
        assert_eq!(AnswerMeaning::parse("Later", &offered), Some(AnswerMeaning::Offered));
        for word in ["later!", "", "maybe"] {
            assert_eq!(AnswerMeaning::parse(word, &offered), None, "{word}");
        }
    }
}

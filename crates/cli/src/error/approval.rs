//! Errors about waits, with advice.

use hookwright_events::Wait;
use hookwright_events::wait::{AnswerMeaning, WaitState};
use hookwright_server::approvals::iso;
use hookwright_server::signing_key::KeyError;
use hookwright_store::WaitError;

use super::storage::of_store;
use super::{Message, did_you_mean, quoted, without_number};
use crate::text::local;

/// Why a command cannot decide or show a wait.
#[derive(Debug)]
pub(crate) enum ApprovalFailure {
    /// The key that signs addresses cannot be used.
    Key(KeyError),
    /// The waits cannot be read or written.
    Wait(WaitError),
    /// No wait has this id.
    NoSuchWait { id: String, nearest: Option<String>, waiting: usize },
    /// No question is named, and none is waiting.
    NothingWaits,
    /// The text matches more than one question.
    Ambiguous { text: Option<String>, ids: Vec<String> },
    /// The question was decided, or has expired.
    Ended { wait: Box<Wait> },
    /// The command runs inside the session that asks.
    FromInside { id: String, session: Option<String> },
    /// The word means neither yes nor no and is not offered.
    NoSuchWord { action: String, expected: Vec<String> },
}

impl ApprovalFailure {
    /// The message for the user.
    pub(super) fn message(&self) -> Message {
        match self {
            ApprovalFailure::Key(error) => of_key(error),
            ApprovalFailure::Wait(WaitError::Store(error)) => of_store(error),
            ApprovalFailure::Wait(error @ WaitError::Unreadable { .. }) => Message {
                heading: error.to_string(),
                place: None,
                help: "another version of hookwright wrote it; use that version".into(),
            },
            ApprovalFailure::NoSuchWait { id, nearest, waiting } => Message {
                heading: format!("no question has the id `{id}`"),
                place: None,
                help: match (did_you_mean(nearest.as_deref()), waiting) {
                    (Some(help), _) => help,
                    (None, 0) => "no question waits for a decision now".into(),
                    (None, _) => "list the open questions: `hookwright approvals`".into(),
                },
            },
            ApprovalFailure::NothingWaits => Message {
                heading: "no question waits for an answer".into(),
                place: None,
                help: "show past questions: `hookwright sessions show`".into(),
            },
            ApprovalFailure::Ambiguous { text, ids } => Message {
                heading: match text {
                    Some(text) => format!("{} questions begin with `{text}`", ids.len()),
                    None => format!("{} questions wait for an answer", ids.len()),
                },
                place: None,
                help: "name one of them; `hookwright approvals` lists them".into(),
            },
            ApprovalFailure::Ended { wait } => of_ended(wait),
            ApprovalFailure::FromInside { id, session } => Message {
                heading: match session {
                    Some(session) => {
                        format!("`{id}` cannot be answered from inside session `{session}`")
                    }
                    None => format!("`{id}` cannot be answered by the agent that it is about"),
                },
                place: None,
                help: "a person has to answer, in a terminal or browser outside the session".into(),
            },
            ApprovalFailure::NoSuchWord { action, expected } => {
                let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
                Message {
                    heading: format!("this question does not accept the answer `{action}`"),
                    place: None,
                    help: format!("use {}", quoted(&expected, ", ")),
                }
            }
        }
    }
}

fn of_ended(wait: &Wait) -> Message {
    let id = &wait.id;
    let (heading, help) = match &wait.state {
        WaitState::Decided(decision) | WaitState::Used(decision) => {
            let what = match decision.word {
                AnswerMeaning::Yes => "approved".to_owned(),
                AnswerMeaning::No => "rejected".to_owned(),
                AnswerMeaning::Offered => format!("answered with `{}`", decision.action),
            };
            let (by, at) = (&decision.by, local(&iso(decision.at_ms)));
            let heading = format!("`{id}` was already {what}, by {by}, at {at}");
            (heading, "the first answer counts; nothing was changed")
        }
        WaitState::Expired => (
            format!("the time to decide `{id}` ran out at {}", local(&iso(wait.until_ms))),
            "the hook's `on_timeout` decides what happens now",
        ),
        WaitState::Waiting | WaitState::Abandoned => (
            format!("the process that asked `{id}` no longer waits"),
            "nothing is left to decide; list the open questions: `hookwright approvals`",
        ),
    };
    Message { heading, place: None, help: help.into() }
}

fn of_key(error: &KeyError) -> Message {
    let (path, help) = match error {
        KeyError::NotPrivate { path, .. } => (
            path,
            format!(
                "other users may have read it; remove it to get a new one (addresses already sent \
                 stop working): `rm {}`",
                path.display()
            ),
        ),
        KeyError::OfOthers { path } => {
            (path, "run this as the user who owns the state folder".into())
        }
        KeyError::NoKey { path } => {
            (path, format!("remove it to get a new one: `rm {}`", path.display()))
        }
        KeyError::Io { path, .. } => {
            (path, "check who owns the folder and whether the disk is full".into())
        }
    };
    let heading = match error {
        KeyError::NotPrivate { mode, .. } => {
            format!("other users can read the key for answer addresses (mode {mode:o})")
        }
        KeyError::OfOthers { .. } => "the key for answer addresses belongs to another user".into(),
        KeyError::NoKey { .. } => "the key for answer addresses does not have 32 bytes".into(),
        KeyError::Io { cause, .. } => {
            format!("the key for answer addresses cannot be used: {}", without_number(cause))
        }
    };
    Message { heading, place: Some(path.display().to_string()), help }
}

//! What can be wrong with waits, and what a person can do about it.

use hookwright_events::Wait;
use hookwright_events::wait::{WaitState, Word};
use hookwright_server::approvals::iso;
use hookwright_server::signing_key::KeyError;
use hookwright_store::WaitError;

use super::storage::of_store;
use super::{Message, did_you_mean, quoted, without_number};
use crate::text::local;

/// What keeps a command from deciding or showing what waits.
#[derive(Debug)]
pub(crate) enum ApprovalFailure {
    /// The key of the addresses cannot be used.
    Key(KeyError),
    /// What waits cannot be read or written.
    Wait(WaitError),
    /// No wait has this id.
    NoSuchWait { id: String, nearest: Option<String>, waiting: usize },
    /// No question is named, and none waits.
    NothingWaits,
    /// More than one question can be meant.
    Ambiguous { text: Option<String>, ids: Vec<String> },
    /// It has been decided, or cannot be any more.
    Ended { wait: Box<Wait> },
    /// We were called inside the session that asks.
    FromInside { id: String, session: Option<String> },
    /// A word that neither stands for yes or no nor is offered.
    NoSuchWord { action: String, expected: Vec<String> },
}

impl ApprovalFailure {
    /// What a person is told.
    pub(super) fn message(&self) -> Message {
        match self {
            ApprovalFailure::Key(error) => of_key(error),
            ApprovalFailure::Wait(WaitError::Store(error)) => of_store(error),
            ApprovalFailure::Wait(error @ WaitError::Unreadable { .. }) => Message {
                heading: error.to_string(),
                place: None,
                help: "it was written by another version of hookwright; use that one".into(),
            },
            ApprovalFailure::NoSuchWait { id, nearest, waiting } => Message {
                heading: format!("nothing waits under the id `{id}`"),
                place: None,
                help: match (did_you_mean(nearest.as_deref()), waiting) {
                    (Some(help), _) => help,
                    (None, 0) => "nothing waits for a decision at the moment".into(),
                    (None, _) => "see what waits: `hookwright approvals`".into(),
                },
            },
            ApprovalFailure::NothingWaits => Message {
                heading: "no question waits for an answer".into(),
                place: None,
                help: "see what was asked: `hookwright sessions show`".into(),
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
                help: "a person has to answer, in a terminal or browser outside of the session"
                    .into(),
            },
            ApprovalFailure::NoSuchWord { action, expected } => {
                let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
                Message {
                    heading: format!("the word `{action}` means nothing to this wait"),
                    place: None,
                    help: format!("it takes {}", quoted(&expected, ", ")),
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
                Word::Yes => "approved".to_owned(),
                Word::No => "rejected".to_owned(),
                Word::Offered => format!("answered with `{}`", decision.action),
            };
            let (by, at) = (&decision.by, local(&iso(decision.at_ms)));
            let heading = format!("`{id}` has been {what} already, by {by}, at {at}");
            (heading, "the first answer counts; nothing was changed")
        }
        WaitState::Expired => (
            format!("the time to decide `{id}` was over at {}", local(&iso(wait.until_ms))),
            "what happens then is what the hook's `on_timeout` says",
        ),
        WaitState::Waiting | WaitState::Abandoned => (
            format!("whoever asked `{id}` does not wait any more"),
            "there is nothing left to decide; see what waits: `hookwright approvals`",
        ),
    };
    Message { heading, place: None, help: help.into() }
}

fn of_key(error: &KeyError) -> Message {
    let (path, help) = match error {
        KeyError::NotPrivate { path, .. } => (
            path,
            format!(
                "others may know it; remove it, and a new one is made (addresses that were sent no \
                 longer work): `rm {}`",
                path.display()
            ),
        ),
        KeyError::OfOthers { path } => (path, "act as the user whose state folder it is".into()),
        KeyError::NoKey { path } => {
            (path, format!("remove it, and a new one is made: `rm {}`", path.display()))
        }
        KeyError::Io { path, .. } => {
            (path, "see who owns the folder, and whether it is full".into())
        }
    };
    let heading = match error {
        KeyError::NotPrivate { mode, .. } => {
            format!("the key of addresses for answers can be used by others (mode {mode:o})")
        }
        KeyError::OfOthers { .. } => "the key of addresses for answers is another user's".into(),
        KeyError::NoKey { .. } => "the key of addresses for answers does not hold 32 bytes".into(),
        KeyError::Io { cause, .. } => {
            format!("the key of addresses for answers cannot be used: {}", without_number(cause))
        }
    };
    Message { heading, place: Some(path.display().to_string()), help }
}

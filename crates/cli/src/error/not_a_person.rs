//! Messages for an agent, a session or a hook that asks for what only a person may do.

use super::Message;

/// What only a person may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PersonalDecision {
    /// `trust`
    Trust,
    /// `connect`
    Connect,
}

/// What a caller is inside of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallerPlace {
    /// A session of this program, or one of its hooks.
    Session,
    /// An agent, whose process is above the caller or has left its marks in the environment.
    Agent { name: &'static str, pid: Option<u32> },
}

/// An agent or a hook asks for what only a person may do.
pub(super) fn message(decision: PersonalDecision, place: &CallerPlace) -> Message {
    let what = match decision {
        PersonalDecision::Trust => "files cannot be trusted",
        PersonalDecision::Connect => "agents cannot be connected or disconnected",
    };
    let (inside, outside) = match place {
        CallerPlace::Session => ("a session or a hook".to_owned(), "outside the session"),
        CallerPlace::Agent { name, pid } => {
            let process = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
            (format!("{name}{process}"), "that no agent has started")
        }
    };
    Message {
        heading: format!("{what} from inside {inside}"),
        place: None,
        help: format!("a person has to do it, in a terminal {outside}"),
    }
}

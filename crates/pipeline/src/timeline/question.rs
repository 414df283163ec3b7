//! A hook's question to a person, with the answer.

use hookwright_events::{Outcome, PersonOutcome};

use super::timeline_event::{QuestionState, TimelineEvent};
use crate::record::milliseconds;
use crate::session_state::OpenQuestion;

/// How a question ended.
#[derive(Debug, Clone, Default)]
struct QuestionAnswer {
    action: Option<String>,
    message: Option<String>,
    by: Option<String>,
    duration_ms: Option<f64>,
}

/// A question with the outcome of its hook.
pub(super) fn ended(open: OpenQuestion, event: String, outcome: &Outcome) -> TimelineEvent {
    let (state, answer) = match outcome {
        Outcome::Person(PersonOutcome::Decided { response, refused, by, at }) => {
            let said = |name: &str| response.get(name)?.as_str().map(str::to_owned);
            let took = milliseconds(at).zip(milliseconds(&open.since));
            let answer = QuestionAnswer {
                action: said("action"),
                message: said("message").filter(|message| !message.is_empty()),
                by: Some(by.clone()),
                duration_ms: took.map(|(at, since)| (at - since).max(0) as f64),
            };
            let state = if *refused { QuestionState::Rejected } else { QuestionState::Approved };
            (state, answer)
        }
        Outcome::Person(PersonOutcome::Unanswered { after_ms }) => {
            let answer =
                QuestionAnswer { duration_ms: Some(*after_ms as f64), ..QuestionAnswer::default() };
            (QuestionState::Unanswered, answer)
        }
        outcome if outcome.is_interrupted() => (QuestionState::CutOff, QuestionAnswer::default()),
        Outcome::Process(_) | Outcome::Work(_) | Outcome::Request(_) | Outcome::Function(_) => {
            (QuestionState::Withdrawn, QuestionAnswer::default())
        }
    };
    as_event(open, event, state, answer)
}

/// A question as it is at the end of the journal.
pub(super) fn left(open: OpenQuestion, event: String, state: QuestionState) -> TimelineEvent {
    as_event(open, event, state, QuestionAnswer::default())
}

fn as_event(
    open: OpenQuestion,
    event: String,
    state: QuestionState,
    answer: QuestionAnswer,
) -> TimelineEvent {
    let OpenQuestion { hook, wait, question, since, .. } = open;
    let QuestionAnswer { action, message, by, duration_ms } = answer;
    TimelineEvent::Question {
        event,
        hook,
        wait,
        question,
        since,
        state,
        action,
        message,
        by,
        duration_ms,
    }
}

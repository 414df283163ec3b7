//! [`Question`]: what a hook asks a person, until the answer is there.

use hookwright_events::{Outcome, PersonOutcome, ProcessOutcome};

use super::deed::{Deed, QuestionState};
use crate::record::milliseconds;

/// A question that is open.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) wait: String,
    pub(super) question: String,
    pub(super) since: String,
}

/// How a question ended.
#[derive(Debug, Clone, Default)]
struct Answer {
    action: Option<String>,
    message: Option<String>,
    by: Option<String>,
    duration_ms: Option<f64>,
}

impl Question {
    /// Told with what became of the hook that asked.
    pub(super) fn ended(self, event: String, hook: String, outcome: Outcome) -> Deed {
        let (state, answer) = match outcome {
            Outcome::Person(PersonOutcome::Decided { response, refused, by, at }) => {
                let said = |name: &str| response.get(name)?.as_str().map(str::to_owned);
                let took = milliseconds(&at).zip(milliseconds(&self.since));
                let answer = Answer {
                    action: said("action"),
                    message: said("message").filter(|message| !message.is_empty()),
                    by: Some(by),
                    duration_ms: took.map(|(at, since)| (at - since).max(0) as f64),
                };
                let state = if refused { QuestionState::Rejected } else { QuestionState::Approved };
                (state, answer)
            }
            Outcome::Person(PersonOutcome::Unanswered { after_ms }) => {
                let answer = Answer { duration_ms: Some(after_ms as f64), ..Answer::default() };
                (QuestionState::Unanswered, answer)
            }
            Outcome::Process(ProcessOutcome::Interrupted { .. }) => {
                (QuestionState::CutOff, Answer::default())
            }
            Outcome::Process(_) | Outcome::Work(_) | Outcome::Request(_) | Outcome::Function(_) => {
                (QuestionState::Withdrawn, Answer::default())
            }
        };
        self.told(event, hook, state, answer)
    }

    /// Told as it is when the journal has no more.
    pub(super) fn left(self, event: String, hook: String, state: QuestionState) -> Deed {
        self.told(event, hook, state, Answer::default())
    }

    fn told(self, event: String, hook: String, state: QuestionState, answer: Answer) -> Deed {
        let Question { wait, question, since } = self;
        let Answer { action, message, by, duration_ms } = answer;
        Deed::Question {
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
}

//! [`Answer`]: what a hook's output asks for, under one name for each thing.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a hook says about the operation that its event announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerDecision {
    /// Nobody needs to be asked. Written `allow` or `approve`.
    Allow,
    /// A person has to be asked. Written `ask`.
    Ask,
    /// It must not happen. Written `deny` or `block`.
    Deny,
}

/// What one hook asks for. An empty answer asks for nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Allow, ask or deny the operation.
    pub decision: Option<AnswerDecision>,
    /// Why; `feedback` stands on a line of its own below it.
    pub reason: Option<String>,
    /// `continue: false`: end the turn or the session.
    pub stop: bool,
    /// Why it has to end.
    pub stop_reason: Option<String>,
    /// For the user.
    pub system_message: Option<String>,
    /// For the agent.
    pub additional_context: Vec<String>,
    /// The context tells of a failure, so that the agent has to get it also when it has finished its work.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub must_reach_agent: bool,
    /// The tool's input, rewritten.
    pub updated_input: Option<Value>,
    /// The tool's output, rewritten.
    pub updated_output: Option<Value>,
    /// Don't show this hook's output.
    pub suppress_output: bool,
    /// Rules to add, when the hook answers a permission prompt.
    pub updated_permissions: Option<Value>,
}

impl Answer {
    /// The operation must not happen, and why.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            decision: Some(AnswerDecision::Deny),
            reason: Some(reason.into()),
            ..Self::default()
        }
    }

    /// A person has to be asked, and why.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self { decision: Some(AnswerDecision::Ask), reason: Some(reason.into()), ..Self::default() }
    }

    /// Nobody needs to be asked.
    pub fn allow() -> Self {
        Self { decision: Some(AnswerDecision::Allow), ..Self::default() }
    }

    /// The turn or the session has to end, and why.
    pub fn stop(reason: impl Into<String>) -> Self {
        Self { stop: true, stop_reason: Some(reason.into()), ..Self::default() }
    }

    /// The tool gets this input instead of its own.
    pub fn rewrite(input: Value) -> Self {
        Self { updated_input: Some(input), ..Self::default() }
    }

    /// The agent is told this.
    pub fn context(text: impl Into<String>) -> Self {
        Self::default().with_context(text)
    }

    /// The same answer, and the agent is told this as well.
    #[must_use]
    pub fn with_context(mut self, text: impl Into<String>) -> Self {
        self.additional_context.push(text.into());
        self
    }

    /// The same answer, and the user is told this.
    #[must_use]
    pub fn with_message(self, text: impl Into<String>) -> Self {
        Self { system_message: Some(text.into()), ..self }
    }

    /// Only what restricts or adds: deny, ask, `continue: false`, contexts and messages. What is
    /// left of an answer that stood among other text or came with a failing exit code.
    pub fn restricting(self) -> Self {
        Self {
            decision: self.decision.filter(|decision| *decision != AnswerDecision::Allow),
            updated_input: None,
            updated_output: None,
            suppress_output: false,
            updated_permissions: None,
            ..self
        }
    }

    /// Whether it denies or ends something.
    pub fn restricts(&self) -> bool {
        self.stop || matches!(self.decision, Some(AnswerDecision::Deny | AnswerDecision::Ask))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_restricted_answer_grants_and_rewrites_nothing() {
        let answer = Answer {
            decision: Some(AnswerDecision::Allow),
            updated_input: Some(json!({})),
            updated_output: Some(json!("x")),
            suppress_output: true,
            updated_permissions: Some(json!([])),
            additional_context: vec!["kept".into()],
            ..Answer::default()
        };
        assert_eq!(
            answer.restricting(),
            Answer { additional_context: vec!["kept".into()], ..Answer::default() }
        );
    }

    #[test]
    fn an_answer_says_one_thing_and_what_travels_beside_it() {
        let said = |answer: Answer| serde_json::to_value(answer).expect("plain data");
        for (answer, fields) in [
            (Answer::deny("no"), json!({ "decision": "deny", "reason": "no" })),
            (Answer::ask("sure?"), json!({ "decision": "ask", "reason": "sure?" })),
            (Answer::allow(), json!({ "decision": "allow" })),
            (Answer::stop("enough"), json!({ "stop": true, "stop_reason": "enough" })),
            (Answer::rewrite(json!({ "x": 1 })), json!({ "updated_input": { "x": 1 } })),
            (
                Answer::context("a").with_context("b").with_message("m"),
                json!({ "additional_context": ["a", "b"], "system_message": "m" }),
            ),
        ] {
            let mut whole = said(Answer::default());
            for (name, value) in fields.as_object().expect("fields") {
                whole[name] = value.clone();
            }
            assert_eq!(said(answer), whole);
        }
    }

    #[test]
    fn a_restricted_answer_still_denies_asks_and_stops() {
        for decision in [AnswerDecision::Deny, AnswerDecision::Ask] {
            let answer = Answer { decision: Some(decision), stop: true, ..Answer::default() };
            assert_eq!(answer.clone().restricting(), answer);
            assert!(answer.restricts());
        }
        assert!(!Answer::default().restricts());
    }
}

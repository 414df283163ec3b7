//! [`Answer`]: what a hook's output requests, with one name for each thing.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a hook says about the announced operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerDecision {
    /// Allow it without asking a person. Written `allow` or `approve`.
    Allow,
    /// Ask a person first. Written `ask`.
    Ask,
    /// It must not happen. Written `deny` or `block`.
    Deny,
}

/// What one hook requests. An empty answer requests nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Allow, ask or deny the operation.
    pub decision: Option<AnswerDecision>,
    /// The reason, followed by `feedback` on a line of its own.
    pub reason: Option<String>,
    /// `continue: false`: end the turn or the session.
    pub stop: bool,
    /// Why it has to end.
    pub stop_reason: Option<String>,
    /// A message for the user.
    pub system_message: Option<String>,
    /// Context for the agent.
    pub additional_context: Vec<String>,
    /// The context reports a failure, so the agent must get it even if it has finished its work.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub must_reach_agent: bool,
    /// The rewritten tool input.
    pub updated_input: Option<Value>,
    /// The rewritten tool output.
    pub updated_output: Option<Value>,
    /// The rewritten output of a tool of an MCP server; ignored for any other tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_mcp_output: Option<Box<Value>>,
    /// Hides this hook's output.
    pub suppress_output: bool,
    /// Rules to add, if the hook answers a permission prompt.
    pub updated_permissions: Option<Value>,
}

impl Answer {
    /// An answer that denies the operation.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            decision: Some(AnswerDecision::Deny),
            reason: Some(reason.into()),
            ..Self::default()
        }
    }

    /// An answer that requests a person's decision.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self { decision: Some(AnswerDecision::Ask), reason: Some(reason.into()), ..Self::default() }
    }

    /// An answer that allows the operation without asking a person.
    pub fn allow() -> Self {
        Self { decision: Some(AnswerDecision::Allow), ..Self::default() }
    }

    /// An answer that ends the turn or the session.
    pub fn stop(reason: impl Into<String>) -> Self {
        Self { stop: true, stop_reason: Some(reason.into()), ..Self::default() }
    }

    /// An answer that replaces the tool's input.
    pub fn rewrite(input: Value) -> Self {
        Self { updated_input: Some(input), ..Self::default() }
    }

    /// An answer with context for the agent.
    pub fn context(text: impl Into<String>) -> Self {
        Self::default().with_context(text)
    }

    /// Adds context for the agent.
    #[must_use]
    pub fn with_context(mut self, text: impl Into<String>) -> Self {
        self.additional_context.push(text.into());
        self
    }

    /// Adds a message for the user.
    #[must_use]
    pub fn with_message(self, text: impl Into<String>) -> Self {
        Self { system_message: Some(text.into()), ..self }
    }

    /// Keeps only what restricts or adds: deny, ask, `continue: false`, contexts and messages. Used
    /// for an answer among other text, or with a failing exit code.
    pub fn restricting(self) -> Self {
        Self {
            decision: self.decision.filter(|decision| *decision != AnswerDecision::Allow),
            updated_input: None,
            updated_output: None,
            updated_mcp_output: None,
            suppress_output: false,
            updated_permissions: None,
            ..self
        }
    }

    /// Chooses the new output of this tool: `updated_output`, or else `updated_mcp_output` for a
    /// tool of an MCP server.
    pub fn settle_output(&mut self, tool: Option<&str>) {
        let for_servers = self.updated_mcp_output.take();
        let for_servers = for_servers.filter(|_| tool.is_some_and(crate::tool::is_of_server));
        let for_servers = for_servers.map(|output| *output);
        self.updated_output = self.updated_output.take().or(for_servers);
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
    fn an_output_for_tools_of_servers_does_not_replace_the_output_of_other_tools() {
        let settled = |tool: Option<&str>, for_all: Option<Value>| {
            let mut answer = Answer {
                updated_output: for_all,
                updated_mcp_output: Some(Box::new(json!("mcp"))),
                ..Answer::default()
            };
            answer.settle_output(tool);
            assert_eq!(answer.updated_mcp_output, None);
            answer.updated_output
        };
        assert_eq!(settled(Some("mcp__a__b"), None), Some(json!("mcp")));
        assert_eq!(settled(Some("bash"), None), None);
        assert_eq!(settled(None, None), None);
        assert_eq!(settled(Some("mcp__a__b"), Some(json!("all"))), Some(json!("all")));
        assert_eq!(settled(Some("bash"), Some(json!("all"))), Some(json!("all")));
    }

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
    fn an_answer_carries_one_decision_and_its_context_and_messages() {
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

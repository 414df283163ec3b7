//! `task`: a call that runs a subagent to its end.
//!
//! A subagent is another life of the same session code: a conversation and a transcript of its own, and
//! the same model, tools, hooks, rules, mode and user. What it says last is the call's result. Its events
//! carry `agent_id` and `agent_type`; `agent:start` and `agent:stop` take the place of `session:start`,
//! `user:prompt_submit`, `session:stop` and `session:end`.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hookwright_engine::ports::Promise;
use serde_json::{Map, Value, json};

use super::life::{AgentLife, Beginning};
use super::shared_session::SharedSession;
use super::{AgentStatus, BuiltInAgent};
use crate::hooks::SubagentFacts;
use crate::limits::{SUBAGENT_DEPTH_MAX, SUBAGENT_DESCRIPTION_BYTES_MAX, SUBAGENT_KIND_BYTES_MAX};
use crate::message::Usage;
use crate::tool::{Tool, ToolCall, ToolEnd, ToolSpec, Touches};
use crate::transcript::subagent_path;

/// The kind of a subagent whose call names none.
const KIND: &str = "general-purpose";

/// Starts subagents.
pub(super) struct TaskTool {
    spec: ToolSpec,
    /// What a subagent is made of, with the tools that come from elsewhere.
    agent: BuiltInAgent,
    session: Arc<SharedSession>,
    /// How many agents are above the one that has this tool.
    depth: usize,
}

impl TaskTool {
    /// The tool of an agent that has `depth` others above it.
    pub(super) fn new(agent: BuiltInAgent, session: Arc<SharedSession>, depth: usize) -> Self {
        let spec = ToolSpec {
            name: "task".to_owned(),
            description: "Starts a subagent that does a task by itself, with the same tools, and \
                          returns what it says last. It knows nothing of this conversation: its \
                          prompt has to say everything. Calls of one answer run at once."
                .to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "description": {
                        "type": "string", "minLength": 1,
                        "description": "What it does, in a few words for the user.",
                    },
                    "prompt": {
                        "type": "string", "minLength": 1,
                        "description": "The task, with everything that the subagent has to know.",
                    },
                    "subagent_type": {
                        "type": "string", "minLength": 1,
                        "description": "A name for its kind of work; general-purpose if not given.",
                    },
                    "run_in_background": {
                        "type": "boolean", "enum": [false],
                        "description": "Not supported: a call waits for its subagent.",
                    },
                },
                "required": ["description", "prompt"],
                "additionalProperties": false,
            }),
        };
        Self { spec, agent, session, depth }
    }

    /// Runs a subagent to its end; otherwise why it was not started.
    async fn call(&self, call: &ToolCall<'_>) -> Result<FinishedSubagent, String> {
        if self.depth >= SUBAGENT_DEPTH_MAX {
            return Err(format!(
                "subagents can be {SUBAGENT_DEPTH_MAX} deep, and you are the last one: do the work \
                 yourself"
            ));
        }
        let prompt = text(call.input, "prompt");
        if prompt.trim().is_empty() {
            return Err("the prompt is empty: say what the subagent has to do".to_owned());
        }
        let description = text(call.input, "description");
        if description.len() > SUBAGENT_DESCRIPTION_BYTES_MAX {
            return Err(format!(
                "the description has {} bytes, and {SUBAGENT_DESCRIPTION_BYTES_MAX} is the limit: use a \
                 few words",
                description.len()
            ));
        }
        let kind = kind(call.input)?;
        let _place = self.session.admit()?;
        let id = new_id();
        let of_session = Path::new(&self.agent.hooks.facts().transcript_path);
        let facts = Arc::new(SubagentFacts {
            kind: kind.to_owned(),
            description: description.to_owned(),
            call: call.id.to_owned(),
            transcript_path: subagent_path(of_session, &id).to_string_lossy().into_owned(),
            id,
        });
        let mut agent = self.agent.clone();
        agent.hooks = agent.hooks.for_subagent(Arc::clone(&facts));
        agent.audience = agent.audience.for_subagent(&facts);
        let model = agent.model.name().to_owned();
        let life = AgentLife::new(agent, Arc::clone(&self.session), self.depth + 1);
        let (life, status) = life.run_to_end(Beginning::Subagent { prompt }).await;
        if let AgentStatus::EndedByHook(reason) = &status {
            self.session.end(reason);
        }
        let said = life.conversation.last_words();
        let AgentLife { totals, calls_made, .. } = life;
        let usage = totals.usage;
        self.session.add(totals);
        let prompt = prompt.to_owned();
        Ok(FinishedSubagent { facts, prompt, model, status, said, usage, calls_made })
    }
}

impl Tool for TaskTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _input: &Map<String, Value>) -> Touches {
        Touches::Subagent
    }

    fn run<'a>(&'a self, call: ToolCall<'a>) -> Promise<'a, ToolEnd> {
        Box::pin(async move {
            let began = Instant::now();
            match self.call(&call).await {
                Ok(finished) => finished.into_end(began.elapsed()),
                Err(error) => ToolEnd::Failed { error, is_interrupt: false, took: began.elapsed() },
            }
        })
    }
}

/// A subagent that has ended.
struct FinishedSubagent {
    facts: Arc<SubagentFacts>,
    prompt: String,
    model: String,
    status: AgentStatus,
    said: String,
    usage: Usage,
    calls_made: usize,
}

impl FinishedSubagent {
    /// What the call comes to: the subagent's last words, or why it did not do its work.
    fn into_end(self, took: Duration) -> ToolEnd {
        let why = match &self.status {
            AgentStatus::Completed => {
                let response = self.response(took);
                let text = match self.said.trim() {
                    "" => "(The subagent said nothing.)".to_owned(),
                    _ => self.said,
                };
                return ToolEnd::Ran { response, text, took };
            }
            AgentStatus::Interrupted => {
                return ToolEnd::Failed {
                    error: "interrupted".to_owned(),
                    is_interrupt: true,
                    took,
                };
            }
            AgentStatus::PromptBlocked(reason) | AgentStatus::RequestBlocked(reason) => {
                format!("a hook blocked a request of the subagent: {reason}")
            }
            AgentStatus::EndedByHook(reason) => format!("a hook ended the session: {reason}"),
            AgentStatus::ModelFailed(error) => {
                format!("the model of the subagent failed: {}", error.reason)
            }
            AgentStatus::JournalFailed(reason) => {
                format!("the session cannot be recorded, so the subagent was ended: {reason}")
            }
            AgentStatus::MaxTurns => {
                "the subagent did not finish: the session's limit on turns was reached".to_owned()
            }
        };
        let error = match self.said.trim() {
            "" => why,
            said => format!("{why}\nIt said last: {said}"),
        };
        ToolEnd::Failed { error, is_interrupt: false, took }
    }

    /// What hooks read, with the field names of the agents that scripts know.
    fn response(&self, took: Duration) -> Value {
        json!({
            "status": "completed",
            "prompt": self.prompt,
            "agentId": self.facts.id,
            "agentType": self.facts.kind,
            "content": [{ "type": "text", "text": self.said }],
            "resolvedModel": self.model,
            "totalToolUseCount": self.calls_made,
            "totalDurationMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "totalTokens": self.usage.total(),
            "usage": self.usage,
        })
    }
}

fn text<'a>(input: &'a Map<String, Value>, name: &str) -> &'a str {
    input.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The kind of a subagent. It is the subject of events, so it is a plain name.
fn kind(input: &Map<String, Value>) -> Result<&str, String> {
    let kind = match text(input, "subagent_type").trim() {
        "" => KIND,
        kind => kind,
    };
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_:.".contains(letter);
    if kind.len() > SUBAGENT_KIND_BYTES_MAX || !kind.chars().all(is_plain) {
        return Err(format!(
            "subagent_type is a name of at most {SUBAGENT_KIND_BYTES_MAX} letters, digits, `-`, `_`, `:` \
             and `.`, such as `{KIND}`"
        ));
    }
    Ok(kind)
}

/// An id that no other subagent has, in this session or in one that is resumed.
fn new_id() -> String {
    format!("a{:016x}", RandomState::new().build_hasher().finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_a_plain_name_and_there_is_one_for_every_subagent() {
        let of = |value: Value| {
            let input = json!({ "subagent_type": value });
            kind(input.as_object().expect("a map")).map(str::to_owned)
        };
        assert_eq!(of("reviewer".into()), Ok("reviewer".to_owned()));
        assert_eq!(of(" ".into()), Ok(KIND.to_owned()));
        assert_eq!(kind(&Map::new()), Ok(KIND));
        for odd in ["two words", "a\nb", "\u{1b}[2J", "é", &"x".repeat(65)] {
            assert!(of(odd.into()).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn ids_differ_and_have_one_shape() {
        let (one, two) = (new_id(), new_id());
        assert_ne!(one, two);
        assert!(one.len() == 17 && one.starts_with('a'), "{one}");
    }
}

//! The tool calls of one answer. Hooks and questions come in the order of the calls; then the tools
//! run at once, as many as the limit permits; results keep the order of the calls.

use std::time::Duration;

use hookwright_events::{CallOutcome, TurnEvent};
use serde_json::Value;

use super::life::AgentLife;
use super::model_call::{ModelCall, run_id};
use super::permit::Permit;
use super::running_tools::RunningTools;
use super::{AgentNews, AgentStatus, CallResult};
use crate::hooks::{CallFacts, EndedAnswer};
use crate::journal::{call_in_words, milliseconds, shortened};
use crate::message::Block;
use crate::model::ModelAnswer;
use crate::tool::ToolEnd;

/// What the model reads of a call that was never started.
const NEVER_STARTED: &str = "This call was not started: the session ended before it.";

/// A call after hooks and permissions.
pub(super) enum Planned {
    /// It may run, with this input.
    Granted(ModelCall, Permit),
    /// It has its result already.
    Answered(CallResult, String),
}

impl AgentLife {
    /// The calls of an answer.
    pub(super) fn take_calls(&self, answer: &ModelAnswer) -> Vec<ModelCall> {
        let calls = answer.content.iter().filter_map(|block| match block {
            Block::ToolUse { id, name, input } => Some(ModelCall {
                id: id.clone(),
                tool: name.clone(),
                input: input.clone(),
                broken: answer
                    .broken_inputs
                    .iter()
                    .find(|(broken, _)| broken == id)
                    .map(|(_, why)| why.clone()),
                run_id: run_id(),
            }),
            _ => None,
        });
        calls.collect()
    }

    /// Gives every call of an answer the result that it was not started.
    pub(super) fn answer_unstarted_calls(&mut self, answer: &ModelAnswer) {
        let calls = self.take_calls(answer);
        if calls.is_empty() {
            return;
        }
        let results: Vec<CallResult> =
            calls.into_iter().map(|call| call.result(None, None)).collect();
        let blocks: Vec<Block> =
            results.iter().map(|result| error_block(&result.id, NEVER_STARTED)).collect();
        for (block, result) in blocks.iter().zip(&results) {
            self.agent.audience.see(AgentNews::CallResult { block, result });
        }
        let message = &self.conversation.add_user(blocks);
        self.agent.audience.see(AgentNews::UserMessage { message, results: &results });
    }

    /// Runs the calls of an answer and adds their results to the conversation.
    pub(super) async fn run_calls(&mut self, calls: Vec<ModelCall>) -> Result<(), AgentStatus> {
        self.calls_made += calls.len();
        let mut planned = Vec::new();
        let mut ended = None;
        for mut call in calls {
            if ended.is_some() {
                planned.push(Planned::Answered(call.result(None, None), NEVER_STARTED.to_owned()));
                continue;
            }
            match self.plan(&mut call).await {
                Ok(Ok(permit)) => {
                    if self.conversation.rewrite_input(&call.id, &call.input) {
                        // The answer is recorded as the model wrote it; this says what runs.
                        let text = call.rewritten();
                        let (call, input) = (&*call.id, &call.input);
                        let news = AgentNews::InputRewritten { call, input, text: &text };
                        self.agent.audience.see(news);
                    }
                    planned.push(Planned::Granted(call, permit));
                }
                Ok(Err(denial)) => {
                    let result = call.result(None, Some(denial.clone()));
                    self.totals.denials.push(result.clone());
                    planned.push(Planned::Answered(result, denial));
                }
                Err(end) => {
                    ended = Some(end);
                    planned
                        .push(Planned::Answered(call.result(None, None), NEVER_STARTED.to_owned()));
                }
            }
        }
        if ended.is_none() {
            ended = self.record_starts(&planned).await.err();
        }
        // A session that ends starts nothing any more.
        if ended.is_some() {
            for plan in &mut planned {
                if let Planned::Granted(call, _) = plan {
                    let call = std::mem::replace(call, ModelCall::empty());
                    *plan = Planned::Answered(call.result(None, None), NEVER_STARTED.to_owned());
                }
            }
        }
        let mut cut_off = false;
        let mut running = RunningTools::start(planned, &self.session.cancel);
        let mut results = Vec::new();
        let mut blocks = Vec::new();
        while let Some((mut result, end)) = running.next().await {
            let end = match end {
                Ok(end) => end,
                Err(text) => {
                    let block = error_block(&result.id, &text);
                    let told = self.tell_result(&block, &result, running.is_done()).await;
                    ended = ended.or(told.err());
                    blocks.push(block);
                    results.push(result);
                    continue;
                }
            };
            let answered = self.ask_about_end(&result, &end, &mut cut_off).await;
            result.is_suppressed = answered.said.suppress_output;
            for message in &answered.said.messages {
                self.agent.audience.see(AgentNews::HookMessage(message));
            }
            self.conversation.add_contexts(answered.said.contexts);
            let block = result_block(&result.id, &end, answered.updated_output);
            let told = self.tell_result(&block, &result, running.is_done()).await;
            ended = ended.or(told.err());
            blocks.push(block);
            if let Some(reason) = answered.end {
                ended.get_or_insert(AgentStatus::EndedByHook(reason));
            }
            results.push(result);
        }
        let added = self.add_user_message(blocks, &results).await;
        if self.session.cancel.is_cancelled() {
            return Err(self.session.cut_off());
        }
        ended.map_or(added, Err)
    }

    /// Fires the event of a call's end. An interrupt ends its hooks (`cut_off`), and then starts none for
    /// the other calls that ran. Otherwise hooks run after an interrupt too: those of a tool that it has
    /// ended learn of it by `is_interrupt`.
    async fn ask_about_end(
        &self,
        result: &CallResult,
        end: &ToolEnd,
        cut_off: &mut bool,
    ) -> EndedAnswer {
        if *cut_off && matches!(end, ToolEnd::Ran { .. }) {
            return EndedAnswer::default();
        }
        let facts = CallFacts { id: &result.id, tool: &result.tool, input: &result.input };
        let fired = self.agent.hooks.tool_ended(facts, end);
        if self.session.cancel.is_cancelled() {
            return fired.await;
        }
        let answered = self.unless_cancelled(fired).await;
        *cut_off = answered.is_err();
        answered.unwrap_or_default()
    }

    /// Records that the calls that may run are about to.
    async fn record_starts(&self, planned: &[Planned]) -> Result<(), AgentStatus> {
        let granted = planned.iter().filter_map(|plan| match plan {
            Planned::Granted(call, _) => Some(call.starting(self.agent_id())),
            Planned::Answered(..) => None,
        });
        let mut starts: Vec<TurnEvent> = granted.collect();
        let Some(last) = starts.pop() else { return Ok(()) };
        for start in starts {
            self.record_with_next(start).await?;
        }
        self.record(last).await
    }

    /// A call has its result. The audience keeps it before its end is recorded: a recorded end is never
    /// without its result. After the last one nothing is waited for until the next record.
    async fn tell_result(
        &self,
        block: &Block,
        result: &CallResult,
        is_last: bool,
    ) -> Result<(), AgentStatus> {
        self.agent.audience.see(AgentNews::CallResult { block, result });
        let ended = ended_call(result, self.agent_id());
        if is_last { self.record_with_next(ended).await } else { self.record(ended).await }
    }
}

/// How a call ended, for the journal.
fn ended_call(result: &CallResult, agent_id: Option<String>) -> TurnEvent {
    let (outcome, reason, took) = match (&result.end, &result.denied) {
        (Some(ToolEnd::Ran { took, .. }), _) => (CallOutcome::Ran, None, *took),
        (Some(ToolEnd::Failed { error, is_interrupt, took }), _) => {
            let outcome =
                if *is_interrupt { CallOutcome::Interrupted } else { CallOutcome::Failed };
            (outcome, Some(shortened(error)), *took)
        }
        (None, Some(reason)) => (CallOutcome::Denied, Some(shortened(reason)), Duration::ZERO),
        (None, None) => (CallOutcome::NotStarted, None, Duration::ZERO),
    };
    TurnEvent::CallEnded {
        call: result.id.clone(),
        tool: result.tool.clone(),
        what: call_in_words(&result.input),
        outcome,
        reason,
        duration_ms: milliseconds(took),
        agent_id,
    }
}

fn error_block(id: &str, text: &str) -> Block {
    Block::ToolResult { tool_use_id: id.to_owned(), content: text.to_owned(), is_error: true }
}

fn result_block(id: &str, end: &ToolEnd, updated: Option<Value>) -> Block {
    let (text, is_error) = match end {
        ToolEnd::Ran { text, .. } => (text, false),
        ToolEnd::Failed { error, .. } => (error, true),
    };
    let content = match updated {
        Some(updated) => updated_text(updated),
        None => text.clone(),
    };
    Block::ToolResult { tool_use_id: id.to_owned(), content, is_error }
}

/// What a model reads of an output that a hook wrote: a text, or blocks of text as a server's tool has
/// them.
fn updated_text(updated: Value) -> String {
    let text_of = |block: &Value| match block.get("type").and_then(Value::as_str) {
        Some("text") => block.get("text").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    let texts = match &updated {
        Value::String(text) => return text.clone(),
        Value::Array(blocks) if !blocks.is_empty() => {
            blocks.iter().map(text_of).collect::<Option<Vec<String>>>()
        }
        _ => None,
    };
    texts.map_or_else(|| updated.to_string(), |texts| texts.join("\n"))
}

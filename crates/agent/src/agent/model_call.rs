//! [`ModelCall`]: one call, as the model wrote it and as hooks rewrote it.

use std::sync::atomic::{AtomicU64, Ordering};

use hookwright_events::TurnEvent;
use serde_json::{Map, Value};

use super::CallResult;
use crate::hooks::CallFacts;
use crate::input_schema;
use crate::journal::call_in_words;
use crate::tool::{Tool, ToolEnd};

/// One call, as the model wrote it.
pub(super) struct ModelCall {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) input: Map<String, Value>,
    /// Its input is no JSON object, and why.
    pub(super) broken: Option<String>,
    /// The marker of its processes.
    pub(super) run_id: String,
}

impl ModelCall {
    pub(super) fn empty() -> Self {
        let (id, tool, run_id) = Default::default();
        Self { id, tool, input: Map::new(), broken: None, run_id }
    }

    pub(super) fn facts(&self) -> CallFacts<'_> {
        CallFacts { id: &self.id, tool: &self.tool, input: &self.input }
    }

    pub(super) fn result(&self, end: Option<ToolEnd>, denied: Option<String>) -> CallResult {
        CallResult {
            id: self.id.clone(),
            tool: self.tool.clone(),
            input: self.input.clone(),
            end,
            denied,
            is_suppressed: false,
        }
    }

    pub(super) fn starting(&self, agent_id: Option<String>) -> TurnEvent {
        TurnEvent::CallStarting {
            call: self.id.clone(),
            tool: self.tool.clone(),
            what: call_in_words(&self.input),
            run_id: Some(self.run_id.clone()),
            agent_id,
        }
    }

    /// Says what runs in place of what the model wrote.
    pub(super) fn rewritten(&self) -> String {
        let input = Value::Object(self.input.clone());
        format!("a hook rewrote the input of the call {} ({}): {input}", self.id, self.tool)
    }

    /// Replaces the input by what a hook wrote, if that fits the tool.
    pub(super) fn rewrite(&mut self, tool: &dyn Tool, input: Value) -> Result<(), String> {
        input_schema::validate(tool.spec(), &input).map_err(|why| {
            format!("A hook rewrote the input of this call, and it is invalid now: {why}")
        })?;
        if let Value::Object(input) = input {
            self.input = input;
        }
        Ok(())
    }
}

/// No other run of this machine has it: processes are found by it when they have to be ended.
pub(super) fn run_id() -> String {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let moment = since.unwrap_or_default().as_nanos();
    format!("tool-{}-{moment:x}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed))
}

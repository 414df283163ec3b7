//! [`Decision`]: what the host must do after its hooks have answered, and how the answers of
//! several hooks become one.
//!
//! Three things stay separate: deny this operation (`Block`), end this turn or session (`Stop`),
//! end the pipeline (`Abort`).

use serde_json::{Value, json};

use crate::{Event, Report};

/// What the host must do. Contexts and messages travel beside it.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Continue, with the tool's input replaced if a hook rewrote it.
    Proceed {
        /// The tool's input, if a hook rewrote it.
        rewritten_input: Option<Value>,
    },
    /// Continue without asking a person.
    Allow {
        /// The hook's reason.
        reason: Option<String>,
        /// The tool's input, if a hook rewrote it.
        rewritten_input: Option<Value>,
    },
    /// Ask a person first, about the rewritten input.
    Ask {
        /// The hook's reason.
        reason: Option<String>,
        /// The tool's input, if a hook rewrote it.
        rewritten_input: Option<Value>,
    },
    /// Do not do what the event announced; show the agent why.
    Block {
        /// The hook's reason.
        reason: String,
    },
    /// End the turn or the session.
    Stop {
        /// The hook's reason.
        reason: String,
    },
    /// End the pipeline.
    Abort {
        /// The hook's reason.
        reason: String,
    },
}

impl Default for Verdict {
    fn default() -> Self {
        Self::Proceed { rewritten_input: None }
    }
}

impl Verdict {
    /// Whether the operation happens, and no person is asked first.
    pub fn lets_pass(&self) -> bool {
        matches!(self, Verdict::Proceed { .. } | Verdict::Allow { .. })
    }

    fn strength(&self) -> u8 {
        match self {
            Verdict::Proceed { .. } => 0,
            Verdict::Allow { .. } => 1,
            Verdict::Ask { .. } => 2,
            Verdict::Block { .. } => 3,
            Verdict::Stop { .. } => 4,
            Verdict::Abort { .. } => 5,
        }
    }

    /// The rewritten input, if the operation may still happen.
    pub fn rewritten_input(&self) -> Option<&Value> {
        match self {
            Verdict::Proceed { rewritten_input }
            | Verdict::Allow { rewritten_input, .. }
            | Verdict::Ask { rewritten_input, .. } => rewritten_input.as_ref(),
            Verdict::Block { .. } | Verdict::Stop { .. } | Verdict::Abort { .. } => None,
        }
    }

    fn rewrite(&mut self, input: Option<Value>) {
        match self {
            Verdict::Proceed { rewritten_input }
            | Verdict::Allow { rewritten_input, .. }
            | Verdict::Ask { rewritten_input, .. } => *rewritten_input = input,
            Verdict::Block { .. } | Verdict::Stop { .. } | Verdict::Abort { .. } => {}
        }
    }
}

/// A verdict, and what travels beside it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decision {
    /// The strongest verdict of any hook.
    pub verdict: Verdict,
    /// Contexts for the agent, in configuration order.
    pub additional_context: Vec<String>,
    /// Messages for the user, in configuration order.
    pub system_messages: Vec<String>,
    /// The tool's output, if a hook rewrote it.
    pub updated_output: Option<Value>,
    /// A hook requested to hide output.
    pub suppress_output: bool,
    /// Output for the agent's next prompt.
    pub piped_output: String,
    /// The agent gets that output unchanged, without an added text.
    pub piped_raw: bool,
    /// The message to the agent does more than report a success, so the agent must get it even if
    /// it has finished its work.
    pub must_reach_agent: bool,
    /// A hook whose dialect lets a session survive its errors has handled this one.
    pub survives_error: bool,
    /// Rules to add, if a hook answered a permission prompt.
    pub updated_permissions: Option<Value>,
}

impl Decision {
    /// Combines the decisions of several hooks, given in configuration order. The strongest verdict
    /// wins, and the first among equals; the last rewrite wins; every context and message is kept.
    pub fn combine(parts: impl IntoIterator<Item = Decision>) -> Decision {
        let mut whole = Decision::default();
        let mut rewritten = None;
        for part in parts {
            if let Some(input) = part.verdict.rewritten_input() {
                rewritten = Some(input.clone());
            }
            if part.verdict.strength() > whole.verdict.strength() {
                whole.verdict = part.verdict;
            }
            whole.additional_context.extend(part.additional_context);
            whole.system_messages.extend(part.system_messages);
            whole.updated_output = part.updated_output.or(whole.updated_output);
            whole.suppress_output |= part.suppress_output;
            whole.pipe(&part.piped_output, part.piped_raw);
            whole.must_reach_agent |= part.must_reach_agent;
            whole.survives_error |= part.survives_error;
            whole.updated_permissions = whole.updated_permissions.or(part.updated_permissions);
        }
        whole.verdict.rewrite(rewritten);
        whole
    }

    /// Adds output for the agent. Raw outputs are joined by a line end, whatever they end with. If
    /// only one of the two is raw, the sum counts as normal output, and the agent must get it,
    /// because raw output always reaches the agent.
    fn pipe(&mut self, text: &str, raw: bool) {
        if text.is_empty() {
            return;
        }
        if self.piped_output.is_empty() {
            self.piped_raw = raw;
        } else {
            if raw || !self.piped_output.ends_with('\n') {
                self.piped_output.push('\n');
            }
            self.must_reach_agent |= self.piped_raw != raw;
            self.piped_raw &= raw;
        }
        self.piped_output.push_str(text);
    }

    /// Reads a decision from its record. Fields that a record omits (the rules of an answered
    /// permission prompt, if there were none) are empty.
    pub fn from_record(record: &Value) -> Decision {
        let text = |key: &str| record[key].as_str().map(str::to_owned);
        let texts = |key: &str| -> Vec<String> {
            let items = record[key].as_array().map(Vec::as_slice).unwrap_or_default();
            items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let given = |key: &str| Some(record[key].clone()).filter(|value| !value.is_null());
        let reason = text("reason");
        let rewritten_input = given("updated_input");
        let verdict = if record["abort"] == true {
            Verdict::Abort { reason: reason.unwrap_or_default() }
        } else if record["continue"] == false {
            Verdict::Stop { reason: reason.unwrap_or_default() }
        } else {
            match record["decision"].as_str() {
                Some("block") => Verdict::Block { reason: reason.unwrap_or_default() },
                Some("ask") => Verdict::Ask { reason, rewritten_input },
                Some("allow") => Verdict::Allow { reason, rewritten_input },
                Some(_) | None => Verdict::Proceed { rewritten_input },
            }
        };
        Decision {
            verdict,
            additional_context: texts("additional_context"),
            system_messages: texts("system_messages"),
            updated_output: given("updated_output"),
            suppress_output: record["suppress_output"] == true,
            piped_output: text("piped_output").unwrap_or_default(),
            piped_raw: record["piped_raw"] == true,
            must_reach_agent: record["must_reach_agent"] == true,
            survives_error: record["survives_error"] == true,
            updated_permissions: given("updated_permissions"),
        }
    }

    /// The record that `fire --json` prints. A reader may look at `decision` alone: if the
    /// operation can be blocked, an end of the session or pipeline is recorded as a block too.
    pub fn record(&self, event: &Event, hooks: &[Report]) -> Value {
        let can_block = event.name.power().can_block();
        let stopped = if can_block { Some("block") } else { None };
        let (word, reason) = match &self.verdict {
            Verdict::Proceed { .. } => (None, None),
            Verdict::Allow { reason, .. } => (Some("allow"), reason.as_deref()),
            Verdict::Ask { reason, .. } => (Some("ask"), reason.as_deref()),
            Verdict::Block { reason } => (Some("block"), Some(reason.as_str())),
            Verdict::Stop { reason } | Verdict::Abort { reason } => {
                (stopped, Some(reason.as_str()))
            }
        };
        let ends = matches!(self.verdict, Verdict::Stop { .. } | Verdict::Abort { .. });
        let mut record = json!({
            "version": crate::run_event::VERSION,
            "event": event.name,
            "subject": event.subject(),
            "decision": word,
            "reason": reason,
            "continue": !ends,
            "stop_reason": if ends { reason } else { None },
            "abort": matches!(self.verdict, Verdict::Abort { .. }),
            "additional_context": self.additional_context,
            "system_messages": self.system_messages,
            "updated_input": self.verdict.rewritten_input(),
            "updated_output": self.updated_output,
            "suppress_output": self.suppress_output,
            "piped_output": self.piped_output,
            "hooks": hooks,
        });
        if let Some(rules) = &self.updated_permissions {
            record["updated_permissions"] = rules.clone();
        }
        for (key, is_set) in [
            ("piped_raw", self.piped_raw),
            ("must_reach_agent", self.must_reach_agent),
            ("survives_error", self.survives_error),
        ] {
            if is_set {
                record[key] = true.into();
            }
        }
        record
    }
}

#[cfg(test)]
mod tests;

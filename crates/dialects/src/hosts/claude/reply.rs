//! Writes a decision in Claude Code's format.
//!
//! What an event cannot carry becomes the next safer thing that it can, and the user is told: if no
//! person can be asked, an ask becomes a deny, except at a stop, where a deny would keep the agent
//! going.

use hookwright_events::{Decision, Event, Power, Verdict};
use serde_json::{Map, Value};

use super::capabilities;
use crate::claude::answer::{
    ContextOutput, ElicitationAction, ElicitationOutput, HookSpecificOutput, ModelSwitchOutput,
    PermissionAnswer, PermissionDecision, PermissionRequestOutput, PostToolUseOutput,
    PreToolUseOutput, SessionStartOutput, SyncHookOutput, TopDecision, UserPromptOutput,
};
use crate::hosts::{Capability, Deny, HostReply};

/// The decision at this event, in Claude Code's format.
pub(super) fn reply_to(event: &Event, decision: &Decision) -> HostReply {
    let writing = ReplyWriter {
        event,
        decision,
        can: capability_of(event),
        output: SyncHookOutput::default(),
        lost: Vec::new(),
    };
    writing.reply()
}

/// What this particular event can carry back.
fn capability_of(event: &Event) -> Capability {
    let known = capabilities::of_event(&event.name);
    match event.text("hook_event_name") {
        // A tool call with an unknown event name: every agent understands exit code 2.
        Some(name) if known.deny == Deny::Permission && name != known.event => {
            capabilities::by_exit_code()
        }
        // Claude Code gives every call an id. Other agents that send its events don't, and let the
        // tool run if the answer is ask.
        _ if event.text("tool_use_id") == Some("") => Capability { ask: false, ..known },
        _ => known,
    }
}

/// Builds a reply.
struct ReplyWriter<'a> {
    event: &'a Event,
    decision: &'a Decision,
    can: Capability,
    output: SyncHookOutput,
    /// What the event cannot carry, for a message to the user.
    lost: Vec<String>,
}

impl ReplyWriter<'_> {
    fn reply(mut self) -> HostReply {
        let refusal = self.refusal();
        let context = self.context(refusal.is_some());
        let input = self.rewritten_input();
        let result = self.rewritten_output();
        if let Some(reason) = &refusal {
            self.refuse(reason);
        }
        self.add_specific(refusal.as_deref(), context, input, result);
        self.output.suppress_output = self.decision.suppress_output.then_some(true);
        self.output.system_message = self.message();
        match refusal {
            Some(reason) if self.can.event.is_empty() => HostReply::deny_to_any_host(&reason),
            Some(reason) if self.can.deny == Deny::ExitCode => {
                HostReply { stdout: self.stdout(), stderr: reason, exit_code: 2 }
            }
            Some(_) | None => HostReply { stdout: self.stdout(), ..HostReply::default() },
        }
    }

    /// The reason to refuse the operation, if the verdict amounts to that at this event.
    fn refusal(&mut self) -> Option<String> {
        match &self.decision.verdict {
            Verdict::Proceed { .. } | Verdict::Allow { .. } => None,
            Verdict::Ask { .. } if self.can.ask => None,
            Verdict::Ask { reason, .. } => {
                let why =
                    reason.clone().unwrap_or_else(|| "a hook asks for a person's decision".into());
                let then = if self.can_refuse() { ", so it is denied" } else { "" };
                self.lose(format!("cannot ask a person here{then}: {why}"));
                self.can_refuse().then_some(why)
            }
            Verdict::Block { reason } if self.can.deny != Deny::Never => Some(said(reason)),
            Verdict::Block { reason } => {
                self.lose(format!("nothing can be blocked here: {}", said(reason)));
                None
            }
            Verdict::Stop { reason } | Verdict::Abort { reason } => {
                let reason = said(reason);
                self.halt(&reason);
                // If the event cannot end the turn, refuse the announced operation as well.
                self.can_refuse().then_some(reason)
            }
        }
    }

    /// Whether refusing is safe although no hook asked for it. At a stop it would keep the agent
    /// going.
    fn can_refuse(&self) -> bool {
        self.can.deny.prevents() && self.event.name.power() == Power::Blocks
    }

    /// Ends the turn.
    fn halt(&mut self, reason: &str) {
        self.output.go_on = Some(false);
        self.output.stop_reason = Some(reason.to_owned());
        if !self.can.halt {
            let then = if self.can_refuse() { ", so it is only denied" } else { "" };
            self.lose(format!("the session cannot be ended here{then}: {reason}"));
        }
    }

    /// The agent's context. At a stop it would keep the agent going, so it is sent only with a
    /// block.
    fn context(&mut self, refuses: bool) -> Option<String> {
        let piped = self.decision.piped_output.trim_end();
        let texts: Vec<&str> = self
            .decision
            .additional_context
            .iter()
            .map(String::as_str)
            .chain(Some(piped).filter(|text| !text.is_empty()))
            .collect();
        let text = Some(texts.join("\n")).filter(|text| !text.is_empty())?;
        let is_stop = self.can.goes_on && self.can.deny == Deny::Decision;
        if self.can.inject || (is_stop && refuses) {
            return Some(text);
        }
        self.lose(format!("the agent cannot be told here: {text}"));
        None
    }

    fn rewritten_input(&mut self) -> Option<Map<String, Value>> {
        let input = self.decision.verdict.rewritten_input()?;
        match input {
            Value::Object(fields) if self.takes_input() => Some(fields.clone()),
            _ => {
                self.lose("the input cannot be rewritten here".into());
                None
            }
        }
    }

    fn takes_input(&self) -> bool {
        // A permission prompt accepts new input only with an allow.
        let says_yes = matches!(self.decision.verdict, Verdict::Allow { .. });
        match self.can.deny {
            Deny::Permission => self.can.rewrite,
            Deny::Prompt => says_yes,
            Deny::Never | Deny::Decision | Deny::Beside | Deny::Action | Deny::ExitCode => false,
        }
    }

    fn rewritten_output(&mut self) -> Option<Value> {
        let output = self.decision.updated_output.clone()?;
        if self.can.deny != Deny::Beside || !self.can.rewrite {
            self.lose("the output cannot be rewritten here".into());
            return None;
        }
        let fitting = fitting_output(output, self.event.data.get("tool_response"));
        if fitting.is_none() {
            let tool = self.event.text("tool_name").unwrap_or("this tool");
            self.lose(format!(
                "the output of {tool} is an object, which a string cannot replace, so it was not \
                 changed; make `updatedOutput` an object like `tool_response`"
            ));
        }
        fitting
    }

    /// Writes the refusal outside of `hookSpecificOutput`.
    fn refuse(&mut self, reason: &str) {
        match self.can.deny {
            Deny::Decision | Deny::Beside | Deny::ExitCode => {
                self.output.decision = Some(TopDecision::Block);
                self.output.reason = Some(reason.to_owned());
            }
            Deny::Permission | Deny::Prompt | Deny::Action | Deny::Never => {}
        }
    }

    /// Writes `hookSpecificOutput`.
    fn add_specific(
        &mut self,
        refusal: Option<&str>,
        context: Option<String>,
        input: Option<Map<String, Value>>,
        result: Option<Value>,
    ) {
        let (permission, why) = self.permission(refusal);
        let told = context.clone().map(|text| ContextOutput { additional_context: Some(text) });
        self.output.hook_specific_output = match self.can.event {
            "PreToolUse" => {
                let output = PreToolUseOutput {
                    permission_decision: permission,
                    permission_decision_reason: why,
                    updated_input: input,
                    additional_context: context,
                };
                filled(output).map(HookSpecificOutput::PreToolUse)
            }
            "PreModelSwitch" => {
                let output = ModelSwitchOutput {
                    permission_decision: permission,
                    permission_decision_reason: why,
                };
                filled(output).map(HookSpecificOutput::PreModelSwitch)
            }
            "PostToolUse" => {
                let output = PostToolUseOutput {
                    additional_context: context,
                    updated_tool_output: result,
                    ..PostToolUseOutput::default()
                };
                filled(output).map(HookSpecificOutput::PostToolUse)
            }
            "UserPromptSubmit" => filled(UserPromptOutput {
                additional_context: context,
                ..UserPromptOutput::default()
            })
            .map(HookSpecificOutput::UserPromptSubmit),
            "UserPromptExpansion" => filled(UserPromptOutput {
                additional_context: context,
                ..UserPromptOutput::default()
            })
            .map(HookSpecificOutput::UserPromptExpansion),
            "SessionStart" => filled(SessionStartOutput {
                additional_context: context,
                ..SessionStartOutput::default()
            })
            .map(HookSpecificOutput::SessionStart),
            "PermissionRequest" => self.prompt_answer(refusal, input).map(|decision| {
                HookSpecificOutput::PermissionRequest(PermissionRequestOutput { decision })
            }),
            "ElicitationResult" => refusal.map(|_| {
                let action = Some(ElicitationAction::Decline);
                let output = ElicitationOutput { action, content: None };
                HookSpecificOutput::ElicitationResult(output)
            }),
            "PostToolUseFailure" => told.map(HookSpecificOutput::PostToolUseFailure),
            "PostToolBatch" => told.map(HookSpecificOutput::PostToolBatch),
            "SubagentStart" => told.map(HookSpecificOutput::SubagentStart),
            "Stop" => told.map(HookSpecificOutput::Stop),
            "SubagentStop" => told.map(HookSpecificOutput::SubagentStop),
            "PostModelSwitch" => told.map(HookSpecificOutput::PostModelSwitch),
            _ => None,
        };
    }

    fn permission(&self, refusal: Option<&str>) -> (Option<PermissionDecision>, Option<String>) {
        if let Some(reason) = refusal {
            return (Some(PermissionDecision::Deny), Some(reason.to_owned()));
        }
        match &self.decision.verdict {
            Verdict::Allow { reason, .. } => (Some(PermissionDecision::Allow), reason.clone()),
            Verdict::Ask { reason, .. } => (Some(PermissionDecision::Ask), reason.clone()),
            Verdict::Proceed { .. }
            | Verdict::Block { .. }
            | Verdict::Stop { .. }
            | Verdict::Abort { .. } => (None, None),
        }
    }

    /// The answer instead of the user's. `None` leaves the question to the user, as an ask intends.
    fn prompt_answer(
        &self,
        refusal: Option<&str>,
        input: Option<Map<String, Value>>,
    ) -> Option<PermissionAnswer> {
        if let Some(reason) = refusal {
            let interrupt = (self.output.go_on == Some(false)).then_some(true);
            return Some(PermissionAnswer { interrupt, ..PermissionAnswer::deny(reason) });
        }
        let Verdict::Allow { .. } = self.decision.verdict else { return None };
        let updated_permissions = self
            .decision
            .updated_permissions
            .clone()
            .and_then(|rules| serde_json::from_value(rules).ok());
        Some(PermissionAnswer {
            updated_input: input,
            updated_permissions,
            ..PermissionAnswer::allow()
        })
    }

    fn lose(&mut self, what: String) {
        self.lost.push(format!("{}: {what}", self.event.name.hook_event_name()));
    }

    fn message(&self) -> Option<String> {
        let lines: Vec<&str> =
            self.decision.system_messages.iter().chain(&self.lost).map(String::as_str).collect();
        Some(lines.join("\n")).filter(|text| !text.is_empty())
    }

    fn stdout(&self) -> String {
        // Standard output of this event is the path of the work tree.
        if self.output.is_nothing() || self.can.event == "WorktreeCreate" {
            return String::new();
        }
        let mut line = serde_json::to_string(&self.output).expect("plain data");
        line.push('\n');
        line
    }
}

/// New output in the form of the tool's own. Claude Code drops any other form without a message, so
/// a text replaces what a command printed. `None` if the form has no place for a text.
fn fitting_output(output: Value, response: Option<&Value>) -> Option<Value> {
    let (Value::String(text), Some(Value::Object(fields))) = (&output, response) else {
        return Some(output);
    };
    let mut fields = fields.clone();
    if !fields.get("stdout").is_some_and(Value::is_string) {
        return None;
    }
    fields.insert("stdout".to_owned(), text.as_str().into());
    for (name, value) in [("stderr", Value::from("")), ("isImage", Value::from(false))] {
        if fields.contains_key(name) {
            fields.insert(name.to_owned(), value);
        }
    }
    Some(Value::Object(fields))
}

/// The value, unless it is empty.
fn filled<T: Default + PartialEq>(output: T) -> Option<T> {
    Some(output).filter(|output| *output != T::default())
}

/// The reason, or Claude Code's default text.
fn said(reason: &str) -> String {
    if reason.trim().is_empty() { "Blocked by hook".into() } else { reason.to_owned() }
}

#[cfg(test)]
mod tests;

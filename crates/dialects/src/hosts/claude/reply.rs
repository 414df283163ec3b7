//! Writes a decision in Claude Code's format.
//!
//! What an event cannot carry is decided in `hosts/plan.rs`.

use hookwright_events::{Decision, Event, Verdict};
use serde_json::{Map, Value};

use super::capabilities;
use crate::claude::answer::{
    ContextOutput, ElicitationAction, ElicitationOutput, HookSpecificOutput, ModelSwitchOutput,
    PermissionAnswer, PermissionDecision, PermissionRequestOutput, PostToolUseOutput,
    PreToolUseOutput, SessionStartOutput, SyncHookOutput, TopDecision, UserPromptOutput,
};
use crate::hosts::plan::{PlannedPermission, ReplyPlan};
use crate::hosts::{Capability, Deny, HostReply};

/// The decision at this event, in Claude Code's format.
pub(super) fn reply_to(event: &Event, decision: &Decision) -> HostReply {
    let can = capability_of(event);
    let plan = ReplyPlan::new(event, decision, can, true);
    ReplyWriter { event, decision, can, plan, output: SyncHookOutput::default() }.reply()
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
    plan: ReplyPlan,
    output: SyncHookOutput,
}

impl ReplyWriter<'_> {
    fn reply(mut self) -> HostReply {
        if let Some(reason) = &self.plan.halt {
            self.output.go_on = Some(false);
            self.output.stop_reason = Some(reason.clone());
        }
        let result = self.fitting_output();
        let refusal = self.plan.refusal.clone();
        if let Some(reason) = &refusal {
            self.refuse(reason);
        }
        let (context, input) = (self.plan.context.take(), self.plan.input.take());
        self.add_specific(refusal.as_deref(), context, input, result);
        self.output.suppress_output = self.decision.suppress_output.then_some(true);
        self.output.system_message = self.plan.message();
        match refusal {
            Some(reason) if self.can.event.is_empty() => HostReply::deny_to_any_host(&reason),
            Some(reason) if self.can.deny == Deny::ExitCode => HostReply {
                stdout: self.stdout(),
                stderr: reason,
                exit_code: 2,
                ..HostReply::default()
            },
            Some(_) | None => HostReply { stdout: self.stdout(), ..HostReply::default() },
        }
    }

    fn fitting_output(&mut self) -> Option<Value> {
        let output = self.plan.output.take()?;
        let fitting = fitting_output(output, self.event.data.get("tool_response"));
        if fitting.is_none() {
            let tool = self.event.text("tool_name").unwrap_or("this tool");
            self.plan.lose(&format!(
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
            Deny::Permission
            | Deny::Prompt
            | Deny::Action
            | Deny::Never
            | Deny::Portable
            | Deny::Unmeasured => {}
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
        match &self.plan.permission {
            PlannedPermission::Allow(reason) => (Some(PermissionDecision::Allow), reason.clone()),
            PlannedPermission::Ask(reason) => (Some(PermissionDecision::Ask), reason.clone()),
            PlannedPermission::None => (None, None),
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

#[cfg(test)]
mod tests;

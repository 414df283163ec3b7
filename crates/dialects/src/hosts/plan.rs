//! [`ReplyPlan`]: what a reply to a host must say, before it is written in the host's format.
//!
//! The rule for what an event cannot carry is here, once for all hosts: it becomes the next safer
//! thing that the event can carry, and the user is told.
//!
//! | a hook wants | the next safer thing |
//! |---|---|
//! | a person's decision | a deny, except at a stop, where a deny would keep the agent going |
//! | another input | a deny that shows the input, if a tool is about to run |
//! | the end of the turn | a deny of what the event announced |
//! | context before a tool runs | the context with the tool's result |

use hookwright_events::{Decision, Event, EventName, Power, Verdict};
use serde_json::{Map, Value};

use super::limits::SHOWN_INPUT_BYTES_MAX;
use super::{Capability, Deny, Inject, Rewrite};

/// What a reply must say.
#[derive(Debug)]
pub(super) struct ReplyPlan {
    can: Capability,
    /// The reason to refuse the operation.
    pub(super) refusal: Option<String>,
    /// The reason to end the turn, whether or not the event can.
    pub(super) halt: Option<String>,
    /// What a hook says about the operation, if it is not refused.
    pub(super) permission: PlannedPermission,
    /// The agent's context.
    pub(super) context: Option<String>,
    /// Context that has to wait for the tool's result.
    pub(super) later: Option<String>,
    /// The tool's new input.
    pub(super) input: Option<Map<String, Value>>,
    /// The tool's new output.
    pub(super) output: Option<Value>,
    /// What hooks tell the user.
    messages: Vec<String>,
    /// What the event cannot carry, for the user.
    lost: Vec<String>,
    label: String,
}

/// What a hook says about an operation that is not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlannedPermission {
    /// Nothing: the host's own rules apply.
    None,
    /// It needs no question.
    Allow(Option<String>),
    /// A person has to be asked.
    Ask(Option<String>),
}

impl ReplyPlan {
    /// The plan for a decision at an event with these capabilities. `is_whole` says that the event
    /// is the whole call, so that its input can be replaced.
    pub(super) fn new(event: &Event, decision: &Decision, can: Capability, is_whole: bool) -> Self {
        let label = match can.event {
            "" => event.name.hook_event_name().into_owned(),
            name => name.to_owned(),
        };
        let mut plan = Self {
            can,
            refusal: None,
            halt: None,
            permission: PlannedPermission::None,
            context: None,
            later: None,
            input: None,
            output: None,
            messages: decision.system_messages.clone(),
            lost: Vec::new(),
            label,
        };
        plan.refusal = plan.refusal_of(event, decision);
        plan.set_context(event, decision);
        plan.set_input(event, decision, is_whole);
        plan.set_output(decision);
        if plan.refusal.is_none() {
            plan.permission = permission_of(&decision.verdict);
        }
        plan
    }

    /// Adds something that the event cannot carry.
    pub(super) fn lose(&mut self, what: &str) {
        self.lost.push(format!("{}: {what}", self.label));
    }

    /// All messages for the user.
    pub(super) fn message(&self) -> Option<String> {
        let lines: Vec<&str> = self.messages.iter().chain(&self.lost).map(String::as_str).collect();
        Some(lines.join("\n")).filter(|text| !text.is_empty())
    }

    /// The reason of a refusal, and all that is said beside it: for replies in which a refusal
    /// leaves no room for anything else.
    pub(super) fn whole_refusal(&self) -> Option<String> {
        let reason = self.refusal.as_deref()?;
        let is_repeated = self.lost.iter().any(|line| line.contains(reason));
        let lines = self.context.iter().chain(&self.messages).chain(&self.lost);
        let lines =
            Some(reason).filter(|_| !is_repeated).into_iter().chain(lines.map(String::as_str));
        Some(lines.collect::<Vec<_>>().join("\n"))
    }

    fn refusal_of(&mut self, event: &Event, decision: &Decision) -> Option<String> {
        let can_refuse = self.can_refuse(event);
        match &decision.verdict {
            Verdict::Proceed { .. } | Verdict::Allow { .. } => None,
            Verdict::Ask { .. } if self.can.ask => None,
            Verdict::Ask { reason, .. } => {
                let why =
                    reason.clone().unwrap_or_else(|| "a hook asks for a person's decision".into());
                let then = if can_refuse { ", so it is denied" } else { "" };
                self.lose(&format!("cannot ask a person here{then}: {why}"));
                can_refuse.then_some(why)
            }
            Verdict::Block { reason } if self.can.deny != Deny::Never => Some(said(reason)),
            Verdict::Block { reason } => {
                self.lose(&format!("nothing can be blocked here: {}", said(reason)));
                None
            }
            Verdict::Stop { reason } | Verdict::Abort { reason } => {
                let reason = said(reason);
                self.halt = Some(reason.clone());
                if !self.can.halt {
                    let then = if can_refuse { ", so it is only denied" } else { "" };
                    self.lose(&format!("the session cannot be ended here{then}: {reason}"));
                }
                // If the event cannot end the turn, refuse the announced operation as well.
                can_refuse.then_some(reason)
            }
        }
    }

    /// Whether refusing is safe although no hook asked for it. At a stop it would keep the agent
    /// going.
    fn can_refuse(&self, event: &Event) -> bool {
        self.can.deny.prevents() && event.name.power() == Power::Blocks
    }

    /// The agent's context. At a stop it would keep the agent going, so it is sent only with a
    /// block.
    fn set_context(&mut self, event: &Event, decision: &Decision) {
        let piped = decision.piped_output.trim_end();
        let texts: Vec<&str> = decision
            .additional_context
            .iter()
            .map(String::as_str)
            .chain(Some(piped).filter(|text| !text.is_empty()))
            .collect();
        let Some(text) = Some(texts.join("\n")).filter(|text| !text.is_empty()) else { return };
        let has_room = matches!(self.can.deny, Deny::Decision | Deny::Portable | Deny::Unmeasured);
        let is_blocked_stop = self.can.goes_on && has_room && self.refusal.is_some();
        // Without a session there is no later event.
        let has_later = event.text("session_id").is_some_and(|id| !id.is_empty());
        match self.can.inject {
            Inject::Here => self.context = Some(text),
            Inject::Never if is_blocked_stop => self.context = Some(text),
            Inject::Later if has_later => self.later = Some(text),
            Inject::Never | Inject::Later => {
                self.lose(&format!("the agent cannot be told here: {text}"));
            }
        }
    }

    fn set_input(&mut self, event: &Event, decision: &Decision, is_whole: bool) {
        let Some(input) = decision.verdict.rewritten_input() else { return };
        if self.refusal.is_some() {
            return;
        }
        let says_yes = matches!(decision.verdict, Verdict::Allow { .. });
        let can = match self.can.rewrite {
            // After a tool has run, this is about its output.
            _ if !self.can.deny.prevents() => false,
            Rewrite::Never => false,
            Rewrite::Freely => is_whole,
            Rewrite::WithAllow => is_whole && says_yes,
        };
        match input {
            Value::Object(fields) if can => self.input = Some(fields.clone()),
            _ if event.name == EventName::TOOL_PRE_EXECUTE && self.can_refuse(event) => {
                self.refusal = Some(instead(input));
                self.lose("the input cannot be rewritten here, so it is denied");
            }
            _ => self.lose("the input cannot be rewritten here"),
        }
    }

    fn set_output(&mut self, decision: &Decision) {
        let Some(output) = &decision.updated_output else { return };
        match self.can.deny == Deny::Beside && self.can.rewrite == Rewrite::Freely {
            true => self.output = Some(output.clone()),
            false => self.lose("the output cannot be rewritten here"),
        }
    }
}

fn permission_of(verdict: &Verdict) -> PlannedPermission {
    match verdict {
        Verdict::Allow { reason, .. } => PlannedPermission::Allow(reason.clone()),
        Verdict::Ask { reason, .. } => PlannedPermission::Ask(reason.clone()),
        Verdict::Proceed { .. }
        | Verdict::Block { .. }
        | Verdict::Stop { .. }
        | Verdict::Abort { .. } => PlannedPermission::None,
    }
}

/// The reason of a deny that replaces a rewrite.
fn instead(input: &Value) -> String {
    let input = input.to_string();
    match input.len() <= SHOWN_INPUT_BYTES_MAX {
        true => format!("a hook wants this call with another input; make it with {input}"),
        false => format!(
            "a hook wants this call with another input, which is too long to show ({} bytes)",
            input.len()
        ),
    }
}

/// The reason, or Claude Code's default text.
pub(super) fn said(reason: &str) -> String {
    if reason.trim().is_empty() { "Blocked by hook".into() } else { reason.to_owned() }
}

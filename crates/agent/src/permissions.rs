//! [`Permissions`]: whether a call may run, must be asked about, or is denied.
//!
//! Judging is pure. The order, strongest first: a deny rule, a hook's deny, what plan mode denies, an
//! ask rule or a hook's ask, a hook's allow, an allow rule, the other modes, a question. Rules of all
//! files add up.

mod rule;
mod shared;
mod shell;
mod update;

use std::path::{Path, PathBuf};

pub use rule::{PermissionRule, RuleError};
pub use shared::SharedPermissions;
pub use update::RefusedUpdate;

use crate::hooks::CallVerdict;
use crate::tool::Touches;

/// How calls are judged that no rule and no hook decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PermissionMode {
    /// Reading is permitted; everything else is asked about.
    #[default]
    Default,
    /// Changes of files in the workspace are permitted as well.
    AcceptEdits,
    /// Nothing is changed: only reading is permitted.
    Plan,
    /// What would be asked about is denied.
    DontAsk,
    /// Everything is permitted.
    BypassPermissions,
}

impl PermissionMode {
    /// Every mode.
    pub const ALL: [PermissionMode; 5] = [
        PermissionMode::Default,
        PermissionMode::AcceptEdits,
        PermissionMode::Plan,
        PermissionMode::DontAsk,
        PermissionMode::BypassPermissions,
    ];

    /// Its name, on the command line and in events.
    pub fn name(self) -> &'static str {
        match self {
            PermissionMode::Default => "default",
            PermissionMode::AcceptEdits => "acceptEdits",
            PermissionMode::Plan => "plan",
            PermissionMode::DontAsk => "dontAsk",
            PermissionMode::BypassPermissions => "bypassPermissions",
        }
    }

    /// The mode with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// The rules of all files, and the mode.
#[derive(Debug, Clone, Default)]
pub struct Permissions {
    /// The mode.
    pub mode: PermissionMode,
    /// Calls that need no question.
    pub allow: Vec<PermissionRule>,
    /// Calls that need one.
    pub ask: Vec<PermissionRule>,
    /// Calls that never run.
    pub deny: Vec<PermissionRule>,
    /// Where the agent works. Rules without a path reach no further.
    pub workspace: PathBuf,
}

/// A call that is judged.
#[derive(Debug, Clone, Copy)]
pub struct JudgedCall<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What the call would touch.
    pub touches: &'a Touches,
}

/// What a rule is compared with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuleInput<'a> {
    pub(crate) call: JudgedCall<'a>,
    pub(crate) workspace: &'a Path,
}

/// How a call is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionLevel {
    /// It may run.
    Allow,
    /// The user is asked.
    Ask,
    /// It does not run.
    Deny,
}

impl PermissionLevel {
    /// Its word in events.
    pub fn word(self) -> &'static str {
        match self {
            PermissionLevel::Allow => "allow",
            PermissionLevel::Ask => "ask",
            PermissionLevel::Deny => "deny",
        }
    }
}

/// The judgement of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Whether it may run.
    pub level: PermissionLevel,
    /// The rule that decided, as it is written.
    pub rule: Option<String>,
    /// Why; the model reads this when the call is denied.
    pub reason: String,
}

impl Permissions {
    /// Judges a call that hooks have answered.
    pub fn judge(&self, call: JudgedCall<'_>, hooks: &CallVerdict) -> Judgement {
        let input = RuleInput { call, workspace: &self.workspace };
        let may_match = |rules: &[PermissionRule]| {
            rules.iter().find(|rule| rule.may_match(input)).map(|rule| rule.text().to_owned())
        };
        if let Touches::Refused(why) = call.touches {
            return judgement(PermissionLevel::Deny, None, why.clone());
        }
        if let Some(rule) = may_match(&self.deny) {
            let reason = format!("the permission rule `{rule}` denies it");
            return judgement(PermissionLevel::Deny, Some(rule), reason);
        }
        match hooks {
            CallVerdict::Deny(reason) | CallVerdict::End(reason) => {
                return judgement(PermissionLevel::Deny, None, reason.clone());
            }
            CallVerdict::NoOpinion | CallVerdict::Allow | CallVerdict::Ask(_) => {}
        }
        // A subagent changes nothing by itself: its own calls are judged in the same mode.
        let only_reads = matches!(call.touches, Touches::Reads(_) | Touches::Subagent);
        if self.mode == PermissionMode::Plan && !only_reads {
            let reason = "nothing is changed in plan mode; only reading is permitted".to_owned();
            return judgement(PermissionLevel::Deny, None, reason);
        }
        if let Some(rule) = may_match(&self.ask) {
            let reason = format!("the permission rule `{rule}` wants the user to be asked");
            return self.asked(Some(rule), reason);
        }
        if let CallVerdict::Ask(reason) = hooks {
            let reason =
                reason.clone().unwrap_or_else(|| "a hook wants the user to be asked".into());
            return self.asked(None, reason);
        }
        if *hooks == CallVerdict::Allow {
            return judgement(PermissionLevel::Allow, None, "a hook permits it".to_owned());
        }
        if let Some(rule) = self.allow.iter().find(|rule| rule.surely_matches(input)) {
            let reason = format!("the permission rule `{}` permits it", rule.text());
            return judgement(PermissionLevel::Allow, Some(rule.text().to_owned()), reason);
        }
        let mode = self.mode.name();
        // What is outside of the workspace is reachable only because a rule names its folder; what that
        // rule does not permit itself is asked about.
        let (reads, changes) = match call.touches {
            Touches::Reads(path) => (path.starts_with(&self.workspace), false),
            Touches::Changes(path) => (false, path.starts_with(&self.workspace)),
            Touches::Subagent => (true, false),
            Touches::Command(_) | Touches::Refused(_) | Touches::Other => (false, false),
        };
        let permits = match self.mode {
            PermissionMode::BypassPermissions => true,
            PermissionMode::AcceptEdits => reads || changes,
            PermissionMode::Default | PermissionMode::Plan | PermissionMode::DontAsk => reads,
        };
        if permits {
            return judgement(PermissionLevel::Allow, None, format!("the mode {mode} permits it"));
        }
        self.asked(None, format!("no permission rule permits it, and the mode is {mode}"))
    }

    /// A question, unless the mode asks none.
    fn asked(&self, rule: Option<String>, reason: String) -> Judgement {
        match self.mode {
            PermissionMode::DontAsk => {
                let reason = format!("{reason}; the mode dontAsk asks no questions");
                judgement(PermissionLevel::Deny, rule, reason)
            }
            _ => judgement(PermissionLevel::Ask, rule, reason),
        }
    }
}

fn judgement(level: PermissionLevel, rule: Option<String>, reason: String) -> Judgement {
    Judgement { level, rule, reason }
}

#[cfg(test)]
mod tests;

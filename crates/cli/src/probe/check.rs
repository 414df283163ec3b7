//! [`Check`]: one thing that the probe looks at. Each is a row of the table.

use hookwright_dialects::hosts::{Deny, Host, Inject, Rewrite};
use hookwright_events::EventName;

/// One thing that the probe looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// The hooks of an event run; its native name.
    Fires(&'static str),
    /// What hooks of an event add reaches the model; its native name.
    Context(&'static str),
    /// A prompt is denied.
    Prompt,
    /// A call is denied.
    Call(CallKind),
    /// A call about which a person has to be asked, where there is none.
    Ask,
    /// A call gets another input.
    Rewrite,
    /// The command of a guard is missing.
    GuardMissing,
    /// A guard is killed.
    GuardCrash,
    /// A guard does not answer.
    GuardHang,
    /// This program is missing.
    ProgramMissing,
    /// This program is killed.
    ProgramCrash,
    /// A stop is blocked again and again.
    Stop,
}

/// The kinds of calls that are denied, each after one that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    /// A shell command.
    Shell,
    /// A shell command, not from within another tool.
    Direct,
    /// A new file.
    File,
    /// A tool of an MCP server.
    Server,
    /// A shell command of a subagent.
    Subagent,
    /// A line typed into a running command.
    Typed,
}

/// Every check for a host.
pub(super) fn all(host: &Host) -> Vec<Check> {
    let calls = &host.offline.calls;
    let mut all = Vec::new();
    for known in host.capabilities.iter().filter(|known| is_native(known.native)) {
        let has_context = known.inject != Inject::Never && CONTEXT_EVENTS.contains(&known.native);
        if has_context {
            all.push(Check::Context(known.native));
        }
        match known.native {
            "user:prompt_submit" if is_measured(known.deny) => all.push(Check::Prompt),
            "tool:pre_execute" => {
                all.push(Check::Call(CallKind::Shell));
                all.extend(calls.direct.is_some().then_some(Check::Call(CallKind::Direct)));
                all.push(Check::Call(CallKind::File));
                all.push(Check::Call(CallKind::Server));
                all.extend(calls.subagent.is_some().then_some(Check::Call(CallKind::Subagent)));
                all.extend(calls.typed.is_some().then_some(Check::Call(CallKind::Typed)));
                all.push(Check::Ask);
                all.extend((known.rewrite != Rewrite::Never).then_some(Check::Rewrite));
                all.extend([Check::GuardMissing, Check::GuardCrash, Check::GuardHang]);
                all.extend([Check::ProgramMissing, Check::ProgramCrash]);
            }
            "session:stop" if known.goes_on => all.push(Check::Stop),
            native if !has_context => all.push(Check::Fires(native)),
            _ => {}
        }
    }
    all
}

/// The events whose hooks add context in the script.
pub(super) const CONTEXT_EVENTS: [&str; 4] =
    ["session:start", "user:prompt_submit", "tool:pre_execute", "tool:post_execute"];

fn is_native(name: &str) -> bool {
    EventName::resolve(name).is_some_and(|event| event.spec().is_some())
}

fn is_measured(deny: Deny) -> bool {
    deny.prevents() && deny != Deny::Unmeasured
}

impl Check {
    /// The native name of its event.
    pub(crate) fn event(self) -> &'static str {
        match self {
            Check::Fires(event) | Check::Context(event) => event,
            Check::Prompt => "user:prompt_submit",
            Check::Stop => "session:stop",
            Check::Call(_)
            | Check::Ask
            | Check::Rewrite
            | Check::GuardMissing
            | Check::GuardCrash
            | Check::GuardHang
            | Check::ProgramMissing
            | Check::ProgramCrash => "tool:pre_execute",
        }
    }

    /// What it looks at, in words.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Check::Fires(_) => "hooks run",
            Check::Context(_) => "context reaches the model",
            Check::Prompt => "a prompt is denied",
            Check::Call(CallKind::Shell) => "a shell command is denied",
            Check::Call(CallKind::Direct) => "the same, not from within another tool",
            Check::Call(CallKind::File) => "a new file is denied",
            Check::Call(CallKind::Server) => "a tool of an MCP server is denied",
            Check::Call(CallKind::Subagent) => "a subagent's shell command is denied",
            Check::Call(CallKind::Typed) => "a line typed into a running command is denied",
            Check::Ask => "a question that no person can answer",
            Check::Rewrite => "a command is replaced",
            Check::GuardMissing => "a guard is missing",
            Check::GuardCrash => "a guard is killed",
            Check::GuardHang => "a guard does not answer",
            Check::ProgramMissing => "hookwright is missing",
            Check::ProgramCrash => "hookwright is killed",
            Check::Stop => "a stop is blocked again and again",
        }
    }

    /// The word for it in commands, file names and reasons.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Check::Fires(_) | Check::Context(_) => "event",
            Check::Prompt => "prompt",
            Check::Call(CallKind::Shell) => "shell",
            Check::Call(CallKind::Direct) => "direct",
            Check::Call(CallKind::File) => "file",
            Check::Call(CallKind::Server) => "server",
            Check::Call(CallKind::Subagent) => "subagent",
            Check::Call(CallKind::Typed) => "typed",
            Check::Ask => "ask",
            Check::Rewrite => "rewrite",
            Check::GuardMissing => "missing",
            Check::GuardCrash => "crash",
            Check::GuardHang => "hang",
            Check::ProgramMissing => "absent",
            Check::ProgramCrash => "killed",
            Check::Stop => "stop",
        }
    }

    /// Whether the agent itself leaves this open, and nothing outside it can change that: Codex
    /// tells its hooks nothing of what is typed into a running command.
    pub(super) fn is_known_hole(self) -> bool {
        self == Check::Call(CallKind::Typed)
    }
}

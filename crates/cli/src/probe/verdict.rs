//! [`ProbeVerdict`]: what a run shows about a check.

use hookwright_dialects::hosts::Host;

use super::check::{CallKind, Check};
use super::limits::STOPS_MAX;
use super::run::AgentRun;
use super::script::RunPlan;

/// What a run shows about a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProbeVerdict {
    /// The hooks ran, and what they added reached the model.
    Fired,
    /// The event did not happen, or the agent ran no hooks at it.
    Absent,
    /// What the hooks added did not reach the model.
    NotHeard,
    /// What was denied did not happen, and the model knows why.
    Denied,
    /// What was denied did not happen, and the agent ended its work.
    DeniedAndEnded,
    /// What was denied did not happen, but the model was not told why.
    Unheard,
    /// The call ran with the other input.
    Replaced,
    /// The agent ended after this many stops.
    Capped(usize),
    /// What was denied happened.
    Open,
    /// The same, and the agent leaves no way to prevent it.
    OpenKnown,
    /// The allowed call did not run either, so nothing is proven.
    Unproven,
}

impl ProbeVerdict {
    /// Whether it counts against the agent or its settings.
    pub(crate) fn is_failure(&self) -> bool {
        match self {
            ProbeVerdict::Open | ProbeVerdict::Unheard | ProbeVerdict::Unproven => true,
            ProbeVerdict::Fired
            | ProbeVerdict::Absent
            | ProbeVerdict::NotHeard
            | ProbeVerdict::Denied
            | ProbeVerdict::DeniedAndEnded
            | ProbeVerdict::Replaced
            | ProbeVerdict::Capped(_)
            | ProbeVerdict::OpenKnown => false,
        }
    }

    /// The word in the table.
    pub(crate) fn word(&self) -> String {
        match self {
            ProbeVerdict::Fired => "fired".into(),
            ProbeVerdict::Absent => "-".into(),
            ProbeVerdict::NotHeard => "not heard".into(),
            ProbeVerdict::Denied => "denied".into(),
            ProbeVerdict::DeniedAndEnded => "denied, the run ended".into(),
            ProbeVerdict::Unheard => "denied, the model was not told".into(),
            ProbeVerdict::Replaced => "replaced".into(),
            ProbeVerdict::Capped(stops) => format!("capped after {stops}"),
            ProbeVerdict::Open => "open".into(),
            ProbeVerdict::OpenKnown => "open (known)".into(),
            ProbeVerdict::Unproven => "not proven".into(),
        }
    }
}

/// What a run shows about a check.
pub(super) fn of(host: &Host, check: Check, plan: &RunPlan, run: &AgentRun) -> ProbeVerdict {
    match check {
        Check::Fires(event) if run.fired(event) > 0 => ProbeVerdict::Fired,
        Check::Fires(_) => ProbeVerdict::Absent,
        Check::Context(event) if run.heard(context_of(event)) => ProbeVerdict::Fired,
        Check::Context(_) => ProbeVerdict::NotHeard,
        Check::Prompt if !run.asked.is_empty() => ProbeVerdict::Open,
        Check::Prompt if run.fired(check.event()) > 0 => ProbeVerdict::Denied,
        Check::Prompt => ProbeVerdict::Unproven,
        Check::Stop => match run.fired(check.event()) {
            0 => ProbeVerdict::Unproven,
            stops if run.not_ended.is_none() && stops <= STOPS_MAX => ProbeVerdict::Capped(stops),
            _ => ProbeVerdict::Open,
        },
        Check::Rewrite if run.has("replaced") && !run.has("denied-rewrite") => {
            ProbeVerdict::Replaced
        }
        Check::Call(_)
        | Check::Ask
        | Check::Rewrite
        | Check::GuardMissing
        | Check::GuardCrash
        | Check::GuardHang
        | Check::ProgramMissing
        | Check::ProgramCrash => denied(host, check, plan, run),
    }
}

fn denied(host: &Host, check: Check, plan: &RunPlan, run: &AgentRun) -> ProbeVerdict {
    let mark = check.mark();
    if run.has(&format!("denied-{mark}")) {
        return if check.is_known_hole() { ProbeVerdict::OpenKnown } else { ProbeVerdict::Open };
    }
    // Without an allowed call of the same kind that ran, the denied one may never have been tried.
    let is_tried = match check {
        Check::Call(_) => run.has(&format!("allowed-{mark}")),
        Check::ProgramMissing | Check::ProgramCrash => was_refused(run),
        _ => run.has("allowed-first") || run.has("allowed-shell"),
    };
    let reason = match check {
        Check::Rewrite => "touch replaced".to_owned(),
        _ => format!("probe-refused-{mark}"),
    };
    match check {
        _ if !is_tried => ProbeVerdict::Unproven,
        // The agent may take a missing program for a no at the prompt already.
        Check::ProgramMissing | Check::ProgramCrash if run.asked.is_empty() => {
            ProbeVerdict::DeniedAndEnded
        }
        // Nothing of ours ran that could give a reason.
        Check::ProgramMissing | Check::ProgramCrash => ProbeVerdict::Denied,
        _ if run.heard(&reason) => ProbeVerdict::Denied,
        Check::Call(CallKind::Subagent) if host.offline.ends_at_deny => {
            ProbeVerdict::DeniedAndEnded
        }
        _ if host.offline.ends_at_deny && plan.checks.len() == 1 => ProbeVerdict::DeniedAndEnded,
        _ => ProbeVerdict::Unheard,
    }
}

/// Whether the agent ended its work by itself, whatever it did about the call.
fn was_refused(run: &AgentRun) -> bool {
    run.not_ended.is_none()
}

/// What the hooks of an event add.
fn context_of(event: &str) -> &'static str {
    match event {
        "session:start" => "probe-context-start",
        "user:prompt_submit" => "probe-context-prompt",
        "tool:pre_execute" => "probe-context-before",
        _ => "probe-context-after",
    }
}

#[cfg(test)]
mod tests {
    use hookwright_dialects::hosts;
    use serde_json::json;

    use super::*;
    use crate::probe::script::{CalledProgram, RunPlan};

    fn verdict(check: Check, run: &AgentRun) -> ProbeVerdict {
        let host = hosts::named("codex").expect("a host");
        let plan = RunPlan {
            checks: vec![check],
            is_users: false,
            program: CalledProgram::This,
            is_short: false,
        };
        of(host, check, &plan, run)
    }

    fn run(files: &[&str], asked: &[&str]) -> AgentRun {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        AgentRun { files: own(files), asked: own(asked), ..AgentRun::default() }
    }

    const SHELL: Check = Check::Call(CallKind::Shell);

    #[test]
    fn a_denied_call_that_ran_is_open_whatever_the_model_heard() {
        let open = run(&["allowed-shell", "denied-shell"], &["probe-refused-shell"]);
        assert_eq!(verdict(SHELL, &open), ProbeVerdict::Open);
        assert!(verdict(SHELL, &open).is_failure());
    }

    #[test]
    fn a_deny_counts_only_with_an_allowed_call_that_ran_and_a_reason_that_was_heard() {
        let denied = run(&["allowed-shell"], &["x", "… probe-refused-shell …"]);
        assert_eq!(verdict(SHELL, &denied), ProbeVerdict::Denied);
        let unheard = run(&["allowed-shell"], &["x"]);
        assert_eq!(verdict(SHELL, &unheard), ProbeVerdict::Unheard);
        assert!(ProbeVerdict::Unheard.is_failure());
        let nothing_ran = run(&[], &["probe-refused-shell"]);
        assert_eq!(verdict(SHELL, &nothing_ran), ProbeVerdict::Unproven);
        assert!(ProbeVerdict::Unproven.is_failure());
    }

    #[test]
    fn a_known_hole_does_not_count() {
        let check = Check::Call(CallKind::Typed);
        let open = run(&["allowed-typed", "denied-typed"], &[]);
        assert_eq!(verdict(check, &open), ProbeVerdict::OpenKnown);
        assert!(!ProbeVerdict::OpenKnown.is_failure());
    }

    #[test]
    fn a_stop_is_capped_if_the_agent_ends_and_open_if_it_goes_on() {
        let stops = |count: usize| vec![json!({ "event": "session:stop" }); count];
        let ended = AgentRun { events: stops(9), ..AgentRun::default() };
        assert_eq!(verdict(Check::Stop, &ended), ProbeVerdict::Capped(9));
        let on = AgentRun { not_ended: Some("it did not end".into()), ..ended };
        assert_eq!(verdict(Check::Stop, &on), ProbeVerdict::Open);
        let many = AgentRun { events: stops(STOPS_MAX + 1), ..AgentRun::default() };
        assert_eq!(verdict(Check::Stop, &many), ProbeVerdict::Open);
        assert_eq!(verdict(Check::Stop, &AgentRun::default()), ProbeVerdict::Unproven);
    }

    #[test]
    fn a_denied_prompt_asks_no_model() {
        let fired =
            AgentRun { events: vec![json!({ "event": "user:prompt_submit" })], ..run(&[], &[]) };
        assert_eq!(verdict(Check::Prompt, &fired), ProbeVerdict::Denied);
        assert_eq!(verdict(Check::Prompt, &run(&[], &["x"])), ProbeVerdict::Open);
        assert_eq!(verdict(Check::Prompt, &run(&[], &[])), ProbeVerdict::Unproven);
    }
}

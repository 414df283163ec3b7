//! [`Verdict`]: what a run shows about a check.

use hookwright_dialects::hosts::Host;

use super::check::{CallKind, Check};
use super::limits::STOPS_MAX;
use super::run::AgentRun;
use super::script::RunPlan;

/// What a run shows about a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
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

impl Verdict {
    /// Whether it counts against the agent or its settings.
    pub(crate) fn is_failure(&self) -> bool {
        match self {
            Verdict::Open | Verdict::Unheard | Verdict::Unproven => true,
            Verdict::Fired
            | Verdict::Absent
            | Verdict::NotHeard
            | Verdict::Denied
            | Verdict::DeniedAndEnded
            | Verdict::Replaced
            | Verdict::Capped(_)
            | Verdict::OpenKnown => false,
        }
    }

    /// The word in the table.
    pub(crate) fn word(&self) -> String {
        match self {
            Verdict::Fired => "fired".into(),
            Verdict::Absent => "-".into(),
            Verdict::NotHeard => "not heard".into(),
            Verdict::Denied => "denied".into(),
            Verdict::DeniedAndEnded => "denied, the run ended".into(),
            Verdict::Unheard => "denied, the model was not told".into(),
            Verdict::Replaced => "replaced".into(),
            Verdict::Capped(stops) => format!("capped after {stops}"),
            Verdict::Open => "open".into(),
            Verdict::OpenKnown => "open (known)".into(),
            Verdict::Unproven => "not proven".into(),
        }
    }
}

/// What a run shows about a check.
pub(super) fn of(host: &Host, check: Check, plan: &RunPlan, run: &AgentRun) -> Verdict {
    match check {
        Check::Fires(event) if run.fired(event) > 0 => Verdict::Fired,
        Check::Fires(_) => Verdict::Absent,
        Check::Context(event) if run.heard(context_of(event)) => Verdict::Fired,
        Check::Context(_) => Verdict::NotHeard,
        Check::Prompt if !run.asked.is_empty() => Verdict::Open,
        Check::Prompt if run.fired(check.event()) > 0 => Verdict::Denied,
        Check::Prompt => Verdict::Unproven,
        Check::Stop => match run.fired(check.event()) {
            0 => Verdict::Unproven,
            stops if run.not_ended.is_none() && stops <= STOPS_MAX => Verdict::Capped(stops),
            _ => Verdict::Open,
        },
        Check::Rewrite if run.has("replaced") && !run.has("denied-rewrite") => Verdict::Replaced,
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

fn denied(host: &Host, check: Check, plan: &RunPlan, run: &AgentRun) -> Verdict {
    let mark = check.mark();
    if run.has(&format!("denied-{mark}")) {
        return if check.is_known_hole() { Verdict::OpenKnown } else { Verdict::Open };
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
        _ if !is_tried => Verdict::Unproven,
        // The agent may take a missing program for a no at the prompt already.
        Check::ProgramMissing | Check::ProgramCrash if run.asked.is_empty() => {
            Verdict::DeniedAndEnded
        }
        // Nothing of ours ran that could give a reason.
        Check::ProgramMissing | Check::ProgramCrash => Verdict::Denied,
        _ if run.heard(&reason) => Verdict::Denied,
        Check::Call(CallKind::Subagent) if host.offline.ends_at_deny => Verdict::DeniedAndEnded,
        _ if host.offline.ends_at_deny && plan.checks.len() == 1 => Verdict::DeniedAndEnded,
        _ => Verdict::Unheard,
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
    use crate::probe::script::{OwnProgram, RunPlan};

    fn verdict(check: Check, run: &AgentRun) -> Verdict {
        let host = hosts::named("codex").expect("a host");
        let plan = RunPlan {
            checks: vec![check],
            is_users: false,
            program: OwnProgram::This,
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
        assert_eq!(verdict(SHELL, &open), Verdict::Open);
        assert!(verdict(SHELL, &open).is_failure());
    }

    #[test]
    fn a_deny_counts_only_with_an_allowed_call_that_ran_and_a_reason_that_was_heard() {
        let denied = run(&["allowed-shell"], &["x", "… probe-refused-shell …"]);
        assert_eq!(verdict(SHELL, &denied), Verdict::Denied);
        let unheard = run(&["allowed-shell"], &["x"]);
        assert_eq!(verdict(SHELL, &unheard), Verdict::Unheard);
        assert!(Verdict::Unheard.is_failure());
        let nothing_ran = run(&[], &["probe-refused-shell"]);
        assert_eq!(verdict(SHELL, &nothing_ran), Verdict::Unproven);
        assert!(Verdict::Unproven.is_failure());
    }

    #[test]
    fn a_known_hole_does_not_count() {
        let check = Check::Call(CallKind::Typed);
        let open = run(&["allowed-typed", "denied-typed"], &[]);
        assert_eq!(verdict(check, &open), Verdict::OpenKnown);
        assert!(!Verdict::OpenKnown.is_failure());
    }

    #[test]
    fn a_stop_is_capped_if_the_agent_ends_and_open_if_it_goes_on() {
        let stops = |count: usize| vec![json!({ "event": "session:stop" }); count];
        let ended = AgentRun { events: stops(9), ..AgentRun::default() };
        assert_eq!(verdict(Check::Stop, &ended), Verdict::Capped(9));
        let on = AgentRun { not_ended: Some("it did not end".into()), ..ended };
        assert_eq!(verdict(Check::Stop, &on), Verdict::Open);
        let many = AgentRun { events: stops(STOPS_MAX + 1), ..AgentRun::default() };
        assert_eq!(verdict(Check::Stop, &many), Verdict::Open);
        assert_eq!(verdict(Check::Stop, &AgentRun::default()), Verdict::Unproven);
    }

    #[test]
    fn a_denied_prompt_asks_no_model() {
        let fired =
            AgentRun { events: vec![json!({ "event": "user:prompt_submit" })], ..run(&[], &[]) };
        assert_eq!(verdict(Check::Prompt, &fired), Verdict::Denied);
        assert_eq!(verdict(Check::Prompt, &run(&[], &["x"])), Verdict::Open);
        assert_eq!(verdict(Check::Prompt, &run(&[], &[])), Verdict::Unproven);
    }
}

//! Whether a matching hook may run. Dispatch checks this before it starts a hook; `explain` checks
//! it without starting one.

use hookwright_events::{Event, Power};

use crate::chain::Chain;
use crate::hook::Hook;
use crate::limits::FIRING_DEPTH_MAX;
use crate::variables::Variables;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StartCheck {
    Runs,
    /// It is passed over, for this reason.
    Passed(String),
    /// It cannot start, for this reason. The hook has failed.
    Refused(String),
    /// It cannot start because of the hooks above this firing. The hook has failed, and if it is a
    /// guard, the event is blocked.
    RefusedByChain(String),
}

/// Why a hook's configuration or the command line disables it for an event.
pub(crate) fn switched_off(hook: &Hook, event: &Event, skip: &[String]) -> Option<String> {
    if !hook.enabled {
        return Some("enabled: false".into());
    }
    if skip.contains(&hook.id) {
        return Some(format!("--skip {}", hook.id));
    }
    // If the host is unknown, every guard runs.
    let host = event.text(HOST).filter(|_| !hook.hosts.is_empty())?;
    let is_meant = hook.hosts.iter().any(|meant| **meant == *host);
    (!is_meant).then(|| format!("host: {}", hook.hosts.join(", ")))
}

/// The event field that names the host. It is not a variable: shells have one of that name.
const HOST: &str = "host";

/// Whether the hook started this session: a review does not review itself. A guard is not passed
/// over. It fails, because the session would start itself again.
pub(crate) fn starts_itself(hook: &Hook, started_by: &[String], power: Power) -> bool {
    hook.action.action_type().starts_session
        && power != Power::Blocks
        && started_by.contains(&hook.key())
}

/// Evaluates the hook's condition.
pub(crate) fn condition(hook: &Hook, variables: &Variables<'_>) -> StartCheck {
    let Some(when) = &hook.when else { return StartCheck::Runs };
    match when.holds(variables) {
        Ok(true) => StartCheck::Runs,
        Ok(false) => StartCheck::Passed(format!("when: {}", when.source())),
        Err(error) => StartCheck::Refused(format!(
            "its condition `{}` cannot be evaluated: {error}",
            when.source()
        )),
    }
}

/// What keeps a hook from starting whatever its condition says: the chain, or an action that this
/// version cannot run.
pub(crate) fn start(hook: &Hook, event: &Event, chain: &Chain) -> StartCheck {
    if let Some(circle) = chain.circle(&event.name, &hook.id, &hook.source.path) {
        return StartCheck::RefusedByChain(format!("it would wake itself again: {circle}"));
    }
    if chain.depth() >= FIRING_DEPTH_MAX {
        let cause = format!("events are already nested {FIRING_DEPTH_MAX} deep: {chain}");
        return StartCheck::RefusedByChain(cause);
    }
    match hook.action.action_type().missing {
        Some(cause) => StartCheck::Refused(cause.to_owned()),
        None => StartCheck::Runs,
    }
}

/// Whether a hook that the chain keeps from starting blocks the event, whatever its `on_failure`
/// says.
///
/// The agent can write a chain into its environment, and can build one: a guard that runs the
/// project's tests runs the agent's own code. So a guard that cannot run is a no. One exception: a
/// hook at a stop that starts another agent. That agent could never stop, so a chain that the
/// processes above prove does not block there.
pub(crate) fn chain_blocks(hook: &Hook, event: &Event, chain: &Chain) -> bool {
    // A hook that runs after the fact decides nothing.
    let has_say = !hook.policy.after_the_fact_at.contains(&event.name);
    has_say
        && match event.name.power() {
            Power::Blocks => true,
            Power::BlocksOnPurpose => chain.is_claimed(),
            Power::Annotates | Power::Observes => false,
        }
}

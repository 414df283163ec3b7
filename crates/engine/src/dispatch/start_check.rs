//! Whether a hook that fits may run at all. Dispatch asks before it starts one, and `explain` asks
//! the same without starting any.

use hookwright_events::{Event, Power};

use crate::chain::Chain;
use crate::hook::Hook;
use crate::limits::FIRING_DEPTH_MAX;
use crate::variables::Variables;

/// Whether a hook may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Whether {
    /// It may.
    Runs,
    /// It is passed, for this reason.
    Passed(String),
    /// It cannot start, for this reason; that is a failure of the hook.
    Refused(String),
    /// It cannot start because of the hooks above this firing. That is a failure of the hook, and
    /// where a guard would have answered, the event is blocked.
    RefusedByChain(String),
}

/// Why its own configuration or the command line keeps a hook from running at an event.
pub(crate) fn switched_off(hook: &Hook, event: &Event, skip: &[String]) -> Option<String> {
    if !hook.enabled {
        return Some("enabled: false".into());
    }
    if skip.contains(&hook.id) {
        return Some(format!("--skip {}", hook.id));
    }
    // Where the host is not named, every guard has to look.
    let host = event.text(HOST).filter(|_| !hook.hosts.is_empty())?;
    let is_meant = hook.hosts.iter().any(|meant| **meant == *host);
    (!is_meant).then(|| format!("host: {}", hook.hosts.join(", ")))
}

/// The field of an event that says which host fired it. It is no variable: shells have one of that
/// name.
const HOST: &str = "host";

/// Whether the hook has started this session: a review is not reviewed by itself. A guard is not
/// passed; it fails, because the session would start itself again.
pub(crate) fn starts_itself(hook: &Hook, started_by: &[String], power: Power) -> bool {
    hook.action.action_type().starts_session
        && power != Power::Blocks
        && started_by.contains(&hook.key())
}

/// What the hook's condition says now.
pub(crate) fn condition(hook: &Hook, variables: &Variables<'_>) -> Whether {
    let Some(when) = &hook.when else { return Whether::Runs };
    match when.holds(variables) {
        Ok(true) => Whether::Runs,
        Ok(false) => Whether::Passed(format!("when: {}", when.source())),
        Err(error) => Whether::Refused(format!(
            "its condition `{}` cannot be evaluated: {error}",
            when.source()
        )),
    }
}

/// What keeps a hook from starting whatever its condition says: the firings above it, or an action
/// that this version cannot run.
pub(crate) fn start(hook: &Hook, event: &Event, chain: &Chain) -> Whether {
    if let Some(circle) = chain.circle(&event.name, &hook.id, &hook.source.path) {
        return Whether::RefusedByChain(format!("it would wake itself again: {circle}"));
    }
    if chain.depth() >= FIRING_DEPTH_MAX {
        let cause = format!("events are already nested {FIRING_DEPTH_MAX} deep: {chain}");
        return Whether::RefusedByChain(cause);
    }
    match hook.action.action_type().missing {
        Some(cause) => Whether::Refused(cause.to_owned()),
        None => Whether::Runs,
    }
}

/// Whether a hook that the chain keeps from starting blocks the event, whatever its `on_failure` says.
///
/// The agent can write a chain into its environment, and can build one: a guard that runs the
/// project's tests runs the agent's own code. So a guard that cannot be asked is a no. One exception: a
/// hook at a stop that starts another agent. That agent could never stop, so there a chain that the
/// processes above prove does not block.
pub(crate) fn chain_blocks(hook: &Hook, event: &Event, chain: &Chain) -> bool {
    // A hook that runs after the fact has no say.
    let has_say = !hook.policy.after_the_fact_at.contains(&event.name);
    has_say
        && match event.name.power() {
            Power::Blocks => true,
            Power::BlocksOnPurpose => chain.is_claimed(),
            Power::Annotates | Power::Observes => false,
        }
}

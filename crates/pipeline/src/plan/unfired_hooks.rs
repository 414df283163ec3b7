//! Hooks that nothing in a session fires: no agent has settings that call this program, no stage
//! has a queue, no hook commits.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use hookwright_dialects::hosts::{self, Connection, Host};
use hookwright_engine::HookSet;
use hookwright_engine::hook::{Action, Hook, Layer};
use hookwright_events::EventSpec;
use hookwright_events::table::{AGENT, RUN};

use super::{Plan, Until};

/// The value of the field `host` in the events of a session.
const HOST: &str = "run";

/// Events of the domain `session` that a built-in agent fires in its turn.
const IN_TURN: [&str; 3] = ["session:message", "session:notification", "session:pre_compact"];

/// The enabled hooks of a session, and of the sessions that its hooks start, that nothing in any of
/// them fires. `plans` are all these sessions.
pub(super) fn find(plans: &[&Plan], connections: &[Connection]) -> Vec<Arc<Hook>> {
    let mut fired = HashSet::new();
    for plan in plans {
        let firing = FiringSources::of_plan(plan, connections);
        let hooks = plan.sets().flat_map(HookSet::hooks);
        fired.extend(hooks.filter(|hook| firing.reaches(hook)).map(|hook| key(hook)));
    }
    let mut unfired = Vec::new();
    for set in plans.iter().flat_map(|plan| plan.sets()) {
        for hook in set.hooks().iter().filter(|hook| is_meant_here(hook, set, plans)) {
            // A hook of several stages is listed once.
            if fired.insert(key(hook)) {
                unfired.push(Arc::clone(hook));
            }
        }
    }
    unfired
}

/// The number of hooks of a session, each counted once.
pub(super) fn distinct(plan: &Plan) -> usize {
    let hooks = plan.sets().flat_map(HookSet::hooks);
    hooks.map(|hook| key(hook)).collect::<HashSet<_>>().len()
}

/// Identifies a hook among all plans.
fn key(hook: &Hook) -> (&Path, u32, &str, &str) {
    (&hook.source.path, hook.source.line, &hook.event, &hook.id)
}

/// Whether a hook is meant for these sessions: one for a host that is not an agent of theirs isn't.
fn is_meant_here(hook: &Hook, set: &HookSet, plans: &[&Plan]) -> bool {
    let is_dropped = set.global_is_disabled()
        && hook.layer == Layer::Global
        && !hook.pattern.any(|event| event.power.can_block());
    let names = |host: &str| hook.hosts.iter().any(|named| **named == *host);
    let works_here = |host: &Host| {
        host.agents.iter().any(|agent| plans.iter().any(|plan| plan.may_start(agent.name)))
    };
    let has_host = hook.hosts.is_empty()
        || names(HOST)
        || hosts::all().iter().any(|host| names(host.name) && works_here(host));
    hook.enabled && !is_dropped && has_host
}

/// What fires events in one session: its queues, commits and agents.
struct FiringSources<'a> {
    has_queue: bool,
    commits: bool,
    /// One of its agents fires the events of an agent's life itself.
    has_host: bool,
    /// Those of its agents.
    connections: Vec<&'a Connection>,
}

impl<'a> FiringSources<'a> {
    fn of_plan(plan: &Plan, connections: &'a [Connection]) -> Self {
        let connections = connections.iter().filter(|known| plan.may_start(known.agent)).collect();
        let has_queue = plan.stages.iter().any(|stage| matches!(stage.until, Until::Queue { .. }));
        let has_host = plan.has_host();
        let without_commits = Self { has_queue, commits: false, has_host, connections };
        let commits = |hook: &Arc<Hook>| {
            matches!(hook.action, Action::GitCommit(_))
                && hook.enabled
                && without_commits.reaches(hook)
        };
        let commits = plan.sets().flat_map(HookSet::hooks).any(commits);
        Self { commits, ..without_commits }
    }

    fn reaches(&self, hook: &Hook) -> bool {
        let is_of_run = hook.hosts.is_empty() || hook.hosts.iter().any(|host| **host == *HOST);
        (is_of_run && hook.pattern.any(|event| self.is_fired(event)))
            || self.connections.iter().any(|connection| connection.may_wake(hook))
    }

    /// Whether the session itself fires this event.
    fn is_fired(&self, event: &EventSpec) -> bool {
        match event.name.split(':').next() {
            Some("execution") => self.has_queue,
            Some("git") => self.commits,
            // Those of the session itself are the run's; an agent in it fires `agent:start` and so on.
            Some("session") if self.has_host => {
                event.fired_by.contains(&RUN) || IN_TURN.contains(&event.name)
            }
            _ => event.fired_by.contains(&RUN) || self.has_host && event.fired_by.contains(&AGENT),
        }
    }
}

impl Plan {
    fn sets(&self) -> impl Iterator<Item = &HookSet> {
        self.stages.iter().map(|stage| &stage.hooks).chain([&self.hooks])
    }

    /// Whether one of its agents fires the events of an agent's life itself.
    pub fn has_host(&self) -> bool {
        self.stages.iter().flat_map(|stage| &stage.agents).any(|it| it.agent.is_host())
    }

    /// Whether one of its agents may be this one, by the name of its preset.
    fn may_start(&self, agent: &str) -> bool {
        let mut agents = self.stages.iter().flat_map(|stage| &stage.agents);
        agents.any(|candidate| candidate.agent.may_start(agent))
    }
}

//! Lists what fires an event, and describes hooks whose events are never fired.

use std::sync::Arc;

use hookwright_dialects::hosts::{self, Host};
use hookwright_engine::hook::Hook;
use hookwright_engine::pattern::Pattern;
use hookwright_events::EventSpec;
use hookwright_events::table::{AGENT, COMMITS, RUN};

use super::Advice;
use crate::text::count;

/// The maximum number of hooks that one message names.
const NAMED_MAX: usize = 5;

/// The page about all agents whose settings can call this program.
const PAGE_OF_HOSTS: &str = "docs/hosts.md";

/// What fires an event, apart from `hookwright fire`. This is the only list: if a new part of the
/// program fires events, add it here or to the table of events.
pub(crate) fn fired_by(event: &EventSpec) -> Vec<&'static str> {
    let in_hosts = hosts::all().iter().filter(|host| host.sends(event)).map(|host| host.command);
    event.fired_by.iter().copied().chain(in_hosts).collect()
}

/// The advice about a hook whose event is never fired. `event` is the hook's event, as written.
pub(super) fn unfired_advice(id: &str, event: &str, hosts: &[Box<str>]) -> Advice {
    let heading = format!("nothing here fires `{event}`, so hook `{id}` never runs");
    Advice::new(heading, help(event, hosts))
}

/// How certain it is that a hook's event is never fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// All events of this run are known.
    InThisRun,
    /// Other programs may fire it.
    AsFarAsKnown,
}

/// The notes about hooks whose events are never fired: one for all hooks with the same event.
pub(crate) fn unfired_together(certainty: Certainty, unfired: &[Arc<Hook>]) -> Vec<Advice> {
    let mut groups: Vec<Vec<&Hook>> = Vec::new();
    for hook in unfired {
        let listens_alike =
            |group: &&mut Vec<&Hook>| group[0].event == hook.event && group[0].hosts == hook.hosts;
        match groups.iter_mut().find(listens_alike) {
            Some(group) => group.push(hook),
            None => groups.push(vec![hook]),
        }
    }
    groups.iter().map(|group| group_advice(certainty, group)).collect()
}

fn group_advice(certainty: Certainty, group: &[&Hook]) -> Advice {
    let named = group.iter().take(NAMED_MAX);
    let mut names: Vec<String> =
        named.map(|hook| format!("{} ({})", hook.id, hook.source)).collect();
    if let Some(more) = group.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        names.push(format!("and {}", count(more, "other")));
    }
    let (event, hosts) = (&group[0].event, &group[0].hosts);
    let (word, runs) = if group.len() == 1 { ("hook", "runs") } else { ("hooks", "run") };
    let names = names.join(", ");
    let heading = match certainty {
        Certainty::InThisRun => {
            format!("nothing in this run fires `{event}`: {word} {names} never {runs}")
        }
        Certainty::AsFarAsKnown => {
            format!("nothing here is known to fire `{event}`: {word} {names} may never run")
        }
    };
    Advice::new(heading, help(event, hosts))
}

/// What would fire this event, as written in a file.
fn help(written: &str, hosts: &[Box<str>]) -> String {
    let pattern = Pattern::parse(written).unwrap_or_default();
    let events = pattern.points.iter().map(|point| point.event);
    let in_table = events.flat_map(|event| {
        let is_queue = event.name.starts_with("execution:");
        // `run` fires all events of sessions except these.
        fired_by(event).into_iter().filter(move |source| *source != RUN || is_queue)
    });
    let in_hosts = hosts::all().iter().filter(|host| {
        let domain = host.name;
        pattern.open.iter().any(|glob| glob.reaches(domain))
    });
    let is_meant = |source: &&str| {
        let host = host_called_by(source);
        let of_host = |host: &Host| hosts.contains(&host.name.into());
        hosts.is_empty() || host.map_or(**source != *AGENT, of_host)
    };
    let mut sources: Vec<&str> = Vec::new();
    for source in in_table.chain(in_hosts.map(|host| host.command)).filter(is_meant) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    let ways = ways_of(&sources);
    let example = pattern.points.first().map_or("EVENT", |point| point.event.name);
    let by_hand = format!("`hookwright fire {example}`");
    if ways.is_empty() && !hosts.is_empty() {
        let hosts = hosts.join(", ");
        return format!(
            "remove `host: {hosts}`, which never fires it; use {by_hand} to fire it yourself"
        );
    }
    match ways.is_empty() {
        true => format!("only {by_hand} fires it so far"),
        false => format!("it needs {}; use {by_hand} to fire it yourself", ways.join(", or ")),
    }
}

/// The host whose settings call this program.
fn host_called_by(source: &str) -> Option<&'static Host> {
    hosts::all().iter().copied().find(|host| host.command == source)
}

/// What a project needs, so that these sources fire events.
fn ways_of(sources: &[&str]) -> Vec<String> {
    let hosts: Vec<&Host> = sources.iter().filter_map(|it| host_called_by(it)).collect();
    let others = sources.iter().filter(|source| host_called_by(source).is_none());
    let others = others.map(|source| match *source {
        RUN => "a stage with `termination: {type: queue}`".to_owned(),
        COMMITS => "a hook of `type: git-commit`".to_owned(),
        other => format!("`{other}`"),
    });
    let in_agents = match hosts[..] {
        [] => None,
        [host] => Some((format!("`{}`", host.command), host.page)),
        _ => {
            let names: Vec<&str> = hosts.iter().map(|host| host.name).collect();
            Some((format!("`hookwright hook AGENT` ({})", names.join(", ")), PAGE_OF_HOSTS))
        }
    };
    let in_agents = in_agents
        .map(|(call, page)| format!("an agent whose own settings call {call} for it ({page})"));
    others.chain(in_agents).collect()
}

//! What would happen at an event, and why, without running anything.
//!
//! Whatever an earlier hook can change is not guessed: the explanation names that hook instead.

use std::sync::Arc;

use hookwright_events::Event;

use crate::chain::Chain;
use crate::dispatch::whether::{self, Whether};
use crate::hook::{Hook, Terms};
use crate::hook_set::HookSet;
use crate::pattern::Point;
use crate::variables::{Carried, Environment, Variables};

/// One hook, and what this event means to it.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The hook.
    pub hook: Arc<Hook>,
    /// What would happen.
    pub fate: Fate,
}

/// What would happen to a hook.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// It would start.
    Runs {
        /// Under these rules.
        terms: Terms,
    },
    /// It may start: its condition asks what an earlier hook leaves.
    Depends {
        /// Under these rules.
        terms: Terms,
        /// The id of that hook.
        on: String,
    },
    /// It fits, but would be passed.
    Skipped {
        /// Why.
        reason: String,
    },
    /// It would fail before it starts: its condition, the firings above, or its type.
    Fails {
        /// Under these rules.
        terms: Terms,
        /// Why.
        reason: String,
    },
    /// It does not fit.
    Missed {
        /// Why.
        why: Missed,
    },
}

/// Why a hook does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missed {
    /// It listens elsewhere.
    Event,
    /// The subject is another one, or there is none.
    Subject {
        /// The event's subject.
        subject: Option<String>,
    },
    /// Under the name it listens to, it wakes for certain reasons only.
    Reason {
        /// Those.
        only: &'static [&'static str],
    },
    /// A project's file switches global hooks off where nothing can be blocked.
    GlobalDisabled,
}

/// What else an explanation depends on.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Ids that are to be skipped.
    pub skip: &'a [String],
    /// The firings above.
    pub chain: &'a Chain,
    /// Where conditions find names that are not ours.
    pub environment: &'a Environment,
}

/// Variables that hooks leave for later ones.
const LEFT_BY_HOOKS: &[&str] = &["LAST_HOOK_STATUS", "HOOK_RESPONSE", "SPAWN_OUTPUT"];

/// What would happen to every hook of the set: first those that fit, in the order in which they
/// run, then the others.
pub fn explain(hooks: &HookSet, event: &Event, asked: Asked<'_>) -> Vec<Explained> {
    let woken = hooks.woken(event);
    let mut explained: Vec<Explained> = Vec::new();
    for hook in &woken {
        let fate = fate(hook, event, asked, &explained);
        explained.push(Explained { hook: Arc::clone(hook), fate });
    }
    let missed = hooks.hooks().iter().filter(|hook| !woken.iter().any(|w| Arc::ptr_eq(w, hook)));
    explained.extend(missed.map(|hook| Explained {
        hook: Arc::clone(hook),
        fate: Fate::Missed { why: why_missed(hook, event) },
    }));
    explained
}

fn fate(hook: &Hook, event: &Event, asked: Asked<'_>, before: &[Explained]) -> Fate {
    let mut terms = hook.terms(event.name.power());
    if let Some(reason) = whether::switched_off(hook, event, asked.skip) {
        return Fate::Skipped { reason };
    }
    let asks_what_was_left = hook.when.as_ref().is_some_and(|when| {
        when.variables().any(|name| LEFT_BY_HOOKS.iter().any(|left| name.ends_with(left)))
    });
    if asks_what_was_left
        && let Some(last) = before.iter().rev().find(|earlier| may_leave_something(earlier))
    {
        return Fate::Depends { terms, on: last.hook.id.clone() };
    }
    let carried = Carried::default();
    let variables = Variables { event, carried: &carried, environment: asked.environment };
    let whether = match whether::condition(hook, &variables) {
        Whether::Runs => whether::start(hook, event, asked.chain),
        other => other,
    };
    match whether {
        Whether::Runs => Fate::Runs { terms },
        Whether::Passed(reason) => Fate::Skipped { reason },
        Whether::Refused(reason) => Fate::Fails { terms, reason },
        Whether::RefusedByChain(reason) => {
            if whether::chain_blocks(hook, event, asked.chain) {
                terms.fail_closed();
            }
            Fate::Fails { terms, reason }
        }
    }
}

fn may_leave_something(earlier: &Explained) -> bool {
    match earlier.fate {
        Fate::Runs { terms } | Fate::Depends { terms, .. } | Fate::Fails { terms, .. } => {
            terms.awaited
        }
        Fate::Skipped { .. } | Fate::Missed { .. } => false,
    }
}

fn why_missed(hook: &Hook, event: &Event) -> Missed {
    let here: Vec<&Point> = match event.name.spec() {
        Some(spec) => {
            hook.pattern.points.iter().filter(|point| std::ptr::eq(point.event, spec)).collect()
        }
        None if hook.pattern.open.iter().any(|glob| glob.matches(event.name.as_str())) => {
            return Missed::Subject { subject: event.subject().map(str::to_owned) };
        }
        None => Vec::new(),
    };
    if here.is_empty() {
        return Missed::Event;
    }
    let reason = event.text("reason").unwrap_or_default();
    let (awake, asleep): (Vec<&Point>, Vec<&Point>) = here
        .into_iter()
        .partition(|point| point.only_reasons.is_empty() || point.only_reasons.contains(&reason));
    if awake.is_empty() {
        return Missed::Reason { only: asleep[0].only_reasons };
    }
    let subject = crate::matcher::Subject::of(event);
    let fits =
        hook.matcher.wakes(&subject) && awake.iter().any(|point| point.subjects.wakes(&subject));
    if fits {
        return Missed::GlobalDisabled;
    }
    Missed::Subject { subject: event.subject().map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use hookwright_events::EventName;
    use serde_json::{Value, json};

    use super::*;
    use crate::config::{ConfigFile, load_text};
    use crate::hook::Layer;

    fn fates(text: &str, layer: Layer, name: &str, data: Value) -> Vec<(String, Fate)> {
        let Value::Object(data) = data else { panic!("data must be an object") };
        let event = Event::new(EventName::resolve(name).expect("known"), data);
        let file = ConfigFile::native("h.yaml", "h.yaml", layer);
        let loaded = load_text(text, &file, &Environment::default());
        assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
        let (chain, environment) = (Chain::default(), Environment::default());
        let skip = ["skipped".into()];
        let asked = Asked { skip: &skip, chain: &chain, environment: &environment };
        explain(&loaded.hooks, &event, asked)
            .into_iter()
            .map(|explained| (explained.hook.id.clone(), explained.fate))
            .collect()
    }

    #[test]
    fn what_would_run_and_what_would_not_each_with_its_reason() {
        let found = fates(
            "
hooks:
  session:start: [{id: elsewhere, command: x}]
  tool:pre_execute:
    - {id: runs, command: x}
    - {id: off, command: x, enabled: false}
    - {id: skipped, command: x}
    - {id: unmet, command: x, when: \"${TOOL_NAME} == 'read'\"}
    - {id: met, command: x, when: \"${TOOL_NAME} == 'bash'\"}
    - {id: depends, command: x, when: \"${LAST_HOOK_STATUS} == 'failed'\"}
    - {id: fails, command: x, when: \"'a' % 2 == 0\"}
    - {id: commit, type: git-commit}
    - {id: child, pipeline: x}
    - {id: other, command: x, matcher: read}
",
            Layer::Project,
            "tool:pre_execute",
            json!({ "tool_name": "bash" }),
        );
        let shape: Vec<(&str, String)> = found
            .iter()
            .map(|(id, fate)| {
                let text = match fate {
                    Fate::Runs { .. } => "runs".to_owned(),
                    Fate::Depends { on, .. } => format!("depends on {on}"),
                    Fate::Skipped { reason } => format!("skipped: {reason}"),
                    Fate::Fails { reason, .. } => format!("fails: {reason}"),
                    Fate::Missed { why } => format!("missed: {why:?}"),
                };
                (id.as_str(), text)
            })
            .collect();
        let expected = [
            ("runs", "runs"),
            ("off", "skipped: enabled: false"),
            ("skipped", "skipped: --skip skipped"),
            ("unmet", "skipped: when: ${TOOL_NAME} == 'read'"),
            ("met", "runs"),
            ("depends", "depends on met"),
            ("fails", "fails: its condition `'a' % 2 == 0` fails: `%` needs a number but"),
            ("commit", "runs"),
            ("child", "runs"),
            ("elsewhere", "missed: Event"),
            ("other", "missed: Subject { subject: Some(\"bash\") }"),
        ];
        let seen: Vec<&str> = shape.iter().map(|(id, _)| *id).collect();
        assert_eq!(seen, expected.map(|(id, _)| id));
        for ((id, found), (_, wanted)) in shape.iter().zip(expected) {
            assert!(found.starts_with(wanted.split(" but").next().expect("text")), "{id}: {found}");
        }
    }

    #[test]
    fn names_that_wake_for_certain_reasons_and_disabled_global_hooks_are_explained() {
        let reason = fates(
            "hooks: {on_session_complete: [{id: a, command: x}]}",
            Layer::Project,
            "session:end",
            json!({ "reason": "error" }),
        );
        let only = &["completed", "max_iterations"][..];
        assert_eq!(reason[0].1, Fate::Missed { why: Missed::Reason { only } });
        let global = fates(
            "disable_global_hooks: true\nhooks: {stage:start: [{id: a, command: x}]}",
            Layer::Global,
            "stage:start",
            json!({ "stage": "s" }),
        );
        assert_eq!(global[0].1, Fate::Missed { why: Missed::GlobalDisabled });
    }
}

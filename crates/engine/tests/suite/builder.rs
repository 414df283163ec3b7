//! The builder: what it checks, and what lists show of its hooks.

use std::future::ready;
use std::time::Duration;

use hookwright_engine::explain::{ExplainOptions, Fate, explain};
use hookwright_engine::hook::{Action, Exhausted, Layer};
use hookwright_engine::limits::COMMAND_TIMEOUT;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Answer, BuildError, Call, CallbackFailure, Engine, Hook, OnFailure};
use serde_json::json;

use crate::program::{engine, fire};
use crate::support::{event, proceed};

#[tokio::test]
async fn lists_and_explanations_show_callbacks_with_their_lines() {
    async fn rule(_: Call) -> Result<Answer, CallbackFailure> {
        Ok(Answer::default())
    }
    let line = line!() + 1;
    let engine = engine([Hook::on("tool:pre_execute", rule).description("a rule")]);
    let hook = &engine.hooks().hooks()[0];
    assert_eq!(hook.source.to_string(), format!("{}:{line}", file!()));
    assert_eq!((&*hook.id, hook.layer), ("callback/tool:pre_execute#0", Layer::Program));
    assert_eq!((hook.action.kind(), hook.description.as_deref()), ("callback", Some("a rule")));
    assert!(hook.action.summary().ends_with("::rule"), "{}", hook.action.summary());
    let Action::Callback(callback) = &hook.action else { panic!("{:?}", hook.action) };
    assert!(format!("{callback:?}").starts_with("Callback(\""));

    let (chain, environment) = (Default::default(), Environment::default());
    let asked = ExplainOptions { skip: &[], chain: &chain, environment: &environment };
    let fates = explain(engine.hooks(), &event("tool:pre_execute", json!({})), asked);
    let Fate::Runs { terms } = &fates[0].fate else { panic!("{fates:?}") };
    assert_eq!((terms.awaited, terms.timeout), (true, COMMAND_TIMEOUT));
    assert_eq!(terms.on_failure, Exhausted::Block);

    let fired = fire(&engine, "tool:pre_execute", json!({})).await;
    let report = &fired.reports[0];
    assert_eq!((report.action.as_str(), &report.source), ("callback", &hook.source.to_string()));
}

#[tokio::test]
async fn callbacks_are_switched_off_by_themselves_or_by_their_id() {
    let hook = |id: &str| Hook::on("Stop", |_| ready(Ok(Answer::deny("no")))).id(id);
    let engine = Engine::builder("/")
        .hook(hook("a").enabled(false))
        .hook(hook("b"))
        .skip("b")
        .build()
        .expect("no faults");
    let fired = fire(&engine, "Stop", json!({})).await;
    let reasons = fired.reports.iter().filter_map(|report| report.reason.as_deref());
    assert_eq!(reasons.collect::<Vec<_>>(), ["enabled: false", "--skip b"]);
    assert_eq!(fired.decision.verdict, proceed());
}

#[tokio::test]
async fn a_hook_that_was_built_elsewhere_is_a_hook_of_the_program() {
    let built = |id: &str| {
        Hook::on("Stop", |_| ready(Ok(Answer::deny("no")))).id(id).build().expect("no faults")
    };
    let engine = Engine::builder("/").built_hook(built("a")).build().expect("no faults");
    let fired = fire(&engine, "Stop", json!({})).await;
    assert_eq!(fired.reports[0].id, "a");
    let twice = Engine::builder("/").built_hook(built("a")).built_hook(built("a")).build();
    let Err(BuildError::Faults { faults }) = twice else { panic!("the id appears twice") };
    assert!(faults[0].to_string().contains("the id `a` appears twice"), "{}", faults[0]);
}

#[test]
fn hooks_without_an_id_are_numbered_by_event() {
    let hook = |event| Hook::on(event, |_| ready(Ok(Answer::default())));
    let engine =
        engine([hook("Stop"), hook("Stop").id("callback/Stop#1"), hook("Stop"), hook("tool:*")]);
    let ids: Vec<&str> = engine.hooks().hooks().iter().map(|hook| &*hook.id).collect();
    assert_eq!(ids, ["callback/Stop#0", "callback/Stop#1", "callback/Stop#2", "callback/tool:*#0"]);
}

#[test]
fn every_fault_is_reported_with_its_place_before_anything_runs() {
    let line = line!() + 1;
    let hook = |event| Hook::on(event, |_| ready(Ok(Answer::default())));
    let long = Duration::from_secs(31 * 86_400);
    let built = Engine::builder("/")
        .hook(hook("tool:pre_exec"))
        .hook(hook("tool:pre_execute").matcher("a||b").timeout(Duration::ZERO))
        .hook(hook("Stop").timeout(long).retry_delay(long).retries(101).id(" "))
        .hook(hook("user:interrupt").matcher("x").on_exhausted(Exhausted::Block))
        .hook(hook("Stop").awaits(false).on_failure(OnFailure::Abort))
        .hook(hook("Stop").id("twice"))
        .hook(hook("Stop").id("twice"))
        .build();
    let Err(error @ BuildError::Faults { .. }) = built else { panic!("it has faults") };
    let text = error.to_string();
    let here = format!("{}:{line}:", file!());
    assert_eq!((text.matches(&here).count(), text.lines().count()), (12, 12), "{text}");
    for fact in [
        "unknown event `tool:pre_exec` (did you mean `tool:pre_execute`?)",
        "one of the names between `|` is empty",
        "expected a timeout longer than 0 but found `0`",
        "expected at most 30 days but found `2678400s`",
        "expected a whole number from 0 to 100 but found `101`",
        "expected an id but found ` `",
        "`block` needs an event that can be blocked, and this one cannot",
        "`on_exhausted` needs `on_failure: retry`",
        "`matcher` compares an event's subject, but this event has none",
        "`await: false` cannot be combined with `abort` or `block`",
        &format!("the id `twice` appears twice, first in line {line}"),
    ] {
        assert!(text.contains(fact), "{fact} is not in\n{text}");
    }
}

#[test]
fn the_project_root_is_a_whole_path() {
    let error = Engine::builder("project").build().err().expect("it is relative");
    assert_eq!(error.to_string(), "the project root `project` is not an absolute path");
}

//! Functions that move to the background, and commands that functions run.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_engine::hook::Shell;
use hookwright_engine::limits::ASYNC_TIMEOUT;
use hookwright_engine::template::CommandText;
use hookwright_engine::{
    Answer, Call, Engine, Fired, Firing, FiringEvent, Hook, Interest, Outcome, ProcessOutcome,
    RunEventKind, Status,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::program::{Notes, engine};
use crate::support::{block, event, proceed};

/// Fires an event of one session.
async fn fire_in_session(engine: &Engine, name: &str, data: Value) -> Fired {
    let firing = Firing { session: Some("s".into()), ..Firing::default() };
    engine.fire(event(name, data), firing).await
}

// Conformance: claude-code-025
#[tokio::test]
async fn a_callback_that_goes_async_is_not_awaited_and_answers_late() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let hook = Hook::on("tool:pre_execute", move |call: Call| {
        let gate = Arc::clone(&opened);
        async move {
            call.go_async(None);
            gate.acquire().await?.forget();
            Ok(Answer::deny("too late to deny").with_context("found in the background"))
        }
    });
    let engine = engine([hook.id("slow")]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&seen);
    engine.observe(
        Interest::NoOutput,
        Arc::new(move |event| keep.lock().expect("one test").push(event.kind.clone())),
    );
    let fired = fire_in_session(&engine, "tool:pre_execute", json!({})).await;
    assert_eq!((fired.decision.verdict, fired.reports[0].status), (proceed(), Status::Started));
    gate.add_permits(1);
    engine.settle().await;
    let went =
        RunEventKind::Firing(FiringEvent::HookWentAsync { hook: "slow".into(), answer: None });
    assert!(seen.lock().expect("one test").contains(&went));
    let next = fire_in_session(&engine, "session:start", json!({})).await;
    assert_eq!(next.decision.additional_context, ["found in the background"]);
}

#[tokio::test]
async fn a_callback_that_answers_early_and_continues_has_answered() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let notes = Notes::default();
    let keep = notes.clone();
    let hook = Hook::on("tool:pre_execute", move |call: Call| {
        let (gate, notes) = (Arc::clone(&opened), keep.clone());
        async move {
            call.answer_now(Answer::deny("no"), None);
            // Only the first call counts.
            call.answer_now(Answer::allow(), None);
            gate.acquire().await?.forget();
            notes.add("went on");
            Ok(Answer::allow())
        }
    });
    let engine = engine([hook]);
    let fired = fire_in_session(&engine, "tool:pre_execute", json!({})).await;
    assert_eq!(fired.decision.verdict, block("no"));
    assert_eq!(notes.all(), Vec::<String>::new());
    gate.add_permits(1);
    engine.settle().await;
    assert_eq!(notes.all(), ["went on"]);
}

#[tokio::test]
async fn a_request_in_a_callbacks_last_step_counts() {
    let hook = Hook::on("tool:pre_execute", |call: Call| async move {
        call.answer_now(Answer::deny("no"), None);
        Ok(Answer::allow())
    });
    let engine = engine([hook]);
    let fired = fire_in_session(&engine, "tool:pre_execute", json!({})).await;
    assert_eq!(fired.decision.verdict, block("no"));
    engine.settle().await;
}

#[tokio::test(start_paused = true)]
async fn a_background_callback_has_the_time_that_it_requested() {
    for (asked, time) in [(Some(Duration::from_secs(90)), 90_000), (None, 30_000)] {
        assert_eq!(ASYNC_TIMEOUT, Duration::from_secs(30));
        let hook = Hook::on("tool:pre_execute", move |call: Call| async move {
            call.go_async(asked);
            pending().await
        });
        let engine = engine([hook.timeout(Duration::from_secs(1))]);
        let ended = Arc::new(Mutex::new(None));
        let keep = Arc::clone(&ended);
        engine.observe(
            Interest::NoOutput,
            Arc::new(move |event| {
                if let RunEventKind::Firing(FiringEvent::HookReported { report }) = &event.kind {
                    *keep.lock().expect("one test") = Some((report.status, report.duration_ms));
                }
            }),
        );
        fire_in_session(&engine, "tool:pre_execute", json!({})).await;
        engine.settle().await;
        let (status, took) = ended.lock().expect("one test").take().expect("it has ended");
        assert_eq!(status, Status::TimedOut);
        // The grace period after the token is part of it.
        assert!((f64::from(time)..f64::from(time) + 1_100.0).contains(&took), "{took}");
    }
}

#[tokio::test]
async fn a_callback_runs_commands_that_read_the_event_as_hooks_do() {
    let hook = Hook::on("tool:pre_execute", |call: Call| async move {
        let text = "read -r line; case $line in *sudo*) echo \"no: $TOOL_NAME\"; exit 3 ;; esac";
        let shell = Shell::new(CommandText::new(text)?);
        let outcome = call.run(&shell, Duration::from_secs(60), || ()).await;
        match outcome {
            Outcome::Process(ProcessOutcome::Exited { code: 3, output }) => {
                Ok(Answer::deny(output.stdout.trim()))
            }
            Outcome::Process(ProcessOutcome::Exited { code: 0, .. }) => Ok(Answer::default()),
            other => Err(format!("{other:?}").into()),
        }
    });
    #[expect(clippy::disallowed_methods, reason = "a test is its own host")]
    let environment = std::env::vars_os();
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::builder(folder.path()).environment(environment).hook(hook);
    let engine = engine.build().expect("no faults");
    let call = |command: &str| json!({ "tool_name": "bash", "tool_input": { "command": command } });
    let fired = fire_in_session(&engine, "tool:pre_execute", call("sudo ls")).await;
    assert_eq!(fired.decision.verdict, block("no: bash"));
    let fired = fire_in_session(&engine, "tool:pre_execute", call("ls")).await;
    assert_eq!(fired.decision.verdict, proceed());
}

#[tokio::test]
async fn a_command_that_a_callback_runs_ends_when_its_time_is_over() {
    let hook = Hook::on("tool:pre_execute", |call: Call| async move {
        let shell = Shell::new(CommandText::new("sleep 60")?);
        let outcome = call.run(&shell, Duration::from_millis(50), || ()).await;
        match outcome {
            Outcome::Process(ProcessOutcome::TimedOut { .. }) => Ok(Answer::deny("too slow")),
            other => Err(format!("{other:?}").into()),
        }
    });
    #[expect(clippy::disallowed_methods, reason = "a test is its own host")]
    let environment = std::env::vars_os();
    let engine = Engine::builder("/").environment(environment).hook(hook).build();
    let engine = engine.expect("no faults");
    let fired = fire_in_session(&engine, "tool:pre_execute", json!({})).await;
    assert_eq!(fired.decision.verdict, block("too slow"));
}

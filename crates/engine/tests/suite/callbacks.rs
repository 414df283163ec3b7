//! Functions of the host's own program as hooks: their arguments, the meaning of their answers, and
//! how they run beside the hooks of files. `ending_callbacks.rs` tests how they end otherwise.

use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_config::HookFiles;
use hookwright_engine::hook::{Exhausted, Layer};
use hookwright_engine::limits::{CHILDREN_MAX, RETRY_DELAY};
use hookwright_engine::ports::memory::InMemoryJournal;
use hookwright_engine::ports::{Journal, Ports};
use hookwright_engine::{
    Answer, Call, Engine, Firing, FiringEvent, FunctionOutcome, Hook, Interest, OnFailure, Outcome,
    RunEvent, RunEventKind, Status, Verdict,
};
use serde_json::json;
use tokio::sync::{Barrier, Notify, oneshot};
use tokio::time::Instant;

use crate::program::{Notes, at_a_guard, engine, fire, waits};
use crate::support::{block, event, only, proceed};

// Conformance: claude-code-009
#[tokio::test]
async fn a_callback_is_called_with_the_event_its_tool_use_id_its_hook_and_its_attempt() {
    let notes = Notes::default();
    let keep = notes.clone();
    let hook = Hook::on("PreToolUse", move |call: Call| {
        let id = call.tool_use_id.as_deref().unwrap_or("none");
        let command = call.event.text_at("/tool_input/command").unwrap_or("none");
        keep.add(format!("{} {} {id} {command} {}", call.event.name, call.hook, call.attempt));
        ready(Ok(Answer::default()))
    })
    .id("look");
    let engine = engine([hook]);
    let data = json!({ "tool_use_id": "t1", "tool_input": { "command": "ls" } });
    assert_eq!(only(&fire(&engine, "tool:pre_execute", data).await).0, Status::Success);
    fire(&engine, "tool:pre_execute", json!({})).await;
    assert_eq!(notes.all(), ["tool:pre_execute look t1 ls 1", "tool:pre_execute look none none 1"]);
}

// Conformance: claude-code-014
#[tokio::test]
async fn a_callback_is_woken_by_its_pattern_and_its_matcher_only() {
    let notes = Notes::default();
    let hook = |event, matcher| {
        let keep = notes.clone();
        Hook::on(event, move |call| {
            keep.add(call.hook);
            ready(Ok(Answer::default()))
        })
        .id(format!("{event} {matcher}"))
        .matcher(matcher)
    };
    let engine = engine([
        hook("tool:pre_execute", "write|edit"),
        hook("tool:*", "mcp__*"),
        hook("tool:post_execute", "*"),
        hook("tool:pre_execute", "/^ba/"),
    ]);
    for tool in ["Bash", "edit", "mcp__x__y"] {
        fire(&engine, "tool:pre_execute", json!({ "tool_name": tool })).await;
    }
    assert_eq!(
        notes.all(),
        ["tool:pre_execute /^ba/", "tool:pre_execute write|edit", "tool:* mcp__*"]
    );
}

#[tokio::test]
async fn a_callbacks_answer_is_the_hosts_decision() {
    let input = || Some(json!({ "command": "ls" }));
    for (answer, verdict) in [
        (Answer::default(), proceed()),
        (Answer::deny("no"), block("no")),
        (
            Answer::ask("sure?"),
            Verdict::Ask { reason: Some("sure?".into()), rewritten_input: None },
        ),
        (Answer::allow(), Verdict::Allow { reason: None, rewritten_input: None }),
        (Answer::stop("enough"), Verdict::Stop { reason: "enough".into() }),
        (
            Answer::rewrite(json!({ "command": "ls" })),
            Verdict::Proceed { rewritten_input: input() },
        ),
        (
            Answer { updated_input: input(), ..Answer::allow() },
            Verdict::Allow { reason: None, rewritten_input: input() },
        ),
    ] {
        let answers = answer.clone().with_context("c").with_message("m");
        let hook = Hook::on("tool:pre_execute", move |_| ready(Ok(answers.clone())));
        let fired = at_a_guard(hook).await;
        assert_eq!(fired.decision.verdict, verdict, "{answer:?}");
        assert_eq!(fired.decision.additional_context, ["c"]);
        assert_eq!(fired.decision.system_messages, ["m"]);
        assert_eq!((fired.reports[0].exit_code, fired.reports[0].attempts), (None, 1));
    }
}

#[tokio::test]
async fn the_last_rewrite_wins_and_the_first_denial_ends_the_awaited_ones() {
    let rewrites =
        |to| Hook::on("tool:pre_execute", move |_| ready(Ok(Answer::rewrite(json!(to)))));
    let fired = fire(&engine([rewrites("a"), rewrites("b")]), "tool:pre_execute", json!({})).await;
    assert_eq!(fired.decision.verdict.rewritten_input(), Some(&json!("b")));

    let denies = |why| Hook::on("tool:pre_execute", move |_| ready(Ok(Answer::deny(why))));
    let hooks = [denies("first").id("a"), denies("second").id("b")];
    let fired = fire(&engine(hooks), "tool:pre_execute", json!({})).await;
    assert_eq!(fired.decision.verdict, block("first"));
    let second = &fired.reports[1];
    assert_eq!((second.status, second.reason.as_deref()), (Status::Skipped, Some("a blocked")));
}

#[tokio::test]
async fn an_error_fails_the_hook_and_a_guard_that_fails_blocks() {
    let hook = || {
        Hook::on("*", |_| async {
            std::fs::read_to_string("/no/such/file")?;
            Ok(Answer::allow())
        })
        .id("reads")
    };
    let cause = "No such file or directory (os error 2)";
    let reason = format!(
        "hook reads failed ({cause}); make it return an answer, or set its on_failure to continue"
    );
    assert_eq!(at_a_guard(hook()).await.decision.verdict, block(&reason));
    // The two settings that the reason names.
    let fired = at_a_guard(hook().on_failure(OnFailure::Continue)).await;
    assert_eq!((fired.decision.verdict.clone(), only(&fired).1), (proceed(), cause.to_owned()));
    let aborts = at_a_guard(hook().on_failure(OnFailure::Abort)).await;
    let reason = format!("hook reads failed ({cause})");
    assert_eq!(aborts.decision.verdict, Verdict::Abort { reason });
    // Nothing can be blocked at the first, and at a stop a broken hook must not trap an agent.
    for name in ["tool:error", "session:stop"] {
        let fired = fire(&engine([hook().awaits(true)]), name, json!({})).await;
        assert_eq!(fired.decision.verdict, proceed(), "{name}");
        assert_eq!(only(&fired), (Status::Failed, cause.to_owned()), "{name}");
    }
}

#[tokio::test]
async fn an_error_text_may_be_any_text_and_shows_all_causes_it_knows() {
    struct Chain;
    impl std::fmt::Display for Chain {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(if f.alternate() { "outer: inner" } else { "outer" })
        }
    }
    let text = Hook::on("tool:error", |_| ready(Err("no network".into()))).awaits(true);
    let chain = Hook::on("tool:error", |_| ready(Err(Chain.into()))).awaits(true);
    let fired = fire(&engine([text, chain]), "tool:error", json!({})).await;
    let reasons = fired.reports.into_iter().map(|report| report.reason.expect("a reason"));
    assert_eq!(reasons.collect::<Vec<_>>(), ["no network", "outer: inner"]);
}

#[tokio::test]
async fn a_denial_of_an_event_that_cannot_be_blocked_is_a_failure_of_the_hook() {
    let hook = Hook::on("tool:error", |_| ready(Ok(Answer::deny("no")))).awaits(true);
    let fired = fire(&engine([hook]), "tool:error", json!({})).await;
    let reason = "it answered deny, but nothing can be blocked at tool:error".to_owned();
    assert_eq!(
        (fired.decision.verdict.clone(), only(&fired)),
        (proceed(), (Status::Failed, reason))
    );
}

/// An engine with one callback, the project's file and the global file; each hook writes its name
/// into the file `order`.
fn with_files(folder: &std::path::Path, events: &[&str]) -> Engine {
    for layer in ["project", "global"] {
        let entry =
            |event| format!("  {event}: [{{await: true, command: echo {layer} >> order}}]\n");
        let text = format!("hooks:\n{}", events.iter().map(entry).collect::<String>());
        std::fs::write(folder.join(format!("{layer}.yaml")), text).expect("written");
    }
    #[expect(clippy::disallowed_methods, reason = "a test is its own host")]
    let path = std::env::var_os("PATH").expect("a PATH");
    let order = folder.join("order");
    let hook = Hook::on("*", move |call: Call| {
        let text = std::fs::read_to_string(&order).unwrap_or_default();
        let written = std::fs::write(&order, text + "callback\n");
        let denies = call.event.data.contains_key("denied");
        ready(written.map_err(Into::into).map(|()| match denies {
            true => Answer::deny("no"),
            false => Answer::default(),
        }))
    });
    let files = HookFiles::in_project(folder).file_of(Layer::Global, "global.yaml");
    let files = files.file("project.yaml").load().expect("no faults");
    Engine::builder(folder)
        .environment([("PATH", path)])
        .hooks(files.hooks)
        .hook(hook.id("first").awaits(true))
        .build()
        .expect("no faults")
}

#[tokio::test]
async fn callbacks_run_before_the_hooks_of_files_and_a_denial_skips_those() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = with_files(folder.path(), &["tool:pre_execute", "tool:error"]);
    let order = || {
        let text = std::fs::read_to_string(folder.path().join("order")).expect("written");
        std::fs::remove_file(folder.path().join("order")).expect("there");
        text
    };
    fire(&engine, "tool:pre_execute", json!({})).await;
    assert_eq!(order(), "callback\nglobal\nproject\n");
    fire(&engine, "tool:error", json!({})).await;
    assert_eq!(order(), "callback\nproject\nglobal\n");
    let fired = fire(&engine, "tool:pre_execute", json!({ "denied": true })).await;
    assert_eq!((order().as_str(), fired.decision.verdict), ("callback\n", block("no")));
}

#[tokio::test]
async fn hooks_of_files_see_the_results_of_callbacks() {
    let folder = tempfile::tempdir().expect("a folder");
    #[expect(clippy::disallowed_methods, reason = "a test is its own host")]
    let path = std::env::var_os("PATH").expect("a PATH");
    let rules = "hooks: {tool:error: [{await: true, command: echo $LAST_HOOK_STATUS}]}";
    let rules = HookFiles::in_project("/").text("rules", rules).load().expect("no faults");
    let engine = Engine::builder(folder.path())
        .environment([("PATH", path)])
        .hooks(rules.hooks)
        .hook(Hook::on("tool:error", |_| ready(Err("broken".into()))).awaits(true))
        .build()
        .expect("no faults");
    let fired = fire(&engine, "tool:error", json!({})).await;
    assert_eq!(fired.reports[1].stdout, "failed\n");
}

#[tokio::test]
async fn once_means_once_in_a_session_also_for_a_callback() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let hook = Hook::on("Stop", move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        ready(Ok(Answer::default()))
    });
    let engine = engine([hook.once()]);
    for (session, status) in
        [("a", Status::Success), ("a", Status::Skipped), ("b", Status::Success)]
    {
        let fired = fire(&engine, "Stop", json!({ "session": session })).await;
        assert_eq!(only(&fired).0, status);
    }
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_callback_is_retried_as_often_as_configured() {
    let hook = |succeeds_at: u32| {
        Hook::on("tool:pre_execute", move |call: Call| {
            ready(match call.attempt == succeeds_at {
                true => Ok(Answer::context("at last")),
                false => Err(format!("attempt {}", call.attempt).into()),
            })
        })
        .id("tries")
        .on_failure(OnFailure::Retry)
    };
    let begun = Instant::now();
    let fired = at_a_guard(hook(3)).await;
    assert_eq!((fired.reports[0].attempts, only(&fired).0), (3, Status::Success));
    assert_eq!(begun.elapsed(), RETRY_DELAY * 2);
    // All attempts fail: the event's default applies, or the setting.
    let fired = at_a_guard(hook(9)).await;
    let (_, reason) = only(&fired);
    assert!(reason.starts_with("hook tries failed in 4 attempts (attempt 4); "), "{reason}");
    assert_eq!(fired.decision.verdict, block(&reason));
    let begun = Instant::now();
    let gives_up =
        hook(9).retries(1).retry_delay(Duration::from_secs(60)).on_exhausted(Exhausted::Continue);
    let fired = at_a_guard(gives_up).await;
    assert_eq!((fired.decision.verdict.clone(), fired.reports[0].attempts), (proceed(), 2));
    assert_eq!(begun.elapsed(), Duration::from_secs(60));
}

#[tokio::test]
async fn fire_and_forget_callbacks_are_tracked_and_speak_at_the_next_event() {
    let (go, gone) = oneshot::channel::<()>();
    let gone = Arc::new(Mutex::new(Some(gone)));
    let hook = Hook::on("session:start", move |_| {
        let gone = gone.lock().expect("one test").take();
        async move {
            gone.ok_or("called twice")?.await?;
            Ok(Answer::context("late"))
        }
    });
    let engine = engine([hook.id("slow")]);
    let fired = fire(&engine, "session:start", json!({ "session": "s" })).await;
    assert_eq!(only(&fired).0, Status::Started);
    assert_eq!(engine.in_background(), ["slow"]);
    let settled = async {
        engine.settle().await;
        engine.in_background()
    };
    let (left, sent) = tokio::join!(settled, async { go.send(()) });
    assert_eq!((left, sent), (Vec::<String>::new(), Ok(())));
    let next = fire(&engine, "tool:error", json!({ "session": "s" })).await;
    assert_eq!(next.decision.additional_context, ["late"]);
}

#[tokio::test]
async fn a_background_callback_that_panics_or_is_interrupted_is_settled_too() {
    let panics = Hook::on("session:start", |_| async { panic!("unseen") }).id("panics");
    let (running, notes) = (Arc::new(Notify::new()), Notes::default());
    let waits = waits(true, &running, &notes).awaits(false).id("waits");
    let engine = engine([panics, waits]);
    let reports = Notes::default();
    let keep = reports.clone();
    let observer = move |event: &RunEvent| {
        if let RunEventKind::Firing(FiringEvent::HookReported { report }) = &event.kind {
            keep.add(format!("{}: {}", report.id, report.reason.as_deref().unwrap_or("well")));
        }
    };
    engine.observe(Interest::NoOutput, Arc::new(observer));
    fire(&engine, "session:start", json!({})).await;
    running.notified().await;
    engine.interrupt();
    engine.settle().await;
    assert_eq!(reports.all(), ["panics: panicked: unseen", "waits: interrupted"]);
    assert_eq!(notes.all(), ["heard", "told, then dropped"]);
}

#[tokio::test]
async fn run_events_report_a_callback_like_any_hook_but_without_a_process() {
    let journal = Arc::new(InMemoryJournal::default());
    let ports = Ports { journal: Arc::clone(&journal) as Arc<dyn Journal>, ..Ports::default() };
    let seen = Notes::default();
    let keep = seen.clone();
    let engine = Engine::builder("/")
        .ports(ports)
        .hook(Hook::on("Stop", |_| ready(Ok(Answer::context("c")))).id("a"))
        .observe(Interest::Everything, move |event| {
            let value = serde_json::to_value(event).expect("plain data");
            keep.add(value["kind"].as_str().expect("a kind"));
        })
        .build()
        .expect("no faults");
    fire(&engine, "Stop", json!({})).await;
    assert_eq!(seen.all(), ["fired", "hook_starting", "hook_ended", "hook_reported", "decided"]);
    let outcomes = journal.events().into_iter().filter_map(|event| match event.kind {
        RunEventKind::Firing(FiringEvent::HookEnded { outcome, .. }) => Some(outcome),
        _ => None,
    });
    let answer = Box::new(Answer::context("c"));
    assert_eq!(
        outcomes.collect::<Vec<_>>(),
        [Outcome::Function(FunctionOutcome::Answered { answer })]
    );
}

#[tokio::test]
async fn callbacks_hold_no_place_of_a_child() {
    // All must run at once to finish.
    let all = Arc::new(Barrier::new(CHILDREN_MAX + 1));
    let hook = Hook::on("*", move |_| {
        let all = Arc::clone(&all);
        async move {
            all.wait().await;
            Ok(Answer::default())
        }
    });
    let engine = engine([hook.awaits(true)]);
    let mut firings = tokio::task::JoinSet::new();
    for _ in 0..=CHILDREN_MAX {
        let engine = engine.clone();
        firings.spawn(async move { fire(&engine, "tool:pre_execute", json!({})).await });
    }
    let fired = firings.join_all().await;
    assert!(fired.iter().all(|fired| only(fired).0 == Status::Success));
}

#[tokio::test]
async fn an_event_that_a_callback_fires_is_below_it_in_its_session_and_cannot_close_a_cycle() {
    let outer = Hook::on("tool:pre_execute", |call: Call| async move {
        let fired = call.fire(event("tool:error", json!({}))).await;
        Ok(Answer { additional_context: fired.decision.additional_context, ..Answer::default() })
    });
    let inner = Hook::on("tool:error", |call: Call| async move {
        let session = call.event.text("session").unwrap_or("none").to_owned();
        let again = call.fire(event("tool:pre_execute", json!({}))).await;
        let refused = again.reports[0].reason.clone().unwrap_or_default();
        Ok(Answer::context(session).with_context(refused))
    });
    let engine = engine([outer.id("outer"), inner.id("inner").awaits(true)]);
    let firing = Firing { session: Some("s".into()), ..Firing::default() };
    let fired = engine.fire(event("tool:pre_execute", json!({})), firing).await;
    let [session, refused] = &fired.decision.additional_context[..] else {
        panic!("{:?}", fired.decision)
    };
    assert_eq!(session, "s");
    let circle = "it would wake itself again: tool:pre_execute (outer) → tool:error (inner) → \
                  tool:pre_execute (outer)";
    assert!(refused.contains(circle), "{refused}");
}

#[tokio::test]
async fn a_missing_approver_is_missing_below_a_callback_too() {
    let asks = Hook::on("git:pre_commit", |_| ready(Ok(Answer::ask("sure?"))));
    let outer = Hook::on("tool:pre_execute", |call: Call| async move {
        let fired = call.fire(event("git:pre_commit", json!({}))).await;
        Ok(Answer::context(format!("{:?}", fired.decision.verdict)))
    });
    let firing = Firing { no_approver: true, ..Firing::default() };
    let engine = engine([asks, outer]);
    let fired = engine.fire(event("tool:pre_execute", json!({})), firing).await;
    let verdict = format!("{:?}", block("cannot ask a person: sure?"));
    assert_eq!(fired.decision.additional_context, [verdict]);
}

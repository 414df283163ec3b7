//! How callbacks end that do not end by themselves: timeout, interrupt, a dropped firing, a panic.
//! None of them takes the host down.

use std::future::{pending, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hookwright_engine::limits::{CALLBACK_GRACE, COMMAND_TIMEOUT};
use hookwright_engine::{
    Answer, Call, CallbackFailure, CancellationToken, Hook, OnFailure, Status,
};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::program::{Notes, OnDrop, at_a_guard, engine, fire, waits};
use crate::support::{block, only, proceed};

// Conformance: claude-code-016
#[tokio::test(start_paused = true)]
async fn a_callback_that_never_hears_of_its_token_is_dropped_after_timeout_and_grace() {
    let notes = Notes::default();
    let keep = notes.clone();
    let hook = Hook::on("tool:pre_execute", move |_| {
        let keep = keep.clone();
        async move {
            let _dropped = OnDrop(|| keep.add("dropped"));
            pending().await
        }
    })
    .id("deaf")
    .timeout(Duration::from_secs(3));
    let begun = Instant::now();
    let fired = at_a_guard(hook).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(3) + CALLBACK_GRACE);
    assert_eq!(notes.all(), ["dropped"]);
    let (status, reason) = only(&fired);
    assert_eq!(status, Status::TimedOut);
    assert!(reason.starts_with("hook deaf failed (timed out after 3 s); "), "{reason}");
    assert_eq!(fired.decision.verdict, block(&reason));
}

#[tokio::test(start_paused = true)]
async fn without_a_timeout_of_its_own_a_callback_has_the_time_of_a_command() {
    let begun = Instant::now();
    let fired = at_a_guard(Hook::on("tool:pre_execute", |_| pending())).await;
    assert_eq!(only(&fired).0, Status::TimedOut);
    assert_eq!(begun.elapsed(), COMMAND_TIMEOUT + CALLBACK_GRACE);
}

#[tokio::test(start_paused = true)]
async fn a_callback_that_obeys_its_token_ends_at_once_and_its_result_is_ignored() {
    let notes = Notes::default();
    let keep = notes.clone();
    let hook = Hook::on("tool:pre_execute", move |call: Call| {
        let keep = keep.clone();
        async move {
            call.cancelled.cancelled().await;
            keep.add("tidied up");
            Ok(Answer::allow())
        }
    })
    .timeout(Duration::from_secs(3));
    let begun = Instant::now();
    let fired = at_a_guard(hook).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
    assert_eq!(notes.all(), ["tidied up"]);
    assert_eq!(only(&fired).0, Status::TimedOut);
    assert_eq!(fired.record()["decision"], "block");
}

#[tokio::test]
async fn a_busy_callback_that_yields_is_timed_out_too() {
    let hook = Hook::on("tool:pre_execute", |_| async {
        // It uses up its task's whole budget in every turn.
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            tokio::task::consume_budget().await;
        }
        Ok(Answer::default())
    })
    .timeout(Duration::from_millis(20));
    assert_eq!(only(&at_a_guard(hook).await).0, Status::TimedOut);
}

#[tokio::test]
async fn tasks_of_a_callback_that_ended_in_time_continue() {
    let (send, mut started) = tokio::sync::mpsc::unbounded_channel::<CancellationToken>();
    let hook = Hook::on("tool:pre_execute", move |call: Call| {
        send.send(call.cancelled).expect("the test listens");
        ready(Ok(Answer::default()))
    });
    let engine = engine([hook]);
    fire(&engine, "tool:pre_execute", json!({})).await;
    let token = started.recv().await.expect("it was called");
    assert!(!token.is_cancelled());
}

// Conformance: claude-code-020
#[tokio::test]
async fn a_panic_in_any_part_of_a_callback_fails_the_hook() {
    let while_made = Hook::on("tool:pre_execute", |call: Call| {
        assert!(call.attempt > 1, "made {}", "badly");
        ready(Ok(Answer::default()))
    });
    let while_polled = Hook::on("tool:pre_execute", |_| async {
        tokio::task::yield_now().await;
        panic!("polled badly")
    });
    let while_dropped = Hook::on("tool:pre_execute", |_| {
        let dropped = OnDrop(|| panic!("dropped badly"));
        async {
            let _kept_until_the_end = dropped;
            Ok(Answer::allow())
        }
    });
    let without_words = Hook::on("tool:pre_execute", |_| async {
        // Its payload panics too when it is dropped.
        std::panic::panic_any(OnDrop(|| panic!("the payload")))
    });
    for (hook, message) in [
        (while_made, "panicked: made badly"),
        (while_polled, "panicked: polled badly"),
        (while_dropped, "panicked: dropped badly"),
        (without_words, "panicked: without a message"),
    ] {
        let fired = at_a_guard(hook.id("p")).await;
        let (status, reason) = only(&fired);
        assert_eq!(status, Status::Failed);
        assert!(reason.starts_with(&format!("hook p failed ({message}); ")), "{reason}");
        assert_eq!(fired.decision.verdict, block(&reason));
    }
}

/// A ready future that panics when it is dropped afterwards.
struct PanicsAfterwards(Answer);

impl Future for PanicsAfterwards {
    type Output = Result<Answer, CallbackFailure>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(self.0.clone()))
    }
}

impl Drop for PanicsAfterwards {
    fn drop(&mut self) {
        panic!("afterwards");
    }
}

#[tokio::test]
async fn a_panic_after_the_answer_takes_back_an_allowance_but_no_denial() {
    let hook = |answer: Answer| {
        let hook = Hook::on("tool:pre_execute", move |_| PanicsAfterwards(answer.clone()));
        hook.on_failure(OnFailure::Continue)
    };
    let denied = at_a_guard(hook(Answer::deny("no"))).await;
    assert_eq!(denied.decision.verdict, block("no"));
    let allowed = at_a_guard(hook(Answer::allow())).await;
    assert_eq!(only(&allowed), (Status::Failed, "panicked: afterwards".into()));
    assert_eq!(allowed.decision.verdict, proceed());
}

#[tokio::test(start_paused = true)]
async fn a_panic_during_or_after_the_grace_period_is_reported_with_the_timeout() {
    let during = Hook::on("tool:error", |call: Call| async move {
        call.cancelled.cancelled().await;
        panic!("during")
    });
    let at_its_end = Hook::on("tool:error", |_| async {
        let _dropped = OnDrop(|| panic!("at its end"));
        pending().await
    });
    for (hook, reason) in [
        (during, "timed out, then panicked: during"),
        (at_its_end, "timed out, then panicked: at its end"),
    ] {
        let engine = engine([hook.awaits(true).timeout(Duration::from_secs(1))]);
        let fired = fire(&engine, "tool:error", json!({})).await;
        assert_eq!(only(&fired), (Status::Failed, reason.to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_cancels_the_token_and_blocks_if_a_guard_had_not_answered() {
    for (listens, noted, took) in [
        (true, &["heard", "told, then dropped"][..], Duration::ZERO),
        (false, &["told, then dropped"], CALLBACK_GRACE),
    ] {
        let (running, notes) = (Arc::new(Notify::new()), Notes::default());
        let never = notes.clone();
        let second = Hook::on("*", move |_| {
            never.add("never");
            ready(Ok(Answer::default()))
        });
        let engine = engine([waits(listens, &running, &notes), second]);
        let begun = Instant::now();
        let interrupt = async {
            running.notified().await;
            engine.interrupt();
        };
        let firing = fire(&engine, "tool:pre_execute", json!({}));
        let (fired, ()) = tokio::join!(firing, interrupt);
        assert_eq!(begun.elapsed(), took);
        assert_eq!(notes.all(), noted);
        let record = fired.record();
        assert_eq!(record["decision"], "block");
        let reason = record["hooks"][0]["reason"].as_str().expect("a reason");
        assert!(reason.contains("(interrupted)"), "{reason}");
        assert_eq!(record["hooks"][1]["reason"], "interrupted");
        // No callback is called any more.
        fire(&engine, "tool:pre_execute", json!({})).await;
        assert_eq!(notes.all(), noted);
    }
}

#[tokio::test]
async fn a_host_that_drops_a_firing_cancels_the_token_and_drops_the_callback() {
    let (running, notes) = (Arc::new(Notify::new()), Notes::default());
    let engine = engine([waits(false, &running, &notes)]);
    tokio::select! {
        _ = fire(&engine, "tool:pre_execute", json!({})) => panic!("the test did not end the callback"),
        () = running.notified() => {}
    }
    assert_eq!(notes.all(), ["told, then dropped"]);
    assert_eq!(engine.in_background(), [""; 0]);
}

#[tokio::test]
async fn a_panic_while_a_firing_is_dropped_is_contained() {
    let running = Arc::new(Notify::new());
    let runs = Arc::clone(&running);
    let hook = Hook::on("tool:pre_execute", move |_| {
        let runs = Arc::clone(&runs);
        async move {
            let _dropped = OnDrop(|| panic!("while it is dropped"));
            runs.notify_one();
            pending().await
        }
    });
    let engine = engine([hook]);
    tokio::select! {
        _ = fire(&engine, "tool:pre_execute", json!({})) => panic!("the test did not end the callback"),
        () = running.notified() => {}
    }
    engine.settle().await;
}

use std::time::{Duration, Instant};

use hookwright_events::{FiringEvent, RunEventKind, Status};
use serde_json::json;
use tokio::time::timeout;

use crate::support::{Host, Left, only, proceed, until, wait_for};

#[tokio::test]
async fn fire_and_forget_is_tracked_to_its_end() {
    let waits = wait_for("go");
    let host =
        Host::new(&format!("hooks: {{session:start: [{{command: '{waits} && echo x > done'}}]}}"));
    let fired = host.fire("session:start", json!({})).await;
    assert_eq!(only(&fired).0, Status::Started);
    assert!(!host.exists("done"));
    host.write("go", "");
    host.engine.settle().await;
    assert_eq!(host.read("done"), "x\n");
    let reported = host.seen().into_iter().filter_map(|event| match event.kind {
        RunEventKind::Firing(FiringEvent::HookReported { report }) => Some(report.status),
        _ => None,
    });
    assert_eq!(reported.collect::<Vec<_>>(), [Status::Success]);
}

#[tokio::test]
async fn an_observer_that_is_retried_in_the_background_gets_all_its_attempts() {
    let host = Host::new(
        "hooks: {session:start: [{command: 'echo x >> tries; [ $(wc -l < tries) -eq 3 ]',
                                  on_failure: retry, retry_delay: 10ms}]}",
    );
    let fired = host.fire("session:start", json!({})).await;
    assert_eq!(only(&fired).0, Status::Started);
    host.engine.settle().await;
    assert_eq!(host.read("tries"), "x\nx\nx\n");
}

#[tokio::test]
async fn a_background_child_that_holds_the_output_does_not_hold_an_observer_up() {
    let host = Host::new(
        "hooks: {session:start: [{await: true, command: 'sleep 1000 & echo $! > pid; echo ok'}]}",
    );
    let child = Left::by(&host, "pid");
    let started = Instant::now();
    let fired = host.fire("session:start", json!({})).await;
    assert!(started.elapsed() < Duration::from_secs(100), "it must not wait for the child");
    assert_eq!(only(&fired).0, Status::Success);
    assert_eq!(fired.reports[0].stdout, "ok\n");
    assert!(child.is_alive(), "what a hook leaves running is left alone");
}

#[tokio::test]
async fn at_a_guard_such_a_child_makes_the_hook_fail_unless_an_answer_has_come() {
    let host = Host::new(
        r#"
hooks:
  tool:pre_execute:silent: [{command: "sleep 1000 & echo $! > pid1"}]
  tool:pre_execute:answer: [{command: "sleep 1000 & echo $! > pid2; echo '{\"decision\":\"allow\"}'"}]
"#,
    );
    let children = [Left::by(&host, "pid1"), Left::by(&host, "pid2")];
    let silent = host.fire("tool:pre_execute", json!({ "tool_name": "silent" })).await;
    let (status, reason) = only(&silent);
    assert_eq!(status, Status::Failed);
    assert!(reason.contains("a background child still holds its output"), "{reason}");
    assert_eq!(silent.record()["decision"], "block");
    let answer = host.fire("tool:pre_execute", json!({ "tool_name": "answer" })).await;
    assert_eq!(answer.record()["decision"], "allow");
    assert!(children.iter().all(Left::is_alive), "what a hook leaves running is left alone");
}

// Conformance: claude-code-012
#[tokio::test]
async fn an_interrupt_ends_all_hooks_and_blocks_if_a_guard_had_not_answered() {
    let host = Host::new(
        "hooks:
  tool:pre_execute:
    - {command: 'echo $$ > pid; touch running; exec sleep 1000'}
    - {command: touch never}
",
    );
    let command = Left::by(&host, "pid");
    let interrupt = async {
        host.until_exists("running").await;
        host.engine.interrupt();
    };
    let (fired, ()) = tokio::join!(host.fire("tool:pre_execute", json!({})), interrupt);
    let record = fired.record();
    assert_eq!(record["decision"], "block");
    assert_eq!(record["hooks"][1]["status"], "skipped");
    assert_eq!(record["hooks"][1]["reason"], "interrupted");
    assert!(!host.exists("never"));
    until("the command has ended", || command.is_gone()).await;
}

#[tokio::test]
async fn after_an_interrupt_nothing_starts() {
    let host = Host::new("hooks: {session:start: [{command: touch never, await: true}]}");
    host.engine.interrupt();
    let fired = host.fire("session:start", json!({})).await;
    assert_eq!(fired.decision.verdict, proceed());
    host.engine.settle().await;
    assert!(!host.exists("never"));
}

#[tokio::test]
async fn a_host_that_drops_a_firing_ends_its_awaited_hook() {
    let hooks = "hooks: {Stop: [{command: 'echo $$ > pid; touch running; exec sleep 1000'}]}";
    let host = Host::new(hooks);
    let command = Left::by(&host, "pid");
    tokio::select! {
        _ = host.fire("Stop", json!({})) => panic!("the test did not end the hook"),
        () = until("the command runs", || command.has_run()) => {}
    }
    until("the command has ended", || command.is_gone()).await;
}

/// Settles while a hook runs that waits for the file `go`, writes the file, and returns whether the
/// hook had ended when settling returned.
async fn settles_with_the_hook(host: &Host) -> bool {
    let settled = async {
        host.engine.settle().await;
        host.exists("done")
    };
    let (was_done, ()) = tokio::join!(settled, async { host.write("go", "") });
    was_done
}

#[tokio::test]
async fn settling_again_after_giving_up_still_waits_for_running_hooks() {
    let waits = wait_for("go");
    let host = Host::new(&format!(
        "hooks: {{session:start: [{{id: slow, command: 'touch running; {waits} && touch done'}}]}}"
    ));
    host.fire("session:start", json!({})).await;
    host.until_exists("running").await;
    assert!(timeout(Duration::ZERO, host.engine.settle()).await.is_err(), "the hook waits for us");
    assert_eq!(host.engine.in_background(), ["slow"]);
    assert!(settles_with_the_hook(&host).await);
    assert_eq!(host.engine.in_background(), [""; 0]);
}

#[tokio::test]
async fn background_hooks_of_a_dropped_firing_are_tracked_to_their_end() {
    let waits = wait_for("go");
    let host = Host::new(&format!(
        "hooks:
  tool:pre_execute:
    - {{id: slow, await: false, command: 'touch running; {waits} && touch done'}}
    - {{id: guard, command: 'echo $$ > pid; exec sleep 1000'}}
"
    ));
    let guard = Left::by(&host, "pid");
    tokio::select! {
        _ = host.fire("tool:pre_execute", json!({})) => panic!("the test did not end the guard"),
        () = until("both run", || guard.has_run() && host.exists("running")) => {}
    }
    assert_eq!(host.engine.in_background(), ["slow"]);
    assert!(settles_with_the_hook(&host).await);
    assert_eq!(host.engine.in_background(), [""; 0]);
}

#[tokio::test]
async fn each_background_hook_is_listed_until_it_has_ended_itself() {
    let hook = |name: &str| format!("{{id: {name}, command: '{}'}}", wait_for(name));
    let hooks = ["a", "b", "c"].map(hook).join(", ");
    let host = Host::new(&format!("hooks: {{session:start: [{hooks}]}}"));
    // Two firings of the same hooks: a hook that ends in both leaves the list twice.
    host.fire("session:start", json!({})).await;
    host.fire("session:start", json!({})).await;
    assert_eq!(host.engine.in_background(), ["a", "b", "c", "a", "b", "c"]);
    host.write("b", "");
    until("both have ended", || host.engine.in_background() == ["a", "c", "a", "c"]).await;
    host.write("c", "");
    until("both have ended", || host.engine.in_background() == ["a", "a"]).await;
    host.write("a", "");
    host.engine.settle().await;
    assert_eq!(host.engine.in_background(), [""; 0]);
}

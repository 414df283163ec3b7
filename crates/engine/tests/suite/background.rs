use std::time::{Duration, Instant};

use hookwright_events::{RunEventKind, Status};
use serde_json::json;

use crate::support::{Host, only, proceed, until};

/// Ends the process whose id stands in a file, so that a test leaves nothing behind.
fn kill(pid: &str) {
    let ended = std::process::Command::new("kill").args(["-9", pid.trim()]).status();
    assert!(ended.expect("kill runs").success(), "{pid} was not alive");
}

#[tokio::test]
async fn fire_and_forget_is_tracked_to_its_end() {
    let host = Host::new(
        "hooks: {session:start: [{command: 'until [ -e go ]; do sleep 0.01; done; echo x > done'}]}",
    );
    let fired = host.fire("session:start", json!({})).await;
    assert_eq!(only(&fired).0, Status::Started);
    assert!(!host.exists("done"));
    host.write("go", "");
    host.engine.settle().await;
    assert_eq!(host.read("done"), "x\n");
    let reported = host.seen().into_iter().filter_map(|event| match event.kind {
        RunEventKind::HookReported { report } => Some(report.status),
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
    let started = Instant::now();
    let fired = host.fire("session:start", json!({})).await;
    assert!(started.elapsed() < Duration::from_secs(100), "it must not wait for the child");
    assert_eq!(only(&fired).0, Status::Success);
    assert_eq!(fired.reports[0].stdout, "ok\n");
    kill(&host.read("pid"));
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
    let silent = host.fire("tool:pre_execute", json!({ "tool_name": "silent" })).await;
    let (status, reason) = only(&silent);
    assert_eq!(status, Status::Failed);
    assert!(reason.contains("a background child still holds its output"), "{reason}");
    assert_eq!(silent.record()["decision"], "block");
    let answer = host.fire("tool:pre_execute", json!({ "tool_name": "answer" })).await;
    assert_eq!(answer.record()["decision"], "allow");
    kill(&host.read("pid1"));
    kill(&host.read("pid2"));
}

#[tokio::test]
async fn an_interrupt_ends_what_runs_and_blocks_where_a_guard_had_not_answered() {
    let host = Host::new(
        "hooks:
  tool:pre_execute:
    - {command: 'echo $$ > pid; touch running; exec sleep 1000'}
    - {command: touch never}
",
    );
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
    let pid = host.read("pid");
    let proc = format!("/proc/{}", pid.trim());
    until("the command has ended", || !std::path::Path::new(&proc).exists()).await;
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
    tokio::select! {
        _ = host.fire("Stop", json!({})) => panic!("nobody ended the hook"),
        () = host.until_exists("running") => {}
    }
    let proc = format!("/proc/{}", host.read("pid").trim());
    until("the command has ended", || !std::path::Path::new(&proc).exists()).await;
}

use std::sync::Arc;
use std::time::Duration;

use hookwright_events::{FiringEvent, RunEventKind, Status};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::{Host, only, until, wait_for};

/// Children at once, of each kind.
const SLOTS: usize = 64;

/// Far longer than a busy machine needs for something that must not wait.
const IN_VAIN: Duration = Duration::from_secs(60);

#[tokio::test]
async fn five_hundred_hooks_at_once_all_end_and_never_more_than_the_limit_run() {
    let entry = |work: &str| format!("    - {{command: 'echo + >> log; {work}; echo - >> log'}}\n");
    // Pairs wait for each other, so some run side by side however busy the machine is.
    let meeting = |own: &str, other: &str| {
        let waits = wait_for(other);
        entry(&format!("touch {own}; {{ {waits}; }} || exit 1"))
    };
    let host = Host::new(&format!(
        "hooks:\n  session:start:\n{}{}{}",
        meeting("left", "right"),
        meeting("right", "left"),
        entry("sleep 0.3").repeat(498)
    ));
    let fired = host.fire("session:start", json!({})).await;
    assert_eq!(fired.reports.len(), 500);
    host.engine.settle().await;
    let ends = host.seen().into_iter().filter_map(|event| match event.kind {
        RunEventKind::Firing(FiringEvent::HookReported { report }) => Some(report.status),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [Status::Success; 500]);
    let log = host.read("log");
    let (mut running, mut most) = (0, 0);
    for line in log.lines() {
        if line == "+" {
            running += 1;
            most = most.max(running);
        } else {
            running -= 1;
        }
    }
    assert_eq!((log.lines().count(), running), (1000, 0));
    assert!((2..=SLOTS).contains(&most), "{most} ran at once");
}

#[tokio::test]
async fn hooks_that_fire_events_get_slots_while_all_others_are_taken() {
    let waiting = format!("    - {{command: 'touch held.$$; {}'}}\n", wait_for("go"));
    let host = Host::new(&format!(
        "hooks:\n  session:start:\n{}  tool:pre_execute:\n    - {{command: touch inner}}\n",
        waiting.repeat(100)
    ));
    host.fire("session:start", json!({})).await;
    // All slots for background hooks are taken, and 36 more hooks wait for one.
    until("all slots are taken", || host.count("held.") == SLOTS).await;
    let inner = timeout(IN_VAIN, host.fire("tool:pre_execute", json!({}))).await;
    assert_eq!(only(&inner.expect("it has a slot of its own")).0, Status::Success);
    assert!(host.exists("inner"));
    assert_eq!(host.count("held."), SLOTS, "the others still wait for a slot");
    host.write("go", "");
    host.engine.settle().await;
}

#[tokio::test]
async fn background_hooks_get_slots_while_all_awaited_ones_are_taken() {
    // More firings at once than slots for awaited hooks. Each hook stays in its slot until a
    // background hook has run.
    let host = Arc::new(Host::new(&format!(
        "hooks:
  tool:pre_execute: [{{command: 'touch held.$$; {}'}}]
  session:start: [{{command: touch go}}]
",
        wait_for("go")
    )));
    let mut firings = JoinSet::new();
    for _ in 0..70 {
        let host = Arc::clone(&host);
        firings.spawn(async move { only(&host.fire("tool:pre_execute", json!({})).await) });
    }
    until("all slots are taken", || host.count("held.") == SLOTS).await;
    host.fire("session:start", json!({})).await;
    host.until_exists("go").await;
    assert_eq!(firings.join_all().await, vec![(Status::Success, String::new()); 70]);
    host.engine.settle().await;
}

#[tokio::test]
async fn hooks_that_went_async_release_their_slots_for_awaited_ones() {
    let entry = format!(
        "    - await: true
      command: |
        echo '{{\"async\": true, \"asyncTimeout\": 600}}'
        {}
",
        wait_for("go")
    );
    let host = Host::new(&format!(
        "hooks:\n  tool:pre_execute: [{{command: touch guarded}}]\n  tool:post_execute:\n{}",
        entry.repeat(SLOTS)
    ));
    host.fire("tool:post_execute", json!({})).await;
    assert_eq!(host.engine.in_background().len(), SLOTS);
    let guard = timeout(IN_VAIN, host.fire("tool:pre_execute", json!({}))).await;
    assert_eq!(only(&guard.expect("it does not wait for the others")).0, Status::Success);
    assert!(host.exists("guarded"));
    assert_eq!(host.engine.in_background().len(), SLOTS, "all of them went on meanwhile");
    host.write("go", "");
    host.engine.settle().await;
}

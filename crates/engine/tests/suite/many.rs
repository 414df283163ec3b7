use hookwright_events::Status;
use serde_json::json;

use crate::support::Host;

#[tokio::test]
async fn five_hundred_hooks_at_once_all_end_and_never_more_than_the_limit_run() {
    let entry = "    - {command: 'echo + >> log; sleep 0.01; echo - >> log'}\n";
    let host = Host::new(&format!("hooks:\n  session:start:\n{}", entry.repeat(500)));
    let fired = host.fire("session:start", json!({})).await;
    assert_eq!(fired.reports.len(), 500);
    host.engine.settle().await;
    let log = host.read("log");
    let (mut running, mut most) = (0i32, 0);
    for line in log.lines() {
        running += if line == "+" { 1 } else { -1 };
        most = most.max(running);
    }
    assert_eq!((log.lines().count(), running), (1000, 0));
    assert!(most <= 64, "{most} ran at once");
    assert!(most > 1, "they did run side by side");
}

#[tokio::test]
async fn hooks_that_fire_events_get_slots_while_all_others_are_taken() {
    let waiting = "    - {command: 'until [ -e go ]; do sleep 0.05; done'}\n";
    let host = Host::new(&format!(
        "hooks:\n  session:start:\n{}  tool:pre_execute:\n    - {{command: touch inner}}\n",
        waiting.repeat(100)
    ));
    // All slots for background hooks are taken, and 36 more hooks wait for one.
    host.fire("session:start", json!({})).await;
    let fired = host.fire("tool:pre_execute", json!({})).await;
    assert_eq!(fired.reports[0].status, Status::Success);
    assert!(host.exists("inner"));
    host.write("go", "");
    host.engine.settle().await;
}

#[tokio::test]
async fn awaited_hooks_that_each_fire_an_event_do_not_wait_for_themselves() {
    // Seventy firings at once, each of which holds an awaited slot while its hook waits for an
    // inner firing; more than there are slots.
    let host = Host::new(
        "hooks:
  tool:pre_execute: [{command: 'echo outer > /dev/null'}]
  tool:post_execute: [{command: 'true'}]
",
    );
    let firings = (0..70).map(|_| async {
        let outer = host.fire("tool:pre_execute", json!({})).await;
        let inner = host.fire("tool:post_execute", json!({})).await;
        (outer.reports[0].status, inner.reports[0].status)
    });
    for firing in firings.map(Box::pin).collect::<Vec<_>>() {
        assert_eq!(firing.await, (Status::Success, Status::Success));
    }
}

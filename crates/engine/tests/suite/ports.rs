use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hookwright_engine::ports::memory::{InMemoryJournal, InMemoryMemory, ManualClock};
use hookwright_engine::ports::{Clock, Fire, Journal, Keepsake, Memory, Ports, Promise};
use hookwright_engine::{Answer, Chain, Firing};
use hookwright_events::{FiringEvent, RunEvent, RunEventKind, Status, Verdict};
use serde_json::json;

use crate::support::{Host, event, only};

#[tokio::test]
async fn the_journal_has_every_step_before_its_effect_starts() {
    let journal = Arc::new(InMemoryJournal::default());
    let ports = Ports {
        journal: Arc::clone(&journal) as Arc<dyn Journal>,
        clock: Arc::new(ManualClock::at("2026-01-02T03:04:05Z")),
        ..Ports::default()
    };
    let host = Host::with(
        "hooks: {Stop: [{id: a, command: echo hi}, {id: b, command: x, enabled: false}]}",
        ports,
        &[],
    );
    host.engine
        .fire(event("Stop", json!({})), Firing { session: Some("s".into()), ..Firing::default() })
        .await;
    let kinds: Vec<String> = journal
        .events()
        .iter()
        .map(|event| {
            assert_eq!(
                (event.version, event.firing, event.at.as_str()),
                (1, 1, "2026-01-02T03:04:05Z")
            );
            assert_eq!(event.session.as_deref(), Some("s"));
            let value = serde_json::to_value(event).expect("plain data");
            value["kind"].as_str().expect("a kind").to_owned()
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "fired",
            "hook_starting",
            "hook_running",
            "hook_ended",
            "hook_reported",
            "hook_skipped",
            "decided"
        ]
    );
    // Output is shown live, but the journal has it once, in the outcome.
    assert!(host.seen().iter().any(|event| matches!(&event.kind,
        RunEventKind::Firing(FiringEvent::HookOutput { text, .. }) if text == "hi\n")));
}

#[tokio::test]
async fn a_firing_without_hooks_is_not_recorded_if_its_host_wants_that() {
    let journal = Arc::new(InMemoryJournal::default());
    let ports = Ports { journal: Arc::clone(&journal) as Arc<dyn Journal>, ..Ports::default() };
    let host = Host::with("hooks: {tool:pre_execute:bash: [{command: 'true'}]}", ports, &[]);
    let recorded = async |tool: &str, skips_unheard: bool| {
        let before = journal.events().len();
        let firing = Firing { session: Some("s".into()), skips_unheard, ..Firing::default() };
        host.engine.fire(event("tool:pre_execute", json!({ "tool_name": tool })), firing).await;
        journal.events().len() - before
    };
    assert_eq!(recorded("read", false).await, 2);
    assert_eq!(recorded("read", true).await, 0);
    // A hook that is woken is recorded, as always.
    assert!(recorded("bash", true).await > 2);
}

/// Counts how often it is read.
#[derive(Default)]
struct ReadClock(AtomicUsize);

impl Clock for ReadClock {
    fn now(&self) -> String {
        self.0.fetch_add(1, Ordering::Relaxed);
        "2026-01-02T03:04:05Z".to_owned()
    }
}

#[tokio::test]
async fn a_firing_without_hooks_is_not_even_begun_if_nothing_waits_to_be_told() {
    let (clock, memory) = (Arc::new(ReadClock::default()), Arc::new(InMemoryMemory::default()));
    let ports = Ports {
        journal: Arc::new(InMemoryJournal::default()),
        memory: Arc::clone(&memory) as _,
        clock: Arc::clone(&clock) as _,
        ..Ports::default()
    };
    let host = Host::with("hooks: {tool:pre_execute:bash: [{command: 'true'}]}", ports, &[]);
    let contexts = async |tool: &str| {
        let firing = Firing { session: Some("s".into()), skips_unheard: true, ..Firing::default() };
        let fired =
            host.engine.fire(event("tool:pre_execute", json!({ "tool_name": tool })), firing);
        fired.await.decision.additional_context
    };
    // From here on the session remembers how its last hook ended.
    contexts("bash").await;
    let reads = clock.0.load(Ordering::Relaxed);
    assert!(reads > 0);
    contexts("read").await;
    assert_eq!(clock.0.load(Ordering::Relaxed), reads, "the event gets no timestamp");
    let answer = Answer { additional_context: vec!["late".into()], ..Answer::default() };
    memory.keep("s", Keepsake::LateAnswer { answer: Box::new(answer) }).await;
    assert_eq!(contexts("read").await, ["late"]);
}

struct FullDisk;

impl Journal for FullDisk {
    fn record<'a>(&'a self, _event: &'a RunEvent) -> Promise<'a, io::Result<()>> {
        Box::pin(std::future::ready(Err(io::Error::other("disk full"))))
    }
}

#[tokio::test]
async fn a_hook_whose_start_cannot_be_journalled_does_not_start() {
    let ports = Ports { journal: Arc::new(FullDisk), ..Ports::default() };
    let host = Host::with("hooks: {tool:pre_execute: [{command: touch ran}]}", ports, &[]);
    let fired = host.fire("tool:pre_execute", json!({})).await;
    let (status, reason) = only(&fired);
    assert_eq!(status, Status::Failed);
    assert!(
        reason.contains("its start could not be recorded in the journal: disk full"),
        "{reason}"
    );
    assert!(matches!(fired.decision.verdict, Verdict::Block { .. }));
    assert!(!host.exists("ran"));
}

#[tokio::test]
async fn an_action_can_fire_an_event_through_the_engine() {
    let host = Host::new("hooks: {git:pre_commit: [{command: 'echo no >&2; exit 2'}]}");
    let fire: &dyn Fire = &host.engine;
    let decision = fire.fire(event("git:pre_commit", json!({})), Chain::default()).await;
    assert_eq!(decision.verdict, Verdict::Block { reason: "no".into() });
}

#[tokio::test]
async fn once_means_once_in_a_session() {
    let host = Host::new("hooks: {Stop: [{command: 'echo x >> ran', once: true}]}");
    for (session, status) in
        [("a", Status::Success), ("a", Status::Skipped), ("b", Status::Success)]
    {
        let fired = host.fire("Stop", json!({ "session": session })).await;
        assert_eq!(only(&fired).0, status);
    }
    assert_eq!(host.read("ran"), "x\nx\n");
}

/// Refuses to record the first start.
#[derive(Default)]
struct DiskFullAtFirst {
    refused: AtomicBool,
}

impl Journal for DiskFullAtFirst {
    fn record<'a>(&'a self, event: &'a RunEvent) -> Promise<'a, io::Result<()>> {
        let starts = matches!(event.kind, RunEventKind::Firing(FiringEvent::HookStarting { .. }));
        let refuses = starts && !self.refused.swap(true, Ordering::Relaxed);
        let answer = if refuses { Err(io::Error::other("disk full")) } else { Ok(()) };
        Box::pin(std::future::ready(answer))
    }
}

#[tokio::test]
async fn a_start_that_could_not_be_journalled_does_not_use_once_up() {
    let ports = Ports { journal: Arc::new(DiskFullAtFirst::default()), ..Ports::default() };
    let host = Host::with("hooks: {Stop: [{command: 'echo x >> ran', once: true}]}", ports, &[]);
    for status in [Status::Failed, Status::Success, Status::Skipped] {
        let fired = host.fire("Stop", json!({ "session": "s" })).await;
        assert_eq!(only(&fired).0, status);
    }
    assert_eq!(host.read("ran"), "x\n");
}

#[tokio::test]
async fn a_hooks_results_are_available_at_the_next_event() {
    let host = Host::new(
        "hooks:
  tool:error: [{command: exit 1, await: true}]
  tool:post_execute: [{command: 'echo $LAST_HOOK_STATUS', when: \"${LAST_HOOK_STATUS} == 'failed'\"}]
",
    );
    host.fire("tool:error", json!({ "session": "s" })).await;
    let fired = host.fire("tool:post_execute", json!({ "session": "s" })).await;
    assert_eq!(fired.reports[0].stdout, "failed\n");
    let other = host.fire("tool:post_execute", json!({ "session": "t" })).await;
    assert_eq!(only(&other).0, Status::Skipped);
}

#[tokio::test]
async fn after_eight_blocked_stops_in_a_row_the_session_ends_anyway() {
    let host = Host::new("hooks: {Stop: [{command: 'echo not yet >&2; exit 2'}]}");
    let stop = || host.fire("Stop", json!({ "session": "s", "reason": "completed" }));
    for round in 0..8 {
        let fired = stop().await;
        assert_eq!(fired.decision.verdict, Verdict::Block { reason: "not yet".into() });
        assert_eq!(fired.event.data["stop_hook_active"], round > 0);
    }
    let ninth = stop().await;
    assert_eq!(ninth.decision.verdict, Verdict::Proceed { rewritten_input: None });
    assert!(ninth.decision.system_messages[0].contains("8 times in a row"), "{ninth:?}");
    // The count starts again, as it does after work.
    assert!(matches!(stop().await.decision.verdict, Verdict::Block { .. }));
    host.fire("tool:post_execute", json!({ "session": "s" })).await;
    assert_eq!(stop().await.event.data["stop_hook_active"], false);
}

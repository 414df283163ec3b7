//! Which run events an observer receives.

use std::sync::{Arc, Mutex};

use hookwright_engine::ports::memory::InMemoryJournal;
use hookwright_engine::ports::{Journal, Ports};
use hookwright_engine::{Firing, Interest, RunEvent};
use hookwright_events::{FiringEvent, RunEventKind};
use serde_json::{Value, json};

use crate::support::{Host, Left, event, until};

#[tokio::test]
async fn an_observer_gets_output_and_processes_only_if_it_is_interested() {
    let host = Host::new("hooks: {session:start: [{id: a, command: 'echo said', await: true}]}");
    let interests = [Interest::Everything, Interest::NoOutput, Interest::NoProcesses];
    let all = interests.map(|interest| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&seen);
        let observer = move |event: &RunEvent| {
            let event = serde_json::to_value(event).expect("plain data");
            keep.lock().expect("one test").push(event["kind"].clone());
        };
        host.engine.observe(interest, Arc::new(observer));
        seen
    });
    host.engine.fire(event("session:start", json!({})), Firing::default()).await;
    let found = all.map(|seen| {
        let seen: Vec<Value> = seen.lock().expect("one test").clone();
        ["hook_output", "hook_running", "hook_reported"].map(|kind| seen.contains(&json!(kind)))
    });
    assert_eq!(found, [[true, true, true], [false, true, true], [false, false, true]]);
}

#[tokio::test]
async fn observers_see_the_end_of_a_dropped_firings_hooks_and_the_journal_does_not() {
    let journal = Arc::new(InMemoryJournal::default());
    let ports = Ports { journal: Arc::clone(&journal) as Arc<dyn Journal>, ..Ports::default() };
    let hooks = "hooks:
  tool:pre_execute:
    - {id: cut-off, command: 'echo $$ > pid; exec sleep 1000'}
    - {id: later, command: 'true'}
";
    let host = Host::with(hooks, ports, &[]);
    let command = Left::by(&host, "pid");
    tokio::select! {
        _ = host.fire("tool:pre_execute", json!({})) => panic!("the test did not end the hook"),
        () = until("the command runs", || command.has_run()) => {}
    }
    let kinds = |events: &[RunEvent]| -> Vec<Value> {
        let kind = |event| serde_json::to_value(event).expect("plain data")["kind"].clone();
        events.iter().map(kind).filter(|kind| kind != "hook_running").collect()
    };
    let began = ["fired", "hook_starting"];
    let ended = ["hook_ended", "hook_reported", "hook_skipped", "decided"];
    assert_eq!(kinds(&host.seen()), [&began[..], &ended].concat());
    assert_eq!(kinds(&journal.events()), began);
    let reports = host.seen().into_iter().filter_map(|event| match event.kind {
        RunEventKind::Firing(FiringEvent::HookReported { report }) => Some(report),
        _ => None,
    });
    let reports: Vec<(String, bool)> = reports.map(|it| (it.id, it.interrupted)).collect();
    assert_eq!(reports, [("cut-off".to_owned(), true)]);
}

//! Which run events an observer receives.

use std::sync::{Arc, Mutex};

use hookwright_engine::{Firing, Interest, RunEvent};
use serde_json::{Value, json};

use crate::support::{Host, event};

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

//! What a session journals of the events that it fires, and how it reads an older program's
//! entries.

use hookwright_events::SessionStatus;
use serde_json::{Value, json};

use super::project::Project;

const SIX_TURNS: &str =
    "prompt: p\nagent: {script: turns.yaml}\ntermination: {type: fixed, iterations: 6}\n";

fn project(hooks: &str) -> Project {
    let text = format!("{SIX_TURNS}{hooks}");
    Project::new(&[("loop.yaml", &text), ("turns.yaml", "turns: [[{say: x}]]\nthen: repeat")])
}

/// The fired events, with the number of outputs in their data, if these are journalled.
fn fired(journal: &[Value]) -> Vec<(String, Option<usize>)> {
    let fired = journal.iter().filter(|entry| entry["kind"] == "fired");
    let outputs = |entry: &Value| {
        let data = entry.get("data")?;
        Some(data.get("stage_outputs").map_or(0, |outputs| outputs.as_array().map_or(0, Vec::len)))
    };
    fired
        .map(|entry| (entry["event"].as_str().unwrap_or_default().to_owned(), outputs(entry)))
        .collect()
}

#[tokio::test]
async fn the_data_of_an_event_are_journalled_only_if_a_hook_reads_them() {
    let mut silent = project("");
    assert_eq!(silent.take_up().await.unwrap().status, SessionStatus::Completed);
    let journal = silent.journal();
    assert!(fired(&journal).iter().all(|(_, outputs)| outputs.is_none()), "{:?}", fired(&journal));

    let mut listening = project("hooks: {iteration:complete: [{await: true, command: 'true'}]}\n");
    assert_eq!(listening.take_up().await.unwrap().status, SessionStatus::Completed);
    for (event, outputs) in fired(&listening.journal()) {
        assert_eq!(outputs.is_some(), event == "iteration:complete", "{event}");
    }
    let all = fired(&listening.journal());
    let last = all.iter().rev().find_map(|(_, outputs)| *outputs);
    assert_eq!(last, Some(6));
}

/// An entry as earlier programs wrote it: with the data of every event.
fn with_data(entry: String) -> String {
    let mut entry: Value = serde_json::from_str(&entry).expect("JSON");
    if entry["kind"] == "fired" && entry.get("data").is_none() {
        entry["data"] = json!({
            "session": "s", "stage": "loop", "iteration": 2,
            "stage_outputs": [".hookwright/sessions/s/stage-00-loop/iterations/001/output.md"],
        });
    }
    entry.to_string()
}

#[tokio::test]
async fn a_session_of_a_version_that_journalled_all_data_continues_where_it_was() {
    for (cut, taken) in [("turn_ended", 2), ("iteration:start", 3), ("turn_starting", 1)] {
        let hooks =
            "hooks: {iteration:complete: [{await: true, command: 'echo $ITERATION >> ran'}]}\n";
        let mut project = project(hooks);
        project.store().refuse(cut, taken);
        project.take_up().await.expect_err("nothing may happen any more");
        project.store().take_all();
        project.store().rewrite(with_data);
        assert!(fired(&project.journal()).iter().all(|(_, outputs)| outputs.is_some()));
        assert_eq!(project.take_up().await.unwrap().status, SessionStatus::Completed, "{cut}");
        let ran = std::fs::read_to_string(project.path("ran")).unwrap();
        assert_eq!(ran, "1\n2\n3\n4\n5\n6\n", "{cut}");
    }
}

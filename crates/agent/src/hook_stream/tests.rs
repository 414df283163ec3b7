use hookwright_events::EventName;

use super::*;

fn event(firing: u64, kind: FiringEvent) -> RunEvent {
    RunEvent { version: 1, firing, at: String::new(), session: None, kind: kind.into() }
}

fn fired(firing: u64) -> RunEvent {
    let (event_name, subject) = (EventName::TOOL_PRE_EXECUTE, Some("bash".to_owned()));
    let kind = FiringEvent::Fired {
        event: event_name,
        subject,
        key: None,
        data: None,
        late_answers: Vec::new(),
    };
    event(firing, kind)
}

fn starting(firing: u64, hook: &str, attempt: u32) -> RunEvent {
    let (run_id, digest) = (None, None);
    let kind =
        FiringEvent::HookStarting { hook: hook.to_owned(), attempt, awaited: true, run_id, digest };
    event(firing, kind)
}

fn output(firing: u64, hook: &str, stream: &str, text: &str) -> RunEvent {
    let (hook, stream, text) = (hook.to_owned(), stream.to_owned(), text.to_owned());
    event(firing, FiringEvent::HookOutput { hook, stream, text, left_out: 0 })
}

fn reported(firing: u64, hook: &str, status: Status, exit_code: Option<i32>) -> RunEvent {
    let report: Report = serde_json::from_value(json!({
        "id": hook, "type": "shell", "source": "hookwright.yaml:1", "status": status,
        "exit_code": exit_code, "stdout": "out\n", "stderr": "err\n", "attempts": 1,
        "duration_ms": 1.0, "reason": null,
    }))
    .expect("a report");
    event(firing, FiringEvent::HookReported { report })
}

const NOW: Duration = Duration::ZERO;

#[test]
fn messages_of_a_hook_of_a_subagent_name_the_subagent() {
    let mut stream = HookStream::new("session-1");
    let data = json!({ "agent_id": "a1", "agent_type": "reviewer", "tool_input": {} });
    let mut of_subagent = fired(7);
    let RunEventKind::Firing(FiringEvent::Fired { data: known, .. }) = &mut of_subagent.kind else {
        panic!("a firing")
    };
    *known = data.as_object().cloned();
    stream.messages(&of_subagent, NOW);
    stream.messages(&fired(8), NOW);
    let mut messages = stream.messages(&starting(7, "a", 1), NOW);
    messages.extend(stream.messages(&reported(7, "a", Status::Success, Some(0)), NOW));
    for message in messages {
        assert_eq!(
            (&message["agent_id"], &message["agent_type"]),
            (&json!("a1"), &json!("reviewer"))
        );
        assert!(message["tool_input"].is_null());
    }
    let of_main = stream.messages(&starting(8, "a", 1), NOW).remove(0);
    assert!(of_main.get("agent_id").is_none(), "{of_main}");
}

// Conformance: claude-code-051, claude-code-053, claude-code-054
#[test]
fn a_hook_has_a_first_and_a_last_message_under_one_id() {
    let mut stream = HookStream::new("session-1");
    assert!(stream.messages(&fired(7), NOW).is_empty());
    let started = stream.messages(&starting(7, "a", 1), NOW).remove(0);
    let ended = stream.messages(&reported(7, "a", Status::Success, Some(0)), NOW).remove(0);
    for (message, subtype) in [(&started, "hook_started"), (&ended, "hook_response")] {
        assert_eq!(message["type"], "system");
        assert_eq!(message["subtype"], subtype);
        assert_eq!(message["hook_name"], "PreToolUse:bash");
        assert_eq!(message["hook_event"], "PreToolUse");
        assert_eq!(message["session_id"], "session-1");
        assert_eq!(message["hook_id"], started["hook_id"]);
    }
    assert_ne!(started["uuid"], ended["uuid"]);
    assert_eq!(ended["stdout"], "out\n");
    assert_eq!(ended["stderr"], "err\n");
    assert_eq!(ended["output"], "out\nerr\n");
    assert_eq!(ended["exit_code"], 0);
    assert_eq!(ended["outcome"], "success");
    // The next hook of the same firing starts when this one has ended.
    let second = stream.messages(&starting(7, "b", 1), NOW).remove(0);
    assert_eq!(second["hook_name"], "PreToolUse:bash");
    stream.messages(&event(7, FiringEvent::Decided { decision: json!({}) }), NOW);
    stream.messages(&reported(7, "b", Status::Success, Some(0)), NOW);
    assert!(stream.running.is_empty() && stream.firings.is_empty(), "{stream:?}");
}

// Conformance: claude-code-053
#[test]
fn the_outcome_says_how_it_ended() {
    for (status, code, outcome) in [
        (Status::Success, Some(0), Some("success")),
        (Status::Blocked, Some(0), Some("success")),
        (Status::Blocked, Some(2), Some("error")),
        (Status::Failed, Some(1), Some("error")),
        (Status::Failed, None, Some("error")),
        (Status::TimedOut, None, Some("cancelled")),
        (Status::Skipped, None, None),
        (Status::Started, None, None),
    ] {
        let mut stream = HookStream::new("s");
        stream.messages(&fired(1), NOW);
        stream.messages(&starting(1, "a", 1), NOW);
        let messages = stream.messages(&reported(1, "a", status, code), NOW);
        let found = messages.first().and_then(|message| message["outcome"].as_str());
        assert_eq!(found, outcome, "{status:?}");
    }
}

#[test]
fn a_hook_that_was_cut_off_is_cancelled_and_keeps_what_it_printed() {
    let mut stream = HookStream::new("s");
    stream.messages(&fired(1), NOW);
    stream.messages(&starting(1, "a", 1), NOW);
    stream.messages(&output(1, "a", "stderr", "half\n"), NOW);
    let mut cut_off = reported(1, "a", Status::Failed, None);
    let RunEventKind::Firing(FiringEvent::HookReported { report }) = &mut cut_off.kind else {
        panic!("a report")
    };
    (report.stdout, report.stderr, report.interrupted) = (String::new(), String::new(), true);
    let ended = stream.messages(&cut_off, NOW).remove(0);
    let found = ["outcome", "stdout", "stderr", "output"].map(|field| ended[field].clone());
    assert_eq!(found, ["cancelled", "", "half\n", "half\n"].map(Value::from));
    stream.messages(&event(1, FiringEvent::Decided { decision: json!({}) }), NOW);
    assert!(stream.running.is_empty() && stream.firings.is_empty(), "{stream:?}");
}

// Conformance: claude-code-052
#[test]
fn progress_comes_about_once_a_second_with_the_output_so_far() {
    let mut stream = HookStream::new("s");
    stream.messages(&fired(1), NOW);
    stream.messages(&starting(1, "a", 1), NOW);
    let at = Duration::from_millis;
    assert!(stream.messages(&output(1, "a", "stdout", "one\n"), at(500)).is_empty());
    let told = stream.messages(&output(1, "a", "stderr", "two\n"), at(1000)).remove(0);
    assert_eq!(told["subtype"], "hook_progress");
    assert_eq!(told["stdout"], "one\n");
    assert_eq!(told["stderr"], "two\n");
    assert_eq!(told["output"], "one\ntwo\n");
    assert!(stream.messages(&output(1, "a", "stdout", "three\n"), at(1900)).is_empty());
    let told = stream.messages(&output(1, "a", "stdout", "four\n"), at(2000)).remove(0);
    assert_eq!(told["stdout"], "one\nthree\nfour\n");
}

#[test]
fn output_without_end_is_bounded() {
    let mut stream = HookStream::new("s");
    stream.messages(&fired(1), NOW);
    stream.messages(&starting(1, "a", 1), NOW);
    let much = "ü".repeat(HOOK_PROGRESS_BYTES_MAX);
    stream.messages(&output(1, "a", "stdout", &much), NOW);
    let running = &stream.running[&(1, "a".to_owned())];
    assert!(running.stdout.len() <= HOOK_PROGRESS_BYTES_MAX);
}

#[test]
fn another_attempt_is_no_other_hook() {
    let mut stream = HookStream::new("s");
    stream.messages(&fired(1), NOW);
    assert_eq!(stream.messages(&starting(1, "a", 1), NOW).len(), 1);
    assert!(stream.messages(&starting(1, "a", 2), NOW).is_empty());
    assert_eq!(stream.messages(&reported(1, "a", Status::Success, Some(0)), NOW).len(), 1);
}

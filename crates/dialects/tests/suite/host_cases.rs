//! What each host reads and answers. A case is a folder without Rust:
//!
//! ```text
//! hosts/<host>/<case>/
//!     sent.json         what the agent sends on standard input, byte for byte
//!     decision.json     what the hooks decide; if missing, nothing
//!     event.expected    the events that hooks get, or why there are none
//!     reply.expected    exit code, standard output, standard error, and what waits for later
//! ```
//!
//! The folders that begin with a number are recordings of the real program, in the order in which it
//! sent them; `recorded.md` beside them says how. A recording must be readable. `HOOKWRIGHT_UPDATE=1`
//! rewrites the expected files; review the difference like code.

use std::fs;
use std::path::{Path, PathBuf};

use hookwright_dialects::hosts::{self, Host, HostCall, HostReply, UnreadableCall};
use hookwright_engine::Event;
use hookwright_events::{Decision, Verdict};
use serde_json::{Value, json};

use crate::cases::is_update;

/// The fewest cases of a host that count as proof.
const CASES_MIN: usize = 25;

/// The hosts, each of which has cases. Claude Code has further tests of its own.
fn hosts_with_cases() -> impl Iterator<Item = &'static Host> {
    hosts::all().iter().copied()
}

fn folder(host: &Host) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts").join(host.name)
}

/// The folders of a host's cases, by name.
fn cases(host: &Host) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(host)).unwrap_or_else(|error| panic!("{host:?}: {error}"));
    let mut all: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    all.sort();
    all
}

fn is_recording(case: &Path) -> bool {
    let name = case.file_name().unwrap().to_string_lossy();
    name.starts_with(|first: char| first.is_ascii_digit())
}

#[test]
fn every_case_of_every_host_is_read_and_answered_as_its_files_expect() {
    let mut differences = Vec::new();
    for host in hosts_with_cases() {
        let cases = cases(host);
        assert!(cases.len() >= CASES_MIN, "{}: {} cases", host.name, cases.len());
        for case in cases {
            differences.extend(difference(host, &case));
        }
    }
    assert!(
        differences.is_empty(),
        "{} differences; HOOKWRIGHT_UPDATE=1 writes what came, to be read like code\n\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn every_recording_of_a_host_is_readable() {
    for host in hosts_with_cases() {
        let recordings: Vec<PathBuf> =
            cases(host).into_iter().filter(|it| is_recording(it)).collect();
        assert!(!recordings.is_empty(), "{} has no recordings", host.name);
        for case in recordings {
            let sent = fs::read_to_string(case.join("sent.json")).unwrap();
            let read = host.read_call(&sent);
            assert!(read.is_ok(), "{} does not understand {}: {read:?}", host.name, case.display());
        }
    }
}

/// What must hold for every reply to a recording, whatever the case's own decision is.
#[test]
fn a_block_of_a_recorded_tool_call_is_never_lost() {
    let reason = "the reason of the block";
    let decision =
        Decision { verdict: Verdict::Block { reason: reason.into() }, ..Decision::default() };
    let ask = Decision {
        verdict: Verdict::Ask { reason: Some(reason.into()), rewritten_input: None },
        ..Decision::default()
    };
    for host in hosts_with_cases() {
        let mut seen = 0;
        for case in cases(host).into_iter().filter(|it| is_recording(it)) {
            let sent = fs::read_to_string(case.join("sent.json")).unwrap();
            let call = host.read_call(&sent).unwrap();
            if call.event.name.as_str() != "tool:pre_execute" {
                continue;
            }
            seen += 1;
            for decision in [&decision, &ask] {
                let reply = host.reply(&call, decision);
                let said = format!("{}{}", reply.stdout, reply.stderr);
                assert!(said.contains(reason), "{}: {reply:?}", case.display());
                let may_ask = host.capability(&call.event.name).ask;
                let denies = reply.stdout.contains("deny") || reply.exit_code == 2;
                assert!(denies || may_ask, "{}: {reply:?}", case.display());
            }
        }
        assert!(seen >= 3, "{}: {seen} tool calls", host.name);
    }
}

/// Copies of a payload, each with one field that is missing or has another value.
fn broken_copies(sent: &Value) -> Vec<(String, Value)> {
    let mut paths: Vec<String> = Vec::new();
    for (key, value) in sent.as_object().unwrap() {
        paths.push(format!("/{key}"));
        let inner = value.as_object().into_iter().flat_map(|fields| fields.keys());
        paths.extend(inner.map(|inner| format!("/{key}/{inner}")));
    }
    let values = [
        None,
        Some(Value::Null),
        Some(json!(7)),
        Some(json!("")),
        Some(json!([])),
        Some(json!({})),
    ];
    let mut copies = Vec::new();
    for path in paths {
        for value in &values {
            let (parent, key) = path.rsplit_once('/').unwrap();
            let mut copy = sent.clone();
            let fields = copy.pointer_mut(parent).unwrap().as_object_mut().unwrap();
            match value {
                Some(value) => fields.insert(key.to_owned(), value.clone()),
                None => fields.shift_remove(key),
            };
            copies.push((format!("{path} = {value:?}"), copy));
        }
    }
    copies
}

/// Only these fields say which event it is. Without them, a tool call may be an event that is only
/// observed, but it is then not one that the agent sends.
const SAYS_WHICH_EVENT: &[&str] = &["/hook_event_name", "/hookName", "/hook"];

#[test]
fn a_tool_call_with_a_broken_field_is_still_a_tool_call_or_is_refused() {
    for host in hosts_with_cases() {
        for case in cases(host).into_iter().filter(|it| is_recording(it)) {
            let sent = fs::read_to_string(case.join("sent.json")).unwrap();
            if host.read_call(&sent).unwrap().event.name.as_str() != "tool:pre_execute" {
                continue;
            }
            for (what, copy) in broken_copies(&serde_json::from_str(&sent).unwrap()) {
                if SAYS_WHICH_EVENT.iter().any(|path| what.starts_with(path)) {
                    // It must not panic.
                    let _ = host.read_call(&copy.to_string());
                    continue;
                }
                if let Ok(call) = host.read_call(&copy.to_string()) {
                    let name = call.event.name.as_str();
                    assert_eq!(name, "tool:pre_execute", "{}: {what}", case.display());
                    let tool = call.event.text("tool_name").unwrap_or_default();
                    assert!(!tool.is_empty(), "{}: {what}", case.display());
                }
            }
        }
    }
}

fn difference(host: &Host, case: &Path) -> Option<String> {
    let sent = fs::read_to_string(case.join("sent.json")).unwrap();
    let (event, reply) = match host.read_call(&sent) {
        Ok(call) => {
            let decision = decision(case);
            let reply = host.reply(&call, &decision);
            (shown_events(&call), shown_reply(&reply))
        }
        Err(unreadable) => shown_fault(host, unreadable),
    };
    let wrong = [("event.expected", event), ("reply.expected", reply)].map(|(name, came)| {
        let file = case.join(name);
        if is_update() {
            fs::write(&file, &came).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        (expected != came).then(|| format!("{}:\n{came}", file.display()))
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    (!wrong.is_empty()).then(|| wrong.join("\n"))
}

fn shown_events(call: &HostCall) -> String {
    let shown = |event: &Event| {
        let data = serde_json::to_string_pretty(&event.data).unwrap();
        format!("{}\n{data}\n", event.name.as_str())
    };
    call.events().map(shown).collect()
}

fn shown_reply(reply: &HostReply) -> String {
    let HostReply { stdout, stderr, exit_code, later } = reply;
    let mut shown = format!("exit code {exit_code}\n--- standard output\n{stdout}");
    shown.push_str(&format!("--- standard error\n{stderr}"));
    if let Some(later) = later {
        shown.push_str(&format!("--- later\n{later}\n"));
    }
    shown
}

/// What hooks and the agent get if no event could be read.
fn shown_fault(host: &Host, unreadable: UnreadableCall) -> (String, String) {
    match unreadable {
        UnreadableCall::NoEvent { cause } => {
            let reply = host.refuse_unread(&cause);
            (format!("no event: {cause}\n"), shown_reply(&reply))
        }
        UnreadableCall::BadData { event, cause } => {
            let shown = format!("{} with bad data: {cause}\n", event.as_str());
            let event = Event::new(event, serde_json::Map::new());
            let verdict = Verdict::Block { reason: cause };
            let decision = Decision { verdict, ..Decision::default() };
            (shown, shown_reply(&host.reply(&event.into(), &decision)))
        }
        UnreadableCall::OtherHost(reply) => ("of another host\n".into(), shown_reply(&reply)),
    }
}

/// `{"verdict": "block", "reason": "no", "input": {…}, "context": […], "messages": […], "output": …}`
fn decision(case: &Path) -> Decision {
    let Ok(text) = fs::read_to_string(case.join("decision.json")) else {
        return Decision::default();
    };
    let written: Value = serde_json::from_str(&text).unwrap();
    let known = ["verdict", "reason", "input", "context", "messages", "output"];
    let keys = written.as_object().unwrap().keys();
    keys.for_each(|key| assert!(known.contains(&key.as_str()), "{}: {key}", case.display()));
    let rewritten_input = written.get("input").cloned();
    let reason = written["reason"].as_str().map(str::to_owned);
    let why = reason.clone().unwrap_or_default();
    let verdict = match written["verdict"].as_str().unwrap_or("proceed") {
        "proceed" => Verdict::Proceed { rewritten_input },
        "allow" => Verdict::Allow { reason, rewritten_input },
        "ask" => Verdict::Ask { reason, rewritten_input },
        "block" => Verdict::Block { reason: why },
        "stop" => Verdict::Stop { reason: why },
        "abort" => Verdict::Abort { reason: why },
        other => panic!("{}: unknown verdict {other}", case.display()),
    };
    let texts = |key: &str| -> Vec<String> {
        let list = written.get(key).cloned().unwrap_or_else(|| json!([]));
        serde_json::from_value(list).unwrap()
    };
    Decision {
        verdict,
        additional_context: texts("context"),
        system_messages: texts("messages"),
        updated_output: written.get("output").cloned(),
        ..Decision::default()
    }
}

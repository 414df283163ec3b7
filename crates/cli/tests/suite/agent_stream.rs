//! The stream of `hookwright agent`: each event of the model's answer is passed on when it arrives, and
//! a reader that is slow or gone holds nothing up.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use hookwright_model_server::{ModelBehaviour, ModelScript, ModelServer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::interrupts::until;
use crate::support::Sandbox;

/// Longer than a busy machine needs; a stream that is held back fails after it.
const PATIENCE: Duration = Duration::from_secs(40);

#[test]
fn each_delta_is_passed_on_before_the_next_is_sent() {
    let turns = "turns: [{content: [{type: text, text: one and two and three and four and five}]}]";
    let script = ModelScript::parse(turns).expect("a script");
    let (server, gate) = ModelServer::start_held(ModelBehaviour::Script(script)).expect("a server");
    let sandbox = Sandbox::new()
        .set("ANTHROPIC_BASE_URL", &server.url())
        .set("ANTHROPIC_API_KEY", "sk-test-0123456789");
    let arguments = ["agent", "-p", "count", "--output-format", "stream-json"];
    let mut command = sandbox.command(&arguments);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("it starts");
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let (sender, events) = channel::<Value>();
    thread::spawn(move || {
        for line in stdout.lines() {
            let line = line.expect("a line");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message["type"] == "stream_event" && sender.send(message["event"].clone()).is_err() {
                break;
            }
        }
    });
    let mut text = String::new();
    let mut deltas = 0;
    loop {
        // The server sends one event, and the next only after this one has been printed.
        gate.allow(1);
        let event = events.recv_timeout(PATIENCE).expect("the event is passed on at once");
        if let Some(piece) = event["delta"]["text"].as_str() {
            text.push_str(piece);
            deltas += 1;
        }
        if event["type"] == "message_stop" {
            break;
        }
    }
    assert_eq!(text, "one and two and three and four and five");
    assert!(deltas >= 3, "{deltas}");
    gate.release();
    assert!(child.wait().expect("it ends").success());
}

/// A session whose stream is longer than what a pipe and the waiting lines have room for. When it ends,
/// its hook touches `ended`.
fn talkative(sandbox: &Sandbox) -> Command {
    let script = sandbox.path("model.yaml");
    let text = "x".repeat(20_000);
    let turns = format!("turns: [{{content: [{{type: text, text: {text}}}], delta_chars: 1}}]");
    fs::write(&script, turns).expect("a script");
    let model = format!("scripted:{}", script.display());
    let arguments = ["agent", "-p", "talk", "--output-format", "stream-json", "--model", &model];
    let mut command = sandbox.command(&arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn with_end_hook() -> Sandbox {
    let sandbox =
        Sandbox::with_hooks("hooks: {session:end: [{command: touch ended, await: true}]}");
    assert_eq!(sandbox.run(&["trust", "--yes"]).code, 0);
    sandbox
}

fn is_recorded_as_completed(sandbox: &Sandbox) -> bool {
    let (_, listed) = sandbox.json(&["sessions", "list", "--json"]);
    listed["sessions"][0]["status"] == "completed"
}

#[test]
fn a_reader_that_never_reads_holds_up_neither_hooks_nor_the_sessions_end_nor_an_interrupt() {
    let sandbox = with_end_hook();
    let mut child = talkative(&sandbox).spawn().expect("it starts");
    until("the session has ended", || is_recorded_as_completed(&sandbox));
    assert!(sandbox.path("ended").exists());
    let id = Pid::from_raw(i32::try_from(child.id()).expect("an id")).expect("an id");
    kill_process(id, Signal::INT).expect("it still waits for its reader");
    assert!(child.wait().expect("it ends").success());
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert!(said.contains("lines of the output were left out: not read in time"), "{said}");
}

#[test]
fn a_reader_that_never_reads_is_waited_for_only_so_long() {
    let sandbox = with_end_hook();
    let mut child = talkative(&sandbox).spawn().expect("it starts");
    assert!(child.wait().expect("it ends").success());
    assert!(is_recorded_as_completed(&sandbox));
}

#[test]
fn a_reader_that_is_too_slow_misses_lines_but_never_the_result() {
    let sandbox = with_end_hook();
    let child = talkative(&sandbox).spawn().expect("it starts");
    until("the session has ended", || is_recorded_as_completed(&sandbox));
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("lines of the output were left out: not read in time"), "{said}");
    let read = String::from_utf8(output.stdout).expect("text");
    let last: Value = serde_json::from_str(read.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&last["type"], &last["subtype"]), (&"result".into(), &"success".into()));
}

#[test]
fn a_reader_that_closes_the_pipe_ends_nothing() {
    let sandbox = with_end_hook();
    let mut child = talkative(&sandbox).spawn().expect("it starts");
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    stdout.read_line(&mut first).expect("a line");
    assert!(first.contains("init"), "{first}");
    drop(stdout);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert!(sandbox.path("ended").exists());
    assert!(is_recorded_as_completed(&sandbox));
}

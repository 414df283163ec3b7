//! The stream of `hookwright agent`: each event of the model's answer is passed on when it arrives.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use hookwright_model_server::{ModelBehaviour, ModelScript, ModelServer};
use serde_json::Value;

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

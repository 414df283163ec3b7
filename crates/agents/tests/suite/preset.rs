//! Presets, with programs that print recorded output of the real agents.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hookwright_agents::preset::PresetAgent;
use hookwright_agents::presets::preset;
use hookwright_events::{FailureCause, ProcessOutcome};

use super::situation::{LONG, Situation};

/// The line that codex prints repeatedly while nothing answers.
const RECONNECTING: &str = r#"{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}"#;

const STARTED: &str = r#"{"type":"thread.started","thread_id":"01a1df76"}"#;

/// Writes a program from another process: if another test starts a process now, that one briefly
/// holds all files that are open here, and a file that is open for writing cannot be run.
fn install(path: &Path, text: &str) {
    let mut install = Command::new("install");
    install.args(["-D", "-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped());
    let mut child = install.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(text.as_bytes()).expect("it reads");
    drop(stdin);
    assert!(child.wait().expect("it ends").success(), "{}", path.display());
}

/// A turn in which `codex` is this script.
fn codex(script: &str) -> Situation {
    let mut situation = Situation::new();
    let folder = situation.outside().join("bin");
    install(&folder.join("codex"), &format!("#!/bin/sh\n{script}\n"));
    let path = format!("{}:/usr/bin:/bin", folder.display());
    situation.turn.env.push(("PATH".into(), path.into()));
    situation
}

fn agent(out_of_reach_max: Duration) -> PresetAgent {
    let preset = preset("codex").expect("it is known");
    PresetAgent::new(preset, None, &[]).with_out_of_reach_max(out_of_reach_max)
}

#[tokio::test]
async fn an_agent_that_only_retries_to_reach_its_model_is_ended_as_an_outage() {
    let script = format!("echo '{STARTED}'; while :; do echo '{RECONNECTING}'; sleep 0.05; done");
    let ended = codex(&script).run(&agent(Duration::from_millis(300))).await;
    assert!(matches!(ended.outcome, ProcessOutcome::TimedOut { .. }), "{ended:?}");
    let failure = ended.report.and_then(|report| report.failure).expect("it failed");
    assert_eq!(failure.cause, FailureCause::Outage);
    assert_eq!(
        failure.reason,
        "it could not reach its model for 0 s: Reconnecting... waiting for network (Connection failed: \
         error sending request)"
    );
}

#[tokio::test]
async fn an_agent_that_reaches_its_model_again_works_to_its_end() {
    let answer = r#"{"type":"item.completed","item":{"type":"agent_message","text":"done"}}"#;
    let completed = r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}"#;
    // It works for longer than it may be out of reach.
    let script = format!(
        "echo '{STARTED}'; printf '%s\\n%s\\n' '{RECONNECTING}' '{answer}'; sleep 1; echo '{completed}'"
    );
    let ended = codex(&script).run(&agent(Duration::from_millis(500))).await;
    assert!(matches!(ended.outcome, ProcessOutcome::Exited { code: 0, .. }), "{ended:?}");
    assert_eq!(ended.report.map(|report| report.text).as_deref(), Some("done"));
}

#[tokio::test]
async fn a_turn_over_its_timeout_does_not_count_as_an_outage() {
    let script = format!("echo '{STARTED}'; echo '{RECONNECTING}'; exec sleep 1000");
    let situation = codex(&script).timeout(Duration::from_millis(300));
    let ended = situation.run(&agent(LONG)).await;
    assert!(matches!(ended.outcome, ProcessOutcome::TimedOut { after_ms: 300, .. }), "{ended:?}");
    let failure = ended.report.and_then(|report| report.failure).expect("it failed");
    assert_eq!(failure.cause, FailureCause::Crash);
}

//! One run of the agent, and what it left.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use hookwright_process::{How, Launch, end_run};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::home::ProbeHome;
use super::limits::{
    EVENTS_BYTES_MAX, KILL_GRACE, LINGER, OUTPUT_BYTES_MAX, OUTPUT_LINES_SHOWN, RUN_MAX,
};
use super::script::RunPlan;
use crate::error::ProbeFailure;
use crate::installed_agent::InstalledAgent;

/// Port 9 of this machine is closed, so connections to other machines fail at once.
const CLOSED_PORT: &str = "http://127.0.0.1:9";

/// A shell that stays the agent's parent. Some agents replace the process that was started by one
/// with their own variables; hooks then look at this one for the environment of the person.
const SHELL: [&str; 3] = ["-c", "\"$@\"; exit $?", "sh"];

/// What a run left.
#[derive(Debug, Default)]
pub(super) struct AgentRun {
    /// The names of the files in the project.
    pub(super) files: Vec<String>,
    /// The conversations that the model was asked to continue.
    pub(super) asked: Vec<String>,
    /// The events of the hooks.
    pub(super) events: Vec<Value>,
    /// Why it did not end by itself.
    pub(super) not_ended: Option<String>,
    /// The end of its output.
    pub(super) output: String,
}

/// Runs the agent in this home, and ends everything that it started.
pub(super) async fn run(
    agent: &InstalledAgent,
    home: &ProbeHome,
    plan: &RunPlan,
    number: usize,
) -> Result<AgentRun, ProbeFailure> {
    let run_id = format!("probe-{}-{}-{number}", agent.host.name, std::process::id());
    let launch = Launch {
        program: PathBuf::from("/bin/sh"),
        args: arguments(agent, home, plan),
        shared_env: environment(agent, home).into(),
        env: Vec::new(),
        working_dir: home.project.clone(),
        stdin: Vec::new(),
        timeout: RUN_MAX,
        kill_grace: KILL_GRACE,
        linger: LINGER,
        output_bytes_max: OUTPUT_BYTES_MAX,
        run_id: run_id.clone(),
    };
    let ended = hookwright_process::run(launch, &mut (), &CancellationToken::new()).await;
    // Some agents leave a daemon.
    end_run(&run_id, KILL_GRACE).await;
    let not_ended = match &ended.how {
        How::Exited { .. } => None,
        How::Killed { signal } => Some(format!("it was killed by signal {signal}")),
        How::TimedOut { after } => Some(format!("it did not end within {} s", after.as_secs())),
        How::Cancelled => Some("it was interrupted".to_owned()),
        How::WantedTerminal => Some("it waited for a terminal".to_owned()),
        How::NotStarted { cause } => Some(cause.to_string()),
    };
    let files = std::fs::read_dir(&home.project).map_err(ProbeFailure::NoHome)?;
    let files = files.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(AgentRun {
        files: files.collect(),
        asked: home.model.conversations().iter().map(Value::to_string).collect(),
        events: events(home),
        not_ended,
        output: format!("{}\n{}", ended.stdout.text(), ended.stderr.text()),
    })
}

fn arguments(agent: &InstalledAgent, home: &ProbeHome, plan: &RunPlan) -> Vec<OsString> {
    let run = agent.host.offline;
    let mut words: Vec<OsString> = SHELL.iter().map(OsString::from).collect();
    words.push(agent.program.clone().into());
    let whole = run.arguments(&plan.prompt());
    // Options of a subcommand follow its name.
    let first = whole.first().map_or(0, |word| usize::from(!word.starts_with('-')));
    words.extend(whole[..first].iter().map(OsString::from));
    if !home.is_users {
        words.extend(run.untrusted_home.iter().map(OsString::from));
    }
    words.extend(plan.arguments(agent.host).iter().map(OsString::from));
    words.extend(whole[first..].iter().map(OsString::from));
    words
}

/// Nothing of the user's environment but `PATH`.
fn environment(agent: &InstalledAgent, home: &ProbeHome) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: &str, value: OsString| all.push((name.into(), value));
    set("PATH", std::env::var_os("PATH").unwrap_or_default());
    set("HOME", home.home.clone().into());
    set("TMPDIR", home.temporary.clone().into());
    set("TERM", "dumb".into());
    set("LANG", "C.UTF-8".into());
    for name in ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"] {
        set(name, CLOSED_PORT.into());
    }
    for name in ["NO_PROXY", "no_proxy"] {
        set(name, "127.0.0.1,localhost".into());
    }
    for (name, value) in agent.host.offline.environment(&home.model.url()) {
        set(&name, value.into());
    }
    all
}

/// The events that the hooks wrote down.
fn events(home: &ProbeHome) -> Vec<Value> {
    let mut text = Vec::new();
    if let Ok(file) = File::open(home.home.join("events")) {
        // What was read so far counts.
        let _ = file.take(EVENTS_BYTES_MAX).read_to_end(&mut text);
    }
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

impl AgentRun {
    /// Whether there is this file in the project.
    pub(super) fn has(&self, file: &str) -> bool {
        self.files.iter().any(|name| name == file)
    }

    /// Whether the model got this text.
    pub(super) fn heard(&self, text: &str) -> bool {
        self.asked.iter().any(|asked| asked.contains(text))
    }

    /// How often hooks of an event ran.
    pub(super) fn fired(&self, event: &str) -> usize {
        self.events.iter().filter(|it| it["event"] == event).count()
    }

    /// The end of its output, for people.
    pub(super) fn last_words(&self, plan: &RunPlan) -> String {
        let lines: Vec<&str> = self.output.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(OUTPUT_LINES_SHOWN)..];
        let home = if plan.is_users { "with your settings" } else { "in a clean home" };
        let marks: Vec<&str> = plan.checks.iter().map(|check| check.what()).collect();
        let how = self.not_ended.as_deref().unwrap_or("it ended by itself");
        let what = if marks.len() == 1 { marks[0] } else { "most checks" };
        format!(
            "the run {home} ({what}; {how}; the model was asked {} times; {} events) said last:\n  {}",
            self.asked.len(),
            self.events.len(),
            last.join("\n  ")
        )
    }
}

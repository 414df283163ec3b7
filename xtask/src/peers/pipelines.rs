//! Pipelines with the real agents: two stages, hooks, the recorded session, tokens and cost, and
//! failover when an agent is limited.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::program::{self, Program};
use super::recording::path_with;
use hookwright_model_server::{ModelBehaviour, ModelRefusal, ModelServer, ModelTurn};

/// The results of one run.
struct SeenInPipeline {
    output: Output,
    /// Output of `sessions show --json`.
    session: Value,
    /// Output of `sessions log --json`.
    log: Vec<Value>,
    /// The files that the hooks wrote.
    hooks: String,
    _home: TempDir,
}

/// Two stages. The agent itself says that it is done.
const PIPELINE: &str = "name: peers
stages:
  - {name: plan, loop: {prompt: Do what the script says., termination: {type: judgment, consensus: 1}}}
  - {name: work, loop: {prompt: Do what the script says., termination: {type: judgment, consensus: 1}}}
";

const HOOKS: &str = "hooks: {'iteration:complete,session:end': \
    [{await: true, command: 'echo \"$EVENT $STAGE $CHANGED_FILES\" >> ../hooks'}]}\n";

fn working() -> Vec<ModelTurn> {
    vec![
        ModelTurn::Bash(
            "echo x >> work.txt; echo '{\"decision\":\"stop\",\"summary\":\"done\"}' > \"$STATUS\"",
        ),
        ModelTurn::Text("I have done it."),
    ]
}

/// The number of pipelines.
pub(super) fn count() -> usize {
    program::ALL.len() + 2
}

/// Runs all of them and returns how many failed.
pub(super) fn play_all(programs: &Path, hookwright: &Path) -> usize {
    let mut failed = 0;
    let mut tell = |rule: String, seen: Result<String, String>| {
        let (mark, seen) = match &seen {
            Ok(seen) => ("ok    ", seen),
            Err(error) => ("FAILED", error),
        };
        failed += usize::from(mark == "FAILED");
        eprintln!("{mark}  {rule:<58}  {seen}");
    };
    let stage = PipelineFolder { programs, hookwright };
    for program in program::ALL {
        let rule = format!("{} {}: a pipeline of two stages", program.name, program.version);
        tell(rule, stage.two_stages(program));
    }
    tell("claude is limited: codex takes over".to_owned(), stage.takes_over());
    tell("claude is limited for 3 s, alone: a pause, then it works".to_owned(), stage.pauses());
    failed
}

struct PipelineFolder<'a> {
    programs: &'a Path,
    hookwright: &'a Path,
}

impl PipelineFolder<'_> {
    fn two_stages(&self, program: &Program) -> Result<String, String> {
        let agent = format!("{{type: {}, model: {}}}", program.name, program.model);
        let model = ModelServer::start(ModelBehaviour::Turns(working()))
            .map_err(|error| error.to_string())?;
        let seen = self.run(&agent, &[(program, &model.url())], &[])?;
        seen.must_end_well()?;
        let expected = "iteration:complete plan work.txt\niteration:complete work work.txt\n\
                        session:end  \n";
        if seen.hooks != expected {
            return Err(format!("the hooks wrote:\n{}", seen.hooks));
        }
        let usage = &seen.session["usage"];
        let tokens = usage["inputTokens"].as_u64().unwrap_or(0);
        let sessions = seen.session["agentSessions"].as_array().map_or(0, Vec::len);
        if tokens == 0 || sessions != 2 {
            return Err(format!("recorded: {}", seen.session));
        }
        let cost = usage["costUsd"]
            .as_f64()
            .map_or("no cost told".to_owned(), |cost| format!("${cost:.4}"));
        let id = seen.session["agentSessions"][0]["session"].as_str().unwrap_or_default();
        Ok(format!("2 hooks, {tokens} tokens read, {cost}, session {id}"))
    }

    fn takes_over(&self) -> Result<String, String> {
        let limit = ModelRefusal::UsageLimit { seconds: 3600 };
        let refuses =
            ModelServer::start(ModelBehaviour::Refuse(limit)).map_err(|error| error.to_string())?;
        let works = ModelServer::start(ModelBehaviour::Turns(working()))
            .map_err(|error| error.to_string())?;
        let (first, second) = (named("claude")?, named("codex")?);
        let models = [(first, refuses.url()), (second, works.url())];
        let models: Vec<(&Program, &str)> =
            models.iter().map(|(program, url)| (*program, url.as_str())).collect();
        let seen = self.run("[claude, {type: codex, model: gpt-5}]", &models, SUBSCRIPTION)?;
        seen.must_end_well()?;
        let changed = seen.log.iter().find(|event| event["kind"] == "agent_changed");
        let changed = changed.ok_or("no agent took over")?;
        let given_up = seen.log.iter().filter(|event| event["kind"] == "turn_given_up").count();
        if given_up != 1 || !seen.hooks.starts_with("iteration:complete plan work.txt\n") {
            return Err(format!("{given_up} turns given up; the hooks wrote:\n{}", seen.hooks));
        }
        Ok(format!("{} → {}: {}", changed["from"], changed["to"], changed["reason"]))
    }

    fn pauses(&self) -> Result<String, String> {
        let time = Duration::from_secs(3);
        let limit = ModelRefusal::UsageLimit { seconds: time.as_secs() };
        let manner = ModelBehaviour::RefuseAtFirst(limit, time, working());
        let model = ModelServer::start(manner).map_err(|error| error.to_string())?;
        let seen = self.run("claude", &[(named("claude")?, &model.url())], SUBSCRIPTION)?;
        seen.must_end_well()?;
        let paused = seen.log.iter().find(|event| event["kind"] == "paused");
        let paused = paused.ok_or("there was no pause")?;
        Ok(format!("paused until {}: {}", paused["until"], paused["reason"]))
    }

    fn run(
        &self,
        agent: &str,
        models: &[(&Program, &str)],
        environment: &[(&str, Option<&str>)],
    ) -> Result<SeenInPipeline, String> {
        let said = |error: std::io::Error| error.to_string();
        let folder = tempfile::tempdir().map_err(said)?;
        let home = fs::canonicalize(folder.path()).map_err(said)?;
        let project = home.join("project");
        fs::create_dir_all(&project).map_err(said)?;
        fs::write(project.join("pipeline.yaml"), PIPELINE).map_err(said)?;
        fs::write(project.join("hookwright.yaml"), format!("agent: {agent}\n{HOOKS}"))
            .map_err(said)?;
        let mut strings = Vec::new();
        for (program, url) in models {
            strings.extend(program.point_at(url, &home)?);
        }
        let hookwright = |arguments: &[&str]| {
            let mut command = Command::new(self.hookwright.join("hookwright"));
            command
                .args(arguments)
                .env_clear()
                .env("PATH", path_with(self.programs))
                .env("HOME", &home)
                .env("HTTPS_PROXY", "http://127.0.0.1:9")
                .env("NO_PROXY", "127.0.0.1,localhost")
                .envs(strings.clone())
                .current_dir(&project)
                .stdin(Stdio::null());
            for (name, value) in environment {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
            command.output().map_err(said)
        };
        let output = hookwright(&["run", "pipeline.yaml", "--session", "s"])?;
        let shown = hookwright(&["sessions", "show", "s", "--json"])?;
        let mut shown: Value = serde_json::from_slice(&shown.stdout).unwrap_or_default();
        let log = hookwright(&["sessions", "log", "s", "--json"])?;
        let log = String::from_utf8_lossy(&log.stdout).into_owned();
        Ok(SeenInPipeline {
            output,
            session: shown["session"].take(),
            log: log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
            hooks: fs::read_to_string(home.join("hooks")).unwrap_or_default(),
            _home: folder,
        })
    }
}

/// Claude Code with a subscription instead of a key.
const SUBSCRIPTION: &[(&str, Option<&str>)] =
    &[("CLAUDE_CODE_OAUTH_TOKEN", Some("sk-ant-oat01-not-a-token")), ("ANTHROPIC_API_KEY", None)];

fn named(name: &str) -> Result<&'static Program, String> {
    program::ALL.iter().find(|program| program.name == name).ok_or(format!("no agent `{name}`"))
}

impl SeenInPipeline {
    fn must_end_well(&self) -> Result<(), String> {
        if self.output.status.success() {
            return Ok(());
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let Output { stdout, stderr, status } = &self.output;
        Err(format!("{status}\n{}{}", text(stdout), text(stderr)))
    }
}

//! What must work inside Claude Code: each scenario has hooks, a script for the model, and checks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use hookwright_model_server::{ModelBehaviour, ModelServer, ModelTurn};

/// Claude Code needs a second or two for each.
const RUN_MAX: Duration = Duration::from_secs(120);

/// Between two polls.
const PAUSE: Duration = Duration::from_millis(20);

/// One scenario.
pub(crate) struct Scenario {
    /// What has to work.
    pub(crate) rule: &'static str,
    hooks: &'static str,
    script: &'static [ModelTurn],
    prompt: &'static str,
    /// Variables that the repository's settings set.
    env: &'static [(&'static str, &'static str)],
    trusted: bool,
    /// Whether the person starts it with `HOOKWRIGHT=0`.
    switched_off: bool,
    /// Whether Claude Code may run commands without asking; otherwise it denies, since no user is
    /// there.
    allowed: bool,
    check: fn(&SeenInScenario) -> Result<String, String>,
}

/// The programs, and the settings.
pub(crate) struct ClaudePeer {
    pub(crate) claude: PathBuf,
    /// The folder of hookwright's program.
    pub(crate) hookwright: PathBuf,
    pub(crate) settings: String,
}

/// The results of a run.
struct SeenInScenario {
    project: PathBuf,
    /// The last line that Claude Code printed.
    result: Value,
    /// The requests to the model, as text.
    asked: Vec<String>,
    printed: String,
}

const WORK: &[ModelTurn] = &[ModelTurn::Bash("touch ran"), ModelTurn::Text("done")];

pub(crate) const ALL: &[Scenario] = &[
    Scenario {
        rule: "without a hook the command runs",
        hooks: "hooks: {}\n",
        check: |seen| {
            seen.must("the command ran", seen.is_there("ran"))?;
            Ok(seen.answered("touch ran"))
        },
        ..WORKING
    },
    Scenario {
        rule: "deny: the command does not run, the model reads why",
        hooks: "hooks: {tool:pre_execute:bash: [{command: 'echo not today >&2; exit 2'}]}\n",
        check: |seen| {
            seen.must("the command did not run", !seen.is_there("ran"))?;
            seen.must_be_asked("PreToolUse:Bash hook error: not today")
        },
        ..WORKING
    },
    Scenario {
        rule: "no variable of the repository's settings opens a guard",
        hooks: "hooks: {tool:pre_execute:bash: [{command: 'echo not today >&2; exit 2'}]}\n",
        env: &[
            ("HOOKWRIGHT", "0"),
            ("HOME", "/nowhere"),
            ("XDG_CONFIG_HOME", "/nowhere"),
            ("XDG_STATE_HOME", "/nowhere"),
            ("BASH_ENV", "/nowhere/yes.sh"),
            ("CLAUDECODE", ""),
            ("CLAUDE_PROJECT_DIR", "/tmp"),
            ("HOOKWRIGHT_CHAIN", "[1,2,3,4,5]"),
            ("CLAUDE_CODE_SHELL_PREFIX", "/bin/true"),
        ],
        check: |seen| {
            seen.must("the command did not run", !seen.is_there("ran"))?;
            seen.must("the user reads it", seen.printed.contains("HOOKWRIGHT=0 is ignored"))?;
            seen.must_be_asked("PreToolUse:Bash hook error: not today")
        },
        ..WORKING
    },
    Scenario {
        rule: "the person who starts Claude Code can switch hooks off",
        hooks: "hooks: {tool:pre_execute:bash: [{command: 'echo not today >&2; exit 2'}]}\n",
        switched_off: true,
        check: |seen| {
            seen.must("the command ran", seen.is_there("ran"))?;
            Ok(seen.answered("touch ran"))
        },
        ..WORKING
    },
    Scenario {
        rule: "a hook file that the agent deletes blocks",
        hooks: "hooks: {tool:pre_execute:bash: [{command: 'exit 0'}]}\n",
        script: &[
            ModelTurn::Bash("rm -f hookwright.yaml"),
            ModelTurn::Bash("touch ran"),
            ModelTurn::Text("done"),
        ],
        check: |seen| {
            seen.must("it was deleted", !seen.is_there("hookwright.yaml"))?;
            seen.must("the next command did not run", !seen.is_there("ran"))?;
            seen.must_be_asked("is missing, and its hooks guarded this session")
        },
        ..WORKING
    },
    Scenario {
        rule: "ask: without a person to ask, it is denied with the reason",
        hooks: "hooks: {tool:pre_execute: [{command: 'echo ''{\"decision\":\"ask\",\"reason\":\"are you sure\"}'''}]}\n",
        check: |seen| {
            seen.must("the command did not run", !seen.is_there("ran"))?;
            seen.must_be_asked("are you sure")
        },
        ..WORKING
    },
    Scenario {
        rule: "rewritten input: the other command runs",
        hooks: "hooks: {tool:pre_execute: [{command: 'echo ''{\"decision\":\"allow\",\"updatedInput\":{\"command\":\"touch rewritten\"}}'''}]}\n",
        check: |seen| {
            seen.must("the command did not run", !seen.is_there("ran"))?;
            seen.must("the other one did", seen.is_there("rewritten"))?;
            Ok("touch rewritten".to_owned())
        },
        ..WORKING
    },
    Scenario {
        rule: "context before a tool, after it, with a prompt, at the start",
        hooks: "hooks:\n  tool:pre_execute: [{command: 'echo ''{\"additionalContext\":\"CONTEXT BEFORE\"}'''}]\n  tool:post_execute: [{command: 'echo ''{\"additionalContext\":\"CONTEXT AFTER\"}'''}]\n  user:prompt_submit: [{command: 'echo ''{\"additionalContext\":\"CONTEXT PROMPT\"}'''}]\n  session:start: [{await: true, command: 'echo ''{\"additionalContext\":\"CONTEXT START\"}'''}]\n",
        check: |seen| {
            for text in ["CONTEXT START", "CONTEXT PROMPT", "CONTEXT BEFORE", "CONTEXT AFTER"] {
                seen.must_be_asked(text)?;
            }
            Ok("all four reached the model".to_owned())
        },
        ..WORKING
    },
    Scenario {
        rule: "stop: `continue: false` ends the turn",
        hooks: "hooks: {tool:pre_execute: [{command: 'echo ''{\"continue\":false,\"stopReason\":\"enough\"}'''}]}\n",
        check: |seen| {
            seen.must("the command did not run", !seen.is_there("ran"))?;
            seen.must("the model was asked once", seen.asked.len() == 1)?;
            Ok(format!("terminal_reason {}", seen.result["terminal_reason"]))
        },
        ..WORKING
    },
    Scenario {
        rule: "a blocked stop keeps the agent going, 8 times at most",
        hooks: "hooks: {session:stop: [{command: 'echo x >> stops; echo tests fail >&2; exit 2'}]}\n",
        script: &[ModelTurn::Text("done")],
        check: |seen| {
            seen.must_be_asked("Stop hook feedback:\\ntests fail")?;
            let stops = seen.text("stops").lines().count();
            seen.must(&format!("9 stops, found {stops}"), stops == 9)?;
            Ok(format!("{stops} stops, then it ended"))
        },
        ..WORKING
    },
    Scenario {
        rule: "a prompt is blocked before any request",
        hooks: "hooks: {user:prompt_submit: [{command: 'echo no secrets >&2; exit 2'}]}\n",
        check: |seen| {
            seen.must("the model was never asked", seen.asked.is_empty())?;
            seen.must("the user reads why", seen.printed.contains("no secrets"))?;
            Ok(format!("result {}", seen.result["result"]))
        },
        ..WORKING
    },
    Scenario {
        rule: "a permission prompt is answered in place of the user",
        hooks: "hooks: {permission:prompt: [{command: 'echo ''{\"decision\":\"allow\"}'''}]}\n",
        allowed: false,
        check: |seen| {
            seen.must("the command ran", seen.is_there("ran"))?;
            Ok("allowed".to_owned())
        },
        ..WORKING
    },
    Scenario {
        rule: "a file that is not trusted: its hooks don't run, prompts are blocked",
        hooks: "hooks: {'*': [{command: 'touch hooked'}]}\n",
        trusted: false,
        check: |seen| {
            seen.must("no hook ran", !seen.is_there("hooked"))?;
            seen.must("the model was never asked", seen.asked.is_empty())?;
            seen.must("what to type", seen.printed.contains("hookwright trust "))?;
            Ok("blocked, with the command to type".to_owned())
        },
        ..WORKING
    },
    Scenario {
        rule: "an entry that cannot be read blocks what it would have woken",
        hooks: "hooks: {tool:pre_execute: [{comand: 'true'}]}\n",
        check: |seen| {
            seen.must("the command did not run", !seen.is_there("ran"))?;
            seen.must_be_asked("hookwright.yaml:1:")
        },
        ..WORKING
    },
    Scenario {
        rule: "a message for the user is shown",
        hooks: "hooks: {tool:pre_execute: [{command: 'echo ''{\"systemMessage\":\"MESSAGE FOR YOU\"}'''}]}\n",
        check: |seen| {
            seen.must("it is shown", seen.printed.contains("MESSAGE FOR YOU"))?;
            Ok("shown".to_owned())
        },
        ..WORKING
    },
    Scenario {
        rule: "fire-and-forget outlives Claude Code",
        hooks: "hooks: {session:end: [{command: 'until [ -e go ]; do sleep 0.05; done; echo > outlived'}]}\n",
        check: |seen| {
            seen.must("it has not ended yet", !seen.is_there("outlived"))?;
            fs::write(seen.project.join("go"), "").map_err(|error| error.to_string())?;
            let since = Instant::now();
            while !seen.is_there("outlived") {
                seen.must("it ends when it may", since.elapsed() < RUN_MAX)?;
                thread::sleep(PAUSE);
            }
            Ok("it ended after Claude Code had".to_owned())
        },
        ..WORKING
    },
];

const WORKING: Scenario = Scenario {
    rule: "",
    hooks: "",
    script: WORK,
    prompt: "do what the script says",
    env: &[],
    trusted: true,
    switched_off: false,
    allowed: true,
    check: |_| Ok(String::new()),
};

impl ClaudePeer {
    pub(crate) fn version(&self) -> Result<String, String> {
        let output = Command::new(&self.claude).arg("--version").output();
        let output = output.map_err(|error| format!("{}: {error}", self.claude.display()))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Runs a scenario in its own home directory.
    pub(crate) fn play(&self, scenario: &Scenario) -> Result<String, String> {
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        let home = fs::canonicalize(home.path()).map_err(|error| error.to_string())?;
        let project = home.join("project");
        let write = |name: &str, text: &str| -> Result<(), String> {
            let path = project.join(name);
            let folder = path.parent().ok_or("a folder")?;
            fs::create_dir_all(folder).map_err(|error| error.to_string())?;
            fs::write(&path, text).map_err(|error| error.to_string())
        };
        write(".claude/settings.json", &self.settings)?;
        let env: Value = scenario.env.iter().map(|(name, value)| (*name, *value)).collect();
        write(".claude/settings.local.json", &serde_json::json!({ "env": env }).to_string())?;
        write("hookwright.yaml", scenario.hooks)?;
        let model = ModelServer::start(ModelBehaviour::Turns(scenario.script.to_vec()))
            .map_err(|error| error.to_string())?;
        if scenario.trusted {
            let mut trust = Command::new(self.hookwright.join("hookwright"));
            let trusted = self.in_home(&mut trust, &home).args(["trust", "--yes"]).output();
            let trusted = trusted.map_err(|error| error.to_string())?;
            // A file with a fault becomes trusted too, and the exit code shows the fault.
            let said = String::from_utf8_lossy(&trusted.stdout).into_owned();
            if !said.contains("\ntrusted ") {
                return Err(format!("trust: {said}{}", String::from_utf8_lossy(&trusted.stderr)));
            }
        }
        let printed = self.run_claude(scenario, &home, &model)?;
        let last = printed.lines().last().unwrap_or_default();
        let seen = SeenInScenario {
            result: serde_json::from_str(last).unwrap_or_default(),
            asked: model.conversations().iter().map(Value::to_string).collect(),
            project,
            printed,
        };
        (scenario.check)(&seen).map_err(|error| format!("{error}\n{}", seen.printed))
    }

    fn run_claude(
        &self,
        scenario: &Scenario,
        home: &Path,
        model: &ModelServer,
    ) -> Result<String, String> {
        let mut command = Command::new(&self.claude);
        self.in_home(&mut command, home)
            .args(["-p", scenario.prompt, "--output-format", "stream-json", "--verbose"])
            .args(scenario.allowed.then_some("--allowedTools=Bash"))
            .envs(scenario.switched_off.then_some(("HOOKWRIGHT", "0")))
            .env("ANTHROPIC_BASE_URL", model.url())
            .env("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_ERROR_REPORTING", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            // Other connections go to a closed port of this machine.
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::null());
        let output = home.join("printed");
        let file = fs::File::create(&output).map_err(|error| error.to_string())?;
        let errors = file.try_clone().map_err(|error| error.to_string())?;
        let mut child = command
            .stdout(file)
            .stderr(errors)
            .spawn()
            .map_err(|error| format!("{}: {error}", self.claude.display()))?;
        let since = Instant::now();
        while child.try_wait().map_err(|error| error.to_string())?.is_none() {
            if since.elapsed() > RUN_MAX {
                let _ = child.kill();
                let _ = child.wait();
                let said = fs::read_to_string(&output).unwrap_or_default();
                return Err(format!("it has not ended after {RUN_MAX:?}\n{said}"));
            }
            thread::sleep(PAUSE);
        }
        fs::read_to_string(&output).map_err(|error| error.to_string())
    }

    fn in_home<'a>(&self, command: &'a mut Command, home: &Path) -> &'a mut Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [self.hookwright.clone()].into_iter().chain(std::env::split_paths(&path));
        let path = std::env::join_paths(folders).unwrap_or(path.clone());
        command.env_clear().env("PATH", path).env("HOME", home).current_dir(home.join("project"))
    }
}

impl SeenInScenario {
    fn must(&self, what: &str, holds: bool) -> Result<(), String> {
        if holds { Ok(()) } else { Err(format!("expected: {what}")) }
    }

    fn is_there(&self, name: &str) -> bool {
        self.project.join(name).exists()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.project.join(name)).unwrap_or_default()
    }

    /// Checks that the model gets this text.
    fn must_be_asked(&self, text: &str) -> Result<String, String> {
        let is_asked = self.asked.iter().any(|asked| asked.contains(text));
        self.must(&format!("the model reads `{text}`"), is_asked)?;
        Ok(format!("the model reads `{text}`"))
    }

    fn answered(&self, command: &str) -> String {
        format!("{command}; the model was asked {} times", self.asked.len())
    }
}

//! `cargo xtask peers --record`: records each agent's output when its model answers and when it
//! refuses, as files for the tests of the presets.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::program::{self, Program};
use hookwright_model_server::{ModelBehaviour, ModelRefusal, ModelServer, ModelTurn};

/// Where the recordings are.
const FOLDER: &str = "crates/agents/tests/recordings";

/// An agent that takes longer would never end; its output is kept.
const RUN_MAX: Duration = Duration::from_secs(100);

const PAUSE: Duration = Duration::from_millis(20);

/// The agents' prompt.
const PROMPT: &str = "Do what the script says.\n";

/// A situation to record.
struct RecordedSituation {
    name: &'static str,
    manner: fn() -> Option<ModelBehaviour>,
    /// Further variables of one agent: they select a subscription instead of a key.
    environment: &'static [(&'static str, &'static str, &'static str)],
}

const SUBSCRIPTION: &[(&str, &str, &str)] = &[
    ("claude", "CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-not-a-token"),
    ("claude", "ANTHROPIC_API_KEY", ""),
];

const CASES: &[RecordedSituation] = &[
    RecordedSituation {
        name: "answered",
        manner: || {
            Some(ModelBehaviour::Turns(vec![ModelTurn::Text("All is well.\nNothing to do.")]))
        },
        environment: &[],
    },
    RecordedSituation {
        name: "tool",
        manner: || {
            Some(ModelBehaviour::Turns(vec![
                ModelTurn::Bash("echo '{\"decision\":\"stop\"}' > status.json"),
                ModelTurn::Text("I wrote the status."),
            ]))
        },
        environment: &[],
    },
    RecordedSituation {
        name: "rate_limit",
        manner: || refuse(ModelRefusal::RateLimit { seconds: 2 }),
        environment: &[],
    },
    RecordedSituation {
        name: "usage_limit",
        manner: || refuse(ModelRefusal::UsageLimit { seconds: 7200 }),
        environment: SUBSCRIPTION,
    },
    RecordedSituation { name: "quota", manner: || refuse(ModelRefusal::Quota), environment: &[] },
    RecordedSituation { name: "auth", manner: || refuse(ModelRefusal::Auth), environment: &[] },
    RecordedSituation {
        name: "overloaded",
        manner: || refuse(ModelRefusal::Overloaded),
        environment: &[],
    },
    RecordedSituation {
        name: "server_error",
        manner: || refuse(ModelRefusal::ServerError),
        environment: &[],
    },
    RecordedSituation {
        name: "no_key",
        manner: || refuse(ModelRefusal::Auth),
        environment: &[
            ("claude", "ANTHROPIC_API_KEY", ""),
            ("codex", "OPENAI_API_KEY", ""),
            ("gemini", "GEMINI_API_KEY", ""),
        ],
    },
    // No server listens.
    RecordedSituation { name: "unreachable", manner: || None, environment: &[] },
];

#[expect(clippy::unnecessary_wraps, reason = "it is in a table with functions that return none")]
fn refuse(refusal: ModelRefusal) -> Option<ModelBehaviour> {
    Some(ModelBehaviour::Refuse(refusal))
}

/// Records the named agents and cases, or all.
pub(super) fn record(programs: &Path, only: &[String]) -> Result<(), String> {
    for program in program::ALL {
        for case in CASES {
            let is_meant = |names: &[String]| {
                names.iter().all(|name| name == program.name || name == case.name)
            };
            if !is_meant(only) {
                continue;
            }
            let started = Instant::now();
            let code = one(programs, program, case)?;
            let took = started.elapsed().as_secs_f64();
            eprintln!("{:<9} {:<13} exit {code:<5} {took:.1} s", program.name, case.name);
        }
    }
    Ok(())
}

fn one(programs: &Path, program: &Program, case: &RecordedSituation) -> Result<String, String> {
    let said = |error: std::io::Error| error.to_string();
    let home = tempfile::tempdir().map_err(said)?;
    let home = fs::canonicalize(home.path()).map_err(said)?;
    let project = home.join("project");
    fs::create_dir_all(&project).map_err(said)?;
    let model = (case.manner)().map(ModelServer::start).transpose().map_err(said)?;
    // Port 9 of this machine is closed.
    let url = model.as_ref().map_or("http://127.0.0.1:9".to_owned(), ModelServer::url);
    let environment = program.point_at(&url, &home)?;
    fs::write(home.join("prompt"), PROMPT).map_err(said)?;
    let printed = |name: &str| fs::File::create(home.join(name));
    let mut command = Command::new(programs.join(program.name));
    command
        .args(program.arguments)
        .args(["--model", program.model])
        .env_clear()
        .env("PATH", path_with(programs))
        .env("HOME", &home)
        .env("HTTPS_PROXY", "http://127.0.0.1:9")
        .env("NO_PROXY", "127.0.0.1,localhost")
        .envs(environment)
        .current_dir(&project)
        .stdin(fs::File::open(home.join("prompt")).map_err(said)?)
        .stdout(printed("stdout").map_err(said)?)
        .stderr(printed("stderr").map_err(said)?);
    for (_, name, value) in case.environment.iter().filter(|(of, ..)| *of == program.name) {
        if value.is_empty() {
            command.env_remove(name)
        } else {
            command.env(name, value)
        };
    }
    let code = ended(&mut command)?;
    keep(program, case, &ReplacedNames { home: &home, programs, url: &url }, &code)?;
    Ok(code)
}

/// Waits for its end: its exit code, or `none` if it had to be killed.
pub(super) fn ended(command: &mut Command) -> Result<String, String> {
    use std::os::unix::process::CommandExt;
    let mut child = command
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(status.code().map_or("none".to_owned(), |code| code.to_string()));
        }
        if since.elapsed() > RUN_MAX {
            let group = format!("-{}", child.id());
            let _ =
                Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
            let _ = child.wait();
            return Ok("none".to_owned());
        }
        thread::sleep(PAUSE);
    }
}

/// Replaces what is specific to this machine and this run.
struct ReplacedNames<'a> {
    home: &'a Path,
    programs: &'a Path,
    url: &'a str,
}

impl ReplacedNames<'_> {
    fn in_text(&self, text: &str) -> String {
        let home = self.home.to_string_lossy();
        // Agents name folders after the path.
        let dashed = home.replace(['/', '.'], "-");
        let packages = self.programs.parent().map(fs::canonicalize);
        let packages = packages.and_then(Result::ok).unwrap_or_default();
        text.replace(&*home, "/home/user")
            .replace(&dashed, "-home-user")
            .replace(&*packages.to_string_lossy(), "/usr/lib/node_modules")
            .replace(self.url.trim_start_matches("http://"), "127.0.0.1:8000")
    }
}

fn keep(
    program: &Program,
    case: &RecordedSituation,
    with: &ReplacedNames<'_>,
    code: &str,
) -> Result<(), String> {
    let said = |error: std::io::Error| error.to_string();
    let folder = PathBuf::from(FOLDER).join(program.name).join(case.name);
    fs::create_dir_all(&folder).map_err(said)?;
    for name in ["stdout", "stderr"] {
        let text = fs::read(with.home.join(name)).map_err(said)?;
        let text = with.in_text(&String::from_utf8_lossy(&text));
        fs::write(folder.join(name), text).map_err(said)?;
    }
    if let Some(below) = program.session_files {
        let told = told_by_session_file(&with.home.join(below));
        fs::write(folder.join("session_file"), with.in_text(&told)).map_err(said)?;
    }
    let arguments = program.arguments.join("\n") + "\n";
    fs::write(folder.join("arguments"), arguments).map_err(said)?;
    fs::write(folder.join("exit_code"), format!("{code}\n")).map_err(said)
}

/// The parts of the agent's session file that the presets read: how it ended, and what is left of
/// its limits. The rest of the file is its vendor's text.
fn told_by_session_file(folder: &Path) -> String {
    let mut told = String::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path())
        {
            if path.is_dir() {
                open.push(path);
                continue;
            }
            for line in fs::read_to_string(&path).unwrap_or_default().lines() {
                let event: Value = serde_json::from_str(line).unwrap_or_default();
                let is_read = event["type"] == "event_msg"
                    && (event["payload"]["type"] == "token_count"
                        || event["payload"]["type"] == "task_complete");
                if is_read {
                    told.push_str(line);
                    told.push('\n');
                }
            }
        }
    }
    told
}

/// `PATH` with the agents first.
pub(super) fn path_with(folder: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [folder.to_owned()].into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(folders).unwrap_or(path.clone())
}

//! Sessions of the built-in agent: `hookwright agent`, continued with `--continue`, and a loop with
//! `agent: builtin`, resumed with `resume`. A local server plays the model.
//!
//! A request that was cut off has used up its turn of the script. So a life can make fewer calls than one
//! without kills, and what is checked is that the journal, the transcripts and the log of what really
//! ran agree ([`super::built_in_checker`]).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use hookwright_events::RunEvent;
use hookwright_model_server::{ModelBehaviour, ModelScript, ModelServer};
use hookwright_store::{Filter, Kind, records};
use serde_json::{Value, json};

use super::built_in_checker::BuiltInChecker;
use super::defect::Defect;
use super::ground::{Ground, Line};
use super::life::{Kill, Life, PROCESSES_MAX, let_run};

/// What the model says when everything is done.
const LAST_WORDS: &str = "Everything is done.";

/// How often the script is repeated: kills use up turns.
const REPEATED: usize = 12;

/// The name of the loop's session, and of the files with the output.
const SESSION: &str = "campaign";

/// How the agent is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentUse {
    /// `hookwright agent`.
    Alone,
    /// `agent: builtin` in a loop.
    InLoop,
}

/// A session of `hookwright agent`.
pub(crate) fn alone(binary: &Path, kills: &[Kill]) -> Life {
    lead(AgentUse::Alone, binary, kills)
}

/// A session of a loop with `agent: builtin`.
pub(crate) fn in_loop(binary: &Path, kills: &[Kill]) -> Life {
    lead(AgentUse::InLoop, binary, kills)
}

fn lead(how: AgentUse, binary: &Path, kills: &[Kill]) -> Life {
    let workplace = Workplace::new(how, binary);
    let mut life = Life::default();
    let mut checker = BuiltInChecker::default();
    let mut kills = kills.iter().copied();
    let mut is_done = false;
    for number in 0..PROCESSES_MAX {
        let (mut command, is_resume) = workplace.command(binary, number);
        let began = Instant::now();
        let was_killed = let_run(&mut command, kills.next());
        if number == 0 {
            life.first = began.elapsed();
            life.points = workplace.ground.passed();
        }
        life.kills += u64::from(was_killed);
        life.resumes += u64::from(is_resume);
        checker.look(&workplace);
        is_done = !was_killed && workplace.is_done();
        let has_failed = !was_killed && !workplace.is_session_completed();
        if is_done || has_failed {
            break;
        }
    }
    if !is_done {
        let printed = fs::read_to_string(workplace.ground.printed(SESSION)).unwrap_or_default();
        let complaints = workplace.ground.complaints(SESSION);
        checker.defect(Defect::NotFinished, format!("{printed}{complaints}"));
    }
    checker.look_at_end(&workplace);
    life.found = checker.found;
    life
}

/// A project in which the agent works, with a server in place of its model.
pub(crate) struct Workplace {
    pub(crate) how: AgentUse,
    ground: Ground,
    server: ModelServer,
}

impl Workplace {
    fn new(how: AgentUse, binary: &Path) -> Self {
        let ground = Ground::new(&[]);
        fs::write(ground.outside().join("mcp-server"), MCP_SERVER).expect("written");
        let outside = ground.outside();
        let placed = |text: &str| text.replace("@OUTSIDE@", &outside.to_string_lossy());
        let (file, text) = match how {
            AgentUse::Alone => ("hookwright.yaml", [ALONE, SERVERS, HOOKS].concat()),
            AgentUse::InLoop => ("loop.yaml", [IN_LOOP, HOOKS].concat()),
        };
        fs::write(ground.project().join(file), placed(&text)).expect("written");
        if how == AgentUse::InLoop {
            let servers = ground.project().join("hookwright.yaml");
            fs::write(servers, placed(SERVERS)).expect("written");
        }
        let script = script(how, &ground.outside().to_string_lossy());
        let script = ModelScript::parse(&script.to_string()).expect("a script");
        let server = ModelServer::start(ModelBehaviour::Script(script)).expect("a server");
        let trusted = ground.command(binary, SESSION, 0).args(["trust", "--yes"]).status();
        assert!(trusted.expect("it starts").success(), "{}", ground.complaints(SESSION));
        let _ = fs::remove_file(ground.points());
        Self { how, ground, server }
    }

    /// The next process, and whether it goes on with a session.
    fn command(&self, binary: &Path, number: usize) -> (Command, bool) {
        let is_known = !self.journal().is_empty();
        let mut command = self.ground.command(binary, SESSION, number);
        command.env("ANTHROPIC_BASE_URL", self.server.url());
        command.env("ANTHROPIC_API_KEY", "sk-campaign-0123456789");
        match (self.how, is_known) {
            (AgentUse::Alone, _) => {
                command.args(["agent", "--context-tokens", "20000"]);
                match is_known {
                    false => command.args(["-p", "Begin."]),
                    true => command.args(["--continue", "-p", "Go on."]),
                }
            }
            (AgentUse::InLoop, false) => command.args(["run", "loop.yaml", "--session", SESSION]),
            (AgentUse::InLoop, true) => command.args(["resume", SESSION]),
        };
        (command, is_known)
    }

    /// Whether the last process has brought the work to its end. A model whose turn was cut off may have
    /// ended its work early; then the session goes on with another prompt.
    fn is_done(&self) -> bool {
        let printed = fs::read_to_string(self.ground.printed(SESSION)).unwrap_or_default();
        match self.how {
            AgentUse::Alone => printed.trim() == LAST_WORDS,
            AgentUse::InLoop => self.is_session_completed(),
        }
    }

    /// Whether the store says that the session is completed.
    pub(crate) fn is_session_completed(&self) -> bool {
        let store = self.ground.store();
        let mut sessions = records(&*store, Kind::Session, Filter::newest(usize::MAX));
        let is_completed =
            sessions.next().is_some_and(|record| record.expect("a record").status == "completed");
        is_completed && sessions.next().is_none()
    }

    /// The journal of the only session.
    pub(crate) fn journal(&self) -> Vec<RunEvent> {
        let journals: BTreeMap<String, Vec<RunEvent>> = self.ground.journals();
        assert!(journals.len() < 2, "two sessions: {:?}", journals.keys());
        journals.into_values().next().unwrap_or_default()
    }

    /// What really happened, oldest first.
    pub(crate) fn log(&self) -> Vec<Line> {
        self.ground.log()
    }

    /// All transcripts, those of subagents too.
    pub(crate) fn transcripts(&self) -> Vec<PathBuf> {
        let folder = match self.how {
            AgentUse::Alone => self.ground.outside().join(".local/state/hookwright/transcripts"),
            AgentUse::InLoop => self.ground.project().join(".hookwright/sessions"),
        };
        let mut found = super::checker::files(&folder);
        found.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
        found
    }

    /// Processes of this workplace that are alive.
    pub(crate) fn processes(&self) -> Vec<String> {
        let home = format!("HOME={}", self.ground.outside().display());
        let entries = fs::read_dir("/proc").expect("it is there").flatten();
        let is_ours = |path: &PathBuf| {
            let environment = fs::read(path.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == home.as_bytes())
        };
        let paths = entries.map(|entry| entry.path()).filter(is_ours);
        let told = paths.map(|path| {
            let command = fs::read(path.join("cmdline")).unwrap_or_default();
            format!("{}: {}", path.display(), String::from_utf8_lossy(&command).replace('\0', " "))
        });
        told.collect()
    }
}

fn bash(name: &str, outside: &str) -> Value {
    let output = "head -c 400 /dev/zero | tr '\\0' x";
    let command = format!(". {outside}/begin call {name} bash; sleep 0.02; {output}; finish");
    json!({ "type": "tool_use", "name": "bash", "input": { "command": command } })
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// Calls one after the other and at once, one that a hook denies, one about which is asked, a subagent,
/// a tool of a server, and alone a compaction.
fn script(how: AgentUse, outside: &str) -> Value {
    let bash = |name| bash(name, outside);
    let write = json!({ "type": "tool_use", "name": "write",
        "input": { "file_path": "asked.txt", "content": "WHOLE\n" } });
    let task = json!({ "type": "tool_use", "name": "task",
        "input": { "description": "looks", "prompt": "LOOK AROUND" } });
    // So many tokens fill the context.
    let usage = match how {
        AgentUse::Alone => json!({ "input_tokens": 18_000, "output_tokens": 10 }),
        AgentUse::InLoop => json!({ "input_tokens": 10, "output_tokens": 10 }),
    };
    let mut round = vec![
        json!({ "content": [{ "type": "text", "text": "I begin." }, bash("first")] }),
        json!({ "content": [bash("left"), bash("FORBIDDEN"), bash("right")] }),
        json!({ "content": [write] }),
        json!({ "content": [task, bash("beside")], "usage": usage }),
    ];
    let call = json!({ "type": "tool_use", "name": "mcp__files__echo", "input": { "text": "hi" } });
    round.insert(2, json!({ "content": [call] }));
    if how == AgentUse::Alone {
        round.push(text("A summary of what was done."));
    }
    round.push(json!({ "content": [bash("last")] }));
    round.push(text(LAST_WORDS));
    let turns = vec![round; REPEATED].concat();
    let of_subagent = vec![json!({ "content": [bash("below")] }), text("It is nice here.")];
    let of_subagent = vec![of_subagent; REPEATED].concat();
    let subagent = json!({ "prompt": "LOOK AROUND", "turns": of_subagent });
    json!({ "turns": turns, "conversations": [subagent] })
}

const ALONE: &str = "
permissions: {allow: [bash, task, mcp__files__echo]}
";

const SERVERS: &str = "
mcp_servers: {files: {command: bash, args: ['@OUTSIDE@/mcp-server', leaves-processes]}}
";

/// An MCP server; what it starts outlives it.
const MCP_SERVER: &str = include_str!("../../../agent/tests/mcp_server.sh");

const IN_LOOP: &str = "
name: campaign
agent: {type: builtin, permissions: {allow: [bash, task, mcp__files__echo]}}
prompt: Begin.
termination: {type: fixed, iterations: 2}
";

/// Every hook logs what it does.
const HOOKS: &str = r#"
hooks:
  session:start:
    - {id: started, await: true, command: . @OUTSIDE@/begin hook started session:start; finish}
  user:prompt_submit:
    - {id: prompted, command: . @OUTSIDE@/begin hook prompted user:prompt_submit; finish}
  agent:start:
    - {id: agent-started, await: true, command: . @OUTSIDE@/begin hook agent-started agent:start; finish}
  tool:pre_execute:
    - id: guard
      command: |
        . @OUTSIDE@/begin hook guard tool:pre_execute
        input=$(cat)
        finish
        case "$input" in *"call FORBIDDEN"*) echo never >&2; exit 2;; esac
  permission:prompt:
    - id: answer
      command: |
        . @OUTSIDE@/begin hook answer permission:prompt
        finish
        echo '{"decision": "allow"}'
  tool:post_execute:
    - {id: ran, await: true, command: . @OUTSIDE@/begin hook ran tool:post_execute; finish}
    - {id: ran-behind, await: false, command: . @OUTSIDE@/begin hook ran-behind tool:post_execute; sleep 0.05; finish}
  session:pre_compact:
    - {id: compacted, command: . @OUTSIDE@/begin hook compacted session:pre_compact; finish}
  agent:stop:
    - {id: agent-stopped, command: . @OUTSIDE@/begin hook agent-stopped agent:stop; finish}
  session:stop:
    - {id: stopped, command: . @OUTSIDE@/begin hook stopped session:stop; finish}
  session:end:
    - {id: goodbye, await: true, command: . @OUTSIDE@/begin hook goodbye session:end; finish}
    - {id: goodbye-behind, await: false, command: . @OUTSIDE@/begin hook goodbye-behind session:end; sleep 0.05; finish}
"#;

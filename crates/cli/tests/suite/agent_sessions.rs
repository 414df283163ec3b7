//! Sessions of the built-in agent: they are listed, shown, stopped and continued like others, and what a
//! crash leaves is found.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use hookwright_model_server::{ModelBehaviour, ModelScript, ModelServer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::projects::{git, repository};
use crate::support::{Ran, Sandbox};

/// A wait that takes longer hangs.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A project in which the agent works, with a server in place of its model.
struct AgentBench {
    sandbox: Sandbox,
    server: ModelServer,
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn bash(command: &str) -> Value {
    let input = json!({ "command": command });
    json!({ "content": [{ "type": "tool_use", "name": "bash", "input": input }] })
}

impl AgentBench {
    fn new(turns: &[Value]) -> Self {
        Self::with_hooks(turns, "hooks: {}\npermissions: {allow: [bash]}\n")
    }

    fn with_hooks(turns: &[Value], hooks: &str) -> Self {
        let script = json!({ "turns": turns }).to_string();
        Self::with_script(ModelScript::parse(&script).unwrap(), hooks)
    }

    fn with_script(script: ModelScript, hooks: &str) -> Self {
        let server = ModelServer::start(ModelBehaviour::Script(script)).unwrap();
        let sandbox = Sandbox::with_hooks(hooks)
            .set("ANTHROPIC_BASE_URL", &server.url())
            .set("ANTHROPIC_API_KEY", "sk-sessions-0123456789");
        sandbox.run(&["trust", "--yes"]);
        Self { sandbox, server }
    }

    fn agent(&self, arguments: &[&str]) -> Ran {
        self.sandbox.run(&[&["agent"], arguments].concat())
    }

    /// Starts the agent, and returns when this file of the project is there.
    fn started(&self, arguments: &[&str], until: &str) -> Child {
        let mut command = self.sandbox.command(&[&["agent"], arguments].concat());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        wait(&format!("{until} was never there"), || {
            assert!(child.try_wait().unwrap().is_none(), "the agent has ended");
            self.sandbox.path(until).exists()
        });
        child
    }

    /// The only session.
    fn session(&self) -> Value {
        let (code, list) = self.sandbox.json(&["sessions", "list", "--json"]);
        assert_eq!(code, 0);
        let sessions = list["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), 1, "{list}");
        sessions[0].clone()
    }

    fn name(&self) -> String {
        self.session()["name"].as_str().unwrap().to_owned()
    }

    fn transcript(&self) -> PathBuf {
        let id = self.session()["id"].as_str().unwrap().to_owned();
        let folder = self.sandbox.path("..").canonicalize().unwrap();
        folder.join(format!(".local/state/hookwright/transcripts/{id}.jsonl"))
    }

    /// The journal's entries.
    fn journal(&self) -> Vec<Value> {
        let ran = self.sandbox.run(&["sessions", "log", &self.name(), "--json"]);
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn kinds(&self) -> Vec<String> {
        let journal = self.journal();
        journal.iter().map(|entry| kind(entry).to_owned()).collect()
    }

    /// The messages of the last request.
    fn last_request(&self) -> Vec<Value> {
        let requests = self.server.requests();
        let mut messages = requests.last().unwrap().body["messages"].clone();
        without_marks(&mut messages);
        messages.as_array().unwrap().clone()
    }
}

fn kind(entry: &Value) -> &str {
    entry["kind"].as_str().unwrap_or_else(|| panic!("{entry}"))
}

fn without_marks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(without_marks);
        }
        Value::Array(items) => items.iter_mut().for_each(without_marks),
        _ => {}
    }
}

fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < WAIT_MAX, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn kill(mut child: Child) {
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, Signal::KILL).unwrap();
    child.wait().unwrap();
}

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn user(texts: &[&str]) -> Value {
    let blocks: Vec<Value> =
        texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
    json!({ "role": "user", "content": blocks })
}

#[test]
fn a_session_of_the_agent_is_listed_and_shown_with_its_calls() {
    let bench = AgentBench::new(&[bash("echo hi"), text("done")]);
    let ran = bench.agent(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "done\n"), "{}", ran.stderr);
    let session = bench.session();
    assert_eq!(session["status"], "completed");
    assert_eq!(session["command"], "agent");
    assert_eq!(session["iterations"], 1);
    assert!(session["usage"]["outputTokens"].as_u64().unwrap() > 0);
    let shown = bench.sandbox.run(&["sessions", "show"]).stdout;
    assert!(shown.contains("echo hi"), "{shown}");
    assert!(shown.contains("iteration 1: stop"), "{shown}");
    let (_, shown) = bench.sandbox.json(&["sessions", "show", "--json"]);
    let timeline = shown["timeline"].to_string();
    assert!(timeline.contains(r#""kind":"call""#), "{timeline}");
    let log = bench.sandbox.run(&["sessions", "log"]).stdout;
    for line in ["request 1 is sent", "call toolu_", "ended: bash, ran", "session ended: completed"]
    {
        assert!(log.contains(line), "{line}: {log}");
    }
    let current = bench.sandbox.run(&["status"]).stdout;
    assert!(current.contains("nothing runs here"), "{current}");
}

#[test]
fn every_effect_is_in_the_journal_before_it_and_its_end_after_it() {
    let hooks =
        "hooks:\n  tool:pre_execute:\n    - command: 'true'\npermissions: {allow: [bash]}\n";
    let bench = AgentBench::with_hooks(&[bash("echo hi"), text("done")], hooks);
    assert_eq!(bench.agent(&["-p", "go"]).code, 0);
    let kinds = bench.kinds();
    let at = |kind: &str| {
        kinds
            .iter()
            .position(|known| known == kind)
            .unwrap_or_else(|| panic!("no {kind}: {kinds:?}"))
    };
    let order = [
        "session_started",
        "turn_starting",
        "request_sending",
        "request_ended",
        "hook_starting",
        "hook_reported",
        "call_starting",
        "call_ended",
        "turn_ended",
        "session_ended",
    ];
    let places: Vec<usize> = order.into_iter().map(at).collect();
    assert!(places.is_sorted(), "{kinds:?}");
    // What a hook read may be a whole file, and the journal does not need it.
    let journal = bench.journal();
    assert!(journal.iter().all(|entry| entry["data"].is_null()), "{journal:?}");
}

// Conformance: claude-code-065
#[test]
fn a_continued_session_has_its_conversation_and_fires_its_start_as_a_resume() {
    let hooks = "hooks:\n  session:start:\n    - command: 'cat >> ../starts'\n      await: true\n";
    let bench = AgentBench::with_hooks(&[text("one"), text("two"), text("three")], hooks);
    assert_eq!(bench.agent(&["-p", "first"]).stdout, "one\n");
    let second = bench.agent(&["--continue", "-p", "second"]);
    assert_eq!((second.code, second.stdout.as_str()), (0, "two\n"), "{}", second.stderr);
    let name = bench.name();
    let third = bench.agent(&["--resume", &name[..name.len() - 1], "-p", "third"]);
    assert_eq!((third.code, third.stdout.as_str()), (0, "three\n"), "{}", third.stderr);
    let said =
        |text: &str| json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] });
    assert_eq!(
        bench.last_request(),
        [user(&["first"]), said("one"), user(&["second"]), said("two"), user(&["third"])]
    );
    let starts = fs::read_to_string(bench.sandbox.path("../starts")).unwrap();
    let sources: Vec<&str> =
        starts.split(r#""source":""#).skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(sources, ["startup", "resume", "resume"]);
    assert_eq!(starts.matches(&format!(r#""session":"{name}""#)).count(), 3, "{starts}");
    let session = bench.session();
    assert_eq!((&session["iterations"], &session["resumes"]), (&json!(3), &json!(2)));
}

#[test]
fn a_hook_of_claude_code_hears_that_a_session_is_resumed() {
    let bench = AgentBench::new(&[text("One."), text("Two.")]);
    let hook = |file: &str| json!({ "type": "command", "command": format!("cat > {file}") });
    let of = |source: &str| json!({ "matcher": source, "hooks": [hook(source)] });
    let settings = json!({ "hooks": { "SessionStart": [of("startup"), of("resume")] } });
    fs::create_dir(bench.sandbox.path(".claude")).unwrap();
    fs::write(bench.sandbox.path(".claude/settings.json"), settings.to_string()).unwrap();
    bench.sandbox.run(&["trust", "--yes"]);
    assert_eq!(bench.agent(&["-p", "one"]).code, 0);
    let heard = |source: &str| -> Option<Value> {
        let text = fs::read_to_string(bench.sandbox.path(source)).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    };
    assert_eq!(heard("startup").unwrap()["source"], "startup");
    assert_eq!(heard("resume"), None);
    fs::remove_file(bench.sandbox.path("startup")).unwrap();
    assert_eq!(bench.agent(&["-p", "two", "--continue"]).code, 0);
    let resumed = heard("resume").unwrap();
    assert_eq!(
        (&resumed["source"], &resumed["hook_event_name"]),
        (&json!("resume"), &json!("SessionStart"))
    );
    assert_eq!(resumed["transcript_path"], json!(bench.transcript()));
    assert_eq!(heard("startup"), None);
}

#[test]
fn a_session_that_was_killed_in_a_call_is_continued_and_the_call_is_reported_as_cut_off() {
    let bench = AgentBench::new(&[bash("echo $$ > pid; touch started; sleep 1000"), text("I see")]);
    kill(bench.started(&["-p", "go"], "started"));
    let pid = fs::read_to_string(bench.sandbox.path("pid")).unwrap();
    assert!(is_alive(&pid), "the command outlives the agent");
    assert_eq!(bench.session()["status"], "cut_off");
    let status = bench.sandbox.run(&["status"]).stdout;
    assert!(status.contains(&bench.name()), "{status}");
    let ran = bench.agent(&["--continue", "-p", "go on"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "I see\n"), "{}", ran.stderr);
    assert!(!is_alive(&pid), "what the dead run left is ended");
    let request = bench.last_request();
    let [_, call, results] = &request[..] else { panic!("{request:?}") };
    assert_eq!(results["content"][0]["tool_use_id"], call["content"][0]["id"]);
    assert_eq!(results["content"][0]["is_error"], true);
    let told = results["content"][0]["content"].to_string();
    assert!(told.contains("cut off") && told.contains("not run again"), "{told}");
    assert_eq!(results["content"][1]["text"], "go on");
    assert_eq!(bench.session()["status"], "completed");
    let starts = bench.kinds().iter().filter(|kind| *kind == "call_starting").count();
    assert_eq!(starts, 1, "it is not repeated");
}

#[test]
fn a_recorded_result_is_in_the_continued_conversation() {
    let two = json!({ "content": [
        { "type": "tool_use", "name": "bash", "input": { "command": "echo first" } },
        { "type": "tool_use", "name": "bash",
          "input": { "command": "touch started; sleep 1000" } },
    ]});
    let bench = AgentBench::new(&[two, text("I see")]);
    let child = bench.started(&["-p", "go"], "started");
    wait("the first call has not ended", || bench.kinds().iter().any(|kind| kind == "call_ended"));
    kill(child);
    assert_eq!(bench.agent(&["--continue", "-p", "go on"]).code, 0);
    let request = bench.last_request();
    let results = request[2]["content"].as_array().unwrap();
    assert_eq!(results.len(), 3, "{results:?}");
    assert!(results[0]["content"].to_string().contains("first"), "{results:?}");
    assert!(results[1]["content"].to_string().contains("cut off"), "{results:?}");
}

#[test]
fn stop_ends_a_running_session_in_order() {
    let hooks = "hooks:\n  session:end:\n    - command: 'echo $REASON > ended'\n      await: true\n\
                 permissions: {allow: [bash]}\n";
    let bench = AgentBench::with_hooks(&[bash("touch started; sleep 1000"), text("never")], hooks);
    let child = bench.started(&["-p", "go"], "started");
    let stopped = bench.sandbox.run(&["stop"]);
    assert_eq!(stopped.code, 0, "{}", stopped.stderr);
    assert!(stopped.stdout.contains("interrupted"), "{}", stopped.stdout);
    assert!(stopped.stderr.contains("hookwright agent --resume"), "{}", stopped.stderr);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(fs::read_to_string(bench.sandbox.path("ended")).unwrap(), "interrupted\n");
    assert_eq!(bench.session()["status"], "interrupted");
}

#[test]
fn a_session_that_runs_is_not_continued_by_a_second_process() {
    let bench = AgentBench::new(&[bash("touch started; sleep 1000")]);
    let child = bench.started(&["-p", "go"], "started");
    let pid = child.id();
    let refused = bench.agent(&["--continue", "-p", "me too"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("process {pid}")), "{}", refused.stderr);
    kill(child);
    assert_eq!(bench.server.requests().len(), 1);
}

#[test]
fn half_a_line_at_the_end_of_a_transcript_is_left_out_with_a_notice() {
    let bench = AgentBench::new(&[text("one"), text("two")]);
    bench.agent(&["-p", "first"]);
    let path = bench.transcript();
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{whole}{{\"parentUuid\":\"x\",\"type\":\"us")).unwrap();
    let ran = bench.agent(&["--continue", "-p", "second"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("cut off in the middle"), "{}", ran.stderr);
    assert_eq!(bench.last_request().len(), 3);
    let now = fs::read_to_string(&path).unwrap();
    assert!(now.starts_with(&whole));
    assert!(now.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

#[test]
fn a_transcript_that_lacks_its_end_is_continued_with_a_notice() {
    let bench = AgentBench::new(&[text("one"), text("two")]);
    bench.agent(&["-p", "first"]);
    let path = bench.transcript();
    let whole = fs::read_to_string(&path).unwrap();
    let first = whole.lines().next().unwrap();
    fs::write(&path, format!("{first}\n{}", &whole[first.len() + 1..whole.len() - 9])).unwrap();
    let ran = bench.agent(&["--continue", "-p", "second"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("the end of the transcript is missing"), "{}", ran.stderr);
    assert_eq!(bench.last_request(), [user(&["first", "second"])]);
}

#[test]
fn an_edited_transcript_is_refused_and_nothing_is_sent() {
    let bench = AgentBench::new(&[text("one"), text("two")]);
    bench.agent(&["-p", "first"]);
    let path = bench.transcript();
    let edited = fs::read_to_string(&path).unwrap().replace("first", "worst");
    fs::write(&path, &edited).unwrap();
    let ran = bench.agent(&["--continue", "-p", "second"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.stderr.contains("was changed after the session wrote it"), "{}", ran.stderr);
    assert!(ran.stderr.contains("help: nothing was started"), "{}", ran.stderr);
    assert_eq!(bench.server.requests().len(), 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), edited);
    assert_eq!(bench.session()["status"], "completed", "a refused session stays as it was");
}

#[test]
fn a_lost_transcript_is_a_clear_error() {
    let bench = AgentBench::new(&[text("one")]);
    bench.agent(&["-p", "first"]);
    fs::remove_file(bench.transcript()).unwrap();
    let ran = bench.agent(&["--continue", "-p", "second"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("its transcript is unusable"), "{}", ran.stderr);
}

#[test]
fn rewritten_inputs_and_contexts_are_continued_as_the_model_saw_them() {
    let rewrite = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"echo new"},"additionalContext":"be brief"}}"#;
    let hooks = "hooks:\n  tool:pre_execute:\n    - command: 'cat > /dev/null; cat answer.json'\n\
                 permissions: {allow: [bash]}\n";
    let bench = AgentBench::with_hooks(&[bash("echo old"), text("one"), text("two")], hooks);
    fs::write(bench.sandbox.path("answer.json"), rewrite).unwrap();
    assert_eq!(bench.agent(&["-p", "go"]).code, 0);
    let before = bench.last_request();
    assert!(before[1].to_string().contains("echo new"), "{before:?}");
    assert!(before[2].to_string().contains("be brief"), "{before:?}");
    fs::remove_file(bench.sandbox.path("answer.json")).unwrap();
    let ran = bench.agent(&["--continue", "-p", "more"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(bench.last_request()[..before.len()], before[..]);
}

#[test]
fn the_newest_session_is_continued_and_without_one_that_is_said() {
    let bench = AgentBench::new(&[text("one"), text("two"), text("three")]);
    let none = bench.agent(&["--continue", "-p", "go"]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("no session of the agent to continue"), "{}", none.stderr);
    bench.agent(&["-p", "old"]);
    bench.agent(&["-p", "new"]);
    assert_eq!(bench.agent(&["--continue", "-p", "go on"]).code, 0);
    assert_eq!(bench.last_request()[0], user(&["new"]));
    let unknown = bench.agent(&["--resume", "no-such", "-p", "go"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("no-such"), "{}", unknown.stderr);
}

#[test]
fn a_session_is_continued_only_in_the_checkout_in_which_it_began() {
    const NAMED: &str = "project: shop\n";
    let bench = AgentBench::with_hooks(&[text("one"), text("two")], NAMED);
    let here = bench.sandbox.path(".");
    repository(&here, "the shop", Some("https://git.example.org/acme/shop.git"));
    assert_eq!(bench.agent(&["-p", "old"]).code, 0);
    let name = bench.session()["name"].as_str().unwrap().to_owned();
    git(&here, &["worktree", "add", "--quiet", "../tree", "HEAD"]);
    bench.sandbox.run(&["trust", "--yes", "--cwd", "../tree"]);
    let refused = bench.agent(&["--resume", &name, "-p", "go on", "--cwd", "../tree"]);
    let here = here.canonicalize().unwrap();
    let expected = format!(
        "error: the session `{name}` began in another checkout of this project\n --> {}\nhelp: \
         continue it there: `hookwright agent --resume {name} --cwd DIR`\n",
        here.display()
    );
    assert_eq!((refused.code, refused.stderr.as_str()), (1, expected.as_str()));
    let none = bench.agent(&["--continue", "-p", "go on", "--cwd", "../tree"]);
    assert!(none.stderr.contains("no session of the agent to continue"), "{}", none.stderr);
    assert_eq!(bench.agent(&["--continue", "-p", "go on"]).code, 0);
}

#[test]
fn resume_names_the_command_for_a_session_of_the_agent() {
    let script = ModelScript::parse("key: sk-another-key\nturns: [{content: []}]").unwrap();
    let bench = AgentBench::with_script(script, "hooks: {}\n");
    let failed = bench.agent(&["-p", "go"]);
    assert_eq!(failed.code, 5, "{}", failed.stderr);
    let name = bench.name();
    let refused = bench.sandbox.run(&["resume", &name]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains(&format!("hookwright agent --resume {name}")),
        "{}",
        refused.stderr
    );
    let none = bench.sandbox.run(&["resume"]);
    assert!(!none.stderr.contains(&name), "{}", none.stderr);
    let status = bench.sandbox.run(&["status"]).stdout;
    assert!(status.contains(&name), "{status}");
}

#[test]
fn a_hook_with_once_runs_once_in_a_session_that_is_continued() {
    let hooks = "hooks:\n  user:prompt_submit:\n    - command: 'echo x >> ran'\n      once: true\n";
    let bench = AgentBench::with_hooks(&[text("one"), text("two")], hooks);
    bench.agent(&["-p", "first"]);
    assert_eq!(bench.agent(&["--continue", "-p", "second"]).code, 0);
    assert_eq!(fs::read_to_string(bench.sandbox.path("ran")).unwrap(), "x\n");
}

#[test]
fn a_store_that_cannot_be_opened_is_a_failure_and_nothing_starts() {
    let bench = AgentBench::new(&[text("never")]);
    // A folder cannot be opened as a file.
    let store = bench.sandbox.path("../.local/state/hookwright/store.sqlite3");
    fs::create_dir_all(store.join("not-a-store")).unwrap();
    let ran = bench.agent(&["-p", "go"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("help:"), "{}", ran.stderr);
    assert_eq!(bench.server.requests().len(), 0);
}

#[test]
fn prune_removes_the_transcript_with_its_session() {
    let bench = AgentBench::new(&[text("one")]);
    bench.agent(&["-p", "go"]);
    let path = bench.transcript();
    assert!(path.exists());
    let pruned = bench.sandbox.run(&["sessions", "prune", "--keep", "0", "--yes"]);
    assert_eq!(pruned.code, 0, "{}", pruned.stderr);
    assert!(!path.exists());
}

#[test]
fn a_disk_that_is_full_in_the_middle_ends_the_session_and_starts_nothing_more() {
    let mut turns: Vec<Value> = (0..60).map(|_| bash("echo x >> ran")).collect();
    turns.push(text("never"));
    let bench = AgentBench::new(&turns);
    let command = bench.sandbox.command(&["agent", "-p", "go"]);
    let mut limited = std::process::Command::new("sh");
    // The shell counts blocks of 512 bytes. The program gets an error, not a signal, like on a full disk.
    limited.args(["-c", r#"trap '' XFSZ; ulimit -f 1500; exec "$@""#, "sh"]);
    limited.arg(command.get_program()).args(command.get_args()).env_clear();
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.current_dir(command.get_current_dir().unwrap());
    let ran = Ran::from(limited.stdin(Stdio::null()).output().unwrap());
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot be recorded, so nothing more was done"), "{}", ran.stderr);
    let journal = bench.journal();
    let ended = journal.iter().filter(|entry| kind(entry) == "call_starting").count();
    let ran = fs::read_to_string(bench.sandbox.path("ran")).unwrap_or_default().lines().count();
    assert!(ran <= ended, "{ran} commands ran, and {ended} are recorded");
    assert!((1..60).contains(&ended), "{ended}");
    assert_eq!(bench.session()["status"], "cut_off");
}

#[test]
fn a_continued_session_is_compacted_before_its_prompt_and_goes_on_from_the_summary() {
    let turns = [
        bash("head -c 3000 /dev/zero | tr '\\0' x"),
        text("printed"),
        text("A long line was printed."),
        text("second"),
        text("third"),
    ];
    let bench = AgentBench::new(&turns);
    assert_eq!(bench.agent(&["-p", "one"]).code, 0);
    let ran = bench.agent(&["--continue", "--compact", "-p", "two"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "second\n"), "{}", ran.stderr);
    let request = bench.last_request();
    assert_eq!(request.len(), 1, "{request:?}");
    let summary = request[0]["content"][0]["text"].as_str().unwrap();
    assert!(summary.ends_with("The summary:\nA long line was printed."), "{summary}");
    assert_eq!(request[0]["content"][1]["text"], "two");
    // Only what is behind the boundary is sent when the session goes on; the file keeps the rest.
    assert_eq!(bench.agent(&["--continue", "-p", "three"]).code, 0);
    let continued = bench.last_request();
    assert_eq!(continued[0], request[0]);
    assert_eq!(continued.len(), 3);
    let transcript = fs::read_to_string(bench.transcript()).unwrap();
    assert!(transcript.contains("compact_boundary") && transcript.contains("xxxxxxxxxx"));
}

#[test]
fn a_kill_in_the_middle_of_a_write_leaves_no_file_and_the_old_content() {
    let edit = "turns:\n  - content:\n      - {type: tool_use, name: read, input: {file_path: a.txt}}\n  \
                - content:\n      - type: tool_use\n        name: edit\n        input:\n          \
                file_path: a.txt\n          old_string: x\n          replace_all: true\n          \
                new_string: LONG\n";
    let old = "x\n".repeat(12_000);
    let sandbox = Sandbox::new()
        .file("model.yaml", edit.replace("LONG", &"y".repeat(250)))
        .file("a.txt", &old);
    // The system ends a program that writes a file of more than 2 MiB.
    let agent = "ulimit -c 0; ulimit -f 2048; exec \"$0\" agent -p go --permission-mode \
                 bypassPermissions --model scripted:model.yaml";
    let program = env!("CARGO_BIN_EXE_hookwright");
    let mut command = std::process::Command::new("bash");
    command.args(["-c", agent, program]).current_dir(sandbox.path(".")).env_clear();
    command.env("HOME", sandbox.path("..")).env("PATH", std::env::var_os("PATH").unwrap());
    let ended = command.output().unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&ended.status);
    assert_eq!(signal, Some(rustix::process::Signal::XFSZ.as_raw()), "{ended:?}");
    assert_eq!(fs::read_to_string(sandbox.path("a.txt")).unwrap(), old);
    let entries = fs::read_dir(sandbox.path(".")).unwrap();
    let names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.contains("hookwright")), "{names:?}");
}

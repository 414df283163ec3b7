//! `agent: builtin` in loops: requests, hooks, failures and resuming.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use hookwright_model_server::{Manner, ModelScript, ModelServer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Ran, Sandbox};

/// A wait that takes longer hangs.
const WAIT_MAX: Duration = Duration::from_secs(60);

struct LoopBench {
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

impl LoopBench {
    fn new(turns: &[Value], loop_file: &str) -> Self {
        let script = ModelScript::parse(&json!({ "turns": turns }).to_string()).unwrap();
        Self::with_script(script, loop_file)
    }

    fn with_script(script: ModelScript, loop_file: &str) -> Self {
        let server = ModelServer::start(Manner::Script(script)).unwrap();
        let sandbox = Sandbox::new()
            .file("loop.yaml", loop_file)
            .set("ANTHROPIC_BASE_URL", &server.url())
            .set("ANTHROPIC_API_KEY", "sk-pipelines-0123456789");
        Self { sandbox, server }
    }

    fn run(&self) -> Ran {
        self.sandbox.run(&["run", "loop.yaml", "--session", "s"])
    }

    fn journal(&self) -> Vec<Value> {
        let ran = self.sandbox.run(&["sessions", "log", "s", "--json"]);
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The texts of the user's first message in this request, from 0.
    fn first_message(&self, request: usize) -> Vec<String> {
        let body = &self.server.requests()[request].body;
        let blocks = body["messages"][0]["content"].as_array().unwrap().iter();
        blocks.map(|block| block["text"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

fn of_kind<'a>(journal: &'a [Value], kind: &str) -> Vec<&'a Value> {
    journal.iter().filter(|entry| entry["kind"] == kind).collect()
}

// Conformance: iteratr-033
#[test]
fn piped_output_is_the_first_block_and_the_prompt_the_second() {
    let bench = LoopBench::new(
        &[text("one"), text("two")],
        "agent: builtin\nprompt: Fix it.\nmax_iterations: 2\nhooks:\n  on_iteration_start:\n    \
         - command: echo tests failed in ${ITERATION}\n      pipe_output: true\n",
    );
    let ran = bench.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    for (request, iteration) in [(0, "1"), (1, "2")] {
        let blocks = bench.first_message(request);
        assert_eq!(blocks.len(), 2, "{blocks:?}");
        assert!(blocks[0].contains(&format!("tests failed in {iteration}")), "{blocks:?}");
        assert!(blocks[1].starts_with("Fix it."), "{blocks:?}");
    }
    let (_, list) = bench.sandbox.json(&["sessions", "list", "--json"]);
    let session = &list["sessions"][0];
    assert_eq!(session["provider"], "builtin");
    assert!(session["usage"]["outputTokens"].as_u64().unwrap() > 0, "{session}");
}

#[test]
fn events_of_the_agent_fire_in_the_session_and_are_below_the_turn_in_its_journal() {
    let bench = LoopBench::new(
        &[bash("echo hi"), text("done")],
        "agent: {type: builtin, permissions: {allow: [bash]}}\nprompt: go\nmax_iterations: 1\n\
         hooks:\n  '*':\n    - command: jq -c '[.event, .subject]' >> ../events\n      await: true\n",
    );
    let ran = bench.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let events = fs::read_to_string(bench.sandbox.path("../events")).unwrap();
    let events: Vec<&str> = events.lines().collect();
    for expected in [
        r#"["agent:start","iteration"]"#,
        r#"["tool:pre_execute","bash"]"#,
        r#"["permission:granted","bash"]"#,
        r#"["tool:post_execute","bash"]"#,
        r#"["agent:stop","iteration"]"#,
    ] {
        assert_eq!(events.iter().filter(|event| **event == expected).count(), 1, "{events:#?}");
    }
    // The session's own events are the run's, and fire once.
    for once in ["session:start", "session:stop", "session:end"] {
        let fired = events.iter().filter(|event| event.contains(once)).count();
        assert_eq!(fired, 1, "{once}: {events:#?}");
    }
    let journal = bench.journal();
    let fired = of_kind(&journal, "fired");
    let of_tool = fired.iter().find(|entry| entry["event"] == "tool:pre_execute").unwrap();
    assert!(of_tool["key"].as_str().unwrap().starts_with("turn/0/1/1/"), "{of_tool}");
    assert!(of_tool["data"].is_null());
    assert_eq!(of_kind(&journal, "call_starting").len(), 1);
    assert_eq!(of_kind(&journal, "request_ended").len(), 2);
    let shown = bench.sandbox.run(&["sessions", "show", "s"]).stdout;
    assert!(shown.contains("echo hi"), "{shown}");
}

#[test]
fn hooks_of_claude_code_settings_run_for_the_built_in_agent_only() {
    let settings = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"echo no >&2; exit 2"}]}]}}"#;
    for (agent, ran) in [("builtin", 0), ("{command: \"touch ran\"}", 1)] {
        let bench = LoopBench::new(
            &[bash("touch ran"), text("done")],
            &format!("agent: {agent}\nprompt: go\nmax_iterations: 1\n"),
        );
        fs::create_dir(bench.sandbox.path(".claude")).unwrap();
        fs::write(bench.sandbox.path(".claude/settings.json"), settings).unwrap();
        fs::write(bench.sandbox.path("hookwright.yaml"), "permissions: {allow: [bash]}\n").unwrap();
        let done = bench.run();
        assert_eq!(done.code, 0, "{agent}: {}{}", done.stdout, done.stderr);
        assert_eq!(usize::from(bench.sandbox.path("ran").exists()), ran, "{agent}");
    }
}

#[test]
fn a_question_is_denied_in_a_run_unless_a_hook_answers_it() {
    for (hooks, ran) in [
        ("{}", false),
        ("{permission:prompt: [{command: 'echo \"{\\\"decision\\\": \\\"allow\\\"}\"'}]}", true),
    ] {
        let bench = LoopBench::new(
            &[bash("touch ran"), text("done")],
            &format!("agent: builtin\nprompt: go\nmax_iterations: 1\nhooks: {hooks}\n"),
        );
        let done = bench.run();
        assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
        assert_eq!(bench.sandbox.path("ran").exists(), ran, "{hooks}");
    }
}

#[test]
fn an_agent_without_a_key_that_works_hands_over_to_the_next() {
    let script = ModelScript::parse("key: sk-another-key\nturns: [{content: []}]").unwrap();
    let bench = LoopBench::with_script(
        script,
        "agent: [builtin, {command: 'touch ran'}]\nprompt: go\nmax_iterations: 1\n",
    );
    let ran = bench.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("builtin cannot work (auth)"), "{}", ran.stdout);
    assert!(bench.sandbox.path("ran").exists());
}

#[test]
fn a_killed_turn_is_repeated_with_new_keys_and_what_it_left_is_ended() {
    let bench = LoopBench::new(
        &[bash("echo $$ > pid; touch started; sleep 1000"), text("done")],
        "agent: {type: builtin, permissions: {allow: [bash]}}\nprompt: go\nmax_iterations: 1\n\
         hooks: {tool:pre_execute: [{command: 'true'}], llm:pre_request: [{command: 'true'}]}\n",
    );
    let mut command = bench.sandbox.command(&["run", "loop.yaml", "--session", "s"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let began = Instant::now();
    while !bench.sandbox.path("started").exists() {
        assert!(began.elapsed() < WAIT_MAX && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(2));
    }
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, Signal::KILL).unwrap();
    child.wait().unwrap();
    let resumed = bench.sandbox.run(&["resume", "s"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    let pid = fs::read_to_string(bench.sandbox.path("pid")).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    let journal = bench.journal();
    let keys: Vec<&str> =
        of_kind(&journal, "fired").iter().filter_map(|entry| entry["key"].as_str()).collect();
    assert!(keys.iter().any(|key| key.starts_with("turn/0/1/1/")), "{keys:?}");
    assert!(keys.iter().any(|key| key.starts_with("turn/0/1/2/")), "{keys:?}");
    assert_eq!(of_kind(&journal, "call_starting").len(), 1, "the second attempt calls nothing");
}

#[test]
fn half_a_line_of_a_killed_attempt_goes_from_its_transcript_when_the_turn_is_repeated() {
    let bench = LoopBench::new(
        &[bash("kill -KILL $PPID; sleep 1000"), text("done")],
        "agent: {type: builtin, permissions: {allow: [bash]}}\nprompt: go\nmax_iterations: 1\n",
    );
    let killed = bench.sandbox.command(&["run", "loop.yaml", "--session", "s"]).output().unwrap();
    assert_eq!(killed.status.code(), None, "{killed:?}");
    let transcripts = || -> Vec<PathBuf> {
        let found = walked(&bench.sandbox.path(".hookwright/sessions/s"));
        found.into_iter().filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect()
    };
    let [transcript] = &transcripts()[..] else { panic!("{:?}", transcripts()) };
    let whole = fs::read_to_string(transcript).unwrap();
    assert!(whole.contains("tool_use") && whole.ends_with('\n'), "{whole}");
    fs::write(transcript, format!("{whole}{{\"parentUuid\":\"x\",\"ty")).unwrap();
    let resumed = bench.sandbox.run(&["resume", "s"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    assert_eq!(fs::read_to_string(transcript).unwrap(), whole);
    assert_eq!(transcripts().len(), 2, "the repeated turn has one of its own");
}

/// All files below a folder.
fn walked(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { walked(&path) } else { vec![path] }).collect()
}

#[test]
fn check_does_not_warn_of_hooks_that_a_built_in_agent_fires() {
    let hooks = "hooks: {tool:pre_execute: [{command: 'true', id: guard}]}\n";
    for (agent, warns) in [("builtin", false), ("{command: 'true'}", true)] {
        let bench = LoopBench::new(&[], &format!("agent: {agent}\nprompt: go\n{hooks}"));
        let dry = bench.sandbox.run(&["run", "loop.yaml", "--dry-run"]);
        assert_eq!(dry.code, 0, "{}", dry.stderr);
        let told = dry.stdout + &dry.stderr;
        assert_eq!(told.contains("nothing here fires"), warns, "{agent}: {told}");
        let rules = "permissions: {deny: ['bash(rm *)']}\n";
        fs::write(bench.sandbox.path("hookwright.yaml"), rules).unwrap();
        let checked = bench.sandbox.run(&["check"]);
        let told = checked.stdout + &checked.stderr;
        assert_eq!(told.contains("only the built-in agent obeys"), warns, "{agent}: {told}");
    }
}

#[test]
fn faulty_settings_of_the_built_in_agent_are_named_before_anything_starts() {
    for (settings, said) in [
        ("permission_mode: never", "default, acceptEdits"),
        ("max_turns: 0", "a number of requests from 1"),
        ("permissions: {forbid: [bash]}", "forbid"),
        ("permissions: {allow: ['bash(']}", "a permission rule"),
        ("args: [x]", "args"),
    ] {
        let bench =
            LoopBench::new(&[], &format!("agent: {{type: builtin, {settings}}}\nprompt: go\n"));
        let ran = bench.run();
        assert_eq!(ran.code, 1, "{settings}: {}", ran.stdout);
        assert!(ran.stderr.contains(said), "{settings}: {}", ran.stderr);
        assert_eq!(bench.server.requests().len(), 0);
    }
}

/// Bytes of the journal of a session whose agent calls a tool so many times.
fn journal_bytes(calls: usize) -> usize {
    let mut turns = vec![bash("true"); calls];
    turns.push(text("done"));
    let loop_file = "agent: {type: builtin, permissions: {allow: [bash]}}\nprompt: Work.\n\
                     max_iterations: 1\nhooks:\n  tool:pre_execute: [{command: 'true'}]\n";
    let bench = LoopBench::new(&turns, loop_file);
    let ran = bench.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let journal = bench.journal();
    assert!(journal.len() > 2 * calls, "each call is recorded: {} entries", journal.len());
    journal.iter().map(|entry| entry.to_string().len()).sum()
}

#[test]
fn each_call_adds_the_same_to_the_journal_however_long_the_conversation_is() {
    let (none, few, many) = (journal_bytes(0), journal_bytes(10), journal_bytes(40));
    let (first, later) = ((few - none) / 10, (many - few) / 30);
    assert!(later * 10 <= first * 11, "{first} bytes a call at first, then {later}");
}

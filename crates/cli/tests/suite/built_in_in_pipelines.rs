//! `agent: builtin` in loops: requests, hooks and resuming.

use std::fs;

use hookwright_model_server::ModelScript;
use serde_json::json;

use crate::loop_bench::{KEY, LoopBench, bash, call, is_alive, of_kind, text};

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
fn rules_of_the_agent_and_of_the_project_hold_together_in_a_turn() {
    let commands =
        ["touch allowed", "touch denied", "touch asked", "touch refused", "touch queried"];
    let mut turns: Vec<_> = commands.map(bash).to_vec();
    turns.push(text("done"));
    let bench = LoopBench::new(
        &turns,
        "agent:
  type: builtin
  permissions: {allow: [bash], deny: ['bash(touch denied)'], ask: ['bash(touch asked)']}
prompt: go
max_iterations: 1
",
    );
    let rules = "permissions: {deny: ['bash(touch refused)'], ask: ['bash(touch queried)']}\n";
    fs::write(bench.sandbox.path("hookwright.yaml"), rules).unwrap();
    let done = bench.run();
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    let made = commands.map(|command| {
        let file = command.trim_start_matches("touch ");
        (file, bench.sandbox.path(file).exists())
    });
    let expected = ["allowed", "denied", "asked", "refused", "queried"];
    assert_eq!(made, expected.map(|file| (file, file == "allowed")));
    let journal = bench.journal();
    let ends = of_kind(&journal, "call_ended");
    let reasons: Vec<&str> =
        ends.iter().map(|end| end["reason"].as_str().unwrap_or_default()).collect();
    for (reason, rule) in reasons.iter().zip([
        "",
        "denied)` denies",
        "asked)` wants",
        "refused)` denies",
        "queried)` wants",
    ]) {
        assert!(reason.contains(rule), "{reasons:#?}");
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
fn a_killed_turn_is_repeated_with_new_keys_and_what_it_left_is_ended() {
    let bench = LoopBench::new(
        &[bash("echo $$ > pid; touch started; sleep 1000"), text("done")],
        "agent: {type: builtin, permissions: {allow: [bash]}}\nprompt: go\nmax_iterations: 1\n\
         hooks: {tool:pre_execute: [{command: 'true'}], llm:pre_request: [{command: 'true'}]}\n",
    );
    bench.run_until_killed("started");
    let resumed = bench.sandbox.run(&["resume", "s"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    assert!(!is_alive(&bench.sandbox.path("pid")));
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
    let [transcript] = &bench.transcripts()[..] else { panic!("{:?}", bench.transcripts()) };
    let whole = fs::read_to_string(transcript).unwrap();
    assert!(whole.contains("tool_use") && whole.ends_with('\n'), "{whole}");
    fs::write(transcript, format!("{whole}{{\"parentUuid\":\"x\",\"ty")).unwrap();
    let resumed = bench.sandbox.run(&["resume", "s"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    assert_eq!(fs::read_to_string(transcript).unwrap(), whole);
    assert_eq!(bench.transcripts().len(), 2, "the repeated turn has one of its own");
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

#[test]
fn a_thousand_calls_each_add_the_same_to_the_journal() {
    const CALLS: usize = 1000;
    let mut turns = vec![bash("true"); CALLS];
    turns.push(text("done"));
    let loop_file = "agent: {type: builtin, model: 'scripted:model.yaml', max_turns: 1001,\n  \
                     permissions: {allow: [bash]}}\nprompt: Work.\nmax_iterations: 1\nhooks:\n  \
                     tool:pre_execute: [{command: 'true'}]\n";
    let script = json!({ "turns": turns }).to_string();
    let bench = LoopBench::new(&[], loop_file);
    let bench = LoopBench { sandbox: bench.sandbox.file("model.yaml", script), ..bench };
    let ran = bench.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let journal = bench.journal();
    // Each call begins with the request whose answer has it.
    let mut bytes_of_calls: Vec<usize> = Vec::new();
    for entry in &journal {
        if entry["kind"] == "request_sending" {
            bytes_of_calls.push(0);
        }
        if let Some(bytes) = bytes_of_calls.last_mut() {
            *bytes += entry.to_string().len();
        }
    }
    assert_eq!(bytes_of_calls.len(), CALLS + 1);
    assert_eq!(of_kind(&journal, "call_ended").len(), CALLS);
    let per_call = |calls: &[usize]| calls.iter().sum::<usize>() / calls.len();
    let (first, last) = (per_call(&bytes_of_calls[..100]), per_call(&bytes_of_calls[900..CALLS]));
    assert!(last * 100 <= first * 105, "{first} bytes a call at first, then {last}");
    let largest = bytes_of_calls[..CALLS].iter().max().unwrap();
    assert!(*largest <= 2 * first, "one call adds {largest} bytes, and {first} are usual");
}

#[test]
fn a_subagent_of_a_turn_has_a_transcript_beside_that_of_the_turn() {
    let task = json!({ "description": "looks", "prompt": "Look around." });
    let script = json!({
        "turns": [call("task", task), text("done")],
        "conversations": [{ "prompt": "Look around.", "turns": [bash("echo inside"), text("seen")] }],
    });
    let loop_file = "agent: {type: builtin, permissions: {allow: [bash]}}\nprompt: go\n\
                     max_iterations: 1\nhooks:\n  agent:stop:\n    - id: path\n      \
                     matcher: general-purpose\n      command: jq -r .agent_transcript_path > path\n";
    let bench = LoopBench::with_script(ModelScript::parse(&script.to_string()).unwrap(), loop_file);
    let ran = bench.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let transcripts = bench.transcripts();
    let [of_subagent, of_turn] = &transcripts[..] else { panic!("{transcripts:?}") };
    assert_eq!(of_subagent.parent(), Some(&*of_turn.with_extension("").join("subagents")));
    let told = fs::read_to_string(bench.sandbox.path("path")).unwrap();
    assert_eq!(fs::canonicalize(told.trim()).unwrap(), fs::canonicalize(of_subagent).unwrap());
    let lines = fs::read_to_string(of_subagent).unwrap();
    for expected in ["Look around.", "echo inside", "seen"] {
        assert!(lines.contains(expected), "{expected}: {lines}");
    }
    assert!(!fs::read_to_string(of_turn).unwrap().contains("echo inside"));
    // Only the owner can read it, and it goes with its session.
    let mode = fs::metadata(of_subagent).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
    assert_eq!(bench.sandbox.run(&["sessions", "prune", "--keep", "0", "--yes"]).code, 0);
    assert!(!of_subagent.exists());
}

#[test]
fn hooks_of_the_built_in_agent_get_the_models_key_only_if_they_name_it() {
    let hooks = "hooks:\n  tool:pre_execute:\n    - id: unnamed\n      \
                 command: env | grep -c 'sk-pipe[l]ines' > unnamed; true\n    - id: named\n      \
                 env: {ANTHROPIC_API_KEY: '${ANTHROPIC_API_KEY}'}\n      \
                 command: env | grep -c 'sk-pipe[l]ines' > named; env\n  session:start:\n    - id: early\n      \
                 command: env | grep -c 'sk-pipe[l]ines' > early; true\n";
    for (agent, of_hooks) in [
        ("{type: builtin, permissions: {allow: [bash]}}", "0\n"),
        // No model is asked by this program: the environment is the user's.
        ("{command: 'env | grep -c sk-pipe[l]ines > by-command'}", "1\n"),
    ] {
        let bench = LoopBench::new(
            &[bash("env | grep -c 'sk-pipe[l]ines' > tool; true"), text("done")],
            &format!("agent: {agent}\nprompt: go\nmax_iterations: 1\n{hooks}"),
        );
        let ran = bench.run();
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        let counted = |name: &str| fs::read_to_string(bench.sandbox.path(name)).unwrap();
        assert_eq!(counted("early"), of_hooks, "{agent}");
        if agent.contains("builtin") {
            assert_eq!((counted("unnamed"), counted("tool")), ("0\n".into(), "0\n".into()));
            assert_eq!(counted("named"), "1\n");
            let journal = bench.sandbox.run(&["sessions", "log", "s", "--json"]).stdout;
            let shown = bench.sandbox.run(&["sessions", "show", "s"]).stdout;
            for text in [&journal, &shown, &ran.stdout, &ran.stderr] {
                assert!(!text.contains(KEY), "{text}");
            }
        } else {
            assert_eq!(counted("by-command"), "1\n");
        }
    }
}

#[test]
fn a_command_beside_the_built_in_agent_keeps_the_models_key() {
    let script = ModelScript::parse("key: sk-another-key\nturns: [{content: []}]").unwrap();
    let bench = LoopBench::with_script(
        script,
        "agent: [builtin, {command: 'env | grep -c sk-pipe[l]ines > by-command'}]\nprompt: go\n\
         max_iterations: 1\n",
    );
    assert_eq!(bench.run().code, 0);
    assert_eq!(fs::read_to_string(bench.sandbox.path("by-command")).unwrap(), "1\n");
}

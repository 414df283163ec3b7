//! Several agents for one loop: failover, pauses, cost limits. And the presets, played by scripts
//! that print recorded output of the real agents.

use serde_json::{Value, json};

use crate::interrupts::start;
use crate::runs::{events, lines, of_session, run};
use crate::support::{Ran, Sandbox, repository};

/// Hooks that write every event into `log`.
const LOGS: &str =
    "hooks: {'*': [{id: log, await: true, command: 'echo \"$EVENT $ITERATION\" >> log'}]}";

/// A project in which each of these scripts is a program in `PATH`.
fn with_programs(programs: &[(&str, &str)]) -> Sandbox {
    let mut sandbox = Sandbox::with_hooks(LOGS);
    for (name, text) in programs {
        sandbox = sandbox.program(&format!("../bin/{name}"), &format!("#!/bin/bash\n{text}\n"));
    }
    let bin = sandbox.path("../bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    sandbox.set("PATH", &path)
}

/// A program that reports this status the first time it runs, and then works.
fn at_first(status: &Value) -> String {
    format!(
        "echo $HOOKWRIGHT_AGENT $ITERATION $HOOKWRIGHT_ATTEMPT >> who\n\
         if [ -e \"$0.asked\" ]; then echo done; else touch \"$0.asked\"; echo '{status}' > $STATUS; fi"
    )
}

const WORKS: &str = "echo $HOOKWRIGHT_AGENT $ITERATION $HOOKWRIGHT_ATTEMPT >> who; echo done";

fn loop_of(agents: &str, iterations: u32) -> String {
    format!("prompt: p\nagent: {agents}\ntermination: {{type: fixed, iterations: {iterations}}}\n")
}

fn run_json(sandbox: &Sandbox, code: i32) -> Vec<Value> {
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "s", "--json"]);
    assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    events(&ran)
}

fn of_kinds(all: &[Value], kinds: &[&str]) -> Vec<Value> {
    let is_meant = |event: &&Value| kinds.iter().any(|kind| event["kind"] == *kind);
    all.iter().filter(is_meant).cloned().collect()
}

fn without_times(mut event: Value) -> Value {
    let object = event.as_object_mut().unwrap();
    for key in ["version", "firing", "at", "session", "duration_ms", "until"] {
        object.remove(key);
    }
    event
}

#[test]
fn the_next_agent_takes_over_from_one_that_is_limited_and_no_hook_hears_of_an_error() {
    let limited = json!({ "decision": "error", "failure": "rate_limit", "reason": "too many requests",
        "retry_after": 3600 });
    let sandbox = with_programs(&[("first", &at_first(&limited)), ("second", WORKS)])
        .file("loop.yaml", loop_of("[{command: first}, {command: second}]", 2));
    let all = run_json(&sandbox, 0);
    assert_eq!(lines(&sandbox, "who"), ["command 1 1", "command-2 1 2", "command-2 2 1"]);
    let told = of_kinds(&all, &["turn_given_up", "agent_changed", "paused"]);
    let told: Vec<Value> = told.into_iter().map(without_times).collect();
    assert_eq!(
        told,
        [
            json!({ "kind": "turn_given_up", "turn": { "stage": 1, "iteration": 1 }, "attempt": 1,
                "agent": "command", "cause": "rate_limit", "reason": "too many requests" }),
            json!({ "kind": "agent_changed", "from": "command", "to": "command-2",
                "reason": "too many requests" }),
        ]
    );
    let ended = of_kinds(&all, &["turn_ended"]);
    assert_eq!(
        (&ended[0]["result"]["agent"], &ended[0]["attempt"]),
        (&json!("command-2"), &json!(2))
    );
    assert_eq!(
        lines(&sandbox, "log"),
        [
            "session:start 0",
            "stage:start 0",
            "iteration:start 1",
            "iteration:complete 1",
            "iteration:start 2",
            "iteration:complete 2",
            "stage:complete 2",
            "session:stop 2",
            "session:end 2",
        ]
    );
}

#[test]
fn every_cause_but_a_crash_gives_the_turn_to_the_next_agent() {
    for (failure, takes_over) in
        [("rate_limit", true), ("quota", true), ("outage", true), ("auth", true), ("crash", false)]
    {
        let status = json!({ "decision": "error", "failure": failure, "reason": "no" });
        let sandbox = with_programs(&[("first", &at_first(&status)), ("second", WORKS)])
            .file("loop.yaml", loop_of("[{command: first}, {command: second}]", 1));
        run(&sandbox, "loop.yaml", if takes_over { 0 } else { 5 });
        let who = lines(&sandbox, "who");
        let is_error = lines(&sandbox, "log").contains(&"iteration:error 1".to_owned());
        assert_eq!((who.len() == 2, is_error), (takes_over, !takes_over), "{failure}: {who:?}");
    }
}

#[test]
fn when_all_agents_are_limited_the_session_waits_for_the_first_that_can_work() {
    let limited = |seconds: f64, reason: &str| {
        at_first(&json!({ "decision": "error", "failure": "rate_limit", "reason": reason,
            "retry_after": seconds }))
    };
    // On a busy machine a short pause may be over before it is seen.
    for soon in [0.1, 1.0, 10.0, 60.0] {
        let (hour, soon) = (limited(3600.0, "an hour"), limited(soon, "soon"));
        let sandbox = with_programs(&[("first", &hour), ("second", &soon)])
            .file("loop.yaml", loop_of("[{command: first}, {command: second}]", 1));
        let all = run_json(&sandbox, 0);
        assert_eq!(lines(&sandbox, "who"), ["command 1 1", "command-2 1 2", "command-2 1 3"]);
        let told = of_kinds(&all, &["paused", "continued", "turn_given_up", "turn_starting"]);
        let kinds: Vec<&str> = told.iter().map(|event| event["kind"].as_str().unwrap()).collect();
        if !kinds.contains(&"paused") {
            continue;
        }
        let turn = ["turn_starting", "turn_given_up"];
        assert_eq!(kinds, [turn[0], turn[1], turn[0], turn[1], "paused", "continued", turn[0]]);
        let paused = &told[4];
        assert_eq!(
            (&paused["cause"], &paused["reason"]),
            (&json!("rate_limit"), &json!("command-2: soon"))
        );
        return assert_eq!(paused["until"], told[3]["until"]);
    }
    panic!("nothing was waited for");
}

/// A project whose only agent is rate-limited for an hour.
fn limited_for_an_hour() -> Sandbox {
    let limited = json!({ "decision": "error", "failure": "rate_limit", "reason": "one an hour",
        "retry_after": 3600 });
    with_programs(&[("first", &at_first(&limited))])
        .file("loop.yaml", loop_of("{command: first}", 1))
}

#[test]
fn a_pause_ends_with_an_interrupt_and_goes_on_when_the_session_does() {
    let sandbox = limited_for_an_hour();
    let mut started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    started.wait_for_words(": command: one an hour\n");
    let status = sandbox.run(&["status"]).stdout;
    assert!(status.contains("\n  s waits until 20"), "{status}");
    assert!(status.ends_with(" (rate limit): command: one an hour\n"), "{status}");
    let (_, json) = sandbox.json(&["status", "--json"]);
    let wait = &json["running"][0]["waits"][0];
    assert_eq!((&wait["kind"], &wait["cause"]), (&json!("pause"), &json!("rate_limit")), "{json}");
    assert_eq!(wait["until"], json["running"][0]["pause"]["until"], "{json}");
    started.signal("-TERM");
    assert_eq!(started.ran().code, 130);
    assert!(!sandbox.run(&["status"]).stdout.contains("waits"));
    let log = lines(&sandbox, "log");
    assert_eq!(log[3..], ["user:interrupt 1", "session:stop 1", "session:end 1"]);
    // It still has to wait.
    let mut resumed = start(&sandbox, &["resume", "s"]);
    resumed.wait_for_words(": command: one an hour\n");
    resumed.signal("-TERM");
    assert_eq!(resumed.ran().code, 130);
    assert_eq!(lines(&sandbox, "who"), ["command 1 1"]);
}

#[test]
fn a_crash_in_a_pause_loses_nothing_of_the_wait() {
    let sandbox = limited_for_an_hour();
    let mut started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    started.wait_for_words(": command: one an hour\n");
    started.kill();
    let mut resumed = start(&sandbox, &["resume", "s"]);
    resumed.wait_for_words(": command: one an hour\n");
    resumed.signal("-TERM");
    assert_eq!(resumed.ran().code, 130);
    assert_eq!(lines(&sandbox, "who"), ["command 1 1"]);
    let log = sandbox.run(&["sessions", "log", "s", "--json"]);
    let until: Vec<Value> = of_kinds(&events(&log), &["paused", "turn_given_up"])
        .iter()
        .map(|event| event["until"].clone())
        .collect();
    assert_eq!(until.len(), 3, "{}", log.stdout);
    assert!(until[0].is_string() && until.iter().all(|time| *time == until[0]), "{until:?}");
}

#[test]
fn a_quota_without_an_end_is_left_to_a_person_and_resume_asks_again() {
    let status = json!({ "decision": "error", "failure": "quota", "reason": "nothing left" });
    let sandbox = with_programs(&[("first", &at_first(&status))])
        .file("loop.yaml", loop_of("{command: first}", 1));
    let ran = run(&sandbox, "loop.yaml", 6);
    let summary = ran.stdout.split_once("\nsession s: ").unwrap().1;
    assert!(summary.starts_with("paused (command: nothing left)\n"), "{summary}");
    assert!(summary.ends_with("\n  resume with: hookwright resume s\n"), "{summary}");
    assert_eq!(lines(&sandbox, "log")[3..], ["session:end 1"]);
    let (_, shown) = sandbox.json(&["sessions", "list", "--status", "paused", "--json"]);
    assert_eq!(shown["sessions"][0]["status"], "paused");
    let resumed = sandbox.run(&["resume", "s"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    assert_eq!(lines(&sandbox, "who"), ["command 1 1", "command 1 2"]);
    assert_eq!(
        lines(&sandbox, "log")[4..7],
        ["session:start 0", "iteration:complete 1", "stage:complete 1"]
    );
}

#[test]
fn a_very_long_wait_is_left_to_a_person() {
    for reset in [json!({ "resets_at": 9_999_999_999_u64 }), json!({ "retry_after": 1e12 })] {
        let mut status = json!({ "decision": "error", "failure": "rate_limit", "reason": "far" });
        status.as_object_mut().unwrap().extend(reset.as_object().unwrap().clone());
        let sandbox = with_programs(&[("first", &at_first(&status))])
            .file("loop.yaml", loop_of("{command: first}", 1));
        let ran = run(&sandbox, "loop.yaml", 6);
        assert!(ran.stdout.contains("session s: paused (command: far)\n"), "{}", ran.stdout);
        assert_eq!(sandbox.run(&["resume", "s"]).code, 0);
    }
}

#[test]
fn if_all_agents_are_unauthorised_the_iteration_fails() {
    let shut = at_first(&json!({ "decision": "error", "failure": "auth", "reason": "no key" }));
    let sandbox = with_programs(&[("first", &shut), ("second", &shut)])
        .file("loop.yaml", loop_of("[{command: first}, {command: second}]", 1));
    let ran = run(&sandbox, "loop.yaml", 5);
    assert!(
        ran.stdout.contains("session s: failed (iteration 1 failed: no key)\n"),
        "{}",
        ran.stdout
    );
    assert!(lines(&sandbox, "log").contains(&"iteration:error 1".to_owned()));
}

const COSTS: &str = r#"cat > /dev/null; echo x >> turns
echo '{"decision": "continue", "agent_session": "chat-7", "usage": {"input_tokens": 100, "output_tokens": 5, "cost_usd": 0.4}}' > $STATUS"#;

#[test]
fn what_costs_too_much_is_paused_before_the_next_turn_and_goes_on_with_more() {
    let text = format!("max_cost: 1\n{}", loop_of("{command: costly}", 5));
    let sandbox = with_programs(&[("costly", COSTS)]).file("loop.yaml", text);
    let ran = run(&sandbox, "loop.yaml", 6);
    assert_eq!(lines(&sandbox, "turns").len(), 3);
    let summary = ran.stdout.split_once("\nsession s: ").unwrap().1;
    assert!(
        summary.starts_with("paused (the session has cost $1.20, and max_cost is $1.00)\n"),
        "{summary}"
    );
    assert!(summary.ends_with("\n  resume with: hookwright resume s --max-cost 3\n"), "{summary}");
    let again = sandbox.run(&["resume", "s"]);
    assert_eq!((again.code, lines(&sandbox, "turns").len()), (6, 3), "{}", again.stdout);
    let resumed = sandbox.run(&["resume", "s", "--max-cost", "1.5"]);
    assert_eq!((resumed.code, lines(&sandbox, "turns").len()), (6, 4), "{}", resumed.stdout);
    let resumed = sandbox.run(&["resume", "s", "--max-cost", "10"]);
    assert_eq!((resumed.code, lines(&sandbox, "turns").len()), (0, 5), "{}", resumed.stdout);
    let (_, shown) = sandbox.json(&["sessions", "show", "s", "--json"]);
    let record = shown.get("session").unwrap_or(&shown);
    assert_eq!(record["usage"]["inputTokens"], 500, "{shown}");
    assert_eq!(record["agentSessions"], json!([{ "agent": "command", "session": "chat-7" }]));
}

#[test]
fn a_pipeline_and_its_stages_have_bounds_of_their_own() {
    let pipeline = |of_all: &str, of_stage: &str| {
        format!(
            "{of_all}\nstages:\n  - {{name: a, runs: 2, loop: {{prompt: p, agent: {{command: costly}}}}}}\n  \
             - {{name: b, runs: 2, loop: {{prompt: p, agent: {{command: costly}}{of_stage}}}}}\n"
        )
    };
    for (of_all, of_stage, turns, reason) in [
        ("max_cost: 1.1", "", 3, "the session has cost $1.20, and max_cost is $1.10"),
        ("max_cost: 5", ", max_cost: 0.3", 3, "stage b has cost $0.40, and max_cost is $0.30"),
    ] {
        let sandbox =
            with_programs(&[("costly", COSTS)]).file("pipeline.yaml", pipeline(of_all, of_stage));
        let ran = run(&sandbox, "pipeline.yaml", 6);
        assert_eq!(lines(&sandbox, "turns").len(), turns);
        assert!(
            ran.stdout.contains(&format!("\nsession s: paused ({reason})\n")),
            "{}",
            ran.stdout
        );
    }
}

#[test]
fn an_agent_that_tells_no_cost_is_noted_once() {
    let text = format!("max_cost: 1\n{}", loop_of("{command: cheap}", 3));
    let sandbox = with_programs(&[("cheap", WORKS)]).file("loop.yaml", text);
    let notes = of_kinds(&run_json(&sandbox, 0), &["noted"]);
    let notes: Vec<&Value> = notes.iter().map(|event| &event["note"]).collect();
    assert_eq!(notes, ["max_cost cannot be enforced: command reports no cost"]);
}

#[test]
fn hooks_output_reaches_the_agent_that_takes_over_once() {
    let limited = json!({ "decision": "error", "failure": "outage" });
    let keeps = "cat >> told";
    let sandbox = with_programs(&[("first", &at_first(&limited)), ("second", keeps)])
        .file(
            "hookwright.yaml",
            "hooks: {iteration:start: [{command: echo hello, pipe_output: true}]}",
        )
        .file("loop.yaml", loop_of("[{command: first}, {command: second}]", 1));
    run(&sandbox, "loop.yaml", 0);
    let told = lines(&sandbox, "told");
    assert_eq!(told.iter().filter(|line| *line == "hello").count(), 1, "{told:?}");
}

/// A preset's program, which prints a recording.
fn recorded(agent: &str, case: &str) -> String {
    let folder = repository().join("crates/agents/tests/recordings").join(agent).join(case);
    let folder = folder.display();
    let session_file = "id=$(sed -n 's/.*\"thread_id\":\"\\([^\"]*\\)\".*/\\1/p' $from/stdout)\n\
        mkdir -p ~/.codex/sessions/2026/11/15\n\
        cp $from/session_file ~/.codex/sessions/2026/11/15/rollout-2026-11-15T00-00-00-$id.jsonl";
    format!(
        "from={folder}\ncat > ../prompt\necho \"$HOOKWRIGHT_AGENT $*\" >> ../who\n\
         [ -e $from/session_file ] && {{ {session_file}\n}}\n\
         cat $from/stdout; cat $from/stderr >&2; exit $(cat $from/exit_code)"
    )
}

#[test]
fn presets_are_started_as_they_were_recorded_and_their_last_words_are_the_output() {
    let cost = |cost: Option<f64>| {
        let mut used = json!({ "inputTokens": 2000, "outputTokens": 40 });
        if let Some(cost) = cost {
            used["costUsd"] = json!(cost);
        }
        used
    };
    for (agent, shown, used) in [
        (
            "claude",
            "Bash: ",
            json!({ "inputTokens": 20, "outputTokens": 20, "costUsd": 0.000_600_000_000_000_000_1 }),
        ),
        ("codex", "shell: /bin/bash -lc ", cost(None)),
        ("gemini", "run_shell_command: ", cost(None)),
        ("opencode", "bash: ", cost(Some(0.002))),
    ] {
        let sandbox = with_programs(&[(agent, &recorded(agent, "tool"))]).file(
            "loop.yaml",
            loop_of(&format!("{{type: {agent}, model: best, args: [--more, 5]}}"), 1),
        );
        let ran = sandbox.run(&["run", "loop.yaml", "--session", "s", "--agent-output"]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        assert_eq!(
            of_session(&sandbox, "stage-00-project/iterations/001/output.md"),
            "I wrote the status.\n"
        );
        assert!(ran.stdout.contains(&format!("    | {shown}")), "{}", ran.stdout);
        assert!(!ran.stdout.contains("session_id\""), "{}", ran.stdout);
        let who = lines(&sandbox, "../who");
        assert!(who[0].starts_with(&format!("{agent} ")), "{who:?}");
        assert!(who[0].ends_with(" --model best --more 5"), "{who:?}");
        assert!(lines(&sandbox, "../prompt")[0] == "p");
        let (_, shown) = sandbox.json(&["sessions", "show", "s", "--json"]);
        let record = shown.get("session").unwrap_or(&shown);
        assert_eq!((&record["usage"], &record["provider"]), (&used, &json!(agent)));
        let sessions = record["agentSessions"].as_array().unwrap();
        assert_eq!(sessions[0]["agent"], agent);
    }
}

#[test]
fn a_negative_cost_is_ignored() {
    let program = recorded("claude", "answered")
        .replace("cat $from/stdout;", "sed 's/\"total_cost_usd\":/&-/' $from/stdout;");
    let text = format!("max_cost: 1\n{}", loop_of("claude", 1));
    let sandbox = with_programs(&[("claude", &program)]).file("loop.yaml", text);
    let notes = of_kinds(&run_json(&sandbox, 0), &["noted"]);
    let notes: Vec<&Value> = notes.iter().map(|event| &event["note"]).collect();
    assert_eq!(notes, ["max_cost cannot be enforced: claude reports no cost"]);
    let (_, shown) = sandbox.json(&["sessions", "show", "s", "--json"]);
    let record = shown.get("session").unwrap_or(&shown);
    assert_eq!(record["usage"], json!({ "inputTokens": 10, "outputTokens": 10 }));
}

#[test]
fn the_model_of_a_loop_is_for_its_one_agent_wherever_that_is_named() {
    let named = |of_loop: &str, of_project: &str| {
        with_programs(&[("claude", &recorded("claude", "answered"))])
            .file("hookwright.yaml", format!("hooks: {{}}\n{of_project}"))
            .file("loop.yaml", format!("model: best\n{of_loop}prompt: p\nmax_iterations: 1\n"))
    };
    for (of_loop, of_project, model) in [
        ("agent: claude\n", "", "best"),
        ("agent: [claude]\n", "", "best"),
        ("", "agent: claude\n", "best"),
        ("agent: {type: claude, model: other}\n", "", "other"),
    ] {
        let sandbox = named(of_loop, of_project);
        run(&sandbox, "loop.yaml", 0);
        let who = lines(&sandbox, "../who");
        assert!(who[0].ends_with(&format!(" --model {model}")), "{of_loop}{of_project}: {who:?}");
    }
    for (of_loop, of_project) in
        [("agent: [claude, {command: 'true'}]\n", ""), ("", "agent: [claude, {command: 'true'}]\n")]
    {
        let ran = named(of_loop, of_project).run(&["run", "loop.yaml"]);
        let said = "error: `model` is ambiguous: there are several agents
 --> loop.yaml:1:8
  |
1 | model: best
  |        ^^^^
help: set it for one agent: `{type: NAME, model: …}`

1 fault; nothing was started
";
        assert_eq!(ran, Ran::new(1, "", said));
    }
}

#[test]
fn a_limit_of_each_preset_lets_the_next_agent_take_over() {
    for (agent, next) in
        [("claude", "codex"), ("codex", "gemini"), ("gemini", "opencode"), ("opencode", "claude")]
    {
        for case in ["usage_limit", "quota", "overloaded"] {
            let limited = recorded(agent, case);
            let works = recorded(next, "answered");
            let sandbox = with_programs(&[(agent, &limited), (next, &works)]).file(
                "loop.yaml",
                loop_of(&format!("[{{type: {agent}, model: best}}, {next}]"), 1),
            );
            let all = run_json(&sandbox, 0);
            let changed = of_kinds(&all, &["agent_changed"]);
            assert_eq!((&changed[0]["from"], &changed[0]["to"]), (&json!(agent), &json!(next)));
            let who = lines(&sandbox, "../who");
            assert!(who[0].ends_with(" --model best"), "{who:?}");
            assert!(!who[1].contains("--model"), "{who:?}");
            let given_up = &of_kinds(&all, &["turn_given_up"])[0];
            let cause = match case {
                "usage_limit" => "rate_limit",
                "overloaded" => "outage",
                other => other,
            };
            assert_eq!(given_up["cause"], cause, "{agent} {case}");
        }
    }
}

#[test]
fn an_agent_that_is_not_installed_is_one_fault_that_says_how_to_get_it() {
    let sandbox = Sandbox::new()
        .file("loop.yaml", "prompt: p\nagent: [{type: gemini}, {command: 'true'}]\n")
        .set("PATH", "/usr/bin:/bin");
    let expected = "error: the agent `gemini` is not installed: there is no program `gemini`
 --> loop.yaml:2:9
  |
2 | agent: [{type: gemini}, {command: 'true'}]
  |         ^
help: install it with `npm install -g @google/gemini-cli`, or check that it is in PATH: `which gemini`

1 fault; nothing was started
";
    assert_eq!(sandbox.run(&["run", "loop.yaml"]), Ran::new(1, "", expected));
    let checked = sandbox.run(&["check", "loop.yaml"]);
    assert!(checked.stderr.contains("npm install -g @google/gemini-cli"), "{}", checked.stderr);
}

#[test]
fn an_agent_is_also_named_on_the_command_line_and_a_name_that_is_like_one_is_asked_about() {
    let sandbox = with_programs(&[("claude", &recorded("claude", "answered"))])
        .file("loop.yaml", "prompt: p\ntermination: {type: fixed, iterations: 1}\n")
        .file("other.yaml", "prompt: p\nagent: cloude\n");
    let ran = sandbox.run(&["run", "loop.yaml", "--agent", "claude", "--session", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("20 tokens, $0.0003\n"), "{}", ran.stdout);
    let refused = sandbox.run(&["run", "other.yaml"]).stderr;
    assert!(refused.contains("unknown agent `cloude`"), "{refused}");
    assert!(refused.contains("help: did you mean `claude`?"), "{refused}");
}

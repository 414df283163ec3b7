//! Hooks that nothing fires: `check`, `run` and `run --dry-run` list them, and what would fire
//! them.

use crate::support::{Ran, Sandbox};

/// A guard and a hook at a model's request; a plain command fires neither.
const HOOKS: &str = "hooks:
  tool:pre_execute:bash:
    - id: no-sudo
      command: exit 2
  llm:pre_request:
    - id: no-request
      command: exit 2
";

const PLAIN_AGENT: &str = "{command: cat > /dev/null}";

fn loop_of(agent: &str) -> String {
    format!("prompt: p\nagent: {agent}\ntermination: {{type: fixed, iterations: 1}}\n")
}

/// A project in which `claude` and `codex` are programs in `PATH`.
fn with_agents(hooks: &str, agent: &str) -> Sandbox {
    let mut sandbox = Sandbox::with_hooks(hooks).file("loop.yaml", loop_of(agent));
    for name in ["claude", "codex"] {
        sandbox = sandbox.program(&format!("../bin/{name}"), "#!/bin/sh\ntrue\n");
    }
    let bin = sandbox.path("../bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    sandbox.set("PATH", &path)
}

/// Settings that call us for these events, with this matcher.
fn settings(events: &[&str], matcher: &str) -> String {
    let call = format!(
        r#"[{{"matcher": "{matcher}", "hooks": [{{"type": "command", "command": "/opt/hookwright hook claude"}}]}}]"#
    );
    let events: Vec<String> = events.iter().map(|event| format!("\"{event}\": {call}")).collect();
    format!("{{\"hooks\": {{{}}}}}", events.join(", "))
}

/// The ids of the hooks that a dry run reports as unfired.
fn unfired(sandbox: &Sandbox) -> Vec<String> {
    let (code, plan) = sandbox.json_and_talk(&["run", "--dry-run", "--json", "loop.yaml"]);
    assert_eq!(code, 0);
    let ids = plan["stages"][0]["unfired"].as_array().expect("a list");
    ids.iter().map(|id| id.as_str().expect("an id").to_owned()).collect()
}

#[test]
fn run_names_hooks_that_nothing_in_it_fires_and_what_would() {
    let sandbox = Sandbox::with_hooks(HOOKS).file("loop.yaml", loop_of(PLAIN_AGENT));
    let said = "warning: nothing in this run fires `tool:pre_execute:bash`: hook no-sudo \
                (hookwright.yaml:3) never runs
help: it needs `hookwright agent`, or an agent whose own settings call `hookwright hook AGENT` \
                (claude, cline, codex, copilot, droid, gemini, opencode, qwen) for it (docs/hosts.md); \
                use `hookwright fire tool:pre_execute` to fire it yourself
warning: nothing in this run fires `llm:pre_request`: hook no-request (hookwright.yaml:6) never runs
help: it needs `hookwright agent`, or an agent whose own settings call `hookwright hook gemini` for it (docs/gemini.md); use `hookwright fire llm:pre_request` to fire it yourself
";
    let plan = "project: 1 stage
  1 project: 1 iteration, agent: command, 2 hooks (2 that nothing here fires)
";
    assert_eq!(sandbox.run(&["run", "--dry-run", "loop.yaml"]), Ran::new(0, plan, said));
    let ran = sandbox.run(&["run", "loop.yaml"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, said));
    assert!(ran.stdout.contains("1 iteration, none of 2 hooks ran, "), "{}", ran.stdout);
}

#[test]
fn check_warns_of_hooks_that_nothing_fires_and_strict_counts_them() {
    let sandbox = Sandbox::with_hooks(HOOKS).file("loop.yaml", loop_of(PLAIN_AGENT));
    let ran = sandbox.run(&["check", "--strict", "loop.yaml"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.ends_with("no faults, 2 warnings\n"), "{}", ran.stdout);
    assert_eq!(
        ran.stderr,
        "warning: nothing here fires `tool:pre_execute:bash`, so hook `no-sudo` never runs
 --> hookwright.yaml:3:5
  |
3 |     - id: no-sudo
  |     ^^^^^^^^^^^^^
help: it needs `hookwright agent`, or an agent whose own settings call `hookwright hook AGENT` \
                (claude, cline, codex, copilot, droid, gemini, opencode, qwen) for it (docs/hosts.md); \
         use `hookwright fire tool:pre_execute` to fire it yourself

warning: nothing here fires `llm:pre_request`, so hook `no-request` never runs
 --> hookwright.yaml:6:5
  |
6 |     - id: no-request
  |     ^^^^^^^^^^^^^^^^
help: it needs `hookwright agent`, or an agent whose own settings call `hookwright hook gemini` for it (docs/gemini.md); use `hookwright fire llm:pre_request` to fire it yourself

"
    );
    assert_eq!(sandbox.run(&["check", "loop.yaml"]).code, 0);
    let (code, found) = sandbox.json(&["check", "--json", "loop.yaml"]);
    let warning = &found["warnings"][0];
    assert_eq!((code, warning["kind"].as_str()), (0, Some("nothing_fires")));
    assert_eq!(warning["found"], "tool:pre_execute:bash");
}

#[test]
fn hooks_of_the_loop_itself_are_named_too() {
    let text = format!("{}{HOOKS}", loop_of(PLAIN_AGENT));
    let sandbox = Sandbox::new().file("loop.yaml", text);
    assert_eq!(unfired(&sandbox), ["no-sudo", "no-request"]);
    let ran = sandbox.run(&["check", "--strict", "loop.yaml"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (1, "1 file checked, 2 hooks, no faults, 2 warnings\n")
    );
}

#[test]
fn an_agent_whose_settings_call_us_fires_the_events_that_they_call_us_for() {
    for (agent, file, calls, expected) in [
        ("claude", "", "", &["no-sudo", "no-request"][..]),
        ("claude", ".claude/settings.json", "*", &["no-request"]),
        ("claude", ".claude/settings.local.json", "Bash", &["no-request"]),
        ("claude", "../.claude/settings.json", "Bash|Write", &["no-request"]),
        // They call us for another tool only.
        ("claude", ".claude/settings.json", "Write", &["no-sudo", "no-request"]),
        ("{command: timeout 60 claude -p}", ".claude/settings.json", "*", &["no-request"]),
        ("codex", "../.codex/hooks.json", "*", &["no-request"]),
        // Another agent's settings.
        ("codex", ".claude/settings.json", "*", &["no-sudo", "no-request"]),
        (PLAIN_AGENT, ".claude/settings.json", "*", &["no-sudo", "no-request"]),
        ("[{command: cat}, claude]", ".claude/settings.json", "*", &["no-request"]),
    ] {
        let mut sandbox = with_agents(HOOKS, agent);
        if !file.is_empty() {
            sandbox = sandbox.file(file, settings(&["PreToolUse", "Stop"], calls));
        }
        assert_eq!(unfired(&sandbox), expected, "{agent} with {file}: {calls}");
    }
}

#[test]
fn settings_that_switch_all_hooks_off_do_not_call_us() {
    let sandbox = with_agents(HOOKS, "claude")
        .file("../.claude/settings.json", settings(&["PreToolUse"], "*"))
        .file(".claude/settings.json", r#"{"disableAllHooks": true}"#);
    assert_eq!(unfired(&sandbox), ["no-sudo", "no-request"]);
}

#[test]
fn a_hook_for_one_host_is_named_only_where_that_host_should_fire_it() {
    let hooks = "hooks:
  tool:pre_execute:
    - {id: inside, host: claude, command: 'true'}
    - {id: outside, host: run, command: 'true'}
  session:start:
    - {id: both, command: 'true'}
    - {id: greet, host: claude, command: 'true'}
";
    assert_eq!(unfired(&with_agents(hooks, PLAIN_AGENT)), ["outside"]);
    let claude = with_agents(hooks, "claude");
    assert_eq!(unfired(&claude), ["inside", "outside", "greet"]);
    let ran = claude.run(&["run", "--dry-run", "loop.yaml"]);
    let help = "help: remove `host: run`, which never fires it; use `hookwright \
                fire tool:pre_execute` to fire it yourself";
    assert!(ran.stderr.contains(help), "{}", ran.stderr);
    let connected =
        claude.file(".claude/settings.json", settings(&["PreToolUse", "SessionStart"], ""));
    assert_eq!(unfired(&connected), ["outside"]);
}

#[test]
fn events_of_executions_need_a_queue_and_events_of_commits_a_hook_that_commits() {
    let hooks = "hooks:
  execution:pre_end: [{id: tests, command: 'true'}]
  git:pre_commit: [{id: lint, command: 'true'}]
  task:complete: [{id: task, command: 'true'}]
";
    let sandbox = Sandbox::with_hooks(hooks).file("loop.yaml", loop_of(PLAIN_AGENT));
    assert_eq!(unfired(&sandbox), ["tests", "lint"]);
    let said = sandbox.run(&["run", "--dry-run", "loop.yaml"]).stderr;
    assert!(said.contains("help: it needs a stage with `termination: {type: queue}`; "), "{said}");
    assert!(said.contains("help: it needs a hook of `type: git-commit`; "), "{said}");

    let commit = "  execution:post_end: [{id: commit, type: git-commit, await: true}]\n";
    let with_commit = format!("{hooks}{commit}");
    let sandbox = Sandbox::with_hooks(&with_commit).file("loop.yaml", loop_of(PLAIN_AGENT));
    // The commit needs a queue as well.
    assert_eq!(unfired(&sandbox), ["tests", "lint", "commit"]);
    let queue = format!("prompt: p\nagent: {PLAIN_AGENT}\ntermination: {{type: queue}}\n");
    let sandbox = Sandbox::with_hooks(&with_commit).file("loop.yaml", queue);
    assert_eq!(unfired(&sandbox), [""; 0]);
}

#[test]
fn files_of_other_systems_count_where_run_reads_them() {
    let forge = r#"{"hooks": [{"event": "tool:pre_execute:bash", "command": "exit 1"},
        {"event": "session:start", "command": "true"}]}"#;
    let claude =
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}"#;
    let sandbox = Sandbox::new()
        .file("loop.yaml", loop_of(PLAIN_AGENT))
        .file(".forge/hooks.json", forge)
        .file(".claude/settings.json", claude);
    let said = sandbox.run(&["run", "--dry-run", "loop.yaml"]).stderr;
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    assert!(said.contains("nothing in this run fires `tool:pre_execute:bash`: hook "), "{said}");
    assert!(said.contains("(.forge/hooks.json:1)"), "{said}");
    // Without a run their own systems fire them.
    let ran = Sandbox::new()
        .file(".forge/hooks.json", forge)
        .file(".claude/settings.json", claude)
        .run(&["check", "--strict"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn a_hook_that_a_started_session_fires_is_not_named() {
    let hooks = format!("{HOOKS}  session:start: [{{id: child, pipeline: inner}}]\n");
    let sandbox = with_agents(&hooks, PLAIN_AGENT)
        .file("inner.yaml", loop_of("claude"))
        .file(".claude/settings.json", settings(&["PreToolUse"], "*"));
    assert_eq!(unfired(&sandbox), ["no-request"]);
}

#[test]
fn hooks_that_are_switched_off_are_not_named() {
    let off = HOOKS.replace("command: exit 2", "command: exit 2\n      enabled: false");
    let sandbox = Sandbox::with_hooks(&off).file("loop.yaml", loop_of(PLAIN_AGENT));
    assert_eq!(sandbox.run(&["run", "--dry-run", "loop.yaml"]).stderr, "");

    let sandbox = Sandbox::with_hooks(HOOKS).file("loop.yaml", loop_of(PLAIN_AGENT));
    let skip = ["--skip", "no-sudo", "--skip", "no-request"];
    let ran = sandbox.run(&[&["run", "loop.yaml"][..], &skip].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let ran = sandbox.run(&["run", "loop.yaml", "--no-hooks"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "hooks are switched off (--no-hooks)\n"));
    assert!(ran.stdout.contains(", no hooks, "), "{}", ran.stdout);
}

#[test]
fn many_hooks_at_one_event_are_one_warning() {
    let entry = |number| format!("    - {{id: guard-{number}, command: 'true'}}\n");
    let hooks: String = (1..=7).map(entry).collect();
    let hooks = format!("hooks:\n  tool:pre_execute:\n{hooks}");
    let sandbox = Sandbox::with_hooks(&hooks).file("loop.yaml", loop_of(PLAIN_AGENT));
    let said = sandbox.run(&["run", "--dry-run", "loop.yaml"]).stderr;
    let first = said.lines().next().unwrap_or_default();
    assert_eq!(
        first,
        "warning: nothing in this run fires `tool:pre_execute`: hooks guard-1 (hookwright.yaml:3), \
         guard-2 (hookwright.yaml:4), guard-3 (hookwright.yaml:5), guard-4 (hookwright.yaml:6), \
         guard-5 (hookwright.yaml:7), and 2 others never run"
    );
    assert_eq!(said.lines().count(), 2);
}

#[test]
fn without_a_run_check_notes_what_only_agents_fire_and_strict_does_not_count_it() {
    let hooks = format!("{HOOKS}  session:start: [{{command: 'true'}}]\n");
    let sandbox = Sandbox::with_hooks(&hooks);
    let ran = sandbox.run(&["check", "--strict"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1 file checked, 3 hooks, no faults\n"));
    assert_eq!(
        ran.stderr,
        "note: nothing here is known to fire `tool:pre_execute:bash`: hook no-sudo (hookwright.yaml:3) may never run
help: it needs `hookwright agent`, or an agent whose own settings call `hookwright hook AGENT` \
                (claude, cline, codex, copilot, droid, gemini, opencode, qwen) for it (docs/hosts.md); \
         use `hookwright fire tool:pre_execute` to fire it yourself
note: nothing here is known to fire `llm:pre_request`: hook no-request (hookwright.yaml:6) may never run
help: it needs `hookwright agent`, or an agent whose own settings call `hookwright hook gemini` for it (docs/gemini.md); use `hookwright fire llm:pre_request` to fire it yourself
"
    );
    let (_, found) = sandbox.json(&["check", "--json"]);
    assert_eq!(found["notes"].as_array().map(Vec::len), Some(2));

    let connected = sandbox.file("../.claude/settings.json", settings(&["PreToolUse"], ""));
    let said = connected.run(&["check"]).stderr;
    assert_eq!((said.matches("note: ").count(), said.contains("no-sudo")), (1, false), "{said}");
}

#[test]
fn check_of_a_project_hook_counts_every_run_and_every_connected_agent() {
    let fired = with_agents(HOOKS, PLAIN_AGENT)
        .file("other.yaml", loop_of("claude"))
        .file(".claude/settings.json", settings(&["PreToolUse"], "*"));
    let said = fired.run(&["check", "loop.yaml", "other.yaml"]).stderr;
    assert_eq!(
        (said.matches("warning: ").count(), said.contains("no-request")),
        (1, true),
        "{said}"
    );
    // A loop without an agent may be run with any agent.
    let unknown = Sandbox::with_hooks(HOOKS)
        .file("loop.yaml", "prompt: p\ntermination: {type: fixed, iterations: 1}\n");
    assert_eq!(
        unknown.run(&["check", "--strict", "loop.yaml"]),
        Ran::new(0, "1 file checked, 0 hooks, no faults\n", "")
    );
}

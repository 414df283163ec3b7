//! What hooks do inside other agents is a session that `sessions` and the page show.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::hook_claude::{trust, trusted};
use crate::hook_hosts::{RECORDED, call, sent};
use crate::interrupts::until;
use crate::serve::Serve;
use crate::support::{Ran, Sandbox};

const GUARD: &str = "hooks: {tool:pre_execute:bash: [\
    {id: no-shell, command: 'echo no shell here >&2; exit 2', \
     when: \"${TOOL_INPUT.command} matches 'echo'\"}]}";

/// A tool call of Codex.
fn shell_call(session: &str, command: &str) -> Value {
    json!({ "session_id": session, "turn_id": "t", "transcript_path": null, "cwd": "/",
        "hook_event_name": "PreToolUse", "model": "m", "permission_mode": "default",
        "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": "1" })
}

fn codex(sandbox: &Sandbox, session: &str, command: &str) -> Ran {
    let mut event = shell_call(session, command);
    event["cwd"] = json!(sandbox.path("."));
    call(sandbox, "codex", &event)
}

fn folder(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("../.local/state/hookwright/traces")
}

fn sessions(sandbox: &Sandbox) -> Vec<Value> {
    let (_, listed) = sandbox.json(&["sessions", "list", "--json"]);
    listed["sessions"].as_array().unwrap().clone()
}

/// The run events of the only session.
fn log(sandbox: &Sandbox) -> Vec<Value> {
    let ran = sandbox.run(&["sessions", "log", "--json"]);
    assert_eq!((ran.code, &*ran.stderr), (0, ""));
    ran.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["kind"].as_str()).collect()
}

#[test]
fn what_a_guard_did_in_any_agent_is_listed_shown_and_logged() {
    for it in RECORDED {
        let sandbox = trusted(GUARD);
        call(&sandbox, it.host, &sent(&sandbox, it.host, it.shell));
        let [session] = &sessions(&sandbox)[..] else { panic!("{}", it.host) };
        let name = session["name"].as_str().unwrap();
        assert!(name.starts_with(&format!("{}:", it.host)), "{name}");
        let facts = ["command", "provider", "folder"].map(|field| session[field].clone());
        let command = format!("hook {}", it.host);
        assert_eq!(facts, [json!(command), json!(it.host), Value::Null]);
        assert_eq!(session["agentSessions"][0]["agent"], it.host);
        assert_eq!(session["hooks"], json!({ "blocked": 1 }));

        let shown = sandbox.run(&["sessions", "show", name]).stdout;
        assert!(shown.contains("your hooks inside "), "{shown}");
        assert!(shown.contains("no-shell") && shown.contains("no shell here"), "{shown}");
        let logged = sandbox.run(&["sessions", "log", name]).stdout;
        assert!(logged.contains("fired tool:pre_execute (bash): "), "{logged}");
        assert!(logged.contains("hook no-shell ended, attempt 1, "), "{logged}");
        assert!(logged.contains("decided: block: no shell here"), "{logged}");
        let table = sandbox.run(&["sessions", "list", &it.host[..3]]).stdout;
        assert!(table.contains(name), "{table}");
    }
}

#[test]
fn a_trace_holds_the_run_events_of_its_calls_in_one_line_each() {
    let sandbox = trusted(GUARD);
    codex(&sandbox, "s", "ls");
    codex(&sandbox, "s", "echo a");
    let events = log(&sandbox);
    let expected = [
        "session_started",
        "fired",
        "hook_skipped",
        "decided",
        "fired",
        "hook_starting",
        "hook_ended",
        "hook_reported",
        "decided",
    ];
    assert_eq!(kinds(&events), expected);
    assert_eq!(events[1]["data"]["tool_input"]["command"], "ls");
    assert_ne!(events[1]["firing"], events[4]["firing"]);
    assert_eq!(events[8]["decision"]["reason"], "no shell here");
    // The agent's own id of its session names it too.
    let by_id = sandbox.run(&["sessions", "log", "s", "--json"]);
    assert_eq!(by_id.stdout.lines().count(), expected.len());
}

#[test]
fn what_no_hook_hears_is_not_recorded() {
    let sandbox = trusted("hooks: {tool:pre_execute:write: [{command: 'exit 2'}]}");
    assert_eq!(codex(&sandbox, "s", "ls"), Ran::new(0, "", ""));
    assert!(!folder(&sandbox).exists());
    assert_eq!(sessions(&sandbox), Vec::<Value>::new());
}

/// The system calls of one call of Codex, with the paths of their files.
fn system_calls(sandbox: &Sandbox, command: &str) -> Vec<String> {
    let mut event = shell_call("s", command);
    event["cwd"] = json!(sandbox.path("."));
    fs::write(sandbox.path("../event"), event.to_string()).unwrap();
    let hook = sandbox.command(&["hook", "codex"]);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-o"]).arg(sandbox.path("../calls"));
    strace.arg(hook.get_program()).args(hook.get_args()).env_clear();
    strace.envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
    strace.current_dir(sandbox.path(".")).stdin(fs::File::open(sandbox.path("../event")).unwrap());
    let traced = strace.output().expect("strace is installed");
    assert!(traced.status.code().is_some(), "{traced:?}");
    let calls = fs::read_to_string(sandbox.path("../calls")).unwrap();
    calls.lines().map(str::to_owned).collect()
}

#[test]
fn a_call_costs_one_write_to_its_trace_and_nothing_if_no_hook_hears_it() {
    let hooks = "hooks: {tool:pre_execute:bash: [{command: 'true'}]}";
    let sandbox = trusted(hooks);
    codex(&sandbox, "s", "ls");
    let calls = system_calls(&sandbox, "pwd");
    let name = |call: &String| {
        let (_, rest) = call.split_once(' ').unwrap();
        rest.trim_start().split('(').next().unwrap().to_owned()
    };
    let of_trace = calls.iter().filter(|call| call.contains("/hookwright/traces"));
    // A build with checks asks whether a descriptor is open before it closes it.
    let of_trace: Vec<String> = of_trace.map(name).filter(|name| name != "fcntl").collect();
    assert_eq!(of_trace, ["openat", "statx", "write", "close"], "{calls:#?}");
    for never in ["fsync", "fdatasync", "store.sqlite3"] {
        assert!(!calls.iter().any(|call| call.contains(never)), "{never}");
    }
    let other = trusted("hooks: {session:start: [{command: 'true'}]}");
    let calls = system_calls(&other, "pwd");
    assert!(!calls.iter().any(|call| call.contains("/traces")), "{calls:#?}");
}

#[test]
fn a_block_without_any_hook_is_recorded_with_its_reason() {
    let sandbox = Sandbox::with_hooks("hooks: {Stop: [{command: 'true'}]}");
    codex(&sandbox, "s", "ls");
    let events = log(&sandbox);
    assert_eq!(kinds(&events), ["session_started", "fired", "decided"]);
    let reason = events[2]["decision"]["reason"].as_str().unwrap();
    assert!(reason.contains("is not trusted"), "{reason}");
}

#[test]
fn trace_false_in_either_file_switches_it_off() {
    let off = format!("trace: false\n{GUARD}");
    let in_project = trusted(&off);
    let in_global = trust(Sandbox::with_hooks(GUARD).global("trace: false\nhooks: {}\n"));
    let ran = in_global.run(&["trust", "--yes", "../.config/hookwright/hooks.yaml"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for sandbox in [in_project, in_global] {
        let ran = codex(&sandbox, "s", "echo a");
        assert!(ran.stdout.contains("no shell here"), "{ran:?}");
        assert!(!folder(&sandbox).exists());
    }
}

#[test]
fn the_end_of_a_background_hook_is_recorded_with_its_event() {
    let hooks = "hooks: {tool:pre_execute: [{id: late, await: false, command: \
                 'until [ -e go ]; do sleep 0.01; done; echo done; exit 3'}]}";
    let sandbox = trusted(hooks);
    codex(&sandbox, "s", "ls");
    let begun = log(&sandbox);
    assert_eq!(kinds(&begun), ["session_started", "fired", "hook_starting", "decided"]);
    fs::write(sandbox.path("go"), "").unwrap();
    until("its end is recorded", || log(&sandbox).len() > begun.len());
    let all = log(&sandbox);
    let ended = &all[begun.len()..];
    assert_eq!(kinds(ended), ["hook_ended", "hook_reported"]);
    assert_eq!(ended[1]["firing"], begun[1]["firing"]);
    assert_eq!(ended[1]["report"]["status"], "failed");
    assert_eq!(ended[0]["outcome"]["exited"]["output"]["stdout"], "done\n");
    let shown = sandbox.run(&["sessions", "show"]).stdout;
    assert!(shown.contains("tool:pre_execute      late"), "{shown}");
}

#[test]
fn secrets_do_not_get_into_a_trace() {
    let secret = "hunter2-hunter2";
    let hooks = "hooks: {tool:pre_execute: [{id: leak, env: {TOKEN: '${TOKEN}'}, \
                 command: 'echo my $TOKEN >&2; exit 2'}]}";
    let secrets = "../.config/hookwright/secrets.env";
    let sandbox = Sandbox::with_hooks(hooks).file(secrets, format!("TOKEN={secret}\n"));
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(sandbox.path(secrets), private).unwrap();
    let sandbox = trust(sandbox);
    let ran = codex(&sandbox, secret, &format!("curl -H {secret}"));
    assert!(ran.stdout.contains("my [secret TOKEN]"), "{ran:?}");
    for entry in fs::read_dir(folder(&sandbox)).unwrap().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap();
        assert!(!text.contains(secret) && text.contains("[secret TOKEN]"), "{text}");
    }
}

#[test]
fn a_session_id_of_an_agent_escapes_neither_the_folder_nor_the_terminal() {
    let long = "x".repeat(100_000);
    let ids = ["../../../evil", "/etc/evil", "calm-fox", "a\u{1b}[2Jb\n\0", "\"},{", &long];
    let sandbox = trusted(GUARD);
    for id in ids {
        let ran = codex(&sandbox, id, "echo a");
        assert!(ran.stdout.contains("no shell here"), "{ran:?}");
    }
    let files = fs::read_dir(folder(&sandbox)).unwrap().flatten();
    let names: Vec<String> = files.map(|file| file.file_name().into_string().unwrap()).collect();
    assert_eq!(names.len(), ids.len(), "{names:?}");
    assert!(names.iter().all(|name| name.len() < 40 && name.starts_with("codex-")), "{names:?}");
    assert!(!sandbox.path("../.local/state/evil").exists());
    for arguments in [&["sessions", "list"][..], &["sessions", "list", "--json"]] {
        let ran = sandbox.run(arguments);
        assert!(!ran.stdout.contains('\u{1b}') && ran.stdout.len() < 20_000, "{}", ran.stdout);
    }
    for session in sessions(&sandbox) {
        let name = session["name"].as_str().unwrap();
        let ran = sandbox.run(&["sessions", "show", name]);
        assert!(ran.code == 0 && !ran.stdout.contains('\u{1b}'), "{ran:?}");
    }
}

#[test]
fn a_call_without_a_session_id_and_a_file_that_is_none_do_not_stop_a_guard() {
    let sandbox = trusted(GUARD);
    let ran = codex(&sandbox, "", "echo a");
    assert!(ran.stdout.contains("no shell here"), "{ran:?}");
    codex(&sandbox, "s", "echo a");
    let file = fs::read_dir(folder(&sandbox)).unwrap().flatten().next().unwrap().path();
    fs::remove_file(&file).unwrap();
    let made = Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    let ran = codex(&sandbox, "s", "echo a");
    assert!(ran.stdout.contains("no shell here"), "{ran:?}");
    assert_eq!(sessions(&sandbox), Vec::<Value>::new());
}

#[test]
fn a_session_is_active_while_the_agent_runs_and_ends_when_the_agent_says_so() {
    let hooks = "hooks: {tool:pre_execute: [{id: look, command: \
                 'until [ -e go ]; do sleep 0.01; done'}], SessionEnd: []}";
    let sandbox = trusted(hooks);
    let status = || sessions(&sandbox).first().map(|session| session["status"].clone());
    // The agent is still there when its second call has begun.
    let mut event = shell_call("s", "ls");
    event["cwd"] = json!(sandbox.path("."));
    fs::write(sandbox.path("input"), event.to_string()).unwrap();
    fs::write(sandbox.path("go"), "").unwrap();
    let agent = "\"$@\" <input; echo called; read line";
    let hook = sandbox.command(&["hook", "codex"]);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("call() {{ {agent}; }}; call env CODEX_MANAGED_BY_NPM=1 \"$@\"")]);
    command.arg("agent").arg(hook.get_program()).args(hook.get_args());
    command.env_clear().envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(sandbox.path(".")).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut agent: Child = command.spawn().unwrap();
    until("the call is recorded", || status() == Some(json!("active")));
    let listed = &sessions(&sandbox)[0];
    assert_eq!((&listed["endTime"], &listed["process"]["pid"]), (&Value::Null, &json!(agent.id())));
    let pruned = sandbox.run(&["sessions", "prune", "--keep", "0", "--yes"]);
    assert!(pruned.stderr.contains("nothing was deleted"), "{pruned:?}");
    drop(agent.stdin.take());
    agent.wait().unwrap();
    let listed = &sessions(&sandbox)[0];
    assert_eq!(listed["status"], "completed");
    assert_eq!(listed["reason"], "the agent's process has ended");
}

#[test]
fn the_end_of_a_session_is_recorded_if_the_session_has_a_trace() {
    let sandbox = trusted(GUARD);
    let mut end = json!({ "session_id": "s", "transcript_path": "/t", "cwd": sandbox.path("."),
        "hook_event_name": "SessionEnd", "reason": "logout", "timestamp": "2026-01-02T03:04:05Z" });
    call(&sandbox, "gemini", &end);
    assert!(!folder(&sandbox).exists());
    let mut shell = sent(&sandbox, "gemini", "07-BeforeTool-run_shell_command");
    shell["session_id"] = json!("s");
    call(&sandbox, "gemini", &shell);
    end["reason"] = json!("exit");
    call(&sandbox, "gemini", &end);
    let [session] = &sessions(&sandbox)[..] else { panic!("one session") };
    assert_eq!((&session["status"], &session["reason"]), (&json!("completed"), &json!("exit")));
}

#[test]
fn prune_deletes_traces_and_other_commands_refuse_them() {
    let sandbox = trusted(GUARD);
    codex(&sandbox, "s", "echo a");
    let name = sessions(&sandbox)[0]["name"].as_str().unwrap().to_owned();
    for command in ["stop", "resume"] {
        let ran = sandbox.run(&[command, &name]);
        assert_eq!(ran.code, 1);
        let said = format!("`{name}` is a session of another agent");
        assert!(ran.stderr.contains(&said), "{ran:?}");
    }
    let ran = sandbox.run(&["sessions", "prune", "--keep", "0"]);
    assert!(ran.stdout.contains(&name) && ran.stderr.contains("would be deleted"), "{ran:?}");
    let ran = sandbox.run(&["sessions", "prune", "--keep", "0", "--yes"]);
    assert!(ran.stderr.contains("1 session deleted"), "{ran:?}");
    assert_eq!(fs::read_dir(folder(&sandbox)).unwrap().count(), 0);
}

#[test]
fn sessions_of_agents_are_between_our_own_by_their_beginning() {
    let sandbox = trusted(GUARD).file(
        "loop.yaml",
        "name: fix\nagent: {type: scripted, script: turns.yaml}\nprompt: p\n\
         termination: {type: fixed, iterations: 1}\n",
    );
    let sandbox = sandbox.file("turns.yaml", "turns: [[{say: hi}]]\n");
    codex(&sandbox, "one", "echo a");
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "ours"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    codex(&sandbox, "two", "echo a");
    let (_, listed) = sandbox.json(&["sessions", "list", "--json"]);
    let providers = listed["sessions"].as_array().unwrap().iter();
    let providers: Vec<&str> =
        providers.map(|session| session["provider"].as_str().unwrap()).collect();
    assert_eq!(providers, ["codex", "scripted", "codex"]);
    // Another project does not show them.
    let elsewhere = sandbox.inside("../other").file("hookwright.yaml", "hooks: {}");
    assert_eq!(sessions(&elsewhere), Vec::<Value>::new());
    let (_, all) = elsewhere.json(&["sessions", "list", "--all-projects", "--json"]);
    assert_eq!(all["sessions"].as_array().unwrap().len(), 3);
}

#[test]
fn the_page_shows_sessions_of_agents_with_their_hooks() {
    let sandbox = trusted(GUARD);
    codex(&sandbox, "<script>alert(1)</script>", "echo a");
    let name = sessions(&sandbox)[0]["name"].as_str().unwrap().to_owned();
    let serve = Serve::start(&sandbox, &["--port", "0"]);
    let overview = serve.page("/");
    let path = format!("/sessions/{name}");
    assert!(overview.contains(&format!("href=\"{path}\"")), "{overview}");
    let page = serve.page(&path);
    assert!(page.contains("no-shell") && page.contains("no shell here"), "{page}");
    assert!(page.contains("Hooks inside") && !page.contains("<script>alert"), "{page}");
    let report = page.split(&format!("{path}/reports/")).nth(1).unwrap();
    let number: String = report.chars().take_while(char::is_ascii_digit).collect();
    let report = serve.page(&format!("{path}/reports/{number}"));
    assert!(report.contains("no shell here"), "{report}");
    drop(serve);
}

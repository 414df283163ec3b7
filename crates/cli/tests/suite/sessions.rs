//! `sessions`, `status` and `stop`: small loops with a scripted agent.

use std::io::BufRead;
use std::process::Command;

use hookwright_store::{SqliteStore, Store};
use serde_json::{Value, json};

use crate::interrupts::{Started, start, until};
use crate::support::{Ran, Sandbox};

const TURNS: &str = "turns: [[{say: hello}, {status: {decision: continue, summary: did it}}]]";

/// A project whose loop `work` has these iterations and hooks, and a scripted agent.
fn project(iterations: u32, hooks: &str) -> Sandbox {
    Sandbox::new().file("turns.yaml", TURNS).file(
        "work.yaml",
        format!(
            "name: work\nagent: {{type: scripted, script: turns.yaml}}\nprompt: do it\n\
             termination: {{type: fixed, iterations: {iterations}}}\nhooks: {{{hooks}}}\n"
        ),
    )
}

/// A project whose agent reports that it works and then waits for the file `go`.
fn waiting_project(hooks: &str) -> Sandbox {
    let turns = "turns: [[{write: {working: x}}, {wait_for: go}]]";
    project(1, hooks).file("turns.yaml", turns)
}

fn run(sandbox: &Sandbox, name: &str) {
    let ran = sandbox.run(&["run", "work.yaml", "--session", name]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

/// A session that is in the middle of its first iteration.
fn started(sandbox: &Sandbox, name: &str) -> Started {
    let started = start(sandbox, &["run", "work.yaml", "--session", name]);
    until("the agent works", || sandbox.path("working").exists());
    started
}

/// Kills a session, so that it cannot record its end.
fn cut_off(sandbox: &Sandbox, name: &str) {
    let mut command = sandbox.command(&["run", "work.yaml", "--session", name]);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    until("the agent works", || sandbox.path("working").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(sandbox.path("working")).unwrap();
}

fn names(sessions: &Value) -> Vec<&str> {
    sessions.as_array().unwrap().iter().map(|session| session["name"].as_str().unwrap()).collect()
}

fn list(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let whole: Vec<&str> =
        ["sessions", "list", "--json"].iter().chain(arguments).copied().collect();
    let (code, value) = sandbox.json(&whole);
    assert_eq!(code, 0);
    value["sessions"].clone()
}

/// The text with every time as `T` and every duration as `D`.
pub(crate) fn without_times(text: &str) -> String {
    let is_duration = |word: &str| {
        let number = word.trim_end_matches("ms").trim_end_matches('s');
        number.len() < word.len() && number.parse::<f64>().is_ok()
    };
    let is_day = |word: &str| word.len() == 10 && word.starts_with("20");
    let is_clock = |word: &str| word.len() == 8 && word.split(':').count() == 3;
    let shown = |word: &str| {
        let plain = word.trim_end_matches([',', ':']);
        let end = &word[plain.len()..];
        let within = plain.strip_prefix('(').and_then(|word| word.strip_suffix(')'));
        if within.is_some_and(is_duration) {
            return format!("(D){end}");
        }
        match plain {
            plain if is_duration(plain) => format!("D{end}"),
            plain if is_day(plain) || is_clock(plain) => format!("T{end}"),
            _ => word.to_owned(),
        }
    };
    let line = |line: &str| line.split_whitespace().map(shown).collect::<Vec<_>>().join(" ");
    text.lines().map(|text| line(text) + "\n").collect()
}

// Conformance: autoagent-061
#[test]
fn without_a_store_there_are_no_sessions_and_none_is_made() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["sessions", "list"]), Ran::new(0, "", "no sessions yet\n"));
    assert_eq!(list(&sandbox, &[]), json!([]));
    assert_eq!(sandbox.run(&["status"]), Ran::new(0, "nothing runs here\n", ""));
    let prune = sandbox.run(&["sessions", "prune", "--keep", "0", "--yes"]);
    assert_eq!(prune, Ran::new(0, "", "nothing was deleted\n"));
    let current = sandbox.run(&["sessions", "current"]);
    assert_eq!(current.code, 1);
    assert!(current.stderr.starts_with("error: this project has no sessions yet\n"));
    for command in [&["sessions", "show", "x"][..], &["sessions", "log", "x"], &["stop", "x"]] {
        let ran = sandbox.run(command);
        assert_eq!(
            ran,
            Ran::new(
                1,
                "",
                "error: there is no session `x` in this project\n\
                 help: list them: `hookwright sessions list`\n"
            )
        );
    }
    assert!(!sandbox.path("../.local").exists());
    assert!(!sandbox.path(".hookwright").exists());
}

#[test]
fn a_name_that_no_session_can_have_is_refused() {
    let sandbox = Sandbox::new();
    for command in [&["sessions", "show", "../x"][..], &["stop", "a/b"]] {
        let ran = sandbox.run(command);
        assert_eq!(ran.code, 1);
        assert!(ran.stderr.contains("is not allowed in a session's name"), "{}", ran.stderr);
    }
}

// Conformance: autoagent-062
#[test]
fn the_list_is_newest_first_and_can_be_narrowed() {
    let sandbox = project(1, "");
    for name in ["a-1", "b-1", "a-2"] {
        run(&sandbox, name);
    }
    assert_eq!(names(&list(&sandbox, &[])), ["a-2", "b-1", "a-1"]);
    assert_eq!(names(&list(&sandbox, &["a-"])), ["a-2", "a-1"]);
    assert_eq!(names(&list(&sandbox, &["--limit", "1"])), ["a-2"]);
    assert_eq!(names(&list(&sandbox, &["--status", "completed", "b"])), ["b-1"]);
    assert_eq!(list(&sandbox, &["--status", "failed", "--status", "cut-off"]), json!([]));
    let shown = sandbox.run(&["sessions", "list", "--limit", "2"]);
    assert_eq!(shown.code, 0);
    assert_eq!(shown.stderr, "the newest 2; `--limit N` shows more\n");
    assert_eq!(
        without_times(&shown.stdout),
        "name status plan stage iterations started duration branch\n\
         a-2 completed work 1/1 work 1 T T D -\n\
         b-1 completed work 1/1 work 1 T T D -\n"
    );
    let none = sandbox.run(&["sessions", "list", "zzz"]);
    assert_eq!(none, Ran::new(0, "", "no such sessions\n"));
}

// Conformance: autoagent-062
#[test]
fn ten_sessions_are_listed_unless_another_number_is_asked_for() {
    let sandbox = project(1, "");
    for number in 0..11 {
        run(&sandbox, &format!("s{number}"));
    }
    assert_eq!(list(&sandbox, &[]).as_array().unwrap().len(), 10);
    assert_eq!(list(&sandbox, &["--limit", "100"]).as_array().unwrap().len(), 11);
    assert_eq!(sandbox.run(&["sessions", "list", "--limit", "0"]).code, 1);
}

#[test]
fn sessions_of_other_projects_are_listed_when_asked_for() {
    let sandbox = project(1, "");
    run(&sandbox, "here");
    let sandbox = sandbox.inside("../other");
    assert_eq!(list(&sandbox, &[]), json!([]));
    let all = list(&sandbox, &["--all-projects"]);
    assert_eq!(names(&all), ["here"]);
    assert!(all[0]["workspace"].as_str().unwrap().ends_with("/project"));
    let shown = sandbox.run(&["sessions", "list", "--all-projects"]);
    assert!(shown.stdout.contains("~/project"), "{}", shown.stdout);
    assert_eq!(names(&list(&sandbox, &["--cwd", "../project"])), ["here"]);
}

// Conformance: autoagent-053, autoagent-054, autoagent-058, autoagent-059, autoagent-060
#[test]
fn the_json_of_a_session_has_every_field_by_its_name() {
    let sandbox = project(2, "iteration:complete: [{id: look, await: true, command: 'true'}]");
    for git in [
        &["init", "--quiet", "--initial-branch", "feature"][..],
        &["-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "--allow-empty", "-mx"],
    ] {
        assert!(git_in(&sandbox, git).0);
    }
    run(&sandbox, "one");
    let mut session = list(&sandbox, &[])[0].take();
    let (_, commit) = git_in(&sandbox, &["rev-parse", "HEAD"]);
    for time in ["startTime", "endTime"] {
        assert!(session[time].as_str().unwrap().ends_with('Z'), "{session}");
        session[time] = "T".into();
    }
    assert!(session["id"].as_str().unwrap().starts_with("session-"), "{session}");
    session["id"] = "I".into();
    assert!(session["metadata"]["totalDuration"].as_i64().unwrap() >= 0);
    session["metadata"]["totalDuration"] = 1.into();
    assert_eq!(
        session,
        json!({
            "id": "I",
            "name": "one",
            "startTime": "T",
            "endTime": "T",
            "workspace": sandbox.path("").to_str().unwrap().trim_end_matches('/'),
            "project": sandbox.path("").to_str().unwrap().trim_end_matches('/'),
            "command": "run",
            "args": ["work.yaml", "--session", "one"],
            "issuesPlanned": [],
            "issuesCompleted": [],
            "issuesFailed": [],
            "currentIssue": null,
            "status": "completed",
            "provider": "scripted",
            "metadata": {
                "gitBranch": "feature",
                "gitCommit": commit.trim(),
                "totalDuration": 1,
            },
            "plan": "work",
            "stages": ["work"],
            "stage": 1,
            "iterations": 2,
            "reason": "completed",
            "work": {},
            "hooks": { "success": 2 },
            "resumes": 0,
            "usage": null,
            "usageOfChildren": null,
            "agentSessions": [],
            "pause": null,
            "pausedFor": null,
            "submission": null,
            "parent": null,
            "folder": ".hookwright/sessions/one",
            "process": null,
        })
    );
}

fn git_in(sandbox: &Sandbox, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(sandbox.path("."));
    let output = command.env("HOME", sandbox.path("..")).output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

// Conformance: autoagent-064, code-forge-074
#[test]
fn show_draws_stages_iterations_hooks_and_decisions() {
    let sandbox = project(
        2,
        "session:start: [{id: hello, await: true, command: 'true'}], \
         iteration:start: [{id: odd, await: true, when: '${ITERATION} % 2 == 1', command: 'true'}], \
         iteration:complete: [{id: tests, await: true, command: 'echo bad >&2; exit 1'}], \
         session:stop: [{id: once, once: true, command: 'echo more work >&2; exit 2'}]",
    );
    run(&sandbox, "one");
    let shown = sandbox.run(&["sessions", "show", "one"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""));
    assert_eq!(
        without_times(&shown.stdout),
        "one: completed, D\n\
         work with agent scripted, began T T\n\
         │ session:start hello success D\n\
         ├─ stage 1 work: at most 2 iterations\n\
         │ ├─ iteration 1: continue, D, 1 hook failed: did it\n\
         │ │ iteration:start odd success D\n\
         │ │ iteration:complete tests failed D exit code 1: bad\n\
         │ ├─ iteration 2: continue, D, 1 hook failed: did it\n\
         │ │ iteration:complete tests failed D exit code 1: bad\n\
         │ └─ completed after 2 iterations, D\n\
         │ session:stop once blocked D more work\n\
         │ session:stop decision: block: more work\n\
         ├─ stage 1 work: continues\n\
         │ ├─ iteration 3: continue, D, 1 hook failed: did it\n\
         │ │ iteration:start odd success D\n\
         │ │ iteration:complete tests failed D exit code 1: bad\n\
         │ └─ completed after 3 iterations\n\
         └─ completed at T T\n\
         not shown: 2 skipped hooks (`--all`)\n"
    );
    let all = without_times(&sandbox.run(&["sessions", "show", "one", "--all"]).stdout);
    assert!(all.contains("│ │ iteration:start odd skipped when: ${ITERATION} % 2 == 1\n"), "{all}");
    assert!(!all.contains("not shown"), "{all}");
}

#[test]
fn show_as_json_is_the_record_and_the_whole_timeline() {
    let sandbox = project(12, "iteration:start: [{id: look, await: true, command: 'true'}]");
    run(&sandbox, "one");
    let (code, shown) = sandbox.json(&["sessions", "show", "one", "--json"]);
    assert_eq!(code, 0);
    assert_eq!(shown["session"], list(&sandbox, &[])[0]);
    let timeline = shown["timeline"].as_array().unwrap();
    let kinds: Vec<&str> = timeline.iter().map(|part| part["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds[..2], ["session_began", "stage_began"]);
    assert_eq!(kinds[2..14], ["iteration"; 12]);
    assert_eq!(kinds[14..], ["stage_ended", "session_ended"]);
    let mut last = timeline[13].clone();
    assert_eq!(last["deeds"][0]["hook"], "look");
    last["deeds"].take();
    last["at"].take();
    last["duration_ms"].take();
    assert_eq!(
        last,
        json!({
            "kind": "iteration", "at": null, "stage": 1, "iteration": 12, "attempt": 1,
            "state": "ended", "result": { "decision": "continue", "summary": "did it" },
            "duration_ms": null, "deeds": null,
        })
    );
}

#[test]
fn a_long_stage_is_shortened_but_trouble_stays() {
    let fails = "iteration:complete: [{id: tests, await: true, \
                 when: '${ITERATION} == 15', command: 'exit 1'}]";
    let sandbox = project(30, fails);
    run(&sandbox, "one");
    let shown = without_times(&sandbox.run(&["sessions", "show", "one"]).stdout);
    let iterations: Vec<&str> = shown
        .lines()
        .filter(|line| line.contains("├─ iteration") || line.contains('…'))
        .map(|line| line.trim_start_matches(['│', '├', '─', ' ']))
        .map(|line| line.split(':').next().unwrap())
        .collect();
    assert_eq!(
        iterations,
        [
            "iteration 1",
            "iteration 2",
            "iteration 3",
            "… 11 iterations not shown …",
            "iteration 15",
            "… 10 iterations not shown …",
            "iteration 26",
            "iteration 27",
            "iteration 28",
            "iteration 29",
            "iteration 30",
        ]
    );
    // The hooks of iterations that are not drawn are not counted either.
    assert!(shown.ends_with("not shown: 21 iterations, 8 skipped hooks (`--all`)\n"), "{shown}");
    let all = sandbox.run(&["sessions", "show", "one", "--all"]).stdout;
    assert_eq!(all.lines().filter(|line| line.contains("├─ iteration")).count(), 30);
}

#[test]
fn words_of_others_cannot_steer_the_terminal() {
    let sandbox = project(1, "").file(
        "turns.yaml",
        "turns: [[{status: {decision: continue, summary: \"a\\u001b[2Jb\\u202ec\"}}]]",
    );
    run(&sandbox, "one");
    for command in [
        &["sessions", "show", "one"][..],
        &["sessions", "show", "one", "--json"],
        &["sessions", "log", "one"],
        &["sessions", "log", "one", "--json"],
    ] {
        let ran = sandbox.run(command);
        assert_eq!(ran.code, 0);
        assert!(!ran.stdout.contains(['\u{1b}', '\u{202e}']), "{command:?}: {}", ran.stdout);
    }
}

// Conformance: autoagent-064, code-forge-074
#[test]
fn the_log_has_a_line_for_every_entry() {
    let sandbox = project(1, "iteration:start: [{id: look, await: true, command: 'true'}]");
    run(&sandbox, "one");
    let lines = sandbox.run(&["sessions", "log", "one"]);
    let raw = sandbox.run(&["sessions", "log", "one", "--json"]);
    assert_eq!((lines.code, raw.code), (0, 0));
    let events: Vec<Value> =
        raw.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.len(), lines.stdout.lines().count());
    assert_eq!(events[0]["kind"], "session_started");
    assert_eq!(events.last().unwrap()["kind"], "session_ended");
    for (number, line) in (1..).zip(lines.stdout.lines()) {
        assert!(line.trim_start().starts_with(&format!("{number}  20")), "{line}");
    }
    assert!(lines.stdout.contains("  hook look starts, attempt 1\n"), "{}", lines.stdout);
    assert!(lines.stdout.ends_with("  session ended: completed, completed\n"), "{}", lines.stdout);
}

#[test]
fn a_log_that_is_followed_ends_with_the_session() {
    let sandbox = waiting_project("");
    let session = started(&sandbox, "one");
    let mut command = sandbox.command(&["sessions", "log", "one", "--follow", "--json"]);
    let mut follower = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufReader::new(follower.stdout.take().unwrap()).lines();
    let has_begun = lines.any(|line| line.unwrap().contains("\"turn_starting\""));
    assert!(has_begun);
    std::fs::write(sandbox.path("go"), "").unwrap();
    let last = lines.last().unwrap().unwrap();
    assert!(last.contains("\"session_ended\""), "{last}");
    assert!(follower.wait().unwrap().success());
    assert_eq!(session.ran().code, 0);
}

// Conformance: autoagent-060, autoagent-061
#[test]
fn current_is_what_runs_else_the_latest() {
    let sandbox = waiting_project("").file("go", "").file(
        "quick.yaml",
        "{agent: {type: command, command: 'true'}, prompt: x, termination: {type: fixed, iterations: 1}}",
    );
    run(&sandbox, "before");
    let (_, current) = sandbox.json(&["sessions", "current", "--json"]);
    assert_eq!(names(&current["sessions"]), ["before"]);
    std::fs::remove_file(sandbox.path("go")).unwrap();
    std::fs::remove_file(sandbox.path("working")).unwrap();
    let running = started(&sandbox, "running");
    // A later session that has ended is not the current one while another runs.
    let ran = sandbox.run(&["run", "quick.yaml", "--session", "quick"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(names(&list(&sandbox, &[])), ["quick", "running", "before"]);
    let (code, current) = sandbox.json(&["sessions", "current", "--json"]);
    assert_eq!((code, names(&current["sessions"])), (0, vec!["running"]));
    assert_eq!(current["sessions"][0]["status"], "active");
    assert!(current["sessions"][0]["process"]["pid"].is_u64());
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(running.ran().code, 0);
}

#[test]
fn a_session_whose_process_is_gone_was_cut_off() {
    let sandbox = waiting_project("");
    cut_off(&sandbox, "one");
    let listed = sandbox.run(&["sessions", "list"]);
    assert_eq!(
        without_times(&listed.stdout),
        "name status plan stage iterations started duration branch\n\
         one cut off work 1/1 work 0 T T ? -\n"
    );
    assert_eq!(listed.stderr, "1 session was cut off; resume with: hookwright resume one\n");
    assert_eq!(list(&sandbox, &["--status", "cut off"])[0]["status"], "cut_off");
    assert_eq!(list(&sandbox, &["--status", "active"]), json!([]));
    let shown = without_times(&sandbox.run(&["sessions", "show", "one"]).stdout);
    assert!(shown.contains("│ ├─ iteration 1: cut off\n"), "{shown}");
    assert!(shown.ends_with("└─ cut off\nresume with: hookwright resume one\n"), "{shown}");
    assert_eq!(
        sandbox.run(&["stop", "one"]),
        Ran::new(
            1,
            "",
            "error: session `one` is not running: it is cut off\n\
             help: `hookwright status` shows what is running\n"
        )
    );
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(sandbox.run(&["resume", "one"]).code, 0);
    let shown = without_times(&sandbox.run(&["sessions", "show", "one"]).stdout);
    assert!(
        shown.ends_with(
            "│ ├─ iteration 1: cut off\n\
             │ └─ left unfinished\n\
             ├─ resumed at T T\n\
             ├─ stage 1 work: continues\n\
             │ ├─ iteration 1 (attempt 2): continue, D, 1 file changed\n\
             │ └─ completed after 1 iteration, D\n\
             └─ completed at T T\n"
        ),
        "{shown}"
    );
}

#[test]
fn a_hook_that_was_cut_off_is_shown_as_such() {
    let hook = "touch working; until [ -e go ]; do sleep 0.01; done";
    let sandbox =
        project(1, &format!("iteration:complete: [{{id: slow, await: true, command: '{hook}'}}]"));
    cut_off(&sandbox, "one");
    let shown = without_times(&sandbox.run(&["sessions", "show", "one"]).stdout);
    assert!(shown.contains("│ │ iteration:complete slow cut off\n"), "{shown}");
    // The hook of the killed run ends by itself.
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(sandbox.run(&["resume", "one"]).code, 0);
    let shown = without_times(&sandbox.run(&["sessions", "show", "one"]).stdout);
    assert!(
        shown.ends_with(
            "├─ stage 1 work: at most 1 iteration\n\
             │ ├─ iteration 1: continue, D: did it\n\
             │ │ iteration:complete slow cut off\n\
             │ └─ left unfinished\n\
             ├─ resumed at T T\n\
             │ iteration:complete slow success D (2 attempts) (of iteration 1)\n\
             ├─ stage 1 work: continues\n\
             │ └─ completed after 1 iteration, D\n\
             └─ completed at T T\n"
        ),
        "{shown}"
    );
}

#[test]
fn a_session_that_runs_is_shown_as_far_as_it_came() {
    let sandbox = waiting_project("");
    let session = started(&sandbox, "one");
    let shown = without_times(&sandbox.run(&["sessions", "show", "one"]).stdout);
    let pid = list(&sandbox, &[])[0]["process"]["pid"].clone();
    assert!(
        shown.ends_with(&format!("│ ├─ iteration 1: the agent works\n└─ runs, process {pid}\n")),
        "{shown}"
    );
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(session.ran().code, 0);
}

#[test]
fn a_hook_in_the_background_is_shown_with_the_iteration_it_belongs_to() {
    let hook = "until [ -e second ]; do sleep 0.01; done; touch done";
    let hooks = format!(
        "iteration:complete: [{{id: slow, when: '${{ITERATION}} == 1', command: '{hook}'}}]"
    );
    let sandbox = project(2, &hooks)
        .file("turns.yaml", "turns: [[{say: x}], [{write: {second: x}}, {wait_for: done}]]");
    run(&sandbox, "one");
    let shown = without_times(&sandbox.run(&["sessions", "show", "one"]).stdout);
    assert!(shown.contains("iteration:complete slow success D (of iteration 1)\n"), "{shown}");
}

#[test]
fn a_session_that_another_machine_runs_is_not_ended_from_here() {
    let sandbox = waiting_project("");
    cut_off(&sandbox, "one");
    let store = SqliteStore::open(&sandbox.path("../.local/state/hookwright")).unwrap();
    let lease = format!("session/{}/one", sandbox.path("").to_str().unwrap().trim_end_matches('/'));
    let dead = store.holder(&lease).unwrap().unwrap();
    let holder = json!({ "pid": 1, "start_time": 1, "boot_id": "x", "host": "elsewhere" });
    store.acquire(&lease, &holder.to_string(), Some(dead.token)).unwrap();
    assert_eq!(list(&sandbox, &[])[0]["status"], "active");
    assert_eq!(
        sandbox.run(&["stop", "one"]),
        Ran::new(
            1,
            "",
            "error: process 1 on machine `elsewhere` is running session `one`\n\
             help: run this on that machine: `hookwright stop one`\n"
        )
    );
    let prune = ["sessions", "prune", "--keep", "0", "--status", "cut-off", "--yes"];
    assert_eq!(sandbox.run(&prune), Ran::new(0, "", "nothing was deleted\n"));
}

#[test]
fn status_says_what_runs_and_what_could_be_resumed() {
    let sandbox = waiting_project("");
    cut_off(&sandbox, "old");
    let running = started(&sandbox, "now");
    let (code, status) = sandbox.json(&["status", "--json"]);
    assert_eq!(code, 0);
    assert_eq!(names(&status["running"]), ["now"]);
    assert_eq!(names(&status["resumable"]), ["old"]);
    let pid = &status["running"][0]["process"]["pid"];
    assert_eq!(
        without_times(&sandbox.run(&["status"]).stdout),
        format!(
            "running:\n\
             now work stage 1/1 work, 0 iterations done for D process {pid}\n\
             now waits for agent scripted (D)\n\
             can be resumed:\n\
             old cut off work stage 1/1 work, 0 iterations done hookwright resume old\n"
        )
    );
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(running.ran().code, 0);
}

#[test]
fn status_says_why_a_session_ended_before_its_work_was_done() {
    let sandbox = Sandbox::new()
        .file("failing.yaml", "prompt: p\nagent: {command: 'echo no key >&2; exit 4'}\n")
        .file("dear.yaml", "prompt: p\nmax_cost: 1\nagent: {script: turns.yaml}\n")
        .file("turns.yaml", "turns: [[{status: {decision: continue, usage: {cost_usd: 2}}}]]");
    for (file, code) in [("failing.yaml", 5), ("dear.yaml", 6)] {
        let name = file.trim_end_matches(".yaml");
        let ran = sandbox.run(&["run", file, "--session", name]);
        assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    }
    assert_eq!(
        without_times(&sandbox.run(&["status"]).stdout),
        "nothing runs here\n\
         can be resumed:\n\
         dear paused dear stage 1/1 dear, 1 iteration done hookwright resume dear --max-cost 4\n\
         failing failed failing stage 1/1 failing, 1 iteration done hookwright resume failing\n\
         dear: the session has cost $2.00, and max_cost is $1.00\n\
         failing: iteration 1 failed: the agent exited with 4: no key\n"
    );
}

#[test]
fn stop_ends_a_session_and_says_what_became_of_it() {
    let sandbox =
        waiting_project("session:end: [{await: true, command: 'echo \"$REASON\" > reason'}]");
    let session = started(&sandbox, "one");
    let pid = list(&sandbox, &[])[0]["process"]["pid"].clone();
    let stopped = sandbox.run(&["stop", "one"]);
    assert_eq!(
        stopped,
        Ran::new(
            0,
            "session one: interrupted\n",
            &format!(
                "waiting for process {pid} to end session one (at most 30 s)\n\
                 resume with: hookwright resume one\n"
            )
        )
    );
    assert_eq!(session.ran().code, 130);
    assert_eq!(std::fs::read_to_string(sandbox.path("reason")).unwrap(), "interrupted\n");
    assert_eq!(list(&sandbox, &[])[0]["status"], "interrupted");
}

#[test]
fn stop_gives_up_after_its_timeout_and_stop_now_does_not_wait_for_hooks() {
    let sandbox =
        waiting_project("session:end: [{await: true, command: 'touch ending; sleep 1000'}]");
    let session = started(&sandbox, "one");
    let pid = list(&sandbox, &[])[0]["process"]["pid"].clone();
    let gave_up = sandbox.run(&["stop", "one", "--timeout", "10ms"]);
    assert_eq!((gave_up.code, gave_up.stdout.as_str()), (1, ""));
    assert!(
        gave_up.stderr.ends_with(&format!(
            "error: process {pid} is still running session `one` after 0.01 s\n\
             help: wait longer with `--timeout`, or end it at once: `hookwright stop one --now`\n"
        )),
        "{}",
        gave_up.stderr
    );
    until("the last hook runs", || sandbox.path("ending").exists());
    let (code, stopped) = stopped_now(&sandbox);
    assert_eq!((code, &stopped["session"]["status"]), (0, &json!("cut_off")));
    assert_eq!(session.ran().code, 130);
}

fn stopped_now(sandbox: &Sandbox) -> (i32, Value) {
    let ran = sandbox.run(&["stop", "one", "--now", "--json"]);
    (ran.code, serde_json::from_str(&ran.stdout).unwrap())
}

#[test]
fn prune_says_what_it_would_delete_and_deletes_it_when_told_to() {
    let sandbox = project(1, "");
    for name in ["first", "second", "third"] {
        run(&sandbox, name);
    }
    let would = sandbox.run(&["sessions", "prune", "--keep", "1"]);
    assert_eq!(would.stderr, "2 sessions would be deleted; `--yes` deletes\n");
    assert!(would.stdout.contains("\nsecond") && would.stdout.contains("\nfirst"));
    assert_eq!(names(&list(&sandbox, &[])), ["third", "second", "first"]);
    let both = sandbox.run(&["sessions", "prune", "--keep", "1", "--older-than", "1d", "--yes"]);
    assert_eq!(both, Ran::new(0, "", "nothing was deleted\n"));
    let (code, done) = sandbox.json(&["sessions", "prune", "--keep", "1", "--yes", "--json"]);
    assert_eq!((code, &done["deleted"]), (0, &json!(true)));
    assert_eq!(names(&done["sessions"]), ["second", "first"]);
    assert_eq!(names(&list(&sandbox, &[])), ["third"]);
    assert!(sandbox.path(".hookwright/sessions/third").exists());
    assert!(!sandbox.path(".hookwright/sessions/first").exists());
    assert_eq!(sandbox.run(&["sessions", "log", "first"]).code, 1);
    // Nothing is left of it, so its name is free again.
    run(&sandbox, "first");
    let log = sandbox.run(&["sessions", "log", "first"]).stdout;
    assert!(log.trim_start().starts_with("1  "), "{log}");
}

#[test]
fn prune_goes_by_the_age_of_a_session() {
    let sandbox = project(1, "");
    run(&sandbox, "one");
    let prune = |span: &str| sandbox.run(&["sessions", "prune", "--older-than", span, "--yes"]);
    assert_eq!(prune("30d"), Ran::new(0, "", "nothing was deleted\n"));
    until("a millisecond has passed", || prune("0").stderr == "1 session deleted\n");
    assert_eq!(list(&sandbox, &[]), json!([]));
    let bad = sandbox.run(&["sessions", "prune", "--older-than", "soon"]);
    assert_eq!(bad.code, 1);
    assert!(bad.stderr.contains("expected a span of time like 30s, 5m, 12h, 30d or 2w"));
    assert_eq!(sandbox.run(&["sessions", "prune", "--yes"]).code, 1);
}

#[test]
fn prune_never_deletes_what_runs_and_only_when_asked_what_was_cut_off() {
    let sandbox = waiting_project("");
    cut_off(&sandbox, "old");
    let running = started(&sandbox, "now");
    let prune = |more: &[&str]| {
        let whole = ["sessions", "prune", "--keep", "0", "--yes"].iter().chain(more);
        sandbox.run(&whole.copied().collect::<Vec<_>>()).stderr
    };
    assert_eq!(prune(&[]), "nothing was deleted\n");
    assert_eq!(prune(&["--status", "active"]), "nothing was deleted\n");
    assert_eq!(prune(&["--status", "cut-off"]), "1 session deleted\n");
    assert_eq!(names(&list(&sandbox, &[])), ["now"]);
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(running.ran().code, 0);
}

#[test]
fn a_folder_that_cannot_be_removed_keeps_its_session_and_is_named() {
    let sandbox = project(1, "");
    run(&sandbox, "stays");
    run(&sandbox, "goes");
    // A link in place of the folder of sessions is never followed.
    let (sessions, elsewhere) = (sandbox.path(".hookwright/sessions"), sandbox.path("elsewhere"));
    std::fs::rename(&sessions, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &sessions).unwrap();
    let ran = sandbox.run(&["sessions", "prune", "--keep", "1", "--yes"]);
    assert_eq!(
        ran,
        Ran::new(
            1,
            "",
            &format!(
                "error: the folder of the session `stays` cannot be removed: `{}` is a symbolic \
                 link, which is not followed for writing\n\
                 help: the session is still in the store as `deleting`; fix the folder, then prune again\n\
                 nothing was deleted\n",
                sessions.display()
            )
        )
    );
    assert!(elsewhere.join("stays/progress.md").exists());
    assert_eq!(names(&list(&sandbox, &["stays"])), ["stays"]);
    std::fs::remove_file(&sessions).unwrap();
    std::fs::rename(&elsewhere, &sessions).unwrap();
    assert_eq!(sandbox.run(&["sessions", "prune", "--keep", "1", "--yes"]).code, 0);
    assert!(!sessions.join("stays").exists());
}

#[test]
fn prune_removes_links_and_not_what_they_lead_to() {
    let sandbox = project(1, "").file("precious/file", "x");
    run(&sandbox, "one");
    let folder = sandbox.path(".hookwright/sessions/one");
    std::os::unix::fs::symlink(sandbox.path("precious"), folder.join("link")).unwrap();
    let ran = sandbox.run(&["sessions", "prune", "--keep", "0", "--yes"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "1 session deleted\n"));
    assert!(!folder.exists());
    assert!(sandbox.path("precious/file").exists());
}

#[test]
fn times_that_people_read_are_those_of_their_own_zone() {
    let sandbox = project(1, "").set("TZ", "XYZ-5:30");
    run(&sandbox, "one");
    let (_, shown) = sandbox.json(&["sessions", "show", "one", "--json"]);
    let start = shown["session"]["startTime"].as_str().unwrap();
    assert!(start.ends_with('Z'), "programs read UTC: {start}");
    // The journal begins a moment later, and a busy machine may need more than a second for that.
    let log = sandbox.run(&["sessions", "log", "one", "--json"]).stdout;
    let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let first = first["at"].as_str().unwrap();
    let read_in = |time: &str, zone: &str| {
        let at = format!("date --date={time} '+%Y-%m-%d %H:%M:%S'");
        let output = Command::new("sh").args(["-c", &at]).env("TZ", zone).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    for (words, time) in [
        (&["sessions", "list"][..], start),
        (&["sessions", "show", "one"], start),
        (&["sessions", "log", "one"], first),
    ] {
        let (here, there) = (read_in(time, "XYZ-5:30"), read_in(time, "UTC0"));
        assert_ne!(here, there);
        let ran = sandbox.run(words);
        assert!(ran.stdout.contains(&here) && !ran.stdout.contains(&there), "{words:?}: {ran:?}");
    }
}

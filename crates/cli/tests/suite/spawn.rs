//! Hooks that start pipelines: child sessions, their inputs and their results.

use std::fs;

use serde_json::{Value, json};

use crate::docs::timeless;
use crate::interrupts::{Left, start, until};
use crate::runs::{events, lines, of_session, run};
use crate::support::{Ran, Sandbox};

/// A loop `work` of this many iterations whose agent writes a line into `log`.
fn working(iterations: u32, hooks: &str) -> Sandbox {
    Sandbox::with_hooks(hooks).file(
        "work.yaml",
        format!(
            "prompt: p\ntermination: {{type: fixed, iterations: {iterations}}}\nagent: {{command: 'echo work $ITERATION >> log'}}\n"
        ),
    )
}

/// A loop `review` of one iteration with this agent.
fn reviewing(sandbox: Sandbox, agent: &str) -> Sandbox {
    let agent = agent.replace('\n', "\n    ");
    sandbox.file(
        "loops/review.yaml",
        format!(
            "prompt: 'Review ${{INPUTS.files}}.'\ntermination: {{type: fixed, iterations: 1}}\nagent:\n  command: |\n    {agent}\n"
        ),
    )
}

const FINE: &str = "echo review $SESSION >> log; echo '{\"decision\": \"stop\", \"summary\": \"all is well\"}' > $STATUS";

fn child(file: &str) -> String {
    format!("children/{file}")
}

fn json_of(sandbox: &Sandbox, file: &str) -> Value {
    serde_json::from_str(&of_session(sandbox, file)).expect("JSON")
}

/// The sessions, with how each ended.
fn sessions(sandbox: &Sandbox) -> Vec<(String, String)> {
    let (_, listed) = sandbox.json(&["sessions", "list", "--children", "--json", "--limit", "99"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = listed["sessions"].as_array().unwrap().iter();
    let mut all: Vec<_> = all.map(|it| (text(&it["name"]), text(&it["status"]))).collect();
    all.sort();
    all
}

fn ended(names: &[(&str, &str)]) -> Vec<(String, String)> {
    names.iter().map(|(name, status)| ((*name).to_owned(), (*status).to_owned())).collect()
}

// Conformance: agent-pipelines-002, agent-pipelines-042, agent-pipelines-043, agent-pipelines-044
// Conformance: agent-pipelines-050, agent-pipelines-051, agent-pipelines-052, agent-pipelines-096
// Conformance: agent-pipelines-097
#[test]
fn a_child_pipeline_runs_to_its_end_and_returns_its_output() {
    let sandbox = reviewing(
        working(
            1,
            "
hooks:
  on_iteration_complete:
    - {id: review, type: spawn, pipeline: review, inputs: {files: '${CHANGED_FILES}', parent: '${SESSION}'}}
    - {id: after, await: true, command: 'echo \"after ${SPAWN_OUTPUT.summary} $SPAWN_OUTPUT\" > after'}
",
        ),
        &format!("cat > prompt; {FINE}"),
    );
    let ran = run(&sandbox, "work.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["work 1", "review s--iteration_complete-1"]);
    let prompt = fs::read_to_string(sandbox.path("prompt")).unwrap();
    assert!(prompt.starts_with("Review log.\n"), "{prompt}");
    let folder = child("iteration_complete-1");
    assert_eq!(
        json_of(&sandbox, &format!("{folder}/inputs.json")),
        json!({ "files": "log", "parent": "s" })
    );
    let output = json!({
        "version": 1,
        "session": "s--iteration_complete-1",
        "status": "completed",
        "reason": "completed",
        "iterations": 1,
        "summary": "all is well",
        "outputs": [
            ".hookwright/sessions/s/children/iteration_complete-1/stage-00-review/iterations/001/output.md",
        ],
    });
    assert_eq!(json_of(&sandbox, &format!("{folder}/output.json")), output);
    assert_eq!(
        of_session(&sandbox, &format!("{folder}/progress.md")),
        "# Progress: s--iteration_complete-1\n"
    );
    let after = fs::read_to_string(sandbox.path("after")).unwrap();
    let after = after.strip_prefix("after all is well ").expect("the summary");
    assert_eq!(serde_json::from_str::<Value>(after).expect("JSON"), output);
    assert_eq!(
        timeless(&ran.stdout),
        "session s: work (work)
stage 1 work: at most 1 iteration
  iteration 1: the agent works
  iteration 1: continue after N s, 1 file changed
    review as session s--iteration_complete-1
    session s--iteration_complete-1: review (review)
    stage 1 review: at most 1 iteration
      iteration 1: the agent works
      iteration 1: stop after N s, 2 files changed: all is well
        iteration:complete    after                         success        Nms
    stage 1 review: completed after 1 iteration
    iteration:complete    review                        success        Nms  session s--iteration_complete-1 completed after 1 iteration
    iteration:complete    after                         success        Nms
stage 1 work: completed after 1 iteration
session s: completed
  1 iteration, hooks: 2 success, N s
  files: .hookwright/sessions/s
"
    );
}

#[test]
fn a_hook_does_not_review_the_review_that_it_has_started() {
    let sandbox = reviewing(
        working(
            1,
            "hooks: {iteration:complete: [{id: review, pipeline: review, on_failure: abort}]}",
        ),
        FINE,
    );
    run(&sandbox, "work.yaml", 0);
    assert_eq!(
        sessions(&sandbox),
        ended(&[("s", "completed"), ("s--iteration_complete-1", "completed")])
    );
    let (_, shown) = sandbox.json(&["sessions", "show", "s--iteration_complete-1", "--json"]);
    assert_eq!(shown["session"]["hooks"], json!({ "skipped": 1 }));
}

// Conformance: agent-pipelines-051, agent-pipelines-094, agent-pipelines-095, agent-pipelines-096
#[test]
fn a_child_is_isolated_from_its_parent() {
    let sandbox = reviewing(
        working(
            1,
            "
hooks:
  stage:complete:
    - {id: here, pipeline: review, inputs: {files: a, on_purpose: '${SHARED}'}}
    - {id: there, pipeline: review, working_dir: session, inputs: {files: b}}
    - {id: names, await: true, command: 'echo \"$HIDDEN\" > names'}
",
        ),
        "printf '%s\\n' \"[$HIDDEN$SHARED]\" \"$PWD\" \"$PROGRESS\" \"$SESSION_DIR\" \"$INPUTS\" > $SESSION_DIR/seen; cat $INPUTS",
    )
    .file("../.config/hookwright/secrets.env", "HIDDEN=hidden-1234\nSHARED=shared-1234\n");
    let file = sandbox.path("../.config/hookwright/secrets.env");
    std::process::Command::new("chmod").arg("600").arg(&file).status().unwrap();
    let ran = run(&sandbox, "work.yaml", 0);
    let root = sandbox.path("").display().to_string();
    let root = root.trim_end_matches('/');
    for (name, works_in) in [("stage_complete-1", None), ("stage_complete-1-2", Some(()))] {
        let folder = format!("{root}/.hookwright/sessions/s/children/{name}");
        let works_in = works_in.map_or(root, |()| &folder);
        assert_eq!(
            of_session(&sandbox, &format!("{}/seen", child(name))),
            format!("[]\n{works_in}\n{folder}/progress.md\n{folder}\n{folder}/inputs.json\n")
        );
    }
    // A hook that names a secret gets it; an input given on purpose is passed on, and never shown.
    assert_eq!(fs::read_to_string(sandbox.path("names")).unwrap(), "hidden-1234\n");
    let first = child("stage_complete-1");
    assert_eq!(json_of(&sandbox, &format!("{first}/inputs.json"))["on_purpose"], "shared-1234");
    let output = of_session(&sandbox, &format!("{first}/stage-00-review/iterations/001/output.md"));
    assert!(output.contains("\"on_purpose\": \"[secret SHARED]\""), "{output}");
    let log = sandbox.run(&["sessions", "log", "s--stage_complete-1", "--json"]);
    for text in [&ran.stdout, &ran.stderr, &log.stdout] {
        assert!(!text.contains("shared-1234") && !text.contains("hidden-1234"), "{text}");
    }
}

#[test]
fn a_loop_that_names_a_guard_of_the_user_as_its_prompt_does_not_remove_it() {
    let hooks = "hooks: {on_iteration_complete: [{id: review, type: spawn, pipeline: review}]}\n";
    let sandbox = reviewing(working(1, hooks), FINE).global(
        "hooks: {iteration:start: [{await: true, command: 'echo guarded $SESSION >> log'}]}\n",
    );
    let guards = fs::canonicalize(sandbox.path("../.config/hookwright/hooks.yaml")).unwrap();
    let review = fs::read_to_string(sandbox.path("loops/review.yaml")).unwrap();
    let prompt = format!("prompt_file: '{}'", guards.display());
    let review = review.replace("prompt: 'Review ${INPUTS.files}.'", &prompt);
    fs::write(sandbox.path("loops/review.yaml"), review).unwrap();
    run(&sandbox, "work.yaml", 0);
    assert_eq!(
        lines(&sandbox, "log"),
        [
            "guarded s",
            "work 1",
            "guarded s--iteration_complete-1",
            "review s--iteration_complete-1",
        ]
    );
}

// Conformance: agent-pipelines-002, agent-pipelines-046
#[test]
fn fire_and_forget_does_not_block_and_is_not_lost_at_the_end() {
    let sandbox = reviewing(
        working(
            2,
            "hooks: {iteration:complete: [{id: metrics, pipeline: review, await: false, when: \"${ITERATION} == 1\"}]}",
        ),
        "until grep -q 'work 2' log; do sleep 0.01; done; echo metrics >> log",
    );
    let ran = run(&sandbox, "work.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["work 1", "work 2", "metrics"]);
    assert!(ran.stdout.contains("metrics"), "{}", ran.stdout);
    assert_eq!(
        sessions(&sandbox),
        ended(&[("s", "completed"), ("s--iteration_complete-1", "completed")])
    );
}

// Conformance: agent-pipelines-048, agent-pipelines-049
#[test]
fn a_child_that_fails_is_tried_again_in_a_folder_of_its_own() {
    let hooks = "
hooks:
  stage:complete:
    - {id: review, pipeline: review, on_failure: retry, retries: 1, retry_delay: 1ms, on_exhausted: abort}
    - {id: after, await: true, when: \"${SESSION} == 's'\", command: 'echo \"${SPAWN_OUTPUT.status}\" >> log'}
";
    let again =
        "echo $SESSION >> log; mkdir tried 2>/dev/null && { echo no luck >&2; exit 1; } || true";
    let sandbox = reviewing(working(1, hooks), again);
    run(&sandbox, "work.yaml", 0);
    assert_eq!(
        lines(&sandbox, "log"),
        ["work 1", "s--stage_complete-1", "s--stage_complete-1-2", "completed"]
    );
    assert_eq!(
        sessions(&sandbox),
        ended(&[
            ("s", "completed"),
            ("s--stage_complete-1", "failed"),
            ("s--stage_complete-1-2", "completed"),
        ])
    );
    let output = json_of(&sandbox, &format!("{}/output.json", child("stage_complete-1")));
    assert_eq!(output["status"], "failed");
    assert_eq!(output["reason"], "iteration 1 failed: the agent exited with 1: no luck");

    let sandbox = reviewing(working(1, hooks), "exit 1");
    let ran = run(&sandbox, "work.yaml", 3);
    assert!(
        ran.stdout
            .contains("hook review failed in 2 attempts (session s--stage_complete-1-2 failed"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_child_that_pauses_is_not_tried_again() {
    let costs = "echo review >> log; echo '{\"decision\": \"continue\", \"usage\": {\"cost_usd\": 2}}' > $STATUS";
    let sandbox = working(
        1,
        "hooks: {stage:complete: [{id: dear, pipeline: review, on_failure: retry, retries: 2, retry_delay: 1ms}]}",
    )
    .file(
        "review.yaml",
        format!("prompt: p\nmax_cost: 1\ntermination: {{type: fixed, iterations: 2}}\nagent:\n  command: |\n    {costs}\n"),
    );
    let ran = run(&sandbox, "work.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["work 1", "review"]);
    assert_eq!(sessions(&sandbox), ended(&[("s", "completed"), ("s--stage_complete-1", "paused")]));
    let said =
        "session s--stage_complete-1 paused: the session has cost $2.00, and max_cost is $1.00";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
}

#[test]
fn a_task_that_a_childs_agent_completes_asks_the_childs_hooks() {
    let hooks = "hooks: {stage:complete: [{id: review, pipeline: review}]}";
    let sandbox = working(1, hooks).file(
        "review.yaml",
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: $HOOKWRIGHT_BIN task done 1}\nhooks: {task:complete: [{await: true, command: echo child >> log}]}\n",
    );
    assert_eq!(sandbox.run(&["task", "add", "t"]).code, 0);
    run(&sandbox, "work.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["work 1", "child"]);
}

// Conformance: agent-pipelines-047, agent-pipelines-100
#[test]
fn a_timeout_ends_the_whole_child_and_the_session_goes_on() {
    // A busy machine needs longer until the child's agent runs; then there is something to end.
    for timeout in (0..6).map(|doubled| 1 << doubled) {
        let hooks = format!(
            "
hooks:
  stage:complete:
    - {{id: slow, pipeline: review, timeout: {timeout}}}
    - {{id: after, await: true, command: 'echo \"after [$SPAWN_OUTPUT]\" >> log'}}
  session:end: [{{id: bye, await: true, command: 'echo \"$SESSION $REASON\" >> log'}}]
"
        );
        let sandbox = reviewing(
            working(1, &hooks),
            // A child of the agent that only SIGKILL ends.
            "(trap '' TERM INT HUP; echo $BASHPID > deaf; while :; do sleep 0.05; done) &\necho $$ > agent\nwait",
        );
        let left = [Left::by(&sandbox, "agent"), Left::by(&sandbox, "deaf")];
        let ran = run(&sandbox, "work.yaml", 0);
        if !left.iter().all(Left::has_run) {
            continue;
        }
        until("nothing is left", || left.iter().all(Left::is_gone));
        assert_eq!(
            lines(&sandbox, "log"),
            ["work 1", "s--stage_complete-1 interrupted", "after []", "s completed"]
        );
        let timed_out = format!("timed out after {timeout} s");
        assert!(ran.stdout.contains(&timed_out), "{}", ran.stdout);
        let (_, shown) = sandbox.json(&["sessions", "show", "s--stage_complete-1", "--json"]);
        assert_eq!(
            [&shown["session"]["status"], &shown["session"]["reason"]],
            ["interrupted", timed_out.as_str()]
        );
        return;
    }
    panic!("the child's agent never came so far as to run");
}

#[test]
fn a_child_whose_last_hooks_hang_is_ended_all_the_same() {
    // This takes half a minute, the time that a child has to end. More on a busy machine, on which
    // the child may not even have begun when its time is over.
    for timeout in (0..6).map(|doubled| 1 << doubled) {
        let hooks = format!(
            "hooks: {{stage:complete: [{{id: slow, pipeline: review, timeout: {timeout}}}]}}"
        );
        let sandbox = working(1, &hooks).file(
            "review.yaml",
            "prompt: p\nagent: {command: exec sleep 1000}\nhooks: {session:end: [{await: true, command: \"trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done\"}]}\n",
        );
        let hook = Left::by(&sandbox, "pid");
        let ran = run(&sandbox, "work.yaml", 0);
        if !hook.has_run() {
            continue;
        }
        until("nothing is left", || hook.is_gone());
        let timed_out = format!("timed out after {timeout} s");
        assert!(ran.stdout.contains(&timed_out), "{}", ran.stdout);
        let (_, shown) = sandbox.json(&["sessions", "show", "s--stage_complete-1", "--json"]);
        let session = &shown["session"];
        assert_eq!(
            [&session["status"], &session["reason"], &session["process"]],
            [&json!("interrupted"), &json!(timed_out), &Value::Null]
        );
        return;
    }
    panic!("the child's last hook never came so far as to run");
}

#[test]
fn children_start_children_at_most_five_deep() {
    let mut sandbox = Sandbox::new();
    for depth in 0..=6 {
        let next = depth + 1;
        let hook = match depth {
            6 => String::new(),
            _ => format!("hooks: {{stage:complete: [{{id: deeper, pipeline: c{next}}}]}}\n"),
        };
        sandbox = sandbox.file(
            &format!("c{depth}.yaml"),
            format!("prompt: p\ntermination: {{type: fixed, iterations: 1}}\nagent: {{command: 'echo {depth} >> log'}}\n{hook}"),
        );
    }
    let ran = run(&sandbox, "c0.yaml", 0);
    assert_eq!(lines(&sandbox, "log"), ["0", "1", "2", "3", "4", "5"]);
    assert!(
        ran.stdout.contains("sessions are already nested 5 deep: c0 → c1 → c2 → c3 → c4 → c5 → c6"),
        "{}",
        ran.stdout
    );
    // The deepest is in the folders of all its ancestors, and its name is still valid.
    let names = sessions(&sandbox);
    assert_eq!(names.len(), 6);
    assert!(names.iter().all(|(name, status)| name.len() <= 64 && status == "completed"));
    let deepest = "children/stage_complete-1/".repeat(5);
    assert_eq!(json_of(&sandbox, &format!("{deepest}output.json"))["status"], "completed");
}

#[test]
fn a_pipeline_that_would_start_itself_is_refused_before_anything_starts() {
    let looped = |next: &str| {
        format!(
            "prompt: p\nagent: {{command: 'echo ran >> log'}}\nhooks:\n  stage:complete:\n    - pipeline: {next}\n"
        )
    };
    let sandbox = Sandbox::new()
        .file("a.yaml", looped("b"))
        .file("b.yaml", looped("c"))
        .file("c.yaml", looped("b"));
    let said = "error: `b` would start itself again: b → c → b
 --> c.yaml:5:17
  |
5 |     - pipeline: b
  |                 ^
help: make one of these hooks start another pipeline, or remove it: a session cannot start itself

";
    let ran = sandbox.run(&["run", "a.yaml"]);
    assert_eq!(ran, Ran::new(1, "", &format!("{said}1 fault; nothing was started\n")));
    let ran = sandbox.run(&["check", "a.yaml"]);
    assert_eq!((ran.code, ran.stderr), (1, format!("{said}1 fault in 1 file\n")));
    assert!(lines(&sandbox, "log").is_empty());
}

#[test]
fn a_circle_through_hooks_of_the_project_is_refused_when_it_would_close() {
    let sandbox = reviewing(
        working(1, "hooks: {stage:complete: [{id: a, pipeline: review}, {id: b, pipeline: work}]}"),
        FINE,
    );
    let ran = run(&sandbox, "work.yaml", 0);
    assert_eq!(
        sessions(&sandbox),
        ended(&[("s", "completed"), ("s--stage_complete-1", "completed")])
    );
    for chain in [
        "`work` would start itself again: work → review → work",
        "`work` would start itself again: work → work",
    ] {
        assert!(ran.stdout.contains(chain), "{chain}: {}", ran.stdout);
    }
}

#[test]
fn what_a_hook_starts_has_to_be_there_before_anything_starts() {
    let sandbox =
        reviewing(working(1, "hooks:\n  stage:complete:\n    - pipeline: reveiw\n"), FINE);
    let said = "error: there is no loop or pipeline `reveiw`
 --> hookwright.yaml:3:17
  |
3 |     - pipeline: reveiw
  |                 ^^^^^^
help: did you mean `review`?

";
    let nothing = format!("{said}1 fault; nothing was started\n");
    assert_eq!(sandbox.run(&["run", "work.yaml"]), Ran::new(1, "", &nothing));
    assert_eq!(sandbox.run(&["run", "work.yaml", "--dry-run"]), Ran::new(1, "", &nothing));
    let checked = sandbox.run(&["check"]);
    assert_eq!((checked.code, checked.stderr), (1, format!("{said}1 fault in 1 file\n")));
}

#[test]
fn what_is_wrong_with_a_child_is_said_with_its_file_and_line() {
    for (hook, file, said) in [
        ("pipeline: review", "prompt: p\nagnet: x\n", "error: unknown key `agnet`"),
        (
            "pipeline: review",
            "agent: {command: 'true'}\n",
            "error: no prompt: set `prompt` or `prompt_file`\n --> loops/review.yaml:1:1",
        ),
        (
            "pipeline: review, inputs: [a]",
            "",
            "error: expected a map of inputs but found a list\n --> hookwright.yaml:1:",
        ),
        (
            "pipeline: review, working_dir: home",
            "",
            "error: expected project, session but found `home`\n --> hookwright.yaml:1:",
        ),
        ("pipeline: review, inputs: 3", "", "error: expected a map of inputs but found"),
    ] {
        let sandbox = working(1, &format!("hooks: {{stage:complete: [{{{hook}}}]}}"))
            .file("loops/review.yaml", file);
        for arguments in [&["run", "work.yaml"][..], &["check"]] {
            let (command, ran) = (arguments[0], sandbox.run(arguments));
            assert_eq!(ran.code, 1, "{command} {hook} {file}: {}", ran.stderr);
            assert!(ran.stderr.starts_with(said), "{command} {hook} {file}: {}", ran.stderr);
        }
        assert!(lines(&sandbox, "log").is_empty());
    }
}

#[test]
fn a_child_may_write_its_output_itself_and_nonsense_is_written_anew() {
    for (written, left) in [
        ("{\"findings\": [1, 2]}", json!({ "findings": [1, 2] })),
        ("nonsense", json!("completed")),
    ] {
        let sandbox = reviewing(
            working(
                1,
                "hooks: {stage:complete: [{id: review, pipeline: review, pipe_output: true}]}",
            ),
            &format!("echo '{written}' > $SESSION_DIR/output.json"),
        );
        run(&sandbox, "work.yaml", 0);
        let output = json_of(&sandbox, &format!("{}/output.json", child("stage_complete-1")));
        let found =
            if output.get("findings").is_some() { output } else { output["status"].clone() };
        assert_eq!(found, left);
    }
}

#[test]
fn what_a_child_leaves_is_piped_to_the_agent() {
    let sandbox = reviewing(
        Sandbox::with_hooks("hooks: {iteration:complete: [{id: review, pipeline: review, pipe_output: true, when: \"${ITERATION} == 1\"}]}"),
        "echo '{\"findings\": \"fix the door\"}' > $SESSION_DIR/output.json",
    )
    .file("work.yaml", "prompt: p\ntermination: {type: fixed, iterations: 2}\nagent: {command: 'cat > prompt.$ITERATION'}\n");
    run(&sandbox, "work.yaml", 0);
    let prompt = fs::read_to_string(sandbox.path("prompt.2")).unwrap();
    assert!(prompt.contains("{\"findings\":\"fix the door\"}"), "{prompt}");
}

#[test]
fn run_events_of_a_child_come_with_its_own_name() {
    let sandbox =
        reviewing(working(1, "hooks: {stage:complete: [{id: review, pipeline: review}]}"), FINE);
    let ran = sandbox.run(&["run", "work.yaml", "--session", "s", "--json"]);
    let all = events(&ran);
    let kinds = |session: &str| -> Vec<String> {
        let of_it = all.iter().filter(|event| event["session"] == session);
        let kinds = of_it.map(|event| event["kind"].as_str().unwrap().to_owned());
        kinds.filter(|kind| !kind.ends_with("output") && kind != "agent_running").collect()
    };
    assert_eq!(
        kinds("s--stage_complete-1"),
        [
            "session_started",
            "fired",
            "decided",
            "stage_started",
            "fired",
            "decided",
            "fired",
            "decided",
            "turn_starting",
            "agent_prompted",
            "turn_ended",
            "fired",
            "decided",
            "stage_ended",
            "fired",
            "hook_skipped",
            "decided",
            "fired",
            "decided",
            "fired",
            "decided",
            "session_ended",
        ]
    );
    let of_parent = kinds("s");
    let at = of_parent.iter().position(|kind| kind == "hook_spawned").unwrap();
    assert_eq!(of_parent[at - 1..=at + 1], ["hook_starting", "hook_spawned", "hook_ended"]);
    let spawned = all.iter().find(|event| event["kind"] == "hook_spawned").unwrap();
    assert_eq!(
        [&spawned["hook"], &spawned["child"], &spawned["pipeline"]],
        ["review", "s--stage_complete-1", "review"]
    );
}

#[test]
fn children_belong_to_their_parents_in_every_list() {
    let sandbox = reviewing(
        working(1, "hooks: {stage:complete: [{id: review, pipeline: review}]}"),
        "exit 1",
    );
    run(&sandbox, "work.yaml", 0);
    let names = |arguments: &[&str]| -> Vec<String> {
        let listed = sandbox.run(&[&["sessions", "list"], arguments].concat());
        let rows = listed.stdout.lines().skip(1);
        rows.map(|row| row.split_whitespace().next().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&[]), ["s"]);
    assert_eq!(names(&["--children"]), ["s--stage_complete-1", "s"]);
    let shown = sandbox.run(&["sessions", "show", "s--stage_complete-1"]);
    assert!(shown.stdout.contains("\n  started by hook review of session s\n"), "{}", shown.stdout);
    let (_, shown) = sandbox.json(&["sessions", "show", "s--stage_complete-1", "--json"]);
    let session = &shown["session"];
    assert_eq!(session["parent"], json!({ "session": "s", "hook": "review" }));
    assert_eq!(session["folder"], ".hookwright/sessions/s/children/stage_complete-1");
    assert_eq!([&session["command"], &session["args"][0]], ["spawn", "review"]);
    // The child has failed, but nothing of it continues: its parent is done.
    let (_, status) = sandbox.json(&["status", "--json"]);
    assert_eq!(status["resumable"], json!([]));
    for command in ["resume", "stop"] {
        assert_eq!(
            sandbox.run(&[command, "s--stage_complete-1"]),
            Ran::new(
                1,
                "",
                "error: `s--stage_complete-1` is part of session `s`: a hook of that session started it\nhelp: session `s` is completed, so there is nothing to resume\n"
            )
        );
    }
    let ran = sandbox.run(&["sessions", "prune", "--keep", "0", "--yes"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "1 session deleted\n"));
    assert_eq!(sessions(&sandbox), []);
    assert!(!sandbox.path(".hookwright/sessions/s").exists());
}

#[test]
fn hooks_that_are_switched_off_stay_so_in_children() {
    let sandbox = reviewing(
        working(
            1,
            "hooks: {stage:complete: [{id: review, pipeline: review}, {id: log, await: true, command: 'echo hook >> log'}]}",
        ),
        FINE,
    );
    let ran = sandbox.run(&["run", "work.yaml", "--session", "s", "--skip", "log"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(lines(&sandbox, "log"), ["work 1", "review s--stage_complete-1"]);
}

#[test]
fn a_child_may_be_a_pipeline_with_hooks_of_its_own() {
    let sandbox = working(1, "hooks: {stage:complete: [{id: review, pipeline: ./checks, when: \"${STAGE} == 'work'\"}]}")
        .file(
            "checks/pipeline.yaml",
            "stages: [{name: read, loop: one}, {name: judge, inputs: {from: read}, loop: one}]\nhooks: {session:end: [{await: true, command: 'echo \"end $SESSION $REASON\" >> log'}]}\n",
        )
        .file(
            "checks/loops/one.yaml",
            "prompt: '${INPUTS}|${INPUTS.read}'\nagent: {command: 'echo \"$STAGE $(head -n 1)\" >> log'}\n",
        );
    run(&sandbox, "work.yaml", 0);
    let folder = sandbox.path(".hookwright/sessions/s/children/stage_complete-1");
    let log =
        fs::read_to_string(sandbox.path("log")).unwrap().replace(folder.to_str().unwrap(), "F");
    assert_eq!(
        log,
        "work 1
read F/inputs.json|
judge F/inputs.json
end s--stage_complete-1 completed
"
    );
}

/// A child whose agent hangs in its second iteration until there is a file `go`.
fn hanging_child(hooks: &str) -> Sandbox {
    working(1, hooks).file(
        "loops/review.yaml",
        "prompt: p\ntermination: {type: fixed, iterations: 3}\nagent: {command: 'echo review $ITERATION $HOOKWRIGHT_ATTEMPT $(cat $INPUTS | tr -d \" \\n\") >> log; if [ $ITERATION = 2 ] && [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi'}\n",
    )
}

const AWAITED: &str = "hooks: {stage:complete: [{id: review, pipeline: review, inputs: {at: '${TIMESTAMP}'}}, {id: after, await: true, when: \"${SESSION} == 's'\", command: 'echo \"after ${SPAWN_OUTPUT.iterations}\" >> log'}]}";

/// The log, with the inputs as `I`, since they are the same everywhere.
fn log_of(sandbox: &Sandbox) -> Vec<String> {
    let log = lines(sandbox, "log");
    let inputs = log.iter().find_map(|line| Some(&line[line.find('{')?..])).unwrap_or("none");
    let inputs = inputs.to_owned();
    log.iter().map(|line| line.replace(&inputs, "I")).collect()
}

#[test]
fn a_session_that_is_interrupted_takes_its_child_with_it_and_up_again() {
    let sandbox = hanging_child(AWAITED);
    let agent = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "work.yaml", "--session", "s"]);
    until("the child's agent runs", || agent.has_run());
    // `stop` of the child names its parent.
    let refused = sandbox.run(&["stop", "s--stage_complete-1"]);
    assert!(refused.stderr.ends_with("help: `hookwright stop s`\n"), "{}", refused.stderr);
    let stopped = sandbox.run(&["stop", "s"]);
    assert_eq!(stopped.code, 0, "{}", stopped.stderr);
    assert_eq!(started.ran().code, 130);
    until("nothing is left", || agent.is_gone());
    assert_eq!(
        sessions(&sandbox),
        ended(&[("s", "interrupted"), ("s--stage_complete-1", "interrupted")])
    );
    let refused = sandbox.run(&["resume", "s--stage_complete-1"]);
    assert!(refused.stderr.ends_with("help: `hookwright resume s`\n"), "{}", refused.stderr);
    fs::write(sandbox.path("go"), "").unwrap();
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        log_of(&sandbox),
        ["work 1", "review 1 1 I", "review 2 1 I", "review 2 2 I", "review 3 1 I", "after 3"]
    );
    assert_eq!(
        sessions(&sandbox),
        ended(&[("s", "completed"), ("s--stage_complete-1", "completed")])
    );
}

#[test]
fn a_session_that_is_interrupted_while_it_waits_for_a_child_in_the_background_has_not_completed() {
    let sandbox =
        hanging_child("hooks: {stage:complete: [{id: review, pipeline: review, await: false}]}");
    let agent = Left::by(&sandbox, "pid");
    let mut started = start(&sandbox, &["run", "work.yaml", "--session", "s"]);
    started.wait_for_words("note: waiting for background hooks: review\n");
    until("the child's agent runs", || agent.has_run());
    started.signal("-INT");
    let ran = started.ran();
    assert_eq!(ran.code, 130);
    let said = "session s: interrupted (background hooks had not finished: review)\n";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
    until("nothing is left", || agent.is_gone());
    assert_eq!(
        sessions(&sandbox),
        ended(&[("s", "interrupted"), ("s--stage_complete-1", "interrupted")])
    );
    fs::write(sandbox.path("go"), "").unwrap();
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let log = lines(&sandbox, "log");
    let of = |word: &str| log.iter().filter(|line| line.starts_with(word)).collect::<Vec<_>>();
    assert_eq!(of("work"), ["work 1"]);
    assert_eq!(of("review"), ["review 1 1 {}", "review 2 1 {}", "review 2 2 {}", "review 3 1 {}"]);
    assert_eq!(
        sessions(&sandbox),
        ended(&[("s", "completed"), ("s--stage_complete-1", "completed")])
    );
}

#[test]
fn a_session_that_was_killed_takes_its_child_up_again_and_repeats_nothing() {
    for hooks in [
        AWAITED.to_owned(),
        AWAITED.replace("pipeline: review,", "pipeline: review, await: false,"),
    ] {
        let sandbox = hanging_child(&hooks);
        let agent = Left::by(&sandbox, "pid");
        let started = start(&sandbox, &["run", "work.yaml", "--session", "s"]);
        until("the child's agent runs", || agent.has_run());
        started.kill();
        assert_eq!(
            sessions(&sandbox),
            ended(&[("s", "cut_off"), ("s--stage_complete-1", "cut_off")])
        );
        // The child's configuration is stored, so its file does not matter any more.
        fs::write(sandbox.path("loops/review.yaml"), "nonsense").unwrap();
        fs::write(sandbox.path("go"), "").unwrap();
        let ran = sandbox.run(&["resume", "s"]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        until("nothing is left", || agent.is_gone());
        let log = log_of(&sandbox);
        let reviews: Vec<&String> = log.iter().filter(|line| line.starts_with("review")).collect();
        assert_eq!(reviews, ["review 1 1 I", "review 2 1 I", "review 2 2 I", "review 3 1 I"]);
        assert_eq!(log.iter().filter(|line| line.starts_with("after")).count(), 1, "{log:?}");
        assert_eq!(
            sessions(&sandbox),
            ended(&[("s", "completed"), ("s--stage_complete-1", "completed")])
        );
    }
}

#[test]
fn a_child_of_a_child_is_resumed_where_it_was() {
    let sandbox = hanging_child("hooks: {}")
        .file(
            "work.yaml",
            "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'echo work >> log'}\nhooks: {stage:complete: [{pipeline: middle}]}\n",
        )
        .file(
            "middle.yaml",
            "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'echo middle >> log'}\nhooks: {iteration:complete: [{pipeline: review, inputs: {a: 1}}]}\n",
        );
    let agent = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "work.yaml", "--session", "s"]);
    until("the innermost agent runs", || agent.has_run());
    started.kill();
    fs::write(sandbox.path("go"), "").unwrap();
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        log_of(&sandbox),
        ["work", "middle", "review 1 1 I", "review 2 1 I", "review 2 2 I", "review 3 1 I"]
    );
    let deepest = "s--stage_complete-1--iteration_complete-1";
    assert_eq!(
        sessions(&sandbox),
        ended(&[("s", "completed"), ("s--stage_complete-1", "completed"), (deepest, "completed")])
    );
    let refused = sandbox.run(&["resume", deepest]);
    assert!(refused.stderr.contains("is part of session `s`"), "{}", refused.stderr);
}

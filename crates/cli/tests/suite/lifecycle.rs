//! A session's stages and iterations: the order of its events, what hooks and agents know at each,
//! and its files.

use std::process::Command;

use serde_json::{Value, json};

use crate::runs::{KEEPS_PROMPTS, lines, logged, of_session, prompts, run};
use crate::support::Sandbox;

/// A project whose hooks write one line for every event into `log`.
fn logging(what: &str) -> Sandbox {
    Sandbox::with_hooks(&format!(
        "hooks: {{'*': [{{id: log, await: true, command: 'echo \"$EVENT {what}\" >> log'}}]}}"
    ))
}

// Conformance: agent-pipelines-004, agent-pipelines-005, agent-pipelines-006, agent-pipelines-101
// Conformance: agent-pipelines-097
#[test]
fn a_loop_fires_its_events_in_order() {
    let sandbox =
        logging("$ITERATION").file("loop.yaml", "prompt: p\nagent: {command: 'echo agent >> log'}\ntermination: {type: fixed, iterations: 2}\n");
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(
        lines(&sandbox, "log"),
        [
            "session:start 0",
            "stage:start 0",
            "iteration:start 1",
            "agent",
            "iteration:complete 1",
            "iteration:start 2",
            "agent",
            "iteration:complete 2",
            "stage:complete 2",
            "session:stop 2",
            "session:end 2",
        ]
    );
}

// Conformance: agent-pipelines-006, agent-pipelines-007, agent-pipelines-009, agent-pipelines-010
// Conformance: agent-pipelines-061, agent-pipelines-063, agent-pipelines-067
#[test]
fn a_pipeline_fires_its_events_in_order_with_what_is_known_at_each() {
    let what = "$SESSION stage=$STAGE next=$NEXT_STAGE $ITERATION/$MAX_ITERATIONS last=$LAST_DECISION \
                hook=$LAST_HOOK_STATUS error=$ERROR reason=$REASON source=$SOURCE";
    let sandbox = logging(what)
        .file(
            "pipeline.yaml",
            "name: two
stages:
  - {name: plan, runs: 2, loop: {prompt: p, agent: {script: turns.yaml}}}
  - {name: work, loop: {prompt: p, agent: {script: turns.yaml}}}
",
        )
        .file(
            "turns.yaml",
            "turns:
  - {stage: plan, do: [{status: {decision: continue}}]}
  - {stage: plan, do: [{status: {decision: stop}}]}
  - {stage: work, do: [{fail: broken}]}
",
        );
    run(&sandbox, ".", 5);
    let error = "the agent exited with 1: broken";
    let ended = format!("iteration 1 failed: {error}");
    assert_eq!(
        lines(&sandbox, "log"),
        [
            "session:start s stage= next= 0/ last= hook= error= reason= source=startup".to_owned(),
            "stage:start s stage=plan next=work 0/2 last= hook=success error= reason= source=".into(),
            "iteration:start s stage=plan next=work 1/2 last= hook=success error= reason= source=".into(),
            "iteration:complete s stage=plan next=work 1/2 last=continue hook=success error= reason= source=".into(),
            "iteration:start s stage=plan next=work 2/2 last=continue hook=success error= reason= source=".into(),
            "iteration:complete s stage=plan next=work 2/2 last=stop hook=success error= reason= source=".into(),
            "stage:complete s stage=plan next=work 2/2 last=stop hook=success error= reason= source=".into(),
            "stage:start s stage=work next= 0/1 last=stop hook=success error= reason= source=".into(),
            "iteration:start s stage=work next= 1/1 last=stop hook=success error= reason= source=".into(),
            format!("iteration:error s stage=work next= 1/1 last=error hook=success error={error} reason= source="),
            format!("session:stop s stage= next= 3/ last=error hook=success error={ended} reason=error source="),
            format!("session:end s stage= next= 3/ last=error hook=success error={ended} reason=failed source="),
        ]
    );
}

// Conformance: agent-pipelines-062, agent-pipelines-068
#[test]
fn hooks_know_the_files_of_their_iteration() {
    let sandbox = logging("$PROGRESS|$STATUS|$CTX|$STAGE_OUTPUTS|$SESSION_DIR|$TIMESTAMP").file(
        "loop.yaml",
        "name: work\nprompt: p\nagent: {command: 'true'}\ntermination: {type: fixed, iterations: 2}\n",
    );
    run(&sandbox, "loop.yaml", 0);
    let log = lines(&sandbox, "log");
    let line = logged(&log, "iteration:complete")[0].to_owned();
    let parts: Vec<&str> = line.split('|').collect();
    let folder = sandbox.path(".hookwright/sessions/s");
    let at = |file: &str| folder.join(file).display().to_string();
    let iteration = "stage-00-work/iterations/001";
    assert_eq!(
        parts[..5],
        [
            at("progress.md"),
            at(&format!("{iteration}/status.json")),
            at(&format!("{iteration}/context.json")),
            format!(".hookwright/sessions/s/{iteration}/output.md"),
            folder.display().to_string(),
        ]
    );
    // ISO 8601 in UTC.
    let shape: String =
        parts[5].chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000Z");
}

// Conformance: agent-pipelines-066
#[test]
fn a_completed_stage_names_all_its_outputs_and_the_next_one_reads_them() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {stage:complete: [{await: true, command: 'printf \"%s\\n\" \"$STAGE\" \"$STAGE_OUTPUTS\" >> log'}]}",
    )
    .file(
        "pipeline.yaml",
        format!(
            "stages:
  - {{name: plan, runs: 2, loop: {{prompt: p, agent: {{command: 'echo \"plan $ITERATION\"'}}}}}}
  - {{name: all, inputs: {{from: plan, select: all}}, loop: {{prompt: \"${{INPUTS.plan}}\", agent: {KEEPS_PROMPTS}}}}}
  - {{name: latest, inputs: {{from: plan}}, loop: {{prompt: \"${{INPUTS}}\", agent: {KEEPS_PROMPTS}}}}}
"
        ),
    );
    run(&sandbox, ".", 0);
    let output = |stage: &str, number| {
        format!(".hookwright/sessions/s/stage-{stage}/iterations/00{number}/output.md")
    };
    assert_eq!(
        lines(&sandbox, "log"),
        [
            "plan".to_owned(),
            output("00-plan", 1),
            output("00-plan", 2),
            "all".to_owned(),
            output("01-all", 1),
            "latest".to_owned(),
            output("02-latest", 1),
        ]
    );
    let whole = |number| sandbox.path(&output("00-plan", number)).display().to_string();
    let prompts = prompts(&sandbox);
    assert!(prompts[0].starts_with(&format!("{}\n{}\n\n", whole(1), whole(2))), "{}", prompts[0]);
    assert!(prompts[1].starts_with(&format!("{}\n\n", whole(2))), "{}", prompts[1]);
    assert_eq!(std::fs::read_to_string(whole(2)).unwrap(), "plan 2\n");
}

#[test]
fn an_agent_has_the_variables_in_its_environment_and_in_its_prompt() {
    let sandbox = Sandbox::with_hooks("hooks: {iteration:start: [{await: true, command: 'exit 1'}]}")
        .file(
            "pipeline.yaml",
            "stages:
  - {name: one, loop: {prompt: p, agent: {command: 'echo \"{\\\"decision\\\": \\\"stop\\\"}\" > $STATUS'}}}
  - name: two
    runs: 3
    loop:
      prompt: |
        ${SESSION} ${STAGE} ${NEXT_STAGE} ${ITERATION}/${MAX_ITERATIONS} ${LAST_DECISION} ${LAST_HOOK_STATUS}
        ${PROGRESS} ${STATUS} ${CTX} ${OUTPUT}
        ${STAGE_OUTPUTS}
        $(code) ${HOME} ${x:-y} `${HOOKWRIGHT_STAGE}`
      agent: {command: 'cat > prompt; cp prompt prompt.$ITERATION; (echo \"$SESSION $STAGE $NEXT_STAGE $ITERATION/$MAX_ITERATIONS $LAST_DECISION $LAST_HOOK_STATUS\"; echo \"$PROGRESS $STATUS $CTX $OUTPUT\"; echo \"$STAGE_OUTPUTS\"; echo \"$HOOKWRIGHT_ATTEMPT $HOOKWRIGHT_STAGE $PWD\") > env.$ITERATION'}
  - {name: three, loop: {prompt: p, agent: {command: 'true'}}}
",
        );
    run(&sandbox, ".", 0);
    let folder = sandbox.path(".hookwright/sessions/s").display().to_string();
    let at = format!("{folder}/stage-01-two/iterations/002");
    let known = format!(
        "s two three 2/3 continue failed
{folder}/progress.md {at}/status.json {at}/context.json {at}/output.md
.hookwright/sessions/s/stage-01-two/iterations/001/output.md
"
    );
    let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).unwrap();
    let root = sandbox.path(".").canonicalize().unwrap();
    assert_eq!(read("env.2"), format!("{known}1 two {}\n", root.display()));
    assert_eq!(read("prompt.2"), format!("{known}$(code) ${{HOME}} ${{x:-y}} `two`\n"));
    // The stage before is the last one that has decided.
    assert!(read("env.1").starts_with("s two three 1/3 stop failed\n"), "{}", read("env.1"));
}

#[test]
fn a_prompt_that_does_not_say_where_the_status_goes_is_told() {
    let sandbox = Sandbox::new().file(
        "loop.yaml",
        format!("prompt: the task\nmax_iterations: 1\nagent: {KEEPS_PROMPTS}\n"),
    );
    run(&sandbox, "loop.yaml", 0);
    let status = sandbox.path(".hookwright/sessions/s/stage-00-project/iterations/001/status.json");
    let prompt = &prompts(&sandbox)[0];
    assert!(prompt.starts_with("the task\n\nWhen you have done"), "{prompt}");
    assert!(prompt.contains(&status.display().to_string()), "{prompt}");
}

fn git(sandbox: &Sandbox, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
    let ended = command.current_dir(sandbox.path(".")).env("HOME", "/nowhere").output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

// Conformance: agent-pipelines-065
#[test]
fn changed_files_are_those_of_the_iteration_committed_or_not_in_git_and_outside() {
    let commit = "git -c user.name=a -c user.email=a@b";
    for is_git in [true, false] {
        let commits = if is_git {
            format!("git add committed; {commit} commit -qm x committed;")
        } else {
            String::new()
        };
        let sandbox = Sandbox::with_hooks(
            "hooks: {iteration:complete: [{await: true, command: 'echo $CHANGED_FILES >> ../log; echo noise > noise.$ITERATION'}]}",
        )
        .file("old", "old")
        .file("gone", "gone")
        .file(
            "loop.yaml",
            format!(
                "prompt: p\ntermination: {{type: fixed, iterations: 2}}\nagent: {{command: 'if [ $ITERATION = 1 ]; then echo x > committed; {commits} echo y > new; echo z > old; rm gone; else echo more >> new; fi'}}\n"
            ),
        );
        if is_git {
            git(&sandbox, &["init", "-q"]);
            git(&sandbox, &["add", "."]);
            git(&sandbox, &["commit", "-qm", "first"]);
        }
        run(&sandbox, "loop.yaml", 0);
        // Neither the session's own files nor those that hooks wrote meanwhile.
        assert_eq!(lines(&sandbox, "../log"), ["committed gone new old", "new"], "git: {is_git}");
    }
}

// Conformance: agent-pipelines-008
#[test]
fn only_good_ends_wake_on_session_complete() {
    for (text, code, woken) in [
        ("agent: {command: 'true'}\ntermination: {type: fixed, iterations: 1}", 0, true),
        ("agent: {command: 'true'}\nmax_iterations: 1", 0, true),
        ("agent: {command: 'exit 3'}", 5, false),
        ("agent: {command: 'sleep 1000'}\nmax_runtime: 100ms", 0, false),
        (
            "agent: {command: 'true'}\nhooks: {iteration:start: [{command: exit 1, on_failure: abort}]}",
            3,
            false,
        ),
    ] {
        let sandbox = Sandbox::with_hooks(
            "hooks: {on_session_complete: [{command: touch complete}], session:end: [{command: touch ended}]}",
        )
        .file("loop.yaml", format!("prompt: p\n{text}\n"));
        run(&sandbox, "loop.yaml", code);
        assert_eq!(sandbox.path("complete").exists(), woken, "{text}");
        assert!(sandbox.path("ended").exists(), "{text}");
    }
}

// Conformance: agent-pipelines-074, agent-pipelines-075
#[test]
fn hooks_run_from_the_loop_outwards_and_those_of_a_stage_only_there() {
    let hook = |name: &str| format!("{{await: true, command: 'echo {name} $STAGE >> log'}}");
    let all = |name: &str| {
        format!("hooks: {{iteration:complete: [{}], session:end: [{}]}}", hook(name), hook(name))
    };
    let sandbox = Sandbox::with_hooks(&all("project")).global(&all("global"))
        .file(
            "pipeline.yaml",
            format!(
                "stages:\n  - {{name: a, loop: one}}\n  - name: b\n    loop: {{prompt: p, agent: {{command: 'true'}}, {}}}\n  - {{name: c, loop: {{prompt: p, agent: {{command: 'true'}}}}}}\n{}\n",
                all("inline"),
                all("pipeline")
            ),
        )
        .file("one.yaml", format!("prompt: p\nagent: {{command: 'true'}}\n{}\n", all("loop")));
    run(&sandbox, ".", 0);
    assert_eq!(
        lines(&sandbox, "log"),
        [
            "loop a",
            "pipeline a",
            "project a",
            "global a",
            "inline b",
            "pipeline b",
            "project b",
            "global b",
            "pipeline c",
            "project c",
            "global c",
            "pipeline",
            "project",
            "global",
        ]
    );
}

// Conformance: agent-pipelines-078, agent-pipelines-099
#[test]
fn a_loop_can_switch_the_users_hooks_off_for_its_stage() {
    let sandbox = Sandbox::new()
        .global("hooks: {iteration:complete: [{await: true, command: echo $STAGE >> log}]}")
        .file("pipeline.yaml", "stages: [{name: a, loop: quiet}, {name: b, loop: {prompt: p, agent: {command: 'true'}}}]")
        .file("quiet.yaml", "prompt: p\nagent: {command: 'true'}\ndisable_global_hooks: true\n");
    run(&sandbox, ".", 0);
    assert_eq!(lines(&sandbox, "log"), ["b"]);
    let sandbox = Sandbox::new()
        .global("hooks: {'*': [{await: true, on_failure: continue, command: echo $EVENT >> log}]}")
        .file(
            "loop.yaml",
            "prompt: p\nagent: {command: 'true'}\ndisable_global_hooks: true\nmax_iterations: 1\n",
        );
    run(&sandbox, "loop.yaml", 0);
    // A stop can be blocked, so the user's hooks still run there.
    assert_eq!(lines(&sandbox, "log"), ["session:stop"]);
}

#[test]
fn a_session_leaves_its_files() {
    let sandbox = Sandbox::new()
        .file(
            "pipeline.yaml",
            "name: full
stages:
  - {name: plan, runs: 2, loop: {prompt: p, agent: {script: turns.yaml}}}
  - {name: work, inputs: {from: plan}, loop: {prompt: p, agent: {command: 'echo mine > $OUTPUT; echo printed'}, max_runtime: 1h}}
",
        )
        .file("turns.yaml", "turns: [[{say: 'turn ${ITERATION}'}, {status: {decision: continue, summary: done}}]]");
    run(&sandbox, ".", 0);
    assert!(of_session(&sandbox, "progress.md").contains('s'));
    assert_eq!(of_session(&sandbox, "stage-00-plan/iterations/002/output.md"), "turn 2\n");
    let read = |file: &str| -> Value { serde_json::from_str(&of_session(&sandbox, file)).unwrap() };
    assert_eq!(
        read("stage-00-plan/iterations/001/status.json"),
        json!({"decision": "continue", "summary": "done"})
    );
    // The agent's own file stays.
    assert_eq!(of_session(&sandbox, "stage-01-work/iterations/001/output.md"), "mine\n");
    let folder = sandbox.path(".hookwright/sessions/s").display().to_string();
    let mut context = read("stage-01-work/iterations/001/context.json");
    let left = context["limits"]["remaining_seconds"].take().as_u64().unwrap();
    assert!((3500..=3600).contains(&left), "{left}");
    let output = |number| format!("{folder}/stage-00-plan/iterations/00{number}/output.md");
    assert_eq!(context["session"], "s");
    assert_eq!(context["pipeline"], "full");
    assert_eq!(context["stage"], json!({"id": "work", "index": 1, "template": "work"}));
    assert_eq!(context["iteration"], 1);
    assert_eq!(context["inputs"]["from_stage"], json!({"plan": [output(2)]}));
    assert_eq!(context["limits"], json!({"max_iterations": 1, "remaining_seconds": null}));
    let earlier = read("stage-00-plan/iterations/002/context.json");
    assert_eq!(earlier["inputs"]["from_previous_iterations"], json!([output(1)]));
}

#[test]
fn skipped_and_switched_off_hooks_do_not_run() {
    let hooks = "hooks: {session:start: [{id: a, await: true, command: touch a}, {id: b, await: true, command: touch b}]}";
    let text = "prompt: p\nagent: {command: 'true'}\nmax_iterations: 1\n";
    let sandbox = Sandbox::with_hooks(hooks).file("loop.yaml", text);
    let ran = sandbox.run(&["run", "loop.yaml", "--skip", "a", "--skip", "c"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "warning: --skip: no hook has the id `c`\n"));
    assert!(!sandbox.path("a").exists() && sandbox.path("b").exists());
    let sandbox = Sandbox::with_hooks(hooks).file("loop.yaml", text);
    let ran = sandbox.run(&["run", "loop.yaml", "--no-hooks"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "hooks are switched off (--no-hooks)\n"));
    assert!(!sandbox.path("a").exists() && !sandbox.path("b").exists());
}

//! What `run` finds, and what it prints before anything starts.

use crate::runs::{KEEPS_PROMPTS, prompts, run};
use crate::support::{Ran, Sandbox};

const LOOP: &str = "prompt: p\nagent: {command: 'touch ran'}\nmax_iterations: 1\n";

#[test]
fn a_loop_or_pipeline_is_found_by_path_folder_or_name() {
    let pipeline = "stages: [{name: a, loop: {prompt: p, agent: {command: 'touch ran'}}}]";
    for (file, text, asked) in [
        ("loop.yaml", LOOP, "loop.yaml"),
        ("loop.yml", LOOP, "loop.yml"),
        ("x/loop.yaml", LOOP, "x"),
        ("x/loop.yaml", LOOP, "./x"),
        ("x/loop.yaml", LOOP, "x/"),
        (
            "x/loop.json",
            r#"{"prompt": "p", "agent": {"command": "touch ran"}, "max_iterations": 1}"#,
            "x",
        ),
        ("x/pipeline.yaml", pipeline, "x"),
        ("pipeline.yaml", pipeline, "."),
        ("x.yaml", LOOP, "x"),
        ("x.yaml", pipeline, "x"),
        ("x.yaml", pipeline, "x.yaml"),
        ("loops/x.yaml", LOOP, "x"),
        ("loops/x/loop.yaml", LOOP, "x"),
        ("pipelines/x.yaml", pipeline, "x"),
        ("pipelines/x/pipeline.yaml", pipeline, "x"),
        (".hookwright/x.yaml", LOOP, "x"),
        (".hookwright/x/loop.yaml", LOOP, "x"),
        ("../.config/hookwright/x.yaml", LOOP, "x"),
        ("../.config/hookwright/x/pipeline.yaml", pipeline, "x"),
    ] {
        let sandbox = Sandbox::new().file(file, text);
        let ran = sandbox.run(&["run", asked]);
        assert_eq!(ran.code, 0, "{file} as {asked}: {}{}", ran.stdout, ran.stderr);
        assert!(sandbox.path("ran").exists(), "{file} as {asked}");
    }
}

#[test]
fn a_program_beside_is_no_loop_of_its_name() {
    let sandbox = Sandbox::new().file("x", "#!/bin/sh\n").file("loops/x.yaml", LOOP);
    assert_eq!(run(&sandbox, "x", 0).stderr, "");
}

#[test]
fn the_nearest_file_is_found_first() {
    let says = |word: &str| format!("prompt: {word}\nagent: {KEEPS_PROMPTS}\nmax_iterations: 1\n");
    let sandbox = Sandbox::new()
        .file("x.yaml", says("one"))
        .file("loops/x.yaml", says("two"))
        .file(".hookwright/x.yaml", says("three"))
        .file("../.config/hookwright/x.yaml", says("four"));
    for file in ["x.yaml", "loops/x.yaml", ".hookwright/x.yaml", "../.config/hookwright/x.yaml"] {
        assert_eq!(sandbox.run(&["run", "x"]).code, 0);
        std::fs::remove_file(sandbox.path(file)).unwrap();
    }
    let prompts = prompts(&sandbox);
    let told: Vec<&str> = prompts.iter().filter_map(|prompt| prompt.lines().next()).collect();
    assert_eq!(told, ["one", "two", "three", "four"]);
}

#[test]
fn stages_name_their_loops_as_seen_from_the_pipeline() {
    let says = |word: &str| format!("prompt: {word}\nagent: {KEEPS_PROMPTS}\n");
    let sandbox = Sandbox::new()
        .file(
            "flows/full/pipeline.yaml",
            "stages: [{loop: beside}, {loop: below}, {name: path, loop: ../other/loop.yaml}, {loop: of-project}, {loop: of-user}]",
        )
        .file("flows/full/beside.yaml", says("beside"))
        .file("flows/full/loops/below/loop.yaml", says("below"))
        .file("flows/other/loop.yaml", says("path"))
        .file(".hookwright/of-project.yaml", says("of-project"))
        .file("../.config/hookwright/of-user.yaml", says("of-user"));
    run(&sandbox, "flows/full", 0);
    let prompts = prompts(&sandbox);
    let told: Vec<&str> = prompts.iter().filter_map(|prompt| prompt.lines().next()).collect();
    assert_eq!(told, ["beside", "below", "path", "of-project", "of-user"]);
}

#[test]
fn a_prompt_is_in_the_loop_in_a_file_it_names_or_beside_it() {
    for (text, file) in [
        ("prompt: told", "unread.md"),
        ("prompt_file: ../told.md", "told.md"),
        ("name: x", "a/prompt.md"),
    ] {
        let sandbox = Sandbox::new()
            .file("a/loop.yaml", format!("{text}\nmax_iterations: 1\nagent: {KEEPS_PROMPTS}\n"))
            .file(file, "told");
        run(&sandbox, "a", 0);
        assert!(prompts(&sandbox)[0].starts_with("told\n\n"), "{text}");
    }
    let sandbox = Sandbox::new()
        .file("work.yaml", format!("max_iterations: 1\nagent: {KEEPS_PROMPTS}\n"))
        .file("work.md", "told");
    run(&sandbox, "work", 0);
    assert!(prompts(&sandbox)[0].starts_with("told\n\n"));
}

#[test]
fn the_agent_is_the_loops_the_command_lines_or_the_projects() {
    let project = "agent: {command: 'echo project >> who'}";
    for (own, given, who) in [
        ("agent: {command: 'echo own >> who'}\n", Some("echo given >> who"), "own"),
        ("", Some("echo given >> who"), "given"),
        ("", None, "project"),
    ] {
        let sandbox = Sandbox::with_hooks(project)
            .file("loop.yaml", format!("prompt: p\nmax_iterations: 1\n{own}"));
        let mut arguments = vec!["run", "loop.yaml"];
        arguments.extend(given.iter().flat_map(|given| ["--agent", *given]));
        assert_eq!(sandbox.run(&arguments).code, 0);
        assert_eq!(crate::runs::lines(&sandbox, "who"), [who]);
    }
}

/// Standard error of a run of this loop that must not start anything.
fn refused(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let ran = sandbox.run(arguments);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(!sandbox.path(".hookwright/sessions").exists(), "something was started");
    assert!(!sandbox.path("ran").exists(), "something was started");
    ran.stderr
}

#[test]
fn everything_is_checked_before_anything_starts_and_every_fault_is_shown() {
    let sandbox = Sandbox::new()
        .file(
            "pipeline.yaml",
            "name: x
stages:
  - {name: first, loop: {prompt: p, agent: {command: touch ran}}}
  - {loop: nope}
  - {loop: other}
  - {name: b, loop: {prompt_file: p.md, agent: {script: s.yaml}}}
",
        )
        .file(
            "loops/other.yaml",
            "agent: {command: 'nope-program x'}\ntermination: {type: queue, source: {issues: nowhere}}\n",
        );
    let expected = "error: there is no loop `nope`
 --> pipeline.yaml:4:12
  |
4 |   - {loop: nope}
  |            ^^^^
help: looked in `~/project`, `loops`, `pipelines`, `.hookwright`, `~/.config/hookwright`

error: there is no prompt file `p.md`
 --> pipeline.yaml:6:35
  |
6 |   - {name: b, loop: {prompt_file: p.md, agent: {script: s.yaml}}}
  |                                   ^^^^
help: create it, or name another one

error: there is no script `s.yaml`
 --> pipeline.yaml:6:48
  |
6 |   - {name: b, loop: {prompt_file: p.md, agent: {script: s.yaml}}}
  |                                                ^
help: create it, or name another one

error: there is no folder of issues `nowhere`
 --> loops/other.yaml:2:45
  |
2 | termination: {type: queue, source: {issues: nowhere}}
  |                                             ^^^^^^^
help: create it, or name another one

error: no prompt: set `prompt` or `prompt_file`
 --> loops/other.yaml:1:1
  |
1 | agent: {command: 'nope-program x'}
  | ^
help: write `prompt: …` or `prompt_file: …`, or put a file `prompt.md` beside loop.yaml

error: cannot find the program `nope-program`
 --> loops/other.yaml:1:8
  |
1 | agent: {command: 'nope-program x'}
  |        ^
help: install it, or check that it is in PATH: `which nope-program`

6 faults; nothing was started
";
    assert_eq!(refused(&sandbox, &["run", "pipeline.yaml"]), expected);
    // `check` says the same, file by file.
    let checked = sandbox.run(&["check", "pipeline.yaml"]);
    assert_eq!((checked.code, checked.stdout.as_str()), (1, ""));
    for fault in expected.split_inclusive("\n\n").filter(|part| part.starts_with("error")) {
        assert!(checked.stderr.contains(fault), "{fault}\n{}", checked.stderr);
    }
    assert!(checked.stderr.ends_with("6 faults in 2 files\n"), "{}", checked.stderr);
}

#[test]
fn an_agent_of_an_unknown_type_is_said_whatever_its_settings_are() {
    let sandbox = Sandbox::new()
        .file("loop.yaml", "prompt: p\nagent: {type: bogus, script: a.yaml}\n")
        .file("claude.yaml", "prompt: p\nagent: {type: claud, modle: x}\n");
    assert_eq!(
        refused(&sandbox, &["check", "loop.yaml"]),
        "error: unknown agent `bogus`
 --> loop.yaml:2:8
  |
2 | agent: {type: bogus, script: a.yaml}
  |        ^
help: known agents are `claude`, `codex`, `gemini`, `opencode`, `builtin`; write `agent: {command: …}` for any other \
program that reads a prompt, or `agent: {script: turns.yaml}` for one that plays a script

error: the key `script` is for scripted agents, this is a bogus agent
 --> loop.yaml:2:22
  |
2 | agent: {type: bogus, script: a.yaml}
  |                      ^^^^^^
help: remove `script`, or write `type: scripted`

2 faults in 1 file
"
    );
    let said = refused(&sandbox, &["run", "loop.yaml"]);
    assert!(said.contains("unknown agent `bogus`") && said.contains("known agents are"), "{said}");
    let said = refused(&sandbox, &["run", "claude.yaml"]);
    assert!(said.contains("unknown agent `claud`"), "{said}");
    assert!(said.contains("help: did you mean `claude`?"), "{said}");
    assert!(said.contains("unknown key `modle`"), "{said}");
}

#[test]
fn a_script_that_lacks_a_key_is_told_which_one_to_write() {
    for (script, missing, help) in [
        ("then: stop", "`turns`, a list", "`turns: [[{say: hello}]]`"),
        ("turns: [{stage: a}]", "`do`, a list of actions", "`do: [{say: hello}]`"),
        ("turns: [[status: {reason: a}]]", "`decision`: continue", "`decision: continue`"),
        ("turns: [[if_prompt: {then: [say: a]}]]", "`contains`, a str", "`contains: review`"),
        ("turns: [[if_prompt: {contains: a}]]", "`then` or `else`", "`then: [{say: hello}]`"),
    ] {
        let sandbox = Sandbox::new()
            .file("loop.yaml", "prompt: p\nagent: {script: s.yaml}\n")
            .file("s.yaml", script);
        let said = refused(&sandbox, &["run", "loop.yaml"]);
        assert!(said.starts_with(&format!("error: missing {missing}")), "{said}");
        assert!(
            said.lines().any(|line| line.starts_with("help: ") && line.ends_with(help)),
            "{said}"
        );
    }
}

#[test]
fn a_command_without_a_place_for_the_prompt_is_told_where_to_put_it() {
    let agent = r#"agent: {command: "cat #", prompt: argument}"#;
    let sandbox = Sandbox::new().file("loop.yaml", format!("prompt: p\n{agent}\n"));
    let said = refused(&sandbox, &["run", "loop.yaml"]);
    assert!(said.starts_with("error: this command takes no argument at its end\n"), "{said}");
    let help =
        r#"help: write `prompt: stdin`, or "$1", in double quotes, where the prompt belongs"#;
    assert!(said.lines().any(|line| line == help), "{said}");
}

#[test]
fn faults_of_a_loop_stand_where_they_are() {
    for (text, place, said) in [
        ("agent: {command: 'true'}", "loop.yaml:1:1", "no prompt: set `prompt` or `prompt_file`"),
        ("prompt: p", "loop.yaml:1:1", "no agent: set `agent` or use `--agent`"),
        ("prompt: p\nagent: cloud", "loop.yaml:2:8", "unknown agent `cloud`"),
        (
            "prompt: p\nagent: {command: [x]}",
            "loop.yaml:2:18",
            "expected a command but found a list",
        ),
        ("prompt: p\nagent: {type: command}", "loop.yaml:2:8", "missing `command`"),
        ("prompt: p\nagent: {comand: x}", "loop.yaml:2:9", "unknown key `comand`"),
        (
            "prompt: p\nagent: [{command: 'true'}, {type: comand}]",
            "loop.yaml:2:28",
            "unknown agent `comand`",
        ),
        ("prompt: p\nagent: {script: s.yaml}", "s.yaml:2:8", "unknown key `sayy`"),
        (
            "prompt: p\nagent: {command: 'true'}\nprompts: q",
            "loop.yaml:3:1",
            "unknown key `prompts`",
        ),
        ("prompt: p # agent: of hookwright.yaml", "hookwright.yaml:1:9", "unknown key `comand`"),
    ] {
        let mut sandbox =
            Sandbox::new().file("loop.yaml", text).file("s.yaml", "turns:\n  - - {sayy: x}\n");
        if place.starts_with("hookwright.yaml") {
            sandbox = sandbox.file("hookwright.yaml", "agent: {comand: x}\n");
        }
        let said_so = refused(&sandbox, &["run", "loop.yaml"]);
        assert!(said_so.contains(&format!("error: {said}")), "{text}: {said_so}");
        assert!(said_so.contains(&format!(" --> {place}\n")), "{text}: {said_so}");
        assert!(said_so.ends_with("\n1 fault; nothing was started\n"), "{text}: {said_so}");
    }
}

#[test]
fn inputs_come_from_earlier_stages_only() {
    for from in ["b", "a", "c"] {
        let text = format!(
            "stages:\n  - {{name: a, inputs: {{from: {from}}}, loop: {{prompt: p, agent: {{command: touch ran}}}}}}\n  - {{name: b, inputs: {{from: a}}, loop: {{prompt: p, agent: {{command: touch ran}}}}}}\n"
        );
        let sandbox = Sandbox::new().file("pipeline.yaml", text);
        let said = refused(&sandbox, &["run", "."]);
        assert!(said.contains(" --> pipeline.yaml:2:30\n"), "{said}");
        assert!(said.contains("the name of an earlier stage"), "{said}");
    }
}

#[test]
fn a_loop_that_is_not_there_is_looked_for_and_the_places_are_named() {
    let sandbox = Sandbox::new();
    assert_eq!(
        refused(&sandbox, &["run", "nope"]),
        "error: there is no loop or pipeline `nope`
 --> nope
help: looked in `~/project`, `loops`, `pipelines`, `.hookwright`, `~/.config/hookwright`

1 fault; nothing was started
"
    );
    let said = refused(&sandbox, &["run", "./nope.yaml"]);
    assert!(said.contains("help: looked for `nope.yaml`\n"), "{said}");
}

#[test]
fn a_stage_that_names_a_pipeline_is_told_so() {
    let sandbox = Sandbox::new()
        .file("pipeline.yaml", "stages: [{loop: inner}]")
        .file("inner/pipeline.yaml", "stages: [{name: a, loop: {prompt: p}}]");
    let said = refused(&sandbox, &["run", "."]);
    assert!(said.contains(" --> pipeline.yaml:1:17\n"), "{said}");
    assert!(said.contains("pipeline"), "{said}");
}

#[test]
fn names_of_sessions_are_plain() {
    for name in ["a/b", "..", "a b", "", "ä", &"x".repeat(65)] {
        let sandbox = Sandbox::new().file("loop.yaml", LOOP);
        let said = refused(&sandbox, &["run", "loop.yaml", "--session", name]);
        assert!(said.contains("help: use at most 64 letters, digits, `_` and `-`"), "{said}");
    }
}

#[test]
fn a_name_that_is_taken_is_refused_and_an_unfinished_session_is_named() {
    let sandbox = Sandbox::new()
        .file("loop.yaml", LOOP)
        .file("bad.yaml", "prompt: p\nagent: {command: 'exit 1'}\n");
    run(&sandbox, "loop.yaml", 0);
    let again = sandbox.run(&["run", "loop.yaml", "--session", "s"]);
    assert_eq!(
        again,
        Ran::new(
            1,
            "",
            "error: session `s` already exists (completed)
help: choose another name, or leave out `--session`
"
        )
    );
    assert_eq!(sandbox.run(&["run", "bad", "--session", "t"]).code, 5);
    let again = sandbox.run(&["run", "bad", "--session", "t"]);
    assert_eq!(
        again,
        Ran::new(
            1,
            "",
            "error: session `t` already exists (failed)
help: resume it: `hookwright resume t`; or choose another name
"
        )
    );
}

#[test]
fn what_is_in_the_way_of_the_sessions_folder_is_named_before_anything_starts() {
    let sandbox = Sandbox::with_hooks("hooks: {'*': [{await: true, command: touch hooked}]}")
        .file("loop.yaml", LOOP)
        .file(".hookwright/sessions", "a file");
    let ran = run(&sandbox, "loop.yaml", 1);
    assert_eq!(ran.stdout, "");
    assert!(
        ran.stderr.contains(".hookwright/sessions` but found something else"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.ends_with("help: nothing was started; fix the problem and run it again\n"));
    assert!(!sandbox.path("ran").exists() && !sandbox.path("hooked").exists());
    // The name is still free.
    std::fs::remove_file(sandbox.path(".hookwright/sessions")).unwrap();
    run(&sandbox, "loop.yaml", 0);
}

#[test]
fn a_dry_run_prints_the_plan_and_starts_nothing() {
    let sandbox = Sandbox::with_hooks("hooks: {'*': [{id: all, command: touch ran}]}").file(
        "pipeline.yaml",
        "name: full
stages:
  - name: plan
    runs: 3
    loop: {prompt: p, agent: {command: touch ran}}
  - name: work
    inputs: {from: plan}
    loop: {prompt: p, agent: {command: touch ran}, termination: {type: judgment, min_iterations: 2}, max_runtime: 2h, delay: 5}
",
    );
    let ran = sandbox.run(&["run", ".", "--dry-run"]);
    assert_eq!(
        ran,
        Ran::new(
            0,
            "full: 2 stages
  1 plan: 3 iterations, agent: command, 1 hook
  2 work: until the agent says stop 2 times in a row, from 2 to 25 iterations, agent: command, 1 hook
      reads the outputs of plan
",
            ""
        )
    );
    let (code, plan) = sandbox.json(&["run", ".", "--dry-run", "--json"]);
    assert_eq!(code, 0);
    assert_eq!(
        plan,
        serde_json::json!({"version": 1, "name": "full", "max_cost": null, "stages": [
            {"name": "plan", "loop": "plan", "agent": "command", "agents": ["command"],
             "max_cost": null, "termination": {"type": "fixed"},
             "iterations_max": 3, "max_runtime_ms": null, "delay_ms": 0, "inputs_from": null,
             "hooks": ["all"], "unfired": []},
            {"name": "work", "loop": "work", "agent": "command", "agents": ["command"],
             "max_cost": null, "termination": {"type": "judgment", "consensus": 2, "min_iterations": 2},
             "iterations_max": 25, "max_runtime_ms": 7_200_000, "delay_ms": 5000,
             "inputs_from": "plan", "hooks": ["all"], "unfired": []},
        ]})
    );
    assert!(!sandbox.path(".hookwright").exists() && !sandbox.path("ran").exists());
}

#[test]
fn check_reads_loops_and_pipelines_whatever_they_are_called() {
    let sandbox = Sandbox::with_hooks("agent: {command: 'true'}")
        .file("flow.yaml", "stages: [{loop: work}]")
        .file("loops/work.yaml", "prompt: p\nhooks: {iteration:start: [{command: 'true'}]}\n");
    let checked = sandbox.run(&["check", "flow.yaml", "loops/work.yaml"]);
    assert_eq!(checked, Ran::new(0, "2 files checked, 1 hook, no faults\n", ""));
    std::fs::write(sandbox.path("loops/work.yaml"), "prompt_file: gone.md\n").unwrap();
    for file in ["flow.yaml", "loops/work.yaml"] {
        let checked = sandbox.run(&["check", file]);
        assert_eq!(checked.code, 1, "{file}");
        assert!(checked.stderr.contains(" --> loops/work.yaml:1:14\n"), "{}", checked.stderr);
    }
    let (_, report) = sandbox.json(&["check", "flow.yaml", "--json"]);
    assert_eq!(report["faults"][0]["file"], "loops/work.yaml", "{report}");
}

#[test]
fn files_of_an_unknown_session_are_not_mixed_with_others() {
    let sandbox = Sandbox::new().file("loop.yaml", LOOP);
    run(&sandbox, "loop.yaml", 0);
    std::fs::remove_dir_all(sandbox.path("../.local/state")).unwrap();
    let ran = run(&sandbox, "loop.yaml", 1);
    assert_eq!(
        ran,
        Ran::new(
            1,
            "",
            "error: found files of an unknown session `s` here
 --> .hookwright/sessions/s
help: move the folder, or choose another name for this session
"
        )
    );
}

#[test]
fn what_is_missing_in_a_pipeline_or_a_loop_is_explained_for_that_place() {
    let stage = |text: &str| format!("stages:\n  - {text}\n");
    for (file, text, missing, help) in [
        ("pipeline.yaml", "name: p".to_owned(), "`stages`", "list the stages: `stages: [{"),
        ("pipeline.yaml", stage("{name: a}"), "`loop`", "name the loop of the stage: `loop: work`"),
        (
            "pipeline.yaml",
            stage("{loop: {prompt: p, agent: {command: 'true'}}}"),
            "`name` of the stage",
            "name the stage: `name: work`",
        ),
        (
            "loop.yaml",
            "prompt: p\nagent: {type: scripted}".to_owned(),
            "`script`, a file of turns",
            "name the file: `script: turns.yaml`",
        ),
        (
            "loop.yaml",
            "prompt: p\nagent: {command: 'true'}\ntermination: {iterations: 2}".to_owned(),
            "`type`: fixed, judgment or queue",
            "set when the loop ends: `termination: {type: fixed, iterations: 5}`",
        ),
    ] {
        let said = refused(&Sandbox::new().file(file, &text), &["run", file]);
        assert!(said.contains(&format!("error: missing {missing}\n")), "{text}: {said}");
        assert!(said.contains(&format!("\nhelp: {help}")), "{text}: {said}");
    }
}

//! `hookwright check`: which files it reads, how it counts, its JSON. The texts of the faults are
//! in `check_faults.rs`.

use serde_json::json;

use crate::support::{Ran, Sandbox};

const FINE: &str = "hooks: {session:start: [{command: echo hello}]}\n";
const FAULTY: &str = "hoks: {}\n";

#[test]
fn a_project_without_faults_is_counted() {
    let sandbox = Sandbox::with_hooks(
        "hooks:\n  Stop:\n    - command: echo a\n    - command: echo b\n  stage:*:\n    - command: echo c\n",
    );
    assert_eq!(sandbox.run(&["check"]), Ran::new(0, "1 file checked, 3 hooks, no faults\n", ""));
}

#[test]
fn the_project_is_found_from_any_folder_inside_it() {
    let sandbox = Sandbox::with_hooks(FAULTY).inside("src/deep");
    assert_eq!(
        sandbox.run(&["check"]),
        Ran::new(
            1,
            "",
            "error: unknown key `hoks`
 --> ~/project/hookwright.yaml:1:1
  |
1 | hoks: {}
  | ^^^^
help: did you mean `hooks`?

1 fault in 1 file
"
        )
    );
}

#[test]
fn the_nearest_project_is_the_one() {
    let sandbox =
        Sandbox::with_hooks(FAULTY).file("sub/hookwright.json", r#"{"hooks": {}}"#).inside("sub");
    assert_eq!(sandbox.run(&["check"]), Ran::new(0, "1 file checked, 0 hooks, no faults\n", ""));
}

#[test]
fn the_file_for_all_projects_is_read_too_unless_it_is_left_out() {
    let sandbox = Sandbox::with_hooks(FINE).global(FINE);
    assert_eq!(sandbox.run(&["check"]), Ran::new(0, "2 files checked, 2 hooks, no faults\n", ""));
    assert_eq!(
        sandbox.run(&["check", "--no-global-hooks"]),
        Ran::new(0, "1 file checked, 1 hook, no faults\n", "")
    );
}

#[test]
fn the_folder_for_all_projects_can_be_elsewhere() {
    let sandbox = Sandbox::new()
        .file("../elsewhere/hookwright/hooks.json", r#"{"hooks": {"Stop": 1}}"#)
        .global(FINE);
    let elsewhere = sandbox.path("../elsewhere");
    let elsewhere = std::fs::canonicalize(elsewhere).expect("it exists");
    let sandbox = sandbox.set("XDG_CONFIG_HOME", elsewhere.to_str().expect("text"));
    assert_eq!(
        sandbox.run(&["check"]),
        Ran::new(
            1,
            "",
            r#"error: expected a list of hooks but found the number `1`
 --> ~/elsewhere/hookwright/hooks.json:1:20
  |
1 | {"hooks": {"Stop": 1}}
  |                    ^
help: put the hooks in brackets: `[{"command": "cargo test"}]`

1 fault in 1 file
"#
        )
    );
}

#[test]
fn a_relative_folder_for_all_projects_is_ignored() {
    let sandbox = Sandbox::with_hooks(FINE).global(FINE).set("XDG_CONFIG_HOME", "config");
    assert_eq!(sandbox.run(&["check"]), Ran::new(0, "2 files checked, 2 hooks, no faults\n", ""));
}

#[test]
fn two_files_of_one_folder_are_both_named() {
    let sandbox = Sandbox::with_hooks(FINE).file("hookwright.json", "{}");
    assert_eq!(
        sandbox.run(&["check"]),
        Ran::new(
            1,
            "",
            "error: expected one configuration in this folder but found `hookwright.yaml` and \
             `hookwright.json`
 --> ~/project
help: move everything into `hookwright.yaml` and remove the others, or name one file with `--config`
"
        )
    );
}

#[test]
fn every_spelling_of_a_files_name_is_found() {
    for name in ["hookwright.yaml", "hookwright.yml", "hookwright.json"] {
        let sandbox = Sandbox::new().file(name, r#"{"hooks": {}}"#);
        assert_eq!(
            sandbox.run(&["check"]),
            Ran::new(0, "1 file checked, 0 hooks, no faults\n", "")
        );
    }
}

#[test]
fn two_files_for_all_projects_are_both_named() {
    let sandbox =
        Sandbox::with_hooks(FINE).global(FINE).file("../.config/hookwright/hooks.yml", FINE);
    assert_eq!(
        sandbox.run(&["check"]),
        Ran::new(
            1,
            "",
            "error: expected one configuration in this folder but found `hooks.yaml` and `hooks.yml`
 --> ~/.config/hookwright
help: move everything into `hooks.yaml` and remove the others, or name one file with `--config`
"
        )
    );
    assert_eq!(sandbox.run(&["check", "--no-global-hooks"]).code, 0);
}

/// It may contain guards, so it is not skipped for a file further up.
#[test]
fn a_link_that_leads_nowhere_is_a_fault() {
    let sandbox = Sandbox::with_hooks(FINE).inside("sub dir").file("keep", "");
    let link = sandbox.path("hookwright.yaml");
    std::os::unix::fs::symlink("gone.yaml", link).expect("linked");
    assert_eq!(
        sandbox.run(&["check"]),
        Ran::new(
            1,
            "",
            "error: the file cannot be read: No such file or directory
 --> hookwright.yaml
help: check that it exists and is readable: `ls -l hookwright.yaml`

1 fault in 1 file
"
        )
    );
}

#[test]
fn a_command_in_the_help_can_be_pasted() {
    let said = Sandbox::new().run(&["check", "it's gone.yaml"]).stderr;
    let help = r"`ls -l 'it'\''s gone.yaml'`";
    assert!(said.contains(help), "{said}");
}

#[test]
fn faults_are_shown_from_top_to_bottom() {
    let sandbox =
        Sandbox::with_hooks("hooks:\n  Stop:\n    - comand: x\n      type: shell\nx: 1\n");
    let (_, value) = sandbox.json(&["check", "--json"]);
    let lines: Vec<_> = value["faults"].as_array().expect("faults").iter().collect();
    let lines: Vec<_> = lines.iter().map(|fault| fault["line"].as_u64()).collect();
    assert_eq!(lines, [Some(3), Some(3), Some(5)]);
}

#[test]
fn only_the_files_that_are_named_are_read() {
    let sandbox =
        Sandbox::with_hooks(FAULTY).global(FAULTY).file("a.yaml", FINE).file("sub/b.yaml", FINE);
    let fine = Ran::new(0, "2 files checked, 2 hooks, no faults\n", "");
    assert_eq!(sandbox.run(&["check", "a.yaml", "sub/b.yaml"]), fine);
    assert_eq!(sandbox.run(&["check", "--config", "a.yaml", "--config", "sub/b.yaml"]), fine);
    assert_eq!(sandbox.run(&["check", "--cwd", "sub", "../a.yaml", "b.yaml"]), fine);
}

#[test]
fn faults_of_all_files_are_shown_and_counted() {
    let sandbox =
        Sandbox::new().file("a.yaml", "hoks: {}\nmodle: x\n").file("sub/b.yaml", "version: 7\n");
    assert_eq!(
        sandbox.run(&["check", "--cwd", "sub", "../a.yaml", "b.yaml"]),
        Ran::new(
            1,
            "",
            "error: unknown key `hoks`
 --> ~/project/a.yaml:1:1
  |
1 | hoks: {}
  | ^^^^
help: did you mean `hooks`?

error: unknown key `modle`
 --> ~/project/a.yaml:2:1
  |
2 | modle: x
  | ^^^^^
help: did you mean `model`?

error: expected version 1 but found `7`
 --> b.yaml:1:10
  |
1 | version: 7
  |          ^
help: write `version: 1`, or leave the line out

3 faults in 2 files
"
        )
    );
}

#[test]
fn loops_and_pipelines_are_known_by_their_names() {
    let sandbox = Sandbox::new()
        .file("loop.yaml", "name: work\ntermination: {type: fixed, iterations: 5}\nhooks: {}\n")
        .file("prompt.md", "work")
        .file("work.yaml", "prompt: work\n")
        .file("pipeline.yml", "name: full\nstages: [{loop: work}]\nhooks: {}\n");
    assert_eq!(
        sandbox.run(&["check", "loop.yaml", "pipeline.yml"]),
        Ran::new(0, "2 files checked, 0 hooks, no faults\n", "")
    );
}

#[test]
fn a_named_file_that_is_missing_is_a_fault() {
    assert_eq!(
        Sandbox::new().run(&["check", "nope.yaml"]),
        Ran::new(
            1,
            "",
            "error: the file cannot be read: No such file or directory
 --> nope.yaml
help: check that it exists and is readable: `ls -l nope.yaml`

1 fault in 1 file
"
        )
    );
}

#[test]
fn nothing_found_is_said_and_is_no_fault() {
    let sandbox = Sandbox::new();
    let help = "help: write a first one: `echo 'hooks: {session:start: [{command: echo hello}]}' \
                > hookwright.yaml`\n";
    assert_eq!(
        sandbox.run(&["check"]),
        Ran::new(
            0,
            "",
            &format!(
                "note: no `hookwright.yaml` in ~/project or any folder above it, and no \
                 `~/.config/hookwright/hooks.yaml`\n{help}"
            )
        )
    );
    assert_eq!(
        sandbox.run(&["check", "--no-global-hooks"]),
        Ran::new(
            0,
            "",
            &format!("note: no `hookwright.yaml` in ~/project or any folder above it\n{help}")
        )
    );
    assert_eq!(
        sandbox.json(&["check", "--json"]),
        (
            0,
            json!({ "version": 1, "files": [], "hooks": 0, "mcp_servers": [], "faults": [],
                "left_out": [], "warnings": [], "notes": [] })
        )
    );
}

#[test]
fn a_folder_that_is_not_there_cannot_be_acted_in() {
    assert_eq!(
        Sandbox::new().run(&["check", "--cwd", "nope"]),
        Ran::new(
            1,
            "",
            "error: `--cwd` names no usable folder: No such file or directory
 --> nope
help: name a folder that exists, or leave `--cwd` out
"
        )
    );
}

#[test]
fn programs_read_every_fault_with_its_facts() {
    let sandbox = Sandbox::with_hooks(
        "hooks:\n  Stop:\n    - command: echo\n    - command: x\n      on_failure: abrt\n",
    )
    .global("");
    assert_eq!(
        sandbox.json(&["check", "--json"]),
        (
            1,
            json!({
                "version": 1,
                "files": ["hookwright.yaml", "~/.config/hookwright/hooks.yaml"],
                "hooks": 1,
                "mcp_servers": [],
                "faults": [
                    {
                        "file": "hookwright.yaml",
                        "line": 5,
                        "column": 19,
                        "message": "expected continue, abort, retry, block but found `abrt`",
                        "found": "abrt",
                        "expected": "continue, abort, retry, block",
                        "nearest": "abort",
                        "help": "did you mean `abort`?",
                    },
                    {
                        "file": "~/.config/hookwright/hooks.yaml",
                        "line": null,
                        "column": null,
                        "message": "the file is empty, expected `hooks:`",
                        "expected": "`hooks:`",
                        "nearest": null,
                        "help": "write a first hook: \
                                 `hooks: {session:start: [{command: echo hello}]}`",
                    },
                ],
                "left_out": [],
                "warnings": [],
                "notes": [],
            })
        )
    );
}

#[test]
fn what_a_file_says_cannot_steer_the_terminal() {
    let sandbox = Sandbox::new().file(
        "a\x1b[31m.yaml",
        r#"hooks:
  "sto\e[2Jp":
    - command: x
  Stop:
    - command: x
      "\u009bx\u202e": 1
    - {command: x, once: "\r\a"}
"#,
    );
    assert_eq!(
        sandbox.run(&["check", "a\x1b[31m.yaml"]),
        Ran::new(
            1,
            "",
            r#"error: unknown event `sto␛[2Jp`
 --> a␛[31m.yaml:2:3
  |
2 |   "sto\e[2Jp":
  |   ^^^^^^^^^^^
help: `hookwright events` lists every event

error: unknown key `\u{9b}x\u{202e}`
 --> a␛[31m.yaml:6:7
  |
6 |       "\u009bx\u202e": 1
  |       ^^^^^^^^^^^^^^^
help: expected one of: command, env, working_dir, shell, kill_grace, event, type, id, description, enabled, matcher, host, when, await, timeout, on_failure, retries, retry_delay, on_exhausted, pipe_output, once, dialect

error: expected true or false but found the string `␍␇`
 --> a␛[31m.yaml:7:26
  |
7 |     - {command: x, once: "\r\a"}
  |                          ^^^^^^
help: write `true` or `false`, without quotes

3 faults in 1 file
"#
        )
    );
}

#[test]
fn raw_control_characters_are_drawn_and_the_carets_still_fit() {
    let wide = Sandbox::with_hooks("hooks: {'日本\u{202e}': 1, \u{85}möd: []}\n");
    assert_eq!(
        wide.run(&["check"]),
        Ran::new(
            1,
            "",
            r#"error: unknown event `日本\u{202e}`
 --> hookwright.yaml:1:9
  |
1 | hooks: {'日本\u{202e}': 1, \u{85}möd: []}
  |         ^^^^^^^^^^^^^^
help: `hookwright events` lists every event

error: expected a list of hooks but found the number `1`
 --> hookwright.yaml:1:16
  |
1 | hooks: {'日本\u{202e}': 1, \u{85}möd: []}
  |                         ^
help: begin each hook with a dash: `- command: cargo test`

error: unknown event `möd`
 --> hookwright.yaml:1:19
  |
1 | hooks: {'日本\u{202e}': 1, \u{85}möd: []}
  |                            ^^^^^^^^^
help: `hookwright events` lists every event

3 faults in 1 file
"#
        )
    );
    let escape = Sandbox::with_hooks("hooks: {} # \u{1b}]0;title\u{7}\n");
    assert_eq!(
        escape.run(&["check"]),
        Ran::new(
            1,
            "",
            r#"error: unexpected character: `\u{1b}'
 --> hookwright.yaml:1:13
  |
1 | hooks: {} # ␛]0;title␇
  |             ^
help: remove it, or write it as an escape in double quotes: `"\e"`

1 fault in 1 file
"#
        )
    );
}

#[test]
fn a_file_in_one_long_line_does_not_flood_the_screen() {
    let many = r#""session:start":[{"command":"x"}],"#.repeat(20_000);
    let text = format!(r#"{{"model":7,"permissions":{{}},"hooks":{{{many}"x":[]}}}}"#);
    let sandbox = Sandbox::new().file("hookwright.json", text);
    let ran = sandbox.run(&["check"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.len() < 2_000, "{}", ran.stderr);
}

#[test]
fn a_name_that_is_very_long_is_cut() {
    let ran = Sandbox::with_hooks(&format!("{}: 1\n", "x".repeat(900))).run(&["check"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with(&format!("error: unknown key `{}…\n", "x".repeat(286))));
}

#[test]
fn more_hooks_than_a_set_holds_are_a_fault() {
    let many = "    - {command: echo}\n".repeat(10_001);
    let sandbox = Sandbox::with_hooks(&format!("hooks:\n  Stop:\n{many}"));
    assert_eq!(
        sandbox.run(&["check"]),
        Ran::new(
            1,
            "",
            "error: more than 10000 hooks
     --> hookwright.yaml:10003:7
      |
10003 |     - {command: echo}
      |       ^
help: replace many hooks with one that has a pattern like `tool:*`

1 fault in 1 file
"
        )
    );
}

#[test]
fn a_condition_that_is_too_long_is_a_fault() {
    let when = "1 == 1 && ".repeat(1_100);
    let sandbox = Sandbox::with_hooks(&format!(
        "hooks:\n  Stop:\n    - command: x\n      when: {when}true\n"
    ));
    let expected = "error: the condition has 11004 bytes, expected at most 10000
 --> hookwright.yaml:4:13
  |
4 |       when: 1 == 1 && 1 == 1 && 1 == 1 && 1 == 1 && 1 == 1 && 1 == 1 && 1 == 1 && 1 == 1 && …
  |             ^
help: test it in the hook's command: a script can exit with 0 when it has nothing to do

1 fault in 1 file
";
    assert_eq!(sandbox.run(&["check"]), Ran::new(1, "", expected));
}

#[test]
fn every_way_to_end_a_line_ends_it() {
    for ending in ["\n", "\r\n", "\r"] {
        let sandbox = Sandbox::with_hooks(&["hooks: {}", "modle: x", "# end", ""].join(ending));
        assert_eq!(
            sandbox.run(&["check"]),
            Ran::new(
                1,
                "",
                "error: unknown key `modle`
 --> hookwright.yaml:2:1
  |
2 | modle: x
  | ^^^^^
help: did you mean `model`?

1 fault in 1 file
"
            ),
            "{ending:?}"
        );
    }
}

#[test]
fn json_may_be_indented_with_tabs() {
    let sandbox = Sandbox::new().file(
        "hookwright.json",
        "{\n\t\"hooks\": {\n\t\t\"Stop\": [{\"command\": \"x\", \"timeout\": -1}]\n\t}\n}\n",
    );
    assert_eq!(
        sandbox.run(&["check"]),
        Ran::new(
            1,
            "",
            r#"error: expected a duration of at most 30 days like 30, 0.5, 500ms, 5m or 2h but found `-1`
 --> hookwright.json:3:40
  |
3 |         "Stop": [{"command": "x", "timeout": -1}]
  |                                              ^^
help: write a duration of at most 30 days like 30, 0.5, 500ms, 5m or 2h

1 fault in 1 file
"#
        )
    );
}

/// Colour is for terminals; the words are the same. `script` gives the binary one.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_colour_unless_it_is_not_wanted() {
    let sandbox = Sandbox::with_hooks(FAULTY);
    let in_terminal = |sandbox: &Sandbox| {
        let binary = sandbox.command(&[]);
        let mut command = std::process::Command::new("script");
        command
            .args(["-qec", &format!("{} check", binary.get_program().display()), "/dev/null"])
            .current_dir(sandbox.path("."))
            .env_clear()
            .envs(binary.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.output().ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Some(coloured) = in_terminal(&sandbox) else {
        return;
    };
    assert!(
        coloured.starts_with("\x1b[1;31merror:\x1b[0m \x1b[1munknown key `hoks`\x1b[0m\r\n"),
        "{coloured:?}"
    );
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let plain = in_terminal(&Sandbox::with_hooks(FAULTY).set(name, value));
        let plain = plain.expect("it was there before");
        assert!(plain.starts_with("error: unknown key `hoks`\r\n"), "{plain:?}");
    }
}

#[test]
fn advice_about_a_json_file_is_json() {
    for (text, help) in [
        (
            r#"{"hooks": {"Stop": [{"timeout": 3}]}}"#,
            r#"set what the hook does: `"command": "cargo test"`"#,
        ),
        (
            r#"{"hooks": {"Stop": {"command": "a"}}}"#,
            r#"put the hooks in brackets: `[{"command": "cargo test"}]`"#,
        ),
        (r#"{"hooks": {"Stop": ["a"]}}"#, r#"write what it does: `{"command": "cargo test"}`"#),
        (
            "{\"hooks\": {\n  \"Stop\": [{\"command\": a}]}}",
            "look for a missing comma, quote or bracket nearby; keys and strings need double quotes",
        ),
        (r#"{"version": 2, "hooks": {}}"#, r#"write `"version": 1`, or leave the line out"#),
        ("", r#"write a first hook: `"hooks": {"session:start": [{"command": "echo hello"}]}`"#),
    ] {
        let sandbox = Sandbox::new().file("hookwright.json", text);
        let (code, found) = sandbox.json(&["check", "--json"]);
        assert_eq!((code, found["faults"][0]["help"].as_str()), (1, Some(help)), "{text}: {found}");
    }
}

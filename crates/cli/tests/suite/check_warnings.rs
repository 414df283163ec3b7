//! Warnings of `hookwright check`: commands that can run but probably don't do what is meant.

use std::fs;

use serde_json::json;

use crate::support::{Ran, Sandbox, repository};

/// The places and names of all warnings of a project with these hooks.
fn warned(hooks: &str) -> Vec<String> {
    let (code, found) = Sandbox::with_hooks(hooks).json(&["check", "--json"]);
    assert_eq!((code, found["faults"].to_string().as_str()), (0, "[]"));
    let warnings = found["warnings"].as_array().expect("a list");
    let one_line = |warning: &serde_json::Value| {
        format!(
            "{}:{} {} {}",
            warning["line"],
            warning["column"],
            warning["kind"].as_str().expect("a word"),
            warning["found"].as_str().expect("a name")
        )
    };
    warnings.iter().map(one_line).collect()
}

fn of_command(command: &str) -> Vec<String> {
    warned(&format!("hooks:\n  Stop:\n    - command: {command}\n"))
}

#[test]
fn a_warning_shows_the_name_in_its_line_what_it_means_and_what_to_write() {
    let sandbox = Sandbox::with_hooks(
        "hooks:
  iteration:error:
    - command: |
        echo 'failed: $ERROR'
        mail -s ${TOOL_INPUT.command} me
        (( ERROR > 3 )) && echo \"$ITERATON of $TOTALL\"
",
    );
    assert_eq!(
        sandbox.run(&["check"]),
        Ran::new(
            0,
            "1 file checked, 1 hook, no faults, 5 warnings\n",
            "warning: the shell does not replace `$ERROR` in single quotes
 --> hookwright.yaml:4:24
  |
4 |         echo 'failed: $ERROR'
  |                        ^^^^^
help: use double quotes: `\"$ERROR\"`

warning: the value of `${TOOL_INPUT.command}` can be any text, and the shell splits it into words outside quotes
 --> hookwright.yaml:5:19
  |
5 |         mail -s ${TOOL_INPUT.command} me
  |                   ^^^^^^^^^^
help: put it in double quotes: `\"${TOOL_INPUT.command}\"`

warning: the value of `$ERROR` can be any text, and the shell evaluates it again in arithmetic, so it could run commands
 --> hookwright.yaml:6:12
  |
6 |         (( ERROR > 3 )) && echo \"$ITERATON of $TOTALL\"
  |            ^^^^^
help: compare with `[ \"$ERROR\" -gt 3 ]`, which accepts only numbers, calculate with `expr`, or move the test to `when:`

warning: nothing sets the variable `ITERATON`
 --> hookwright.yaml:6:35
  |
6 |         (( ERROR > 3 )) && echo \"$ITERATON of $TOTALL\"
  |                                   ^^^^^^^^
help: did you mean `ITERATION`?

warning: nothing sets the variable `TOTALL`
 --> hookwright.yaml:6:48
  |
6 |         (( ERROR > 3 )) && echo \"$ITERATON of $TOTALL\"
  |                                                ^^^^^^
help: set it in the command or in `env:`, or write `${TOTALL:-}` if it may be missing

"
        )
    );
}

#[test]
fn warnings_stand_beside_faults_and_count_only_when_asked() {
    let sandbox = Sandbox::with_hooks(
        "hooks:\n  Stop:\n    - command: echo $PROMPT\n      wen: true\n    - command: echo $PROMPT\n",
    );
    let ran = sandbox.run(&["check"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.starts_with("warning: the value of `$PROMPT`"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("did you mean `when`?\n\n1 fault in 1 file\n2 warnings\n"));

    let warned = Sandbox::with_hooks("hooks: {Stop: [{command: echo $PROMPT}]}\n");
    assert_eq!(warned.run(&["check"]).code, 0);
    let strict = warned.run(&["check", "--strict"]);
    assert_eq!(
        (strict.code, strict.stdout.as_str()),
        (1, "1 file checked, 1 hook, no faults, 1 warning\n")
    );
    assert_eq!(warned.json(&["check", "--strict", "--json"]).0, 1);
    let fine = Sandbox::with_hooks("hooks: {Stop: [{command: echo \"$PROMPT\"}]}\n");
    assert_eq!(fine.run(&["check", "--strict"]).code, 0);
}

#[test]
fn programs_read_warnings_as_json() {
    let sandbox = Sandbox::with_hooks("hooks: {Stop: [{command: 'sh -c \"echo $PROMPT\"'}]}\n");
    let (code, found) = sandbox.json(&["check", "--json"]);
    assert_eq!(code, 0);
    assert_eq!(
        found["warnings"],
        json!([{
            "file": "hookwright.yaml",
            "line": 1,
            "column": 40,
            "kind": "evaluated_again",
            "message": "the value of `$PROMPT` can be any text, and the shell evaluates it again as a \
                        program's text, so it could run commands",
            "found": "PROMPT",
            "nearest": null,
            "help": "pass it as an argument: `sh -c '… \"$1\" …' sh \"$PROMPT\"`",
        }])
    );
}

#[test]
fn the_place_is_right_however_the_command_is_written() {
    for command in [
        "echo $PROMPT",
        "echo é日本 $PROMPT",
        "'it''s; echo '' $PROMPT'",
        "\"a\\t\\\"b\\\" '\\u0041\\x41' $PROMPT\"",
        "\"a \\\n        b $PROMPT\"",
        "\"a\n\n        b $PROMPT\"",
        "echo a\n        folded $PROMPT",
        "|\n        if true; then\n          echo $PROMPT\n        fi",
        "|2-\n          echo $PROMPT",
        "|\n        'echo' $PROMPT",
        "|\n        \"echo\" a\n        b $PROMPT",
        ">\n        || $PROMPT",
        "\"\\\"\\\" $PROMPT\"",
        "''''' $PROMPT'",
        "> # $PROMPT\n        echo a\n        b\n\n          c $PROMPT",
        "&a echo $PROMPT",
        "!!str \"\\u0065cho $PROMPT\"",
    ] {
        let written = format!("hooks:\n  Stop:\n    - command: {command}\n");
        let before = &written[..written.rfind("PROMPT").expect("it is there")];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |row| row.chars().count()) + 1;
        let expected = format!("{line}:{column} unquoted PROMPT");
        let mut found = of_command(command);
        found.retain(|warning| !warning.contains("no_program"));
        assert_eq!(found, [expected], "{command}");
    }
    let json = Sandbox::new().file(
        "hookwright.json",
        r#"{"hooks": {"Stop": [{"command": "echo \"\u00e9\" \ud83d\ude00 $PROMPT"}]}}"#,
    );
    // A surrogate pair isn't followed: then the place is that of the value.
    let place = &json.json(&["check", "--json"]).1["warnings"][0]["column"];
    assert_eq!(*place, json!(33));
}

#[test]
fn a_fault_within_a_folded_command_has_its_own_place() {
    let sandbox = Sandbox::with_hooks(
        "hooks:\n  Stop:\n    - command: >\n        echo a\n        b ${NOBODY.x}\n      when: \"\\\n        ${NOBODY} == 1\"\n",
    );
    let (_, found) = sandbox.json(&["check", "--json"]);
    let places: Vec<_> = found["faults"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|fault| (fault["line"].clone(), fault["column"].clone()))
        .collect();
    assert_eq!(places, [(json!(5), json!(13)), (json!(7), json!(11))]);
}

#[test]
fn names_are_known_from_the_command_its_env_a_session_and_a_run() {
    for command in [
        "echo \"$HOME $HOOKWRIGHT_HOOK $HOOKWRIGHT_RUN $HOOKWRIGHT_PROMPT ${PROMPT_FILE:-}\"",
        "read -r line; echo \"$line $PROMPT_FILE\"",
        "'for i in 1 2; do echo $i; done'",
    ] {
        assert_eq!(of_command(command), [] as [String; 0], "{command}");
    }
    let with_env =
        "hooks: {Stop: [{command: echo $COLOUR $PROMPT, env: {COLOUR: red, PROMPT: '$'}}]}";
    assert_eq!(warned(with_env), [] as [String; 0]);
    let elsewhere = Sandbox::with_hooks("hooks: {Stop: [{command: echo $ELSEWHERE}]}");
    assert!(elsewhere.run(&["check"]).stdout.ends_with("1 warning\n"));
    let set = elsewhere.set("ELSEWHERE", "x");
    assert!(set.run(&["check"]).stdout.ends_with("no faults\n"));
}

#[test]
fn the_command_of_another_kind_of_shell_is_left_in_peace() {
    for shell in ["zsh", "/usr/bin/fish", "python3"] {
        let hooks = format!("hooks: {{Stop: [{{command: echo $PROMPT, shell: {shell}}}]}}");
        assert_eq!(warned(&hooks), [] as [String; 0], "{shell}");
    }
    let hooks = "hooks: {Stop: [{command: echo $PROMPT, shell: /bin/dash}]}";
    assert_eq!(warned(hooks), ["1:32 unquoted PROMPT"]);
}

#[test]
fn a_command_with_very_many_odd_places_is_not_told_all_of_them() {
    let hooks = format!("hooks: {{Stop: [{{command: \"{}\"}}]}}", "echo $PROMPT;".repeat(50_000));
    assert_eq!(warned(&hooks).len(), 100);
}

#[test]
fn only_check_prints_warnings() {
    let sandbox = Sandbox::with_hooks("hooks: {Stop: [{command: 'echo $PROMPT >&2'}]}");
    for arguments in [&["list"][..], &["explain", "Stop"], &["fire", "Stop"]] {
        let ran = sandbox.run(arguments);
        assert!(!ran.stderr.contains("warning"), "{arguments:?}: {}", ran.stderr);
        assert!(!ran.stdout.contains("warning"), "{arguments:?}: {}", ran.stdout);
    }
}

#[test]
fn permission_rules_that_nothing_enforces_are_warned_of() {
    let sandbox = Sandbox::with_hooks(
        "version: 1\npermissions:\n  deny: ['bash(rm *)']\nhooks: {Stop: [{command: 'true'}]}\n",
    );
    assert_eq!(
        sandbox.run(&["check"]),
        Ran::new(
            0,
            "1 file checked, 1 hook, no faults, 1 warning\n",
            "warning: only the built-in agent obeys the rules of `permissions.deny`: other agents do not
 --> hookwright.yaml:2:1
  |
2 | permissions:
  | ^^^^^^^^^^^
help: write a hook at `tool:pre_execute` that denies, or set the agent's own permissions

"
        )
    );
    assert_eq!(sandbox.run(&["check", "--strict"]).code, 1);
    for empty in ["permissions: {}", "permissions: {deny: [], allow: []}"] {
        let sandbox =
            Sandbox::with_hooks(&format!("{empty}\nhooks: {{Stop: [{{command: echo}}]}}\n"));
        assert_eq!(sandbox.run(&["check", "--strict"]).code, 0, "{empty}");
    }
}

#[test]
fn our_own_examples_and_templates_give_no_cause_for_warnings() {
    let mut checked = 0;
    for entry in fs::read_dir(repository().join("examples")).expect("it is there") {
        let folder = entry.expect("an entry").path();
        for name in ["hookwright.yaml", "hookwright.yml", "hookwright.json"] {
            if !folder.join(name).is_file() {
                continue;
            }
            let cwd = folder.to_str().expect("UTF-8");
            let ran = Sandbox::new().run(&["check", "--strict", "--cwd", cwd]);
            assert_eq!(ran.code, 0, "{}: {}", folder.display(), ran.stderr);
            checked += 1;
        }
    }
    assert!(checked >= 6, "{checked}");
    let (_, listed) = Sandbox::new().json(&["template", "list", "--json"]);
    let templates: Vec<&str> = listed["templates"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|t| t["name"].as_str())
        .collect();
    assert!(templates.len() >= 4, "{templates:?}");
    for name in templates {
        let shown = Sandbox::new().run(&["template", "show", name]).stdout;
        let ran = Sandbox::with_hooks(&format!("hooks:\n{shown}")).run(&["check", "--strict"]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
    }
}

#[test]
fn paths_outside_quotes_are_named_where_the_projects_own_path_would_be_split() {
    let command = r#"cat ${PROGRESS} $CTX "$STATUS" $SESSION_DIR/x $HOOKWRIGHT_PROJECT $SESSION $MAX_ITERATIONS >> $HOOKWRIGHT_PROGRESS"#;
    let hooks = format!("hooks:\n  Stop:\n    - command: '{command}'\n");
    assert_eq!(warned(&hooks), [""; 0]);
    for folder in ["my project", "50*", "a$b"] {
        let name = format!("../{folder}/hookwright.yaml");
        let sandbox = Sandbox::new().file(&name, &hooks).inside(&format!("../{folder}"));
        let (code, found) = sandbox.json(&["check", "--json"]);
        let of = |field: &str| -> Vec<String> {
            let warnings = found["warnings"].as_array().expect("a list").iter();
            warnings.map(|warning| warning[field].as_str().expect("a text").to_owned()).collect()
        };
        assert_eq!(code, 0);
        let names = ["PROGRESS", "CTX", "SESSION_DIR", "HOOKWRIGHT_PROJECT", "HOOKWRIGHT_PROGRESS"];
        assert_eq!(of("found"), names, "{folder}");
        assert_eq!(of("kind"), ["unquoted"; 5], "{folder}");
        assert_eq!(of("help")[0], "put it in double quotes: `\"$PROGRESS\"`");
    }
}

//! `hookwright trust`: what it shows, whom it asks, and what it stores.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox};

const HOOKS: &str = "hooks:\n  Stop:\n    - {id: one, command: echo one}\n";

/// The output for [`HOOKS`].
const SHOWN: &str = "  one  Stop  shell, line 3\n    | echo one\n";

/// The trust file.
fn trust_file(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("../.local/state/hookwright/trust")
}

/// A path as the program prints it.
fn whole(sandbox: &Sandbox, name: &str) -> String {
    let path = sandbox.path(name);
    let folder = fs::canonicalize(path.parent().unwrap()).unwrap();
    folder.join(path.file_name().unwrap()).display().to_string()
}

/// The trusted files, and their current states.
fn trusted(sandbox: &Sandbox) -> Vec<(String, String)> {
    let (code, value) = sandbox.json(&["trust", "--list", "--json"]);
    assert_eq!(code, 0);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let files = value["files"].as_array().unwrap().iter();
    files.map(|file| (text(&file["path"]), text(&file["now"]))).collect()
}

/// A terminal: waits for the question, appends to the project's file, then types.
const TERMINAL: &str = r#"
import os, pty, sys
program, appended, typed = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(program, [program, "trust"])
screen = b""
while not screen.endswith(b"[y/N] "):
    screen += os.read(terminal, 4096)
with open("hookwright.yaml", "a") as file:
    file.write(appended)
os.write(terminal, typed.encode())
try:
    while more := os.read(terminal, 4096):
        screen += more
except OSError:
    pass  # How the end of a terminal is told.
sys.stdout.write(screen.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

/// Runs it in a terminal; returns the exit code and the screen's content.
fn in_terminal(sandbox: &Sandbox, appended: &str, typed: &str) -> (i32, String) {
    let inner = sandbox.command(&[]);
    let output = Command::new("python3")
        .args(["-c", TERMINAL])
        .arg(inner.get_program())
        .args([appended, typed])
        .current_dir(sandbox.path("."))
        .env_clear()
        .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .output()
        .unwrap();
    let screen = String::from_utf8(output.stdout).unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(told, "");
    (output.status.code().unwrap(), screen.replace('\r', ""))
}

#[test]
fn without_a_terminal_files_are_shown_and_nothing_changes() {
    let sandbox = Sandbox::with_hooks(HOOKS).global(HOOKS);
    let (project, global) =
        (whole(&sandbox, "hookwright.yaml"), whole(&sandbox, "../.config/hookwright/hooks.yaml"));
    assert_eq!(
        sandbox.run(&["trust"]),
        Ran::new(
            1,
            &format!("{project}: new, 1 hook\n{SHOWN}{global}: new, 1 hook\n{SHOWN}"),
            &format!(
                "error: 2 files are not trusted, and there is no terminal to ask in\n\
                 help: read the hooks above, then run: `hookwright trust --yes {project} {global}`\n"
            )
        )
    );
    assert!(!trust_file(&sandbox).exists());
    assert_eq!(sandbox.run(&["trust", "--list"]), Ran::new(0, "", "no file is trusted\n"));
}

#[test]
fn with_yes_they_are_trusted_and_then_there_is_nothing_to_do() {
    let sandbox = Sandbox::with_hooks(HOOKS);
    let project = whole(&sandbox, "hookwright.yaml");
    assert_eq!(
        sandbox.run(&["trust", "--yes"]),
        Ran::new(0, &format!("{project}: new, 1 hook\n{SHOWN}trusted 1 file\n"), "")
    );
    assert_eq!(trusted(&sandbox), [(project.clone(), "unchanged".to_owned())]);
    let mode = fs::metadata(trust_file(&sandbox)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let written = fs::read(trust_file(&sandbox)).unwrap();
    let nothing = Ran::new(0, &format!("{project}: trusted\n"), "nothing to do\n");
    assert_eq!(sandbox.run(&["trust"]), nothing);
    assert_eq!(sandbox.run(&["trust", "--yes", "hookwright.yaml"]), nothing);
    assert_eq!(fs::read(trust_file(&sandbox)).unwrap(), written);
}

#[test]
fn in_a_terminal_it_asks_and_only_a_clear_yes_is_one() {
    let sandbox = Sandbox::with_hooks(HOOKS).global(HOOKS);
    let (project, global) =
        (whole(&sandbox, "hookwright.yaml"), whole(&sandbox, "../.config/hookwright/hooks.yaml"));
    let asked = format!(
        "{project}: new, 1 hook\n{SHOWN}{global}: new, 1 hook\n{SHOWN}trust these 2 files? [y/N] "
    );
    for typed in ["\n", "n\n", "yess\n", "1\n"] {
        let screen = format!("{asked}{typed}nothing was changed\n");
        assert_eq!(in_terminal(&sandbox, "", typed), (1, screen), "{typed:?}");
        assert_eq!(trusted(&sandbox), []);
    }
    let end_of_input = "\u{4}";
    assert_eq!(in_terminal(&sandbox, "", end_of_input).0, 1);
    assert_eq!(trusted(&sandbox), []);
    assert_eq!(in_terminal(&sandbox, "", "Y\n"), (0, format!("{asked}Y\ntrusted 2 files\n")));
    let now = "unchanged".to_owned();
    assert_eq!(trusted(&sandbox), [(global, now.clone()), (project, now)]);
}

#[test]
fn what_was_shown_is_trusted_and_not_what_the_file_became_before_the_answer() {
    let sandbox = Sandbox::with_hooks(HOOKS);
    let project = whole(&sandbox, "hookwright.yaml");
    let screen =
        format!("{project}: new, 1 hook\n{SHOWN}trust this file? [y/N] yes\ntrusted 1 file\n");
    assert_eq!(in_terminal(&sandbox, "    - command: echo two\n", "yes\n"), (0, screen));
    assert_eq!(trusted(&sandbox), [(project, "changed".to_owned())]);
}

#[test]
fn a_file_that_changed_has_to_be_trusted_again() {
    let sandbox = Sandbox::with_hooks(HOOKS);
    let project = whole(&sandbox, "hookwright.yaml");
    assert_eq!(sandbox.run(&["trust", "--yes"]).code, 0);
    let sandbox = sandbox.file("hookwright.yaml", format!("{HOOKS}    - command: echo two\n"));
    assert_eq!(trusted(&sandbox), [(project.clone(), "changed".to_owned())]);
    let second = "  hookwright/Stop#1  Stop  shell, line 4\n    | echo two\n";
    let shown = format!("{project}: changed since it was trusted, 2 hooks\n{SHOWN}{second}");
    let ran = sandbox.run(&["trust"]);
    assert_eq!((ran.code, ran.stdout), (1, shown.clone()));
    assert_eq!(
        sandbox.run(&["trust", "--yes"]),
        Ran::new(0, &format!("{shown}trusted 1 file\n"), "")
    );
    assert_eq!(trusted(&sandbox), [(project, "unchanged".to_owned())]);
}

#[test]
fn everything_that_decides_what_runs_is_shown_whole_and_cannot_steer_the_terminal() {
    let long = "x".repeat(300);
    let sandbox = Sandbox::with_hooks(&format!(
        r#"agent: {{command: "my-agent\nnew: forged"}}
hooks:
  "tool:pre_execute:\e[2J":
    - command: "echo {long}\n\e]0;title\a rm -r /\n"
      id: "a\r\nb\u202e"
      shell: ./my-shell
      working_dir: below
      env: {{BASH_ENV: "./evil\nid: forged"}}
      when: "${{STAGE}} == '{long}'"
      once: true
  Stop:
    - {{id: sent, url: "https://example.org/x", method: PUT, headers: {{X-A: b}}, body: {{text: hi}}}}
    - {{id: saved, type: git-commit, message: saved, no_verify: true}}
"#
    ));
    let project = whole(&sandbox, "hookwright.yaml");
    let ran = sandbox.run(&["trust", "--yes"]);
    assert_eq!(
        ran,
        Ran::new(
            0,
            &format!(
                r#"{project}: new, 3 hooks
  agent: my-agent␊new: forged
  a␍␊b\u{{202e}}  tool:pre_execute:␛[2J  shell, line 4
    | echo {long}
    | ␛]0;title␇ rm -r /
    once
    when: ${{STAGE}} == '{long}'
    shell: ./my-shell
    working_dir: below
    env: BASH_ENV=./evil␊id: forged
  sent  Stop  webhook, line 12
    | https://example.org/x
    method: PUT
    header: X-A: b
    body: {{"text":"hi"}}
  saved  Stop  git-commit, line 13
    | saved
    no_verify: true
trusted 1 file
"#
            ),
            ""
        )
    );
}

#[test]
fn what_a_file_says_for_the_built_in_agent_is_shown() {
    let sandbox = Sandbox::with_hooks(
        "model: \"my-model\\nnew: forged\"
permissions: {allow: ['bash(git *)', read], ask: [write], deny: ['bash(rm *)']}
hooks: {}
",
    );
    let project = whole(&sandbox, "hookwright.yaml");
    let (_, record) = sandbox.json(&["trust", "--json"]);
    let file = &record["files"][0];
    assert_eq!(file["model"], "my-model\nnew: forged", "{record}");
    let rules =
        json!({ "allow": ["bash(git *)", "read"], "ask": ["write"], "deny": ["bash(rm *)"] });
    assert_eq!(file["permissions"], rules);
    let ran = sandbox.run(&["trust", "--yes"]);
    let shown = format!(
        "{project}: new, 0 hooks
  model: my-model␊new: forged
  permissions.allow: bash(git *)
  permissions.allow: read
  permissions.ask: write
  permissions.deny: bash(rm *)
trusted 1 file
"
    );
    assert_eq!(ran, Ran::new(0, &shown, ""));
}

#[test]
fn of_a_file_with_faults_the_whole_text_is_shown_and_it_can_be_trusted() {
    // A fault here, but a hook where an agent sets the variable.
    let text = "hooks:\n  Stop:\n    - command: curl evil\n      when: ${SET_BY_AGENT} == 'x'\n";
    let sandbox = Sandbox::with_hooks(text);
    let project = whole(&sandbox, "hookwright.yaml");
    let ran = sandbox.run(&["trust", "--yes"]);
    assert_eq!(
        (ran.code, ran.stdout),
        (
            0,
            format!(
                "{project}: new, 0 hooks, 1 fault\n  entries with faults are not \
                 listed; the whole file:\n    \
                 1 | hooks:\n    \
                 2 |   Stop:\n    \
                 3 |     - command: curl evil\n    \
                 4 |       when: ${{SET_BY_AGENT}} == 'x'\n\
                 trusted 1 file\n"
            )
        )
    );
    assert!(ran.stderr.starts_with("error: unknown variable `SET_BY_AGENT`\n"), "{}", ran.stderr);
    assert_eq!(trusted(&sandbox), [(project, "unchanged".to_owned())]);
}

#[test]
fn a_file_that_cannot_be_read_is_not_trusted_but_others_are() {
    let sandbox = Sandbox::with_hooks(HOOKS).file("binary.yaml", b"\xff\xfe");
    let [project, binary, none] =
        ["hookwright.yaml", "binary.yaml", "none.yaml"].map(|name| whole(&sandbox, name));
    let ran = sandbox.run(&["trust", "--yes", "hookwright.yaml", "binary.yaml", "none.yaml"]);
    let said = format!(
        "{project}: new, 1 hook\n{SHOWN}{binary}: cannot be read\n{none}: cannot be read\n\
         trusted 1 file\n"
    );
    assert_eq!((ran.code, ran.stdout), (1, said));
    assert_eq!(trusted(&sandbox), [(project, "unchanged".to_owned())]);
    let ran = sandbox.run(&["trust", "none.yaml"]);
    assert_eq!((ran.code, ran.stdout), (1, format!("{none}: cannot be read\n")));
}

#[test]
fn a_link_says_where_it_leads_and_is_trusted_for_itself() {
    let sandbox = Sandbox::new().file("../elsewhere/shared.yaml", HOOKS);
    let target = whole(&sandbox, "../elsewhere/shared.yaml");
    assert_eq!(sandbox.run(&["trust", "--yes", &target]).code, 0);
    symlink(&target, sandbox.path("hookwright.yaml")).unwrap();
    let project = whole(&sandbox, "hookwright.yaml");
    assert_eq!(
        sandbox.run(&["trust", "--yes"]),
        Ran::new(
            0,
            &format!("{project}: new, 1 hook\n  a link to {target}\n{SHOWN}trusted 1 file\n"),
            ""
        )
    );
    fs::write(&target, format!("{HOOKS}# more\n")).unwrap();
    let changed = "changed".to_owned();
    assert_eq!(trusted(&sandbox), [(target, changed.clone()), (project, changed)]);
}

#[test]
fn a_file_is_taken_once_however_often_it_is_named() {
    let sandbox = Sandbox::with_hooks(HOOKS);
    let project = whole(&sandbox, "hookwright.yaml");
    let named = ["trust", "--yes", "hookwright.yaml", "../project/hookwright.yaml", &project];
    assert_eq!(
        sandbox.run(&named),
        Ran::new(0, &format!("{project}: new, 1 hook\n{SHOWN}trusted 1 file\n"), "")
    );
}

#[test]
fn the_list_says_since_when_and_what_became_of_each() {
    let sandbox = Sandbox::new();
    for name in ["a.yaml", "b.yaml", "c.yaml", "d.yaml"] {
        fs::write(sandbox.path(name), HOOKS).unwrap();
    }
    assert_eq!(sandbox.run(&["trust", "--yes", "d.yaml", "c.yaml", "b.yaml", "a.yaml"]).code, 0);
    fs::write(sandbox.path("b.yaml"), "other").unwrap();
    fs::remove_file(sandbox.path("c.yaml")).unwrap();
    fs::remove_file(sandbox.path("d.yaml")).unwrap();
    let made = Command::new("mkfifo").arg(sandbox.path("d.yaml")).status().unwrap();
    assert!(made.success());
    let (_, value) = sandbox.json(&["trust", "--list", "--json"]);
    let since = value["files"][0]["since"].as_str().unwrap();
    let ran = sandbox.run(&["trust", "--list"]);
    let [a, b, c, d] = ["a.yaml", "b.yaml", "c.yaml", "d.yaml"].map(|name| whole(&sandbox, name));
    let gap = " ".repeat(a.len() - "file".len());
    let when = since.replace('T', " ").replace('Z', "");
    assert_eq!(
        ran,
        Ran::new(
            0,
            &format!(
                "file{gap}  since                now\n\
                 {a}  {when}  unchanged\n{b}  {when}  changed\n{c}  {when}  gone\n{d}  {when}  unreadable\n"
            ),
            ""
        )
    );
}

#[test]
fn a_file_can_be_trusted_no_longer_also_when_it_is_gone() {
    let sandbox = Sandbox::with_hooks(HOOKS).file("sub/gone.yaml", HOOKS);
    let (project, gone) = (whole(&sandbox, "hookwright.yaml"), whole(&sandbox, "sub/gone.yaml"));
    assert_eq!(sandbox.run(&["trust", "--yes"]).code, 0);
    assert_eq!(sandbox.run(&["trust", "--yes", "sub/gone.yaml"]).code, 0);
    fs::remove_dir_all(sandbox.path("sub")).unwrap();
    assert_eq!(
        sandbox.run(&["trust", "--revoke", "sub/gone.yaml"]),
        Ran::new(0, &format!("{gone}: no longer trusted\n"), "")
    );
    assert_eq!(
        sandbox.run(&["trust", "--revoke"]),
        Ran::new(0, &format!("{project}: no longer trusted\n"), "")
    );
    let nothing = "nothing to do: none of these files was trusted\n";
    assert_eq!(sandbox.run(&["trust", "--revoke"]), Ran::new(0, "", nothing));
    assert_eq!(
        sandbox.json(&["trust", "--revoke", "--json"]),
        (0, json!({ "version": 1, "revoked": [] }))
    );
    assert_eq!(trusted(&sandbox), []);
}

#[test]
fn json_has_the_trust_of_each_file_and_never_asks() {
    let sandbox = Sandbox::with_hooks("hooks: {}\n").file("bad.yaml", "hoks: {}\n");
    let project = whole(&sandbox, "hookwright.yaml");
    let expected = |standing: &str, trusted: bool| {
        let file = json!({
            "path": project, "standing": standing, "sha256": null, "hooks": [], "faults": [],
            "left_out": [],
        });
        json!({ "version": 1, "files": [file], "trusted": trusted })
    };
    // The digest is compared with that of another program.
    let json_of = |arguments: &[&str]| {
        let (code, mut value) = sandbox.json(arguments);
        let digest = value["files"][0]["sha256"].take();
        let sum = Command::new("sha256sum").arg(sandbox.path("hookwright.yaml")).output().unwrap();
        let sum = String::from_utf8(sum.stdout).unwrap();
        assert_eq!(digest.as_str(), sum.split(' ').next());
        (code, value)
    };
    assert_eq!(json_of(&["trust", "--json"]), (1, expected("new", false)));
    assert_eq!(trusted(&sandbox), []);
    assert_eq!(json_of(&["trust", "--json", "--yes"]), (0, expected("new", true)));
    assert_eq!(json_of(&["trust", "--json"]), (0, expected("trusted", true)));
    fs::write(sandbox.path("hookwright.yaml"), "hooks:  {}\n").unwrap();
    assert_eq!(json_of(&["trust", "--json"]), (1, expected("changed", false)));
    let (code, value) = sandbox.json(&["trust", "--json", "--yes", "bad.yaml", "none.yaml"]);
    let words: Vec<&Value> =
        value["files"].as_array().unwrap().iter().map(|file| &file["standing"]).collect();
    assert_eq!((code, words), (1, vec![&json!("new"), &json!("unreadable")]));
    assert_eq!(value["files"][0]["faults"][0]["nearest"], "hooks");
}

#[test]
fn a_trust_file_that_is_not_to_be_trusted_is_left_as_it_is_and_says_why() {
    let sandbox = Sandbox::with_hooks(HOOKS);
    assert_eq!(sandbox.run(&["trust", "--yes"]).code, 0);
    let path = trust_file(&sandbox);
    let shown = fs::canonicalize(&path).unwrap();
    let good = fs::read(&path).unwrap();
    let again = "remove it, then trust your files again: `hookwright trust`";
    let refused = |heading: &str, help: &str| {
        let before = fs::read(&path).unwrap();
        for arguments in [&["trust", "--yes"][..], &["trust", "--list"], &["trust", "--revoke"]] {
            let said = format!(
                "error: {heading}, so nothing is trusted\n --> {}\nhelp: {help}\n",
                shown.display()
            );
            assert_eq!(sandbox.run(arguments), Ran::new(1, "", &said), "{arguments:?}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
    };
    fs::set_permissions(&path, fs::Permissions::from_mode(0o646)).unwrap();
    refused(
        "others can write the trust file (mode 646, expected 600)",
        &format!("they may have changed it: {again}"),
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    refused("the trust file is damaged at line 2", again);
    fs::write(&path, "hookwright trust 7\n").unwrap();
    refused(
        "the trust file has version 7, expected 1",
        "use the newer hookwright, or set XDG_STATE_HOME to another folder",
    );
    fs::remove_file(&path).unwrap();
    assert_eq!(sandbox.run(&["trust", "--yes"]).code, 0);
}

#[test]
fn the_new_file_is_safe_before_it_takes_the_place_of_the_old_one() {
    let sandbox = Sandbox::with_hooks(HOOKS);
    let inner = sandbox.command(&[]);
    let trace = sandbox.path("../trace");
    let output = Command::new("strace")
        .args(["-f", "-y", "-qq", "-e", "trace=fsync,rename,renameat,renameat2", "-o"])
        .args([&trace, &PathBuf::from(inner.get_program())])
        .args(["trust", "--yes"])
        .current_dir(sandbox.path("."))
        .env_clear()
        .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let trace = fs::read_to_string(trace).unwrap();
    // The name of each call, and the name of a synced file: `fsync(3</a/trust.new>)`.
    let calls: Vec<String> = trace
        .lines()
        .filter_map(|line| line.split_once(' ')?.1.trim_start().split_once('('))
        .map(|(call, rest)| {
            let file = rest.split('>').next().and_then(|file| file.rsplit('/').next());
            // The variant depends on the machine.
            if call.starts_with("rename") {
                "rename".into()
            } else {
                format!("{call} {}", file.unwrap())
            }
        })
        .collect();
    assert_eq!(calls, ["fsync trust.new", "rename", "fsync hookwright"]);
}

#[test]
fn many_at_once_lose_nothing() {
    let names: Vec<String> = (0..12).map(|number| format!("{number:02}.yaml")).collect();
    let mut sandbox = Sandbox::new();
    for name in &names {
        sandbox = sandbox.file(name, HOOKS);
    }
    let start = |name: &String| {
        let mut command = sandbox.command(&["trust", "--yes", name]);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = names.iter().map(start).collect();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    let expected: Vec<(String, String)> =
        names.iter().map(|name| (whole(&sandbox, name), "unchanged".to_owned())).collect();
    assert_eq!(trusted(&sandbox), expected);
}

#[test]
fn a_thousand_files_are_trusted_in_one_go() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..1000).map(|number| format!("{number:03}.yaml")).collect();
    for name in &names {
        fs::write(sandbox.path(name), "hooks: {}\n").unwrap();
    }
    let mut arguments = vec!["trust", "--yes"];
    arguments.extend(names.iter().map(String::as_str));
    let ran = sandbox.run(&arguments);
    assert_eq!((ran.code, ran.stdout.lines().last()), (0, Some("trusted 1000 files")));
    let expected: Vec<(String, String)> =
        names.iter().map(|name| (whole(&sandbox, name), "unchanged".to_owned())).collect();
    assert_eq!(trusted(&sandbox), expected);
}

#[test]
fn without_a_home_it_says_what_is_missing() {
    let sandbox = Sandbox::with_hooks(HOOKS);
    let run = |state: Option<&str>| {
        let mut command = sandbox.command(&["trust", "--yes"]);
        command.env("HOME", "nowhere").env("XDG_CONFIG_HOME", sandbox.path("config"));
        command.envs(state.map(|state| ("XDG_STATE_HOME", sandbox.path(state))));
        Ran::from(command.output().unwrap())
    };
    assert_eq!(
        run(None),
        Ran::new(
            1,
            "",
            "error: cannot locate the trust file: HOME is not an absolute path\n\
             help: set HOME, or set XDG_STATE_HOME to a folder\n"
        )
    );
    assert_eq!(run(Some("kept")).code, 0);
    assert!(sandbox.path("kept/hookwright/trust").is_file());
}

#[test]
fn where_no_file_is_there_is_nothing_to_trust() {
    let ran = Sandbox::new().run(&["trust"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.starts_with("note: no `hookwright.yaml` in ~/project or any folder above"));
    for arguments in [
        &["trust", "--list", "x.yaml"][..],
        &["trust", "--list", "--revoke"],
        &["trust", "--yes", "--revoke"],
    ] {
        assert_eq!(Sandbox::new().run(arguments).code, 1, "{arguments:?}");
    }
}

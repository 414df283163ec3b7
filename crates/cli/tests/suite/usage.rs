//! Rules for every command: help, bad usage, closed readers.

use crate::support::{Ran, Sandbox};

#[test]
fn help_and_version_are_results() {
    let sandbox = Sandbox::new();
    for arguments in [&["--help"][..], &["check", "--help"], &["list", "-h"], &["events", "-h"]] {
        let ran = sandbox.run(arguments);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?}");
        assert!(ran.stdout.contains("Usage: hookwright"), "{arguments:?}");
    }
    let version = format!("hookwright {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(sandbox.run(&["--version"]), Ran::new(0, &version, ""));
}

#[test]
fn bad_usage_is_1_and_never_2_which_would_block() {
    let sandbox = Sandbox::new();
    for arguments in [
        &[][..],
        &["nonsense"],
        &["check", "--nonsense"],
        &["list", "extra"],
        &["events", "a", "b"],
        &["list", "--config"],
    ] {
        let ran = sandbox.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{arguments:?}");
        assert!(ran.stderr.contains("--help"), "{}", ran.stderr);
    }
}

#[test]
fn an_argument_cannot_steer_the_terminal() {
    let ran = Sandbox::new().run(&["list", "--\x1b[2J\u{9b}x"]);
    assert_eq!(
        ran,
        Ran::new(
            1,
            "",
            "error: unexpected argument '--␛[2J\\u{9b}x' found\n\
             \n\
             Usage: hookwright list [OPTIONS]\n\
             \n\
             For more information, try '--help'.\n"
        )
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["events", "--json"]);
    let ran = Ran::from(command.stdout(writer).output().expect("it starts"));
    assert_eq!(ran, Ran::new(0, "", ""));
}

#[test]
fn output_that_cannot_be_written_is_our_fault() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        return;
    };
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["events"]);
    let output = command.stdout(full).output().expect("it starts");
    assert_eq!(
        Ran::from(output),
        Ran::new(
            1,
            "",
            "error: standard output cannot be written to: No space left on device\n\
             help: free space where the output goes, or redirect it\n"
        )
    );
}

#[test]
fn help_is_a_command_and_groups_commands_by_what_people_do() {
    let sandbox = Sandbox::new();
    let help = sandbox.run(&["help"]);
    assert_eq!(help, sandbox.run(&["--help"]));
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    let headings: Vec<&str> =
        help.stdout.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).collect();
    assert_eq!(
        headings,
        [
            "Write hooks:",
            "Try them without an agent:",
            "Let an agent work:",
            "Give it work:",
            "Answer its questions:",
            "Put hooks inside an agent:",
            "Move from another system:",
            "Share sessions between machines:",
            "Get help:",
            "Options:"
        ]
    );
    for command in [&["check"][..], &["task", "add"]] {
        let asked = [&["help"][..], command].concat();
        let told = sandbox.run(&asked);
        assert_eq!(told, sandbox.run(&[command, &["--help"]].concat()));
        assert!(told.stdout.contains(":\n  hookwright check") || command[0] == "task");
    }
    let ran = sandbox.run(&["help", "nonsense"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
}

#[test]
fn examples_of_commands_that_need_no_agent_do_what_they_say() {
    let sandbox = Sandbox::new();
    let binary = sandbox.command(&[]).get_program().display().to_string();
    for command in ["init", "template", "events", "list", "schema", "fire", "explain"] {
        let help = sandbox.run(&["help", command]).stdout;
        let examples: Vec<&str> =
            help.lines().filter_map(|line| line.strip_prefix("  hookwright ")).collect();
        assert!(!examples.is_empty(), "{help}");
        for example in examples {
            let plain = sandbox.command(&[]);
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", &format!("'{binary}' {example}")]).current_dir(sandbox.path("."));
            shell
                .env_clear()
                .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let ran = Ran::from(shell.output().expect("it starts"));
            // The template's guard blocks.
            let expected = if example.contains("sudo ls") { 2 } else { 0 };
            assert_eq!(ran.code, expected, "{example}: {ran:?}");
        }
    }
}

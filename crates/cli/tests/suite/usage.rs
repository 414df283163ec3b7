//! What holds for every command: help, bad usage, readers that go away.

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
             help: make room where the output goes, or send it elsewhere\n"
        )
    );
}

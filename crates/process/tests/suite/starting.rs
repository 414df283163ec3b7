//! When a child does not start, each reason has its own error.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hookwright_process::{How, Launch, StartFailure, find_program};

use crate::situation::{assert_exited, bash, program, run_it};

async fn failure(launch: Launch) -> StartFailure {
    let ended = run_it(launch).await;
    match ended.how {
        How::NotStarted { cause } => cause,
        _ => panic!("{ended:?}"),
    }
}

#[tokio::test]
async fn a_missing_program_and_a_missing_working_directory_are_distinguished() {
    let cause = failure(program("/nowhere/at/all", &[])).await;
    assert_eq!(cause.to_string(), "`/nowhere/at/all` does not exist");
    assert!(matches!(cause, StartFailure::ProgramMissing { .. }));

    let mut launch = bash("true");
    launch.working_dir = PathBuf::from("/nowhere/at/all");
    let cause = failure(launch).await;
    assert_eq!(cause.to_string(), "the working directory `/nowhere/at/all` does not exist");
    assert!(matches!(cause, StartFailure::WorkingDirMissing { .. }));
}

#[tokio::test]
async fn a_working_directory_that_is_a_file_is_named() {
    let mut launch = bash("true");
    launch.working_dir = PathBuf::from("/etc/passwd");
    let cause = failure(launch).await;
    assert!(matches!(cause, StartFailure::WorkingDirNotADirectory { .. }), "{cause:?}");
}

#[tokio::test]
async fn a_file_that_is_not_executable_is_named() {
    let cause = failure(program("/etc/passwd", &[])).await;
    assert!(matches!(cause, StartFailure::NotExecutable { .. }), "{cause:?}");
    let cause = failure(program("/etc", &[])).await;
    assert!(matches!(cause, StartFailure::NotExecutable { .. }), "{cause:?}");
}

#[tokio::test]
async fn a_script_without_its_interpreter_and_a_missing_script_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    // Written by another process: a child that another test starts meanwhile briefly inherits all
    // files that are open here, and a file that is open for writing cannot be executed.
    let written =
        bash(&format!("echo '#!/nowhere/at/all' > '{0}'; chmod 755 '{0}'", script.display()));
    assert_exited(&run_it(written).await, 0);
    let cause = failure(program(script.to_str().unwrap(), &[])).await;
    assert!(matches!(cause, StartFailure::InterpreterMissing { .. }), "{cause:?}");
}

#[tokio::test]
async fn an_environment_too_big_for_the_system_is_reported() {
    let mut launch = bash("true");
    launch.env.push(("BIG".into(), "x".repeat(200 * 1024).into()));
    let cause = failure(launch).await;
    assert!(matches!(cause, StartFailure::TooBig { .. }), "{cause:?}");
}

#[tokio::test]
async fn a_nul_byte_in_an_argument_is_a_failure_and_no_crash() {
    let cause = failure(program("/bin/echo", &["a\0b"])).await;
    assert!(matches!(cause, StartFailure::Other { .. }), "{cause:?}");
}

#[tokio::test]
async fn a_variable_that_is_set_twice_has_its_last_value_and_appears_once() {
    let mut launch = program("/usr/bin/env", &[]);
    launch.shared_env = [("KEPT", "1"), ("TWICE", "shared"), ("LATER", "3")]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
    launch.env = vec![("TWICE".into(), "own".into()), ("TWICE".into(), "last".into())];
    let ended = run_it(launch).await;
    assert_exited(&ended, 0);
    let printed = ended.stdout.text();
    let of_test = printed.lines().filter(|line| !line.starts_with("HOOKWRIGHT_RUN="));
    let mut lines: Vec<&str> = of_test.collect();
    lines.sort_unstable();
    assert_eq!(lines, ["KEPT=1", "LATER=3", "TWICE=last"]);
}

#[tokio::test]
async fn a_relative_program_is_found_from_the_working_directory_and_never_in_path() {
    let mut launch = program("bin/true", &[]);
    launch.working_dir = PathBuf::from("/usr");
    assert_exited(&run_it(launch).await, 0);
    let cause = failure(program("true", &[])).await;
    assert!(matches!(cause, StartFailure::ProgramMissing { .. }), "{cause:?}");
}

#[test]
fn a_program_is_found_in_the_first_folder_of_path_that_has_it_executable() {
    let folder = tempfile::tempdir().unwrap();
    let at = |place: &str| folder.path().join(place);
    for place in ["not-executable/tool", "good/tool", "later/tool", "tool"] {
        std::fs::create_dir_all(at(place).parent().unwrap()).unwrap();
        std::fs::write(at(place), "").unwrap();
    }
    for place in ["good/tool", "later/tool", "tool"] {
        make_executable(&at(place));
    }
    std::fs::create_dir_all(at("a-folder/tool")).unwrap();
    let find =
        |name: &str, path: &str| find_program(OsStr::new(name), OsStr::new(path), folder.path());

    let path = "/nowhere:not-executable:a-folder:good:later";
    assert_eq!(find("tool", path), Some(at("good/tool")));
    assert_eq!(find("tool", "not-executable"), None);
    assert_eq!(find("tool", ":good"), Some(at("tool")));
    assert_eq!(find("later/tool", "good"), Some(at("later/tool")));
    assert_eq!(find("", "good"), None);
    assert_eq!(find("true", "/usr/bin"), Some(PathBuf::from("/usr/bin/true")));
}

fn make_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let set = std::fs::set_permissions(file, PermissionsExt::from_mode(0o755));
    set.expect("the file is the test's own");
}

//! The command that recreates what git ignores.

use std::sync::Arc;

use hookwright_engine::Secrets;
use hookwright_pipeline::trees::{SetupError, run_setup};
use tokio_util::sync::CancellationToken;

async fn set_up(
    command: &str,
    cancel: &CancellationToken,
) -> (Result<(), SetupError>, String, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let environment = Arc::from([("PATH".into(), "/usr/bin:/bin".into())]);
    let secrets = Secrets::new(vec![("KEY".into(), "hunter22".into())]);
    let mut said = String::new();
    let mut show = |text: &str| said.push_str(text);
    let ended = run_setup(command, folder.path(), &environment, &secrets, &mut show, cancel).await;
    let names = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let names = names.collect();
    (ended, said, names)
}

#[tokio::test]
async fn it_runs_in_the_work_tree_and_its_output_is_shown_without_secrets() {
    let command = "echo key hunter22; echo warning >&2; mkdir target";
    let (ended, said, names) = set_up(command, &CancellationToken::new()).await;
    assert_eq!(ended, Ok(()));
    assert!(said.contains("key [secret KEY]\n") && said.contains("warning\n"), "{said}");
    assert_eq!(names, ["target"]);
}

#[tokio::test]
async fn a_failure_is_told_with_its_last_line() {
    let command = "echo building; echo 'no space for hunter22' >&2; exit 3";
    let (ended, ..) = set_up(command, &CancellationToken::new()).await;
    let error = ended.expect_err("it failed").to_string();
    assert_eq!(error, format!("`{command}` failed with exit code 3: no space for [secret KEY]"));
    let (ended, ..) = set_up("exit 4", &CancellationToken::new()).await;
    assert_eq!(ended.expect_err("it failed").to_string(), "`exit 4` failed with exit code 4");
}

#[tokio::test]
async fn it_ends_when_the_session_is_interrupted() {
    let cancel = CancellationToken::new();
    let (ending, command) = (cancel.clone(), "echo begun; exec sleep 1000");
    let folder = tempfile::tempdir().expect("a folder");
    let environment = Arc::from([("PATH".into(), "/usr/bin:/bin".into())]);
    let mut show = |text: &str| {
        if text.contains("begun") {
            ending.cancel();
        }
    };
    let secrets = Secrets::default();
    let ended = run_setup(command, folder.path(), &environment, &secrets, &mut show, &cancel).await;
    assert_eq!(
        ended.expect_err("it was interrupted").to_string(),
        "`echo begun; exec sleep 1000` was interrupted"
    );
}

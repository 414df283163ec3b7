//! Errors of `test`, with advice.

use std::io;
use std::path::{Path, PathBuf};

use super::{Failure, Message};

/// Why a project cannot be copied.
#[derive(Debug)]
pub(crate) enum ProjectCopyError {
    TooManyFiles { files_max: usize },
    TooManyBytes { bytes_max: u64 },
    Io { path: PathBuf, cause: io::Error },
}

/// Why hooks cannot be tested.
#[derive(Debug)]
pub(crate) enum TestFailure {
    /// `test` without hooks to test.
    NoHookFile { folder: PathBuf },
    /// `test` without test files.
    NoTestFiles { looked_in: Vec<PathBuf> },
    /// The files of `test` contain no case, or none with this name.
    NoCases { filter: Option<String> },
    /// `test` while hooks are switched off.
    SwitchedOff { by: &'static str },
    /// The project cannot be copied for a test.
    CannotCopy { root: PathBuf, cause: ProjectCopyError },
}

impl From<TestFailure> for Failure {
    fn from(failure: TestFailure) -> Self {
        Failure::Test(failure)
    }
}

impl TestFailure {
    /// The message for the user.
    pub(super) fn message(&self) -> Message {
        match self {
            TestFailure::NoHookFile { folder } => Message {
                heading: "expected a `hookwright.yaml` in this folder or above it but found none"
                    .into(),
                place: Some(folder.display().to_string()),
                help: "`hookwright init` writes a first one; `--cwd DIR` names another folder"
                    .into(),
            },
            TestFailure::NoTestFiles { looked_in } => {
                let folders: Vec<String> =
                    looked_in.iter().map(|folder| folder.display().to_string()).collect();
                Message {
                    heading: "found no `hookwright.test.yaml` and no \
                              `*.hookwright.test.yaml` in this folder or in `tests` below it"
                        .into(),
                    place: Some(folders.join(", ")),
                    help: FIRST_TEST_FILE.into(),
                }
            }
            TestFailure::NoCases { filter: Some(filter) } => Message {
                heading: format!("no case has `{filter}` in its name"),
                place: None,
                help: "`hookwright test --list` lists them".into(),
            },
            TestFailure::NoCases { filter: None } => Message {
                heading: "the test files contain no cases".into(),
                place: None,
                help: FIRST_TEST_FILE.into(),
            },
            TestFailure::SwitchedOff { by } => Message {
                heading: format!("hooks are switched off ({by}), so there is nothing to test"),
                place: None,
                help: format!("unset it: `env -u {} hookwright test`", by.trim_end_matches("=0")),
            },
            TestFailure::CannotCopy { root, cause } => cannot_copy(root, cause),
        }
    }
}

const FIRST_TEST_FILE: &str = "write `hookwright.test.yaml` beside your hooks:
  cases:
    - name: sudo is blocked
      event: tool:pre_execute
      data: {tool_name: bash, tool_input: {command: sudo ls}}
      expect: {decision: block}";

fn cannot_copy(root: &Path, cause: &ProjectCopyError) -> Message {
    let help = match cause {
        ProjectCopyError::TooManyFiles { .. } | ProjectCopyError::TooManyBytes { .. } => {
            "add what hooks do not need to .gitignore, or run in the project itself: `hookwright \
             test --in-place`"
        }
        ProjectCopyError::Io { .. } => {
            "fix its permissions or free disk space, or run in the project itself: `hookwright \
             test --in-place`"
        }
    };
    Message {
        heading: format!("the project cannot be copied for each case: {}", cause.in_words()),
        place: Some(root.display().to_string()),
        help: help.into(),
    }
}

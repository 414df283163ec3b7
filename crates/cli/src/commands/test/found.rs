//! Finds test files.
//!
//! A test file's name ends in `hookwright.test.yaml` (`.yml`, `.json`). It is beside the hooks or
//! in the folder `tests` there.

use std::fs;
use std::path::{Path, PathBuf};

use hookwright_config::test_file::{TestFile, load_test_file};

use crate::config_files::ConfigFiles;
use crate::error::{Failure, TestFailure};

const ENDINGS: [&str; 3] = ["hookwright.test.yaml", "hookwright.test.yml", "hookwright.test.json"];

/// The folder for test files beside the hooks.
const FOLDER: &str = "tests";

/// A parsed test file.
pub(super) struct FoundTestFile {
    pub(super) shown_as: PathBuf,
    pub(super) file: TestFile,
}

/// Reads the named files and the test files of named folders, or those of the project if none is
/// named.
pub(super) fn read(asked: &[PathBuf], config: &ConfigFiles) -> Result<Vec<FoundTestFile>, Failure> {
    let named: Vec<PathBuf> = asked.iter().map(|path| config.working_dir.join(path)).collect();
    let named = if named.is_empty() { vec![config.project_root.clone()] } else { named };
    let (mut paths, mut looked_in) = (Vec::new(), Vec::new());
    for path in named {
        if !path.is_dir() {
            paths.push(path);
            continue;
        }
        let found: Vec<PathBuf> =
            [path.clone(), path.join(FOLDER)].iter().flat_map(|folder| in_folder(folder)).collect();
        if found.is_empty() {
            looked_in.push(config.display_path(&path));
        }
        paths.extend(found);
    }
    if !looked_in.is_empty() {
        return Err(TestFailure::NoTestFiles { looked_in }.into());
    }
    // A file that is named together with its folder counts once.
    let mut seen = std::collections::HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    let read = |path: PathBuf| {
        let shown_as = config.display_path(&path);
        FoundTestFile { file: load_test_file(&path, &shown_as), shown_as }
    };
    Ok(paths.into_iter().map(read).collect())
}

fn in_folder(folder: &Path) -> Vec<PathBuf> {
    // A missing folder has none.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            ENDINGS.iter().any(|ending| {
                name.strip_suffix(ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            })
        })
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

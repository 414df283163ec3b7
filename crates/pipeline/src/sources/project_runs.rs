//! [`ProjectRuns`]: finds the loops and pipelines of a project.
//!
//! They are searched where `run` searches a name from the project root. Other programs keep files
//! with the same extensions there, so a file counts only if its keys are those of a loop or a
//! pipeline.

use std::path::{Path, PathBuf};

use hookwright_config::{ConfigFile, TopLevel, read_text};
use hookwright_engine::hook::Layer;

use super::ENDINGS;
use crate::limits::{FOLDER_ENTRIES_MAX, UNNAMED_RUN_BYTES_MAX};

/// The loops and pipelines of a project.
#[derive(Debug, Default)]
pub struct ProjectRuns {
    /// Their files, sorted within each folder.
    pub files: Vec<PathBuf>,
    /// Folders with more than [`FOLDER_ENTRIES_MAX`] entries, which were not searched completely.
    pub cut: Vec<PathBuf>,
}

/// The kind of files in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folder {
    /// Loops and pipelines only.
    RunsOnly,
    /// Any files.
    AnyFiles,
}

impl ProjectRuns {
    /// Those of the project with this root. A folder in it that has one of `project_files` is
    /// another project.
    pub fn find(root: &Path, project_files: &[&str]) -> Self {
        let mut found = Self::default();
        for (name, folder) in [
            ("", Folder::AnyFiles),
            ("loops", Folder::RunsOnly),
            ("pipelines", Folder::RunsOnly),
            (".hookwright", Folder::AnyFiles),
        ] {
            found.look_into(&root.join(name), folder, project_files);
        }
        found
    }

    fn look_into(&mut self, path: &Path, folder: Folder, project_files: &[&str]) {
        let Ok(entries) = std::fs::read_dir(path) else { return };
        let mut paths: Vec<PathBuf> =
            entries.flatten().take(FOLDER_ENTRIES_MAX + 1).map(|entry| entry.path()).collect();
        // The system lists them in any order.
        paths.sort_unstable();
        if paths.len() > FOLDER_ENTRIES_MAX {
            paths.truncate(FOLDER_ENTRIES_MAX);
            self.cut.push(path.to_owned());
        }
        let is = |path: &Path, names: &[&str]| {
            path.file_name().is_some_and(|name| names.iter().any(|known| name == *known))
        };
        for path in paths {
            let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
            if is_hidden || is(&path, project_files) {
                continue;
            }
            let is_project = || project_files.iter().any(|name| path.join(name).is_file());
            if path.is_dir() && !is_project() {
                let inside = ["loop", "pipeline"]
                    .into_iter()
                    .flat_map(|stem| ENDINGS.iter().map(move |ending| format!("{stem}.{ending}")));
                let inside = inside.map(|name| path.join(name));
                self.files.extend(inside.filter(|path| is_run(path, folder)));
            } else if is_run(&path, folder) {
                self.files.push(path);
            }
        }
    }
}

/// Whether a file is a loop or a pipeline.
fn is_run(path: &Path, folder: Folder) -> bool {
    let has_ending =
        path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
    // Opening a pipe would block.
    let Some(metadata) = path.metadata().ok().filter(|file| file.is_file() && has_ending) else {
        return false;
    };
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let is_named = matches!(stem, Some("loop" | "pipeline"));
    let is_expected = is_named || folder == Folder::RunsOnly;
    if !is_expected && metadata.len() > UNNAMED_RUN_BYTES_MAX {
        return false;
    }
    let file = ConfigFile::native(path, path, Layer::Loop);
    let Some(top) = read_text(&file).ok().and_then(|text| TopLevel::read(&text)) else {
        // An invalid file is an error that has to be shown.
        return is_expected;
    };
    match folder {
        Folder::RunsOnly => top.has_run_keys || is_named || top.known > 0,
        Folder::AnyFiles if is_named => top.has_run_keys || top.known > 0,
        Folder::AnyFiles => top.has_run_keys && top.known > top.others,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_of_other_programs_are_not_loops_or_pipelines() {
        let project = tempfile::tempdir().expect("a folder");
        let root = project.path();
        for (name, text) in [
            ("work.yaml", "prompt: p\nagent: claude\n"),
            ("slip.yaml", "prompt: p\nagent: claude\ntermintion: {}\n"),
            ("full.json", "{\"stages\": [{\"name\": \"a\", \"loop\": \"work\"}]}"),
            ("loop.yaml", "prompt p: [\n"),
            ("loops/bare.yaml", "agent: claude\n"),
            ("loops/bent.yaml", "promt: p\nhooks: {}\n"),
            ("loops/broken.yaml", "a: [\n"),
            ("loops/deep/loop.yml", "prompt: p\n"),
            ("pipelines/old.yaml", "stages: [{stage: x}]\n"),
            (".hookwright/kept.yaml", "prompt: p\n"),
            ("flow/pipeline.yaml", "stages: [{name: a, loop: b}]\n"),
            // None of these is one.
            ("hookwright.yaml", "hooks: {}\n"),
            ("pipeline.yaml", "apiVersion: tekton.dev/v1\nkind: Pipeline\nspec: {}\n"),
            (".gitlab-ci.yml", "stages: [build]\n"),
            ("azure-pipelines.yml", "stages:\n- stage: Build\n  jobs: []\n"),
            ("dvc.yaml", "stages: {train: {cmd: x}}\n"),
            ("chat.yaml", "prompt: p\ntemperature: 1\nmodel_name: x\ntop_p: 1\n"),
            ("broken.yaml", "a: [\n"),
            ("package.json", "{\"name\": \"x\", \"version\": \"1\"}"),
            ("loops/turns.yaml", "turns: []\n"),
            ("loops/notes.md", "prompt: p\n"),
            ("other/hookwright.yaml", "hooks: {}\n"),
            ("other/loop.yaml", "prompt: p\n"),
            (".hidden/loop.yaml", "prompt: p\n"),
        ] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        let found = ProjectRuns::find(root, &["hookwright.yaml"]);
        let names = found.files.iter().map(|path| path.strip_prefix(root).expect("below"));
        assert_eq!(
            names.map(|path| path.to_str().expect("text")).collect::<Vec<_>>(),
            [
                "flow/pipeline.yaml",
                "full.json",
                "loop.yaml",
                "slip.yaml",
                "work.yaml",
                "loops/bare.yaml",
                "loops/bent.yaml",
                "loops/broken.yaml",
                "loops/deep/loop.yml",
                "pipelines/old.yaml",
                ".hookwright/kept.yaml",
            ]
        );
        assert!(found.cut.is_empty());
    }
}

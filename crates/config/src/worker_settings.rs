//! [`WorkerSettings`]: how workers prepare the work trees of a project's sessions, the key `worker`
//! of `hookwright.yaml`.

use std::path::PathBuf;

use super::node::Node;
use super::notes::Notes;
use super::project_name::single_key;
use super::{ConfigFile, Fault};

/// The keys of `worker:`.
pub(super) const KEYS: &[&str] = &["folder", "setup"];

/// How workers prepare the work trees of a project's sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkerSettings {
    /// The folder of all work trees, on every worker. By default they are in the worker's checkout.
    pub folder: Option<PathBuf>,
    /// A shell command that recreates what git ignores, in each new work tree.
    pub setup: Option<String>,
}

/// What a project's file says about workers. Nothing else of the file is checked.
pub fn worker_settings(file: &ConfigFile) -> Result<WorkerSettings, Vec<Fault>> {
    single_key(file, "worker", |node, notes| Some(read(node, notes))).map(Option::unwrap_or_default)
}

/// Reads the value of `worker:`.
pub(super) fn read(node: &Node, notes: &mut Notes<'_>) -> WorkerSettings {
    const FOLDER: &str = "an absolute path";
    let mut settings = WorkerSettings::default();
    for field in notes.map(node, "a map with folder, setup").unwrap_or_default() {
        match &*field.key {
            "folder" => {
                let Some(text) = notes.text(&field.value, FOLDER) else { continue };
                let path = PathBuf::from(text);
                match path.is_absolute() {
                    true => settings.folder = Some(path),
                    false => notes.bad_value(field.value.at, text, FOLDER),
                }
            }
            "setup" => {
                let text = notes.text(&field.value, "a shell command");
                settings.setup = text.map(str::to_owned);
            }
            _ => notes.unknown_key(field.at, &field.key, KEYS),
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use hookwright_engine::hook::Layer;

    use super::*;

    #[test]
    fn the_settings_are_read_and_wrong_ones_are_faults() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hookwright.yaml");
        let file = ConfigFile::native(&path, "hookwright.yaml", Layer::Project);
        let settings = |text: &str| {
            std::fs::write(&path, text).expect("written");
            worker_settings(&file).map_err(|faults| {
                faults.iter().map(|fault| fault.kind.to_string()).collect::<Vec<_>>()
            })
        };
        let both = "worker: {folder: /srv/hookwright, setup: ./setup.sh}\n";
        let expected = WorkerSettings {
            folder: Some("/srv/hookwright".into()),
            setup: Some("./setup.sh".to_owned()),
        };
        assert_eq!(settings(both), Ok(expected));
        assert_eq!(settings("hooks: {}\n"), Ok(WorkerSettings::default()));
        for (text, fault) in [
            ("worker: {folder: work}", "expected an absolute path but found `work`"),
            ("worker: {setup: 7}", "expected a shell command but found the number `7`"),
            ("worker: [x]", "expected a map with folder, setup but found a list"),
            ("worker: {folders: /x}", "unknown key `folders`, expected one of: folder, setup"),
        ] {
            let faults = settings(text).expect_err("a fault").join("\n");
            assert!(faults.starts_with(fault), "{faults}");
        }
    }
}

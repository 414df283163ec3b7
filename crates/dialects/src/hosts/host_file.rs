//! [`HostFile`]: a file that makes a host call this program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A file of the user or of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFile {
    /// The user's file: its path below the home folder.
    pub path: &'static str,
    /// The project's file: its path below the project's folder.
    pub project_path: &'static str,
    /// The variable that moves the user's file.
    pub moved_by: Option<FolderVariable>,
    /// Its content, if it has nothing else.
    pub text: String,
    /// Whether the host starts it as a program.
    pub is_program: bool,
    /// Whether others may have a part of it.
    pub share: FileShare,
}

/// A variable that names the folder of a host's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderVariable {
    /// Its name.
    pub name: &'static str,
    /// The folder below the home folder that its value replaces; empty for the home folder.
    pub replaces: &'static str,
}

/// Whether a file is ours alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileShare {
    /// Settings with other people's entries beside ours.
    Settings {
        /// The key that has the map from events to entries; `None` if that map is the file.
        hooks_key: Option<&'static str>,
        /// Whether the host reads no comments, trailing commas and byte order marks.
        is_strict: bool,
    },
    /// Ours alone.
    Own,
}

impl HostFile {
    /// A file of settings that has the map of entries under the key `hooks`. `path` is below the
    /// home folder and below the project's.
    pub(super) fn settings(path: &'static str, content: &Value) -> Self {
        let mut text = serde_json::to_string_pretty(content).expect("plain data");
        text.push('\n');
        let share = FileShare::Settings { hooks_key: Some("hooks"), is_strict: false };
        Self { path, project_path: path, moved_by: None, text, is_program: false, share }
    }

    /// The same for a user who can move its folder.
    pub(super) fn moved_by(mut self, name: &'static str, replaces: &'static str) -> Self {
        self.moved_by = Some(FolderVariable { name, replaces });
        self
    }

    /// The user's file. `variable` returns a variable of the host.
    pub fn of_user(
        &self,
        home: Option<&Path>,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Option<PathBuf> {
        let moved = self.moved_by.and_then(|by| {
            let folder = variable(by.name).map(PathBuf::from).filter(|it| it.is_absolute())?;
            let below = Path::new(self.path).strip_prefix(by.replaces).ok()?;
            Some(folder.join(below))
        });
        moved.or_else(|| Some(home?.join(self.path)))
    }

    /// How many entries it has, if it is a file of settings.
    pub fn entries(&self) -> usize {
        let FileShare::Settings { hooks_key, .. } = self.share else { return 0 };
        let all: Value = serde_json::from_str(&self.text).expect("we wrote it");
        let events = hooks_key.map_or(&all, |key| &all[key]);
        events.as_object().map_or(0, serde_json::Map::len)
    }

    /// The commands of its entries, if it is a file of settings, each once.
    pub fn commands(&self) -> Vec<String> {
        fn collect(value: &Value, all: &mut Vec<String>) {
            let Some(fields) = value.as_object() else {
                return value.as_array().into_iter().flatten().for_each(|item| collect(item, all));
            };
            for (key, value) in fields {
                match value.as_str() {
                    Some(text) if matches!(key.as_str(), "command" | "bash") => {
                        all.push(text.to_owned());
                    }
                    _ => collect(value, all),
                }
            }
        }
        let mut all = Vec::new();
        if let Ok(value) = serde_json::from_str(&self.text) {
            collect(&value, &mut all);
        }
        all.sort();
        all.dedup();
        all
    }

    /// The project's file.
    pub fn of_project(&self, project: &Path) -> PathBuf {
        project.join(self.project_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_moves_the_users_file_and_a_relative_one_does_not_count() {
        let file =
            HostFile::settings(".codex/hooks.json", &Value::Null).moved_by("CODEX_HOME", ".codex");
        let home = Path::new("/home/me");
        let path = |value: Option<&str>| file.of_user(Some(home), &|_| value.map(OsString::from));
        assert_eq!(path(None), Some("/home/me/.codex/hooks.json".into()));
        assert_eq!(path(Some("/c")), Some("/c/hooks.json".into()));
        assert_eq!(path(Some("c")), Some("/home/me/.codex/hooks.json".into()));
        assert_eq!(file.of_user(None, &|_| None), None);
        assert_eq!(file.of_project(Path::new("/p")), Path::new("/p/.codex/hooks.json"));
    }
}

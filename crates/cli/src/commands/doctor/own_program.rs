//! [`OwnProgram`]: this program, and whether a path leads to it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use hookwright_process::find_program;

use super::finding::Finding;
use crate::text::visible_path;
use crate::user_folders::UserFolders;

/// This program.
#[derive(Debug)]
pub(super) struct OwnProgram {
    path: Option<PathBuf>,
}

impl OwnProgram {
    pub(super) fn this() -> Self {
        let path = std::env::current_exe().ok();
        Self { path: path.map(|path| fs::canonicalize(&path).unwrap_or(path)) }
    }

    /// Whether this path leads to it.
    pub(super) fn is(&self, path: &Path) -> bool {
        fs::canonicalize(path).is_ok_and(|path| Some(path) == self.path)
    }

    /// Which program of its name is in `PATH`.
    pub(super) fn in_path(&self) -> Finding {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = self.path.as_deref().map(visible_path).unwrap_or_default();
        match find_program(OsStr::new("hookwright"), &path, Path::new("/")) {
            Some(found) if self.is(&found) => Finding::good("PATH", visible_path(&found)),
            Some(found) => Finding::note(
                "PATH",
                format!("`hookwright` is another program: {}", visible_path(&found)),
                format!("put the folder of {own} first"),
            ),
            None => Finding::note(
                "PATH",
                format!("`hookwright` is not in PATH; this one is {own}"),
                "add its folder to PATH, to type the commands that messages name",
            ),
        }
    }
}

/// What a program that settings name is.
pub(super) enum NamedProgram {
    /// This one.
    Same,
    /// Another one, at this path.
    Other(PathBuf),
    /// There is none.
    Missing,
    /// Its path depends on variables.
    Unknown,
}

impl OwnProgram {
    /// What the program that settings name is.
    pub(super) fn compared(&self, name: &str) -> NamedProgram {
        let expanded = name.strip_prefix("~/").or(name.strip_prefix("$HOME/"));
        let home = UserFolders::current().home.clone();
        let name = match (expanded, home) {
            (Some(below), Some(home)) => home.join(below).into_os_string(),
            _ if name.contains('$') || name.starts_with('~') => return NamedProgram::Unknown,
            _ => name.into(),
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        match find_program(OsStr::new(&name), &path, Path::new("/")) {
            None => NamedProgram::Missing,
            Some(found) if self.is(&found) => NamedProgram::Same,
            Some(found) => NamedProgram::Other(found),
        }
    }
}

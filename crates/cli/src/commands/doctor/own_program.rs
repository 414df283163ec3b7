//! [`OwnProgram`]: this program, and whether a path leads to it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use hookwright_process::find_program;

use super::finding::Finding;
use crate::text::visible_path;

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

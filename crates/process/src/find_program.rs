//! Finds a program as a shell would: by the given `PATH`, never by our own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The first executable file called `name` in the folders of `path` (a value of `PATH`). A name
/// with a slash is a path; relative paths start at `working_dir`.
pub fn find_program(name: &OsStr, path: &OsStr, working_dir: &Path) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.as_bytes().contains(&b'/') {
        return Some(working_dir.join(name)).filter(|program| is_executable(program));
    }
    // An empty folder means the working directory, by tradition.
    std::env::split_paths(path)
        .map(|folder| working_dir.join(folder).join(name))
        .find(|program| is_executable(program))
}

/// Whether this is a file we may execute.
pub(crate) fn is_executable(program: &Path) -> bool {
    program.is_file() && access(program, Access::EXEC_OK).is_ok()
}

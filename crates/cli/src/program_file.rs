//! The file that this process runs. An upgrade may replace it meanwhile.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the program.
const NAME: &str = "hookwright";

/// What Linux appends to the path of a file that was removed or replaced.
const DELETED: &[u8] = b" (deleted)";

/// Starts this program again: the same version, even if its file was replaced.
pub(crate) fn start_again() -> Command {
    let program = if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().unwrap_or_else(|_| NAME.into())
    };
    let mut command = Command::new(program);
    command.arg0(NAME);
    command
}

/// Gives a process of [`start_again`] the program's name, for `ps`. It has that of the link.
pub(crate) fn name_this_process() {
    let _ = std::fs::write("/proc/self/comm", NAME);
}

/// The path of this program for what it starts. If the file was replaced, that of the new one.
pub(crate) fn path() -> io::Result<PathBuf> {
    std::env::current_exe().map(|path| replacement_of(&path).unwrap_or(path))
}

/// The file that has replaced the one that had this path.
fn replacement_of(path: &Path) -> Option<PathBuf> {
    let before = path.as_os_str().as_bytes().strip_suffix(DELETED)?;
    let before = PathBuf::from(std::ffi::OsStr::from_bytes(before));
    (!path.exists() && before.exists()).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_replaced_is_known_by_its_path_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, shown) = (folder.path().join("tool"), folder.path().join("tool (deleted)"));
        assert_eq!(replacement_of(&shown), None, "there is no other file");
        std::fs::write(&file, "").expect("written");
        assert_eq!(replacement_of(&shown), Some(file.clone()));
        assert_eq!(replacement_of(&file), None);
        std::fs::write(&shown, "").expect("written");
        assert_eq!(replacement_of(&shown), None, "it has this name");
    }
}
